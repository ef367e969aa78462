"""Read prints from files: ISO 19794-2 templates, NIST's .xyt, and tables of x, y and angle."""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import (
    DataError,
    LookalikeError,
    UsageError,
    argument,
    choice,
    encoding_hint,
    positive,
    skip_hint,
)
from lookalike.core.run import Run
from lookalike.fingerprints.prints import MARK, Prints
from lookalike.io.formats import SUFFIXES as TABLE_SUFFIXES
from lookalike.io.formats import format_of
from lookalike.io.inputs import find_parts
from lookalike.io.part import CODECS, open_path
from lookalike.io.records import RecordSource
from lookalike.io.tables import as_text, is_text

SUFFIXES = {".iso": "iso", ".fmr": "iso", ".fmd": "iso", ".xyt": "xyt"} | {
    suffix: kind for suffix, kind in TABLE_SUFFIXES.items() if kind != "text"
}
FORMATS = ("iso", "xyt", "csv", "tsv", "jsonl", "parquet", "arrow", "excel", "database")
MAGIC = b"FMR\0"
DPI = 500.0  # all prints are scaled to it
NAMES = {"id": ("id", "print", "finger"), "x": ("x",), "y": ("y",), "angle": ("angle", "theta", "direction")}
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
ASIDE = ("quality", "type", "kind", "reliability")  # other columns that minutiae can have

Found = tuple[str, np.ndarray]  # an id, and minutiae


def read_prints(
    inputs: Any,
    *,
    id: str | None = None,
    format: str | None = None,
    dpi: float = DPI,
    on_error: str = "fail",
    run: Run | None = None,
) -> Prints:
    """Read prints from files, folders and globs, and return them.

    An id is the name of the file without suffix, or its path if two names are equal. If a template
    holds several prints, they are called "name", "name#2" and so on. A table has one row per
    minutia, with the columns x, y (downwards, as in an image) and angle (degrees,
    counter-clockwise). y is converted to point upwards, as in `Prints`.

    Args:
        inputs: a file, folder or glob, or several.
        id: the column of a table that holds the id of the print; by default id, print or finger.
        format: the format of all files, such as "iso", "xyt" or "csv"; by default inferred for each.
        dpi: the resolution of .xyt files and tables, which do not state it.
        on_error: "fail" if a file cannot be read, or "skip" to leave it out and count it.
        run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

    Returns:
        `Prints`, at 500 pixels per inch; `.skipped` is the number of files left out.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "left thumb.xyt"
    >>> with path.open("w") as file:
    ...     print("10 20 90", "30 25 45", sep="\\n", file=file)
    >>> prints = read_prints(path)
    >>> prints.ids.to_pylist(), prints.sizes.tolist()
    (['left thumb'], [2])
    """
    choice("on_error", on_error, ("fail", "skip"))
    if format is not None:
        choice("format", format, FORMATS)
    scale = DPI / positive("dpi", dpi)
    files = _distinct_names(list(_files(inputs, format)))
    found: list[Found] = []
    skipped = 0
    run = run or Run()
    with run.stage("read", len(files)) as tick:
        for path, name, kind in files:
            try:
                found.extend(_prints_of(path, name, kind, id, scale, run.quietly()))
            except (LookalikeError, OSError) as error:
                if on_error == "fail":
                    why = str(error).rstrip(".").removeprefix(f"{path}: ")
                    for hint in (skip_hint(), encoding_hint()):  # these are about rows
                        why = why.removesuffix(f"; {hint}")
                    raise DataError(f"{path}: {why}; {skip_hint('files', of='')}.") from error
                skipped += 1
            tick(1)
    if skipped == len(files):
        raise DataError(f"nothing is left: none of the {skipped:,} files could be read.")
    prints = Prints.of([minutiae for _, minutiae in found], [name for name, _ in found])
    return Prints(prints.minutiae, prints.starts, prints.ids, skipped)


def _files(inputs: Any, format: str | None) -> Iterator[tuple[Path, str, str]]:
    """Yield files with names and kinds; skip files in folders and globs that are not prints."""
    given = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    if not given:
        raise UsageError("nothing to read: no input was given.")
    for one in given:
        if str(one) == "-":
            raise UsageError("prints are read from files, not from standard input.")
        named = Path(one).is_file()
        files = [(path, part.base) for part in find_parts([one], "files") for path in part.paths]
        known = [(path, base, format or _kind(path)) for path, base in files]
        known = [(path, base, kind) for path, base, kind in known if kind is not None or named]
        if not known:
            raise DataError(f"{one}: no fingerprints found, neither templates (.iso, .fmr, .xyt) nor tables.")
        for path, base, kind in known:
            if kind is None:
                raise DataError(f"{path}: not a fingerprint template; its suffix must be one of {', '.join(SUFFIXES)}.")
            name = path.relative_to(base) if base else Path(path.name)
            for endings in (CODECS, SUFFIXES):
                name = name.with_suffix("") if name.suffix.lower() in endings else name
            yield path, name.as_posix(), kind


def _distinct_names(files: list[tuple[Path, str, str]]) -> list[tuple[Path, str, str]]:
    """Replace names that occur twice by the whole path."""
    names = Counter(name for _, name, _ in files)
    return [(path, name if names[name] == 1 else path.as_posix(), kind) for path, name, kind in files]


def _kind(path: Path) -> str | None:
    with suppress(OSError, EOFError), open_path(path) as stream:
        if stream.read(4) == MAGIC:
            return "iso"
    return format_of(path, SUFFIXES)


