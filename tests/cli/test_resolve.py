"""Check the clusters and golden records of `lookalike resolve`."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.corpus import SUFFIXES, read
from tests.commands import Commands, complaint

FIELDS = ("-f", "name=name", "-f", "street=address", "-f", "phone=phone")
ROWS = [
    {"id": "1", "name": "Ann Lee", "street": "9 Elm Street", "phone": "212-555-0100", "updated": "2024-01-05"},
    {"id": "2", "name": "Anne Lee", "street": "9 Elm St", "phone": "212 555 0100", "updated": "2024-03-01"},
    {"id": "3", "name": "Bob Ray", "street": "3 Oak Road", "phone": "646-555-0199", "updated": "2023-02-01"},
    {"id": "4", "name": "Bob Ray", "street": "3 Oak Road", "phone": "(646) 555-0199", "updated": "2022-01-01"},
    {"id": "5", "name": "Zoe Quist", "street": "", "phone": "718-555-0155", "updated": "2021-01-01"},
]


@pytest.fixture
def people(inputs: Path) -> Path:
    with (inputs / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    return inputs / "people.csv"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_golden_records(run: Commands, people: Path, out: Path, suffix: str) -> None:
    path, clusters = out / f"golden{suffix}", out / f"clusters{suffix}"
    rules = ("--golden-by", "name=longest", "--golden-by", "*=newest:updated")
    outcome = run("resolve", people, *FIELDS, "-o", out / "m.csv", "--golden", path, "--clusters", clusters, *rules)
    assert outcome.code == 0, outcome.err
    rows = [{name: str(value or "") for name, value in row.items()} for row in read(path)]
    assert rows == [
        {"cluster": "1", "records": "2", **ROWS[1], "id": "1"},
        {"cluster": "3", "records": "2", **ROWS[2]},
        {"cluster": "5", "records": "1", **ROWS[4]},
    ]
    assert list(read(clusters)[0]) == ["cluster", "id", "size", "probability", "weakest"]
    assert "golden: 3 records of 5; 2 are merged from two or more" in outcome.err
    assert "clusters: 2, the largest of 2 records; 1 record in none" in outcome.err


def test_clusters_of_two_tables(run: Commands, people: Path, out: Path) -> None:
    path, golden = out / "clusters.jsonl", out / "golden.jsonl"
    outcome = run("resolve", people, people, *FIELDS, "-o", out / "m.csv", "--clusters", path, "--golden", golden)
    assert outcome.code == 0, outcome.err
    rows = read(path)
    assert list(rows[0]) == ["cluster", "table", "id", "size", "probability", "weakest"]
    assert ("1", "left", "1") in [(row["cluster"], row["table"], row["id"]) for row in rows]
    assert sum(row["records"] for row in read(golden)) == 2 * len(ROWS)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--golden-by", "name=longest"], 2, "--golden-by says how --golden merges records: name its file with"),
        (["--golden", "g.csv", "--golden-by", "name"], 2, "a rule for golden records must be COLUMN=RULE, such as"),
        (
            ["--golden", "g.csv", "--golden-by", "nam=min"],
            2,
            "the records have no column 'nam' for the rule 'min'. Did",
        ),
        (["--golden", "g.csv", "--golden-by", "name=best"], 2, "the rule for 'name' must be one of frequent, complete"),
        (["--golden", "g.txt"], 2, "the output file must end in"),
        (["--golden", "g.csv", "--clusters", "g.csv"], 2, "--out, --clusters, --golden, --table, --plot and --report"),
    ],
)
def test_mistakes_are_found_before_the_work(
    run: Commands, people: Path, out: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(out)
    outcome = run("resolve", people, *FIELDS, "-o", "m.csv", *options)
    assert outcome.code == code
    assert complaint(outcome).startswith(message)
    assert not list(out.iterdir())


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_nested_columns_are_kept(run: Commands, inputs: Path, out: Path, suffix: str) -> None:
    table = pa.Table.from_pylist([{**row, "tags": {"a": [row["id"]]}} for row in ROWS])
    pq.write_table(table, inputs / "people.parquet")
    golden = out / f"g{suffix}"
    outcome = run("resolve", inputs / "people.parquet", *FIELDS, "-o", out / "m.csv", "--golden", golden)
    assert outcome.code == 0, outcome.err
    assert [row["tags"] for row in read(golden)] == [{"a": [one]} for one in ("1", "3", "5")]
