"""Near vectors and codes through the whole pipeline, against brute force over `la.measures`, and against their laws."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs, UsageError
from lookalike.core.run import Run
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from lookalike.measures import MEASURES
from tests import reference as ref

ONE = Run(1)
THRESHOLDS = {"cosine": 25.0, "cosine_similarity": 0.9, "euclidean": 1.2, "hamming": 3}
EXACT = [{"method": "exact"}, {"method": "brute"}, {"recall": 1.0}, {"method": "auto", "recall": 1.0}]
FORMS = {
    "matrix": lambda rows: rows,
    "single precision": lambda rows: rows.astype(np.float32),
    "rows": lambda rows: rows.tolist(),
    "vectors": Vectors.of,
    "named vectors": lambda rows: Vectors.of(rows, ids=[f"v{i}" for i in range(len(rows))]),
    "sparse": sparse.csr_array,
    "sparse columns": sparse.csc_array,
    "sparse vectors": lambda rows: Vectors.of(sparse.coo_array(rows.astype(np.float32))),
}


def drawn(seed, items, dimensions=6):
    """Rows of which some are alike, near, parallel or opposite, and many hold zeros; none is zero."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(2, items // 5), dimensions))
    centres[:, 1:][rng.random((len(centres), dimensions - 1)) < 0.3] = 0
    rows = centres[rng.integers(0, len(centres), items)]
    rows *= rng.choice([1.0, 1.0, 1.0, 2.0, -1.0], (items, 1))
    moved = rng.random(items) < 0.6
    rows[moved] += rng.normal(size=rows[moved].shape) * rng.choice([0.01, 0.1, 0.3], (int(moved.sum()), 1))
    return rows


def drawn_bits(seed, items, length=40):
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 2, (max(2, items // 6), length))
    return centres[rng.integers(0, len(centres), items)] ^ (rng.random((items, length)) < 0.04)


def sample_of(measure, seed, items):
    return drawn_bits(seed, items) if measure == "hamming" else drawn(seed, items)


def oracle(measure, rows, threshold, split=None):
    """{(i, j): value} of all near pairs i < j; with a split those across it, the second collection counted anew."""
    n = len(rows)
    left, right = np.triu_indices(n, 1)
    values = MEASURES[measure].rows(rows, left, right)
    near = values >= threshold if measure == "cosine_similarity" else values <= threshold
    if split is not None:
        near &= (left < split) & (right >= split)
    pairs = zip(left[near].tolist(), (right[near] - (split or 0)).tolist(), strict=True)
    return dict(zip(pairs, values[near].tolist(), strict=True))


def found(pairs):
    """{(i, j): value}, by position; each pair is there once, in order."""
    keys = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, pairs.values.tolist(), strict=True))


def in_order(pairs):
    return list(found(pairs)) == sorted(found(pairs))


# --- exact methods ---


@pytest.mark.parametrize("options", EXACT, ids=str)
@pytest.mark.parametrize("measure", THRESHOLDS)
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(2, 70))
def test_exact_methods_find_what_brute_force_does(measure, options, seed, items):
    rows = sample_of(measure, seed, items)
    threshold = THRESHOLDS[measure]
    pairs = la.find_pairs(rows, measure=measure, threshold=threshold, run=ONE, **options)
    assert found(pairs) == oracle(measure, rows, threshold)
    assert in_order(pairs)
    assert pairs.plan.recall == 1
    split = seed % items
    matches = la.find_matches(rows[:split], rows[split:], measure=measure, threshold=threshold, run=ONE, **options)
    assert found(matches) == oracle(measure, rows, threshold, split)
    assert in_order(matches)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("measure", ["cosine", "cosine_similarity", "euclidean"])
def test_vectors_in_any_form(measure, form):
    """In single precision as single-precision numbers measure."""
    rows = drawn(3, 120)
    rows = rows.astype(np.float32) if form in ("single precision", "sparse vectors") else rows
    threshold = THRESHOLDS[measure]
    for method in ("exact", "brute", "auto"):
        pairs = la.find_pairs(FORMS[form](rows), measure=measure, threshold=threshold, method=method, recall=1.0)
        assert found(pairs) == oracle(measure, rows, threshold)
    names = [f"v{i}" for i in range(120)] if form == "named vectors" else list(range(120))
    assert [left for left, _, _ in pairs] == [names[i] for i in pairs.left]


@pytest.mark.parametrize(
    "form", [np.array, np.ndarray.tolist, Bits.of, lambda rows: ["".join(map(str, row)) for row in rows.tolist()]]
)
def test_codes_in_any_form(form):
    rows = drawn_bits(3, 100).astype(np.uint8)
    for method in ("exact", "brute", "auto"):
        pairs = la.find_pairs(form(rows), measure="hamming", threshold=3, method=method)
        assert found(pairs) == oracle("hamming", rows, 3)
        assert pairs.values.dtype.kind == "i"


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_thresholds_at_both_ends(measure):
    """None but rows that are the same, and all; and the distance of a pair itself."""
    rows = np.concatenate((sample_of(measure, 1, 30), sample_of(measure, 1, 5)))
    ends = {"cosine": (0, 180), "cosine_similarity": (1, -1), "euclidean": (0, 1e6), "hamming": (0, 40)}[measure]
    values = sorted(oracle(measure, rows, ends[1]).values())
    assert len(values) == 35 * 34 // 2
    for threshold in (*ends, *(values[at] for at in (20, 100, 300, 594))):
        pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method="exact", run=ONE)
        assert found(pairs) == oracle(measure, rows, threshold)
        assert len(pairs) >= 5


def test_thresholds_as_they_were_typed():
    rows = np.array([[0.0, 0], [3, 4], [0, 0.3]])
    for threshold in (5, 5.0, "5", "5.0", Fraction(5), np.float64(5), np.int64(5), "10/2"):
        pairs = la.find_pairs(rows, measure="euclidean", threshold=threshold)
        assert found(pairs) == oracle("euclidean", rows, 5)
        assert pairs.plan.threshold == 5
    assert la.find_pairs(rows, measure="euclidean", threshold="0.3").plan.threshold == Fraction(3, 10)
    assert len(la.find_pairs(rows, measure="euclidean", threshold=0.3)) == 1
    assert len(la.find_pairs([1, 3], measure="hamming", threshold="1")) == 1
    assert len(la.find_pairs([1, 3], measure="hamming", threshold=1.0)) == 1


