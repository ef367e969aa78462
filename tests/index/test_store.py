"""Check that nothing is lost when writers are killed or compete, or the disk is full."""

import errno
import os
import random
import stat
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event, Lock, Thread

import lmdb
import pytest

from lookalike.core.errors import DataError, StoreError, UsageError
from lookalike.index import Index, store
from lookalike.index.sifting import drop
from tests.commands import left_in
from tests.index_samples import state, texts_of
from tests.writing import start_writer


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))  # fifty kills in all, spread over test processes
def test_a_killed_writer_loses_nothing(place, seed):
    """After ten kills, all that the writer reported is stored, and otherwise only whole batches."""
    texts = texts_of(50)
    Index.build(place, [f"{text} x" for text in texts], [f"first {at}" for at in range(50)], threshold=0.8).close()
    draw = random.Random(seed)
    done = 0
    for _ in range(10):
        writer, heard = start_writer(place, done, texts)
        said = [heard.recv()]  # now it is writing
        time.sleep(draw.uniform(0, 0.05))
        writer.kill()
        writer.join()
        with heard, suppress(EOFError):
            while True:
                said.append(heard.recv())
        with Index.open(place) as index:
            count = index.verify() - 50
            assert count % 7 == 0
            assert count >= max(said)
            done = count
            assert set(range(done)) <= set(index.ids())
            name = draw.randrange(done)
            assert index.query(texts[name % 50] + f" {name}", k=1) == [(name, 1.0)]


@pytest.mark.slow
def test_a_full_disk(place):
    """Simulated by a limit on file sizes: the items stay, and the error names the cause."""
    texts = texts_of(3000)
    Index.build(place, texts[:50], threshold=0.8).close()
    code = f"""
import resource, signal, sys
from lookalike.core.errors import DataError
from lookalike.index import Index
index = Index.open({str(place)!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    index.add(sys.stdin.read().split("\\n"))
except DataError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], input="\n".join(texts[50:]), capture_output=True, text=True)
    assert done.stdout == f"{place}: could not be written; the disk may be full. Nothing was changed.\n", done.stderr
    with Index.open(place) as index:
        assert index.verify() == 50


def test_what_is_no_index(place, tmp_path):
    with pytest.raises(DataError, match=r"\.index: no such folder; create an index with Index\.build\.$"):
        Index.open(place)
    (tmp_path / "a.csv").write_text("id,text\n")
    with pytest.raises(
        DataError, match=r"a\.csv: this is a file, but a lookalike index is a folder; create an index with "
    ):
        Index.open(tmp_path / "a.csv")
    with pytest.raises(
        DataError, match=r": this folder is not a lookalike index; create an index with Index\.build\.$"
    ):
        Index.open(tmp_path)
    with pytest.raises(
        UsageError, match=r"^an index is opened with Index\.open\(path\), and made with Index\.build or "
    ):
        Index("some.index")
    Index.create(place).close()
    with pytest.raises(DataError, match=r"some\.index: already exists; an index needs a new folder\.$"):
        Index.create(place)
    with pytest.raises(DataError, match=r"cannot be created: there is no folder "):
        Index.create(tmp_path / "no" / "index")
    with Index.open(place) as index:
        assert len(index) == 0
        assert index.query("anything") == []
        index.settings["format"] = 99
        with index.store.writing() as writer:
            writer.put_settings(index.settings)
    with pytest.raises(DataError, match=r"the index has format 99, but this version reads up to 3; build it again\.$"):
        Index.open(place)


@pytest.mark.slow
def test_another_that_writes(place):
    """A patient writer waits; a server does not wait long."""
    with Index.build(place, ["a text"]) as index:
        code = f"""
import sys
from lookalike.index import Index
with Index.open({str(place)!r}) as index, index.store.writing():
    print("writing", flush=True)
    sys.stdin.read()
"""
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"writing\n"
            index.store.patience = 0.1
            with pytest.raises(StoreError, match=r": another writer is using the index; try again when it is done\.$"):
                index.add(["another text"])
            assert index.query("a text") == [(0, 1.0)]
            index.store.patience = None
            waiting = Thread(target=index.add, args=(["another text"],))
            waiting.start()
            other.stdin.close()
            waiting.join()
        assert list(index.ids()) == [0, 1]


@pytest.mark.slow
def test_compacting_among_readers_and_writers(place):
    """Threads can query meanwhile, and nothing that others add is lost."""
    with Index.build(place, texts_of(100), threshold=0.8) as index:
        wrong, done, added = [], Event(), []

        def add():
            while not done.is_set():
                index.add([f"a text of number {len(added)}"], [f"new {len(added)}"])
                added.append(f"new {len(added)}")

        def ask():
            while not done.is_set():
                if index.query(texts_of(1)[0])[0] != (0, 1.0):
                    wrong.append(1)

        threads = [*(Thread(target=ask) for _ in range(3)), Thread(target=add)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            index.compact()
        while not added and threads[-1].is_alive():
            index.compact()
        done.set()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(added) > 0
        assert set(added) < set(index.ids())
        assert index.verify() == 100 + len(added)


@pytest.mark.slow
def test_a_killed_reader_does_not_hold_on_to_old_pages(place):
    """Although the writer stays open all the while."""
    with Index.build(place, texts_of(50), threshold=0.8) as index:
        code = f"""
