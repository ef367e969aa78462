"""Entries of the tables: the records of items, and the hashes they are found under."""

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.index import Index
from lookalike.index.base import Encoded
from lookalike.index.entries import entries_of, first_of_each, hashes_of
from lookalike.index.records import pack_id, unpack
from tests.index_samples import state

WORDS = [f"word{number}" for number in range(40)]


def test_records_hold_content_id_and_payload():
    """Each record can be read back, also if its id or its payload is empty or long."""
    ids, payloads = ["", "ä" * 200, 7, -1], [b"", b"abc", bytes(100_000), b"\0"]
    contents = np.arange(8, dtype=np.uint64).reshape(-1, 2)
    made = entries_of(
        ids, Encoded(np.ones((4, 1), np.uint64), contents, None), pa.array(payloads, pa.large_binary()), 7
    )
    items = [unpack(place, record) for place, record in enumerate(made.records)]
    assert [item.id for item in items] == ids
    assert [bytes(item.payload) for item in items] == payloads
    assert [item.content for item in items] == [row.astype(">u8").tobytes() for row in contents]
    assert made.following == 8
    assert made.names.tolist() == hashes_of([pack_id(name) for name in ids], 7).tolist()
    assert len({*made.names.tolist(), *hashes_of([pack_id(name) for name in ids], 8).tolist()}) == 8


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
    for way in ("alone", "several", "many"):
        with Index.create(tmp_path / f"{way}.index", shingles="word:2", seed=1, store_text=True) as index:
            encoder = index._encoder()
            ((batch, ids),) = encoder.fitting([(pa.array(texts, pa.large_string()), given)])
            entries = encoder.encode((batch, ids))
            with index.store.writing() as writer:
                if way == "alone":
                    for place in range(4):
                        writer.add_one(entries, place)
                elif way == "several":
                    writer.add_several(entries)
                else:
                    writer.add([entries], Run(1))
                writer.settle()
            tables.append(state(index))
    assert tables[0] == tables[1] == tables[2]
    assert tables[0][-2:] == (4, 4)
