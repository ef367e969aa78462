"""Check plans: the recall they promise, the lines they print, and the candidates they expect."""

import math
import random
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike import And, Or, Sets, Shingles, Source, find_pairs
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.families import BitSampling, Hyperplanes, RandomLines
from lookalike.measures import MEASURES
from lookalike.search.effort import Effort
from lookalike.search.fitting import BAND, CANDIDATE, DRAW, ELEMENT, SAMPLE, SAMPLE_HASHES, cheapest_bands, fit
from lookalike.search.joins import element_counts, element_ranks
from lookalike.search.plan import MOST_HASHES, Plan, make_plan
from lookalike.search.sampling import expected_effort
from lookalike.search.sketching import band_keys
from lookalike.theory.amplify import Bands, bands_for


def drawn_texts(n, vocabulary, words, seed=1):
    """Draw texts from a vocabulary: the smaller it is, the more similar they are."""
    rng = random.Random(seed)
    return [" ".join(f"w{rng.randrange(vocabulary)}" for _ in range(words)) for _ in range(n)]


def sample_of(vocabulary, words=30):
    return Shingles(k=1, unit="word").sets(drawn_texts(SAMPLE, vocabulary, words))


# --- recall ---


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("vocabulary", [20, 1000])
def test_fitted_bands_reach_the_recall(threshold, recall, vocabulary):
    plan = fit(make_plan(threshold=threshold, recall=recall, method="lsh"), sample_of(vocabulary), 10_000)
    assert plan.method == "lsh"
    assert plan.items == 10_000
    assert plan.recall == plan.bands.recall >= recall - 1e-12
    assert plan.recall == pytest.approx((And(plan.bands.rows) >> Or(plan.bands.bands))(threshold))
    fewest = bands_for(threshold, plan.bands.rows, recall)
    assert plan.bands.bands == (max(2, fewest.bands) if threshold < 1 else 1)  # a single band would find slightly less
    assert plan.bands.hashes <= max(MOST_HASHES, bands_for(threshold, 1, recall).hashes)


def test_curve_of_the_plan():
    plan = fit(make_plan(threshold=0.8, method="lsh"), sample_of(1000), 1000)
    bands, rows, recall = plan.bands
    assert plan.bands.curve(0.8) == recall
    assert plan.bands.curve(0.3) == pytest.approx(1 - (1 - 0.3**rows) ** bands)


def test_larger_and_more_similar_collections_get_more_rows():
    """False candidates cost more there than minhashes."""
    plan = make_plan(threshold=0.8, method="lsh")
    rows = [fit(plan, sample_of(100), items).bands.rows for items in (100, 10_000, 1_000_000)]
    assert rows == sorted(set(rows))
    alike, unlike = (fit(plan, sample_of(vocabulary), 10_000).bands.rows for vocabulary in (40, 10_000))
    assert alike > unlike


@pytest.mark.parametrize("sample", [Sets.of([]), Sets.of([set(), set()]), Sets.of([{1}])])
def test_samples_that_tell_nothing(sample):
    plan = fit(make_plan(threshold=0.8), sample, len(sample))
    assert plan.recall >= 0.99
    assert plan.candidates == 0


def test_exact_plans():
    for options in ({"recall": 1.0}, {"recall": 1}, {"method": "exact", "recall": 0.9}):
        plan = fit(make_plan(threshold=0.8, **options), sample_of(100), 500)
        assert (plan.method, plan.bands, plan.recall, plan.items) == ("exact", None, 1.0, 500)


# --- expected candidates ---


@pytest.mark.parametrize(("vocabulary", "words"), [(50, 30), (100, 40), (300, 40)])
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_expected_candidates(vocabulary, words, threshold):
    """The estimate is within a factor of three of the true number."""
    texts = drawn_texts(1500, vocabulary, words, seed=2)
    pairs = find_pairs(texts, threshold=threshold, shingles="word:1", method="lsh", run=Run(2))
    assert pairs.stats["candidates"] > 100
    assert pairs.stats["candidates"] / 3 < pairs.plan.candidates < pairs.stats["candidates"] * 3


