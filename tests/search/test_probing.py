"""Check lookups of new sets in an index: all similar pairs are found, in any order of work."""

import random
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.items.sets import Sets
from lookalike.items.sides import Sides
from lookalike.kernels import bounds
from lookalike.search import probing
from lookalike.search.joins import exact_pairs
from lookalike.search.probing import PrefixIndex, query_ranks
from tests import reference as ref
from tests.kernel_samples import RATIOS

KINDS = {
    "jaccard": "JACCARD",
    "bag_jaccard": "JACCARD",
    "containment": "CONTAINMENT",
    "set_cosine": "COSINE",
    "overlap": "OVERLAP",
}
MEASURES = [(measure, ratio) for measure in KINDS if measure != "overlap" for ratio in RATIOS]
MEASURES += [("overlap", Fraction(p)) for p in (1, 2, 5)]

measures = st.sampled_from(MEASURES)
seeds = st.integers(0, 2**32).map(random.Random)


def rows_of(sets):
    """Return sets whose elements are the given numbers themselves, not hashes of them."""
    rows = [sorted(one) for one in sets]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return Sets(indptr, np.array([x for row in rows for x in row], np.uint64))


def index_of(sets, measure):
    name, threshold = measure
    return PrefixIndex(rows_of(sets), threshold=threshold, measure=name)


def listed(found):
    """Return [(query, row, shared)], and how many pairs were compared."""
    *columns, compared = found
    return list(zip(*(column.tolist() for column in columns), strict=True)), compared


def similar(sets, queries, measure):
    """Return [(query, row, shared)] of all similar pairs in order, by definition."""
    name, threshold = measure
    bound = (KINDS[name], *threshold.as_integer_ratio())
    pairs = [(i, j, len(set(query) & set(row))) for i, query in enumerate(queries) for j, row in enumerate(sets)]
    sizes = [len(query) for query in queries], [len(row) for row in sets]
    return [(i, j, n) for i, j, n in pairs if ref.is_similar(bound[0], sizes[0][i], sizes[1][j], n, *bound[1:])]


def drawn(rng, most):
    """Draw (sets, queries) of few elements: equal, empty, disjoint, contained or overlapping.

    Half of the elements that queries are drawn from may be in no indexed set, and vice versa.
    """
    size = rng.choice([3, 6, 12, 30])
    common, new, old = ([rng.getrandbits(64) for _ in range(size)] for _ in range(3))
    sides = []
    for pool in (common + old * rng.randrange(2), common + new * rng.randrange(2)):
        sides.append([set(rng.sample(pool, rng.randrange(min(len(pool), 20) + 1))) for _ in range(rng.randrange(most))])
    sets, queries = sides
    for one in sets[: rng.randrange(most)]:  # a query near a row: equal, larger or smaller
        near = set(one) - set(rng.sample(sorted(one), rng.randrange(min(3, len(one) + 1))))
        queries.append(near | set(rng.sample(common + new, rng.randrange(3))))
    rng.shuffle(queries)
    return sets, queries


# --- against brute force ---


@pytest.mark.slow
@settings(max_examples=2000)
@given(seeds, measures)
def test_probes_are_brute_force(rng, measure):
    sets, queries = drawn(rng, 14)
    index = index_of(sets, measure)
    found, compared = listed(index.probe(rows_of(queries)))
    assert found == similar(sets, queries, measure)
    assert len(found) <= compared <= len(sets) * len(queries)
    assert len(index) == len(sets)


@pytest.mark.parametrize(("size", "ratio"), [(10, "9/10"), (15, "4/5"), (20, "17/20"), (9, "2/3"), (3, "1/3")])
@pytest.mark.parametrize("measure", ["jaccard", "containment", "set_cosine"])
def test_sets_right_at_the_threshold(measure, size, ratio):
    """One element more or less decides, whether the query is the larger set or the smaller."""
    near = [set(range(drop, size)) | set(range(100, 100 + add)) for drop in range(size) for add in range(size)]
    whole = [set(range(size))]
    asked = measure, Fraction(ratio)
    for sets, queries in ((whole, near), (near, whole)):
        assert listed(index_of(sets, asked).probe(rows_of(queries)))[0] == similar(sets, queries, asked)


