"""Share fields of the two made-up companies, a handful of people, and a way to read one value."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.entities.fields import normalise
from lookalike.entities.grouping import Links, RecordClusters, group
from lookalike.items.sides import Sides

FIELDS = ["name:customer=name", "address:street=address", "phone:telephone=phone"]
PEOPLE = pa.table({
    "id": ["a", "b", "c", "d", "e"],
    "name": ["Ann Lee", "Anne Lee", "Bob Ray", "Robert Ray", "Zoe Quist"],
    "phone": ["212-555-0100", "212-555-0100", "646-555-0199", "(646) 555-0199", None],
})  # fmt: skip


def pairs_of(found):
    table = found.to_arrow()
    return list(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))


def thinned(made, part, seed=1):
    """Return the tables of two companies with this part of their matches: of each other one, a record is gone."""
    truth = made.truth.take(np.random.default_rng(seed).permutation(len(made.truth)))
    kept = round(part * len(truth))
    middle = (kept + len(truth)) // 2
    gone = truth["left_id"].slice(kept, middle - kept), truth["right_id"].slice(middle)
    tables = (
        table.filter(pc.invert(pc.is_in(table["id"], ids.combine_chunks())))
        for table, ids in zip((made.left, made.right), gone, strict=True)
    )
    return *tables, truth.slice(0, kept)


def clusters_of(records, scored, first=None, cut_off=0.5, equal=()):
    """Return the clusters of scored pairs, given by position: (left, right, probability)."""
    left, right = (np.array([pair[end] for pair in scored], np.int64) for end in (0, 1))
    probability = np.array([pair[2] for pair in scored], float)
    same = np.array([pair[:2] in equal for pair in scored], bool)
    links = Links.of(left, right, probability, probability, probability >= cut_off, same, cut_off)
    sides = Sides(first)
    return RecordClusters(ids=pa.array(range(records)), sides=sides, **group(records, links, sides)._asdict())


def read(value, kind, **options):
    """Return how one value is read, alone in its column."""
    return normalise(pa.array([value], pa.string()), kind, **options).values.to_pylist()[0]


def column(values, kind, **options):
    return normalise(pa.array(values, pa.string()), kind, **options).values.to_pylist()
