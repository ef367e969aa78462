"""Where two similar texts are the same: the passages that they share, to be shown side by side.

Shingles are made of texts in normal form, perhaps in lower case, with white space collapsed; here each is traced
back to the characters it came from. What is shared is what `Shingles` calls so: windows with equal 64-bit hashes.
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

MOST = 200_000  # characters looked at in each text
TRIED = 16  # of a window's places in the left text

# What a unit is, where every character is written as its kind: separator, white space, letter, lone letter, mark.
LETTERS = bytes.maketrans(bytes(range(5)), b"SWLAM")
WORD = b"L[LM]*|AM*"
CHARACTER = {"collapse": b"[^W]|(?<=[^W])W+(?=[^W])", "keep": b"[SWLAM]", "remove": b"[^W]"}


class Passage(NamedTuple):
    """A stretch of two texts that they share: where it is in each, in characters (code points), end excluded."""

    left: int
    left_end: int
    right: int
    right_end: int


class Windows(NamedTuple):
    """The shingles of a text in order, and where they are in it.

    Window w is made of the units first[w] to last[w], and unit u of the characters starts[u] to ends[u], end excluded.
    """

    hashes: list[int]
    first: list[int]
    last: list[int]
    starts: list[int]
    ends: list[int]


def shared_passages(left: str, right: str, shingles: Shingles, most: int = MOST) -> list[Passage]:
    """The passages of `right` that are in `left` too, in the order of `right`, where no two overlap.

    A passage is a run of shingles that follow each other in both texts, from the start of its first unit to the end
    of its last, with the white space and signs between units. Where runs overlap in `right`, the later one begins
    where the earlier one ends. They may overlap in `left`, as when `right` says twice what `left` says once. Only the
    first `most` characters of each text are looked at.

    A stop-word shingle reaches from its stop word to the last word chosen. A run of these takes in the words between
    them, which need not be the same in both texts.

    >>> left, right = "Caf\u00e9  is French for coffee.", "Know that cafe\u0301 is french  for tea."
    >>> for at in shared_passages(left, right, Shingles.parse("word:2", lowercase=True)):
    ...     print(at, repr(left[at.left : at.left_end]), repr(right[at.right : at.right_end]))
    Passage(left=0, left_end=19, right=10, right_end=30) 'Caf\u00e9  is French for' 'cafe\u0301 is french  for'
    """
    exact = shingles if shingles.bits == 64 else replace(shingles, bits=64)
    one, two = windows(left[:most], exact), windows(right[:most], exact)
    found = []
    end = 0  # of the passages so far, in the right text
    for i, j, n in runs(one.hashes, two.hashes):
        unit = bisect_right(two.ends, end)  # the first that reaches further
        passed = max(0, bisect_left(two.last, unit) - j)  # windows that do not
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
    """Where both lists have the same values one after another: (place in left, place in right, how many).

    Each place of `right` whose value is in `left` is in one run. Of a value's places in `left` these are tried that
    come next after the run before, and the longest run is taken; at most `TRIED`, so that the work is linear.

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
    """How many values are the same from left[i] and right[j] on."""
    start = j
    most = min(len(left) - i, len(right) - j)
    while j < start + most and left[i] == right[j]:
        i += 1
        j += 1
    return j - start


def windows(text: str, shingles: Shingles) -> Windows:
    """The shingles of a text with their places in it."""
    clean, starts, ends = prepared(text, shingles)
    hashes = shingles.hashes(as_array([clean]))[1].tolist()
    units = unit_spans(clean, shingles)
    if shingles.unit == "stop":
        first, last = _spots([clean[start:end] for start, end in units], shingles)
    else:
        width = max(1, min(shingles.k, len(units)))
        first, last = list(range(len(units) - width + 1)), list(range(width - 1, len(units)))
    return Windows(hashes, first, last, [starts[start] for start, _ in units], [ends[end - 1] for _, end in units])


def unit_spans(clean: str, shingles: Shingles) -> list[tuple[int, int]]:
    """Where the characters or words are in a text that `prepare` has been through; collapsed white space is one."""
    kinds = (_traits(clean) & KIND).tobytes().translate(LETTERS)
    pattern = CHARACTER[shingles.space] if shingles.unit == "char" else WORD
    return [found.span() for found in re.finditer(pattern, kinds)]


def _spots(words: list[str], shingles: Shingles) -> tuple[list[int], list[int]]:
    """The first and the last word of each stop-word shingle."""
    chain = [at for at, word in enumerate(words) if word not in shingles._skipped]
    after = accumulate(word not in shingles._skipped for word in words)  # where in the chain the words after begin
    reach = (shingles.k - 1) * shingles.distance
    spots = [
        (at, chain[begin + reach - 1] if reach else at)
        for at, (word, begin) in enumerate(zip(words, after, strict=True))
        if word in shingles._antecedents and begin + reach <= len(chain)
    ]
    return [first for first, _ in spots], [last for _, last in spots]


def prepared(text: str, shingles: Shingles) -> tuple[str, list[int], list[int]]:
    """The text as `Shingles.prepare` makes it, and where in the text each character of that starts and ends.

    The text is cut where no normal form looks across, and each piece prepared by itself. Lower case is one character
    for one whatever stands beside it (a capital sigma is never a final one), so the pieces together are the whole.
    They may differ from it by marks newer than the table of characters (Unicode 14), after other marks.
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
    """Where pieces of the text start, and its end: at each character that no normal form moves or joins to others.

    These are the characters whose decomposition begins with a stable one.
    """
    if form == "none":
        return np.arange(len(text) + 1)
    characters = sorted(set(text))
    parts = pc.utf8_normalize(as_array(characters), "NFKD" if form == "nfkc" else "NFD").to_pylist()
    stable = _traits("".join(part[0] for part in parts)) & UNSTABLE == 0
    begins = dict(zip(characters, stable.tolist(), strict=True))
    return np.array([0, *(at for at, char in enumerate(text) if at and begins[char]), len(text)])


def _traits(text: str) -> np.ndarray:
    """What the table says of each character."""
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    traits: np.ndarray = PAGES[INDEX[codes // PAGE], codes % PAGE]
    return traits
