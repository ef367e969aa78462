"""Read test items, and prepare the table by which they are looked up in documents."""

from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, argument, one_column
from lookalike.core.run import Run
from lookalike.io.documents import TEXT_NAMES, Source
from lookalike.io.tables import in_one, join_ids
from lookalike.items.shingles import Shingles, split_words
from lookalike.kernels.leaks import shingle_table
from lookalike.kernels.sets import hash_rows, take_rows
from lookalike.search.inputs import as_items

CORRECT = "is_correct"  # a column that shows which answers are right, where each row has one choice
YES, NO = ("true", "yes", "1", "1.0"), ("false", "no", "0", "0.0", "none", "")
QUESTIONS = ("question", "problem", "prompt", *TEXT_NAMES)  # usual names of the column, in order
WORDS = 3  # of a shingle: few, so that many shingles survive some changed words
TINY = 5  # items of fewer words are compared with their punctuation
COMMON = 10  # a shingle of more items than this does not tell which of them a text contains
WIDTH, SPARE = 2, 8  # an item of n shingles must be in a stretch of at most WIDTH * n + SPARE shingles
NEVER = 1 << 40  # more shingles than an item can have

RULE = Shingles(k=WORDS, unit="word", lowercase=True, form="nfkc")
TINY_RULE = replace(RULE, punctuation="keep")


class QuestionFile(NamedTuple):
    """The items of one file: its different questions, each with the id and text of its first row."""

    name: str
    rows: int
    ids: pa.ChunkedArray
    questions: pa.LargeStringArray
    answers: "Answers | None"


class Answers(NamedTuple):
    """The answers of items: those of item i are at bounds[i]:bounds[i + 1]."""

    bounds: np.ndarray
    texts: pa.LargeStringArray

    @classmethod
    def concatenate(cls, parts: "list[Answers]") -> "Answers":
        """Return the answers of several lists of items."""
        counts = np.concatenate([np.diff(part.bounds) for part in parts])
        return cls(np.concatenate(([0], np.cumsum(counts))), pa.concat_arrays([part.texts for part in parts]))


def read_tests(tests: Any, question: str | None, answer: str | None, run: Run) -> list[QuestionFile]:
    """Return the items of all test files, file by file."""
    source = as_items([Path(tests)] if isinstance(tests, str) else tests, "jaccard", run)
    if source is None:
        raise DataError("tests must have at least one item; got none.")
    if not isinstance(source, Source):
        raise UsageError(f"tests must be texts, a table or paths; got {type(source).__name__}.")
    return [_read_file(source, at, question, answer, run) for at in range(len(source.parts))]


def _read_file(source: Source, at: int, question: str | None, answer: str | None, run: Run) -> QuestionFile:
    """Return the items of one part of a source."""
    one = copy(source)
    one.parts = source.parts[at : at + 1]
    name, columns = one.parts[0].name, one.column_names()
    if question is not None:
        one_column(columns, question, f"{name}:", " for the questions")
    if one.text is None:
        one.text = question or next((usual for usual in QUESTIONS if usual in columns), None)
    try:
        one.text_columns()
    except DataError as error:
        if one.text is not None:
            raise
        raise DataError(
            f"{name}: which column has the questions? Name it with {argument('question')}; "
            f"it has {', '.join(columns) or 'none'}."
        ) from error
    if answer is not None:
        one_column(columns, answer, f"{name}:", " for the answers")
    one.columns = [] if answer is None else [answer, *({CORRECT} & set(columns))]
    pairs = list(one.with_rows(run=run))
    texts = pa.chunked_array([chunk for batch, _ in pairs[1:] for chunk in batch["text"].chunks], pa.large_string())
    questions = in_one(texts)
    first, groups = group(sequences(questions))
    rows = pa.concat_tables([table for _, table in pairs])
    answers = None if answer is None else _answers(rows, answer, groups, len(first), name)
    ids = join_ids([batch["id"] for batch, _ in pairs[1:]]).take(pa.array(first))
    return QuestionFile(name, len(questions), pa.chunked_array([ids]), questions.take(pa.array(first)), answers)


def _answers(rows: pa.Table, column: str, groups: np.ndarray, items: int, file: str) -> Answers:
    """Return the answers of items, given the item of each row, -1 for none; wrong answers are left out."""
    texts = in_one(rows[column].cast(pa.large_string()).fill_null(""))
    good = groups >= 0
    if CORRECT in rows.column_names and column != CORRECT:
        good &= _are_true(rows[CORRECT], file)
    order = np.argsort(groups, kind="stable")
    order = order[good[order]]
    return Answers(np.searchsorted(groups[order], np.arange(items + 1)), texts.take(pa.array(order)))


def _are_true(column: pa.ChunkedArray, file: str) -> np.ndarray:
    """Return which values of a column say yes; a missing one does not."""
    values = [str(value).strip().lower() for value in column.to_pylist()]
    odd = next((value for value in values if value not in YES + NO), None)
    if odd is not None:
        raise DataError(f"{file}: column {CORRECT!r} must say of each answer true or false; got {odd!r}.")
    return np.array([value in YES for value in values], np.bool_)


class Sequences(NamedTuple):
    """Texts as sequences of shingles: text i has hashes[starts[i]:starts[i + 1]], in order."""

    starts: np.ndarray
    hashes: np.ndarray
    rules: np.ndarray  # of each text, what its shingles are: whether punctuation counts, and how many words

    @property
    def lengths(self) -> np.ndarray:
        """The number of shingles of each text, repeats included."""
        return np.diff(self.starts)

    def take(self, rows: np.ndarray) -> "Sequences":
        """Return some of the texts."""
        starts, hashes = take_rows(self.starts[rows], self.lengths[rows], self.hashes)
        return Sequences(starts, hashes, self.rules[rows])


