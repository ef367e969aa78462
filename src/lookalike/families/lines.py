"""Random lines, the family for Euclidean distance: points collide if they fall into one segment."""

import math
from copy import copy
from typing import Any

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, choice, positive, whole
from lookalike.core.statistics import Sensitivity
from lookalike.families.base import Family
from lookalike.families.draws import gaussians, uniforms
from lookalike.families.projections import along, as_rows
from lookalike.measures.rows import as_matrix, finite

FARTHEST_BUCKET = 2.0**53  # beyond it floats cannot distinguish neighbouring buckets


class RandomLines(Family):
    """Projections on `hashes` random lines, cut into segments of `width` from a random offset on.

    `lines="gaussian"` (Datar, Immorlica, Indyk, Mirrokni 2004) projects on a vector of independent
    normal numbers: two points at distance d are then d |N| apart on the line, with N normal, in any
    number of dimensions. `lines="unit"` uses vectors of length 1, as in *Mining of Massive
    Datasets*; the distance on the line then also depends on `dimensions`. `from_lines` uses given
    lines.

    >>> family = RandomLines(width=4.0)
    >>> [round(family.collision(d), 3) for d in (0, 1, 4, 16)]
    [1.0, 0.801, 0.369, 0.099]
    """

    measure = "euclidean"

    def __init__(
        self,
        width: float,
        hashes: int = 128,
        seed: int = 1,
        lines: str = "gaussian",
        dimensions: int | None = None,
    ):
        self.width = positive("width", width)
        self.hashes = whole("hashes", hashes)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)
        self.lines = choice("lines", lines, ("gaussian", "unit"))
        self.dimensions = None if dimensions is None else whole("dimensions", dimensions)
        self.given: np.ndarray | None = None
        self.offsets = uniforms(self.seed, 1, self.hashes, stream=2)[0] * self.width
        self.first = 0  # number of the first function among those of the seed
        self._directions = np.empty((0, 0))

    def part(self, start: int, stop: int) -> "RandomLines":
        """Return the functions from `start` to `stop`."""
        some = copy(self)
        some.hashes, some.first, some._directions = stop - start, self.first + start, np.empty((0, 0))
        some.given = None if self.given is None else self.given[start:stop]
        some.offsets = self.offsets[start:stop]
        return some

    @classmethod
    def from_lines(cls, directions: Any, width: float, offsets: Any = 0.0) -> "RandomLines":
        """Make functions from given lines, one direction per row, with one offset each or for all.

        With v a direction scaled to length 1, point x is in segment floor((x.v + offset) / width).

        >>> axes = RandomLines.from_lines([[1, 0, 0], [0, 1, 0], [0, 0, 1]], width=2)
        >>> axes.signatures([[1, 2, 3], [0, 2, 4], [4, 3, 2]]).tolist()
        [[0, 1, 1], [0, 1, 2], [2, 1, 1]]
        """
        matrix = as_matrix(directions)
        family = cls(width, hashes=len(matrix), lines="unit", dimensions=matrix.shape[1])
        given = finite(matrix, np.arange(len(matrix)))
        lengths = np.sqrt((given * given).sum(axis=1, keepdims=True))
        if not lengths.all():
            raise DataError(f"a zero vector has no direction; row {np.argmin(lengths)} is zero.")
        family.given = given / lengths
        try:
            family.offsets = np.broadcast_to(np.asarray(offsets, dtype=float), len(matrix))
        except (TypeError, ValueError):
            raise DataError(f"offsets must be a number, or one for each of {len(matrix)} lines.") from None
        if not np.isfinite(family.offsets).all():
            raise DataError("offsets must be finite numbers.")
        return family

    @property
    def farthest(self) -> float:
        """Return infinity: there is no greatest distance."""
        return math.inf

    def _law(self, distance: np.ndarray) -> np.ndarray:
        """Return E[max(0, 1 - t / width)] over the distance t of the two projections.

        With t = d |N|, c = width / d and F the normal distribution this is
        1 - 2 F(-c) - 2 (1 - exp(-c**2 / 2)) / (c sqrt(2 pi)). With t = d |u|, u a component of a
        random unit vector in n dimensions, u**2 has the distribution Beta(1/2, (n - 1)/2), and
        E[|u|; |u| < c] = k (1 - (1 - c**2)**((n - 1)/2)).
        """
        from scipy.special import betainc, erf, gammaln  # slow to import

        with np.errstate(divide="ignore", over="ignore"):  # c is infinite at distance 0, which gives 1
            c = self.width / distance
            if self.lines == "gaussian":
                inside, mean = erf(c / math.sqrt(2)), -np.expm1(-c * c / 2) * math.sqrt(2 / math.pi)
            elif self.dimensions is None:
                raise UsageError("dimensions must be given for lines='unit': collision probabilities depend on it.")
            elif self.dimensions == 1:
                inside = mean = np.where(c >= 1, 1.0, 0.0)
            else:
                half, square = (self.dimensions - 1) / 2, np.minimum(c, 1) ** 2
                k = math.exp(gammaln(half + 1 / 2) - gammaln(half + 1)) / math.sqrt(math.pi)
                inside, mean = betainc(1 / 2, half, square), -k * np.expm1(half * np.log1p(-square))
        law: np.ndarray = inside - mean / c
        return law

    def plane_bounds(self) -> Sensitivity:
        """Return bounds for unit lines of width a in the plane: (a/2, 2a, 1/2, 1/3).

        Projections of points a/2 apart are at most a/2 apart, so they share a segment with
        probability at least 1/2. Points 2a apart can share one only if the angle between the line
        and the line through them is at least 60 degrees, which is true of 1/3 of all lines.
        """
        if self.lines != "unit" or self.dimensions != 2:
            raise UsageError("plane_bounds needs lines='unit' and dimensions=2.")
        return self.width / 2, 2 * self.width, 1 / 2, 1 / 3

    def signatures(self, items: Any) -> np.ndarray:
        """Return the numbers of the segments: an array items x hashes."""
        return self._segments(self._places(items))

    def with_alternatives(self, items: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the signatures, the nearest other segments, and their distances in widths."""
        places = self._places(items)
        self._segments(places)  # to check them
        return self.alternatives_of(places)

    @staticmethod
    def alternatives_of(places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `with_alternatives` does, from given places on the lines, in widths."""
        segments = np.floor(places)
        inside = places - segments
        numbers = segments.astype(np.int64)
        return numbers, np.where(inside < 0.5, numbers - 1, numbers + 1), np.minimum(inside, 1 - inside)

    def _places(self, items: Any) -> np.ndarray:
        """Return the places of items on the lines, in widths."""
        rows = as_rows(items)
        with np.errstate(over="ignore", invalid="ignore"):
            places: np.ndarray = (along(rows, self.directions(rows.shape[1])) + self.offsets) / self.width
        return places

    def _segments(self, places: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            buckets = np.floor(places)
        if not (np.abs(buckets) < FARTHEST_BUCKET).all():
            raise DataError(f"width must be larger for items this far from the origin; got {self.width:g}.")
        numbers: np.ndarray = buckets.astype(np.int64)
        return numbers

    def directions(self, dimensions: int) -> np.ndarray:
        """Return the vectors to project on: an array dimensions x hashes."""
        if self.dimensions not in (None, dimensions) and dimensions:
            raise DataError(f"items must have {self.dimensions} dimensions, as the lines do; got {dimensions}.")
        if self.given is not None:
            return np.ascontiguousarray(self.given.T)
        if self._directions.shape[0] != dimensions or not dimensions:
            drawn = gaussians(self.seed, self.hashes, dimensions, first=self.first)
            if self.lines == "unit":
                drawn /= np.sqrt((drawn * drawn).sum(axis=1, keepdims=True))
            self._directions = np.ascontiguousarray(drawn.T)
        return self._directions