# --- huge and tiny numbers ---


@pytest.mark.parametrize("method", ["auto", "lsh", "brute"])
@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("measure", ["cosine", "cosine_similarity", "euclidean"])
def test_rows_of_any_size(measure, size, method):
    rows = np.round(drawn(5, 40), 3) * size
    threshold = 1.2 * size if measure == "euclidean" else THRESHOLDS[measure]
    pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method=method, run=ONE)
    expected = oracle(measure, rows, threshold)
    assert found(pairs).items() <= expected.items()
    assert len(pairs) >= (0.9 if method == "lsh" else 1) * len(expected) > 0


@pytest.mark.parametrize("method", ["auto", "lsh", "brute"])
def test_an_outlier_spoils_nothing(method):
    """However far it is, segments must be no wider than the rest needs."""
    rows = drawn(6, 400)
    rows[0] = 1e20
    pairs = la.find_pairs(rows, measure="euclidean", threshold=0.3, method=method, run=ONE)
    expected = oracle("euclidean", rows, 0.3)
    assert found(pairs).items() <= expected.items()
    assert len(pairs) >= 0.95 * len(expected)


@pytest.mark.parametrize("threshold", [0, 1e-9, 1])
@pytest.mark.parametrize("method", ["auto", "lsh", "brute"])
def test_rows_that_are_all_the_same(method, threshold):
    rows = np.ones((30, 3)) * [1.0, 2.0, 3.0]
    for measure in ("cosine", "euclidean"):
        pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method=method, run=ONE)
        assert len(pairs) == 30 * 29 // 2
        assert not pairs.distance.any()
        assert pairs.stats["identical"] == 29
    codes = Bits.of(np.ones((30, 9), int))
    assert len(la.find_pairs(codes, measure="hamming", threshold=int(threshold), method=method, run=ONE)) == 435


def test_rows_of_no_dimensions():
    assert len(la.find_pairs(np.zeros((4, 0)), measure="euclidean", threshold=0)) == 6


# --- bands ---


@pytest.mark.parametrize("measure", THRESHOLDS)
@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_bands_find_no_pair_that_is_not_near(measure, seed):
    """Each is one of brute force's, with the same value; those that are the same are always found."""
    rows = sample_of(measure, seed, 120)
    threshold = THRESHOLDS[measure]
    expected = oracle(measure, rows, threshold)
    options = {"measure": measure, "threshold": threshold, "method": "lsh", "recall": 0.7, "seed": seed, "run": ONE}
    pairs = la.find_pairs(rows, **options)
    assert found(pairs).items() <= expected.items()
    assert in_order(pairs)
    same = {pair for pair in expected if (rows[pair[0]] == rows[pair[1]]).all()}
    assert same <= found(pairs).keys()
    matches = la.find_matches(rows[:50], rows[50:], **options)
    assert found(matches).items() <= oracle(measure, rows, threshold, 50).items()
    assert in_order(matches)


def standard_error(rates, trials):
    """Of the mean of rates that were each measured with a seed of its own: as they vary, no less than chance has it."""
    rate = min(max(float(np.mean(rates)), 1 / trials), 1 - 1 / trials)
    return max(np.std(rates, ddof=1) / math.sqrt(len(rates)), math.sqrt(rate * (1 - rate) / trials))


@pytest.mark.parametrize("recall", [0.6, 0.95])
@pytest.mark.parametrize("measure", THRESHOLDS)
def test_recall_is_what_was_asked_for(measure, recall):
    """Of pairs at all distances up to the threshold, over several seeds: as the plan says or better, and as wanted."""
    rows = sample_of(measure, 8, 1200)
    rows = np.unique(rows, axis=0)
    threshold = THRESHOLDS[measure]
    expected = oracle(measure, rows, threshold)
    rates = []
    for seed in range(8):
        pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method="lsh", recall=recall, seed=seed)
        rates.append(len(found(pairs).keys() & expected.keys()) / len(expected))
    assert pairs.plan.recall >= recall
    assert np.mean(rates) >= pairs.plan.recall - 4 * standard_error(rates, 8 * len(expected))


# --- laws ---


def planted(measure, threshold, pairs, dimensions, seed):
    """Rows i and pairs + i are right at the threshold, or closer by no more than rounding."""
    rng = np.random.default_rng(seed)
    if measure == "hamming":
        one = rng.integers(0, 2, (pairs, dimensions))
        flips = np.argsort(rng.random((pairs, dimensions)), axis=1) < threshold
        return np.concatenate((one, one ^ flips))
    one, way = rng.normal(size=(pairs, dimensions)), rng.normal(size=(pairs, dimensions))
    near = 1 - 1e-9
    if measure == "euclidean":
        way *= threshold * near / np.sqrt((way * way).sum(axis=1, keepdims=True))
        return np.concatenate((one, one + way))
    one /= np.sqrt((one * one).sum(axis=1, keepdims=True))
    way -= (way * one).sum(axis=1, keepdims=True) * one
    way /= np.sqrt((way * way).sum(axis=1, keepdims=True))
    angle = math.radians(threshold * near)
    return np.concatenate((one, one * math.cos(angle) + way * math.sin(angle)))


def rates_of(measure, threshold, recall, dimensions, match=False, **options):
    """The share of pairs right at the threshold that are found with each of several seeds, and the plan."""
    rates, pairs, seeds = [], 200, 25
    for seed in range(seeds):
        rows = planted(measure, threshold, pairs, dimensions, seed)
        common = {
            "measure": measure,
            "threshold": threshold,
            "method": "lsh",
            "recall": recall,
            "seed": seed,
            **options,
        }
        if match:
            result = la.find_matches(rows[:pairs], rows[pairs:], **common)
            rates.append(np.count_nonzero(result.left == result.right) / pairs)
        else:
            result = la.find_pairs(rows, **common)
            rates.append(np.count_nonzero(result.right - result.left == pairs) / pairs)
    return rates, standard_error(rates, seeds * pairs), result.plan


