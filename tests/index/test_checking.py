"""Check that damage to an index is detected."""

import pytest

from lookalike.core.errors import DataError, StoreError
from lookalike.index import Index
from lookalike.index.tables import COUNT
from tests.commands import complaint
from tests.index_samples import texts_of


def test_damage_is_found(place):
    with Index.build(place, texts_of(100), threshold=0.8) as index:
        with index.store.writing() as writer:
            key = next(iter(writer.txn.cursor(db=writer.tables["buckets"])))[0]
            writer.txn.delete(bytes(key), db=writer.tables["buckets"])
        with pytest.raises(
            DataError, match=r"^the table of buckets does not match the items of the index; build it again\.$"
        ):
            index.verify()


def put(place, key, value, table=None):
    """Put a value into the tables of an index."""
    with Index.open(place) as index, index.store.writing() as writer:
        assert writer.txn.put(key, value, **({} if table is None else {"db": writer.tables[table]}))


@pytest.mark.parametrize("count", [b"\xff" * 8, b"\xff" * 99])
def test_a_damaged_count_is_one_line(place, run, count):
    """It is found when the index is opened, before a command writes anything."""
    Index.build(place, texts_of(3), threshold=0.8).close()
    put(place, COUNT, count)
    assert complaint(run("index", "info", place)).startswith("the count of the index is damaged (")


@pytest.mark.parametrize(
    "record", [b"", b"short", b"x" * 16 + b"\0\x02s\xff" + bytes(8), b"x" * 16 + b"\0\x02sa" + bytes(7)]
)
def test_damaged_items_are_one_line(place, record):
    """A query, a check or a removal that meets an item it cannot decode says so."""
    texts = texts_of(3)
    Index.build(place, texts, ["a", "b", "c"], threshold=0.8).close()
    put(place, bytes(8), record, "items")
    with Index.open(place) as index:
        for call in (lambda: index.query(texts[0]), index.verify, lambda: index.remove(["a"])):
            with pytest.raises(StoreError, match=r"^an item of the index is damaged \(.*\); use a backup, or build it"):
                call()


@pytest.mark.parametrize(
    "payload", [b"", b"\x02not compressed", b"\0\xfe\xff\xff", b"\1" + bytes(8), b"\1" + b"\xff" * 20]
)
def test_damaged_texts_are_one_line(place, payload):
    texts = texts_of(3)
    Index.build(place, texts, threshold=0.8, store_text=True).close()
    with Index.open(place) as index, index.store.reading() as reader:
        record = bytes(reader.kept.get(0))
        kept = len(reader.item(0).payload)
    put(place, bytes(8), record[: len(record) - kept] + payload, "items")
    with Index.open(place) as index:
        for call in (lambda: index.item(0), lambda: index.query(texts[0]), index.verify):
            with pytest.raises(StoreError, match=r"^an item of the index is damaged \("):
                call()


@pytest.mark.parametrize(
    "block", [b"", b"abc", b"\x30\x30\1\0" + bytes(16), b"\x10\x10\xff\xff" + bytes(4), b"\x10\x10\2\0" + bytes(11)]
)
def test_damaged_blocks_are_one_line(place, block):
    """A query, a check or a compaction that meets a block it cannot read says so."""
    texts = texts_of(100)
    with Index.build(place, texts, threshold=0.8) as index:
        with index.store.writing() as writer:
            for key in [bytes(key) for key, _ in writer.txn.cursor(db=writer.tables["buckets"])]:
                writer.txn.put(key, block, db=writer.tables["buckets"])
        for call in (lambda: index.query(texts[0]), index.verify, index.info, index.compact):
            with pytest.raises(StoreError, match=r"table.* of the index is damaged \("):
                call()
        assert list(index.ids()) == list(range(100))
