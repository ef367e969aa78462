"""Check `lookalike label`: what it asks, the file of answers, undo, resuming, and what `resolve` makes of it."""

import signal
import socket
import time
from pathlib import Path

import pytest

from tests.commands import GUARD, Commands, complaint, spawn
from tests.samples import write

NAMES = ("Ann Lee", "Bob Ray", "Cleo Vance", "Dan Poe", "Eve Stone", "Finn Marsh")
SHOP = [{"id": f"s{at}", "name": name, "town": "Ansel"} for at, name in enumerate(NAMES)]
CLUB = [{"id": at, "who": f"{name}e", "town": "Tarrow", "since": 2001} for at, name in enumerate(NAMES)]
FIELDS = ("-f", "name:who=name")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / "shop.csv", SHOP), write(tmp_path / "club.csv", CLUB), tmp_path / "labels.csv"]


def asked(err: str) -> list[str]:
    """Return the pairs that were shown, as LEFT-RIGHT."""
    ids = (line.split("│") for line in err.splitlines() if line.startswith("│ id "))
    return [f"{cells[2].strip()}-{cells[4].strip()}" for cells in ids]


def answers(path: Path) -> list[str]:
    head, *lines = path.read_text().splitlines()
    assert head == "left,right,match"
    return lines


def test_answers_undo_and_quit(run: Commands, files: list[Path]) -> None:
    shop, club, labels = files
    done = run("label", shop, club, *FIELDS, "--labels", labels, stdin=b"y\nN\nb\nwhat\n\nunsure\n no \nq\n")
    assert (done.code, done.out) == (0, "")
    pairs = asked(done.err)
    assert pairs[:4] == [pairs[0], pairs[1], pairs[2], pairs[1]]
    assert pairs[4] == pairs[2]
    assert done.err.count("the same?") == 8  # twice again after what cannot be understood
    expected = zip([pairs[0], pairs[1], pairs[2]], ["yes", "unsure", "no"], strict=True)
    assert answers(labels) == [f"{pair.replace('-', ',')},{answer}" for pair, answer in expected]
    assert f"labels: 3 answers added; 3 of 50 in {labels}" in done.err


def test_back_at_the_first_pair_stays_there(run: Commands, files: list[Path]) -> None:
    shop, club, labels = files
    done = run("label", shop, club, *FIELDS, "--labels", labels, stdin=b"b\nback\n")
    assert len({*asked(done.err)}) == 1
    assert not labels.exists()


def test_a_later_run_resumes(run: Commands, files: list[Path]) -> None:
    shop, club, labels = files
    first = run("label", shop, club, *FIELDS, "--labels", labels, "--count", 3, stdin=b"y\ny\n")
    assert len(answers(labels)) == 2
    second = run("label", shop, club, *FIELDS, "--labels", labels, "--count", 5, stdin=b"n\n" * 9)
    assert len(answers(labels)) == 5
    assert not {*asked(first.err)[:2]} & {*asked(second.err)}
    assert "pair 3 of 5" in second.err
    third = run("label", shop, club, *FIELDS, "--labels", labels, "--count", 5, stdin=b"n\n")
    assert asked(third.err) == []
    assert f"labels: 0 answers added; 5 of 5 in {labels}" in third.err


def test_the_same_seed_asks_the_same(run: Commands, files: list[Path], tmp_path: Path) -> None:
    shop, club, _ = files
    seen = []
    for name, seed in (("1.csv", 4), ("2.csv", 4), ("3.csv", 5)):
        done = run("label", shop, club, *FIELDS, "--labels", tmp_path / name, "--seed", seed, stdin=b"u\n" * 99)
        seen.append(asked(done.err))
    assert seen[0] == seen[1] != seen[2]
    assert len(seen[0]) == len({*seen[0]})


def test_records_are_shown_side_by_side(run: Commands, tmp_path: Path) -> None:
    """The columns that are not compared help to decide; control characters are not obeyed."""
    left = write(tmp_path / "a.csv", [{"name": "Ann Lee", "town": "An\x1b[2Jsel"}])
    right = write(tmp_path / "b.csv", [{"name": "Ann Leigh", "town": "Tarrow"}])
    done = run("label", left, right, "-f", "name=name", "--labels", tmp_path / "l.csv", "--count", 1, stdin=b"q\n")
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:5]]
        for cells in (line.split("│") for line in done.err.splitlines() if line.startswith("│"))
    }
    assert rows == {
        "id": ["0", "", "0"],
        "name": ["Ann Lee", "≠", "Ann Leigh"],
        "town": [r"An\x1b[2Jsel", "", "Tarrow"],
    }


