"""Run `lookalike dedup --against INDEX`: keep, in one pass, documents unlike any seen before."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike import __version__
from lookalike.cli.app import GivenOptions
from lookalike.cli.documents import open_documents, shingles_of
from lookalike.cli.options import CollectionOptions, PageOptions, ReadingOptions, keywords
from lookalike.cli.outputs import copies_lines, needs_strings, writing_batches
from lookalike.cli.progress import TerminalRun
from lookalike.cli.stats import record
from lookalike.cli.summary import bad_files_note, crowded_note, no_items_note, time_line
from lookalike.core.errors import DataError, UsageError
from lookalike.core.files import taking_turns
from lookalike.core.run import Tick
from lookalike.core.wording import counted
from lookalike.index import Index
from lookalike.index.batches import named
from lookalike.index.codings import shingle_settings
from lookalike.index.replay import Replay, SiftedBatch
from lookalike.index.sifting import Sieve
from lookalike.index.store import building
from lookalike.io.documents import Source
from lookalike.io.remote import must_be_local
from lookalike.io.write import write_tables
from lookalike.items.shingles import Shingles
from lookalike.measures import MEASURES, exact_fraction
from lookalike.measures.table import SHORT

UNSUPPORTED = (
    *("method", "sketch", "audit", "keep", "memory", "workdir", "shard", "report", "dry_run", "weights"),
    "drop_common",
)
# Options, and the settings of shingles that each determines.
SHINGLES = {
    "shingle": ("unit", "k"),
    "spot_distance": ("distance",),
    **{
        name: (name,)
        for name in ("lowercase", "space", "form", "punctuation", "stop_words", "antecedents", "skip_stops")
    },
}


def dedup_against(
    inputs: list[str],
    options: CollectionOptions,
    given: GivenOptions,
    path: str,
    update: bool,
    removed: str | None,
    columns: str | None,
) -> None:
    """Write the documents similar to none in the index and none kept before; `update` adds them.

    The files are written before the index changes, so that a failed run can be repeated. The index
    records what became of the documents, so that the same run again writes the same files.
    """
    run = TerminalRun(**vars(options.running))
    shingles = shingles_of(options.similarity.shingle, options.shingling)
    given.refuse(UNSUPPORTED, "--against, which handles documents one by one")
    out = options.output.out
    with opened(path, update, options, given, shingles, run) as index:
        notes = index.settings["notes"]
        reading = replace(options.reading, pages=PageOptions(notes.get("html", False), notes.get("article", False)))
        source = open_documents(inputs, reading, run, columns)
        source.check_names()
        digest = digest_of(source, reading) if update else None
        settings, dropped = {"version": __version__, "index": Path(path).name}, Dropped(index.measured)
        with run.stage("sift") as tick, index.sieve(update=update, digest=digest) as sieve, dropped:
            sifted = sift(source, out, sieve, dropped, run, tick)
            with writing_batches(sifted, options.output, settings, copies_lines(source, out), run):
                if removed is not None:
                    write_tables(dropped.tables(), removed, settings, options.output.excel_safe, run)
        facts = index.info(buckets=False)
    if isinstance(sieve, Replay):
        run.say("note: an earlier run added these same documents; the output is the same as then")
    print_summary(run, inputs, source, dropped, facts, update and isinstance(sieve, Sieve))


def digest_of(source: Source, reading: ReadingOptions) -> bytes:
    """Return a digest of the documents: of the content of all inputs, and of how they are read."""
    made = blake2b(repr(reading).encode(), digest_size=32)
    for part in source.parts:
        made.update(part.digest())
    return made.digest()


@contextmanager
def opened(
    path: str,
    update: bool,
    options: CollectionOptions,
    given: GivenOptions,
    shingles: Shingles,
    run: TerminalRun,
) -> Iterator[Index]:
    """Open the index, or with `update` create it; raise an error if the options contradict it."""
    must_be_local(path, "an index")
    with ExitStack() as stack:
        place = Path(path).absolute()
        if update and not place.exists() and place.parent.is_dir():
            wait = partial(run.say, f"waiting for another run, which is creating {path}")
            stack.enter_context(taking_turns(place, wait))
        if not update and not place.exists():
            raise DataError(f"{path}: no such folder; --update creates an index there.")
        if Path(path).exists() or not update:
            index = stack.enter_context(Index.open(path, read_only=not update))
            kind = index.settings["notes"].get("kind", "documents")
            if kind != "documents":
                raise UsageError(f"dedup --against needs an index of documents; the index holds {kind}.")
            check_options(options, given, shingles, index.settings)
        else:
            index = stack.enter_context(created(path, options, given, shingles))
        yield index


@contextmanager
def created(path: str, options: CollectionOptions, given: GivenOptions, shingles: Shingles) -> Iterator[Index]:
    """Create the index; it appears when the context ends without an error."""
    seed = options.search.seed if "seed" in given else None
    wanted = keywords(options.similarity) | {"shingles": shingles, "seed": seed}
    del wanted["shingle"]
    notes = {"kind": "documents", **vars(options.reading.pages)}
    with building(Path(path)) as place, Index.create(place, notes=notes, **wanted) as index:
        yield index


def check_options(
    options: CollectionOptions, given: GivenOptions, shingles: Shingles, settings: dict[str, Any]
) -> None:
    """Raise an error if an option that was given differs from the settings of the index."""
    wanted = {**vars(options.similarity), **vars(options.reading.pages), "seed": options.search.seed}
    have = {**settings["notes"], **settings["wanted"]}
    if "threshold" in given and exact_fraction(wanted["threshold"]) == exact_fraction(have["threshold"]):
        have["threshold"] = wanted["threshold"]  # the same number, written differently
    have["measure"] = MEASURES[have["measure"]].usual
    named = SHORT.get(wanted["measure"], wanted["measure"])
    wanted["measure"] = MEASURES[named].usual if named in MEASURES else named
    for name in ("threshold", "measure", "recall", "seed", "html", "article"):
        if name in given and wanted[name] != have.get(name, False):
            raise contradiction(name, have.get(name, False), wanted[name])
    made = shingle_settings(shingles)
    for option, names in SHINGLES.items():
        for name in names:
            old, new = settings["shingles"].get(name, made[name]), made[name]  # old indexes have fewer settings
            if option in given and old != new:
                raise contradiction(option, old, new, f"{name} " if option == "shingle" else "")


def contradiction(name: str, old: object, new: object, what: str = "") -> UsageError:
    """Return the error for an option that differs from the settings of the index."""
    option = f"--{name.replace('_', '-')}"
    if new is True:  # a flag
        return UsageError(f"the index was built without {option}; leave it out.")
    return UsageError(f"{option} must match the index, which has {what}{old}; got {what}{new}.")


def print_summary(
    run: TerminalRun, inputs: list[str], source: Source, dropped: "Dropped", facts: dict[str, Any], update: bool
) -> None:
    """Print and record what was found; `facts` describe the index."""
    left_out = {"empty": dropped.empty, "skipped": source.skipped}
    notes = ", ".join(f"{count:,} {name}" for name, count in left_out.items() if count)
    run.say(f"read: {counted(source.documents, 'document')}{f' ({notes})' if notes else ''}")
    for note in bad_files_note(source.bad_files):
        run.say(note)
    if not source.documents:
        run.say(no_items_note("document", inputs))
    recall = facts.get("expected recall at the threshold", 1.0)
    kept = source.documents - dropped.count
    removed = f"{counted(dropped.count, 'document')} to remove, each similar to one seen before"
    removed = removed if dropped.count else "nothing to remove"
    run.say(f"found: {removed}, and {kept:,} to keep; expected recall at the threshold {recall:.4f}")
    counts = {"items": source.documents, **left_out, "crowded": dropped.crowded, "kept": kept, "dropped": dropped.count}
    record(counts=counts, recall={"expected": recall})
    if dropped.crowded:
        run.say(crowded_note(dropped.crowded, "document"))
    run.say(f"index: {counted(facts['items'], 'item')}{'' if update else ', unchanged'}")
    run.say(time_line(run))


class Dropped:
    """The removed documents and what each is similar to, on disk since there can be many."""

    def __init__(self, measured: str) -> None:
        names = pa.struct([("number", pa.int64()), ("name", pa.string())])  # an id is either
        self.schema = pa.schema([("id", names), ("kept", names), (measured, pa.float64())])
        self.count = self.crowded = self.empty = 0
        self.strings = {"id": False, "kept": False}

    def __enter__(self) -> "Dropped":
        self.file = TemporaryFile(prefix="lookalike-")
        self.stream = pa.ipc.new_stream(self.file, self.schema)
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def add(self, sifted: SiftedBatch) -> None:
        """Record the documents of a batch that are not kept."""
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
        """Yield tables of one row per document: `id`, `kept` (a similar item) and the measure."""
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


def sift(
    source: Source, out: str, sieve: Sieve | Replay, dropped: Dropped, run: TerminalRun, tick: Tick
) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the rows or lines of each batch with a mask of those kept; record the others."""
    own = source.has_ids()
    numbered = all(part.format == "text" for part in source.parts)  # lines have no ids of their own
    if copies_lines(source, out):
        batches: Iterator[tuple[pa.Table, Any]] = source.with_lines(run)
    else:
        batches = source.with_rows(needs_strings(out), run)
        yield next(batches)[1], np.zeros(0, bool)  # empty: carries the columns

    def named_batches() -> Iterator[tuple[pa.Array, list[Any] | None, Any]]:
        for documents, rows in batches:
            ids = named(documents["id"].to_pylist(), len(documents)) if own else None
            yield documents["text"].combine_chunks(), ids, rows

    for sifted, rows in sieve.sift_all(named_batches(), run):
        dropped.add(sifted)
        tick(len(sifted.ids))
        shown = rows.set_column(0, "id", pa.array(sifted.ids, pa.int64())) if numbered else rows
        yield shown, sifted.keep
