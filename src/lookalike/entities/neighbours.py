"""Find the nearest neighbours of records: by the words and shingles of a field, or of all fields.

Each text is a vector of its words, pairs of words and trigrams, weighted by their rarity; two
records are as near as the cosine of their vectors says. An inverted index, read from the rarest element on, finds the
neighbours: the time grows with the number of records, not with that of pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run, Tick, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.fields import TRIGRAMS, WORDS, Column
from lookalike.entities.rarities import Rarities
from lookalike.items.sets import Sets, slices_of_texts
from lookalike.items.shingles import Shingles
from lookalike.items.sides import Sides
from lookalike.kernels.postings import (
    nearest_by_elements,
    number_distinct,
    rank_rows,
    rows_of_elements,
    spread_to_records,
)
from lookalike.kernels.sets import group_rows
from lookalike.theory.sorting import order_of

MOST_READ = 1 << 11  # entries of the index read for a text; twice as many find 0.1% more matches of 100,000 people
WORD_PAIRS = Shingles(k=2, unit="word", form="none")  # rare even where all words are frequent, as in addresses
CUTS = (WORDS, WORD_PAIRS, TRIGRAMS)
TEXTS_PER_TASK = 1 << 14
SEARCHES_PER_TASK = 1 << 11


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbours of records, nearest first, and the cosines of their vectors.

    Records are in ascending order, those of both tables, so a pair can be found from both sides.
    """

    record: np.ndarray
    neighbour: np.ndarray
    similarity: np.ndarray
    searches: int  # how many distinct texts were searched for
    proven: int  # how many of these searches were long enough to prove that nothing is nearer

    def pairs(self, records: int) -> np.ndarray:
        """Return the pairs as numbers left * records + right, some of them twice."""
        left, right = np.minimum(self.record, self.neighbour), np.maximum(self.record, self.neighbour)
        return np.asarray(left * records + right)

    @classmethod
    def joined(cls, parts: "Sequence[Neighbours]") -> Self:
        """Return the neighbours of all parts, one after another."""
        return cls(
            np.concatenate([one.record for one in parts]),
            np.concatenate([one.neighbour for one in parts]),
            np.concatenate([one.similarity for one in parts]),
            sum(one.searches for one in parts),
            sum(one.proven for one in parts),
        )


def nearest_by(
    column: Column, sides: Sides, k: int, run: Run, searched: np.ndarray | None = None, storage: Storage = IN_MEMORY
) -> Neighbours:
    """Find the k nearest neighbours of records by a field: in the other table, if there are two.

    `searched` says for which records; by default for all. Records without a value, or that share no
    word or shingle with another, have no neighbours.
    """
    return nearest_texts(column.canonical, sides, k, run, searched, storage, column.name)


def nearest_as_whole(
    columns: Sequence[Column], sides: Sides, k: int, run: Run, searched: np.ndarray | None = None,
    storage: Storage = IN_MEMORY,
) -> Neighbours:  # fmt: skip
    """Find the k nearest neighbours of records by all fields together, as if they were one text."""
    return nearest_texts(whole_texts(columns, run), sides, k, run, searched, storage)


def whole_texts(columns: Sequence[Column], run: Run) -> pa.LargeStringArray:
    """Return all values of each record as one text, null if there are none."""
    parts = slices_of_texts([column.canonical for column in columns], len(columns[0].canonical), TEXTS_PER_TASK)
    made = run.map(lambda part: _joined([column.canonical[part] for column in columns]), parts)
    return pa.chunked_array(list(made), pa.large_string()).combine_chunks()


def _joined(some: list[pa.LargeStringArray]) -> pa.LargeStringArray:
    none = pa.repeat(pa.scalar("", pa.large_string()), len(some[0]))  # Arrow drops rows in which all are null
    joined = pc.binary_join_element_wise(*some, none, pa.scalar(" ", pa.large_string()), null_handling="skip")
    texts = pc.utf8_trim_whitespace(joined)
    return pc.if_else(pc.equal(texts, ""), None, texts)


def nearest_texts(
    texts: pa.LargeStringArray, sides: Sides, k: int, run: Run, searched: np.ndarray | None = None,
    storage: Storage = IN_MEMORY, name: str = "",
) -> Neighbours:  # fmt: skip
    """Find the k nearest neighbours of records by their texts; each distinct text is searched for once."""
    coded = texts.dictionary_encode()
    codes = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)
    with run.stage("words"):
        rows = ElementRows.of(coded.dictionary, run, storage=storage, name=f"elements {name}".rstrip())
    first, second = sides.apart(np.flatnonzero(codes >= 0))
    ways = [(first, second), (second, first)] if sides.two else [(first, first)]
    if searched is not None:
        ways = [(records[searched[records]], others) for records, others in ways]
    with run.stage("nearest", sum(len(records) for records, _ in ways)) as tick:
        search = partial(_nearest, rows, codes, k=k, alone=not sides.two, run=run, tick=tick)
        return Neighbours.joined([search(records, others) for records, others in ways])


