"""Order rows into blocks of rows that are close together, and prove that pairs of blocks hold no near pair.

For orthonormal directions P, let a row's place be its components in these, and the length of what they
leave of it. By Pythagoras and the triangle inequality, rows are at least as far apart as their places:

    |x - z|**2 >= |Px - Pz|**2 + (|x - Px| - |z - Pz|)**2

so those of two blocks are at least as far apart as the boxes around their places. A near pair has
x.z >= b + h(x) + h(z) (see `heads`), so that

    |x - z|**2 = |x|**2 + |z|**2 - 2 x.z <= u(x) + v(z),  u(x) = |x|**2 - 2 b - 2 h(x),  v(z) = |z|**2 - 2 h(z)

and blocks whose boxes are further apart than the largest u and v allow hold no near pair. Places are in
single precision, and the length that is left is off by the root of the roundings of a square: boxes are
wider by `margin` times the longest row, and the sum has (d + 16) 2**-48 times the squares more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

AXES = 6  # directions that a place has
CUTS = (1, 2, 3, 4, AXES + 1)  # numbers of components of places to cut across that are tried
EXTRA, ROUNDS = 8, 2  # more directions, and rounds, in which the main ones are sought
SEEN = 1 << 10  # rows that show which direction to cut across
APART = 256  # rows of a sample that are compared with each other first
LEAST = 8  # rows of a sample that are taken for a block
WORTH = 0.2  # of the pairs of blocks, to be skipped at least


@dataclass(frozen=True)
class Boxes:
    """Blocks of rows: the bounds of their places, their longest row, squared, and the largest u or v."""

    low: np.ndarray
    high: np.ndarray
    longest: np.ndarray
    most: np.ndarray


def main_axes(sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return orthonormal directions in which the rows of a sample differ most, as columns."""
    centred = sample - sample.mean(axis=0)
    number = min(sample.shape[1], AXES + EXTRA)
    found = rng.normal(size=(sample.shape[1], number))
    for _ in range(ROUNDS):
        found = np.linalg.qr(centred.T @ (centred @ found))[0]
    parts = centred @ found
    _, turned = np.linalg.eigh(parts.T @ parts)
    return np.asarray(np.linalg.qr(found @ turned[:, ::-1])[0][:, :AXES])


def places_of(rows: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Return the places of rows."""
    parts = rows @ axes
    left = np.maximum((rows * rows).sum(axis=1) - (parts * parts).sum(axis=1), 0)
    return np.concatenate((parts, np.sqrt(left)[:, None]), axis=1).astype(np.float32)


def margin(dimensions: int) -> float:
    """Return by how much a place can be off, relative to its row's length."""
    return float(np.sqrt(dimensions + 16.0)) * 2.0**-24 + 2.0**-22


def ordered(places: np.ndarray, block: int, axes: int) -> np.ndarray:
    """Return the rows in an order in which each block's are close together.

    Rows are cut in half, at a whole number of blocks, across that of the first `axes` in which they
    are spread the most, as in a k-d tree. This takes log2(blocks) passes over the rows.
    """
    order = np.arange(len(places))
    waiting = [slice(0, len(places))]
    while waiting:
        part = waiting.pop()
        blocks = -(-(part.stop - part.start) // block)
        if blocks < 2:
            continue
        rows = order[part]
        some = places[rows[:: 1 + len(rows) // SEEN], :axes]
        across = int(np.argmax(np.nan_to_num(some.std(axis=0))))
        half = blocks // 2 * block
        order[part] = rows[np.argpartition(places[rows, across], half - 1)]
        waiting += [slice(part.start, part.start + half), slice(part.start + half, part.stop)]
    return order


def boxes_of(places: np.ndarray, squares: np.ndarray, extra: np.ndarray, block: int, dimensions: int) -> Boxes:
    """Return the boxes of blocks of rows in order: their places, squared lengths, and -2 h(x) - 2 b or -2 h(x)."""
    starts = np.arange(0, len(places), block)
    longest = np.maximum.reduceat(squares, starts)
    with np.errstate(invalid="ignore"):
        most = np.maximum.reduceat(squares + extra, starts) + (dimensions + 16) * 2.0**-48 * longest
        wider = (margin(dimensions) * np.sqrt(longest))[:, None]
        low, high = (function.reduceat(places, starts, axis=0) for function in (np.minimum, np.maximum))
        return Boxes(low - wider, high + wider, longest, most)


def close(one: Boxes, row: int, other: Boxes, columns: np.ndarray) -> np.ndarray:
    """Return those of the other blocks that may hold a row near one of a block; what is not known may."""
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.maximum(one.low[row] - other.high[columns], other.low[columns] - one.high[row])
        gaps = np.where(gaps < 0, 0, gaps)
        far = (gaps * gaps).sum(axis=1) > one.most[row] + other.most[columns]
    kept: np.ndarray = columns[~far]
    return kept


def skipped(one: Boxes, other: Boxes) -> float:
    """Return the share of the pairs of blocks that hold no near pair."""
    columns = np.arange(len(other.most))
    kept = sum(len(close(one, row, other, columns)) for row in range(len(one.most)))
    return float(1 - kept / max(1, len(one.most) * len(columns)))


def sample_skipped(
    one: np.ndarray,
    other: np.ndarray,
    least: np.ndarray,
    halves: np.ndarray,
    axes: np.ndarray,
    shares: list[float],
    worth: float,
) -> tuple[float, int]:
    """Return the greatest share of pairs of blocks that would be skipped, and the number of axes to cut for it.

    A share that is clearly less than what is `worth` skipping may be given as 0. Rows are those of two
    samples; `shares` are those of a block in all rows of each side. Few blocks are the further apart
    the fewer directions they are cut across.
    """
    places = places_of(one, axes), places_of(other, axes)
    squares = [(rows * rows).sum(axis=1) for rows in (one, other)]
    few = slice(None, None, 1 + max(len(one), len(other)) // APART)
    gaps = places[0][few, None] - places[1][few]
    with np.errstate(invalid="ignore"):
        most = (squares[0] - 2 * least)[few, None] + (squares[1] - 2 * halves)[few]
        if (np.square(gaps).sum(axis=2) > most).mean() < worth / 2:  # blocks are no further apart than their rows
            return 0.0, 1

    def sides(cut: int) -> Iterator[Boxes]:
        for at, given in enumerate((least, halves)):
            block = max(LEAST, int(len(given) * shares[at]))
            order = ordered(places[at], block, cut)
            yield boxes_of(places[at][order], squares[at][order], -2 * given[order], block, one.shape[1])

    return max((skipped(*sides(cut)), cut) for cut in CUTS)
