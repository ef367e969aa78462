"""The options of the commands: their types, their help and their defaults."""

from typing import Annotated, Any

import typer

INPUT, SHINGLES, RUNNING = "Input", "Shingles", "How it is run"  # parts of the help


def among(*values: str) -> dict[str, Any]:
    """What shells offer for an option."""
    return {"autocompletion": lambda incomplete: [value for value in values if value.startswith(incomplete)]}


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
FormatOfSets = Annotated[
    str | None, typer.Option(help="parquet, arrow, jsonl, csv, tsv, or text (a set a line).", rich_help_panel=INPUT)
]
AuditOfSets = Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N sets.")]
Measure = Annotated[
    str,
    typer.Option(
        "--measure",
        "-m",
        help="jaccard, bag, containment, cosine, overlap, edit, levenshtein.",
        **among("jaccard", "bag", "containment", "cosine", "overlap", "edit", "levenshtein"),
    ),
]
OfSets = Annotated[
    str,
    typer.Option(
        "--measure",
        "-m",
        help="jaccard, bag, containment, cosine or overlap.",
        **among("jaccard", "bag", "containment", "cosine", "overlap"),
    ),
]
Filter = Annotated[
    str | None,
    typer.Option(
        help="Join exactly with these filters: length, prefix, position or suffix, each with those before it.",
        **among("length", "prefix", "position", "suffix"),
        rich_help_panel=RUNNING,
    ),
]
OfVectors = Annotated[
    str,
    typer.Option(
        "--measure",
        "-m",
        help="cosine (an angle), cosine_similarity, euclidean, or hamming of bit codes.",
        **among("cosine", "cosine_similarity", "euclidean", "hamming"),
    ),
]
Farthest = Annotated[
    str | None,
    typer.Option("--threshold", "-t", help="Greatest distance (of cosine in degrees), or least cosine_similarity."),
]
FormatOfVectors = Annotated[
    str | None,
    typer.Option(
        help="npy, npz, fvecs, bvecs, ivecs, parquet, arrow, jsonl, csv, tsv or pictures.", rich_help_panel=INPUT
    ),
]
MethodOfVectors = Annotated[
    str,
    typer.Option(help="auto, lsh, exact or brute.", **among("auto", "lsh", "exact", "brute"), rich_help_panel=RUNNING),
]
AuditOfVectors = Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N vectors.")]
VectorColumn = Annotated[
    str | None,
    typer.Option("--vector", help="The column, or the array of a .npz, of the vectors.", rich_help_panel=INPUT),
]
Probes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Look into N further buckets of each table; by default as many as pay.",
        rich_help_panel=RUNNING,
    ),
]
Against = Annotated[str | None, typer.Option(metavar="BASE", help="Match the vectors with those of this input.")]
Top = Annotated[int | None, typer.Option(metavar="K", help="With --against: the K nearest of each.")]
Result = Annotated[
    str,
    typer.Option(
        help="pairs, clusters, or dropped: what to drop so that no near ones are left.",
        **among("pairs", "clusters", "dropped"),
    ),
]
Rows = Annotated[
    str | None, typer.Option(help="The columns of a table: SET,ELEMENT or SET,ELEMENT,COUNT.", rich_help_panel=INPUT)
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What stands between elements: by default white space, commas or semicolons.", rich_help_panel=INPUT
    ),
]
Shingle = Annotated[
    str,
    typer.Option(
        "--shingle",
        "-s",
        help="What is compared: char:9, word:5, stop:3.",
        **among("char:9", "char:5", "word:5", "word:3", "stop:3"),
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(
        help="For stop:3: languages, such as de or en,fr, or a file of words; English by default.",
        rich_help_panel=SHINGLES,
    ),
]
Antecedents = Annotated[
    str | None,
    typer.Option(
        help="For stop:3: the words that shingles begin with, such as the,a,is; or a file of them.",
        rich_help_panel=SHINGLES,
    ),
]
SpotDistance = Annotated[
    int, typer.Option(metavar="D", help="For stop:3: take every D-th of the words after one.", rich_help_panel=SHINGLES)
]
SkipStops = Annotated[
    bool, typer.Option("--skip-stops", help="For stop:3: pass over stop words after one.", rich_help_panel=SHINGLES)
]
Html = Annotated[
    bool,
    typer.Option("--html", help="The texts are web pages: compare what a reader sees of them.", rich_help_panel=INPUT),
]
Article = Annotated[
    bool,
    typer.Option(
        "--article",
        help="The same without menus, advertisements and footers: the article of a page.",
        rich_help_panel=INPUT,
    ),
]
Recall = Annotated[float, typer.Option(help="Probability of finding a pair right at the threshold; 1 means exact.")]
Method = Annotated[
    str, typer.Option(help="auto, lsh or exact.", **among("auto", "lsh", "exact"), rich_help_panel=RUNNING)
]
Sketch = Annotated[
    str,
    typer.Option(help="What is banded: minhash or simhash.", **among("minhash", "simhash"), rich_help_panel=RUNNING),
]
Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", help="A .parquet, .arrow, .jsonl, .csv or .tsv file, also in .gz; - prints JSON lines."
    ),
]
Text = Annotated[str | None, typer.Option(help="The column of the text.", rich_help_panel=INPUT)]
Id = Annotated[
    str | None, typer.Option("--id", help="The column of the id; - numbers the rows.", rich_help_panel=INPUT)
]
TextOfTwo = Annotated[
    str | None, typer.Option("--text", help="The column of the text: COLUMN, or COLUMN:RIGHT'S.", rich_help_panel=INPUT)
]
IdOfTwo = Annotated[
    str | None,
    typer.Option("--id", help="That of the id, COLUMN[:RIGHT'S]; - numbers the rows.", rich_help_panel=INPUT),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="parquet, arrow, jsonl, csv, tsv, text (a document a line) or files.",
        **among("parquet", "arrow", "jsonl", "csv", "tsv", "text", "files"),
        rich_help_panel=INPUT,
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        help="What to do with bad rows: fail, or skip and count them.", **among("fail", "skip"), rich_help_panel=INPUT
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Of CSV, JSON lines and text, if not utf-8: windows-1252, utf-16, ...",
        rich_help_panel=INPUT,
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case.", rich_help_panel=SHINGLES)]
Space = Annotated[
    str,
    typer.Option(
        help="White space between characters: collapse, keep or remove.",
        **among("collapse", "keep", "remove"),
        rich_help_panel=SHINGLES,
    ),
]
Form = Annotated[
    str,
    typer.Option(
        help="Unicode normal form: nfc, nfkc or none.", **among("nfc", "nfkc", "none"), rich_help_panel=SHINGLES
    ),
]
Audit = Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N documents.")]
Seed = Annotated[int, typer.Option(help="Other seeds give other hash functions.", rich_help_panel=RUNNING)]
Threads = Annotated[
    int | None, typer.Option(help="How many threads to use; all cores by default.", rich_help_panel=RUNNING)
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Get by with about this memory, such as 2GB, and files in --workdir.",
        rich_help_panel=RUNNING,
    ),
]
Workdir = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="The folder of these files: a run that was cut off goes on from there. OUT.work by default.",
        rich_help_panel=RUNNING,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        help="local, or spark: on a cluster, which reads the input and writes folders.",
        **among("local", "spark"),
        rich_help_panel=RUNNING,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="With --engine spark: the cluster, or local[4].", rich_help_panel=RUNNING),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
