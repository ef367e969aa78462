"""Test that files in a store give the same items as files on disk, however requests fail."""

import json
import sqlite3
import sys
from concurrent.futures import Executor, Future
from pathlib import Path
from threading import Thread

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.registry import _registry
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import BadFile, DataError, LookalikeError, UsageError
from lookalike.core.run import Run
from lookalike.core.stamps import stamps
from lookalike.io import asking, ranges, remote
from lookalike.io.asking import Unreachable, ask, reason, shown
from lookalike.io.documents import Source
from lookalike.io.inputs import check_apart, find_parts, split_table
from lookalike.io.ranges import Ranges, RemoteFile
from lookalike.io.records import RecordSource
from lookalike.io.remote import RemotePath, files_in, is_remote, must_be_local, place_of
from lookalike.io.sets import SetSource
from lookalike.io.vectors import VectorSource
from lookalike.io.write import write_tables
from tests.commands import GUARD
from tests.failing import fails
from tests.stores import Store, stores

TEXTS = [f"text number {at} of the collection, é" for at in range(300)]
TABLE = pa.table({"id": [f"d{at}" for at in range(300)], "text": TEXTS})


@pytest.fixture
def store(monkeypatch):
    with stores(monkeypatch) as opened:
        yield opened


def documents(source):
    return [row for batch in source.batches(Run(2)) for row in batch.to_pylist()]


# --- paths ---


def test_paths_keep_the_parts_of_paths():
    path = place_of("s3://bucket/crawl/lang=de/07.jsonl.gz")
    assert isinstance(path, RemotePath)
    assert (str(path), path.name, path.suffixes) == (path.address, "07.jsonl.gz", [".jsonl", ".gz"])
    assert path.relative_to(place_of("s3://bucket/crawl")).parts == ("lang=de", "07.jsonl.gz")
    assert path.relative_to(place_of("s3://bucket/crawl")).as_posix() == "lang=de/07.jsonl.gz"
    assert path.is_relative_to(place_of("s3://bucket"))
    assert not path.is_relative_to(place_of("gs://bucket"))
    assert place_of(Path("s3://bucket/crawl/a.csv")) == place_of("s3://bucket/crawl/a.csv")
    assert place_of(path) is path
    assert path.resolve() is path.absolute() is path
    assert type(place_of("pages.parquet")) is type(Path("pages.parquet"))
    assert not is_remote(7)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("https://me:secret@example.org/a.csv?sig=secret/more#x", "https://example.org/a.csv"),
        ("az://files/a.csv", "az://files/a.csv"),
        ("abfs://files@account.dfs.core.windows.net/a.csv", "abfs://files@account.dfs.core.windows.net/a.csv"),
        ("s3://key:secret@bucket/a?.csv", "s3://bucket/a?.csv"),
    ],
)
def test_messages_do_not_show_secrets(address, public):
    assert shown(address) == public
    assert str(place_of(address)) == public
    assert reason(OSError(f"GET {address} failed.\n")) == f"GET {public} failed"


def test_local_files_are_needed_for_some_things(tmp_path):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    fails(UsageError, "s3://bucket/x: an index must be on a local disk.", must_be_local, "s3://bucket/x", "an index")
    must_be_local("x", "an index")
    fails(
        UsageError, "s3://b/w: workdir must be on a local disk.", la.dedup, tmp_path / "x.parquet", workdir="s3://b/w"
    )
    fails(UsageError, "s3://bucket/x: must be a file on a local disk here.", open, place_of("s3://bucket/x"))
    fails(
        UsageError, "s3://bucket/x: an index must be on a local disk.", la.Index.create, "s3://bucket/x", threshold=0.5
    )
    fails(UsageError, "s3://bucket/x: an index must be on a local disk.", la.Index.open, Path("s3://bucket/x"))


# --- what there is ---


@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "hf"])
def test_one_file_a_folder_a_glob(store, scheme):
    for name in ("a/2.csv", "a/1.csv", "a/b/3.csv", "a/.hidden.csv", "a/_SUCCESS", "a/.git/4.csv"):
        store.save(f"bucket/{name}", b"id,text\n1,one\n")
    base = f"{scheme}://bucket"

    def names(given):
        return [part.name for part in find_parts([given], None)]

    assert names(f"{base}/a/1.csv") == [f"{base}/a/1.csv"]
    assert names(f"{base}/a/") == names(f"{base}/a") == [f"{base}/a/1.csv", f"{base}/a/2.csv", f"{base}/a/b/3.csv"]
    assert names(f"{base}/*/[12].csv") == [f"{base}/a/1.csv", f"{base}/a/2.csv"]
    assert names(f"{base}/**/*.csv") == [f"{base}/a/1.csv", f"{base}/a/2.csv", f"{base}/a/b/3.csv"]
    assert names(Path(f"{base}/a/1.csv")) == [f"{base}/a/1.csv"]
    fails(DataError, f"{base}/c.csv: no such file or folder.", names, f"{base}/c.csv")
    fails(DataError, f"{base}/c*.csv: no files found.", names, f"{base}/c*.csv")
    other = "no such file or folder" if scheme == "hf" else "there is no bucket other"
    fails(DataError, f"{scheme}://other/c.csv: {other}.", names, f"{scheme}://other/c.csv")
    assert files_in(place_of(f"{base}/a/1.csv")) == [place_of(f"{base}/a/1.csv")]


