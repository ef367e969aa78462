"""Check near vectors and codes through the whole pipeline, against brute force and against their laws."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs, UsageError
from lookalike.devices.plain import Plain
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from lookalike.measures.table import TABLED
from lookalike.results.explanations import SharedElements
from tests import reference as ref
from tests.vector_samples import (
    EXACT,
    SINGLE,
    THRESHOLDS,
    WAYS,
    drawn,
    found,
    in_order,
    oracle,
    rates_of,
    sample_of,
    standard_error,
)

# --- exact methods ---


@pytest.mark.slow
@pytest.mark.parametrize("options", EXACT, ids=str)
@pytest.mark.parametrize("measure", THRESHOLDS)
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(2, 70))
def test_exact_methods_find_what_brute_force_does(measure, options, seed, items):
    rows = sample_of(measure, seed, items)
    threshold = THRESHOLDS[measure]
    pairs = la.find_pairs(rows, measure=measure, threshold=threshold, run=SINGLE, **options)
    assert found(pairs) == oracle(measure, rows, threshold)
    assert in_order(pairs)
    assert pairs.plan.recall == 1
    split = seed % items
    matches = la.find_matches(rows[:split], rows[split:], measure=measure, threshold=threshold, run=SINGLE, **options)
    assert found(matches) == oracle(measure, rows, threshold, split)
    assert in_order(matches)


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_thresholds_at_both_ends(measure):
    """Only identical rows, all rows, and exactly the distance of a pair."""
    rows = np.concatenate((sample_of(measure, 1, 30), sample_of(measure, 1, 5)))
    ends = {"angle": (0, 180), "cosine_similarity": (1, -1), "euclidean": (0, 1e6), "inner_product": (6, -1e6)}
    ends = ends.get(measure, (0, 40))
    values = sorted(oracle(measure, rows, ends[1]).values())
    assert len(values) == 35 * 34 // 2
    for threshold in (*ends, *(values[at] for at in (20, 100, 300, 594))):
        pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method="exact", run=SINGLE)
        assert found(pairs) == oracle(measure, rows, threshold)
        assert len(pairs) >= (1 if measure == "inner_product" else 5)


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
@pytest.mark.parametrize("measure", ["angle", "cosine_similarity", "euclidean"])
def test_rows_of_any_size(measure, size, method):
    rows = np.round(drawn(5, 40), 3) * size
    threshold = 1.2 * size if measure == "euclidean" else THRESHOLDS[measure]
    pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method=method, run=SINGLE)
    expected = oracle(measure, rows, threshold)
    assert found(pairs).items() <= expected.items()
    assert len(pairs) >= (0.9 if method == "lsh" else 1) * len(expected) > 0


@pytest.mark.parametrize("method", ["auto", "lsh", "brute"])
def test_an_outlier_spoils_nothing(method):
    """However far away it is, segments must not be wider than the other rows need."""
    rows = drawn(6, 400)
    rows[0] = 1e20
    pairs = la.find_pairs(rows, measure="euclidean", threshold=0.3, method=method, run=SINGLE)
    expected = oracle("euclidean", rows, 0.3)
    assert found(pairs).items() <= expected.items()
    assert len(pairs) >= 0.95 * len(expected)


@pytest.mark.parametrize("threshold", [0, 1e-9, 1])
@pytest.mark.parametrize("method", ["auto", "lsh", "brute"])
def test_rows_that_are_all_the_same(method, threshold):
    rows = np.ones((30, 3)) * [1.0, 2.0, 3.0]
    for measure in ("angle", "euclidean"):
        pairs = la.find_pairs(rows, measure=measure, threshold=threshold, method=method, run=SINGLE)
        assert len(pairs) == 30 * 29 // 2
        assert not pairs.distance.any()
        assert pairs.stats["identical"] == 29
    codes = Bits.of(np.ones((30, 9), int))
    assert len(la.find_pairs(codes, measure="hamming", threshold=int(threshold), method=method, run=SINGLE)) == 435


def test_rows_of_no_dimensions():
    assert len(la.find_pairs(np.zeros((4, 0)), measure="euclidean", threshold=0)) == 6


# --- inner products ---

FORMS = {
    "double": lambda rows: rows,
    "single": lambda rows: rows.astype(np.float32),
    "sparse": sparse.csr_array,
    "plain device": lambda rows: rows,
}


def uneven(seed, items):
    """Draw rows of all lengths, some equal, zero, huge or tiny."""
    rng = np.random.default_rng(seed)
    rows = drawn(seed, items) * rng.choice([1.0, 1.0, 0.01, 30.0, 0.0, 1e15], (items, 1))
    rows[1::7] = rows[0]
    return rows.astype(np.float32).astype(np.float64)


def check_inner_products(rows, form, threshold, k=3):
    """Check all results against products that Python computes."""
    n = len(rows)
    given, device = FORMS[form](rows), Plain(16) if form == "plain device" else "cpu"
    common = {"measure": "inner_product", "device": device, "run": SINGLE}
    values = np.array([[ref.inner_product(x, y) for y in rows.tolist()] for x in rows.tolist()])
    near = {(i, j): values[i, j] for i in range(n) for j in range(i + 1, n) if values[i, j] >= threshold}
    pairs = la.find_pairs(given, threshold=threshold, **common)
    assert found(pairs) == near
    assert in_order(pairs)
    groups = la.find_clusters(given, threshold=threshold, **common)
    assert groups.label.tolist() == ref.components(n, near)
    result = la.dedup(given, threshold=threshold, **common)
    kept = []
    for i in range(n):  # an item is kept unless one kept before is near; the first of these stands for it
        centre = next((j for j in kept if (j, i) in near), i)
        kept += [i] * (centre == i)
        assert (result.centre[i], result.values[i]) == (centre, values[centre, i])
    best = [sorted((j for j in range(n) if j != i), key=lambda j: (-values[i, j], j))[:k] for i in range(n)]
    nearest = la.find_pairs(given, k=k, audit=n, **common)
    assert list(nearest) == [(i, j, values[i, j]) for i in range(n) for j in best[i]]
    assert nearest.audit.found == nearest.audit.true == n * min(k, n - 1)
    half = n // 2
    split = {(i, j - half): value for (i, j), value in near.items() if i < half <= j}
    assert found(la.find_matches(given[:half], given[half:], threshold=threshold, **common)) == split


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from([-1e30, -3.0, 0.0, 1e-9, 4.0, 1e3, 1e20, 1e33]))
def test_inner_products_are_those_of_python(form, seed, items, threshold):
    check_inner_products(uneven(seed, items), form, threshold)


@pytest.mark.parametrize("form", ["double", "sparse", "plain device"])
@pytest.mark.parametrize("threshold", [-1e308, -1e-300, 0.0, 5e-324, 1e-300, 3.0, 1e100, 1e308])
def test_inner_products_of_huge_and_tiny_rows(form, threshold):
    rows = np.round(drawn(2, 40), 3)
    rows *= np.resize([1e200, 1e-200, 1, 1e100, -1e150, 1e-320, 1e308 / 8, 0], 40)[:, None]
    rows[20] = rows[4]
    check_inner_products(rows, form, threshold)


@pytest.mark.parametrize("form", FORMS)
def test_identical_rows_need_not_have_a_large_inner_product(form):
    rows = np.array([[1.0, 0], [1, 0], [0, 0], [3, 0], [1, 0], [0, 0]])
    check_inner_products(rows, form, 2)
    check_inner_products(rows, form, 1)
    check_inner_products(rows, form, 4)
    given = {"measure": "inner_product", "threshold": 2, "method": "brute"}
    assert found(la.find_pairs(rows[:2], **given)) == {}
    assert la.dedup(FORMS[form](rows), against=FORMS[form](rows[:2]), **given).kept.to_pylist() == [0, 1, 2, 4, 5]


@pytest.mark.parametrize("name", ["inner_product", "dot", "dot_product", "ip", "inner"])
def test_other_names_of_inner_products(name):
    rows = np.array([[1.0, 2], [3, 4]])
    pairs = la.find_pairs(rows, measure=name, threshold=11)
    assert list(pairs) == [(0, 1, 11.0)]
    assert (
        pairs.plan.lines()[0] == "plan: inner_product >= 11 of vectors of 2 dimensions, exact: all pairs are compared"
    )
    assert pairs.plan.lines()[1].endswith("inner_product has no tables")
    assert pairs.to_arrow().schema.names == ["left", "right", "similarity"]
    assert list(la.find_matches(rows, rows, measure=name, k=1)) == [(0, 1, 11.0), (1, 1, 25.0)]


# --- bands ---


@pytest.mark.slow
@pytest.mark.parametrize("measure", TABLED)
@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_bands_find_no_pair_that_is_not_near(measure, seed):
    """Each pair and value is one of brute force; identical rows are always found."""
    rows = sample_of(measure, seed, 120)
    threshold = THRESHOLDS[measure]
    expected = oracle(measure, rows, threshold)
    options = {"measure": measure, "threshold": threshold, "method": "lsh", "recall": 0.7, "seed": seed, "run": SINGLE}
    pairs = la.find_pairs(rows, **options)
    assert found(pairs).items() <= expected.items()
    assert in_order(pairs)
    same = {pair for pair in expected if (rows[pair[0]] == rows[pair[1]]).all()}
    assert same <= found(pairs).keys()
    matches = la.find_matches(rows[:50], rows[50:], **options)
    assert found(matches).items() <= oracle(measure, rows, threshold, 50).items()
    assert in_order(matches)


@pytest.mark.slow
@pytest.mark.parametrize("recall", [0.6, 0.95])
@pytest.mark.parametrize("measure", TABLED)
def test_recall_is_what_was_asked_for(measure, recall):
    """Over several seeds, at least as many pairs are found as the plan says."""
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

LAWS = [
    *product(["angle"], [5, 20, 45], [30]),
    *product(["euclidean"], [0.5, 2.0, 6.0], [100]),
    *product(["hamming"], [6, 25, 60], [256]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "threshold", "dimensions"), LAWS)
def test_pairs_at_the_threshold_are_found_as_the_plan_says(measure, threshold, dimensions):
    """The share found is the plan's recall, up to four standard errors; the width is planned."""
    plain = {} if measure == "hamming" else {"probes": 0}
    rates, error, plan = rates_of(measure, threshold, 0.5, dimensions, **plain)
    assert abs(np.mean(rates) - plan.recall) <= 4 * error
    assert plan.recall >= 0.5
    assert (plan.width > 0) == (measure == "euclidean")


