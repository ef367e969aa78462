"""Check data sets of Hugging Face that can only be iterated."""

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.io import streams

datasets = pytest.importorskip("datasets")
pytestmark = pytest.mark.slow  # the library takes more than a second to import

WORDS = np.random.default_rng(1).choice([f"word{n}" for n in range(2000)], (300, 40))
TEXTS = [" ".join(WORDS[n // 2 * 2 if n % 7 == 0 else n]) for n in range(300)]
ROWS = [{"id": 1000 + n, "text": text, "meta": {"n": n}} for n, text in enumerate(TEXTS)]


def given_rows(rows=ROWS):
    """Return a data set of which only the rows are known, not the columns."""
    return datasets.IterableDataset.from_generator(lambda: iter(rows))


KINDS = {
    "generated": given_rows,
    "of a table": lambda: datasets.Dataset.from_list(ROWS).to_iterable_dataset(num_shards=3),
    "shuffled": lambda: given_rows().shuffle(seed=3, buffer_size=50),
    "mapped": lambda: given_rows([{"id": r["id"], "n": n} for n, r in enumerate(ROWS)]).map(
        lambda row: {"text": TEXTS[row["n"]]}
    ),
    "a Dataset": lambda: datasets.Dataset.from_list(ROWS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_pairs_as_from_a_file(tmp_path, kind, monkeypatch):
    """However it was made; also in small batches, and with data in files."""
    path = tmp_path / "a.parquet"
    datasets.Dataset.from_list(ROWS).to_parquet(path)
    expected = {frozenset(pair[:2]) for pair in la.find_pairs(str(path))}
    assert expected
    given = KINDS[kind]()
    assert {frozenset(pair[:2]) for pair in la.find_pairs(given)} == expected
    kept = la.dedup(str(path)).kept.to_pylist()
    assert sorted(la.dedup(given).kept.to_pylist()) == kept
    monkeypatch.setattr(streams, "ROWS", 7)
    assert {frozenset(pair[:2]) for pair in la.find_pairs(given)} == expected
    if kind != "a Dataset":
        assert {frozenset(pair[:2]) for pair in la.find_pairs(given, memory="100MB")} == expected


def test_the_rows_can_be_written_out():
    source = la.Source(given_rows())
    kept = pa.concat_tables(source.tables())
    assert kept.to_pylist() == ROWS


def test_columns(tmp_path):
    """They are named as for a file, and a missing one is an error."""
    rows = [{"key": "a", "title": "x", "body": "one text"}, {"key": "b", "title": "y", "body": "one text"}]
    assert list(la.find_pairs(la.Source(given_rows(rows), id="key"))) == [("a", "b", 1.0)]
    with pytest.raises(DataError, match=r"^the data set: no column 'boddy' for the text; it has key, title, body\."):
        la.find_pairs(la.Source(given_rows(rows), text="boddy"))
    bad = given_rows([*rows, {"key": "c", "title": "z", "body": None}])
    with pytest.raises(DataError, match=r"^the data set, row 2: body is null"):
        la.find_pairs(bad)
    assert la.find_pairs(la.Source(bad, on_error="skip")).stats["skipped"] == 1


def test_a_data_set_that_changes():
    """Rows that differ when they are read again would give pairs of other texts."""
    passes = iter(range(100))

    def changing():
        number = next(passes)
        yield from ({"text": f"{text} {number}"} for text in TEXTS)

    with pytest.raises(DataError, match=r"^the data set: must give the same rows each time it is read; it gave others"):
        la.find_pairs(datasets.IterableDataset.from_generator(changing))


def test_how_many_rows_are_expected(monkeypatch):
    texts = pa.array([""], pa.large_string())
    assert la.Source(given_rows()).expected(texts) == 300
    monkeypatch.setattr(streams, "LOOK", 100)
    assert la.Source(given_rows()).expected(texts) == streams.USUAL
    known = given_rows()
    known.info.splits = {"train": datasets.SplitInfo("train", num_examples=12345)}
    known._split = datasets.Split("train")
    assert la.Source(known).expected(texts) == 12345


def test_a_run_that_could_not_be_resumed(tmp_path):
    with pytest.raises(UsageError, match="memory and workdir support only texts that are read from files"):
        la.find_pairs(given_rows(), workdir=tmp_path / "work")


def test_records_and_no_rows():
    people = [{"name": "Ann Lee", "phone": "555"}, {"name": "Anne Lee", "phone": "555"}]
    found = la.entities.resolve(given_rows(people), fields=["name", "phone"])
    assert found.to_arrow().equals(
        la.entities.resolve(pa.Table.from_pylist(people), fields=["name", "phone"]).to_arrow()
    )
    with pytest.raises(DataError, match="which column is the text"):
        la.find_pairs(given_rows([]))
