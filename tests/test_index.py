"""The index: what is found, what is kept, and that nothing is lost."""

import random
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from writing import start_writer

import lookalike as la
from lookalike.data import Bits, Sets
from lookalike.errors import AlreadyThere, DataError, StoreError, UsageError
from lookalike.index import Index
from lookalike.measures import jaccard

WORDS = [f"w{number}" for number in range(300)]


def texts_of(count, seed=1):
    """Texts of twenty words, of which every third is like the one before it."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        words = texts[-1].split() if number % 3 == 1 else draw.choices(WORDS, k=20)
        words[draw.randrange(20)] = draw.choice(WORDS)
        texts.append(" ".join(words))
    return texts


@pytest.fixture
def place(tmp_path):
    return tmp_path / "some.index"


@cache
def shingled(text, shingles):
    return la.Shingles.parse(shingles).of(text)


def by_hand(texts, asked, shingles, threshold):
    """[(position, similarity)] of all similar texts, best first."""
    one = shingled(asked, shingles)
    values = [(jaccard(one, shingled(text, shingles)), at) for at, text in enumerate(texts)]
    return [(at, value) for value, at in sorted(values, key=lambda one: (-one[0], one[1])) if value >= threshold]


@pytest.mark.parametrize("way", ["build", "add"])
def test_documents_are_found_as_by_brute_force(place, way):
    """With a recall of 0.99 and pairs mostly far above the threshold; the seed is fixed."""
    texts = texts_of(600)
    options = {"threshold": 0.5, "shingles": "word:2", "expected": 1000}
    if way == "build":
        Index.build(place, texts, **options).close()
    else:
        with Index.create(place, **options) as index:
            assert index.add(texts[:250]) == 250
            assert index.add(texts[250:], batch=100) == 350
    with Index.open(place) as index:
        check_queries(index, texts)


def check_queries(index, texts):
    assert len(index) == 600
    found = expected = 0
    for asked in texts_of(90, seed=2) + texts[::7]:
        true = by_hand(texts, asked, "word:2", 0.5)
        got = index.query(asked, top=None)
        assert set(got) <= set(true)
        assert got == sorted(got, key=lambda one: -one[1])
        found, expected = found + len(got), expected + len(true)
    assert expected > 100
    assert found >= 0.98 * expected
    assert index.verify() == 600


def test_top_and_threshold(place):
    texts = ["a b c d e f", "a b c d e g", "a b c d x y", "a b c d e f"]
    with Index.build(place, texts, threshold=0.3, shingles="word:1") as index:
        assert index.query("a b c d e f", top=3) == [(0, 1.0), (3, 1.0), (1, 5 / 7)]
        assert index.query("a b c d e f", top=1) == [(0, 1.0)]
        assert index.query("a b c d e f", threshold=0.6, top=None) == [(0, 1.0), (3, 1.0), (1, 5 / 7)]
        assert index.query("", top=None) == []
        with pytest.raises(UsageError, match=r"^top must be "):
            index.query("a", top=0)


def test_batches_are_asked_as_single_items_are(place):
    texts = texts_of(200)
    with Index.build(place, pa.table({"id": [f"t{i}" for i in range(200)], "text": texts}), threshold=0.5) as index:
        pairs = index.query_batch(texts[:50], top=5)
        single = [(at, *one) for at in range(50) for one in index.query(texts[at], top=5)]
        assert list(pairs) == single


def test_vectors_and_bits(place, tmp_path):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(500, 20))
    rows[250:] = rows[:250] + 0.05 * draw.normal(size=(250, 20))
    with Index.build(place, rows, measure="cosine", threshold=15) as index:
        pairs = index.query_batch(rows, top=2)
        assert len(pairs) >= 0.98 * 1000
        assert index.verify() == 500
        with pytest.raises(DataError, match=r"^vectors must have 20 dimensions, as those of the index; got 3\.$"):
            index.query_batch(rows[:, :3])
    apart = np.linalg.norm(rows[:250] - rows[250:], axis=1)
    with Index.build(tmp_path / "far", rows + 1000, measure="euclidean", threshold=1.5 * apart.max()) as index:
        for row in range(250):  # one at a time, where the centre is not that of all
            assert [name for name, _ in index.query(rows[row] + 1000, top=2)] == [row, row + 250]
        index.remove(range(0, 500, 2))
        assert index.verify() == 250
    codes = draw.integers(0, 1 << 62, 300)
    codes[150:] = codes[:150] ^ (1 << draw.integers(0, 62, 150))
    with Index.build(tmp_path / "codes", codes.astype(np.uint64), measure="hamming", threshold=2) as index:
        found = index.query_batch(Bits.of(codes.astype(np.uint64)), top=None)
        assert len(found) >= 600  # an exact method: itself and its twin
        assert found.distance.max() <= 2


def test_sets_and_bags(place, tmp_path):
    sets = [{1, 2, 3, 4}, {1, 2, 3, 5}, {7, 8}]
    with Index.build(place, sets, threshold=0.5) as index:
        assert index.query({1, 2, 3, 4}) == [(0, 1.0), (1, 0.6)]
    with Index.build(tmp_path / "named", Sets.of(sets), ids=["a", "b", "c"], threshold=0.5) as index:
        assert [name for name, _ in index.query({7, 8})] == ["c"]


ids = st.integers(0, 9)
steps = st.lists(st.tuples(st.sampled_from(["add", "replace", "remove", "compact", "reopen"]), ids, ids), max_size=25)


@given(steps)
@settings(max_examples=25, deadline=None)
def test_it_is_like_a_dictionary(tmp_path_factory, given):
    """Whatever is added, replaced and removed; texts repeat, so that some items are the same."""
    place = tmp_path_factory.mktemp("index") / "one"
    index = Index.create(place, threshold=0.9, shingles="word:1", store_text=True)
    texts = texts_of(10)
    kept = {}
    for what, name, text in given:
        if what == "add" and name in kept:
            with pytest.raises(DataError, match=rf"^id {name} is there already; replace=True"):
                index.add([texts[text]], [name])
        elif what in ("add", "replace"):
            assert index.add([texts[text]], [name], replace=what == "replace") == 1
            kept[name] = texts[text]
        elif what == "remove" and name not in kept:
            with pytest.raises(DataError, match=rf"^there is no item {name} in the index\.$"):
                index.remove([name])
        elif what == "remove":
            assert index.remove([name]) == 1
            del kept[name]
        elif what == "compact":
            index.compact()
        else:
            index.close()
            index = Index.open(place)
    assert len(index) == len(kept) == index.verify()
    assert {name: index.item(name) for name in index.ids()} == kept
    for text in texts:
        same = {name for name, value in index.query(text, top=None) if value == 1}
        assert same == {name for name, one in kept.items() if sorted(set(one.split())) == sorted(set(text.split()))}
    index.close()


# --- nothing is lost ---


@pytest.mark.parametrize("seed", range(5))  # fifty kills in all, which several processes share
def test_a_killed_writer_loses_nothing(place, seed):
    """A writer is killed ten times; what it has said is there is there, and nothing else but whole batches."""
    texts = texts_of(50)
    Index.build(place, [f"{text} x" for text in texts], [f"first {at}" for at in range(50)], threshold=0.8).close()
    draw = random.Random(seed)
    done = 0
    for _ in range(10):
        writer, heard = start_writer(place, done, texts)
        said = [heard.recv()]  # then it is at work
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
            assert index.query(texts[name % 50] + f" {name}", top=1) == [(name, 1.0)]


def test_a_full_disk(place):
    """A limit on the size of files stands for the disk: what was there stays, and the error says what is wrong."""
    texts = texts_of(3000)
    Index.build(place, texts[:50], threshold=0.8).close()
    code = f"""
