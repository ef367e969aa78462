"""Check the share of true matches by score, from a value not scored, against known truths."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.entities import match_fraction, resolve, two_companies
from lookalike.entities.validation import LEAST_PAIRS, PAIRS_PER_GROUP, Validation, falling, shares_by_score

FIELDS = ["name:customer=name", "address:street=address", "phone:telephone=phone"]


means = st.integers(-1000, 1000)
two_means = st.tuples(means, means).filter(lambda two: two[0] != two[1])
shares = st.integers(0, 64).map(lambda n: n / 64)


# --- the share of true matches ---


@given(two_means, shares)
def test_match_fraction_of_a_mixture(two, share):
    """Whichever of the two means is larger."""
    perfect, random = two
    observed = share * perfect + (1 - share) * random
    assert match_fraction(observed, perfect=perfect, random=random) == pytest.approx(share)


@given(two_means, means)
def test_match_fraction_is_a_share(two, observed):
    perfect, random = two
    found = match_fraction(observed, perfect=perfect, random=random)
    assert 0 <= found <= 1
    assert found == pytest.approx(1 - match_fraction(observed, perfect=random, random=perfect))


@pytest.mark.parametrize(("perfect", "random"), [(10, 45), (45, 10)])
def test_match_fraction_beyond_the_two_means(perfect, random):
    step = random - perfect
    assert match_fraction(perfect - step, perfect=perfect, random=random) == 1
    assert match_fraction(random + step, perfect=perfect, random=random) == 0


@pytest.mark.parametrize("given", [(math.nan, 1, 2), (1, math.inf, 2), (1, 2, -math.inf)])
def test_invalid_means(given):
    observed, perfect, random = given
    with pytest.raises(UsageError) as error:
        match_fraction(observed, perfect=perfect, random=random)
    assert str(error.value) == f"means must be finite numbers; got {observed!r}, {perfect!r} and {random!r}."


@pytest.mark.parametrize("mean", [0, 7, 4.5])
def test_means_that_are_the_same(mean):
    with pytest.raises(UsageError) as error:
        match_fraction(3, perfect=mean, random=mean)
    assert str(error.value) == f"perfect and random must differ, or the value shows nothing; got {mean!r} for both."


# --- a falling sequence ---


def isotonic(values, weights):
    """Return the falling fit by its min-max formula: min over starts of max over ends of means."""
    fit = []
    for i in range(len(values)):
        fit.append(
            min(
                max(np.average(values[a : b + 1], weights=weights[a : b + 1]) for b in range(i, len(values)))
                for a in range(i + 1)
            )
        )
    return fit


numbers = st.floats(-100, 100, allow_subnormal=False)


@given(st.lists(st.tuples(numbers, st.integers(1, 50)), max_size=8))
def test_falling(given):
    values, weights = (np.array([one[side] for one in given], float) for side in (0, 1))
    found = falling(values, weights)
    assert len(found) == len(values)
    assert (np.diff(found) <= 1e-9).all()
    assert found.tolist() == pytest.approx(isotonic(values, weights), abs=1e-8)
    assert found @ weights == pytest.approx(values @ weights, abs=1e-6)
    assert falling(found, weights).tolist() == pytest.approx(found.tolist())


@given(st.lists(st.tuples(numbers, st.integers(1, 50)), max_size=8), st.sampled_from([0.0, 1.0, 20.0, 1e9]))
def test_falling_but_for_clear_rises(given, error):
    """Zero errors keep the values; very large ones make them fall; the total mean stays."""
    values, weights = (np.array([one[side] for one in given], float) for side in (0, 1))
    found = falling(values, weights, np.full(len(values), error))
    assert found @ weights == pytest.approx(values @ weights, abs=1e-6)
    if error in (0.0, 1e9):
        assert found.tolist() == pytest.approx(values.tolist() if error == 0 else isotonic(values, weights), abs=1e-8)
    for at in np.flatnonzero(np.diff(found) > 1e-9):
        assert found[at + 1] - found[at] > 1.96 * error * math.sqrt(2 / len(values)) - 1e-9


def test_falling_of_what_falls_or_rises():
    falls = np.array([5.0, 3, 3, -1])
    assert falling(falls, np.ones(4)).tolist() == falls.tolist()
    assert falling(falls[::-1], np.array([1.0, 2, 1, 4])).tolist() == [3.5] * 4  # (-1 + 6 + 3 + 20) / 8


# --- shares ---


def made(truth, counts, seed=1, perfect=10.0, random=45.0, far=90.0):
    """Make pairs of each score with a known share of matches and uniform differences."""
    draw = np.random.default_rng(seed)
    scores, apart, true = [], [], []
    for score, share in truth.items():
        matches = draw.random(counts[score]) < share
        scores.append(np.full(counts[score], float(score)))
        apart.append(np.where(matches, draw.uniform(0, 2 * perfect, len(matches)), draw.uniform(0, far, len(matches))))
        true.append(matches)
    chance = draw.uniform(0, 2 * random, 100_000)
    order = draw.permutation(sum(counts.values()))
    return *(np.concatenate(arrays)[order] for arrays in (scores, apart, true)), chance


TRUTH = {300: 1.0, 280: 0.98, 250: 0.9, 200: 0.6, 150: 0.25, 100: 0.05, 50: 0.0}


@pytest.mark.parametrize("seed", range(5))
def test_known_shares_are_found(seed):
    """10,000 pairs per score: within 0.03; the error of one mean is 26 / 100 / 35, under 0.01."""
    scores, apart, _, chance = made(TRUTH, dict.fromkeys(TRUTH, 10_000), seed)
    found = shares_by_score("created", scores, apart, chance, 300)
    assert found.high_scores.tolist() == found.low_scores.tolist() == list(map(float, TRUTH))
    assert np.abs(found.shares - list(TRUTH.values())).max() < 0.03
    assert found.perfect == pytest.approx(10, abs=0.3)
    assert found.random == pytest.approx(45, abs=0.3)
    assert found.pairs.tolist() == [10_000] * len(TRUTH)
    assert found.probability(np.array(list(TRUTH), float)).tolist() == found.shares.tolist()


def test_intervals_cover_the_truth():
    """In 40 trials with 500 pairs per score, at least 85% cover it (nominally 95%)."""
    inside = []
    for seed in range(40):
        scores, apart, _, chance = made(TRUTH, dict.fromkeys(TRUTH, 500), seed)
        found = shares_by_score("created", scores, apart, chance, 300)
        inside += [low <= share <= high for low, share, high in zip(found.low, TRUTH.values(), found.high, strict=True)]
        assert ((found.low <= found.shares) & (found.shares <= found.high)).all()
        assert ((found.low >= 0) & (found.high <= 1)).all()
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_the_cut_off_keeps_its_promise(precision, seed):
    """Against the truth, within 0.02; by the estimate, the next lower score would break it."""
    scores, apart, true, chance = made(TRUTH, dict.fromkeys(TRUTH, 5000), seed)
    found = shares_by_score("created", scores, apart, chance, 300)
    cut = found.cut_off(precision)
    assert true[scores >= cut].mean() >= precision - 0.02
    below = scores[scores < cut]
    if len(below):
        wider = scores >= below.max()
        assert found.probability(scores[wider]).mean() < precision


def plain(shares, pairs, lows):
    zeros = np.zeros(len(shares))
    arrays = (
        np.array(lows, float),
        np.array(lows, float),
        np.array(pairs),
        zeros,
        zeros,
        np.array(shares),
        zeros,
        zeros,
    )
    return Validation("created", 10, 45, *arrays)


def test_cut_off_by_hand():
    found = plain([1.0, 0.8, 0.2], [100, 100, 200], [300, 200, 100])
    assert found.cut_off(1.0) == 300
    assert found.cut_off(0.9) == 200
    assert found.cut_off(0.91) == 300
    assert found.cut_off(0.55) == 100
    assert found.cut_off(0.01) == 100
    assert plain([0.5, 0.2], [10, 10], [300, 200]).cut_off(0.9) == math.inf


def test_probability_by_hand():
    """A score between two groups belongs to the lower one."""
    found = plain([1.0, 0.8, 0.2], [100, 100, 200], [300, 200, 100])
    scores = np.array([400, 300, 299.9, 200, 199, 100, 99, 0.0])
    assert found.probability(scores).tolist() == [1, 1, 0.8, 0.8, 0.2, 0.2, 0.2, 0.2]
    assert found.probability(np.zeros(0)).tolist() == []


@pytest.mark.slow
@given(st.integers(0, 1000), st.lists(st.floats(0, 300, width=16), max_size=30))
def test_probability_by_group(seed, asked):
    """Each score has the share of its group; a share that falls does so by more than chance."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(100, 2000))
    scores = draw.choice(np.append(np.round(draw.uniform(0, 300, draw.integers(1, 50))), 300), count)
    scores[:50] = 300
    apart = np.where(scores == 300, draw.uniform(0, 20, count), draw.uniform(0, 90, count))
    apart[50:][draw.random(count - 50) < 0.1] = np.nan
    found = shares_by_score("created", scores, apart, draw.uniform(0, 90, 1000), 300)
    given = np.concatenate((asked, scores))
    shares = found.probability(given)
    assert ((shares >= 0) & (shares <= 1)).all()
    for score, share in zip(given.tolist(), shares.tolist(), strict=True):
        reached = np.flatnonzero(found.low_scores <= score)
        assert share == found.shares[reached[0] if len(reached) else -1]
    rises = np.flatnonzero(np.diff(found.shares) > 1e-12)
    for at in rises:  # then the means of the two pools differ beyond their errors
        assert found.shares[at] < found.low[at + 1] + 1.96 * (found.high[at] - found.shares[at])


