"""Convert the values of options without Pydantic, which takes as long to import as typer itself."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}", re.ASCII)
DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)


class UsualValues:
    """Converts the usual values of one option itself, and leaves all others to typer and its errors."""

    def __init__(self, kind: Any, typers: Callable[[], Any]):
        self.kind, self.typers = kind, typers

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value that typer would return for a value that was typed, or for a default."""
        several = param.multiple or param.nargs != 1
        if self.kind == list[str] and several and isinstance(value, tuple) and all(type(one) is str for one in value):
            return list(value)
        if value is None and param.multiple:
            return ()
        if not several:
            if value is None or type(value) is self.kind:
                return value
            if self.kind is int and isinstance(value, str) and WHOLE.fullmatch(value):
                return int(value)
            if self.kind is float and isinstance(value, str) and DECIMAL.fullmatch(value):
                return float(value)
        return self.typers().coerce(value, param=param, ctx=ctx)


def convert_quickly(parameters: Iterable[Any]) -> None:
    """Make parameters of typer convert usual values without Pydantic."""
    for one in parameters:
        if "get_runtime_param" not in vars(one):
            one.get_runtime_param = partial(UsualValues, one.type_descriptor.annotation, one.get_runtime_param)
