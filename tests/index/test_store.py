"""Check that nothing is lost when writers are killed or compete, or the disk is full."""

import random
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event, Thread

import pytest

from lookalike.core.errors import DataError, StoreError, UsageError
from lookalike.index import Index
from tests.index_samples import texts_of
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
    with pytest.raises(
        DataError, match=r"\.index: there is no such folder, so no index; create one with Index\.build\.$"
    ):
        Index.open(place)
    (tmp_path / "a.csv").write_text("id,text\n")
    with pytest.raises(DataError, match=r"a\.csv: this is a file, but a lookalike index is a folder; create one with "):
        Index.open(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r": this folder is not a lookalike index; create one with Index\.build\.$"):
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
    with pytest.raises(DataError, match=r"the index has format 99, but this version reads 1; build it again\.$"):
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


def test_an_index_that_is_cut_short(place):
    Index.build(place, texts_of(300)).close()
    content = (place / "data.mdb").read_bytes()
    (place / "data.mdb").write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r": is truncated; use a complete copy, or build it again\.$"):
        Index.open(place)
