"""What the commands on documents share: options checked, sources, a run, results written and reported."""

from collections.abc import Container, Iterator
from contextlib import nullcontext
from dataclasses import replace
from os.path import isfile  # which takes any string, Path.is_file just those that are short enough for a name
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike import __version__
from lookalike.cli.progress import TerminalRun, command_line, next_step, summary
from lookalike.core.errors import DataError, UsageError, choice, one_column
from lookalike.core.run import Tick
from lookalike.core.wording import counted
from lookalike.core.workdir import RUN, has_begun, hold, remove
from lookalike.entities.resolution import Resolution
from lookalike.find import dedup, find_clusters, find_matches, find_pairs
from lookalike.io.csv import looks_like_csv
from lookalike.io.documents import Source
from lookalike.io.formats import PAGE_SUFFIXES, format_of
from lookalike.io.inputs import check_apart
from lookalike.io.sets import SetSource
from lookalike.io.tables import reading
from lookalike.io.vectors import VectorSource
from lookalike.io.write import check_output, kind_of, write_lines, write_tables, writing
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles, split_words
from lookalike.items.vectors import Vectors
from lookalike.measures.table import OF_VECTORS
from lookalike.report import check_report
from lookalike.results import Clusters, Dedup, Pairs


class Job:
    """One command on documents, with the options it was given."""

    def __init__(self, given: dict[str, Any], chosen: Container[str] = ()):
        self.workdir: Path | None = None
        self.done = False
        self.given, self.chosen = given, chosen  # the options, and the names of those that are not left as they are
        self.out: str = given.get("out", "-")
        self.outputs = [self.out, given.get("report")]
        self.on_spark = choice("engine", given.get("engine", "local"), ("local", "spark")) == "spark"
        if given.get("master") is not None and not self.on_spark:
            raise UsageError("--master is for --engine spark.")
        if not self.on_spark:
            check_output(self.out)
        check_page(given.get("report"), self.out, given.get("removed"))
        if self.on_spark and given.get("report") is not None:
            raise UsageError("--report is for --engine local; lookalike report shows what Spark has written.")
        self.run = TerminalRun(given["threads"], given["quiet"])
        names = ("measure", "threshold", "recall", "method", "filter", "sketch", "probes", "audit", "seed")
        chosen = {name: given[name] for name in names if given.get(name) is not None}
        self.options: dict[str, Any] = {"run": self.run, **chosen, **self._rooms()}
        if "shingle" in given:
            text = {name: given[name] for name in ("lowercase", "space", "form", "skip_stops")}
            lists = {"stop_words": _stop_words(given["stop_words"]), "antecedents": _antecedents(given["antecedents"])}
            distance = given["spot_distance"]
            self.options["shingles"] = Shingles.parse(given["shingle"], **text, **lists, distance=distance)
        self.skipped = 0  # rows of sets; documents are counted by their source
        self.inputs: list[str] = []  # all that were read
        self.sources: list[Source] = []  # of documents

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *error: object) -> None:
        if self.workdir is not None:
            self.held.close()
            if self.done or not has_begun(self.workdir):
                remove(self.workdir)
            else:
                self.run.say(f"the same command goes on from what is in {self.workdir}")

    def _rooms(self) -> dict[str, Any]:
        """How much memory may be used and where the files are that take the rest, if that was asked for."""
        memory, workdir = self.given.get("memory"), self.given.get("workdir")
        if self.on_spark or (memory is None and workdir is None):
            return {}
        if workdir is None:
            if self.out == "-":
                raise UsageError("--memory needs a --workdir, or an --out that it can stand beside.")
            workdir = f"{self.out}.work"
        self.workdir = Path(workdir)
        self.held = hold(self.workdir / RUN / "command")  # until all is written
        return {"workdir": workdir} if memory is None else {"workdir": workdir, "memory": memory}

    def begin(self, inputs: list[str]) -> None:
        """Before inputs are read: none may be an output."""
        check_apart(self.outputs, inputs)
        self.inputs += inputs

    def source(self, inputs: list[str]) -> Source:
        """The documents of the inputs."""
        self.begin(inputs)
        names = ("text", "id", "format", "encoding", "on_error", "html", "article")
        source = Source(inputs, **{name: self.given[name] for name in names})
        if not source.html and any(format_of(path, PAGE_SUFFIXES) for part in source.parts for path in part.paths):
            self.run.say("note: the pages are compared with their markup; --html compares the text in them")
        for part in source.parts:
            if part.passed_over:
                others = counted(part.passed_over, "file")
                self.run.say(f"note: {part.name} has {others} not named {', '.join(PAGE_SUFFIXES)}, passed over")
            if (
                part.format == "text"
                and not (part.paths and format_of(part.paths[0]) == "text")
                and self.given["format"] is None
            ):
                with reading(part):
                    if looks_like_csv(part):
                        self.run.say(f"note: {part.name} looks like CSV; --format csv reads it as a table")
        self.sources.append(source)
        return source

    def two_sources(self, left: str, right: str) -> tuple[Source, Source]:
        """The documents of two inputs, whose columns may be named apart, as in title:headline."""
        sources = self.source([left]), self.source([right])
        for option in ("text", "id"):
            given = self.given[option] or ""
            for side, source in zip(given.partition(":")[::2], sources, strict=True):
                if ":" in given and given not in source.column_names():
                    if not side:
                        raise UsageError(f"--{option} must be COLUMN or COLUMN:RIGHT'S; got {given!r}.")
                    setattr(source, option, side)
        kinds = [{part.format for part in source.parts} for source in sources]
        for source, own, other in zip(sources, kinds, kinds[::-1], strict=True):
            if own == {"text"} and other == {"files"}:
                name = source.parts[0].name
                self.run.say(f"note: {name} is read as a document a line; --format files makes it one document")
        return sources

    def sets(self, inputs: list[str]) -> Sets:
        """The sets of the inputs, bags if they are to be compared as such."""
        self.begin(inputs)
        given = self.given
        separator = None if given["separator"] is None else given["separator"].replace("\\t", "\t")
        bag = given["measure"] in ("bag", "bag_jaccard")
        options = {name: given[name] for name in ("rows", "format", "encoding", "on_error")}
        source = SetSource(inputs, separator=separator, bag=bag, **options)
        ids, sets = source.read(self.run)
        if given["rows"] is None and source.columns is not None:
            self.run.say(f"columns: {source.columns}; --rows names others")
        self.skipped = source.skipped
        return replace(sets, ids=ids, named=lambda rows: source.named(ids.take(pa.array(rows))))

    def vectors(self, inputs: list[str], against: str | None, top: int | None, result: str, max_pairs: int) -> None:
        """Near vectors of the inputs, or between them and those of `against`."""
        choice("result", result, ("pairs", "clusters", "dropped"))
        if against is None and top is not None:
            raise UsageError("--top is for the nearest of another input: name it with --against.")
        if against is not None and result != "pairs":
            raise UsageError(f"--against gives pairs; got --result {result!r}.")
        options = self.options
        if against is not None:
            sides = (self.read_vectors(inputs), self.read_vectors([against]))
            self.finish(find_matches(*sides, k=top, max_pairs=max_pairs, **options))
        elif result == "pairs":
            self.finish(find_pairs(self.read_vectors(inputs), max_pairs=max_pairs, **options))
        else:
            group = find_clusters if result == "clusters" else dedup
            self.finish(group(self.read_vectors(inputs), **options))

    def read_vectors(self, inputs: list[str]) -> Vectors | Bits:
        """The vectors or codes of the inputs."""
        self.begin(inputs)
        given = self.given
        measure = choice("measure", given["measure"], OF_VECTORS)
        names = ("vector", "id", "format", "encoding", "on_error")
        bits, directions = measure == "hamming", measure.startswith("cosine")
        named = {name: given[name] for name in names}
        return VectorSource(inputs, bits=bits, directions=directions, **named).read(self.run)

    def finish(self, result: Pairs | Clusters | Dedup) -> None:
        """Write a result's table and say what was found."""
        with self.run.stage("write"):
            write_tables([result.to_arrow()], self.out, self._settings(result))
        self._finish(result)

    def check_removed(self, removed: str | None) -> None:
        """Raise now for a second output that could not be written in the end."""
        if removed is not None:
            if not self.on_spark:
                check_output(removed)
            if Path(removed).absolute() == Path(self.out).absolute():
                raise UsageError(f"--out and --removed must be two files; got {self.out!r} twice.")
            self.outputs.append(removed)

    def dedup(self, inputs: list[str], keep: str, removed: str | None) -> None:
        """Write the documents that are kept with all their columns, and what was dropped to `removed`."""
        source = self.source(inputs)
        source.check_names()
        result = dedup(source, keep=keep if keep in ("first", "longest") else _column(source, keep), **self.options)
        dropped = nullcontext() if removed is None else writing([result.to_arrow()], removed, self._settings(result))
        with self.run.stage("write", len(result.ids)) as tick, dropped:
            if source.is_jsonl() and kind_of(self.out) == ".jsonl":
                write_lines(_kept_lines(source, result, tick), self.out)  # as they stood
            else:
                strings = kind_of(self.out) not in (".parquet", ".arrow")
                write_tables(_kept_rows(source, result, tick, strings), self.out, self._settings(result))
        self._finish(result)

    def _settings(self, result: Pairs | Clusters | Dedup) -> dict[str, str]:
        pages = "article" if self.given.get("article") else "visible text" if self.given.get("html") else None
        shown = {"pages": pages} if pages else {}
        if result.audit is not None:
            found = result.audit
            shown["audit"] = f"{found.sampled} {found.true} {found.found} {found.nearest}"
        sides = [result.ids]
        if isinstance(result, Pairs) and result.right_ids is not None:
            sides.append(result.right_ids)
        shown["read"] = " ".join(str(len(ids)) for ids in sides)
        if result.stats.get("nearest"):
            shown |= {"nearest": str(result.stats["nearest"]), "bounded": "yes" if result.stats["bounded"] else "no"}
        return {"version": __version__, **shown, **(result.plan.settings() if result.plan else {})}

    def _finish(self, result: Pairs | Clusters | Dedup) -> None:
        """Show what was found, in a page if that was asked for, and in some lines."""
        write_page(result, self.given["report"], self.run)
        self.done = True  # all is written
        kinds = {"rows": "set", "vector": "code" if self.given["measure"] == "hamming" else "vector"}
        item = next((kind for option, kind in kinds.items() if option in self.given), "document")
        for line in summary(result, item, self.skipped, self._where()):
            self.run.say(line)
        if not result.stats["items"]:
            self.run.say(none_there(item, self.inputs))
        elif len(self.sources) == 2:  # the two sides of a match
            for side, source in zip(self.inputs, self.sources, strict=True):
                if not source.documents:
                    self.run.say(none_there(item, [side]))
        if self.sources and 2 * result.stats["empty"] > result.stats["items"]:
            self.run.say(f"note: most documents {self._why_empty()}")
        self.run.hint(next_step(self.given["report"]))

    def _where(self) -> str:
        """Which column the texts were taken from, where nobody has named it and one might think of another."""
        columns = {name for source in self.sources for name in source.text_columns()} - {"text"}
        return f" of the column {', '.join(sorted(columns))}" if columns and self.given["text"] is None else ""

    def _why_empty(self) -> str:
        """What most documents are without, and where they were looked for."""
        columns = list(dict.fromkeys(name for source in self.sources for name in source.text_columns()))
        where = f" in the column {', '.join(columns)}" if columns else ""
        if self.given["article"]:
            return f"have no article{where}; --html without --article compares all that a reader sees"
        if self.options["shingles"].unit == "stop":
            return f"have no shingle{where}, which begins with a stop word; --stop-words names the language"
        return f"have no text{where}"


