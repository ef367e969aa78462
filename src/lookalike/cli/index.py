"""`lookalike index`: what its commands do."""

from pathlib import Path
from typing import Any

from lookalike import __version__
from lookalike.cli.job import Job
from lookalike.cli.progress import TerminalRun, time_line
from lookalike.core.errors import UsageError, choice
from lookalike.core.wording import counted
from lookalike.index import Index
from lookalike.io.write import write_tables
from lookalike.measures.table import OF_VECTORS

KINDS = ("documents", "sets", "vectors")


def build(job: Job, path: str, inputs: list[str], kind: str | None, store_text: bool, expected: int | None) -> None:
    """Make an index of the inputs."""
    given = job.given
    measure = given["measure"]
    if kind is None:
        kind = "vectors" if measure in OF_VECTORS else "sets" if given["rows"] else "documents"
    choice("kind", kind, KINDS)
    items = _items(job, inputs, kind)
    wanted = {name: given[name] for name in ("measure", "recall", "seed")}
    if given["threshold"] is not None:
        wanted["threshold"] = given["threshold"]
    if expected is not None:
        wanted["expected"] = expected
    notes = {"kind": kind, **{name: given[name] for name in ("html", "article")}}
    wanted |= {"shingles": job.options["shingles"], "store_text": store_text, "notes": notes}
    with Index.build(path, items, run=job.run, **wanted) as index:
        _tell(job, index, f"built: {counted(len(index), 'item')}")


def add(job: Job, path: str, inputs: list[str], replace: bool) -> None:
    """Add the inputs."""
    with Index.open(path) as index:
        added = index.add(inputs_like(job, index, inputs), replace=replace, run=job.run)
        _tell(job, index, f"added: {counted(added, 'item')}, {len(index):,} in all")


def query(job: Job, path: str, inputs: list[str], threshold: float | None, top: int) -> None:
    """Write what is similar to the inputs."""
    with Index.open(path, read_only=True) as index:
        found = index.query_batch(inputs_like(job, index, inputs), threshold=threshold, top=top, run=job.run)
        with job.run.stage("write"):
            write_tables([found.to_arrow()], job.out, {"version": __version__, "index": Path(path).name})
        asked = counted(len(found.ids), "item")
        matches, among = counted(len(found), "match", "es"), counted(found.stats["candidates"], "candidate")
        recall = index.recall(threshold)
        job.run.say(
            f"found: {matches} for {asked}, all verified, among {among}; expected recall at the threshold {recall:.4f}"
        )
        if found.stats["crowded"]:
            job.run.say(crowded_note(found.stats["crowded"], "item"))
        job.run.say(time_line(job.run.seconds))


def remove(path: str, ids: list[str], file: str | None, quiet: bool) -> None:
    """Remove items by their ids; an id that is a number may be one or a string."""
    names = [*ids, *(Path(file).read_text().split("\n") if file is not None else [])]
    names = [name for name in names if name]
    if not names:
        raise UsageError("name the ids to remove, or a --file of them.")
    run = TerminalRun(1, quiet)
    with Index.open(path) as index:
        removed = index.remove([index.spelled(name) for name in names])
        run.say(f"removed: {counted(removed, 'item')}, {len(index):,} left")


def info(path: str) -> None:
    """Print what there is to say of an index."""
    with Index.open(path, read_only=True) as index:
        for name, value in index.info().items():
            print(f"{name}: {value:,}" if type(value) is int else f"{name}: {value}")


def compact(path: str, quiet: bool) -> None:
    """Write an index anew."""
    run = TerminalRun(1, quiet)
    with Index.open(path) as index, run.stage("compact"):
        saved = index.compact()
        run.say(f"compacted: {saved:,} bytes saved, {index.info(buckets=False)['bytes']:,} left")


def verify(path: str, threads: int | None, quiet: bool) -> None:
    """Check an index."""
    run = TerminalRun(threads, quiet)
    with Index.open(path, read_only=True) as index:
        run.say(f"verified: {counted(index.verify(run), 'item')}, all in order")


def _items(job: Job, inputs: list[str], kind: str) -> Any:
    if kind == "vectors":
        return job.read_vectors(inputs)
    return job.sets(inputs) if kind == "sets" else job.source(inputs)


def inputs_like(job: Job, index: Index, inputs: list[str]) -> Any:
    """The inputs, read as those of the index were."""
    notes = {"html": False, "article": False, **index.settings["notes"]}
    job.given |= {"measure": index.settings["wanted"]["measure"], **notes}
    return _items(job, inputs, notes.get("kind", "documents"))


def crowded_note(count: int, item: str) -> str:
    """What there is to say of items that share a bucket with very many."""
    return f"note: {counted(count, item)} in buckets too full to be looked at as a whole"


def _tell(job: Job, index: Index, line: str) -> None:
    facts = index.info(buckets=False)
    job.run.say(f"{line}; {facts['bytes an item']:,} bytes an item")
    job.run.say(time_line(job.run.seconds))