@given(st.integers(0, 1000), st.sampled_from([30, 199, 200, 201, 399, 400, 3000]))
def test_groups(seed, count):
    """Each pair is in one group, with all of its score; groups have 200 pairs, or 1/8, or 30."""
    draw = np.random.default_rng(seed)
    scores = np.append(np.full(LEAST_PAIRS, 300.0), draw.integers(0, draw.integers(2, 300), count).astype(float))
    apart = np.append(draw.uniform(0, 1, LEAST_PAIRS), draw.uniform(0, 90, count))
    found = shares_by_score("created", scores, apart, np.full(LEAST_PAIRS, 90.0), 300)
    assert found.pairs.sum() == len(scores)
    assert found.pairs.min() >= min(PAIRS_PER_GROUP, max(LEAST_PAIRS, len(scores) // 8))
    assert (found.low_scores <= found.high_scores).all()
    assert (found.low_scores[:-1] > found.high_scores[1:]).all()
    for low, high, pairs, mean, raw in zip(
        found.low_scores, found.high_scores, found.pairs, found.means, found.raw, strict=True
    ):
        inside = (scores >= low) & (scores <= high)
        assert inside.sum() == pairs
        assert mean == pytest.approx(apart[inside].mean())
        assert raw == pytest.approx(match_fraction(apart[inside].mean(), perfect=found.perfect, random=found.random))


def test_pairs_without_a_value_tell_nothing():
    scores, apart, _, chance = made(TRUTH, dict.fromkeys(TRUTH, 1000))
    found = shares_by_score("created", scores, apart, chance, 300)
    more = np.append(scores, np.full(500, 150.0)), np.append(apart, np.full(500, np.nan))
    again = shares_by_score("created", *more, np.append(chance, [np.nan] * 9), 300)
    assert again.to_arrow().equals(found.to_arrow())


def test_the_order_of_pairs_does_not_matter():
    scores, apart, _, chance = made(TRUTH, dict.fromkeys(TRUTH, 1000))
    found, again = (shares_by_score("created", scores[::s], apart[::s], chance[::s], 300) for s in (1, -1))
    for name in ("low_scores", "high_scores", "pairs"):
        assert (getattr(found, name) == getattr(again, name)).all()
    assert found.shares.tolist() == pytest.approx(again.shares.tolist())


def test_shares_of_the_perfect_are_one():
    scores, apart, _, chance = made({300: 1.0, 100: 0.0}, {300: 1000, 100: 1000})
    assert shares_by_score("created", scores, apart, chance, 300).shares[0] == pytest.approx(1, abs=1e-12)


def test_large_and_small_units():
    """Seconds since 1970, or millionths, give the same shares."""
    scores, apart, _, chance = made(TRUTH, dict.fromkeys(TRUTH, 1000))
    found = shares_by_score("created", scores, apart, chance, 300)
    for unit in (86_400.0, 1e-6, 1e12):
        again = shares_by_score("created", scores, apart * unit, chance * unit, 300)
        for name in ("shares", "low", "high"):
            assert getattr(again, name).tolist() == pytest.approx(getattr(found, name).tolist(), abs=1e-6)


def test_as_a_table():
    scores, apart, _, chance = made(TRUTH, dict.fromkeys(TRUTH, 500))
    table = shares_by_score("created", scores, apart, chance, 300).to_arrow()
    columns = ["score_from", "score_to", "pairs", "mean_difference", "fraction", "matches", "low", "high"]
    assert table.column_names == columns
    assert table["score_to"].to_pylist() == list(TRUTH)
    assert table["matches"].null_count == 0


# --- errors and limits ---


def test_too_few_perfect_pairs():
    apart = np.append(np.ones(LEAST_PAIRS - 1), [np.nan] * 50)
    with pytest.raises(DataError) as error:
        shares_by_score("created", np.full(len(apart), 300.0), apart, np.full(100, 9.0), 300)
    assert str(error.value) == "created: validation needs a value in at least 30 pairs with a perfect score; got 29."


def test_too_few_random_pairs():
    with pytest.raises(DataError) as error:
        shares_by_score("created", np.full(50, 300.0), np.ones(50), np.append(np.ones(3), [np.nan] * 90), 300)
    assert str(error.value) == "created: validation needs a value in at least 30 random pairs; got 3."


@pytest.mark.parametrize("mean", [9.0, 12.5])
def test_a_value_that_shows_nothing(mean):
    with pytest.raises(DataError) as error:
        shares_by_score("created", np.full(50, 300.0), np.full(50, mean), np.full(50, 9.0), 300)
    assert str(error.value) == (
        f"created: pairs with a perfect score differ by {mean:.4g} on average, random ones by 9, so it cannot "
        "separate matches from other pairs; validate by another column."
    )


def test_nothing_at_all():
    none = np.zeros(0)
    with pytest.raises(DataError):
        shares_by_score("created", none, none, none, 300)


def test_perfect_pairs_that_do_not_differ_at_all():
    """A date of birth is the same in all true matches."""
    scores = np.repeat([300.0, 200, 100], 400)
    apart = np.concatenate((np.zeros(400), np.tile([0.0, 100], 200), np.full(400, 100.0)))
    found = shares_by_score("born", scores, apart, np.full(100, 100.0), 300)
    assert found.shares.tolist() == [1, 0.5, 0]
    assert (found.low[0], found.high[0]) == (1, 1)


# --- two companies ---


@pytest.fixture(scope="module")
def companies():
    return two_companies(3000, seed=3)


@pytest.fixture(scope="module", params=[None, 90])
def resolved(request, companies):
    return resolve(companies.left, companies.right, fields=FIELDS, validate="created", max_lag=request.param)


def truth_of(companies, found):
    true = set(zip(*(companies.truth[name].to_pylist() for name in ("left_id", "right_id")), strict=True))
    left, right = (
        ids.take(rows).to_pylist() for ids, rows in ((found.ids, found.left), (found.right_ids, found.right))
    )
    return np.array([pair in true for pair in zip(left, right, strict=True)])


@pytest.mark.slow
def test_shares_of_two_companies(companies, resolved):
    """Within 0.1 of the truth for each group of at least 200 pairs, and within 0.05 on average."""
    every, found = resolved.every, resolved.validation
    true = truth_of(companies, every)
    wrong = []
    for low, high, share in zip(found.low_scores, found.high_scores, found.shares, strict=True):
        inside = (every.score >= low) & (every.score <= high)
        wrong.append(abs(true[inside].mean() - share))
    assert max(wrong) < 0.1, [round(one, 3) for one in wrong]
    assert np.average(wrong, weights=found.pairs) < 0.05


@pytest.mark.slow
def test_how_many_matches_of_two_companies_are_expected(companies, resolved):
    """The expected number is within 5% of the true one."""
    assert resolved.probability.sum() == pytest.approx(truth_of(companies, resolved).sum(), rel=0.05)


@pytest.mark.slow
def test_means_of_two_companies(resolved):
    """10 days for one customer; 45 for others within reach, 608 (a third of five years) for any."""
    limited = resolved.validation.random < 100
    assert resolved.validation.perfect == pytest.approx(10, abs=2 if limited else 8)  # two Mary Smiths at one address
    assert resolved.validation.random == pytest.approx(45 if limited else 608, rel=0.05)


@pytest.mark.slow
def test_shares_follow_the_score(resolved):
    """They fall with the score nearly always; families, who agree in all but the name, do not."""
    falls = np.diff(resolved.validation.shares) <= 0
    assert falls.mean() >= 0.8
    assert resolved.validation.shares[0] > 0.95
    assert resolved.validation.shares[-1] < 0.2
