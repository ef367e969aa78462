"""Check the model of Fellegi and Sunter: its parameters, its calibration, and little data."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import UsageError
from lookalike.entities import mixture
from lookalike.entities import patterns as counting
from lookalike.entities.mixture import CAP, OFTEN, PRIOR, Mixture, fit
from lookalike.entities.patterns import MISSING_LEVEL, Patterns

RECORDS = 20_000
MATCHES = np.array([0.12, 0.08, 0.8])  # shares of the levels in matches
CHANCE = (3e-3, 1e-4, 1e-5, 3e-2)  # of the top level in random pairs; the level below is twice as likely


def same(*rows):
    return np.array(rows, np.uint8)


class Made:
    """Pairs of two tables of RECORDS records, each record with one match.

    If blocked, the pairs are those with the top level in one of the first three fields; otherwise
    all matches and ten times as many random pairs. Each level is missing in a share `missing` of
    the pairs.
    """

    def __init__(self, fields, *, blocked, missing=0.0, seed=1):
        draw = np.random.default_rng(seed)
        self.u = [np.array([1 - 3 * top, 2 * top, top]) for top in CHANCE[:fields]]
        patterns = np.array(list(product(range(3), repeat=fields)), np.uint8)
        if blocked:
            patterns = patterns[(patterns[:, :3] == 2).any(axis=1)]
        columns = range(fields)
        in_matches = np.prod([MATCHES[patterns[:, field]] for field in columns], axis=0)
        by_chance = np.prod([self.u[field][patterns[:, field]] for field in columns], axis=0)
        counts = [RECORDS * in_matches, (RECORDS**2 if blocked else 10 * RECORDS) * by_chance]
        rows = [np.repeat(patterns, draw.poisson(count), axis=0) for count in counts]
        self.levels = np.concatenate(rows)
        self.levels[draw.random(self.levels.shape) < missing] = MISSING_LEVEL
        self.is_match = np.repeat([True, False], [len(some) for some in rows])
        self.random_levels = np.stack([draw.choice(3, 1_000_000, p=u) for u in self.u], axis=1).astype(np.uint8)
        self.share = self.is_match.mean()

    def error(self, found):
        """Return the mean difference of probabilities from the true shares at their levels."""
        patterns = Patterns.of(self.levels, [3] * len(self.u))
        true = np.bincount(patterns.row, self.is_match) / patterns.counts
        return np.abs(found.probability(self.levels) - true[patterns.row]).mean()

    def f1(self, probability):
        found = probability >= 0.5
        return 2 * (found & self.is_match).sum() / (found.sum() + self.is_match.sum())


# --- fitted parameters ---


@pytest.mark.parametrize("missing", [0, 0.2])
@pytest.mark.parametrize("with_random", [True, False])
def test_parameters_without_blocking(with_random, missing):
    """20,000 matches give a share of levels to about 0.005, three standard errors."""
    made = Made(4, blocked=False, missing=missing)
    found = fit(made.levels, random_levels=made.random_levels if with_random else None)
    assert found.share == pytest.approx(made.share, abs=0.002)
    for m, u, expected in zip(found.m, found.u, made.u, strict=True):
        np.testing.assert_allclose(m, MATCHES, atol=0.015)
        np.testing.assert_allclose(u, expected, atol=0.002)


@pytest.mark.parametrize("fields", [3, 4])
def test_parameters_with_blocking(fields):
    """The fields that picked do not change m, except that 1% of the matches were not picked."""
    made = Made(fields, blocked=True)
    found = fit(made.levels, random_levels=made.random_levels)
    assert found.share == pytest.approx(made.share, rel=0.02)
    for m in found.m:
        np.testing.assert_allclose(m, MATCHES, atol=0.02)
    others = made.levels[~made.is_match]
    for field in range(3):
        assert found.picked[field + 1] == pytest.approx((others[:, field] == 2).mean(), abs=0.01)
    assert found.picked.sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize(("fields", "best", "fitted_u"), [(3, 0.97, 0.85), (4, 0.975, 0.94)])
def test_why_the_fields_that_picked_are_modelled(fields, best, fitted_u):
    """The figures in the module's docstring, for blocked pairs."""
    made = Made(fields, blocked=True)
    modelled = fit(made.levels, random_levels=made.random_levels)
    plain = fit(made.levels)
    assert made.f1(modelled.probability(made.levels)) == pytest.approx(best, abs=0.005)
    assert made.f1(plain.probability(made.levels)) == pytest.approx(fitted_u, abs=0.03)
    assert made.error(modelled) < 0.0004
    assert made.error(plain) > 0.0018

    patterns = Patterns.of(made.levels, [3] * fields)
    known = mixture._Known(modelled.u, False, (np.full(3, PRIOR / 3),) * fields, (np.ones(1),) * fields)
    alone = mixture._climb(patterns, mixture._start(modelled.u, known.split, 0.1, 0.9, False), known, 1000, 1e-9)
    assert alone.share > 0.99


