"""Record what became of each batch, so that the same batch again has the same result.

A batch is identified by a digest of its content. Its decisions are stored with the items that it
added, in one transaction: either both are there or neither.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lookalike.core.errors import StoreError
from lookalike.core.run import Run
from lookalike.index.records import Id

Extra = TypeVar("Extra")


class SiftedBatch(NamedTuple):
    """The result for one batch: which items are kept, and what the others are most similar to."""

    ids: list[Id]  # of all items
    keep: np.ndarray
    like: list[Id | None]  # the most similar item; None for kept items
    values: np.ndarray  # similarities or distances to these
    candidates: int
    crowded: int  # items in buckets too full to be compared with all their members
    empty: int  # items with nothing to compare: they are kept, but not added


def packed(sifted: SiftedBatch) -> bytes:
    """Return a result as bytes; of the ids only the first, since the items come with theirs."""
    removed = np.flatnonzero(~sifted.keep).tolist()
    facts = {
        "items": len(sifted.ids),
        "first": sifted.ids[0] if sifted.ids else None,
        "keep": b64encode(np.packbits(sifted.keep).tobytes()).decode(),
        "like": [sifted.like[row] for row in removed],
        "values": [float(sifted.values[row]) for row in removed],
        "counts": [sifted.candidates, sifted.crowded, sifted.empty],
    }
    return zlib.compress(json.dumps(facts).encode())


def unpacked(record: bytes) -> SiftedBatch:
    """Return the result that `packed` made these bytes from, with numbers as ids."""
    facts = json.loads(zlib.decompress(record))
    size, first = facts["items"], facts["first"]
    bits = np.frombuffer(b64decode(facts["keep"]), np.uint8)
    keep = np.unpackbits(bits, count=size).astype(bool)
    removed = np.flatnonzero(~keep)
    values, like = np.zeros(size), np.full(size, None, object)
    values[removed] = facts["values"]
    like[removed] = np.array(facts["like"], object)
    ids = list(range(first, first + size)) if isinstance(first, int) else [first] * size
    return SiftedBatch(ids, keep, like.tolist(), values, *facts["counts"])


class Replay:
    """A sieve that repeats the recorded decisions of a batch."""

    def __init__(self, records: Iterable[bytes]) -> None:
        self.rows = self._rows(records)
        self.counts = [0, 0, 0]  # candidates, crowded and empty items not yet passed on

    def _rows(self, records: Iterable[bytes]) -> Iterator[tuple[Any, ...]]:
        for record in records:
            batch = unpacked(record)
            self.counts = [have + more for have, more in zip(self.counts, batch[4:], strict=True)]
            yield from zip(*batch[:4], strict=True)

    def sift_all(
        self, batches: Iterable[tuple[Any, list[Id] | None, Extra]], run: Run
    ) -> Iterator[tuple[SiftedBatch, Extra]]:
        """Yield the recorded results; batches can be cut at other places than before."""
        for batch, ids, extra in batches:
            rows = list(islice(self.rows, len(batch)))
            if len(rows) < len(batch):
                raise StoreError("the index has an incomplete record of this batch; restore the index from a backup.")
            numbers, keep, like, values = zip(*rows, strict=True) if rows else ((), (), (), ())
            names = list(numbers) if ids is None else ids
            yield SiftedBatch(names, np.array(keep, bool), list(like), np.array(values, float), *self.counts), extra
            self.counts = [0, 0, 0]
