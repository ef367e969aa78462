"""Write one output per input, with its name and format, into a folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lookalike.core.errors import DataError, UsageError
from lookalike.core.files import folder_beside, sync
from lookalike.io.documents import Source
from lookalike.io.inputs import path_below, real_place
from lookalike.io.part import CODECS, Part
from lookalike.io.remote import files_in, is_remote, place_of
from lookalike.io.uploads import together
from lookalike.io.write import check_place

KINDS = {"parquet": ".parquet", "arrow": ".arrow", "jsonl": ".jsonl", "csv": ".csv", "tsv": ".tsv"}


@dataclass(frozen=True)
class Output:
    """A file to write, and the documents whose rows go there."""

    source: Source
    path: str  # whose suffix shows the format
    name: Path | None = None  # in the folder of all outputs, if there is one


def is_folder(out: str) -> bool:
    """Return whether an output is a folder, which gets one file per input; in a store, its name ends in a slash."""
    return out != "-" and (out.endswith("/") or Path(out).is_dir())


def below(path: str, folder: str) -> bool:
    """Return whether a path is inside of a folder, which need not exist."""
    return real_place(path).is_relative_to(real_place(folder))


def check_outside(option: str, path: str, out: str) -> None:
    """Raise an error for another output in the folder of all outputs, where only those can be."""
    if is_folder(out) and below(path, out):
        raise UsageError(
            f"{option} must be outside of the folder --out, which gets one file per input; {path!r} is not."
        )


def check_folder(out: str) -> None:
    """Raise an error, before any work is done, if the folder cannot be written."""
    if is_remote(out):
        check_place(f"{out}any")
        return
    place = Path(out).absolute()
    if place.exists() and not place.is_dir():
        raise DataError(f"{out}: cannot be written: it is a file, not a folder.")
    if not place.parent.is_dir():
        raise DataError(f"{out}: cannot be written: there is no folder {place.parent}.")
    if not os.access(place.parent, os.W_OK):
        raise DataError(f"{out}: cannot be written: permission denied.")


def outputs_of(source: Source, out: str, inputs: list[str]) -> list[Output]:
    """Return the outputs: one file, or in a folder one per input."""
    if not is_folder(out):
        return [Output(source, out)]
    found: dict[Path, Output] = {}
    for at, part in enumerate(source.parts):
        name = path_below(_only_path(part), inputs)
        if name in found:
            raise UsageError(f"--out {out}: two inputs are called {name}; give their folder as one input.")
        codec = name.suffix.lower() if name.suffix.lower() in CODECS else ""
        found[name] = Output(_alone(source, part), f"{at}{KINDS[part.format]}{codec}", name)
    _check_others(out, set(found))
    return list(found.values())


def _only_path(part: Part) -> Path:
    """Return the file of an input; raise an error for inputs that are not files of rows."""
    if part.format not in KINDS or len(part.paths) != 1:
        kinds = "Parquet, Arrow, JSON lines, CSV or TSV"
        raise UsageError(f"--out can be a folder for files of {kinds}; {part.name} is {part.format}. Name a file.")
    return part.paths[0]


def _alone(source: Source, part: Part) -> Source:
    """Return a source of one of the parts, all of whose rows can be bad."""
    other = source.with_parts([part])
    if part.partition:  # columns that the names of folders give, here as there
        names = source.column_names() if source.columns is None else source.columns
        other.columns = [name for name in names if name not in dict(part.partition)]
    return other


def _check_others(out: str, names: set[Path]) -> None:
    """Raise an error if the folder has files that this run would not replace: later steps would read them too."""
    place = place_of(out)
    found = files_in(place) if place.is_dir() else []
    there = sorted(Path(*path.relative_to(place).parts) for path in found)
    other = next((name for name in there if name not in names), None)
    if other is not None:
        raise DataError(f"{out}: holds {other}, which is not an output of this run; choose an empty or new folder.")


@contextmanager
def filling(out: str, outputs: list[Output]) -> Iterator[Callable[[Output], str]]:
    """Provide the places at which to write the files; they appear in `out` if the block succeeds.

    A new folder appears with all its files at once; in an old one or in a store, each file is replaced whole.
    """
    if not is_folder(out):
        yield lambda one: one.path
        return
    if is_remote(out):
        with together():
            yield lambda one: f"{out}{one.name}"
        return
    place = Path(os.path.realpath(out))
    try:
        with folder_beside(place) as new:
            new.mkdir()
            yield lambda one: str(new / one.path)
            for one in outputs:
                assert one.name is not None
                (new / "named" / one.name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(new / one.path, new / "named" / one.name)
            if place.is_dir() and any(place.iterdir()):
                for one in outputs:
                    assert one.name is not None
                    (place / one.name).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(new / "named" / one.name, place / one.name)
            else:
                os.replace(new / "named", place)
            sync(place)
    except OSError as error:
        raise DataError(f"{out}: cannot be written: {error.strerror or error}") from error
