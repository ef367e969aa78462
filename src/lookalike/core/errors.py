"""Errors and parameter checks; each message is one line: the name, the rule, the value, a hint."""

import errno
import math
import operator
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LARGEST_SEED = (1 << 64) - 1
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
RULE = re.compile(r"^(\w+)(?= (?:must|is for|are for|applies|cannot) )")


class LookalikeError(ValueError):
    """Any error that the user can fix; the message is one line.

    A message that begins with a parameter and its rule, as in "max_pairs must be", names the
    option instead while a command runs.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(RULE.sub(lambda found: parameter(found[1]), message, count=1))


class LookalikeWarning(UserWarning):
    """An input that is accepted although it can be misread."""


class UsageError(LookalikeError):
    """A parameter breaks its rule."""

    exit_code = 2


class DataError(LookalikeError):
    """The data cannot be read, or breaks a rule."""


class BadFile(DataError):
    """A file is damaged, or cannot be read for another reason that concerns the whole file."""


class TooCostly(DataError):
    """A web page could take too much time or memory to parse."""


class DeviceError(LookalikeError):
    """A device such as a graphics card failed, or is too small for the work."""


class NotThere(DataError):
    """There is no item with this id."""


class AlreadyThere(DataError):
    """There is already an item with this id."""


class StoreError(DataError):
    """Files that lookalike keeps on disk cannot be read or written."""


class TooManyPairs(LookalikeError):
    """The result is too large to list pair by pair."""


def all_left_out(name: str, rows: int, first: str) -> DataError:
    """Return the error for an input without a valid row; `first` says what is wrong with the first."""
    every = "the only row was" if rows == 1 else f"all {rows:,} rows were"
    return DataError(f"{name}: {every} left out, so nothing is left to compare. Row 0: {first}.")


# --- names of parameters ---

_options: Mapping[str, str] = {}  # of the running command, by parameter


@contextmanager
def naming_options(options: Mapping[str, str]) -> Iterator[None]:
    """Name parameters in messages as options, such as --on-error, while a command runs."""
    global _options
    before, _options = _options, options
    try:
        yield
    finally:
        _options = before


def parameter(name: str) -> str:
    """Return the name of a parameter as the user writes it: max_pairs, or --max-pairs."""
    return _options.get(name, name)


def argument(name: str, value: object = None, of: str = "") -> str:
    """Return an argument as the user writes it: on_error='skip', or --on-error skip.

    In Python, `of` names the class that has the parameter, for callers that do not.

    >>> argument("on_error", "skip"), argument("id"), argument("text", of="Source")
    ("on_error='skip'", 'id=', 'Source(text=)')
    >>> with naming_options({"on_error": "--on-error", "id": "--id", "html": "--html"}):
    ...     argument("on_error", "skip"), argument("id"), argument("html", True)
    ('--on-error skip', '--id', '--html')
    """
    option = _options.get(name)
    if option is None:
        written = f"{name}=" if value is None else f"{name}={value!r}"
        return f"{of}({written})" if of else written
    return option if value is None or value is True else f"{option} {value}"


def remedy(python: str, command: str) -> str:
    """Return what to do in Python or, while a command runs, on the command line.

    >>> remedy("call Index.build", "run `lookalike index build`")
    'call Index.build'
    """
    return command if _options else python


def skip_hint(what: str = "rows", of: str | None = None) -> str:
    """Return how to skip rows that cannot be read, or that they must be removed.

    In Python, `of` names the class that has the parameter, "" a parameter of the function itself.

    >>> skip_hint(of="Source"), skip_hint()
    ("use Source(on_error='skip') to skip such rows", 'remove such rows first')
    """
    if of is None and "on_error" not in _options:
        return f"remove such {what} first"
    return f"use {argument('on_error', 'skip', of or '')} to skip such {what}"


def bad_file_hint() -> str:
    """Return how to skip a file that cannot be read."""
    return f"use {argument('on_bad_file', 'skip', 'Source')} to skip such files"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error, also one of the system, means that memory has run out."""
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)  # for whose stack there is no memory
    unmapped = isinstance(error, OSError) and os.strerror(errno.ENOMEM) in str(error)
    return unmapped or isinstance(error, MemoryError)


def too_long(what: str, most: int) -> str:
    """Return why a document cannot be read if it has more than `most` bytes."""
    return f"{what} has more than {most:,} bytes, the limit set by {argument('max_document_bytes', of='Source')}"


def encoding_hint(of: str = "") -> str:
    """Return how to read a file that is not in UTF-8; for `of` see `argument`."""
    return f"if the file is not UTF-8, set {argument('encoding', of=of)}, for example to windows-1252"


# --- checks ---


