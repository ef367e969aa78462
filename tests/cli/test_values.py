"""Check that options convert usual values as typer does, and leave all others to it."""

from typing import Annotated, Any

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st
from typer import BadParameter
from typer.main import get_command

from lookalike.cli.values import UsualValues
from tests.commands import spawn

app = typer.Typer()


@app.command()
def values(
    some: Annotated[list[str], typer.Argument()],
    whole: Annotated[int, typer.Option()] = 1,
    number: Annotated[float | None, typer.Option()] = None,
    word: Annotated[str | None, typer.Option()] = None,
    pair: Annotated[tuple[int, int] | None, typer.Option()] = None,
    flag: Annotated[bool | None, typer.Option()] = None,
    many: Annotated[list[str] | None, typer.Option()] = None,
) -> None: ...


COMMAND: Any = get_command(app)
OURS = ("some", "whole", "number", "word", "pair", "flag", "many")
PARAMETERS = {one.name: one for one in COMMAND.params if one.name in OURS}
typed = st.one_of(
    st.none(),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(max_size=8),
    st.from_regex(r"\A[-+]?[0-9_]{0,20}(\.[0-9]*)?(e[0-9])?\Z"),
    st.tuples(st.text(max_size=3)),
    st.tuples(st.text(max_size=3), st.text("0123456789", max_size=3)),
    st.tuples(),
)


def outcome(convert: Any, value: Any, parameter: Any, context: Any) -> Any:
    """Return the value with its type as text, since nan differs from itself; or the error."""
    try:
        made = convert.coerce(value, param=parameter, ctx=context)
    except (BadParameter, TypeError) as error:
        return type(error), str(error)
    return type(made), repr(made)


@given(st.sampled_from(sorted(PARAMETERS)), typed)
@example("whole", "007")
@example("whole", "-0")
@example("whole", "1" * 30)
@example("whole", True)
@example("number", "0.1")
@example("number", "1e5")
@example("number", "nan")
@example("number", 1)
@example("some", ("a", "b"))
@example("pair", ("1", "2"))
@example("many", None)
@example("many", ("a", "b"))
def test_values_are_those_of_typer(name: str, value: Any) -> None:
    parameter = PARAMETERS[name]
    context = COMMAND.make_context("values", ["x"])
    ours = UsualValues(parameter.type_descriptor.annotation, parameter.get_runtime_param)
    typers = parameter.get_runtime_param()
    assert outcome(ours, value, parameter, context) == outcome(typers, value, parameter, context)


@pytest.mark.parametrize("command", ["--version", "tune -t 0.8 --recall 0.9"])
def test_usual_values_do_without_pydantic(command: str) -> None:
    script = """
import sys
from lookalike.cli import main
try:
    main()
finally:
    print("pydantic" in sys.modules, file=sys.stderr)
"""
    assert spawn(*command.split(), script=script).communicate()[1] == b"False\n"
