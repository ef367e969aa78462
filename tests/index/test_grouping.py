"""Changes that are written together: each caller gets its own answer, after the flush."""

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import AlreadyThere, DataError, NotThere, StoreError
from lookalike.index import Index
from lookalike.index.grouping import Change, WriteQueue
from lookalike.index.store import BusyStore
from tests.index_samples import clear, made, texts_of


class Writes:
    """A group whose first write waits until it may go on, so that other changes gather meanwhile."""

    def __init__(self):
        self.may, self.begun, self.groups = Event(), Event(), []
        self.group, self.error = WriteQueue(self.write), StoreError("the disk is full.")

    def write(self, changes):
        self.begun.set()
        self.may.wait()
        self.groups.append([change.ids for change in changes])
        if [7] in self.groups[-1]:
            raise self.error
        return [len(change.ids) for change in changes]


def test_what_arrives_during_a_flush_is_written_with_the_next():
    writes = Writes()
    first = writes.group.put(Change(None, [0]))
    writes.begun.wait()
    others = [writes.group.put(Change(None, [at, at])) for at in (1, 2, 3)]
    assert not any(one.done() for one in (first, *others))
    writes.may.set()
    assert [one.result() for one in (first, *others)] == [1, 2, 2, 2]
    assert writes.groups == [[[0]], [[1, 1], [2, 2], [3, 3]]]
    writes.group.close()


def test_a_group_that_fails_is_written_one_by_one():
    """Only the change that is to blame has an error; a cancelled one is not written."""
    writes = Writes()
    writes.group.put(Change(None, [0]))
    writes.begun.wait()
    some = [writes.group.put(Change(None, [at])) for at in (6, 7, 8, 9)]
    assert some[3].cancel()
    writes.may.set()
    assert (some[0].result(), some[2].result()) == (1, 1)
    with pytest.raises(StoreError, match="the disk is full"):
        some[1].result()
    with pytest.raises(CancelledError):
        some[3].result()
    writes.group.close()
    assert writes.groups == [[[0]], [[6], [7], [8]], [[6]], [[7]], [[8]]]


def test_a_group_waits_once_for_another_writer():
    """Not once for each change of the group, which clients would wait for in turn."""
    writes = Writes()
    writes.group.put(Change(None, [0]))
    writes.begun.wait()
    writes.error = BusyStore("another writer is using the index.")
    some = [writes.group.put(Change(None, [at])) for at in (6, 7, 8)]
    writes.may.set()
    for one in some:
        with pytest.raises(BusyStore):
            one.result()
    writes.group.close()
    assert writes.groups == [[[0]], [[6], [7], [8]]]


def test_a_group_goes_on_if_the_tables_cannot_be_tidied():
    def tidy():
        raise MemoryError

    group = WriteQueue(lambda changes: [1] * len(changes), tidy)
    for _ in range(2):
        assert group.put(Change(None, [1])).result(timeout=60) == 1
    group.close()


def test_a_closed_group_can_be_used_again():
    writes = Writes()
    writes.may.set()
    writes.group.close()
    for _ in range(2):
        assert writes.group.put(Change(None, [1])).result() == 1
        writes.group.close()


def test_threads_that_add_share_flushes(place, monkeypatch):
    with made(place) as index:
        index.add([clear(0)], [0])
        flushes = []
        write = index._write_together
        monkeypatch.setattr(index.group, "_write", lambda changes: (flushes.append(len(changes)), write(changes))[1])

        def add(client):
            for at in range(20):
                assert index.add([clear(100 * client + at)], [100 * client + at]) == 1
                assert index.query(clear(100 * client + at), k=1) == [(100 * client + at, 1.0)]

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(add, range(1, 9)))
        assert index.verify() == len(index) == 161
        assert sum(flushes) == 160
        assert len(flushes) < 160


