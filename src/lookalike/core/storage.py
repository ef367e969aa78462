"""Where the large arrays of a run are: here in memory, in `workdir` in files of a folder that are mapped into it.

The stages of a run ask a storage for their arrays and do not know which it is.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]
Part = Any  # an array, or an Arrow table
Kinds = dict[str, np.dtype[Any] | None]  # of columns; None for those of Arrow


class GrowingColumns:
    """Columns that grow, each at its own pace, and are whole arrays when all is done."""

    done = 0  # of whatever the columns are made from, as told by the last `append` that counts
    complete = False  # whether that was all, in an earlier run

    def __init__(self, kinds: Kinds, most: dict[str, int]) -> None:
        self.kinds = kinds
        self.parts: dict[str, list[Any]] = {name: [] for name in kinds}
        self.whole = {name: np.empty(size, kinds[name]) for name, size in most.items()}  # memory not used costs nothing
        self.filled = dict.fromkeys(most, 0)

    def append(self, done: int, parts: Iterable[Part]) -> None:
        """Append to each column, after which `done` is done."""
        for (name, column), part in zip(self.parts.items(), parts, strict=True):
            if name in self.whole:
                at = self.filled[name]
                self.whole[name][at : at + len(part)] = part
                self.filled[name] = at + len(part)
            else:
                column.append(part)
        self.done = done

    def finish(self) -> list[Any]:
        """The columns: arrays, and lists of Arrow tables."""
        return [self._column(name, parts) for name, parts in self.parts.items()]

    def _column(self, name: str, parts: list[Any]) -> Any:
        if name in self.whole:
            return self.whole[name][: self.filled[name]]
        kind = self.kinds[name]
        if kind is None:
            return parts
        column = np.concatenate([np.zeros(0, kind), *parts])
        parts.clear()
        return column


class Storage:
    """Arrays in memory."""

    held = True  # whether texts are in memory, too
    memory: int | None = None  # bytes that may be used at a time, if that is limited

    def growing(self, name: str, kinds: Kinds, most: dict[str, int] | None = None) -> GrowingColumns:
        """New columns, or those that an earlier run has begun; of some it may be known what they have at most."""
        return GrowingColumns(kinds, most or {})

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays that `make` makes, or has made in an earlier run."""
        return make()

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """An array to be filled."""
        return np.empty(size, dtype)

    def close(self) -> None:
        """Let go of it; what is in files stays there."""

    def remove(self) -> None:
        """Let go of it and of what is in files."""

    def __enter__(self) -> "Storage":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
