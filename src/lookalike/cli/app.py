"""The commands. Nothing heavy is imported before a command runs, so that help is quick."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lookalike.cli.job import Job

app = typer.Typer(
    help="Find similar documents, sets or vectors in collections too large to compare pair by pair.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Inputs = Annotated[list[str], typer.Argument(metavar="INPUT", help="Files, folders, globs, or - for standard input.")]
Left = Annotated[str, typer.Argument(metavar="LEFT", help="One collection.")]
Right = Annotated[str, typer.Argument(metavar="RIGHT", help="The other.")]
Threshold = Annotated[
    str | None,
    typer.Option("--threshold", "-t", help="Least similarity, in (0, 1], by default 0.8; or the most edits."),
]
LeastOfSets = Annotated[
    str | None,
    typer.Option("--threshold", "-t", help="Least similarity, in (0, 1], by default 0.8; or the least overlap."),
]
FormatOfSets = Annotated[str | None, typer.Option(help="parquet, arrow, jsonl, csv, tsv, or text (a set a line).")]
AuditOfSets = Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N sets.")]
Measure = Annotated[
    str, typer.Option("--measure", "-m", help="jaccard, bag, containment, cosine, overlap, edit, levenshtein.")
]
OfSets = Annotated[str, typer.Option("--measure", "-m", help="jaccard, bag, containment, cosine or overlap.")]
Filter = Annotated[
    str | None,
    typer.Option(
        help="Join exactly with these filters: length, prefix, position or suffix, each with those before it."
    ),
]
OfVectors = Annotated[
    str,
    typer.Option("--measure", "-m", help="cosine (an angle), cosine_similarity, euclidean, or hamming of bit codes."),
]
Farthest = Annotated[
    str | None,
    typer.Option("--threshold", "-t", help="Greatest distance (of cosine in degrees), or least cosine_similarity."),
]
FormatOfVectors = Annotated[
    str | None, typer.Option(help="npy, npz, fvecs, bvecs, ivecs, parquet, arrow, jsonl, csv, tsv or pictures.")
]
MethodOfVectors = Annotated[str, typer.Option(help="auto, lsh, exact or brute.")]
AuditOfVectors = Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N vectors.")]
VectorColumn = Annotated[
    str | None, typer.Option("--vector", help="The column, or the array of a .npz, of the vectors.")
]
Probes = Annotated[
    int | None, typer.Option(metavar="N", help="Look into N further buckets of each table; by default as many as pay.")
]
Against = Annotated[str | None, typer.Option(metavar="BASE", help="Match the vectors with those of this input.")]
Top = Annotated[int | None, typer.Option(metavar="K", help="With --against: the K nearest of each.")]
Result = Annotated[str, typer.Option(help="pairs, clusters, or dropped: what to drop so that no near ones are left.")]
Rows = Annotated[str | None, typer.Option(help="The columns of a table: SET,ELEMENT or SET,ELEMENT,COUNT.")]
Separator = Annotated[
    str | None, typer.Option(help="What stands between elements: by default white space, commas or semicolons.")
]
Shingle = Annotated[str, typer.Option("--shingle", "-s", help="What is compared: char:9, word:5, stop:3.")]
Recall = Annotated[float, typer.Option(help="Probability of finding a pair right at the threshold; 1 means exact.")]
Method = Annotated[str, typer.Option(help="auto, lsh or exact.")]
Sketch = Annotated[str, typer.Option(help="What is banded: minhash or simhash.")]
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

# The options of all commands on documents, with their defaults.
SHARED: dict[str, tuple[Any, Any]] = {
    "measure": (Measure, "jaccard"),
    "threshold": (Threshold, None),
    "shingle": (Shingle, "char:9"),
    "recall": (Recall, 0.99),
    "out": (Out, "-"),
    "text": (Text, None),
    "id": (Id, None),
    "format": (Format, None),
    "on_error": (OnError, "fail"),
    "method": (Method, "auto"),
    "sketch": (Sketch, "minhash"),
    "lowercase": (Lowercase, False),
    "space": (Space, "collapse"),
    "form": (Form, "nfc"),
    "audit": (Audit, 0),
    "seed": (Seed, 1),
    "threads": (Threads, None),
    "quiet": (Quiet, False),
}


# Those of the command on sets.
ON_SETS: dict[str, tuple[Any, Any]] = {
    "measure": (OfSets, "jaccard"),
    "threshold": (LeastOfSets, None),
    **{name: SHARED[name] for name in ("recall", "out")},
    "rows": (Rows, None),
    "separator": (Separator, None),
    "format": (FormatOfSets, None),
    **{name: SHARED[name] for name in ("on_error", "method", "sketch")},
    "filter": (Filter, None),
    "audit": (AuditOfSets, 0),
    **{name: SHARED[name] for name in ("seed", "threads", "quiet")},
}


# And of the command on vectors.
ON_VECTORS: dict[str, tuple[Any, Any]] = {
    "measure": (OfVectors, "cosine"),
    "threshold": (Farthest, None),
    **{name: SHARED[name] for name in ("recall", "out")},
    "vector": (VectorColumn, None),
    "id": SHARED["id"],
    "format": (FormatOfVectors, None),
    "on_error": SHARED["on_error"],
    "method": (MethodOfVectors, "auto"),
    "probes": (Probes, None),
    "audit": (AuditOfVectors, 0),
    **{name: SHARED[name] for name in ("seed", "threads", "quiet")},
}


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


def on_documents(
    *lines: str, options: dict[str, tuple[Any, Any]] = SHARED
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes a job and parameters of its own; the shared options go to the job."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function).parameters.values())[1:]

        def command(**given: Any) -> None:
            from lookalike.cli.job import Job

            function(Job(given), **{parameter.name: given[parameter.name] for parameter in own})

        shared = [own[0].replace(name=n, default=default, annotation=kind) for n, (kind, default) in options.items()]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__dict__["__signature__"] = inspect.Signature(own + shared)  # which is what typer goes by
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in own + shared}
        app.command(epilog=examples(*lines))(command)
        return function

    return register


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        from lookalike import __version__

        print(f"lookalike {__version__}")
        raise typer.Exit


@on_documents(
    "lookalike pairs corpus.parquet -t 0.8 -s word:5 -o pairs.parquet",
    "lookalike pairs 'essays/*.txt' -t 0.5 --audit 1000 -o pairs.csv",
    "zcat crawl.jsonl.gz | lookalike pairs - --text body -o pairs.jsonl",
    "lookalike pairs names.csv --measure edit -t 2 -o pairs.csv",
)
def pairs(job: "Job", inputs: Inputs, max_pairs: MaxPairs = 100_000_000) -> None:
    """List all pairs of similar documents, each one verified."""
    from lookalike.find import find_pairs

    job.finish(find_pairs(job.source(inputs), max_pairs=max_pairs, **job.options))


@on_documents("lookalike match new.jsonl archive.parquet -t 0.8 -o matches.parquet")
def match(job: "Job", left: Left, right: Right, max_pairs: MaxPairs = 100_000_000) -> None:
    """List similar pairs of a document of LEFT and a document of RIGHT."""
    from lookalike.find import find_matches

    job.finish(find_matches(job.source([left]), job.source([right]), max_pairs=max_pairs, **job.options))


@on_documents(
    "lookalike sets baskets.txt -t 0.8 -o pairs.csv",
    "lookalike sets orders.parquet --rows order,product --measure containment -t 0.9",
    "lookalike sets orders.csv --rows order,product,quantity --measure bag",
    "lookalike sets baskets.txt -t 0.9 --filter prefix",
    options=ON_SETS,
)
def sets(job: "Job", inputs: Inputs, max_pairs: MaxPairs = 100_000_000) -> None:
    """List all pairs of similar sets: one set a line, or rows of a set and an element of it."""
    from lookalike.find import find_pairs

    job.finish(find_pairs(job.sets(inputs), max_pairs=max_pairs, **job.options))


@on_documents(
    "lookalike vectors embeddings.npy -t 20 -o pairs.parquet",
    "lookalike vectors embeddings.parquet --measure cosine_similarity -t 0.9 --audit 1000 -o pairs.csv",
    "lookalike vectors queries.npy --against base.npy --top 10 --measure euclidean",
    "lookalike vectors codes.npy --measure hamming -t 3 --result clusters",
    "lookalike vectors photos/ --measure hamming -t 6",
    options=ON_VECTORS,
)
def vectors(
    job: "Job",
    inputs: Inputs,
    against: Against = None,
    top: Top = None,
    result: Result = "pairs",
    max_pairs: MaxPairs = 100_000_000,
) -> None:
    """List all pairs of near vectors: embeddings, rows of numbers, bit codes, pictures."""
    job.vectors(inputs, against, top, result, max_pairs)


@on_documents(
    "lookalike dedup corpus.parquet -o clean.parquet --removed removed.parquet",
    "lookalike dedup crawl.jsonl.zst -t 0.7 -s word:5 --keep longest -o clean.jsonl",
)
def dedup(job: "Job", inputs: Inputs, removed: Removed = None, keep: Keep = "first") -> None:
    """Drop documents that are similar to one that is kept, and write the rest with all their columns."""
    job.dedup(inputs, keep, removed)


@on_documents("lookalike clusters news/ -t 0.6 -o clusters.csv")
def clusters(job: "Job", inputs: Inputs) -> None:
    """Group documents that are connected by similar pairs, without listing the pairs."""
    from lookalike.find import find_clusters

    job.finish(find_clusters(job.source(inputs), **job.options))


RECORD_EXAMPLES = (
    "lookalike resolve a.csv b.csv --field name --field address:street --field phone:telephone -o matches.csv",
    "lookalike resolve a.csv b.csv -f name -f phone --validate created --max-lag 90 --precision 0.95 --plot shares.svg",
    "lookalike resolve customers.parquet -f name=name -f born=date -f 'mail=category*2' --clusters people.csv",
)


@app.command(epilog=examples(*RECORD_EXAMPLES))
def resolve(
    left: Annotated[str, typer.Argument(metavar="A", help="A table of records.")],
    right: Annotated[str | None, typer.Argument(metavar="[B]", help="Another; without it A within itself.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", "-f", help="What is compared: COLUMN[:COLUMN_OF_B][=KIND][*WEIGHT]; several of them."),
    ] = None,
    out: Out = "-",
    id: Annotated[str | None, typer.Option("--id", help="The column of the id, COLUMN[:B'S]; - counts rows.")] = None,
    validate: Annotated[
        str | None,
        typer.Option(help="A column of dates or numbers, not scored, that tells matches: COLUMN[:B'S]."),
    ] = None,
    max_lag: Annotated[
        float | None, typer.Option(help="B's value of that column is at most so much more than A's, and no less.")
    ] = None,
    precision: Annotated[float | None, typer.Option(help="The share of true matches wanted, on average.")] = None,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="No record in two matches.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Write all pairs that were scored, not just matches.")] = False,
    clusters: Annotated[str | None, typer.Option(metavar="FILE", help="Write the groups of records too.")] = None,
    table: Annotated[str | None, typer.Option(metavar="FILE", help="Write what the probabilities rest on.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the true matches by score.")] = None,
    threshold: Annotated[float, typer.Option(help="Look at records whose shingles are so alike.")] = 0.6,
    nearest: Annotated[int, typer.Option(help="In small tables, look at so many nearest by each field of words.")] = 2,
    separator: Annotated[str | None, typer.Option(help="What stands between the cells of CSV, if not a comma.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet, arrow, jsonl, csv or tsv.")] = None,
    on_error: OnError = "fail",
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find the records of two tables, or of one, that are of the same person or thing, and how sure that is."""
    from lookalike.cli.records import show_matches
    from lookalike.errors import UsageError

    given = dict(locals())
    if not field:
        raise UsageError("name at least one --field to compare, such as --field name.")
    given["all"] = given.pop("every")
    show_matches(left, right, given)


