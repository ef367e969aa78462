"""The command line. Results go to files or standard output, everything else to standard error.

Lives here: one file per command, with its options and messages; `app` (registers commands),
`options` (shared options), `documents` (shared by the commands on documents), `against` and
`on_spark` (alternative engines), `outputs`, `workdir`, `summary`, `progress`, `terminal`, `values`
(of options), `defaults` (of options, set by the user), `plots` and `axis`.
May import: everything. To add a command, write its file, and put it in `COMMANDS` with the first
line of its help.
"""

import atexit
import gc
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from itertools import pairwise

from typer.exceptions import Abort, Exit, TyperException

from lookalike import _imported
from lookalike.core.imports import refuse
from lookalike.core.late_pandas import import_pandas_late
from lookalike.core.process import process_start

# What the help says of each command, in its order, so that it need not import them.
COMMANDS = {
    "pairs": "List all similar pairs of documents, each one verified.",
    "match": "List all similar pairs of a document in LEFT and a document in RIGHT.",
    "sets": "List all similar pairs of sets: one set per line, or one element of a set per row.",
    "vectors": "List all similar pairs of vectors: embeddings, rows of numbers, bit codes or pictures.",
    "dedup": "Remove documents that are similar to one that is kept; write the rest with all columns.",
    "passages": "List all passages that occur twice or more, within documents or between them.",
    "decontaminate": "Remove documents that contain test items, or cut these from them; write the rest.",
    "clusters": "Group documents connected by similar pairs into clusters, without listing the pairs.",
    "resolve": "Find records of the same person or thing in two tables or one, with probabilities.",
    "label": "Show the pairs that `resolve` is least sure of, and keep your answers to correct it.",
    "evaluate": "Compare pairs, matches or clusters with the truth: precision, recall, F1, and stated numbers.",
    "baskets": "Find similar users or items from purchases or ratings, and recommend items.",
    "serve": "Serve an index over HTTP, with a web page to query it.",
    "curve": "Show the probability that a pair becomes a candidate, by similarity or distance.",
    "tune": "Show the bands and rows that reach a recall at a threshold, and what they cost.",
    "report": "Write a web page that shows the items found side by side, and how reliable the result is.",
    "demo": "Find similar pairs among the example documents that come with lookalike.",
    "fingerprints": "Enroll fingerprints and identify unknown prints.",
    "index": "Keep a collection in a folder, and look up similar items in it.",
}
begun = time.perf_counter()  # when the running command began
COMPLETING = "_LOOKALIKE_COMPLETE"  # set by the completion script that typer installs in the shell
GARBAGE = 500_000  # new objects before Python looks for garbage among them; imports make many, but no garbage
# Arrow's own pool asks for huge pages; in a virtual machine, clearing them can take longer than reading a file.
ARROW_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")
REMOTE = ("pyarrow._azurefs", "pyarrow._gcsfs", "pyarrow._hdfs", "pyarrow._s3fs")  # file systems that no command reads
DONE, FAILED, INTERRUPTED, TERMINATED = 0, 1, 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes
log_json = False  # whether lines on standard error are JSON
exit_code = FAILED  # of this process; also after an error that we do not expect


class Terminated(KeyboardInterrupt):
    """SIGTERM asks the process to end."""


def main() -> None:
    """Run the command line as a process of its own, in which nothing else happens."""
    global exit_code
    atexit.register(leave)  # first, so that it comes after all else that is done at exit
    gc.set_threshold(GARBAGE)
    os.environ.setdefault(*ARROW_POOL)  # read when pyarrow is imported
    refuse(*REMOTE)
    import_pandas_late()
    exit_code = run(process_start(_imported))
    sys.exit(exit_code)


