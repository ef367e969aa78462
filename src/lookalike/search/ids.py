"""Put the ids of a collection into one array, and refuse repeated ones: results name items by id."""

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, argument
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.items.sets import hash_texts

SLICE = 1 << 14  # ids per task


def unique_ids(
    ids: list[pa.ChunkedArray], of: str = "", run: Run = ONE_THREAD, storage: Storage = IN_MEMORY
) -> pa.Array:
    """Return all ids in one array; a repeated id is an error, since results name items by id.

    In Python, `of` names the class that has the parameter `id`: see `argument`.
    """
    kinds = {array.type for array in ids}
    if len(kinds) > 1:  # one file numbers its rows or has integers, another has strings
        ids = [array.cast(pa.string()) for array in ids]
    chunks = [chunk for array in ids for chunk in array.chunks]
    whole = pa.chunked_array(chunks, type=ids[0].type if ids else pa.int64()).combine_chunks()
    (found,) = storage.once("repeated", lambda: (repeated(whole, run),))
    if len(found):
        twice = int(found[0])
        raise DataError(
            f"ids must be unique; {whole[twice].as_py()!r} occurs more than once. "
            f"Name another column with {argument('id', of=of)}, or number the rows with {argument('id', '-', of)}."
        )
    return whole


def repeated(ids: pa.Array, run: Run = ONE_THREAD) -> np.ndarray:
    """Return the position of a repeated id, if there is one; sorted numbers or hashes take little memory."""
    none = np.empty(0, np.int64)
    if pa.types.is_integer(ids.type):
        keys = ids.to_numpy(zero_copy_only=False).astype(np.uint64)
        order = np.sort(keys)
        same = order[1:][order[1:] == order[:-1]]
        return np.flatnonzero(keys == same[0])[1:2] if len(same) else none
    texts = ids.cast(pa.large_string())
    parts = (texts.slice(part.start, part.stop - part.start) for part in slices(len(texts), SLICE))
    keys = np.concatenate([np.empty(0, np.uint64), *run.map(hash_texts, parts)])
    order = np.sort(keys)
    for key in np.unique(order[1:][order[1:] == order[:-1]]):  # few, since different ids rarely share a hash
        seen: set[str] = set()
        for place in np.flatnonzero(keys == key).tolist():
            text = texts[place].as_py()
            if text in seen:
                return np.array([place])
            seen.add(text)
    return none
