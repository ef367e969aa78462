"""One pass over items that keeps those unlike all that came before, in an index or in the pass itself."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lookalike.core.errors import DataError, NotThere
from lookalike.core.run import Run
from lookalike.index.batches import Batch, Encoder
from lookalike.index.codings import Coding, Encoded
from lookalike.index.looking import Looked, look_up
from lookalike.index.records import Id
from lookalike.index.store import Store
from lookalike.index.tables import Reader, Writer
from lookalike.kernels.hashing import EMPTY

Extra = TypeVar("Extra")


class Sifted(NamedTuple):
    """What became of items: those that are kept, and what each of the others is most like."""

    ids: list[Id]  # of all items
    keep: np.ndarray
    like: list[Id | None]  # None for those that are kept
    values: np.ndarray  # similarities or distances to these
    candidates: int
    crowded: int  # items in buckets too full to be looked at as a whole
    empty: int  # items without anything to compare: they are kept, but not added


def all_sifted(parts: list[Sifted]) -> Sifted:
    """All parts in one."""
    if not parts:
        return Sifted([], np.zeros(0, bool), [], np.zeros(0), 0, 0, 0)
    ids, keep, like, values, *counts = zip(*parts, strict=True)
    return Sifted(
        list(chain(*ids)), np.concatenate(keep), list(chain(*like)), np.concatenate(values), *map(sum, counts)
    )


class Sieve:
    """Lets each item through that is like none seen before it, and has seen it from then on.

    What is let through is written to `new`, which is the index itself or a folder that is thrown away; in that case
    `old` is the index.
    """

    def __init__(self, encoder: Encoder, new: Writer, old: Reader | None, threshold: float) -> None:
        self.encoder, self.new, self.old, self.threshold = encoder, new, old, threshold
        self.first = new.next_number()  # of what is let through
        self.following = (old or new).next_id()  # of the next item without an id
        self.displaced: list[int] = []  # the numbers of items whose ids others have now

    def sift(self, batch: Any, ids: list[Id] | None = None) -> Sifted:
        """Sift a batch in its order; without ids the items are numbered on from those of the index."""
        ((sifted, _),) = self.sift_all([(batch, ids, None)], Run(1))
        return sifted

    def sift_all(
        self, batches: Iterable[tuple[Any, list[Id] | None, Extra]], run: Run
    ) -> Iterator[tuple[Sifted, Extra]]:
        """The same for many batches, of which some are made ready while those before are sifted.

        What comes with a batch is handed on with what became of it.
        """
        extras: deque[Extra] = deque()

        def named() -> Iterator[Batch]:
            for batch, ids, extra in batches:
                extras.append(extra)
                yield batch, self._numbers(len(batch)) if ids is None else ids

        for names, encoded, texts in run.map(self.encoder.encode, self.encoder.fitting(named())):
            yield self._sift(names, encoded, texts), extras.popleft()

    def _numbers(self, size: int) -> list[Id]:
        first = max(self.following, self.new.next_id())
        self.following = first + size
        return list(range(first, first + size))

    def _sift(self, ids: list[Id], encoded: Encoded, texts: list[str]) -> Sifted:
        coding = self.encoder.fitted()
        keep, values = np.ones(len(ids), bool), np.zeros(len(ids))
        like: list[Id | None] = [None] * len(ids)
        empty = (encoded.keys == EMPTY).all(axis=1)
        candidates = crowded = 0
        for place in np.flatnonzero(~empty).tolist():
            looked = self._look(coding, encoded, place)
            candidates, crowded = candidates + looked.candidates, crowded + looked.crowded
            if looked.found:
                keep[place] = False
                like[place], values[place] = looked.found[0]
            else:
                self._take(encoded.part(place), ids[place], texts[place : place + 1])
        self.new.number_from(self.following)
        return Sifted(ids, keep, like, values, candidates, crowded, int(np.count_nonzero(empty)))

    def _look(self, coding: Coding, encoded: Encoded, place: int) -> Looked:
        """What is most like an item: something old if there is such."""
        looked = Looked([]) if self.old is None else look_up(self.old, coding, encoded, place, self.threshold, 1)
        if looked.found:
            return looked
        among = look_up(self.new, coding, encoded, place, self.threshold, 1)
        return Looked(among.found, looked.candidates + among.candidates, looked.crowded or among.crowded)

    def _take(self, one: Encoded, name: Id, texts: list[str]) -> None:
        number = self.new.number_of(name)
        if number is not None:
            if number >= self.first:
                raise DataError(f"ids must be unique; {name!r} occurs more than once.")
            self.displaced.append(number)  # to be removed in the end, as what comes may be like it
        self.new.add(one, [name], texts or None)

    def finish(self) -> None:
        """Remove the items whose ids others have now."""
        for number in self.displaced:
            item = self.new.item(number)
            self.new.remove(item, self.encoder.fitted().again(item.payload).keys)


def drop(writer: Writer, coding: Coding, identity: Id) -> None:
    """Remove the item of an id."""
    number = writer.number_of(identity)
    if number is None:
        raise NotThere(f"there is no item {identity!r} in the index.")
    item = writer.item(number)
    writer.remove(item, coding.again(item.payload).keys)


@contextmanager
def sieve_of(store: Store, encoder: Callable[[], Encoder], update: bool, threshold: float) -> Iterator[Sieve]:
    """A sieve over a store: all that it lets through is added at the end, or with `update` False nothing is."""
    with ExitStack() as stack:
        if update:
            writer = stack.enter_context(store.writing())
            sieve = Sieve(encoder(), writer, None, threshold)
            yield sieve
            sieve.finish()
            return
        folder = stack.enter_context(TemporaryDirectory(prefix="lookalike-"))
        other = Store(Path(folder) / "new", create=True)
        stack.callback(other.close)
        yield Sieve(encoder(), stack.enter_context(other.writing()), stack.enter_context(store.reading()), threshold)
