"""Check that damage to an index is detected."""

import pytest

from lookalike.core.errors import DataError
from lookalike.index import Index
from tests.index_samples import texts_of


def test_damage_is_found(place):
    with Index.build(place, texts_of(30), threshold=0.8) as index:
        with index.store.writing() as writer:
            key = next(iter(dict(writer.pairs("buckets"))))
            writer.txn.delete(key, db=writer.tables["buckets"])
        with pytest.raises(
            DataError, match=r"^the table of buckets does not match the items of the index; build it again\.$"
        ):
            index.verify()
