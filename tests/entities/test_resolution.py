"""Check the result of a resolution: tables, clusters, lines, and explanations."""

import math

import numpy as np
import pyarrow as pa
import pytest

from lookalike.entities import Field, resolve
from lookalike.entities.describe import record_fields
from lookalike.entities.scores import NEUTRAL
from tests.entities.shared import PEOPLE, pairs_of


def test_clusters():
    table = PEOPLE.append_column(
        "born", pa.array(["1990-01-02", "1990-01-02", "1980-07-07", "1980-07-07", "1970-01-01"])
    )
    found = resolve(table, fields=["name=name", "phone=phone", "born=date"])
    assert set(pairs_of(found)) == {("a", "b"), ("c", "d")}
    groups = found.clusters()
    assert [list(group) for group in groups] == [["a", "b"], ["c", "d"]]
    found_rows = groups.to_arrow().to_pylist()
    assert [(row["cluster"], row["id"], row["size"]) for row in found_rows] == [
        ("a", "a", 2), ("a", "b", 2), ("c", "c", 2), ("c", "d", 2),
    ]  # fmt: skip
    likely = {(left, right): share for left, right, share in found}
    for row in found_rows:
        share = likely[("a", "b") if row["cluster"] == "a" else ("c", "d")]
        assert row["probability"] == row["weakest"] == share


def test_columns():
    found = resolve(PEOPLE, PEOPLE, fields=["name=name", "phone=phone*2"])
    table = found.every.to_arrow()
    assert table.column_names == ["left", "right", "score", "probability", "missing", "name_points", "phone_points"]
    for row in table.to_pylist():
        worth = [50 if row[name] is None else row[name] for name in ("name_points", "phone_points")]
        assert row["score"] == pytest.approx(worth[0] + 2 * worth[1], abs=1e-3)
        assert row["missing"] == [row["name_points"], row["phone_points"]].count(None)
        assert 0 <= row["probability"] <= 1
        assert (row["phone_points"] is None) == ("e" in (row["left"], row["right"]))
    assert {(name, name) for name in "abcde"} <= set(pairs_of(found.every))


def test_lines_and_repr():
    found = resolve(PEOPLE, fields=["name=name", "phone=phone"])
    assert repr(found).endswith(f"{'match' if len(found) == 1 else 'matches'} of 5 records>")
    assert any(line.startswith("  same phone: 2 pairs") for line in found.lines())
    assert found.lines()[0] == "fields: name=name, phone=phone"
    assert found.lines()[1].startswith("candidates: ")
    assert [field.kind for field in resolve(PEOPLE, fields=["name", "phone"]).fields] == ["name", "phone"]
    proposed = resolve(PEOPLE)
    assert proposed.lines()[0] == "fields: name=name, phone=phone; change them with fields="
    assert proposed.to_arrow().equals(found.to_arrow())


def test_show():
    """Original spelling, in the order of the pairs; the id is shown once, and no name is given twice."""
    other = pa.table({"id": ["x", "y"], "name": ["LEE, Ann", "Bob Ray"], "points": [1, None], "n_points": [[1], None]})
    left = PEOPLE.append_column("score", pa.array(range(5)))
    found = resolve(left, other, fields=[Field("left", "name", "name", "name")]).every
    plain, shown = found.to_arrow(), found.to_arrow(show=True)
    assert plain.column_names == ["left", "right", "score", "probability", "missing", "left_points"]
    more = ["left_name", "left_phone", "left_score", "right_name", "right_points", "right_n_points_"]
    assert shown.column_names == plain.column_names + [name.replace("right_points", "right_points_") for name in more]
    assert shown.select(plain.column_names).equals(plain)
    for row in shown.to_pylist():
        at, to = left["id"].to_pylist().index(row["left"]), other["id"].to_pylist().index(row["right"])
        assert [row["left_name"], row["left_score"]] == [left["name"][at].as_py(), at]
        assert [row["right_name"], row["right_n_points_"]] == [other["name"][to].as_py(), other["n_points"][to].as_py()]


