"""Check --shard: processes that share a run write the same bytes as one, also if some of them are killed."""

import json
import random
import re
import signal
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from lookalike.core import shards
from lookalike.core.run import Run
from lookalike.core.shards import FOLDER, Shards
from lookalike.core.shared import SharedStorage
from lookalike.search import sharing
from tests.commands import GUARD, complaint, spawn
from tests.samples import texts_of

COUNT = 3000
SIMILAR = ("-t", "0.6", "-s", "word:2", "--method", "lsh")
# The command with many small pieces, for files that are small.
SMALL = "import lookalike.search.sharing as it; it.LEAST = {size}; from lookalike.cli import main; main()"


def table_of(ids=True):
    columns = {"id": [f"d{at}" for at in range(COUNT)]} if ids else {}
    texts = texts_of(COUNT)
    meta = [{"rank": at % 7, "more": "x" * (at % 90)} for at in range(COUNT)]
    return pa.table({**columns, "text": texts, "rank": range(COUNT), "meta": meta})


def put(folder, name, ids=True):
    """Write the documents to a file of this name."""
    table, path = table_of(ids), folder / name
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=170)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=170)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table.drop_columns(["meta"]), path)
    elif path.suffix == ".txt":
        path.write_text("".join(f"{text}\n" for text in table["text"].to_pylist()))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    return path


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(sharing, "LEAST", 60_000)
    monkeypatch.setattr(shards, "POLL", 0.02)
    monkeypatch.setattr(SharedStorage, "growing", None)  # each process would make all of such columns, in memory


def same(run, out, name, *command):
    """Check that one of two processes, which has to do all of the work, writes the same bytes as usual."""
    alone, shared = out / f"alone{name}", out / f"shared{name}"
    assert run(*command, "-o", alone).code == 0
    done = run(*command, "-o", shared, "--workdir", out / "w", "--shard", "1/2")
    assert done.code == 0, done.err
    assert alone.read_bytes() == shared.read_bytes()
    return done


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("a.parquet", ".parquet"),
        ("a.jsonl", ".jsonl.gz"),
        pytest.param("a.jsonl", ".parquet", marks=pytest.mark.slow),
        pytest.param("a.parquet", ".csv", marks=pytest.mark.slow),
        pytest.param("a.arrow", ".arrow", marks=pytest.mark.slow),
        pytest.param("a.csv", ".tsv.zst", marks=pytest.mark.slow),
        pytest.param("a.txt", ".jsonl", marks=pytest.mark.slow),
    ],
)
def test_formats(run, inputs, out, monkeypatch, read, written, ids):
    """Row groups are small, so that many of them begin in one piece and end in another."""
    monkeypatch.setattr("lookalike.io.write.GROUP_BYTES", 30_000)
    monkeypatch.setattr("lookalike.io.write.TEXT_BYTES", 30_000)
    path = put(inputs, read, ids)
    done = same(run, out, written, "dedup", path, *SIMILAR)
    assert re.search(r"found: 1,\d\d\d documents to remove", done.err)


def test_marks_removed_and_report(run, inputs, out):
    path = put(inputs, "a.parquet")
    command = ("dedup", path, *SIMILAR, "--mark", "--columns", "rank", "--keep", "rank:max")
    same(run, out, ".csv", *command, "--removed", out / "removed.csv", "--report", out / "page.html")
    assert len((out / "removed.csv").read_text().splitlines()) > 1000
    assert (out / "page.html").exists()


def test_pairs_and_clusters(run, inputs, out):
    path = put(inputs, "a.jsonl", ids=False)
    same(run, out, ".csv", "pairs", path, put(inputs, "b.jsonl", ids=False), *SIMILAR)
    for written, more in ((".csv", ()), (".parquet", ("--rows",))):
        (out / "w" / FOLDER / "about").unlink()
        (out / "w" / FOLDER / "finished.done").unlink()
        same(run, out, written, "clusters", path, *SIMILAR, *more)


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--weights", "idf"), ("--drop-common", "10%"), ("-m", "containment")])
def test_other_similarities(run, inputs, out, options):
    same(run, out, ".csv", "pairs", put(inputs, "a.parquet"), *SIMILAR, "--recall", "0.9", *options)


