"""Resolves inputs (files, folders, globs, standard input, tables) into parts of one format each.

Files that cannot be read as text are recognized by name or by their first bytes. Side files that
other programs write next to their tables are ignored.
"""

import codecs
import glob
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, argument, remedy
from lookalike.io.files import why_no_text
from lookalike.io.formats import ENCODED, PAGE_SUFFIXES, SUFFIXES, VECTOR_SUFFIXES, format_of, format_of_start
from lookalike.io.part import BOM, OF, UTF8, Part
from lookalike.io.remote import RemotePath, is_remote, place_of
from lookalike.io.streams import NAME, Iterated, is_iterated

FOREIGN = {  # the first bytes of files that are not text in UTF-8
    b"PK\x03\x04": "is a zip archive; unpack it, or name an Excel workbook .xlsx",
    b"BZh": "is compressed with bzip2, which is not supported; pipe it through bzcat and read -",
    b"\xfd7zXZ": "is compressed with xz, which is not supported; pipe it through xzcat and read -",
    b"\xff\xfe": "is in UTF-16; use {} to read it",
    b"\xfe\xff": "is in UTF-16; use {} to read it",
    b"WARC/": "is a web archive; name it .warc, or set the format to warc",
    b"%PDF": "is a PDF; convert it with pdftotext",
}
NOTES = ("_SUCCESS", "_metadata", "_common_metadata", "lookalike.toml")  # side files next to tables
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how Hive writes null in the name of a folder
INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)  # an integer as Python writes it
ARROW_NOTES = ("dataset_info.json", "state.json", "dataset_dict.json")  # side files next to Arrow tables
PAPERS = ("README", "LICENSE")  # side files that people add


def check_encoding(name: str) -> str:
    """Return the canonical name of a text encoding, or raise an error if it is not one."""
    try:
        "".encode(name)  # fails for the codecs of `lookup` that do not encode text
        return codecs.lookup(name).name
    except (LookupError, ValueError, TypeError):
        known = "such as utf-8, windows-1252, latin-1 or utf-16"
        raise UsageError(f"encoding must name a text encoding, {known}; got {name!r}.") from None


def find_parts(
    inputs: list[Any],
    format: str | None,
    suffixes: Mapping[str, str] = SUFFIXES,
    html: bool = False,
    encoding: str = UTF8,
    pictures: bool = False,
) -> list[Part]:
    """Find the parts that the inputs name.

    A single text file has one document per line; a web page, several files, a folder or a glob have
    one per file. With `html`, a folder that has files named like web pages is read as those alone.
    With `pictures`, files can be pictures.
    """
    encoding = check_encoding(encoding)
    parts: list[Part] = []
    loose: list[Path] = []  # files named individually that are not tables
    for given in inputs:
        if isinstance(given, pa.Table):
            parts.append(Part("the table", "table", content=given))
        elif is_iterated(given):
            parts.append(Part(NAME, "stream", content=Iterated(given)))
        elif not isinstance(given, str | os.PathLike):
            raise UsageError(f"an input must be a path or a table; got {type(given).__name__}.")
        elif not str(given):
            raise UsageError("an input must name a file or folder; got ''.")
        elif str(given) == "-":
            parts.append(_standard_input(format, html))
        elif (named := split_table(given)).table:
            parts.extend(_with_table(part, named) for part in find_parts([named.path], format or "database"))
        elif _is_glob(path := place_of(given)) or path.is_dir():
            parts.extend(_expand(path, format, suffixes, html))
        elif not path.exists():
            raise DataError(f"{path}: {path.missing() if isinstance(path, RemotePath) else 'no such file or folder'}.")
        else:
            kind = format or format_of(path, suffixes)
            if kind is None and format_of(path, VECTOR_SUFFIXES):
                how = remedy(
                    "set measure= to a measure of vectors, such as 'angle'",
                    "use `lookalike vectors` or, for an index, a measure of vectors, such as --measure angle",
                )
                raise DataError(f"{path}: holds vectors, not texts or sets; {how}.")
            if not html and kind in (None, "text", "csv", "tsv", "jsonl"):
                check_text(path, encoding, named=format is None and not pictures)
            if kind in (None, "text", "files"):
                loose.append(path)
            else:
                parts.append(Part(str(path) if is_remote(path) else str(given), kind, (path,)))
    page = html and len(loose) == 1 and format_of(loose[0], suffixes) is None
    among = any(part.format == "files" for part in parts)  # then a single text file is one document too
    if format == "text" or (len(loose) == 1 and format != "files" and not page and not among):
        parts.extend(Part(str(path), "text", (path,)) for path in loose)
    elif loose:
        parts.append(Part("the files", "files", tuple(loose), html=html))
    return parts if encoding == UTF8 else _encoded(parts, encoding)


