"""Check that a killed build goes on from what it had done, and that a failed one leaves nothing."""

import json
import os
import signal
from pathlib import Path

import pytest

from lookalike.core import workdir
from lookalike.core.errors import DataError, StoreError, UsageError
from lookalike.core.run import Run
from lookalike.index import Index, batches, building
from lookalike.io.documents import Source
from tests.commands import left_in, spawn
from tests.index_samples import state, texts_of

DOCUMENTS, BULK, PART = 1000, 250, 50
OPTIONS = {"threshold": 0.6, "shingles": "word:2", "seed": 1}
COMMAND = ("-t", "0.6", "-s", "word:2", "--seed", "1", "--threads", "2")
KILLED = """
import os, sys
from lookalike import cli
from lookalike.index import batches, building, kept, postings, runs, store, writing

def kill_at(owner, name, calls, after):
    work = getattr(owner, name)
    def counting(*given, **named):
        counting.calls += 1
        if counting.calls == calls and not after:
            os.kill(os.getpid(), 9)
        made = work(*given, **named)
        if counting.calls == calls:
            os.kill(os.getpid(), 9)
        return made
    counting.calls = 0
    setattr(owner, name, counting)

building.BULK, batches.BATCH, building.WRITTEN = {bulk}, {part}, 2000
building.COMMIT_SECONDS = 1e9
kill_at({place}, {calls}, {after})
sys.argv[0] = "lookalike"
cli.run(0.0)
"""
MOMENTS = {  # the function in whose call the process is killed, and how many items are there then
    "before anything": ("store.Store, '_environment'", 1, False, 0),
    "before the first items": ("writing.Writer, 'keep'", 1, False, 0),
    "among the first items": ("writing.Writer, 'keep'", 3, True, 0),
    "among items": ("writing.Writer, 'keep'", 8, True, 250),
    "before a run is saved": ("runs.Runs, 'add'", 5, False, 250),
    "after a run is saved": ("runs.Runs, 'add'", 5, True, 250),
    "before items are counted": ("writing.Writer, 'count'", 3, False, 500),
    "before the tables": ("postings.Postings, 'fold'", 1, False, 1000),
    "within a table": ("postings.Postings, '_append'", 300, True, 1000),
    "after the tables": ("building.Builder, 'finish'", 1, True, 1000),
    "before the index appears": ("building, 'appear'", 1, False, 1000),
}


@pytest.fixture
def corpus(inputs):
    lines = (json.dumps({"key": f"t{at}", "text": text}) + "\n" for at, text in enumerate(texts_of(DOCUMENTS)))
    (inputs / "a.jsonl").write_text("".join(lines))
    return inputs / "a.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("kept", [[], ["--store-text"]], ids=["hashes", "texts"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_build_goes_on(moment, kept, corpus, place, run, monkeypatch):
    where, calls, after, there = MOMENTS[moment]
    given = ("index", "build", place, corpus, "--id", "key", *COMMAND, *kept)
    script = KILLED.format(bulk=BULK, part=PART, place=where, calls=calls, after=after)
    with spawn(*given, script=script) as killed:
        _, said = killed.communicate()
    assert (killed.returncode, said) == (-signal.SIGKILL, b"")
    assert not place.exists()
    assert place.with_name("some.index.work").exists()

    encoded = 0
    monkeypatch.setattr(batches, "BATCH", PART)
    monkeypatch.setattr(building, "WRITTEN", 2000)
    encode = batches.ItemEncoder.encode

    def counting(encoder, task):
        nonlocal encoded
        encoded += len(task[1])
        return encode(encoder, task)

    monkeypatch.setattr(batches.ItemEncoder, "encode", counting)
    again = run(*given)
    assert again.code == 0, again.err
    assert encoded == DOCUMENTS - there
    assert (f"resuming: {there:,} items already in the index\n" in again.err) == (there > 0)
    assert left_in(place.parent) >= {place.name}
    assert not place.with_name("some.index.work").exists()

    source = Source(corpus, id="key")
    made = Index.build(place.with_name("whole"), source, store_text=bool(kept), **OPTIONS)
    with made as whole, Index.open(place) as index:
        assert index.verify() == DOCUMENTS
        found, expected = state(index), state(whole)
        assert found[2].pop("notes")
        expected[2].pop("notes")
        assert found == expected
        assert index.info()["bytes of text given"] == whole.info()["bytes of text given"]


