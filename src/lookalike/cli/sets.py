"""The command `lookalike sets`: all similar pairs of sets."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.options import option
from lookalike.cli.outputs import check_outputs, write_result
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import bad_files_note, summarize

if TYPE_CHECKING:
    from lookalike.items.sets import Sets

FILTERS = ("length", "prefix", "position", "suffix")


@dataclass(frozen=True)
class SetSimilarityOptions:
    """When sets are similar, and how surely similar ones are found."""

    measure: Annotated[
        str,
        option(
            "--measure",
            "-m",
            help="Measure: jaccard, bag, containment, cosine or overlap.",
            offer=opt.measures_of("sets", "bags"),
        ),
    ] = "jaccard"
    threshold: Annotated[
        str | None, opt.threshold_option("Minimum similarity in (0, 1] (default: 0.8), or minimum overlap.")
    ] = None
    recall: opt.Recall = 0.99
    weights: opt.Weights = None
    drop_common: opt.DropCommon = None


@dataclass(frozen=True)
class SetSearchOptions:
    """How to find similar sets."""

    method: opt.Method = "auto"
    sketch: opt.Sketch = "minhash"
    filter: Annotated[
        str | None,
        option(
            help="Use an exact join, with this filter and those before it: length, prefix, position, suffix.",
            offer=FILTERS,
            panel=opt.RUNNING,
        ),
    ] = None
    audit: Annotated[int, option(metavar="N", help="Measure the recall on a sample of N sets; 0: no audit.")] = 0
    seed: opt.Seed = 1


@command(
    "lookalike sets baskets.txt -t 0.8 -o pairs.csv",
    "lookalike sets orders.parquet --rows order,product --measure containment -t 0.9",
    "lookalike sets orders.csv --rows order,product,quantity --measure bag",
    "lookalike sets baskets.txt -t 0.9 --filter prefix",
)
def sets(
    inputs: opt.Inputs,
    *,
    similarity: SetSimilarityOptions,
    output: opt.OutputOptions,
    reading: opt.SetOptions,
    search: SetSearchOptions,
    running: opt.RunOptions,
    max_pairs: opt.MaxPairs = 100_000_000,
) -> None:
    """List all similar pairs of sets: one set per line, or one element of a set per row."""
    from lookalike.find import find_pairs

    check_outputs(output, inputs)
    run = TerminalRun(**vars(running))
    items, skipped = read_sets(inputs, reading, similarity.measure, run)
    result = find_pairs(items, max_pairs=max_pairs, run=run, **opt.keywords(similarity, search))
    write_result(result, output, run)
    summarize(result, run, item="set", inputs=inputs, report=output.report, skipped=skipped)


def read_sets(inputs: list[str], reading: opt.SetOptions, measure: str, run: TerminalRun) -> "tuple[Sets, int]":
    """Return the sets of the inputs, or bags for that measure, and the number of skipped rows."""
    import pyarrow as pa

    from lookalike.io.sets import SetSource

    if reading.separator is not None:
        reading = replace(reading, separator=reading.separator.replace("\\t", "\t"))
    source = SetSource(inputs, bag=measure in ("bag", "bag_jaccard"), **vars(reading))
    ids, found = source.read(run)
    for note in bad_files_note(source.bad_files):
        run.say(note)
    if reading.rows is None and source.columns is not None:
        run.say(f"columns: {source.columns}; choose others with --rows")
    return replace(found, ids=ids, named=lambda rows: source.named(ids.take(pa.array(rows)))), source.skipped