MaxPairs = Annotated[int, typer.Option(help="Fail rather than list more pairs than this.", rich_help_panel=RUNNING)]
Report = Annotated[
    str | None, typer.Option(metavar="PAGE", help="Write a page that shows the result, such as report.html.")
]
Removed = Annotated[str | None, typer.Option(help="Write what was dropped, and for which kept document, to this file.")]
AgainstIndex = Annotated[
    str | None, typer.Option(metavar="INDEX", help="Drop what is similar to an item of this index, too, in one pass.")
]
Update = Annotated[
    bool, typer.Option("--update", help="With --against: add what is kept to the index, which is made if need be.")
]
Keep = Annotated[
    str,
    typer.Option(
        help="Which of similar ones to keep: first, longest, or greatest of a COLUMN.", **among("first", "longest")
    ),
]

# The options of all commands on documents, with their defaults.
SHARED: dict[str, tuple[Any, Any]] = {
    "measure": (Measure, "jaccard"),
    "threshold": (Threshold, None),
    "shingle": (Shingle, "char:9"),
    "html": (Html, False),
    "article": (Article, False),
    "recall": (Recall, 0.99),
    "out": (Out, "-"),
    "report": (Report, None),
    "text": (Text, None),
    "id": (Id, None),
    "format": (Format, None),
    "encoding": (Encoding, "utf-8"),
    "on_error": (OnError, "fail"),
    "lowercase": (Lowercase, False),
    "space": (Space, "collapse"),
    "form": (Form, "nfc"),
    "stop_words": (StopWords, None),
    "antecedents": (Antecedents, None),
    "spot_distance": (SpotDistance, 1),
    "skip_stops": (SkipStops, False),
    "method": (Method, "auto"),
    "sketch": (Sketch, "minhash"),
    "audit": (Audit, 0),
    "seed": (Seed, 1),
    "threads": (Threads, None),
    "quiet": (Quiet, False),
}


# Those of the commands on one collection of documents.
ON_ONE: dict[str, tuple[Any, Any]] = {
    **SHARED,
    "memory": (Memory, None),
    "workdir": (Workdir, None),
    "engine": (Engine, "local"),
    "master": (Master, None),
}


# Those of the command on two collections of documents.
ON_TWO: dict[str, tuple[Any, Any]] = {**SHARED, "text": (TextOfTwo, None), "id": (IdOfTwo, None)}


# Those of the command on sets.
ON_SETS: dict[str, tuple[Any, Any]] = {
    "measure": (OfSets, "jaccard"),
    "threshold": (LeastOfSets, None),
    **{name: SHARED[name] for name in ("recall", "out", "report")},
    "rows": (Rows, None),
    "separator": (Separator, None),
    "format": (FormatOfSets, None),
    **{name: SHARED[name] for name in ("encoding", "on_error", "method", "sketch")},
    "filter": (Filter, None),
    "audit": (AuditOfSets, 0),
    **{name: SHARED[name] for name in ("seed", "threads", "quiet")},
}


# And of the command on vectors.
ON_VECTORS: dict[str, tuple[Any, Any]] = {
    "measure": (OfVectors, "cosine"),
    "threshold": (Farthest, None),
    **{name: SHARED[name] for name in ("recall", "out", "report")},
    "vector": (VectorColumn, None),
    "id": SHARED["id"],
    "format": (FormatOfVectors, None),
    **{name: SHARED[name] for name in ("encoding", "on_error")},
    "method": (MethodOfVectors, "auto"),
    "probes": (Probes, None),
    "audit": (AuditOfVectors, 0),
    **{name: SHARED[name] for name in ("seed", "threads", "quiet")},
}


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])
