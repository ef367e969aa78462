"""Check the fields that `lookalike resolve` proposes and prints, and the records it shows."""

import json
from pathlib import Path

import pytest

from tests.commands import Commands, complaint
from tests.samples import write

LEFT = [
    {"id": "a", "name": "Ann Lee", "mail": "ann.lee@gmail.com", "no": "4-1"},
    {"id": "b", "name": "Bob Ray", "mail": "bob@work.org", "no": "7-7"},
]
RIGHT = [{"id": 1, "who": "LEE, Ann", "email": "AnnLee@googlemail.com", "dc:type": "x y"}]


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