def test_candidates_are_the_pairs_that_share_a_band():
    """Each counts once, however many bands it shares; identical items count as one."""
    texts = drawn_texts(60, 12, 8)
    pairs = find_pairs(
        [*texts, texts[0]], threshold=0.6, shingles="word:1", recall=0.9, method="lsh", seed=3, run=Run(1)
    )
    keys = band_keys_of(texts, pairs.plan)
    together = {(i, j) for i in range(60) for j in range(i) if (keys[i] == keys[j]).any()}
    assert pairs.stats["candidates"] == len(together) > 100


def band_keys_of(texts, plan):
    sets = Shingles(k=1, unit="word").sets(texts)
    return band_keys(plan, sets.indptr, sets.elements)


# --- bands of any family ---


def clustered(items, dimensions, spread, seed=1):
    """Draw points around twenty centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, dimensions))
    return centres[rng.integers(0, 20, items)] + rng.normal(scale=spread, size=(items, dimensions))


# The family that estimates from the sample, functions of it to run, a threshold, and a sample.
OTHERS = {
    "Hyperplanes": (
        Hyperplanes(SAMPLE_HASHES),
        lambda hashes: Hyperplanes(hashes, seed=5),
        25,
        clustered(SAMPLE, 8, 0.3),
    ),
    "RandomLines": (
        RandomLines(4.0, SAMPLE_HASHES),
        lambda hashes: RandomLines(4.0, hashes, seed=5),
        1.0,
        clustered(SAMPLE, 8, 0.3),
    ),
    "BitSampling": (
        BitSampling(64, 256, repeat=True),
        lambda hashes: BitSampling(64, hashes, seed=5, repeat=True),
        6,
        (clustered(SAMPLE, 64, 0.3) > 0).astype(np.uint8),
    ),
}


def shares_of(family, sample):
    """Return the share of the functions on which each pair of the sample agrees."""
    signatures = family.signatures(sample)
    return np.concatenate([(signatures[:i] == signatures[i]).mean(axis=1) for i in range(1, len(signatures))])


def costs(family, chance, recall, sample, items, size):
    """Return {bands: (cost, share of pairs that become candidates)} for each number of rows."""
    shares = shares_of(family, sample)
    found = {}
    for rows in range(1, MOST_HASHES + 1):
        bands = bands_for(chance, rows, recall)
        if bands.hashes > MOST_HASHES:
            break
        if bands.bands == 1:  # a single band would find slightly less
            bands = Bands(2, rows, 1 - (1 - chance**rows) ** 2)
        rate = float(np.mean(1 - (1 - shares**rows) ** bands.bands))
        hashing = DRAW * items * (size + bands.hashes * (1 + math.log(bands.hashes)))
        candidates = items * (items - 1) / 2 * rate
        found[bands] = hashing + BAND * items * bands.bands + candidates * (CANDIDATE + ELEMENT * size), rate
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("items", [100, 10_000, 1_000_000])
def test_cheapest_bands_of_other_families(name, recall, items):
    """No other bands that reach the recall cost less, and the rate is the mean of the curve."""
    family, _, threshold, sample = OTHERS[name]
    chance, size = family.chance(threshold), float(sample.shape[1])
    bands, cost, candidates = cheapest_bands(family, chance, recall, sample, items, size)
    assert bands.recall == pytest.approx(bands.curve(chance))
    assert bands.recall >= recall - 1e-12
    assert bands.hashes <= MOST_HASHES
    every = costs(family, chance, recall, sample, items, size)
    assert bands == min(every, key=lambda bands: every[bands][0])
    assert cost == pytest.approx(every[bands][0])
    assert candidates == pytest.approx(every[bands][1] * items * (items - 1) / 2)


@pytest.mark.parametrize("name", OTHERS)
def test_larger_collections_get_more_rows_in_other_families(name):
    family, _, threshold, sample = OTHERS[name]
    chance = family.chance(threshold)
    rows = [cheapest_bands(family, chance, 0.9, sample, items, 64.0)[0].rows for items in (100, 10_000, 1_000_000)]
    assert rows == sorted(rows)
    assert rows[0] < rows[-1]


@pytest.mark.parametrize("name", OTHERS)
def test_expected_candidates_of_other_families(name):
    """With other functions, the bands find about as many candidates, and most close pairs."""
    family, make, threshold, sample = OTHERS[name]
    bands, _, candidates = cheapest_bands(family, family.chance(threshold), 0.9, sample, 10_000, float(sample.shape[1]))
    left, right = bands.curve.candidates(make(bands.hashes), sample)
    expected = candidates * SAMPLE * (SAMPLE - 1) / (10_000 * 9_999)
    assert len(left) > 100
    assert expected / 2 < len(left) < expected * 2
    every = np.triu_indices(SAMPLE, 1)
    measure = MEASURES[family.measure]
    close = np.count_nonzero(measure.rows(sample, *every) <= threshold)
    assert close > 100
    assert np.count_nonzero(measure.rows(sample, left, right) <= threshold) > 0.9 * close


@pytest.mark.parametrize("items", [0, 1])
def test_samples_of_vectors_that_tell_nothing(items):
    family = Hyperplanes(SAMPLE_HASHES)
    bands, _, candidates = cheapest_bands(family, family.chance(20), 0.9, np.ones((items, 3)), 1000, 3.0)
    assert bands.recall >= 0.9
    assert candidates == 0


def test_chances_too_small_for_bands():
    family = Hyperplanes(8)
    with pytest.raises(UsageError) as error:
        cheapest_bands(family, family.chance(179.5), 0.99, np.ones((2, 3)), 1000, 3.0)
    rule = "recall 0.99 at this threshold needs more than 512 hash functions"
    assert str(error.value) == f"{rule}; lower the recall or choose a stricter threshold."


# --- lines ---

BANDS = Bands(16, 6, 0.99227)
PLAN = Plan("lsh", "jaccard", Fraction(4, 5), 7, "word:5", bands=BANDS, items=1000, candidates=12345.6)


def test_lines():
    assert PLAN.lines() == [
        "plan: jaccard >= 0.8 of word:5, by 16 bands of 6 rows (96 minhashes)",
        "      finds a pair at the threshold with probability 0.9923, closer pairs more often;"
        " about 12,000 candidates expected",
    ]
    exact = Plan("exact", "jaccard", Fraction(2, 3), 1, "sets")
    assert exact.lines() == [
        "plan: jaccard >= 2/3 of sets, exact: prefix index with positions and lengths, every pair is found"
    ]


@pytest.mark.parametrize(
    ("candidates", "shown"),
    [
        (0.0, "fewer than 1 candidate"), (0.9, "fewer than 1 candidate"), (1.4, "about 1 candidate"),
        (9.9, "about 10 candidates"), (87.3, "about 87 candidates"), (999, "about 1,000 candidates"),
        (1.26e6, "about 1,300,000 candidates"),
    ],
)  # fmt: skip
def test_numbers_of_candidates_are_rounded(candidates, shown):
    plan = Plan("lsh", "jaccard", Fraction(4, 5), 1, "sets", bands=Bands(2, 1, 0.96), items=9, candidates=candidates)
    assert f" {shown} expected" in plan.lines()[1]
    assert "expected" not in replace(plan, items=0).lines()[1]  # unknown


def test_settings():
    assert PLAN.settings() == {
        "format": "1",
        "measure": "jaccard",
        "threshold": "4/5",
        "items": "word:5",
        "seed": "7",
        "method": "lsh 16x6",
    }
    assert Plan("exact", "jaccard", Fraction(1), 1, "sets").settings()["method"] == "exact"


def test_settings_of_a_run():
    texts = drawn_texts(20, 50, 10)
    shingles = Shingles(k=2, unit="word", bag=True)
    settings = find_pairs(texts, threshold="2/3", shingles=shingles, seed=5, run=Run(1)).plan.settings()
    assert settings.items() >= {"threshold": "2/3", "items": "word:2 bag", "seed": "5"}.items()
    sets = find_pairs([{1}, {2}], run=Run(1)).plan.settings()
    assert sets.items() >= {"threshold": "4/5", "items": "sets", "seed": "1"}.items()


# --- parameters ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must be in (0, 1]; got 0."),
        ({"threshold": 0.8, "recall": 0}, "recall must be in (0, 1]; got 0."),
        (
            {"threshold": 0.8, "measure": "cosin"},
            "measure must be one of jaccard, bag, containment, cosine, overlap, edit, levenshtein; got 'cosin'. "
            "Did you mean 'cosine'?",
        ),
        (
            {"threshold": 0.8, "method": "lhs"},
            "method must be one of auto, lsh, exact; got 'lhs'. Did you mean 'lsh'?",
        ),
        (
            {"threshold": 0.8, "method": "lsh", "recall": 1},
            "recall must be below 1 for method='lsh'; for recall 1 use method='exact'.",
        ),
    ],
)
def test_errors(options, message):
    with pytest.raises(UsageError) as error:
        make_plan(**options)
    assert str(error.value) == message


def test_plan_of_bags_counts_copies():
    """The sample of a collection of bags consists of bags."""
    rng = random.Random(1)
    bags = [Counter(rng.choices("abc", k=30)) for _ in range(50)]
    pairs = find_pairs(bags, threshold=0.9, run=Run(1))
    assert np.count_nonzero(pairs.similarity < 1) > 0
    assert pairs.stats["shingles"] == 50 * 30


# --- filters and orders ---


@pytest.mark.parametrize(
    ("items", "options", "error", "message"),
    [
        (
            [{1}],
            {"filter": "lenght"},
            UsageError,
            "filter must be one of length, prefix, position, suffix; got 'lenght'. Did you mean 'length'?",
        ),
        ([{1}], {"filter": "prefix", "method": "lsh"}, UsageError, "filter is for method='exact'; got method='lsh'."),
        ([{1}], {"order": [2]}, DataError, "order must hold all elements of the sets."),
        ([{1}], {"order": [1, 1]}, UsageError, "order must hold each element once."),
        (["a"], {"order": ["a"]}, UsageError, "order is for sets of elements, not for texts or bags."),
        (
            [{1}],
            {"measure": "edit", "threshold": 1},
            UsageError,
            "measure 'edit' compares texts, not sets; pass texts.",
        ),
        ([{1}], {"measure": "bag"}, UsageError, "measure 'bag' compares bags: Counters, or texts; got sets."),
        (
            [{1}],
            {"measure": "overlap"},
            UsageError,
            "measure 'overlap' needs a threshold: set threshold= to the minimum number of shared elements.",
        ),
        (
            [{1}],
            {"measure": "overlap", "threshold": 0.8},
            UsageError,
            "threshold must be an integer of at least 1; got 0.8.",
        ),
        ([{1}], {"order": [1], "method": "lsh"}, UsageError, "order is for method='exact'; got method='lsh'."),
        (
            [{1}],
            {"order": [1], "filter": "x"},
            UsageError,
            "filter must be one of length, prefix, position, suffix; got 'x'.",
        ),
        (
            [{1}],
            {"measure": "cosine", "threshold": "0.50000000011"},
            UsageError,
            "threshold must have at most nine decimals for cosine; got '0.50000000011'.",
        ),
        (
            ["a"],
            {"measure": "edit", "threshold": "x"},
            UsageError,
            "threshold must be an integer of at least 0; got 'x'.",
        ),
        (
            ["a"],
            {"measure": "edit", "threshold": -1},
            UsageError,
            "threshold must be an integer of at least 0; got -1.",
        ),
        (
            [{1}],
            {"measure": "cosine", "method": "lsh"},
            UsageError,
            "method='lsh' is for the measures jaccard, bag and containment; cosine has no hash family. "
            "Use method='exact', which finds every pair.",
        ),
        (
            [{1}],
            {"measure": "containment", "sketch": "simhash"},
            UsageError,
            "sketch='simhash' is for the measures jaccard and bag; containment has no sketches. Leave out sketch.",
        ),
        (
            [{1}],
            {"measure": "cosine", "audit": 5},
            UsageError,
            "audit is for the measures jaccard, bag and containment; cosine uses an exact join, which misses no pair. "
            "Leave out audit.",
        ),
    ],
)
def test_what_cannot_be_joined(items, options, error, message):
    with pytest.raises(error) as raised:
        la.find_pairs(items, **options)
    assert str(raised.value) == message


# --- choice of method ---


@pytest.mark.slow
def test_small_sets_are_joined_exactly_and_texts_by_bands():
    """Popular elements cause many candidates with minhashes, but are in no prefix."""
    rng = random.Random(1)
    sets = [{rng.randrange(5), rng.randrange(5, 10), 100 + i, 10**6 + i // 2} for i in range(20_000)]
    plan = la.find_pairs(sets, threshold=0.6).plan
    assert (plan.method, plan.recall) == ("exact", 1)
    texts = [" ".join(rng.choices([f"word{i}" for i in range(5000)], k=200)) for _ in range(300)]
    plan = la.find_pairs(texts, threshold=0.8).plan
    assert (plan.method, plan.bands is not None) == ("lsh", True)
    for line in (plan.lines()[-1], la.find_pairs(sets, threshold=0.6).plan.lines()[-1]):
        assert re.fullmatch(
            " +chosen: .*, about [-+.0-9e]+ s with [0-9]+ threads?; .* would take (over )?[-+.0-9e]+ s", line
        )


@pytest.mark.slow
def test_a_crowd_is_not_listed_to_be_grouped():
    """Groups of many near-copies are found without listing all their pairs."""
    rng = random.Random(2)
    page = set(range(40))
    sets = [page - set(rng.sample(range(40), 2)) for _ in range(6000)]
    assert la.find_clusters(sets, threshold=0.8).plan.method == "lsh"
    assert la.dedup(sets, threshold=0.8).plan.method == "lsh"


def test_recall_one_and_a_method_leave_no_choice():
    sets = [{1, 2, 3}, {1, 2, 3, 4}]
    assert la.find_pairs(sets, recall=1.0).plan.method == "exact"
    assert la.find_pairs(sets, method="lsh").plan.method == "lsh"
    assert la.find_pairs(sets, recall=1.0).plan.reason == ""


# --- memory ---


def drawn_sets(size: int, items: int = 200) -> Sets:
    rng = np.random.default_rng(0)
    return Sets.of([set(rng.integers(0, 1 << 40, size).tolist()) for _ in range(items)])


@pytest.mark.parametrize(
    ("items", "size", "measured"), [(7_500, 2_091, 621e6), (15_000, 2_091, 955e6), (30_000, 2_091, 1_570e6)]
)
def test_the_plan_states_the_memory_of_an_exact_join(items: int, size: int, measured: float) -> None:
    """The estimate is within 30% of what runs on documents of 2,100 characters needed."""
    plan = fit(make_plan(threshold=0.8, method="exact"), drawn_sets(size), items)
    needed = plan.memory + 2_100 * items
    assert 0.7 * measured < needed < 1.3 * measured
    assert f"      needs about {plan.memory / 1e9:.1f} GB of memory" in plan.lines() or plan.memory < 5e8


def test_the_plan_of_a_small_join_does_not_speak_of_memory() -> None:
    plan = fit(make_plan(threshold=0.8, method="exact"), drawn_sets(20), 1000)
    assert not any("memory" in line for line in plan.lines())


def test_ranks_are_made_in_parts() -> None:
    """Each rank is that of its count, however many there are."""
    sets = drawn_sets(500)
    ranks, shift = element_ranks(sets)
    counts, same = element_counts(sets)
    assert (len(ranks), shift) == (len(counts), same)
    expected = np.minimum(np.ceil(8 * np.log2(np.maximum(counts, 1))), 255).astype(np.uint8)
    assert np.array_equal(ranks, expected)


def test_expected_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs that use the cores are expected to go on; a command ends after the search."""
    texts = pa.array(["too few to measure the speed of the machine"], pa.large_string())
    run = Run(2)

    def effort(waited: float, crowded: float) -> Effort:
        monkeypatch.setattr("lookalike.search.sampling.crowding", lambda: crowded)
        monkeypatch.setattr(run, "waited", lambda: waited)
        return expected_effort([Source(pa.table({"text": ["a"]}))], Shingles(), texts, 1e9, run)

    assert effort(0.0, 1.0) == Effort(6e8, 3.2e9, 2)
    assert effort(2.0, 3.0) == Effort(6e8, 3.2e9, 2, speed=3.0, waited=2.0, rest=0.1)
