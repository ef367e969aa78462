"""Stream a corpus past test items, and note which documents contain one."""

from fractions import Fraction
from typing import Any

from lookalike.core.errors import UsageError, whole
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.leaks.items import LeakLimits, read_tests
from lookalike.leaks.listing import LeakListing
from lookalike.leaks.result import Leaks
from lookalike.leaks.searching import LeakSearch
from lookalike.measures import exact_fraction
from lookalike.search.inputs import as_items


def decontaminate(
    corpus: Any,
    tests: Any,
    *,
    threshold: float | str | Fraction = 0.5,
    least: int = 5,
    longest: int | None = None,
    question: str | None = None,
    answer: str | None = None,
    places: int = 10_000,
    threads: int | None = None,
    run: Run | None = None,
) -> Leaks:
    """Find the documents of a corpus that contain test items, and where.

    Words are compared without case and punctuation. An item is a leak if, in a stretch of a
    document about twice as long as the item, at least `threshold` of its different shingles of
    three words occur. If another item of its file is at the same place, this must also be true of
    those shingles that only one of the two has, or the other one counts alone. Rows of a test file
    whose questions have the same words are one item. The corpus streams past the items: memory
    holds the items, the places listed, and one byte per document.

    Args:
        corpus: texts, `Source`, a path, a list of `pathlib.Path`, or a table with a text column.
        tests: the test items, in the same forms. Files are counted one by one.
        threshold: the least share of the shingles of an item. One changed word changes three of
            them.
        least: the least number of its shingles, as a few occur by chance; an item that has fewer
            must occur whole.
        longest: a run of this many words of an item, in the same order, is a leak too.
        question: the column of the tests to look for; by default `question`, `problem`, `prompt`,
            or the column of texts.
        answer: a column of answers: a leak then shows whether an answer follows the question,
            beginning at most 50 words later. If the tests have a column `is_correct`, only answers
            of rows where it is true count.
        places: how many places of each item to list at most, the first ones; all are counted.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Leaks`: one row per place of an item in a document. `.keep` shows which documents have
        none, `.items` and `.files` count the leaks of each test item and file.

    >>> corpus = ["A new page.", "Q: How many legs have 12 cats and 7 parrots?  A: 62, of course."]
    >>> found = decontaminate(corpus, ["How many legs have 12 cats, and 7 parrots?", "Why?"])
    >>> found, found.keep.tolist(), found.to_arrow()["text"].to_pylist()
    (<1 leak in 1 of 2 documents>, [True, False], ['How many legs have 12 cats and 7 parrots'])
    """
    run = Run(threads) if run is None else run
    limits = LeakLimits(
        Fraction(*exact_fraction(threshold)),
        whole("least", least),
        None if longest is None else whole("longest", longest),
    )
    most = whole("places", places)
    with run.stage("read tests"):
        search = LeakSearch(read_tests(tests, question, answer, run), limits)
    source = as_items(corpus, "jaccard", run)
    if source is not None and not isinstance(source, Source):
        raise UsageError(f"corpus must be texts, a table or paths; got {type(source).__name__}.")
    listing = LeakListing(search, most)
    with run.stage("look for items", source.byte_size() if source else 0) as tick:
        for found, size in run.map(listing.look, source.batches(run) if source else ()):
            listing.add(found)
            tick(size)
    keep = listing.keep
    stats = {
        "items": len(keep), "skipped": source.skipped if source else 0, "threshold": float(limits.threshold),
        "least": limits.least, "longest": limits.longest, "places": most, "seconds": run.seconds,
    }  # fmt: skip
    return Leaks(listing.table, listing.ids, keep, listing.counts, search, stats)