# --- results do not depend on how work is divided ---


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "method"), WAYS)
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
    for name, size in {"SIDE": 7, "REACH": 19}.items():
        monkeypatch.setattr(f"lookalike.search.blocks.{name}", size)
    for name, size in {"SIDE": 7, "REACH": 19, "SLICE": 33, "PART": 50, "FRESH": 10, "FUNCTIONS": 3}.items():
        monkeypatch.setattr(f"lookalike.search.tables.{name}", size)
    for name, size in {"ROWS": 13, "CHOSEN": 3, "FEW": 20, "SHARE": 4, "PART": 30}.items():
        monkeypatch.setattr(f"lookalike.search.nearest.{name}", size)
    assert results(1) == expected
    assert results(3) == expected


# --- two collections ---


@pytest.mark.parametrize("measure", ["angle", "euclidean"])
def test_two_collections_of_different_types(measure):
    """Dense and sparse, single and double: the result is that of the wider type."""
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


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "method"), [*WAYS, *product(THRESHOLDS, ("auto", "exact"))])
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


# --- groups ---


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "method"), WAYS)
@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_clusters_and_dedup(measure, method, seed):
    """Clusters are components; a removed row is near a kept one, and no two kept rows are found."""
    rows = sample_of(measure, seed, 80)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method, "recall": 0.9, "run": SINGLE}
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
        if not isinstance(keep, str):  # the best of all is never removed
            assert result.keep[np.argmax(keep)]