def test_folders_of_partitions_and_ids_of_files(store, tmp_path):
    for lang in ("de", "en"):
        (tmp_path / "t" / f"lang={lang}").mkdir(parents=True)
        pq.write_table(TABLE, tmp_path / "t" / f"lang={lang}" / "1.parquet")
        (tmp_path / "d" / lang).mkdir(parents=True)
        (tmp_path / "d" / lang / "a.txt").write_text("one text")
    store.put_all(tmp_path, "bucket")
    for folder in ("t", "d", "d/*/*.txt"):
        here, there = (Source(f"{base}/{folder}") for base in (tmp_path, "gs://bucket"))
        assert [table.to_pylist() for table in here.tables()] == [table.to_pylist() for table in there.tables()]


def test_outputs_are_compared_with_inputs(store):
    store.save("bucket/a/1.csv", b"id,text\n1,one\n")
    check_apart(["s3://bucket/b.csv", "local.csv", None, "-"], ["s3://bucket/a/", "other.csv"])
    inside = "is inside the input s3://bucket/a and would be read with it next time; choose a place outside it"
    fails(UsageError, f"s3://bucket/a/2.csv: {inside}.", check_apart, ["s3://bucket/a/2.csv"], ["s3://bucket/a"])
    again = "s3://bucket/a/1.csv: is an input and would be overwritten; name another output file."
    for given_name in ("s3://bucket/a/1.csv", "s3://bucket/*/*.csv"):
        fails(UsageError, again, check_apart, ["s3://bucket/a/1.csv"], [given_name])


def test_unknown_and_missing_packages(store, monkeypatch):
    known = "use s3://, gs://, az://, hf://, https:// or a path"
    fails(UsageError, f"xy://a/b.csv: xy:// is not supported; {known}.", Source, "xy://a/b.csv")
    monkeypatch.delitem(_registry, "gs")
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    needs = "which is not installed: pip install 'lookalike[remote]'"
    fails(UsageError, f"gs://a/b.csv: gs:// needs gcsfs, {needs}.", Source, "gs://a/b.csv")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    fails(UsageError, f"s3://a/b.csv: s3:// needs fsspec, {needs}.", Source, "s3://a/b.csv")


# --- formats ---


