"""Check that the driver does small jobs with the same results and counts as executors."""

from datetime import date
from types import SimpleNamespace

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs
from lookalike.core.run import Run
from lookalike.spark import driver, jobs, members
from tests.engines import COLLECTIONS, Here, baskets, documents

pytestmark = pytest.mark.spark
LIMIT = driver.LIMIT
OPTIONS = COLLECTIONS["documents"][1]


@pytest.fixture
def small(monkeypatch):
    """Let the driver do small jobs again, and return a list of the jobs that executors do."""
    done = []

    def counted(*given):
        done.append(given)
        return members.members_of(*given)

    monkeypatch.setattr(driver, "LIMIT", LIMIT)
    for name in ("lookalike.spark.jobs", "lookalike.spark.pairs"):
        monkeypatch.setattr(f"{name}.members_of", counted)
    return done


def ranked():
    """Return documents with ranks of several types, with ties and nulls."""
    table = documents().slice(0, 500)
    days = [None if row % 7 == 0 else date(2026, 1, 1 + row % 5) for row in range(len(table))]
    words = [["", "a", "b", None][row % 4] for row in range(len(table))]
    return table.append_column("day", pa.array(days)).append_column("word", pa.array(words))


JOBS = {
    "pairs": lambda frame, run: la.spark.find_pairs(frame, measure="bag", **OPTIONS, run=run),
    "clusters": lambda frame, run: la.spark.find_clusters(frame, sketch="simhash", **OPTIONS, run=run),
    "ranks": lambda frame, run: la.spark.dedup(frame, keep="rank:min,longest", copies=2, **OPTIONS, run=run).dropped,
    "dates and words": lambda frame, run: la.spark.dedup(frame, keep="word,day:min", **OPTIONS, run=run).dropped,
    "matches": lambda frame, run: la.spark.find_matches(
        frame.where("id < 300"), frame.where("id >= 200").selectExpr("'r' || id AS id", "text"), **OPTIONS, run=run
    ),
}


def rows_of(frame):
    return frame.schema.simpleString(), sorted(map(tuple, frame.collect()))


@pytest.mark.parametrize("job", JOBS)
def test_the_driver_finds_what_executors_find(there, small, monkeypatch, job):
    frame = there.frame(ranked()).repartition(3)
    run, other = Run(), Run()
    here = rows_of(JOBS[job](frame, run))
    assert not small
    monkeypatch.setattr(driver, "LIMIT", 0)
    assert rows_of(JOBS[job](frame, other)) == here
    assert small
    assert run.counts == other.counts
    assert len(here[1]) > 20
    assert run.counts["candidates"] >= run.counts["compared"] > 20


def test_the_driver_and_lists(there, small):
    table = baskets()
    names = pa.table({"id": table["id"], "text": [[f"ü{one}" for one in row] for row in table["text"].to_pylist()]})
    for some in (table, names):
        assert there.pairs(some, threshold=0.6) == Here().pairs(some, threshold=0.6)
    assert not small


def test_nothing_to_find(there, small):
    none = pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())})
    assert there.pairs(none) == {}
    assert there.clusters(none) == there.dropped(none) == []
    assert not small


def test_a_job_that_takes_too_much_memory_goes_to_executors(there, small, monkeypatch):
    table = documents().slice(0, 300)
    monkeypatch.setattr(driver, "ELEMENTS", 10)
    assert there.pairs(table, **OPTIONS) == Here().pairs(table, **OPTIONS)
    monkeypatch.setattr(driver, "ELEMENTS", 1 << 26)
    monkeypatch.setattr(driver, "PAIRS", 10)
    assert there.pairs(table, **OPTIONS) == Here().pairs(table, **OPTIONS)
    assert len(small) == 2
    with pytest.raises(TooManyPairs, match="max_pairs = 5"):
        la.spark.find_pairs(there.frame(table), max_pairs=5, **OPTIONS)


@pytest.mark.parametrize(("name", "value"), [("ITEMS", 299), ("LIMIT", 1000)])
def test_what_is_not_small(there, small, monkeypatch, name, value):
    table = documents().slice(0, 300)
    monkeypatch.setattr(driver, name, value)
    assert there.dropped(table, **OPTIONS) == Here().dropped(table, **OPTIONS)
    assert small


def test_files_that_are_too_large_are_not_read_to_count_their_bytes(there, small, monkeypatch, tmp_path):
    there.frame(documents()).write.parquet(str(tmp_path / "documents.parquet"))
    frame = there.session.read.parquet(str(tmp_path / "documents.parquet"))
    estimate = driver.estimated_bytes(frame.select("id", "text"))
    assert 0 < estimate < driver.UNKNOWN
    assert driver.estimated_bytes(there.session.createDataFrame([(1, "one")])) == driver.UNKNOWN
    sized = []
    monkeypatch.setattr(jobs.FrameItems, "size", lambda self: sized.append(self) or (1, 1))
    monkeypatch.setattr(driver, "LIMIT", estimate)
    la.spark.plan(frame, **OPTIONS)
    assert not sized
    monkeypatch.setattr(driver, "LIMIT", estimate + 1)
    la.spark.plan(frame, **OPTIONS)
    assert sized


def test_bytes_are_counted_by_column(there):
    table = pa.table({"id": ["é", "b"], "text": ["añb", ""], "lists": [["é", "b"], []], "numbers": [[1, 2], [3]]})
    frame = there.frame(table)
    columns = [driver.counted_bytes(name, frame.schema[name].dataType) for name in table.column_names]
    assert [tuple(row) for row in frame.select(*columns).collect()] == [(2, 4, 19, 16), (1, 0, 0, 8)]


@pytest.mark.parametrize(
    ("received", "most"),
    [(None, LIMIT), ("1g", LIMIT), ("0", LIMIT), ("64m", 16 << 20), ("4096", 1024), ("8kb", 2048), ("4G", LIMIT)],
)
def test_a_driver_that_may_receive_little_does_smaller_jobs(monkeypatch, received, most):
    monkeypatch.setattr(driver, "LIMIT", LIMIT)
    conf = SimpleNamespace(get=lambda name, default: received)
    assert driver.most_bytes(SimpleNamespace(conf=conf)) == most


def test_the_driver_checks_the_items(there, small):
    table = pa.table({"id": [3, 1, 1], "text": [None, "a", "a"]})
    frame = there.frame(table)
    with pytest.raises(DataError, match="ids must be unique; the 3 rows have 2 different values in column 'id'"):
        la.spark.find_pairs(frame)
    with pytest.raises(DataError, match=r"item 3 has no text \(null\): drop such rows first, with dropna, or"):
        la.spark.dedup(frame.where("id = 3"))
    with pytest.raises(DataError, match="column 'id' for the id is empty in 1 row"):
        la.spark.find_pairs(frame.selectExpr("nullif(id, 3) AS id", "text"))


def test_the_plan_is_that_of_one_machine(there, small):
    """Also if it is large enough for a sample from all over it."""
    texts = [f"{text} {'x' * 16000}" for text in documents()["text"].to_pylist()[:1200]]
    table = pa.table({"id": range(len(texts)), "text": texts})
    here = la.find_pairs(table, method="lsh", shingles="word:2").plan
    assert la.spark.plan(there.frame(table).repartition(3), shingles="word:2") == here
    known = la.find_pairs(table.slice(0, 50), method="lsh", shingles="word:2", threshold=0.5).plan
    found = la.spark.find_pairs(there.frame(table.slice(0, 300)), plan=known, shingles="word:2")
    assert found.count() > 0
