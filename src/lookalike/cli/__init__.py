"""The command line: parse, call, print. Results go to files or standard output, all else to standard error.

Lives here: one file for each command, with its options, its call and its messages. Beside them: `app` (the program, and
how a function becomes a command), `options` (those that several commands share), `documents` (what commands on
documents share), `against` and `on_spark` (two other ways to do their work), `outputs`, `workdir`, `summary`,
`progress` (the terminal), `plots`, and `axis` (of curves).
May import: everything. To add a command, write its file and name it in `COMMANDS`.
"""

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

from typer.core import TyperGroup
from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_command

# The modules of the commands, in the order of the help, which shows those that have commands of their own last.
COMMANDS = (
    "pairs", "match", "sets", "vectors", "dedup", "clusters", "resolve", "baskets", "serve", "curve", "tune", "report",
    "demo", "fingerprints", "index",
)  # fmt: skip
COMPLETING = "_LOOKALIKE_COMPLETE"  # set by the shell's script, which typer writes


def main() -> None:
    """Run the command line; every error the user can mend is one line and an exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run that is ended tidies up, however it is ended
    try:
        code = _run()
    except (KeyboardInterrupt, Abort):
        code = _complain("interrupted; no file was written.", 1)
    except BrokenPipeError:  # the reader of our output has seen enough
        code = 0
        _drop_output()
    except OSError as error:
        code = _complain(f"{error.filename or 'failed'}: {error.strerror or error}.", 1)
    except MemoryError:
        code = _complain("out of memory; try a smaller input or larger shingles.", 1)
    sys.exit(code)


def program() -> TyperGroup:
    """Return the program with all its commands, which are registered when their modules are imported."""
    from lookalike.cli.app import app

    for name in COMMANDS:
        import_module(f"lookalike.cli.{name}")
    for registered in (app.registered_commands, app.registered_groups):  # in any order, since some import others
        registered.sort(key=lambda one: COMMANDS.index(one.name or ""))
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    return command


def _run() -> int:
    from lookalike.core.errors import LookalikeError

    command = program()
    if COMPLETING in os.environ:  # a shell asks what a line could go on with
        command.main(prog_name="lookalike")
    try:  # not by `app()`, which has its own mind about interrupts and closed pipes
        with command.make_context("lookalike", sys.argv[1:]) as context:
            command.invoke(context)
    except Exit as finished:
        return finished.exit_code
    except LookalikeError as error:
        _drop_output()
        return _complain(str(error), error.exit_code)
    except TyperException as error:
        return _complain(error.format_message(), error.exit_code)
    return 0


def _complain(message: str, code: int) -> int:
    if message:  # there is none where the help was shown instead
        print(f"lookalike: {' '.join(message.split())}", file=sys.stderr)
    return code


def _drop_output() -> None:
    """What could not be written to standard output is not tried again at exit."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
