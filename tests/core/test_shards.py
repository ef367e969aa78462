"""Check how processes share tasks: each is done once, and taken over from processes that have ended."""

import errno
import json
import os
import time
from contextlib import ExitStack
from threading import Thread

import numpy as np
import pytest

from lookalike.core import shards as module
from lookalike.core.errors import DataError, StoreError, UsageError
from lookalike.core.run import Finished, Run
from lookalike.core.shards import FINISHED, FOLDER, Shard, Shards
from lookalike.core.shared import SharedStorage


class Saying(Run):
    """A run that keeps its messages."""

    def __init__(self):
        super().__init__(2)
        self.said = []

    def say(self, line):
        self.said.append(line)


@pytest.fixture
def begun(tmp_path):
    """Return a function that starts one of some processes; all of them end with the test."""
    with ExitStack() as opened:

        def start(index, count=3, about=None, run=None):
            shards = opened.enter_context(Shards(tmp_path / "w", Shard(index, count), run or Saying()))
            shards.begin({"seed": 1} if about is None else about)
            return shards

        yield start


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "POLL", 0.02)


def make(shards, *tasks):
    """Do the tasks that can be claimed; return them."""
    done = []
    for at in shards.claims(tasks):
        shards.publish(tasks[at], [[np.array([at])]])
        done.append(tasks[at])
    return done


def number(shards, task):
    """Return what `make` saved."""
    return int(shards.arrays(task)[0][0])


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("3", r"shard must be I/N, such as 0/8 for the first of 8 processes; got '3'\."),
        ("-1/4", "shard must be I/N, such as"),
        ("4/4", r"shard must be I/N with I below N; got '4/4'\. Processes are counted from 0\."),
        ("9/4", r"shard must be I/N with I below N; got '9/4'\.$"),
        ("0/0", "got '0/0'"),
    ],
)
def test_shards_that_cannot_be(written, line):
    with pytest.raises(UsageError, match=line):
        Shard.parse(written)


# --- tasks ---


def test_each_task_is_done_once(begun):
    one, other = begun(0), begun(1)
    names = [f"t{at}" for at in range(9)]
    ours, theirs = one.claims(names), other.claims(names)
    claimed = [next(ours), next(theirs), next(theirs), next(ours), *theirs]
    assert sorted(claimed) == list(range(9))
    assert list(ours) == []
    assert claimed[:2] == [0, 3]  # they begin at different places
    for at in claimed:
        one.publish(names[at], [[np.array([at])]])
    assert make(other, *names) == []
    assert [number(other, name) for name in names] == list(range(9))


