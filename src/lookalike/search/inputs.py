"""Convert what the user gave to texts, sets, vectors or bits, and check that the measure suits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, argument, parameter, remedy
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.io.formats import VECTOR_SUFFIXES
from lookalike.io.objects import unwrapped
from lookalike.io.streams import is_iterated
from lookalike.io.tables import is_list, is_text
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets, hash_values
from lookalike.items.shingles import Shingles, as_array
from lookalike.items.vectors import Vectors, as_ids
from lookalike.measures import MEASURES
from lookalike.measures.table import HASHED, OF_SETS, OF_VECTORS
from lookalike.search.settings import Settings

TEXTS = (str, bytes, pa.Scalar, NoneType)  # that Arrow can read as texts
SETS = (set, frozenset, list, tuple, Counter, np.ndarray)


def no_threshold(measure: str) -> UsageError:
    """Return the error for a measure without a default threshold."""
    return UsageError(
        f"measure {measure!r} needs a threshold: set {argument('threshold')} to {MEASURES[measure].asks}."
    )


def check_measure(measure: str, sets: list[Sets], settings: Settings) -> None:
    """Raise an error if the measure cannot compare the items."""
    if measure in MEASURES and MEASURES[measure].moves and sets:
        how = remedy("pass texts", "use `lookalike pairs`")
        raise UsageError(f"measure {measure!r} compares texts, not sets; {how}.")
    if measure == "bag_jaccard" and not all(one.bag for one in sets if len(one)):
        raise UsageError("measure 'bag' compares bags: Counters, or texts; got sets.")
    audited = settings.audit and measure in OF_SETS
    if audited and MEASURES[measure].directed and settings.result == "dedup":
        raise UsageError(
            f"audit is not supported for dedup by {MEASURES[measure].usual}, since which items should be removed "
            f"depends on the order in which they are kept. Leave out {parameter('audit')}."
        )
    if audited and measure not in HASHED:
        usual = MEASURES[measure].usual
        raise UsageError(
            f"audit is for the measures jaccard, bag and containment; {usual} uses an exact join, which misses no "
            f"pair. Leave out {parameter('audit')}."
        )


def check_shingles(settings: Settings, sets: list[Sets]) -> None:
    """Raise an error for shingles that would have no effect."""
    name, measure, plain = parameter("shingles"), settings.measure, Shingles()
    if sets and settings.given("shingles"):
        raise UsageError(f"sets are compared as they are, without shingles; leave out {name}.")
    of_sets = replace(settings.shingles, lowercase=plain.lowercase, form=plain.form)  # the others apply to sets alone
    if measure in MEASURES and MEASURES[measure].moves and of_sets != plain:
        raise UsageError(
            f"measure {measure!r} compares texts character by character, not by shingles; leave out {name}."
        )


def order_of(given: Sequence[Any], sets: list[Sets]) -> np.ndarray:
    """Return the hashes of elements in a given order."""
    if not sets or any(one.bag for one in sets):
        raise UsageError("order is for sets of elements, not for texts or bags.")
    order = hash_values(list(given))
    if len(np.unique(order)) < len(order):
        raise UsageError("order must hold each element once.")
    return order


def take_sides(sides: list[Any], measure: str, run: Run) -> list[Any]:
    """Return one collection or two, all of one type: `Sets`, `Source`, `Vectors` or `Bits`."""
    taken = [as_items(side, measure, run) for side in sides]
    kinds = {type(side) for side in taken if side is not None}
    if len(kinds) > 1:
        raise UsageError("two collections must both be texts, both be sets, both be vectors or both be bits.")
    kind: type = Source
    if kinds:
        kind = kinds.pop()
    elif measure in OF_VECTORS:
        kind = Bits if measure == "hamming" else Vectors
    like = next((side for side in taken if side is not None), None)
    return [_empty(kind, like) if side is None else side for side in taken]


def _empty(kind: type, like: Any) -> Any:
    """Return an empty collection of a kind."""
    if kind is Vectors:
        return Vectors(np.empty((0, like.dimensions if like else 0)))
    if kind is Bits:
        return Bits(np.empty((0, like.words.shape[1]), np.uint64), like.length) if like else Bits.of([])
    return Sets.of([]) if kind is Sets else Source(pa.table({"text": as_array([])}))


def as_items(given: Any, measure: str, run: Run) -> Source | Sets | Vectors | Bits | None:
    """Return what the user gave as one kind of items, or None for an empty collection.

    A matrix holds vectors, or bits for Hamming distance, as does anything under a measure that only
    vectors have. Sets have a "cosine" too, so for that a path or table must look like vectors.
    """
    if isinstance(given, Source | Sets | Vectors | Bits):
        return given
    if is_iterated(given) and measure not in OF_VECTORS:
        return Source(given)
    given, ids = unwrapped(given)
    if measure in OF_VECTORS or (measure == "cosine" and _looks_like_vectors(given)):
        return as_vectors(given, ids, measure, run)
    if isinstance(given, str | Path | pa.Table):
        return Source(given)
    if isinstance(given, pa.Array | pa.ChunkedArray) and not is_list(given.type):
        return _texts(given, None)
    if isinstance(given, bytes | set | frozenset) or not hasattr(given, "__iter__"):
        raise UsageError(f"items must be texts, sets, vectors, a table or a path; got {type(given).__name__}.")
    if _looks_like_vectors(given):
        raise no_vector_measure(measure)
    items = given.to_pylist() if isinstance(given, pa.Array | pa.ChunkedArray) else list(given)
    if not items:
        return None
    if all(isinstance(item, Path) for item in items):
        return Source(items)
    check_alike(items)
    if isinstance(items[0], SETS):
        return replace(Sets.of(items), ids=None if ids is None else as_ids(ids, len(items)))
    return _texts(items, ids)


def no_vector_measure(measure: str) -> UsageError:
    """Return the error for vectors without a measure that compares vectors."""
    names = ", ".join(OF_VECTORS)
    if measure != "jaccard":
        return UsageError(f"measure must be one of {names} for vectors; got {measure!r}.")
    return UsageError(
        f"vectors need a measure: set {argument('measure')} to one of {names}; the default, jaccard, compares texts "
        "and sets."
    )


def check_alike(items: list[Any]) -> None:
    """Raise an error unless all items are texts, or all are sets; a missing text is found later."""
    texts = isinstance(items[0], TEXTS)
    odd = {kind for kind in set(map(type, items)) if issubclass(kind, TEXTS) != texts or not hasattr(kind, "__iter__")}
    odd -= {NoneType} if texts else set()
    odd |= set() if isinstance(items[0], (*TEXTS, *SETS)) else {type(items[0])}
    for place, item in enumerate(items if odd else []):
        if type(item) in odd:
            rule, hint = "items must be all texts, all sets or all vectors", ""
            if isinstance(item, dict):
                hint = " Pass records as a table: pandas, polars or Arrow."
            raise DataError(f"{rule}; the type of items[{place}] is {type(item).__name__}.{hint}")


def _texts(texts: Any, ids: list[Any] | None) -> Source:
    array = as_array(texts)
    named = {} if ids is None else {"id": as_ids(ids, len(array))}
    return Source(pa.table(named | {"text": array}))


def as_vectors(given: Any, ids: list[Any] | None, measure: str, run: Run) -> Vectors | Bits | None:
    """Return a matrix, rows of numbers, a table or a path as vectors, or as bits for `hamming`."""
    bits = measure == "hamming"
    if isinstance(given, pa.Array | pa.ChunkedArray):
        given = pa.table({"vector": given})
    paths = isinstance(given, list | tuple) and given and all(isinstance(one, Path) for one in given)
    if isinstance(given, str | Path | pa.Table) or paths:
        from lookalike.io.vectors import VectorSource  # only vectors need it

        return VectorSource(given, bits=bits).read(run)
    if not hasattr(given, "__iter__") or isinstance(given, bytes | set | frozenset):
        raise UsageError(f"items must be a matrix, rows of numbers, a table or a path; got {type(given).__name__}.")
    if not hasattr(given, "shape"):
        given = list(given)
        if not given:
            return None
        if isinstance(given[0], str) and not bits:
            raise UsageError(f"measure {measure!r} compares vectors; got texts.")
    return Bits.of(given, ids) if bits else Vectors.of(given, ids, run=run)


def _looks_like_vectors(given: Any) -> bool:
    """Return whether it is a matrix, file or table of vectors, or a list of rows of floats."""
    if isinstance(given, str | Path):
        return Path(given).suffix.lower() in VECTOR_SUFFIXES
    if isinstance(given, pa.Table):
        return not any(is_text(field.type) and field.name != "id" for field in given.schema)
    if isinstance(given, list | tuple) and given and isinstance(given[0], list | tuple | np.ndarray):
        return any(isinstance(x, float | np.floating) for x in given[0])
    return hasattr(given, "tocsr") or (isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind == "f")