def test_two_fields_are_too_few_to_model_what_picked():
    """Then u of random pairs is used alone, and all blocked pairs count as matches."""
    made = Made(3, blocked=True)
    found = fit(made.levels[:, :2], random_levels=made.random_levels[:, :2])
    assert list(found.picked) == [1, 0, 0]
    assert found.share > 0.9


# --- relatives ---


def made_with_relatives(share, *, differ=0.12):
    """Return blocked pairs of three fields, and which are matches; `share` relatives per match differ in the first."""
    made = Made(3, blocked=True)
    draw = np.random.default_rng(5)
    count = int(share * RECORDS)
    relatives = np.stack([draw.choice(3, count, p=p) for p in (made.u[0], MATCHES, MATCHES)], axis=1).astype(np.uint8)
    relatives = relatives[(relatives == 2).any(axis=1)]
    more = made.is_match & (draw.random(len(made.levels)) < differ - MATCHES[0])
    made.levels[more & (made.levels[:, 1:] == 2).any(axis=1), 0] = 0
    made.levels = np.concatenate([made.levels, relatives])
    made.is_match = np.append(made.is_match, np.zeros(len(relatives), bool))
    return made


def test_relatives_are_not_matches():
    """Relatives are found, fewer than matches or twice as many; without the class, they count as matches.

    Matches that differ in that field look like relatives and are lost: here 12% of them.
    """
    for share in (0.75, 2.0):
        made = made_with_relatives(share)
        plain = fit(made.levels, random_levels=made.random_levels)
        found = fit(made.levels, random_levels=made.random_levels, relatives=True)
        assert plain.relatives == ()
        assert plain.m[0][0] > OFTEN
        assert made.f1(plain.probability(made.levels)) < 0.8
        assert [some.field for some in found.relatives] == [0]
        assert made.f1(found.probability(made.levels)) > 0.9
        given = found.probability(made.levels)
        assert given[given >= 0.5].sum() == pytest.approx(made.is_match[given >= 0.5].sum(), rel=0.05)
        assert found.picked.sum() == pytest.approx(1)


def test_no_relatives_among_matches_that_differ_sometimes():
    """A field that differs in a quarter of the matches may be damaged; the two classes stay as they are."""
    made = made_with_relatives(0, differ=0.25)
    plain, found = (fit(made.levels, random_levels=made.random_levels, relatives=more) for more in (False, True))
    assert plain.m[0][0] == pytest.approx(0.25, abs=0.03)
    assert found.relatives == ()
    np.testing.assert_array_equal(found.probability(made.levels), plain.probability(made.levels))


def test_relatives_by_two_fields():
    """Discs of one artist agree in two fields of four, and relatives of both kinds are found."""
    made = Made(4, blocked=True)
    draw = np.random.default_rng(6)
    discs = np.stack(
        [draw.choice(3, 20 * RECORDS, p=p) for p in (made.u[0], made.u[1], MATCHES, MATCHES)], axis=1
    ).astype(np.uint8)
    made.levels = np.concatenate([made.levels, discs[discs[:, 2] == 2]])
    made.is_match = np.append(made.is_match, np.zeros(len(made.levels) - len(made.is_match), bool))
    plain, found = (fit(made.levels, random_levels=made.random_levels, relatives=more) for more in (False, True))
    assert made.f1(plain.probability(made.levels)) < 0.3
    given = found.probability(made.levels)
    assert made.f1(given) > 0.9
    assert given[given >= 0.5].sum() == pytest.approx(made.is_match[given >= 0.5].sum(), rel=0.05)
    assert found.relatives
    for some in found.relatives:
        assert found.m[some.field][0] <= CAP + 1e-9


