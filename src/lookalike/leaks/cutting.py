"""Cut the places of test items from documents, in tables and in lines of JSON.

Batches have the documents in the order of the search. What is cut goes from the first word of an
item to its last, or to the end of the answer; all other characters stay.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.leaks.result import Leaks


def cut_tables(tables: Iterable[pa.Table], column: str, found: Leaks) -> Iterator[pa.Table]:
    """Yield tables with the leaks cut from the texts in a column."""
    for table, places, leaking in _leaking(tables, found):
        if places:
            texts = table[column].combine_chunks()
            cut = [without(texts[at].as_py(), found.cuts(document)) for at, document in places]
            replaced = pc.replace_with_mask(texts, leaking, pa.array(cut, texts.type))
            table = table.set_column(table.schema.get_field_index(column), table.schema.field(column), replaced)
        yield table


def cut_lines(batches: Iterable[pa.Array], column: str, found: Leaks) -> Iterator[pa.Array]:
    """Yield lines of JSON with the leaks cut from the texts in a column; other lines stay as they are."""
    for lines, places, leaking in _leaking(batches, found):
        if places:
            cut = []
            for at, document in places:
                row = json.loads(lines[at].as_py())
                row[column] = without(row[column], found.cuts(document))
                cut.append(json.dumps(row, ensure_ascii=False).encode() + b"\n")
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


def _leaking(batches: Iterable[Any], found: Leaks) -> Iterator[tuple[Any, list[tuple[int, int]], pa.Array]]:
    """Yield each batch with the leaking documents, as (position in it, position in the corpus), and a mask of them."""
    start = 0
    for batch in batches:
        leaking = pa.array(~found.keep[start : start + len(batch)])
        places = [(at, start + at) for at in pc.indices_nonzero(leaking).to_pylist()]
        yield batch, places, leaking
        start += len(batch)