@pytest.mark.slow
@settings(max_examples=300)
@given(seeds, measures)
def test_probes_are_joins_across_a_split(rng, measure):
    sets, queries = drawn(rng, 14)
    name, threshold = measure
    join = (getattr(bounds, KINDS[name]), *threshold.as_integer_ratio())
    left, right, shared, _ = exact_pairs(rows_of(sets + queries), *join, Sides(len(sets)), 10**9, Run(1))
    pairs = sorted(zip((right - len(sets)).tolist(), left.tolist(), shared.tolist(), strict=True))
    assert listed(index_of(sets, measure).probe(rows_of(queries)))[0] == pairs


@pytest.mark.slow
@given(st.data(), st.sampled_from(["1/2", "2/3", "9/10"]))
def test_bags_share_the_lesser_counts(data, threshold):
    bags = st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 3), min_size=1).map(Counter), max_size=8)
    rows, queries = data.draw(bags), data.draw(bags)
    found, _ = listed(PrefixIndex(Sets.of(rows), threshold=threshold, measure="bag_jaccard").probe(Sets.of(queries)))
    pairs = [(i, j) for i in range(len(queries)) for j in range(len(rows))]
    expected = [(i, j) for i, j in pairs if ref.bag_jaccard(queries[i], rows[j]) >= Fraction(threshold)]
    assert found == [(i, j, (queries[i] & rows[j]).total()) for i, j in expected]


# --- kinds of queries ---


def test_an_element_that_one_set_alone_has():
    """No other indexed set has it, but a query can."""
    index = PrefixIndex(Sets.of([{1}, {2, 3}, {4, 5, 6}]), threshold=1)
    assert listed(index.probe(Sets.of([{4, 5, 6}, {2}, {1}, {3, 2}])))[0] == [(0, 2, 3), (2, 0, 1), (3, 1, 2)]


def test_unknown_elements_take_places():
    """One known element among unknown ones still leads to the row, up to the threshold."""
    index = PrefixIndex(Sets.of([{1, 2}]), threshold="1/10")
    queries = [{1, *range(100, 100 + unknown)} for unknown in range(12)]
    assert listed(index.probe(Sets.of(queries)))[0] == [(i, 0, 1) for i in range(9)]
    assert listed(index.probe(Sets.of([set(range(100, 120))]))) == ([], 0)


def test_much_larger_and_much_smaller_queries():
    sets = [set(range(10)), set(range(300)), set(range(300, 1300))]
    queries = [set(range(2000)), {5}, set(range(295, 305)), {4000}]
    for measure in (("containment", Fraction(1)), ("containment", Fraction(1, 2)), ("overlap", Fraction(5))):
        assert listed(index_of(sets, measure).probe(rows_of(queries)))[0] == similar(sets, queries, measure)
    found, _ = listed(index_of(sets, ("containment", Fraction(1))).probe(rows_of(queries)))
    assert found == [(0, 0, 10), (0, 1, 300), (0, 2, 1000), (1, 0, 1), (1, 1, 1)]


@pytest.mark.parametrize("measure", KINDS)
def test_nothing_is_similar_to_nothing(measure):
    index = PrefixIndex(Sets.of([set(), {1}, set()]), threshold=1, measure=measure)
    assert listed(index.probe(Sets.of([set(), {1}, set()])))[0] == [(1, 1, 1)]
    for sets, queries in (([], [{1}]), ([{1}], []), ([], []), ([set()], [set()])):
        found = PrefixIndex(Sets.of(sets), threshold=1, measure=measure).probe(Sets.of(queries))
        assert listed(found) == ([], 0)
        assert [column.dtype for column in found[:3]] == [np.int64] * 3


def test_elements_whose_high_bits_agree_are_distinguished():
    """They share a rank, and queries can have some that no indexed set has."""
    rng = random.Random(4)
    for _ in range(100):
        pool = [rng.getrandbits(20) << 44 | low for low in range(3) for _ in range(2)] + list(range(6))
        sets, queries = ([set(rng.sample(pool, rng.randrange(1, 9))) for _ in range(8)] for _ in range(2))
        for measure in (("jaccard", Fraction(1, 2)), ("jaccard", Fraction(4, 5))):
            assert listed(index_of(sets, measure).probe(rows_of(queries)))[0] == similar(sets, queries, measure)


# --- the order of work ---


@settings(max_examples=100)
@given(seeds, measures)
def test_one_query_at_a_time_or_all_at_once(rng, measure):
    sets, queries = drawn(rng, 14)
    index = index_of(sets, measure)
    found, compared = listed(index.probe(rows_of(queries)))
    single = [listed(index.probe(rows_of([query]))) for query in queries]
    assert found == [(i, row, shared) for i, (pairs, _) in enumerate(single) for _, row, shared in pairs]
    assert compared == sum(count for _, count in single)


