"""Check that the same batch again has the same result, and that no item is lost to its own id."""

import functools
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import StoreError
from lookalike.core.files import taking_turns
from lookalike.core.run import Run
from lookalike.index import Index
from lookalike.index.replay import Replay, SiftedBatch, packed, unpacked
from lookalike.index.store import building
from lookalike.io.documents import Source
from tests.index_samples import changed_texts_of, clear, made, state

ids = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.text(max_size=5))
rows = st.lists(st.one_of(st.none(), st.tuples(ids, st.floats(0, 1))), max_size=40)  # kept, or removed


def batch_of(rows, first=0):
    """Return a result in which each row is kept, or removed as similar to an item."""
    keep = np.array([row is None for row in rows], bool)
    like = [None if row is None else row[0] for row in rows]
    values = np.array([0.0 if row is None else row[1] for row in rows])
    return SiftedBatch(list(range(first, first + len(rows))), keep, like, values, 7, 2, 1)


def as_lists(sifted):
    return [list(column) for column in sifted[:4]]


@given(rows, st.integers(0, 1000))
def test_a_record_gives_back_what_was_decided(rows, first):
    sifted = batch_of(rows, first)
    again = unpacked(packed(sifted))
    assert as_lists(again) == as_lists(sifted)
    assert again[4:] == sifted[4:]


@given(st.lists(rows.filter(len), max_size=5), st.lists(st.integers(0, 30), max_size=20))
def test_batches_can_be_cut_at_other_places(parts, sizes):
    whole = [row for part in parts for row in part]
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    replay = Replay([packed(batch_of(part, start)) for part, start in zip(parts, starts, strict=False)])
    cuts = [0]
    for size in [*sizes, len(whole)]:
        cuts.append(min(len(whole), cuts[-1] + size))
    batches = [(whole[start:stop], None, start) for start, stop in pairwise(cuts)]
    found = list(replay.sift_all(iter(batches), Run(1)))
    assert [start for _, start in found] == cuts[:-1]
    joined = [[value for sifted, _ in found for value in sifted[at]] for at in range(4)]
    assert joined == as_lists(batch_of(whole))
    assert sum(sifted.candidates for sifted, _ in found) == 7 * len(parts)


def test_own_ids_are_those_of_the_items():
    replay = Replay([packed(batch_of([None, None]))])
    ((sifted, _),) = replay.sift_all([(["x", "y"], ["one", "two"], None)], Run(1))
    assert sifted.ids == ["one", "two"]


def test_a_record_that_ends_too_early_is_an_error():
    replay = Replay([packed(batch_of([None]))])
    with pytest.raises(StoreError, match=r"^the index has an incomplete record of this batch; restore the index "):
        list(replay.sift_all([(["x", "y"], None, None)], Run(1)))


# --- on the command line ---


def put_rows(path, texts, names=None):
    rows = [{"text": text} for text in texts] if names is None else [
        {"id": name, "text": text} for name, text in zip(names, texts, strict=True)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def state_in(path):
    with Index.open(path, read_only=True) as index:
        index.verify()
        return state(index)


@pytest.mark.parametrize("named", [True, False], ids=["ids", "numbers"])
@pytest.mark.parametrize("name", ["new.jsonl", "new.parquet"])
def test_the_same_batch_again_writes_the_same_files(run, inputs, out, monkeypatch, named, name):
    """Also after other batches, from another folder, and with other sizes of blocks."""
    texts = changed_texts_of(60, changes=1)
    day = put_rows(inputs / "day.jsonl", texts, range(60) if named else None)
    other = put_rows(inputs / "other.jsonl", changed_texts_of(30, changes=1, seed=5), range(100, 130))
    if not named:
        other.write_text("".join(json.dumps({"text": clear(n)}) + "\n" for n in range(9)))
    options = ("--against", out / "seen", "--update", "-s", "word:1", "-t", "0.6")
    written, states = [], []
    for moment in range(4):
        to = (out / f"{moment}-{name}", out / f"{moment}-removed.csv")
        done = run("dedup", day, *options, "-o", to[0], "--removed", to[1])
        assert done.code == 0, done.err
        assert ("the output is the same as then" in done.err) == (moment > 0)
        written.append([path.read_bytes() for path in to])
        if moment == 0:
            assert run("dedup", other, *options, "-o", out / "other.jsonl").code == 0
        states.append(state_in(out / "seen"))
        if moment == 1:
            day = day.rename(inputs / "moved.jsonl")
        if moment == 2:
            monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=300))
    assert all(files == written[0] for files in written)
    assert all(one == states[0] for one in states)


