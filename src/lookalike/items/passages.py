"""Find the passages that two texts share, to show them side by side.

Shingles are made from texts in normal form, perhaps in lower case, with white space collapsed; here
each is traced back to its characters. As in `Shingles`, windows are equal if their hashes are.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from lookalike.items.sets import text_bounds
from lookalike.items.shingles import Shingles, as_array
from lookalike.kernels.characters import INDEX, KIND, PAGE, PAGES, UNSTABLE

MOST = 200_000  # characters of each text that are compared
TRIED = 16  # places of a window in the left text that are tried

# What a unit is, with every character written as its kind: separator, white space, letter, lone
# letter, mark.
LETTERS = bytes.maketrans(bytes(range(5)), b"SWLAM")
WORD = {"drop": b"L[LM]*|AM*", "keep": b"L[LM]*|[AS]M*"}
CHARACTER = {"collapse": b"[^W]|(?<=[^W])W+(?=[^W])", "keep": b"[SWLAM]", "remove": b"[^W]"}


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
    clean, starts, ends = prepared(text, shingles)
    hashes = shingles.hashes(as_array([clean]))[1].tolist()
    units = unit_spans(clean, shingles)
    if shingles.unit == "stop":
        first, last = _spots([clean[start:end] for start, end in units], shingles)
    else:
        first, last = list(range(len(units) - shingles.k + 1)), list(range(shingles.k - 1, len(units)))
    if not first and hashes:  # too short: all characters are one shingle
        units = unit_spans(clean, shingles if shingles.unit == "char" else Shingles())
        first, last = [0], [len(units) - 1]
    return Windows(hashes, first, last, [starts[start] for start, _ in units], [ends[end - 1] for _, end in units])


def unit_spans(clean: str, shingles: Shingles) -> list[tuple[int, int]]:
    """Return where the characters or words are in a prepared text; collapsed space is one unit."""
    kinds = (_traits(clean) & KIND).tobytes().translate(LETTERS)
    pattern = CHARACTER[shingles.space] if shingles.unit == "char" else WORD[shingles.punctuation]
    return [found.span() for found in re.finditer(pattern, kinds)]


def _spots(words: list[str], shingles: Shingles) -> tuple[list[int], list[int]]:
    """Return the positions of the first and the last word of each stop-word shingle."""
    chain = [at for at, word in enumerate(words) if word not in shingles._skipped]
    after = accumulate(word not in shingles._skipped for word in words)  # where in the chain the next words begin
    reach = (shingles.k - 1) * shingles.distance
    spots = [
        (at, chain[begin + reach - 1] if reach else at)
        for at, (word, begin) in enumerate(zip(words, after, strict=True))
        if word in shingles._antecedents and begin + reach <= len(chain)
    ]
    return [first for first, _ in spots], [last for _, last in spots]


def prepared(text: str, shingles: Shingles) -> tuple[str, list[int], list[int]]:
    """Return the text as `Shingles.prepare` makes it, and where each of its characters comes from.

    The text is cut where no normal form joins the two sides, and each piece is prepared by itself.
    Lowercasing replaces single characters without context (a capital sigma never becomes a final
    one), so the prepared pieces add up to the prepared text. They can differ from it only in marks
    newer than the table of characters (Unicode 14) that follow other marks.
    """
    if text.isascii():
        places = list(range(len(text) + 1))
        return text.lower() if shingles.lowercase else text, places[:-1], places[1:]
    cuts = _cuts(text, shingles.form)
    pieces = shingles.prepare(as_array([text[start:end] for start, end in pairwise(cuts.tolist())]))
    data, begins, stops = text_bounds(pieces)
    sizes = pc.utf8_length(pieces).to_numpy()
    clean = data[begins[0] : stops[-1]].tobytes().decode()
    return clean, np.repeat(cuts[:-1], sizes).tolist(), np.repeat(cuts[1:], sizes).tolist()


def _cuts(text: str, form: str) -> np.ndarray:
    """Return where pieces of the text start, and its end.

    A piece starts at each character that no normal form moves or joins to others: those whose
    decomposition begins with a stable one.
    """
    if form == "none":
        return np.arange(len(text) + 1)
    characters = sorted(set(text))
    parts = pc.utf8_normalize(as_array(characters), "NFKD" if form == "nfkc" else "NFD").to_pylist()
    stable = _traits("".join(part[0] for part in parts)) & UNSTABLE == 0
    begins = dict(zip(characters, stable.tolist(), strict=True))
    return np.array([0, *(at for at, char in enumerate(text) if at and begins[char]), len(text)])


def _traits(text: str) -> np.ndarray:
    """Return the entry of each character in the table."""
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    traits: np.ndarray = PAGES[INDEX[codes // PAGE], codes % PAGE]
    return traits
