"""Check that damaged Arrow files are refused before anything of them is used."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.core.errors import DataError
from lookalike.core.run import Run
from lookalike.io.records import RecordSource
from lookalike.io.sets import SetSource
from lookalike.io.vectors import VectorSource
from tests.commands import complaint

TEXTS = [f"text number {number} with some words" for number in range(6)]


def strings(offsets):
    """Return six strings with these offsets into sixty bytes."""
    return pa.Array.from_buffers(
        pa.string(), 6, [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"x" * 60)]
    )


BEYOND = strings([0, 10, 20, 30, 40, 200_000, 60])
FAR = strings([0, 10, 20, 30, 40, 1 << 30, 60])
BACK = strings([0, 10, 5, 30, 40, 50, 60])
INDICES = pa.DictionaryArray.from_arrays(pa.array([0, 1, 9, 0, 1, 0]), pa.array(["a", "b"]), safe=False)
LISTS = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4, 5, 6]), BEYOND)
DAMAGED = {
    "beyond the end": BEYOND,
    "far beyond the end": FAR,
    "backwards": BACK,
    "indices": INDICES,
    "in lists": LISTS,
    "in structs": pa.StructArray.from_arrays([BACK], ["inner"]),
}


def write(path, columns, stream):
    batch = pa.record_batch(columns)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(str(path), batch.schema) as writer:
        writer.write_batch(pa.record_batch({name: column.slice(0, 0) for name, column in columns.items()}))
        writer.write_batch(batch)
    return path


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("extra", DAMAGED.values(), ids=DAMAGED)
def test_damage_in_an_extra_column_writes_nothing(tmp_path, run, extra, stream):
    """Offsets beyond the end would copy other memory of the process into the output."""
    columns = {"id": pa.array(range(6)), "text": pa.array(TEXTS), "extra": extra}
    path = write(tmp_path / "a.arrow", columns, stream)
    failed = run("dedup", path, "-o", tmp_path / "kept.csv")
    assert failed.code == 1
    assert failed.err.startswith(f"lookalike: {path}, batch 1: column 'extra' is damaged: ")
    assert failed.err.count("\n") == 1
    assert not (tmp_path / "kept.csv").exists()


@pytest.mark.parametrize(
    "read",
    [
        lambda path: la.find_pairs(path),
        lambda path: RecordSource(path).read(Run()),
        lambda path: list(SetSource(path, rows="id,text").read(Run())),
        lambda path: VectorSource(path).read(Run()),
        lambda path: la.baskets.Ratings.read(path),
    ],
)
def test_every_reader_refuses_damage(tmp_path, read):
    numbers = {"x": pa.array([0.5] * 6), "y": pa.array([1.5] * 6)}
    path = write(tmp_path / "a.arrow", {"id": pa.array(range(6)), "text": BACK, **numbers}, False)
    with pytest.raises(DataError, match=r"a\.arrow, batch 1: column 'text' is damaged: "):
        read(path)


def test_text_that_is_not_utf8_is_a_bad_row_and_no_damage(tmp_path):
    text = pa.array([b"good words", b"\xff bad"] * 3).view(pa.string())
    path = write(tmp_path / "a.arrow", {"id": pa.array(range(6)), "text": text}, False)
    with pytest.raises(DataError, match=r"a\.arrow, row 1: text is not valid UTF-8"):
        la.find_pairs(path)
    source = la.Source(path, on_error="skip")
    assert sum(len(batch) for batch in source.batches()) == 3


def test_damaged_sizes_of_a_parquet_file(tmp_path, run):
    """Levels that contradict the schema are an error; Arrow aborts if it is asked for the size of that column."""
    path = tmp_path / "vectors.parquet"
    table = pa.table({"id": [1, 2, 3], "vector": [[0.1, 0.2], [0.1, 0.2], [0.3, 0.4]]})
    pq.write_table(table, path, row_group_size=2)
    optional, required = b"\x25\x02\x18\x02id", b"\x25\x00\x18\x02id"  # in the footer: compact Thrift
    assert path.read_bytes().count(optional) == 1
    path.write_bytes(path.read_bytes().replace(optional, required))
    outcome = run("vectors", path, "-t", "20")
    assert outcome.code == 1
    assert complaint(outcome).startswith(f"{path}: cannot be read as parquet: ")


def test_a_column_whose_name_is_not_text(tmp_path):
    path = tmp_path / "odd.arrow"
    with pa.ipc.new_file(path, pa.schema([("text", pa.string()), ("other", pa.string())])) as writer:
        writer.write_table(pa.table({"text": ["a"], "other": ["b"]}))
    path.write_bytes(path.read_bytes().replace(b"other", b"oth\x80r"))
    with pytest.raises(DataError, match=r"odd\.arrow: cannot be read as arrow: .*can't decode byte 0x80"):
        list(la.Source(path).batches())