# --- calibration ---


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("fields", [3, 4])
@pytest.mark.parametrize("blocked", [False, True])
def test_calibration(blocked, fields, missing):
    """Of pairs with a probability of about p, a share p are matches: within 0.08 for 400 or more.

    A level of 1 in 100,000 occurs about 10 times in a million random pairs, so its weight is off by
    up to a third, which moves a probability of 0.8 by 0.05.
    """
    made = Made(fields, blocked=blocked, missing=missing)
    found = fit(made.levels, random_levels=made.random_levels)
    given = found.probability(made.levels)
    assert ((given >= 0) & (given <= 1)).all()
    part = np.minimum((given * 10).astype(int), 9)
    pairs, matches, expected = (np.bincount(part, weights, 10) for weights in (None, made.is_match, given))
    enough = pairs >= 400
    assert enough.sum() >= 2
    np.testing.assert_allclose(expected[enough] / pairs[enough], matches[enough] / pairs[enough], atol=0.08)
    assert found.expected_matches(made.levels) == pytest.approx(made.is_match.sum(), rel=0.02)


def test_missing_levels_say_nothing():
    made = Made(4, blocked=False)
    found = fit(made.levels, random_levels=made.random_levels)
    nothing = found.probability(np.full((1, 4), MISSING_LEVEL, np.uint8))
    assert nothing == pytest.approx(found.share)
    one = found.probability(same([2, MISSING_LEVEL, 2, 2], [2, 2, 2, 2], [2, 0, 2, 2]))
    assert one[2] < one[0] < one[1]


def test_weights():
    made = Made(3, blocked=False)
    found = fit(made.levels, random_levels=made.random_levels)
    table = found.weights(["name", "street", "phone"])
    assert table.column_names == ["field", "level", "m", "u", "weight"]
    assert table["field"].to_pylist() == ["name"] * 3 + ["street"] * 3 + ["phone"] * 3
    assert table["level"].to_pylist() == [0, 1, 2] * 3
    for field in range(3):
        weights = table["weight"].to_numpy()[3 * field : 3 * field + 3]
        np.testing.assert_allclose(weights, np.log2(found.m[field] / found.u[field]))
        assert weights[0] < 0 < weights[2]
        assert weights[2] == pytest.approx(math.log2(0.8 / CHANCE[field]), abs=0.6)
    assert found.weights()["field"][0].as_py() == "field 0"
    with pytest.raises(UsageError) as error:
        found.weights(["name"])
    assert str(error.value) == "names must have 3 entries, one per field; got 1."


# --- one step of EM, in plain Python ---


def rising(counts, base):
    """Return the isotonic regression of counts / base with weights base, by the max-min formula."""
    total, size = sum(counts), len(counts)

    def mean(first, last):
        return sum(counts[first : last + 1]) / total / sum(base[first : last + 1])

    return [
        base[at] * max(min(mean(first, last) for last in range(at, size)) for first in range(at + 1))
        for at in range(size)
    ]


def merged(values, tops):
    return [*values[: len(values) - tops], sum(values[len(values) - tops :])]


def rising_below(counts, base, tops):
    """Return the same, but the highest levels rise among themselves."""
    whole, within = rising(merged(counts, tops), merged(base, tops)), rising(counts[-tops:], base[-tops:])
    return [*whole[:-1], *(whole[-1] * one for one in within)]


def in_matches(counts, base, part):
    """Return the same, with the highest levels divided as given."""
    whole = rising(merged(counts, len(part)), merged(base, len(part)))
    return [*whole[:-1], *(whole[-1] * one for one in part)]


