"""Compare vectors or codes under a measure: which may be near, how far apart, and their family.

A `Space` is the interface of a collection of vectors or bits for the stages. `near` can let through
pairs slightly beyond the bound, but loses none within it; `measured` then decides exactly.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lookalike.core.errors import DataError
from lookalike.core.run import Run, slices
from lookalike.families import BitSampling, Hyperplanes, RandomLines
from lookalike.items.bits import Bits
from lookalike.items.vectors import BLOCK, Vectors, long_parts, read_only, squares_of, stacked
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.kernels.near import bits_apart, near_bits, near_sparse, near_vectors
from lookalike.kernels.sets import hash_rows
from lookalike.kernels.text import hash_contents
from lookalike.kernels.vectors import measure_rows, measure_sparse, project
from lookalike.measures import MEASURES

Functions = Hyperplanes | RandomLines | BitSampling
SMALLEST = 1e-307  # the reciprocal of a smaller number may not be finite
FAR_OUT = 1e15  # in units of a typical row: beyond it, squares overflow single precision
MIDDLING = 255  # rows whose median is the centre
HASHED = 1 << 20  # bytes hashed per task
LARGEST, LEAST = float(np.finfo(float).max), 5e-324  # the largest and the least positive number
BEYOND = 2.0  # bounds that all dot products of scaled rows meet, or none
ALWAYS = 4.0  # dot products of unit vectors differ by less, so no bound excludes such a row


class Space(ABC):
    """Items of one collection, or of two one after another, under a measure with a threshold."""

    measure: str
    threshold: float
    dimensions: int
    bounds: np.ndarray  # per item, in the units that `near` compares
    area: int  # pairs to compare per task: enough to outweigh handing it out

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def near(self, order: np.ndarray, rectangles: np.ndarray, bounds: np.ndarray | None = None) -> np.ndarray:
        """Return pairs in the rectangles that may be within the bounds: see `kernels.near`."""

    @abstractmethod
    def measured(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the measure of each pair."""

    @abstractmethod
    def bound(self, threshold: Any) -> np.ndarray:
        """Convert a threshold for all items, or one for each of some, to the bounds that `near` uses."""

    @abstractmethod
    def contents(self) -> np.ndarray:
        """Return two hashes per item, equal exactly for identical items, unless these can be beyond a threshold."""

    def ordered(self, rows: np.ndarray) -> np.ndarray:
        """Return rows in the order in which blocks of them are best compared."""
        return rows

    @abstractmethod
    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return about how far apart all left and right items are, in the family's measure, if there is one."""

    @abstractmethod
    def family(self, hashes: int, seed: int, width: float) -> Functions:
        """Return `hashes` functions of the measure's family."""

    @abstractmethod
    def take(self, rows: Any) -> Any:
        """Return some items in the form that the family takes."""

    @property
    def alike(self) -> bool:
        """Whether the measure is a similarity."""
        return MEASURES[self.measure].is_similarity

    def within(self, values: np.ndarray) -> np.ndarray:
        """Return which values are within the threshold."""
        return MEASURES[self.measure].within(values, self.threshold)

    def look(self, far: float) -> None:
        """Set the threshold to search within."""
        self.threshold = far
        self.bounds = self.bound(far)

    @property
    def distance(self) -> float:
        """The threshold in the family's measure: degrees instead of a cosine."""
        if self.alike:
            return math.degrees(math.acos(max(-1.0, min(1.0, self.threshold))))
        return self.threshold


