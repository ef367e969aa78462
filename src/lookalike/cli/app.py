"""The program, and the decorator that makes a command of a function.

Nothing heavy is imported here, nor at the top of a command's file, so that help is quick.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from lookalike.core.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., None])
GIVEN_BY = ("COMMANDLINE", "ENVIRONMENT", "PROMPT")  # where an option has its value from if it is not the default


def examples(*lines: str) -> str:
    """Return the end of a command's help."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


app = typer.Typer(
    help="Find similar things in collections too large to compare pair by pair.",
    epilog=examples(
        "lookalike demo",
        "lookalike dedup corpus.jsonl.gz --out clean.jsonl --report report.html",
        "lookalike pairs essays/ --threshold 0.5 --out pairs.csv",
        "lookalike pairs --help",
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from lookalike import __version__

        print(f"lookalike {__version__}")
        raise typer.Exit


@dataclass(frozen=True)
class GivenOptions:
    """The names of the options that the user has given; all others have their defaults."""

    names: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def refuse(self, names: Iterable[str], where: str) -> None:
        """Raise an error if one of these options was given: "--audit is not for --engine spark."."""
        for name in names:
            if name in self.names:
                raise UsageError(f"--{name} is not for {where}.")


def group(name: str, help: str, *lines: str) -> typer.Typer:
    """Return a command that has commands of its own, such as `index`; they are registered with `command(of=...)`."""
    made = typer.Typer(help=help, epilog=examples(*lines), no_args_is_help=True, rich_markup_mode="rich")
    app.add_typer(made, name=name)
    return made


def command(*lines: str, of: typer.Typer = app) -> Callable[[Function], Function]:
    """Register a function as a command, with these lines as the examples of its help, and return it unchanged.

    Each parameter is an argument or an option, annotated as typer has it, except for two kinds. One that is annotated
    with a dataclass, a group of options, stands for one option per field: the function gets an instance made of
    what the user gave. The fields may be such groups in turn. One that is annotated with `GivenOptions` gets the names
    of the options that the user gave. In

        @command("lookalike pairs corpus.parquet")
        def pairs(inputs: Inputs, *, output: OutputOptions, given: GivenOptions) -> None: ...

    the command has the argument INPUT and the fields of `OutputOptions`, --out and --report, as options.
    """

    def register(function: Function) -> Function:
        kinds = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()

        def run(context: typer.Context, **values: Any) -> None:
            sources = {name: getattr(context.get_parameter_source(name), "name", "") for name in values}
            given = GivenOptions(frozenset(name for name, source in sources.items() if source in GIVEN_BY))
            function(**{one.name: _value_of(one.name, kinds[one.name], values, given) for one in parameters})

        flat = [_parameter("context", typer.Context, inspect.Parameter.empty)]
        for one in parameters:
            flat.extend(_options_of(one.name, kinds[one.name], one.default))
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__dict__["__signature__"] = inspect.Signature(flat)  # which is what typer looks at
        run.__annotations__ = {one.name: one.annotation for one in flat}
        of.command(function.__name__, epilog=examples(*lines))(run)
        return function

    return register


def _options_of(name: str, kind: Any, default: Any) -> Iterator[inspect.Parameter]:
    """Yield what typer shall see of a parameter: the options of a group one by one, any other as it is."""
    if _is_group(kind):
        kinds = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield from _options_of(field.name, kinds[field.name], field.default)
    elif kind is not GivenOptions:
        yield _parameter(name, kind, inspect.Parameter.empty if default is MISSING else default)


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _value_of(name: str, kind: Any, values: Mapping[str, Any], given: GivenOptions) -> Any:
    """Return the value of a parameter, given those of all options: the reverse of `_options_of`."""
    if _is_group(kind):
        kinds = get_type_hints(kind, include_extras=True)
        return kind(**{field.name: _value_of(field.name, kinds[field.name], values, given) for field in fields(kind)})
    return given if kind is GivenOptions else values[name]


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind) and kind is not GivenOptions
