"""Check the commands that run on Spark."""

import csv
import json

import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.cli.on_spark import use_few_partitions
from tests.commands import GUARD, spawn
from tests.engines import COLLECTIONS, Here, documents

pytestmark = pytest.mark.spark


@pytest.fixture
def files(inputs):
    """Write the same documents as files of three formats."""
    table = documents().select(["id", "text"])
    pq.write_table(documents(), inputs / "some.parquet")
    table.to_pandas().to_json(inputs / "some.jsonl", orient="records", lines=True)
    table.to_pandas().to_csv(inputs / "some.csv", index=False)
    return inputs


SPARK = ("--engine", "spark", "--master", "local[2]", "-t", "0.6", "-s", "word:2")


def test_pairs_by_command(there, run, files, out):
    ended = run("pairs", files / "some.parquet", *SPARK, "-o", out / "pairs.parquet")
    assert ended.code == 0
    lines = ended.err.splitlines()
    assert lines[0].startswith("plan: jaccard >= 0.6 of word:2, by ")
    found = pq.read_table(out / "pairs.parquet").to_pydict()
    expected = Here().pairs(documents(), **COLLECTIONS["documents"][1])
    assert {(a, b): s for a, b, s in zip(*found.values(), strict=True)} == expected
    assert lines[-2] == f"found: {len(expected):,} similar pairs, all verified"
    assert "read and sketch" in lines[-1]


def test_dedup_by_command(there, run, files, out):
    kept, removed = out / "clean.jsonl", out / "removed.csv"
    ended = run("dedup", files / "some.jsonl", *SPARK, "-o", kept, "--removed", removed, "--keep", "longest")
    assert ended.code == 0
    dropped = Here().dropped(documents(), keep="longest", **COLLECTIONS["documents"][1])
    rows = [row | {"id": int(row["id"]), "kept": int(row["kept"])} for row in csv_rows(removed)]
    assert sorted((row["id"], row["kept"]) for row in rows) == [(row["id"], row["kept"]) for row in dropped]
    rest = 1202 - len(dropped)
    assert sum(map(len, la.Source(kept).batches())) == rest
    assert f"found: {len(dropped):,} documents to remove, each similar to one of the {rest:,} kept" in ended.err
    assert run("dedup", kept, "-t", "0.6", "-s", "word:2", "-o", out / "again.jsonl").code == 0


def test_stats_and_rules_by_command(there, run, files, out):
    """Several columns decide, two of each group stay, and a file says what was done."""
    kept, removed = out / "clean.parquet", out / "removed.parquet"
    rules = ("--keep", "rank:min,longest", "--copies", "2")
    ended = run(
        "dedup", files / "some.parquet", *SPARK, *rules, "-o", kept, "--removed", removed, "--stats", out / "run.json"
    )
    assert ended.code == 0, ended.err
    here = la.dedup(documents(), keep="rank:min,longest", copies=2, method="lsh", **COLLECTIONS["documents"][1])
    assert sorted(pq.read_table(removed).to_pylist(), key=lambda row: row["id"]) == here.to_arrow().to_pylist()
    found = json.loads((out / "run.json").read_text())
    counts = found["counts"]
    assert counts["items"] == 1202
    assert counts["rows"] == len(here)
    assert 0 < counts["compared"] < 1202
    assert counts["candidates"] > 0
    assert {"read and sketch", "buckets", "verify"} <= set(found["seconds"])
    assert found["shuffled"]["read and sketch"] > 1202 * 16
    assert found["shuffled"]["verify"] > 0
    assert len(found["inputs"]) == 1
    assert len(found["outputs"]) > 2


def csv_rows(folder):
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            yield from csv.DictReader(file)


def test_clusters_by_command(there, run, files, out):
    assert run("clusters", files / "some.csv", *SPARK, "--on-error", "skip", "-o", out / "groups.parquet").code == 0
    found = pq.read_table(out / "groups.parquet").to_pylist()
    expected = Here().clusters(documents(), **COLLECTIONS["documents"][1])
    groups, wanted = ({}, {})
    for rows, into in ((found, groups), (expected, wanted)):
        for row in rows:
            into.setdefault(int(row["cluster"]), set()).add(int(row["id"]))
    assert {frozenset(group) for group in groups.values()} == {frozenset(group) for group in wanted.values()}


def test_csv_means_the_same_on_both_engines(there, run, inputs, out):
    """With a byte order mark, and separators used where numbers have decimal commas, one for each file."""
    for file, separator in enumerate((";", "\t", "|")):
        rows = [f'{file}{at}{separator}"one, two, three, four {at % 2}{separator} five"\r\n' for at in range(6)]
        text = f"\ufeffid{separator}text\r\n{''.join(rows)}"
        (inputs / f"{file}.csv").write_text(text, "utf-8", newline="")
    asked = ("pairs", *sorted(inputs.iterdir()), "-t", "0.9", "-s", "word:2")
    assert run(*asked, "-o", out / "here.csv").code == 0
    ended = run(*asked, "--engine", "spark", "--master", "local[2]", "-o", out / "there.csv")
    assert ended.code == 0, ended.err
    with (out / "here.csv").open(newline="") as file:
        here = sorted((row["left"], row["right"]) for row in csv.DictReader(file))
    assert sorted((row["left"], row["right"]) for row in csv_rows(out / "there.csv")) == here
    assert len(here) == 2 * 9 * 8 / 2


