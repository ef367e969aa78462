"""Check kernels that find near rows in blocks against their plain twins, at the borders of blocks.

Numbers are whole, halves or quarters, and few enough for single precision to be exact: so a kernel
must agree with its twin pair for pair, and rounding is no excuse.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from lookalike.items.vectors import read_only
from lookalike.kernels.near import (
    LANES,
    ROWS,
    SMALL,
    STEP,
    TILE,
    bits_apart,
    count_within,
    near_bits,
    near_sparse,
    near_vectors,
    ones,
)
from lookalike.kernels.vectors import DISTANCE, measure_rows, measure_sparse
from tests import reference as ref

BORDERS = [ROWS, STEP, LANES, SMALL, 64, TILE]
SIZES = sorted({1, 2, 3} | {border + step for border in BORDERS for step in (-1, 0, 1, 2, 3)} | {2 * TILE + 1})
ACROSS = [
    (1, 1), (1, 5), (5, 1), (3, SMALL), (SMALL, 3), (SMALL, SMALL), (SMALL, SMALL + 1), (SMALL + 1, SMALL),
    (SMALL + 1, SMALL + 1), (1, SMALL + 1), (SMALL + 1, 1), (2, LANES * 3 + 1), (5, TILE), (6, TILE + 1),
    (TILE + 1, 2), (TILE + 2, 5), (3, 2 * TILE + 17), (67, 66),
]  # fmt: skip
DIMENSIONS = [0, 1, 2, 3, 4, 5, 15, 16, 17, 50, 300, 2000]
FLOATS = [np.float32, np.float64]

words = st.integers(0, ref.ALL)


class Block:
    """Whole-numbered rows in random order, with arrays that are exact in single precision."""

    def __init__(self, items, dimensions, kind=np.float64, seed=0, held=1.0):
        rng = np.random.default_rng([items, dimensions, seed])
        self.values = rng.integers(-3, 4, (items, dimensions)).astype(kind)
        self.values[rng.random(self.values.shape) >= held] = 0
        self.centre = rng.integers(-1, 2, dimensions).astype(float) if held == 1 else np.zeros(dimensions)
        self.scales = rng.choice([0.0, 0.5, 1.0, 1.0, 2.0], items)
        self.halves = rng.integers(-8, 9, items).astype(np.float32) / 2
        self.order = rng.permutation(items)
        rows = (self.values - self.centre) * self.scales[:, None]
        some = rng.permutation(items)[:50]
        usual = np.quantile(rows[some] @ rows[some].T, 0.8) if items else 0
        self.bounds = (np.round(usual) + rng.integers(-4, 5, items)).astype(np.float32)
        self.rows = [[int(4 * x) for x in row] for row in rows.tolist()]

    def expected(self, rectangles):
        """Return the twin's pairs, in whole numbers: sixteen times what the kernel compares."""
        halves, bounds = ([int(16 * x) for x in some.tolist()] for some in (self.halves, self.bounds))
        return ref.near_products(self.rows, halves, self.order.tolist(), rectangles, bounds)

    def found(self, rectangles):
        places = np.array(rectangles, np.int64).reshape(-1, 4)
        common = (self.scales, self.halves, self.order, places, self.bounds)
        return sorted(near_vectors(read_only(self.values), self.centre, *common).tolist())

    def found_sparse(self, rectangles):
        matrix = sparse.csr_array(self.values)
        places = np.array(rectangles, np.int64).reshape(-1, 4)
        common = (self.scales, self.halves.astype(float), self.order, places, self.bounds.astype(float))
        found = near_sparse(matrix.indptr, matrix.indices, matrix.data, self.values.shape[1], *common)
        return sorted(found.tolist())


def some_are_near(found, pairs):
    """Return whether some pairs are near and some are not; else the test would show nothing."""
    return 0 < len(found) < pairs


# --- dense rows ---


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_a_block_with_itself(size):
    """For all sizes near the borders of tiles, and not at the start of the order."""
    block = Block(size + 3, 3)
    rectangles = [(2, size + 2, 2, size + 2)]
    found = block.found(rectangles)
    assert found == block.expected(rectangles)
    assert size < 20 or some_are_near(found, size * (size - 1) / 2)


