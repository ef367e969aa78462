"""Check that cutting removes what leaked and nothing else."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.leaks.cutting import cut_lines, cut_tables, widened, without

ITEM = "How many legs do twelve cats and seven parrots have in total?"
TEXTS = ["\u00fcber: " + ITEM + " \U0001f600 end", "nothing here", ITEM[:-1], f"{ITEM}{ITEM}\r\n"]
LEFT = ["\u00fcber: \U0001f600 end", "nothing here", "", "?\r\n"]


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


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("before. {}. after this.", "before. after this."),
        ("before {} after", "before after"),
        ("before {}", "before"),
        ("{} after\n", "after\n"),
        ("before {}?\n", "before\n"),
        ("one\n\n{}\ntwo", "one\n\ntwo"),
        ("one {}\ntwo", "one\ntwo"),
        ("say \u201c{}?\u201d to them", "say to them"),
        ('so ("{}!"), he said', "so he said"),
        ("(see: {}?) and", "(see: ) and"),
        ("<p>{}</p>", "<p></p>"),
        ("f({}, 2)", "f( 2)"),
        ("{}.5 more", ".5 more"),
        ("\u95ee\uff1a{}\uff1f\u7b54", "\u95ee\uff1a\u7b54"),
        ("\u00bf{}? no", "no"),
        ("a {}" + "?" * 50 + " b", "a " + "?" * 42 + " b"),
    ],
)
def test_marks_of_an_item_go_with_it(text, left):
    words = "How many legs"
    start = text.index("{}")
    begin, end = widened(text.format(words), start, start + len(words))
    assert without(text.format(words), [(begin, end)]) == left


def test_marks_that_begin_or_end_inside_an_item():
    assert without('x He said "go" y', [widened('x He said "go" y', 2, 13)]) == "x y"
    assert without("x (so) he said y", [widened("x (so) he said y", 3, 14)]) == "x y"


@given(st.text(alphabet='ab .?\n(")', max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_only_marks_and_white_space_around_a_cut_go(text, one, other):
    start, stop = sorted((min(one, len(text)), min(other, len(text))))
    begin, end = widened(text, start, stop)
    assert begin <= start <= stop <= end
    assert not any(char.isalnum() for char in text[begin:start] + text[stop:end])


def test_cuts_join_what_overlaps():
    two = "Parrots have in total how many wings, tails, beaks, claws and eyes?"
    text = f"{ITEM[:-1]} {two.split(' ', 4)[-1]}"  # the end of one item is the beginning of the other
    found = la.decontaminate([text, "none"], [ITEM, two])
    assert len(found) == 2
    assert found.search.cuts(pa.array([text, "none"], pa.large_string())) == [[(0, len(text) - 1)], []]


def test_all_places_are_cut_though_few_are_listed():
    texts = [f"one {ITEM} two {ITEM} three {ITEM}", "none", ITEM]
    found = la.decontaminate(texts, [ITEM], places=1)
    assert len(found) == 1
    (done,) = cut_tables([pa.table({"text": texts})], "text", found)
    assert done["text"].to_pylist() == ["one two three", "none", ""]
