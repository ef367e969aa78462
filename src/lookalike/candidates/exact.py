"""Exact join: every pair at or above the threshold, by an index of prefixes under a rarest-first order."""

import numpy as np

from lookalike.candidates.banding import sort_keys, too_many
from lookalike.data import Sets
from lookalike.kernels.joins import SUFFIX, count_elements, length_join, post, prefix_join, prefixes
from lookalike.run import Run, slices

STAGES = ("length", "prefix", "position", "suffix")
Found = tuple[np.ndarray, np.ndarray, np.ndarray, int]  # left, right, elements shared, pairs compared


def exact_pairs(sets: Sets, kind: int, p: int, q: int, split: int, limit: int, run: Run, stage: int = SUFFIX) -> Found:
    """All similar pairs of rows, of a kind of similarity and its p and q (see `kernels.bounds`).

    Two similar sets share an element of their prefixes, however the elements are ordered; with rare elements first few
    sets share one by chance. `stage` is the last filter to be used. Unless `split` is ONE only pairs across it. More
    than `limit` pairs are an error.
    """
    rows = np.argsort(sets.sizes, kind="stable")
    rows = rows[np.searchsorted(sets.sizes[rows], 1) :]
    measure = (kind, p, q)
    if stage:
        with run.stage("index prefixes"):
            ranks, shift = element_ranks(sets)
            starts, tokens, places, kept = prefixes(sets.indptr, sets.elements, rows, ranks, shift, *measure)
            owners = np.repeat(np.arange(len(rows)), np.diff(starts))
            index = (starts, tokens, places, *post(*sort_keys(tokens), tokens, owners, places, kept))

    def work(part: slice) -> Found:
        found: Found
        if stage:
            found = prefix_join(part.start, part.stop, rows, *index, sets.indptr, sets.elements, *measure, stage, split)
        else:
            found = length_join(part.start, part.stop, rows, sets.indptr, sets.elements, *measure, split)
        return found

    found, total = [], 0
    step = max(256, len(rows) // 256)  # rows a task; each task looks at all rows once
    with run.stage("compare", len(rows)) as tick:
        for part in run.map(work, slices(len(rows), step)):
            found.append(part)
            total += len(part[0])
            if total > limit:
                raise too_many(total, limit)
            tick(step)
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