import resource, signal, sys
from lookalike.errors import DataError
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
    assert done.stdout == f"{place}: could not be written, the disk may be full; nothing was changed.\n", done.stderr
    with Index.open(place) as index:
        assert index.verify() == 50


READER = """
import sys
from lookalike.errors import DataError
from lookalike.index import Index
with Index.open(sys.argv[1], read_only=True) as index:
    print(len(index), flush=True)
    sys.stdin.readline()
    print(len(index), flush=True)
    try:
        index.add(["one more"])
    except DataError as error:
        print(error, flush=True)
    sys.stdin.readline()
"""


def test_a_reader_in_another_process(place):
    """It sees what is added, cannot write, and keeps the files from being replaced."""
    texts = texts_of(20)
    with Index.build(place, texts[:10], threshold=0.8) as index:
        command = [sys.executable, "-c", READER, str(place)]
        reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "10\n"
        index.add(texts[10:])
        print(file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "20\n"
        assert reader.stdout.readline() == f"{place}: was opened to be read only.\n"
        with pytest.raises(DataError, match=r"another process has the index open; try again when it is done\.$"):
            index.compact()
        print(file=reader.stdin, flush=True)
        assert reader.wait() == 0
        reader.stdin.close()
        reader.stdout.close()
        assert index.compact() >= 0
        with pytest.raises(DataError, match=r"is open in this process already; one Index serves all threads\.$"):
            Index.open(place)
        assert len(index) == 20


ADDER = """
import sys
from lookalike.index import Index
with Index.open(sys.argv[1]) as index:
    index.add(sys.stdin.read().split("\\n"))
"""


def test_another_process_begins_the_index(place):
    """The bands that it has chosen are those of all."""
    texts = texts_of(30)
    with Index.create(place, threshold=0.8) as index:
        assert index.query(texts[0]) == []
        done = subprocess.run([sys.executable, "-c", ADDER, str(place)], input="\n".join(texts[:20]), text=True)
        assert done.returncode == 0
        assert index.query(texts[0], top=1) == [(0, 1.0)]
        assert index.add(texts[20:]) == 10
        assert index.verify() == 30


def test_what_is_no_index(place, tmp_path):
    with pytest.raises(DataError, match=r"some\.index: there is no index; `lookalike index build` makes one\.$"):
        Index.open(place)
    Index.create(place).close()
    with pytest.raises(DataError, match=r"some\.index: is there already; an index is made in a new folder\.$"):
        Index.create(place)
    with pytest.raises(DataError, match=r"cannot be made, there is no folder "):
        Index.create(tmp_path / "no" / "index")
    with Index.open(place) as index:
        assert len(index) == 0
        assert index.query("anything") == []
        index.settings["format"] = 99
        with index.store.writing() as writer:
            writer.put_settings(index.settings)
    with pytest.raises(DataError, match=r"an index of format 99, where 1 is read; build it again\.$"):
        Index.open(place)


def test_a_failed_build_leaves_nothing(place, tmp_path):
    with pytest.raises(DataError, match=r"^ids must be unique; 'a' occurs more than once\.$"):
        Index.build(place, ["one", "two"], ["a", "a"])
    assert list(tmp_path.iterdir()) == []


def test_damage_is_found(place):
    with Index.build(place, texts_of(30), threshold=0.8) as index:
        with index.store.writing() as writer:
            key = next(iter(dict(writer.pairs("buckets"))))
            writer.txn.delete(key, db=writer.tables["buckets"])
        with pytest.raises(
            DataError, match=r"^the table of buckets does not fit the items of the index; build it again\.$"
        ):
            index.verify()


def test_threads_that_add_lose_nothing(place):
    """Items without ids are numbered within what is written at a time."""
    with Index.create(place) as index:
        threads = [
            Thread(target=index.add, args=([f"text {number} of thread {at}" for number in range(20)],))
            for at in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(index.ids()) == list(range(120))
        assert index.verify() == 120


def test_all_is_added_or_nothing(place, tmp_path):
    with Index.build(place, ["a text", "another"], ["a", "b"]) as index:
        with pytest.raises(AlreadyThere, match=r"^id 'a' is there already; "):
            index.add((f"text {number}" for number in range(50)), [*range(49), "a"], batch=10)
        assert list(index.ids()) == ["a", "b"]
        assert index.verify() == 2


def test_another_that_writes(place):
    """Whoever has patience waits; a server has little."""
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
            with pytest.raises(StoreError, match=r": another is writing to the index; try again when it is done\.$"):
                index.add(["another text"])
            assert index.query("a text") == [(0, 1.0)]
            index.store.patience = None
            waiting = Thread(target=index.add, args=(["another text"],))
            waiting.start()
            other.stdin.close()
            waiting.join()
        assert list(index.ids()) == [0, 1]


def test_compacting_among_readers_and_writers(place):
    """Threads that ask meanwhile are answered, and nothing is lost that others add."""
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
    with pytest.raises(StoreError, match=r": is cut short; take a whole copy, or build it again\.$"):
        Index.open(place)


def test_an_index_made_in_python_on_the_command_line(run, inputs, place):
    Index.build(place, ["the cat sat on the mat"], ["cat"], threshold=0.5).close()
    (inputs / "a.jsonl").write_text('{"id": 1, "text": "the cat sat on the mat"}\n')
    assert run("index", "add", place, inputs / "a.jsonl").code == 0
    assert len(run("index", "query", place, inputs / "a.jsonl").out.splitlines()) == 2


def test_a_lower_threshold_tells_its_recall(run, inputs, place):
    Index.build(place, texts_of(50), threshold=0.8, expected=10_000_000).close()
    (inputs / "a.txt").write_text(texts_of(1)[0] + "\n")
    low, high = (
        run("index", "query", place, inputs / "a.txt", "-t", t).err.split("threshold ")[1][:6] for t in ("0.3", "0.9")
    )
    assert float(low) < 0.9 < 0.99 < float(high)


def test_the_commands(run, inputs, out):
    (inputs / "a.csv").write_text("id,text\n" + "".join(f"t{at},{text}\n" for at, text in enumerate(texts_of(40))))
    made = run("index", "build", out / "i", inputs / "a.csv", "-t", "0.5", "-s", "word:2", "--store-text")
    assert made.code == 0, made.err
    assert made.err.startswith("built: 40 items; ")
    again = run("index", "add", out / "i", inputs / "a.csv")
    assert (again.code, again.err.splitlines()[-1]) == (
        1,
        "lookalike: id 't0' is there already; replace=True (--replace) takes the new item.",
    )
    assert run("index", "add", out / "i", inputs / "a.csv", "--replace").code == 0
    asked = run("index", "query", out / "i", inputs / "a.csv", "--top", "1")
    assert len(asked.out.splitlines()) == 40
    assert run("index", "remove", out / "i", "t1", "t2").err == "removed: 2 items, 38 left\n"
    assert run("index", "remove", out / "i", "t1").code == 1
    assert run("index", "remove", out / "i").code == 2
    assert "items: 38\n" in run("index", "info", out / "i").out
    assert run("index", "verify", out / "i").err == "verified: 38 items, all in order\n"
    assert run("index", "compact", out / "i").err.startswith("compacted: ")