@pytest.mark.parametrize(("one", "other"), ACROSS)
def test_a_block_with_another(one, other):
    block = Block(one + other + 4, 5)
    for rectangle in [(1, one + 1, one + 2, one + 2 + other), (other + 3, other + 3 + one, 1, other + 1)]:
        assert block.found([rectangle]) == block.expected([rectangle])
    assert one * other < 60 or some_are_near(block.found([rectangle]), one * other)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_any_number_of_dimensions(dimensions, kind):
    """From 300 dimensions on, a tile has fewer columns."""
    block = Block(140, dimensions, kind)
    rectangles = [(3, 70, 3, 70), (0, 5, 0, 5), (10, 50, 60, 100), (1, 42, 70, 136)]
    for rectangle in rectangles:
        assert block.found([rectangle]) == block.expected([rectangle])
    if dimensions > 1:
        assert some_are_near(block.found(rectangles[:1]), 67 * 66 / 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOATS)
def test_nothing_is_left_over_from_the_previous_block(kind):
    """Blocks of all shapes in one call, large before small; the order of blocks does not matter."""
    block = Block(1300, 6, kind)
    rectangles = [
        (0, 600, 0, 600), (5, 8, 20, 22), (600, 640, 600, 640), (0, 41, 700, 741), (1, 2, 3, 4), (7, 7, 9, 12),
        (0, 3, 700, 1250), (900, 916, 900, 916), (1200, 1290, 3, 5), (50, 90, 10, 50), (4, 9, 4, 9),
    ]  # fmt: skip
    expected = block.expected(rectangles)
    assert block.found(rectangles) == expected
    assert block.found(rectangles[::-1]) == expected
    assert sorted(number for one in rectangles for number in block.found([one])) == expected


def test_an_item_can_be_in_both_blocks():
    """As when a sample is compared with all items: then an item is compared with itself."""
    block = Block(100, 4)
    block.order = np.concatenate((block.order[:50], block.order[:50]))
    rectangles = [(0, 50, 50, 100)]
    assert block.found(rectangles) == block.expected(rectangles)


def test_no_blocks_and_no_items():
    assert Block(5, 3).found([]) == Block(5, 3).found_sparse([]) == []
    assert Block(0, 3).found([]) == Block(0, 3).found_sparse([]) == []


def test_more_pairs_than_the_first_array_holds():
    """All pairs are near, in small blocks and in large ones, or none are."""
    for block, rectangles in [
        (Block(300, 2), [(0, 300, 0, 300)]),
        (Block(80, 2), [(0, 40, 40, 80), (40, 80, 40, 80), (0, 40, 0, 40)]),
    ]:
        items = len(block.values)
        block.bounds[:] = -1000
        every = [left * items + right for left in range(items) for right in range(left + 1, items)]
        assert block.found(rectangles) == block.found_sparse(rectangles) == every
        block.bounds[:] = 1000
        assert block.found(rectangles) == block.found_sparse(rectangles) == []


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from(FLOATS))
def test_blocks_at_random(seed, dimensions, kind):
    rng = np.random.default_rng(seed)
    block = Block(200, dimensions, kind, seed)
    cuts = np.sort(rng.choice(201, 8, replace=False)).tolist()
    parts = list(pairwise(cuts))
    chosen = rng.integers(0, len(parts), (4, 2)).tolist()
    rectangles = [(*parts[one], *parts[other]) for one, other in chosen]
    assert block.found(rectangles) == block.expected(rectangles)


@pytest.mark.parametrize("size", [30, 90])
@pytest.mark.parametrize("dimensions", [1, 7, 40, 300])
def test_rounding_moves_the_bound_a_little(size, dimensions):
    """For other numbers, all pairs beyond a margin of n roundings are found, and none below it."""
    rng = np.random.default_rng(dimensions)
    values = rng.normal(size=(size, dimensions))
    values /= np.sqrt((values * values).sum(axis=1, keepdims=True))
    products = values @ values.T
    bound = float(np.quantile(products, 0.7))
    arrays = (np.zeros(dimensions), np.ones(size), np.zeros(size, np.float32), np.arange(size))
    found = near_vectors(
        read_only(values), *arrays, np.array([[0, size, 0, size]]), np.full(size, bound, np.float32)
    ).tolist()
    slack = (dimensions + 4) * 2.0**-23
    left, right = np.triu_indices(size, 1)
    sure, possible = ((products[left, right] >= bound + off) for off in (slack, -slack))
    assert set((left * size + right)[sure].tolist()) <= set(found) <= set((left * size + right)[possible].tolist())


# --- sparse rows ---


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_sparse_rows(dimensions, kind):
    """Many are empty; the result is the same as for dense rows."""
    block = Block(60, dimensions, kind, held=0.2 if dimensions < 100 else 0.02)
    for rectangles in ([(3, 50, 3, 50)], [(0, 20, 25, 60)], [(10, 11, 0, 1), (0, 60, 0, 60), (5, 9, 5, 9)]):
        assert block.found_sparse(rectangles) == block.expected(rectangles) == block.found(rectangles)


