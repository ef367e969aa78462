"""Shows two items side by side: texts with shared passages, sets, records by field, vectors.

Long stretches of a text that are all shared or all different are cut in the middle, so that the
changes stay in sight.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.wording import counted
from lookalike.items.passages import shared_passages
from lookalike.items.shingles import Shingles

ENDS = 240  # characters kept at each end of a long piece
LOOKED_AT = 20_000  # characters of a text that are compared
MOST = 3000  # characters of a text that are shown
WITHIN = 20  # how many passages to check for lying within another
LISTED = 60  # elements shown
DRAWN = 256  # points on the line of a vector
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}


class Stretch(NamedTuple):
    """A stretch of a text, or a note in its place, and the numbers of the passages it is in."""

    text: str
    passages: tuple[int, ...] = ()
    note: bool = False


@dataclass(frozen=True)
class Beside:
    """Two items to show side by side."""

    @property
    def kind(self) -> str:
        """The name of the class, by which the template chooses a layout."""
        return type(self).__name__


@dataclass(frozen=True)
class Texts(Beside):
    """Two texts in pieces."""

    left: Sequence[Stretch]
    right: Sequence[Stretch]
    line: str  # what they share, in a few words

    @property
    def shared(self) -> bool:
        """Whether they share anything."""
        return any(piece.passages for piece in self.left)


@dataclass(frozen=True)
class ElementLists(Beside):
    """Two sets: some elements of both and of each alone, and how many there are."""

    both: Sequence[str]
    left: Sequence[str]
    right: Sequence[str]
    counts: tuple[int, int, int]


class FieldRow(NamedTuple):
    """One field of two records."""

    name: str
    left: str | None
    right: str | None
    points: str
    way: str
    good: float  # 0 to 1


@dataclass(frozen=True)
class Fields(Beside):
    """Two records, field by field."""

    rows: Sequence[FieldRow]
    line: str

    @property
    def ways(self) -> bool:
        """Whether it is known how the fields were compared."""
        return any(row.way for row in self.rows)


@dataclass(frozen=True)
class Numbers(Beside):
    """Two vectors as lines over their components, and the components that differ most."""

    left: str  # points of a line in a box of 100 by 40
    right: str
    zero: float  # the height of 0 in the box
    rows: Sequence[tuple[int, str, str]]
    line: str


class Mark(NamedTuple):
    """A minutia in a box of 100 by 100: its place, and the end of a line in its direction."""

    x: float
    y: float
    to_x: float
    to_y: float


@dataclass(frozen=True)
class Marks(Beside):
    """Two fingerprints by their minutiae."""

    left: Sequence[Mark]
    right: Sequence[Mark]
    line: str


def beside(left: Any, right: Any, shingles: Shingles | None) -> Beside:
    """Return two items of the same kind side by side."""
    if isinstance(left, str):
        return texts(left, right, shingles or Shingles())
    if hasattr(left, "toarray"):  # sparse vectors; only these two become dense
        return numbers(left.toarray()[0], right.toarray()[0])
    if isinstance(left, np.ndarray) and left.ndim == 2:
        return Marks(marks(left), marks(right), f"{len(left)} and {counted(len(right), 'minutia', 'e')}")
    if isinstance(left, np.ndarray):
        return codes(left, right) if left.dtype == bool else numbers(left, right)
    return elements(left, right)


# --- texts ---


def texts(left: str, right: str, shingles: Shingles) -> Texts:
    """Return two texts with their shared passages; very long texts are cut."""
    if left == right:
        same = list(pieces(left, [(0, len(left), 0)]))
        return Texts(same, same, "the two texts are the same")
    cut = max(len(left), len(right)) > LOOKED_AT
    left, right = left[:LOOKED_AT], right[:LOOKED_AT]
    found = shared_passages(left, right, shingles)
    sides = (
        pieces(left, [(one.left, one.left_end, at) for at, one in enumerate(found)]),
        pieces(right, [(one.right, one.right_end, at) for at, one in enumerate(found)]),
    )
    share = sum(one.right_end - one.right for one in found) / max(1, len(right))
    line = f"{counted(len(found), 'shared passage')}, {share:.0%} of the right text" if found else "no shared passages"
    return Texts(list(sides[0]), list(sides[1]), line + (f" (first {LOOKED_AT:,} characters only)" if cut else ""))


def pieces(text: str, spans: Iterable[tuple[int, int, int]], most: int = MOST) -> Iterator[Stretch]:
    """Yield a text in pieces, with the numbers of their passages, which can overlap; cut at `most`.

    >>> [piece.text for piece in pieces("to be or not", [(0, 5, 0), (3, 8, 1)])]
    ['to be', ' or', ' not']
    """
    for start, end, numbers in stretches(len(text), spans):
        long = end - start > 2 * ENDS + 60
        for first, last in ((start, start + ENDS), (end - ENDS, end)) if long else ((start, end),):
            if long and last == end:
                what = "shared characters" if numbers else "characters"
                yield Stretch(f"{first - start - ENDS:,} {what}", numbers, note=True)
            stop = min(last, first + most)
            most -= stop - first
            yield Stretch(visible(text[first:stop]), numbers)
            if stop < len(text) and not most:
                yield Stretch(f"{len(text) - stop:,} more characters", note=True)
                return


def stretches(length: int, spans: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield a whole text cut at the ends of spans: (start, end, the numbers of its spans)."""
    done = 0
    ordered = sorted(spans)
    for at, (start, end, number) in enumerate(ordered):
        if end <= done:
            continue
        if start > done:
            yield done, start, ()
        within = (other for low, high, other in islice(ordered, at + 1, at + WITHIN) if low < end and high <= end)
        yield max(start, done), end, (number, *within)
        done = end
    if done < length:
        yield done, length, ()


