"""Keep, in one pass, the items unlike all before them, in an index or in the pass itself."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, NotThere
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.index.base import Coding, Encoded
from lookalike.index.batches import Batch, ItemEncoder, same_type
from lookalike.index.entries import Entries
from lookalike.index.looking import Looked, look_up
from lookalike.index.records import Id, intact
from lookalike.index.replay import Replay, SiftedBatch, packed
from lookalike.index.store import Store
from lookalike.index.tables import Reader
from lookalike.index.writing import Writer
from lookalike.kernels.hashing import EMPTY
from lookalike.results import Explanation, Measured
from lookalike.results.explanations import ExplainedRows

Extra = TypeVar("Extra")


@dataclass(frozen=True, eq=False)
class Sifted(Measured):
    """Which items are new to an index; each removed item is verified as similar to another one.

    Its rows are the removed items: (id, id of the similar item, similarity or distance).
    """

    ids: list[Id]  # of all items
    keep: np.ndarray  # whether each item is kept
    like: list[Id | None]  # the item each removed one is most similar to; None for kept items
    values: np.ndarray  # similarities or distances to these
    kind: str = "similarity"  # or "distance"
    stats: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, batches: Sequence[SiftedBatch], kind: str) -> "Sifted":
        """Join the results for batches in their order."""
        ids, like = (list(chain.from_iterable(getattr(one, name) for one in batches)) for name in ("ids", "like"))
        keep = np.concatenate([np.zeros(0, bool), *(one.keep for one in batches)])
        values = np.concatenate([np.zeros(0), *(one.values for one in batches)])
        counts = {name: sum(getattr(one, name) for one in batches) for name in ("candidates", "crowded", "empty")}
        return cls(ids, keep, like, values, kind, {"items": len(ids), "kept": int(keep.sum()), **counts})

    @property
    def kept(self) -> list[Id]:
        """The ids of the kept items."""
        return [self.ids[row] for row in np.flatnonzero(self.keep)]

    def __len__(self) -> int:
        """Count the removed items."""
        return int(np.count_nonzero(~self.keep))

    def _table(self, rows: Any) -> pa.Table:
        removed = np.flatnonzero(~self.keep)[rows]
        columns = (same_type([ids[row] for row in removed]) for ids in (self.ids, self.like))
        return pa.table(dict(zip(("id", "kept"), columns, strict=True)) | {self.kind: self.values[removed]})

    def explain(self, row: int) -> Explanation:
        """Name the item that a removed one is most similar to; the items are not in memory."""
        one, other, value = self[row]
        return ExplainedRows([{"item": one, "similar to": other, self.kind: value}])

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write an HTML page that shows the removed items, and which item each is similar to."""
        from lookalike.index import describe  # noqa: F401  which registers how pages show this result

        super().report(path, title)

    def __repr__(self) -> str:
        return f"<{len(self.ids) - len(self):,} of {counted(len(self.ids), 'item')} kept, {len(self):,} removed>"