@pytest.mark.parametrize("measure", [("jaccard", Fraction(1, 2)), ("set_cosine", Fraction(1, 2)), ("overlap", 2)])
def test_threads_and_slices_change_nothing(measure, monkeypatch):
    """More queries than one task takes, and more pairs than a result has room for at first."""
    rng = random.Random(2)
    pool = [rng.getrandbits(64) for _ in range(40)]
    sets, queries = ([set(rng.sample(pool, rng.choice([3, 4, 5]))) for _ in range(200)] for _ in range(2))
    expected = similar(sets, queries, (measure[0], Fraction(measure[1])))
    assert len(expected) > 100
    index = index_of(sets, measure)
    results = [listed(index.probe(rows_of(queries), run)) for run in (None, Run(1), Run(3))]
    for step in (1, 7, 1000):
        monkeypatch.setattr(probing, "STEP", step)
        results.append(listed(index.probe(rows_of(queries), Run(2))))
    assert results[0][0] == expected
    assert all(result == results[0] for result in results)


def test_a_run_shows_its_progress():
    shown = []

    class Watched(Run):
        @contextmanager
        def show(self, name, total):
            shown.append((name, total))
            yield shown.append

    run = Watched(1)
    PrefixIndex(Sets.of([{1}])).probe(Sets.of([{1}] * 130), run)
    assert shown == [("look up", 130), 64, 64, 64]
    assert list(run.seconds) == ["look up"]


def test_rare_elements_come_first():
    """Sets that share only a common element are not compared."""
    sets = [{0, *range(10 * i, 10 * i + 5)} for i in range(1, 100)]
    index = PrefixIndex(Sets.of(sets), threshold=0.8)
    assert listed(index.probe(Sets.of([{0, 5000, 5001, 5002, 5003}]))) == ([], 0)
    assert listed(index.probe(Sets.of([sets[7]]))) == ([(0, 7, 6)], 1)


# --- kernels ---


def test_ranks():
    """They are 0 for elements in no set, 1 for those in one, and higher for those in more."""
    elements = [x << 54 for x in range(3)]
    ranks, shift = query_ranks(rows_of([elements[:1], elements[:2], elements[:2]]))
    assert [int(ranks[x >> int(shift)]) for x in elements] == [14, 9, 0]
    assert not query_ranks(Sets.of([]))[0].any()


# --- errors ---


def error(call):
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


def test_errors():
    sets, bags = Sets.of([{1, 2}]), Sets.of([Counter("aab")])
    assert error(lambda: PrefixIndex(sets, measure="edit")) == (
        "measure must be one of jaccard, bag, containment, cosine, overlap; got 'edit'."
    )
    assert error(lambda: PrefixIndex(sets, measure="jacard")).endswith("got 'jacard'. Did you mean 'jaccard'?")
    assert error(lambda: PrefixIndex(sets, threshold=80)) == "threshold must be in (0, 1]; got 80. Did you mean 0.8?"
    assert error(lambda: PrefixIndex(sets, threshold=0.5, measure="overlap")) == (
        "threshold must be an integer of at least 1; got 0.5."
    )
    assert error(lambda: PrefixIndex([{1}])) == "sets must be Sets; got list. Make them with Sets.of."
    assert error(lambda: PrefixIndex(sets).probe([{1}])) == "queries must be Sets; got list. Make them with Sets.of."
    assert error(lambda: PrefixIndex(bags, measure="bag_jaccard").probe(sets)) == (
        "queries must be bags, like those of the index."
    )
    assert error(lambda: PrefixIndex(sets).probe(bags)) == "queries must be sets, not bags, like those of the index."


def test_no_sets_are_neither_sets_nor_bags():
    bags = Sets.of([Counter("aab")])
    assert listed(PrefixIndex(bags, measure="bag_jaccard").probe(Sets.of([]))) == ([], 0)
    assert listed(PrefixIndex(Sets.of([])).probe(bags)) == ([], 0)


def test_the_index_says_what_it_is():
    index = PrefixIndex(Sets.of([{1}] * 1200), threshold=0.8)
    assert repr(index) == "<index of 1,200 sets: jaccard at 4/5>"
    assert (index.measure, index.threshold) == ("jaccard", Fraction(4, 5))
