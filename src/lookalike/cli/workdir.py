"""Manage the working folder of a run: an interrupted run resumes there, and several processes share it."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lookalike.cli.options import CollectionOptions, WorkOptions
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Finished, Planned
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.core.shards import Shards


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
        begun = has_begun(work)
        try:
            yield {"workdir": folder} if options.memory is None else {"workdir": folder, "memory": options.memory}
            done = True
        except Planned:  # a dry run leaves the work of an earlier run, and none of its own
            done = not begun
            raise
        finally:
            if done or not has_begun(work):
                remove(folder, work)
            else:
                run.say(f"run the same command again to resume from {folder}")


@dataclass
class Room:
    """Where a run keeps its files, alone or with other processes."""

    keywords: dict[str, Any] = field(default_factory=dict)  # that pass it to `find_pairs` etc.
    shards: "Shards | None" = None

    def finish(self, write: Callable[[], None]) -> None:
        """Write the output, in one of the processes; the command ends in the others."""
        if self.shards is None:
            write()
        else:
            self.shards.finish(write)


@contextmanager
def sharing_in(options: CollectionOptions, run: TerminalRun, **about: Any) -> Iterator[Room]:
    """Do as `working_in` does, or with --shard, work in a folder with other processes.

    `about` is what the output depends on besides the search; it must be the same in all processes.
    """
    work, shard, out = options.work, options.share.shard, options.output.out
    if shard is None:
        with working_in(work, out, run) as keywords:
            yield Room(keywords)
        return
    from lookalike.cli.folders import is_folder
    from lookalike.core.shards import Shard, Shards
    from lookalike.io.remote import must_be_local, place_of

    one = Shard.parse(shard)
    if work.workdir is None:
        raise UsageError("--shard needs --workdir, a folder that all processes see.")
    if out == "-" or is_folder(out):
        raise UsageError(f"--shard needs a file to write, such as --out clean.parquet; got {out!r}.")
    must_be_local(work.workdir, "the folder of --workdir")
    keywords = {} if work.memory is None else {"memory": work.memory}
    about["excel_safe"] = options.output.excel_safe
    same = {"out": str(place_of(out).resolve()), **{name: str(value) for name, value in about.items()}}
    with shared_folder(work.workdir, options.job.dry_run) as folder, Shards(folder, one, run, same) as shards:
        try:
            yield Room({**keywords, "workdir": shards}, shards)
        except Finished:
            if shards.tasks:
                run.say(f"done: {one} did {counted(shards.tasks, 'task')}; another one wrote {out}")
            elif place_of(out).exists():
                run.say(f"done: {out} was written before; to run again, remove {shards.path}")
            else:
                raise DataError(
                    f"{out}: was written before, but is gone; to run again, remove {shards.path}."
                ) from None
            raise
        except KeyboardInterrupt:
            if shards.tasks:
                run.say(f"run the same command again to go on with the work in {folder}")
            raise


@contextmanager
def shared_folder(workdir: str, dry_run: bool) -> Iterator[Path]:
    """Yield the folder of the processes; for a dry run one of its own, so that it does not disturb them."""
    if not dry_run:
        yield Path(workdir)
        return
    with TemporaryDirectory(prefix="lookalike-") as own:
        yield Path(own)
