"""The options that several commands have: single ones, and groups of them, each with its help and its default.

An option of one command alone is in the file of that command. The fields of a group are named as the parameters of
the function that they are passed on to: `Source(inputs, **vars(columns))`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

INPUT, SHINGLES, RUNNING = "Input", "Shingles", "How it is run"  # parts of the help


def option(
    *names: str,
    help: str,
    panel: str | None = None,  # the part of the help; none for the first
    metavar: str | None = None,
    offer: tuple[str, ...] | Callable[[], tuple[str, ...]] = (),
) -> Any:
    """Return a typer option. Shells offer the values of `offer`; a function is called when they ask."""

    def offered(incomplete: str) -> list[str]:
        values = offer() if callable(offer) else offer
        return [value for value in values if value.startswith(incomplete)]

    return typer.Option(
        *names, help=help, rich_help_panel=panel, metavar=metavar, autocompletion=offered if offer else None
    )


def measures_of(*domains: str) -> Callable[[], tuple[str, ...]]:
    """Return a function that gives the names of the measures of some domains, and loads their table only then."""

    def names() -> tuple[str, ...]:
        from lookalike.measures.table import usual_names

        return usual_names(*domains)

    return names


def keywords(*groups: Any) -> dict[str, Any]:
    """Return the options of groups by name, to be passed on; those that are None are left to the callee's defaults."""
    return {name: value for group in groups for name, value in vars(group).items() if value is not None}


# --- what is read ---

Inputs = Annotated[list[str], typer.Argument(metavar="INPUT", help="Files, folders, globs, or - for standard input.")]
Text = Annotated[str | None, option(help="The column of the text.", panel=INPUT)]
Id = Annotated[str | None, option(help="The column of the id; - numbers the rows.", panel=INPUT)]
Format = Annotated[
    str | None,
    option(
        help="parquet, arrow, jsonl, csv, tsv, text (a document a line) or files.",
        offer=("parquet", "arrow", "jsonl", "csv", "tsv", "text", "files"),
        panel=INPUT,
    ),
]
Encoding = Annotated[
    str,
    option(metavar="NAME", help="Of CSV, JSON lines and text, if not utf-8: windows-1252, utf-16, ...", panel=INPUT),
]
OnError = Annotated[
    str, option(help="What to do with bad rows: fail, or skip and count them.", offer=("fail", "skip"), panel=INPUT)
]
Rows = Annotated[str | None, option(help="The columns of a table: SET,ELEMENT or SET,ELEMENT,COUNT.", panel=INPUT)]
Separator = Annotated[
    str | None, option(help="What stands between elements: by default white space, commas or semicolons.", panel=INPUT)
]
CsvSeparator = Annotated[str | None, option(help="What stands between the cells of CSV, if not a comma.")]
VectorColumn = Annotated[str | None, option(help="The column, or the array of a .npz, of the vectors.", panel=INPUT)]


@dataclass(frozen=True)
class PageOptions:
    """Whether documents are web pages, and what of them is compared."""

    html: Annotated[
        bool, option("--html", help="The texts are web pages: compare what a reader sees of them.", panel=INPUT)
    ] = False
    article: Annotated[
        bool,
        option(
            "--article", help="The same without menus, advertisements and footers: the article of a page.", panel=INPUT
        ),
    ] = False

    @property
    def compared(self) -> str | None:
        """What is compared of web pages, as result files have it; None if the documents are not any."""
        return "article" if self.article else "visible text" if self.html else None


@dataclass(frozen=True)
class ColumnOptions:
    """Where documents are in the inputs."""

    text: Text = None
    id: Id = None
    format: Format = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"


@dataclass(frozen=True)
class ReadingOptions:
    """How documents are read."""

    pages: PageOptions
    columns: ColumnOptions


@dataclass(frozen=True)
class SetOptions:
    """How sets are read."""

    rows: Rows = None
    separator: Separator = None
    format: Annotated[
        str | None, option(help="parquet, arrow, jsonl, csv, tsv, or text (a set a line).", panel=INPUT)
    ] = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"


@dataclass(frozen=True)
class VectorOptions:
    """How vectors are read."""

    vector: VectorColumn = None
    id: Id = None
    format: Annotated[
        str | None,
        option(help="npy, npz, fvecs, bvecs, ivecs, parquet, arrow, jsonl, csv, tsv or pictures.", panel=INPUT),
    ] = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"


@dataclass(frozen=True)
class TableOptions:
    """How tables are read."""

    separator: CsvSeparator = None
    format: Annotated[str | None, option(help="parquet, arrow, jsonl, csv or tsv.")] = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"


IndexPath = Annotated[str, typer.Argument(metavar="INDEX", help="The folder of the index.")]

# --- what similar means ---

Recall = Annotated[float, option(help="Probability of finding a pair right at the threshold; 1 means exact.")]
Shingle = Annotated[
    str,
    option(
        "--shingle",
        "-s",
        help="What is compared: char:9, word:5, stop:3.",
        offer=("char:9", "char:5", "word:5", "word:3", "stop:3"),
    ),
]


