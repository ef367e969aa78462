"""Stream a corpus past test items, and note which documents contain one."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, whole
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.io.tables import in_one, join_ids
from lookalike.items.sets import text_bounds
from lookalike.items.shingles import as_array, split_words
from lookalike.items.units import units_of
from lookalike.kernels.leaks import find_items
from lookalike.leaks.items import RULE, TINY_RULE, LeakLimits, QuestionFile, group, make_lookup, read_tests, sequences
from lookalike.leaks.result import FOUND, Leaks
from lookalike.measures import exact_fraction
from lookalike.search.inputs import as_items

REACH = 50  # words after a question among which its answer can begin
ANSWER = 20  # words of an answer that must follow each other there


def decontaminate(
    corpus: Any,
    tests: Any,
    *,
    threshold: float | str | Fraction = 0.5,
    least: int = 5,
    longest: int | None = None,
    question: str | None = None,
    answer: str | None = None,
    threads: int | None = None,
    run: Run | None = None,
) -> Leaks:
    """Find the documents of a corpus that contain test items, and where.

    Words are compared without case and punctuation. An item is a leak if, in a stretch of a
    document about twice as long as the item, at least `threshold` of its different shingles of
    three words occur. The corpus streams past the items: memory holds the items, what was found,
    and one byte per document.

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
        answer: a column of answers: a leak then shows whether the answer follows the question,
            beginning at most 50 words later.
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
    with run.stage("read tests"):
        search = LeakSearch(read_tests(tests, question, answer, run), limits)
    source = as_items(corpus, "jaccard", run)
    if source is not None and not isinstance(source, Source):
        raise UsageError(f"corpus must be texts, a table or paths; got {type(source).__name__}.")
    keep, parts, ids, count = [np.zeros(0, np.bool_)], [FOUND.empty_table()], [], 0
    with run.stage("look for items", source.byte_size() if source else 0) as tick:
        for batch, found in run.map(search.look, source.batches(run) if source else ()):
            keep.append(~np.isin(np.arange(len(batch)), found["document"]))
            ids.append(batch["id"].take(found["document"]))
            parts.append(found.set_column(0, "document", pc.add(found["document"], count)))
            count += len(batch)
            tick(batch["text"].nbytes)
    stats = {
        "items": count, "skipped": source.skipped if source else 0, "threshold": float(limits.threshold),
        "least": limits.least, "longest": limits.longest, "seconds": run.seconds,
    }  # fmt: skip
    return Leaks(pa.concat_tables(parts), join_ids(ids), np.concatenate(keep), search.files, stats)


class LeakSearch:
    """A search for the items of test files in batches of documents.

    Items of the same words are looked for once, and reported one by one.
    """

    def __init__(self, files: list[QuestionFile], limits: LeakLimits):
        self.files = files
        questions = sequences(pa.concat_arrays([file.questions for file in files]))
        first, groups = group(questions)
        if not len(first):
            raise DataError(f"the tests must have items of at least one word; there is none in {files[0].name}.")
        self.lookup = make_lookup(questions.take(first), limits)
        order = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[order], np.arange(len(first) + 1)).tolist()
        self.same = [order[start:stop].tolist() for start, stop in pairwise(bounds)]  # rows of the tests, per item
        answers = [file.answers for file in files if file.answers is not None]
        self.answers = pa.concat_arrays(answers) if answers else None

    def look(self, batch: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return a batch of documents with what was found in it, as rows of `FOUND`."""
        texts = in_one(batch["text"])
        places = find_items(*text_bounds(RULE.prepare(texts)), *self.lookup.arguments)
        rows: list[dict[str, Any]] = []
        for document in np.unique(places[:, 0]).tolist():
            start, stop = np.searchsorted(places[:, 0], [document, document + 1])
            here = places[start:stop]
            text = PlacedWords(texts[document].as_py())
            for place in here[np.lexsort((here[:, 1], here[:, 2]))].tolist():
                rows.extend(self._rows(text, *place))
        return batch, pa.Table.from_pylist(rows, FOUND)

    def _rows(
        self, text: "PlacedWords", document: int, item: int, first: int, last: int, different: int, longest: int
    ) -> Iterator[dict[str, Any]]:
        """Yield a row for each test item of these words that a place in a text is a leak of."""
        punctuation, words = self.lookup.rules[item]
        start, stop = text.bounds(first, last, bool(punctuation))
        for row in self.same[item]:
            yield {
                "document": document,
                "row": row,
                "containment": different / int(self.lookup.different[item]),
                "longest": longest + words - 1,
                "start": start,
                "stop": stop,
                "answer": None if self.answers is None else text.end_of(self.answers[row].as_py(), stop),
                "text": text.text[start:stop],
            }


class PlacedWords:
    """A text with the places of its words, in characters."""

    def __init__(self, text: str):
        self.text, self.texts = text, as_array([text])
        self.words = units_of(self.texts, RULE, characters=True)

    def bounds(self, first: int, last: int, punctuation: bool) -> tuple[int, int]:
        """Return where word `first` starts and the one before `last` ends; marks can be words too."""
        units = units_of(self.texts, TINY_RULE, characters=True) if punctuation else self.words
        return int(units.starts[first]), int(units.stops[last - 1])

    def end_of(self, answer: str, place: int) -> int | None:
        """Return where an answer ends that begins at most REACH words after a place, if it does.

        Of a long answer, at least the first ANSWER words must be there.
        """
        wanted = split_words(RULE.prepare(as_array([answer]))[0].as_py())
        least = min(len(wanted), ANSWER)
        begin = int(np.searchsorted(self.words.starts, place))
        words = split_words(RULE.prepare(self.texts)[0].as_py())[begin : begin + REACH + len(wanted)]
        for at in range(min(REACH, len(words) - least) + 1 if wanted else 0):
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words[at:], wanted, strict=False)))
            if same >= least:
                return int(self.words.stops[begin + at + same - 1])
        return None