LAWS = [
    *product(["cosine"], [5, 20, 45], [30]),
    *product(["euclidean"], [0.5, 2.0, 6.0], [100]),
    *product(["hamming"], [6, 25, 60], [256]),
]


@pytest.mark.parametrize(("measure", "threshold", "dimensions"), LAWS)
def test_pairs_at_the_threshold_are_found_as_the_plan_says(measure, threshold, dimensions):
    """Neither less often nor more often: four standard errors. The width of segments is the planner's."""
    plain = {} if measure == "hamming" else {"probes": 0}
    rates, error, plan = rates_of(measure, threshold, 0.5, dimensions, **plain)
    assert abs(np.mean(rates) - plan.recall) <= 4 * error
    assert plan.recall >= 0.5
    assert (plan.width > 0) == (measure == "euclidean")


@pytest.mark.parametrize(("probes", "match"), [(1, False), (6, True), (30, False)])
@pytest.mark.parametrize(("measure", "threshold", "dimensions"), [("cosine", 20, 30), ("euclidean", 2.0, 100)])
def test_pairs_at_the_threshold_are_found_with_probes(measure, threshold, dimensions, probes, match):
    """No less often than the plan says, and hardly more often: what it says of probes is measured itself."""
    rates, error, plan = rates_of(measure, threshold, 0.8, dimensions, match, probes=probes)
    assert plan.probes == probes
    assert plan.recall - 4 * error <= np.mean(rates) <= plan.recall + 4 * error + 0.02


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
@pytest.mark.parametrize("threshold", [0.5, 2.0, 60.0])
def test_probes_find_no_pair_that_is_not_near(measure, threshold):
    """Also where bands have fewer rows than there are probes to make of them."""
    rows = drawn(11, 200)
    expected = oracle(measure, rows, threshold)
    for probes in (0, 1, 3, 17, 100):
        options = {"measure": measure, "threshold": threshold, "method": "lsh", "recall": 0.6, "probes": probes}
        one, two = (la.find_pairs(rows, threads=threads, **options) for threads in (1, 3))
        assert found(one) == found(two)
        assert one.stats["candidates"] == two.stats["candidates"]
        assert found(one).items() <= expected.items()
        matches = la.find_matches(rows[:90], rows[90:], **options)
        assert found(matches).items() <= oracle(measure, rows, threshold, 90).items()
        assert all(0 <= right < 110 for right in matches.right.tolist())


@pytest.mark.parametrize("probes", [2, 8, 20])
def test_a_crowd_of_probes_in_a_bucket_that_is_nobodys(probes, monkeypatch):
    """More of the first collection probe a bucket than one block holds, and nothing of the second is in it."""
    monkeypatch.setattr("lookalike.search.tables.SIDE", 8)
    rng = np.random.default_rng(0)
    crowd = np.eye(1, 16) + 0.002 * rng.normal(size=(300, 16))
    others = rng.normal(size=(100, 16))
    options = {"measure": "cosine", "threshold": 1, "method": "lsh", "recall": 0.9, "probes": probes, "run": ONE}
    matches = la.find_matches(crowd, others, **options)
    assert found(matches) == oracle("cosine", np.concatenate((crowd, others)), 1, 300) == {}
    pairs = la.find_pairs(crowd[:60], **options)
    assert found(pairs).items() <= oracle("cosine", crowd[:60], 1).items()


# --- pigeonholes ---


@pytest.fixture
def parts(monkeypatch):
    """Sets how many parts codes are split into, whatever the planner thinks of it."""

    def set_parts(number):
        def plan(given, space, rows, *_):
            return replace(given, method="pigeonhole", parts=number, items=len(rows))

        monkeypatch.setattr("lookalike.search.vectors.fit_vectors", plan)

    return set_parts


@pytest.mark.parametrize("length", [1, 7, 64, 65, 200])
@pytest.mark.parametrize("threshold", range(11))
def test_pigeonholes_are_exact(threshold, length, parts):
    """Any number of parts that is more than the threshold, whichever bits go together."""
    if threshold >= length:
        codes = drawn_bits(threshold, 40, length)
        if threshold > length:
            with pytest.raises(UsageError, match=f"^threshold must be an integer of at most {length}; got {threshold}"):
                la.find_pairs(codes, measure="hamming", threshold=threshold)
        else:
            assert len(la.find_pairs(codes, measure="hamming", threshold=threshold)) == 40 * 39 // 2
        return
    rng = np.random.default_rng([threshold, length])
    centres = rng.integers(0, 2, (6, length))
    codes = centres[rng.integers(0, 6, 70)]
    for row in codes:
        row[rng.permutation(length)[: rng.integers(0, threshold + 3)]] ^= 1
    expected = oracle("hamming", codes, threshold)
    across = oracle("hamming", codes, threshold, 30)
    for number in range(threshold + 1, min(length, threshold + 3) + 1):
        parts(number)
        for seed in (1, 2):
            options = {"measure": "hamming", "threshold": threshold, "method": "exact", "seed": seed, "run": ONE}
            pairs = la.find_pairs(codes, **options)
            assert pairs.plan.tables == math.comb(number, threshold)
            assert found(pairs) == expected
            assert found(la.find_matches(codes[:30], codes[30:], **options)) == across


def test_the_planner_splits_codes_where_that_pays():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**63, 20_000, dtype=np.int64).view(np.uint64)
    codes[10_000:12_000] = codes[:2000] ^ (np.uint64(1) << rng.integers(0, 64, 2000).astype(np.uint64))
    plain = la.find_pairs(Bits.of(codes), measure="hamming", threshold=3, method="brute")
    for method in ("exact", "auto"):
        pairs = la.find_pairs(Bits.of(codes), measure="hamming", threshold=3, method=method)
        assert pairs.plan.method == "pigeonhole"
        assert found(pairs) == found(plain)
        assert len(pairs) >= 2000
        assert pairs.stats["candidates"] < plain.stats["candidates"] == 20_000 * 19_999 // 2


# --- nothing depends on how work is cut up ---


@pytest.mark.parametrize("method", ["brute", "lsh"])
@pytest.mark.parametrize("measure", THRESHOLDS)
def test_results_do_not_depend_on_threads_and_blocks(measure, method, monkeypatch):
    rows = sample_of(measure, 4, 500)
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method, "recall": 0.8}

    def results(threads):
        pairs = la.find_pairs(rows, threads=threads, **options)
        matches = la.find_matches(rows[:200], rows[200:], threads=threads, **options)
        nearest = la.find_matches(rows[:200], rows[200:], k=3, threads=threads, **options)
        groups = la.find_clusters(rows, threads=threads, **options)
        kept = la.dedup(rows, threads=threads, **options)
        return [found(pairs), found(matches), list(nearest), groups.label.tolist(), kept.centre.tolist()]

    expected = results(1)
    assert results(4) == expected
    for name, size in {"SIDE": 7, "REACH": 19, "AREA": 100, "SLICE": 33, "FRESH": 10, "FUNCTIONS": 3}.items():
        monkeypatch.setattr(f"lookalike.search.tables.{name}", size)
    for name, size in {"ROWS": 13, "FEW": 20, "SHARE": 4}.items():
        monkeypatch.setattr(f"lookalike.nearest.{name}", size)
    assert results(1) == expected
    assert results(3) == expected


# --- two collections ---


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_two_collections_of_different_types(measure):
    """Dense and sparse, single and double: as if all were of the wider type."""
    rows = drawn(9, 80).astype(np.float32).astype(np.float64)
    one, other = rows[:30], rows[30:]
    expected = oracle(measure, rows, THRESHOLDS[measure], 30)
    for left, right in [
        (one.astype(np.float32), other),
        (one, other.astype(np.float32)),
        (one.astype(np.float32), sparse.csr_array(other)),
        (sparse.csr_array(one), other.tolist()),
        (sparse.csr_array(one), sparse.csc_array(other.astype(np.float32))),
    ]:
        pairs = la.find_matches(left, right, measure=measure, threshold=THRESHOLDS[measure], method="brute")
        assert found(pairs) == expected


@pytest.mark.parametrize("method", ["auto", "lsh", "exact", "brute"])
@pytest.mark.parametrize("measure", THRESHOLDS)
def test_empty_collections(measure, method):
    rows = sample_of(measure, 1, 10)
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method, "audit": 5}
    for left, right in ((rows[:0], rows), (rows, rows[:0]), (rows[:0], rows[:0]), ([], rows), (rows, [])):
        for k in (None, 2):
            pairs = la.find_matches(left, right, k=k, **options)
            assert list(pairs) == []
            assert pairs.audit.true == 0
    assert list(la.find_pairs(rows[:0], **options)) == list(la.find_clusters(rows[:0], **options)) == []
    assert la.dedup(rows[:0], **options).keep.tolist() == []
    assert list(la.find_pairs(rows[:1], **options)) == []


@pytest.mark.parametrize("measure", ["euclidean", "cosine_similarity", "hamming"])
def test_empty_lists_are_of_any_kind(measure):
    options = {"measure": measure, "threshold": 1}
    assert len(la.find_pairs([], **options)) == len(la.find_matches([], [], **options)) == 0
    assert la.dedup([], **options).keep.tolist() == []


# --- the k nearest ---


def check_nearest(measure, left, right, k, threshold=None, **options):
    """Exactly those of brute force, the nearest first, of equally near ones those that come first."""
    pairs = la.find_matches(left, right, k=k, measure=measure, threshold=threshold, run=ONE, **options)
    rows = np.concatenate((left, right))
    sign = -1 if measure == "cosine_similarity" else 1
    farthest = math.inf if threshold is None else sign * threshold
    expected = []
    for i in range(len(left)):
        to = np.arange(len(left), len(rows))
        values = (sign * MEASURES[measure].rows(rows, np.full(len(to), i), to)).tolist()
        expected += [(i, j, sign * v) for j, v in ref.first_k(values, k, farthest)]
    assert list(pairs) == expected
    return pairs


@pytest.mark.parametrize("method", ["brute", "exact", "auto"])
@pytest.mark.parametrize("measure", THRESHOLDS)
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 60), st.sampled_from([1, 2, 5, 100]))
def test_nearest_neighbours(measure, method, seed, ones, others, k):
    rows = sample_of(measure, seed, ones + others)
    for threshold in (None, THRESHOLDS[measure]):
        check_nearest(measure, rows[:ones], rows[ones:], k, threshold, method=method, recall=1.0)


@pytest.mark.parametrize("measure", ["euclidean", "cosine", "cosine_similarity"])
def test_neighbours_that_are_equally_near(measure):
    """Points of a grid, each several times."""
    grid = np.array(list(product([-1.0, 0.0, 1.0], repeat=2)) * 3)
    grid = grid[grid.any(axis=1)]
    for k in (1, 3, 4, 5, 11, 24, 25):
        check_nearest(measure, grid[:10], grid, k)
        check_nearest(measure, grid, grid[::-1], k)


def test_codes_that_are_equally_near():
    codes = np.array(list(product([0, 1], repeat=4)) * 2)
    for k, threshold in product((1, 2, 6, 40), (None, 0, 1, 4)):
        check_nearest("hamming", codes, codes, k, threshold)


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_neighbours_among_many(measure):
    """More than are all looked at to tell how far to look."""
    rows = sample_of(measure, 2, 3060)
    if measure == "euclidean":
        rows[::7] *= 50  # some must look much farther than others
    check_nearest(measure, rows[:60], rows[60:], 5, method="brute")


def test_neighbours_far_from_the_origin():
    rng = np.random.default_rng(0)
    rows = 1e6 + 1e-3 * rng.normal(size=(200, 5))
    check_nearest("euclidean", rows[:50], rows[50:], 3, method="brute")


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_neighbours_by_bands(measure):
    """Some of the true ones may be missing; what is there is measured, no more than k, and the nearest first."""
    rows = sample_of(measure, 6, 600)
    true = check_nearest(measure, rows[:100], rows[100:], 3, method="brute")
    pairs = la.find_matches(rows[:100], rows[100:], k=3, measure=measure, method="lsh", recall=0.9, audit=100)
    sign = -1 if measure == "cosine_similarity" else 1
    at = pairs.left, pairs.right + 100
    assert pairs.values.tolist() == MEASURES[measure].rows(rows, *at).tolist()
    ranked = list(zip(pairs.left.tolist(), (sign * pairs.values).tolist(), pairs.right.tolist(), strict=True))
    assert ranked == sorted(ranked)
    assert np.bincount(pairs.left).max() <= 3
    last = (sign * true.values).reshape(100, 3)[:, -1]
    near = np.count_nonzero(sign * pairs.values <= last[pairs.left])
    assert pairs.audit == la.audit.Audit(100, 300, near, nearest=3)
    assert near > 200


@pytest.mark.parametrize("options", EXACT, ids=str)
def test_exact_methods_find_all_neighbours_of_codes_too(options):
    """Also those of the codes that have to look farther than nine of ten do, where a split would be cheap."""
    for seed in range(8):
        codes = drawn_bits(seed, 11)
        check_nearest("hamming", codes[:10], codes[10:], 100, **options)


def test_k_out_of_range():
    for k in (0, -1, 1.5, "2"):
        with pytest.raises(UsageError, match=r"^k must be an integer of at least 1; got"):
            la.find_matches(np.eye(2), np.eye(2), k=k, measure="cosine")


# --- groups ---


@pytest.mark.parametrize("options", [{"method": "exact"}, {"method": "lsh", "recall": 0.9}], ids=str)
@pytest.mark.parametrize("measure", THRESHOLDS)
@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_clusters_and_dedup(measure, options, seed):
    """Clusters are the components of the pairs; what is dropped is near one that is kept, and no two kept are found."""
    rows = sample_of(measure, seed, 80)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], "run": ONE, **options}
    pairs = la.find_pairs(rows, **common)
    groups = la.find_clusters(rows, **common)
    assert groups.label.tolist() == ref.components(80, found(pairs)) == pairs.clusters().label.tolist()
    values = found(pairs)
    for keep in ("first", np.random.default_rng(seed).permutation(80)):
        result = la.dedup(rows, keep=keep, **common)
        for item, centre in enumerate(result.centre.tolist()):
            assert result.keep[centre]
            if item != centre:
                assert result.values[item] == values[min(item, centre), max(item, centre)]
        kept = np.flatnonzero(result.keep).tolist()
        assert not [pair for pair in values if pair[0] in kept and pair[1] in kept]
        if not isinstance(keep, str):  # the best of all is never dropped
            assert result.keep[np.argmax(keep)]


# --- audits ---


@pytest.mark.parametrize("options", [{"method": "brute"}, {"method": "lsh", "recall": 0.5}], ids=str)
@pytest.mark.parametrize("measure", THRESHOLDS)
def test_an_audit_of_all_items_counts_all_pairs(measure, options):
    rows = sample_of(measure, 12, 150)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], **options}
    expected = oracle(measure, rows, THRESHOLDS[measure])
    pairs = la.find_pairs(rows, audit=1000, **common)
    assert pairs.audit == la.audit.Audit(150, len(expected), len(pairs))
    matches = la.find_matches(rows[:60], rows[60:], audit=150, **common)
    assert matches.audit == la.audit.Audit(150, len(oracle(measure, rows, THRESHOLDS[measure], 60)), len(matches))
    few = la.find_matches(rows[:60], rows[60:], audit=150, k=1, **common)
    assert few.audit == matches.audit  # with a threshold it is of all that are near
    groups = la.find_clusters(rows, audit=150, **common)
    joined = sum(groups.label[i] == groups.label[j] for i, j in expected)
    assert groups.audit == la.audit.Audit(150, len(expected), joined)
    result = la.dedup(rows, audit=150, **common)
    handled = sum(not (result.keep[i] and result.keep[j]) for i, j in expected)
    assert result.audit == la.audit.Audit(150, len(expected), handled)
    assert options["method"] == "lsh" or pairs.audit.recall == groups.audit.recall == result.audit.recall == 1


def test_an_audit_of_some_items():
    """The pairs that have one of them; as it says in a line."""
    rows = drawn(13, 200)
    pairs = la.find_pairs(rows, measure="euclidean", threshold=1.2, method="brute", audit=20)
    assert pairs.audit.sampled == 20
    assert 0 < pairs.audit.found == pairs.audit.true < len(pairs)
    again = la.find_pairs(rows, measure="euclidean", threshold=1.2, method="brute", audit=20)
    assert again.audit == pairs.audit
    nearest = la.find_matches(rows[:50], rows[50:], measure="euclidean", k=4, audit=20)
    assert nearest.audit == la.audit.Audit(20, 80, 80, nearest=4)
    assert nearest.audit.line().startswith("audit: 80 of 80 of the 4 nearest of 20 sampled items found: recall 1.0000")
    fewer = la.find_matches(rows[:50], rows[50:53], measure="euclidean", k=4, audit=50)
    assert fewer.audit == la.audit.Audit(50, 150, 150, nearest=4)


# --- names, and rows that are left out ---


def test_names_of_vectors():
    rows = Vectors.of([[1.0, 0], [1, 0.01], [0, 1], [1, 0]], ids=["a", "b", "c", "d"])
    pairs = la.find_pairs(rows, measure="cosine", threshold=2)
    assert [(left, right) for left, right, _ in pairs] == [("a", "b"), ("a", "d"), ("b", "d")]
    assert pairs.to_arrow().schema.names == ["left", "right", "distance"]
    others = Vectors.of([[0.0, 2], [5, 0]], ids=[10, 20])
    matches = la.find_matches(rows, others, measure="cosine_similarity", threshold=0.99)
    assert [(left, right) for left, right, _ in matches] == [("a", 20), ("b", 20), ("c", 10), ("d", 20)]
    assert matches.to_arrow().schema.names == ["left", "right", "similarity"]
    nearest = la.find_matches(others, rows, measure="euclidean", k=2)
    assert [(left, right) for left, right, _ in nearest] == [(10, "c"), (10, "b"), (20, "a"), (20, "d")]
    assert list(la.find_clusters(rows, measure="cosine", threshold=2)) == [["a", "b", "d"]]
    result = la.dedup(rows, measure="cosine", threshold=2, keep=[1, 2, 3, 4])
    assert result.kept.to_pylist() == ["c", "d"]
    assert result.to_arrow().to_pydict()["kept"] == ["d", "d"]


