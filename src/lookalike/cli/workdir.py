"""Manage the working folder of a run larger than memory, from which an interrupted run resumes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookalike.cli.options import WorkOptions
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import UsageError


@contextmanager
def working_in(options: WorkOptions, out: str, run: TerminalRun) -> Iterator[dict[str, Any]]:
    """Lock the folder until all is written; yield the keywords that pass it to `find_pairs` etc.

    The folder is removed at the end, unless the run failed and left work that can be resumed.
    """
    if options.memory is None and options.workdir is None:
        yield {}
        return
    from lookalike.core.workdir import RUN, has_begun, hold, remove

    if options.workdir is None and out == "-":
        raise UsageError("--memory needs a folder for temporary files: set --workdir, or write to a file with --out.")
    folder = Path(f"{out}.work" if options.workdir is None else options.workdir)
    done = False
    held = hold(folder / RUN / "command")
    try:
        yield {"workdir": folder} if options.memory is None else {"workdir": folder, "memory": options.memory}
        done = True
    finally:
        held.close()
        if done or not has_begun(folder):
            remove(folder)
        else:
            run.say(f"run the same command again to resume from {folder}")
