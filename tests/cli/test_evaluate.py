"""Check `lookalike evaluate` on files that other commands have written."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lookalike as la
from tests.cli.corpus import ROWS
from tests.commands import complaint, left_in
from tests.samples import write

EXAMPLES = Path(__file__).parents[2] / "examples" / "customers"
COMMON = ("--threshold", 0.3, "--shingle", "word:1", "--recall", 1, "-q")


@pytest.fixture
def truth(inputs):
    ids = [row["id"] for row in ROWS]
    (inputs / "truth.csv").write_text(f"a,b\n{ids[0]},{ids[1]}\n")
    return inputs / "truth.csv"


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv", "tsv", "csv.gz"])
@pytest.mark.parametrize("job", ["pairs", "clusters"])
def test_any_format(run, corpus, out, truth, job, suffix):
    """The scores are those of the same result in memory."""
    path = out / f"r.{suffix}"
    assert run(job, corpus, *COMMON, "-o", path).code == 0
    done = run("evaluate", path, "--truth", truth, "--truth-kind", "pairs")
    assert (done.code, done.err) == (0, "")
    find = {"pairs": la.find_pairs, "clusters": la.find_clusters}[job]
    expected = la.evaluate(find(corpus, threshold=0.3, shingles="word:1", recall=1), truth, truth_kind="pairs")
    scores = [line for line in expected.lines() if not line.startswith("note: ids")]
    assert [line for line in done.out.splitlines() if line in scores][:4] == scores[:4]


def test_written_files(run, out, inputs):
    rows = [{"left": at, "right": at + 100, "probability": 0.9 if at % 5 else 0.25} for at in range(50)]
    matches = write(inputs / "matches.jsonl", rows)
    known = write(inputs / "known.jsonl", [{"left": row["left"], "right": row["right"]} for row in rows[:40]])
    names = ("curve.parquet", "calibration.csv", "both.svg")
    files = [
        part
        for name, file in zip(("table", "calibration", "plot"), names, strict=True)
        for part in (f"--{name}", out / file)
    ]
    done = run("evaluate", matches, "--truth", known, *files)
    assert done.code == 0, done.err
    found = la.evaluate(matches, known)
    curve = pq.read_table(out / "curve.parquet")
    assert curve.replace_schema_metadata().equals(found.curve())
    assert curve["precision"].to_pylist() == [32 / 40, 40 / 50]
    assert (out / "calibration.csv").read_text().splitlines()[1].startswith("0.2,0.3,10,8,0.25,0.8,")
    drawn = (out / "both.svg").read_text()
    assert "share of true pairs" in drawn
    assert "minimum probability" in drawn
    assert "stated: 38.5 of the pairs are true, by their probabilities; actual: 40 (3.8% more than stated)" in done.out
    assert "0.8 to 0.9     40  0.9000  0.8000  0.6524 to 0.8950" in done.out
    only = run("evaluate", matches, "--truth", known, "--threshold", 0.5)
    assert only.out.startswith("result: 40 pairs with probability >= 0.5; truth: 40 pairs; in both: 32\n")


def test_a_file_of_matches_says_that_there_are_two_tables(run, inputs, out):
    """Equal ids on the two sides belong to different records, also if no pair shows it."""
    rows = [{"id": at, "name": name} for at, name in enumerate(("Ann Lee", "Bob Stone", "Cy Young"))]
    left = write(inputs / "a.jsonl", rows)
    right = write(inputs / "b.jsonl", [{**row, "id": (row["id"] + 1) % 3} for row in rows])
    for job in (
        ("resolve", left, right, "-f", "name", "--all"),
        ("match", left, right, "--text", "name", "-t", 0.9, "-s", "char:2"),
    ):
        assert run(*job, "-q", "-o", out / "m.parquet").code == 0
        (out / "truth.csv").write_text("left,right\n0,1\n1,0\n")
        assert "truth: 2 pairs; in both: 1\n" in run("evaluate", out / "m.parquet", "--truth", out / "truth.csv").out


def test_a_file_of_all_scored_pairs(run, out):
    """A hint says how to count only those that are matches."""
    shop, news = EXAMPLES / "shop.csv", EXAMPLES / "newsletter.csv"
    fields = ("-f", "name:full_name", "-f", "street:address", "-f", "phone:telephone")
    for more, name in (((), "matches.parquet"), (("--all",), "all.parquet")):
        assert run("resolve", shop, news, *fields, *more, "-q", "-o", out / name).code == 0
    known = ("--truth", EXAMPLES / "same-people.csv")
    matches, scored = (run("evaluate", out / name, *known).out for name in ("matches.parquet", "all.parquet"))
    cut = re.search(r"use --threshold (\S+) to leave them out", scored)
    assert "cut-off" not in matches
    kept = run("evaluate", out / "all.parquet", *known, "--threshold", cut[1]).out
    assert kept.splitlines()[1:4] == matches.splitlines()[1:4] != scored.splitlines()[1:4]


def test_an_empty_result(run, inputs, out, truth):
    (inputs / "none.jsonl").write_text("")
    done = run("evaluate", inputs / "none.jsonl", "--truth", truth)
    assert done.out.startswith("result: 0 pairs; truth: 1 pair; in both: 0\n")


def test_errors(run, inputs, out, truth):
    pairs = write(inputs / "pairs.jsonl", [{"left": "a", "right": "b"}])
    assert complaint(run("evaluate", pairs, "--truth", out / "no.csv")).endswith("no.csv: no such file or folder.")
    said = complaint(run("evaluate", pairs, "--truth", truth, "--truth-columns", "a,c"))
    assert said == "the truth has no column 'c'; it has a, b."
    said = complaint(run("evaluate", pairs, "--truth", truth, "--truth-kind", "cluster"))
    assert said == "--truth-kind must be one of pairs, clusters; got 'cluster'. Did you mean 'clusters'?"
    assert "--threshold is for pairs with a column of values" in complaint(
        run("evaluate", pairs, "--truth", truth, "-t", 0.5)
    )
    for option, file in (("--table", "t.csv"), ("--plot", "p.svg"), ("--calibration", "c.csv")):
        said = complaint(run("evaluate", pairs, "--truth", truth, option, out / file))
        assert said.startswith(f"{option} needs pairs with ")
    assert "must end in" in complaint(run("evaluate", pairs, "--truth", truth, "--plot", out / "p.gif"))
    said = complaint(run("evaluate", pairs, "--truth", truth, "--table", out / "t.csv", "--calibration", out / "t.csv"))
    assert said == "--table, --calibration and --plot must be different files."
    assert "would be overwritten" in complaint(run("evaluate", pairs, "--truth", truth, "--table", truth))
    assert left_in(out) == set()
    assert json.loads(pairs.read_text()) == {"left": "a", "right": "b"}