def sequences(texts: pa.LargeStringArray) -> Sequences:
    """Return texts as shingles of WORDS words.

    In texts of fewer than TINY words, punctuation marks are words too: those of "-4 + (-3) =" are
    all that tells it apart. If there are fewer than WORDS even so, all of them are one shingle. A
    text without words has no shingles.
    """
    prepared = RULE.prepare(texts)
    words = np.diff(replace(RULE, k=1).hashes(prepared)[0])
    for one in np.flatnonzero(words == 1).tolist():
        words[one] = len(split_words(prepared[one].as_py()))  # 0 if there are only punctuation marks
    tiny = words < TINY
    tokens = np.diff(replace(TINY_RULE, k=1).hashes(prepared)[0])
    rules = np.stack([tiny, np.where(tiny, np.clip(tokens, 1, WORDS), WORDS)], axis=1).astype(np.int64)
    made = [RULE, *(replace(TINY_RULE, k=k) for k in range(1, WORDS + 1))]
    rows = [rule.hashes(prepared) for rule in made]
    which = np.where(tiny, rules[:, 1], 0)
    at = np.arange(len(texts))
    bounds = np.stack([indptr for indptr, _ in rows])
    before = np.cumsum([0, *(len(hashes) for _, hashes in rows)])[which]
    sizes = np.where(words > 0, bounds[which, at + 1] - bounds[which, at], 0)
    starts, hashes = take_rows(before + bounds[which, at], sizes, np.concatenate([hashes for _, hashes in rows]))
    return Sequences(starts, hashes, rules)


def group(texts: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each group of equal sequences, and the group of each text, -1 if it is empty."""
    contents = hash_rows(texts.starts, texts.hashes)
    _, first, groups = np.unique(contents, axis=0, return_index=True, return_inverse=True)
    kept = np.flatnonzero(texts.lengths[first] > 0)
    number = np.full(len(first), -1)
    number[kept[np.argsort(first[kept])]] = np.arange(len(kept))
    return np.sort(first[kept]), number[groups.reshape(-1)]


@dataclass(frozen=True)
class LeakLimits:
    """What counts as a leak; `decontaminate` explains the parameters."""

    threshold: Fraction
    least: int
    longest: int | None

    def share(self, shingles: np.ndarray) -> np.ndarray:
        """Return the least number of shingles that makes up the threshold."""
        share: np.ndarray = -(-shingles * self.threshold.numerator // self.threshold.denominator)
        return share


class Lookup(NamedTuple):
    """Items, ready to be looked for."""

    arguments: tuple[Any, ...]  # of `kernels.leaks.find_items`, after the texts
    different: np.ndarray  # the number of different shingles of each item
    rules: np.ndarray  # of each item, as in `Sequences`


def make_lookup(items: Sequences, limits: LeakLimits) -> Lookup:
    """Prepare the search for items.

    An item with d different shingles is found only where a number n of them occur, so at least one
    of any d - n + 1 of them must: it is looked up by those that the fewest items have. An item of
    fewer than `least` shingles must occur whole, so its rarest shingle is enough. With `longest`,
    any shingle can belong to the run, so all are looked up.
    """
    lengths, words = items.lengths, items.rules[:, 1]
    owner = np.repeat(np.arange(len(lengths)), lengths)
    shingles, codes = np.unique(items.hashes, return_inverse=True)
    ordered = np.lexsort((codes, owner))  # stable: places ascend where codes are equal
    sorted_codes = codes[ordered]
    once = np.ones(len(codes), np.bool_)
    once[1:] = (np.diff(sorted_codes) != 0) | (np.diff(owner) != 0)
    own, code = owner[once], sorted_codes[once]  # each shingle of an item once
    having = np.bincount(code)  # the number of items with a shingle
    different = np.bincount(own, minlength=len(lengths))
    telling = np.bincount(own, weights=having[code] <= COMMON, minlength=len(lengths)).astype(np.int64)

    whole = (items.rules[:, 0] == 1) | (different < limits.least)
    need = np.where(whole, NEVER, np.maximum(limits.share(different), limits.least))
    run, tried = lengths, np.where(whole, 1, different - need + 1)
    if limits.longest is not None:
        run = np.minimum(lengths, np.maximum(1, limits.longest - words + 1))
        tried = np.where(run < lengths, different, tried)

    rarest = np.lexsort((code, having[code], own))
    own, code = own[rarest], code[rarest]
    rank = np.arange(len(own)) - np.repeat(np.cumsum(different) - different, different)
    chosen = np.flatnonzero(rank < tried[own])
    chosen = chosen[np.lexsort((own[chosen], code[chosen]))]
    bounds = np.searchsorted(code[chosen], np.arange(len(shingles) + 1))
    rules, rule = np.unique(items.rules, axis=0, return_inverse=True)
    arguments = (
        rules,
        shingle_table(shingles),
        (bounds, own[chosen]),
        (items.starts, sorted_codes.astype(np.int32), ordered - items.starts[owner], having[sorted_codes] <= COMMON),
        (need, limits.share(telling), run, WIDTH * lengths + SPARE, rule.reshape(-1)),
    )
    return Lookup(arguments, different, items.rules)