def plain_step(rows, model, fixed, split, usual=None):
    """Return m, u, v, share, picked and the levels of relatives after one step, computed pair by pair."""
    fields = len(model.m)
    kin = [[[PRIOR / len(m)] * len(m) for m in model.m] for _ in model.relatives]
    others = [[PRIOR / len(m)] * len(m) for m in model.m]
    by_field = [list(counts) for counts in others]
    matches = [list(counts) if usual is None else usual[: len(counts)] for counts in others]
    ways = fields + 1 + len(kin)
    picked, share = [PRIOR / ways] * ways, PRIOR / 2
    for row in rows:
        match, other = model.share, 1 - model.share
        terms = [model.picked[0]]
        for field, level in enumerate(row):
            match *= 1 if level == MISSING_LEVEL else model.m[field][level]
            other *= 1 if level == MISSING_LEVEL else model.u[field][level]
            ratio = 1 if level == MISSING_LEVEL else model.v[field][level] / model.u[field][level]
            terms.append(model.picked[field + 1] * ratio)
        for number, some in enumerate(model.relatives):
            there = [(field, level) for field, level in enumerate(row) if level != MISSING_LEVEL]
            ratios = [some.levels[field][level] / model.u[field][level] for field, level in there]
            terms.append(model.picked[fields + 1 + number] * math.prod(ratios))
        other *= sum(terms)
        given = match / (match + other)
        share += given
        picked = [so_far + (1 - given) * term / sum(terms) for so_far, term in zip(picked, terms, strict=True)]
        for field, level in enumerate(row):
            if level != MISSING_LEVEL:
                matches[field][level] += given
                others[field][level] += 1 - given
                by_field[field][level] += (1 - given) * terms[field + 1] / sum(terms)
                for number, counts in enumerate(kin):
                    counts[field][level] += (1 - given) * terms[fields + 1 + number] / sum(terms)
    if fixed:
        u = model.u
        m = [in_matches(counts, chance, part) for counts, chance, part in zip(matches, u, split, strict=True)]
        for some in model.relatives:
            first, *rest = m[some.field]
            least = min(first, CAP)
            m[some.field] = [least, *(share_ * (1 - least) / (1 - first) for share_ in rest)]
    else:
        both = [[a + b for a, b in zip(*two, strict=True)] for two in zip(matches, others, strict=True)]
        m = [rising(counts, [n / sum(all_) for n in all_]) for counts, all_ in zip(matches, both, strict=True)]
        u = [
            [(n - share_ * sum(counts)) / (sum(all_) - sum(counts)) for n, share_ in zip(all_, shares, strict=True)]
            for all_, shares, counts in zip(both, m, matches, strict=True)
        ]
    tops = [len(part) for part in split]
    v = [rising_below(counts, list(chance), top) for counts, chance, top in zip(by_field, u, tops, strict=True)]
    w = [
        [
            u[field] if field == some.field else rising_below(counts[field], list(u[field]), tops[field])
            for field in range(fields)
        ]
        for some, counts in zip(model.relatives, kin, strict=True)
    ]
    return m, u, v, share / (len(rows) + PRIOR), [way / sum(picked) for way in picked], w


def known_of(patterns, sizes, fixed, usual=None, last=(1.0,)):
    """Return what `fit` knows, with random levels if `fixed`, and the shares of levels; `last` is a split."""
    counts = mixture._counts(patterns, sizes)
    even = [np.full(size, PRIOR / size) if usual is None else np.array(usual[:size]) for size in sizes]
    split = (*[np.ones(1)] * (len(sizes) - 1), np.array(last))
    known = mixture._Known(counts if fixed else None, False, tuple(even), split)
    return known, tuple(one / one.sum() for one in counts)


