"""The commands: what they write, where they say what, and that their files are the same each time."""

import csv
import functools
import gzip
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.cli import program
from lookalike.io.documents import Source
from lookalike.theory.amplify import Curve
from tests.commands import SLOW, Commands, complaint, environment, left_in, spawn
from tests.samples import Row, encode_jsonl, encode_parquet, families, write

ROWS = families(20)
KEPT_FIRST = [row["id"] for row in ROWS if row["id"].endswith("-0")]
COMMANDS = ("pairs", "match", "sets", "dedup", "clusters", "curve", "tune", "demo")
SUFFIXES = (".parquet", ".arrow", ".jsonl", ".csv")


@pytest.fixture
def corpus(inputs: Path) -> Path:
    return write(inputs / "corpus.jsonl", ROWS)


def read(path: Path) -> list[Row]:
    """The rows of a result; of CSV all values are strings."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path.read_bytes()).read_all().to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def family(name: str) -> str:
    return name[:3]


# --- results ---


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pairs(run: Commands, corpus: Path, out: Path, suffix: str) -> None:
    path = out / f"pairs{suffix}"
    assert run("pairs", corpus, "-o", path).code == 0
    rows = read(path)
    assert list(rows[0]) == ["left", "right", "similarity"]
    names = [row["id"] for row in ROWS]
    expected = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if family(a) == family(b)]
    assert [(row["left"], row["right"]) for row in rows] == expected
    assert all(0.8 <= float(row["similarity"]) < 1 for row in rows)
    assert left_in(out) == {path.name}


def test_pairs_on_standard_output(run: Commands, corpus: Path, out: Path) -> None:
    run("pairs", corpus, "-o", out / "pairs.jsonl")
    for extra in ((), ("-o", "-")):
        outcome = run("pairs", corpus, *extra)
        assert outcome.out == (out / "pairs.jsonl").read_text()
        assert outcome.code == 0


def test_similarity_is_of_the_shingles_asked_for(run: Commands, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("A b c d\na b c d e\n")
    for options, expected in {
        ("-s", "word:2"): 2 / 5,
        ("-s", "word:2", "--lowercase"): 3 / 4,
        ("-s", "char:2", "--space", "remove"): 2 / 5,
        ("-s", "char:2", "--recall", "1"): 5 / 9,
    }.items():
        outcome = run("pairs", path, "-t", "0.1", "-q", *options)
        assert json.loads(outcome.out) == {"left": 0, "right": 1, "similarity": expected}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_clusters(run: Commands, corpus: Path, out: Path, suffix: str) -> None:
    path = out / f"clusters{suffix}"
    assert run("clusters", corpus, "-o", path).code == 0
    rows = read(path)
    assert list(rows[0]) == ["cluster", "id", "size"]
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert {(row["cluster"], str(row["size"])) for row in rows} == {(name, "3") for name in KEPT_FIRST}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_match(run: Commands, corpus: Path, out: Path, tmp_path: Path, suffix: str) -> None:
    left = write(tmp_path / "left.csv", [row for row in ROWS if row["id"].endswith("-1")][:5])
    path = out / f"matches{suffix}"
    assert run("match", left, corpus, "-o", path).code == 0
    rows = read(path)
    assert list(rows[0]) == ["left", "right", "similarity"]
    expected = [(f"{i:03d}-1", f"{i:03d}-{j}") for i in range(5) for j in range(3)]
    assert [(row["left"], row["right"]) for row in rows] == expected
    assert [float(row["similarity"]) for row in rows if row["left"] == row["right"]] == [1.0] * 5


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv"])
def test_dedup_keeps_all_columns(run: Commands, out: Path, tmp_path: Path, name: str, suffix: str) -> None:
    kept, removed = out / f"kept{suffix}", out / f"removed{suffix}"
    assert run("dedup", write(tmp_path / name, ROWS), "-o", kept, "--removed", removed).code == 0
    strings = "sv" in name or suffix == ".csv"
    expected = [{key: str(value) if strings else value for key, value in row.items()} for row in ROWS]
    assert read(kept) == [row for row in expected if row["id"] in KEPT_FIRST]
    dropped = read(removed)
    assert list(dropped[0]) == ["id", "kept", "similarity"]
    assert [row["id"] for row in dropped] == [row["id"] for row in ROWS if row["id"] not in KEPT_FIRST]
    assert all(row["kept"] == f"{family(row['id'])}-0" for row in dropped)
    assert left_in(out) == {kept.name, removed.name}


def test_dedup_copies_lines_of_json(run: Commands, out: Path, tmp_path: Path) -> None:
    lines = [
        b'{"text" : "the same text, twice",  "x": 1.50}',
        b'{"x": null, "text": "the same text, twice"}',
        b'{"text": "\\u00e9 else"}\r',
    ]
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\n".join(lines))
    expected = lines[0] + b"\n" + lines[2] + b"\n"
    assert run("dedup", path, "-o", out / "kept.jsonl").code == 0
    assert (out / "kept.jsonl").read_bytes() == expected
    assert run("dedup", path).out.encode() == expected


def test_dedup_of_lines_and_files(run: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_text("the same text, twice")
    (folder / "lines.txt").write_text("one line\none line\n")
    assert [json.loads(line)["id"] for line in run("dedup", folder).out.splitlines()] == ["a", "lines.txt"]
    assert run("dedup", folder / "lines.txt").out == '{"id": 0, "text": "one line"}\n'


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv"])
def test_dedup_keeps_the_one_asked_for(run: Commands, tmp_path: Path, name: str) -> None:
    rows = [row | {"score": score} for row, score in zip(ROWS, [9, 10, -1] * 20, strict=True)]  # as strings "9" > "10"
    path = write(tmp_path / name, rows)
    for keep, copy in {"first": 0, "longest": 2, "score": 1}.items():
        outcome = run("dedup", path, "--keep", keep)
        assert [json.loads(line)["id"][-1] for line in outcome.out.splitlines()] == [str(copy)] * 20


def test_keep_by_a_column_of_words(run: Commands, tmp_path: Path) -> None:
    rows = [{"text": "the same text, thrice", "date": date} for date in ("2024-01-02", "", "2024-03-01")]
    outcome = run("dedup", write(tmp_path / "a.csv", rows), "--keep", "date")
    assert [json.loads(line)["date"] for line in outcome.out.splitlines()] == ["2024-03-01"]


def test_keep_by_a_column_that_is_not_there(run: Commands, corpus: Path, out: Path) -> None:
    outcome = run("dedup", corpus, "--keep", "scor", "-o", out / "kept.csv")
    message = "the input has no column 'scor' to keep by; it has id, text, score. Did you mean 'score'?"
    assert complaint(outcome) == message
    assert outcome.code == 1
    nested = out.parent / "nested.jsonl"
    nested.write_text('{"text": "a", "tags": ["x"]}\n')
    assert "'tags' holds list" in complaint(run("dedup", nested, "--keep", "tags", "-o", out / "kept.csv"))
    assert left_in(out) == set()


def test_out_and_removed_are_two_files(run: Commands, corpus: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(out)
    for removed in ("kept.csv", "./kept.csv", out / "kept.csv"):
        outcome = run("dedup", corpus, "-o", "kept.csv", "--removed", removed)
        assert outcome.code == 2
        assert "--out and --removed must be two files" in complaint(outcome)
    assert run("dedup", corpus, "--removed", "-").code == 2
    assert left_in(out) == set()


def test_settings_are_in_the_files(run: Commands, corpus: Path, out: Path) -> None:
    run("pairs", corpus, "-o", out / "pairs.parquet", "-t", "0.75", "-s", "word:3", "--seed", "5", "--recall", "1")
    found = pq.read_schema(out / "pairs.parquet").metadata
    ours = {key.decode(): value.decode() for key, value in found.items() if key.startswith(b"lookalike.")}
    assert ours == {
        "lookalike.version": lookalike.__version__,
        "lookalike.read": str(len(ROWS)),
        "lookalike.format": "1",
        "lookalike.measure": "jaccard",
        "lookalike.threshold": "3/4",
        "lookalike.items": "word:3",
        "lookalike.seed": "5",
        "lookalike.method": "exact",
    }
    run("dedup", corpus, "-o", out / "kept.parquet", "--removed", out / "removed.parquet")
    for name in ("kept.parquet", "removed.parquet"):
        assert pq.read_schema(out / name).metadata[b"lookalike.items"] == b"char:9"


def test_inputs_by_standard_input_and_options(run: Commands, corpus: Path, tmp_path: Path) -> None:
    expected = run("pairs", corpus).out
    assert run("pairs", "-", stdin=encode_jsonl(ROWS)).out == expected
    assert run("pairs", "-", stdin=encode_parquet(pa.Table.from_pylist(ROWS))).out == expected
    renamed = [{"key": row["id"], "id": 0, "body": row["text"], "text": ""} for row in ROWS]
    path = write(tmp_path / "renamed.parquet", renamed).rename(tmp_path / "renamed.data")
    assert run("pairs", path, "--format", "parquet", "--text", "body", "--id", "key").out == expected
    numbered = run("pairs", path, "--format", "parquet", "--text", "body", "--id", "-").out
    assert json.loads(numbered.splitlines()[0])["left"] == 0


def test_skipped_rows_are_counted(run: Commands, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode_jsonl(ROWS) + b'{"id": "x", "text": null}\nbroken\n')
    outcome = run("pairs", path, "--on-error", "skip")
    assert outcome.code == 0
    assert "read: 60 documents (2 skipped)" in outcome.err
    assert len(outcome.out.splitlines()) == 60


def test_audit_is_reported(run: Commands, corpus: Path) -> None:
    assert (
        "audit: 60 of 60 true pairs of 60 sampled items found: recall 1.0000"
        in run("pairs", corpus, "--audit", 100).err
    )


# --- sets, and other measures ---


BASKETS = "milk bread eggs\nbread,milk;eggs\n\nmilk bread butter jam\nmilk bread\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sets_of_lines(run: Commands, inputs: Path, out: Path, suffix: str) -> None:
    path = inputs / "baskets.txt"
    path.write_text(BASKETS)
    outcome = run("sets", path, "-t", 0.6, "-o", out / f"pairs{suffix}")
    assert outcome.code == 0
    pairs = [(int(row["left"]), int(row["right"]), float(row["similarity"])) for row in read(out / f"pairs{suffix}")]
    assert pairs == [(1, 2, 1.0), (1, 5, pytest.approx(2 / 3)), (2, 5, pytest.approx(2 / 3))]
    assert "read: 4 sets (1 identical), 12 elements" in outcome.err
    assert "found: 3 pairs, all verified" in outcome.err


def test_sets_of_rows(run: Commands, inputs: Path) -> None:
    path = inputs / "orders.csv"
    path.write_text("n,order,product,quantity\n1,a,pen,2\n2,b,pen,2\n3,a,ink,1\n4,b,ink,3\n5,c,pen,1\n")
    whole = run("sets", path, "--rows", "order,product", "-t", 0.9)
    assert [json.loads(line) for line in whole.out.splitlines()] == [{"left": "a", "right": "b", "similarity": 1.0}]
    bags = run("sets", path, "--rows", "order,product,quantity", "-m", "bag", "-t", 0.6)
    assert [json.loads(line) for line in bags.out.splitlines()] == [{"left": "a", "right": "b", "similarity": 0.6}]
    part = run("sets", path, "--rows", "order,product", "-m", "containment", "-t", 1)
    found = [(row["left"], row["right"]) for row in map(json.loads, part.out.splitlines())]
    assert found == [("a", "b"), ("b", "a"), ("c", "a"), ("c", "b")]
    both = run("sets", path, "--rows", "order,product", "-m", "overlap", "-t", 2)
    assert [json.loads(line) for line in both.out.splitlines()] == [{"left": "a", "right": "b", "similarity": 2}]


@pytest.mark.parametrize(("stage", "compared"), [("length", 6), ("prefix", 1), ("position", 1), ("suffix", 1)])
def test_filters_say_what_they_compare(run: Commands, inputs: Path, stage: str, compared: int) -> None:
    """All six pairs have the right lengths; of two elements indexed only the first two sets have one in common, c."""
    path = inputs / "sets.txt"
    path.write_text("a b c d\na b c e\na b f g\na h i j\n")
    outcome = run("sets", path, "-t", 0.5, "--filter", stage)
    assert outcome.out == '{"left": 1, "right": 2, "similarity": 0.6}\n'
    found = re.search(r"all verified, among ([\d,]+) candidates?", outcome.err)
    assert found
    assert int(found[1]) == compared


@pytest.mark.parametrize(("measure", "edits", "found"), [("edit", 1, 3), ("edit", 2, 4), ("levenshtein", 1, 4)])
def test_texts_by_edit_distance(run: Commands, inputs: Path, measure: str, edits: int, found: int) -> None:
    path = inputs / "names.csv"
    path.write_text("id,text\n1,Jon Smith\n2,John Smith\n3,Jane Doe\n4,Jane Do\n5,Jane Dot\n")
    outcome = run("pairs", path, "--measure", measure, "-t", edits)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert all(set(row) == {"left", "right", "distance"} and row["distance"] <= edits for row in rows)
    assert len(rows) == found
    assert f"plan: {measure} <= {edits} of texts, exact: grams, every pair is found" in outcome.err


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("pairs", ("-m", "edit"), "measure 'edit' needs a threshold: the most edits."),
        ("pairs", ("-m", "jacard"), "measure must be one of jaccard"),
        ("sets", ("-m", "edit", "-t", 1), "measure 'edit' compares texts; got sets."),
        ("sets", ("--filter", "x"), "filter must be one of length, prefix, position, suffix; got 'x'."),
        ("sets", ("--rows", "a,b"), "rows"),
    ],
)
def test_measures_that_cannot_be(
    run: Commands, inputs: Path, command: str, options: tuple[object, ...], message: str
) -> None:
    path = inputs / "lines.txt"
    path.write_text("a b\nb c\n")
    outcome = run(command, path, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in complaint(outcome)


# --- curves and the demonstration ---


def test_curve(run: Commands) -> None:
    outcome = run("curve", "--bands", 20, "--rows", 5)
    found = dict(re.findall(r"^(\d\.\d) +([\d.e-]+)", outcome.out, re.M))
    expected = {f"{s / 10:.1f}": 1 - (1 - (s / 10) ** 5) ** 20 for s in range(1, 11)}
    assert found.keys() == expected.keys()
    assert all(float(found[s]) == pytest.approx(p, abs=6e-5) for s, p in expected.items())
    assert "20 bands of 5 rows, 100 minhashes" in outcome.out
    assert "(1/b)^(1/r) = 0.549" in outcome.out
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_curve_as_a_picture(run: Commands, out: Path, suffix: str, start: bytes) -> None:
    path = out / f"curve{suffix}"
    assert run("curve", "--bands", 20, "--rows", 5, "--plot", path).code == 0
    assert path.read_bytes().startswith(start)
    assert left_in(out) == {path.name}


def test_curve_that_cannot_be_drawn(run: Commands, out: Path) -> None:
    for extra, code, message in (
        (("--plot", out / "curve.gif"), 2, "plot must end in .png, .svg or .pdf"),
        (("--plot", out / "no" / "curve.png"), 1, "cannot be written: No such file or directory"),
        (("--bands", 0), 2, "bands must be an integer of at least 1; got 0."),
    ):
        outcome = run("curve", "--bands", 20, "--rows", 5, *extra)
        assert (outcome.code, outcome.out) == (code, "")
        assert message in complaint(outcome)
    assert left_in(out) == set()


def test_tune(run: Commands) -> None:
    outcome = run("tune", "--threshold", 0.8, "--recall", 0.99)
    rows = [line.split() for line in outcome.out.splitlines() if re.match(r"^\d+ +\d+ ", line)]
    for at, (band_rows, bands, hashes, recall, _) in enumerate(rows):
        p = 0.8 ** int(band_rows)
        assert int(band_rows) == at + 1
        assert int(hashes) == int(band_rows) * int(bands) <= 512
        assert float(recall) == pytest.approx(1 - (1 - p) ** int(bands), abs=6e-5)
        assert 1 - (1 - p) ** int(bands) >= 0.99 > 1 - (1 - p) ** (int(bands) - 1)
    best = lookalike.choose_bands(threshold=0.8, hashes=512, recall=0.99)
    assert f"the most selective choice is {best.bands} bands of {best.rows} rows" in outcome.out
    assert len(rows) == best.rows
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("options", "values", "curve", "collision"),
    [
        (("--cascade", "And(4) >> Or(4) >> Or(4) >> And(4)"), 10, "And(4) >> Or(4) >> Or(4) >> And(4)", lambda s: s),
        (("--cascade", "or(3)"), 10, "Or(3)", lambda s: s),
        (("--bands", 3, "--rows", 2, "--family", "hyperplanes"), 13, "And(2) >> Or(3)", lambda d: 1 - d / 180),
        (("--bands", 3, "--rows", 2, "--family", "bits:64"), 12, "And(2) >> Or(3)", lambda d: 1 - d / 64),
        (
            ("--bands", 3, "--rows", 2, "--family", "lines:4"),
            12,
            "And(2) >> Or(3)",
            lambda d: lookalike.families.RandomLines(4).collision(d),
        ),
    ],
)
def test_curve_of_any_cascade_and_family(
    run: Commands, options: tuple[object, ...], values: int, curve: str, collision: Callable[[float], float]
) -> None:
    outcome = run("curve", *options)
    found = re.findall(r"^([\d.]+) +([\d.e-]+)", outcome.out, re.M)
    assert len(found) == values
    for value, p in found:
        assert float(p) == pytest.approx(Curve.parse(curve)(collision(float(value))), abs=6e-5)
    half = re.search(r"half of the pairs at \w+ ([\d.]+) become candidates", outcome.out)
    assert half
    assert Curve.parse(curve)(collision(float(half[1]))) == pytest.approx(0.5, abs=0.02)
    assert (outcome.code, outcome.err) == (0, "")


def test_curve_with_a_fixed_point_says_so(run: Commands) -> None:
    assert "fixed point at 0.724" in run("curve", "--bands", 4, "--rows", 4).out
    assert "fixed" not in run("curve", "--cascade", "And(4)").out


def test_curve_of_many_lines(run: Commands) -> None:
    """However many lines there are, half of the pairs at some distance are candidates."""
    outcome = run("curve", "--cascade", "Or(1000)", "--family", "lines:1")
    half = re.search(r"half of the pairs at distance ([\d.]+) ", outcome.out)
    assert half
    assert 100 < float(half[1]) < 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give either --bands and --rows, or a --cascade such as 'And(4) >> Or(4)'."),
        (("--bands", 3), "give either --bands and --rows, or a --cascade such as 'And(4) >> Or(4)'."),
        (("--bands", 3, "--rows", 3, "--cascade", "And(1)"), "give either --bands and --rows, or a --cascade"),
        (("--cascade", "5x20"), "a cascade must be ANDs and ORs such as 'And(4) >> Or(4)'; got '5x20'."),
        (("--cascade", "And(4) >>"), "a cascade must be ANDs and ORs such as 'And(4) >> Or(4)'; got 'And(4) >>'."),
        (("--cascade", "And(x)"), "And must be an integer of at least 1; got 'x'."),
        (("--cascade", "Or(0)"), "Or must be an integer of at least 1; got 0."),
        (("--cascade", "Or(2)", "--family", "simhash"), "family must be minhash, hyperplanes, bits:DIMENSIONS"),
        (("--cascade", "Or(2)", "--family", "hyperplane"), "got 'hyperplane'. Did you mean 'hyperplanes'?"),
        (("--cascade", "Or(2)", "--family", "bits"), "family must be minhash, hyperplanes, bits:DIMENSIONS"),
        (("--cascade", "Or(2)", "--family", "minhash:3"), "family must be minhash, hyperplanes, bits:DIMENSIONS"),
        (("--cascade", "Or(9)", "--family", "bits:5"), "Or(9) takes 9 functions; family bits:5 has 5 functions."),
        (("--cascade", "Or(2)", "--family", "lines:x"), "family must have a number after its colon; got 'lines:x'."),
        (("--cascade", "Or(2)", "--family", "lines:0"), "width must be a positive number; got 0.0."),
        (("--cascade", "Or(2)", "--family", "bits:1.5"), "dimensions must be an integer of at least 1; got 1.5."),
    ],
)
def test_curve_that_cannot_be(run: Commands, options: tuple[object, ...], message: str) -> None:
    outcome = run("curve", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in complaint(outcome)


def test_tune_for_other_families(run: Commands) -> None:
    outcome = run("tune", "-t", 20, "--family", "hyperplanes", "--hashes", 128)
    best = lookalike.choose_bands(20, 128, 0.99, lookalike.families.Hyperplanes())
    assert "at angle 20 with probability 0.889" in outcome.out
    assert f"the most selective choice is {best.bands} bands of {best.rows} rows: it finds 99.07%" in outcome.out
    assert len(re.findall(r"^\d+ +\d+ +\d+ ", outcome.out, re.M)) == best.rows
    assert "threshold must be in [0, 180]; got 200." in complaint(run("tune", "-t", 200, "--family", "hyperplanes"))


def test_tune_that_cannot_be(run: Commands) -> None:
    assert "Did you mean 0.8?" in complaint(run("tune", "-t", 80))
    assert "takes more than 512 hashes" in complaint(run("tune", "-t", 0.001))
    assert run("tune", "-t", 0.8, "--recall", 1).code == 2


def test_demo(run: Commands) -> None:
    outcome = run("demo")
    assert outcome.code == 0
    assert "news/ferry-ansel-courier.txt" in outcome.out
    assert "all verified" in outcome.err
    assert "audit: " in outcome.err


@pytest.mark.parametrize("suffix", [".ndjson", ".jsonl.gz"])
def test_lines_are_written_as_they_stood(run: Commands, corpus: Path, out: Path, suffix: str) -> None:
    path = out / f"kept{suffix}"
    assert run("dedup", corpus, "-q", "-o", path).code == 0
    content = gzip.decompress(path.read_bytes()) if suffix.endswith("gz") else path.read_bytes()
    kept = [line for line in corpus.read_bytes().splitlines() if json.loads(line)["id"] in KEPT_FIRST]
    assert content.splitlines() == kept


def test_columns_of_one_name_are_told_before_the_work(run: Commands, tmp_path: Path, out: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text,x,x\na,some text,1,2\n")
    message = f"{path}: columns must have names of their own; 2 of them are called 'x'."
    for args in (
        ("dedup", path),
        ("dedup", path, "--against", tmp_path / "i", "--update"),
        ("resolve", path, "-f", "x"),
    ):
        outcome = run(*args, "-o", out / "p.csv")
        assert (outcome.code, complaint(outcome)) == (1, message)
    assert run("pairs", path).code == 0  # where it does not matter


def test_match_with_columns_of_other_names(run: Commands, tmp_path: Path) -> None:
    left = write(tmp_path / "left.csv", [{"key": row["id"], "title": row["text"], "x": "y"} for row in ROWS[:3]])
    right = write(tmp_path / "right.csv", [{"nr": row["id"], "headline": row["text"], "x": "y"} for row in ROWS[:3]])
    expected = run("match", left, left, "--text", "title", "--id", "key").out
    assert len(expected.splitlines()) == 9
    assert run("match", left, right, "--text", "title:headline", "--id", "key:nr").out == expected
    numbered = run("match", left, right, "--text", "title:headline", "--id", "key:-").out
    assert [json.loads(line)["right"] for line in numbered.splitlines()] == [0, 1, 2] * 3
    for text, message in {
        "title:headlin": f"{right}: no column 'headlin' for the text; it has nr, headline, x. Did you mean 'headline'?",
        "headline": f"{left}: no column 'headline' for the text; it has key, title, x.",
        "title:": "--text must be COLUMN or COLUMN:RIGHT'S; got 'title:'.",
        ":headline": "--text must be COLUMN or COLUMN:RIGHT'S; got ':headline'.",
    }.items():
        assert complaint(run("match", left, right, "--text", text, "--id", "-")) == message


def test_match_with_a_colon_in_a_name(run: Commands, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"id": row["id"], "dc:title": row["text"], "x": "y"} for row in ROWS[:3]])
    assert len(run("match", path, path, "--text", "dc:title").out.splitlines()) == 9


# --- outputs that are inputs ---


def overwriting(corpus: Path, database: Path) -> list[list[object]]:
    """Commands whose output is their input."""
    resolving = ["resolve", corpus, "--field", "text"]
    return [
        *([command, corpus, "-o", corpus] for command in ("pairs", "clusters", "dedup", "sets", "vectors", "baskets")),
        ["match", corpus, corpus, "-o", corpus],
        ["dedup", corpus, "--removed", corpus],
        ["vectors", database, "--against", corpus, "-o", corpus],
        [*resolving, "-o", corpus],
        [*resolving, "--table", corpus],
        ["baskets", corpus, "--groups", 0.5, "--groups-out", corpus],
        ["baskets", database, "--by", "item", "--names", corpus, "-o", corpus],
        ["fingerprints", "pairs", corpus, "-o", corpus],
        ["fingerprints", "identify", database, corpus, "-o", database],
    ]


def test_an_input_is_not_overwritten(run: Commands, corpus: Path, tmp_path: Path) -> None:
    database = write(tmp_path / "vectors.csv", [{"a": 1, "b": 2}])
    before = {path: path.read_bytes() for path in (corpus, database)}
    for command in overwriting(corpus, database):
        outcome = run(*command)
        assert outcome.code == 2, command
        assert complaint(outcome).endswith(": is an input, which it would overwrite; name another file for the output.")
    assert before == {path: path.read_bytes() for path in before}


def test_an_input_is_known_by_any_name(
    run: Commands, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.jsonl").symlink_to(corpus)
    Path("folder").symlink_to(corpus.parent)
    others = ("in/corpus.jsonl", "in/../in/corpus.jsonl", "link.jsonl", "folder/corpus.jsonl")
    for name in others:
        for one, other in ((corpus, name), (name, corpus)):
            assert "is an input" in complaint(run("dedup", one, "-o", other))
        assert "is an input" in complaint(run("dedup", "in/*.jsonl", "-o", name))
    for folder in ("in", "folder", corpus.parent, "."):
        new = complaint(run("dedup", folder, "-o", "in/new.jsonl"))
        why = f"lies in the input {folder}, and would be read with it next time"
        assert new == f"in/new.jsonl: {why}; name a place outside of it."
    assert len(corpus.read_text().splitlines()) == len(ROWS)
    assert run("dedup", "in", "-o", "new.jsonl").code == 0


# --- help ---


def test_version(run: Commands) -> None:
    assert run("--version") == (0, f"lookalike {lookalike.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run: Commands, command: str) -> None:
    outcome = run(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Examples" in outcome.out
    assert f"lookalike {command}" in outcome.out.split("Examples")[1]


def test_help_names_every_command(run: Commands) -> None:
    for args, code in ((["--help"], 0), ([], 2)):
        outcome = run(*args)
        assert all(re.search(rf"\b{command}\b", outcome.out) for command in COMMANDS)
        assert (outcome.code, outcome.err) == (code, "")


def test_help_imports_nothing_heavy() -> None:
    script = """