class VectorSpace(Space):
    """Vectors compared by angle, cosine, Euclidean distance or inner product.

    Rows are compared by dot products: for angles, of rows scaled to length 1; for distances, of
    rows relative to a centre, less half their squares: (x - y)**2 / 2 = x**2 / 2 + y**2 / 2 - x.y.
    With n dimensions, a dot product is off by at most n roundings of |x||y|; bounds allow for more.
    For inner products, all rows are scaled by one number, so that none is longer than 1, and x.y can
    be off by less than slack |x||y| <= slack (|x|**2 + |y|**2) / 2: halves are minus slack |x|**2 / 2.
    By Cauchy and Schwarz, rows with |x||y| below the bound are not near, so blocks of them are skipped.
    Rows are prepared in the threads of the run, by default in one.
    """

    def __init__(self, vectors: Vectors, measure: str, threshold: float, run: Run | None = None):
        self.run = run or Run(1)
        self.vectors = vectors
        self.measure = measure
        self.threshold = threshold
        self.dimensions = vectors.dimensions
        values = vectors.values
        terms = int(np.diff(values.indptr).max(initial=0)) if vectors.sparse else self.dimensions
        self.area = max(1 << 18, (1 << 28) // (terms + 16))
        if not vectors.sparse:
            self.values = read_only(values)
        self.slack = (terms + 16) * (2.0**-50 if vectors.sparse else 2.0**-22)
        self.centre = np.zeros(self.dimensions)
        self.lengths: np.ndarray | None = None  # of scaled rows, if blocks are skipped by them
        if measure == "euclidean":
            self._measure_from_centre()
        elif MEASURES[measure].of_directions:
            self._scale_to_one()
        else:
            self._scale_alike(max(1, terms))
        self.bounds = self.bound(threshold)

    def __len__(self) -> int:
        return len(self.vectors)

    def _rows(self, part: slice) -> np.ndarray:
        """Return rows relative to the centre, dense and in double precision; pack sparse ones."""
        if not self.vectors.sparse:
            rows: np.ndarray = np.array(self.vectors.values[part], np.float64)
            if self.measure == "euclidean":
                rows -= self.centre
            return rows
        values, (start, stop) = self.vectors.values, (part.start, part.stop)
        indptr = values.indptr[start : stop + 1]
        held = np.arange(indptr[0], indptr[-1]) - np.repeat(indptr[:-1], np.diff(indptr))
        packed = np.zeros((stop - start, int(np.diff(indptr).max(initial=1))))
        packed[np.repeat(np.arange(stop - start), np.diff(indptr)), held] = values.data[indptr[0] : indptr[-1]]
        return packed

    def _parts(self) -> list[slice]:
        step = max(1, BLOCK // max(1, self.dimensions if not self.vectors.sparse else 256))
        return slices(len(self), step)

    def _squares(self) -> np.ndarray:
        """Return the squared lengths of dense rows of single precision."""
        known = self.vectors.squares
        return squares_of(self.values, self.run) if known is None else known

    def _scale_to_one(self) -> None:
        """Scale rows to length 1; a row too short for that always passes."""
        if not self.vectors.sparse and self.values.dtype == np.float32:  # no square is too large or too small
            squares = self._squares()
            usual = squares > 0
            self.scales = np.where(usual, 1 / np.sqrt(np.where(usual, squares, 1)), 0)
            self.halves = np.where(usual, 0, -ALWAYS).astype(np.float32)
            return
        scales, halves = np.zeros(len(self)), np.zeros(len(self))

        def work(part: slice) -> None:
            rows = self._rows(part)
            most = np.abs(rows).max(axis=1, initial=0)
            usual = most > SMALLEST
            rows /= np.where(usual, most, 1)[:, None]
            lengths = np.where(usual, np.sqrt((rows * rows).sum(axis=1)), 1)
            scales[part] = np.where(usual, 1 / np.where(usual, most, 1) / lengths, 0)
            halves[part] = np.where(usual, 0, -ALWAYS)

        self.run.each(work, self._parts())
        self.scales, self.halves = scales, halves.astype(np.float64 if self.vectors.sparse else np.float32)

    def _scale_alike(self, terms: int) -> None:
        """Scale all rows by one number, so that none is longer than 1."""
        most, lengths = np.empty(len(self)), np.empty(len(self))

        def find_most(part: slice) -> None:
            most[part] = np.abs(self._rows(part)).max(axis=1, initial=0)

        def find_lengths(part: slice) -> None:
            rows = self._rows(part) * self.scale
            lengths[part] = np.sqrt((rows * rows).sum(axis=1))

        if not self.vectors.sparse and self.values.dtype == np.float32:  # no square is too large or too small
            lengths = np.sqrt(self._squares())
            self.scale = 1 / max(SMALLEST, float(lengths.max(initial=0)))
            lengths *= self.scale
        else:
            self.run.each(find_most, self._parts())
            self.scale = 1 / max(SMALLEST, float(most.max(initial=0))) / math.sqrt(terms)
            self.run.each(find_lengths, self._parts())
        self.scales, self.lengths = np.full(len(self), self.scale), lengths
        self.halves = (-self.slack / 2 * lengths**2).astype(np.float64 if self.vectors.sparse else np.float32)

    def _measure_from_centre(self) -> None:
        """Choose a centre, and a typical row as the unit; a row very far out always passes."""
        if not self.vectors.sparse and len(self):
            some = np.random.default_rng(0).integers(0, len(self), MIDDLING)
            self.centre = np.clip(np.median(self.vectors.values[some].astype(np.float64), axis=0), -1e300, 1e300)
        most, halves = np.empty(len(self)), np.empty(len(self))

        def find_most(part: slice) -> None:
            most[part] = np.abs(self._rows(part)).max(axis=1, initial=0)

        self.run.each(find_most, self._parts())
        usual = most[(most > SMALLEST) & (most < 1 / SMALLEST)]
        self.scale = float(1 / np.median(usual)) if len(usual) else 1.0
        with np.errstate(over="ignore"):
            inside = most * self.scale < FAR_OUT
        self.scales = np.where(inside, self.scale, 0)

        def find_half(part: slice) -> None:
            rows = self._rows(part) * self.scales[part, None]
            halves[part] = (rows * rows).sum(axis=1) * (1 - self.slack) / 2

        self.run.each(find_half, self._parts())
        halves[~inside] = -(FAR_OUT**2.4)
        self.halves = halves.astype(np.float64 if self.vectors.sparse else np.float32)

    def bound(self, threshold: Any) -> np.ndarray:
        given = np.asarray(threshold, dtype=float)
        given = given if given.ndim else np.full(len(self), given)
        if self.measure == "euclidean":
            with np.errstate(over="ignore"):
                reach = given * self.scale
                bounds = -(reach**2) / 2 * (1 + self.slack) - 1e-37
            bounds[reach > FAR_OUT] = -np.inf  # reaches the rows that always pass, so everything passes
        elif self.lengths is not None:
            least = np.minimum(given, LARGEST)  # what is infinite when measured is at least about that
            with np.errstate(over="ignore"):  # products that are rounded to 0 when measured count as well
                least = least - self.slack * np.abs(least) - (self.dimensions + 16) * LEAST
                bounds = np.clip(least * self.scale * self.scale, -BEYOND, BEYOND) - 1e-37
        else:
            bounds = (np.cos(np.radians(given)) if self.measure == "angle" else given) - self.slack
        return bounds.astype(self.halves.dtype)

    def near(self, order: np.ndarray, rectangles: np.ndarray, bounds: np.ndarray | None = None) -> np.ndarray:
        bounds = self.bounds if bounds is None else bounds
        if self.lengths is not None:
            rectangles = rectangles[[self._within_reach(order, ends, bounds) for ends in rectangles.tolist()]]
        common = (self.scales, self.halves, order, rectangles, bounds)
        found: np.ndarray
        if self.vectors.sparse:
            values = self.vectors.values
            found = near_sparse(values.indptr, values.indices, values.data, self.dimensions, *common)
        else:
            found = near_vectors(self.values, self.centre, *common)
        return found

    def _within_reach(self, order: np.ndarray, ends: list[int], bounds: np.ndarray) -> bool:
        """Return whether rows of a block are so long that they may be near one of another block."""
        assert self.lengths is not None
        rows, others = order[ends[0] : ends[1]], order[ends[2] : ends[3]]
        return bool((self.lengths[rows] * self.lengths[others].max(initial=0) >= bounds[rows]).any())

    def ordered(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by length, the longest first, if blocks are skipped by it."""
        return rows if self.lengths is None else rows[np.argsort(-self.lengths[rows], kind="stable")]

    def measured(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        kind = MEASURES[self.measure].kernel
        found: np.ndarray
        if self.vectors.sparse:
            values = self.vectors.values
            found = measure_sparse(kind, values.indptr, values.indices, values.data, left, right)
        else:
            found = measure_rows(kind, self.values, left, right)
        return found

    def contents(self) -> np.ndarray:
        values = self.vectors.values
        hashes: np.ndarray
        if MEASURES[self.measure].unlimited:
            hashes = mix.py_func(np.arange(len(self), dtype=np.uint64))
            return np.stack((hashes, hashes), axis=1)
        if self.vectors.sparse:
            numbers = values.data.astype(np.float64).view(np.uint64)
            with np.errstate(over="ignore"):
                elements = mix.py_func(mix.py_func(numbers) + values.indices.astype(np.uint64) * GOLDEN)
            hashes = hash_rows(values.indptr.astype(np.int64), elements)
            return hashes
        width = values.itemsize * self.dimensions
        content = read_only(self.values.reshape(-1).view(np.uint8) if width else np.zeros(1, np.uint8))

        def work(part: slice) -> np.ndarray:
            starts = np.arange(part.start, part.stop, dtype=np.int64) * width
            some: np.ndarray = hash_contents(content, read_only(starts), read_only(starts + width))
            return some

        found = self.run.map(work, long_parts(self.values, self.run))
        return np.concatenate([np.empty((0, 2), np.uint64), *found])

    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        one, other = (self._scaled(rows) for rows in (left, right))
        products = self._products(one, other)
        if self.measure == "euclidean":
            squares, others = (np.asarray((side * side).sum(axis=1)) for side in (one, other))
            products *= -2
            products += squares[:, None]
            products += others
            distances: np.ndarray = np.sqrt(np.maximum(products, 0, out=products), out=products)
            distances /= self.scale
            return distances
        if self.lengths is not None:
            return -products
        np.clip(products, -1, 1, out=products)
        angles: np.ndarray = np.degrees(np.arccos(products, out=products), out=products)
        return angles

    def _products(self, one: Any, other: Any) -> np.ndarray:
        """Return all dot products, not by NumPy's matrix product, which starts threads of its own."""
        if self.vectors.sparse:
            return np.asarray((one @ other.T).toarray())
        return np.asarray(project(one, np.ascontiguousarray(other.T)))

    def family(self, hashes: int, seed: int, width: float) -> Functions:
        return RandomLines(width, hashes, seed) if self.measure == "euclidean" else Hyperplanes(hashes, seed)

    def take(self, rows: Any) -> Any:
        """Return vectors, for distances relative to the centre; rows too far out lie on it."""
        if self.measure != "euclidean":
            return Vectors(self.vectors.values[rows])
        near = self.scales[rows] > 0
        if self.vectors.sparse:
            from scipy.sparse import diags_array  # slow to import

            return Vectors(diags_array(near.astype(np.float64), format="csr") @ self.vectors.values[rows])
        moved = self.vectors.values[rows] - self.centre
        moved[~near] = 0
        return Vectors(moved)

    def _scaled(self, rows: np.ndarray) -> Any:
        """Return rows as `near` compares them, in double precision."""
        if self.vectors.sparse:
            from scipy.sparse import diags_array  # slow to import

            return diags_array(self.scales[rows], format="csr") @ self.vectors.values[rows].astype(np.float64)
        return (self.vectors.values[rows] - self.centre) * self.scales[rows, None]


class BitSpace(Space):
    """Codes compared by the number of bits in which they differ."""

    measure = "hamming"
    area = 1 << 24

    def __init__(self, bits: Bits, threshold: float, run: Run | None = None):
        self.run = run or Run(1)
        self.bits = bits
        self.words = read_only(bits.words)
        self.threshold = threshold
        self.dimensions = bits.length
        self.bounds = self.bound(threshold)

    def __len__(self) -> int:
        return len(self.bits)

    def near(self, order: np.ndarray, rectangles: np.ndarray, bounds: np.ndarray | None = None) -> np.ndarray:
        found: np.ndarray = near_bits(self.words, order, rectangles, self.bounds if bounds is None else bounds)
        return found

    def measured(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        found: np.ndarray = bits_apart(self.words, left, right)
        return found

    def bound(self, threshold: Any) -> np.ndarray:
        given = np.asarray(threshold).astype(np.int64)
        return given if given.ndim else np.full(len(self), given)

    def contents(self) -> np.ndarray:
        width, words = self.words.shape[1], self.words.reshape(-1)

        def work(part: slice) -> np.ndarray:
            some: np.ndarray = hash_rows(np.arange(part.start, part.stop + 1) * width, words)
            return some

        found = self.run.map(work, slices(len(self), 1 + HASHED // max(1, 8 * width)))
        return np.concatenate([np.empty((0, 2), np.uint64), *found])

    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        one, other = self.words[left], self.words[right]
        apart = np.zeros((len(one), len(other)))
        for w in range(one.shape[1]):
            apart += np.bitwise_count(one[:, w, None] ^ other[:, w])
        return apart

    def family(self, hashes: int, seed: int, width: float) -> Functions:
        return BitSampling(self.dimensions, hashes, seed, repeat=True)

    def take(self, rows: Any) -> Any:
        return self.bits.take(rows)


def space_of(sides: list[Any], measure: str, threshold: float, run: Run | None = None) -> Space:
    """Return one space for all sides, which must be of one kind and size."""
    if isinstance(sides[0], Bits):
        lengths = {side.length for side in sides}
        if len(lengths) > 1:
            raise DataError(f"codes must have the same number of bits; got {sides[0].length} and {sides[1].length}.")
        words = sides[0].words if len(sides) == 1 else np.concatenate([side.words for side in sides])
        return BitSpace(Bits(words, sides[0].length), threshold, run)
    one = sides[0]
    if len(sides) > 1:
        one = _joined(sides[0], sides[1], run or Run(1))
    return VectorSpace(one, measure, threshold, run)


def _joined(left: Vectors, right: Vectors, run: Run) -> Vectors:
    if left.dimensions != right.dimensions:
        raise DataError(
            f"vectors must have the same number of dimensions; got {left.dimensions} and {right.dimensions}."
        )
    if left.sparse or right.sparse:
        from scipy.sparse import csr_array, vstack  # slow to import

        return Vectors(csr_array(vstack([csr_array(left.values), csr_array(right.values)])))
    return Vectors(stacked([left.values, right.values], run))