from lookalike.index import Index
with Index.open({str(place)!r}).store.reading():
    print("reading", flush=True)
    input()
"""
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdout.readline() == "reading\n"
            reader.kill()
        index.remove([0])
        index.remove([1])
        assert str(reader.pid) not in index.store.live.env.readers()


def test_readers_have_their_space_before_the_disk_is_full(place, tmp_path):
    """The lock file is mapped: a process that needs a page of it for which there is no space is killed."""
    with Index.build(place, texts_of(50), threshold=0.8) as index:
        index.backup(tmp_path / "copy.index")
        Index.open(tmp_path / "copy.index", read_only=True).close()
        index.compact()
        (renewed,) = place.glob("tables-*-lock")
        for path in (renewed, tmp_path / "copy.index" / "lock.mdb"):
            assert path.stat().st_blocks * 512 >= path.stat().st_size >= 64 * store.READERS


def test_no_space_for_what_is_mapped(place, tmp_path, monkeypatch):
    """It is an error before anything is mapped, since writing to a map would crash then."""

    def full(file, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Index.build(place, texts_of(50), threshold=0.8) as index:
        index.backup(tmp_path / "copy.index")
        monkeypatch.setattr(store, "allocate", full)
        for work in (index.compact, lambda: Index.open(tmp_path / "copy.index")):
            with pytest.raises(StoreError, match=r": could not be opened; the disk may be full\.$"):
                work()
        assert not (tmp_path / "copy.index" / "lock.mdb").exists()
        assert index.verify() == 50


def test_what_a_killed_build_left_is_removed(place, tmp_path):
    code = f"""
import os
from lookalike.index import Index
def texts():
    yield "a first text"
    os.kill(os.getpid(), 9)
Index.build({str(place)!r}, texts())
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert len(left_in(tmp_path)) == 1
    Index.build(place, ["a text"]).close()
    assert left_in(tmp_path) == {place.name}


def test_two_builds_at_once(place, tmp_path):
    """The second does not take the files of the first for leftovers; the last to end says so."""

    def texts():
        yield "a text"
        Index.build(place, ["another text"]).close()

    with pytest.raises(StoreError, match="was created by another process meanwhile; run the command again"):
        Index.build(place, texts())
    assert left_in(tmp_path) == {place.name}
    with Index.open(place) as index:
        assert index.query("another text") == [(0, 1.0)]


def test_compacting_keeps_permissions_and_follows_no_links(place, tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "data.mdb").write_text("precious")
    with Index.build(place, texts_of(50), threshold=0.8) as index:
        (place / "compacting").symlink_to(tmp_path / "victim")
        (place / "data.mdb").chmod(0o600)
        index.compact()
        assert stat.S_IMODE((place / "data.mdb").stat().st_mode) == 0o600
        assert index.verify() == 50
    assert (tmp_path / "victim" / "data.mdb").read_text() == "precious"
    link = f"tables-{(place / 'data.mdb').stat().st_ino}"
    assert left_in(place) == {"compacting", "data.mdb", "lock.mdb", "in-use", "writing", link, f"{link}-lock"}