class TableName(NamedTuple):
    """An input as the user wrote it: a path, and the name of a table in that database, if any."""

    path: Path
    table: str


def split_table(given: str | os.PathLike[str]) -> TableName:
    """Return the two parts of an input such as shop.db::products.

    >>> split_table("shop.db::products"), split_table("shop.db")
    (TableName(path=PosixPath('shop.db'), table='products'), TableName(path=PosixPath('shop.db'), table=''))
    """
    path, mark, table = str(given).rpartition(OF)
    named = mark and path and (is_remote(given) or not Path(given).exists())
    return TableName(place_of(path), table) if named else TableName(place_of(given), "")


def _with_table(part: Part, named: TableName) -> Part:
    """Return a database with the name of its table."""
    if part.format != "database":
        raise UsageError(f"{named.path}{OF}{named.table}: only databases have tables; {part.name} is {part.format}.")
    return replace(part, name=f"{part.name}{OF}{named.table}", table=named.table)


def _encoded(parts: list[Part], encoding: str) -> list[Part]:
    """Return the parts with the encoding of their text."""
    if any(part.html for part in parts):
        raise UsageError(f"encoding does not apply to web pages, which declare their own; got {encoding!r}.")
    if not any(part.format in ENCODED for part in parts):
        raise UsageError(f"encoding applies to CSV, JSON lines and text; {parts[0].name} is {parts[0].format}.")
    return [replace(part, encoding=encoding) if part.format in ENCODED else part for part in parts]


def check_text(path: Path, encoding: str = UTF8, named: bool = True) -> None:
    """Raise an error if a file's name or first bytes show that it is not text; say what to do."""
    why = why_no_text(path) if named else None
    if why is not None:
        raise DataError(f"{path}: {why}.")
    with path.open("rb") as file:
        start = file.read(8)
    for magic, what in FOREIGN.items():
        if start.startswith(magic) and not (encoding != UTF8 and "UTF-16" in what):
            raise DataError(f"{path}: {what.format(argument('encoding', 'utf-16'))}.")


def _expand(given: Path, format: str | None, suffixes: Mapping[str, str], html: bool) -> list[Part]:
    """Return the files of a folder or glob: as tables if all are tables, else one document each."""
    base, found = _listed(given)
    files = [p for p in found if p.is_file() and not any(s.startswith(".") for s in p.relative_to(base).parts)]
    files = without_notes(files)
    if not files:
        raise DataError(f"{given}: no files found.")
    there = len(files)
    if html and format is None and given.is_dir():
        files = [path for path in files if format_of(path, PAGE_SUFFIXES)] or files
    kinds = {format or format_of(path, suffixes) or "files" for path in files}
    if kinds == {"parquet"}:
        columns = partition_columns([path.relative_to(base) for path in files])
        return [Part(str(path), "parquet", (path,), partition=own) for path, own in zip(files, columns, strict=True)]
    if not kinds & {"files", "text"} or format == "text":
        return [Part(str(path), format or format_of(path, suffixes) or "", (path,)) for path in files]
    return [Part(str(given), "files", tuple(files), base=base, html=html, passed_over=there - len(files))]


