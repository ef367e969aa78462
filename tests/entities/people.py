"""Fields of the two made-up companies, and a handful of people."""

import pyarrow as pa

FIELDS = ["name:customer=name", "address:street=address", "phone:telephone=phone"]
PEOPLE = pa.table({
    "id": ["a", "b", "c", "d", "e"],
    "name": ["Ann Lee", "Anne Lee", "Bob Ray", "Robert Ray", "Zoe Quist"],
    "phone": ["212-555-0100", "212-555-0100", "646-555-0199", "(646) 555-0199", None],
})  # fmt: skip


def pairs_of(found):
    table = found.to_arrow()
    return list(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))
