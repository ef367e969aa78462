"""Test that outputs appear in a store whole or not at all."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFile

from lookalike.core.errors import DataError, UsageError
from lookalike.io import uploads
from lookalike.io.asking import Unreachable
from lookalike.io.write import check_place, replacing, write_tables
from tests.failing import fails
from tests.stores import stores

TEXTS = ["one two three four five six", "one two three four five six seven", "something else entirely here"] * 5
TABLE = pa.table({"id": range(15), "text": [f"{text} {at // 3}" for at, text in enumerate(TEXTS)]})


@pytest.fixture
def store(monkeypatch):
    with stores(monkeypatch) as opened:
        opened.save("bucket/in/a.parquet", b"")
        yield opened


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.csv.gz", "a.tsv.zst"])
@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "hf"])
def test_outputs_have_the_bytes_of_local_ones(store, tmp_path, scheme, name):
    for table in (TABLE, TABLE[:0]):
        write_tables([table], str(tmp_path / name), {})
        write_tables([table], f"{scheme}://bucket/{name}", {})
        assert store.load(f"bucket/{name}") == (tmp_path / name).read_bytes()


def test_nothing_appears_if_writing_fails(store):
    store.save("bucket/a.csv", b"old")

    def broken():
        yield TABLE
        raise DataError("broken")

    fails(DataError, "broken", write_tables, broken(), "s3://bucket/a.csv", {})

    def interrupted():
        with replacing("s3://bucket/a.csv") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.load("bucket/a.csv") == b"old"


def test_errors_of_stores_name_the_output(store, monkeypatch):
    def full(self, content):
        raise OSError(28, "no space at https://host/x?sig=secret")

    monkeypatch.setattr(MemoryFile, "write", full)
    message = "s3://bucket/a.csv: cannot be written: [Errno 28] no space at https://host/x."
    fails(DataError, message, write_tables, [TABLE], "s3://bucket/a.csv", {})
    assert "bucket/a.csv" not in store.names()


def test_an_answer_that_got_lost(store, monkeypatch):
    """A store can have completed an upload although the answer to the last request did not arrive."""
    commit = MemoryFile.commit

    def lost(self):
        commit(self)
        raise FileNotFoundError("no such upload")

    store.save("bucket/a.csv", b"old")
    monkeypatch.setattr(MemoryFile, "commit", lost)
    with replacing("s3://bucket/a.csv") as file:
        file.write(b"new")
    assert store.load("bucket/a.csv") == b"new"
    monkeypatch.setattr(MemoryFile, "commit", lambda self: (_ for _ in ()).throw(OSError("refused")))
    for name in ("a.csv", "b.csv"):  # one that is there and has as many bytes, and a new one
        with pytest.raises(DataError, match=r"cannot be written: refused\.$"), replacing(f"s3://bucket/{name}") as file:
            file.write(b"xyz")
    assert store.load("bucket/a.csv") == b"new"


def test_files_written_together(store):
    with uploads.together():
        for name in ("a", "b"):
            write_tables([TABLE], f"s3://bucket/out/{name}.csv", {})
        assert store.names() == ["bucket/in/a.parquet"]
    assert store.names() == ["bucket/in/a.parquet", "bucket/out/a.csv", "bucket/out/b.csv"]

    def broken():
        with uploads.together():
            write_tables([TABLE], "s3://bucket/out/c.csv", {})
            raise DataError("broken")

    fails(DataError, "broken", broken)
    assert "bucket/out/c.csv" not in store.names()


class Direct(MemoryFile):
    """A file that shows when it is closed, as those of Azure and Hugging Face do."""

    def __init__(self, *given):
        super().__init__(*given)
        self.dropped = False

    def close(self):
        self.fs.store[self.path] = self

    commit = discard = lambda self: None


def test_stores_without_a_commit_wait_with_closing(store, monkeypatch):
    monkeypatch.setattr(uploads, "_can_wait", lambda file: False)
    monkeypatch.setattr("tests.stores.MemoryFile", Direct)
    with uploads.together():
        write_tables([TABLE], "az://bucket/out/a.csv", {})
        assert store.names() == ["bucket/in/a.parquet"]
    assert store.names() == ["bucket/in/a.parquet", "bucket/out/a.csv"]


def test_which_files_can_wait():
    from huggingface_hub.hf_file_system import HfFileSystemFile
    from s3fs.core import S3File

    assert (uploads._can_wait(S3File), uploads._can_wait(HfFileSystemFile)) == (True, False)


def test_what_is_refused(store):
    place = "https://example.org/a.csv?sig=secret"
    only = "https://example.org/a.csv: https:// can only be read; write to a store or to a local file."
    fails(UsageError, only, check_place, place)
    fails(UsageError, "s3://a.csv: must name a bucket and a file in it.", check_place, "s3://a.csv")
    none = "s3://other/a.csv: cannot be written: there is no bucket other."
    fails(DataError, none, check_place, "s3://other/a.csv")
    store.faults = [PermissionError("Forbidden")]
    check_place("s3://other/a.csv")  # whoever may not look may still be allowed to write
    store.faults = [ValueError("odd")]
    fails(Unreachable, "s3://other: cannot be reached: odd.", check_place, "s3://other/a.csv")


# --- commands ---


@pytest.fixture
def shards(store, tmp_path):
    """Put the same files into a folder and into a store."""
    folder = tmp_path / "in"
    folder.mkdir()
    for at in range(3):
        pq.write_table(TABLE[5 * at : 5 * at + 5], folder / f"{at}.parquet")
    store.put_all(folder, "bucket/crawl")
    return folder


def test_dedup_from_a_store_to_it(store, shards, run, out):
    here = ["-o", out / "a.parquet", "--removed", out / "r.csv", "--report", out / "p.html"]
    assert run("dedup", shards, *here).code == 0
    there = ["-o", "gs://bucket/o/a.parquet", "--removed", "gs://bucket/o/r.csv", "--report", "gs://bucket/o/p.html"]
    outcome = run("dedup", "gs://bucket/crawl/*.parquet", *there, "--stats", "gs://bucket/o/s.json")
    assert outcome.code == 0
    for name in ("a.parquet", "r.csv"):
        assert store.load(f"bucket/o/{name}") == (out / name).read_bytes()
    assert store.load("bucket/o/p.html").startswith(b"<!doctype html>")
    stats = json.loads(store.load("bucket/o/s.json"))
    sizes = {one["path"]: one["bytes"] for one in stats["inputs"] + stats["outputs"]}
    assert sizes["gs://bucket/crawl/0.parquet"] == (shards / "0.parquet").stat().st_size
    assert sizes["gs://bucket/o/a.parquet"] == (out / "a.parquet").stat().st_size
    assert all(one["version"] for one in stats["inputs"] + stats["outputs"])


def test_one_output_per_input(store, shards, run, out):
    assert run("dedup", shards, "-o", f"{out}/clean/").code == 0
    assert run("dedup", "s3://bucket/crawl/", "-o", "s3://bucket/clean/").code == 0
    for at in range(3):
        assert store.load(f"bucket/clean/{at}.parquet") == (out / "clean" / f"{at}.parquet").read_bytes()
    assert run("dedup", "s3://bucket/crawl/", "-o", "s3://bucket/clean/").code == 0  # replaces them
    store.save("bucket/clean/x.parquet", b"")
    outcome = run("dedup", "s3://bucket/crawl/", "-o", "s3://bucket/clean/")
    assert outcome.code == 1
    other = "holds x.parquet, which is not an output of this run; choose an empty or new folder."
    assert outcome.err.splitlines()[-1] == f"lookalike: s3://bucket/clean/: {other}"
    assert run("dedup", shards, "-o", "s3://other/clean/").code == 1


def test_runs_larger_than_memory(store, shards, run, out, monkeypatch):
    assert run("dedup", shards, "-o", out / "a.parquet").code == 0
    addresses = ["s3://bucket/crawl/", "-o", "s3://bucket/a.parquet", "--memory", "1GB"]
    need = "--memory needs a folder for temporary files on a local disk: set --workdir; --out is s3://bucket/a.parquet."
    assert run("dedup", *addresses).err.splitlines()[-1] == f"lookalike: {need}"
    refused = run("dedup", *addresses, "--workdir", "s3://bucket/w").err.splitlines()[-1]
    assert refused == "lookalike: s3://bucket/w: --workdir must be on a local disk."
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFile, "write", lambda *_: (_ for _ in ()).throw(OSError("it is full")))
        outcome = run("dedup", *addresses, "--workdir", out / "w")
    assert outcome.code == 1
    assert f"run the same command again to resume from {out / 'w'}" in outcome.err
    assert run("dedup", *addresses, "--workdir", out / "w").code == 0
    assert store.load("bucket/a.parquet") == (out / "a.parquet").read_bytes()
    assert not (out / "w").exists()


def test_a_resumed_run_notices_other_inputs(store, shards, run, out, monkeypatch):
    given = ["dedup", "s3://bucket/crawl/", "-o", "s3://bucket/a.parquet", "--workdir", out / "w"]
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFile, "write", lambda *_: (_ for _ in ()).throw(OSError("it is full")))
        assert run(*given).code == 1
    store.save("bucket/crawl/1.parquet", store.load("bucket/crawl/1.parquet"))  # with a new date
    outcome = run(*given)
    assert outcome.code == 1
    assert "input files differ: changed s3://bucket/crawl/1.parquet" in outcome.err


def test_other_commands(store, shards, run, out):
    for command in (
        ["pairs", "{}/0.parquet", "-t", "0.5"],
        ["match", "{}/0.parquet", "{}/1.parquet", "-t", "0.3"],
        ["clusters", "{}", "-t", "0.5"],
        ["dedup", "{}/0.parquet", "--against", "{}/1.parquet"],
        ["decontaminate", "{}/0.parquet", "--tests", "{}/1.parquet"],
        ["resolve", "{}", "--field", "text"],
    ):
        kind = ".csv"
        here = run(*(word.format(shards) for word in command), "-o", out / f"a{kind}")
        there = run(*(word.format("az://bucket/crawl") for word in command), "-o", f"az://bucket/a{kind}")
        assert (command[0], here.code, there.code) == (command[0], 0, 0), there.err
        assert store.load(f"bucket/a{kind}") == (out / f"a{kind}").read_bytes()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["dedup", "{}", "-o", "{}/x.parquet"], "{}/x.parquet: is inside the input {} and would be read with it"),
        (["dedup", "{}", "-o", "s3://b/a.csv", "--removed", "s3://b/a.csv"], "must be different files"),
        (["dedup", "{}", "--against", "s3://b/seen.index", "-o", "x.csv"], "an index must be on a local disk"),
        (["index", "info", "s3://b/seen.index"], "s3://b/seen.index: an index must be on a local disk"),
        (["dedup", "{}", "-o", "s3://bucket/x.txt"], "the output file must end in"),
    ],
)
def test_what_commands_refuse(store, shards, run, tmp_path, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    store.save("b/x", b"")
    outcome = run(*(word.format("s3://bucket/crawl") for word in command))
    assert outcome.code in (1, 2)
    assert message.format("s3://bucket/crawl", "s3://bucket/crawl") in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
