"""Keep items that are not similar to one kept before, without listing all similar pairs.

Items are visited in chunks: a chunk is compared with the items kept before, and what is left of it with
itself. Kept items are not similar to each other, so few of these pairs are similar, however many items
are near copies.
"""

import numpy as np

from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run
from lookalike.items.sides import ALONE
from lookalike.search.cluster import choose_apart
from lookalike.search.on_device import Joiner, pieces
from lookalike.search.spaces import Space
from lookalike.search.tables import check, near_blocks, near_pairs

CHUNK = 1 << 14  # items visited at a time, at first
LISTED = 1 << 24  # the most similar pairs to list within a chunk; with more, it is cut in half
FEW = 4  # a chunk with fewer than a FEWth of these is followed by one twice as long


def keep_in_turn(
    space: Space, order: np.ndarray, run: Run, joiner: Joiner | None = None, listed: int = LISTED
) -> tuple[np.ndarray, int]:
    """Return the kept item that stands for each item, itself if it is kept, and the number of pairs compared.

    Items are visited in `order`. Of several kept items, the one that stands for an item is the first
    after it in the collection or, if there are none, the first.
    """
    rank = np.full(len(space), len(order))
    rank[order] = np.arange(len(order))
    centre = np.arange(len(space))
    kept = order[:0]
    at, size, compared = 0, CHUNK, 0
    with run.stage("keep", len(order)) as tick:
        while at < len(order):
            chunk = np.sort(order[at : at + size])
            best = np.full(len(space), 2 * len(space))
            stand_in(space, chunk, kept, rank, best, run, joiner)
            new = best[chunk] == 2 * len(space)
            some = chunk[new]
            counts: list[int] = []
            try:
                found = near_pairs(space, some, None, ALONE, listed, run, counts.append, joiner)
            except TooManyPairs:
                size = max(1, size // 2)
                continue
            choose_apart(some[np.argsort(rank[some])], *found, centre, np.zeros(len(space)), directed=False)
            fresh = some[centre[some] == some]
            stand_in(space, chunk[~new], fresh, rank, best, run, joiner)
            centre[chunk[~new]] = best[chunk[~new]] % len(space)
            compared += sum(counts) + len(chunk) * len(kept) + int((~new).sum()) * len(fresh)
            kept = np.sort(np.concatenate((kept, fresh)))
            at += len(chunk)
            tick(len(chunk))
            if len(found[0]) < listed // FEW:
                size *= 2
    return centre, compared


def stand_in(
    space: Space,
    items: np.ndarray,
    kept: np.ndarray,
    rank: np.ndarray,
    best: np.ndarray,
    run: Run,
    joiner: Joiner | None,
) -> None:
    """Find for each item the kept one that comes first, of those visited before it.

    `best` has its position, with the number of items added if it is before the item.
    """
    standing = np.zeros(len(space), np.bool_)
    standing[kept] = True
    for _, numbers in near_blocks(space, items, kept, space.bounds, run, joiner):
        for good, _ in run.map(lambda some: check(space, some), pieces(numbers)):
            one, other = np.divmod(good, len(space))
            one, other = np.where(standing[one], other, one), np.where(standing[one], one, other)
            before = rank[other] < rank[one]
            one, other = one[before], other[before]
            np.minimum.at(best, one, np.where(other > one, other, other + len(space)))
