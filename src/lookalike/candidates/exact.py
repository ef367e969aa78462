"""Exact join: every pair at or above the threshold, by an index of prefixes under a rarest-first order."""

import numpy as np

from lookalike.candidates.banding import sort_keys, too_many
from lookalike.data import Sets
from lookalike.kernels.joins import count_elements, post, prefix_join, prefixes
from lookalike.run import Run, slices

ROWS = 256  # rows probed by one task


def exact_pairs(
    sets: Sets, p: int, q: int, split: int, limit: int, run: Run
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """All pairs of rows with Jaccard similarity p/q or more: (left, right, shared, candidates compared).

    Two similar sets share an element of their prefixes (see `kernels.joins.prefixes`), however the elements are
    ordered; with rare elements first few sets share one by chance. Unless `split` is ONE only pairs across it. More
    than `limit` pairs are an error.
    """
    rows = np.argsort(sets.sizes, kind="stable")
    rows = rows[np.searchsorted(sets.sizes[rows], 1) :]
    with run.stage("index prefixes"):
        ranks, shift = element_ranks(sets)
        starts, tokens = prefixes(sets.indptr, sets.elements, rows, ranks, shift, p, q)
        owners = np.repeat(np.arange(len(rows)), np.diff(starts))
        posted, positions, firsts = post(*sort_keys(tokens), owners)

    def work(part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        index = (rows, starts, posted, positions, firsts)
        found: tuple[np.ndarray, np.ndarray, np.ndarray, int] = prefix_join(
            part.start, part.stop, *index, sets.indptr, sets.elements, p, q, split
        )
        return found

    found, total = [], 0
    with run.stage("compare", len(rows)) as tick:
        for part in run.map(work, slices(len(rows), ROWS)):
            found.append(part)
            total += len(part[0])
            if total > limit:
                raise too_many(total, limit)
            tick(ROWS)
    none = np.zeros(0, np.int64)
    left, right, shared = (np.concatenate([none, *(part[i] for part in found)]) for i in range(3))
    return left, right, shared, sum(part[3] for part in found)


def element_ranks(sets: Sets) -> tuple[np.ndarray, np.uint64]:
    """(ranks, shift): the rank of element x is ranks[x >> shift], 0 for one in a single set, up to 255.

    Elements that share their high bits share a rank, which costs a little selectivity and nothing else.
    """
    bits = min(27, max(10, len(sets.elements).bit_length() + 1))
    shift = np.uint64(64 - bits)
    counts = np.zeros(1 << bits, np.int32)
    count_elements(sets.elements, shift, counts)
    ranks = np.minimum(np.ceil(8 * np.log2(np.maximum(counts, 1))), 255).astype(np.uint8)
    return ranks, shift
