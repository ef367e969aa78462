"""Entries of the tables: the bytes of items, in the order of their keys."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.run import Run
from lookalike.index import Index
from lookalike.index.codings import Encoded
from lookalike.index.entries import entries_of, first_of_each, in_buckets
from lookalike.index.records import unpack
from lookalike.index.tables import TABLES
from lookalike.kernels.hashing import EMPTY

WORDS = [f"word{number}" for number in range(40)]
KEY = st.sampled_from([0, 1, 255, 1 << 56, (1 << 56) + 1, (1 << 63) + 7, int(EMPTY) - 1, int(EMPTY)])


def encoded(keys, payloads):
    """Return encoded items, with the position of each as its content."""
    contents = np.arange(2 * len(keys), dtype=np.uint64).reshape(-1, 2)
    return Encoded(np.array(keys, np.uint64), contents, pa.array(payloads, pa.large_binary()))


@given(st.lists(st.lists(st.lists(KEY, min_size=3, max_size=3), min_size=1, max_size=5), min_size=1, max_size=4))
def test_entries_of_buckets_are_in_order(parts):
    """Keys come first and numbers second, whatever part of the input they are from."""
    entries = [entries_of(list(range(len(keys))), encoded(keys, [b""] * len(keys)), []) for keys in parts]
    rows = [row for keys in parts for row in keys]
    numbers = np.arange(7, 7 + len(rows), dtype=np.uint64)
    chosen = numbers % 3 != 0
    expected = sorted(
        key.to_bytes(8, "big") + number.to_bytes(4, "big")
        for row, number, wanted in zip(rows, numbers.tolist(), chosen.tolist(), strict=True)
        for key in row
        if wanted and key != EMPTY
    )
    for threads in (1, 3):
        assert b"".join(in_buckets(entries, numbers, chosen, Run(threads))) == b"".join(expected)


def test_many_entries_are_sorted_in_several_blocks():
    """So that several threads sort, and no block is large."""
    keys = np.random.default_rng(1).integers(0, 1 << 63, (50_000, 4)).astype(np.uint64)
    entries = entries_of(list(range(len(keys))), encoded(keys, [b""] * len(keys)), [])
    blocks = list(in_buckets([entries], np.arange(len(keys)), np.ones(len(keys), bool), Run(2)))
    assert len(blocks) > 2
    assert b"".join(block[:8] for block in blocks if block) == b"".join(sorted(block[:8] for block in blocks if block))
    assert sum(map(len, blocks)) == 12 * keys.size


def test_records_hold_content_id_and_payload():
    """Each record can be read back, also if its id or its payload is empty or long."""
    ids, payloads = ["", "ä" * 200, 7, -1], [b"", b"abc", bytes(100_000), b"\0"]
    made = entries_of(ids, encoded([[1]] * 4, payloads), ["some text", "", "more", "text"])
    items = [unpack(place, record) for place, record in enumerate(made.records)]
    assert [item.id for item in items] == ids
    assert [bytes(item.payload) for item in items] == payloads
    assert [bytes(made.payload(place)) for place in range(4)] == payloads
    assert [item.content for item in items] == [row.astype(">u8").tobytes() for row in made.contents]


def test_the_first_item_of_each_content_is_its_head():
    """Contents that differ in one of the two hashes are different."""
    contents = np.array([[5, 1], [5, 0], [5, 1], [2, 9], [5, 0]], np.uint64)
    order, first = first_of_each(contents)
    assert order.tolist() == [3, 1, 4, 0, 2]
    assert order[first].tolist() == [3, 1, 0]
    assert [len(array) for array in first_of_each(contents[:0])] == [0, 0]


def test_an_index_has_the_same_bytes_for_any_number_of_threads(tmp_path):
    """Copies, empty texts and several parts included, written at once or in several steps."""
    draw = np.random.default_rng(1)
    texts = [" ".join(draw.choice(WORDS, size)) for size in draw.integers(0, 30, 300)]
    texts += texts[:50]
    for steps in ({}, {"batch": 64}):
        files = []
        for threads in (1, 4):
            path = tmp_path / f"{threads}{len(steps)}.index"
            with Index.create(path, threshold=0.5, shingles="word:2", seed=1, store_text=True) as index:
                index.add(texts, run=Run(threads), **steps)
                assert index.verify() == len(texts)
            files.append((path / "data.mdb").read_bytes())
        assert files[0] == files[1]


def test_items_added_one_by_one_are_those_added_together(tmp_path):
    """Heads of identical items, texts, numbers of items without ids: all tables are equal."""
    texts = ["one two three", "four five six", "one two three", ""]
    given = [3, "a", "b", -1]
    tables = []
    for alone in (True, False):
        with Index.create(tmp_path / f"{alone}.index", shingles="word:2", seed=1, store_text=True) as index:
            encoder = index._encoder()
            ((batch, ids),) = encoder.fitting([(pa.array(texts), given)])
            entries = encoder.encode((batch, ids))
            with index.store.writing() as writer:
                if alone:
                    for place in range(len(texts)):
                        writer.add_one(entries, place)
                else:
                    writer.add([entries], Run(1))
                tables.append([[*writer.pairs(name)] for name in TABLES] + [len(writer), writer.next_id()])
    assert tables[0] == tables[1]
    assert tables[0][-2:] == [4, 4]
    assert len({number for _, number in tables[0][TABLES.index("ids")]}) == 4
