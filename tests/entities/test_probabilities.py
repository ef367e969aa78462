"""Check the probabilities of matches: rivals, and tables with little to learn from."""

import numpy as np
import pyarrow as pa
import pytest

from lookalike.entities import resolve, two_companies
from tests.entities.shared import FIELDS


@pytest.mark.slow
def test_a_record_that_is_there_twice_has_two_matches():
    """The copy with another digit has a better rival, but differs in no field."""
    people = two_companies(300).left
    phones = [
        None if phone is None else f"{phone[:-1]}{(int(phone[-1]) + 1) % 10}" for phone in people["phone"].to_pylist()
    ]
    twice = pa.concat_tables([people, people.set_column(3, "phone", pa.array(phones))])
    twice = twice.set_column(0, "id", pa.array(np.arange(600)))
    found = resolve(people, twice, fields=["name", "address", "phone"])
    right = found.left == found.right % 300
    assert right.sum() >= 0.99 * 600
    assert right.mean() > 0.95


@pytest.mark.slow
def test_members_of_a_family_have_better_rivals():
    companies = two_companies(1000, seed=3)
    found = resolve(companies.left, companies.right, fields=FIELDS)
    names = found.points[:, 0]
    assert "one of the two records has a better match" in found.stats["note"]
    assert np.count_nonzero(names == 0) < 0.05 * len(found)


def test_a_note_says_that_there_are_few_fields():
    table = pa.table({"name": ["ann lee", "bob ray", "anne lee"] * 30, "id": np.arange(90)})
    assert "fewer than 3 fields" in resolve(table, fields=["name"]).stats["note"]


def test_few_pairs_make_small_groups():
    """The scores of a small table are in separate groups, too."""
    companies = two_companies(300)
    found = resolve(companies.left, companies.right, fields=FIELDS, validate="created", max_lag=90)
    assert len(found.validation.pairs) >= 5
    assert found.validation.shares[-1] < 0.2 < 0.8 < found.validation.shares[0]