def test_each_caller_has_its_own_error(place):
    """Ids that exist, or that an earlier change of the same group takes, and unknown ones."""
    with made(place) as index:
        index.add(["one", "two"], ["a", "b"])
        with index.store.writing():  # so that all of these gather
            added = [index.add_later([text], [name]) for text, name in (("x", "c"), ("y", "a"), ("z", "d"), ("y", "c"))]
            replaced = index.add_later(["new"], ["b"], replace=True)
            numbered = [index.add_later(["p q r", "s t u"]), index.add_later(["v w"])]
        assert [added[0].result(), added[2].result(), replaced.result()] == [1, 1, 1]
        assert [one.result() for one in numbered] == [2, 1]
        for one, name in ((added[1], "a"), (added[3], "c")):
            with pytest.raises(AlreadyThere, match=f"^id '{name}' already exists; use replace=True"):
                one.result()
        with pytest.raises(NotThere, match=r"^there is no item 'no' in the index\.$"):
            index.remove(["c", "no"])
        assert list(index.ids()) == ["a", "c", "d", "b", 0, 1, 2]
        assert index.verify() == 7
        with pytest.raises(DataError, match=r"^ids must be unique; 'e' occurs more than once\.$"):
            index.add_later(["x", "y"], ["e", "e"])


def test_closing_writes_what_waits(place):
    with made(place) as index:
        index.add([clear(0)], [0])
        later = [index.add_later([clear(at)], [at]) for at in range(1, 300)]
    assert all(one.result() == 1 for one in later)
    with Index.open(place) as index:
        assert index.verify() == 300


@pytest.mark.parametrize("kind", ["sets", "vectors", "bits"])
def test_other_kinds_of_items(place, kind):
    """Rows of several callers are joined; an item of another size is an error of its caller alone."""
    items = {"sets": [{at, at + 1, 7} for at in range(20)], "vectors": list(np.eye(20)), "bits": None}[kind]
    items = items or [f"{1 << at:020b}" for at in range(20)]
    measures = {"sets": ("jaccard", 0.6), "vectors": ("angle", 10), "bits": ("hamming", 1)}
    measure, threshold = measures[kind]
    with made(place, measure=measure, threshold=threshold) as index:
        index.add(items[:1], [0])
        with index.store.writing():
            some = [index.add_later([item], [at]) for at, item in enumerate(items[1:], 1)]
            odd = None if kind == "sets" else index.add_later([items[0][:7]], [99])
        assert [one.result() for one in some] == [1] * 19
        if odd is not None:
            with pytest.raises(DataError, match="must have 20 dimensions, like those of the index; got 7"):
                odd.result()
        assert index.verify() == 20
        assert [index.query(item, k=1)[0][0] for item in items] == list(range(20))


KINDS = st.sampled_from(["add", "replace", "remove"])
CHANGES = st.lists(st.tuples(KINDS, st.integers(0, 9), st.integers(0, 5)), max_size=40)


@given(CHANGES, st.booleans())
@settings(max_examples=25)
def test_changes_are_made_in_order(tmp_path_factory, changes, together):
    """As in a dictionary, whether each waits for its answer or all are written in a few groups."""
    texts, kept, expected = texts_of(6), {}, []
    with made(tmp_path_factory.mktemp("index") / "one", store_text=True) as index:
        index.add(["something else"], ["first"])
        done: list[Future[int]] = []
        for what, name, text in changes:
            if what == "remove":
                done.append(index.group.put(Change(None, [name])))
                expected.append(NotThere if name not in kept else 1)
                kept.pop(name, None)
            else:
                done.append(index.add_later([texts[text]], [name], replace=what == "replace"))
                expected.append(AlreadyThere if what == "add" and name in kept else 1)
                if expected[-1] == 1:
                    kept[name] = texts[text]
            if not together:
                done[-1].exception()
        assert [type(one.exception()) if one.exception() else one.result() for one in done] == expected
        assert {name: index.item(name) for name in index.ids()} == kept | {"first": "something else"}
        assert index.verify() == len(kept) + 1
