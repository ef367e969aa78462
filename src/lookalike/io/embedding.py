"""Turn texts into vectors with a function of the user, batch by batch."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, did_you_mean, parameter
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.documents import Source
from lookalike.io.elements import common_type
from lookalike.items.vectors import Vectors, as_array_of_numbers, as_floats, as_numpy, stacked

TEXTS = 256  # given to the function at a time

Embed = Callable[[list[str]], Any]  # takes texts, and returns a matrix with one row per text


def embedding_function(name: str) -> Embed:
    """Return the function that a name such as module:function means; modules of this folder can be named."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise UsageError(f"embed must be MODULE:FUNCTION, such as embeddings:embed; got {name!r}.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise UsageError(
            f"{parameter('embed')}: there is no module {module!r} in this folder or among the packages."
        ) from None
    embed = getattr(found, function, None)
    if not callable(embed):
        hint = did_you_mean(function, [one for one in vars(found) if callable(getattr(found, one))])
        raise UsageError(f"{parameter('embed')}: module {module!r} has no function {function!r}.{hint}")
    return embed  # type: ignore[no-any-return]


def embedded(source: Source, embed: Embed, run: Run) -> Vectors:
    """Return the vectors of all texts of a source, with their ids; rows that are not finite are as in `Vectors.of`.

    Texts that the source has left out are counted as skipped, and the others keep their row numbers.

    The function gets lists of at most TEXTS texts, in one thread, and returns a matrix: of NumPy, or
    a tensor of torch or of another library, also on a card; or a list of rows of these kinds.
    """
    chunks: list[np.ndarray] = []
    ids: list[pa.Array] = []
    with run.stage("embed"):
        for batch in source.batches(run):
            for start in range(0, len(batch), TEXTS):
                some = batch.slice(start, TEXTS)
                chunks.append(_matrix(embed(some["text"].to_pylist()), len(some), chunks))
            ids += batch["id"].chunks
    values = stacked(chunks, run) if chunks else np.empty((0, 0), np.float32)
    kind = common_type([some.type for some in ids]) if ids else pa.int64()
    names = pa.chunked_array([some.cast(kind) for some in ids], kind).combine_chunks()
    numbered = names.equals(pa.array(np.arange(len(names))))
    made = Vectors.of(values, None if numbered else names, source.on_error)
    return replace(made, skipped=made.skipped + source.skipped)


def _matrix(made: Any, texts: int, before: list[np.ndarray]) -> np.ndarray:
    """Return what the function made as a matrix, if it has a row for each text and is as wide as those before."""
    if isinstance(made, list | tuple):
        rows = [as_numpy(row) if hasattr(row, "detach") else row for row in made]
        made = as_array_of_numbers(rows, "embed must return rows of numbers, all of one length.")
    matrix = as_floats(made)
    if not isinstance(matrix, np.ndarray) or len(matrix) != texts:
        kind = "a sparse matrix" if not isinstance(matrix, np.ndarray) else counted(len(matrix), "row")
        raise DataError(
            f"embed must return a dense matrix with one row per text; got {kind} for {counted(texts, 'text')}."
        )
    if before and matrix.shape[1] != before[0].shape[1]:
        raise DataError(f"embed must return rows of one length; got {matrix.shape[1]} after {before[0].shape[1]}.")
    return matrix
