"""Check `dedup --mark` and `clusters --rows`, which write all rows with columns that mark them."""

import json
from pathlib import Path

import pytest

import lookalike as la
from tests.cli.corpus import ROWS, family, read
from tests.commands import Commands, complaint, left_in
from tests.samples import write


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".csv"])
def test_mark_writes_all_rows(run: Commands, out: Path, tmp_path: Path, suffix: str) -> None:
    path = out / f"marked{suffix}"
    rows = [row for row in ROWS if row["id"] != "000-1"] + [{"id": "x", "text": "like no other", "score": 0}]
    assert run("dedup", write(tmp_path / f"a{suffix}", rows), "--mark", "-o", path, "--keep", "longest").code == 0
    marked = read(path)
    assert [row["id"] for row in marked] == [row["id"] for row in rows]
    for row in marked:
        kept = row["id"] == row["cluster"]
        assert row["cluster"] == ("x" if row["id"] == "x" else f"{family(row['id'])}-2")
        assert (row["duplicate_of"] or None) == (None if kept else row["cluster"])
        assert (row["similarity"] in (None, "")) == kept
        assert kept or 0.8 <= float(row["similarity"]) < 1
        assert int(row["copies"]) == {"x": 1, "000": 2}.get(family(row["id"]), 3)


def test_marks_are_added_to_lines_as_they_were(run: Commands, out: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text" : "the same text, twice",  "x": 1.50}\n{"text": "the same text, twice", "y": {"z": "}"} } \r\n'
    )
    assert run("dedup", tmp_path / "a.jsonl", "--mark", "-o", out / "m.jsonl").code == 0
    added = '"duplicate_of": null, "similarity": null, "cluster": 0, "copies": 2}'
    assert (out / "m.jsonl").read_text().splitlines() == [
        f'{{"text" : "the same text, twice",  "x": 1.50, {added}',
        '{"text": "the same text, twice", "y": {"z": "}"}, '
        '"duplicate_of": 0, "similarity": 1.0, "cluster": 0, "copies": 2}',
    ]
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"text": "none of these columns: \\"copies\\""}\n' * 1000 + '{"text": "b", "copies": 1}\n')
    outcome = run("dedup", tmp_path / "a.jsonl", "--mark", "-o", out / "n.jsonl")
    assert "a column 'copies' already" in complaint(outcome)
    assert left_in(out) == {"m.jsonl"}


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_rows_of_clusters(run: Commands, out: Path, tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [*ROWS, {"id": "x", "text": "like no other", "score": 0}])
    assert run("clusters", path, "--rows", "--columns", "", "-o", out / "c.jsonl").code == 0
    rows = [json.loads(line) for line in (out / "c.jsonl").read_text().splitlines()]
    assert [list(row) for row in rows] == [["id", "text", "cluster", "size"]] * 61
    assert [(row["cluster"], row["size"]) for row in rows[:-1]] == [(f"{family(row['id'])}-0", 3) for row in ROWS]
    assert (rows[-1]["cluster"], rows[-1]["size"]) == ("x", 1)


def test_marks_that_cannot_be_written(run: Commands, out: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [row | {"cluster": 1} for row in ROWS])
    for args in (("dedup", path, "--mark"), ("clusters", path, "--rows")):
        outcome = run(*args, "-o", out / "m.csv")
        hint = "rename it, or leave it out by listing the other columns with --columns."
        assert complaint(outcome) == f"the input has a column 'cluster' already, which would be written twice; {hint}"
        assert run(*args, "-o", out / "m.csv", "--columns", "score").code == 0
    assert run("clusters", path, "--columns", "score").code == 2
    assert "--mark cannot be used with --unit" in complaint(run("dedup", path, "--mark", "--unit", "line"))
    assert "--mark cannot be used with --against INDEX" in complaint(run("dedup", path, "--mark", "--against", "x"))


def test_marks_of_results() -> None:
    texts = ["abcdefgh", "abcdefgi", "xyz", "abcdefgh"]
    found = la.dedup(texts, measure="edit", threshold=2)
    assert found.marked().to_pydict() == {
        "id": [0, 1, 2, 3],
        "duplicate_of": [None, 0, None, 0],
        "distance": [None, 2, None, 0],
        "cluster": [0, 0, 2, 0],
        "copies": [3, 3, 1, 3],
    }
    clusters = la.find_clusters(texts, measure="edit", threshold=2)
    assert clusters.marked().to_pydict() == {"id": [0, 1, 2, 3], "cluster": [0, 0, 2, 0], "size": [3, 3, 1, 3]}