def is_enrolled(path: Path) -> bool:
    """Return whether a file holds enrolled prints."""
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError, UnicodeError):
        return path.suffix == ".parquet" and MARK in (pq.read_schema(path).metadata or {})
    return False


def _prints_of(path: Path, name: str, kind: str, id: str | None, scale: float, run: Run) -> Iterable[Found]:
    if kind not in ("iso", "xyt"):
        table = RecordSource(str(path), format=kind).read(run)
        if is_enrolled(path):
            prints = Prints.of_arrow(table)
            return [(str(one), prints[at]) for at, one in enumerate(prints.ids.to_pylist())]
        return _table_prints(table, name, id, scale)
    with open_path(path) as stream:
        content = stream.read()
    if kind == "xyt":
        return [(name, xyt_minutiae(content.decode("ascii", "replace")) * (scale, scale, 1.0))]
    views = iso_minutiae(content)
    return [(name if number == 1 else f"{name}#{number}", view) for number, view in enumerate(views, start=1)]


def iso_minutiae(content: bytes) -> list[np.ndarray]:
    """Return the minutiae of each finger view of an ISO 19794-2:2005 record, angles in degrees."""
    if content[:4] != MAGIC:
        raise DataError("is not an ISO 19794-2 template: it does not begin with FMR")
    if content[4:8] != b" 20\0":
        version = content[4:7].decode("ascii", "replace").strip()
        raise DataError(f"is a template of version {version!r}; only version '20' (2005) is supported")
    if len(content) < 24 or struct.unpack(">I", content[8:12])[0] != len(content):
        other = f"its header gives a length other than the file's {len(content)} bytes"
        raise DataError(f"is truncated, or not an ISO template: {other}")
    across, down, views = struct.unpack(">HHB", content[18:23])
    if not across or not down:
        raise DataError("does not state its resolution")
    scale = np.array([DPI / (2.54 * across), -DPI / (2.54 * down), 360 / 256])
    found, at = [], 24
    for _ in range(views):
        if at + 4 > len(content):
            raise DataError("is truncated within a finger view")
        size = content[at + 3]
        rows = np.frombuffer(content[at + 4 : at + 4 + 6 * size].ljust(6 * size, b"\0"), ">u2").reshape(size, 3)
        at += 4 + 6 * size
        if at + 2 > len(content):
            raise DataError("is truncated within its minutiae")
        at += 2 + struct.unpack(">H", content[at : at + 2])[0]  # extended data
        if at > len(content):
            raise DataError("is truncated within its extended data")
        found.append(np.column_stack([rows[:, 0] & 0x3FFF, rows[:, 1] & 0x3FFF, rows[:, 2] >> 8]) * scale)
    return found


def xyt_minutiae(text: str) -> np.ndarray:
    """Return the minutiae of NIST's .xyt: lines of x, y (upwards), degrees and perhaps a quality.

    Directions point away from the ridge; in ISO templates they point along it, half a turn apart.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split()
        if cells:
            try:
                rows.append([float(cell) for cell in cells[:3]])
            except ValueError:
                raise DataError(f"line {number}: x, y and angle must be numbers; got {line!r}") from None
            if len(rows[-1]) < 3 or not np.isfinite(rows[-1]).all():
                raise DataError(f"line {number}: x, y and angle must be numbers; got {line!r}")
    minutiae = np.array(rows).reshape(-1, 3)
    minutiae[:, 2] = (minutiae[:, 2] + 180) % 360
    return minutiae


def _table_prints(table: pa.Table, name: str, id: str | None, scale: float) -> list[Found]:
    columns = {column.strip().lower(): column for column in table.schema.names}
    chosen = {role: next((columns[n] for n in names if n in columns), None) for role, names in NAMES.items()}
    if id is not None:
        if id not in table.schema.names:
            raise DataError(f"no column {id!r} for the id; it has {', '.join(table.schema.names)}")
        chosen["id"] = id
    if None in (chosen["x"], chosen["y"], chosen["angle"]):
        needed = "a table of minutiae needs the columns x, y and angle, and id for several prints"
        raise DataError(f"{needed}; it has {', '.join(table.schema.names) or 'none'}")
    minutiae = np.column_stack([_numbers(table, chosen[role]) for role in ("x", "y", "angle")])
    minutiae *= (scale, -scale, 1.0)
    if chosen["id"] is None:
        others = [
            column for column in columns if column not in {*ASIDE, *(c.strip().lower() for c in chosen.values() if c)}
        ]
        if others:
            raise DataError(
                f"column {columns[others[0]]!r} is unknown: drop it, or name the id column of "
                f"the prints with {argument('id')}"
            )
        return [(name, minutiae)]
    try:
        ids = table[chosen["id"]].cast(pa.string()).combine_chunks().dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"column {chosen['id']!r} must hold ids: {' '.join(str(error).split())}") from None
    names = ids.dictionary.to_pylist()
    if ids.null_count or "" in names:
        raise DataError(f"column {chosen['id']!r} has an empty id")
    codes = np.asarray(ids.indices)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return [(one, minutiae[order[starts[n] : starts[n + 1]]]) for n, one in enumerate(names)]


def _numbers(table: pa.Table, name: str | None) -> np.ndarray:
    column = table[name]
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(as_text(column))
        column = pc.if_else(pc.match_substring_regex(column, f"^{NUMBER}$"), column, None)
    try:
        numbers = np.asarray(column.cast(pa.float64()), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"column {name!r} must hold numbers: {' '.join(str(error).split())}") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise DataError(f"row {bad[0]}: {name} must be a number; got {table[name][int(bad[0])].as_py()!r}")
    return numbers
