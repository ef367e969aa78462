"""Check what the plan of a data frame is made from."""

import random

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.spark import items
from tests.samples import texts_of

pytestmark = pytest.mark.spark


def forms_first():
    """Return 1,000 filled-in forms, and then 3,000 texts that have little in common."""
    draw = random.Random(1)
    form = [f"field{at}" for at in range(60)]
    forms = [" ".join(draw.sample(form, 3) + form) for _ in range(1000)]
    return pa.table({"id": range(4000), "text": [*forms, *texts_of(3000)]})


def test_the_plan_of_a_large_collection_is_made_from_all_over_it(there, monkeypatch):
    """Neighbours by id are often alike, as files of one folder are, so that the first would say too much."""
    table, options = forms_first(), {"threshold": 0.8, "shingles": "word:2"}
    frame = there.frame(table)
    first = la.spark.plan(frame, **options)
    monkeypatch.setattr(items, "SMALL", 0)
    spread = la.spark.plan(frame, **options)
    assert spread.candidates < first.candidates / 3
    assert spread == la.spark.plan(frame.repartition(5), **options)
