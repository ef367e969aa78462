"""What can go wrong, in one line each: the name, the rule, the value got, and a hint."""

import math
import operator
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LARGEST_SEED = (1 << 64) - 1
SKIP_HINT = "on_error='skip' (--on-error skip) leaves such rows out"
ENCODING_HINT = "encoding='windows-1252' (--encoding windows-1252) or another reads what is not UTF-8"


class LookalikeError(ValueError):
    """Any error that the user can mend; the message is one line."""

    exit_code = 1


class UsageError(LookalikeError):
    """A parameter breaks its rule."""

    exit_code = 2


class DataError(LookalikeError):
    """The data cannot be read, or break a rule."""


class NotThere(DataError):
    """There is no item of this id."""


class AlreadyThere(DataError):
    """There is an item of this id."""


class StoreError(DataError):
    """What is kept on disk cannot be read or written."""


class TooManyPairs(LookalikeError):
    """The answer itself is too large to list pair by pair."""


def all_left_out(name: str, rows: int, first: str) -> DataError:
    """An error for an input none of whose rows is good; `first` is what is wrong with the first of them."""
    every = "the only row was" if rows == 1 else f"all {rows:,} rows were"
    return DataError(f"{name}: {every} left out, so nothing is left to compare. Row 1: {first}.")


def choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`; else an error that names them and the nearest."""
    options = list(allowed)
    if isinstance(value, str) and value in options:
        return value
    hint = did_you_mean(str(value), options)
    raise UsageError(f"{name} must be one of {', '.join(options)}; got {value!r}.{hint}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The name nearest to one that is not known, as the end of a message; nothing if none is near.

    >>> did_you_mean("Titel", ["id", "title"])
    " Did you mean 'title'?"
    """
    names = {one.strip().casefold(): one for one in known}
    same = name.strip().casefold()
    near = [same] if same in names else get_close_matches(same, names, n=1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""


def one_column(names: Sequence[str], name: str, where: str, purpose: str) -> None:
    """There must be just one column of the name; the message is made of where, the name and the purpose."""
    count = names.count(name)
    if count != 1:
        number = f"{count} columns" if count else "no column"
        have = f"it has {', '.join(names) or 'none'}"
        hint = "" if count else did_you_mean(name, names)
        raise DataError(f"{where} {number} {name!r}{purpose}; {have}.{hint}")


def fraction(name: str, value: object, given: object = None) -> float:
    """`value` as a number in (0, 1]; `given` is what the user wrote for it, if that is something else."""
    number = _number(value)
    if number is None:
        raise UsageError(f"{name} must be a number in (0, 1]; got {value!r}.{_as_fraction(value)}")
    if 0 < number <= 1:
        return number
    hint = f" Did you mean {number / 100:g}?" if 10 <= number <= 100 else ""
    shown = value if given is None else given
    raise UsageError(f"{name} must be in (0, 1]; got {shown!r}.{hint}")


def _as_fraction(value: object) -> str:
    """What a text that is no number may mean: 0,8 or 80%."""
    written = re.fullmatch(r"(\d*[.,]?\d+)(%?)", value.strip()) if isinstance(value, str) else None
    number = float(written[1].replace(",", ".")) / (100 if written[2] else 1) if written else 0.0
    return f" Did you mean {number:g}?" if 0 < number <= 1 else ""


def positive(name: str, value: object) -> float:
    """`value` as a finite number over 0."""
    number = _number(value)
    if number is None or not 0 < number < math.inf:
        raise UsageError(f"{name} must be a positive number; got {value!r}.")
    return number


def within(name: str, value: Any, high: float) -> "np.ndarray":
    """One number or many as an array; each must be finite and in [0, high]."""
    import numpy as np  # which this module can do without otherwise

    end = f"{high:g}]" if high < math.inf else "infinity)"
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a number in [0, {end}; got {value!r}.") from None
    outside = ~((numbers >= 0) & (numbers <= high) & (numbers < math.inf))
    if outside.any():
        raise UsageError(f"{name} must be in [0, {end}; got {numbers[outside].flat[0]:g}.")
    return numbers


def whole(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """`value` as an integer of at least `least` and at most `most`."""
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