def test_names_of_codes():
    codes = Bits.of(["1100", "1101", "0011"], ids=["x", "y", "z"])
    pairs = la.find_pairs(codes, measure="hamming", threshold=1)
    assert list(pairs) == [("x", "y", 1)]
    assert pairs.explain(0) == la.results.Explanation([0, 1], [], [3])
    matches = la.find_matches(Bits.of(["0011"]), codes, measure="hamming", k=1)
    assert list(matches) == [(0, "z", 0)]
    assert matches.explain(0).both == [2, 3]


def test_vectors_have_nothing_to_show():
    pairs = la.find_pairs(np.ones((2, 2)), measure="cosine", threshold=1)
    with pytest.raises(UsageError, match=r"^vectors have no elements that could be shown; look at the rows themselves"):
        pairs.explain(0)


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("ids", [None, list("abcdef")])
def test_rows_that_are_left_out_keep_the_names_of_the_others(ids, spread):
    """One is not finite, and two have no direction, which only angles need."""
    rows = np.array([[0.0, 0], [1, 0], [math.nan, 1], [1, 0.001], [0, 0], [1, 0.002]])
    vectors = Vectors.of(sparse.csr_array(rows) if spread else rows, ids=ids, on_error="skip")
    names = ids or list(range(6))
    for measure, threshold in (("cosine", 1), ("cosine_similarity", 0.99)):
        pairs = la.find_pairs(vectors, measure=measure, threshold=threshold)
        expected = [(names[i], names[j]) for i, j in ((1, 3), (1, 5), (3, 5))]
        assert [(left, right) for left, right, _ in pairs] == expected
        assert (pairs.stats["skipped"], pairs.stats["items"]) == (3, 3)
        matches = la.find_matches(vectors, rows[[1]], measure=measure, k=1)
        assert [(left, right) for left, right, _ in matches] == [(names[i], 0) for i in (1, 3, 5)]
        assert matches.stats["skipped"] == 3
        matches = la.find_matches(rows[[1]], vectors, measure=measure, k=1)
        assert [(left, right) for left, right, _ in matches] == [(0, names[1])]
    pairs = la.find_pairs(vectors, measure="euclidean", threshold=0)
    assert [(left, right) for left, right, _ in pairs] == [(names[0], names[4])]
    assert pairs.stats["skipped"] == 1
    assert la.find_clusters(vectors, measure="cosine", threshold=1).to_arrow()["id"].to_pylist() == [
        names[i] for i in (1, 3, 5)
    ]
    assert la.dedup(vectors, measure="cosine", threshold=1).kept.to_pylist() == [names[1]]


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("measure", ["cosine", "cosine_similarity"])
def test_zero_vectors_have_no_direction(measure, spread):
    rows = np.array([[1.0, 2], [0, 3], [0, 0], [0, 0]])
    given = sparse.csr_array(rows) if spread else rows
    for options in ({"threshold": 1}, {"threshold": 1, "method": "lsh"}):
        with pytest.raises(DataError, match=r"^row 2: a zero vector has no direction; on_error='skip' .* leaves"):
            la.find_pairs(given, measure=measure, **options)
    named = Vectors.of(given, ids=["a", "b", "c", "d"])
    with pytest.raises(DataError, match=r"^row 2 \(c\): a zero vector has no direction; "):
        la.find_matches(np.eye(2), named, measure=measure, k=1)
    assert len(la.find_pairs(given, measure="euclidean", threshold=0)) == 1


# --- too many ---


@pytest.mark.parametrize("method", ["brute", "lsh"])
@pytest.mark.parametrize("measure", THRESHOLDS)
def test_more_pairs_than_may_be_listed(measure, method):
    rows = sample_of(measure, 3, 120)
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method}
    count = len(la.find_pairs(rows, **options))
    assert len(la.find_pairs(rows, max_pairs=count, **options)) == count
    for limit in (1, count - 1):
        with pytest.raises(TooManyPairs, match=rf"similar pairs, more than max_pairs = {limit:,}: `clusters`"):
            la.find_pairs(rows, max_pairs=limit, **options)
    same = np.repeat(rows[:1], 50, axis=0)
    with pytest.raises(TooManyPairs, match=r"1,225 similar pairs, more than max_pairs = 1,224"):
        la.find_pairs(same, max_pairs=1224, **options)
    assert len(la.find_clusters(rows, **options)) > 0


def test_more_pairs_than_wait_to_be_merged(monkeypatch):
    """They are checked before they are counted."""
    monkeypatch.setattr("lookalike.search.tables.FRESH", 10)
    monkeypatch.setattr("lookalike.search.tables.AREA", 50)
    rows = np.linspace(0, 1, 60)[:, None] * [1.0, 1.0]
    options = {"measure": "euclidean", "threshold": 0.5, "method": "brute", "run": ONE}
    expected = oracle("euclidean", rows, 0.5)
    assert found(la.find_pairs(rows, max_pairs=len(expected), **options)) == expected
    with pytest.raises(TooManyPairs):
        la.find_pairs(rows, max_pairs=len(expected) - 1, **options)


# --- plans ---