def write_page(result: Pairs | Clusters | Dedup | Resolution, path: str | None, run: TerminalRun) -> None:
    """Write the report of a result, if one was asked for."""
    if path is not None:
        with run.stage("report"):
            result.stats["command"] = command_line()
            result.report(path)


def check_page(path: str | None, *others: str | None) -> None:
    """Raise now for a report that could not be written in the end, or would be written over another output."""
    if path is not None:
        check_report(path)
        if any(other is not None and Path(other).absolute() == Path(path).absolute() for other in others):
            raise UsageError(f"--report must be a file of its own; got {path!r} twice.")


def none_there(item: str, inputs: list[str]) -> str:
    """What there is to say of inputs without items."""
    return f"note: no {item}s in {', '.join('standard input' if one == '-' else one for one in inputs)}"


def _stop_words(given: str | None) -> str | list[str] | None:
    """Codes of languages, or the words of a file."""
    return _read_words(Path(given)) if given is not None and isfile(given) else given


def _antecedents(given: str | None) -> list[str] | None:
    """Words with commas between them, or those of a file."""
    if given is None:
        return None
    if isfile(given):
        return _read_words(Path(given))
    if "." in given or "/" in given:
        raise DataError(f"{given}: no such file; --antecedents takes a file of words, or words such as the,a,is.")
    return [word.strip() for word in given.split(",")]


def _read_words(path: Path) -> list[str]:
    """The words of a file, one a line."""
    try:
        words = [word for line in path.read_text("utf-8-sig").splitlines() if (word := line.strip())]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not valid UTF-8 (byte {error.start}).") from error
    if not any(map(split_words, words)):
        raise DataError(f"{path}: has no words; it must have one a line.")
    return words


def _kept_rows(source: Source, result: Dedup, tick: Tick, strings: bool) -> Iterator[pa.Table]:
    keep, start = result.keep, 0
    for table in source.tables(strings):
        yield table.filter(pa.array(keep[start : start + len(table)]))
        start += len(table)
        tick(len(table))


def _kept_lines(source: Source, result: Dedup, tick: Tick) -> Iterator[bytes]:
    keep, start = result.keep, 0
    for lines in source.lines():
        yield from (line for line, kept in zip(lines, keep[start : start + len(lines)], strict=True) if kept)
        start += len(lines)
        tick(len(lines))


def _column(source: Source, name: str) -> pa.ChunkedArray:
    """The values of one more column of all documents; strings that are all numbers, as in CSV, as numbers."""
    found = []
    for table in source.tables():
        one_column(table.schema.names, name, "the input has", " to keep by")
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
