"""Check `lookalike resolve --to-index` and `--against`, from the command line to the files."""

import json
from pathlib import Path

import pytest

from lookalike.linking import RecordIndex
from tests.commands import Commands, complaint
from tests.samples import write

PEOPLE = [
    {"id": "1", "name": "Ann Lee", "street": "9 Elm Street", "phone": "212-555-0100"},
    {"id": "2", "name": "Anne Lee", "street": "9 Elm St", "phone": "212 555 0100"},
    {"id": "3", "name": "Bob Ray", "street": "3 Oak Road", "phone": "646-555-0199"},
    {"id": "4", "name": "Zoe Quist", "street": "", "phone": "718-555-0155"},
]
NEW = [
    {"id": "7", "name": "Robert Ray", "street": "3 Oak Rd", "phone": "646 555 0199"},
    {"id": "8", "name": "Cy Fox", "street": "1 Bay Road", "phone": ""},
]
FIELDS = ("-f", "name=name", "-f", "street=address", "-f", "phone=phone")


@pytest.fixture
def files(tmp_path: Path, run: Commands) -> list[Path]:
    """Return a file of new records, and an index of people."""
    people, new = write(tmp_path / "people.csv", PEOPLE), write(tmp_path / "new.csv", NEW)
    done = run("resolve", people, *FIELDS, "--to-index", tmp_path / "people.index", "-o", tmp_path / "pairs.csv")
    assert done.code == 0, done.err
    assert "index: 4 records in " in done.err
    return [new, tmp_path / "people.index"]


def rows(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_new_records_are_linked(run: Commands, files: list[Path], tmp_path: Path) -> None:
    new, index = files
    first = run("resolve", new, "--against", index)
    assert first.code == 0, first.err
    assert "2 records linked: 1 to known clusters, 1 new cluster\n" in first.err
    assert "index: 4 records, unchanged" in first.err
    found = rows(first.out)
    assert [(row["id"], row["cluster"], row["known"], row["match"]) for row in found] == [
        ("7", "3", True, "3"),
        ("8", "8", False, None),
    ]
    added = run("resolve", new, "--against", index, "--update", "--report", tmp_path / "page.html")
    assert (added.code, added.out) == (0, first.out)
    assert "index: 6 records\n" in added.err
    assert "2 records linked" in (tmp_path / "page.html").read_text()
    again = run("resolve", new, "--against", index, "--update")
    assert (again.code, again.out) == (0, first.out)
    assert "note: an earlier run added these same records; the output is the same as then" in again.err
    assert "index: 6 records, unchanged" in again.err
    with RecordIndex.open(index, read_only=True) as opened:
        assert len(opened) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-f", "name"), "--field cannot be used with --against: the index has its settings."),
        (("--precision", "0.9"), "--precision cannot be used with --against: the index has its settings."),
        (("--all",), "--all cannot be used with --against: the index has its settings."),
        (("--threshold", "0.6"), "--threshold cannot be used with --against: the index has its settings."),
        (("-o", "out.txt.zip"), "the output file must end in"),
        (("--id", "number"), "the table has no column 'number' for the id; it has id, name, street, phone."),
    ],
)
def test_mistakes_with_against(run: Commands, files: list[Path], options: tuple[str, ...], message: str) -> None:
    done = run("resolve", files[0], "--against", files[1], *options)
    assert done.code in (1, 2)
    assert complaint(done).startswith(message)


def test_mistakes(run: Commands, files: list[Path], tmp_path: Path) -> None:
    new, index = files
    for command, message in (
        (("resolve", new, "--update"), "--update needs an index: name it with --against."),
        (("resolve", new, new, "--against", index), "--against needs one table of new records; got two."),
        (
            ("resolve", new, new, "--to-index", "x.index"),
            "--to-index needs one table; got two. Put them into one first.",
        ),
        (("resolve", new, *FIELDS, "--to-index", index), f"{index}: already exists; an index needs a new folder."),
        (("resolve", new, *FIELDS, "--one-to-one", "--to-index", "x"), "--one-to-one cannot be used with --to-index."),
        (
            ("resolve", new, "--against", tmp_path / "none"),
            f"{tmp_path / 'none'}: no such folder; create an index with `lookalike resolve --to-index`.",
        ),
        (("index", "add", index, new), f"{index}: the index holds records; link new ones with `lookalike resolve"),
        (("index", "query", index, new), f"{index}: the index holds records; link new ones with `lookalike resolve"),
        (("index", "remove", index, "1"), f"{index}: the index holds records; link new ones with `lookalike resolve"),
        (("dedup", new, "--against", index), "dedup --against needs an index of documents; the index holds records."),
    ):
        done = run(*command)
        assert done.code in (1, 2), command
        assert complaint(done).startswith(message)


def test_a_failed_output_can_be_written_later(run: Commands, files: list[Path], tmp_path: Path) -> None:
    """The records are added first; the same command writes the answer."""
    new, index = files
    done = run("resolve", new, "--against", index, "--update", "-o", tmp_path / "none" / "linked.csv")
    assert done.code == 1
    with RecordIndex.open(index, read_only=True) as opened:
        assert len(opened) == 4  # a folder that is missing is noticed before
    assert run("resolve", new, "--against", index, "--update", "-o", "-").code == 0
    again = run("resolve", new, "--against", index, "--update", "-o", tmp_path / "linked.csv")
    assert again.code == 0
    assert (tmp_path / "linked.csv").read_text().splitlines()[1].startswith('"7","3",true,"3",')


def test_a_model_from_the_command_line(run: Commands, files: list[Path], tmp_path: Path) -> None:
    people, model = tmp_path / "people.csv", tmp_path / "model.json"
    first = run("resolve", people, *FIELDS, "--save-model", model)
    again = run("resolve", people, "--model", model)
    assert (first.code, again.code) == (0, 0)
    assert again.out == first.out
    assert run("resolve", people, "--model", model, *FIELDS).out == first.out
    other = run("resolve", people, "--model", model, "-f", "name")
    assert complaint(other).startswith(
        "--field must match the model, which has name=name, street=address, phone=phone;"
    )
    assert complaint(run("resolve", people, "--model", tmp_path / "none.json")).startswith(
        f"{tmp_path / 'none.json'}: no such file; save a model with `lookalike resolve ... --save-model FILE`."
    )