def test_what_a_plan_says():
    rows = drawn(1, 50)
    lines = la.find_pairs(rows, measure="cosine", threshold=20, method="brute").plan.lines()
    assert lines == ["plan: cosine <= 20 degrees of vectors of 6 dimensions, exact: all pairs are compared"]
    lines = la.find_pairs(rows, measure="cosine_similarity", threshold=0.9).plan.lines()
    assert lines[0] == "plan: cosine_similarity >= 0.9 of vectors of 6 dimensions, exact: all pairs are compared"
    assert "core-seconds are estimated" in lines[1]
    lines = la.find_pairs(rows, measure="cosine", threshold=0.9, method="exact").plan.lines()
    assert lines[1] == "      the threshold is an angle in degrees; a cosine takes measure 'cosine_similarity'"
    plan = la.find_pairs(rows, measure="euclidean", threshold=0.1, method="lsh", recall=0.9).plan
    bands, rows_, recall = plan.bands
    assert plan.lines()[0].startswith(f"plan: euclidean <= 0.1 of vectors of 6 dimensions, by {bands} band")
    assert f" of {rows_} row" in plan.lines()[0]
    assert f", cut into segments of {plan.width:g}" in plan.lines()[0]
    assert plan.lines()[1].startswith(
        f"      finds a pair at the threshold with probability {recall:.4f}, closer pairs"
    )
    plan = la.find_pairs([1, 2, 3], measure="hamming", threshold=1, method="lsh").plan
    assert plan.lines()[0].startswith("plan: hamming <= 1 bits of codes of 64 bits, by ")
    plan = la.find_matches(rows, rows, measure="cosine", threshold=20, k=3, method="brute").plan
    assert plan.lines()[0].startswith("plan: the 3 nearest with cosine <= 20 degrees of vectors of 6 dimensions")


def test_what_a_plan_of_parts_says(parts):
    parts(5)
    plan = la.find_pairs(Bits.of(drawn_bits(1, 20)), measure="hamming", threshold=3, method="exact").plan
    assert plan.lines() == [
        "plan: hamming <= 3 bits of codes of 40 bits, exact: 5 parts, of which 2 must agree (10 tables)",
        "      every pair is found; about no pairs to be compared",
    ]
    assert plan.recall == 1


def test_what_a_file_depends_on():
    rows = drawn(1, 50)
    plan = la.find_pairs(rows, measure="euclidean", threshold="0.1", method="lsh", seed=7).plan
    kept = plan.settings()
    assert (
        kept.items()
        >= {
            "measure": "euclidean",
            "threshold": "1/10",
            "items": "vectors of 6 dimensions",
            "seed": "7",
            "method": f"lsh {plan.bands.bands}x{plan.bands.rows}",
            "width": repr(plan.width),
        }.items()
    )
    plan = la.find_pairs(rows, measure="cosine", threshold=20, method="brute").plan
    assert plan.settings()["method"] == "brute"
    assert "width" not in plan.settings()


def test_what_a_plan_is_told_of_the_items():
    rows = drawn(1, 50)
    pairs = la.find_pairs(rows, measure="cosine", threshold=20, method="brute")
    assert (pairs.plan.items, pairs.plan.candidates) == (50, 1225)
    assert pairs.stats["items"] == 50
    assert pairs.kind == "distance"
    assert la.find_pairs(rows, measure="cosine_similarity", threshold=0.9).kind == "similarity"
    heads = len(np.unique(rows, axis=0))
    assert pairs.stats["identical"] == 50 - heads
    assert pairs.stats["candidates"] == heads * (heads - 1) // 2


# --- what cannot be done ---

