"""Check how results and their truth are read and compared: kinds, columns, sides, ids."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import LookalikeError

PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=15)


def table(pairs, **more):
    return pa.table({"left": [a for a, _ in pairs], "right": [b for _, b in pairs], **more})


def counts(found):
    return found.found, found.truth, found.both


@given(PAIRS, PAIRS)
def test_pairs_of_one_table_have_no_order(result, truth):
    """Pairs of an item with itself and repeated pairs do not count."""
    one, other = ({frozenset(pair) for pair in pairs if pair[0] != pair[1]} for pairs in (result, truth))
    assert counts(la.evaluate(table(result), table(truth), tables=1)) == (len(one), len(other), len(one & other))


@given(PAIRS, PAIRS)
def test_pairs_of_two_tables_have_an_order(result, truth):
    one, other = set(result), set(truth)
    assert counts(la.evaluate(table(result), truth, tables=2)) == (len(one), len(other), len(one & other))


@given(PAIRS, st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_pairs_against_clusters(result, clusters):
    """Ids without a true cluster are in no true pair."""
    true = {frozenset(pair) for pair in combinations(range(6), 2) if clusters[pair[0]] == clusters[pair[1]]}
    one = {frozenset(pair) for pair in result if pair[0] != pair[1]}
    found = la.evaluate(table(result), {"id": range(6), "cluster": clusters}, tables=1, truth_kind="clusters")
    assert counts(found) == (len(one), len(true), len(one & true))


def test_a_repeated_pair_counts_with_its_best_value():
    result = table([(1, 2), (2, 1), (3, 4)], similarity=[0.5, 0.9, 0.7])
    found = la.evaluate(result, [(1, 2)])
    assert found.curve()["threshold"].to_pylist() == [0.9, 0.7]
    assert "note: 1 repeated pair left out; the best of each counts" in found.lines()
    far = table([(1, 2), (2, 1), (3, 4)], distance=[5, 9, 7])
    assert la.evaluate(far, [(1, 2)]).curve()["threshold"].to_pylist() == [5, 7]


def test_clusters_against_pairs_that_connect_them():
    """The pairs (1, 2) and (2, 3) make 1 and 3 a true pair as well."""
    result = {"cluster": ["a", "a", "a", "b", "b"], "id": [1, 2, 3, 4, 5]}
    found = la.evaluate(pa.table(result), [(1, 2), (2, 3), (5, 6)])
    assert counts(found) == (4, 4, 3)
    assert found.bcubed.items == 6
    assert "note: 1 of 5 ids in the truth do not occur in the result" in found.lines()


def test_clusters_of_two_tables():
    """An id that is in both tables belongs to two items."""
    result = {"cluster": [1, 1, 2, 2], "table": ["left", "right"] * 2, "id": [1, 1, 2, 3], "size": [2] * 4}
    assert counts(la.evaluate(pa.table(result), [(1, 1), (2, 2)])) == (2, 2, 1)
    found = la.evaluate(pa.table(result), [(1, 1), (2, 3)])
    assert found.f1 == 1
    assert any("B-cubed, over 4 items: precision 1.0000" in line for line in found.lines())
    apart = pa.table({**result, "id": [1, 7, 2, 8]})
    assert la.evaluate(apart, {"id": [1, 7, 2, 8], "cluster": ["a", "a", "b", "b"]}).f1 == 1
    with pytest.raises(LookalikeError, match="true clusters do not say in which of two tables an id is"):
        la.evaluate(pa.table(result), {"id": [1, 2, 3], "cluster": [1, 1, 2]})


def test_clusters_against_clusters_with_other_names():
    result = pa.table({"cluster": [1, 1, 2, 2], "id": ["a", "b", "c", "d"]})
    truth = pa.table({"person": ["a", "b", "c", "d"], "household": [7, 7, 7, 9]})
    assert counts(la.evaluate(result, truth)) == (2, 3, 1)


def test_removed_items_are_grouped_with_the_one_kept():
    result = pa.table({"id": [1, 2, 5], "kept": [0, 0, 4], "similarity": [0.9, 0.8, 0.9]})
    found = la.evaluate(result, pa.table({"id": [0, 1, 2, 4, 5], "cluster": [0, 0, 0, 1, 2]}))
    assert counts(found) == (4, 3, 3)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"left": [1, 2], "right": [5, 5]}, "pairs"),
        ({"right": [5, 5], "left": [1, 2]}, "pairs"),
        ({"id": [1, 2], "cluster": [5, 5]}, "clusters"),
        ({"cluster": [5, 5], "id": [1, 2]}, "clusters"),
        ({"a": [1, 2], "b": [5, 5]}, "pairs"),  # 5 is an id of the result
        ({"a": [1, 2], "b": [8, 8]}, "clusters"),
        ({"a": [1, 2], "b": [8, 9]}, "pairs"),
        ({"a": [1, 1], "b": [8, 8]}, "pairs"),
    ],
)
def test_what_the_truth_lists(columns, kind):
    """By its column names or, if these are unusual, by its values; the pair (1, 2) is true only in a cluster."""
    found = la.evaluate(table([(1, 2), (1, 5)]), pa.table(columns))
    assert found.both == (1 if kind == "clusters" or columns.get("left") or columns.get("b") == [5, 5] else 0)
    assert la.evaluate(table([(1, 2), (1, 5)]), pa.table(columns), truth_kind=kind).lines() == found.lines()


def test_columns_by_name():
    truth = pa.table({"n": [0, 1], "left": [1, 3], "right": [2, 4], "b": [3, 4], "a": [1, 9]})
    assert la.evaluate(table([(1, 3)]), truth, truth_columns=("a", "b")).recall == 0.5
    assert la.evaluate(table([(1, 3)]), truth).recall == 0


def test_ids_of_different_types_are_compared_as_texts():
    found = la.evaluate(table([(1, 2)]), [("1", "2")])
    assert found.recall == 1
    assert "note: ids are compared as texts, since their types differ" in found.lines()
    assert not any("texts" in line for line in la.evaluate(table([(1, 2)]), [(1, 2)]).lines())
    assert la.evaluate(table([("01", "2")]), [(1, 2)]).recall == 0


def test_results_say_whether_they_are_of_two_tables():
    """Equal ids on both sides belong to different items if two collections were matched."""
    left, right = [{1, 2, 3}, {7, 8}], [{7, 8, 9}, {1, 2, 3}]
    found = la.find_matches(left, right, threshold=0.6)
    assert sorted(found)[0][:2] == (0, 1)
    assert counts(la.evaluate(found, [(1, 0)])) == (2, 1, 1)
    assert counts(la.evaluate(la.find_pairs(left + right, threshold=0.6), [(3, 0)])) == (2, 1, 1)
    assert counts(la.evaluate(table([(0, 1), (2, 2)]), [(1, 0)])) == (2, 1, 0)  # an item is not paired with itself


def test_results_of_all_kinds():
    sets = [{1, 2, 3}, {1, 2, 3}, {7, 8}, {7, 8}]
    truth = {(0, 1), (2, 3)}
    for found in (la.find_pairs(sets), la.find_clusters(sets), la.dedup(sets), la.find_pairs(sets).to_pandas()):
        scores = la.evaluate(found, truth)
        assert (scores.precision, scores.recall) == (1, 1)


def test_matches_of_records():
    made = la.entities.two_companies(300)
    found = la.entities.resolve(made.left, made.right, fields=["name:customer", "address:street", "phone:telephone"])
    truth = {(pair["left_id"], pair["right_id"]) for pair in made.truth.to_pylist()}
    scores = la.evaluate(found, made.truth, truth_columns=("left_id", "right_id"))
    both = len(truth & {(left, right) for left, right, _ in found})
    assert counts(scores) == (len(found), len(truth), both)
    assert scores.expected == pytest.approx(found.probability.sum())
    assert scores.by == "probability"


def test_probabilities_that_are_not_stated():
    """A column without any probability is as none; the pairs are then ranked by another one."""
    none = pa.array([None, None], pa.float64())
    found = la.evaluate(table([(1, 2), (3, 4)], probability=none, similarity=[0.9, 0.8]), [(1, 2)])
    assert (found.expected, found.by) == (None, "similarity")
    assert len(found.calibration()) == 0


def test_pairs_without_values():
    found = la.evaluate(table([(1, 2), (3, 4)]), [(1, 2)])
    assert (found.precision, found.by, len(found.curve())) == (0.5, "", 0)


def test_no_pairs():
    nothing = table([], similarity=np.zeros(0))
    assert counts(la.evaluate(nothing, [("a", "b")])) == (0, 1, 0)
    assert counts(la.evaluate(table([(1, 2)]), [])) == (1, 0, 0)


@pytest.mark.parametrize(
    ("result", "truth", "options", "message"),
    [
        (table([(1, 2)]), [(1, 2)], {"truth_columns": ("left", "rigth")}, "the truth has no column 'rigth'"),
        (table([(1, 2)]), [(1, 2)], {"truth_columns": ("left",)}, "truth_columns must be two columns; got left."),
        (table([(1, 2)]), [(1, 2)], {"by": "points"}, "the result has no column 'points'"),
        (table([(1, 2)]), [(1, 2)], {"threshold": 0.5}, "threshold is for pairs with a column of values"),
        (table([(1, 2)]), [(1, 2)], {"truth_kind": "pair"}, "truth_kind must be one of pairs, clusters; got 'pair'"),
        (table([(1, 2)]), [(1, 2)], {"tables": 3}, "tables must be an integer of at most 2; got 3."),
        (table([(1, 2)], probability=[1.5]), [(1, 2)], {}, r"probability must be in \[0, 1\]; got 1.5."),
        (table([(1, 2)], similarity=["x"]), [(1, 2)], {}, "the column 'similarity' must hold a number in each row"),
        (table([(1, None)]), [(1, 2)], {}, "the column 'right' must hold an id in each row"),
        (table([(1, 2)]), {"id": [1, 1], "cluster": [1, 2]}, {}, "clusters must not overlap; 1 is in more than one"),
        (table([(1, 2)]), {"id": [1, 2], "cluster": [1, 1]}, {"tables": 2}, "true clusters do not say in which of two"),
        (table([(1, 2)]), {"id": [1, 2]}, {}, "the truth must have two columns"),
        (table([(1, 2)]), [(1, "a"), ("x", "b")], {}, "the ids of true pairs must be all texts or all 64-bit integers"),
        (table([(1, 2)]), {(1, 2**63), (1, 2)}, {}, "the ids of true pairs must be all texts or all 64-bit integers"),
        (pa.Table.from_arrays([[1]] * 3, ["left", "right", "right"]), [(1, 2)], {}, "has 2 columns 'right'"),
        (table([(1, 2)]), 7, {}, "the truth must be a table, a data frame, .* or a path; got int."),
        (pa.table({"id": [1], "cluster": [1]}), [(1, 2)], {"by": "id"}, "by is for pairs and matches"),
        (pa.table({"id": [1], "name": ["a"]}), [(1, 2)], {}, "must list pairs .*; it has id, name."),
    ],
)
def test_errors(result, truth, options, message):
    with pytest.raises(la.LookalikeError, match=message):
        la.evaluate(result, truth, **options)


def test_ids_of_another_kind_are_noticed():
    said = la.evaluate(table([(1, 2)]), [("a", "b")]).lines()
    assert "note: none of the 2 ids in the truth occurs in the result; are they ids of the same kind?" in said
