"""Define the options that several commands share, singly and in groups, with help and defaults.

Options of a single command are in the file of that command. The fields of a group have the names
of the parameters they are passed to: `Source(inputs, **vars(columns))`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

INPUT, SHINGLES, RUNNING = "Input", "Shingles", "Execution"  # titles of panels in the help


def option(
    *names: str,
    help: str,
    panel: str | None = None,  # None: the first panel
    metavar: str | None = None,
    offer: tuple[str, ...] | Callable[[], tuple[str, ...]] = (),
) -> Any:
    """Return a typer option; shell completion offers `offer`, or the values that it returns."""

    def offered(incomplete: str) -> list[str]:
        values = offer() if callable(offer) else offer
        return [value for value in values if value.startswith(incomplete)]

    if metavar is None and offer:
        metavar = "NAME"
    return typer.Option(
        *names, help=help, rich_help_panel=panel, metavar=metavar, autocompletion=offered if offer else None
    )


def flag(*names: str, help: str, panel: str | None = None) -> Any:
    """Return a typer option that takes no value."""
    return option(*names, help=help, panel=panel, metavar="")


def threshold_option(help: str) -> Any:
    """Return the option --threshold of a command."""
    return option("--threshold", "-t", metavar="NUMBER", help=help)


def measures_of(*domains: str) -> Callable[[], tuple[str, ...]]:
    """Return a function that names the measures of some domains, loading their table only then."""

    def names() -> tuple[str, ...]:
        from lookalike.measures.table import usual_names

        return usual_names(*domains)

    return names


def keywords(*groups: Any) -> dict[str, Any]:
    """Return the options of groups as keywords, without those that are None."""
    return {name: value for group in groups for name, value in vars(group).items() if value is not None}


# --- input ---

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT", help="Files, folders, globs or addresses such as s3://crawl/*.parquet; - for standard input."
    ),
]
Text = Annotated[
    str | None, option(metavar="COLUMN", help="Column that holds the text; default: inferred.", panel=INPUT)
]
Id = Annotated[
    str | None,
    option(metavar="COLUMN", help="Column that holds the id; - uses row numbers; default: id, if any.", panel=INPUT),
]
DOCUMENT_FORMATS = ("parquet", "arrow", "jsonl", "csv", "tsv", "excel", "database", "warc", "text", "files")
Format = Annotated[
    str | None,
    option(
        help="Format: parquet, arrow, jsonl, csv, tsv, excel, database, warc, text (one document per line) or files "
        "(one per file).",
        offer=DOCUMENT_FORMATS,
        panel=INPUT,
    ),
]
Encoding = Annotated[
    str,
    option(metavar="NAME", help="Encoding of CSV, JSON lines and text, such as windows-1252 or utf-16.", panel=INPUT),
]
OnError = Annotated[
    str, option(help="What to do with bad rows: fail, or skip and count them.", offer=("fail", "skip"), panel=INPUT)
]
OnBadFile = Annotated[
    str,
    option(
        help="What to do with damaged files: fail, or skip and name them, which reads all files once more.",
        offer=("fail", "skip"),
        panel=INPUT,
    ),
]
MaxDocumentBytes = Annotated[
    str, option(metavar="SIZE", help="A document of more than this, such as 64MB, is a bad row.", panel=INPUT)
]
Rows = Annotated[
    str | None,
    option(
        metavar="COLUMNS",
        help="For tables with one element per row: the columns SET,ELEMENT or SET,ELEMENT,COUNT.",
        panel=INPUT,
    ),
]
Separator = Annotated[
    str | None,
    option(metavar="STRING", help="Separator between elements; default: white space, comma, semicolon.", panel=INPUT),
]
CsvSeparator = Annotated[
    str | None, option(metavar="STRING", help="Separator between CSV cells; default: inferred.", panel=INPUT)
]
Columns = Annotated[
    str | None,
    option(metavar="NAMES", help="Columns to write besides text and id, such as url,date; default: all."),
]
Mark = Annotated[
    bool,
    flag(
        "--mark",
        help="Write all rows, with the columns duplicate_of, similarity, cluster and copies, instead of dropping any.",
    ),
]
MarkRows = Annotated[
    bool, flag("--rows", help="Write all rows of the inputs, with the columns cluster and size, instead of a list.")
]
VectorColumn = Annotated[
    str | None, option(metavar="COLUMN", help="Column, or array of a .npz file, that holds the vectors.", panel=INPUT)
]


@dataclass(frozen=True)
class PageOptions:
    """Whether documents are web pages, and which part of them is compared."""

    html: Annotated[
        bool, flag("--html", help="The documents are web pages; compare only their visible text.", panel=INPUT)
    ] = False
    article: Annotated[
        bool, flag("--article", help="Like --html, but without menus, advertisements and footers.", panel=INPUT)
    ] = False

    @property
    def compared(self) -> str | None:
        """The compared part of web pages, as result files name it; None for other documents."""
        return "article" if self.article else "visible text" if self.html else None


@dataclass(frozen=True)
class ColumnOptions:
    """Where to find documents in the inputs."""

    text: Text = None
    id: Id = None
    format: Format = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"
    on_bad_file: OnBadFile = "fail"
    max_document_bytes: MaxDocumentBytes = "64MB"


@dataclass(frozen=True)
class ReadingOptions:
    """How to read documents."""

    pages: PageOptions
    columns: ColumnOptions


@dataclass(frozen=True)
class SetOptions:
    """How to read sets."""

    rows: Rows = None
    separator: Separator = None
    format: Annotated[
        str | None,
        option(
            metavar="NAME",
            help="Format: parquet, arrow, jsonl, csv, tsv, excel, database, warc or text (one set per line).",
            panel=INPUT,
        ),
    ] = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"
    on_bad_file: OnBadFile = "fail"


@dataclass(frozen=True)
class VectorOptions:
    """How to read vectors."""

    vector: VectorColumn = None
    id: Id = None
    format: Annotated[
        str | None,
        option(
            metavar="NAME",
            help="Format: npy, npz, fvecs, bvecs, ivecs, parquet, arrow, jsonl, csv, tsv, excel, database or pictures.",
            panel=INPUT,
        ),
    ] = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"
    on_bad_file: OnBadFile = "fail"


@dataclass(frozen=True)
class TableOptions:
    """How to read tables."""

    separator: CsvSeparator = None
    format: Annotated[
        str | None,
        option(metavar="NAME", help="Format: parquet, arrow, jsonl, csv, tsv, excel, database or warc.", panel=INPUT),
    ] = None
    encoding: Encoding = "utf-8"
    on_error: OnError = "fail"
    on_bad_file: OnBadFile = "fail"


IndexPath = Annotated[str, typer.Argument(metavar="INDEX", help="Folder of the index.")]

# --- similarity ---

Recall = Annotated[float, option(help="Probability of finding a pair exactly at the threshold; 1 finds every pair.")]
Shingle = Annotated[
    str,
    option(
        "--shingle",
        "-s",
        metavar="UNIT:K",
        help="Shingles to compare: char:9 (9 characters), word:5 (5 words) or stop:3 (a stop word and the next 2).",
        offer=("char:9", "char:5", "word:5", "word:3", "stop:3"),
    ),
]


Weights = Annotated[
    str | None,
    option(
        help="Give rare shingles or elements more weight: idf compares by weighted Jaccard similarity.",
        offer=("idf",),
    ),
]
DropCommon = Annotated[
    str | None,
    option(metavar="SHARE", help="Ignore shingles or elements in more than this share of the items, such as 1%."),
]


@dataclass(frozen=True)
class SimilarityOptions:
    """When documents are similar, and how surely similar ones are found."""

    measure: Annotated[
        str,
        option(
            "--measure",
            "-m",
            help="Measure: jaccard, bag, containment, cosine, overlap, edit or levenshtein.",
            offer=measures_of("sets", "bags", "strings"),
        ),
    ] = "jaccard"
    threshold: Annotated[
        str | None,
        threshold_option("Minimum similarity in (0, 1] (default: 0.8), minimum overlap, or maximum number of edits."),
    ] = None
    shingle: Shingle = "char:9"
    recall: Recall = 0.99
    weights: Weights = None
    drop_common: DropCommon = None


@dataclass(frozen=True)
class PairOptions:
    """Which pairs of documents count."""

    within: Annotated[
        str | None, option(metavar="COLUMN", help="Count only pairs with the same value in this column, such as lang.")
    ] = None
    across: Annotated[
        str | None, option(metavar="COLUMN", help="Count only pairs with different values in this column.")
    ] = None


@dataclass(frozen=True)
class ShingleOptions:
    """How texts become shingles."""

    lowercase: Annotated[bool, flag("--lowercase", help="Ignore case.", panel=SHINGLES)] = False
    space: Annotated[
        str,
        option(
            help="White space in shingles of characters: collapse, keep or remove.",
            offer=("collapse", "keep", "remove"),
            panel=SHINGLES,
        ),
    ] = "collapse"
    form: Annotated[
        str, option(help="Unicode normal form: nfc, nfkc or none.", offer=("nfc", "nfkc", "none"), panel=SHINGLES)
    ] = "nfc"
    punctuation: Annotated[
        str,
        option(
            help="Punctuation in shingles of K words: drop (ignore it, except in texts shorter than K words) or keep.",
            offer=("drop", "keep"),
            panel=SHINGLES,
        ),
    ] = "drop"
    stop_words: Annotated[
        str | None,
        option(
            metavar="LIST",
            help="For stop:3: languages of the stop words, such as de or en,fr, or a file of words; default: English.",
            panel=SHINGLES,
        ),
    ] = None
    antecedents: Annotated[
        str | None,
        option(
            metavar="LIST",
            help="For stop:3: words that shingles can begin with, such as the,a,is, or a file of words; default: all "
            "stop words.",
            panel=SHINGLES,
        ),
    ] = None
    spot_distance: Annotated[
        int,
        option(
            metavar="D",
            help="For stop:3: use every D-th of the words after the stop word; 1 uses those right after it.",
            panel=SHINGLES,
        ),
    ] = 1
    skip_stops: Annotated[
        bool, flag("--skip-stops", help="For stop:3: after the stop word, skip other stop words.", panel=SHINGLES)
    ] = False


# --- output ---

OUT = (
    "Output file: .parquet, .arrow, .jsonl, .csv or .tsv (text formats also with .gz or .zst); - prints JSON lines. "
    "Can be an address, such as s3://crawl/clean.parquet."
)
FOLDER = " With dedup and clusters --rows also a folder, such as clean/: one file per input."
Out = Annotated[str, option("--out", "-o", metavar="FILE", help=OUT)]
Report = Annotated[
    str | None, option(metavar="PAGE", help="Also write a web page that shows the result, such as report.html.")
]


ExcelSafe = Annotated[
    bool, flag("--excel-safe", help="In CSV and TSV, put ' before texts that a spreadsheet would take for formulas.")
]


@dataclass(frozen=True)
class OutputOptions:
    """Where to write a result."""

    out: Out = "-"
    report: Report = None
    excel_safe: ExcelSafe = False


@dataclass(frozen=True)
class CollectionOutputOptions(OutputOptions):
    """Where to write a result, which for some commands can be a folder."""

    out: Annotated[str, option("--out", "-o", metavar="FILE", help=OUT + FOLDER)] = "-"


# --- execution ---

Method = Annotated[
    str,
    option(
        help="Method: auto (the cheapest), lsh (hashing) or exact (misses nothing).",
        offer=("auto", "lsh", "exact"),
        panel=RUNNING,
    ),
]
Sketch = Annotated[
    str, option(help="Signature for lsh: minhash or simhash.", offer=("minhash", "simhash"), panel=RUNNING)
]
Seed = Annotated[int, option(metavar="N", help="Seed of the hash functions.", panel=RUNNING)]
Threads = Annotated[int | None, option(metavar="N", help="Number of threads; default: all cores.", panel=RUNNING)]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Print errors only.")]
LogFormat = Annotated[
    str, option(help="Lines on standard error: text, or json (an object each).", offer=("text", "json"), panel=RUNNING)
]
MaxPairs = Annotated[int, option(metavar="N", help="Fail if there are more pairs than this.", panel=RUNNING)]

FamilyName = Annotated[
    str, option(metavar="NAME", help="Hash family: minhash, hyperplanes, bits:DIMENSIONS or lines:WIDTH.")
]


@dataclass(frozen=True)
class SearchOptions:
    """How to find similar documents."""

    method: Method = "auto"
    sketch: Sketch = "minhash"
    audit: Annotated[int, option(metavar="N", help="Measure the recall on a sample of N documents; 0: no audit.")] = 0
    seed: Seed = 1


@dataclass(frozen=True)
class RunOptions:
    """How many threads to use, and whether to print progress."""

    threads: Threads = None
    quiet: Quiet = False
    log_format: LogFormat = "text"


@dataclass(frozen=True)
class RecordOptions:
    """What a scheduler wants to know after."""

    stats: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="Also write what was done as JSON: plan, counts, recall, times, memory, files with checksums.",
        ),
    ] = None


@dataclass(frozen=True)
class JobOptions(RecordOptions):
    """What a scheduler wants to know before and after."""

    dry_run: Annotated[
        bool, flag("--dry-run", help="Print the plan, and the time, memory and disk it needs; do nothing else.")
    ] = False


@dataclass(frozen=True)
class WorkOptions:
    """How much memory to use, and where to keep what does not fit."""

    memory: Annotated[
        str | None,
        option(
            metavar="SIZE",
            help="Use about this much memory, such as 2GB, and keep the rest in files (see --workdir).",
            panel=RUNNING,
        ),
    ] = None
    workdir: Annotated[
        str | None,
        option(
            metavar="DIR",
            help="Folder for these files; the same command resumes there after an interruption; default with --memory: "
            "the name of the --out file with .work added.",
            panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True)
class ShareOptions:
    """Whether several processes share the work."""

    shard: Annotated[
        str | None,
        option(
            metavar="I/N",
            help="Share this run among N processes, on one machine or several; this one is number I, counted from 0. "
            "--workdir must be a folder that all of them see.",
            panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True)
class RecordWorkOptions(WorkOptions):
    """The same for a run that starts again after an interruption."""

    workdir: Annotated[
        str | None,
        option(
            metavar="DIR",
            help="Folder for these files, which are deleted at the end; default with --memory: the name of the --out "
            "file with .work added.",
            panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True)
class EngineOptions:
    """Whether to run on this machine or on a cluster."""

    engine: Annotated[
        str,
        option(
            help="Where to run: local (this machine), or spark (a Spark cluster, which needs a column of ids and "
            "writes results as folders of files).",
            offer=("local", "spark"),
            panel=RUNNING,
        ),
    ] = "local"
    master: Annotated[
        str | None,
        option(
            metavar="URL",
            help="With --engine spark: the cluster, such as local[4] or yarn; default: as Spark is configured.",
            panel=RUNNING,
        ),
    ] = None


@dataclass(frozen=True)
class CutOptions:
    """What to cut out of texts."""

    unit: Annotated[
        str | None,
        option(
            metavar="(line|sentence|paragraph|span:N)",
            help="Cut repeated lines, sentences, paragraphs or spans of N words out of the texts; keep the documents.",
            offer=("line", "sentence", "paragraph", "span:50"),
        ),
    ] = None
    copies: Annotated[
        int,
        option(metavar="N", help="How many to keep of each group of similar documents; with --unit, of each line etc."),
    ] = 1
    least: Annotated[
        int, option(metavar="N", help="With --unit: drop documents left with fewer lines etc., or words of spans.")
    ] = 1
    case: Annotated[
        str,
        option(
            help="With --unit: ignore the difference between capital and small letters, or keep it.",
            offer=("ignore", "keep"),
        ),
    ] = "ignore"


# --- all options of a command ---


@dataclass(frozen=True)
class DocumentOptions:
    """The options shared by the commands on documents: pairs, match, dedup, clusters."""

    similarity: SimilarityOptions
    reading: ReadingOptions
    output: OutputOptions
    shingling: ShingleOptions
    search: SearchOptions
    running: RunOptions
    job: JobOptions


@dataclass(frozen=True)
class CollectionOptions(DocumentOptions):
    """The options shared by the commands on one collection: pairs, dedup, clusters."""

    output: CollectionOutputOptions
    which: PairOptions
    work: WorkOptions
    share: ShareOptions
    engine: EngineOptions
