"""Check `lookalike resolve`: the fields it proposes, the records it shows, clusters and golden records."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from tests.cli.corpus import SUFFIXES, read
from tests.commands import Commands, complaint
from tests.samples import write

LEFT = [
    {"id": "a", "name": "Ann Lee", "mail": "ann.lee@gmail.com", "no": "4-1"},
    {"id": "b", "name": "Bob Ray", "mail": "bob@work.org", "no": "7-7"},
]
RIGHT = [{"id": 1, "who": "LEE, Ann", "email": "AnnLee@googlemail.com", "dc:type": "x y"}]
FIELDS = ("-f", "name=name", "-f", "street=address", "-f", "phone=phone")
ROWS = [
    {"id": "1", "name": "Ann Lee", "street": "9 Elm Street", "phone": "212-555-0100", "updated": "2024-01-05"},
    {"id": "2", "name": "Anne Lee", "street": "9 Elm St", "phone": "212 555 0100", "updated": "2024-03-01"},
    {"id": "3", "name": "Bob Ray", "street": "3 Oak Road", "phone": "646-555-0199", "updated": "2023-02-01"},
    {"id": "4", "name": "Bob Ray", "street": "3 Oak Road", "phone": "(646) 555-0199", "updated": "2022-01-01"},
    {"id": "5", "name": "Zoe Quist", "street": "", "phone": "718-555-0155", "updated": "2021-01-01"},
]


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / "left.csv", LEFT), write(tmp_path / "right.csv", RIGHT)]


def printed_fields(err: str) -> str:
    return next(line for line in err.splitlines() if "fields: " in line).partition("fields: ")[2]


def test_fields_are_proposed_and_printed(run: Commands, tables: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = run("resolve", *tables, "--all", "-o", out)
    assert done.code == 0, done.err
    assert printed_fields(done.err) == "name:who=name, mail:email=email; change them with --field"
    given = run("resolve", *tables, "-f", "name:who", "-f", "mail:email", "--all", "-o", tmp_path / "other.jsonl")
    assert printed_fields(given.err) == "name:who=name, mail:email=email"
    assert out.read_bytes() == (tmp_path / "other.jsonl").read_bytes()


def test_show(run: Commands, tables: list[Path]) -> None:
    """The records follow the result, as they are in the files; the id is there already."""
    done = run("resolve", *tables, "--all", "--show", "-q")
    assert done.code == 0, done.err
    row = next(row for row in map(json.loads, done.out.splitlines()) if row["left"] == "a")
    assert {name: value for name, value in row.items() if name.startswith(("left_", "right_"))} == {
        "left_name": "Ann Lee", "left_mail": "ann.lee@gmail.com", "left_no": "4-1",
        "right_who": "LEE, Ann", "right_email": "AnnLee@googlemail.com", "right_dc:type": "x y",
    }  # fmt: skip
    assert (row["name_points"], row["mail_points"]) == (100, 100)


def test_a_report_of_fields_with_signs_in_their_names(run: Commands, tables: list[Path], tmp_path: Path) -> None:
    """The file of the result says what was compared, in a form that is read again."""
    right = write(tmp_path / "right.csv", [{"id": 1, "last, first": "LEE, Ann", "e:mail": "AnnLee@googlemail.com"}])
    fields = ("-f", r"name:last\, first=name", "-f", r"mail:e\:mail")
    out, page = tmp_path / "out.parquet", tmp_path / "page.html"
    done = run("resolve", tables[0], right, *fields, "--all", "-o", out)
    assert printed_fields(done.err) == r"name:last\, first=name, mail:e\:mail=email"
    done = run("report", out, "--items", tables[0], "--items", right, "-o", page)
    assert done.code == 0, done.err
    assert "AnnLee@googlemail.com" in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "no columns of the two tables correspond: name those to compare with --field."),
        (("-f", "a:b:c"), "a field must be LEFT[:RIGHT][=KIND][*WEIGHT]; got 'a:b:c'."),
        (("--id", "a=text"), "the id must be COLUMN[:COLUMN_OF_B]; got 'a=text'."),
        (
            ("-f", "a=mail"),
            "the kind of field 'a' must be one of text, name, address, phone, email, date, number, category; "
            "got 'mail'. Did you mean 'email'?",
        ),
    ],
)
def test_errors(run: Commands, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    one = write(tmp_path / "one.csv", [{"a": "x"}, {"a": "y"}])
    other = write(tmp_path / "other.csv", [{"b": "v"}, {"b": "w"}])
    assert complaint(run("resolve", one, other, *options)) == message


# --- clusters and golden records ---


@pytest.fixture
def people(inputs: Path) -> Path:
    return write(inputs / "people.csv", ROWS)


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
        (
            ["--golden", "g.csv", "--clusters", "g.csv"],
            2,
            "--out, --clusters, --golden, --table, --save-model, --plot and --report",
        ),
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


def test_golden_records_by_proposed_fields(run: Commands, tables: list[Path], out: Path) -> None:
    """A rule can name a column of either table: `who` is found to belong to `name`."""
    golden = out / "golden.jsonl"
    outcome = run("resolve", *tables, "-o", out / "m.csv", "--golden", golden, "--golden-by", "who=longest")
    assert outcome.code == 0, outcome.err
    assert {"id", "name", "mail", "no", "dc:type"} < set(read(golden)[0])
    outcome = run("resolve", *tables, "-o", out / "x.csv", "--golden", out / "g.csv", "--golden-by", "whom=longest")
    assert outcome.code == 2
    assert complaint(outcome) == "the records have no column 'whom' for the rule 'longest'. Did you mean 'who'?"
    assert not (out / "x.csv").exists()


def test_a_file_that_cannot_hold_a_column_is_found_before_the_work(run: Commands, inputs: Path, out: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    table = table.append_column("every", pa.array([(1, 2, 3)] * len(ROWS), pa.month_day_nano_interval()))
    feather.write_feather(table, inputs / "people.arrow")
    golden = out / "g.parquet"
    outcome = run("resolve", inputs / "people.arrow", *FIELDS, "-o", out / "m.csv", "--golden", golden)
    assert outcome.code == 1
    assert complaint(outcome).startswith(f"{golden}: cannot be written: ")
    assert not list(out.iterdir())


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_nested_columns_are_kept(run: Commands, inputs: Path, out: Path, suffix: str) -> None:
    table = pa.Table.from_pylist([{**row, "tags": {"a": [row["id"]]}} for row in ROWS])
    pq.write_table(table, inputs / "people.parquet")
    golden = out / f"g{suffix}"
    outcome = run("resolve", inputs / "people.parquet", *FIELDS, "-o", out / "m.csv", "--golden", golden)
    assert outcome.code == 0, outcome.err
    assert [row["tags"] for row in read(golden)] == [{"a": [one]} for one in ("1", "3", "5")]
