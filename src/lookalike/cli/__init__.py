"""The command line: parse, call, print. Results go to files or standard output, all else to standard error."""

import sys

from typer.exceptions import Abort, TyperException


def main() -> None:
    """Run the command line; every error the user can mend is one line and an exit code."""
    from lookalike.cli.app import app
    from lookalike.errors import LookalikeError

    try:
        code = app(prog_name="lookalike", standalone_mode=False) or 0
    except LookalikeError as error:
        code = _complain(str(error), error.exit_code)
    except TyperException as error:
        code = _complain(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, Abort):
        code = _complain("interrupted; nothing was written.", 1)
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        code = 0
    except MemoryError:
        code = _complain("out of memory; try a smaller input or larger shingles.", 1)
    sys.exit(code)


def _complain(message: str, code: int) -> int:
    print(f"lookalike: {' '.join(message.split())}", file=sys.stderr)
    return code