def partition_columns(paths: list[Path]) -> list[tuple[tuple[str, int | str | None], ...]]:
    """Return the columns given by folder names such as lang=en, as Hive and Spark write them.

    >>> partition_columns([Path("lang=en/year=2024/1.parquet"), Path("lang=de/year=2025/1.parquet")])
    [(('lang', 'en'), ('year', 2024)), (('lang', 'de'), ('year', 2025))]
    """
    partitions = []
    for path in paths:
        cut = (folder.partition("=") for folder in path.parts[:-1])
        partitions.append({unquote(name): unquote(value) for name, sign, value in cut if name and sign})
    values: dict[str, set[str]] = {}
    for columns in partitions:
        for name, value in columns.items():
            values.setdefault(name, set()).add(value)
    numbers = {name for name, some in values.items() if all(INTEGER.fullmatch(value) for value in some - {NO_VALUE})}
    return [
        tuple((name, None if value == NO_VALUE else int(value) if name in numbers else value) for name, value in one)
        for one in (columns.items() for columns in partitions)
    ]


def _listed(given: Path) -> tuple[Path, list[Path]]:
    """Return the base folder of a folder or glob, and the paths in it."""
    if isinstance(given, RemotePath):
        return given.base(), given.listed()
    if given.is_dir():
        return given, sorted(given.rglob("*"))
    whole = str(given)
    fixed = whole[: min(whole.index(mark) for mark in "*?[" if mark in whole)]
    base = Path(fixed) if fixed.endswith("/") else Path(fixed).parent
    return base, sorted(Path(path) for path in glob.glob(whole, recursive=True))


def without_notes(files: list[Path]) -> list[Path]:
    """Return the files without side files; README and LICENSE count as such beside tables."""
    files = [path for path in files if path.name not in NOTES]
    if any(format_of(path) == "arrow" for path in files):
        files = [path for path in files if path.name not in ARROW_NOTES]
    rest = [path for path in files if path.name.partition(".")[0].upper() not in PAPERS]
    return rest if rest and all(format_of(path) not in (None, "text") for path in rest) else files


def path_below(path: Path, inputs: Iterable[Any]) -> Path:
    """Return the path of a file below the folder or glob that it was found by; else its name."""
    for given in (place_of(one) for one in inputs if isinstance(one, str | os.PathLike) and str(one) != "-"):
        if _is_glob(given) or given.is_dir():
            base = given.base() if isinstance(given, RemotePath) else given if given.is_dir() else _listed(given)[0]
            if path.is_relative_to(base):
                return path.relative_to(base)
    return Path(path.name)


def check_apart(outputs: Iterable[str | None], inputs: Iterable[Any]) -> None:
    """Raise an error for an output that is also an input, or lies in an input folder."""
    names = [
        split_table(given).path for given in inputs if isinstance(given, str | Path) and str(given) not in ("", "-")
    ]
    for output in (one for one in outputs if one is not None and one != "-"):
        place = real_place(output)
        for given in (one for one in names if is_remote(one) == is_remote(output)):
            folder = given.base() if isinstance(given, RemotePath) else given
            if not _is_glob(given) and given.is_dir() and place.is_relative_to(real_place(folder)):
                why = f"is inside the input {given} and would be read with it next time"
                raise UsageError(f"{output}: {why}; choose a place outside it.")
            found = _listed(given)[1] if _is_glob(given) and place.exists() else [given]
            if any(real_place(path) == place for path in found):
                raise UsageError(f"{output}: is an input and would be overwritten; name another output file.")


def real_place(given: str | os.PathLike[str]) -> Path:
    """Return a path without links, to compare it with others."""
    return place_of(given) if is_remote(given) else Path(os.path.realpath(given))


def same_place(one: str, other: str) -> bool:
    """Return whether two paths are those of one file."""
    return real_place(one) == real_place(other)


def _is_glob(given: Path) -> bool:
    if isinstance(given, RemotePath):
        return given.is_glob()
    return glob.has_magic(str(given)) and not given.exists()


def _standard_input(format: str | None, html: bool) -> Part:
    content = sys.stdin.buffer.read()
    try:
        with Part("-", "", content=content).open() as stream:
            head = stream.read(64).removeprefix(BOM).lstrip()
    except (OSError, EOFError) as error:
        raise DataError(f"standard input: cannot be decompressed: {error}") from error
    kind = format_of_start(head) or ("files" if html else "text")
    return Part("standard input", format or kind, content=content, html=html)