# --- ids, and rows that are left out ---


def test_names_of_vectors():
    rows = Vectors.of([[1.0, 0], [1, 0.01], [0, 1], [1, 0]], ids=["a", "b", "c", "d"])
    pairs = la.find_pairs(rows, measure="angle", threshold=2)
    assert [(left, right) for left, right, _ in pairs] == [("a", "b"), ("a", "d"), ("b", "d")]
    assert pairs.to_arrow().schema.names == ["left", "right", "distance"]
    others = Vectors.of([[0.0, 2], [5, 0]], ids=[10, 20])
    matches = la.find_matches(rows, others, measure="cosine_similarity", threshold=0.99)
    assert [(left, right) for left, right, _ in matches] == [("a", 20), ("b", 20), ("c", 10), ("d", 20)]
    assert matches.to_arrow().schema.names == ["left", "right", "similarity"]
    nearest = la.find_matches(others, rows, measure="euclidean", k=2)
    assert [(left, right) for left, right, _ in nearest] == [(10, "c"), (10, "b"), (20, "a"), (20, "d")]
    assert list(la.find_clusters(rows, measure="angle", threshold=2)) == [["a", "b", "d"]]
    result = la.dedup(rows, measure="angle", threshold=2, keep=[1, 2, 3, 4])
    assert result.kept.to_pylist() == ["c", "d"]
    assert result.to_arrow().to_pydict()["kept"] == ["d", "d"]


