"""Run `lookalike dedup --unit`: cut out of the texts what occurred before, and keep rows and columns."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from lookalike.cli.app import GivenOptions
from lookalike.cli.documents import open_documents
from lookalike.cli.options import CollectionOptions, CutOptions
from lookalike.cli.outputs import needs_strings, write_page, writing_batches
from lookalike.cli.progress import TerminalRun
from lookalike.cli.stats import record
from lookalike.cli.summary import no_items_note, time_line
from lookalike.cli.workdir import working_in
from lookalike.core.errors import DataError
from lookalike.core.process import peak_memory
from lookalike.core.run import Tick
from lookalike.core.wording import counted, verified
from lookalike.io.documents import Source
from lookalike.io.write import check_columns, writing
from lookalike.passages import Cuts, dedup_units
from lookalike.results.files import tables_of

# Options for similar documents, and those for which cutting has no use or no support.
UNSUPPORTED = (
    *("measure", "threshold", "shingle", "recall", "method", "sketch", "audit", "seed", "keep", "lowercase", "space"),
    *("form", "punctuation", "stop_words", "antecedents", "spot_distance", "skip_stops", "html", "article"),
    *("weights", "drop_common"),
    *("engine", "master", "mark", "dry_run", "drop_all", "within", "across", "shard"),
)


def dedup_in_texts(
    inputs: list[str],
    options: CollectionOptions,
    cut: CutOptions,
    given: GivenOptions,
    against: str | None,
    update: bool,
    removed: str | None,
    columns: str | None,
) -> None:
    """Write the documents without what was cut, and what was cut to `removed`."""
    given.refuse(UNSUPPORTED, "--unit")
    out, safe = options.output.out, options.output.excel_safe
    run = TerminalRun(**vars(options.running))
    with working_in(options.work, out, run) as room:
        source = open_documents(inputs, options.reading, run, columns)
        source.check_names()
        check_columns(source.written_schema(needs_strings(out)), out)
        name = text_column(source)
        cuts = dedup_units(source, run=run, against=against, update=update, **vars(cut), **room)
        about = {"cuts": str(cuts)}
        listed = nullcontext() if removed is None else writing(tables_of(cuts, run), removed, about, safe, run)
        with run.stage("write", len(cuts.keep)) as tick, listed:
            batches = shortened(source.tables(needs_strings(out), run), cuts, name, tick)
            with writing_batches(batches, options.output, about, False, run):
                pass
        write_page(cuts, options.output.report, run)
    summarize_cuts(cuts, run, inputs)


def text_column(source: Source) -> str:
    """Return the name of the column of texts, which must be the same in all inputs."""
    names = source.text_columns() or ["text"]
    if len(names) > 1:
        raise DataError(f"the inputs have texts in different columns: {', '.join(names)}; cut one after the other.")
    return names[0]


def shortened(tables: Iterable[pa.Table], cuts: Cuts, name: str, tick: Tick) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """Yield tables with the texts without what was cut, and which of their rows to keep."""
    pieces = cuts.all_texts()
    waiting: list[pa.Array] = []
    start = 0
    for table in tables:
        while sum(map(len, waiting)) < len(table):
            waiting.append(next(pieces))
        texts = pa.chunked_array(waiting, pa.large_string())
        column = table.schema.get_field_index(name)
        ours = texts.slice(0, len(table)).cast(table.schema.field(column).type)
        waiting = texts.slice(len(table)).chunks
        yield table.set_column(column, table.schema.field(column), ours), cuts.keep[start : start + len(table)]
        start += len(table)
        tick(len(table))


def summarize_cuts(cuts: Cuts, run: TerminalRun, inputs: list[str]) -> None:
    """Print and record what was read and cut, and the cost."""
    stats, unit = cuts.stats, cuts.corpus.cutter.name
    skipped = f" ({stats['skipped']:,} skipped)" if stats["skipped"] else ""
    run.say(f"read: {counted(stats['items'], 'document')}{skipped}, {counted(stats['units'], unit)}")
    gone, kept = int(cuts.length.sum()), int(cuts.keep.sum())
    dropped = len(cuts.keep) - kept
    run.say(
        f"cut: {counted(gone, unit)} at {counted(len(cuts), 'place')}{verified(len(cuts))}; "
        f"{counted(dropped, 'document')} dropped"
    )
    record(counts={**stats, "kept": kept, "dropped": dropped, "cut": gone, "rows": len(cuts)}, recall={"expected": 1.0})
    if cuts.corpus.earlier:
        batches = counted(len(cuts.corpus.batch_starts) - 1, "batch", "es")
        run.say(f"compared with: {counted(cuts.corpus.earlier, 'earlier document')} in {batches}")
    run.say(f"{time_line(run)}; peak memory {peak_memory() / 2**20:,.0f} MB")
    if not stats["items"]:
        run.say(no_items_note("document", inputs))
