"""Provides a file of documents."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reports import documents


@pytest.fixture
def corpus(inputs):
    table = pa.table({"id": [f"d{at}" for at in range(40)], "text": documents(40)})
    pq.write_table(table, inputs / "corpus.parquet")
    return inputs / "corpus.parquet"