rows_of_levels = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, MISSING_LEVEL]), st.sampled_from([0, 1, MISSING_LEVEL]), st.sampled_from([0, 1, 2, 3])
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(
    rows_of_levels, st.booleans(), st.integers(0, 3), st.sampled_from([[], [0], [2, 1]]),
    st.sampled_from([None, [0.5, 1, 2, 4]]), st.sampled_from([(1.0,), (0.7, 0.3), (0.1, 0.2, 0.7)]),
)  # fmt: skip
def test_steps_like_those_in_plain_python(rows, fixed, start, by, usual, last):
    sizes = [3, 2, 4]
    patterns = Patterns.of(np.array(rows, np.uint8), sizes)
    known, shares = known_of(patterns, sizes, fixed, usual, last if fixed else (1.0,))
    model = mixture._start(shares, known.split, *mixture.STARTS[start], fixed)
    if fixed and by:
        model = mixture._with_relatives(model, by)
    for _ in range(3):
        m, u, v, share, picked, kin = plain_step(rows, model, fixed, known.split, usual)
        model = mixture._step(patterns, model, known)
        for found, expected in zip(model.m + model.u, [*m, *u], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert model.share == pytest.approx(share)
        if fixed:
            np.testing.assert_allclose(model.picked, picked, rtol=1e-9)
            for found, expected in zip(model.v, v, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-9)
            for some, levels in zip(model.relatives, kin, strict=True):
                for found, expected in zip(some.levels, levels, strict=True):
                    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows_of_levels, st.booleans(), st.booleans(), st.booleans())
def test_the_likelihood_rises(rows, fixed, kin, split):
    """That of the pairs with the prior does; m / u and v / u rise with the level, if the highest count as one."""
    sizes = [3, 2, 4]
    patterns = Patterns.of(np.array(rows, np.uint8), sizes)
    known, shares = known_of(patterns, sizes, fixed, last=(0.6, 0.4) if fixed and split else (1.0,))
    model = mixture._start(shares, known.split, 0.1, 0.9, fixed)
    model = mixture._with_relatives(model, [2]) if fixed and kin else model
    before = -math.inf
    for _ in range(30):
        model, after = mixture._with_likelihood(patterns, model, known)
        assert after >= before - 1e-9
        before = after
        for m, u, v, part in zip(model.m, model.u, model.v, known.split, strict=True):
            m, u, v = (np.array(merged(one.tolist(), len(part))) for one in (m, u, v))
            assert m.sum() == pytest.approx(1)
            assert u.sum() == pytest.approx(1)
            assert (np.diff(m / u) >= -1e-9 * (m / u)[1:]).all()
            assert not fixed or (np.diff(v / u) >= -1e-9 * (v / u)[1:]).all()
        model = mixture._step(patterns, model, known)


def test_log_likelihood_of_the_pairs():
    made = Made(3, blocked=False)
    found = fit(made.levels)
    few = made.levels[::1000]
    patterns = Patterns.of(few, [3, 3, 3])
    again, _ = mixture._with_likelihood(patterns, found, known_of(patterns, [3, 3, 3], True)[0])
    expected = 0.0
    for row in few:
        match = found.share * math.prod(found.m[field][level] for field, level in enumerate(row))
        other = (1 - found.share) * math.prod(found.u[field][level] for field, level in enumerate(row))
        expected += math.log(match + other)
    assert again.log_likelihood == pytest.approx(expected)


# --- patterns ---


@pytest.mark.parametrize("dense", [1, 1 << 22])
@pytest.mark.parametrize("largest", [200, 1 << 62])
def test_patterns(monkeypatch, dense, largest):
    """They are the same however they are counted, also if codes must be short."""
    monkeypatch.setattr(counting, "DENSE", dense)
    monkeypatch.setattr(counting, "LARGEST_CODE", largest)
    levels = np.random.default_rng(2).choice(np.array([0, 1, 2, MISSING_LEVEL], np.uint8), (500, 5))
    found = Patterns.of(levels, [3] * 5)
    rows = np.stack(found.columns, axis=1)
    expected = np.where(levels == MISSING_LEVEL, 3, levels)
    np.testing.assert_array_equal(rows[found.row], expected)
    assert len(np.unique(rows, axis=0)) == len(rows) == len(np.unique(levels, axis=0))
    np.testing.assert_array_equal(found.counts, np.bincount(found.row))


def test_order_does_not_matter():
    made = Made(3, blocked=True)
    some = made.levels[::50]
    one, two = (fit(levels, random_levels=made.random_levels) for levels in (some, some[::-1]))
    np.testing.assert_array_equal(one.probability(some), two.probability(some))


