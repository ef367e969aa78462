"""Check the fingerprint commands."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.fingerprints import Database, read_prints
from tests.commands import complaint, left_in
from tests.print_samples import as_csv, finger, iso_record, moved

METHODS = ("corners", "grid", "all")


# --- commands ---


@pytest.fixture
def scans(inputs):
    """Two impressions each of four fingers, as templates: 1_1, 1_2 and so on."""
    draw = np.random.default_rng(6)
    for number in range(1, 5):
        whole = finger(draw, 40)
        for take, turn in ((1, 0), (2, 25)):
            seen = moved(whole + draw.normal(0, (1, 1, 2), whole.shape), turn, (200, 300))
            rows = [(round(x), round(800 - y), round(angle / 360 * 256) % 256) for x, y, angle in seen]
            (inputs / f"{number}_{take}.iso").write_bytes(iso_record([rows]))
    return inputs


@pytest.fixture
def people(run, scans, out):
    """A database of the first impressions."""
    path = out / "people.parquet"
    assert run("fingerprints", "enroll", path, scans / "*_1.iso").code == 0
    return path


def rows_of(text):
    return [(row["left"], row["right"]) for row in map(json.loads, text.splitlines())]


@pytest.mark.slow
def test_enroll_and_identify(run, scans, out):
    path = out / "people.parquet"
    made = run("fingerprints", "enroll", path, scans / "1_1.iso", scans / "2_1.iso")
    assert made.code == 0
    assert made.out == ""
    assert made.err.splitlines() == ["enrolled: 2 prints, 80 minutiae", f"{path}: 2 prints in total"]
    grown = run("fingerprints", "enroll", path, scans / "3_1.iso")
    assert grown.err.splitlines() == ["enrolled: 1 print, 40 minutiae", f"{path}: 3 prints in total"]
    found = run("fingerprints", "identify", path, scans / "*_2.iso")
    assert found.code == 0
    assert rows_of(found.out) == [("1_2", "1_1"), ("2_2", "2_1"), ("3_2", "3_1")]
    lines = found.err.splitlines()
    assert lines[:2] == ["read: 4 prints, 160 minutiae", "found: 3 prints identified, 1 not"]
    assert lines[2].startswith("compared: ")
    assert " of 12 pairs, " in lines[2]
    assert lines[3].startswith("time: ")
    assert left_in(out) == {"people.parquet"}


def test_identify_to_a_file(run, scans, people, out):
    found = run(
        "fingerprints", "identify", people, scans, "--top", 1, "--threshold", 0.3, "-o", out / "whose.csv", "--quiet"
    )
    assert (found.code, found.out, found.err) == (0, "", "")
    lines = (out / "whose.csv").read_text().splitlines()
    assert lines[0] == '"left","right","similarity"'
    assert [line.split(",")[:2] for line in lines[1:]] == [
        [f'"{number}_{take}"', f'"{number}_1"'] for number in range(1, 5) for take in (1, 2)
    ]
    run("fingerprints", "identify", people, scans, "-o", out / "whose.parquet")
    settings = pq.read_schema(out / "whose.parquet").metadata
    assert (settings[b"lookalike.method"], settings[b"lookalike.threshold"]) == (b"corners", b"0.35")


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_the_commands(run, scans, people, method):
    found = run("fingerprints", "identify", people, scans / "1_1.iso", "--method", method)
    assert rows_of(found.out) == [("1_1", "1_1")]


def test_identify_of_a_stranger(run, people, inputs):
    (inputs / "stranger.xyt").write_text("\n")
    found = run("fingerprints", "identify", people, inputs / "stranger.xyt")
    assert (found.code, found.out) == (0, "")
    assert "found: 0 prints identified, 1 not" in found.err
    assert "compared: 0 of 4 pairs, 0.0%" in found.err


def test_pairs_of_files_and_of_a_database(run, scans, out):
    expected = [(f"{number}_1", f"{number}_2") for number in range(1, 5)]
    found = run("fingerprints", "pairs", scans)
    assert found.code == 0
    assert rows_of(found.out) == expected
    lines = found.err.splitlines()
    assert lines[:2] == ["read: 8 prints, 320 minutiae", "found: 4 pairs of the same finger"]
    assert " of 28 pairs, " in lines[2]
    run("fingerprints", "enroll", out / "all.parquet", scans)
    assert run("fingerprints", "pairs", out / "all.parquet").out == found.out
    assert run("fingerprints", "pairs", out / "all.parquet", "--method", "all").out == found.out
    assert run("fingerprints", "pairs", scans / "1_1.iso").out == ""


def test_pairs_of_a_table(run, scans):
    """A Parquet table of minutiae is read like any table, though databases are Parquet, too."""
    prints = read_prints(scans)
    rows = [(name, x, -y, a) for name, one in zip(prints.ids.to_pylist(), prints, strict=True) for x, y, a in one]
    names, x, y, angle = zip(*rows, strict=True)
    table = pa.table({"id": names, "x": x, "y": y, "angle": angle})
    (scans / "table.csv").write_text(as_csv(table))
    expected = [(f"{number}_1", f"{number}_2") for number in range(1, 5)]
    assert rows_of(run("fingerprints", "pairs", scans / "table.csv").out) == expected
    pq.write_table(table, scans / "table.parquet")
    assert rows_of(run("fingerprints", "pairs", scans / "table.parquet").out) == expected


@pytest.mark.slow
def test_many_enroll_at_a_time(scans, out):
    """No process loses what another has added."""
    command = [sys.executable, "-m", "lookalike", "fingerprints", "enroll", str(out / "people.parquet"), "-q"]
    names = sorted(path for path in scans.iterdir())[:4]
    running = [subprocess.Popen([*command, str(name)]) for name in names]
    assert [one.wait() for one in running] == [0] * 4
    assert sorted(Database.open(out / "people.parquet").prints.ids.to_pylist()) == [name.stem for name in names]


def test_a_database_is_read_as_its_prints(run, people, out):
    enrolled = Database.open(people).prints
    assert read_prints(people).ids.equals(enrolled.ids)
    assert (read_prints(people).minutiae == enrolled.minutiae).all()
    found = run("fingerprints", "identify", people, people, "--top", "1")
    assert found.code == 0
    assert len(found.out.splitlines()) == len(enrolled)


def test_prints_without_minutiae_are_counted(run, scans, out):
    (scans / "none.xyt").write_text("")
    made = run("fingerprints", "enroll", out / "people.parquet", scans)
    assert made.err.splitlines()[0].endswith("(1 without minutiae, which match nothing)")


def test_skipping_files(run, scans, out):
    (scans / "bad.iso").write_bytes(b"FMR\0 20\0")
    failed = run("fingerprints", "enroll", out / "people.parquet", scans)
    assert failed.code == 1
    assert complaint(failed).startswith(f"{scans / 'bad.iso'}: is truncated")
    assert left_in(out) == set()
    made = run("fingerprints", "enroll", out / "people.parquet", scans, "--on-error", "skip")
    assert made.code == 0
    assert made.err.splitlines()[0] == "enrolled: 8 prints, 320 minutiae (1 file skipped)"
    found = run("fingerprints", "pairs", scans, "--on-error", "skip")
    assert found.err.splitlines()[0] == "read: 8 prints, 320 minutiae (1 file skipped)"
    found = run("fingerprints", "identify", out / "people.parquet", scans, "--on-error", "skip")
    assert found.err.splitlines()[0] == "read: 8 prints, 320 minutiae (1 file skipped)"


def test_enrolling_twice_changes_nothing(run, scans, people):
    before = people.read_bytes()
    again = run("fingerprints", "enroll", people, scans / "2_1.iso")
    assert again.code == 1
    assert complaint(again) == "ids must be new; '2_1' is enrolled already."
    assert people.read_bytes() == before
    for seed, code in ((1, 0), (2, 1)):
        other = run("fingerprints", "enroll", people, scans / "2_2.iso", "--seed", seed)
        assert other.code == code
    assert complaint(other) == f"{people}: has seed 1, got --seed 2; omit --seed or use a new database."


def test_seeds_of_the_commands(run, scans, out):
    path = out / "people.parquet"
    assert run("fingerprints", "enroll", path, scans / "*_1.iso", "--seed", 9).code == 0
    assert Database.open(path).seed == 9
    assert rows_of(run("fingerprints", "identify", path, scans / "1_2.iso").out) == [("1_2", "1_1")]
    refused = run("fingerprints", "enroll", out / "other.parquet", scans, "--seed", -1)
    assert (refused.code, complaint(refused)) == (2, "--seed must be an integer of at least 0; got -1.")
    assert left_in(out) == {"people.parquet"}


def test_dpi_of_the_commands(run, people, inputs):
    """A print scanned at 1000 dots per inch is found only if --dpi says so."""
    x, y, angle = (Database.open(people).prints[0] * (2, -2, 1)).T
    (inputs / "fine.csv").write_text(as_csv(pa.table({"x": x, "y": y, "angle": angle})))
    assert run("fingerprints", "identify", people, inputs / "fine.csv").out == ""
    assert rows_of(run("fingerprints", "identify", people, inputs / "fine.csv", "--dpi", 1000).out) == [("fine", "1_1")]


def test_threads_of_the_commands(run, scans, people):
    one, three = (run("fingerprints", "identify", people, scans, "--threads", threads).out for threads in (1, 3))
    assert one == three


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ["identify", "no.parquet", "SCANS"],
            1,
            "no.parquet: no such file; create it with `lookalike fingerprints enroll`.",
        ),
        (["pairs", "no.parquet"], 1, "no.parquet: no such file or folder."),
        (["identify", "PEOPLE", "no.iso"], 1, "no.iso: no such file or folder."),
        (["identify", "SCANS/1_1.iso", "SCANS"], 1, "SCANS/1_1.iso: cannot be read as enrolled prints: "),
        (["identify", "PEOPLE", "SCANS", "--threshold", "0"], 2, "--threshold must be in (0, 1]; got 0.0."),
        (["identify", "PEOPLE", "SCANS", "--top", "0"], 2, "--top must be an integer of at least 1; got 0."),
        (
            ["identify", "PEOPLE", "SCANS", "--method", "some"],
            2,
            "--method must be one of corners, grid, all; got 'some'.",
        ),
        (["identify", "PEOPLE", "SCANS", "--dpi", "-5"], 2, "--dpi must be a positive number; got -5.0."),
        (
            ["identify", "PEOPLE", "SCANS", "--format", "bmp"],
            2,
            "--format must be one of iso, xyt, csv, tsv, jsonl, parquet, arrow, excel, database; got 'bmp'.",
        ),
        (["identify", "PEOPLE", "SCANS", "-o", "whose.txt"], 2, "the output file must end in "),
        (["pairs", "SCANS", "--threads", "0"], 2, "--threads must be an integer of at least 1; got 0."),
        (
            ["pairs", "SCANS", "--method", "grid", "--groups", "0"],
            2,
            "--groups must be an integer of at least 1; got 0.",
        ),
        (["enroll", "people.csv", "SCANS"], 2, "enrolled prints are kept in a .parquet file; got 'people.csv'."),
        (["enroll", "PEOPLE", "-"], 2, "prints are read from files, not from standard input."),
        (["enroll", "nowhere/people.parquet", "SCANS"], 1, "nowhere/people.parquet: cannot be written: there is no "),
        (["enroll", "PEOPLE"], 2, "Missing argument 'PRINTS'."),
        (["identify"], 2, "Missing argument 'DATABASE'."),
    ],
)
def test_errors_of_the_commands(run, scans, people, monkeypatch, tmp_path, args, code, message):
    monkeypatch.chdir(tmp_path)

    def filled(text):
        return text.replace("PEOPLE", str(people)).replace("SCANS", str(scans))

    failed = run("fingerprints", *map(filled, args))
    assert failed.code == code
    assert complaint(failed).startswith(filled(message))
    assert failed.out == ""
    assert left_in(tmp_path) == {"in", "out"}


def test_help(run):
    everything = run("fingerprints", "--help")
    assert everything.code == 0
    assert all(name in everything.out for name in ("enroll", "identify", "pairs"))
    for name, words in [("enroll", ["--seed", "--dpi"]), ("identify", ["--top", "--groups"]), ("pairs", ["--method"])]:
        shown = run("fingerprints", name, "--help")
        assert shown.code == 0
        assert all(word in shown.out for word in ["--on-error", "lookalike fingerprints " + name, *words])
    assert "fingerprints" in run("--help").out