def write_inputs(folder):
    """Write the same documents in all formats; return the names of the files."""
    pq.write_table(TABLE, folder / "pages.parquet", row_group_size=90)
    pq.write_table(TABLE, folder / "small.parquet", data_page_size=500, write_batch_size=10)
    nested = TABLE.append_column("tags", pa.array([["a", "b"]] * 300))
    pq.write_table(nested, folder / "nested.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist())
    (folder / "lines.jsonl").write_text(lines)
    (folder / "array.json").write_text(json.dumps(TABLE.to_pylist()))
    for name in ("lines.jsonl.gz", "lines.jsonl.zst", "cells.csv.gz", "cells.csv", "cells.tsv", "table.arrow"):
        write_tables([TABLE], str(folder / name), {})
    with pa.ipc.new_stream(folder / "stream.ipc", TABLE.schema) as stream:
        stream.write_table(TABLE, 40)
    (folder / "lines.txt").write_text("\n".join(TEXTS))
    with sqlite3.connect(folder / "a.sqlite") as opened:
        opened.execute("CREATE TABLE pages (id TEXT, text TEXT)")
        opened.executemany("INSERT INTO pages VALUES (?, ?)", zip(*TABLE.to_pydict().values(), strict=True))
    opened.close()
    with duckdb.connect(str(folder / "b.duckdb")) as base:
        base.register("given", TABLE)
        base.execute("CREATE TABLE pages AS SELECT * FROM given")
    return sorted(path.name for path in folder.iterdir())


def test_all_formats_give_the_same_documents(store, tmp_path, monkeypatch):
    monkeypatch.setattr(ranges, "BLOCK", 512)  # so that reads cross blocks and requests
    monkeypatch.setattr(ranges, "RUN", 512 * ranges.TOGETHER)
    monkeypatch.setattr(ranges, "STEADY", 1024)
    names = write_inputs(tmp_path)
    assert len(names) == 15
    store.put_all(tmp_path, "bucket")
    for name in names:
        here = Source(tmp_path / name, batch_bytes=4000)
        there = Source(f"az://bucket/{name}", batch_bytes=4000)
        assert len(documents(here)) == 300
        assert documents(here) == documents(there), name
        assert here.byte_size() == there.byte_size()
        assert [texts.to_pylist() for texts in here.samples()] == [texts.to_pylist() for texts in there.samples()]
    assert documents(Source("az://bucket/a.sqlite::pages")) == documents(Source(tmp_path / "a.sqlite"))
    assert split_table("az://bucket/a.sqlite::pages").table == "pages"


def test_parquet_is_read_in_few_requests(store, tmp_path, monkeypatch):
    monkeypatch.setattr(ranges, "BLOCK", 1 << 12)
    table = pa.table({"text": [f"{at} {'word ' * 200}{at * at}" for at in range(3000)]})
    pq.write_table(table, tmp_path / "a.parquet", compression="none", row_group_size=1000)
    store.put_all(tmp_path, "bucket")
    source = Source("s3://bucket/a.parquet", batch_bytes=1 << 16)
    last = pq.read_metadata(tmp_path / "a.parquet").row_group(2).column(0)
    next(source.batches())
    assert [start for _, start, stop in store.asked if start <= last.data_page_offset < stop]  # fetched ahead
    documents(source)
    size = (tmp_path / "a.parquet").stat().st_size
    assert sum(stop - start for _, start, stop in store.asked) < 1.5 * size  # it may not be read twice
    assert len(store.asked) < 2 * size / (ranges.TOGETHER << 12)


def test_vectors_sets_records_and_pictures(store, tmp_path):
    matrix = np.random.default_rng(1).random((50, 8))
    np.save(tmp_path / "a.npy", matrix)
    np.savez(tmp_path / "b.npz", vectors=matrix, id=np.arange(50))
    dimension = np.full((50, 1), 8, "<i4").view("<f4")
    (tmp_path / "c.fvecs").write_bytes(np.hstack([dimension, matrix.astype("<f4")]).tobytes())
    pq.write_table(pa.table({"id": range(50), "vector": matrix.tolist()}), tmp_path / "d.parquet")
    (tmp_path / "sets.txt").write_text("a b c\na b d\n")
    from PIL import Image

    for at in range(3):
        Image.fromarray((matrix[:8] * 80 * (at + 1)).astype(np.uint8)).save(tmp_path / f"{at}.png")
    store.put_all(tmp_path, "bucket")
    for name in ("a.npy", "b.npz", "c.fvecs", "d.parquet"):
        here, there = (VectorSource(f"{base}/{name}").read(Run(1)) for base in (tmp_path, "gs://bucket"))
        assert (here.values == there.values).all()
    here, there = (VectorSource(f"{base}/*.png", id="-").read(Run(1)) for base in (tmp_path, "gs://bucket"))
    assert (here.values == there.values).all()
    here, there = (SetSource(f"{base}/sets.txt").read(Run(1))[1] for base in (tmp_path, "gs://bucket"))
    assert (here.elements == there.elements).all()
    here, there = (RecordSource(f"{base}/d.parquet").read(Run(1)) for base in (tmp_path, "gs://bucket"))
    assert here.equals(there)


def test_functions_take_addresses(store, tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    store.put_all(tmp_path, "bucket")
    assert la.find_pairs("s3://bucket/a.parquet").to_arrow() == la.find_pairs(tmp_path / "a.parquet").to_arrow()
    assert la.dedup(Path("s3://bucket/a.parquet")).kept == la.dedup(tmp_path / "a.parquet").kept


def test_stdin_like_content_is_not_asked_for(store):
    """A local table has no remote files to check."""
    assert len(documents(Source(TABLE))) == 300
    assert store.asked == []


# --- bytes ---


@given(
    st.binary(min_size=1, max_size=200),
    st.lists(st.tuples(st.integers(0, 220), st.integers(0, 220)), max_size=12),
    st.integers(1, 40),
    st.integers(2, 9),
)
def test_any_read_gives_the_bytes_of_the_file(content, reads, block, held):
    with pytest.MonkeyPatch.context() as patch, stores(patch) as store:
        patch.setattr(ranges, "BLOCK", block)
        patch.setattr(ranges, "TOGETHER", 3)
        patch.setattr(ranges, "RUN", 3 * block)
        patch.setattr(ranges, "STEADY", block)
        patch.setattr(ranges, "HELD", held)
        one = Ranges()
        patch.setattr(Ranges, "shared", staticmethod(lambda: one))
        store.save("bucket/a", content)
        with place_of("s3://bucket/a").open("rb") as file:
            for start, size in reads:
                assert file.seek(start) == file.tell() == start
                assert file.read(size) == content[start : start + size]
                assert file.read(3) == content[start + len(content[start : start + size]) :][:3]
            file.seek(-1, 2)
            assert file.read() == content[-1:]
            file.seek(0)
            assert file.readall() == content
            buffer = bytearray(5)
            file.seek(0)
            assert buffer[: file.readinto(buffer)] == content[:5]
            assert file.read(1) == content[min(5, len(content)) :][:1]
        assert len(one._blocks) <= held
        one._pool.shutdown()


def test_ranges_are_fetched_once(store):
    store.save("bucket/a", bytes(3 << 20))
    path = place_of("s3://bucket/a")
    file = RemoteFile(path, 3 << 20)
    assert len(file.read_at(100, 2 << 20)) == 2 << 20
    assert store.asked == [("/bucket/a", 0, 3 << 20)]
    assert len(file.read_at(5, 10)) == 10
    assert len(store.asked) == 1


# --- failures ---


def test_requests_are_repeated(store):
    store.save("bucket/a.jsonl", b'{"id": 1, "text": "one text"}\n')
    store.faults = [
        lambda found: found[:5],  # cut off without a word
        TimeoutError(),
        ConnectionResetError("gone"),
        OSError("503 please reduce your request rate"),
    ]
    assert documents(Source("s3://bucket/a.jsonl")) == [{"id": 1, "text": "one text"}]
    assert store.faults == []


def test_a_store_that_does_not_recover(store):
    store.save("bucket/a.jsonl", b'{"id": 1, "text": "one text"}\n')
    source = Source("s3://bucket/a.jsonl")
    secret = "cannot connect to https://bucket.example.org/a.jsonl?sig=secret"
    store.faults = [ConnectionError(secret)] * 50
    why = "cannot connect to https://bucket.example.org/a.jsonl; 6 tries failed"
    fails(Unreachable, f"s3://bucket/b.jsonl: cannot be reached: {why}.", Source, "s3://bucket/b.jsonl")
    assert len(store.faults) == 44
    place = source.parts[0].paths[0]
    fails(Unreachable, f"s3://bucket/a.jsonl: cannot be reached: {why}.", place.fetch, 0, 5)
    with pytest.raises(Unreachable, match=r"a\.jsonl: cannot be reached: .* 6 tries failed\.$"):
        Ranges().read(place, 0, 5)


class AtOnce(Executor):
    """Has done everything as soon as it is asked to."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except LookalikeError as error:
            future.set_exception(error)
        return future


def test_what_fails_at_once_can_be_asked_for_again(store):
    """The request can have failed before the thread that made it goes on."""
    store.save("bucket/a", bytes(range(9)))
    one, place = Ranges(), place_of("s3://bucket/a")
    place.stat()
    one._pool = AtOnce()
    store.faults = [ConnectionError("gone")] * 6
    found = []

    def read():
        with pytest.raises(Unreachable, match="6 tries failed"):
            one.read(place, 2, 5)
        found.append(one.read(place, 2, 5))

    thread = Thread(target=read, daemon=True)
    thread.start()
    thread.join(GUARD)
    assert found == [bytes([2, 3, 4])]


@pytest.mark.parametrize(
    "name", ["pages.parquet", "lines.jsonl.gz", "cells.csv", "table.arrow", "lines.txt", "a.sqlite"]
)
def test_failures_are_not_blamed_on_files(store, tmp_path, monkeypatch, name):
    write_inputs(tmp_path)
    store.put_all(tmp_path, "bucket")
    monkeypatch.setattr(Store, "cat_file", lambda *_, **__: (_ for _ in ()).throw(TimeoutError("too slow")))
    with pytest.raises(Unreachable, match=rf"^gs://bucket/{name}: cannot be reached: too slow; 6 tries failed\.$"):
        documents(Source(f"gs://bucket/{name}", on_bad_file="skip"))


class Answer(Exception):
    """An error of a package that carries the code of an answer."""

    def __init__(self, status):
        self.status = status
        super().__init__(f"HTTP {status}")


class NoCredentialsError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError("Forbidden"), "access is denied; check the credentials, and what they allow"),
        (Answer(403), "access is denied; check the credentials, and what they allow"),
        (Answer(400), "cannot be reached: HTTP 400"),
        (ValueError("Invalid URL"), "cannot be reached: Invalid URL"),
        (Answer(412), "has changed while it was being read; run again when nobody writes it"),
        (
            NoCredentialsError("Unable to locate credentials"),
            "no valid credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile; "
            "FSSPEC_S3_ANON=true reads public buckets",
        ),
    ],
)
def test_lasting_failures_are_not_repeated(store, error, message):
    store.faults = [ConnectionError("the next request"), error]
    fails(Unreachable, f"s3://bucket/a.csv: {message}.", Source, "s3://bucket/a.csv")
    assert len(store.faults) == 1


def test_codes_after_which_a_request_is_repeated(store, monkeypatch):
    monkeypatch.setattr(asking, "WAIT", 0.0)
    told = [Answer(500), Answer(503), Answer(429), Answer(408)]

    def request():
        if told:
            error = told.pop()
            raise OSError("failed") from error
        return "answer"

    assert ask("s3://a/b", "s3", request) == "answer"


# --- changes ---


def test_a_file_that_changes_is_refused(store):
    line = b'{"id": 1, "text": "one text"}\n'
    store.save("bucket/a.jsonl", line * 3)
    source = Source("s3://bucket/a.jsonl", id="-")
    assert len(documents(source)) == 3
    changed = "s3://bucket/a.jsonl: has changed while it was being read; run again when nobody writes it."
    store.save("bucket/a.jsonl", line * 4)
    fails(Unreachable, changed, documents, source)
    store().rm_file("/bucket/a.jsonl")
    fails(Unreachable, changed, documents, source)


def test_a_listed_file_that_becomes_shorter_is_refused(store):
    line = b'{"id": 1, "text": "one text"}\n'
    store.save("bucket/a.jsonl", line * 3)
    (path,) = place_of("s3://bucket/*.jsonl").listed()
    store.save("bucket/a.jsonl", line * 2)
    with path.open("rb") as file:
        changed = "s3://bucket/a.jsonl: has changed while it was being read; run again when nobody writes it."
        fails(Unreachable, changed, file.read)


def test_other_content_is_not_taken_for_damage(store, tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    store.put_all(tmp_path, "bucket")
    source = Source("s3://bucket/a.parquet")
    content = store.load("bucket/a.parquet")
    store.save("bucket/a.parquet", bytes(len(content)))
    with pytest.raises(Unreachable, match="has changed while it was being read"):
        documents(source)


def test_damage_is_still_found(store, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    store.put_all(tmp_path, "bucket")
    with pytest.raises(BadFile, match=r"^s3://bucket/a\.parquet: cannot be read as parquet"):
        documents(Source("s3://bucket/a.parquet"))


def test_runs_in_files_know_their_inputs(store):
    store.save("bucket/a.jsonl", b"one")
    (first,) = stamps([place_of("s3://bucket/a.jsonl")])
    assert first[:2] == ["s3://bucket/a.jsonl", 3]
    assert stamps([place_of("s3://bucket/a.jsonl")]) == [first]
    store.save("bucket/a.jsonl", b"two")
    assert stamps([place_of("s3://bucket/a.jsonl")]) != [first]


def test_digests_of_parts_follow_the_store(store):
    store.save("bucket/a.jsonl", b'{"text": "one"}')
    one = find_parts(["s3://bucket/a.jsonl"], None)[0].digest()
    assert find_parts(["s3://bucket/a.jsonl"], None)[0].digest() == one
    store.save("bucket/a.jsonl", b'{"text": "two"}')
    assert find_parts(["s3://bucket/a.jsonl"], None)[0].digest() != one


# --- copies ---


def test_copies_are_made_once_and_checked(store, monkeypatch):
    monkeypatch.setattr(remote, "RUN", 10)
    store.save("bucket/a.db", bytes(range(25)))
    path = place_of("s3://bucket/a.db")
    assert path.local().read_bytes() == bytes(range(25))
    assert path.local() is path.local()
    assert len(store.asked) == 3
    assert path.fetch(3, 5) == bytes([3, 4])
    with path.open("rb") as file:
        assert file.read(2) == bytes([0, 1])
    path.expect(0, 25)
    fails(DataError, "s3://bucket/b.db: no such file or folder.", place_of("s3://bucket/b.db").local)


def test_a_full_disk_under_a_copy(store, monkeypatch):
    store.save("bucket/a.db", b"content")

    def full(self, place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RemotePath, "_download", full)
    with pytest.raises(DataError, match=r"^s3://bucket/a\.db: cannot be copied to .*: No space left on device\.$"):
        place_of("s3://bucket/a.db").local()
