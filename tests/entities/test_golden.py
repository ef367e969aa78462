"""Check golden records: each rule against a plain twin, two tables, types, and errors."""

from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.entities import pipeline, resolve, two_companies
from lookalike.entities.fields import as_fields
from lookalike.entities.golden import golden as merged
from lookalike.entities.golden import merge, parse_rules, rules_of
from lookalike.entities.stacking import Stacked
from tests.entities.shared import FIELDS, PEOPLE, clusters_of
from tests.kernel_samples import seeds

WORDS = ("Smith", "smith", "SMITH.", "Smithe", "jones", "n/a", "", None, "Müller", "muller")
NUMBERS = (3, 10, 9, -9, None, 3)
DAYS = ("2.1.2020", "1.2.2020", "2019-12-31", None, "n/a")
COLUMNS = {"name": WORDS, "count": NUMBERS, "day": DAYS}
DAY_OF = {"2.1.2020": date(2020, 1, 2), "1.2.2020": date(2020, 2, 1), "2019-12-31": date(2019, 12, 31)}


def plain(value):
    """Return a value without case, accents and punctuation; None if it is missing."""
    if not isinstance(value, str):
        return value
    folded = value.lower().replace("ü", "u").strip(".")
    return None if folded in ("", "n/a") else folded


def chosen(rows, members, column, rule):
    """Return the member that gives the value of a column: the twin of `merge`, for one cluster."""
    name, _, other = rule.partition(":")
    present = [at for at in members if plain(rows[at][column]) is not None]
    if not present:
        present, members = members, []
    gaps = {at: sum(plain(value) is None for value in rows[at].values()) for at in present}
    alike, exact = (Counter(map(of, (rows[at][column] for at in members))) for of in (plain, lambda value: value))

    def place(at, sign):
        value = rows[at][other or column]
        value = DAY_OF.get(value, value)
        missing = plain(value) is None
        number = value.toordinal() if isinstance(value, date) else value
        return (missing, 0 if missing else sign * number)

    keys = {
        "first": lambda at: 0,
        "complete": lambda at: gaps[at],
        "frequent": lambda at: (-alike[plain(rows[at][column])], -exact[rows[at][column]], gaps[at]),
        "longest": lambda at: -len(str(rows[at][column] or "")),
        "newest": lambda at: place(at, -1),
        "oldest": lambda at: place(at, 1),
        "min": lambda at: place(at, 1),
        "max": lambda at: place(at, -1),
    }
    return min(present, key=lambda at: (keys[name](at), at))


def drawn_table(rng, size):
    rows = [{name: rng.choice(values) for name, values in COLUMNS.items()} for _ in range(size)]
    types = {"name": pa.string(), "count": pa.int64(), "day": pa.string()}
    return rows, pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


@pytest.mark.parametrize("rule", ["first", "complete", "frequent", "longest", "newest:day", "oldest:count"])
@given(seeds, st.integers(1, 12))
def test_rules_agree_with_their_twins(rule, rng, size):
    rows, table = drawn_table(rng, size)
    parent = [rng.randint(0, at) for at in range(size)]
    label = np.array([at if parent[parent[at]] != parent[at] else parent[at] for at in range(size)])
    sources = merge(Stacked.of([table]), label, rules_of(Stacked.of([table]), {"*": rule}))
    firsts = [at for at in range(size) if label[at] == at]
    for column in COLUMNS:
        for place, first in enumerate(firsts):
            members = np.flatnonzero(label == first).tolist()
            expected = first if len(members) == 1 else chosen(rows, members, column, rule)
            assert sources[column][place] == expected, (column, members)


@pytest.mark.parametrize("rule", ["min", "max"])
@given(seeds, st.integers(2, 12))
def test_least_and_greatest_numbers_and_days(rule, rng, size):
    rows, table = drawn_table(rng, size)
    label = np.zeros(size, np.int64)
    sources = merge(Stacked.of([table]), label, rules_of(Stacked.of([table]), {"*": rule}))
    assert sources["count"][0] == chosen(rows, range(size), "count", rule)
    read = sum(row["day"] in DAY_OF for row in rows)
    if read >= 2:
        assert sources["day"][0] == chosen(rows, range(size), "day", rule)


@pytest.mark.parametrize(
    ("values", "newest"),
    [
        (["2020-01-02 9:00", "2020-01-02 10:00", "2020-01-01 23:59"], 1),
        (["2020-01-02T09:00:00.25Z", "2020-01-02T09:00:00.5Z", "2020-01-02"], 1),
        (["1/2/2020 11:00 AM", "1/2/2020 9:30 pm", "1/2/2020 12:10 AM"], 1),
        (["1.1.2020", "2.1.2020", "2020-01-02"], 1),  # the same day in two ways
        (["9", "$1,000", "1000.0"], 1),  # the same number
    ],
)
def test_equal_values_stay_in_the_order_of_the_table(values, newest):
    records = Stacked.of([pa.table({"when": values})])
    for rule in ("max", "newest:when"):
        sources = merge(records, np.zeros(3, np.int64), rules_of(records, {"when": rule}))
        assert sources["when"].tolist() == [newest]


