"""Keep the large arrays of a run in memory; the variant in `workdir` keeps them in mapped files.

The stages of a run ask a storage for their arrays and do not know which kind it is.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from lookalike.core.run import ONE_THREAD, Run, slices

Arrays = tuple[np.ndarray, ...]
Part = Any  # an array, or an Arrow table
Kinds = dict[str, np.dtype[Any] | None]  # the type of each column; None for Arrow tables
FILLED = 1 << 18  # values per task that fills an array


class GrowingColumns:
    """Columns that grow, each at its own pace, and become whole arrays at the end."""

    done = 0  # how much of the input the columns cover, as given to the last `append` that was saved
    complete = False  # whether an earlier run covered all of the input

    def __init__(self, kinds: Kinds, most: dict[str, int]) -> None:
        self.kinds = kinds
        self.parts: dict[str, list[Any]] = {name: [] for name in kinds}
        self.whole = {name: np.empty(size, kinds[name]) for name, size in most.items()}  # unused memory costs nothing
        self.filled = dict.fromkeys(most, 0)

    def append(self, done: int, parts: Iterable[Part]) -> None:
        """Append a part to each column; `done` says how much of the input is then covered."""
        for _ in self.extend([(done, parts)]):
            pass

    def extend(self, batches: Iterable[tuple[int, Iterable[Part]]], run: Run = ONE_THREAD) -> Iterator[int]:
        """Append the parts of each batch, copied in the threads of `run`; yield its `done` after that."""
        for done in run.map(_copy, map(self._place, batches)):
            self.done = done
            yield done

    def _place(self, batch: tuple[int, Iterable[Part]]) -> tuple[int, list[tuple[np.ndarray, np.ndarray]]]:
        """Append parts to their columns, except those to copy, which are returned with their places."""
        done, parts = batch
        copies = []
        for (name, column), part in zip(self.parts.items(), parts, strict=True):
            if name in self.whole:
                at = self.filled[name]
                self.filled[name] = at + len(part)
                copies.append((self.whole[name][at : at + len(part)], part))
            else:
                column.append(part)
        return done, copies

    def finish(self, run: Run = ONE_THREAD) -> list[Any]:
        """Return the columns: arrays, and lists of Arrow tables."""
        return list(run.map(lambda column: self._column(*column), self.parts.items()))

    def _column(self, name: str, parts: list[Any]) -> Any:
        if name in self.whole:
            return self.whole[name][: self.filled[name]]
        kind = self.kinds[name]
        if kind is None:
            return parts
        column = np.concatenate([np.zeros(0, kind), *parts])
        parts.clear()
        return column


def _copy(batch: tuple[int, list[tuple[np.ndarray, np.ndarray]]]) -> int:
    done, copies = batch
    for place, part in copies:
        place[:] = part
    return done


class Storage:
    """Arrays in memory."""

    held = True  # whether texts are in memory too
    memory: int | None = None  # the most bytes to use at a time; None for no limit

    def growing(self, name: str, kinds: Kinds, most: dict[str, int] | None = None) -> GrowingColumns:
        """Return new columns, or those an earlier run began; `most` limits the size of some."""
        return GrowingColumns(kinds, most or {})

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays from `make`, or those it made in an earlier run."""
        return make()

    def made_each(self, names: Sequence[str], make: Callable[[int, Run], Arrays], run: Run) -> Iterator[Arrays]:
        """Yield the arrays of each name, which `make` makes from its position and a run whose threads it can use.

        Here each is made in one of the threads of `run`. Processes that share the work make some of them
        each, one after the other, with all threads.
        """
        return run.map(lambda at: self.made(names[at], partial(make, at, ONE_THREAD)), range(len(names)))

    def once(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays from `make`, which are soon made; of processes that share a run, only one makes them."""
        return make()

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Return an array to fill."""
        return np.empty(size, dtype)

    def filled(
        self, name: str, size: int | tuple[int, int], dtype: Any, work: Callable[[slice], np.ndarray], run: Run,
        step: int = FILLED,
    ) -> np.ndarray:  # fmt: skip
        """Return an array, or rows and columns, whose parts `work` makes in the threads of `run`."""
        shape = size if isinstance(size, tuple) else (size,)
        out = self.empty(name, math.prod(shape), dtype).reshape(shape)

        def fill(part: slice) -> None:
            out[part] = work(part)

        run.each(fill, slices(shape[0], step))
        return out

    def close(self) -> None:
        """Close the storage; its files stay."""

    def remove(self) -> None:
        """Close the storage and delete its files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


IN_MEMORY = Storage()
