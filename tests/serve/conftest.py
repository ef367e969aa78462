"""Provide indexes and their servers."""

import pytest

from lookalike.index import Index
from lookalike.serve import make_app
from tests.serving import CAT, OTHER, TOKEN


@pytest.fixture
def indexed(tmp_path):
    """Create indexes in a folder, and close them at the end."""
    made = []

    def make(items=None, ids=None, **options):
        index = Index.create(tmp_path / f"secret{len(made)}.index", **options)
        made.append(index)
        if items is not None:
            index.add(items, ids)
        return index

    yield make
    for index in made:
        index.close()


@pytest.fixture
def texts(indexed):
    """Return an index that keeps its texts."""
    return indexed([CAT, OTHER], ["cat", "other"], threshold=0.5, shingles="char:4", store_text=True)


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Provide the same for tests that do not change it."""
    place = tmp_path_factory.mktemp("still") / "secret.index"
    options = {"threshold": 0.5, "shingles": "char:4", "store_text": True}
    with Index.build(place, [CAT, OTHER], ["cat", "other"], **options) as index:
        yield index


@pytest.fixture(scope="module")
def app(still):
    """Return its server; creating one takes longer than using it."""
    return make_app(still)


@pytest.fixture(scope="module")
def closed(still):
    """Return its server with a token."""
    return make_app(still, token=TOKEN)
