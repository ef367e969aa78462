"""Export an index to Parquet, and make it again from there."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.core.errors import DataError, UsageError
from lookalike.index import Index
from lookalike.index.exporting import SETTINGS
from tests.commands import complaint
from tests.index_samples import state, texts_of

DRAW = np.random.default_rng(1)
KINDS = {
    "texts": ([*texts_of(40), "", "ä" * 2000], {"store_text": True}, "text"),
    "hashed texts": ([*texts_of(40), ""], {"shingles": "word:2"}, "hashes"),
    "sets": ([{1, 2, 3}, {2, 3, 4}, set()], {}, "hashes"),
    "bags": ([Counter("aab"), Counter("ab")], {"measure": "bag"}, "hashes"),
    "vectors": (DRAW.normal(size=(30, 5)), {"measure": "angle", "threshold": 20}, "vector"),
    "small vectors": (DRAW.normal(size=(30, 5)).astype(np.float16), {"measure": "euclidean", "threshold": 1}, "vector"),
    "bits": (["10101", "11111"], {"measure": "hamming", "threshold": 2}, "bits"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_index_is_the_same(place, tmp_path, kind):
    """To the last byte of its tables, whatever its items are."""
    items, options, column = KINDS[kind]
    ids = [*range(len(items) - 1), 2**63 - 1]
    with Index.build(place, items, ids, notes={"of": "mine"}, **options) as index:
        index.export(tmp_path / "some.parquet")
        table = pq.read_table(tmp_path / "some.parquet")
        assert table.column_names == ["id", column]
        assert table["id"].to_pylist() == ids
        if kind == "texts":
            assert table["text"].to_pylist() == items
        with Index.restore(tmp_path / "again.index", tmp_path / "some.parquet") as again:
            assert state(again) == state(index)
            assert again.verify() == len(items)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_without_items_any_more(place, tmp_path, kind):
    """It knows what kind of items it had, and takes these again."""
    items, options, column = KINDS[kind]
    with Index.build(place, items, **options) as index:
        index.remove(range(len(items)))
        index.export(tmp_path / "some.parquet")
        assert pq.read_schema(tmp_path / "some.parquet").names == ["id", column]
        with Index.restore(tmp_path / "again.index", tmp_path / "some.parquet") as again:
            assert (len(again), again.kind) == (0, index.kind)
            assert again.add(items) == len(items)


def test_ids_of_both_types_and_removed_items(place, tmp_path):
    """A string stays a string; the order in which items were added stays as it is."""
    with Index.build(place, ["a b c", "d e f", "g h i", "a b c"], ["7", 7, "x", -3], shingles="word:1") as index:
        index.remove(["x"])
        index.export(tmp_path / "some.parquet")
        with Index.restore(tmp_path / "again.index", tmp_path / "some.parquet") as again:
            assert list(again.ids()) == ["7", 7, -3]
            assert again.query("a b c") == index.query("a b c") == [("7", 1.0), (-3, 1.0)]
            assert again.verify() == 3


def test_an_empty_index(place, tmp_path):
    with Index.create(place, threshold=0.6) as index:
        index.export(tmp_path / "some.parquet")
    with Index.restore(tmp_path / "again.index", tmp_path / "some.parquet") as again:
        assert (len(again), again.threshold) == (0, 0.6)
        assert again.add(["a text"]) == 1


def test_what_cannot_be_exported(place, tmp_path):
    said = r"^an index of records cannot be exported; copy it with `backup`\.$"
    with Index.create(place, notes={"kind": "records"}) as index, pytest.raises(UsageError, match=said):
        index.export(tmp_path / "some.parquet")
    with Index.create(tmp_path / "other.index") as index:
        with pytest.raises(UsageError, match=r"whose name ends in \.parquet; got '.*some\.csv'\.$"):
            index.export(tmp_path / "some.csv")
        with pytest.raises(DataError, match=r"cannot be written: there is no folder"):
            index.export(tmp_path / "no" / "some.parquet")


def test_files_that_are_no_export(place, tmp_path):
    """The error is one line, and no index is left behind."""
    some = tmp_path / "some.parquet"
    some.write_text("no Parquet")
    with pytest.raises(DataError, match=r"some\.parquet: cannot be read as a Parquet file: "):
        Index.restore(place, some)
    pq.write_table(pa.table({"id": [1]}), some)
    with pytest.raises(DataError, match=r"was not exported from an index; build an index of its rows instead\.$"):
        Index.restore(place, some)
    with Index.build(tmp_path / "other.index", texts_of(3)) as index:
        settings = index.settings
        damages = [({"wanted": {}}, "are damaged"), ({"coding": None}, "are damaged")]
        for wrong, said in (*damages, ({"format": 2}, "was exported from an index of format 2")):
            metadata = {SETTINGS: json.dumps(settings | wrong)}
            pq.write_table(pa.table({"id": [1]}).replace_schema_metadata(metadata), some)
            with pytest.raises(DataError, match=said):
                Index.restore(place, some)
        for table in ({"id": [1], "hashes": ["no hashes"]}, {"id": [1, 1], "hashes": [[1], [2]]}, {"x": [1]}):
            pq.write_table(pa.table(table).replace_schema_metadata({SETTINGS: json.dumps(settings)}), some)
            with pytest.raises(DataError, match=r"cannot be read as an exported index|^ids must be unique; 1 occurs"):
                Index.restore(place, some)
    assert not place.exists()


def test_commands(run, place, tmp_path):
    Index.build(place, texts_of(5), store_text=True).close()
    assert "exported: 5 items" in run("index", "export", place, tmp_path / "some.parquet").err
    assert "restored: 5 items" in run("index", "restore", tmp_path / "again", tmp_path / "some.parquet").err
    assert complaint(run("index", "restore", place, tmp_path / "some.parquet")).endswith("an index needs a new folder.")
