"""Hash corners: structures that do not change when a print is shifted or turned.

A corner is a minutia with two of its nearest neighbours: their distances, bearings and directions
as seen from it are six numbers. A table cuts each of the six into pieces from a random offset on,
as `RandomLines` cuts a line, and a bucket holds the corners that agree in all six. Corners that
differ by d in a number cut at width w agree in it with probability 1 - d/w. Two corners in one
bucket suggest how one print lies on the other; if many suggest the same, both can be of one finger.
"""

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, whole
from lookalike.core.run import Run, slices
from lookalike.families.draws import uniforms
from lookalike.fingerprints.prints import Prints
from lookalike.kernels.minutiae import LOW, consensus, corner_codes, corners, meetings
from lookalike.kernels.sets import sorted_hashes

NEIGHBOURS = 6  # nearest neighbours of a minutia that make corners
NEAREST, FARTHEST = 12.0, 120.0  # distance of these neighbours, in pixels
WIDTH, PARTS = 16.0, 14  # pixels per piece of a distance, and pieces per turn
BLOCK = 2048  # prints per task
TURNED, SHIFTED = 0.04, 25.0  # turns and pixels by which two that agree can differ
MOST = 1 << 32  # corners in a database


class CornerTables:
    """The corners of prints in `tables` hash tables, whose offsets are drawn with `seed`.

    >>> from lookalike.fingerprints import made_up_prints
    >>> prints = made_up_prints(2)
    >>> votes, _ = CornerTables(prints).vote(prints.take(np.array([0])), least=0.006)
    >>> np.flatnonzero(votes).tolist()  # the print itself, and the other one of the finger
    [0, 1]
    """

    def __init__(self, prints: Prints, *, tables: int = 4, seed: int = 1, run: Run | None = None) -> None:
        run = run or Run(1)
        self.points, self.starts = prints.points, prints.starts
        self.owners = np.repeat(np.arange(len(prints), dtype=np.int32), prints.sizes)  # per minutia
        self.offsets = uniforms(whole("seed", seed, least=0, most=LARGEST_SEED), whole("tables", tables), 6)
        blocks = list(run.map(self._block, slices(len(prints), BLOCK)))
        self.sizes = np.concatenate([np.zeros(0, np.int64), *(sizes for sizes, _, _ in blocks)])  # per print
        self.minutiae = np.concatenate([np.zeros(0, np.int32), *(minutiae for _, minutiae, _ in blocks)])
        if len(self.minutiae) >= MOST:
            raise DataError(f"prints must have fewer than {MOST:,} corners in all; got {len(self.minutiae):,}.")
        codes = ([codes[table] for _, _, codes in blocks] for table in range(len(self.offsets)))
        self.keys = np.stack(list(run.map(_sorted, codes)))

    def _block(self, part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of corners of some prints, their minutiae, and their buckets."""
        first, last = self.starts[part.start], self.starts[part.stop]
        starts = self.starts[part.start : part.stop + 1] - first
        bounds, features, minutiae = corners(self.points[first:last], starts, NEIGHBOURS, NEAREST, FARTHEST)
        codes = corner_codes(features, self.offsets, WIDTH, PARTS)
        return np.diff(bounds), (minutiae + first).astype(np.int32), codes

    def vote(self, asking: Prints, least: float, among: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (votes, places): the agreeing corners of each print, and where the query lies.

        Fewer votes than `least` times the geometric mean of the two prints' numbers of corners, per
        table, count as 0; so do votes for prints that are not `among` the given ones. The place of
        the query on a print is a turn, and the x and y to which the centre of the query is moved.
        """
        _, features, minutiae = corners(asking.points, asking.starts, NEIGHBOURS, NEAREST, FARTHEST)
        either = np.concatenate([features, features[:, [3, 4, 5, 0, 1, 2]]])  # in either order of the neighbours
        asked = np.stack([_sorted([codes]) for codes in corner_codes(either, self.offsets, WIDTH, PARTS)])
        buckets = asked & ~LOW
        first = np.array([np.searchsorted(*pair) for pair in zip(self.keys, buckets, strict=True)])
        last = np.array([np.searchsorted(*pair) for pair in zip(self.keys, buckets + LOW, strict=True)])
        who = np.tile(minutiae, 2)[(asked & LOW).astype(np.int64)]
        found = meetings(self.keys, first, last, who, self.owners, self.minutiae, len(self.starts) - 1)
        needed = np.maximum(1, np.ceil(least * len(self.offsets) * np.sqrt(self.sizes * len(features))))
        if among is not None:
            others = np.ones(len(needed), np.bool_)
            others[among] = False
            needed[others] = np.inf
        votes, places = consensus(self.points, asking.points, *found, needed, TURNED, SHIFTED)
        return np.where(votes >= needed, votes, 0), places


def _sorted(codes: list[np.ndarray]) -> np.ndarray:
    """Return the corners of a table in order of their buckets: bucket * 2**32 + number."""
    buckets = np.concatenate([np.zeros(0, np.uint32), *codes]).astype(np.uint64)
    keys: np.ndarray = sorted_hashes(buckets << np.uint64(32) | np.arange(len(buckets), dtype=np.uint64))
    return keys