FamilyName = Annotated[
    str, typer.Option("--family", help="What is banded: minhash, hyperplanes, bits:DIMENSIONS or lines:WIDTH.")
]


@app.command(
    epilog=examples(
        "lookalike curve --bands 20 --rows 5 --plot curve.png",
        "lookalike curve --cascade 'And(4) >> Or(4) >> Or(4) >> And(4)'",
        "lookalike curve --bands 11 --rows 9 --family hyperplanes",
    )
)
def curve(
    bands: Annotated[int | None, typer.Option(help="How many bands.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many functions a band.")] = None,
    cascade: Annotated[str | None, typer.Option(help="In place of bands and rows: any ANDs and ORs.")] = None,
    family: FamilyName = "minhash",
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to a .png, .svg or .pdf file.")] = None,
) -> None:
    """Show how likely a pair of each similarity, or at each distance, becomes a candidate."""
    from lookalike.cli.curves import cascade_of, show_curve

    show_curve(*cascade_of(bands, rows, cascade), family, plot)


@app.command(
    epilog=examples(
        "lookalike tune --threshold 0.8 --recall 0.99",
        "lookalike tune --threshold 20 --family hyperplanes",
    )
)
def tune(
    threshold: Annotated[float, typer.Option("--threshold", "-t", help="Similarity, or distance, to be found.")],
    recall: Annotated[float, typer.Option(help="How surely.")] = 0.99,
    hashes: Annotated[int, typer.Option(help="The most functions to use.")] = 512,
    family: FamilyName = "minhash",
) -> None:
    """Show the bands and rows that reach a recall at a threshold, and what each costs."""
    from lookalike.cli.curves import show_choices

    show_choices(threshold, recall, hashes, family)


@app.command(epilog=examples("lookalike demo"))
def demo(threads: Threads = None) -> None:
    """Find the similar documents among the few dozen that come with lookalike."""
    from lookalike.cli.demo import show_demo

    show_demo(threads)