PLANE = np.eye(3)
WRONG = [
    ({}, "measure must be one of cosine, cosine_similarity, euclidean, hamming for a matrix; got 'jaccard'."),
    (
        {"measure": "jaccard", "threshold": 0.5},
        "measure must be one of cosine, cosine_similarity, euclidean, hamming for a matrix; got 'jaccard'.",
    ),
    ({"measure": "cosine"}, "measure 'cosine' needs a threshold: the greatest angle, in degrees."),
    ({"measure": "cosine_similarity"}, "measure 'cosine_similarity' needs a threshold: the least cosine."),
    ({"measure": "euclidean"}, "measure 'euclidean' needs a threshold: the greatest distance."),
    ({"measure": "cosine", "threshold": 181}, "threshold must be in [0, 180]; got 181."),
    ({"measure": "cosine", "threshold": -1}, "threshold must be in [0, 180]; got -1."),
    ({"measure": "cosine", "threshold": math.nan}, "threshold must be a number; got nan."),
    ({"measure": "cosine", "threshold": "x"}, "threshold must be a number; got 'x'."),
    ({"measure": "cosine", "threshold": "1/0"}, "threshold must be a number; got '1/0'."),
    ({"measure": "euclidean", "threshold": -0.5}, "threshold must be in [0, infinity); got -0.5."),
    ({"measure": "euclidean", "threshold": math.inf}, "threshold must be a number; got inf."),
    ({"measure": "euclidean", "threshold": "nan"}, "threshold must be a number; got 'nan'."),
    (
        {"measure": "cosine", "threshold": 5, "method": "flat"},
        "method must be one of auto, lsh, exact, brute; got 'flat'.",
    ),
    (
        {"measure": "cosine", "threshold": 5, "method": "lsh", "recall": 1},
        "recall must be under 1 for method 'lsh'; recall 1 takes method 'exact'.",
    ),
    ({"measure": "cosine", "threshold": 5, "recall": 0}, "recall must be in (0, 1]; got 0."),
    ({"measure": "cosine", "threshold": 5, "recall": 95}, "recall must be in (0, 1]; got 95. Did you mean 0.95?"),
    (
        {"measure": "cosine", "threshold": 5, "filter": "prefix"},
        "filter is for sets and texts, not for vectors or bits.",
    ),
    ({"measure": "cosine", "threshold": 5, "order": [1]}, "order is for sets and texts, not for vectors or bits."),
    (
        {"measure": "cosine", "threshold": 5, "shingles": "char:4"},
        "shingles is for sets and texts, not for vectors or bits.",
    ),
    ({"measure": "cosine", "threshold": 5, "seed": -1}, "seed must be an integer of at least 0; got -1."),
    ({"measure": "cosine", "threshold": 5, "audit": -1}, "audit must be an integer of at least 0; got -1."),
    (
        {"measure": "cosine", "threshold": 180, "method": "lsh"},
        "threshold 180 is too far for method 'lsh': at recall 0.99 it takes more than 4096 functions. "
        "Use method 'brute'.",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=str)
def test_what_cannot_be_asked_of_vectors(options, message):
    for rows in (PLANE, sparse.csr_array(PLANE)):
        with pytest.raises(UsageError) as raised:
            la.find_pairs(rows, **options)
        assert str(raised.value) == message


@pytest.mark.parametrize("measure", ["cosine", "cosine_similarity", "euclidean", "hamming"])
@pytest.mark.parametrize("threshold", [True, [20], "1e400", Fraction(10**400), object(), b"1", math.nan, -2, 1 + 1j])
def test_thresholds_that_are_none(threshold, measure):
    """Each is told by one line about the threshold, and nothing else."""
    rows = Bits.of([1, 2]) if measure == "hamming" else PLANE
    with pytest.raises(UsageError, match=r"^threshold must be "):
        la.find_pairs(rows, measure=measure, threshold=threshold)


@pytest.mark.parametrize("threshold", [1.5, -2, "-3/2"])
def test_cosines_out_of_range(threshold):
    with pytest.raises(UsageError, match=rf"^threshold must be in \[-1, 1\]; got {float(Fraction(threshold)):g}\.$"):
        la.find_pairs(PLANE, measure="cosine_similarity", threshold=threshold)


@pytest.mark.parametrize(
    ("items", "measure", "message"),
    [
        (
            Vectors.of(PLANE),
            "hamming",
            "measure must be cosine, cosine_similarity or euclidean for vectors; got 'hamming'.",
        ),
        (Bits.of([1, 2]), "cosine", "measure must be hamming for bits; got 'cosine'."),
        (Bits.of([1, 2]), "euclidean", "measure must be hamming for bits; got 'euclidean'."),
        (
            Vectors.of(PLANE),
            "jaccard",
            "measure must be one of cosine, cosine_similarity, euclidean, hamming; got 'jaccard'.",
        ),
        (
            Bits.of([1, 2]),
            "edit",
            "measure must be one of cosine, cosine_similarity, euclidean, hamming; got 'edit'.",
        ),
        (
            Vectors.of(PLANE),
            "cosin",
            "measure must be one of cosine, cosine_similarity, euclidean, hamming; got 'cosin'. Did you mean 'cosine'?",
        ),
    ],
)
def test_measures_of_other_kinds_of_items(items, measure, message):
    with pytest.raises(UsageError) as raised:
        la.find_pairs(items, measure=measure, threshold=1)
    assert str(raised.value) == message


def test_thresholds_of_codes():
    codes = Bits.of(["1010", "1111"])
    for threshold, message in [
        (5, "threshold must be an integer of at most 4; got 5."),
        (-1, "threshold must be an integer of at least 0; got -1."),
        (1.5, "threshold must be an integer of at least 0; got 1.5."),
        (None, "measure 'hamming' needs a threshold: the most bits that may differ."),
    ]:
        with pytest.raises(UsageError) as raised:
            la.find_pairs(codes, measure="hamming", threshold=threshold)
        assert str(raised.value) == message


def test_collections_that_do_not_go_together():
    options = {"measure": "cosine", "threshold": 1}
    for left, right in [(Vectors.of(PLANE), Bits.of([1])), (Bits.of([1]), Vectors.of(PLANE)), (PLANE, ["a", "b"])]:
        with pytest.raises(UsageError, match=r"^two collections must both be texts, both be sets, both be vectors or"):
            la.find_matches(left, right, **options)
    for options in ({"threshold": 1}, {"k": 1}):
        with pytest.raises(DataError, match=r"^vectors must have as many dimensions on both sides; got 3 and 4\.$"):
            la.find_matches(PLANE, np.eye(4), measure="cosine", **options)
        with pytest.raises(DataError, match=r"^vectors must have as many dimensions on both sides; got 3 and 4\.$"):
            la.find_matches(PLANE, sparse.csr_array(np.eye(4)), measure="euclidean", **options)
        with pytest.raises(DataError, match=r"^codes must have as many bits on both sides; got 4 and 5\.$"):
            la.find_matches(["0000"], ["00000"], measure="hamming", **options)


def test_rows_that_are_no_vectors():
    for rows in ([[1.0, 2], [3.0]], np.array([[1.0, math.nan]]), np.array([[math.inf, 1.0]])):
        with pytest.raises(DataError, match=r"^row [01]: .*; on_error='skip'"):
            la.find_pairs(rows, measure="euclidean", threshold=1)
    with pytest.raises(DataError, match=r"^vectors must be a matrix"):
        la.find_pairs(np.ones(3), measure="euclidean", threshold=1)
    with pytest.raises(UsageError, match=r"^items must be a matrix, rows of numbers, a table or a path; got dict\.$"):
        la.find_pairs({1: 2}, measure="euclidean", threshold=1)


def test_tables_of_vectors():
    rows = drawn(4, 20)
    table = pa.table({"id": [f"n{i}" for i in range(20)], "vector": rows.tolist()})
    pairs = la.find_pairs(table, measure="euclidean", threshold=1.2)
    assert found(pairs) == oracle("euclidean", rows, 1.2)
    assert [left for left, _, _ in pairs] == [f"n{i}" for i in pairs.left]


class Frame:
    """A data frame, as far as Arrow is concerned."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, schema=None):
        return self.table.__arrow_c_stream__(schema)


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_data_frames_hold_vectors(measure):
    rows = np.random.default_rng(5).normal(size=(40, 3))
    expected = la.find_pairs(rows, measure=measure, threshold=0.5).to_arrow()
    columns = {f"x{at}": rows[:, at] for at in range(3)}
    for table in (pa.table(columns), pa.table({"vector": rows.tolist()})):
        assert la.find_pairs(Frame(table), measure=measure, threshold=0.5).to_arrow().equals(expected)
    named = la.find_pairs(
        Frame(pa.table({"id": [f"n{at}" for at in range(40)], **columns})), measure=measure, threshold=0.5
    )
    assert named.to_arrow()["left"].to_pylist() == [f"n{at}" for at in expected["left"].to_pylist()]
    assert la.find_pairs(list(rows), measure=measure, threshold=0.5).to_arrow().equals(expected)


def test_vectors_are_all_as_long():
    with pytest.raises(UsageError, match=r"^keep must be 'first', or a value for each item"):
        la.dedup(np.eye(3), measure="cosine", threshold=5, keep="longest")


def test_no_bits_of_a_sparse_matrix():
    with pytest.raises(DataError, match=r"^bits are not taken from a sparse matrix"):
        la.find_pairs(sparse.csr_array(np.eye(3)), measure="hamming", threshold=1)
