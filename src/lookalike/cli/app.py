"""The program that the commands belong to. Nothing heavy is imported before one runs, so that help is quick."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from lookalike.cli.options import SHARED, examples

CHOSEN = ("COMMANDLINE", "ENVIRONMENT", "PROMPT")  # whence an option is not its default

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


def on_documents(
    *lines: str, options: dict[str, tuple[Any, Any]] = SHARED, to: typer.Typer = app
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes a job and parameters of its own; the shared options go to the job."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function).parameters.values())[1:]

        def command(context: typer.Context, **given: Any) -> None:
            from lookalike.cli.job import Job

            chosen = {name for name in given if getattr(context.get_parameter_source(name), "name", "") in CHOSEN}
            with Job(given, chosen) as job:
                function(job, **{parameter.name: given[parameter.name] for parameter in own})

        shared = [own[0].replace(name=n, default=default, annotation=kind) for n, (kind, default) in options.items()]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        inputs = [parameter for parameter in own if parameter.default is inspect.Parameter.empty]
        every = [
            own[0].replace(name="context", default=inspect.Parameter.empty, annotation=typer.Context),
            *inputs,
            *shared,
            *(parameter for parameter in own if parameter not in inputs),
        ]
        command.__dict__["__signature__"] = inspect.Signature(every)  # which is what typer goes by
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        to.command(epilog=examples(*lines))(command)
        return function

    return register


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from lookalike import __version__

        print(f"lookalike {__version__}")
        raise typer.Exit
