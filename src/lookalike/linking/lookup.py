"""Look up records in an index: each record is an item for each of its fields, and one as a whole.

An item is the set of trigrams of the field, or of all fields, so an item that is found has a
similar value. The items of record n have the numbers from n * (fields + 1) on, the last of which is
the whole. A category alone says too little, so it is part of the whole only.
"""

from collections.abc import Sequence

import numpy as np

from lookalike.core.run import Run
from lookalike.entities.candidates import MOST_PER_RECORD, record_sets
from lookalike.entities.fields import Column
from lookalike.index import Index
from lookalike.items.sets import Sets

THRESHOLD, RECALL = 0.3, 0.95  # of an index: the Jaccard similarity from which an item is found, and how surely


def items_of(columns: Sequence[Column], first: int, run: Run) -> tuple[Sets, np.ndarray]:
    """Return the items of all records, the first of which has the number `first`; and the items' numbers."""
    part = slice(0, len(columns[0].values))
    numbers = (first + np.arange(part.stop)) * (len(columns) + 1)
    parts = [(record_sets([column], part), at) for at, column in enumerate(columns) if column.kind != "category"]
    parts.append((record_sets(columns, part), len(columns)))
    found, ids = [], [np.zeros(0, np.int64)]
    for sets, at in parts:
        there = np.flatnonzero(sets.sizes)
        found.append(sets.take(there))
        ids.append(numbers[there] + at)
    return Sets.concatenate(found, run), np.concatenate(ids)


def similar_records(index: Index, columns: Sequence[Column], run: Run) -> np.ndarray:
    """Return the numbers of the records of an index that have a similar field, or are similar as a whole.

    A value that more than MOST_PER_RECORD records have says too little alone.
    """
    items, _ = items_of(columns, 0, run)
    found = index.query_batch(items, k=MOST_PER_RECORD + 1, run=run)
    assert found.right_ids is not None
    number = np.asarray(found.right_ids)[found.right].astype(np.int64) // (len(columns) + 1)
    least = np.full(len(items), np.inf)  # the similarity of the last one found
    np.minimum.at(least, found.left, found.similarity)
    few = np.bincount(found.left, minlength=len(items)) <= MOST_PER_RECORD
    return np.unique(number[few[found.left] | (found.similarity > least[found.left])])
