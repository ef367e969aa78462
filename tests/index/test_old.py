"""Open indexes that the previous version wrote: they answer, and compacting upgrades them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lookalike.core.errors import StoreError
from lookalike.index import Index
from tests.commands import complaint
from tests.index.old_files import MADE, TEXTS

KEPT = {  # what the previous version answered
    "texts": ([0, 1, 3, "four", "five", "six"], [(0, 1.0), ("four", 1.0), (1, 19 / 21)]),
    "hashes": ([0, 1, 3, 4, 5, 6], [(0, 1.0), (4, 1.0), (1, 19 / 21)]),
    "sets": (["a", "b", "d"], [("a", 1.0)]),
    "vectors": ([0, 1, 3], [(0, 0.0)]),
}


@pytest.fixture(params=MADE)
def old(request, tmp_path):
    """Return the name and the folder of an index that the previous version wrote."""
    with zipfile.ZipFile(Path(__file__).with_name("old_files.zip")) as packed:
        packed.extractall(tmp_path)
    for name in ("in-use", "writing"):
        (tmp_path / request.param / name).touch()
    return request.param, tmp_path / request.param


def answers(index, name):
    """Return what an index answers to all items that were put into it, and to one of their kind."""
    items = list(MADE[name][0])
    return [index.query(item) for item in items], index.query_batch(MADE[name][0]).to_arrow().to_pylist()


def test_an_old_index_answers(old):
    name, place = old
    ids, first = KEPT[name]
    with Index.open(place, read_only=True) as index:
        assert (list(index.ids()), index.verify()) == (ids, len(ids))
        assert index.query(MADE[name][0][0]) == first
        assert index.query(MADE[name][0][2]) == (first if name == "sets" else [])  # which was removed
        assert ids[1] in index
        assert MADE[name][1] is None or MADE[name][1][2] not in index
        assert index.info()["format"] == 2
        assert name != "texts" or [index.item(one) for one in ids] == [*TEXTS[:2], *TEXTS[3:]]


def test_an_old_index_is_not_changed(old, run):
    """Nor exported; the message says how to upgrade it."""
    name, place = old
    items, ids = MADE[name][0], KEPT[name][0]
    with Index.open(place) as index:
        for change in (
            lambda: index.add(items[:1], ["new"]),
            lambda: index.remove([ids[0]]),
            lambda: index.export(place.parent / "some.parquet"),
        ):
            with pytest.raises(StoreError, match=r"has an older format, .*; upgrade it with index\.compact\(\)\.$"):
                change()
        assert list(index.ids()) == ids
    said = complaint(run("index", "remove", place, str(ids[0])))
    assert said.endswith(f"upgrade it with `lookalike index compact {place}`.")


OPENER = """
import sys
from lookalike.index import Index
with Index.open(sys.argv[1], read_only=True):
    print(flush=True)
    sys.stdin.readline()
"""


@pytest.mark.slow
def test_an_old_index_that_another_process_reads_is_not_upgraded(old):
    """That process would read the new tables as if they were old ones."""
    name, place = old
    command = [sys.executable, "-c", OPENER, str(place)]
    with Index.open(place) as index:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "\n"
            with pytest.raises(StoreError, match=r"another process has the index open; try again when it is done\.$"):
                index.compact()
            assert list(index.ids()) == KEPT[name][0]
            reader.communicate("\n")
        index.compact()
        assert list(index.ids()) == KEPT[name][0]


def test_compacting_upgrades_an_old_index(old):
    """Ids, their order, texts and answers stay; then it can be changed."""
    name, place = old
    items, (ids, _) = MADE[name][0], KEPT[name]
    with Index.open(place) as index:
        before = answers(index, name), [index.item(one) for one in ids], index.settings["wanted"]
        index.compact()
        assert (answers(index, name), [index.item(one) for one in ids], index.settings["wanted"]) == before
        assert (list(index.ids()), index.verify(), index.info()["format"]) == (ids, len(ids), 3)
    with Index.open(place) as index:
        assert answers(index, name) == before[0]
        index.add(items[2:3], ["new"])
        index.remove([ids[0]])
        assert list(index.ids()) == [*ids[1:], "new"]
        assert ("new", index.query(items[2])[0][1]) in index.query(items[2])
        index.add(items[:1])
        assert index.verify() == len(ids) + 1
