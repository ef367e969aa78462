"""Join sets with weights exactly: similar ones share one of their heaviest elements."""

from threading import local

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.items.sets import Sets
from lookalike.items.sides import Sides
from lookalike.kernels.weights import weighted_join, weighted_prefixes
from lookalike.search.joins import Found
from lookalike.theory.banding import too_many

ROWS = 1 << 10  # rows per task


def weighted_pairs(sets: Sets, p: int, q: int, heaviest: float, sides: Sides, limit: int, run: Run) -> Found:
    """Return all pairs of rows with a weighted similarity of at least p/q, and the weight they share.

    `heaviest` is the weight of elements that only one set has. More than `limit` pairs are an error.
    """
    rows = np.flatnonzero(sets.sizes)
    rows = rows[np.argsort(sets.totals[rows], kind="stable")]
    weighted = (sets.indptr, sets.elements, sets.weights, sets.totals)
    with run.stage("index prefixes"):
        parts = slices(len(rows), ROWS)
        made = list(run.map(lambda part: weighted_prefixes(*weighted, rows[part], p, q, heaviest), parts))
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(indptr) for indptr, _ in made)])
        indptr = np.cumsum(sizes)
        index = indptr, *_postings(indptr, np.concatenate([np.zeros(0, np.uint64), *(some for _, some in made)]))
    own = local()

    def join(part: slice) -> Found:
        if not hasattr(own, "met"):
            own.met = np.full(len(rows), -1, np.int32)
        found: Found = weighted_join(part.start, part.stop, own.met, rows, *index, *weighted, p, q, sides.split)
        return found

    found, compared, total = [], 0, 0
    with run.stage("compare", len(rows)) as tick:
        for task, (*pairs, seen) in zip(parts, run.map(join, parts), strict=True):
            found.append(pairs)
            compared, total = compared + seen, total + len(pairs[0])
            if total > limit:
                raise too_many(total, limit)
            tick(task.stop - task.start)
    none = [np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)]
    left, right, shared = (np.concatenate(column) for column in zip(none, *found, strict=True))
    return left, right, shared, compared


def _postings(indptr: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the earlier rows with each token begin and end, and those rows: see `weighted_join`."""
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.argsort(tokens, kind="stable")
    first = np.flatnonzero(np.diff(tokens[order], prepend=~tokens[order[:1]]) != 0)
    begins, ends = np.empty(len(tokens), np.int64), np.empty(len(tokens), np.int64)
    begins[order] = np.repeat(first, np.diff(np.append(first, len(tokens))))
    ends[order] = np.arange(len(tokens))
    return begins, ends, owners[order]