def test_a_build_with_other_settings_does_not_go_on(corpus, place, tmp_path, monkeypatch):
    """Nor one with other files; the working folder stays as it was."""
    killed_once(corpus, place, tmp_path / "w", monkeypatch)
    with pytest.raises(DataError, match=r"w: holds a different run: threshold was 0.6 and is now 0.7; choose another"):
        Index.build(place, corpus, workdir=tmp_path / "w", **{**OPTIONS, "threshold": 0.7})
    before = corpus.read_bytes()
    corpus.write_bytes(before + before)
    with pytest.raises(DataError, match="w: holds a different run: input files differ: changed "):
        Index.build(place, corpus, workdir=tmp_path / "w", **OPTIONS)
    assert (tmp_path / "w" / "index").exists()


def test_a_build_from_bad_data_leaves_nothing(corpus, place, tmp_path, monkeypatch):
    """Also if good data came before it: to run it again would not help."""
    monkeypatch.setattr(building, "BULK", BULK)
    monkeypatch.setattr(batches, "BATCH", PART)
    with corpus.open("a") as file:
        file.write('{"key": "t7", "text": "another text"}\n')
    with pytest.raises(DataError, match="ids must be unique; 't7' occurs more than once"):
        Index.build(place, Source(corpus, id="key"), workdir=tmp_path / "w", **OPTIONS)
    assert not place.exists()
    assert not (tmp_path / "w").exists()


def test_a_build_on_a_full_disk_goes_on_later(corpus, place, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "BULK", BULK)
    monkeypatch.setattr(batches, "BATCH", PART)
    write, calls = os.fsync, 0

    def full(file):
        nonlocal calls
        calls += 1
        if calls == 20:
            raise OSError(28, os.strerror(28))
        write(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"w: cannot be written: No space left on device; the same command resumes"):
        Index.build(place, corpus, workdir=tmp_path / "w", **OPTIONS)
    heard = Heard()
    with Index.build(place, corpus, workdir=tmp_path / "w", run=heard, **OPTIONS) as index:
        assert index.verify() == DOCUMENTS
    assert heard.lines[0].startswith("resuming: ")
    assert not (tmp_path / "w").exists()


def test_a_build_from_memory_on_a_full_disk(place, tmp_path, monkeypatch):
    def full(file, array):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(workdir, "write_array", full)
    with pytest.raises(StoreError, match=r": cannot be written: No space left on device\.$"):
        Index.build(place, texts_of(50), **OPTIONS)
    assert left_in(tmp_path) == set()


def test_damaged_files_of_a_build(corpus, place, tmp_path, monkeypatch):
    killed_once(corpus, place, tmp_path / "w", monkeypatch)
    (tmp_path / "w" / "lookalike-run" / "buckets.0.0").write_bytes(b"")
    with pytest.raises(DataError, match=r"w: the files of the run are damaged; remove the folder\.$"):
        Index.build(place, corpus, workdir=tmp_path / "w", **OPTIONS)


def test_builds_that_cannot_go_on(corpus, place, tmp_path):
    asks = r"^workdir is for documents and ids that are read from files: pass a path, "
    for items, ids in ((["one text"], None), ([{1, 2}], None), (corpus, range(DOCUMENTS))):
        with pytest.raises(UsageError, match=asks):
            Index.build(place, items, ids, workdir=tmp_path / "w", **OPTIONS)
    assert left_in(tmp_path) == {"in"}


def test_another_disk(corpus, place):
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == place.parent.stat().st_dev:
        pytest.skip("needs another disk")
    folder = other / f"lookalike-test-{os.getpid()}"
    with pytest.raises(UsageError, match=rf"^workdir must be on the same disk as the index; got {folder}\.$"):
        Index.build(place, corpus, workdir=folder, **OPTIONS)
    assert not folder.exists()


def killed_once(corpus, place, folder, monkeypatch):
    """Build an index up to its tables."""

    class Killed(BaseException):
        pass

    def kill(builder):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(building.Builder, "finish", kill)
        with pytest.raises(Killed):
            Index.build(place, corpus, workdir=folder, **OPTIONS)


class Heard(Run):
    """A run that keeps what it says."""

    def __init__(self):
        super().__init__(2)
        self.lines = []

    def say(self, line):
        self.lines.append(line)
