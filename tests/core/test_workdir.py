"""Check runs larger than memory: files give the same results, and interrupted runs resume."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike import cli
from lookalike.core import workdir
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.core.storage import Storage
from lookalike.core.workdir import FolderStorage, parse_memory
from lookalike.search import intake
from tests.commands import environment
from tests.samples import texts_of


@pytest.fixture
def corpus(inputs):
    """A file of documents with ids."""
    path = inputs / "corpus.parquet"
    texts = texts_of(3000)
    table = pa.table({"id": [f"d{at}" for at in range(3000)], "text": texts, "rank": list(range(3000))})
    pq.write_table(table, path, row_group_size=500)
    return path


OPTIONS = {"threshold": 0.6, "shingles": "word:2", "method": "lsh"}


def test_pairs_clusters_and_stars_are_the_same(corpus, tmp_path):
    here = la.find_pairs(corpus, **OPTIONS)
    there = la.find_pairs(corpus, workdir=tmp_path / "a", memory="100MB", **OPTIONS)
    assert len(here) > 500
    assert here.to_arrow().equals(there.to_arrow())
    assert here.explain(3) == there.explain(3)
    assert (
        la.find_clusters(corpus, **OPTIONS)
        .to_arrow()
        .equals(la.find_clusters(corpus, workdir=tmp_path / "b", **OPTIONS).to_arrow())
    )
    for keep in ("first", "longest", list(range(3000))):
        one = la.dedup(corpus, keep=keep, **OPTIONS)
        other = la.dedup(corpus, keep=keep, memory="150 MB", **OPTIONS)
        assert one.to_arrow().equals(other.to_arrow())
        assert len(one.to_arrow()) > 500


def test_an_audit_reads_the_texts_again(corpus):
    here, there = (la.find_pairs(corpus, audit=200, **OPTIONS, **more) for more in ({}, {"memory": "1GB"}))
    assert here.audit == there.audit
    assert there.audit.true > 50


@pytest.mark.slow
@pytest.mark.parametrize("shingles", ["char:5", "stop:2"])
@pytest.mark.parametrize("measure", ["jaccard", "bag"])
def test_other_shingles(corpus, shingles, measure):
    options = {"threshold": 0.5, "method": "lsh", "shingles": shingles, "measure": measure}
    here, there = (la.find_pairs(corpus, **options, **more).to_arrow() for more in ({}, {"memory": "1GB"}))
    assert here.equals(there)


def test_nothing_to_find(inputs, tmp_path):
    (inputs / "none.jsonl").write_text("")
    (inputs / "some.jsonl").write_text('{"text": ""}\n{"text": "one two three"}\n')
    for name, items in (("none", 0), ("some", 2)):
        found = la.dedup(inputs / f"{name}.jsonl", workdir=tmp_path / name)
        assert (len(found.ids), found.stats["dropped"]) == (items, 0)


# --- interrupted runs ---


class Cut(Exception):
    """Stands for whatever ends a run."""


def counting(monkeypatch, at):
    """Interrupt the run once it has recorded its state `at` times; return the names it recorded."""
    noted = []
    note = FolderStorage.note

    def cut(self, kind, name, what):
        if len(noted) == at:
            raise Cut
        note(self, kind, name, what)
        noted.append(name)

    monkeypatch.setattr(FolderStorage, "note", cut)
    return noted


def match_with_itself(corpus, **options):
    """Match two collections, which are the same file."""
    return la.find_matches(corpus, corpus, **options)


@pytest.mark.slow
@pytest.mark.parametrize("find", [la.find_pairs, match_with_itself, la.find_clusters, la.dedup])
def test_a_run_resumes_from_every_point(corpus, tmp_path, monkeypatch, find):
    """Interrupt it before each record in turn and start again: nothing recorded is made twice."""
    monkeypatch.setattr(workdir, "COMMIT_BYTES", 1000)
    monkeypatch.setattr(workdir, "COMMIT_SECONDS", float("inf"))  # a slow machine would record more often
    expected = find(corpus, **OPTIONS).to_arrow()
    with monkeypatch.context() as patched:
        all_notes = counting(patched, -1)
        find(corpus, workdir=tmp_path / "whole", threads=1, **OPTIONS)
    assert len(all_notes) > 10
    seen = []
    for _ in all_notes[1:]:
        with monkeypatch.context() as patched:
            noted = counting(patched, 1)
            with pytest.raises(Cut):
                find(corpus, workdir=tmp_path / "cut", threads=1, **OPTIONS)
        seen += noted
    assert seen == all_notes[:-1]
    assert find(corpus, workdir=tmp_path / "cut", **OPTIONS).to_arrow().equals(expected)


def test_unrecorded_writes_are_dropped(corpus, tmp_path, monkeypatch):
    """As when a run is killed between writing to its files and recording it."""
    with monkeypatch.context() as patched:
        counting(patched, 0)
        patched.setattr(workdir, "COMMIT_BYTES", 0)
        with pytest.raises(Cut):
            la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)
    for file in (tmp_path / "w" / workdir.RUN).iterdir():
        if file.name.startswith("documents."):
            with file.open("ab") as end:
                end.write(b"half a line")
    assert la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS).to_arrow().equals(la.dedup(corpus, **OPTIONS).to_arrow())


def noted_in(folder):
    """Return what the run that works next to an output has recorded, if there is one."""
    with suppress(FileNotFoundError):
        return [path.read_bytes() for path in folder.glob(f"*/{workdir.RUN}/{workdir.MANIFEST}")]
    return []


def await_notes(process, folder, count):
    """Wait until a command has recorded its state `count` times, or has ended."""
    last = noted_in(folder)
    while count and process.poll() is None:
        time.sleep(0.001)
        if (now := noted_in(folder)) != last:
            last, count = now, count - 1


@pytest.mark.slow
def test_a_killed_command_is_resumed(inputs, out):
    """Send SIGKILL at random moments; the final output equals that of an undisturbed run.

    The folder of the run is gone.
    """
    texts = texts_of(60_000, seed=5)
    lines = (json.dumps({"id": f"d{at}", "text": text, "more": at}) + "\n" for at, text in enumerate(texts))
    (inputs / "a.jsonl").write_text("".join(lines))
    command = [sys.executable, "-m", "lookalike", "dedup", inputs / "a.jsonl", "-t", "0.6", "-s", "char:9", "-q"]
    subprocess.run([*command, "--memory", "1GB", "-o", out / "whole.jsonl"], check=True, env=environment())
    draw, killed, tried = random.Random(7), 0, 0
    while killed < 6:  # some runs finish before the signal, as they have little left to do
        process = subprocess.Popen([*command, "--memory", "1GB", "-o", out / "cut.jsonl"], env=environment())
        await_notes(process, out, draw.randint(1, 4))
        time.sleep(draw.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        tried += 1
        assert tried < 40
    subprocess.run([*command, "--memory", "1GB", "-o", out / "cut.jsonl"], check=True, env=environment())
    assert (out / "cut.jsonl").read_bytes() == (out / "whole.jsonl").read_bytes()
    assert {path.name for path in out.iterdir()} == {"cut.jsonl", "whole.jsonl"}


# --- folders that are rejected ---


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"threshold": 0.7}, "threshold was 3/5 and is now 7/10"),
        ({"shingles": "word:3"}, "shingles was word:2 and is now word:3"),
        ({"seed": 2}, "seed was 1 and is now 2"),
        ({"recall": 0.9}, "recall was 0.99 and is now 0.9"),
        ({"keep": "longest"}, "keep was lowest-id and is now longest"),
    ],
)
def test_another_run_in_the_folder(corpus, tmp_path, changed, line):
    la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)
    with pytest.raises(
        DataError, match=rf"holds a different run: {line}; choose another workdir, or remove the folder\.$"
    ):
        la.dedup(corpus, workdir=tmp_path / "w", **{**OPTIONS, **changed})


def test_a_changed_input(corpus, tmp_path):
    la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)
    os.utime(corpus, ns=(1, 1))
    with pytest.raises(
        DataError, match=r"different run: input files differ: changed \S+corpus\.parquet; choose another"
    ):
        la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)


def test_files_added_and_removed(tmp_path):
    """The message names them: the files that are still there have not changed."""
    shards = [tmp_path / f"{name}.jsonl" for name in "abcd"]
    for shard in shards:
        shard.write_text(json.dumps({"id": shard.stem, "text": f"one two three {shard.stem}"}) + "\n")
    la.dedup(shards[:2], workdir=tmp_path / "w", **OPTIONS)
    for files, line in (
        (shards, r"added \S+c\.jsonl and 1 more"),
        (shards[:1], r"removed \S+b\.jsonl"),
        (shards[1:3], r"added \S+c\.jsonl, removed \S+a\.jsonl"),
        (shards[1::-1], "their order has changed"),
    ):
        with pytest.raises(DataError, match=rf"holds a different run: input files differ: {line}; choose another"):
            la.dedup(files, workdir=tmp_path / "w", **OPTIONS)


def test_the_same_options_written_differently(corpus, tmp_path, monkeypatch):
    """Nothing is made again."""
    made = la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)
    monkeypatch.chdir(corpus.parent)
    noted = counting(monkeypatch, 0)
    again = la.dedup(corpus.name, workdir=tmp_path / "w", **{**OPTIONS, "threshold": "3/5"})
    assert noted == []
    assert again.to_arrow().equals(made.to_arrow())


def test_a_run_that_cannot_be_resumed_leaves_nothing(inputs, tmp_path):
    (inputs / "twice.jsonl").write_text('{"id": 1, "text": "one two"}\n' * 2)
    for options, match in (({}, "ids must be unique; 1 occurs more"), ({"threshold": 7}, "threshold must be in")):
        with pytest.raises((DataError, UsageError), match=match):
            la.dedup(inputs / "twice.jsonl", workdir=tmp_path / "w", **options)
        assert not (tmp_path / "w").exists()


def test_an_interrupted_command_says_how_to_resume(run, corpus, out, monkeypatch):
    command = ("dedup", corpus, "-t", "0.6", "-s", "word:2", "--workdir", out / "w", "-o", out / "c.jsonl")
    with monkeypatch.context() as patched:
        noted = counting(patched, 3)

        def interrupted(self, kind, name, what, note=FolderStorage.note):
            try:
                note(self, kind, name, what)
            except Cut:
                raise KeyboardInterrupt from None

        patched.setattr(FolderStorage, "note", interrupted)
        stopped = run(*command, "--threads", "1")
    assert (stopped.code, len(noted)) == (130, 3)
    assert stopped.err.splitlines()[-2:] == [
        f"run the same command again to resume from {out / 'w'}",
        "lookalike: interrupted; no incomplete file was left.",
    ]
    assert run(*command).code == 0
    assert [path.name for path in out.iterdir()] == ["c.jsonl"]


@pytest.mark.parametrize("removed", [1, 2, 5])
def test_a_removal_that_is_interrupted(run, corpus, out, monkeypatch, removed):
    """A command killed while it removes its files has left no work that claims to be whole."""
    command = ("dedup", corpus, "-t", "0.6", "-s", "word:2", "--workdir", out / "w", "-o", out / "c.jsonl")
    unlink, names = os.unlink, []

    def killed(path, **options):
        if "dir_fd" not in options:
            return unlink(path, **options)
        if len(names) == removed:
            raise Cut
        names.append(path)
        return unlink(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", killed)
        patched.setattr("sys.argv", ["lookalike", *map(str, command)])
        with pytest.raises(Cut):
            cli.run(time.perf_counter())
    assert names[0] == workdir.MANIFEST
    before = (out / "c.jsonl").read_bytes()
    assert len(list((out / "w" / workdir.RUN).iterdir())) > 5
    assert run(*command).code == 0
    assert [path.name for path in out.iterdir()] == ["c.jsonl"]
    assert (out / "c.jsonl").read_bytes() == before


def test_a_folder_with_other_files(run, corpus, out):
    """They are left alone, even if one of them is the output itself."""
    (out / "letter.txt").write_text("dear")
    command = ("dedup", corpus, "-t", "0.6", "-s", "word:2", "--workdir", out, "-o", out / "c.jsonl")
    assert run(*command, "--removed", out / "r.csv").code == 0
    assert sorted(path.name for path in out.iterdir()) == ["c.jsonl", "letter.txt", "r.csv"]


def damage(folder, how):
    files = {path.name: path for path in folder.iterdir()}
    if how == "manifest":
        files["manifest.json"].write_text("[]")
    elif how == "about":
        files["about.json"].write_text("{")
    else:
        files[how].write_bytes(files[how].read_bytes()[:8])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["manifest", "about", "buckets0.1", "stars.0", "documents.keys0", "candidates.sizes"])
def test_a_damaged_folder(corpus, tmp_path, how):
    la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)
    damage(tmp_path / "w" / workdir.RUN, how)
    with pytest.raises(DataError, match=r"the files of the run are damaged; remove the folder\.$"):
        la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)


def test_a_column_that_is_too_short(corpus, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(workdir, "COMMIT_BYTES", 0)
        counting(patched, 1)
        with pytest.raises(Cut):
            la.dedup(corpus, workdir=tmp_path / "w", threads=1, **OPTIONS)
    damage(tmp_path / "w" / workdir.RUN, "documents.keys0")
    with pytest.raises(DataError, match="are damaged"):
        la.dedup(corpus, workdir=tmp_path / "w", **OPTIONS)


def test_folders_that_cannot_be_used(corpus, tmp_path):
    la.dedup(corpus, workdir=tmp_path / "old", **OPTIONS)
    (tmp_path / "old" / workdir.RUN / "about.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match="was written by another version of lookalike; remove its folder lookalike-run"):
        la.dedup(corpus, workdir=tmp_path / "old")
    with pytest.raises(DataError, match="cannot be used as the folder of a run: "):
        la.dedup(corpus, workdir=corpus)
    using = r"another run is using it; choose another workdir\.$"
    with closing(FolderStorage(tmp_path / "held", {}, 10**9)), pytest.raises(DataError, match=using):
        FolderStorage(tmp_path / "held", {}, 10**9)


@pytest.mark.slow
def test_a_full_disk(inputs, tmp_path):
    """Simulated by a limit on file sizes: the error says so; with more space the run resumes."""
    lines = (json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts_of(20_000)))
    (inputs / "a.jsonl").write_text("".join(lines))
    command = [sys.executable, "-m", "lookalike", "dedup", inputs / "a.jsonl", "-t", "0.6", "-s", "word:2", "-q"]
    command += ["--memory", "1GB", "--workdir", tmp_path / "w", "-o", tmp_path / "c.jsonl"]

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    failed = subprocess.run(command, preexec_fn=small, capture_output=True, text=True, env=environment(), check=False)
    assert failed.returncode == 1
    assert re.search(
        r"w: cannot be written: File too large; the same command resumes from the files there\.$", failed.stderr
    )
    subprocess.run(command, check=True, env=environment())
    kept = la.dedup(inputs / "a.jsonl", **OPTIONS).kept.to_pylist()
    assert [json.loads(line)["id"] for line in (tmp_path / "c.jsonl").read_text().splitlines()] == kept


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"measure": "edit", "threshold": 2}, "measure='edit'"),
        ({"method": "exact"}, "method='exact'"),
        ({"recall": 1.0}, "recall=1.0"),
        ({"measure": "cosine"}, "measure='cosine'"),
    ],
)
def test_methods_that_need_memory(corpus, options, got):
    with pytest.raises(
        UsageError, match=f"support only Jaccard similarity, containment and a recall below 1; got {got}"
    ):
        la.find_pairs(corpus, memory="1GB", **options)


def test_items_that_are_in_memory_already():
    for items in (["one two", "three"], [{"a"}, {"b"}], pa.table({"text": ["a"]})):
        with pytest.raises(UsageError, match=r" support only texts that are read from files: pass a path, a "):
            la.find_pairs(items, memory="1GB")


def test_two_collections_must_both_be_in_files(corpus):
    for sides in ((corpus, ["a b"]), (["a b"], corpus)):
        with pytest.raises(UsageError, match="support only texts that are read from files"):
            la.find_matches(*sides, memory="1GB")


@pytest.mark.parametrize(
    ("given", "size"),
    [("2GB", 2 * 10**9), ("1.5 gb", 15 * 10**8), ("500MB", 5 * 10**8), (10**9, 10**9), ("200000KB", 2 * 10**8)],
)
def test_sizes(given, size):
    assert parse_memory(given) == size


@pytest.mark.parametrize("given", ["", "much", "2XB", "1MB", -1, "nan GB", "inf", True, "GB", [1], b"2GB"])
def test_invalid_sizes(given):
    with pytest.raises(UsageError, match=r"^memory must be a size of at least 100MB, such as 2GB; got "):
        parse_memory(given)


def test_the_command(run, corpus, out):
    made = run("dedup", corpus, "-t", "0.6", "-s", "word:2", "--memory", "1GB", "-o", out / "clean.parquet")
    assert made.code == 0, made.err
    assert [path.name for path in out.iterdir()] == ["clean.parquet"]
    kept = la.dedup(corpus, **OPTIONS).kept
    assert pq.read_table(out / "clean.parquet")["id"].to_pylist() == kept.to_pylist()
    assert run("pairs", corpus, "--memory", "1GB").err.splitlines()[-1] == (
        "lookalike: --memory needs a folder for temporary files: set --workdir, or write to a file with --out."
    )
    assert run("pairs", corpus, "--memory", "lots", "-o", out / "p.csv").code == 2
    assert run("clusters", "-", "--memory", "1GB", "-o", out / "c.csv", stdin=b"a b c\n").code == 2


def test_a_resumed_run_says_so(corpus, tmp_path, monkeypatch):
    said = []
    with monkeypatch.context() as patched:
        patched.setattr(workdir, "COMMIT_BYTES", 1000)
        counting(patched, 1)
        with pytest.raises(Cut):
            la.dedup(corpus, workdir=tmp_path / "w", threads=1, **OPTIONS)
    run = Run(1)
    run.say = said.append
    la.dedup(corpus, workdir=tmp_path / "w", run=run, **OPTIONS)
    assert any(line.startswith("resuming: ") and line.endswith(" documents already read") for line in said)


def test_more_documents_than_fit_in_memory(corpus, monkeypatch):
    said = []
    run = Run(1)
    run.say = said.append
    monkeypatch.setattr(intake, "PER_ITEM", 100_000)
    la.dedup(corpus, memory="200MB", run=run, **OPTIONS)
    needed = "documents need 100000 bytes of memory each, 0.3 GB in all, which is more than the limit"
    assert f"note: about 3,000 {needed}" in said


def test_in_memory_nothing_is_written(tmp_path):
    plain = Storage()
    assert plain.made("x", lambda: (np.arange(3),))[0].tolist() == [0, 1, 2]
    assert list(Path(tmp_path).iterdir()) == []
