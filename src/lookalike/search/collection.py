"""Hold a collection: ids, contents, band keys, and the sets of any of its items on request."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run, Tick
from lookalike.core.shared import SharedStorage
from lookalike.core.storage import Kinds, Storage
from lookalike.items.sets import Sets
from lookalike.items.sides import Sides
from lookalike.kernels.sets import take_rows
from lookalike.search.grouping import Grouping
from lookalike.search.makers import Maker, SourceSets
from lookalike.search.plan import Plan
from lookalike.search.sharing import sets_in_pieces
from lookalike.search.weighing import PLAIN, Weighing


@dataclass
class Collection:
    """Items with the data for later stages. An item without elements is similar to nothing."""

    ids: list[pa.Array]  # one array per collection
    plan: Plan
    counts: np.ndarray  # elements of each item, repeats included
    lengths: np.ndarray  # bytes of each text, or elements of each set
    contents: np.ndarray  # items x 2 hashes, equal exactly for identical items
    keys: list[np.ndarray]  # per band, the keys of all items
    maker: Maker
    storage: Storage
    draws: list[np.ndarray] = field(default_factory=list)  # how many elements were drawn from each item, and those
    grouping: Grouping | None = None  # if only pairs within groups count, or across them
    weighing: Weighing = PLAIN

    def drawn(self, rows: np.ndarray) -> Sets:
        """Return the elements drawn from the items at these positions."""
        sizes, elements = self.draws
        starts = np.cumsum(sizes) - sizes
        return Sets(*take_rows(starts[rows], sizes[rows], elements))

    @property
    def sides(self) -> Sides:
        """Which items belong to which collection, if there are two."""
        sides = Sides.of([len(ids) for ids in self.ids])
        return sides if self.grouping is None else replace(sides, groups=self.grouping.apart)

    def __len__(self) -> int:
        return len(self.counts)

    def sets(self, rows: np.ndarray, run: Run, name: str | None = None) -> Sets:
        """Return the sets at ascending positions; named ones are kept in the storage."""
        storage = self.storage if name is not None else Storage()
        with run.stage("sets of candidates", len(rows)) as tick:
            if isinstance(storage, SharedStorage):
                assert isinstance(self.maker, SourceSets)
                sets = sets_in_pieces(self.maker, rows, name or "", run, storage, tick)
            else:
                sets = self._grown_sets(rows, name or "", run, storage, tick)
            room = (
                storage.empty(f"{name}.weights", len(sets.elements), np.float64) if self.weighing.wanted.idf else None
            )
            return self.weighing.weighed(sets, room, run)

    def _grown_sets(self, rows: np.ndarray, name: str, run: Run, storage: Storage, tick: Tick) -> Sets:
        """Return the sets at ascending positions, of which an earlier run can have made some."""
        kinds: Kinds = {"elements": np.dtype(np.uint64), "sizes": np.dtype(np.int64)}
        grown = storage.growing(name, kinds, {"elements": int(self.counts[rows].sum())})
        done = grown.done
        tick(done)
        made = run.map(self.maker.make, self.maker.tasks(rows[done:], run))
        for now in grown.extend(_counted(made, done), run):
            tick(now - done)
            done = now
        elements, sizes = grown.finish(run)
        return Sets(np.concatenate(([0], np.cumsum(sizes))), elements)


def _counted(made: Iterable[Sets], done: int) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield the columns of sets, and how many rows are covered with them."""
    for part in made:
        done += len(part)
        yield done, [part.elements, part.sizes]
