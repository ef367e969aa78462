"""Read, search and summarize documents, for the commands on documents."""

from collections.abc import Callable, Sequence
from os.path import isfile  # Path.is_file fails on long strings
from pathlib import Path
from typing import Any

from lookalike.cli import options as opt
from lookalike.cli.outputs import check_outputs, check_page, write_result
from lookalike.cli.progress import TerminalRun
from lookalike.cli.stats import record_inputs, record_result
from lookalike.cli.summary import bad_files_note, no_items_note, summarize
from lookalike.cli.workdir import sharing_in
from lookalike.core.errors import DataError, UsageError, choice
from lookalike.core.wording import counted
from lookalike.io.csv import looks_like_csv
from lookalike.io.documents import Source
from lookalike.io.formats import PAGE_SUFFIXES, format_of
from lookalike.io.tables import reading as while_reading
from lookalike.items.shingles import Shingles, split_words
from lookalike.results import Clusters, Dedup, Pairs


def uses_spark(options: opt.CollectionOptions, removed: str | None = None) -> bool:
    """Return whether to run on Spark; raise an error for options that the engine lacks."""
    spark = choice("engine", options.engine.engine, ("local", "spark")) == "spark"
    if options.engine.master is not None and not spark:
        raise UsageError("--master is only for --engine spark.")
    if spark and options.output.report is not None:
        check_page(options.output.report, options.output.out, removed)
        raise UsageError("--report is only for --engine local; show what Spark has written with `lookalike report`.")
    return spark


def search_documents(find: Callable[..., Pairs | Clusters], inputs: list[str], options: opt.CollectionOptions) -> None:
    """Write the pairs or clusters that `find` finds among the documents of the inputs."""
    check_outputs(options.output, inputs)
    run = start_run(options)
    with sharing_in(options, run) as room:
        settings = search_settings(options, run)
        source = open_documents(inputs, options.reading, run)
        result = find(source, **settings, **vars(options.which), **room.keywords)
        room.finish(lambda: write_result(result, options.output, run, options.reading.pages.compared))
    summarize_documents(result, run, [source], inputs, options)


def start_run(options: opt.DocumentOptions) -> TerminalRun:
    """Return the run of a command on documents."""
    return TerminalRun(**vars(options.running), dry_run=options.job.dry_run)


def search_settings(options: opt.DocumentOptions, run: TerminalRun) -> dict[str, Any]:
    """Return the options as keywords of `find_pairs` and similar functions."""
    settings = opt.keywords(options.similarity, options.search)
    shingles = shingles_of(settings.pop("shingle"), options.shingling)
    return {**settings, "shingles": shingles, "run": run}


def open_documents(
    inputs: list[str], reading: opt.ReadingOptions, run: TerminalRun, columns: str | None = None
) -> Source:
    """Open the inputs as documents, reading only their columns so far; print notes on oddities.

    `columns` are the names of those to write, with commas between them; None for all.
    """
    names = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    source = Source(inputs, **vars(reading.columns), **vars(reading.pages), columns=names)
    record_inputs(source.parts)
    if not source.html and any(format_of(path, PAGE_SUFFIXES) for part in source.parts for path in part.paths):
        run.say("note: web pages are compared with their markup; use --html to compare only their text")
    for part in source.parts:
        if part.passed_over:
            others = counted(part.passed_over, "file")
            run.say(f"note: skipped {others} in {part.name} not named {', '.join(PAGE_SUFFIXES)}")
        named = part.paths and format_of(part.paths[0]) == "text"
        if part.format == "text" and not named and source.format is None:
            with while_reading(part):
                if looks_like_csv(part):
                    run.say(f"note: {part.name} looks like CSV; use --format csv to read it as a table")
    return source


def summarize_documents(
    result: Pairs | Clusters | Dedup,
    run: TerminalRun,
    sources: Sequence[Source],
    inputs: Sequence[str],
    options: opt.DocumentOptions,
) -> None:
    """Print the summary of a search of documents, with notes on empty inputs and texts."""
    record_result(result)
    notes = bad_files_note([name for source in sources for name in source.bad_files])
    columns = list(dict.fromkeys(name for source in sources for name in source.text_columns()))
    if len(sources) == 2 and result.stats["items"]:
        empty = (side for side, source in zip(inputs, sources, strict=True) if not source.documents)
        notes.extend(no_items_note("document", [side]) for side in empty)
    if 2 * result.stats["empty"] > result.stats["items"]:
        notes.append(f"note: most documents {_why_empty(columns, options)}")
    unusual = sorted({*columns} - {"text"})  # a column that the user did not name might be the wrong one
    where = f" from column {', '.join(unusual)}" if unusual and options.reading.columns.text is None else ""
    report = options.output.report
    summarize(result, run, item="document", inputs=inputs, report=report, where=where, notes=notes)


def _why_empty(columns: list[str], options: opt.DocumentOptions) -> str:
    """Return what most documents lack, in which column, and what to do."""
    where = f" in column {', '.join(columns)}" if columns else ""
    if options.reading.pages.article:
        return f"have no article{where}; use --html without --article to compare all visible text"
    if Shingles.parse(options.similarity.shingle).unit == "stop":
        return f"have no shingles{where}: these begin with stop words; name the language with --stop-words"
    return f"have no text{where}"


def shingles_of(shingle: str, options: opt.ShingleOptions) -> Shingles:
    """Return the shingles that the options describe; lists of words can be in files."""
    stop_words: str | list[str] | None = options.stop_words
    if options.stop_words is not None and isfile(options.stop_words):
        stop_words = _read_words(Path(options.stop_words))
    given = vars(options) | {"stop_words": stop_words, "antecedents": _antecedents(options.antecedents)}
    return Shingles.parse(shingle, distance=given.pop("spot_distance"), **given)


def _antecedents(given: str | None) -> list[str] | None:
    """Return the words of a file, or of a list with commas."""
    if given is None:
        return None
    if isfile(given):
        return _read_words(Path(given))
    if "." in given or "/" in given:
        raise DataError(f"{given}: no such file; --antecedents must be a file of words, or words such as the,a,is.")
    return [word.strip() for word in given.split(",")]


def _read_words(path: Path) -> list[str]:
    """Return the words of a file, one per line."""
    try:
        words = [word for line in path.read_text("utf-8-sig").splitlines() if (word := line.strip())]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not valid UTF-8 (byte {error.start}).") from error
    if not any(map(split_words, words)):
        raise DataError(f"{path}: has no words; it must have one word per line.")
    return words