def leave() -> None:
    """End the process without taking apart all that was imported and made; files are closed already."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python itself reports it
    if exit_code in (INTERRUPTED, TERMINATED):  # end by the signal itself, so that a shell also ends its loop
        signal.signal(exit_code - 128, signal.SIG_DFL)
        os.kill(os.getpid(), exit_code - 128)
    os._exit(exit_code)  # also if the signal does not end the first process of a container


def run(start: float) -> int:
    """Run the command in `sys.argv`, for which the user has waited since `start`; return the exit code.

    Errors that the user can fix are reported as one line.
    """
    global begun, log_json
    begun, log_json = start, asks_for_json(sys.argv)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run()
    except (KeyboardInterrupt, Abort) as error:
        return _complain("interrupted; no incomplete file was left.", code_of(error))
    except BrokenPipeError as error:  # standard output was closed early, as by `head`
        _drop_output()
        return code_of(error)
    except OSError as error:
        return _complain(f"{error.filename or 'failed'}: {error.strerror or error}.", code_of(error))
    except MemoryError as error:
        return _complain("out of memory.", code_of(error))


def code_of(error: BaseException) -> int:
    """Return the exit code of a command that ends with an error.

    >>> code_of(KeyboardInterrupt()), code_of(Terminated()), code_of(BrokenPipeError()), code_of(OSError())
    (130, 143, 0, 1)
    """
    if isinstance(error, KeyboardInterrupt | Abort):
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return DONE
    return getattr(error, "exit_code", FAILED)


def _terminate(*received: object) -> None:
    raise Terminated  # to clean up as after Ctrl-C


def asks_for_json(args: list[str], by_file: str = "text") -> bool:
    """Return whether a command asks for JSON on standard error, even if it is wrong otherwise.

    The command line comes before the environment, and this before what a file says.

    >>> asks_for_json(["lookalike", "--log-format", "json"]), asks_for_json(["lookalike", "json"])
    (True, False)
    """
    if any(one.startswith("--log-format") for one in args):
        return "--log-format=json" in args or ("--log-format", "json") in pairwise(args)
    return os.environ.get("LOOKALIKE_LOG_FORMAT", by_file) == "json"


def _run() -> int:
    from lookalike.cli.app import program
    from lookalike.core.errors import LookalikeError

    warnings.showwarning = _show_warning
    command = program()
    try:  # not `app()`, which handles interrupts and closed pipes itself
        if COMPLETING in os.environ:  # the shell asks for completions
            command.main(prog_name="lookalike")
        with command.make_context("lookalike", sys.argv[1:]) as context:
            command.invoke(context)
    except Exit as finished:
        return finished.exit_code
    except SystemExit as completed:
        return int(completed.code or 0)
    except LookalikeError as error:
        _drop_output()
        return _complain(str(error), code_of(error))
    except TyperException as error:
        return _complain(_message(error), code_of(error))
    return DONE


def _message(error: TyperException) -> str:
    """Return the message of a wrong command line; for an unknown option, suggest only a close one."""
    from lookalike.core.errors import closest

    option, errors = getattr(error, "param", None), getattr(error.__cause__, "errors", None)
    if option is not None and errors is not None:  # of Pydantic, which names neither the option nor the value
        (wrong, *_) = errors()
        kind = {"int": "an integer", "flo": "a number"}.get(wrong["type"][:3])
        if kind is not None:
            where = error.message.removeprefix(wrong["msg"]).removeprefix(".")  # where the option was set
            return f"{max(option.opts, key=len)} must be {kind}; got {wrong['input']!r}.{where}"
    name, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if name is None or context is None or not hasattr(error, "possibilities"):
        return error.format_message()
    bare = {option.lstrip("-"): option for one in context.command.params for option in one.opts}
    near = closest(name.lstrip("-"), bare)
    return f"there is no option {name}." + ("" if near is None else f" Did you mean {bare[near]}?")


def note(line: str | None) -> None:
    """Print a line to standard error as the log format says, if there is one."""
    if line is None:
        return
    if log_json:
        from lookalike.cli.log import event_of, log_line

        event = event_of(line)
        print(log_line(line.removeprefix(f"{event}: "), event=event), file=sys.stderr)
    else:
        _say(line)


def _show_warning(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
    """Show a warning about an input as one line, without the place in the code."""
    if log_json:
        from lookalike.cli.log import log_line

        print(log_line(str(message), "warning", "warning"), file=sys.stderr)
    else:
        _say(f"lookalike: warning: {message}")


def _complain(message: str, code: int) -> int:
    if message and log_json:
        from lookalike.cli.log import log_line

        print(log_line(" ".join(message.split()), "error", "error", exit_code=code), file=sys.stderr)
    elif message:  # empty if the help was shown instead
        _say(f"lookalike: {' '.join(message.split())}")
    return code


def _say(line: str) -> None:
    from lookalike.core.wording import visible

    print(visible(line), file=sys.stderr)


def _drop_output() -> None:
    """Keep Python from flushing unwritable standard output again at exit."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