def test_columns_of_several_types(run, inputs, out):
    """Groups of rows then end where the type changes, so one process writes them all."""
    (inputs / "a.jsonl").write_text('{"text": "one two three", "x": 1}\n')
    (inputs / "b.jsonl").write_text('{"text": "four five six", "x": "y"}\n')
    same(run, out, ".csv", "dedup", inputs / "a.jsonl", inputs / "b.jsonl", *SIMILAR)


def test_nothing_to_find(run, inputs, out):
    (inputs / "a.jsonl").write_text("")
    same(run, out, ".jsonl", "dedup", inputs / "a.jsonl", *SIMILAR)


# --- what is wrong ---


def test_bad_rows(run, inputs, out, monkeypatch):
    """A bad row is named by its place in a piece; skipped ones are counted, and numbers go on after them."""
    monkeypatch.setattr("lookalike.io.documents.SMALL", 0)  # otherwise the sample for the plan is the whole file
    monkeypatch.setattr("lookalike.io.documents.SPOT_BYTES", 20_000)
    path = put(inputs, "a.jsonl", ids=False)
    lines = path.read_text().splitlines(keepends=True)
    lines[2000] = "{}\n"
    path.write_text("".join(lines))
    command = ("dedup", path, *SIMILAR)
    failed = run(*command, "-o", out / "c.jsonl", "--workdir", out / "v", "--shard", "0/1")
    assert re.search(r"a\.jsonl from byte [\d,]+, row \d+: text is null; use --on-error skip", complaint(failed))
    done = same(run, out, ".csv", *command, "--on-error", "skip")
    assert "1 skipped" in done.err
    path.write_text("{}\n" * 9)
    failed = run(*command, "-o", out / "c.jsonl", "--workdir", out / "u", "--shard", "0/1", "--on-error", "skip")
    assert "all 9 rows were left out" in complaint(failed)


def test_repeated_ids(run, inputs, out):
    (inputs / "a.jsonl").write_text('{"id": 1, "text": "one two"}\n' * 2)
    failed = run("dedup", inputs / "a.jsonl", "-o", out / "c.csv", "--workdir", out / "w", "--shard", "0/1")
    assert "ids must be unique; 1 occurs more than once" in complaint(failed)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--shard", "8/8", "--workdir", "w", "-o", "c.csv"), "--shard must be I/N with I below N; got '8/8'."),
        (("--shard", "0/8", "-o", "c.csv"), "--shard needs --workdir, a folder that all processes see."),
        (("--shard", "0/8", "--workdir", "w"), "--shard needs a file to write, such as --out clean.parquet; got '-'."),
        (("--shard", "0/8", "--workdir", "w", "-o", "c/"), "--shard needs a file to write"),
        (("--shard", "0/8", "--workdir", "w", "-o", "c.csv", "--within", "rank"), "--within cannot be used with --sh"),
        (("--shard", "0/8", "--workdir", "w", "-o", "c.csv", "--audit", "9"), "--audit cannot be used with --shard"),
        (("--shard", "0/8", "--unit", "line", "-o", "c.csv"), "--shard cannot be used with --unit."),
        (("--shard", "0/8", "--engine", "spark", "-o", "c.csv"), "--shard cannot be used with --engine spark."),
        (("--shard", "0/8", "--against", "x.index", "-o", "c.csv"), "--shard cannot be used with --against"),
    ],
)
def test_options_that_cannot_be(run, inputs, out, monkeypatch, options, line):
    monkeypatch.chdir(out)
    failed = run("dedup", put(inputs, "a.jsonl"), *options)
    assert complaint(failed).startswith(line)
    assert failed.code == 2
    assert list(out.iterdir()) == []


def test_processes_that_differ(run, inputs, out):
    path = put(inputs, "a.jsonl")
    command = ("dedup", path, *SIMILAR, "-o", out / "c.jsonl", "--workdir", out / "w")
    assert run(*command, "--shard", "0/2").code == 0
    again = run(*command, "--shard", "1/2")
    assert again.code == 0
    assert again.err == f"done: {out / 'c.jsonl'} was written before; to run again, remove {out / 'w' / FOLDER}\n"
    for changed, line in (
        (("--shard", "0/3"), "shards was 2 and is now 3"),
        (("--shard", "1/2", "-t", "0.7"), "threshold was 3/5 and is now 7/10"),
        (("--shard", "1/2", "--copies", "2"), "copies was 1 and is now 2"),
        (("--shard", "1/2", "-o", out / "d.jsonl"), f"out was {out / 'c.jsonl'} and is now {out / 'd.jsonl'}"),
    ):
        assert f"holds a different run: {line}; choose another --workdir" in complaint(run(*command, *changed))
    (out / "c.jsonl").unlink()
    gone = run(*command, "--shard", "1/2")
    assert gone.code == 1
    assert complaint(gone) == (
        f"{out / 'c.jsonl'}: was written before, but is gone; to run again, remove {out / 'w' / FOLDER}."
    )


