"""Check that columns whose types differ between rows or files are widened, or refused at once."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.io.documents import Source
from lookalike.io.json_types import type_of
from lookalike.io.jsonl import only
from tests.commands import Commands, complaint, left_in
from tests.samples import Row, sentence

SMALL = 1000  # bytes per batch, so that a short file has many blocks


def lines(path: Path, values: list[Any]) -> Path:
    """Write one document per value, with the value in the column n."""
    rows = [{"id": f"d{at}", "text": sentence(at, 8), "n": value} for at, value in enumerate(values)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def shard(path: Path, values: Any) -> Path:
    """Write the same as Parquet."""
    texts = [sentence(at, 8) for at in range(len(values))]
    pq.write_table(
        pa.table({"id": [f"{path.stem}{at}" for at in range(len(values))], "text": texts, "n": values}), path
    )
    return path


def written(source: Source) -> pa.Table:
    return pa.concat_tables(source.tables())


def of(table: pa.Table) -> tuple[pa.DataType, list[Any]]:
    return table.schema.field("n").type, table["n"].to_pylist()


# --- JSON lines ---


@pytest.mark.parametrize("skip", ["fail", "skip"])
def test_a_type_that_changes_late_is_an_error_before_the_search(
    run: Commands, tmp_path: Path, out: Path, skip: str
) -> None:
    """The message names the row of the file, not of a block, and nothing is planned or written."""
    path = lines(tmp_path / "late.jsonl", [*range(40_000), "x", *range(10)])
    outcome = run("dedup", path, "-o", out / "kept.parquet", "--on-error", skip)
    expected = (
        f"{path}, row 40000: column 'n' holds string here, but int64 in the rows before, and no type holds both. "
        "Leave it out by listing the other columns with --columns, or write to a .jsonl file."
    )
    assert complaint(outcome) == expected
    assert "plan:" not in outcome.err
    assert left_in(out) == set()


def test_the_column_can_be_left_out_or_copied(run: Commands, tmp_path: Path, out: Path) -> None:
    """Both remedies of the message work: --columns without the column, and an output of lines."""
    path = lines(tmp_path / "late.jsonl", [1, "x", {"a": 2}])
    assert run("dedup", path, "-o", out / "kept.parquet", "--columns", "id").code == 0
    assert pq.read_table(out / "kept.parquet").column_names == ["id", "text"]
    assert run("dedup", path, "-o", out / "kept.jsonl").code == 0
    assert (out / "kept.jsonl").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], pa.float64()),
        ([None, None, "x"], pa.string()),
        ([[], [1], [2.5]], pa.list_(pa.float64())),
        ([{"a": 1}, {"b": "x"}, {"a": 2.5}], pa.struct([("a", pa.float64()), ("b", pa.string())])),
        ([2**62, 1, None], pa.int64()),
        ([2**53, 2.5, None], pa.float64()),
        (["2024-01-01", "x", "2024-01-01 00:00:00"], pa.string()),
    ],
)
@pytest.mark.parametrize("apart", [1, 40])
def test_values_of_json_are_widened(tmp_path: Path, values: list[Any], kind: pa.DataType, apart: int) -> None:
    """The values share a type whether they are in one block or in several."""
    path = lines(tmp_path / "a.jsonl", [value for value in values for _ in range(apart)])
    found, read = of(written(Source(path, batch_bytes=SMALL)))
    assert found == kind
    wanted = pa.array([value for value in values for _ in range(apart)], kind).to_pylist()
    assert read == wanted


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([1, True], "holds bool here, but int64"),
        ([[1], ["x"]], "holds list<item: string> here, but list<item: int64>"),
        ([{"a": 1}, {"a": "x"}], "holds struct<a: string> here, but struct<a: int64>"),
        ([None, [1, "x"]], "holds a list of mixed types, which no column type can hold."),
        ([2.5, 2**53 + 1], "holds 9007199254740993, which does not fit double"),
        ([{"a": [2.5]}, {"a": [2**53 + 1]}], "holds 9007199254740993, which does not fit double"),
        ([1, 2**64], "holds 18446744073709551616, which fits double"),
        ([1, 2**64 - 1], "holds 18446744073709551615, which does not fit double"),
    ],
)
@pytest.mark.parametrize("apart", [1, 40])
def test_values_of_json_that_no_type_holds(tmp_path: Path, values: list[Any], what: str, apart: int) -> None:
    """The error names the first such row; an integer that a float holds exactly is no error."""
    path = lines(tmp_path / "a.jsonl", [values[0]] * apart + [values[1]])
    if "which fits" in what:
        assert of(written(Source(path, batch_bytes=SMALL)))[1][-1] == values[1]
        return
    with pytest.raises(DataError, match=rf"a.jsonl, row {apart}: column 'n' ") as error:
        written(Source(path, batch_bytes=SMALL))
    assert what in str(error.value)
    assert str(error.value).endswith("by listing the other columns with Source(columns=), or write to a .jsonl file.")


def test_the_types_of_bad_rows_do_not_count(tmp_path: Path) -> None:
    """A row that is skipped, here for its text, cannot conflict with the rows that are written."""
    path = lines(tmp_path / "a.jsonl", [1, 2])
    with path.open("a") as file:
        file.write('{"id": "c", "text": 5, "n": "x"}\n')
    assert of(written(Source(path, on_error="skip"))) == (pa.int64(), [1, 2])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1, max_size=1), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.sets(st.text(max_size=3)))
def test_a_line_with_some_columns(row: Row, names: set[str]) -> None:
    """What is left of a line is exactly the columns that are named, in their order."""
    names |= set(list(row)[:2])
    for line in (json.dumps(row), json.dumps(row, ensure_ascii=False, indent=1).replace("\n", " ")):
        assert json.loads(only(line.encode(), names)) == {key: row[key] for key in row if key in names}


@given(VALUES)
def test_the_type_of_a_value_holds_it(value: Any) -> None:
    """Arrow can make a column of that type from the value, unless no type holds it."""
    kind = type_of(value)
    assert kind is None or len(pa.array([value], kind, from_pandas=False)) == 1


# --- several files ---


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (pa.array([1, 2]), pa.array([1.5]), pa.float64()),
        (pa.array([1], pa.int32()), pa.array([2], pa.int64()), pa.int64()),
        (pa.array([None], pa.null()), pa.array(["x"]), pa.string()),
        (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("us")), pa.timestamp("us")),
        (pa.array([{"a": 1}]), pa.array([{"a": 0.5, "b": 1}]), pa.struct([("a", pa.float64()), ("b", pa.int64())])),
        (pa.array([[1]]), pa.array([[0.5]]), pa.list_(pa.float64())),
    ],
)  # fmt: skip
def test_types_of_shards_are_widened(tmp_path: Path, first: pa.Array, second: pa.Array, kind: pa.DataType) -> None:
    """One type holds the values of both shards, in either order."""
    paths = [shard(tmp_path / "1.parquet", first), shard(tmp_path / "2.parquet", second)]
    for inputs in (paths, paths[::-1]):
        table = written(Source(inputs))
        wide = [field.name for field in table.schema.field("n").type] if pa.types.is_struct(kind) else []
        assert sorted(wide) == ["a", "b"] if wide else table.schema.field("n").type == kind


def test_shards_that_no_type_fits_are_named_before_the_search(run: Commands, tmp_path: Path, out: Path) -> None:
    """Both files and types are named; text formats hold both, each value as it is."""
    paths = [shard(tmp_path / "1.parquet", [1, 2]), shard(tmp_path / "2.parquet", ["x"])]
    outcome = run("dedup", *paths, "-o", out / "kept.parquet")
    assert complaint(outcome) == (
        f"{paths[1]}: column 'n' holds string, but int64 in {paths[0]}, and no type holds both. "
        "Leave it out by listing the other columns with --columns, or write to a .jsonl or .csv file."
    )
    assert "plan:" not in outcome.err
    assert run("dedup", *paths, "-o", out / "kept.jsonl").code == 0
    assert [json.loads(line)["n"] for line in (out / "kept.jsonl").read_text().splitlines()][:3] == [1, 2]
    assert run("dedup", *paths, "-o", out / "kept.csv", "--id", "id", "-t", "1").code == 0
    assert run("dedup", *paths, "-o", out / "kept.parquet", "--columns", "id").code == 0


def test_text_formats_keep_the_types_of_each_shard(tmp_path: Path) -> None:
    first, second = shard(tmp_path / "1.parquet", [1]), shard(tmp_path / "2.parquet", ["x"])
    assert [row["n"] for table in Source([first, second]).tables(strings=True) for row in table.to_pylist()] == [1, "x"]


@pytest.mark.parametrize(
    ("large", "other"), [(pa.array([1, 2**53 + 1]), [0.5]), (pa.array([1, 2**63], pa.uint64()), [1])]
)
def test_a_value_that_the_wider_type_cannot_hold(
    run: Commands, tmp_path: Path, out: Path, large: pa.Array, other: list[Any]
) -> None:
    """It is found before the search, by its file and row."""
    paths = [shard(tmp_path / "1.parquet", other), shard(tmp_path / "2.parquet", large)]
    outcome = run("dedup", *paths, "-o", out / "kept.parquet")
    assert complaint(outcome).startswith(f"{paths[1]}, row 1: column 'n' holds {large[1]}, which does not fit ")
    assert "plan:" not in outcome.err


def test_decimals_do_not_become_floats(tmp_path: Path) -> None:
    """A float would round them without an error."""
    first = shard(tmp_path / "1.parquet", pa.array(["0.10"]).cast(pa.decimal128(20, 2)))
    with pytest.raises(DataError, match="no type holds both"):
        written(Source([first, shard(tmp_path / "2.parquet", [0.5])]))


def test_ids_of_two_types_cannot_be_left_out(tmp_path: Path) -> None:
    """The message offers only the text formats, since ids are always written."""
    for name, ids in (("1.parquet", [1]), ("2.parquet", ["x"])):
        pq.write_table(pa.table({"id": ids, "text": ["some text"]}), tmp_path / name)
    with pytest.raises(DataError, match=r"holds both. Write .jsonl or .csv, which can.$"):
        written(Source(tmp_path))


def test_a_type_that_the_output_cannot_hold_is_an_error_before_the_search(
    run: Commands, tmp_path: Path, out: Path
) -> None:
    """Parquet has no structs without fields."""
    outcome = run("dedup", lines(tmp_path / "a.jsonl", [{}]), "-o", out / "kept.parquet")
    assert "cannot be written" in complaint(outcome)
    assert "plan:" not in outcome.err


# --- columns ---


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_only_the_named_columns_are_written(run: Commands, tmp_path: Path, out: Path, name: str, suffix: str) -> None:
    """Text and id are always there; the order is that of the input."""
    rows = [{"z": at, "id": f"d{at}", "text": sentence(at, 8), "n": [at], "u": 0.5} for at in range(3)]
    path = tmp_path / name
    if name == "a.jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    kept = out / f"kept{suffix}"
    assert run("dedup", path, "-o", kept, "--columns", "u, z").code == 0
    assert written(Source(kept)).column_names == ["z", "id", "text", "u"]


def test_a_column_to_write_that_is_not_there(run: Commands, tmp_path: Path, out: Path) -> None:
    """A name with a typing error is reported; a column that only a late line has is not."""
    path = lines(tmp_path / "a.jsonl", [1] * 1500)
    with path.open("a") as file:
        file.write('{"id": "last", "text": "the last text", "rare": 5}\n')
    outcome = run("dedup", path, "-o", out / "kept.jsonl", "--columns", "rar")
    assert complaint(outcome) == "the input has no column 'rar' to write; it has id, text, n."
    assert run("dedup", path, "-o", out / "kept.jsonl", "--columns", "rare", "-t", "1").code == 0
    assert (out / "kept.jsonl").read_text().splitlines()[-1] == '{"id": "last", "text": "the last text", "rare": 5}'


def test_the_column_to_keep_by_need_not_be_written(run: Commands, tmp_path: Path, out: Path) -> None:
    rows = [{"id": at, "text": sentence(1, 9), "score": at, "mixed": [at, "x"][at % 2]} for at in range(4)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("dedup", path, "-o", out / "kept.parquet", "--columns", "id", "--keep", "score").code == 0
    assert pq.read_table(out / "kept.parquet").to_pylist() == [{"id": 3, "text": sentence(1, 9)}]
