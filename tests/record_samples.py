"""Read values as fields of records do."""

import pyarrow as pa

from lookalike.entities.fields import normalise


def read(value, kind, **options):
    """Return how one value is read, alone in its column."""
    return normalise(pa.array([value], pa.string()), kind, **options).values.to_pylist()[0]


def column(values, kind, **options):
    return normalise(pa.array(values, pa.string()), kind, **options).values.to_pylist()
