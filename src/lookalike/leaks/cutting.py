"""Cut the places of test items from documents, in tables and in lines of JSON.

Batches have the documents in the order of the search. Those with an item are searched again, so no
place needs to be kept. A cut goes from the first word of an item to its last, or to the end of the
answer, with the marks that belong to it and the white space on one side.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.items.shingles import as_array
from lookalike.leaks.result import Leaks
from lookalike.leaks.searching import joined

STOPS, WIDE_STOPS = ".,;:!?\u2026", "\u3002\uff0c\u3001\uff01\uff1f\uff1b\uff1a"  # marks after a sentence
MARKS = 8  # to cut at most with an item
BEGINNINGS = "\u00bf\u00a1"  # marks before one
PAIRS = dict(
    zip("([{\"'*_\u201c\u2018\u00ab\u201e\u300c\uff08", ")]}\"'*_\u201d\u2019\u00bb\u201c\u300d\uff09", strict=True)
)  # marks around one


def cut_tables(tables: Iterable[pa.Table], column: str, found: Leaks) -> Iterator[pa.Table]:
    """Yield tables with the leaks cut from the texts in a column."""
    for table, places, leaking in _leaking(tables, found):
        if len(places):
            texts = table[column].combine_chunks()
            cut = _without_items(texts.take(pa.array(places)).cast(pa.large_string()), found)
            replaced = pc.replace_with_mask(texts, leaking, pa.array(cut, texts.type))
            table = table.set_column(table.schema.get_field_index(column), table.schema.field(column), replaced)
        yield table


def cut_lines(batches: Iterable[pa.Array], column: str, found: Leaks) -> Iterator[pa.Array]:
    """Yield lines of JSON with the leaks cut from the texts in a column; other lines stay as they are."""
    for lines, places, leaking in _leaking(batches, found):
        if len(places):
            rows = [json.loads(line) for line in lines.take(pa.array(places)).to_pylist()]
            for row, text in zip(rows, _without_items(as_array([row[column] for row in rows]), found), strict=True):
                row[column] = text
            cut = [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]
            lines = pc.replace_with_mask(lines, leaking, pa.array(cut, lines.type))
        yield lines


def without(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """Return a text without some parts, given in order.

    >>> without("to be or not to be", [(0, 6), (9, 13)])
    'or to be'
    """
    done, kept = 0, []
    for start, stop in cuts:
        kept.append(text[done:start])
        done = stop
    return "".join([*kept, text[done:]])


def widened(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return a part of a text with the marks that belong to it, and the white space on one side.

    >>> def cut(text, words):
    ...     start, stop = widened(text, text.index(words), text.index(words) + len(words))
    ...     return text[:start] + "|" + text[stop:]
    >>> cut("before. What is it? after this", "What is it"), cut('one ("is it this?") two', "is it this")
    ('before. |after this', 'one |two')
    """
    for _ in range(MARKS):
        before, after = text[start - 1 : start], text[stop : stop + 1]
        if after and (after in WIDE_STOPS or (after in STOPS and not text[stop + 1 : stop + 2].isalnum())):
            stop += 1
        elif before and before in BEGINNINGS:
            start -= 1
        elif before in PAIRS and after == PAIRS[before]:
            start, stop = start - 1, stop + 1
        elif any(after == end and _is_open(text[start:stop], begin, end) for begin, end in PAIRS.items()):
            stop += 1
        elif before in PAIRS and _is_open(text[start:stop], PAIRS[before], before):
            start -= 1
        else:
            break
    return _without_double_space(text, start, stop)


def _without_double_space(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return a part with the white space on one side, if both have some or are an end of the text.

    The side with more line breaks keeps it.
    """
    left, right = start, stop
    while left > 0 and text[left - 1].isspace():
        left -= 1
    while right < len(text) and text[right].isspace():
        right += 1
    if (left == start > 0) or (right == stop < len(text)):
        return start, stop
    lines = text.count("\n", left, start), text.count("\n", stop, right)
    if right == len(text) or (left > 0 and lines[0] < lines[1]):
        return left, stop
    return start, right


def _is_open(text: str, begin: str, end: str) -> bool:
    """Return whether a text has more of the mark on one side of something than of the one on the other."""
    count = text.count(begin)
    return count % 2 == 1 if begin == end else count > text.count(end)


def _without_items(texts: pa.LargeStringArray, found: Leaks) -> list[str]:
    """Return texts without the test items in them."""
    return [
        without(text, joined(widened(text, *part) for part in parts))
        for text, parts in zip(texts.to_pylist(), found.search.cuts(texts), strict=True)
    ]


def _leaking(batches: Iterable[Any], found: Leaks) -> Iterator[tuple[Any, np.ndarray, pa.Array]]:
    """Yield each batch with the positions of the leaking documents in it, and a mask of them."""
    start = 0
    for batch in batches:
        leaking = ~found.keep[start : start + len(batch)]
        yield batch, np.flatnonzero(leaking), pa.array(leaking)
        start += len(batch)
