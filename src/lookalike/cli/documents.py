"""What the commands on documents share: how documents are read, searched, and reported on."""

from collections.abc import Callable, Sequence
from os.path import isfile  # which takes any string, Path.is_file just those that are short enough for a name
from pathlib import Path
from typing import Any

from lookalike.cli import options as opt
from lookalike.cli.outputs import check_outputs, check_page, write_result
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import none_there, summarize
from lookalike.cli.workdir import working_in
from lookalike.core.errors import DataError, UsageError, choice
from lookalike.core.wording import counted
from lookalike.io.csv import looks_like_csv
from lookalike.io.documents import Source
from lookalike.io.formats import PAGE_SUFFIXES, format_of
from lookalike.io.tables import reading as while_reading
from lookalike.items.shingles import Shingles, split_words
from lookalike.results import Clusters, Dedup, Pairs


def uses_spark(options: opt.CollectionOptions, removed: str | None = None) -> bool:
    """Return whether Spark does the work; raise for options that do not go with the engine."""
    spark = choice("engine", options.engine.engine, ("local", "spark")) == "spark"
    if options.engine.master is not None and not spark:
        raise UsageError("--master is for --engine spark.")
    if spark and options.output.report is not None:
        check_page(options.output.report, options.output.out, removed)
        raise UsageError("--report is for --engine local; lookalike report shows what Spark has written.")
    return spark


def search_documents(find: Callable[..., Pairs | Clusters], inputs: list[str], options: opt.CollectionOptions) -> None:
    """Write what `find` finds among the documents of the inputs: their pairs, or their clusters."""
    check_outputs(options.output, inputs)
    run = TerminalRun(**vars(options.running))
    with working_in(options.work, options.output.out, run) as room:
        settings = search_settings(options, run)
        source = open_documents(inputs, options.reading, run)
        result = find(source, **settings, **room)
        write_result(result, options.output, run, options.reading.pages.compared)
    summarize_documents(result, run, [source], inputs, options)


def search_settings(options: opt.DocumentOptions, run: TerminalRun) -> dict[str, Any]:
    """Return the keywords of `find_pairs` and the like that the options stand for."""
    settings = opt.keywords(options.similarity, options.search)
    shingles = shingles_of(settings.pop("shingle"), options.shingling)
    return {**settings, "shingles": shingles, "run": run}


def open_documents(inputs: list[str], reading: opt.ReadingOptions, run: TerminalRun) -> Source:
    """Return the documents of the inputs, of which no more is read yet than shows their columns."""
    source = Source(inputs, **vars(reading.columns), **vars(reading.pages))
    if not source.html and any(format_of(path, PAGE_SUFFIXES) for part in source.parts for path in part.paths):
        run.say("note: the pages are compared with their markup; --html compares the text in them")
    for part in source.parts:
        if part.passed_over:
            others = counted(part.passed_over, "file")
            run.say(f"note: {part.name} has {others} not named {', '.join(PAGE_SUFFIXES)}, passed over")
        named = part.paths and format_of(part.paths[0]) == "text"
        if part.format == "text" and not named and source.format is None:
            with while_reading(part):
                if looks_like_csv(part):
                    run.say(f"note: {part.name} looks like CSV; --format csv reads it as a table")
    return source


def summarize_documents(
    result: Pairs | Clusters | Dedup,
    run: TerminalRun,
    sources: Sequence[Source],
    inputs: Sequence[str],
    options: opt.DocumentOptions,
) -> None:
    """Say what was found in documents, and what is odd about them; of the two sides of a match, in each."""
    notes: list[str] = []
    columns = list(dict.fromkeys(name for source in sources for name in source.text_columns()))
    if len(sources) == 2 and result.stats["items"]:
        empty = (side for side, source in zip(inputs, sources, strict=True) if not source.documents)
        notes.extend(none_there("document", [side]) for side in empty)
    if 2 * result.stats["empty"] > result.stats["items"]:
        notes.append(f"note: most documents {_why_empty(columns, options)}")
    unusual = sorted({*columns} - {"text"})  # which nobody has named, and one might think of another
    where = f" of the column {', '.join(unusual)}" if unusual and options.reading.columns.text is None else ""
    report = options.output.report
    summarize(result, run, item="document", inputs=inputs, report=report, where=where, notes=notes)


def _why_empty(columns: list[str], options: opt.DocumentOptions) -> str:
    """Return what most documents are without, and where it was looked for."""
    where = f" in the column {', '.join(columns)}" if columns else ""
    if options.reading.pages.article:
        return f"have no article{where}; --html without --article compares all that a reader sees"
    if Shingles.parse(options.similarity.shingle).unit == "stop":
        return f"have no shingle{where}, which begins with a stop word; --stop-words names the language"
    return f"have no text{where}"


def shingles_of(shingle: str, options: opt.ShingleOptions) -> Shingles:
    """Return the shingles that the options ask for; lists of words may be in files."""
    stop_words: str | list[str] | None = options.stop_words
    if options.stop_words is not None and isfile(options.stop_words):
        stop_words = _read_words(Path(options.stop_words))
    given = vars(options) | {"stop_words": stop_words, "antecedents": _antecedents(options.antecedents)}
    return Shingles.parse(shingle, distance=given.pop("spot_distance"), **given)


def _antecedents(given: str | None) -> list[str] | None:
    """Return words that have commas between them, or those of a file."""
    if given is None:
        return None
    if isfile(given):
        return _read_words(Path(given))
    if "." in given or "/" in given:
        raise DataError(f"{given}: no such file; --antecedents takes a file of words, or words such as the,a,is.")
    return [word.strip() for word in given.split(",")]


def _read_words(path: Path) -> list[str]:
    """Return the words of a file, one per line."""
    try:
        words = [word for line in path.read_text("utf-8-sig").splitlines() if (word := line.strip())]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not valid UTF-8 (byte {error.start}).") from error
    if not any(map(split_words, words)):
        raise DataError(f"{path}: has no words; it must have one a line.")
    return words
