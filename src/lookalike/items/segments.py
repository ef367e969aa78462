"""Cut texts into the units that passages are made of: words, characters, lines, sentences or paragraphs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.items.sets import text_bounds
from lookalike.items.shingles import Rows, Shingles
from lookalike.items.units import unit_hashes, unit_places
from lookalike.kernels.segments import find_segments, hash_wholes
from lookalike.kernels.units import copy_slices, skip_space

SEGMENTS = ("line", "sentence", "paragraph")  # in the order of kernels
Bounds = tuple[np.ndarray, np.ndarray, np.ndarray]  # indptr, starts and stops


class Cutter(ABC):
    """A rule that cuts texts into units; `length` of them in a row are a window."""

    name: str  # of a unit
    length: int
    shingles: Shingles  # the normal form, and how to compare texts

    @abstractmethod
    def hashes(self, texts: pa.LargeStringArray, seed: int = 0) -> Rows:
        """Return the hashes of the normal forms of units: (indptr, hashes)."""

    @abstractmethod
    def places(self, texts: pa.LargeStringArray) -> Bounds:
        """Return where units are, in bytes of the texts as given."""

    @abstractmethod
    def parts(self, texts: pa.LargeStringArray) -> Bounds:
        """Return what is removed with each unit, in bytes of the texts as given."""


@dataclass(frozen=True)
class SmallUnits(Cutter):
    """Words or characters."""

    shingles: Shingles

    @property
    def name(self) -> str:  # type: ignore[override]
        return {"word": "word", "char": "character"}[self.shingles.unit]

    @property
    def length(self) -> int:  # type: ignore[override]
        return self.shingles.k

    def hashes(self, texts: pa.LargeStringArray, seed: int = 0) -> Rows:
        return unit_hashes(texts, self.shingles)

    def places(self, texts: pa.LargeStringArray) -> Bounds:
        return unit_places(texts, self.shingles)

    def parts(self, texts: pa.LargeStringArray) -> Bounds:
        """Return units with the white space after them."""
        indptr, starts, stops = self.places(texts)
        skip_space(*text_bounds(texts), indptr, stops)
        return indptr, starts, stops


@dataclass(frozen=True)
class Segments(Cutter):
    """Lines, sentences or paragraphs that are not blank."""

    name: str
    shingles: Shingles
    length: int = 1

    def hashes(self, texts: pa.LargeStringArray, seed: int = 0) -> Rows:
        indptr, starts, stops = self.places(texts)
        data, begins, _ = text_bounds(texts)
        begins = np.repeat(begins, np.diff(indptr)) + starts
        bounds = np.concatenate(([0], np.cumsum(stops - starts)))
        out = np.empty(bounds[-1], np.uint8)
        copy_slices(data, begins, stops - starts, bounds[:-1], out)
        segments = pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(bounds), pa.py_buffer(out))
        return indptr, hash_wholes(*text_bounds(self.shingles.prepare(segments)), seed)

    def places(self, texts: pa.LargeStringArray) -> Bounds:
        indptr, _, _, firsts, lasts = find_segments(*text_bounds(texts), SEGMENTS.index(self.name))
        return indptr, firsts, lasts

    def parts(self, texts: pa.LargeStringArray) -> Bounds:
        """Return segments with their white space: a line with its line break."""
        indptr, begins, ends, _, _ = find_segments(*text_bounds(texts), SEGMENTS.index(self.name))
        return indptr, begins, ends
