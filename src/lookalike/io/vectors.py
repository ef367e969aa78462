"""Reads vectors or bit codes from arrays, columns of lists, rows of numbers, and pictures.

A `VectorSource` reads its inputs one after another. Arrays of floats are memory-mapped. Rows with
nan or null or of another length are bad, and zero vectors too where only directions count.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, argument, remedy
from lookalike.core.run import Run
from lookalike.io.codes import array_codes
from lookalike.io.elements import common_type
from lookalike.io.formats import SUFFIXES, VECTOR_SUFFIXES, format_of
from lookalike.io.inputs import find_parts
from lookalike.io.npy import ARRAYS, as_vectors, read_arrays, unnamed
from lookalike.io.part import UTF8, Part
from lookalike.io.pictures import HASH_SIZE, PICTURE_SUFFIXES, VECTOR_SIZE, hash_greys, need_pillow, read_greys
from lookalike.io.source import BATCH_BYTES, ItemSource, Progress
from lookalike.io.tables import reading
from lookalike.io.vector_columns import counts_columns, made_by
from lookalike.io.vector_tables import TableReader, VectorBatch
from lookalike.items.bits import Bits
from lookalike.items.vectors import NO_DIRECTION, NOT_FINITE, Vectors, not_finite, squares_of, stacked, zero_rows

VECTOR_FORMATS = (*ARRAYS, "parquet", "arrow", "jsonl", "csv", "tsv", "excel", "database", "pictures")
TABLES = {suffix: kind for suffix, kind in SUFFIXES.items() if kind != "text"} | VECTOR_SUFFIXES
MAGIC = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz"}  # first bytes of standard input


class VectorSource(ItemSource):
    """A source of vectors, or with `bits` of bit codes.

    The inputs are files, folders, globs, `-` (standard input) or Arrow tables. In a table, `vector`
    names the column of lists or codes, by default the only column of lists of numbers; if there is
    none, each row of numbers is a vector. In .npz it names the array. `id` names the id column, by
    default `id`; without one, or with id="-", the id is the row number from 0 over all inputs. The
    id of a picture is its path. `directions` makes zero vectors bad rows.
    """

    formats = VECTOR_FORMATS

    def __init__(
        self,
        inputs: Any,  # one or several
        *,
        vector: str | None = None,
        id: str | None = None,
        bits: bool = False,
        directions: bool = False,
        format: str | None = None,
        on_error: str = "fail",
        on_bad_file: str = "fail",
        encoding: str = UTF8,
        batch_bytes: int = BATCH_BYTES,
    ):
        self.vector, self.id, self.bits, self.directions = vector, id, bits, directions and not bits
        super().__init__(inputs, format, on_error, on_bad_file, encoding, batch_bytes)

    def _find(self, given: list[Any]) -> list[Part]:
        """Return the parts; files that are not tables are pictures if one has a picture suffix."""
        form = "files" if self.format == "pictures" else self.format
        kinds: Any = {"suffixes": TABLES, "encoding": self.encoding, "pictures": True}
        parts = [self._known(part) for one in given for part in find_parts([one], form, **kinds)]
        if any(part.format == "pictures" for part in parts):
            need_pillow()
        return parts

    def _known(self, part: Part) -> Part:
        """Return a part with a format that vectors can be read from."""
        if part.format not in ("text", "files"):
            return part
        if self.format == "pictures" or any(path.suffix.lower() in PICTURE_SUFFIXES for path in part.paths):
            return replace(part, format="pictures")
        if part.paths:
            strange = next(path for path in part.paths if format_of(path, TABLES) is None)
            known = ", ".join(VECTOR_FORMATS)
            how = remedy(f"pass {made_by(self.bits)}", f"set {argument('format')} to one of {known}")
            raise DataError(f"{strange}: cannot infer the format from the name; {how}.")
        kinds = [kind for magic, kind in MAGIC.items() if part.content.startswith(magic)]
        return replace(part, format=(kinds or ["csv"])[0])

    def _read_through(self, part: Part) -> None:
        if part.format in ARRAYS:
            read_arrays(part, self.vector, self.id)
        elif part.format != "pictures":  # a picture that cannot be read is a bad row
            super()._read_through(part)

    def read(self, run: Run) -> Vectors | Bits:
        """Read all vectors or codes, in the order of the inputs."""
        self._begin()
        rows = Gathered(self.bits)
        with run.stage("read", self.byte_size()) as tick:
            for part in self.parts:
                progress = Progress(tick, part)
                with reading(part):
                    self._read_part(part, run, rows, progress)
                progress.finish()
            if not rows.width:
                left_out = f"; all {self.skipped:,} rows were left out" if self.skipped else ""
                raise DataError(f"{self.parts[0].name}: no {rows.what} found{left_out}.")
            if self.skipped and self.skipped == self.rows_read:
                raise DataError(
                    f"{self.parts[0].name}: all {self.skipped:,} rows were left out, so no {rows.what} remain."
                )
            ids = rows.ids(self.skipped > 0)
            if self.bits:
                return Bits(rows.values(run), rows.width, ids, self.skipped)
            squares = rows.squares()
            return Vectors(rows.values(run), ids, self.on_error, self.skipped, squares=squares)

    def _read_part(self, part: Part, run: Run, rows: "Gathered", progress: Progress) -> None:
        """Add the good rows of a part."""
        before = self.rows_read
        for batch in self._batches(part, run):
            progress(getattr(batch.values, "data", batch.values).nbytes)
            first = self.rows_read
            self._leave_out(part, first - before, batch.faults, len(batch.numbers()) + len(batch.faults))
            rows.add(part, batch, first)

    def _checked(self, batch: VectorBatch, run: Run | None = None) -> VectorBatch:
        """Return a batch without the rows that are not finite, or have no direction and need one."""
        squares = None
        if not self.bits and isinstance(batch.values, np.ndarray) and batch.values.dtype == np.float32:
            squares = squares_of(batch.values, run)
        found = {} if self.bits else float_faults(batch.values, self.directions, run, squares)
        if not found:
            return batch._replace(squares=squares)
        numbers = batch.numbers()
        faults = batch.faults | {int(numbers[at]): why for at, why in found.items()}
        good = np.delete(np.arange(len(numbers)), list(found))
        ids = None if batch.ids is None else batch.ids.take(pa.array(good))
        return VectorBatch(batch.values[good], batch.width, ids, faults)

    def _batches(self, part: Part, run: Run) -> Iterator[VectorBatch]:
        """Yield the rows of a part."""
        if part.format == "pictures":
            yield from map(self._checked, self._pictures(part, run))
        elif part.format in ARRAYS:
            array, ids = read_arrays(part, self.vector, self.id)
            if self.bits:
                words, length, faults = array_codes(part, array, run)
                batch = VectorBatch(words, length, ids, faults)
                yield batch if ids is None else batch._replace(ids=ids.take(pa.array(batch.numbers())))
            else:
                values = as_vectors(part, array, run)
                yield self._checked(VectorBatch(values, values.shape[1], ids, {}), run)
        else:
            if part.format in ("csv", "tsv") and counts_columns(part):
                run.say(f"note: the first line of {part.name} numbers the columns, so it is the header")
            reader = TableReader(part, self.vector, self.id, self.bits, self.batch_bytes)
            yield from reader.batches(run, self._checked)
        part.check_unchanged()

    def _pictures(self, part: Part, run: Run) -> Iterator[VectorBatch]:
        """Yield pictures as grey levels, or as difference hashes."""
        unnamed(part, self.vector, self.id)
        names = [part.id_of(path) for path in part.paths]
        columns, rows = (HASH_SIZE + 1, HASH_SIZE) if self.bits else (VECTOR_SIZE, VECTOR_SIZE)
        start = 0
        for some in read_greys(part.paths, columns, rows, run):
            good = [at for at, grey in enumerate(some) if not isinstance(grey, str)]
            faults = {at: grey for at, grey in enumerate(some) if isinstance(grey, str)}
            greys = np.array([some[at] for at in good], np.float32).reshape(len(good), rows, columns)
            ids = None if self.id == "-" else pa.array([names[start + at] for at in good], pa.string())
            values = hash_greys(greys).words if self.bits else greys.reshape(len(good), VECTOR_SIZE**2)
            yield VectorBatch(values, HASH_SIZE**2 if self.bits else VECTOR_SIZE**2, ids, faults)
            start += len(some)


class Gathered:
    """The good rows of all parts so far."""

    def __init__(self, bits: bool):
        self.what = "codes" if bits else "vectors"
        self.unit = "bits" if bits else "dimensions"
        self.width = 0  # not known yet
        self.first = ""  # the part that set the width
        self.chunks: list[Any] = []
        self.lengths: list[np.ndarray | None] = []  # squared, of each chunk's rows
        self.names: list[pa.Array | None] = []
        self.numbers: list[np.ndarray] = []

    def add(self, part: Part, batch: VectorBatch, first: int) -> None:
        """Add a batch of rows, numbered from `first` on; all must have the same width."""
        if batch.width and not self.width:
            self.width, self.first = batch.width, part.name
        if batch.width not in (0, self.width):
            has = f"{self.what} of {batch.width} {self.unit}, where {self.first} has {self.width}"
            raise DataError(f"{part.name}: {has}; all inputs must have the same number.")
        numbers = batch.numbers()
        if len(numbers) and self.numbers and not len(self.numbers[0]):  # only empty batches so far
            self.chunks, self.names, self.numbers, self.lengths = [], [], [], []
        if len(numbers) or (batch.width and not self.chunks):
            self.chunks.append(batch.values)
            self.lengths.append(batch.squares)
            self.names.append(batch.ids)
            self.numbers.append(first + numbers)

    def squares(self) -> np.ndarray | None:
        """Return the squared lengths of all rows, if they are known."""
        known = [squares for squares in self.lengths if squares is not None]
        return np.concatenate(known) if known and len(known) == len(self.chunks) else None

    def values(self, run: Run) -> Any:
        """Return one matrix of all rows; a single chunk is not copied."""
        if len(self.chunks) == 1:
            return self.chunks.pop()
        if not all(isinstance(chunk, np.ndarray) for chunk in self.chunks):
            from scipy import sparse  # slow to import

            return sparse.vstack([sparse.csr_array(chunk) for chunk in self.chunks], format="csr")
        return stacked(self.chunks, run)

    def ids(self, skipped: bool) -> pa.Array | None:
        """Return the ids of all rows, or None if they are the row numbers."""
        if not skipped and all(names is None for names in self.names):
            return None
        pairs = zip(self.names, self.numbers, strict=True)
        every = [pa.array(numbers) if names is None else names for names, numbers in pairs]
        kind = common_type([ids.type for ids in every])
        return pa.chunked_array([ids.cast(kind) for ids in every]).combine_chunks()


def float_faults(
    values: Any, directions: bool, run: Run | None = None, squares: np.ndarray | None = None
) -> dict[int, str]:
    """Return the rows that are not finite, or have no direction where they need one.

    The `squares` of the lengths of rows of 32-bit floats, if known, show both.
    """
    bad = not_finite(values, run) if squares is None else np.flatnonzero(~np.isfinite(squares))
    faults = dict.fromkeys(bad.tolist(), NOT_FINITE)
    if directions:
        zeros = zero_rows(values, run) if squares is None else np.flatnonzero(squares == 0)
        faults |= dict.fromkeys(zeros.tolist(), NO_DIRECTION)
    return faults