def test_sparse_rows_that_hold_zeros():
    matrix = sparse.csr_array(([0.0, 1.0, 0.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 0])), shape=(3, 4))
    arrays = (np.ones(3), np.zeros(3), np.arange(3), np.array([[0, 3, 0, 3]]), np.array([1.0, 1.0, 1.0]))
    assert near_sparse(matrix.indptr, matrix.indices, matrix.data, 4, *arrays).tolist() == [5]


def test_indices_of_64_bits():
    block = Block(30, 4, held=0.5)
    matrix = sparse.csr_array(block.values)
    rectangles = np.array([[0, 30, 0, 30]])
    common = (block.scales, block.halves.astype(float), block.order, rectangles, block.bounds.astype(float))
    wide = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    assert sorted(near_sparse(*wide, 4, *common).tolist()) == block.expected(rectangles.tolist())
    left, right = np.triu_indices(30, 1)
    rows = measure_rows(DISTANCE, read_only(block.values), left, right)
    assert measure_sparse(DISTANCE, *wide, left, right).tolist() == rows.tolist()


# --- codes ---


def drawn_codes(rng, items, bits):
    """Return random integers of `bits` bits, close to one of four centres."""
    centres = [int.from_bytes(rng.bytes(bits // 8 + 1)) % (1 << bits) for _ in range(4)]
    codes = []
    for _ in range(items):
        code = centres[rng.integers(4)]
        for place in rng.integers(0, bits, rng.integers(0, 6)).tolist():
            code ^= 1 << place
        codes.append(code)
    return codes


def as_words(codes, width):
    return np.array([[code >> 64 * w & ref.ALL for w in range(width)] for code in codes], np.uint64).reshape(-1, width)


@pytest.mark.parametrize("bits", [1, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("size", [1, 2, 40, 70])
def test_blocks_of_codes(size, bits):
    rng = np.random.default_rng([size, bits])
    codes = drawn_codes(rng, size + 30, bits)
    words, order = as_words(codes, -(-bits // 64)), rng.permutation(len(codes))
    bounds = rng.integers(0, 6, len(codes))
    for rectangles in (
        [(2, 2 + size, 2, 2 + size)],
        [(1, 1 + size, 2 + size, size + 29)],
        [(size + 2, size + 29, 1, size), (0, size, 0, size), (0, 3, 3, 3), (0, 1, 1, 2)],
    ):
        found = near_bits(read_only(words), order, np.array(rectangles), bounds)
        assert sorted(found.tolist()) == ref.near_codes(codes, order.tolist(), rectangles, bounds.tolist())


@pytest.mark.parametrize("size", [TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
def test_more_codes_than_a_tile_holds(size):
    rng = np.random.default_rng(size)
    codes = drawn_codes(rng, size, 20)
    order, bounds = rng.permutation(size), rng.integers(0, 4, size)
    for rectangles in ([(0, size, 0, size)], [(0, 3, 3, size)], [(5, size, 0, 5)]):
        found = near_bits(read_only(as_words(codes, 1)), order, np.array(rectangles), bounds)
        assert sorted(found.tolist()) == ref.near_codes(codes, order.tolist(), rectangles, bounds.tolist())
        assert len(found)


@given(words)
@example(0)
@example(ref.ALL)
@example(1 << 63)
def test_ones_of_a_word(x):
    assert ones(np.uint64(x)) == x.bit_count()


@given(st.integers(1, 4), st.data())
def test_the_number_of_differing_bits(width, data):
    codes = data.draw(st.lists(st.integers(0, (1 << 64 * width) - 1), min_size=1, max_size=8))
    words = as_words(codes, width)
    left, right = (grid.ravel() for grid in np.indices((len(codes), len(codes))))
    apart = [(codes[i] ^ codes[j]).bit_count() for i, j in zip(left.tolist(), right.tolist(), strict=True)]
    assert bits_apart(read_only(words), left, right).tolist() == apart
    first = data.draw(st.integers(0, len(codes)))
    most = data.draw(st.integers(0, 64 * width))
    columns, filled = np.ascontiguousarray(words.T), np.full(len(codes) - first, -1)
    assert count_within(words[0], columns, first, filled, most) == sum(x <= most for x in apart[first : len(codes)])
    assert filled.tolist() == apart[first : len(codes)]