import sys
sys.argv = ["lookalike", "pairs", "--help"]
from lookalike.cli import main
try:
    main()
finally:
    print([name for name in ("numba", "numpy", "pyarrow", "matplotlib") if name in sys.modules], file=sys.stderr)
"""
    assert spawn(script=script).communicate()[1].decode().split() == ["[]"]


# --- who says what where ---


@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_results_and_the_rest_go_apart(run: Commands, corpus: Path, out: Path, command: str) -> None:
    outcome = run(command, corpus)
    assert all(json.loads(line) for line in outcome.out.splitlines())
    starts = [line.split(":")[0] for line in outcome.err.splitlines() if not line.startswith("first run")]
    assert [start for start in starts if not start.startswith(" ")] == ["plan", "read", "found", "time"]
    to_file = run(command, corpus, "-o", out / "result.csv")
    assert to_file.out == ""
    assert to_file.err.startswith(("plan: ", "first run: "))
    quiet = run(command, corpus, "--quiet")
    assert (quiet.out, quiet.err) == (outcome.out, "")


def test_no_bars_without_a_terminal(corpus: Path, out: Path) -> None:
    process = spawn("pairs", corpus, "-o", out / "pairs.csv", script=SLOW.format(pause=0.05))
    said = process.communicate()[1].decode()
    assert process.returncode == 0
    assert "\x1b" not in said
    assert "\r" not in said
    assert "read and sketch" in said.splitlines()[-1]  # took long enough to have had a bar


def on_a_terminal(*args: object, script: str) -> str:
    """What a command writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    process = spawn(*args, script=script, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while some := os.read(ours, 1 << 16):
            said += some
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(ours)
    process.communicate()
    assert process.returncode == 0
    return said.decode()


def test_bars_on_a_terminal(corpus: Path, out: Path) -> None:
    said = on_a_terminal("pairs", corpus, "-o", out / "pairs.csv", script=SLOW.format(pause=0.05))
    assert re.search(r"read and sketch .*\d+/\d+", said)  # of lines of JSON the number is a guess
    assert "━" in said
    assert "found: 60 pairs" in said
    assert "next: the same with --report report.html shows what was found" in said
    quiet = on_a_terminal("pairs", corpus, "-q", "-o", out / "pairs.csv", script=SLOW.format(pause=0.05))
    assert quiet == ""


# --- the same bytes ---


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_files_do_not_depend_on_threads_or_batches(
    run: Commands, corpus: Path, out: Path, monkeypatch: pytest.MonkeyPatch, command: str, suffix: str
) -> None:
    results: set[tuple[bytes, ...]] = set()
    make: Callable[..., Source] = Source
    for threads, size in ((1, 2 << 20), (2, 2 << 20), (2, 2 << 20), (1, 20_000), (2, 9_000)):
        monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(make, batch_bytes=size))
        paths = [out / f"main{suffix}", *([out / f"removed{suffix}"] if command == "dedup" else [])]
        extra = ("--removed", paths[1]) if command == "dedup" else ()
        assert run(command, corpus, "-o", paths[0], *extra, "--threads", threads).code == 0
        results.add(tuple(path.read_bytes() for path in paths))
    assert len(results) == 1
    assert all(results.pop())


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("lookalike rep", ["report"]),
        ("lookalike pairs --thr", ["--threshold", "--threads"]),
        ("lookalike pairs --measure co", ["containment", "cosine"]),
        ("lookalike index bu", ["build"]),
        ("lookalike pairs corp", []),  # a file, which the shell itself knows
    ],
)
def test_shells_are_told_what_a_line_could_go_on_with(
    run: Commands, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_LOOKALIKE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert run().out.split() == offered


def test_bash_completes_lines() -> None:
    """By the script that is shown for it."""
    script = (
        'eval "$(lookalike --show-completion)"; COMP_WORDS=(lookalike clu); COMP_CWORD=1;'
        ' _lookalike_completion lookalike; echo "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env=environment() | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "clusters\n"


def test_a_text_among_files_is_said_to_be_lines(run: Commands, inputs: Path) -> None:
    folder = inputs / "essays"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"An essay of {name} line,\nand of another one.")
    (inputs / "new.txt").write_text("An essay of one line,\nand of another one.")
    lines = run("match", inputs / "new.txt", folder, "-t", "0.9")
    assert f"note: {inputs / 'new.txt'} is read as a document a line; --format files makes it one document" in lines.err
    assert lines.out == ""
    whole = run("match", inputs / "new.txt", folder, "-t", "0.9", "--format", "files")
    assert "note: " not in whole.err
    assert len(whole.out.splitlines()) == 1


def test_the_help_of_every_command_has_an_example() -> None:
    waiting: list[Any] = [program()]
    seen = 0
    while waiting:
        command = waiting.pop()
        assert "lookalike " in (command.epilog or ""), command.name
        waiting.extend(getattr(command, "commands", {}).values())
        seen += 1
    assert seen > 20


def test_views_of_strings_as_polars_writes_them(run: Commands, inputs: Path, out: Path) -> None:
    """Also within lists and records, in columns that are not compared."""
    kind = pa.struct([("word", pa.string_view())])
    table = pa.table(
        {
            "text": pa.array(["the same text of some length"] * 2 + ["another one"], pa.string_view()),
            "tags": pa.array([["a"], ["b"], ["c", "d"]], pa.list_(pa.string_view())),
            "more": pa.array([{"word": "x"}, {"word": "y"}, None], kind),
        }
    )
    with pa.OSFile(str(inputs / "views.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("kept.parquet", "kept.jsonl"):
        assert run("dedup", inputs / "views.arrow", "-o", out / name).code == 0
        assert [row["tags"] for row in read(out / name)] == [["a"], ["c", "d"]]
    assert run("dedup", inputs / "views.arrow", "-o", out / "kept.csv").code == 0