def _nearest(
    rows: "ElementRows",
    codes: np.ndarray,
    records: np.ndarray,
    others: np.ndarray,
    k: int,
    alone: bool,
    run: Run,
    tick: Tick,
) -> Neighbours:
    """Find the neighbours of `records` among the `others`; each record has the text codes[record]."""
    wanted, targets = (_distinct(codes[some], len(rows.lengths)) for some in (records, others))
    index = rows_of_elements(rows.indptr, rows.elements, targets, len(rows.weights))
    near, cosines = np.empty((len(wanted), k), np.int64), np.empty((len(wanted), k))

    def search(part: slice) -> int:
        near[part], cosines[part], proven = nearest_by_elements(wanted[part], *rows[:4], *index, k, MOST_READ, alone)
        return int(np.count_nonzero(proven))

    certain, parts = 0, slices(len(wanted), SEARCHES_PER_TASK)
    for part, proven in zip(parts, run.map(search, parts), strict=True):
        certain += proven
        tick((part.stop - part.start) / len(wanted) * len(records))
    by_text = np.cumsum(np.bincount(codes[others] + 1, minlength=len(rows.lengths) + 1))
    of_text = others[order_of(codes[others], run)]
    place = np.zeros(len(rows.lengths), np.int64)
    place[wanted] = np.arange(len(wanted))
    found, similarity = spread_to_records(
        records, codes[records], place[codes[records]], near, cosines, by_text, of_text, alone
    )
    there = found >= 0
    return Neighbours(np.repeat(records, there.sum(axis=1)), found[there], similarity[there], len(wanted), certain)


def joined(parts: Sequence[np.ndarray], kind: Any) -> np.ndarray:
    """Return arrays of a kind in one; there can be none."""
    return np.concatenate([np.zeros(0, kind), *parts])


def _distinct(codes: np.ndarray, count: int) -> np.ndarray:
    """Return which of `count` codes there are, in ascending order; to sort them takes longer."""
    there = np.zeros(count, np.bool_)
    there[codes] = True
    return np.flatnonzero(there)


class ElementRows(NamedTuple):
    """The elements of distinct texts: words, pairs of words and trigrams, in the form of `kernels.postings`."""

    indptr: np.ndarray
    elements: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray
    hashes: np.ndarray  # of the elements
    counts: np.ndarray  # in how many texts each element is

    @classmethod
    def of(
        cls,
        texts: pa.LargeStringArray,
        run: Run,
        cuts: Sequence[Shingles] = CUTS,
        rarities: Rarities | None = None,
        storage: Storage = IN_MEMORY,
        name: str = "",
    ) -> Self:
        """Number the elements of all texts from the rarest on, and weight each by its rarity, counted here or given."""
        made: list[TextElements] = []
        filled = 0
        elements = storage.empty(name, len(cuts) * most_elements(texts), np.int32)
        for one in run.map(
            lambda part: TextElements.of(texts[part], cuts), slices_of_texts([texts], len(texts), TEXTS_PER_TASK)
        ):
            place = elements[filled : filled + len(one.elements)]
            place[:] = one.elements
            made.append(one._replace(elements=place))
            filled += len(place)
        known, where = np.unique(joined([one.hashes for one in made], np.uint64), return_inverse=True)
        every = len(texts)
        count = np.bincount(where, joined([one.counts for one in made], np.int64), len(known))
        if rarities is not None:
            every, count = rarities.texts, rarities.counts_of(known)
        order = np.argsort(count, kind="stable")
        weights = np.log(1 + every / count[order])
        ranks = np.empty(len(known), np.int32)
        ranks[order] = np.arange(len(known))
        bounds = np.cumsum([0, *(len(one.hashes) for one in made)])

        def rank(at: int) -> np.ndarray:
            one, numbers = made[at], where[bounds[at] : bounds[at + 1]]
            return np.asarray(rank_rows(one.indptr, one.elements, ranks[numbers], weights))

        lengths = joined(list(run.map(rank, range(len(made)))), np.float64)
        indptr = np.append(0, np.cumsum(joined([np.diff(one.indptr) for one in made], np.int64)))
        return cls(indptr, elements[:filled], weights, lengths, known[order], count[order])


def most_elements(texts: pa.LargeStringArray) -> int:
    """Return more elements than any cut makes of some texts: a text has one, or at most one per byte."""
    return len(texts) + (pc.sum(pc.binary_length(texts)).as_py() or 0)


class TextElements(NamedTuple):
    """The elements of some texts, by number, and what the numbers stand for."""

    indptr: np.ndarray
    elements: np.ndarray  # numbers, each once per text
    hashes: np.ndarray  # of each number
    counts: np.ndarray  # in how many of these texts it is

    @classmethod
    def of(cls, texts: pa.LargeStringArray, cuts: Sequence[Shingles]) -> Self:
        """Cut texts into elements."""
        made = [shingles.hashes(texts) for shingles in cuts]
        rows = np.concatenate([np.repeat(np.arange(len(texts)), np.diff(indptr)) for indptr, _ in made])
        sets = Sets.sorted(*group_rows(len(texts), rows, np.concatenate([hashes for _, hashes in made])))
        return cls(sets.indptr, *number_distinct(sets.elements))