def test_as_many_levels_and_fields_as_there_can_be():
    draw = np.random.default_rng(4)
    levels = draw.integers(0, 256, (300, 20), np.uint8)
    found = fit(levels, random_levels=draw.integers(0, 256, (300, 20), np.uint8), steps=5)
    assert [len(m) for m in found.m] == [max(levels[levels != MISSING_LEVEL].max(), 254) + 1] * 20
    assert np.isfinite(found.probability(levels)).all()


# --- little data or none ---

RANDOM = same(*[[0, 0, 0]] * 98, [1, 0, 0], [0, 1, 1])
LITTLE = {
    "no pairs": np.zeros((0, 3), np.uint8),
    "one pair": same([1, 0, 1]),
    "all the same": np.ones((1000, 3), np.uint8),
    "all different": np.zeros((1000, 3), np.uint8),
    "all missing": np.full((50, 3), MISSING_LEVEL, np.uint8),
    "one field missing": same(*[[1, MISSING_LEVEL, 1]] * 9, *[[0, MISSING_LEVEL, 0]] * 90),
    "one pattern": same(*[[1, 0, 1]] * 40),
    "matches agree less than others": same(*[[0, 1, 0]] * 40, *[[1, 0, 1]] * 40),
    "fields of different numbers of levels": same(*[[4, 1, 9]] * 40, *[[0, 0, 0]] * 400, [2, 0, 3]),
    "one field": same(*[[1]] * 40, *[[0]] * 40),
    "separate": same(*[[1, 1, 1]] * 500, *[[0, 0, 0]] * 500),
}


@pytest.mark.slow
@pytest.mark.parametrize("with_random", [False, True])
@pytest.mark.parametrize("name", LITTLE)
def test_little_to_go_by(name, with_random):
    """The model has finite numbers, and nothing warns (tests turn warnings into errors)."""
    levels = LITTLE[name]
    random_levels = RANDOM[:, : levels.shape[1]] if with_random else None
    with np.errstate(all="raise", under="ignore"):
        found = fit(levels, random_levels=random_levels)
        given = found.probability(levels)
        weights = found.weights()["weight"].to_numpy()
    assert isinstance(found, Mixture)
    assert 0 < found.share < 1
    assert math.isfinite(found.log_likelihood)
    assert found.steps <= 1000
    assert given.shape == (len(levels),)
    assert ((given >= 0) & (given <= 1)).all()
    assert np.isfinite(weights).all()
    for m, u in zip(found.m, found.u, strict=True):
        assert m.min() > 0
        assert u.min() > 0
    assert found.expected_matches(levels) == pytest.approx(given.sum())


def test_pairs_that_fall_apart():
    levels = LITTLE["separate"]
    for random_levels in (None, RANDOM):
        found = fit(levels, random_levels=random_levels)
        assert found.share == pytest.approx(0.5, abs=0.02)
        assert found.expected_matches(levels[:500]) == pytest.approx(500, abs=10)
        assert found.expected_matches(levels[500:]) == pytest.approx(0, abs=10)


def test_no_random_pairs_are_no_knowledge():
    """Then all levels are equally likely in non-matches."""
    found = fit(LITTLE["separate"], random_levels=np.zeros((0, 3), np.uint8))
    for u in found.u:
        np.testing.assert_allclose(u, [0.5, 0.5])


def test_steps_are_counted():
    made = Made(3, blocked=False)
    assert fit(made.levels, steps=1).steps == 1
    assert fit(made.levels, steps=3).steps == 3
    done = fit(made.levels)
    assert 3 < done.steps < 1000
    assert fit(made.levels, tolerance=1e-3).steps < done.steps


# --- errors ---

