"""The command line: parse, call, print. Results go to files or standard output, all else to standard error.

Lives here: one file for each command, with its options, its call and its messages; `options` has the options that
several commands share, `job` what commands on documents, sets and vectors have in common, `progress` the terminal.
May import: everything. To add a command, write its file and name it in `COMMANDS`.
"""

import os
import signal
import sys
from contextlib import suppress

from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_command

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


def _run() -> int:
    from lookalike.cli import documents, domains, indexing, serving, tools  # noqa: F401  which register their commands
    from lookalike.cli.app import app
    from lookalike.core.errors import LookalikeError

    command = get_command(app)
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