def test_stats_of_a_process(run, inputs, out):
    path, stats = put(inputs, "a.jsonl"), out / "run.json"
    command = ("dedup", path, *SIMILAR, "-o", out / "c.jsonl", "--workdir", out / "w", "--stats", stats)
    for shard, status in (("0/2", "done"), ("1/2", "shared")):
        assert run(*command, "--shard", shard).code == 0
        assert json.loads(stats.read_text())["status"] == status


def test_an_interrupted_process_says_how_to_go_on(run, inputs, out, monkeypatch):
    command = (
        "dedup",
        put(inputs, "a.jsonl"),
        *SIMILAR,
        "-o",
        out / "c.jsonl",
        "--workdir",
        out / "w",
        "--shard",
        "0/2",
    )
    publish, done = Shards.publish, []

    def interrupted(self, task, *rest, **facts):
        if len(done) == 9:
            raise KeyboardInterrupt
        done.append(task)
        publish(self, task, *rest, **facts)

    with monkeypatch.context() as patched:
        patched.setattr(Shards, "publish", interrupted)
        stopped = run(*command)
    assert stopped.code == 130
    assert f"run the same command again to go on with the work in {out / 'w'}\n" in stopped.err
    assert not {*done} - {path.stem for path in (out / "w" / FOLDER).glob("*.done")}
    assert run(*command).code == 0


def test_a_dry_run_leaves_nothing(run, inputs, out):
    command = (
        "dedup",
        put(inputs, "a.jsonl"),
        *SIMILAR,
        "-o",
        out / "c.jsonl",
        "--workdir",
        out / "w",
        "--shard",
        "0/2",
    )
    for counting in ((), ("--weights", "idf")):
        assert "dry run: nothing was searched or written" in run(*command, *counting, "--dry-run").err
        assert list(out.iterdir()) == []


def test_a_dry_run_does_not_disturb_a_process_of_the_same_number(run, inputs, out):
    command = ("dedup", put(inputs, "a.jsonl"), "-o", out / "c.jsonl", "--workdir", out / "w", "--shard", "0/2")
    with Shards(out / "w", shards.Shard(0, 2), Run(1)) as running:
        sign = (running.path / "shard-0").read_text()
        assert run(*command, "--dry-run").code == 0
        assert (running.path / "shard-0").read_text() == sign


# --- real processes ---


@pytest.mark.slow
@pytest.mark.parametrize("kills", [0, 3])
def test_processes_that_are_killed(run, inputs, out, kills):
    """Start four processes, kill some of them at random moments and start those again."""
    path = put(inputs, "a.jsonl")
    command = ("dedup", path, *SIMILAR, "--removed")
    assert run(*command, out / "alone.csv", "-o", out / "alone.parquet").code == 0
    draw, errors = random.Random(3), out / "errors"

    def start(index):
        shared = ("--workdir", out / "w", "--shard", f"{index}/4", "--threads", "1")
        with errors.open("ab") as said:
            rest = (out / "shared.csv", "-o", out / "shared.parquet", *shared)
            return spawn(*command, *rest, script=SMALL.format(size=20_000), stdout=said, stderr=said)

    running = {index: start(index) for index in range(4)}
    for _ in range(kills):
        time.sleep(draw.uniform(0.5, 2))
        index = draw.randrange(4)
        running[index].send_signal(signal.SIGKILL)
        running[index].wait(GUARD)
        running[index] = start(index)
    codes = [process.wait(GUARD) for process in running.values()]
    assert codes == [0] * 4, errors.read_text()
    for name in ("csv", "parquet"):
        assert (out / f"alone.{name}").read_bytes() == (out / f"shared.{name}").read_bytes()
    said = errors.read_text()
    assert said.count("found: ") <= 1
    assert sorted(one.name for one in (out / "w" / FOLDER).iterdir()) == ["about", "finished.done"]