def test_arrays_of_any_shape_and_type(begun):
    one, other = begun(0), begun(1)
    parts = [
        [np.arange(3, dtype=np.uint8), np.arange(2, dtype=np.uint8)],
        [np.arange(6.0).reshape(3, 2)],
        [np.empty(0, np.int64)],
        [np.array([True])],
    ]
    one.publish("t", parts, documents=7)
    assert other.facts("t")["documents"] == 7
    for at, (found, expected) in enumerate(zip(other.arrays("t"), map(np.concatenate, parts), strict=True)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(other.column("t", at), expected)


def test_a_process_that_is_alive_is_waited_for(begun, monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.1)
    run = Saying()
    one, other = begun(0), begun(2, run=run)
    assert next(one.claims(["stars"])) == 0

    def finish():
        while not run.said:
            time.sleep(0.01)
        one.publish("stars", [[np.array([5])]])

    thread = Thread(target=finish)
    thread.start()
    assert list(other.turns(["stars"], "stars")) == []
    thread.join()
    assert number(other, "stars") == 5
    assert run.said[0] == "waiting: for stars: 1 task that shard 0 has begun"


def test_the_tasks_of_a_process_that_ended(begun):
    one, other = begun(0), begun(1)
    assert next(one.claims(["t"])) == 0
    assert make(other, "t") == []
    one.close()
    assert make(other, "t") == ["t"]


def test_the_tasks_of_a_process_that_was_started_again(begun):
    """As after a kill: its file is still there, but the new process has another name."""
    one, other = begun(0), begun(1)
    assert next(one.claims(["t"])) == 0
    again = begun(0)
    assert make(other, "t") == ["t"]
    assert number(again, "t") == 0


def test_the_tasks_of_a_process_that_gives_no_signs_of_life(begun, monkeypatch):
    one, other = begun(0), begun(1)
    assert next(one.claims(["t"])) == 0
    one._left.set()  # its heart stands still, as after a power failure
    one._heart.join()
    assert make(other, "t") == []
    monkeypatch.setattr(module, "DEAD", 0.05)
    assert [other.publish("t", [[np.array([at])]]) for at in other.turns(["t"], "t")] == [None]
    one.publish("t", [[np.array([99])]])  # it was only slow
    assert number(other, "t") == number(one, "t") == 0


def test_signs_of_life(begun, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.02)
    monkeypatch.setattr(module, "DEAD", 0.5)
    one, other = begun(0), begun(1)
    assert next(one.claims(["t"])) == 0
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert make(other, "t") == []


def test_without_hard_links(begun, monkeypatch):
    def refused(*paths, **options):
        raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(os, "link", refused)
    one, other = begun(0), begun(1)
    assert next(one.claims(["t"])) == 0
    assert make(other, "t") == []
    one.publish("t", [[np.array([3])]])
    other.publish("t", [[np.array([4])]])
    assert number(other, "t") == 3


# --- the run ---


@pytest.mark.parametrize(
    ("about", "count", "line"),
    [
        ({"seed": 2}, 3, "seed was 1 and is now 2"),
        ({"seed": 1}, 4, "shards was 3 and is now 4"),
        ({"seed": 1, "version": "9"}, 3, "version was None and is now 9"),
    ],
)
def test_processes_that_differ(begun, about, count, line):
    begun(0)
    with pytest.raises(DataError, match=f"holds a different run: {line}; choose another workdir, or remove the folder"):
        begun(1, count, about)


def test_a_run_that_could_not_start_is_forgotten(begun):
    killed = begun(0)
    killed._left.set()
    killed._heart.join()
    killed.folder.remove("shard-0")
    begun(1, about={"seed": 5})
    with pytest.raises(DataError, match="seed was 5 and is now 1"):
        begun(0)


def test_what_a_failing_folder_says(begun, monkeypatch):
    """A sign of life that fails is followed by the next; for a task that cannot be saved, the error says what to do."""
    monkeypatch.setattr(module, "BEAT", 0.02)
    one = begun(0)

    def full(*paths, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="w: cannot be written: No space left on device; the same command resumes"):
            one.publish("t", [[np.arange(9)]])
        time.sleep(0.1)
        assert one._heart.is_alive()
    assert make(one, "t") == ["t"]


def test_facts_that_differ(begun):
    begun(0).agree("plan", {"bands": 5})
    with pytest.raises(DataError, match="bands was 5 and is now 6"):
        begun(1).agree("plan", {"bands": 6})


def test_one_process_finishes(begun, tmp_path):
    one, other = begun(0), begun(1)
    make(one, "a", "b")
    written = []

    def wait():
        with other, pytest.raises(Finished):
            other.finish(lambda: written.append(1))

    thread = Thread(target=lambda: one.finish(lambda: (thread2.start(), time.sleep(0.1), written.append(0))))
    thread2 = Thread(target=wait)
    thread.start()
    thread.join()
    thread2.join()
    assert written == [0]
    assert sorted(os.listdir(tmp_path / "w" / FOLDER)) == ["about", f"{FINISHED}.done"]
    with pytest.raises(Finished):
        begun(2)


def test_a_process_that_is_late(begun):
    """It was stopped, and the others have finished and removed the files meanwhile."""
    one, late = begun(0), begun(1)
    make(one, "a")
    late._left.set()
    late._heart.join()
    late.folder.remove("shard-1")
    one.finish(lambda: None)
    with pytest.raises(Finished):
        list(late.turns(["a", "b"], "b"))
    late._facts["a"] = {"columns": [["<i8", [1], 0]]}  # as if it had seen that the task was done
    with pytest.raises(Finished):
        late.arrays("a")


def test_a_shard_that_is_started_twice(begun, tmp_path):
    """The first of the two ends as soon as its files are gone."""
    one = begun(0)

    def parts():
        yield np.array([1])
        begun(0)

    with pytest.raises(StoreError, match=r"w: shard 0/3 was started again, and goes on without this one\."):
        one.publish("t", [parts()])


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be used as the folder of a run: "):
        Shards(tmp_path / "file", Shard(0, 1), Run(1))
    (tmp_path / "w" / FOLDER).mkdir(parents=True)
    (tmp_path / "w" / FOLDER / "about").write_text("{")
    with Shards(tmp_path / "w", Shard(0, 1), Run(1)) as one, pytest.raises(DataError, match="are damaged"):
        one.begin({})


@pytest.mark.parametrize("how", ["short", "gone", "note"])
def test_damaged_files(begun, tmp_path, how):
    one, other = begun(0), begun(1)
    one.publish("t", [[np.arange(1000)]])
    data, note = (tmp_path / "w" / FOLDER / f"t.{end}" for end in ("data", "done"))
    if how == "short":
        data.write_bytes(data.read_bytes()[:100])
    elif how == "note":
        note.write_text("[")
    else:
        data.unlink()
    error, line = (StoreError, "the data of t is gone") if how == "gone" else (DataError, "are damaged")
    with pytest.raises(error, match=line):
        other.arrays("t")
    with pytest.raises(error, match=line):
        other.column("t", 0)


def test_a_process_leaves_no_files_of_its_own(begun, tmp_path):
    one = begun(0)
    one.folder.write("new-0-deadbeef-t.data", b"of a killed process")
    one.close()
    again = begun(0)
    SharedStorage(again).empty("scratch", 10, np.int64)[:] = 1
    assert any(name.startswith("new-0-") for name in again.folder.names())
    again.close()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_has_worked_leaves_its_work(begun, tmp_path):
    one = begun(0)
    make(one, "t")
    one.close()
    assert sorted(os.listdir(tmp_path / "w" / FOLDER)) == ["about", "t.claim", "t.data", "t.done"]
    assert json.loads((tmp_path / "w" / FOLDER / "about").read_text())["shards"] == 3
    assert number(begun(1), "t") == 0


# --- pieces ---


def test_pieces_of_two_processes(begun):
    """They are done once each, and joined to the same columns."""
    found = {}

    def do(index):
        run = Run(2)
        storage = SharedStorage(begun(index, run=run))
        squares = storage.in_pieces(
            "squares",
            20,
            lambda at: iter(range(at)),
            lambda at, number: number * number,
            lambda at, made: ([[np.array(made, np.int64)], [np.array([at])]], {"documents": at}),
            run,
        )
        found[index] = [*storage.joined("squares", ["values", "numbers"], squares), storage.shards.tasks]

    threads = [Thread(target=do, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values, numbers, _ in found.values():
        assert values.tolist() == [number * number for at in range(20) for number in range(at)]
        assert numbers.tolist() == list(range(20))
    assert sum(tasks for *_, tasks in found.values()) == 20 + 2


def test_what_only_one_makes(begun):
    made = []
    stores = [SharedStorage(begun(index)) for index in range(2)]
    for store in stores:
        (found,) = store.once("x", lambda: made.append(1) or (np.array([4]),))
        assert found.tolist() == [4]
        each = store.made_each(["a", "b"], lambda at, run: (made.append(1) or np.array([at]),), Run(1))
        assert [one.tolist() for (one,) in each] == [[0], [1]]
    assert len(made) == 3
