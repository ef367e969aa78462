"""Check that new records get the clusters they would have, whose ids stay, and that nothing is half done."""

import multiprocessing
import os
import signal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from lookalike.core.errors import AlreadyThere, DataError, LookalikeError, StoreError, UsageError
from lookalike.entities import resolve, two_companies
from lookalike.index import Index
from lookalike.linking import RecordIndex, registry, shelf

FIELDS = ["name=name", "address=address", "phone=phone"]
MADE = two_companies(300, seed=4)
ORDER = np.random.default_rng(4).permutation(600)
PEOPLE = pa.concat_tables([MADE.left, MADE.right.rename_columns(MADE.left.column_names)]).take(pa.array(ORDER))


@cache
def resolved(count):
    """Return the result for the first people; made by the tests that need it, not by all that import this."""
    return resolve(PEOPLE.slice(0, count), fields=FIELDS)


@pytest.fixture
def place(tmp_path):
    """Return a folder with an index of the first 300 people."""
    RecordIndex.build(tmp_path / "people.index", resolved(300)).close()
    return tmp_path / "people.index"


def link(place, records):
    with RecordIndex.open(place) as index:
        return index.link(records, update=True)


def clusters_of(index):
    table = index.to_arrow()
    return dict(zip(table["id"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def pairs(clusters):
    """Return the pairs of ids of one cluster."""
    ids = sorted(clusters)
    return {(a, b) for at, a in enumerate(ids) for b in ids[at + 1 :] if clusters[a] == clusters[b]}


def agreement(one, other):
    """Return the F1 of the pairs of one grouping, as if the other were the truth."""
    return 2 * len(one & other) / (len(one) + len(other))


def test_the_index_has_the_clusters_of_the_result(place):
    with RecordIndex.open(place, read_only=True) as index:
        ids = resolved(300).ids.to_pylist()
        assert clusters_of(index) == {
            id: ids[first] for id, first in zip(ids, resolved(300).clusters().label, strict=True)
        }
        assert len(index) == 300
        assert index.index.verify() > 900
        assert repr(index) == f"<RecordIndex of 300 records, in {place}>"


def test_linking_in_batches_is_almost_as_resolving_at_once(place):
    """Also to the truth; clusters of the index are never split, and their ids are those of their oldest records."""
    with RecordIndex.open(place) as index:
        before = clusters_of(index)
        for start in (300, 400, 500):
            linked = index.link(PEOPLE.slice(start, 100), update=True)
            assert [id for id, _ in linked] == PEOPLE["id"].to_pylist()[start : start + 100]
            assert {id: index.cluster_of(id) for id in linked.ids} == dict(linked)
        after = clusters_of(index)
        assert index.index.verify() > 1800
    assert list(after) == PEOPLE["id"].to_pylist()
    assert pairs(before) <= pairs(after)
    order = {id: at for at, id in enumerate(after)}
    assert all(order[cluster] <= order[id] and after[cluster] == cluster for id, cluster in after.items())
    ids = resolved(600).ids.to_pylist()
    whole = pairs({id: ids[first] for id, first in zip(ids, resolved(600).clusters().label, strict=True)})
    truth = {tuple(sorted(pair)) for pair in zip(*(column.to_pylist() for column in MADE.truth.columns), strict=True)}
    assert agreement(pairs(after), whole) > 0.97
    assert agreement(pairs(after), truth) > agreement(whole, truth) - 0.02


def test_a_batch_alone_has_the_probabilities_of_the_index(place):
    """One record is linked as 300 are: the model is kept."""
    with RecordIndex.open(place, read_only=True) as index:
        every = index.link(PEOPLE.slice(300, 300))
        known = [row for row in range(300) if every.matches[row] in resolved(300).ids.to_pylist()][:5]
        for row in known:
            alone = index.link(PEOPLE.slice(300 + row, 1))
            assert alone.matches == [every.matches[row]]
            assert alone.probability == pytest.approx(every.probability[[row]])
        assert index.link(PEOPLE.slice(0, 0), id="id").to_arrow().num_rows == 0


def test_the_same_records_again_change_nothing(place):
    batch = PEOPLE.slice(300, 50)
    with RecordIndex.open(place) as index:
        first = index.link(batch, update=True)
        after, size = clusters_of(index), index.index.store.byte_size()
        again = index.link(batch, update=True)
        assert (again.repeated, first.repeated, first.updated) == (True, False, True)
        assert again.to_arrow().equals(first.to_arrow())
        assert (clusters_of(index), index.index.store.byte_size()) == (after, size)
        with pytest.raises(DataError, match=r"^these records were added before; only the first run can explain them"):
            again.explain(0)


def test_an_id_that_is_there(place):
    with RecordIndex.open(place) as index:
        before = clusters_of(index)
        with pytest.raises(AlreadyThere, match=r"^id 'A\d+|^id 'B\d+"):
            index.link(PEOPLE.slice(299, 2), update=True)
        assert clusters_of(index) == before
        other = PEOPLE.slice(300, 1).set_column(0, "id", pa.array([17]))
        index.link(other, update=True)
        with pytest.raises(AlreadyThere, match=r"^id '17' is already in the index"):  # as text it is the same
            index.link(PEOPLE.slice(301, 1).set_column(0, "id", pa.array(["17"])), update=True)


ROWS = [
    {"id": "old", "name": "Ann Lee", "address": "9 Elm Street, Ansel", "phone": "212-555-0100"},
    {"id": "young", "name": "Ann Lee", "address": "3 Oak Road, Orm", "phone": "646-555-0199"},
]
BRIDGE = {"id": "both", "name": "Ann Lee", "address": "9 Elm St, Ansel", "phone": "646-555-0199"}


def test_a_record_that_joins_two_clusters(tmp_path):
    """The older id survives, the answer names the other one, which stays a name for the cluster of its record."""
    people = pa.concat_tables([pa.Table.from_pylist(ROWS), PEOPLE.select(ROWS[0])], promote_options="default")
    found = resolve(people, model=resolved(300).model())
    with RecordIndex.build(tmp_path / "people.index", found) as index:
        assert (index.cluster_of("old"), index.cluster_of("young")) == ("old", "young")
        linked = index.link([BRIDGE], update=True)
        assert linked.replaced == {"young": "old"}
        assert linked.to_arrow()["replaced"].to_pylist() == ["young"]
        assert "cluster 'young' is now part of 'old'" in linked.lines()
        assert {index.cluster_of(id) for id in ("old", "young", "both")} == {"old"}
        assert {field["way"] for field in linked.explain(0).rows()} >= {"same"}


def test_an_answer_without_update_changes_nothing(place):
    with RecordIndex.open(place, read_only=True) as index:
        linked = index.link(PEOPLE.slice(300, 20))
        assert not linked.updated
        assert len(index) == 300
        with pytest.raises(StoreError, match="was opened read-only"):
            index.link(PEOPLE.slice(300, 20), update=True)


def killed(place, name):
    """Add records in a process that is killed at the first call of a method of the writer."""

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(registry.Writer, name, die)
    with RecordIndex.open(place) as index:
        index.link(PEOPLE.slice(300, 50), update=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["put_batch", "add", "add_numbered", "_count", "settle"])
def test_a_kill_leaves_the_index_as_it_was(place, name):
    child = multiprocessing.get_context("spawn").Process(target=killed, args=(place, name))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    with RecordIndex.open(place) as index:
        assert clusters_of(index).keys() == set(resolved(300).ids.to_pylist())
        assert index.index.verify() > 900
        assert not index.link(PEOPLE.slice(300, 50), update=True).repeated
        assert len(index) == 350


def test_an_error_leaves_the_index_as_it_was(place, monkeypatch):
    with RecordIndex.open(place) as index:
        before = clusters_of(index)
        monkeypatch.setattr(registry.Writer, "_count", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index.link(PEOPLE.slice(300, 50), update=True)
        assert clusters_of(index) == before


def test_another_writer_meanwhile(place, monkeypatch):
    """The records are linked again, now to those that were added meanwhile."""
    with RecordIndex.open(place) as index:
        whole = registry.WorkingSet.link

        def link_late(work, model, cut_off, run):
            monkeypatch.setattr(registry.WorkingSet, "link", whole)
            index.link(PEOPLE.slice(300, 50), update=True)
            return whole(work, model, cut_off, run)

        monkeypatch.setattr(registry.WorkingSet, "link", link_late)
        index.link(PEOPLE.slice(350, 50), update=True)
        assert list(clusters_of(index)) == PEOPLE["id"].to_pylist()[:400]
        index.index.verify()


def test_what_cannot_be_kept(tmp_path):
    path = tmp_path / "people.index"
    two = resolve(MADE.left, MADE.right, fields=["name:customer=name", "address:street", "phone:telephone"])
    unnamed = resolve(PEOPLE.drop_columns("id").slice(0, 50), fields=FIELDS)
    for found, message in (
        (two, "an index of records is built from one table; got two. Put them into one first."),
        (unnamed, "records of an index need ids that stay the same: name their column with id=; the table has name"),
    ):
        with pytest.raises(UsageError) as raised:
            RecordIndex.build(path, found)
        assert str(raised.value).startswith(message)
        assert not path.exists()


def test_records_of_another_kind(place):
    with RecordIndex.open(place) as index:
        for records, message in (
            (PEOPLE.drop_columns("phone"), "the table has no column 'phone' for field 'phone'; it has"),
            (PEOPLE.drop_columns("id"), "the table has no column 'id' for the id"),
            ([{"id": 1, "name": "a", "address": "b", "phone": "c"}] * 2, "ids must be unique; 1 occurs more than once"),
        ):
            with pytest.raises(LookalikeError) as raised:
                index.link(records, update=True)
            assert str(raised.value).startswith(message)
        with pytest.raises(DataError, match=r"^there is no record 'x' in the index"):
            index.cluster_of("x")


def test_an_index_of_another_kind(tmp_path, place):
    with Index.build(tmp_path / "sets.index", [{1, 2, 3}], threshold=0.5):
        pass
    with pytest.raises(DataError, match=r"sets.index: the index holds documents, not records; build one with Rec"):
        RecordIndex.open(tmp_path / "sets.index")
    with pytest.raises(StoreError, match=r"none.index: no such folder; create an index with RecordIndex.build"):
        RecordIndex.open(tmp_path / "none.index")
    with pytest.raises(DataError, match="already exists"):
        RecordIndex.build(place, resolved(300))


def find_founder():
    """Return the number of the first record of the largest cluster."""
    clusters = resolved(300).clusters().to_arrow()
    founder = clusters["cluster"][int(clusters["size"].to_numpy().argmax())].as_py()
    return resolved(300).ids.to_pylist().index(founder)


@pytest.mark.parametrize(
    ("key", "entry", "message"),
    [
        (shelf.MODEL, None, "the index has no model; build it again."),
        (shelf.MODEL, b"nonsense", "the model of the index is damaged"),
        (shelf.SETTINGS, b"{", "the model of the index is damaged"),
        (shelf.RECORD, b"[1", "a record of the index is damaged"),
        (shelf.RECORD, b"[1]", "a record of the index is damaged"),
        (shelf.RECORD, None, "a record of the index is damaged (number"),
        (shelf.MEMBERS, b"{", "a cluster of the index is damaged"),
    ],
)
def test_damage(place, key, entry, message):
    """A damaged entry is an error of one line when it is needed."""
    founder = find_founder()
    if key in (shelf.RECORD, shelf.MEMBERS):
        key += shelf.key_of(founder)
    with Index.open(place) as index, index.store.writing() as writer:
        writer.attach(key, entry)
    copy = PEOPLE.slice(founder, 1).set_column(0, "id", pa.array(["copy"]))
    with pytest.raises(LookalikeError) as raised:
        link(place, copy)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_compact_keeps_records_and_clusters(place):
    with RecordIndex.open(place) as index:
        index.link(PEOPLE.slice(300, 50), update=True)
        before = clusters_of(index)
        index.index.compact()
        assert clusters_of(index) == before
        assert index.link(PEOPLE.slice(300, 50), update=True).repeated
    with RecordIndex.open(place) as index:
        assert clusters_of(index) == before
