"""Manage the working folder of a run larger than memory, from which an interrupted run resumes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
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
    from lookalike.core.workdir import has_begun, hold, remove, work_folder
    from lookalike.io.remote import is_remote, must_be_local

    if options.workdir is None and out == "-":
        raise UsageError("--memory needs a folder for temporary files: set --workdir, or write to a file with --out.")
    if options.workdir is None and is_remote(out):
        raise UsageError(f"--memory needs a folder for temporary files on a local disk: set --workdir; --out is {out}.")
    if options.workdir is not None:
        must_be_local(options.workdir, "--workdir")
    folder = Path(f"{out.rstrip('/')}.work" if options.workdir is None else options.workdir)
    done = False
    with closing(work_folder(folder)) as work, hold(folder, work, "command"):
        try:
            yield {"workdir": folder} if options.memory is None else {"workdir": folder, "memory": options.memory}
            done = True
        finally:
            if done or not has_begun(work):
                remove(folder, work)
            else:
                run.say(f"run the same command again to resume from {folder}")
