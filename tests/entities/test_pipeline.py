"""Check entity resolution end to end: against the truth, and with faulty tables."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import lookalike as la
from lookalike.core.errors import DataError, LookalikeError, UsageError
from lookalike.entities import Field, pipeline, resolve, two_companies
from lookalike.entities.fields import as_days, normalise
from lookalike.entities.pipeline import each_record_once, least_probability
from tests.entities.shared import FIELDS, PEOPLE, pairs_of


@pytest.fixture(scope="module")
def companies():
    return two_companies(2000, seed=7)


@pytest.fixture(scope="module")
def truth(companies):
    return set(zip(*(companies.truth[name].to_pylist() for name in ("left_id", "right_id")), strict=True))


def quality(found, truth):
    pairs = pairs_of(found)
    right = sum(pair in truth for pair in pairs)
    return right / max(1, len(pairs)), right / len(truth)


# --- two companies ---


@pytest.fixture(scope="module")
def by_rivals(companies):
    return resolve(companies.left, companies.right, fields=FIELDS)


@pytest.fixture(scope="module")
def by_lag(companies):
    return resolve(companies.left, companies.right, fields=FIELDS, validate="created", max_lag=90)


@pytest.mark.slow
def test_candidates_of_two_companies(by_rivals, truth):
    every = set(pairs_of(by_rivals.every))
    assert len(every & truth) / len(truth) > 0.99
    assert by_rivals.candidates.reduction > 0.98
    assert len(by_rivals.every) == len(by_rivals.candidates.numbers) == len(every)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["by_rivals", "by_lag"])
def test_matches_of_two_companies(request, name, truth):
    found = request.getfixturevalue(name)
    precision, recall = quality(found, truth)
    assert precision > 0.85
    assert recall > 0.93
    assert found.probability.sum() == pytest.approx(precision * len(found), rel=0.12)
    assert (found.validation is None) == (name == "by_rivals")
    assert found.basis == (
        "a comparison of each pair with its rivals" if name == "by_rivals" else "the differences in created"
    )


@pytest.mark.slow
@pytest.mark.parametrize("max_lag", [None, 90])
@pytest.mark.parametrize("precision", [0.9, 0.97])
def test_precision_asked_for(companies, truth, precision, max_lag):
    """Against the truth, within 0.05."""
    options = {"validate": "created", "max_lag": max_lag, "precision": precision}
    found = resolve(companies.left, companies.right, fields=FIELDS, **options)
    assert found.probability.mean() >= precision - 1e-9
    got, recall = quality(found, truth)
    assert got >= precision - 0.05
    assert recall > 0.6


@pytest.mark.slow
def test_precision_expected_of_the_mixture(companies):
    found = resolve(companies.left, companies.right, fields=FIELDS, precision=0.97)
    assert len(found)
    assert found.probability.mean() >= 0.97 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"validate": "created", "max_lag": 90}])
def test_one_to_one_of_two_companies(companies, truth, options):
    found = resolve(companies.left, companies.right, fields=FIELDS, one_to_one=True, **options)
    assert len(set(found.left.tolist())) == len(set(found.right.tolist())) == len(found)
    precision, recall = quality(found, truth)
    assert precision > 0.9
    assert recall > 0.92


@pytest.mark.slow
def test_shares_of_a_lag_beyond_reach_are_left_out(by_lag, companies):
    """All scored pairs have a lag of 0 to 90 days; the others are counted."""
    found = by_lag.every
    days = as_days(normalise(companies.left["created"], "date").values)
    others = as_days(normalise(companies.right["created"], "date").values)
    lags = others[found.right] - days[found.left]
    assert ((lags >= 0) & (lags <= 90)).all()
    left_out = len(found.candidates.numbers) - len(found)
    assert by_lag.stats["note"] == f"{left_out:,} pairs left out: lag not between 0 and 90"


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"one_to_one": True}, {"validate": "created"}])
def test_results_do_not_depend_on_threads(options):
    made = two_companies(400, seed=2)
    found, again = (
        resolve(made.left, made.right, fields=FIELDS, threads=threads, **options).to_arrow() for threads in (1, 3)
    )
    assert found.equals(again)


def in_a_file(array):
    return isinstance(array, np.memmap) or (array is not None and in_a_file(array.base))


@pytest.mark.parametrize("validate", [None, "created"])
@pytest.mark.parametrize("two", [True, False])
def test_results_do_not_depend_on_memory(tmp_path, validate, two):
    """With limited memory, the same arrays are in files, which are gone at the end."""
    made = two_companies(400, seed=2)
    tables = (
        [made.left, made.right]
        if two
        else [pa.concat_tables([made.left, made.right.rename_columns(made.left.column_names)])]
    )
    options = {"fields": FIELDS if two else ["name", "address", "phone"], "validate": validate}
    if validate:
        options["max_lag"] = 900
    found, again = (
        resolve(*tables, **options, **where) for where in ({}, {"memory": "1GB", "workdir": tmp_path / "w"})
    )
    assert again.every.to_arrow().equals(found.every.to_arrow())
    assert again.lines() == found.lines()
    assert again.clusters().to_arrow().equals(found.clusters().to_arrow())
    assert in_a_file(again.every.probability)
    assert not list(tmp_path.iterdir())


def test_more_records_than_fit_in_memory(monkeypatch):
    said = []
    run = la.core.run.Run(1)
    run.say = said.append
    monkeypatch.setattr(pipeline, "BYTES_PER_RECORD", 1_000_000_000)
    resolve(PEOPLE, fields=["name"], memory="500MB", run=run)
    assert said == [f"note: these records need about {len(PEOPLE)}.0 GB of memory, which is more than the limit"]


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter():
    made = two_companies(200, seed=4)
    order = np.random.default_rng(1).permutation(200)
    found = resolve(made.left, made.right, fields=FIELDS)
    again = resolve(made.left.take(order), made.right.take(order[::-1]), fields=FIELDS)
    both = set(pairs_of(found)) & set(pairs_of(again))
    assert len(both) >= 0.97 * max(len(found), len(again))


@pytest.mark.slow
def test_the_two_tables_may_be_swapped():
    made = two_companies(300, seed=4)
    found = resolve(made.left, made.right, fields=FIELDS)
    swapped = [f"{b}:{a}" for a, b in (one.split("=")[0].split(":") for one in FIELDS)]
    kinds = [one.split("=")[1] for one in FIELDS]
    again = resolve(made.right, made.left, fields=[f"{a}={b}" for a, b in zip(swapped, kinds, strict=True)])
    back = {(b, a) for a, b in pairs_of(again)}
    assert len(back & set(pairs_of(found))) >= 0.97 * max(len(found), len(again))


# --- one table ---


def both_in_one(companies):
    """Return the records of both companies in one table."""
    names = companies.left.column_names
    created = pa.array(companies.right["created"].to_pylist())
    days = [f"{text[6:]}-{text[3:5]}-{text[:2]}" for text in created.to_pylist()]
    right = companies.right.rename_columns(names).set_column(4, "created", pa.array(days))
    return pa.concat_tables([companies.left, right])


@pytest.mark.slow
@pytest.mark.parametrize("single", [False, True])
def test_one_table(companies, truth, single):
    """Without `single`, the wrong pairs are family members who differ only in the given name."""
    found = resolve(both_in_one(companies), fields=["name", "address", "phone"], one_to_one=single)
    pairs = {tuple(sorted(pair)) for pair in pairs_of(found)}
    assert (found.left < found.right).all()
    assert len(pairs & truth) / len(truth) > 0.9
    assert len(pairs & truth) / len(pairs) > (0.9 if single else 0.7)
    if single:
        used = found.left.tolist() + found.right.tolist()
        assert len(set(used)) == len(used)


@pytest.mark.slow
def test_max_lag_in_one_table_is_no_matter_of_the_order_of_rows(companies, truth):
    """Either record can come first; the lag counts from the earlier to the later value."""
    whole = both_in_one(companies)
    counts = []
    for rows in (np.arange(len(whole)), np.arange(len(whole))[::-1]):
        options = {"validate": "created=date", "max_lag": 90}
        found = resolve(whole.take(rows), fields=["name", "address", "phone"], **options)
        counts.append(len({tuple(sorted(pair)) for pair in pairs_of(found)} & truth))
    assert counts[0] > 0.8 * len(truth)
    assert counts[1] == pytest.approx(counts[0], rel=0.05)


# --- results ---


@pytest.mark.slow
def test_best_first(by_rivals, by_lag):
    for found in (by_rivals, by_lag):
        keys = list(zip(-found.probability, -found.score, found.left, found.right, strict=True))
        assert keys == sorted(keys)
        assert len(found) < len(found.every)
        assert (found.probability >= found.cut_off).all()
        assert set(pairs_of(found)) <= set(pairs_of(found.every))


def test_field_mapping():
    other = PEOPLE.rename_columns(["key", "who", "tel"])
    found = resolve(PEOPLE, other, fields=["name:who=name", "phone:tel=phone"], id="-")
    assert found.to_arrow()["left"].type == pa.int64()
    same = resolve(
        PEOPLE, other, fields=[Field("name", "name", "who", "name"), Field("tel", "phone", "tel", "phone")], id="-"
    )
    assert same.to_arrow().column_names[-2:] == ["name_points", "tel_points"]
    assert (same.left.tolist(), same.right.tolist()) == (found.left.tolist(), found.right.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(0.1, 0.2, 0.3), (1, 1, 1), (0.7, 0.1, 0.3), (1 / 3, 1 / 7, 3.3), (1.1, 2.2, 3.3)])
def test_weights_leave_the_perfect_perfect(weights):
    """However weights are rounded, pairs that agree in all fields have the highest score."""
    made = two_companies(400, seed=2, rates=la.entities.companies.Rates(typos=0, missing=0, moves=0, rewritten=0))
    fields = [f"{one}*{weight!r}" for one, weight in zip(FIELDS, weights, strict=True)]
    found = resolve(made.left, made.right, fields=fields, validate="created")
    assert (found.validation.shares[0], found.validation.perfect < 30) == (pytest.approx(1), True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_any_weights(seed):
    draw = np.random.default_rng(seed)
    names = [f"name {n % 60}" for n in range(120)]
    table = pa.table({"a": names, "b": names, "c": names, "d": names, "n": draw.permutation(60).repeat(1).tolist() * 2})
    for _ in range(12):
        fields = [f"{one}=text*{weight}" for one, weight in zip("abcd", draw.uniform(0.01, 3, 4), strict=True)]
        found = resolve(table, fields=fields, validate="n=number", nearest=0)
        assert found.validation.perfect == 0


def test_columns_with_signs_in_their_names():
    r"""A backslash escapes them, in fields, the id and the validation column."""
    names = ["a:id", "the=name", r"ph*one\n"]
    table = PEOPLE.rename_columns(names)
    found = resolve(table, fields=[r"the\=name=name", r"ph\*one\\n=phone"], id=r"a\:id")
    assert [field.left for field in found.fields] == names[1:]
    assert pairs_of(found) == pairs_of(resolve(PEOPLE, fields=["name", "phone"]))
    assert found.lines()[0] == r"fields: the\=name=name, ph\*one\\n=phone"
    assert [Field.parse(str(field)) for field in found.fields] == [
        Field(field.left, field.left, field.left, field.kind) for field in found.fields
    ]


def test_a_weight_counts():
    one, two = (resolve(PEOPLE, PEOPLE, fields=["name=name", f"phone=phone*{w}"]).every for w in (1, 3))
    assert (one.points == two.points)[~np.isnan(one.points)].all()
    assert two.score - one.score == pytest.approx(2 * np.where(np.isnan(one.points[:, 1]), 50, one.points[:, 1]))


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.large_string(), pa.int32()])
def test_ids_of_any_type(kind):
    ids = pa.array(range(5)).cast(kind)
    found = resolve(PEOPLE.set_column(0, "key", ids), fields=["name", "phone"], id="key")
    assert found.to_arrow().schema.field("left").type == kind


def test_ids_of_categories():
    """As in pandas."""
    coded = PEOPLE.set_column(0, "id", PEOPLE["id"].dictionary_encode())
    found = resolve(coded, fields=["name", "phone"])
    assert set(pairs_of(found)) == set(pairs_of(resolve(PEOPLE, fields=["name", "phone"])))


def test_the_two_tables_may_have_the_same_ids():
    assert ("a", "a") in pairs_of(resolve(PEOPLE, PEOPLE, fields=["name", "phone"]).every)


def test_nothing_given_is_changed():
    before = PEOPLE.to_pydict()
    resolve(PEOPLE, fields=["name", "phone"])
    assert PEOPLE.to_pydict() == before


def test_tables_in_chunks():
    chunked = pa.concat_tables([PEOPLE.slice(n, 1) for n in range(5)])
    assert (
        resolve(chunked, fields=["name", "phone"])
        .to_arrow()
        .equals(resolve(PEOPLE, fields=["name", "phone"]).to_arrow())
    )


# --- one to one, and precision ---


def test_one_to_one_takes_the_best():
    draw = np.random.default_rng(1)
    for _ in range(50):
        pairs = np.array(sorted({tuple(sorted(two)) for two in draw.integers(0, 8, (12, 2)) if two[0] != two[1]}))
        rank = draw.integers(0, 4, len(pairs)).astype(float)
        order = np.argsort(-rank, kind="stable")
        chosen = order[each_record_once(pairs[order, 0], pairs[order, 1], 8)]
        used = pairs[chosen].ravel().tolist()
        assert len(set(used)) == len(used)
        for at in set(range(len(pairs))) - set(chosen.tolist()):  # a chosen pair at least as good excludes it
            assert any(rank[other] >= rank[at] and set(pairs[at]) & set(pairs[other]) for other in chosen)
    none = np.zeros(0, np.int64)
    assert each_record_once(none, none, 0).tolist() == []


@pytest.mark.parametrize(
    ("probability", "precision"),
    [
        ([1, 0.8, 0.8, 0.8], 0.9),
        ([0.9] * 5, 0.9),
        ([0.5, 0.5], 0.9),
        ([1, 1, 0.5, 0.5, 0.5], 0.8),
        ([], 0.9),
        ([0.3], 1),
    ],
)
def test_least_probability(probability, precision):
    """Pairs above it have the precision on average, also with ties, and no lower value would do."""
    given = np.array(probability, float)
    least = least_probability(given, precision)
    chosen = given[given >= least]
    assert not len(chosen) or chosen.mean() >= precision - 1e-12
    for lower in set(given[given < least].tolist()):
        assert given[given >= lower].mean() < precision


# --- bad input ---


def test_a_field_that_is_empty_throughout():
    for nothing in (pa.nulls(5), pa.array([None] * 5, pa.string()), pa.array(["", " ", "n/a", "-", None])):
        found = resolve(PEOPLE.append_column("mail", nothing), fields=["name=name", "phone=phone", "mail=text"])
        assert found.stats["note"].split("; ")[0] == "mail is empty in all records and has no effect"
        assert ("a", "b") in pairs_of(found.every)
        assert np.isnan(found.every.points[:, 2]).all()


def test_all_fields_are_empty():
    found = resolve(pa.table({"name": [None, "", "-"], "phone": ["", None, ""]}), fields=["name=name", "phone=phone"])
    assert len(found) == len(found.every) == 0
    assert found.to_arrow().num_rows == 0


def test_dates_that_cannot_be_read():
    table = PEOPLE.append_column("born", pa.array(["2000-01-01", "soon", "32.13.2000", None, "2000-01-01"]))
    found = resolve(table, fields=["name", "born=date"])
    assert found.stats["note"].split("; ")[0] == "2 values of born cannot be read as date: set to missing"


def test_dates_none_of_which_can_be_read():
    """They are present, and the note says how many cannot be read."""
    table = PEOPLE.append_column("born", pa.array(["soon", "late", "x", "y", "z"]))
    note = resolve(table, fields=["name", "born=date"]).stats["note"]
    assert "5 values of born cannot be read as date" in note


@pytest.mark.parametrize("which", ["left", "right", "both", "one"])
@pytest.mark.parametrize("options", [{}, {"one_to_one": True}, {"precision": 0.9}])
def test_empty_tables(which, options):
    empty = PEOPLE.slice(0, 0)
    tables = {"left": (empty, PEOPLE), "right": (PEOPLE, empty), "both": (empty, empty), "one": (empty,)}[which]
    found = resolve(*tables, fields=["name", "phone"], **options)
    assert (len(found), len(found.every)) == (0, 0)
    assert found.to_arrow().num_rows == 0
    assert found.to_arrow().column_names[:2] == ["left", "right"]
    assert found.lines()
    if which == "one":
        assert len(found.clusters()) == 0


@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables(rows):
    found = resolve(PEOPLE.slice(0, rows), fields=["name", "phone"])
    assert len(found.every) == rows - 1


def test_huge_numbers_that_validate():
    """There is no warning, whatever the unit."""
    table = pa.table({"name": [f"name {n // 2}" for n in range(200)], "n": [f"{n // 2}e200" for n in range(200)]})
    try:
        found = resolve(table, fields=["name=text"], validate="n=number")
    except DataError:
        return
    assert np.isfinite(found.validation.shares).all()


TWICE = pa.table([["a", "b"], ["c", "d"], ["x", "y"]], names=["name", "name", "phone"])


@pytest.mark.parametrize(
    ("tables", "options", "kind", "message"),
    [
        ((PEOPLE,), {"fields": []}, UsageError, "fields must be a list of at least one column to compare; got []."),
        (
            (PEOPLE,),
            {"fields": ["name", "nme"]},
            DataError,
            "the table has no column 'nme' for field 'nme'; it has id, name, phone. Did you mean 'name'?",
        ),
        (
            (PEOPLE, PEOPLE),
            {"fields": ["name:who"]},
            DataError,
            "the second table has no column 'who' for field 'name'; it has id, name, phone.",
        ),
        (
            (PEOPLE.drop(["phone"]), PEOPLE),
            {"fields": ["phone"]},
            DataError,
            "the first table has no column 'phone' for field 'phone'; it has id, name.",
        ),
        (
            (PEOPLE, PEOPLE.drop(["phone"])),
            {"fields": ["phone"]},
            DataError,
            "the second table has no column 'phone' for field 'phone'; it has id, name.",
        ),
        ((PEOPLE,), {"fields": ["name", "name"]}, UsageError, "each field can be given only once; got 'name' twice."),
        (
            (PEOPLE,),
            {"fields": ["name=nam"]},
            UsageError,
            "the kind of field 'name' must be one of text, name, address, phone, email, date, number, category; "
            "got 'nam'. Did you mean 'name'?",
        ),
        (
            (PEOPLE,),
            {"fields": ["name*0"]},
            UsageError,
            "the weight of field 'name' must be a positive number; got 0.0.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name*x"]},
            UsageError,
            "the weight of field 'name' must be a positive number; got 'x'.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name", "phone"], "validate": "phone"},
            UsageError,
            "validate must be a column that is not compared; 'phone' is among the fields.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name"], "validate": "phone"},
            UsageError,
            "validate must be a column of dates or numbers; 'phone' is of kind 'phone'.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name"], "validate": "born"},
            DataError,
            "the table has no column 'born' for field 'born'; it has id, name, phone.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name"], "max_lag": 9},
            UsageError,
            "max_lag applies to the validation column: name it with validate=.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name"], "validate": "phone=number", "max_lag": -1},
            UsageError,
            "max_lag must be a positive number; got -1.",
        ),
        ((PEOPLE,), {"fields": ["name"], "precision": 0}, UsageError, "precision must be in (0, 1]; got 0."),
        (
            (PEOPLE,),
            {"fields": ["name"], "precision": 95},
            UsageError,
            "precision must be in (0, 1]; got 95. Did you mean 0.95?",
        ),
        ((PEOPLE,), {"fields": ["name"], "threshold": 0}, UsageError, "threshold must be in (0, 1]; got 0."),
        (
            (PEOPLE,),
            {"fields": ["name"], "nearest": -1},
            UsageError,
            "nearest must be an integer of at least 0; got -1.",
        ),
        ((PEOPLE,), {"fields": ["name"], "seed": -1}, UsageError, "seed must be an integer of at least 0; got -1."),
        ((PEOPLE,), {"fields": ["name"], "threads": 0}, UsageError, "threads must be an integer of at least 1; got 0."),
        (
            (PEOPLE,),
            {"fields": ["name"], "id": "key"},
            DataError,
            "the table has no column 'key' for the id; it has id, name, phone.",
        ),
        (
            (PEOPLE,),
            {"fields": ["name"], "id": "id=text"},
            UsageError,
            "the id must be COLUMN[:COLUMN_OF_B]; got 'id=text'.",
        ),
        (
            (PEOPLE.select(["id"]),),
            {},
            DataError,
            "no column can tell records apart: name those to compare with fields=.",
        ),
        (
            (PEOPLE.select(["id", "name"]), PEOPLE.select(["id", "phone"])),
            {},
            DataError,
            "no columns of the two tables correspond: name those to compare with fields=.",
        ),
        ((PEOPLE,), {"fields": ["name"], "id": "phone"}, DataError, "column 'phone' for the id is empty in 1 row."),
        (
            (PEOPLE.set_column(0, "id", pa.array([b"\xff%d" % at for at in range(5)])),),
            {"fields": ["name"]},
            DataError,
            "column 'id' for the id holds bytes that are not valid UTF-8.",
        ),
        (
            (5,),
            {"fields": ["name"]},
            UsageError,
            "records must be a table, a data frame, a list of dictionaries or a path; got int.",
        ),
        ((PEOPLE, "b.csv"), {"fields": ["name"]}, DataError, "b.csv: no such file or folder."),
        (
            (PEOPLE.set_column(1, "name", pa.array([[1]] * 5)),),
            {"fields": ["name"]},
            DataError,
            "a field must hold texts, numbers or dates; got list<item: int64>.",
        ),
    ],
)
def test_errors(tables, options, kind, message):
    with pytest.raises(kind) as error:
        resolve(*tables, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("tables", "options"),
    [
        ((TWICE,), {"fields": ["name"]}),  # two columns of one name
        ((TWICE.rename_columns(["id", "id", "phone"]),), {"fields": ["phone"]}),
        ((PEOPLE.set_column(0, "id", pa.array([[1], [2], [3], [4], [5]])),), {"fields": ["name"]}),
        ((PEOPLE.set_column(0, "id", pa.array(list("aabcd"))),), {"fields": ["name"]}),
        ((PEOPLE,), {"fields": [5]}),
        ((PEOPLE,), {"fields": "name"}),
        ((PEOPLE,), {"fields": ["name"], "id": "id*2"}),
        ((PEOPLE,), {"fields": [""]}),
        ((PEOPLE,), {"fields": ["name"], "validate": 5}),
        ((PEOPLE,), {"fields": ["name"], "validate": ""}),
        ((PEOPLE,), {"fields": ["name"], "validate": "phone=number", "max_lag": math.nan}),
        ((PEOPLE,), {"fields": ["name", "phone"], "validate": "phone:other=number"}),  # one table: the same column
        (({"name": ["a", "b"], "phone": ["1"]},), {"fields": ["name"]}),
        ((PEOPLE.set_column(1, "name", pa.array([b"\xff"] * 5)),), {"fields": ["name"]}),
    ],
)
def test_one_line_and_no_traceback(tables, options):
    with pytest.raises(LookalikeError) as error:
        resolve(*tables, **options)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith((".", "?"))


def test_fields_as_one_text_are_an_error():
    """It is not split into letters."""
    with pytest.raises(UsageError):
        resolve(PEOPLE, fields="name")


def test_validation_without_enough_pairs():
    table = PEOPLE.append_column("n", pa.array(range(5)))
    with pytest.raises(DataError) as error:
        resolve(table, fields=["name"], validate="n=number")
    assert "validation needs a value in at least 30 pairs with a perfect score" in str(error.value)


def test_a_column_that_validates_may_be_missing_throughout():
    table = PEOPLE.append_column("created", pa.nulls(5, pa.string()))
    with pytest.raises(DataError) as error:
        resolve(table, fields=["name", "phone"], validate="created=date")
    assert "with a perfect score; got 0." in str(error.value)


def test_an_empty_table_with_validation():
    """Nothing can be estimated: an error in one line."""
    for tables in itertools.permutations((PEOPLE.slice(0, 0), PEOPLE)):
        with pytest.raises(DataError):
            resolve(
                *(table.append_column("n", pa.array(range(len(table)))) for table in tables),
                fields=["name"],
                validate="n=number",
            )


# --- files and ids ---


@pytest.mark.slow
def test_records_of_files_and_dictionaries(tmp_path):
    companies = two_companies(200)
    csv.write_csv(companies.left, tmp_path / "a.csv")
    csv.write_csv(companies.right, tmp_path / "b.csv")
    tables = resolve(companies.left, companies.right, fields=FIELDS)
    files = resolve(tmp_path / "a.csv", str(tmp_path / "b.csv"), fields=FIELDS)
    rows = resolve(companies.left.to_pylist(), companies.right.to_pylist(), fields=FIELDS)
    assert tables.to_arrow().equals(files.to_arrow())
    assert tables.to_arrow().equals(rows.to_arrow())


def test_ids_of_other_names():
    companies = two_companies(100)
    left = companies.left.rename_columns(["key", *companies.left.column_names[1:]])
    found = resolve(left, companies.right, fields=FIELDS, id="key:id")
    assert pairs_of(found) == pairs_of(resolve(companies.left, companies.right, fields=FIELDS))
    with pytest.raises(DataError, match=r"^the second table has no column 'no' for the id; it has id, "):
        resolve(left, companies.right, fields=FIELDS, id="key:no")
