"""Find the passages that two texts share, to show them side by side.

Shingles are made from texts in normal form, perhaps in lower case, with white space collapsed; here
each is traced back to its characters. As in `Shingles`, windows are equal if their hashes are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lookalike.items.shingles import Shingles, as_array
from lookalike.items.units import units_of

MOST = 200_000  # characters of each text that are compared
TRIED = 16  # places of a window in the left text that are tried


class Passage(NamedTuple):
    """The place of a shared passage in both texts, in characters (code points), end excluded."""

    left: int
    left_end: int
    right: int
    right_end: int


class Windows(NamedTuple):
    """The shingles of a text in order, and where they are in it.

    Window w consists of the units first[w] to last[w], and unit u of the characters starts[u] to
    ends[u], end excluded.
    """

    hashes: list[int]
    first: list[int]
    last: list[int]
    starts: list[int]
    ends: list[int]


def shared_passages(left: str, right: str, shingles: Shingles, most: int = MOST) -> list[Passage]:
    """Return the passages of `right` that are also in `left`, in order and without overlap.

    A passage is a run of shingles that follow each other in both texts, from the start of its first
    unit to the end of its last, with the white space and punctuation between. Where runs overlap in
    `right`, the later one begins where the earlier one ends. In `left` they can overlap, as when
    `right` repeats a sentence of `left`. Only the first `most` characters of each text count.

    A stop-word shingle reaches from its stop word to the last word chosen. A run of them includes
    the words between them, which can differ between the texts.

    >>> left, right = "Caf\u00e9  is French for coffee.", "Know that cafe\u0301 is french  for tea."
    >>> for at in shared_passages(left, right, Shingles.parse("word:2", lowercase=True)):
    ...     print(at, repr(left[at.left : at.left_end]), repr(right[at.right : at.right_end]))
    Passage(left=0, left_end=19, right=10, right_end=30) 'Caf\u00e9  is French for' 'cafe\u0301 is french  for'
    """
    exact = shingles if shingles.bits == 64 else replace(shingles, bits=64)
    one, two = windows(left[:most], exact), windows(right[:most], exact)
    found = []
    end = 0  # where the passages so far end in the right text
    for i, j, n in runs(one.hashes, two.hashes):
        unit = bisect_right(two.ends, end)  # the first unit that reaches beyond the end
        passed = max(0, bisect_left(two.last, unit) - j)  # windows that do not reach beyond it
        if passed >= n:
            continue
        last = one.last[i + n - 1], two.last[j + n - 1]
        i, j = i + passed, j + passed
        cut = max(0, unit - two.first[j])
        begin = min(one.first[i] + cut, one.last[i]), two.first[j] + cut
        start = max(end, two.starts[begin[1]])
        end = two.ends[last[1]]
        found.append(Passage(one.starts[begin[0]], one.ends[last[0]], start, end))
    return found


def runs(left: list[int], right: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of equal values in both lists: (place in left, place in right, length).

    Each place of `right` whose value is in `left` is in one run, the longest of those at the next
    places in `left` after the previous run. At most `TRIED` are tried, so that the work is linear.

    >>> list(runs([1, 2, 3, 1, 2], [1, 2, 3, 9, 1, 2, 1]))
    [(0, 0, 3), (3, 4, 2), (0, 6, 1)]
    """
    values = np.array(left, np.uint64)
    order = np.argsort(values, kind="stable")
    bounds = (np.searchsorted(values[order], np.array(right, np.uint64), side) for side in ("left", "right"))
    low, high = (bound.tolist() for bound in bounds)
    places: list[int] = order.tolist()
    here = j = 0
    while j < len(right):
        following = bisect_left(places, here, low[j], high[j])
        begin = max(low[j], min(following, high[j] - TRIED))
        longest, best = 0, 0
        for i in places[begin : min(high[j], begin + TRIED)]:
            n = _equal(left, right, i, j)
            if n > longest or (n == longest and best < here <= i):
                longest, best = n, i
        if longest:
            yield best, j, longest
            here = best + longest
        j += max(1, longest)


def _equal(left: list[int], right: list[int], i: int, j: int) -> int:
    """Return how many values are equal from left[i] and right[j] on."""
    start = j
    most = min(len(left) - i, len(right) - j)
    while j < start + most and left[i] == right[j]:
        i += 1
        j += 1
    return j - start


def windows(text: str, shingles: Shingles) -> Windows:
    """Return the shingles of a text with their places in it."""
    texts = as_array([text])
    hashes = shingles.hashes(shingles.prepare(texts))[1].tolist()
    units = units_of(texts, shingles, characters=True)
    if shingles.unit == "stop":
        first, last = _spots(units.hashes, shingles)
    else:
        n = len(units.hashes)
        first, last = list(range(n - shingles.k + 1)), list(range(shingles.k - 1, n))
    if not first and hashes:  # too short: all characters are one shingle
        if shingles.unit != "char":
            units = units_of(texts, Shingles(), characters=True)
        first, last = [0], [len(units.hashes) - 1]
    return Windows(hashes, first, last, units.starts.tolist(), units.stops.tolist())


def _spots(words: np.ndarray, shingles: Shingles) -> tuple[list[int], list[int]]:
    """Return the positions of the first and the last word of each stop-word shingle."""
    antecedents, skipped = (np.isin(words, hashes) for hashes in shingles.spot_hashes)
    chain = np.flatnonzero(~skipped)
    after = np.cumsum(~skipped)  # where in the chain the next words begin
    reach = (shingles.k - 1) * shingles.distance
    first = np.flatnonzero(antecedents & (after + reach <= len(chain)))
    last = chain[after[first] + reach - 1] if reach else first
    return first.tolist(), last.tolist()
