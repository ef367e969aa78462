"""The folder of a run that is larger than memory, from which an interrupted run resumes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookalike.cli.options import WorkOptions
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import UsageError


@contextmanager
def working_in(options: WorkOptions, out: str, run: TerminalRun) -> Iterator[dict[str, Any]]:
    """Hold the folder until all is written; yield the keywords of `find_pairs` and the like that name it.

    The folder is removed in the end, unless the run has failed with work in it that can be resumed.
    """
    if options.memory is None and options.workdir is None:
        yield {}
        return
    from lookalike.core.workdir import RUN, has_begun, hold, remove

    if options.workdir is None and out == "-":
        raise UsageError("--memory needs a --workdir, or an --out that it can stand beside.")
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
            run.say(f"the same command goes on from what is in {folder}")
