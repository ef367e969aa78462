"""Find passages: read, hash windows, link copies, follow and verify runs, join, order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.errors import DataError, UsageError, choice, whole
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.items.segments import SmallUnits
from lookalike.items.shingles import Shingles
from lookalike.passages.linking import ChosenWindows, RepeatedRuns, WindowLinks, link, runs_of, windows_of
from lookalike.passages.places import Places, all_equal, places_of_both
from lookalike.passages.reading import Corpus, read_corpus
from lookalike.passages.result import Passages
from lookalike.search.inputs import take_sides
from lookalike.search.storage import READING, open_storage, source_files, starting

TRIES = 3  # hash functions to try until no two different windows have the same hash
CASES = ("ignore", "keep")
LONGEST = 1 << 20  # the most units of a window


def find_passages(
    items: Any,
    right: Any = None,
    *,
    length: int = 50,
    unit: str = "word",
    gap: int = 0,
    case: str = "ignore",
    punctuation: str = "drop",
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    threads: int | None = None,
    run: Run | None = None,
) -> Passages:
    """Find all passages that occur more than once, within documents or between them.

    Every `length` consecutive units that are also at another place are found, and none is listed
    that is not. Two places can overlap: "ha ha ha" has "ha ha" at two places. A passage begins with
    units that occurred before, and reaches as far to both sides as it agrees with their first copy.
    None lies within another one, unless that one was joined.

    Args:
        items: texts, `Source`, a path (a string or a `pathlib.Path`), a list of `pathlib.Path`
            (strings in a list are texts), or an Arrow, pandas or polars table with a text column.
        right: a second collection. Passages are then those of `right` that are also in `items`,
            with their first copy there; copies are those in `right`.
        length: how many units the shortest passage has.
        unit: "word" or "char", as in `Shingles`.
        gap: join passages of the same two documents that at most this many units interrupt, on
            either side, as small edits do. Both sides must go on in the same order.
        case: "ignore" the difference between capital and small letters, or "keep" it.
        punctuation: for words, "drop" (ignore) it, or "keep" it: then each mark is a unit.
        memory: for texts read from files, about how much memory to use, such as "2GB"; data that
            does not fit, the texts among it, is kept in files.
        workdir: the folder of those files; the same call, repeated after an interruption, resumes
            there.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Passages`: one row per place where a passage occurs again, the most costly first.

    >>> found = find_passages(["a b c d e", "x a b c. D!"], length=3)
    >>> found.to_arrow().select(["document", "text", "first_document"]).to_pylist()
    [{'document': 1, 'text': 'a b c. D', 'first_document': 0}]
    """
    run = run or Run(threads)
    shingles = passage_shingles(length, unit, case, punctuation)
    gap = whole("gap", gap, least=0)
    sources = take_texts([items] if right is None else [items, right], run)
    about = {"length": shingles.k, "shingles": str(shingles), "result": "passages"}
    with open_storage(about_run(sources, memory, workdir, about), memory, workdir) as storage:
        with starting(storage):
            corpus = read_corpus(sources, SmallUnits(shingles), run, storage)
        _, _, runs, left, right_places = find_runs(corpus, 1, run)
        with run.stage("order"):
            found = passages_of(corpus, runs, left, right_places, gap)
        return replace(found, stats=read_stats(corpus, sources, run))


def passage_shingles(length: int, unit: str, case: str, punctuation: str) -> Shingles:
    """Return the rule by which texts become units and windows."""
    k = whole("length", length, most=LONGEST)
    choice("unit", unit, ("word", "char"))
    choice("case", case, CASES)
    return Shingles(k=k, unit=unit, lowercase=case == "ignore", punctuation=punctuation)


def take_texts(given: list[Any], run: Run) -> list[Source]:
    """Return one collection or two as sources of texts."""
    sources = take_sides(given, "jaccard", run)
    for source in sources:
        if not isinstance(source, Source):
            raise UsageError(f"passages are found in texts; got {type(source).__name__}.")
    return sources


def about_run(sources: list[Source], memory: Any, workdir: Any, about: dict[str, Any]) -> dict[str, Any]:
    """Return what a run in files depends on; empty for a run in memory."""
    if memory is None and workdir is None:
        return {}
    reading = [{name: getattr(source, name) for name in READING} for source in sources]
    return {
        "files": [stamp for source in sources for stamp in source_files(source, workdir)],
        "reading": reading,
        **about,
    }


def find_runs(corpus: Corpus, keep: int, run: Run) -> tuple[ChosenWindows, WindowLinks, RepeatedRuns, Places, Places]:
    """Return the windows with their links, and the runs that repeat earlier ones, verified on the texts.

    All links follow from the runs: each window that is not the first of its kind is in a run, so it
    equals an earlier one, whose own link follows from an earlier run. So if all runs are equal, no
    two different windows were taken for the same. If two are, by chance, they are hashed by another
    function.
    """
    for seed in range(TRIES):
        windows = windows_of(corpus, seed, run)
        links = link(corpus, windows, keep, run)
        listed, others = runs_of(corpus, windows, links, run)
        with run.stage("verify"):
            left, right = places_of_both(corpus, listed, run)
            checked = [(listed, left, right), (others, *places_of_both(corpus, others, run))]
            if all(all_equal(corpus, *one, run) for one in checked):
                return windows, links, listed, left, right
    raise DataError("two different words have the same 64-bit hash, so that passages with them cannot be told apart.")


def passages_of(corpus: Corpus, runs: RepeatedRuns, left: Places, right: Places, gap: int) -> Passages:
    """Join runs that small edits interrupt, and put the most costly first."""
    lengths, copies = runs.lengths, runs.copies
    starts = runs.right
    if gap and len(runs):
        order = np.lexsort((runs.right, left.document, right.document))
        left, right, runs = left.take(order), right.take(order), runs.take(order)
        same = (np.diff(left.document) == 0) & (np.diff(right.document) == 0)
        near = [_goes_on(one, runs.lengths, gap) for one in (runs.left, runs.right)]
        heads = np.flatnonzero(np.concatenate(([True], ~(same & near[0] & near[1]))))
        left, right = (
            places.take(heads)._replace(
                stop=np.maximum.reduceat(places.stop, heads), end=np.maximum.reduceat(places.end, heads)
            )
            for places in (left, right)
        )
        starts = runs.right[heads]
        lengths = np.maximum.reduceat(runs.right + runs.lengths, heads) - starts
        copies = np.minimum.reduceat(runs.copies, heads)
    extra = copies if corpus.sides.two else copies - 1
    order = np.lexsort((starts, left.start, left.document, -lengths * extra))
    return Passages(corpus, right.take(order), left.take(order), lengths[order], copies[order])


def _goes_on(starts: np.ndarray, lengths: np.ndarray, gap: int) -> np.ndarray:
    """Return whether each run but the first reaches further than the one before, on from at most `gap` units away."""
    stops = starts + lengths
    goes_on: np.ndarray = (np.diff(starts) > 0) & (np.diff(stops) > 0) & (np.abs(starts[1:] - stops[:-1]) <= gap)
    return goes_on


def read_stats(corpus: Corpus, sources: list[Source], run: Run) -> dict[str, Any]:
    """Count what was read, with the seconds of each stage."""
    return {
        "items": len(corpus),
        "empty": int(np.count_nonzero(corpus.counts == 0)),
        "short": int(np.count_nonzero(corpus.counts < corpus.cutter.length)),
        "skipped": sum(source.skipped for source in sources),
        "units": int(corpus.counts.sum()),
        "seconds": dict(run.seconds),
    }