@dataclass(frozen=True)
class SimilarityOptions:
    """What similar documents are, and how many of them may be missed."""

    measure: Annotated[
        str,
        option(
            "--measure",
            "-m",
            help="jaccard, bag, containment, cosine, overlap, edit, levenshtein.",
            offer=measures_of("sets", "bags", "strings"),
        ),
    ] = "jaccard"
    threshold: Annotated[
        str | None, option("--threshold", "-t", help="Least similarity, in (0, 1], by default 0.8; or the most edits.")
    ] = None
    shingle: Shingle = "char:9"
    recall: Recall = 0.99


@dataclass(frozen=True)
class ShingleOptions:
    """How texts become shingles."""

    lowercase: Annotated[bool, option("--lowercase", help="Ignore case.", panel=SHINGLES)] = False
    space: Annotated[
        str,
        option(
            help="White space between characters: collapse, keep or remove.",
            offer=("collapse", "keep", "remove"),
            panel=SHINGLES,
        ),
    ] = "collapse"
    form: Annotated[
        str, option(help="Unicode normal form: nfc, nfkc or none.", offer=("nfc", "nfkc", "none"), panel=SHINGLES)
    ] = "nfc"
    stop_words: Annotated[
        str | None,
        option(
            help="For stop:3: languages, such as de or en,fr, or a file of words; English by default.", panel=SHINGLES
        ),
    ] = None
    antecedents: Annotated[
        str | None,
        option(
            help="For stop:3: the words that shingles begin with, such as the,a,is; or a file of them.", panel=SHINGLES
        ),
    ] = None
    spot_distance: Annotated[
        int, option(metavar="D", help="For stop:3: take every D-th of the words after one.", panel=SHINGLES)
    ] = 1
    skip_stops: Annotated[
        bool, option("--skip-stops", help="For stop:3: pass over stop words after one.", panel=SHINGLES)
    ] = False


# --- what is written ---

Out = Annotated[
    str, option("--out", "-o", help="A .parquet, .arrow, .jsonl, .csv or .tsv file, also in .gz; - prints JSON lines.")
]
Report = Annotated[str | None, option(metavar="PAGE", help="Write a page that shows the result, such as report.html.")]


@dataclass(frozen=True)
class OutputOptions:
    """Where a result goes."""

    out: Out = "-"
    report: Report = None


# --- how it is run ---

Method = Annotated[str, option(help="auto, lsh or exact.", offer=("auto", "lsh", "exact"), panel=RUNNING)]
Sketch = Annotated[str, option(help="What is banded: minhash or simhash.", offer=("minhash", "simhash"), panel=RUNNING)]
Seed = Annotated[int, option(help="Other seeds give other hash functions.", panel=RUNNING)]
Threads = Annotated[int | None, option(help="How many threads to use; all cores by default.", panel=RUNNING)]
Quiet = Annotated[bool, option("--quiet", "-q", help="Print errors only.")]
MaxPairs = Annotated[int, option(help="Fail rather than list more pairs than this.", panel=RUNNING)]

FamilyName = Annotated[str, option(help="What is banded: minhash, hyperplanes, bits:DIMENSIONS or lines:WIDTH.")]


@dataclass(frozen=True)
class SearchOptions:
    """How similar documents are found."""

    method: Method = "auto"
    sketch: Sketch = "minhash"
    audit: Annotated[int, option(metavar="N", help="Measure the recall on a sample of N documents.")] = 0
    seed: Seed = 1


@dataclass(frozen=True)
class RunOptions:
    """How many threads there are, and whether anything is said."""

    threads: Threads = None
    quiet: Quiet = False


@dataclass(frozen=True)
class WorkOptions:
    """How much memory may be used, and where the rest is kept."""

    memory: Annotated[
        str | None,
        option(
            metavar="SIZE", help="Get by with about this memory, such as 2GB, and files in --workdir.", panel=RUNNING
        ),
    ] = None
    workdir: Annotated[
        str | None,
        option(
            metavar="DIR",
            help="The folder of these files: a run that was cut off goes on from there. OUT.work by default.",
            panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True)
class EngineOptions:
    """Whether this machine does the work, or a cluster."""

    engine: Annotated[
        str,
        option(
            help="local, or spark: on a cluster, which reads the input and writes folders.",
            offer=("local", "spark"),
            panel=RUNNING,
        ),
    ] = "local"
    master: Annotated[
        str | None, option(metavar="URL", help="With --engine spark: the cluster, or local[4].", panel=RUNNING)
    ] = None


# --- all of a command ---


@dataclass(frozen=True)
class DocumentOptions:
    """What the commands on documents have in common: pairs, match, dedup, clusters."""

    similarity: SimilarityOptions
    reading: ReadingOptions
    output: OutputOptions
    shingling: ShingleOptions
    search: SearchOptions
    running: RunOptions


@dataclass(frozen=True)
class CollectionOptions(DocumentOptions):
    """What the commands on one collection of documents have in common: pairs, dedup, clusters."""

    work: WorkOptions
    engine: EngineOptions
