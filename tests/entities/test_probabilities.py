"""Check the probabilities of matches: rivals, and tables with little to learn from."""

import numpy as np
import pyarrow as pa

from lookalike.entities import resolve, two_companies
from tests.entities.shared import FIELDS


def test_a_note_says_that_there_are_few_fields():
    table = pa.table({"name": ["ann lee", "bob ray", "anne lee"] * 30, "id": np.arange(90)})
    assert "fewer than 3 fields" in resolve(table, fields=["name"]).stats["note"]


def test_few_pairs_make_small_groups():
    """The scores of a small table are in separate groups, too."""
    companies = two_companies(300)
    found = resolve(companies.left, companies.right, fields=FIELDS, validate="created", max_lag=90)
    assert len(found.validation.pairs) >= 5
    assert found.validation.shares[-1] < 0.2 < 0.8 < found.validation.shares[0]
