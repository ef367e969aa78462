"""One pass over items that keeps those unlike all that came before, in an index or in the pass itself."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import DataError, NotThere
from lookalike.index.batches import Encoder
from lookalike.index.codings import Coding, Encoded
from lookalike.index.looking import Looked, look_up
from lookalike.index.store import Id, Reader, Store, Writer


class Sifted(NamedTuple):
    """What became of items: those that are kept, and what each of the others is most like."""

    ids: list[Id]  # of all items
    keep: np.ndarray
    like: list[Id | None]  # None for those that are kept
    values: np.ndarray  # similarities or distances to these
    candidates: int
    crowded: int  # items in buckets too full to be looked at as a whole


def all_sifted(parts: list[Sifted]) -> Sifted:
    """All parts in one."""
    if not parts:
        return Sifted([], np.zeros(0, bool), [], np.zeros(0), 0, 0)
    ids, keep, like, values, candidates, crowded = zip(*parts, strict=True)
    arrays = np.concatenate(keep), list(chain(*like)), np.concatenate(values)
    return Sifted(list(chain(*ids)), *arrays, sum(candidates), sum(crowded))


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
        if ids is None:
            self.following = max(self.following, self.new.next_id())
            ids = list(range(self.following, self.following + len(batch)))
            self.following += len(batch)
        ((_, encoded, texts),) = map(self.encoder.encode, self.encoder.fitting([(batch, ids)]))
        coding = self.encoder.fitted()
        keep, values = np.ones(len(ids), bool), np.zeros(len(ids))
        like: list[Id | None] = [None] * len(ids)
        candidates = crowded = 0
        for place, name in enumerate(ids):
            looked = self._look(coding, encoded, place)
            candidates, crowded = candidates + looked.candidates, crowded + looked.crowded
            if looked.found:
                keep[place] = False
                like[place], values[place] = looked.found[0]
            else:
                self._take(encoded.part(place), name, texts[place : place + 1])
        self.new.number_from(self.following)
        return Sifted(ids, keep, like, values, candidates, crowded)

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
def sieve_of(store: Store, encoder: Encoder, update: bool, threshold: float) -> Iterator[Sieve]:
    """A sieve over a store: all that it lets through is added at the end, or with `update` False nothing is."""
    with ExitStack() as stack:
        if update:
            sieve = Sieve(encoder, stack.enter_context(store.writing()), None, threshold)
            yield sieve
            sieve.finish()
            return
        folder = stack.enter_context(TemporaryDirectory(prefix="lookalike-"))
        other = Store(Path(folder) / "new", create=True)
        stack.callback(other.close)
        yield Sieve(encoder, stack.enter_context(other.writing()), stack.enter_context(store.reading()), threshold)
