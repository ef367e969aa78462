"""Check candidate pairs of records."""

import random

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.run import Run
from lookalike.entities.candidates import find_candidates
from lookalike.entities.fields import Column, canonical, normalise
from lookalike.items.sides import Sides

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("split", [None, 120])
def test_candidates_of_records(there, split):
    draw = random.Random(9)
    first, last = ["Bill", "William", "Ann", "Eve", "Bob", "Zoë"], ["Smith", "Smyth", "Lee", "Ray", "O'Neil", "Day"]
    rows = []
    for _ in range(200):
        born = f"{draw.randrange(1, 29)}/{draw.randrange(1, 13)}/19{draw.randrange(50, 99)}"
        rows.append([f"{draw.choice(first)} {draw.choice(last)}", draw.choice(["f", "m", None]), born])
    for at in range(0, 200, 4):  # the same person again, with a typo
        name, sex, born = rows[(at + 101) % 200]
        rows[at] = [name.replace("l", "1"), sex, born]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("name", "sex", "born"))})
    table = table.add_column(0, "id", pa.array(range(200)))
    kinds = {"name": "name", "sex": "category", "born": "date"}
    columns = []
    for name, kind in kinds.items():
        values = normalise(table[name], kind).values
        columns.append(Column(name, kind, values, canonical(values, kind)))
    here = find_candidates(columns, Sides(split), threshold=0.6, nearest=0, seed=1, run=Run())
    sides = [table] if split is None else [table.slice(0, split), table.slice(split)]
    fields = [f"{name}={kind}" for name, kind in kinds.items()]
    found = la.spark.resolve_candidates(*map(there.frame, sides), fields=fields).toArrow()
    pairs = set(zip(*found.to_pydict().values(), strict=True))
    assert pairs == {divmod(int(number), 200) for number in here.numbers}
    assert 100 < len(pairs) < 20_000


def test_kinds_of_fields_are_guessed_and_columns_renamed(there):
    left = pa.table({"key": ["a", "b"], "full name": ["Ann Lee", "Bob Ray"]})
    right = pa.table({"number": [7, 8], "who": ["bob ray", "Lee, Ann"]})
    found = la.spark.resolve_candidates(
        there.frame(left), there.frame(right), fields=["full name:who"], id="key:number"
    )
    assert sorted(zip(*found.toArrow().to_pydict().values(), strict=True)) == [("a", 8), ("b", 7)]