def test_a_changed_batch_with_the_same_ids_is_an_update(run, inputs, out):
    options = ("--against", out / "seen", "--update")
    first = put_rows(inputs / "a.jsonl", [clear(1), clear(2), clear(2), clear(3)], "abcd")
    assert run("dedup", first, *options, "-o", out / "one.jsonl").code == 0
    again = put_rows(inputs / "b.jsonl", [clear(1), clear(9), clear(2), clear(3)], "abcd")
    done = run("dedup", again, *options, "-o", out / "two.jsonl", "--removed", out / "gone.parquet")
    assert done.code == 0, done.err
    kept = [json.loads(line)["id"] for line in (out / "two.jsonl").read_text().splitlines()]
    assert kept == ["a", "b", "c", "d"]
    assert len(pq.read_table(out / "gone.parquet")) == 0
    with Index.open(out / "seen") as index:
        assert index.verify() == 4
        assert index.query(clear(9)) == [("b", 1.0)]
        assert index.query(clear(2)) == [("c", 1.0)]


@pytest.mark.slow
def test_of_two_first_runs_one_waits(inputs, out):
    """It then finds the index that the other has made, and removes what is in it."""
    day = put_rows(inputs / "day.jsonl", [clear(1), clear(2)], ["x", "y"])
    command = [sys.executable, "-m", "lookalike", "dedup", day, "--against", "seen", "--update", "-o", "new.jsonl"]
    with ExitStack() as stack:
        with taking_turns(out / "seen", pytest.fail):
            second = stack.enter_context(subprocess.Popen(command, cwd=out, stderr=subprocess.PIPE, text=True))
            assert second.stderr is not None
            assert second.stderr.readline() == "waiting for another run, which is creating seen\n"
            with building(out / "seen") as place, Index.create(place) as index:
                index.add([clear(1)], ["old"])
        assert "1 to keep" in second.stderr.read()
    assert second.returncode == 0
    assert [json.loads(line)["id"] for line in (out / "new.jsonl").read_text().splitlines()] == ["y"]
    assert sorted(os.listdir(out)) == ["new.jsonl", "seen"]


# --- in Python ---


@pytest.mark.parametrize("update", [False, True])
def test_no_item_is_removed_for_its_own_id(place, update):
    texts = changed_texts_of(40, changes=1)
    names = [f"n{number}" for number in range(40)]
    with made(place) as index:
        first = index.sift(texts, names, update=True)
        again = index.sift(texts, names, update=update)
        assert again.keep.tolist() == first.keep.tolist()
        assert again.kept == first.kept
        assert index.verify() == len(first.kept)


@pytest.mark.parametrize("update", [False, True])
def test_similar_items_of_an_index_sent_again_are_not_all_lost(place, update):
    """Each is similar to the other in the index, which was built without removing any."""
    words = [f"w{number}" for number in range(20)]
    one, other, third = (" ".join([*words[:19], f"x{number}"]) for number in range(3))
    with made(place) as index:
        index.add([one, other, third, clear(1)], ["a", "b", "c", "d"])
        sifted = index.sift([one, other, third], ["a", "b", "c"], update=update)
        assert sifted.kept == ["c"]
        assert sifted.like[:2] == ["b", "c"]
        if update:
            assert sorted(index.ids()) == ["c", "d"]
            assert index.verify() == 2


def test_identical_items_with_other_ids_still_count(place):
    """The old version is the first of two identical items, by which both are found."""
    with made(place) as index:
        index.add([clear(1), clear(1)], ["a", "b"])
        sifted = index.sift([clear(1)], ["a"], update=True)
        assert sifted.like == ["b"]
        assert list(index.ids()) == ["b"]
        assert index.query(clear(1)) == [("b", 1.0)]


def test_an_item_that_has_become_empty_has_no_old_version_any_more(place):
    with made(place) as index:
        index.add([clear(1)], ["a"])
        assert index.sift(["", clear(1)], ["a", "b"], update=True).keep.all()
        assert list(index.ids()) == ["b"]
