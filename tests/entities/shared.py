"""Share fields of the two made-up companies, a handful of people, and a way to read one value."""

import pyarrow as pa

from lookalike.entities.fields import normalise

FIELDS = ["name:customer=name", "address:street=address", "phone:telephone=phone"]
PEOPLE = pa.table({
    "id": ["a", "b", "c", "d", "e"],
    "name": ["Ann Lee", "Anne Lee", "Bob Ray", "Robert Ray", "Zoe Quist"],
    "phone": ["212-555-0100", "212-555-0100", "646-555-0199", "(646) 555-0199", None],
})  # fmt: skip


def pairs_of(found):
    table = found.to_arrow()
    return list(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))


def read(value, kind, **options):
    """Return how one value is read, alone in its column."""
    return normalise(pa.array([value], pa.string()), kind, **options).values.to_pylist()[0]


def column(values, kind, **options):
    return normalise(pa.array(values, pa.string()), kind, **options).values.to_pylist()