def test_a_table_without_duplicates():
    table = PEOPLE.append_column("note", pa.array([None, "n/a", "rings twice", "rings", " "]))
    found = resolve(table, fields=["name=name", "phone"])
    golden = found.golden(by={"name": "longest", "note": "longest"})
    assert golden.to_arrow().to_pylist() == [
        {"cluster": "a", "records": 2, "id": "a", "name": "Anne Lee", "phone": "212-555-0100", "note": "n/a"},
        {"cluster": "c", "records": 2, "id": "c", "name": "Robert Ray", "phone": "646-555-0199", "note": "rings twice"},
        {"cluster": "e", "records": 1, "id": "e", "name": "Zoe Quist", "phone": None, "note": " "},
    ]
    assert repr(golden) == "<3 golden records of 5 records>"
    assert golden.lines() == ["golden: 3 records of 5; 2 are merged from two or more"]
    assert golden[0][:3] == ("a", 2, "a")
    assert golden.explain(0)[1] == {"column": "name", "value": "Anne Lee", "from": "b", "rule": "longest"}
    assert golden.explain(0)[0]["rule"] == "first"


def test_every_record_is_in_one_golden_record():
    found = resolve(PEOPLE, PEOPLE, fields=["name=name*2", "phone"])
    golden = found.golden().to_arrow()
    assert sum(golden["records"].to_pylist()) == 10
    clusters = found.clusters().to_arrow()
    sizes = dict(zip(clusters["cluster"].to_pylist(), clusters["size"].to_pylist(), strict=True))
    merged = golden.filter(pa.compute.greater(golden["records"], 1))
    assert dict(zip(merged["cluster"].to_pylist(), merged["records"].to_pylist(), strict=True)) == sizes


def test_two_tables_become_one():
    left = pa.table({"id": [1], "name": ["Ann Lee"], "phone": ["212-555-0100"], "born": [1990], "note": ["x"]})
    right = pa.table({
        "key": ["r"], "who": ["Lee, Ann Maria"], "phone": ["212 555 0100"], "born": [1990.5], "name": ["member"],
    })  # fmt: skip
    records = Stacked.of([left, right], [("id", "key"), ("name", "who")])
    rules = rules_of(records, {"who": "longest", "name_2": "first"}, "id")
    golden = merged(records, clusters_of(2, [(0, 1, 0.99)], first=1), rules).to_arrow()
    assert golden.column_names == ["cluster", "table", "records", "id", "name", "phone", "born", "note", "name_2"]
    assert golden.to_pylist() == [{
        "cluster": 0, "table": "left", "records": 2, "id": "1", "name": "Lee, Ann Maria", "phone": "212-555-0100",
        "born": 1990.0, "note": "x", "name_2": "member",
    }]  # fmt: skip


def test_columns_that_belong_together():
    """The ids, the fields and the validation column, whatever they are called in the second table."""
    made = two_companies(400)
    left = made.left.rename_columns(["key", *made.left.column_names[1:]])
    right = made.right.rename_columns(["number", *made.right.column_names[1:-1], "since"])
    found = resolve(left, right, fields=FIELDS, id="key:number", validate="created:since", max_lag=90)
    golden = found.golden().to_arrow()
    assert golden.column_names == ["cluster", "table", "records", *left.column_names]
    assert golden["cluster"].equals(golden["key"])


def test_rules_are_checked_before_the_work(monkeypatch):
    """Those of proposed fields as well: here the two columns called name become two columns."""
    left = PEOPLE
    right = PEOPLE.rename_columns(["id", "who", "phone"]).append_column("name", pa.array(["member"] * 5))
    monkeypatch.setattr(pipeline, "propose", lambda *_: as_fields(["name:who=name", "phone"]))
    found = resolve(left, right, golden_by={"name_2": "longest", "who": "longest"})
    assert found.golden().to_arrow().equals(found.golden(by={"name_2": "longest", "name": "longest"}).to_arrow())
    assert str(found.golden().rules["name"]) == "longest"
    assert str(found.golden(by={}).rules["name"]) == "frequent"
    monkeypatch.setattr(pipeline, "normalise_fields", lambda *_: pytest.fail("rules come first"))
    with pytest.raises(LookalikeError, match=r"the records have no column 'nam' for the rule 'min'\."):
        resolve(left, right, golden_by={"nam": "min"})


