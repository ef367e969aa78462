"""Check that cutting removes what leaked and nothing else."""

import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.leaks.cutting import cut_lines, cut_tables, without

ITEM = "How many legs do twelve cats and seven parrots have in total?"
TEXTS = ["\u00fcber: " + ITEM + " \U0001f600 end", "nothing here", ITEM[:-1], f"{ITEM}{ITEM}\r\n"]
LEFT = ["\u00fcber: ? \U0001f600 end", "nothing here", "", "??\r\n"]


@given(st.text(max_size=30), st.lists(st.integers(0, 30), unique=True, max_size=6).map(sorted))
def test_without(text, bounds):
    cuts = list(zip(bounds[::2], bounds[1::2], strict=False))
    expected = [char for at, char in enumerate(text) if not any(start <= at < stop for start, stop in cuts)]
    assert without(text, cuts) == "".join(expected)


def test_tables_keep_their_other_columns_and_types():
    table = pa.table({"n": [1, 2, 3, 4], "text": pa.array(TEXTS, pa.string())})
    found = la.decontaminate(table, [ITEM])
    batches = [table[:0], table[:1], table[1:]]
    done = pa.concat_tables(cut_tables(batches, "text", found))
    assert done.schema == table.schema
    assert done.to_pydict() == {"n": [1, 2, 3, 4], "text": LEFT}


def test_lines_without_leaks_stay_byte_for_byte():
    rows = [{"a": [1, None], "text": text} for text in TEXTS]
    lines = [json.dumps(row, separators=(" , ", ":")).replace(" , ", ",  ").encode() + b"\n" for row in rows]
    found = la.decontaminate(TEXTS, [ITEM])
    (done,) = cut_lines([pa.array(lines, pa.large_binary())], "text", found)
    assert done[1].as_py() == lines[1]
    assert [json.loads(line) for line in done.to_pylist()] == [{"a": [1, None], "text": text} for text in LEFT]
    assert all(line.endswith(b"\n") for line in done.to_pylist())
