"""The commands. Nothing heavy is imported before a command runs, so that help is quick."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.read import Source

app = typer.Typer(
    help="Find similar documents in collections too large to compare pair by pair.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


Inputs = Annotated[list[str], typer.Argument(metavar="INPUT", help="Files, folders, globs, or - for standard input.")]
Threshold = Annotated[
    str, typer.Option("--threshold", "-t", help="Documents at least this similar are listed, in (0, 1].")
]
Shingle = Annotated[str, typer.Option("--shingle", "-s", help="What is compared: char:9, word:5, stop:3.")]
Recall = Annotated[float, typer.Option(help="Probability of finding a pair right at the threshold; 1 means exact.")]
Method = Annotated[str, typer.Option(help="auto, lsh or exact.")]
Out = Annotated[
    str,
    typer.Option("--out", "-o", help="A .parquet, .arrow, .jsonl or .csv file; - prints JSON lines."),
]
Text = Annotated[str | None, typer.Option(help="The column of the text.")]
Id = Annotated[str | None, typer.Option("--id", help="The column of the id; - numbers the rows.")]
Format = Annotated[
    str | None,
    typer.Option(help="parquet, arrow, jsonl, csv, tsv, text (a document a line) or files."),
]
OnError = Annotated[str, typer.Option(help="What to do with bad rows: fail, or skip and count them.")]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
Space = Annotated[str, typer.Option(help="White space between characters: collapse, keep or remove.")]
Form = Annotated[str, typer.Option(help="Unicode normal form: nfc, nfkc or none.")]
Audit = Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N documents.")]
Seed = Annotated[int, typer.Option(help="Other seeds give other hash functions.")]
Threads = Annotated[int | None, typer.Option(help="How many threads to use; all cores by default.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
MaxPairs = Annotated[int, typer.Option(help="Fail rather than list more pairs than this.")]
Removed = Annotated[str | None, typer.Option(help="Write what was dropped, and for which kept document, to this file.")]
Keep = Annotated[str, typer.Option(help="Which of similar ones to keep: first, longest, or greatest of a COLUMN.")]
EXAMPLES = "[bold]Examples[/bold]\n\n"


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from lookalike import __version__

        print(f"lookalike {__version__}")
        raise typer.Exit


@app.command(
    epilog=EXAMPLES + "lookalike pairs corpus.parquet -t 0.8 -s word:5 -o pairs.parquet\n\n"
    "lookalike pairs 'essays/*.txt' -t 0.5 --audit 1000 -o pairs.csv\n\n"
    "zcat crawl.jsonl.gz | lookalike pairs - --text body -o pairs.jsonl"
)
def pairs(
    inputs: Inputs,
    threshold: Threshold = "0.8",
    shingle: Shingle = "char:9",
    recall: Recall = 0.99,
    out: Out = "-",
    text: Text = None,
    id: Id = None,
    format: Format = None,
    on_error: OnError = "fail",
    method: Method = "auto",
    lowercase: Lowercase = False,
    space: Space = "collapse",
    form: Form = "nfc",
    audit: Audit = 0,
    max_pairs: MaxPairs = 100_000_000,
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """List all pairs of similar documents, each one verified."""
    job = _Job(locals())
    from lookalike.find import find_pairs

    source = job.source(inputs)
    job.finish(find_pairs(source, max_pairs=max_pairs, **job.options))


@app.command(epilog=EXAMPLES + "lookalike match new.jsonl archive.parquet -t 0.8 -o matches.parquet")
def match(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="One collection.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The other.")],
    threshold: Threshold = "0.8",
    shingle: Shingle = "char:9",
    recall: Recall = 0.99,
    out: Out = "-",
    text: Text = None,
    id: Id = None,
    format: Format = None,
    on_error: OnError = "fail",
    method: Method = "auto",
    lowercase: Lowercase = False,
    space: Space = "collapse",
    form: Form = "nfc",
    audit: Audit = 0,
    max_pairs: MaxPairs = 100_000_000,
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """List similar pairs of a document of LEFT and a document of RIGHT."""
    job = _Job(locals())
    from lookalike.find import find_matches

    job.finish(find_matches(job.source([left]), job.source([right]), max_pairs=max_pairs, **job.options))


@app.command(
    epilog=EXAMPLES + "lookalike dedup corpus.parquet -o clean.parquet --removed removed.parquet\n\n"
    "lookalike dedup crawl.jsonl.zst -t 0.7 -s word:5 --keep longest -o clean.jsonl"
)
def dedup(
    inputs: Inputs,
    threshold: Threshold = "0.8",
    shingle: Shingle = "char:9",
    recall: Recall = 0.99,
    out: Out = "-",
    removed: Removed = None,
    keep: Keep = "first",
    text: Text = None,
    id: Id = None,
    format: Format = None,
    on_error: OnError = "fail",
    method: Method = "auto",
    lowercase: Lowercase = False,
    space: Space = "collapse",
    form: Form = "nfc",
    audit: Audit = 0,
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Drop documents that are similar to one that is kept, and write the rest with all their columns."""
    job = _Job(locals())
    from lookalike.errors import UsageError
    from lookalike.find import dedup as find_dedup
    from lookalike.write import check_output, writing

    if removed is not None:
        check_output(removed)
        if Path(removed).absolute() == Path(out).absolute():
            raise UsageError(f"--out and --removed must be two files; got {out!r} twice.")
    source = job.source(inputs)
    order = keep if keep in ("first", "longest") else _column(source, keep)
    result = find_dedup(source, keep=order, **job.options)
    dropped = nullcontext() if removed is None else writing([result.to_arrow()], removed, job.settings(result))
    with job.run.stage("write", len(result.ids)) as tick, dropped:
        job.write_kept(source, result, tick)
    job.report(result)


