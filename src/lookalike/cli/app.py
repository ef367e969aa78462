"""Define the program and the decorator that turns a function into a command.

Neither this file nor those of commands import heavy packages at the top, so that help is quick.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from importlib import import_module
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from lookalike import cli
from lookalike.cli import COMMANDS
from lookalike.cli.values import convert_quickly
from lookalike.core.errors import LookalikeError, UsageError, choice, is_out_of_memory, naming_options
from lookalike.core.late_pandas import import_pandas_early

Function = TypeVar("Function", bound=Callable[..., None])
OTHER_NAMES = {"shingles": "shingle", "fields": "field", "distance": "spot_distance"}  # in Python, of options
GIVEN_BY = ("COMMANDLINE", "DEFAULT_MAP")  # sources of values that the user has set


def examples(*lines: str) -> str:
    """Return the examples that end the help of a command."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


class Command(TyperCommand):
    """A command whose help shows no type beside --help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including --help."""
        return tidied(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; errors say where options were set, if not there."""
        from lookalike.cli.defaults import naming_sources  # here, so that the help of the program is quick

        with naming_sources(ctx):
            return super().parse_args(ctx, args)


class CommandGroup(TyperGroup):
    """A group of commands whose help shows no type beside --help and the options for completion."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including --help."""
        return tidied(super().get_params(ctx))


class Program(CommandGroup):
    """The whole program; it imports the module of a command only to run it or to show its help."""

    def __init__(self, *, commands: dict[str, Any], **settings: Any):
        listed = {name: TyperCommand(name, help=line) for name, line in COMMANDS.items()}
        super().__init__(commands={**listed, **commands}, **settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the command, the command, and the arguments after it."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else program(name).commands[name], rest


def program(*names: str) -> Program:
    """Return the program with these commands, whose modules register them when they are imported.

    All other commands that are not imported yet are only listed, with their first lines of help.
    """
    for name in names:
        import_module(f"lookalike.cli.{name}")
    made = get_command(app)
    assert isinstance(made, Program)
    return made


def tidied(parameters: list[Any]) -> list[Any]:
    """Return the parameters, without the type <bool> that typer shows for flags it adds itself.

    They convert usual values quickly.
    """
    convert_quickly(parameters)
    for one in parameters:
        if isinstance(one, TyperOption) and one.is_flag:
            one.metavar = ""
    return parameters


app = typer.Typer(
    cls=Program,
    help="Find similar items in collections too large to compare pair by pair.",
    epilog=examples(
        "lookalike demo",
        "lookalike dedup corpus.jsonl.gz --out clean.jsonl --report report.html",
        "lookalike pairs essays/ --threshold 0.5 --out pairs.csv",
        "lookalike pairs --help",
        "[bold]Exit codes[/bold]",
        "0 done; 1 bad data, or a failed run; 2 bad usage; 130 interrupted by Ctrl-C; 143 ended by SIGTERM",
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", metavar="", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from lookalike import __version__

        print(f"lookalike {__version__}")
        raise typer.Exit


@dataclass(frozen=True)
class GivenOptions:
    """The names of the options that the user gave; all others have their defaults."""

    names: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def refuse(self, names: Iterable[str], where: str) -> None:
        """Raise an error if one of these options was given."""
        for name in names:
            if name in self.names:
                raise UsageError(f"--{name.replace('_', '-')} cannot be used with {where}.")

    def need(self, names: Iterable[str], other: str) -> None:
        """Raise an error if one of these options was given, as they need another."""
        for name in names:
            if name in self.names:
                raise UsageError(f"--{name.replace('_', '-')} is only for {other}.")


@contextmanager
def explaining_memory(values: Mapping[str, Any], given: GivenOptions) -> Iterator[None]:
    """Turn the errors of a command that runs out of memory into one line that says what to do."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        advice = "use a smaller input, or a machine with more memory"
        if "memory" in given or "workdir" in given:
            advice = "use fewer --threads, or a smaller input"
        elif can_use_files(values):
            advice = "--memory 2GB keeps large data in files"
        raise LookalikeError(f"out of memory; {advice}.") from error


def can_use_files(values: Mapping[str, Any]) -> bool:
    """Return whether a command with these values of options supports --memory."""
    from lookalike.measures.table import HASHED, SHORT

    inputs = values["inputs"] if "inputs" in values else [values.get("left"), values.get("right")]
    if "memory" in values and ("measure" not in values or values.get("unit") is not None):  # passages
        return "-" not in inputs
    return (
        "memory" in values
        and SHORT.get(values["measure"], values["measure"]) in HASHED
        and values["method"] != "exact"
        and values["recall"] < 1
        and values.get("engine", "local") == "local"
        and not values.get("against")
        and "-" not in inputs
    )


def group(name: str, help: str, *lines: str) -> typer.Typer:
    """Return a group of commands, such as `index`, to register commands in by `command(of=...)`."""
    made = typer.Typer(
        cls=CommandGroup, help=help, epilog=examples(*lines), no_args_is_help=True, rich_markup_mode="rich"
    )
    app.add_typer(made, name=name)
    return made


def command(*lines: str, of: typer.Typer = app) -> Callable[[Function], Function]:
    """Register a function as a command, with these lines as examples, and return it unchanged.

    Each parameter is an argument or option with a typer annotation, except for two kinds. A
    parameter annotated with a dataclass stands for one option per field, and receives an instance;
    fields can be dataclasses too. A parameter annotated with `GivenOptions` receives the names of
    the options that the user gave. In

        @command("lookalike pairs corpus.parquet")
        def pairs(inputs: Inputs, *, output: OutputOptions, given: GivenOptions) -> None: ...

    the command has the argument INPUT, and the fields of `OutputOptions`, --out and --report, as
    options.
    """

    def register(function: Function) -> Function:
        from lookalike.cli.defaults import Config, naming_sources, settings_line, sources_of

        kinds = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()

        def run(context: typer.Context, **values: Any) -> None:
            del values["config"]
            sources = {name: getattr(context.get_parameter_source(name), "name", "") for name in values}
            given = GivenOptions(frozenset(name for name, source in sources.items() if source in GIVEN_BY))
            options = {one.name or "": max(one.opts, key=len) for one in context.command.params}
            same = {other: options[name] for other, name in OTHER_NAMES.items() if name in options}
            from lookalike.cli.log import LOG_FORMATS  # here, so that help is quick
            from lookalike.cli.stats import recording
            from lookalike.core.run import Finished, Planned

            if values.get("engine") == "spark":
                import_pandas_early()
            settings = {"options": values, "set_by": sources_of(context)}
            ended = suppress(Planned, Finished)
            with naming_options(options | same), ended, recording(**settings), naming_sources(context):
                cli.log_json = choice("log_format", values.get("log_format", "text"), LOG_FORMATS) == "json"
                if not values.get("quiet"):
                    cli.note(settings_line(context))
                with explaining_memory(values, given):
                    function(**{one.name: _value_of(one.name, kinds[one.name], values, given) for one in parameters})

        flat = [_parameter("context", typer.Context, inspect.Parameter.empty)]
        for one in parameters:
            flat.extend(_options_of(one.name, kinds[one.name], one.default))
        flat.append(_parameter("config", Config, None))
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__dict__["__signature__"] = inspect.Signature(flat)  # read by typer
        run.__annotations__ = {one.name: one.annotation for one in flat}
        of.command(function.__name__, cls=Command, epilog=examples(*lines))(run)
        return function

    return register


def _options_of(name: str, kind: Any, default: Any) -> Iterator[inspect.Parameter]:
    """Yield the parameters that typer sees: one per field of a group, any other unchanged."""
    if _is_group(kind):
        kinds = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield from _options_of(field.name, kinds[field.name], field.default)
    elif kind is not GivenOptions:
        yield _parameter(name, kind, inspect.Parameter.empty if default is MISSING else default)


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _value_of(name: str, kind: Any, values: Mapping[str, Any], given: GivenOptions) -> Any:
    """Return the value of a parameter, given the values of all options; reverses `_options_of`."""
    if _is_group(kind):
        kinds = get_type_hints(kind, include_extras=True)
        return kind(**{field.name: _value_of(field.name, kinds[field.name], values, given) for field in fields(kind)})
    return given if kind is GivenOptions else values[name]


def _is_group(kind: Any) -> bool:
    return is_dataclass(kind) and kind is not GivenOptions
