"""Check that damaged settings of an index give one line that says what to do."""

import json
from contextlib import closing, suppress

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError, StoreError
from lookalike.index import Index
from lookalike.index.store import Store
from lookalike.index.tables import SETTINGS
from tests.commands import complaint

DAMAGED = r": the settings of the index are damaged; restore it from a backup, or build it again\.$"
ITEMS = {
    "jaccard": ["the first text of some", "the second text of some"],
    "angle": np.eye(3),
    "hamming": ["0101" * 8, "0111" * 8],
    "euclidean": np.eye(3),
}
THRESHOLDS = {"jaccard": 0.5, "angle": 20, "hamming": 2, "euclidean": 1}
VALUES = (None, True, -1, 10**30, "x", "1/0", {}, [None, None, None])


def put(place, content):
    """Store these bytes as the settings of an index."""
    store = Store(place)
    with closing(store), store.writing() as writer:
        writer.txn.put(SETTINGS, content)


def kept(place):
    with Index.open(place) as index:
        return json.loads(json.dumps(index.settings))


def all_paths(settings):
    """Yield the keys that lead to each value, at any depth."""
    for name, value in settings.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *rest) for rest in all_paths(value))


def parent_of(settings, path):
    for name in path[:-1]:
        settings = settings[name]
    return settings


@pytest.fixture(params=ITEMS)
def built(request, place):
    Index.build(place, ITEMS[request.param], measure=request.param, threshold=THRESHOLDS[request.param]).close()
    return place


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b"7", b"{}", b'{"format": 1}', b'{"format": 1, "wanted": 3}']
)
def test_garbled_settings(place, run, content):
    Index.build(place, ["a text"]).close()
    put(place, content)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=DAMAGED):
            Index.open(place, read_only=read_only)
    ended = run("index", "info", place)
    assert ended.code == 1
    assert complaint(ended) == (
        f"{place}: the settings of the index are damaged; restore it from a backup, or build it again."
    )


def test_missing_settings(built):
    """Each key is either needed, and its absence reported, or has a default."""
    settings = kept(built)
    for path in all_paths(settings):
        damaged = json.loads(json.dumps(settings))
        del parent_of(damaged, path)[path[-1]]
        use(built, damaged)


@pytest.mark.slow
def test_settings_of_wrong_types(built):
    """Whatever one of the settings is, the index can be used, or the error is one of ours."""
    settings = kept(built)
    for path in all_paths(settings):
        for value in VALUES:
            damaged = json.loads(json.dumps(settings))
            parent_of(damaged, path)[path[-1]] = value
            use(built, damaged)


def use(place, settings):
    """Use an index with these settings; the only errors are our own."""
    put(place, json.dumps(settings).encode())
    with suppress(LookalikeError), Index.open(place) as index:
        index.info()
        index.recall()
        index.query_batch(ITEMS.get(index.measure, []))
