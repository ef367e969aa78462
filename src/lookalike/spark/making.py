"""Turn columns into sets and sketches, in the tasks of a cluster."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError
from lookalike.items.sets import Sets, hash_integers, hash_texts
from lookalike.items.shingles import Shingles
from lookalike.kernels.sets import hash_rows
from lookalike.search.plan import Plan
from lookalike.search.sketching import Columns, band_keys, pieces, sketch_texts


@dataclass(frozen=True)
class Making(ABC):
    """A way to turn a column into sets and their band keys."""

    plan: Plan

    @abstractmethod
    def sets(self, column: pa.Array) -> Sets:
        """Return the set of each row."""

    def sketch(self, column: pa.Array) -> Columns:
        """Return the number of elements, length, content hash and band keys of each row."""
        sets = self.sets(column)
        keys = band_keys(self.plan, sets.indptr, sets.elements)
        contents = hash_rows(sets.indptr, sets.elements)
        return Columns(sets.sizes, sets.sizes, contents, keys, np.ones(len(sets), np.bool_))


@dataclass(frozen=True)
class OfTexts(Making):
    """Sets of the shingles of texts."""

    shingles: Shingles

    def sets(self, column: pa.Array) -> Sets:
        return self.shingles.sets(column)

    def sketch(self, column: pa.Array) -> Columns:
        texts = self.shingles.prepare(column.cast(pa.large_string()))
        made = [sketch_texts(piece, self.shingles, self.plan)[0] for piece in pieces(texts)]
        return Columns(*(np.concatenate(arrays) for arrays in zip(*made, strict=True)))


@dataclass(frozen=True)
class OfLists(Making):
    """Sets of the elements of lists."""

    def sets(self, column: pa.Array) -> Sets:
        indptr, values = flat(column)
        return Sets.sorted(indptr, hash_elements(values), self.plan.measure == "bag_jaccard")


def flat(column: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the bounds of lists, and their values one after another."""
    sizes = np.asarray(pc.list_value_length(column)).astype(np.int64)
    return np.concatenate(([0], np.cumsum(sizes))), column.flatten()


def hash_elements(values: pa.Array) -> np.ndarray:
    """Return one hash per element, a string or an integer."""
    if values.null_count:
        raise DataError("an element is null: drop null elements first.")
    if pa.types.is_integer(values.type):
        return hash_integers(np.asarray(values.cast(pa.int64())))
    return hash_texts(values.cast(pa.large_string()))


def no_content(item: Any) -> DataError:
    """Return the error for an item without a text."""
    remedy = "drop such rows first, with dropna, or use --on-error skip on the command line."
    return DataError(f"item {item!r} has no text (null): {remedy}")