@app.command(epilog=EXAMPLES + "lookalike clusters news/ -t 0.6 -o clusters.csv")
def clusters(
    inputs: Inputs,
    threshold: Threshold = "0.8",
    shingle: Shingle = "char:9",
    recall: Recall = 0.99,
    out: Out = "-",
    text: Text = None,
    id: Id = None,
    format: Format = None,
    on_error: OnError = "fail",
    method: Method = "auto",
    lowercase: Lowercase = False,
    space: Space = "collapse",
    form: Form = "nfc",
    audit: Audit = 0,
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Group documents that are connected by similar pairs, without listing the pairs."""
    job = _Job(locals())
    from lookalike.find import find_clusters

    job.finish(find_clusters(job.source(inputs), **job.options))


@app.command(epilog=EXAMPLES + "lookalike curve --bands 20 --rows 5 --plot curve.png")
def curve(
    bands: Annotated[int, typer.Option(help="How many bands.")],
    rows: Annotated[int, typer.Option(help="How many minhashes a band.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to a .png, .svg or .pdf file.")] = None,
) -> None:
    """Show how likely a pair of each similarity becomes a candidate."""
    from lookalike.cli.curves import draw_curve, print_curve

    if plot is not None:
        draw_curve(bands, rows, plot)
    print_curve(bands, rows)


@app.command(epilog=EXAMPLES + "lookalike tune --threshold 0.8 --recall 0.99")
def tune(
    threshold: Annotated[float, typer.Option("--threshold", "-t", help="Similarity to be found.")],
    recall: Annotated[float, typer.Option(help="How surely.")] = 0.99,
    hashes: Annotated[int, typer.Option(help="The most minhashes to use.")] = 512,
) -> None:
    """Show the bands and rows that reach a recall at a threshold, and what each costs."""
    from lookalike.cli.curves import print_choices

    print_choices(threshold, recall, hashes)


@app.command(epilog=EXAMPLES + "lookalike demo")
def demo(threads: Threads = None) -> None:
    """Find the similar documents among the few dozen that come with lookalike."""
    from lookalike.cli.demo import show_demo

    show_demo(threads)


class _Job:
    """What the commands on documents share: options checked, a source, a run, results written and reported."""

    def __init__(self, given: dict[str, Any]):
        from lookalike.cli.progress import TerminalRun
        from lookalike.kernels import is_compiled
        from lookalike.shingles import Shingles
        from lookalike.write import check_output

        self.given = given
        self.run: TerminalRun = TerminalRun(given["threads"], given["quiet"])
        shingles = Shingles.parse(
            given["shingle"], lowercase=given["lowercase"], space=given["space"], form=given["form"]
        )
        check_output(given["out"])
        self.options: dict[str, Any] = {
            "run": self.run,
            "shingles": shingles,
            **{name: given[name] for name in ("threshold", "recall", "method", "audit", "seed")},
        }
        if not is_compiled():
            self.run.say("first run: compiling, which takes some seconds and is done once")

    def source(self, inputs: list[str]) -> "Source":
        from lookalike.read import Source

        given = self.given
        return Source(inputs, given["text"], given["id"], given["format"], given["on_error"])

    def settings(self, result: Any) -> dict[str, str]:
        from lookalike import __version__

        return {"version": __version__, **result.plan.settings()}

    def finish(self, result: Any) -> None:
        """Write a result's table and say what was found."""
        from lookalike.write import write_tables

        with self.run.stage("write"):
            write_tables([result.to_arrow()], self.given["out"], self.settings(result))
        self.report(result)

    def write_kept(self, source: "Source", result: Any, tick: Any) -> None:
        """Write the rows that are kept: lines of JSON as they stood, or tables with all columns."""
        from lookalike.write import write_lines, write_tables

        out = self.given["out"]
        if source.is_jsonl() and (out == "-" or out.endswith(".jsonl")):
            write_lines(_kept_lines(source, result.keep, tick), out)
        else:
            write_tables(_kept_rows(source, result.keep, tick), out, self.settings(result))

    def report(self, result: Any) -> None:
        from lookalike.cli.progress import summary

        for line in summary(result):
            self.run.say(line)


def _kept_rows(source: "Source", keep: Any, tick: Any) -> "Iterator[pa.Table]":
    import pyarrow as pa

    start = 0
    for table in source.tables():
        yield table.filter(pa.array(keep[start : start + len(table)]))
        start += len(table)
        tick(len(table))


def _kept_lines(source: "Source", keep: Any, tick: Any) -> Iterator[bytes]:
    start = 0
    for lines in source.lines():
        yield from (line for line, kept in zip(lines, keep[start : start + len(lines)], strict=True) if kept)
        start += len(lines)
        tick(len(lines))


def _column(source: "Source", name: str) -> "pa.ChunkedArray":
    """The values of one more column of all documents; strings that are all numbers, as in CSV, as numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from lookalike.errors import DataError

    found = []
    for table in source.tables():
        if table.schema.names.count(name) != 1:
            raise DataError(f"no column {name!r} to keep by; there is {', '.join(table.schema.names)}.")
        found.append(table[name])
    values = pa.chunked_array([chunk for column in found for chunk in column.chunks], found[0].type)
    if pa.types.is_nested(values.type):
        raise DataError(f"column {name!r} holds {values.type}, which has no greatest value.")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            return pc.if_else(pc.equal(values, ""), None, values).cast(pa.float64())
        except pa.ArrowInvalid:
            return values
    return values