def visible(text: str) -> str:
    """Return the text with symbols for control characters, which pages cannot hold."""
    return text.translate(CONTROLS)


# --- sets, vectors ---


def elements(left: Iterable[Any], right: Iterable[Any]) -> ElementLists:
    """Return two sets or bags side by side."""
    one, other = Counter(left), Counter(right)
    parts = (one & other, one - other, other - one)
    shown = [[written(*pair) for pair in nsmallest(LISTED, part.items())] for part in parts]
    both, left_only, right_only = (part.total() for part in parts)
    return ElementLists(shown[0], shown[1], shown[2], (both, left_only, right_only))


def written(element: Any, copies: int) -> str:
    """Return an element as text, and how often it occurs if more than once."""
    return visible(str(element)) + (f" (\u00d7{copies:,})" if copies > 1 else "")


def codes(left: np.ndarray, right: np.ndarray) -> Texts:
    """Return two bit codes of one length, with equal stretches as passages."""
    ends = [0, *(1 + np.flatnonzero(np.diff(left == right))).tolist(), len(left)]
    spans = [(a, b, at) for at, (a, b) in enumerate(pairwise(ends)) if left[a] == right[a]] if len(left) else []
    sides = [list(pieces("".join(map(str, code.astype(int).tolist())), spans)) for code in (left, right)]
    return Texts(sides[0], sides[1], f"{np.count_nonzero(left != right):,} of {len(left):,} bits differ")


def numbers(left: np.ndarray, right: np.ndarray) -> Numbers:
    """Return two vectors of one length as lines, with the components that differ most."""
    apart = np.abs(left - right)
    most = np.argsort(-apart, kind="stable")[:8]
    rows = [(int(at), f"{left[at]:.4g}", f"{right[at]:.4g}") for at in most if apart[at] > 0]
    step = max(1, -(-len(left) // DRAWN))
    low, high = min(0.0, left.min(initial=0), right.min(initial=0)), max(0.0, left.max(initial=0), right.max(initial=0))
    tall = (high - low) or 1.0
    lines = [
        " ".join(
            f"{100 * at * step / max(1, len(side) - 1):.5g},{40 * (high - value) / tall:.4g}"
            for at, value in enumerate(side[::step].tolist())
        )
        for side in (left, right)
    ]
    lengths = [float(np.linalg.norm(side)) for side in (left, right)]
    dropped = f", one in {step} drawn" if step > 1 else ""
    line = f"{len(left):,} components{dropped}; lengths {lengths[0]:.4g} and {lengths[1]:.4g}"
    return Numbers(lines[0], lines[1], 40 * high / tall, rows, line)


def marks(minutiae: np.ndarray) -> list[Mark]:
    """Return minutiae (x, y upwards, angle in degrees), scaled to fill the box."""
    if not len(minutiae):
        return []
    low, high = minutiae[:, :2].min(axis=0), minutiae[:, :2].max(axis=0)
    size = max(float((high - low).max()), 1.0)
    x, y = 8 + 84 * (minutiae[:, :2] - (low + high) / 2 + size / 2).T / size
    angle = np.radians(minutiae[:, 2])
    rows = np.stack((x, 100 - y, x + 6 * np.cos(angle), 100 - y - 6 * np.sin(angle)), axis=1)
    return [Mark(*row) for row in np.round(rows, 1).tolist()]