def test_types_are_kept():
    born = pa.array([date(1990, 1, 2), None, None, date(1980, 7, 7), None], pa.date32())
    tags = pa.array([["x"], [], None, ["y", "z"], None], pa.list_(pa.string()))
    kind = pa.array(["p", "q", "p", "p", None]).dictionary_encode()
    table = PEOPLE.append_column("born", born).append_column("tags", tags).append_column("kind", kind)
    table = table.append_column("wait", pa.nulls(5, pa.month_day_nano_interval()))
    golden = resolve(table, fields=["name=name", "phone"]).golden().to_arrow()
    for name in ("born", "tags", "kind", "phone", "wait"):
        assert golden[name].type == table[name].type
    assert golden["born"].to_pylist() == [date(1990, 1, 2), date(1980, 7, 7), None]
    assert golden["tags"].to_pylist() == [["x"], ["y", "z"], None]


def test_types_that_arrow_supports_in_part():
    """Arrow cannot take rows of string views, which polars has, nor rank small floating-point numbers and booleans."""
    table = pa.table(
        {name: column.cast(pa.string_view()) for name, column in zip(PEOPLE.column_names, PEOPLE, strict=True)}
    )
    for kind in (pa.float16(), pa.bool_()):
        known = pa.array([0, 1, None, 1, 0], pa.int8()).cast(pa.float32()).cast(kind)
        found = resolve(table.append_column("known", known), fields=["name=name", "phone"])
        golden = found.golden(by={"known": "min", "name": "newest:known"}).to_arrow()
        assert golden["known"].to_pylist() == [0, 1, 0]
        assert golden["name"].to_pylist() == ["Anne Lee", "Robert Ray", "Zoe Quist"]
        assert found.to_arrow(show=True)["left_name"].to_pylist() == ["Ann Lee", "Bob Ray"]


def test_columns_with_our_names_are_kept():
    table = PEOPLE.append_column("cluster", pa.array([7] * 5)).append_column("records", pa.array([8] * 5))
    golden = resolve(table, fields=["name=name", "phone"]).golden().to_arrow()
    assert golden.column_names == ["cluster_2", "records_2", "id", "name", "phone", "cluster", "records"]
    assert golden["cluster"].to_pylist() == [7] * 3


def test_an_empty_table():
    golden = resolve(PEOPLE[:0], fields=["name=name", "phone"]).golden()
    assert (len(golden), golden.to_arrow().column_names) == (0, ["cluster", "records", "id", "name", "phone"])


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"nmae": "first"}, "the records have no column 'nmae' for the rule 'first'. Did you mean 'name'?"),
        ({"name": "newest:creatd"}, "the records have no column 'creatd' for the rule 'newest:creatd'."),
        ({"name": "newest"}, "the rule for 'name' must be newest:COLUMN; got 'newest'."),
        ({"name": "min:phone"}, "the rule for 'name' must be min; got 'min:phone'."),
        ({"tags": "min"}, "column 'tags' holds list<item: int64>, for which a rule must be one of complete, first, "),
        ({"name": "oldest:tags"}, "column 'tags' for the rule 'oldest:tags' holds list<item: int64>"),
        ({"name": "best"}, "the rule for 'name' must be one of frequent, complete, longest, first, newest, oldest, "),
    ],
)
def test_rules_that_cannot_be(by, message):
    found = resolve(PEOPLE.append_column("tags", pa.array([[1]] * 5)), fields=["name=name", "phone"])
    with pytest.raises(LookalikeError) as error:
        found.golden(by=by)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("given", ["name", "=first", "name="])
def test_rules_are_written_as_column_and_rule(given):
    with pytest.raises(LookalikeError) as error:
        parse_rules([given])
    assert str(error.value) == f"a rule for golden records must be COLUMN=RULE, such as name=frequent; got {given!r}."


@pytest.mark.parametrize(
    ("values", "types"),
    [
        (([[1]] * 5, ["x"] * 5), "list<item: int64> in the first table and string in the second"),
        (([b"\xff"] * 5, [1] * 5), "binary in the first table and int64 in the second"),
    ],
)
def test_columns_of_types_that_do_not_mix(values, types):
    left, right = (PEOPLE.append_column("tags", pa.array(tags)) for tags in values)
    found = resolve(left, right, fields=["name=name", "phone"])
    with pytest.raises(LookalikeError) as error:
        found.golden()
    assert str(error.value) == f"column 'tags' holds {types}, and no type holds both."


def test_columns_of_one_name():
    table = PEOPLE.append_column("note", PEOPLE["name"]).append_column("note", PEOPLE["phone"])
    found = resolve(table, fields=["name=name", "phone"])
    with pytest.raises(LookalikeError) as error:
        found.golden()
    assert str(error.value) == "the table has 2 columns 'note'; it has id, name, phone, note, note."
