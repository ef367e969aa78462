"""Compare the kernels of containment with plain twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import draws
from lookalike.kernels.hashing import mix
from lookalike.search.joins import ALIKE
from tests.kernel_samples import as_lists, as_rows, drawn_rows, drawn_sets, seeds, thresholds

sizes = st.sampled_from([1, 2, 5, 32])


def needs_of(rng, sets):
    return [rng.randint(1, len(one)) for one in sets]


@given(seeds, sizes, st.integers(0, 2**64 - 1))
def test_draw_rows(rng, size, seed):
    rows = drawn_rows(rng, 5, repeats=True)
    indptr, drawn = draws.draw_rows(*as_rows(rows), size, np.uint64(seed))
    expected = [sorted(sorted(set(row), key=lambda x: int(mix(np.uint64(x ^ seed))))[:size]) for row in rows]
    assert as_lists(indptr, drawn) == expected


@given(seeds, st.integers(0, 2))
def test_rarest(rng, lowest):
    sets = [one for one in drawn_sets(rng) if one]
    needs = needs_of(rng, sets)
    ranks = np.array([rng.randrange(3) for _ in range(16)], np.uint8)
    owners, tokens = draws.rarest(*as_rows(sets), np.array(needs, np.int64), ranks, np.uint64(60), lowest)
    expected = []
    for row, (one, need) in enumerate(zip(sets, needs, strict=True)):
        chosen = sorted(one, key=lambda x: ranks[x >> 60])[: len(one) - need + 1]
        expected.extend((row, x) for x in one if x in chosen and ranks[x >> 60] >= lowest)
    assert list(zip(owners.tolist(), tokens.tolist(), strict=True)) == expected


@given(seeds)
def test_shared_within(rng):
    one, other = drawn_sets(rng, 2)
    other = sorted({*other, *(rng.getrandbits(64) for _ in range(rng.choice([0, 40, 400])))})
    least = rng.randint(1, 11)
    both = len({*one} & {*other})
    arrays = [np.array(x, np.uint64) for x in (one, other)]
    for pair in (arrays, arrays[::-1]):
        assert draws.shared_within(*pair, least) == (both if both >= least else -1)


@given(seeds, st.integers(0, 3), st.booleans())
def test_look_up(rng, bits, alone):
    """Every set is posted under enough elements, so the pairs are those of brute force."""
    sets = [one for one in drawn_sets(rng) if one]
    rows = sets if alone else drawn_sets(rng)
    needs, items = needs_of(rng, sets), [10 * i for i in range(len(sets))]
    owners, tokens = draws.rarest(*as_rows(sets), np.array(needs, np.int64), *ALIKE, 0)
    order = np.argsort(tokens >> np.uint64(63 - bits), kind="stable")
    tokens, owners = tokens[order], owners[order]
    starts = np.searchsorted((tokens >> np.uint64(63 - bits)).astype(np.int64), np.arange(2 ** (bits + 1) + 1))
    numbers = np.array(items if alone else [10 * i + 1 for i in range(len(rows))], np.int64)
    posted = (starts, np.uint64(63 - bits), tokens, owners, *as_rows(sets), np.array(needs), np.array(items, np.int64))
    met = np.full(len(sets), -1)
    left, right, shared, compared = draws.look_up(numbers, *as_rows(rows), *posted, met, 10**6)
    expected = [
        (items[i], number, len({*a} & {*b}))
        for b, number in zip(rows, numbers.tolist(), strict=True)
        for i, a in enumerate(sets)
        if number != items[i] and len({*a} & {*b}) >= needs[i]
    ]
    assert sorted(zip(left.tolist(), right.tolist(), shared.tolist(), strict=True)) == sorted(expected)
    assert len(expected) <= compared <= len(sets) * len(rows)


def test_look_up_stops_after_too_many_pairs():
    sets = [[7]] * 9
    starts, tokens, owners = np.array([0, 9, 9]), np.full(9, 7, np.uint64), np.arange(9, dtype=np.int32)
    items, needs = np.arange(9), np.ones(9, np.int64)
    posted = (starts, np.uint64(63), tokens, owners, *as_rows(sets), needs, items)
    left, *_ = draws.look_up(items, *as_rows(sets), *posted, np.full(9, -1), 10)
    assert 10 < len(left) < 72


@given(seeds, thresholds)
def test_contained(rng, threshold):
    sets = [one for one in drawn_sets(rng) if one] + [[1]]
    p, q = threshold.as_integer_ratio()
    left, right = ([rng.randrange(len(sets)) for _ in range(9)] for _ in range(2))
    both = [len({*sets[i]} & {*sets[j]}) for i, j in zip(left, right, strict=True)]
    expected = [n if n >= threshold * len(sets[i]) else -1 for i, n in zip(left, both, strict=True)]
    assert draws.contained(*as_rows(sets), np.array(left), np.array(right), p, q).tolist() == expected
