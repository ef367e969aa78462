"""Check how buckets are cut into blocks, so that each pair is compared once."""

import math
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import TooManyPairs, UsageError
from lookalike.core.run import Run
from lookalike.items.sides import ALONE, Sides
from lookalike.measures.table import TABLED
from lookalike.search import tables
from lookalike.search.blocks import make_blocks
from lookalike.search.spaces import BitSpace, VectorSpace
from tests import reference as ref
from tests.vector_samples import SINGLE, THRESHOLDS, drawn_bits, found, oracle, sample_of


@pytest.mark.parametrize(("side", "reach"), [(1, 1), (2, 3), (4, 4), (3, 10)])
def test_blocks_of_a_bucket_cover_each_pair_once(side, reach, monkeypatch):
    """With two collections, each pair across; even if a bucket has items of only one."""
    monkeypatch.setattr("lookalike.search.blocks.SIDE", side)
    monkeypatch.setattr("lookalike.search.blocks.REACH", reach)
    rng = np.random.default_rng(side)
    for sizes in ([0], [1], [2], [13], [1, 2, 3, 4, 5, 6, 7], [9, 1, 12], [3, 3, 20]):
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        for split in (None, 0, 1, 10, 40):
            items = np.concatenate([np.sort(rng.permutation(40)[:size]) for size in sizes])
            buckets = make_blocks(indptr, items, Sides(split))
            expected = [
                (int(a), int(b))
                for start, stop in pairwise(indptr)
                for i, a in enumerate(items[start:stop])
                for b in items[start:stop][i + 1 :]
                if split is None or a < split <= b
            ]
            met = ref.pairs_in(buckets.order.tolist(), buckets.rectangles.tolist())
            assert sorted((int(a), int(b)) for a, b in met) == sorted(expected)
            assert buckets.pairs == len(expected)
            tasks = [rectangle for task in buckets.tasks(100) for rectangle in task.tolist()]
            assert tasks == buckets.rectangles.tolist()


@pytest.mark.parametrize("items", [2047, 2048, 2049, 8192, 8193, 12289])
def test_large_buckets(items):
    buckets = make_blocks(np.array([0, items]), np.arange(items), ALONE)
    assert buckets.pairs == items * (items - 1) // 2
    across = make_blocks(np.array([0, items]), np.arange(items), Sides(2049))
    assert across.pairs == min(items, 2049) * max(0, items - 2049)


# --- threads ---


@pytest.fixture
def many_parts(monkeypatch):
    """Make a few items fill many parts, ranges and tasks."""
    for name, value in {"SLICE": 7, "CODES": 7, "PART": 5, "FRESH": 10}.items():
        monkeypatch.setattr(tables, name, value)
    monkeypatch.setattr("lookalike.search.blocks.SIDE", 8)
    monkeypatch.setattr("lookalike.search.spaces.HASHED", 100)
    monkeypatch.setattr("lookalike.search.nearest.PART", 20)
    monkeypatch.setattr("lookalike.search.nearest.ROWS", 30)
    monkeypatch.setattr(BitSpace, "area", 50)


def results(measure, run):
    """Return all kinds of results among a few items, and how many pairs were compared."""
    rows, far = sample_of(measure, 5, 100), THRESHOLDS[measure]
    lsh = {"measure": measure, "threshold": far, "method": "lsh", "recall": 0.9, "run": run}
    pairs = [
        la.find_pairs(rows, audit=20, **lsh),
        la.find_pairs(rows, measure=measure, threshold=far, method="exact", run=run),
        la.find_pairs(rows, measure=measure, threshold=far, method="brute", run=run),
        la.find_pairs(rows, measure=measure, k=3, run=run, recall=1),
        la.find_pairs(rows, k=2, **lsh),
        la.find_matches(rows[:40], rows[40:], **lsh, probes=None if measure == "hamming" else 2),
    ]
    clusters, kept = la.find_clusters(rows, audit=20, **lsh), la.dedup(rows, **lsh)
    compared = [found.stats["candidates"] for found in (*pairs, clusters, kept)]
    audits = [found.audit for found in (*pairs, clusters, kept)]
    return [list(found) for found in (*pairs, clusters, kept)], compared, audits


@pytest.mark.parametrize("measure", TABLED)
def test_results_depend_neither_on_threads_nor_on_parts(measure, many_parts):
    """All is the same as with one thread and whole tables, even the number of pairs compared."""
    found = [results(measure, Run(threads)) for threads in (1, 2, 8)]
    with pytest.MonkeyPatch.context() as whole:
        for name in ("PART", "SLICE", "FRESH"):
            whole.setattr(tables, name, 10**6)
        whole.setattr("lookalike.search.nearest.PART", 10**6)
        found.append(results(measure, Run(1)))
    assert found[0] == found[1] == found[2] == found[3]
    assert any(found[0][0])


