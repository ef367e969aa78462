"""Check models: what is kept, that it gives the same probabilities, and the errors."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.entities import models, resolve, two_companies
from lookalike.entities.rivals import MOST_ODDS, logistic
from tests.entities.shared import FIELDS, thinned

MADE = two_companies(400, seed=3)
BOTH = pa.concat_tables([MADE.left, MADE.right.rename_columns(MADE.left.column_names)])
ONE = ["name=text", "address", "phone"]
LABELS = pa.table({"left": ["A005", "A007"], "right": ["B001", "B002"], "match": ["no", "no"]})
RUNS = {
    "evidence": ((MADE.left, MADE.right), {"fields": FIELDS}),
    "few matches": (thinned(MADE, 0.1)[:2], {"fields": FIELDS}),
    "one field": ((MADE.left, MADE.right), {"fields": ["name:customer=text*2"]}),
    "labels": ((MADE.left, MADE.right), {"fields": FIELDS, "labels": LABELS}),
    "validation": ((MADE.left, MADE.right), {"fields": FIELDS, "validate": "created", "max_lag": 90}),
    "mixture": ((BOTH,), {"fields": ONE}),
    "guess": ((BOTH,), {"fields": ONE[:2]}),
}


def saved(path, tables, **settings):
    found = resolve(*tables, **settings)
    found.save_model(path)
    return found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model of two tables."""
    path = tmp_path / "model.json"
    saved(path, RUNS["evidence"][0], fields=FIELDS)
    return path