def warn(message: str) -> None:
    """Warn about the line of the user's code that called the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "lookalike":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LookalikeWarning, level + 1)


def missing_package(what: str, package: str, install: str = "") -> UsageError:
    """Return the error for a feature that needs a missing package, with the install command."""
    return UsageError(f"{what} needs {package}, which is not installed: pip install {install or package}.")


def choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is allowed; otherwise raise an error that lists the choices."""
    options = list(allowed)
    if isinstance(value, str) and value in options:
        return value
    hint = did_you_mean(str(value), options)
    raise UsageError(f"{name} must be one of {', '.join(options)}; got {value!r}.{hint}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the most similar known name, or nothing.

    >>> did_you_mean("Titel", ["id", "title"])
    " Did you mean 'title'?"
    """
    near = closest(name, known)
    return "" if near is None else f" Did you mean {near!r}?"


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to another, or None if none is close."""
    names = {one.strip().casefold(): one for one in known}
    same = name.strip().casefold()
    begun = [one for one in names if len(same) > 3 and one.startswith(same)]
    near = [same] if same in names else get_close_matches(same, names, n=1) or begun
    return names[near[0]] if near else None


def one_column(names: Sequence[str], name: str, where: str, purpose: str) -> None:
    """Raise an error unless exactly one column has this name."""
    count = names.count(name)
    if count != 1:
        number = f"{count} columns" if count else "no column"
        have = f"it has {', '.join(names) or 'none'}"
        hint = "" if count else did_you_mean(name, names)
        raise DataError(f"{where} {number} {name!r}{purpose}; {have}.{hint}")


def fraction(name: str, value: object, given: object = None) -> float:
    """Return `value` as a number in (0, 1]; `given` is what the user wrote, if that differs."""
    number = _number(value)
    if number is None:
        raise UsageError(f"{name} must be a number in (0, 1]; got {value!r}.{_as_fraction(value)}")
    if 0 < number <= 1:
        return number
    hint = f" Did you mean {number / 100:g}?" if 10 <= number <= 100 else ""
    shown = value if given is None else given
    raise UsageError(f"{name} must be in (0, 1]; got {shown!r}.{hint}")


def _as_fraction(value: object) -> str:
    """Return a hint for a text such as 0,8 or 80% that looks like a fraction."""
    written = re.fullmatch(r"(\d*[.,]?\d+)(%?)", value.strip()) if isinstance(value, str) else None
    number = float(written[1].replace(",", ".")) / (100 if written[2] else 1) if written else 0.0
    return f" Did you mean {number:g}?" if 0 < number <= 1 else ""


def share(name: str, value: object) -> Fraction:
    """Return a share in (0, 1), given as a number or as a percentage.

    >>> share("drop_common", "1%"), share("drop_common", 0.25)
    (Fraction(1, 100), Fraction(1, 4))
    """
    text = str(value).strip()
    number, times = (text[:-1], 100) if text.endswith("%") else (text, 1)
    found = Fraction(0)
    if not isinstance(value, bool):
        with suppress(ValueError, ZeroDivisionError):
            found = Fraction(number) / times
    if 0 < found < 1:
        return found
    hint = f" Did you mean {text}%?" if times == 1 and 1 <= found < 100 else ""
    raise UsageError(f"{name} must be a share above 0 and below 1, such as 1% or 0.01; got {value!r}.{hint}")


def positive(name: str, value: object) -> float:
    """Return `value` as a finite number above 0."""
    number = _number(value)
    if number is None or not 0 < number < math.inf:
        raise UsageError(f"{name} must be a positive number; got {value!r}.")
    return number


def within(name: str, value: Any, high: float) -> "np.ndarray":
    """Return one number or many as an array; each must be finite and in [0, high]."""
    import numpy as np  # here, so that importing the package stays fast

    end = f"{high:g}]" if high < math.inf else "infinity)"
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a number in [0, {end}; got {value!r}.") from None
    outside = ~((numbers >= 0) & (numbers <= high) & (numbers < math.inf))
    if outside.any():
        raise UsageError(f"{name} must be in [0, {end}; got {numbers[outside].flat[0]:g}.")
    return numbers


def byte_size(name: str, given: object, least: int, example: str) -> int:
    """Return a number of bytes, given as a number or as a text such as 2GB or 500 MB."""
    size: float | None = None
    if isinstance(given, str):
        text = given.strip().upper()
        unit = next((unit for unit in UNITS if text.endswith(unit)), "")
        with suppress(ValueError):
            size = float(text[: len(text) - len(unit)]) * UNITS.get(unit, 1)
    else:
        size = _number(given)
    if size is None or not least <= size < math.inf:
        unit = max((unit for unit in UNITS if least >= UNITS[unit]), key=UNITS.__getitem__)
        shown = f"{least // UNITS[unit]}{unit}"
        raise UsageError(f"{name} must be a size of at least {shown}, such as {example}; got {given!r}.")
    return int(size)


def whole(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """Return `value` as an integer of at least `least` and at most `most`."""
    number = None if isinstance(value, bool) else _index(value)
    if number is None or number < least:
        raise UsageError(f"{name} must be an integer of at least {least}; got {value!r}.")
    if most is not None and number > most:
        raise UsageError(f"{name} must be an integer of at most {most}; got {value!r}.")
    return number


def _index(value: object) -> int | None:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = _number(value)
        return int(number) if number is not None and number.is_integer() else None


def _number(value: object) -> float | None:
    if isinstance(value, bool | str | bytes):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