def test_what_resolve_makes_of_the_answers(run: Commands, files: list[Path], tmp_path: Path) -> None:
    shop, club, labels = files
    labels.write_text("left,right,match\ns0,0,no\ns1,0,yes\ns2,2,yes\n")
    done = run("resolve", shop, club, *FIELDS, "--labels", labels, "-o", tmp_path / "out.csv")
    assert done.code == 0, done.err
    assert ", recalibrated by " in done.err
    found = {
        tuple(line.split(",")[:2]) for line in (tmp_path / "out.csv").read_text().replace('"', "").splitlines()[1:]
    }
    assert {("s1", "0"), ("s2", "2")} <= found
    assert ("s0", "0") not in found
    said = complaint(run("resolve", shop, club, *FIELDS, "--labels", labels, "-o", labels))
    assert "is an input and would be overwritten" in said


@pytest.mark.slow
def test_a_kill_loses_no_answer(files: list[Path]) -> None:
    shop, club, labels = files
    started = spawn("label", shop, club, *FIELDS, "--labels", labels, stdin=-1)
    assert started.stdin is not None
    started.stdin.write(b"y\nn\n")
    started.stdin.flush()
    end = time.monotonic() + GUARD
    while time.monotonic() < end and not (labels.exists() and labels.read_text().count("\n") == 3):
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    assert [line.rpartition(",")[2] for line in answers(labels)] == ["yes", "no"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("labels.parquet", "the file of labels must end in .csv; got 'labels.parquet'."),
        ("no/labels.csv", "cannot be written: there is no folder"),
        ("shop.csv", "is an input and would be overwritten"),
        ("other.csv", "must be CSV and begin with the line left,right,match; got 'a;b'."),
        ("unknown.csv", "labels must have ids of the first table in the column 'left'; got 's99' in row 0."),
    ],
)
def test_wrong_files(
    run: Commands, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text("a;b\n")
    (tmp_path / "unknown.csv").write_text("left,right,match\ns99,1,no\n")
    assert message in complaint(run("label", "shop.csv", "club.csv", *FIELDS, "--labels", labels))


def test_a_file_without_permission(run: Commands, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shop, club, labels = files
    labels.write_text("left,right,match\n")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != labels)  # root may write to any file
    said = complaint(run("label", shop, club, *FIELDS, "--labels", labels))
    assert said == f"{labels}: cannot be written: permission denied."


def test_a_port_in_use(run: Commands, files: list[Path]) -> None:
    shop, club, labels = files
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint(run("label", shop, club, *FIELDS, "--labels", labels, "--page", "--port", port))
    assert said == f"cannot listen on 127.0.0.1, port {port}: Address already in use."


def test_nothing_to_ask_on_a_page(run: Commands, files: list[Path]) -> None:
    """With enough answers, no page is served."""
    shop, club, labels = files
    labels.write_text("left,right,match\ns0,0,yes\n")
    done = run("label", shop, club, *FIELDS, "--labels", labels, "--count", 1, "--page")
    assert (done.code, done.err.splitlines()[1:]) == (0, [f"labels: 0 answers added; 1 of 1 in {labels}"])


def test_wrong_options(run: Commands, files: list[Path]) -> None:
    shop, club, labels = files
    said = complaint(run("label", shop, club, *FIELDS, "--labels", labels, "--port", 80))
    assert said == "--port cannot be used with questions in the terminal; --page asks on a web page."
    said = complaint(run("label", shop, club, *FIELDS, "--labels", labels, "--page", "--port", 70000))
    assert said == "--port must be an integer of at most 65535; got 70000."
    said = complaint(run("label", shop, "-", *FIELDS, "--labels", labels))
    assert said == "tables must be files: standard input is for the answers."
    said = complaint(run("label", shop, club, *FIELDS, "--labels", labels, "--count", 0))
    assert said == "--count must be an integer of at least 1; got 0."
