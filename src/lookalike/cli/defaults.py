"""Take defaults of options from environment variables and from a file, lookalike.toml."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.exceptions import TyperException

from lookalike import cli
from lookalike.cli.options import RUNNING
from lookalike.core.errors import LookalikeError, UsageError, did_you_mean, warn

FILE = "lookalike.toml"  # read from the current folder
PREFIX = "LOOKALIKE_"
CONFIG = f"{PREFIX}CONFIG"
EVERY = "all"  # the table for all commands
OWN = ("config", "help")  # options that have no default of the user
FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
# What Kubernetes sets in each container if there is a service called lookalike.
OF_KUBERNETES = re.compile(r"LOOKALIKE_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d)")
Options = Mapping[str, Any]  # of a command, as typer has them, by name


class Default(NamedTuple):
    """A default that the user has set, and where."""

    value: Any
    source: str


def options_of(command: Any) -> dict[str, Any]:
    """Return the options of a command by their names, with _ for -."""
    named = {max(one.opts, key=len).lstrip("-"): one for one in command.params if one.param_type_name == "option"}
    return {name.replace("-", "_"): one for name, one in named.items() if name not in OWN}


def take_defaults(context: Any, config: str | None) -> None:
    """Give the options of a command that the command line leaves out the values that the user has set elsewhere.

    The environment comes before the file, and what is said of this command before what is said of all.
    """
    if context.resilient_parsing:
        return
    path, options = context.command_path.split()[1:], options_of(context.command)
    found = {options[name]: one for name, one in from_file(config, path, options).items()}
    found |= {options[name]: one for name, one in from_environment(path, options).items()}
    values = {option.name: typed(option, *one) for option, one in found.items()}
    context.default_map = {name: value for name, value in values.items() if value is not False}  # no flag is on already
    context.meta[__name__] = {option.name: one.source for option, one in found.items()}
    cli.log_json = cli.asks_for_json(sys.argv, values.get("log_format", "text"))


def typed(option: Any, value: Any, source: str) -> Any:
    """Return a value as the command line would give it to an option."""
    if isinstance(value, dict):
        raise UsageError(f"{source} must be a value; got a table.")
    if option.is_flag:
        flag = FLAGS.get(str(value).strip().lower())
        if flag is None:
            raise UsageError(f"{source} must be true or false; got {value!r}.")
        return flag
    if isinstance(value, bool) or (isinstance(value, list) and not option.multiple):
        raise UsageError(f"{source} must be one value, such as a string or a number; got {value!r}.")
    return tuple(map(str, value if isinstance(value, list) else [value])) if option.multiple else str(value)


# --- the environment ---


def variables(path: list[str], name: str) -> list[str]:
    """Return the environment variables for an option of a command; the last one that is set counts.

    >>> variables(["index", "build"], "threshold")
    ['LOOKALIKE_THRESHOLD', 'LOOKALIKE_INDEX_BUILD_THRESHOLD']
    """
    return [PREFIX + "_".join(words).upper() for words in ([name], [*path, name])]


def from_environment(path: list[str], options: Options) -> dict[str, Default]:
    """Return the defaults that environment variables set for a command; empty ones set nothing."""
    mine = {variable: name for name in options for variable in variables(path, name)}
    there = {name: value for name, value in os.environ.items() if name.startswith(PREFIX) and value and name != CONFIG}
    warn_of_misspelt(there.keys() - mine.keys())
    found = {}
    for variable, name in mine.items():
        value = there.get(variable, "")
        if value and not (name == "port" and value.startswith("tcp://")):  # which Kubernetes sets, see above
            found[name] = Default(split(value, variable) if options[name].multiple else value, variable)
    return found


def split(value: str, variable: str) -> list[str]:
    """Return the values in a variable, which are separated and quoted as in a shell."""
    import shlex

    try:
        return shlex.split(value)
    except ValueError as error:
        raise UsageError(f"{variable} must have values quoted as in a shell; got {value!r}: {error}.") from error


def warn_of_misspelt(names: Iterable[str]) -> None:
    """Warn of variables that no command reads, but whose names are nearly those of one that a command reads."""
    others = sorted(name for name in names if not OF_KUBERNETES.match(name))
    if not others:
        return
    known = {one for path, options in every_command() for name in options for one in variables(path, name)}
    for name in others:
        near = [] if name in known else get_close_matches(name.removeprefix(PREFIX), bare(known), n=1, cutoff=0.8)
        if near:
            warn(f"no option reads {name}. Did you mean {PREFIX}{near[0]}?")


def bare(names: Iterable[str]) -> list[str]:
    """Return the names of variables without what all have in common, in a fixed order."""
    return sorted(name.removeprefix(PREFIX) for name in names)


def every_command() -> list[tuple[list[str], Options]]:
    """Return the names and options of all commands, and import them for that."""
    from lookalike.cli import COMMANDS

    return [one for name in COMMANDS for one in commands_in(name)]


def every_name() -> set[str]:
    """Return the names of the options of all commands."""
    return {name for _, options in every_command() for name in options}


def commands_in(name: str) -> list[tuple[list[str], Options]]:
    """Return the names and options of a command, or of those in a group such as `index`."""
    from lookalike.cli.app import program

    command = program(name).commands[name]
    within = getattr(command, "commands", None)
    if within is None:
        return [([name], options_of(command))]
    return [([name, inner], options_of(one)) for inner, one in within.items()]


# --- the file ---


def from_file(config: str | None, path: list[str], options: Options) -> dict[str, Default]:
    """Return the defaults that the file sets for a command, after a check of the whole file."""
    file = config or os.environ.get(CONFIG) or FILE
    if file == FILE and not os.path.exists(file):  # quicker than a Path
        return {}
    content = read(file)
    check(content, file, options)
    own: Any = content
    for name in path:
        own = own.get(name, {})
    found: dict[str, Default] = {}
    for table, values in ((EVERY, content.get(EVERY, {})), (".".join(path), own if path else {})):
        given = {key.replace("-", "_"): Default(value, f"{file}: [{table}] {key}") for key, value in values.items()}
        found |= {name: one for name, one in given.items() if name in options}
    return found


def read(file: str) -> dict[str, Any]:
    """Return the tables of a file."""
    import tomllib

    try:
        return tomllib.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not valid UTF-8 (byte {error.start}).") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: not valid TOML: {error}.") from error


def check(content: Mapping[str, Any], file: str, options: Options) -> None:
    """Raise an error for a table that is not a command, or a key that is not an option of its command."""
    from lookalike.cli import COMMANDS

    for name, table in content.items():
        if not isinstance(table, dict):
            raise UsageError(f"{file}: {name} must be in a table, such as [{EVERY}] or [dedup].")
        if name == EVERY:
            check_keys(table, options, f"{file}: [{name}]", every_name)
        elif name in COMMANDS:
            check_command(table, name, file)
        else:
            raise UsageError(f"{file}: there is no command {name!r}.{did_you_mean(name, [EVERY, *COMMANDS])}")


def check_command(table: Mapping[str, Any], name: str, file: str) -> None:
    """Raise an error for a key in the table of a command, or of a group of commands, that none of them has."""
    known = commands_in(name)
    if known[0][0] == [name]:
        check_keys(table, known[0][1], f"{file}: [{name}]")
        return
    within = {names[1]: options for names, options in known}
    for inner, values in table.items():
        if inner not in within:
            raise UsageError(f"{file}: there is no command '{name} {inner}'.{did_you_mean(inner, within)}")
        if not isinstance(values, dict):
            raise UsageError(f"{file}: [{name}] {inner} must be a table: [{name}.{inner}].")
        check_keys(values, within[inner], f"{file}: [{name}.{inner}]")


def check_keys(
    table: Mapping[str, Any], options: Options, where: str, more: Callable[[], Iterable[str]] = tuple
) -> None:
    """Raise an error for a key that is neither an option of these nor one that `more` names."""
    keys = {key: key.replace("-", "_") for key in table}
    if options.keys() >= {*keys.values()}:
        return
    known = {*options, *more()}
    for key, name in keys.items():
        if name not in known:
            raise UsageError(f"{where} {key}: there is no such option.{did_you_mean(name, sorted(known))}")


# --- messages ---


def sources_of(context: Any) -> dict[str, str]:
    """Return where the options were set that have their values neither from the command line nor by default."""
    said: dict[str, str] = context.meta.get(__name__, {})
    used = {name for name in said if getattr(context.get_parameter_source(name), "name", "") == "DEFAULT_MAP"}
    return {name: source for name, source in said.items() if name in used}


def settings_line(context: Any) -> str | None:
    """Return a line on the options set elsewhere than on the command line; None if there are none."""
    names = names_of(context)
    places: dict[str, list[str]] = {}
    for name, source in sources_of(context).items():
        places.setdefault(source.partition(": [")[0], []).append(f"{names[name]} {show(context.params[name])}")
    shown = [f"{', '.join(values)} by {place}" for place, values in places.items()]
    return f"settings: {'; '.join(shown)}" if shown else None


def names_of(context: Any) -> dict[str, str]:
    """Return the options of a command as the user types them, such as --threads."""
    return {one.name: max(one.opts, key=len) for one in options_of(context.command).values()}


def show(value: Any) -> str:
    """Return a value as a user would write it.

    >>> show(True), show(0.5), show(["a", "b"])
    ('true', '0.5', 'a b')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@contextmanager
def naming_sources(context: Any) -> Iterator[None]:
    """Add to errors where the options that they name were set, if not on the command line."""
    try:
        yield
    except LookalikeError as error:
        error.args = (str(error) + where_set(str(error), context),)
        raise
    except TyperException as error:
        error.message += where_set(error.format_message(), context)
        raise


def where_set(message: str, context: Any) -> str:
    """Return the end of a message: where the options in it were set."""
    names = names_of(context)
    found = [
        f" {names[name]} is set by {source}."
        for name, source in sources_of(context).items()
        if re.search(rf"(?<![\w-]){re.escape(names[name])}(?![\w-])", message)
    ]
    return "".join(["" if message.endswith((".", "?")) or not found else ".", *found])


Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help=f"File with defaults of options; default: {FILE} in the current folder, if it is there.",
        rich_help_panel=RUNNING,
        is_eager=True,  # before all options that get defaults from it
        callback=take_defaults,
    ),
]
