"""A CUDA card finds what the plain device finds, and a search on it what brute force finds: `make test-gpu`."""

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import DataError, DeviceError, LookalikeError
from lookalike.core.run import Run
from lookalike.devices.base import Frame, Rows
from lookalike.devices.opening import has_torch, why_not
from lookalike.devices.plain import Plain
from lookalike.items.vectors import Vectors
from lookalike.search.heads import fitted, longest_row, rows_of
from lookalike.search.on_device import Fit, Joiner, batches
from lookalike.search.spaces import VectorSpace
from tests.vector_samples import SINGLE, THRESHOLDS, drawn, drawn_bits

if not has_torch():
    pytest.skip("torch is not installed", allow_module_level=True)
import torch
import triton

from lookalike.devices import cuda
from lookalike.devices.cuda import BLOCK, Cuda

if why_not(torch, triton):
    pytest.skip(why_not(torch, triton), allow_module_level=True)
pytestmark = pytest.mark.cuda


def assert_same(one, other):
    assert len(one) == len(other)
    for name in ("left", "right", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def near_rows(measure, items, dimensions):
    return drawn_bits(1, items, dimensions) if measure == "hamming" else drawn(1, items, dimensions)


@pytest.mark.parametrize("width", [64, 128, 256, 384])
@pytest.mark.parametrize("same", [True, False])
def test_candidates_are_those_of_the_plain_device(width, same):
    rows = drawn(2, 3 * BLOCK // 2, min(width, 300))
    space = VectorSpace(Vectors(rows.astype(np.float32)), "angle", 25.0)
    every = np.arange(len(rows))
    heads = fitted(space, rows_of(space, every[:500]), width, longest_row(space), np.random.default_rng(0))
    found = []
    for device in (Cuda(), Plain(BLOCK, room=1 << 24)):
        joiner = Joiner(device, space, SINGLE)
        held = joiner._get(Fit(heads, True), every)
        (one, _), (other, _) = (joiner._side(heads, held, every, bounds) for bounds in (space.bounds, None))
        tasks = np.concatenate(list(batches(2, 2, same)))
        pairs = device.candidates(one, other, heads.frame, tasks, same)
        found.append(sorted(map(tuple, pairs.tolist())))
    assert found[0] == found[1]
    assert len(found[0]) > len(rows) / 2


@pytest.mark.parametrize("measure", THRESHOLDS)
@pytest.mark.parametrize("dimensions", [3, 100, 300, 768])
def test_pairs_are_those_of_brute_force(measure, dimensions):
    rows = near_rows(measure, 9000, dimensions)
    common = {
        "measure": measure,
        "threshold": THRESHOLDS[measure] * (dimensions / 6 if measure == "inner_product" else 1),
    }
    expected = la.find_pairs(rows, method="brute", device="cpu", **common)
    assert_same(la.find_pairs(rows, device="cuda", **common), expected)
    expected = la.find_matches(rows[:5000], rows[4000:], method="brute", device="cpu", **common)
    assert_same(la.find_matches(rows[:5000], rows[4000:], device="cuda", **common), expected)


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_nearest_are_those_of_brute_force(measure):
    rows = near_rows(measure, 6000, 64)
    common = {"measure": measure, "k": 4}
    assert_same(
        la.find_matches(rows[:1000], rows, device="cuda", **common),
        la.find_matches(rows[:1000], rows, method="brute", device="cpu", **common),
    )


def test_more_rows_than_fit_and_more_candidates_than_there_is_room_for():
    rows = drawn(4, 5 * BLOCK, 100).astype(np.float32)
    common = {"measure": "cosine_similarity", "threshold": 0.4}
    expected = la.find_pairs(rows, method="brute", device="cpu", **common)
    small = Cuda(memory=0)
    assert small.memory == 0
    small.memory = 10_000_000
    assert_same(la.find_pairs(rows, device=small, **common), expected)


def test_blocks_are_skipped():
    rows = np.random.default_rng(0).normal(size=(4 * BLOCK, 20)) * 0.5 ** np.arange(20)
    common = {"measure": "euclidean", "threshold": 0.05}
    expected = la.find_pairs(rows, method="brute", device="cpu", **common)
    for memory in (1 << 30, 4 * BLOCK * 300, BLOCK * 900):
        device = Cuda()
        device.memory, device.ordering = memory, 0.0
        found = la.find_pairs(rows, device=device, **common)
        assert_same(found, expected)
        assert found.stats["blocks_skipped"] > 0 or memory == BLOCK * 900


def test_codes_longer_than_heads():
    rows = np.random.default_rng(0).integers(0, 2, (6000, 4200)).astype(bool)
    rows[3000:] = rows[:3000] ^ (np.random.default_rng(1).random((3000, 4200)) < 0.01)
    common = {"measure": "hamming", "threshold": 45}
    found = la.find_pairs(rows, device="cuda", **common)
    assert len(found) > 1000
    assert_same(found, la.find_pairs(rows, method="brute", device="cpu", **common))


def test_an_error_while_loading_is_passed_on():
    """No thread waits forever for the buffer of the one that failed."""

    def fill(out, part):
        raise DataError("the file is damaged")

    rows = Rows(100_000, 384, np.float32, fill, np.ones(100_000))
    frame = Frame(384, 64, np.zeros(384), np.eye(384)[:, :64])
    with pytest.raises(DataError, match="the file is damaged"):
        Cuda().load(rows, frame, Run(4))


@pytest.mark.parametrize("threads", [1, 16])
def test_an_error_of_the_card_while_loading_is_passed_on(threads, monkeypatch):
    def fail(*_):
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(cuda, "rounded", fail)
    rows = Rows(500_000, 384, np.float32, lambda out, part: out.fill(1), np.ones(500_000))
    frame = Frame(384, 64, np.zeros(384), np.eye(384)[:, :64])
    with pytest.raises(DeviceError, match="the card failed: an illegal memory access"):
        Cuda().load(rows, frame, Run(threads))


def test_searches_with_many_threads_do_not_add_up():
    """What torch keeps for products is for one thread and one stream, whatever the number of searches."""
    rows = Rows(500_000, 384, np.float32, lambda out, part: out.fill(1), np.ones(500_000))
    frame = Frame(384, 64, np.zeros(384), np.eye(384)[:, :64])
    reserved = []
    for _ in range(4):
        device = Cuda()
        device.load(rows, frame, Run(16))
        device.close()
        reserved.append(torch.cuda.memory_reserved())
    assert reserved[-1] <= reserved[0]


def test_tensors_on_the_card():
    rows = drawn(5, 500, 20).astype(np.float32)
    common = {"measure": "angle", "threshold": 20.0}
    expected = la.find_pairs(rows, method="brute", device="cpu", **common)
    assert_same(la.find_pairs(torch.from_numpy(rows).cuda(), device="cuda", **common), expected)


def test_out_of_memory_is_one_line():
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.001)
    try:
        with pytest.raises(LookalikeError, match=r"^the card is out of memory: .* GB are free, .* set device to cpu.$"):
            la.find_pairs(drawn(5, 500, 20), measure="angle", threshold=20.0, device="cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
