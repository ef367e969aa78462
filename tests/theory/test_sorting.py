"""Check the sort of keys in threads against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.run import Run
from lookalike.kernels.sorting import count_parts, place_keys, sort_parts
from lookalike.theory import sorting
from lookalike.theory.sorting import low_bits, sort_keys
from tests import reference as ref
from tests.kernel_samples import EDGES, SIZES, seeds

SPREADS = {
    "even": lambda rng: rng.getrandbits(64),
    "low": lambda rng: rng.getrandbits(10),
    "high": lambda rng: ref.ALL - rng.getrandbits(10),
    "few": lambda rng: ref.mix(min(rng.getrandbits(6), rng.getrandbits(6))),  # some much more often than others
    "edges": lambda rng: rng.choice(EDGES),
}
spreads = st.sampled_from(sorted(SPREADS))


def by_numpy(keys: np.ndarray) -> np.ndarray:
    mask = low_bits(len(keys))
    return np.sort((keys & ~mask) | np.arange(len(keys), dtype=np.uint64))


@given(seeds, st.sampled_from(SIZES), spreads, st.sampled_from([1, 2, 5, 11]))
def test_keys_go_to_their_parts_in_order_and_are_sorted_there(rng, n, spread, high):
    keys = [SPREADS[spread](rng) for _ in range(n)]
    array = np.array(keys, np.uint64)
    counts = count_parts(array, high)
    assert counts.tolist() == np.bincount([x >> 64 - high for x in keys], minlength=1 << high).tolist()
    bounds = np.concatenate(([0], np.cumsum(counts)))
    out, mask = np.empty(n, np.uint64), 2**12 - 1
    place_keys(array, 7, high, np.uint64(mask), bounds[:-1].copy(), out)
    placed = [x & ~mask | at for at, x in enumerate(keys, 7)]
    assert out.tolist() == sorted(placed, key=lambda x: x >> 64 - high)
    sort_parts(out, bounds, high)
    assert out.tolist() == sorted(placed)


@pytest.mark.parametrize("threads", [1, 3])
@given(rng=seeds, n=st.sampled_from([*SIZES, 3000]), spread=spreads, step=st.sampled_from([1, 60, 1 << 18]))
def test_keys_are_sorted_as_by_numpy(threads, rng, n, spread, step):
    """However many slices and parts there are, and however unevenly the keys are spread over them."""
    keys = np.array([SPREADS[spread](rng) for _ in range(n)], np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "SLICE", step if n < 1000 else max(step, 60))
        patch.setattr(sorting, "PART", 6)
        ordered, mask = sort_keys(keys, Run(threads))
    assert mask == low_bits(n)
    assert ordered.tolist() == by_numpy(keys).tolist()


def test_many_keys_are_sorted_as_by_numpy():
    """More than one slice, and parts of the usual size."""
    keys = np.random.default_rng(1).integers(0, 2**64, 700_000, np.uint64)
    keys[::7] = keys[0]
    assert np.array_equal(sort_keys(keys, Run(2))[0], by_numpy(keys))


@pytest.mark.parametrize("threads", [1, 3])
@given(
    rng=seeds,
    n=st.sampled_from([*SIZES, 2000]),
    bits=st.sampled_from([12, 40, 61]),
    step=st.sampled_from([80, 1 << 18]),
)
def test_the_order_of_distinct_numbers(threads, rng, n, bits, step):
    """However unevenly they are spread, as those of pairs are."""
    keys = np.array(rng.sample(range(1 << bits), n // 2) + list(range(1 << bits, (1 << bits) + n // 2)))
    rng.shuffle(keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "SLICE", step)
        patch.setattr(sorting, "SAMPLE", 4)
        assert np.array_equal(sorting.order_of(keys, Run(threads)), np.argsort(keys))


@pytest.mark.parametrize("threads", [1, 3])
@given(rng=seeds, n=st.sampled_from([*SIZES, 3000]), distinct=st.sampled_from([1, 5, 1000]))
def test_equal_numbers_and_items_stay_in_order(threads, rng, n, distinct):
    values, scores = (np.array([rng.randrange(distinct) for _ in range(n)], np.int64) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "SLICE", 60)
        patch.setattr(sorting, "SAMPLE", 4)
        order = sorting.order_of(values, Run(threads))
        best = sorting.best_first(values / distinct, scores / 4, Run(threads))
    assert order.tolist() == np.argsort(values, kind="stable").tolist()
    assert best.tolist() == sorted(range(n), key=lambda item: (-values[item], -scores[item]))