PLAIN = np.zeros((2, 2), np.uint8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit([[1, 2]]), "levels must be a uint8 array of pairs x fields; got list."),
        (
            lambda: fit(np.zeros((2, 2))),
            "levels must be a uint8 array of pairs x fields; got float64 of shape (2, 2).",
        ),
        (lambda: fit(PLAIN[0]), "levels must be a uint8 array of pairs x fields; got uint8 of shape (2,)."),
        (lambda: fit(PLAIN[:, :0]), "levels must be a uint8 array of pairs x fields; got uint8 of shape (2, 0)."),
        (lambda: fit(PLAIN, random_levels=PLAIN[:, :1]), "random_levels must have 2 fields; got 1."),
        (lambda: fit(PLAIN, steps=0), "steps must be an integer of at least 1; got 0."),
        (lambda: fit(PLAIN, tolerance=0), "tolerance must be a positive number; got 0."),
        (lambda: fit(PLAIN).probability(PLAIN[:, :1]), "levels must have 2 fields; got 1."),
        (
            lambda: fit(PLAIN).probability(same([0, 0], [0, 7])),
            "levels of field 1 must be below 1, as in the fitted pairs; got 7.",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == message


# --- small tables ---


def pairs_of(count, alike):
    """Return the levels of all pairs of `count` records: random ones, and `alike` that agree fully."""
    draw = np.random.default_rng(1)
    others = draw.choice(4, (count * (count - 1) // 2 - alike, 3), p=[0.9, 0.06, 0.03, 0.01])
    return np.concatenate([others, np.full((alike, 3), 3)]).astype(np.uint8)


def test_what_matches_usually_look_like_decides_where_there_are_none():
    """Without it, the best of the other pairs are matches."""
    every = pairs_of(30, 0)
    some = every[every.sum(axis=1) >= 2]
    usual = fit(some, random_levels=every, usual=(0.75, 0.25, 1, 3))
    assert usual.expected_matches(some) < 0.5 < fit(some, random_levels=every).expected_matches(some)
    assert fit(every[:0], random_levels=every, usual=(0.75, 0.25, 1, 3)).share == 0.1


def test_usual_matches_do_not_count_among_many():
    made = Made(3, blocked=True)
    one, other = (fit(made.levels, random_levels=made.random_levels, usual=usual) for usual in (None, (1, 1, 3)))
    assert one.expected_matches(made.levels) == pytest.approx(other.expected_matches(made.levels), rel=0.001)


def test_matches_among_all_pairs_are_not_counted_as_chance():
    """Where a tenth of all pairs match, random pairs agree by chance far less often than all pairs do."""
    every = pairs_of(20, 19)
    counted, less = (fit(every, random_levels=every, every_pair=among) for among in (False, True))
    others = every[:-19]
    for field in range(3):
        assert counted.u[field][3] > 0.1
        assert less.u[field][3] == pytest.approx((others[:, field] == 3).mean(), abs=0.005)


def test_a_field_with_one_level_has_no_relatives():
    """It differs in all pairs, so no pair can be told apart by it."""
    levels = np.tile([[0, 1, 1, 1], [0, 0, 0, 1], [0, 1, 0, 0]], (20, 1)).astype(np.uint8)
    random = np.zeros((1000, 4), np.uint8)
    found = fit(levels, random_levels=random, relatives=True)
    assert 0 not in [some.field for some in found.relatives]
    assert 0 < found.share < 1


# --- common values ---


def test_common_values_say_less():
    """Of matches that agree in the first field, a quarter share the common value, as a quarter of the records do."""
    draw = np.random.default_rng(7)
    made = Made(3, blocked=True)
    levels, chance = made.levels.copy(), made.random_levels.copy()
    for some in (levels, chance):
        some[some[:, 0] == 2, 0] = 3
    levels[made.is_match & (levels[:, 0] == 3) & (draw.random(len(levels)) < 0.25), 0] = 2
    chance[draw.random(len(chance)) < 1 / 16, 0] = 2
    by_chance = np.zeros((5 * RECORDS, 3), np.uint8)  # they share the common value, and nothing else
    by_chance[:, 0] = 2
    split = (np.array([0.25, 0.75]), np.ones(1), np.ones(1))
    found = fit(np.concatenate([levels, by_chance]), random_levels=chance, split=split)
    common, rare = found.m[0][2:]
    assert common / rare == pytest.approx(1 / 3)
    assert (common + rare) == pytest.approx(MATCHES[2], abs=0.05)
    bits = np.log2(found.m[0] / found.u[0])
    assert bits[2] == pytest.approx(np.log2(MATCHES[2] / 4 * 16), abs=0.2)
    assert bits[2] < bits[3]
    one, other = found.probability(same([2, 2, 0], [3, 2, 0]))
    assert one < 0.1 < 0.7 < other
