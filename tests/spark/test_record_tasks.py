"""Check that records are expanded and turned into sets."""

import pyarrow as pa

from lookalike.entities.candidates import record_sets
from lookalike.entities.fields import Column, Field
from lookalike.spark.record_tasks import OfRecords, written_out
from tests.engines import PLAN


def test_records_are_written_out_and_made_sets():
    fields = (Field("name", "n", "n", "name"), Field("sex", "s", "s", "category"), Field("born", "b", "b", "date"))
    batch = pa.record_batch(
        {
            "id": [1, 2],
            "field0": ["Bill O'Brien", "Ann Lee"],
            "field1": pa.array(["f", None]),
            "field2": ["3/4/2020", "5/6/2020"],
        }
    )
    [made] = written_out(iter([batch]), fields, [None, None, True])
    assert made["content"].to_pylist() == [["william obrien", "f", "2020-04-03"], ["anne lee", None, "2020-06-05"]]
    found = OfRecords(PLAN, fields, frozenset({(2, "2020-06-05"), (0, "2020-04-03")})).sets(made["content"])
    columns = [
        Column("name", "name", *[pa.array(["william obrien", "anne lee"], pa.large_string())] * 2),
        Column("born", "date", *[pa.array(["2020-04-03", None], pa.large_string())] * 2),
    ]
    expected = record_sets(columns, slice(0, 2))
    assert (found.indptr.tolist(), found.elements.tolist()) == (expected.indptr.tolist(), expected.elements.tolist())
