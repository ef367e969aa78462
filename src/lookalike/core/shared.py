"""Keep the arrays of a run that several processes share; see `shards` for how they share it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from lookalike.core.run import ONE_THREAD, Run, Tick
from lookalike.core.shards import Shards
from lookalike.core.storage import Arrays, Storage
from lookalike.core.workdir import allocate, mapped, writing_in

Batch = TypeVar("Batch")
Result = TypeVar("Result")
Columns = Iterable[Iterable[np.ndarray]]
Gathered = tuple[Columns, dict[str, Any]]  # the columns of a piece, each in parts, and facts about it


class SharedStorage(Storage):
    """Arrays in files, each made by one of several processes and mapped by all."""

    held = False

    def __init__(self, shards: Shards, memory: int | None = None) -> None:
        self.shards, self.memory = shards, memory

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        return next(self.made_each([name], lambda at, run: make(), ONE_THREAD))

    def made_each(self, names: Sequence[str], make: Callable[[int, Run], Arrays], run: Run) -> Iterator[Arrays]:
        for at in self.shards.turns(names, names[0].rstrip("0123456789")):
            self.shards.publish(names[at], [[array] for array in make(at, run)])
        return map(self.shards.arrays, names)

    def once(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        return self.made(name, make)

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        with writing_in(self.shards.workdir), self.shards.folder.open(self.shards.own(name), "w+b") as file:
            allocate(file, size * np.dtype(dtype).itemsize)
            return mapped(file, dtype, [size], "r+")

    def in_pieces(
        self,
        name: str,
        count: int,
        batches: Callable[[int], Iterator[Batch]],
        work: Callable[[int, Batch], Result],
        gather: Callable[[int, list[Result]], Gathered],
        run: Run,
        tick: Tick = lambda amount: None,
    ) -> list[str]:
        """Do one task per piece of the inputs; return their names.

        `batches` yields the work of a piece, `work` does it in the threads of `run`, and `gather` makes
        of the results what is saved. Threads work ahead into the next piece. `tick` is called with the
        fact "documents" of each piece.
        """
        names = [f"{name}.{at}" for at in range(count)]
        end: Any = object()

        def begun() -> Iterator[tuple[int, Any]]:
            for at in self.shards.claims(names):
                for batch in batches(at):
                    yield at, batch
                yield at, end

        def do(task: tuple[int, Any]) -> tuple[int, Any]:
            at, batch = task
            return at, end if batch is end else work(at, batch)

        known: set[str] = set()
        while True:
            done: list[Any] = []
            for at, result in run.map(do, begun()):
                if result is not end:
                    done.append(result)
                    continue
                columns, facts = gather(at, done)
                self.shards.publish(names[at], columns, **facts)
                known.add(names[at])
                tick(facts.get("documents", 0))
                done = []
            self.shards.wait(names, name)
            if all(map(self.shards.done, names)):
                tick(sum(self.shards.facts(one).get("documents", 0) for one in names if one not in known))
                return names

    def joined(
        self,
        name: str,
        columns: Sequence[str],
        pieces: Sequence[str],
        change: Callable[[int, int, np.ndarray], np.ndarray] = lambda column, piece, array: array,
    ) -> list[np.ndarray]:
        """Return the columns of all pieces in one array each, and remove the pieces.

        `change` can make another part of that of a piece, given the positions of both.
        """
        names = [f"{name}.{column}" for column in columns]
        for at in self.shards.turns(names, f"the whole {name}"):
            parts = (change(at, piece, self.shards.column(one, at)) for piece, one in enumerate(pieces))
            self.shards.publish(names[at], [parts])
        self.shards.discard(pieces)
        return [self.shards.arrays(one)[0] for one in names]

    def close(self) -> None:
        """Leave the files to the other processes; the caller ends this one's part."""
