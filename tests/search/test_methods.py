"""Exact joins through the whole pipeline: every measure, every filter, and the choice between methods."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs, UsageError
from lookalike.core.run import Run
from lookalike.items.sets import Sets, text_bounds
from lookalike.kernels.text import hash_contents
from lookalike.measures import MEASURES
from lookalike.search.identical import group_by_positions, group_identical
from tests import reference as ref

ONE = Run(1)
NAMES = {"jaccard": "jaccard", "containment": "containment", "cosine": "set_cosine", "overlap": "overlap"}
THRESHOLDS = {"overlap": [1, 2, 3, 5]}

seeds = st.integers(0, 2**32).map(random.Random)


def drawn_sets(rng, n):
    """Small sets, many of them similar, some equal or empty."""
    pool = range(rng.choice([4, 9, 20]))
    sets = [set(rng.sample(pool, rng.randint(0, len(pool)))) for _ in range(n // 2)]
    return sets + [rng.choice(sets) ^ set(rng.sample(pool, rng.choice([0, 1, 2]))) for _ in range(n - n // 2)]


def similar(measure, a, b, threshold):
    """In exact arithmetic; an empty set is similar to nothing."""
    shared = len(a & b)
    if measure == "overlap":
        return shared >= threshold
    wanted = Fraction(str(threshold))
    if measure == "cosine":
        return shared > 0 and Fraction(shared**2, len(a) * len(b)) >= wanted**2
    whole = len(a | b) if measure == "jaccard" else len(a)
    return shared > 0 and Fraction(shared, whole) >= wanted


def found(pairs):
    return {(left, right): value for left, right, value in pairs}


# --- measures ---


@pytest.mark.parametrize("measure", NAMES)
@settings(max_examples=150)
@given(seeds, st.data())
def test_pairs_of_sets_by_any_measure(measure, rng, data):
    """Those of brute force, with their values; containment has a direction, and may hold both ways."""
    threshold = data.draw(st.sampled_from(THRESHOLDS.get(measure, [0.5, "2/3", 0.8, 0.9, 0.85, 1])))
    sets = drawn_sets(rng, 14)
    pairs = la.find_pairs(sets, measure=measure, threshold=threshold, method="exact", run=ONE)
    ways = permutations if measure == "containment" else combinations
    expected = {
        (i, j): MEASURES[NAMES[measure]](sets[i], sets[j])
        for i, j in ways(range(len(sets)), 2)
        if similar(measure, sets[i], sets[j], threshold)
    }
    assert found(pairs) == expected
    assert list(found(pairs)) == sorted(expected)
    split = rng.randrange(len(sets))
    matches = la.find_matches(sets[:split], sets[split:], measure=measure, threshold=threshold, recall=1.0, run=ONE)
    across = {(i, j - split): value for (i, j), value in expected.items() if i < split <= j}
    assert found(matches) == across


@settings(max_examples=100)
@given(seeds, st.sampled_from([0.5, "2/3", 0.8, 1]))
def test_pairs_of_bags(rng, threshold):
    bags = [Counter(rng.choices("abcd", k=rng.randrange(8))) for _ in range(12)]
    pairs = la.find_pairs(bags, measure="bag", threshold=threshold, method="exact", run=ONE)
    values = {(i, j): la.measures.bag_jaccard(bags[i], bags[j]) for i, j in combinations(range(12), 2)}
    assert found(pairs) == {pair: s for pair, s in values.items() if s >= float(Fraction(str(threshold))) - 1e-12 and s}


def test_bags_of_shingles():
    texts = ["aaaa", "aaaaaaaa", "abab"]
    pairs = la.find_pairs(texts, measure="bag", threshold=0.4, shingles="char:2", run=ONE)
    assert found(pairs) == {(0, 1): 3 / 7}
    assert len(la.find_pairs(texts, threshold=0.4, shingles="char:2", run=ONE)) == 1
    assert la.find_pairs(texts, threshold=0.4, shingles="char:2", run=ONE).similarity.tolist() == [1]


@pytest.mark.parametrize(("measure", "moves"), [("edit", "indel"), ("levenshtein", "levenshtein")])
@settings(max_examples=60)
@given(seeds, st.integers(0, 3))
def test_pairs_of_texts_by_edit_distance(measure, moves, rng, edits):
    """An empty text is as many edits away as the other has characters."""
    texts = ["".join(rng.choices("ab", k=rng.randrange(9))) for _ in range(12)]
    pairs = la.find_pairs(texts, measure=measure, threshold=edits, run=ONE)
    distances = {(i, j): ref.edit(texts[i], texts[j], moves) for i, j in combinations(range(12), 2)}
    assert found(pairs) == {pair: d for pair, d in distances.items() if d <= edits}
    assert pairs.to_arrow().schema.names == ["left", "right", "distance"]
    assert pairs.distance.tolist() == list(found(pairs).values())


def test_edits_of_texts_in_one_case_and_normal_form():
    texts = ["Jane Doe", "jane doe", "caf\u00e9 x", "cafe\u0301 x"]
    assert found(la.find_pairs(texts, measure="edit", threshold=0, run=ONE)) == {(2, 3): 0}
    lower = la.Shingles(lowercase=True)
    assert found(la.find_pairs(texts, measure="edit", threshold="0", shingles=lower, run=ONE)) == {(0, 1): 0, (2, 3): 0}


def test_negative_and_huge_integers_are_different():
    assert len(la.find_matches([{-1}, {5}], [{2**64 - 1}], threshold=0.5)) == 0
    assert len(la.find_matches([{-1}, {5}], [{-1}, {3}], threshold=0.5)) == 1


def test_distances_are_no_similarities():
    pairs = la.find_pairs(["ab", "abc"], measure="edit", threshold="1", run=ONE)
    with pytest.raises(UsageError, match=r"^the measure is a distance, not a similarity\.$"):
        pairs.similarity  # noqa: B018
    with pytest.raises(UsageError, match=r"^the measure is a similarity, not a distance\.$"):
        la.find_pairs(["ab", "abc"], run=ONE).distance  # noqa: B018


# --- groups ---


@pytest.mark.parametrize("measure", ["jaccard", "cosine", "overlap", "containment"])
@settings(max_examples=60)
@given(seeds)
def test_clusters_and_dedup_by_any_measure(measure, rng):
    """Clusters are components of the pairs; a dropped set is similar to one kept, and no two kept are."""
    threshold = 3 if measure == "overlap" else 0.7
    sets = drawn_sets(rng, 14)
    options = {"measure": measure, "threshold": threshold, "method": "exact", "run": ONE}
    pairs = la.find_pairs(sets, **options)
    assert la.find_clusters(sets, **options).label.tolist() == pairs.clusters().label.tolist()
    result = la.dedup(sets, **options)
    values = found(pairs)
    for item, centre in enumerate(result.centre.tolist()):
        if centre != item:
            assert result.keep[centre]
            either = values.get((item, centre), values.get((centre, item)))
            assert either is not None
            if measure != "containment":
                assert result.similarity[item] == either
    kept = np.flatnonzero(result.keep).tolist()
    if measure != "containment":
        assert not [pair for pair in combinations(kept, 2) if pair in values]
    else:  # a later set is dropped if it is contained in one that is kept
        assert not [(i, j) for i, j in permutations(kept, 2) if j < i and (i, j) in values]


def test_dedup_by_edit_distance():
    result = la.dedup(["Jon Smith", "John Smith", "Jane Doe", "Jon Smith"], measure="edit", threshold=2, run=ONE)
    assert result.keep.tolist() == [True, False, True, False]
    assert result.to_arrow().to_pydict() == {"id": [1, 3], "kept": [0, 0], "distance": [1, 0]}
    assert result.distance.tolist() == [0, 1, 0, 0]


# --- filters and orders ---


@settings(max_examples=60)
@given(seeds, st.sampled_from([0.5, 0.8, 0.9]))
def test_filters_and_orders_change_nothing_but_the_work(rng, threshold):
    sets = [{str(x) for x in one} for one in drawn_sets(rng, 16)]
    options = {"threshold": threshold, "run": ONE}
    expected = found(la.find_pairs(sets, method="exact", **options))
    compared = []
    for stage in ("length", "prefix", "position", "suffix"):
        pairs = la.find_pairs(sets, filter=stage, **options)
        assert found(pairs) == expected
        assert pairs.plan.method == "exact"
        compared.append(pairs.stats["candidates"])
    assert compared == sorted(compared, reverse=True)
    order = sorted({x for one in sets for x in one}, key=lambda x: rng.random())
    if order:
        assert found(la.find_pairs(sets, order=order, **options)) == expected


def test_the_order_decides_what_is_compared():
    """Sets that begin alike in one order and not in the other."""
    sets = [set("abcdefghi") | {last} for last in "xyz"]
    early = la.find_pairs(sets, threshold=0.9, order="abcdefghixyz", run=ONE)
    late = la.find_pairs(sets, threshold=0.9, order="xyzabcdefghi", run=ONE)
    assert len(early) == len(late) == 0
    assert early.stats["candidates"] == 3
    assert late.stats["candidates"] == 0


@pytest.mark.parametrize(
    ("items", "options", "error", "message"),
    [
        (
            [{1}],
            {"filter": "lenght"},
            UsageError,
            "filter must be one of length, prefix, position, suffix; got 'lenght'. Did you mean 'length'?",
        ),
        ([{1}], {"filter": "prefix", "method": "lsh"}, UsageError, "filter is for method 'exact'; got 'lsh'."),
        ([{1}], {"order": [2]}, DataError, "the order must hold all elements of the sets."),
        ([{1}], {"order": [1, 1]}, UsageError, "order must hold each element once."),
        (["a"], {"order": ["a"]}, UsageError, "order is for sets of elements, not for texts or bags."),
        ([{1}], {"measure": "edit", "threshold": 1}, UsageError, "measure 'edit' compares texts; got sets."),
        ([{1}], {"measure": "bag"}, UsageError, "measure 'bag_jaccard' compares bags: Counters, or texts; got sets."),
        (
            [{1}],
            {"measure": "overlap"},
            UsageError,
            "measure 'overlap' needs a threshold: the least number of shared elements.",
        ),
        (
            [{1}],
            {"measure": "overlap", "threshold": 0.8},
            UsageError,
            "threshold must be an integer of at least 1; got 0.8.",
        ),
        ([{1}], {"order": [1], "method": "lsh"}, UsageError, "order is for method 'exact'; got 'lsh'."),
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
            {"measure": "containment", "method": "lsh"},
            UsageError,
            "method must be 'exact' or 'auto' for measure 'containment', which has no family; got 'lsh'.",
        ),
        (
            [{1}],
            {"measure": "cosine", "audit": 5},
            UsageError,
            "audit is for Jaccard similarity; 'set_cosine' is joined exactly and misses nothing.",
        ),
    ],
)
def test_what_cannot_be_joined(items, options, error, message):
    with pytest.raises(error) as raised:
        la.find_pairs(items, **options)
    assert str(raised.value) == message


# --- the choice ---


def test_small_sets_are_joined_exactly_and_texts_by_bands():
    """Popular elements make many candidates of minhashes, but are in no prefix."""
    rng = random.Random(1)
    sets = [{rng.randrange(5), rng.randrange(5, 10), 100 + i, 10**6 + i // 2} for i in range(20_000)]
    plan = la.find_pairs(sets, threshold=0.6).plan
    assert (plan.method, plan.recall) == ("exact", 1)
    texts = [" ".join(rng.choices([f"word{i}" for i in range(5000)], k=200)) for _ in range(300)]
    plan = la.find_pairs(texts, threshold=0.8).plan
    assert (plan.method, plan.bands is not None) == ("lsh", True)
    for line in (plan.lines()[-1], la.find_pairs(sets, threshold=0.6).plan.lines()[-1]):
        assert "core-seconds are estimated for an exact join" in line


def test_a_crowd_is_not_listed_to_be_grouped():
    """All pairs of many near-copies would be; pairs are listed if pairs are asked for."""
    rng = random.Random(2)
    page = set(range(40))
    sets = [page - set(rng.sample(range(40), 2)) for _ in range(6000)]
    assert la.find_clusters(sets, threshold=0.8).plan.method == "lsh"
    assert la.dedup(sets, threshold=0.8).plan.method == "lsh"


def test_a_crowd_that_an_exact_method_would_have_to_list(monkeypatch):
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    sets = [{1, 2, 3, 4, 5, 6, 7, 8, 9, extra} for extra in range(20, 27)]
    with pytest.raises(TooManyPairs) as error:
        la.dedup(sets, threshold=0.8, recall=1.0, run=ONE)
    assert str(error.value) == (
        "more than 10 similar pairs, all of which an exact method has to list; "
        "with method 'lsh' and a recall under 1 they need not be listed."
    )
    assert la.find_clusters(sets, threshold=0.8, recall=1.0, run=ONE).label.tolist() == [0] * 7


def test_recall_one_and_a_method_leave_no_choice():
    sets = [{1, 2, 3}, {1, 2, 3, 4}]
    assert la.find_pairs(sets, recall=1.0).plan.method == "exact"
    assert la.find_pairs(sets, method="lsh").plan.method == "lsh"
    assert la.find_pairs(sets, recall=1.0).plan.reason == ""


# --- names, and identical items ---


def test_sets_may_have_names():
    sets = Sets.of([{1, 2}, {1, 2}, {3}])
    named = Sets(sets.indptr, sets.elements, ids=pa.array(["a", "b", "c"]))
    assert list(la.find_pairs(named, threshold=0.9)) == [("a", "b", 1.0)]


@given(st.lists(st.text("ab\u00e9", max_size=5), max_size=12), st.integers(1, 4), st.integers(0, 9))
def test_identical_texts_by_a_few_positions(texts, positions, seed):
    """The same groups as by a hash of the whole text."""
    array = pa.array(texts, pa.large_string())
    few = group_by_positions(array, positions, seed)
    whole = group_identical(hash_contents(*text_bounds(array)), np.arange(len(texts)))
    assert few.first.tolist() == whole.first.tolist()
    assert few.heads.tolist() == whole.heads.tolist()


def test_all_short_texts_in_all_orders():
    texts = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)] * 2
    groups = group_by_positions(pa.array(texts, pa.large_string()))
    assert groups.identical == len(texts) // 2
    assert groups.first.tolist() == [texts.index(text) for text in texts]