@pytest.mark.parametrize("measure", ["angle", "hamming"])
def test_the_main_thread_leaves_the_work_to_others(measure, many_parts, parts, monkeypatch):
    """It does not hash, sort keys, make blocks, compare or merge."""
    threads = {}
    for name in ("fold_bands", "masked_keys", "sorted_part", "members", "make_blocks", "distinct", "merge"):
        recorded(monkeypatch, tables, name, threads)
    recorded(monkeypatch, VectorSpace if measure == "angle" else BitSpace, "near", threads)
    rows = sample_of(measure, 5, 150)
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "run": Run(2)}
    la.find_pairs(rows, method="lsh", recall=0.9, **options)
    if measure == "hamming":
        parts(4)
        la.find_pairs(rows, method="exact", **options)
        assert "masked_keys" in threads
    assert threads.keys() >= {"fold_bands", "sorted_part", "members", "make_blocks", "distinct", "merge", "near"}
    assert threading.main_thread() not in set().union(*threads.values())


def recorded(monkeypatch, owner, name, threads):
    """Note the threads in which a function is called."""
    function = getattr(owner, name)

    def called(*values):
        threads.setdefault(name, set()).add(threading.current_thread())
        return function(*values)

    monkeypatch.setattr(owner, name, called)


def test_one_table_at_a_time_is_in_memory(many_parts):
    """With any number of threads, the next table is made only when this one has been compared."""
    rows = sample_of("angle", 5, 150)
    space = VectorSpace(la.Vectors.of(rows), "angle", 25.0)
    made = 0

    def keys():
        nonlocal made
        for _ in range(4):
            made += 1
            yield np.zeros(len(rows), np.uint64)

    space.area = 100
    items = np.arange(len(rows))
    seen: list[int] = []
    parts = tables.near_numbers(space, items, tables.Tables(4, keys()), ALONE, Run(8), seen.append, len)
    alive = [(made, len(seen)) for _ in parts]
    assert alive == sorted(alive)
    assert [made for made, _ in alive] == [compared for _, compared in alive]
    assert len(alive) > 40
    assert made == 4


# --- numbers ---


@given(st.lists(st.lists(st.integers(0, 10**6)), max_size=30), st.sampled_from([1, 2]), st.integers(0, 20))
def test_numbers_are_kept_once_and_in_order(parts, threads, fresh):
    """Wherever the ranges are cut, and however often new numbers are merged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "FRESH", fresh)
        numbers = tables.PairNumbers(Run(threads))
        for part in parts:
            numbers.add(np.array(sorted(part), np.int64))
        numbers.merge()
    expected = sorted({number for part in parts for number in part})
    assert np.concatenate(numbers.ranges).tolist() == expected
    assert numbers.merged == len(expected)
    numbers.filter(lambda some: some[some % 2 == 0])
    assert np.concatenate(numbers.ranges).tolist() == [number for number in expected if number % 2 == 0]


# --- probes ---


@pytest.mark.slow
@pytest.mark.parametrize("probes", [2, 8, 20])
def test_a_crowd_of_probes_in_a_bucket_that_is_nobodys(probes, monkeypatch):
    """More items of the first collection probe a bucket than a block holds; it has no items."""
    monkeypatch.setattr("lookalike.search.blocks.SIDE", 8)
    rng = np.random.default_rng(0)
    crowd = np.eye(1, 16) + 0.002 * rng.normal(size=(300, 16))
    others = rng.normal(size=(100, 16))
    options = {"measure": "angle", "threshold": 1, "method": "lsh", "recall": 0.9, "probes": probes, "run": SINGLE}
    matches = la.find_matches(crowd, others, **options)
    assert found(matches) == oracle("angle", np.concatenate((crowd, others)), 1, 300) == {}
    pairs = la.find_pairs(crowd[:60], **options)
    assert found(pairs).items() <= oracle("angle", crowd[:60], 1).items()


# --- pigeonholes ---


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 7, 64, 65, 200])
@pytest.mark.parametrize("threshold", range(11))
def test_pigeonholes_are_exact(threshold, length, parts):
    """This holds for any number of parts above the threshold, however bits are grouped."""
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
            options = {"measure": "hamming", "threshold": threshold, "method": "exact", "seed": seed, "run": SINGLE}
            pairs = la.find_pairs(codes, **options)
            assert pairs.plan.tables == math.comb(number, threshold)
            assert found(pairs) == expected
            assert found(la.find_matches(codes[:30], codes[30:], **options)) == across


# --- too many pairs ---


def test_more_pairs_than_wait_to_be_merged(monkeypatch):
    """They are checked before they are counted."""
    monkeypatch.setattr("lookalike.search.tables.FRESH", 10)
    monkeypatch.setattr("lookalike.search.blocks.SIDE", 7)
    rows = np.linspace(0, 1, 60)[:, None] * [1.0, 1.0]
    options = {"measure": "euclidean", "threshold": 0.5, "method": "brute", "run": SINGLE}
    expected = oracle("euclidean", rows, 0.5)
    assert found(la.find_pairs(rows, max_pairs=len(expected), **options)) == expected
    with pytest.raises(TooManyPairs):
        la.find_pairs(rows, max_pairs=len(expected) - 1, **options)