def test_cells_of_csv_are_unchanged(there, run, inputs, out):
    """Keep spaces at the ends, empty cells, and columns in a different order per file."""
    (inputs / "a.csv").write_text('id,text\n1,"  some words of a text "\n12,""\n20,"quite other words, "",here"\n')
    (inputs / "b.csv").write_text('text,id\n"quite other words, "",here",21\n')
    ended = run("dedup", inputs / "a.csv", inputs / "b.csv", "--engine", "spark", "-o", out / "clean.csv")
    assert ended.code == 0
    rows = {row["id"]: row["text"] for row in csv_rows(out / "clean.csv")}
    assert rows == {"1": "  some words of a text ", "12": "", "20": 'quite other words, ",here'}


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["-o", "pairs.txt"], 2, "the output must be a folder that ends in .parquet, .jsonl, .csv for --engine spark"),
        ([], 2, "the output must be a folder"),
        (["-o", "there.parquet"], 1, "there.parquet: already exists; Spark writes to a new folder, so name another"),
        (["-o", "new.parquet", "--memory", "2GB"], 2, "--memory cannot be used with --engine spark"),
        (["-o", "new.parquet", "--audit", "9"], 2, "--audit cannot be used with --engine spark"),
        (["-o", "new.csv", "--excel-safe"], 2, "--excel-safe cannot be used with --engine spark"),
        (["-o", "new.parquet", "--id", "-"], 2, "--id must name a column for --engine spark"),
        (
            ["-o", "new.parquet", "--format", "arrow"],
            2,
            "--format must be one of parquet, jsonl, csv, tsv; got 'arrow'.",
        ),
        (["-o", "new.parquet", "other.jsonl"], 2, "must have one format for --engine spark; got jsonl, parquet"),
        (
            ["-o", "new.parquet", "other.data"],
            2,
            "other.data: cannot infer the format from the name; set --format to parquet, jsonl, csv or tsv.",
        ),
        (["-o", "new.parquet", "--text", "words"], 1, "no column 'words' for the text"),
        (["-o", "new.parquet", "missing.parquet"], 1, "Spark: [PATH_NOT_FOUND]"),
        (
            ["-o", "new.parquet", "--max-pairs", "1"],
            1,
            "more than --max-pairs = 1: raise --max-pairs, or use `lookalike clusters` or",
        ),
    ],
)
def test_invalid_commands(there, run, files, monkeypatch, args, code, message):
    monkeypatch.chdir(files)
    (files / "there.parquet").mkdir()
    ended = run("pairs", files / "some.parquet", "--engine", "spark", *args)
    assert ended.code == code
    assert message in ended.err
    assert not (files / "new.parquet").exists()


def test_invalid_engines(run, files):
    assert (
        "lookalike: --engine must be one of local, spark; got 'sprak'. Did you mean 'spark'?"
        in run("pairs", files / "some.parquet", "--engine", "sprak").err
    )
    assert "--master is only for --engine spark" in run("pairs", files / "some.parquet", "--master", "local").err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-m", "containment"], "--measure must be 'jaccard' or 'bag' on Spark; got 'containment'."),
        (["--recall", "1"], "--recall must be below 1 on Spark."),
    ],
)
def test_settings_are_checked_before_spark_starts(run, files, out, monkeypatch, args, message):
    monkeypatch.setenv("JAVA_HOME", str(files))  # without Java, starting it would be another error
    for command in ("pairs", "clusters", "dedup"):
        ended = run(command, files / "some.parquet", *SPARK, "-o", out / "new.parquet", *args)
        assert (ended.code, ended.err) == (2, f"lookalike: {message}\n")


def test_spark_that_does_not_start(files, out, monkeypatch):
    """Without Java, one line says so."""
    monkeypatch.setenv("JAVA_HOME", str(files))
    process = spawn("pairs", files / "some.parquet", *SPARK, "-o", out / "pairs.parquet")
    _, said = process.communicate(timeout=GUARD)
    assert process.returncode == 2
    assert said.decode().startswith("lookalike: Spark does not start (it needs Java 17 or later): ")
    assert len(said.decode().splitlines()) == 1


def test_one_machine_shuffles_to_a_few_partitions_per_core(there, monkeypatch):
    """Each of Spark's 200 tasks costs more than a small collection does."""
    settings = there.session.conf
    before = settings.get("spark.sql.shuffle.partitions")
    monkeypatch.setattr("lookalike.cli.on_spark.PARTITIONS", "spark.sql.shuffle.partitions.unset")
    monkeypatch.setattr(type(settings), "set", lambda self, name, value: chosen.append((name, value)))
    chosen = []
    use_few_partitions(there.session)
    monkeypatch.undo()
    assert chosen == [("spark.sql.shuffle.partitions.unset", 4 * 2)]
    use_few_partitions(there.session)
    assert settings.get("spark.sql.shuffle.partitions") == before
