"""Look for test items in batches of documents: where each is, and whether its answer follows."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.items.sets import text_bounds
from lookalike.items.units import unit_hashes, units_of
from lookalike.kernels.leaks import find_answers, find_items, own_places
from lookalike.kernels.sets import group_rows, take_rows
from lookalike.leaks.items import RULE, TINY_RULE, Answers, LeakLimits, QuestionFile, group, make_lookup, sequences

REACH = 50  # words after a question among which its answer can begin
ANSWER = 20  # words of an answer that must follow each other there


class LeakPlaces(NamedTuple):
    """Where test items are in some documents, one entry per place, by document and by start."""

    document: np.ndarray
    row: np.ndarray  # of the test item, counted over all files
    containment: np.ndarray
    longest: np.ndarray  # words of a run
    start: np.ndarray  # in characters
    stop: np.ndarray
    answer: np.ndarray  # where the answer ends, -1 if it does not follow

    def take(self, rows: np.ndarray) -> "LeakPlaces":
        """Return some of the places."""
        return LeakPlaces(*(column[rows] for column in self))


class LeakSearch:
    """A search for the items of test files in batches of documents.

    Items of the same words are looked for once, and reported for each file that has them.
    """

    def __init__(self, files: list[QuestionFile], limits: LeakLimits):
        self.files = files
        questions = sequences(pa.concat_arrays([file.questions for file in files]))
        first, groups = group(questions)
        if not len(first):
            raise DataError(f"the tests must have items of at least one word; there is none in {files[0].name}.")
        self.lookup = make_lookup(questions.take(first), limits)
        self.limits = limits
        self.same = group_rows(len(first), groups, np.arange(len(groups), dtype=np.uint64))  # rows of each item
        self.homes = self._homes()
        self.answers: tuple[np.ndarray, ...] | None = None
        answers = [file.answers for file in files if file.answers is not None]
        if answers:
            all_answers = Answers.concatenate(answers)
            self.answers = all_answers.bounds, *unit_hashes(all_answers.texts, RULE)

    def places(self, texts: pa.LargeStringArray) -> LeakPlaces:
        """Return the places of items in texts. O(characters of the texts), and of the answers at each place."""
        found = self._found(text_bounds(RULE.prepare(texts)))
        documents, local = np.unique(found[:, 0], return_inverse=True)
        texts, local = texts.take(pa.array(documents)), local.reshape(-1)
        words = units_of(texts, RULE, characters=True)
        item, first, last, different, longest = found[:, 1:].T
        rules = self.lookup.rules[item]
        start, stop = np.empty_like(first), np.empty_like(last)
        for marked in (0, 1):  # whether marks are words too
            some = np.flatnonzero(rules[:, 0] == marked)
            if len(some):
                units = units_of(texts, TINY_RULE, characters=True) if marked else words
                before = units.indptr[local[some]]
                start[some], stop[some] = units.starts[before + first[some]], units.stops[before + last[some] - 1]

        begin, rows = self.same
        indptr, row = take_rows(begin[item], np.diff(begin)[item], rows)
        place, row = np.repeat(np.arange(len(item)), np.diff(indptr)), row.astype(np.int64)
        place, row = (column[np.lexsort((row, start[place], found[place, 0]))] for column in (place, row))
        answer = np.full(len(row), -1)
        if self.answers is not None:
            after = (words.indptr, words.hashes, words.starts, words.stops, local[place], stop[place])
            answer = find_answers(*after, row, *self.answers, REACH, ANSWER)
        share, words_in_row = different / self.lookup.different[item], longest + rules[:, 1] - 1
        return LeakPlaces(found[place, 0], row, share[place], words_in_row[place], start[place], stop[place], answer)

    def _homes(self) -> np.ndarray:
        """Return the file of each item, -1 for an item of several."""
        begin, rows = self.same
        file_of = np.repeat(np.arange(len(self.files)), [len(file.questions) for file in self.files])[rows.astype(int)]
        first, last = (one.reduceat(file_of, begin[:-1]) for one in (np.minimum, np.maximum))
        homes: np.ndarray = np.where(first == last, first, -1)
        return homes

    def _found(self, bounds: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the rows of `find_items`, without items that are not there themselves."""
        found: np.ndarray = find_items(*bounds, *self.lookup.arguments)
        rules, table, _, items, limits = self.lookup.arguments
        settings = self.homes, *self.limits.threshold.as_integer_ratio(), self.limits.least
        there: np.ndarray = own_places(*bounds, rules, table, items, limits, *settings, found)
        ours: np.ndarray = found[there]
        return ours

    def cuts(self, texts: pa.LargeStringArray) -> list[list[tuple[int, int]]]:
        """Return the parts to cut from each text: questions, and answers that follow."""
        found = self.places(texts)
        ends = np.maximum(found.stop, found.answer)
        bounds = np.searchsorted(found.document, np.arange(len(texts) + 1))
        places = list(zip(found.start.tolist(), ends.tolist(), strict=True))
        return [joined(places[bounds[at] : bounds[at + 1]]) for at in range(len(texts))]


def joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a text, given in order, with those joined that meet or overlap."""
    joined: list[tuple[int, int]] = []
    for start, stop in parts:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined
