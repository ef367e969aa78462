"""Check every exact join against brute force, pair for pair."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run
from lookalike.items.sets import Sets
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels import bounds
from lookalike.search import joins
from lookalike.search.joins import STAGES, exact_pairs
from lookalike.theory import sorting
from tests import reference as ref
from tests.kernel_samples import MEASURES, RATIOS, as_rows
from tests.samples import small_sets

measures = st.sampled_from(MEASURES)
seeds = st.integers(0, 2**32).map(random.Random)


def join(sets, measure, split=None, stage=3, threads=1):
    """Return {(i, j): shared}, and how many pairs were compared."""
    kind, p, q = measure
    across = Sides(split)
    rows = [sorted(one) for one in sets]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    elements = np.array([x for row in rows for x in row], np.uint64)
    kinds = (getattr(bounds, kind), p, q)
    *found, compared = exact_pairs(Sets(indptr, elements), *kinds, across, 10**9, Run(threads), stage)
    left, right, shared = (column.tolist() for column in found)
    pairs = dict(zip(zip(left, right, strict=True), shared, strict=True))
    assert len(pairs) == len(left)
    return pairs, compared


# --- joins ---


def drawn_sets(rng, most):
    """Draw small sets over few elements, some equal, empty, or one element larger than another."""
    pool = [rng.getrandbits(64) for _ in range(rng.choice([3, 6, 12, 30]))]
    sets = [set(rng.sample(pool, rng.randrange(min(len(pool), 20) + 1))) for _ in range(rng.randrange(most))]
    for _ in range(len(sets) // 2):
        near = set(rng.choice(sets))
        near ^= set(rng.sample(pool, rng.randrange(3)))
        sets.append(near)
    return sets


@pytest.mark.slow
@settings(max_examples=1500)
@given(seeds, measures, st.one_of(st.none(), st.integers(0, 12)), st.integers(0, 3))
def test_joins_are_brute_force(rng, measure, split, stage):
    sets = drawn_sets(rng, 14)
    found, compared = join(sets, measure, split, stage)
    assert found == ref.joined(sets, *measure, split)
    assert len(found) <= compared


@pytest.mark.slow
@pytest.mark.parametrize(("size", "ratio"), [(10, "9/10"), (15, "4/5"), (20, "17/20"), (9, "2/3"), (3, "1/3")])
@pytest.mark.parametrize("kind", ["JACCARD", "CONTAINMENT", "COSINE"])
def test_sets_right_at_the_threshold(kind, size, ratio):
    """One element more or less decides; bounds in floating point would lose these pairs."""
    p, q = Fraction(ratio).as_integer_ratio()
    sets = [set(range(size))]
    sets += [set(range(drop, size)) | set(range(100, 100 + add)) for drop in range(size) for add in range(size)]
    for stage in range(4):
        assert join(sets, (kind, p, q), stage=stage)[0] == ref.joined(sets, kind, p, q)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [("JACCARD", 1, 2), ("COSINE", 1, 2), ("OVERLAP", 2, 1), ("CONTAINMENT", 1, 2)])
def test_joins_over_several_tasks(measure):
    """More rows than one task probes, and more pairs than a result has room for at first."""
    rng = random.Random(2)
    pool = [rng.getrandbits(64) for _ in range(60)]
    sets = [sorted(rng.sample(pool, rng.choice([3, 4, 5]))) for _ in range(700)]
    expected = ref.joined(sets, *measure)
    assert join(sets, measure, threads=2)[0] == expected
    assert len(expected) > 256


@pytest.mark.parametrize("measure", [("JACCARD", 1, 2), ("CONTAINMENT", 9, 10), ("GRAMS", 4, 2)])
def test_pairs_have_one_order_whatever_the_tasks_and_threads(measure, monkeypatch):
    """Pairs come in the same order however elements, tokens and look-ups are cut."""
    rng = random.Random(5)
    pool = [rng.getrandbits(64) for _ in range(20)]
    sets = Sets.sorted(*as_rows([rng.choices(pool, k=min(30, int(rng.paretovariate(1)) + 3)) for _ in range(100)]))
    kinds = (getattr(bounds, measure[0]), *measure[1:])

    def found(run, stage):
        *pairs, compared = exact_pairs(sets, *kinds, ALONE, 10**9, run, stage)
        return [column.tolist() for column in pairs], compared

    expected = [found(Run(1), stage) for stage in (0, 3)]
    assert len(expected[1][0][0]) > 50
    three = Run(3)
    for step in (4, 50):
        for module, name in ((joins, "SLICE"), (joins, "LOOKUPS"), (sorting, "SLICE")):
            monkeypatch.setattr(module, name, step)
        monkeypatch.setattr(joins, "RANGE", 8)
        for run in (Run(1), three):
            assert [found(run, stage) for stage in (0, 3)] == expected


def test_elements_are_counted_alike_by_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(joins, "SLICE", 50)
    monkeypatch.setattr(joins, "RANGE", 6)
    rng = random.Random(6)
    sets = Sets.sorted(*as_rows([rng.choices([rng.getrandbits(64) for _ in range(30)], k=40) for _ in range(60)]))
    for threads in (1, 4):
        counts, shift = joins.element_counts(sets, Run(threads))
        assert np.array_equal(counts, np.bincount(sets.elements >> shift, minlength=len(counts)))


@pytest.mark.parametrize("sizes", [[], [0, 0], [3, 0, 1, 3, 2, 1], [70_000, 2, 65_536, 65_535, 70_000, 1]])
def test_rows_in_order_of_size(sizes):
    """Rows of equal size keep their order; sizes can need more than 16 bits."""
    sets = Sets(np.cumsum([0, *sizes]), np.arange(sum(sizes), dtype=np.uint64))
    assert joins.by_size(sets).tolist() == sorted((row for row, n in enumerate(sizes) if n), key=lambda row: sizes[row])


@pytest.mark.parametrize("ratio", RATIOS[:6], ids=str)
def test_each_filter_compares_no_more_than_the_one_before(ratio):
    rng = random.Random(3)
    weights = [1 / (rank + 1) for rank in range(300)]
    sets = [set(rng.choices(range(300), weights, k=rng.randrange(1, 25))) for _ in range(400)]
    found = [join(sets, ("JACCARD", *ratio.as_integer_ratio()), stage=stage) for stage in range(4)]
    assert all(pairs == found[0][0] for pairs, _ in found)
    compared = [count for _, count in found]
    assert compared == sorted(compared, reverse=True)
    assert compared[0] > compared[1] > compared[3]


def test_elements_whose_high_bits_agree_are_distinguished():
    """The index sorts elements by their high bits; positions of others must not mislead it."""
    rng = random.Random(4)
    for _ in range(300):
        pool = [rng.getrandbits(20) << 44 | low for low in range(3) for _ in range(2)] + list(range(6))
        sets = [set(rng.sample(pool, rng.randrange(1, 9))) for _ in range(8)]
        for measure in (("JACCARD", 1, 2), ("JACCARD", 4, 5)):
            assert join(sets, measure)[0] == ref.joined(sets, *measure)


def test_too_many_pairs():
    sets = Sets.of([{1, 2, 3}] * 10)
    with pytest.raises(TooManyPairs, match="at least 45 similar pairs, more than max_pairs = 44"):
        exact_pairs(sets, bounds.JACCARD, 1, 2, ALONE, 44, Run(1))


def test_stages_are_in_order():
    assert STAGES == ("length", "prefix", "position", "suffix")


SINGLE = Run(1)


def found(pairs):
    return {(left, right): value for left, right, value in pairs}


# --- filters and orders ---


@pytest.mark.slow
@settings(max_examples=60)
@given(seeds, st.sampled_from([0.5, 0.8, 0.9]))
def test_filters_and_orders_change_nothing_but_the_work(rng, threshold):
    sets = [{str(x) for x in one} for one in small_sets(rng, 16)]
    options = {"threshold": threshold, "run": SINGLE}
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
    """The sets begin alike in one order and differently in the other."""
    sets = [set("abcdefghi") | {last} for last in "xyz"]
    early = la.find_pairs(sets, threshold=0.9, order="abcdefghixyz", run=SINGLE)
    late = la.find_pairs(sets, threshold=0.9, order="xyzabcdefghi", run=SINGLE)
    assert len(early) == len(late) == 0
    assert early.stats["candidates"] == 3
    assert late.stats["candidates"] == 0
