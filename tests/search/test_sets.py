"""Check similar sets through the whole pipeline, by every measure."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.items.sets import Sets
from lookalike.measures import MEASURES
from tests.samples import small_sets

SINGLE = Run(1)
NAMES = {"jaccard": "jaccard", "containment": "containment", "cosine": "set_cosine", "overlap": "overlap"}
THRESHOLDS = {"overlap": [1, 2, 3, 5]}

seeds = st.integers(0, 2**32).map(random.Random)


def similar(measure, a, b, threshold):
    """Return whether two sets are similar, in exact arithmetic; an empty set never is."""
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


@pytest.mark.slow
@pytest.mark.parametrize("measure", NAMES)
@settings(max_examples=150)
@given(seeds, st.data())
def test_pairs_of_sets_by_any_measure(measure, rng, data):
    """The pairs and values are those of brute force; containment can hold in either direction."""
    threshold = data.draw(st.sampled_from(THRESHOLDS.get(measure, [0.5, "2/3", 0.8, 0.9, 0.85, 1])))
    sets = small_sets(rng, 14)
    pairs = la.find_pairs(sets, measure=measure, threshold=threshold, method="exact", run=SINGLE)
    ways = permutations if measure == "containment" else combinations
    expected = {
        (i, j): MEASURES[NAMES[measure]](sets[i], sets[j])
        for i, j in ways(range(len(sets)), 2)
        if similar(measure, sets[i], sets[j], threshold)
    }
    assert found(pairs) == expected
    assert list(found(pairs)) == sorted(expected)
    split = rng.randrange(len(sets))
    matches = la.find_matches(sets[:split], sets[split:], measure=measure, threshold=threshold, recall=1.0, run=SINGLE)
    across = {(i, j - split): value for (i, j), value in expected.items() if i < split <= j}
    assert found(matches) == across


@settings(max_examples=100)
@given(seeds, st.sampled_from([0.5, "2/3", 0.8, 1]))
def test_pairs_of_bags(rng, threshold):
    bags = [Counter(rng.choices("abcd", k=rng.randrange(8))) for _ in range(12)]
    pairs = la.find_pairs(bags, measure="bag", threshold=threshold, method="exact", run=SINGLE)
    values = {(i, j): la.measures.bag_jaccard(bags[i], bags[j]) for i, j in combinations(range(12), 2)}
    assert found(pairs) == {pair: s for pair, s in values.items() if s >= float(Fraction(str(threshold))) - 1e-12 and s}


def test_bags_of_shingles():
    texts = ["aaaa", "aaaaaaaa", "abab"]
    pairs = la.find_pairs(texts, measure="bag", threshold=0.4, shingles="char:2", run=SINGLE)
    assert found(pairs) == {(0, 1): 3 / 7}
    assert len(la.find_pairs(texts, threshold=0.4, shingles="char:2", run=SINGLE)) == 1
    assert la.find_pairs(texts, threshold=0.4, shingles="char:2", run=SINGLE).similarity.tolist() == [1]


def test_negative_and_huge_integers_are_different():
    assert len(la.find_matches([{-1}, {5}], [{2**64 - 1}], threshold=0.5)) == 0
    assert len(la.find_matches([{-1}, {5}], [{-1}, {3}], threshold=0.5)) == 1


def test_distances_are_no_similarities():
    pairs = la.find_pairs(["ab", "abc"], measure="edit", threshold="1", run=SINGLE)
    with pytest.raises(UsageError, match=r"^the measure is a distance, not a similarity\.$"):
        pairs.similarity  # noqa: B018
    with pytest.raises(UsageError, match=r"^the measure is a similarity, not a distance\.$"):
        la.find_pairs(["ab", "abc"], run=SINGLE).distance  # noqa: B018


# --- groups ---


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["jaccard", "cosine", "overlap", "containment"])
@settings(max_examples=60)
@given(seeds)
def test_clusters_and_dedup_by_any_measure(measure, rng):
    """Clusters are components; a removed set is similar to a kept one, and no two kept sets are."""
    threshold = 3 if measure == "overlap" else 0.7
    sets = small_sets(rng, 14)
    options = {"measure": measure, "threshold": threshold, "method": "exact", "run": SINGLE}
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
    else:  # a later set is removed if a kept one contains it
        assert not [(i, j) for i, j in permutations(kept, 2) if j < i and (i, j) in values]


# --- ids ---


def test_sets_may_have_names():
    sets = Sets.of([{1, 2}, {1, 2}, {3}])
    named = Sets(sets.indptr, sets.elements, ids=pa.array(["a", "b", "c"]))
    assert list(la.find_pairs(named, threshold=0.9)) == [("a", "b", 1.0)]
