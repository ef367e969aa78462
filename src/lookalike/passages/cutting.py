"""Cut repeated units out of texts: lines, sentences, paragraphs or spans of words."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import UsageError, parameter, whole
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.items.segments import SEGMENTS, Cutter, Segments, SmallUnits
from lookalike.items.sets import text_bounds
from lookalike.items.shingles import Shingles
from lookalike.kernels.units import remove_parts
from lookalike.passages.earlier import Earlier, digest_of
from lookalike.passages.finding import about_run, find_runs, passage_shingles, read_stats, take_texts
from lookalike.passages.linking import ChosenWindows, WindowLinks
from lookalike.passages.places import Places, places_of, slices_of
from lookalike.passages.reading import Corpus, read_corpus
from lookalike.passages.result import columns_of
from lookalike.results import Explanation, Result
from lookalike.results.explanations import ExplainedRows
from lookalike.search.storage import open_storage, starting


def dedup_units(
    items: Any,
    *,
    unit: str = "span:50",
    copies: int = 1,
    least: int = 1,
    case: str = "ignore",
    against: str | Path | None = None,
    update: bool = False,
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    threads: int | None = None,
    run: Run | None = None,
) -> "Cuts":
    """Cut out of texts what occurred before: lines, sentences, paragraphs, or spans of words.

    Units are equal if their characters are, apart from normal form, white space and, by default,
    case. The first copies stay, in the order of the input. A word is cut if it is in a span of N
    words that are a copy too many; a copy that overlaps one that stays, as in "ha ha ha", is not
    counted.

    Args:
        items: texts, `Source`, a path (a string or a `pathlib.Path`), a list of `pathlib.Path`
            (strings in a list are texts), or an Arrow, pandas or polars table with a text column.
        unit: "line", "sentence", "paragraph", or "span:50": any 50 words in a row, whatever the
            punctuation between them.
        copies: how many copies of a unit to keep.
        least: a document that lost something is dropped if fewer units than this are left: lines,
            sentences or paragraphs, and of spans words.
        case: "ignore" the difference between capital and small letters, or "keep" it.
        against: a folder with the documents of earlier runs, which count as occurring before; it was
            made with the same unit and case.
        update: add these documents to the folder, as they were before the cuts; it is created if it
            is missing. So documents that come in several batches lose what they would lose all at once.
            Documents that are in the folder already are cut as they were then.
        memory: for texts read from files, about how much memory to use, such as "2GB"; data that
            does not fit, the texts among it, is kept in files.
        workdir: the folder of those files; the same call, repeated after an interruption, resumes
            there.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Cuts`: `.texts()` returns the texts of the documents that are kept, without what was cut;
        its rows say what was cut from where.

    >>> cuts = dedup_units(["Home\\nNews of today", "Home\\nNews of tomorrow"], unit="line")
    >>> cuts.texts().to_pylist()
    ['Home\\nNews of today', 'News of tomorrow']
    """
    run = run or Run(threads)
    cutter = cutter_of(unit, case)
    copies, least = whole("copies", copies), whole("least", least, least=0)
    sources = take_texts([items], run)
    about = {"unit": unit, "copies": copies, "case": case, "result": "cuts"}
    if against is not None:
        about["against"] = str(against)
    elif update:
        raise UsageError(f"update must have a folder; name it with {parameter('against')}.")
    with ExitStack() as opened:
        earlier = None if against is None else opened.enter_context(Earlier(Path(against), unit, case, update))
        storage = opened.enter_context(open_storage(about_run(sources, memory, workdir, about), memory, workdir))
        with starting(storage):
            corpus = own = read_corpus(sources, cutter, run, storage)
        if earlier is not None:
            with run.stage("join"):
                digest = digest_of(own)
                (count,) = storage.made("batches", lambda: (np.array([earlier.before(digest)]),))
                corpus = earlier.join(int(count[0]), own, storage)
        windows, links, *_ = find_runs(corpus, copies, run)
        with run.stage("cut"):
            cuts = cuts_of(corpus, windows, links, least, run)
        if earlier is not None and update:
            with run.stage("update"):
                earlier.add(digest, own)
    return replace(cuts, stats=read_stats(own, sources, run))


def cutter_of(unit: str, case: str) -> Cutter:
    """Return the rule by which texts become the units to cut.

    >>> cutter_of("span:8", "keep").length, cutter_of("line", "keep").length
    (8, 1)
    """
    span = re.fullmatch(r"span:(\d+)", unit) if isinstance(unit, str) else None
    if span:
        return SmallUnits(passage_shingles(int(span[1]), "word", case, "drop"))
    if unit not in SEGMENTS:
        raise UsageError(f"unit must be {', '.join(SEGMENTS)} or span:N, such as span:50; got {unit!r}.")
    return Segments(unit, Shingles(unit="char", lowercase=passage_shingles(1, "char", case, "drop").lowercase))


@dataclass(frozen=True, eq=False)
class Cuts(Result):
    """What was cut out of texts, and the texts without it.

    Its rows are (document, start, stop, length, first_document, first_start, first_stop, text):
    where it was, in characters of the text as it was given, how many units long, and where an
    earlier copy of its first unit or span is. With earlier data, the last column is `first_batch`,
    which counts from 1: the batch that has this copy, or null if it is among these documents.

    >>> import lookalike as la
    >>> cuts = la.dedup_units(["Home\\nNews of today", "Home\\nNews of tomorrow"], unit="line")
    >>> cuts, cuts[0]
    (<1 cut in 2 documents, 2 kept>, (1, 0, 4, 1, 0, 0, 4, 'Home'))
    """

    corpus: Corpus
    found: Places
    first: Places
    length: np.ndarray
    bounds: np.ndarray  # the first cut of each document
    begins: np.ndarray  # of the parts to remove, in bytes
    ends: np.ndarray
    least: int
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def keep(self) -> np.ndarray:
        """Whether each document is kept, perhaps shortened."""
        cut = np.bincount(self.found.document, self.length, len(self.corpus))
        kept: np.ndarray = ((cut == 0) | (self.corpus.counts - cut >= self.least))[self.corpus.earlier :]
        return kept

    @property
    def kept(self) -> pa.Array:
        """The ids of the kept documents."""
        return self.corpus.ids[-1].filter(pa.array(self.keep))

    def texts(self) -> pa.ChunkedArray:
        """Return the texts of the kept documents, without what was cut."""
        chunks, start = [], 0
        for texts in self.all_texts():
            chunks.append(texts.filter(pa.array(self.keep[start : start + len(texts)])))
            start += len(texts)
        return pa.chunked_array(chunks, pa.large_string())

    def all_texts(self) -> Iterator[pa.LargeStringArray]:
        """Yield the texts of all documents, piece by piece, without what was cut; also of those not kept."""
        starts, first = self.corpus.piece_starts, self.corpus.piece_from(self.corpus.earlier)
        for at, texts in enumerate(self.corpus.texts[first:], first):
            bounds = self.bounds[starts[at] : starts[at + 1] + 1]
            if bounds[0] == bounds[-1]:
                yield texts
                continue
            part = slice(bounds[0], bounds[-1])
            offsets, data = remove_parts(*text_bounds(texts), bounds - bounds[0], self.begins[part], self.ends[part])
            yield pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(data))

    def _table(self, rows: Any) -> pa.Table:
        found, first = self.found.take(rows), self.first.take(rows)
        columns = columns_of(self.corpus, found, "") | {"length": self.length[rows]}
        columns |= columns_of(self.corpus, first, "first_") | {"text": slices_of(self.corpus, found)}
        if self.corpus.earlier:
            batch = np.searchsorted(self.corpus.batch_starts, first.document, "right")
            columns["first_batch"] = pa.array(batch, mask=first.document >= self.corpus.earlier)
        return pa.table(columns)

    def to_arrow(self) -> pa.Table:
        """Return one row per cut: where it was, its length, where an earlier copy is, and its text."""
        return super().to_arrow()

    def explain(self, row: int) -> Explanation:
        """Explain a cut: the earlier copy of its first unit or span, and what was cut."""
        at = self._table(np.array([self._position(row)])).to_pylist()[0]
        rows = np.array([self._position(row)])
        first = {name.removeprefix("first_"): value for name, value in at.items() if name.startswith("first_")}
        text = slices_of(self.corpus, self.first.take(rows))[0].as_py()
        own = {name: at[name] for name in ("document", "start", "stop", "text")}
        return ExplainedRows([first | {"text": text}, own])

    def __repr__(self) -> str:
        kept = f"{int(self.keep.sum()):,} kept"
        return f"<{counted(len(self), 'cut')} in {counted(len(self.keep), 'document')}, {kept}>"


def cuts_of(corpus: Corpus, windows: ChosenWindows, links: WindowLinks, least: int, run: Run) -> Cuts:
    """Return what to cut: the units of all windows that are a copy too many; lines and the like one by one."""
    numbers = np.flatnonzero(links.extra)
    numbers = numbers[np.searchsorted(numbers, windows.begin) :]
    length = corpus.cutter.length
    starts = windows.units(numbers)
    document = corpus.document_of(starts)
    apart = (starts[1:] > starts[:-1] + length) | (np.diff(document) > 0) | isinstance(corpus.cutter, Segments)
    heads = np.flatnonzero(np.concatenate(([True], apart))) if len(starts) else numbers
    stops = np.append(starts[heads[1:] - 1], starts[-1:]) + length
    starts, sizes = starts[heads], stops - starts[heads]
    found = places_of(corpus, starts, sizes, run)
    first = places_of(corpus, windows.units(links.first[numbers[heads]]), np.full(len(heads), length), run)
    begins, ends = parts_of(corpus, starts, sizes, run)
    bounds = np.searchsorted(found.document, np.arange(len(corpus) + 1))
    return Cuts(corpus, found, first, sizes, bounds, begins, ends, least)


def parts_of(corpus: Corpus, units: np.ndarray, lengths: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return what is removed with runs of units, in bytes of their documents; the runs are in order."""
    document = corpus.document_of(units)
    cuts = np.searchsorted(document, corpus.piece_starts)
    begins, ends = np.empty((2, len(units)), np.int64)

    def look_up(at: int) -> None:
        here = slice(cuts[at], cuts[at + 1])
        rows, which = np.unique(document[here] - corpus.piece_starts[at], return_inverse=True)
        indptr, starts, stops = corpus.cutter.parts(corpus.texts[at].take(pa.array(rows)))
        first = indptr[which] + units[here] - corpus.unit_starts[document[here]]
        begins[here], ends[here] = starts[first], stops[first + lengths[here] - 1]

    run.each(look_up, np.flatnonzero(np.diff(cuts)).tolist())
    return begins, ends
