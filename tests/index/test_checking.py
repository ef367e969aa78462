"""Check that damage to an index is detected."""

import pytest

from lookalike.core.errors import DataError, StoreError
from lookalike.index import Index
from lookalike.index.tables import COUNT
from tests.commands import complaint
from tests.index_samples import texts_of


def test_damage_is_found(place):
    with Index.build(place, texts_of(30), threshold=0.8) as index:
        with index.store.writing() as writer:
            key = next(iter(dict(writer.pairs("buckets"))))
            writer.txn.delete(key, db=writer.tables["buckets"])
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
    put(place, bytes(4), record, "items")
    with Index.open(place) as index:
        for call in (lambda: index.query(texts[0]), index.verify, lambda: index.remove(["a"])):
            with pytest.raises(StoreError, match=r"^an item of the index is damaged \(.*\); use a backup, or build it"):
                call()


def test_damaged_texts_are_one_line(place):
    Index.build(place, texts_of(3), threshold=0.8, store_text=True).close()
    put(place, bytes(4), b"not compressed", "texts")
    with Index.open(place) as index, pytest.raises(StoreError, match=r"^a text of the index is damaged \("):
        index.item(0)
