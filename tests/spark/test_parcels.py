"""Check that rows dealt to a place arrive there together."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.spark.parcels import Parcels, in_order
from tests.engines import CUTS, SENT, in_batches


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60), CUTS, st.integers(1, 9), st.integers(1, 20), st.booleans()
)
def test_what_is_dealt_arrives_together(hashes, cuts, places, rows, compressed):
    schema = pa.schema({"hash": pa.int64(), "name": pa.string(), "list": pa.list_(pa.int64())})
    names, lists = [f"n{at}" for at in range(len(hashes))], [[at] * (at % 3) for at in range(len(hashes))]
    table = pa.table([pa.array(hashes, pa.int64()), names, lists], schema=schema)
    parcels = Parcels(schema, places, compressed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lookalike.spark.parcels.ROWS", rows)
        sent = pa.Table.from_batches(parcels.deal(in_batches(table, cuts), "hash"), SENT)
    assert all(0 <= place < places for place in sent["place"].to_pylist())
    arrived = list(parcels.arrived(in_batches(sent.sort_by("place"), cuts)))
    homes = {}
    for place, rows_here in arrived:
        for row in rows_here.to_pylist():
            assert homes.setdefault(row["hash"], place) == place
    every = pa.concat_tables([schema.empty_table(), *(rows_here for _, rows_here in arrived)]).sort_by("name")
    assert every.to_pylist() == table.sort_by("name").to_pylist()


def test_the_order_of_items():
    assert in_order(pa.array([3, -1, 2])).to_pylist() == [1, 2, 0]
    assert in_order(pa.array(["b", "é", "a"])).to_pylist() == [2, 0, 1]
    ranked = pa.array([{"rank": float("nan"), "id": "a"}, {"rank": 1.0, "id": "c"}, {"rank": 1.0, "id": "b"}])
    assert in_order(ranked).to_pylist() == [2, 1, 0]
    assert in_order(ranked, (True,)).to_pylist() == [2, 1, 0]
    falling = pa.array([{"rank": 1, "id": 5}, {"rank": None, "id": 1}, {"rank": 3, "id": 2}, {"rank": 3, "id": 1}])
    assert in_order(falling, (True,)).to_pylist() == [3, 2, 0, 1]
