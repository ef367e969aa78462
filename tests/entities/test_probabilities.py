"""Check the probabilities of matches: copies, relatives, and tables with little to learn from."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lookalike.core.errors import UsageError
from lookalike.entities import resolve, two_companies
from lookalike.entities.companies import Rates
from lookalike.entities.patterns import MISSING_LEVEL
from lookalike.entities.probabilities import informative
from lookalike.linking import RecordIndex
from tests.entities.shared import FIELDS


@pytest.mark.slow
def test_every_copy_is_a_match():
    """Four copies of a person; in three of them, every second person has another value in one field."""
    people = two_companies(300).left.select(["name", "address", "phone", "created"])
    copies = [people]
    for damaged in ("address", "phone", "created"):
        values = people[damaged].to_pylist()
        other = [values[(row + 1) % 300] if row % 2 else value for row, value in enumerate(values)]
        copies.append(people.set_column(people.column_names.index(damaged), damaged, pa.array(other)))
    found = resolve(pa.concat_tables(copies), fields=["name", "address", "phone", "created=date"])
    right = found.left % 300 == found.right % 300
    assert right.sum() >= 0.95 * 300 * 6
    assert right.mean() > 0.95
    assert found.probability.sum() == pytest.approx(right.sum(), rel=0.05)


@pytest.mark.slow
def test_members_of_a_family_are_relatives():
    """In one table: people who share an address and a telephone but not the name; without the class F1 is below 0.6."""
    made = two_companies(1000, seed=3)
    both = pa.concat_tables([made.left, made.right.rename_columns(made.left.column_names)])
    found = resolve(both, fields=["name", "address", "phone"])
    assert [found.fields[some.field].name for some in found.mixture.relatives] == ["name"]
    assert "records that differ there are treated as relatives, not matches" in found.stats["note"]
    true = set(zip(*(made.truth[name].to_pylist() for name in ("left_id", "right_id")), strict=True))
    right = len(true & {(left, right) for left, right, _ in found})
    assert 2 * right / (len(found) + len(true)) > 0.93
    assert found.probability.sum() == pytest.approx(right, rel=0.05)


@pytest.mark.parametrize("people", [18, 60, 200])
def test_a_table_without_duplicates_has_none(people):
    """Nothing shows what a match looks like, so few that agree in part are no matches."""
    for seed in range(4):
        table = two_companies(people, seed=seed, rates=Rates(families=0)).left
        found = resolve(table, fields=["name", "address", "phone"])
        assert found.every.probability.sum() < 0.02 * people
        assert len(found) <= 1


@pytest.mark.parametrize("people", [18, 60, 200])
def test_a_small_table_with_some_duplicates(people):
    """They are found, and no more is stated."""
    stated = right = true = 0
    for seed in range(4):
        made = two_companies(people, seed=seed, rates=Rates(families=0, shared=1))
        some = made.right.rename_columns(made.left.column_names).slice(0, people // 6)
        found = resolve(pa.concat_tables([made.left, some]), fields=["name", "address", "phone"])
        truth = set(zip(*(made.truth[name].to_pylist() for name in ("left_id", "right_id")), strict=True))
        stated += found.probability.sum()
        right += len(truth & {(left, right) for left, right, _ in found})
        true += len(some)
    assert right >= 0.8 * true  # the others have moved, or differ in two fields
    assert stated == pytest.approx(right, abs=max(1, 0.1 * right))


def test_the_customers_of_the_example_are_eighteen_people(tmp_path):
    """And a reader of the newsletter is linked to the customer who it is."""
    folder = Path(__file__).parents[2] / "examples" / "customers"
    shop, newsletter, same = (
        list(csv.DictReader((folder / f"{name}.csv").read_text().splitlines()))
        for name in ("shop", "newsletter", "same-people")
    )
    found = resolve(shop, fields=["name", "street", "phone"])
    assert len(found) == 0
    names = {"full_name": "name", "address": "street", "telephone": "phone"}
    readers = [{names.get(key, key): value for key, value in row.items()} for row in newsletter]
    with RecordIndex.build(tmp_path / "people.index", found) as index:
        linked = index.link(readers).to_arrow().to_pylist()
    truth = {row["newsletter"]: row["shop"] for row in same}
    assert {row["id"]: row["cluster"] for row in linked if row["known"]} == truth


def test_a_note_says_that_there_are_few_fields():
    table = pa.table({"name": ["ann lee", "bob ray", "anne lee"] * 30, "id": np.arange(90)})
    assert "fewer than 3 informative fields" in resolve(table, fields=["name"]).stats["note"]


def test_informative_fields():
    """A field that most pairs lack, or that agrees in nearly all random pairs, does not count."""
    levels = np.array([[0, MISSING_LEVEL, 3, 3], [3, MISSING_LEVEL, 0, 3], [3, 2, 3, 3]], np.uint8)
    chance = np.array([[0, 0, 0, 3]] * 95 + [[3, 0, 3, MISSING_LEVEL]] * 5, np.uint8)
    assert informative(levels, chance) == 2
    assert informative(levels, chance[:0]) == 3
    assert informative(levels[:0], chance) == 0


def test_no_precision_is_promised_on_a_guess():
    table = pa.table({"name": ["ann lee", "bob ray", "anne lee"] * 30, "city": ["Ansel", "Bree", "Ansel"] * 30})
    with pytest.raises(UsageError) as error:
        resolve(table, fields=["name", "city"], precision=0.9)
    assert str(error.value) == (
        "precision cannot be promised with fewer than 3 informative fields; got 0.9. "
        "Name a column for validate=, give 50 labels=, compare another field, or leave out precision=."
    )


def test_few_pairs_make_small_groups():
    """The scores of a small table are in separate groups, too."""
    companies = two_companies(300)
    found = resolve(companies.left, companies.right, fields=FIELDS, validate="created", max_lag=90)
    assert len(found.validation.pairs) >= 5
    assert found.validation.shares[-1] < 0.2 < 0.8 < found.validation.shares[0]
