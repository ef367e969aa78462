"""Read a message: its JSON, its limits, and its fields, in time and memory that its size bounds.

What is wrong is reported in one line, and only the first error: a hostile message can have one per
element.
"""

import json
from reprlib import Repr
from typing import Any, TypeVar

from pydantic import AliasChoices, TypeAdapter, ValidationError

from lookalike.index.records import LONGEST_ID
from lookalike.serve.limits import Refused
from lookalike.serve.messages import Item, Message

ITEM = "a text, a list of strings, or a list of numbers"
ITEM_OF = {
    "texts": "a text",
    "sets": "a list of strings or of integers",
    "vectors": "a list of numbers",
    "bits": "a string of 0s and 1s",
}
ID = f"a string of at most {LONGEST_ID - 1} bytes or a 64-bit integer"
SHOWN = 40  # characters of a value
OTHER_MARKS = 9  # brackets of the message, of `items` and of `ids`, and the colons of its fields
LOOKED_AT = 100  # elements of a list, to see what it may be

AnyMessage = TypeVar("AnyMessage", bound=Message)

_any_item: TypeAdapter[Any] = TypeAdapter(Item)
_shown = Repr()
_shown.maxstring = _shown.maxlong = _shown.maxother = SHOWN


def read_message(body: bytes, shape: type[AnyMessage], kind: str | None, most: int) -> AnyMessage:
    """Return the message in a body, with at most `most` items of the kind that the index holds."""
    given = _parsed(body, most)
    if not isinstance(given, dict):
        raise Refused(422, f"the body must be an object; got {_short(given)}.")
    known = _names(shape)
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise Refused(422, f"there is no field {_short(unknown)}.")
    for name in ("items", "ids"):
        if isinstance(given.get(name), list) and len(given[name]) > most:
            raise Refused(413, f"a request may have at most {most:,} {name}; got {len(given[name]):,}.")
    try:
        return shape.model_validate(given)
    except ValidationError as error:
        raise _refused(error.errors(include_url=False)[0], given, kind) from None


def _parsed(body: bytes, most: int) -> Any:
    """Return the JSON of a body, unless it has more lists, objects and fields than any message."""
    if not body:
        raise Refused(422, "the body is missing.")
    if _marks(body) > most + OTHER_MARKS and _marks(_outside(body)) > most + OTHER_MARKS:
        raise Refused(413, f"a request may have at most {most:,} items; the body has more lists, objects or fields.")
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise Refused(422, f"the body is not JSON: {error.msg} at character {error.pos}.") from None
    except (ValueError, RecursionError):  # not UTF-8, a number of thousands of digits, too deep
        raise Refused(400, "the body is not valid JSON.") from None


def _marks(body: bytes) -> int:
    return body.count(b"[") + body.count(b"{") + body.count(b":")


def _outside(body: bytes) -> bytes:
    """Return what is outside strings."""
    return b"".join(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])


def _names(shape: type[Message]) -> set[str]:
    """Return the fields of a message, under all their names."""
    aliases = [field.validation_alias for field in shape.model_fields.values()]
    choices = [alias.choices for alias in aliases if isinstance(alias, AliasChoices)]
    return {*shape.model_fields, *(str(name) for names in choices for name in names)}


def _refused(error: Any, given: dict[str, Any], kind: str | None) -> Refused:
    """Return what is wrong with a message, from the first error of pydantic."""
    kind_of_error, place = error["type"], list(error["loc"])
    name = str(place[0])
    if len(place) > 1 and isinstance(place[1], int):
        name += f"[{place[1]}]"
        if place[0] == "items" and kind is not None and _is_item(given["items"][place[1]]):
            got = _short(given["items"][place[1]])
            return Refused(400, f"the index holds {kind}; {name} must be {ITEM_OF[kind]}; got {got}.")
    if kind_of_error == "missing":
        return Refused(422, f"{name} is missing.")
    if kind_of_error == "extra_forbidden":
        return Refused(422, f"there is no field {name!r}.")
    if kind_of_error == "too_short":
        return Refused(422, f"{name} must not be empty.")
    if place[0] in ("items", "ids", "id"):
        rule = "a list" if kind_of_error == "list_type" and len(place) == 1 else ITEM if place[0] == "items" else ID
        return Refused(422, f"{name} must be {rule}; got {_short(error['input'])}.")
    return Refused(422, f"{name}: {error['msg']}; got {_short(error['input'])}.")


def _is_item(value: Any) -> bool:
    """Return whether a value is an item of any kind, by the beginning of a list."""
    try:
        _any_item.validate_python(value[:LOOKED_AT] if isinstance(value, list) else value)
    except ValidationError:
        return False
    return True


def _short(value: Any) -> str:
    """Return the beginning of a value; its whole representation could be larger than the body."""
    shown = _shown.repr(value)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