class Sieve:
    """A filter that passes each item unlike all those seen before, and then counts it as seen.

    Items that pass are written to `new`: the index itself, or a temporary folder; then `old` is the
    index. An item whose id is in the index is the new version of that item, which from then on
    counts for nothing: no item is similar to its own old version. With a `digest`, the results are
    recorded under it.
    """

    def __init__(
        self, encoder: ItemEncoder, new: Writer, old: Reader | None, threshold: float, digest: bytes | None = None
    ) -> None:
        self.encoder, self.new, self.old, self.threshold, self.digest = encoder, new, old, threshold, digest
        self.first = new.next_number()  # number of the first item that passes
        self.following = (old or new).next_id()  # number for the next item without an id
        self.displaced: set[int] = set()  # numbers of old versions
        self.records = 0

    def sift(self, batch: Any, ids: list[Id] | None = None) -> SiftedBatch:
        """Sift a batch in its order; items without ids get the numbers after those of the index."""
        ((sifted, _),) = self.sift_all([(batch, ids, None)], Run(1))
        return sifted

    def sift_all(
        self, batches: Iterable[tuple[Any, list[Id] | None, Extra]], run: Run
    ) -> Iterator[tuple[SiftedBatch, Extra]]:
        """Sift many batches; some are encoded while those before them are sifted.

        The extra object of each batch is returned with its result.
        """
        extras: deque[Extra] = deque()

        def named() -> Iterator[Batch]:
            for batch, ids, extra in batches:
                extras.append(extra)
                yield batch, self._numbers(len(batch)) if ids is None else ids

        for entries, encoded in run.map(self.encoder.encode_rows, self.encoder.fitting(named())):
            sifted = self._sift(entries, encoded)
            if self.digest is not None:
                self.new.put_batch(self.digest, self.records, packed(sifted))
                self.records += 1
            yield sifted, extras.popleft()

    def _numbers(self, size: int) -> list[Id]:
        first = max(self.following, self.new.next_id())
        self.following = first + size
        return list(range(first, first + size))

    def _sift(self, entries: Entries, encoded: Encoded) -> SiftedBatch:
        coding, ids = self.encoder.fitted(), entries.ids
        keep, values = np.ones(len(ids), bool), np.zeros(len(ids))
        like: list[Id | None] = [None] * len(ids)
        empty = (entries.keys == EMPTY).all(axis=1)
        candidates = crowded = 0
        for place, name in enumerate(ids):
            self._displace(name)
            if empty[place]:
                continue
            looked = self._look(coding, encoded, place)
            candidates, crowded = candidates + looked.candidates, crowded + looked.crowded
            if looked.found:
                keep[place] = False
                like[place], values[place] = looked.found[0]
            else:
                self._take(entries, place)
        self.new.number_from(self.following)
        self.new.settle(share=1)
        return SiftedBatch(ids, keep, like, values, candidates, crowded, int(np.count_nonzero(empty)))

    def _displace(self, name: Id) -> None:
        """Let the old version of an item count no longer."""
        number = (self.old or self.new).number_of(name)
        if number is not None and (self.old is not None or number < self.first):
            self.displaced.add(number)

    def _look(self, coding: Coding, encoded: Encoded, place: int) -> Looked:
        """Find the item most similar to one: an old one if there is any."""
        looked = Looked([])
        if self.old is not None:
            looked = look_up(self.old, coding, encoded, place, self.threshold, 1, self.displaced)
        if looked.found:
            return looked
        among = look_up(self.new, coding, encoded, place, self.threshold, 1, () if self.old else self.displaced)
        return Looked(among.found, looked.candidates + among.candidates, looked.crowded or among.crowded)

    def _take(self, entries: Entries, place: int) -> None:
        name = entries.ids[place]
        number = self.new.number_of(name)
        if number is not None and number >= self.first:
            raise DataError(f"ids must be unique; {name!r} occurs more than once.")
        self.new.add_one(entries, place)

    def finish(self) -> None:
        """Remove the old versions."""
        for number in sorted(self.displaced):
            item = self.new.item(number)
            self.new.remove(item, self.encoder.fitted().again([item.payload]).keys[0])
        self.new.settle(share=1)


@intact("an item")
def drop(writer: Writer, coding: Coding, identity: Id) -> None:
    """Remove the item with this id."""
    number = writer.number_of(identity)
    if number is None:
        raise NotThere(f"there is no item {identity!r} in the index.")
    item = writer.item(number)
    writer.remove(item, coding.again([item.payload]).keys[0])


@contextmanager
def sieve_of(
    store: Store, encoder: Callable[[], ItemEncoder], update: bool, threshold: float, digest: bytes | None
) -> Iterator[Sieve | Replay]:
    """Provide a sieve over a store; with `update`, what passes is added at the end.

    For a batch that was added before, it repeats what was decided then, and adds nothing.
    """
    with ExitStack() as stack:
        reader: Reader = stack.enter_context(store.writing() if update else store.reading())
        records = None if digest is None else reader.batch(digest)
        if records is not None and (first := next(records, None)) is not None:
            yield Replay(chain([first], records))
            return
        if isinstance(reader, Writer):
            sieve = Sieve(encoder(), reader, None, threshold, digest)
            yield sieve
            sieve.finish()
            return
        folder = stack.enter_context(TemporaryDirectory(prefix="lookalike-"))
        other = Store(Path(folder) / "new", create=True)
        stack.callback(other.close)
        new = stack.enter_context(other.writing())
        new.put_salt(reader.salt)
        yield Sieve(encoder(), new, reader, threshold)