@pytest.mark.slow
def test_little_address_space(place):
    """As with `ulimit -v 4000000`: an index can be built, opened and changed."""
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from lookalike.index import Index
with Index.build({str(place)!r}, ["a text"]) as index:
    index.add(["another text"])
    index.compact()
    print(index.query("another text"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[(1, 1.0)]\n", done.stderr


def open_with(monkeypatch, room):
    """Let LMDB map only so many bytes, as it does where address space is scarce."""
    real = lmdb.open
    monkeypatch.setattr(store, "LEAST_ROOM", 1 << 20)

    def scarce(path, map_size, **options):
        if map_size > room:
            raise lmdb.MemoryError(path, "Cannot allocate memory")
        return real(path, map_size=map_size, **options)

    monkeypatch.setattr(lmdb, "open", scarce)


def test_an_index_takes_the_address_space_that_there_is(place, monkeypatch):
    open_with(monkeypatch, 1 << 20)
    with Index.build(place, texts_of(50)) as index:
        assert index.verify() == 50
        texts = [f"{text} {at}" for at, text in enumerate(texts_of(2000))]
        with pytest.raises(
            StoreError, match=r"needs more than 1,048,576 bytes of address space; raise `ulimit -v` and"
        ):
            index.add(texts)
        assert index.verify() == 50
    open_with(monkeypatch, 1 << 10)
    with pytest.raises(StoreError, match=r"needs 1,048,576 bytes of address space; raise `ulimit -v`\.$"):
        Index.open(place)


@pytest.mark.slow
def test_an_index_that_grew_beyond_the_address_space(place, monkeypatch):
    """Another process, which has more, has added items meanwhile."""
    with monkeypatch.context() as patched:
        open_with(patched, 1 << 20)
        index = Index.build(place, ["a text"])
    code = f"""
from lookalike.index import Index
with Index.open({str(place)!r}) as index:
    index.add([" ".join(str(at * by) for by in range(50, 100)) for at in range(1000)])
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    with index, pytest.raises(StoreError, match=r"needs more than 1,048,576 bytes of address space"):
        index.query("a text")
    with Index.open(place) as index:
        assert index.query("a text") == [(0, 1.0)]


def test_an_index_that_is_cut_short(place):
    Index.build(place, texts_of(300)).close()
    content = (place / "data.mdb").read_bytes()
    (place / "data.mdb").write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r": is truncated; use a complete copy, or build it again\.$"):
        Index.open(place)


def test_an_index_whose_last_pages_were_never_needed(place):
    """LMDB does not write pages that one change took and gave back, so the file is short but complete."""
    Index.build(place, texts_of(300)).close()
    with Index.open(place) as index, index.store.writing() as writer:
        writer.attach(b"large", bytes(100_000))
        writer.attach(b"large", None)
    with Index.open(place) as index:
        pages = index.store.live.env.info()["last_pgno"] + 1
        assert index.store.byte_size() < pages * index.store.live.env.stat()["psize"]
        assert index.verify() == 300
        index.compact()
        index.add(["another text"])
    with Index.open(place) as index:
        assert index.verify() == 301


# --- backup ---


def test_a_backup_is_an_index_like_the_first(place, tmp_path):
    """It has the same items and permissions, can be added to, and lacks what is not written yet."""
    texts = texts_of(30)
    copy = tmp_path / "copy.index"
    Index.build(place, texts, threshold=0.8, store_text=True).close()
    (place / "data.mdb").chmod(0o600)
    place.chmod(0o700)
    with Index.open(place) as index, index.store.writing() as writer:
        drop(writer, index._known(), 3)
        index.backup(copy)
    assert {path.name: path.stat().st_mode & 0o777 for path in (copy, *copy.iterdir())} == {
        "copy.index": 0o700, "data.mdb": 0o600, "in-use": 0o600, "writing": 0o600,
    }  # fmt: skip
    with Index.open(copy, read_only=True) as copied:
        assert copied.verify() == 30
        assert [copied.item(at) for at in range(30)] == texts
    with Index.open(copy) as copied, Index.open(place) as index:
        copied.add(["another text"])
        assert (len(copied), len(index)) == (31, 29)


def test_a_backup_of_an_index_that_nobody_can_write(place, tmp_path):
    Index.build(place, texts_of(3), threshold=0.8).close()
    (place / "data.mdb").chmod(0o400)
    with Index.open(place, read_only=True) as index:
        index.backup(tmp_path / "copy.index")
    with Index.open(tmp_path / "copy.index", read_only=True) as copied:
        assert copied.verify() == 3


def test_a_backup_replaces_nothing(place, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with Index.build(place, ["a text"]) as index:
        for target in (place, other):
            with pytest.raises(DataError, match=r": already exists; an index needs a new folder\.$"):
                index.backup(target)
        with pytest.raises(DataError, match=r": cannot be created: there is no folder "):
            index.backup(tmp_path / "no" / "copy.index")
    assert list(other.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {place.name, "other"}


@pytest.mark.slow
def test_backups_beside_a_writer(place, tmp_path):
    """Each backup is in order, and has what the writer reported before, in whole batches."""
    texts = texts_of(50)
    Index.build(place, ["a text to begin with"], ["first"], threshold=0.8).close()
    writer, heard = start_writer(place, 0, texts)
    with heard, Index.open(place, read_only=True) as index:
        for number in range(5):
            done = heard.recv()
            while heard.poll():
                done = heard.recv()
            index.backup(tmp_path / f"{number}.index")
            with Index.open(tmp_path / f"{number}.index") as copied:
                count = copied.verify() - 1
                assert count >= done
                assert count % 7 == 0
                assert set(copied.ids()) == {"first", *range(count)}
        writer.kill()
        writer.join()


@pytest.mark.slow
def test_a_backup_on_a_full_disk(place, tmp_path):
    """Simulated by a limit on file sizes: an error that names the target, and nothing is left."""
    Index.build(place, texts_of(3000), threshold=0.8).close()
    target = tmp_path / "copy.index"
    code = f"""
import resource, signal
from lookalike.core.errors import StoreError
from lookalike.index import Index
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Index.open({str(place)!r}) as index:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        index.backup({str(target)!r})
    except StoreError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith(f"{target}: the copy could not be written: "), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {place.name}


def test_changes_during_a_compaction_are_kept(place, monkeypatch):
    """They are made while the tables are written anew: nobody waits, and nothing is lost."""
    texts = texts_of(200)
    with Index.build(place, [*texts, texts[0], texts[1]], threshold=0.8, store_text=True) as index:
        rewrite = store.rewrite

        def meanwhile(reader, writer, run):
            rewrite(reader, writer, run)
            index.remove([0, 5, 201])  # a head, whose heir is 200; and an heir
            index.add(["a new text", texts[9], texts[5]], ["new", "copy", "again"])
            index.add([f"text number {at}" for at in range(100)])
            index.add(["a newer text"], [7], replace=True)

        monkeypatch.setattr(store, "rewrite", meanwhile)
        index.compact()
        expected = [*(at for at in range(200) if at not in (0, 5, 7)), 200, "new", "copy", "again", *range(202, 302), 7]
        assert list(index.ids()) == expected
        assert index.verify() == len(expected)
        assert index.query(texts[0], k=1) == [(200, 1.0)]
        assert index.query(texts[9], k=2) == [(9, 1.0), ("copy", 1.0)]
        assert index.query(texts[5], k=1) == [("again", 1.0)]
        assert [index.item(name) for name in ("new", 7)] == ["a new text", "a newer text"]
        monkeypatch.setattr(store, "rewrite", rewrite)
        before = state(index)
        index.compact()
        assert state(index) == before
    with Index.open(place) as index:
        assert state(index) == before


@pytest.mark.slow
def test_compacting_beside_a_writer_in_another_process(place):
    """The writer goes on in the new tables: what it has reported is there, and nobody waits long."""
    texts = texts_of(50)
    Index.build(place, ["a text to begin with"], ["first"], threshold=0.8).close()
    writer, heard = start_writer(place, 0, texts)
    with heard, Index.open(place) as index:
        inodes = set()
        for _ in range(5):
            done = heard.recv()
            while heard.poll():
                done = heard.recv()
            index.compact()
            inodes.add((place / "data.mdb").stat().st_ino)
            assert index.verify() > done
        heard.recv()
        writer.kill()
        writer.join()
        assert len(inodes) > 1
        done = index.verify() - 1
        assert done % 7 == 0
        assert set(index.ids()) == {"first", *range(done)}
        link = f"tables-{(place / 'data.mdb').stat().st_ino}"
        assert left_in(place) == {"data.mdb", "lock.mdb", "in-use", "writing", link, f"{link}-lock"}


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_compaction_that_is_killed_as_it_replaces_the_tables(place, when):
    """The old tables are there or the new ones; the next compaction removes what is left of the others."""
    texts = texts_of(50)
    Index.build(place, texts, threshold=0.8).close()
    code = f"""
import os
from lookalike.index import Index, store
class Os:
    def __getattr__(self, name):
        return getattr(os, name)
    def replace(self, *places):
        if {when!r} == "after":
            os.replace(*places)
        os.kill(os.getpid(), 9)
store.os = Os()
index = Index.open({str(place)!r})
index.compact()
"""
    inode = (place / "data.mdb").stat().st_ino
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert ((place / "data.mdb").stat().st_ino == inode) == (when == "before")
    with Index.open(place) as index:
        assert index.verify() == 50
        index.add(["another text"])
        index.compact()
        assert index.verify() == 51
    link = f"tables-{(place / 'data.mdb').stat().st_ino}"
    assert left_in(place) == {"data.mdb", "lock.mdb", "in-use", "writing", link, f"{link}-lock"}


def test_two_compactions_at_once(place, monkeypatch, tmp_path):
    """The later one to finish leaves the tables as the other has made them; a copy of them is complete."""
    with Index.build(place, texts_of(50), threshold=0.8) as index:
        rewrite, inodes = store.rewrite, []

        def meanwhile(reader, writer, run):
            rewrite(reader, writer, run)
            monkeypatch.setattr(store, "rewrite", rewrite)
            index.store._compacting = Lock()  # as of another process
            index.compact()
            inodes.append((place / "data.mdb").stat().st_ino)

        monkeypatch.setattr(store, "rewrite", meanwhile)
        index.compact()
        assert [(place / "data.mdb").stat().st_ino] == inodes
        assert index.verify() == 50
        index.backup(tmp_path / "copy.index")
    with Index.open(tmp_path / "copy.index") as copy:
        assert copy.verify() == 50