@pytest.mark.parametrize("name", RUNS)
def test_the_same_tables_have_the_same_result(name, tmp_path):
    tables, settings = RUNS[name]
    first = saved(tmp_path / "model.json", tables, **settings)
    again = resolve(*tables, model=tmp_path / "model.json")
    assert len(first.every) > 100
    if name == "labels":  # the labelled pairs get their label only where the labels are
        differ = np.flatnonzero(first.every.probability != again.every.probability)
        assert len(differ) <= len(LABELS)
    else:
        assert again.to_arrow().equals(first.to_arrow())
        assert again.every.to_arrow().equals(first.every.to_arrow())
    assert again.basis == f"{first.basis}, as saved"
    assert (again.guess, again.fields) == (first.guess, first.fields)
    again.save_model(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def probabilities(found):
    """Return the probability of each scored pair by its ids."""
    table = found.every.to_arrow()
    return dict(
        zip(
            zip(*(table[name].to_pylist() for name in ("left", "right")), strict=True),
            table["probability"].to_pylist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("name", ["mixture", "guess"])
def test_other_rows_do_not_change_the_probability_of_a_pair(name, tmp_path):
    """Also not that of texts, whose words are weighted by their rarity."""
    tables, settings = RUNS[name]
    first = probabilities(saved(tmp_path / "model.json", tables, **settings))
    few = probabilities(resolve(BOTH.slice(0, 200), model=tmp_path / "model.json"))
    assert len(few) > 100
    common = few.keys() & first.keys()
    assert len(common) > 50
    assert {pair: few[pair] for pair in common} == {pair: first[pair] for pair in common}
    anew = probabilities(resolve(BOTH.slice(0, 200), **settings))
    assert {pair: anew[pair] for pair in common} != {pair: first[pair] for pair in common}


def test_only_rivals_change_the_probability_of_a_pair_of_two_tables(model):
    """A record that is not among the candidates of a pair, or of its rivals, makes no difference."""
    first = probabilities(resolve(MADE.left, MADE.right, model=model))
    without = MADE.left.slice(0, 300)
    some = probabilities(resolve(without, MADE.right, model=model))
    common = first.keys() & some.keys()
    same = [first[pair] == pytest.approx(some[pair], abs=1e-12) for pair in common]
    assert np.mean(same) > 0.5
    anew = probabilities(resolve(without, MADE.right, fields=FIELDS))
    least = logistic(np.array(-MOST_ODDS)) * 1.01
    inside = [pair for pair in common if least < first[pair] < 1 - least]
    assert np.mean([first[pair] == pytest.approx(anew[pair], abs=1e-12) for pair in inside]) < 0.1


def test_one_row_is_read_as_the_whole_table_was(tmp_path):
    """Whether 3/4/2020 is in March or in April, and 1,234 above 1,000, only other rows show."""
    days = [f"{day}/{month}/2020" for day, month in ((25, 4), (4, 3), (3, 4), (17, 11))]
    rows = [{"born": day, "price": price} for day, price in zip(days, ("1,5", "1,234", "2,5", "7,25"), strict=True)]
    fields = ["born=date", "price=number"]
    saved(tmp_path / "model.json", (rows,), fields=fields)
    found = resolve(rows[1:2] * 2, model=tmp_path / "model.json")
    assert [column.values.to_pylist()[0] for column in found.columns] == ["2020-03-04", "1.234"]
    anew = resolve(rows[1:2] * 2, fields=fields)
    assert [column.values.to_pylist()[0] for column in anew.columns] == ["2020-04-03", "1234"]


def test_a_higher_level_than_any_before(tmp_path):
    """A mixture from pairs that never agree fully applies to pairs that do."""
    words = [f"{a}{b}" for a in "bcdfgh" for b in "aeiou"]
    rows = [{"name": f"{words[i]}{words[j]} smith", "town": words[i]} for i in range(30) for j in range(2)]
    first = saved(tmp_path / "model.json", (rows,), fields=["name=name", "town=text"])
    assert len(first.every)
    again = resolve([{"name": "ba smith", "town": "ba"}] * 2, model=tmp_path / "model.json")
    assert len(again.every) == 1


def test_a_validation_column_is_needed_only_for_the_lag(tmp_path):
    """The shares by score are kept; without a lag, the column is not read again."""
    path = tmp_path / "model.json"
    saved(path, (MADE.left, MADE.right), fields=FIELDS, validate="created")
    without = MADE.left.drop_columns("created"), MADE.right.drop_columns("created")
    assert len(resolve(*without, model=path)) > 100
    saved(path, (MADE.left, MADE.right), fields=FIELDS, validate="created", max_lag=90)
    with pytest.raises(DataError, match=r"^the first table has no column 'created' for field 'created'"):
        resolve(*without, model=path)


def test_what_is_written(model):
    """The file is readable JSON, and says what it is."""
    facts = json.loads(model.read_text())
    assert (facts["kind"], facts["format"], facts["version"]) == (models.KIND, models.FORMAT, la.__version__)
    assert facts["fields"] == ["name:customer=name", "address:street=address", "phone:telephone=phone"]
    assert (facts["seed"], facts["threshold"], facts["nearest"], facts["tables"]) == (1, 0.6, 2, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fields": FIELDS[:2]}, "fields must match the model, which has name:customer=name, address:street=address, "
         "phone:telephone=phone; got name:customer=name, address:street=address. Leave out fields=, or the model."),
        ({"fields": [*FIELDS[:2], "phone:telephone*2"]}, "fields must match the model, which has name:"),
        ({"threshold": 0.7}, "threshold must match the model, which has 0.6; got 0.7. Leave out threshold="),
        ({"nearest": 3}, "nearest must match the model, which has 2; got 3."),
        ({"seed": 7}, "seed must match the model, which has 1; got 7."),
        ({"validate": "created"}, "validate must match the model, which has None; got created=?."),
        ({"labels": LABELS}, "labels cannot correct a model: give labels= to the run that saves the model."),
    ],
)  # fmt: skip
def test_settings_that_differ(model, given, message):
    with pytest.raises(UsageError) as raised:
        resolve(MADE.left, MADE.right, model=model, **given)
    assert str(raised.value).startswith(message.replace("=?", ""))


def test_the_same_settings_can_be_given(model):
    fields = ["name:customer", "address:street=address", "phone:telephone"]  # without kinds, too
    found = resolve(MADE.left, MADE.right, model=model, fields=fields, threshold=0.6, seed=1, precision=0.99)
    assert 0 < len(found) < len(resolve(MADE.left, MADE.right, model=model))


def test_other_tables(model):
    with pytest.raises(UsageError, match=r"^the model was learned from two tables; got one table"):
        resolve(MADE.left, model=model)
    with pytest.raises(DataError, match=r"^the second table has no column 'customer' for field 'name'"):
        resolve(MADE.left, MADE.left, model=model)


def changed(facts, **values):
    """Return a model with other values that is not damaged."""
    facts = {name: value for name, value in (facts | values).items() if name != "digest"}
    return json.dumps(facts | {"digest": models.digest(facts)})


def test_files_that_are_no_models(model):
    text, facts = model.read_text(), json.loads(model.read_text())
    for written, message in (
        (text[:-20], "the model is damaged, or is not JSON"),
        (text.replace('"nearest": 2', '"nearest": 3'), "the model is damaged, or was changed after it was saved"),
        ("[1, 2]", "this is not a model; save a model with found.save_model"),
        ('{"kind": "other"}', "this is not a model"),
        (changed(facts, format=1), "the model has format 1, but this version reads 2; save it again"),
        (changed(facts, weights="0123"), "the model was saved with learned weights 0123, but this version"),
        (changed(facts, learned={"as": "guesses"}), "the model is damaged"),
        (changed(facts, words=None), "the model is damaged"),
        (changed(facts, fields=["a=nothing"]), "the kind of field 'a' must be one of"),
    ):
        model.write_text(written)
        with pytest.raises(la.LookalikeError) as raised:
            resolve(MADE.left, MADE.right, model=model)
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


def test_no_model(tmp_path):
    with pytest.raises(DataError, match=r"none.json: no such file; save a model with found.save_model"):
        resolve(MADE.left, MADE.right, model=tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"^model must be a path or a ResolveModel; got int"):
        resolve(MADE.left, MADE.right, model=7)


def test_an_empty_result_has_a_model(tmp_path):
    rows = pa.table({"name": ["Ann Lee"], "town": ["Ansel"]})
    for tables in ((rows, rows.slice(0, 0)), (rows,)):
        assert not len(saved(tmp_path / "model.json", tables, fields=["name=name", "town=text"]).every)
        pair = (rows, rows) if len(tables) == 2 else (pa.concat_tables([rows, rows]),)
        assert len(resolve(*pair, model=tmp_path / "model.json").every) == 1