def test_show_of_one_table():
    """Both sides have the columns of the table; row numbers are no column, so `id` is shown."""
    shown = resolve(PEOPLE, id="-").to_arrow(show=True)
    assert shown.column_names[-6:] == ["left_id", "left_name", "left_phone", "right_id", "right_name", "right_phone"]
    assert shown["left_id"].to_pylist() == [PEOPLE["id"][row].as_py() for row in shown["left"].to_pylist()]


def test_explain_shows_the_original_spelling():
    rows = [{"first": "Ann", "last": "Lee", "born": "3 May 2000"}, {"first": "LEE", "last": "ann", "born": " "}]
    explained = resolve(rows, fields=["first=name", "last=name", "born"]).every.explain(0).rows()
    shown = ["left", "right", "left_compared", "right_compared", "points", "way"]
    assert [[one[name] for name in shown] for one in explained] == [
        ["Ann", "LEE", "ann", "lee", 96, "given name and surname swapped"],
        ["Lee", "ann", "lee", "ann", 96, "given name and surname swapped"],
        ["3 May 2000", None, "2000-05-03", None, NEUTRAL, "missing, so neither for nor against"],
    ]
    page = record_fields(resolve(rows, fields=["first=name", "last=name", "born"]).every, 0)
    assert [row.way for row in page.rows][1:] == [
        explained[1]["way"],
        f"{explained[2]['way']}; compared as '2000-05-03'",
    ]


def test_explain_agrees_with_the_points():
    left = pa.table({
        "name": ["Bill Smith", "K Jones", "Ann Lee", "Al Poe"],
        "street": ["12 Elm Street", "4 Oak Rd", None, "7 Ash Lane"],
        "born": ["2000-01-02", "1990-05-06", "1980-03-03", "bad"],
    })  # fmt: skip
    right = pa.table({
        "name": ["William Smith", "Karen Jones", "Lee Ann", "Al Poe"],
        "address": ["12 Elm St", "4 Oak Road", "9 Fir Way", "7 Ash Lame"],
        "born": ["2000-01-03", "1990-05-06", "1980-03-03", "1970-01-01"],
    })  # fmt: skip
    found = resolve(left, right, fields=["name=name*2", "street:address=address", "born=date"]).every
    weights = np.array([2.0, 1, 1])
    ways = {}
    for at in range(len(found)):
        explained = found.explain(at)
        assert [one["field"] for one in explained] == ["name", "street", "born"]
        assert [one["weight"] for one in explained] == weights.tolist()
        assert found.score[at] == pytest.approx(sum(one["weight"] * one["points"] for one in explained))
        for one, score in zip(explained, found.points[at], strict=True):
            if math.isnan(score):
                assert (one["points"], one["way"]) == (NEUTRAL, "missing, so neither for nor against")
                assert None in (one["left_compared"], one["right_compared"])
            else:
                assert one["points"] == pytest.approx(score)
                assert one["points"] == pytest.approx(max(0, 100 - 4 * one["distance"] ** 2))
        ways[int(found.left[at]), int(found.right[at])] = [one["way"] for one in explained]
        a, b = int(found.left[at]), int(found.right[at])
        assert (explained[0]["left"], explained[0]["right"]) == (left["name"][a].as_py(), right["name"][b].as_py())
        assert explained[0]["left_compared"] == found.columns[0].values[a].as_py()
        assert explained[0]["right_compared"] == found.columns[0].values[4 + b].as_py()
    assert ways[0, 0] == ["same but for short forms", "same but for short forms", "edited"]
    assert ways[1, 1] == ["same but for initials", "same but for short forms", "same"]
    assert ways[2, 2] == ["same but for the order of words", "missing, so neither for nor against", "same"]
    assert ways[3, 3] == ["same", "edited", "missing, so neither for nor against"]
