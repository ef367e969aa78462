"""What the user gave: texts, sets, vectors or bits, one collection or two, and whether a measure compares such."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.io.formats import VECTOR_SUFFIXES
from lookalike.io.tables import is_text
from lookalike.io.vectors import VectorSource
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets, hash_values
from lookalike.items.shingles import as_array
from lookalike.items.vectors import Vectors
from lookalike.measures import MEASURES
from lookalike.measures.table import BANDED, OF_VECTORS

ONLY_OF_VECTORS = [measure for measure in OF_VECTORS if measure != "cosine"]


def check_measure(measure: str, sets: list[Sets], audit: int) -> None:
    """Whether the items can be compared by it."""
    if measure in MEASURES and MEASURES[measure].moves and sets:
        raise UsageError(f"measure {measure!r} compares texts; got sets.")
    if measure == "bag_jaccard" and not all(one.bag for one in sets if len(one)):
        raise UsageError("measure 'bag_jaccard' compares bags: Counters, or texts; got sets.")
    if audit and measure not in BANDED:
        raise UsageError(f"audit is for Jaccard similarity; {measure!r} is joined exactly and misses nothing.")


def order_of(given: Sequence[Any], sets: list[Sets]) -> np.ndarray:
    """The hashes of elements in a given order."""
    if not sets or any(one.bag for one in sets):
        raise UsageError("order is for sets of elements, not for texts or bags.")
    order = hash_values(list(given))
    if len(np.unique(order)) < len(order):
        raise UsageError("order must hold each element once.")
    return order


def take_sides(sides: list[Any], measure: str, run: Run) -> list[Any]:
    """One collection or two, all `Sets`, all `Source`s of texts, all `Vectors` or all `Bits`."""
    taken = [as_items(side, measure, run) for side in sides]
    kinds = {type(side) for side in taken if side is not None}
    if len(kinds) > 1:
        raise UsageError("two collections must both be texts, both be sets, both be vectors or both be bits.")
    kind: type = Source
    if kinds:
        kind = kinds.pop()
    elif measure in ONLY_OF_VECTORS:
        kind = Bits if measure == "hamming" else Vectors
    like = next((side for side in taken if side is not None), None)
    return [_none(kind, like) if side is None else side for side in taken]


def _none(kind: type, like: Any) -> Any:
    """An empty collection of a kind."""
    if kind is Vectors:
        return Vectors(np.empty((0, like.dimensions if like else 0)))
    if kind is Bits:
        return Bits(np.empty((0, like.words.shape[1]), np.uint64), like.length) if like else Bits.of([])
    return Sets.of([]) if kind is Sets else Source(pa.table({"text": as_array([])}))


def as_items(given: Any, measure: str, run: Run) -> Source | Sets | Vectors | Bits | None:
    """What the user gave: texts as a source, sets as `Sets`; None for an empty collection, which may be any.

    A matrix is vectors, or for Hamming distance bits, as is whatever is measured by what only vectors have; "cosine"
    is also a measure of sets, so there a path or table must look like one of vectors.
    """
    if isinstance(given, Source | Sets | Vectors | Bits):
        return given
    if measure == "cosine" and hasattr(given, "__arrow_c_stream__") and not isinstance(given, pa.ChunkedArray):
        with suppress(TypeError, ValueError):  # a column, not a frame
            given = pa.table(given)
    if measure in ONLY_OF_VECTORS or (measure == "cosine" and _looks_like_vectors(given)):
        return as_vectors(given, measure, run)
    if _is_matrix(given) and given.dtype.kind == "f":
        raise UsageError(f"measure must be one of {', '.join(OF_VECTORS)} for a matrix; got {measure!r}.")
    if isinstance(given, str | Path | pa.Table):
        return Source(given)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return Source(pa.table({"text": as_array(given)}))
    if hasattr(given, "__arrow_c_stream__"):
        try:
            return Source(pa.table(given))
        except (TypeError, ValueError):  # a column, not a frame
            return Source(pa.table({"text": as_array(pa.chunked_array(given))}))
    if isinstance(given, dict | bytes | set | frozenset) or not hasattr(given, "__iter__"):
        raise UsageError(f"items must be texts, sets, vectors, a table or a path; got {type(given).__name__}.")
    items = list(given)
    if not items:
        return None
    if all(isinstance(item, Path) for item in items):
        return Source(items)
    if isinstance(items[0], set | frozenset | list | tuple | Counter | np.ndarray):
        sets = Sets.of(items)
        return replace(sets, named=lambda rows: [as_elements(items[row], sets.bag) for row in rows.tolist()])
    return Source(pa.table({"text": as_array(items)}))


def as_elements(given: Any, bag: bool) -> set[Any] | Counter[Any]:
    """A set that was given, as what it counts for."""
    elements = given.tolist() if isinstance(given, np.ndarray) else given
    return Counter(elements) if bag else set(elements)


def as_vectors(given: Any, measure: str, run: Run) -> Vectors | Bits | None:
    """A matrix, rows of numbers, a table or a path as vectors, or for Hamming distance as bits."""
    bits = measure == "hamming"
    if hasattr(given, "__arrow_c_stream__") and not isinstance(given, pa.Table):
        given = pa.table(given)
    paths = isinstance(given, list | tuple) and given and all(isinstance(one, Path) for one in given)
    if isinstance(given, str | Path | pa.Table) or paths:
        return VectorSource(given, bits=bits).read(run)
    if not hasattr(given, "__iter__") or isinstance(given, dict | bytes | set | frozenset):
        raise UsageError(f"items must be a matrix, rows of numbers, a table or a path; got {type(given).__name__}.")
    if not hasattr(given, "shape"):
        given = list(given)
        if not given:
            return None
    return Bits.of(given) if bits else Vectors.of(given)


def _is_matrix(given: Any) -> bool:
    return (isinstance(given, np.ndarray) and given.ndim == 2) or hasattr(given, "tocsr")


def _looks_like_vectors(given: Any) -> bool:
    """Whether it is a matrix, a file of vectors, a table without texts, or a list of rows of floats."""
    if isinstance(given, str | Path):
        return Path(given).suffix.lower() in VECTOR_SUFFIXES
    if isinstance(given, pa.Table):
        return not any(is_text(field.type) and field.name != "id" for field in given.schema)
    if isinstance(given, list | tuple) and given and isinstance(given[0], list | tuple | np.ndarray):
        return any(isinstance(x, float | np.floating) for x in given[0])
    return _is_matrix(given)
