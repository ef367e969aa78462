"""Hold fingerprints as their minutiae: the places where a ridge ends or splits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.core.wording import counted
from lookalike.items.sets import is_indptr

COLUMNS = ("x", "y", "angle")
FORMAT, MARK = "1", b"lookalike.prints"  # of files of enrolled prints, and the metadata key for it


@dataclass(frozen=True, eq=False)
class Prints:
    """Fingerprints: print i is `minutiae[starts[i] : starts[i + 1]]`, rows of x, y and angle.

    x and y are in pixels at 500 per inch, y upwards; angles in degrees, counter-clockwise from x.

    >>> prints = Prints.of([[(10, 20, 90), (30, 25, 45)], [(12, 21, 85)]], ids=["left", "right"])
    >>> len(prints), prints.sizes.tolist(), prints[1].tolist()
    (2, [2, 1], [[12.0, 21.0, 85.0]])
    """

    minutiae: np.ndarray
    starts: np.ndarray
    ids: pa.Array
    skipped: int = 0  # bad files or rows left out

    def __post_init__(self) -> None:
        """Check what kernels rely on: they would read and write outside of arrays otherwise."""
        if self.minutiae.ndim != 2 or self.minutiae.shape[1] != 3 or not np.isfinite(self.minutiae).all():
            raise DataError("minutiae must be finite numbers, in rows of x, y and angle.")
        if not is_indptr(self.starts, len(self.minutiae)) or len(self.ids) != len(self.starts) - 1:
            raise DataError("starts must ascend from 0 to the number of minutiae, with one id per print.")

    @classmethod
    def of(cls, prints: Iterable[Any], ids: Any = None) -> "Prints":
        """Make prints from lists of minutiae (x, y, angle), one per print; default ids: "0", ..."""
        rows = [_as_minutiae(number, one) for number, one in enumerate(prints)]
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
        names = pa.array([str(name) for name in (range(len(rows)) if ids is None else ids)], pa.string())
        if len(names) != len(rows):
            raise DataError(
                f"ids must name each print; got {counted(len(names), 'id')} for {counted(len(rows), 'print')}."
            )
        return cls(np.concatenate([np.zeros((0, 3)), *rows]), starts, names)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> np.ndarray:
        number = range(len(self))[number]
        return self.minutiae[self.starts[number] : self.starts[number + 1]]

    @property
    def sizes(self) -> np.ndarray:
        """Return the number of minutiae of each print."""
        return np.diff(self.starts)

    @property
    def points(self) -> np.ndarray:
        """Return the minutiae as kernels use them: with angles in turns."""
        return self.minutiae / (1.0, 1.0, 360.0)

    def take(self, rows: np.ndarray) -> "Prints":
        """Return the prints at these positions, in this order."""
        chosen = [self[row] for row in rows]
        return Prints.of(chosen, self.ids.take(pa.array(rows, pa.int64())).to_pylist())

    @staticmethod
    def concatenate(parts: "list[Prints]") -> "Prints":
        """Return the prints of all parts, one part after another."""
        minutiae = np.concatenate([np.zeros((0, 3)), *(part.minutiae for part in parts)])
        starts = np.concatenate(([0], np.cumsum(np.concatenate([part.sizes for part in parts]))))
        ids = pa.concat_arrays([part.ids for part in parts])
        return Prints(minutiae, starts.astype(np.int64), ids, sum(part.skipped for part in parts))

    def to_arrow(self) -> pa.Table:
        """Return one row per print: its id, and lists of the x, y and angle of its minutiae."""
        lists = [pa.LargeListArray.from_arrays(self.starts, np.ascontiguousarray(one)) for one in self.minutiae.T]
        return pa.table([self.ids, *lists], names=["id", *COLUMNS])

    @classmethod
    def of_arrow(cls, table: pa.Table) -> "Prints":
        """Make prints from a table as `to_arrow` returns it."""
        kind = pa.large_list(pa.float64())
        try:
            ids = table["id"].cast(pa.string()).combine_chunks()
            lists = [table[name].cast(kind).combine_chunks() for name in COLUMNS]
        except (pa.ArrowException, KeyError) as error:
            reason = " ".join(str(error).split())
            raise DataError(f"prints must be a string id, and lists of numbers x, y and angle: {reason}.") from error
        if any(one.null_count for one in (ids, *lists)):
            raise DataError("each print must have an id, and lists of x, y and angles; got null.")
        if any(not one.value_lengths().equals(lists[0].value_lengths()) for one in lists[1:]):
            raise DataError("the lists x, y and angle of a print must have the same length.")
        minutiae = np.stack([np.asarray(one.flatten(), np.float64) for one in lists], axis=1)
        sizes = np.asarray(lists[0].value_lengths(), np.int64)
        return cls(minutiae, np.concatenate(([0], np.cumsum(sizes))), ids)


def _as_minutiae(number: int, given: Any) -> np.ndarray:
    """Return one print as an array of rows x, y, angle."""
    try:
        minutiae = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"print {number}: minutiae must be rows of three numbers: x, y and angle.") from None
    if not minutiae.size:
        return np.zeros((0, 3))
    if minutiae.ndim != 2 or minutiae.shape[1] != 3 or not np.isfinite(minutiae).all():
        raise DataError(f"print {number}: minutiae must be rows of three numbers: x, y and angle.")
    return minutiae
