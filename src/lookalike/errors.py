"""What can go wrong, in one line each: the name, the rule, the value got, and a hint."""

from collections.abc import Iterable
from difflib import get_close_matches


class LookalikeError(ValueError):
    """Any error that the user can mend; the message is one line."""

    exit_code = 1


class UsageError(LookalikeError):
    """A parameter breaks its rule."""

    exit_code = 2


class DataError(LookalikeError):
    """The data cannot be read, or break a rule."""


class TooManyPairs(LookalikeError):
    """The answer itself is too large to list pair by pair."""


def choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`; else an error that names them and the nearest."""
    options = list(allowed)
    if isinstance(value, str) and value in options:
        return value
    near = get_close_matches(str(value), options, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} must be one of {', '.join(options)}; got {value!r}.{hint}")


def fraction(name: str, value: object) -> float:
    """`value` as a number in (0, 1]."""
    number = _number(name, value, "in (0, 1]")
    if 0 < number <= 1:
        return number
    hint = f" Did you mean {number / 100:g}?" if 1 < number <= 100 else ""
    raise UsageError(f"{name} must be in (0, 1]; got {value!r}.{hint}")


def whole(name: str, value: object, least: int = 1) -> int:
    """`value` as an integer of at least `least`."""
    number = _number(name, value, f"an integer of at least {least}")
    if number >= least and number == int(number):
        return int(number)
    raise UsageError(f"{name} must be an integer of at least {least}; got {value!r}.")


def _number(name: str, value: object, rule: str) -> float:
    if isinstance(value, bool | str | bytes):
        raise UsageError(f"{name} must be a number {rule}; got {value!r}.")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be a number {rule}; got {value!r}.") from None
