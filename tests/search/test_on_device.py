"""Searches on a device, in plain NumPy, find the pairs and values of brute force, bit for bit."""

import weakref
from itertools import pairwise

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.devices.base import Loaded
from lookalike.devices.plain import Plain
from lookalike.items.vectors import Vectors
from lookalike.search import on_device
from lookalike.search.on_device import PARTS, Joiner, ahead, batches, in_turn
from lookalike.search.spaces import VectorSpace
from tests.vector_samples import SINGLE, THRESHOLDS, drawn, sample_of

ONE = {"run": SINGLE}


class Held(Loaded):
    """Loaded rows that can be counted."""

    __hash__ = object.__hash__


class Recording(Plain):
    """A device that counts what it is asked to do."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.loads = self.refused = self.listed = self.closed = self.most = 0
        self.held = weakref.WeakSet()

    def load(self, rows, frame, run):
        self.loads += 1
        self.most = max(self.most, len(self.held) + 1)
        loaded = Held(**vars(super().load(rows, frame, run)))
        self.held.add(loaded)
        return loaded

    def arranged(self, loaded, order):
        made = super().arranged(loaded, order)
        self.held.add(made)
        return made

    def close(self):
        self.closed += 1

    def candidates(self, left, right, frame, tasks, same):
        found = super().candidates(left, right, frame, tasks, same)
        self.refused += found is None
        self.listed += 0 if found is None else len(found)
        return found


def assert_same(one, other):
    assert len(one) == len(other)
    for name in ("left", "right", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("measure", THRESHOLDS)
@pytest.mark.parametrize("items", [0, 1, 2, 130])
def test_pairs_are_those_of_brute_force(measure, items):
    rows = sample_of(measure, items, max(items, 2))[:items]
    common = {"measure": measure, "threshold": THRESHOLDS[measure], **ONE}
    assert_same(
        la.find_pairs(rows, device=Plain(32), **common), la.find_pairs(rows, method="brute", device="cpu", **common)
    )


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_matches_are_those_of_brute_force(measure):
    rows = sample_of(measure, 5, 150)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], **ONE}
    sides = rows[:60], rows[40:]
    found = la.find_matches(*sides, device=Plain(32), **common)
    assert len(found) > 20
    assert_same(found, la.find_matches(*sides, method="brute", device="cpu", **common))


@pytest.mark.parametrize("measure", THRESHOLDS)
@pytest.mark.parametrize("two", [False, True])
def test_nearest_are_those_of_brute_force(measure, two):
    rows = sample_of(measure, 6, 700)
    common = {"measure": measure, "k": 3, **ONE}
    sides = (rows[:40], rows) if two else (rows[:200],)
    search = la.find_matches if two else la.find_pairs
    assert_same(search(*sides, device=Plain(128), **common), search(*sides, method="brute", device="cpu", **common))


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_groups_are_those_of_brute_force(measure):
    rows = sample_of(measure, 7, 120)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], **ONE}
    ours, brute = {"device": Plain(32), **common}, {"method": "brute", "device": "cpu", **common}
    assert list(la.find_clusters(rows, **ours)) == list(la.find_clusters(rows, **brute))
    assert la.dedup(rows, **ours).kept.to_pylist() == la.dedup(rows, **brute).kept.to_pylist()


@pytest.mark.parametrize("dimensions", [3, 64, 100, 300])
def test_rows_of_all_sizes(dimensions):
    """Zero, tiny and huge rows, and rows of which some components are cut off."""
    rng = np.random.default_rng(dimensions)
    rows = drawn(1, 90, dimensions)
    rows[:4] *= np.array([[1e-300], [1e150], [1e-320], [1e300]])
    rows[4] = np.eye(dimensions)[0]
    rows[5] = rows[4] + 1e-9 * rng.normal(size=dimensions)
    rows = rows[rows.any(axis=1)]
    thresholds = {"angle": [40.0], "cosine_similarity": [-0.5], "euclidean": [3.0, 1e200]}
    thresholds["inner_product"] = [1e300, 0.7 * dimensions, 0.0, -1e200]
    for measure, threshold in [(measure, one) for measure, some in thresholds.items() for one in some]:
        common = {"measure": measure, "threshold": threshold, **ONE}
        assert_same(
            la.find_pairs(rows, device=Plain(32), **common), la.find_pairs(rows, method="brute", device="cpu", **common)
        )
    zeros = np.concatenate((rows, np.zeros((3, dimensions))))
    common = {"measure": "euclidean", "threshold": 2.0, **ONE}
    assert_same(
        la.find_pairs(zeros, device=Plain(32), **common), la.find_pairs(zeros, method="brute", device="cpu", **common)
    )


def test_rows_without_components():
    common = {"measure": "euclidean", "threshold": 1.0, **ONE}
    assert list(la.find_pairs(np.zeros((3, 0)), device=Plain(32), **common)) == [(0, 1, 0.0), (0, 2, 0.0), (1, 2, 0.0)]


@pytest.mark.parametrize("size", [1e-12, 1e-158, 1e-200])
def test_most_rows_are_so_close_together_that_squares_of_steps_are_tiny(size):
    rng = np.random.default_rng(0)
    rows = np.concatenate((np.zeros((200, 3)), np.ones((150, 3)), size * rng.normal(size=(50, 3))))
    for threshold in (0.0, size, 0.5):
        common = {"measure": "euclidean", "threshold": threshold, **ONE}
        assert_same(
            la.find_pairs(rows, device=Plain(32), **common), la.find_pairs(rows, method="brute", device="cpu", **common)
        )


def test_more_rows_than_fit_and_more_candidates_than_there_is_room_for():
    """Parts of rows are compared with each other, and a batch without room is halved; nothing changes."""
    rows = drawn(2, 300, 100)
    common = {"measure": "angle", "threshold": 95.0, "run": Run(2)}
    expected = la.find_pairs(rows, method="brute", device="cpu", **common)
    heads_only, small, cramped = Recording(32, memory=200_000), Recording(32, memory=20_000), Recording(32)
    said = []
    common["run"].say = said.append
    for device in (heads_only, small, cramped):
        assert_same(la.find_pairs(rows, device=device, **common), expected)
        assert device.closed == 1
    heads = [line.partition("; ")[2] for line in said if line.startswith("      heads of")]
    assert heads == [
        "the rows do not fit on the device, which holds their heads",
        "the rows do not fit on the device, which holds their heads, 32 at a time",
        "",
    ]
    assert heads_only.loads == 1
    parts = -(-300 // 32)
    assert parts <= small.loads < parts * (parts + 1) / 2 + parts
    assert small.most <= PARTS
    assert cramped.refused >= 3
    two = {"measure": "angle", "threshold": 95.0, **ONE}
    expected = la.find_matches(rows[:140], rows[100:], method="brute", device="cpu", **two)
    assert_same(la.find_matches(rows[:140], rows[100:], device=Recording(32, memory=20_000), **two), expected)


def test_few_candidates_are_not_near():
    rows = np.random.default_rng(0).normal(size=(800, 200))
    rows[400:] = rows[:400] + 0.3 * np.random.default_rng(1).normal(size=(400, 200))
    device = Recording(128)
    found = la.find_pairs(rows, measure="cosine_similarity", threshold=0.9, device=device, **ONE)
    assert len(found) == 400
    assert device.listed < 1.01 * len(found) + 2


def test_the_same_rows_stay_on_the_device():
    """The neighbours of several batches of rows are searched in rows that are loaded once."""
    rows = drawn(3, 400)
    space = VectorSpace(Vectors(rows), "angle", 20.0)
    device = Recording(64)
    joiner = Joiner(device, space, SINGLE)
    for part in (slice(0, 50), slice(50, 100)):
        list(joiner.near(np.arange(400)[part], np.arange(100, 400), space.bounds[part], same=False))
    assert device.loads == 3
    scattered = np.setdiff1d(np.arange(400), [7])
    for _ in range(2):
        list(joiner.near(scattered, scattered, space.bounds[scattered], same=True))
    assert device.loads == 4
    joiner.close()
    assert device.closed == 1


def test_rows_used_longest_ago_make_room():
    rows = drawn(3, 400)
    space = VectorSpace(Vectors(rows), "angle", 100.0)  # no block is skipped, so rows stay in their order
    device = Recording(64, memory=448 * (64 + on_device.ROW + 48))
    joiner = Joiner(device, space, SINGLE)
    for part in (slice(0, 64), slice(64, 128), slice(128, 192)):
        list(joiner.near(np.arange(400)[part], np.arange(200, 400), space.bounds[part], same=False))
    assert device.loads == 4
    assert device.most == 4
    list(joiner.near(np.arange(400), np.arange(400), space.bounds, same=True))
    assert len(device.held) == 1


def test_progress_adds_up(monkeypatch):
    rows = drawn(3, 500)
    space = VectorSpace(Vectors(rows), "angle", 20.0)
    every = np.arange(500)
    whole = {pair for _, numbers in Joiner(Plain(64), space, SINGLE).near(every, every, space.bounds, True)
             for pair in numbers.tolist()}  # fmt: skip
    monkeypatch.setattr(on_device, "CONVERTED", 10)
    for memory in (1 << 30, 60_000):
        joiner = Joiner(Plain(64, memory=memory), space, SINGLE)
        for same in (True, False):
            found = list(joiner.near(every, every, space.bounds, same))
            assert sum(share for share, _ in found) == pytest.approx(1)
            assert max(len(numbers) for _, numbers in found) == 10 < len(whole)
            assert {pair for _, numbers in found for pair in numbers.tolist() if pair % 501} >= whole


def test_batches_hold_each_pair_of_blocks_once(monkeypatch):
    monkeypatch.setattr(on_device, "BATCH", 7)
    pairs = [tuple(pair) for batch in batches(5, 5, True) for pair in batch.tolist()]
    assert sorted(pairs) == [(a, b) for a in range(5) for b in range(a, 5)]
    pairs = [tuple(pair) for batch in batches(3, 4, False) for pair in batch.tolist()]
    assert sorted(pairs) == [(a, b) for a in range(3) for b in range(4)]


def test_parts_in_turn_share_one_with_the_next():
    for one, other, same in ((5, 5, True), (4, 4, True), (3, 4, False), (1, 5, False), (4, 1, False)):
        pairs = in_turn(one, other, same)
        assert sorted(pairs) == [(a, b) for a in range(one) for b in range(a if same else 0, other)]
        assert all(len({*pair, *after} if same else {pair[0], after[0], -1 - pair[1], -1 - after[1]}) <= 3
                   for pair, after in pairwise(pairs))  # fmt: skip


@pytest.mark.parametrize("bits", [4095, 4096, 4097, 5000])
def test_codes_longer_than_heads(bits):
    rows = np.random.default_rng(bits).integers(0, 2, (60, bits)).astype(bool)
    rows[30:] = rows[:30] ^ (np.random.default_rng(0).random((30, bits)) < 0.01)
    common = {"measure": "hamming", "threshold": 55, **ONE}
    found = la.find_pairs(rows, device=Plain(32), **common)
    assert 15 < len(found) <= 30
    assert_same(found, la.find_pairs(rows, method="brute", device="cpu", **common))


def test_ahead_keeps_the_order_and_passes_errors_on():
    assert list(ahead(lambda x: x * x, [1, 2, 3])) == [1, 4, 9]
    with pytest.raises(ZeroDivisionError):
        list(ahead(lambda x: 1 / x, [1, 0, 2]))


def test_the_plan_names_the_device():
    found = la.find_pairs(drawn(1, 50), measure="angle", threshold=9, device=Plain(), **ONE)
    assert found.plan.lines()[0].endswith("all pairs are compared on plain")
    assert found.plan.exact


@pytest.mark.parametrize("options", [{"method": "lsh"}, {"probes": 3}])
def test_devices_compare_all_pairs(options):
    with pytest.raises(UsageError, match=r"^device 'cuda' compares all pairs, so it does not support (method|probes)"):
        la.find_pairs(drawn(1, 50), measure="angle", threshold=9, device=Plain(), **options)


def test_devices_compare_dense_vectors():
    from scipy.sparse import csr_array

    with pytest.raises(UsageError, match="dense vectors and bit codes; got a sparse matrix"):
        la.find_pairs(csr_array(drawn(1, 50)), measure="angle", threshold=9, device=Plain())


def test_sets_need_no_device():
    with pytest.raises(UsageError, match="device is for vectors and bits, not for sets or texts; got 'cuda'"):
        la.find_pairs(["a text", "a text"], device="cuda")
    with pytest.raises(UsageError, match="device must be one of auto, cpu, cuda; got 'gpu'"):
        la.find_pairs(drawn(1, 50), measure="angle", threshold=9, device="gpu")
