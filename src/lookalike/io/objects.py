"""Collections in memory that belong to other libraries: data frames, columns, tensors, data sets, dicts."""

from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import UsageError
from lookalike.io.streams import Iterated, is_iterated
from lookalike.items.vectors import as_numpy


def unwrapped(given: Any) -> tuple[Any, list[Any] | None]:
    """Return what was given as an Arrow table, an Arrow column, a NumPy array or a list, with ids if it has any.

    Keys of a dict and the labels of a pandas Series are ids. Anything else comes back as it is.

    >>> unwrapped({"a": "one text", "b": "another"})
    (['one text', 'another'], ['a', 'b'])
    """
    if isinstance(given, dict):
        if any(_is_dataset(value) for value in given.values()):
            splits = ", ".join(map(str, given))
            raise UsageError(
                f"items are a DatasetDict with the splits {splits}; pass one of them, such as data['train']."
            )
        return list(given.values()), list(given)
    if _is_dataset(given):
        if is_iterated(given):
            return pa.concat_tables(Iterated(given).batches(), promote_options="permissive"), None
        return given.with_format("arrow")[:], None
    if isinstance(given, np.ndarray | pa.Table | pa.Array | pa.ChunkedArray):
        return given, None
    if _is_series(given):
        numbered = given.index.equals(type(given)(range(len(given))).index)
        return given.to_list(), None if numbered else given.index.to_list()
    if hasattr(given, "__arrow_c_stream__"):
        try:
            return pa.table(given), None
        except (TypeError, ValueError):  # a column
            return pa.chunked_array(given), None
    if hasattr(given, "__dlpack__") or (hasattr(given, "__array__") and not hasattr(given, "tocsr")):
        return as_numpy(given), None
    return given, None


def is_table(given: Any) -> bool:
    """Return whether this is an Arrow table, a data frame, a relation or a data set."""
    if _is_dataset(given) or not hasattr(given, "__arrow_c_stream__"):
        return _is_dataset(given)
    return any(hasattr(given, name) for name in ("columns", "schema"))  # which a column has not


def as_table(given: Any) -> Any:
    """Return a table of another library as an Arrow table, and anything else as it is: also what is iterated."""
    return unwrapped(given)[0] if is_table(given) and not is_iterated(given) else given


def _is_dataset(given: Any) -> bool:
    """Whether this is a data set of Hugging Face."""
    return hasattr(given, "with_format") and hasattr(given, "features")


def _is_series(given: Any) -> bool:
    """Whether this is a pandas Series."""
    return hasattr(given, "to_list") and hasattr(getattr(given, "index", None), "equals")