def test_names_of_codes():
    codes = Bits.of(["1100", "1101", "0011"], ids=["x", "y", "z"])
    pairs = la.find_pairs(codes, measure="hamming", threshold=1)
    assert list(pairs) == [("x", "y", 1)]
    assert pairs.explain(0) == SharedElements([0, 1], [], [3])
    matches = la.find_matches(Bits.of(["0011"]), codes, measure="hamming", k=1)
    assert list(matches) == [(0, "z", 0)]
    assert matches.explain(0).both == [2, 3]


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_vectors_are_explained_by_their_components(form):
    pairs = la.find_pairs(form([[1.0, 0, 5], [1.5, 0, 4]]), measure="angle", threshold=20)
    assert pairs.explain(0).rows() == [
        {"component": 2, "left": 5.0, "right": 4.0, "difference": 1.0},
        {"component": 0, "left": 1.0, "right": 1.5, "difference": 0.5},
        {"component": 1, "left": 0.0, "right": 0.0, "difference": 0.0},
    ]


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("ids", [None, list("abcdef")])
def test_rows_that_are_left_out_keep_the_names_of_the_others(ids, spread):
    """One is not finite, and two have no direction, which only angles need."""
    rows = np.array([[0.0, 0], [1, 0], [math.nan, 1], [1, 0.001], [0, 0], [1, 0.002]])
    vectors = Vectors.of(sparse.csr_array(rows) if spread else rows, ids=ids, on_error="skip")
    names = ids or list(range(6))
    for measure, threshold in (("angle", 1), ("cosine_similarity", 0.99)):
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
    assert la.find_clusters(vectors, measure="angle", threshold=1).to_arrow()["id"].to_pylist() == [
        names[i] for i in (1, 3, 5)
    ]
    assert la.dedup(vectors, measure="angle", threshold=1).kept.to_pylist() == [names[1]]


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("measure", ["angle", "cosine_similarity"])
def test_zero_vectors_have_no_direction(measure, spread):
    rows = np.array([[1.0, 2], [0, 3], [0, 0], [0, 0]])
    given = sparse.csr_array(rows) if spread else rows
    for options in ({"threshold": 1}, {"threshold": 1, "method": "lsh"}):
        with pytest.raises(
            DataError,
            match=r"^row 2: a zero vector has no direction; use Vectors\.of\(on_error='skip'\) to skip such rows\.$",
        ):
            la.find_pairs(given, measure=measure, **options)
    named = Vectors.of(given, ids=["a", "b", "c", "d"])
    with pytest.raises(DataError, match=r"^row 2 \(c\): a zero vector has no direction; "):
        la.find_matches(np.eye(2), named, measure=measure, k=1)
    assert len(la.find_pairs(given, measure="euclidean", threshold=0)) == 1


# --- too many pairs ---


@pytest.mark.parametrize(("measure", "method"), WAYS)
def test_more_pairs_than_may_be_listed(measure, method):
    rows = sample_of(measure, 3, 120)
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method}
    count = len(la.find_pairs(rows, **options))
    assert len(la.find_pairs(rows, max_pairs=count, **options)) == count
    for limit in (1, count - 1):
        with pytest.raises(TooManyPairs, match=rf"similar pairs, more than max_pairs = {limit:,}: choose a stricter "):
            la.find_pairs(rows, max_pairs=limit, **options)
    same = np.repeat(rows[:1], 50, axis=0)
    with pytest.raises(TooManyPairs, match=r"1,225 similar pairs, more than max_pairs = 1,224"):
        la.find_pairs(same, max_pairs=1224, **options)
    assert len(la.find_clusters(rows, **options)) > 0


# --- errors ---


def test_vectors_are_all_as_long():
    with pytest.raises(UsageError, match=r"^keep must be 'lowest-id', 'first' or one value per item"):
        la.dedup(np.eye(3), measure="angle", threshold=5, keep="longest")
