"""`lookalike dedup --against INDEX`: documents that are unlike all seen before, in one pass."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike import __version__
from lookalike.cli.index import crowded_note, inputs_like
from lookalike.cli.job import Job, none_there
from lookalike.cli.progress import time_line
from lookalike.core.errors import UsageError
from lookalike.core.run import Run, Tick
from lookalike.core.wording import counted
from lookalike.index import Index, banded_name
from lookalike.index.batches import named
from lookalike.index.codings import shingle_settings
from lookalike.index.sifting import Sieve, Sifted
from lookalike.index.store import building
from lookalike.io.documents import Source
from lookalike.io.write import kind_of, write_tables, writing, writing_lines
from lookalike.measures import exact_fraction

WANTED = ("measure", "recall", "seed")
NOT_HERE = ("method", "sketch", "audit", "keep", "memory", "workdir", "report")
# Which settings of shingles an option makes.
SHINGLES = {
    "shingle": ("unit", "k"),
    "spot_distance": ("distance",),
    **{name: (name,) for name in ("lowercase", "space", "form", "stop_words", "antecedents", "skip_stops")},
}


def dedup_against(job: Job, inputs: list[str], path: str, update: bool, removed: str | None) -> None:
    """Write the documents that are like none of an index and none kept before them, and with `update` add them.

    The files are there before the index has changed: a run that fails can be made again.
    """
    for name in NOT_HERE:
        if name in job.chosen:
            raise UsageError(f"--{name} is not for --against, which takes documents one by one, as they come.")
    with opened(job, path, update) as index:
        source, dropped = inputs_like(job, index, inputs), Dropped(index.measured)
        source.check_names()
        settings = {"version": __version__, "index": Path(path).name}
        with job.run.stage("sift") as tick, index.sieve(update=update) as sieve, dropped:
            if source.is_jsonl() and kind_of(job.out) == ".jsonl":
                kept = writing_lines(_kept_lines(source, sieve, dropped, job.run, tick), job.out)  # as they stood
            else:
                strings = kind_of(job.out) not in (".parquet", ".arrow")
                kept = writing(_kept_rows(source, sieve, dropped, job.run, tick, strings), job.out, settings)
            with kept:
                if removed is not None:
                    write_tables(dropped.tables(), removed, settings)
        facts = index.info(buckets=False)
    report(job, source, dropped, facts, update)


def report(job: Job, source: Source, dropped: "Dropped", facts: dict[str, Any], update: bool) -> None:
    """Say what was found."""
    left_out = {"empty": dropped.empty, "skipped": source.skipped}
    notes = ", ".join(f"{count:,} {name}" for name, count in left_out.items() if count)
    job.run.say(f"read: {counted(source.documents, 'document')}{f' ({notes})' if notes else ''}")
    if not source.documents:
        job.run.say(none_there("document", job.inputs))
    recall = facts.get("expected recall at the threshold", 1.0)
    job.run.say(
        f"found: {counted(dropped.count, 'document')} to drop, each similar to one seen before, and "
        f"{source.documents - dropped.count:,} to keep; expected recall at the threshold {recall:.4f}"
    )
    if dropped.crowded:
        job.run.say(crowded_note(dropped.crowded, "document"))
    job.run.say(f"index: {counted(facts['items'], 'item')}{'' if update else ', as before'}")
    job.run.say(time_line(job.run.seconds))


@contextmanager
def opened(job: Job, path: str, update: bool) -> Iterator[Index]:
    """The index, which the options may not contradict; with `update` a new one if there is none."""
    if Path(path).exists() or not update:
        with Index.open(path, read_only=not update) as index:
            kind = index.settings["notes"].get("kind", "documents")
            if kind != "documents":
                raise UsageError(f"dedup --against is for documents; the index holds {kind}.")
            check_options(job, index.settings)
            yield index
        return
    wanted = {name: job.options[name] for name in (*WANTED, "threshold", "shingles") if name in job.options}
    notes = {"kind": "documents", **{name: job.given[name] for name in ("html", "article")}}
    with building(Path(path)) as place, Index.create(place, notes=notes, **wanted) as index:
        yield index


def check_options(job: Job, settings: dict[str, Any]) -> None:
    """An error for an option that was given and is not as in the settings of the index."""
    have = {**settings["notes"], **settings["wanted"]}
    if "threshold" in job.chosen and exact_fraction(job.given["threshold"]) == exact_fraction(have["threshold"]):
        have["threshold"] = job.given["threshold"]  # if written in another way
    for name in ("threshold", *WANTED, "html", "article"):
        if name in job.chosen and banded_name(job.given[name]) != have.get(name, False):
            raise UsageError(f"--{name} of the index is {have.get(name, False)}; got {job.given[name]}.")
    made = shingle_settings(job.options["shingles"])
    for option, names in SHINGLES.items():
        for name in names:
            if option in job.chosen and made[name] != settings["shingles"][name]:
                shown = option.replace("_", "-")
                raise UsageError(f"--{shown} of the index makes {name} {settings['shingles'][name]}; got {made[name]}.")


class Dropped:
    """The documents that are dropped, on disk as they may be many, with what each is like."""

    def __init__(self, measured: str) -> None:
        names = pa.struct([("number", pa.int64()), ("name", pa.string())])  # an id is one of these
        self.schema = pa.schema([("id", names), ("kept", names), (measured, pa.float64())])
        self.count = self.crowded = self.empty = 0
        self.strings = {"id": False, "kept": False}

    def __enter__(self) -> "Dropped":
        self.file = TemporaryFile(prefix="lookalike-")
        self.stream = pa.ipc.new_stream(self.file, self.schema)
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def add(self, sifted: Sifted) -> None:
        """Take note of those that are not kept."""
        gone = [place for place, kept in enumerate(sifted.keep) if not kept]
        columns = []
        for column, names in (("id", sifted.ids), ("kept", sifted.like)):
            ids = [names[place] for place in gone]
            self.strings[column] |= any(isinstance(name, str) for name in ids)
            columns.append(
                pa.array([{"name" if isinstance(n, str) else "number": n} for n in ids], self.schema[0].type)
            )
        self.stream.write_batch(pa.record_batch([*columns, pa.array(sifted.values[gone])], schema=self.schema))
        self.count += len(gone)
        self.crowded += sifted.crowded
        self.empty += sifted.empty

    def tables(self) -> Iterator[pa.Table]:
        """A row for each: `id`, `kept` (the id of what it is like), `similarity` or `distance`."""
        self.stream.close()
        self.file.seek(0)
        yield self._table(self.schema.empty_table())
        for batch in pa.ipc.open_stream(self.file):
            yield self._table(pa.table(batch))

    def _table(self, table: pa.Table) -> pa.Table:
        for at, (column, strings) in enumerate(self.strings.items()):
            number, name = (pc.struct_field(table[column], part) for part in ("number", "name"))
            ids = pc.coalesce(name, number.cast(pa.string())) if strings else number
            table = table.set_column(at, column, ids)
        return table


Batches = Iterable[tuple[pa.Table, Any]]  # documents, and their rows or lines


def _sifted(
    batches: Batches, own: bool, sieve: Sieve, dropped: Dropped, run: Run, tick: Tick
) -> Iterator[tuple[Sifted, Any]]:
    """What becomes of the documents, and their rows or lines; what is dropped is noted."""
    named_batches = (
        (documents["text"].combine_chunks(), named(documents["id"].to_pylist(), len(documents)) if own else None, rows)
        for documents, rows in batches
    )
    for sifted, rows in sieve.sift_all(named_batches, run):
        dropped.add(sifted)
        tick(len(sifted.ids))
        yield sifted, rows


def _kept_rows(
    source: Source, sieve: Sieve, dropped: Dropped, run: Run, tick: Tick, strings: bool
) -> Iterator[pa.Table]:
    lines = all(part.format == "text" for part in source.parts)  # which have no ids but those we give them
    batches = source.with_rows(strings)
    yield next(batches)[1]
    for sifted, rows in _sifted(batches, source.has_ids(), sieve, dropped, run, tick):
        table = rows.set_column(0, "id", pa.array(sifted.ids, pa.int64())) if lines else rows
        yield table.filter(pa.array(sifted.keep))


def _kept_lines(source: Source, sieve: Sieve, dropped: Dropped, run: Run, tick: Tick) -> Iterator[bytes]:
    for sifted, lines in _sifted(source.with_lines(), source.has_ids(), sieve, dropped, run, tick):
        yield from (line for line, kept in zip(lines, sifted.keep.tolist(), strict=True) if kept)
