"""Check the table of measures, and the inputs that all of them accept or reject."""

import inspect
import math
from collections import Counter
from functools import partial

import numpy as np
import pytest

from lookalike import measures
from lookalike.core.errors import UsageError
from lookalike.items.sets import Sets
from lookalike.measures import MEASURES
from lookalike.measures import rows as pairwise
from lookalike.measures.table import full_name
from tests.failing import fails

# --- each measure and its twin ---


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", [list, tuple, *(partial(np.array, dtype=t) for t in ("uint8", "int32", "uint64"))])
def test_positions_of_every_kind(name, kind):
    some = {"sets": Sets.of([{1}, {1, 2}]), "bags": Sets.of([Counter("a"), Counter("ab")]), "strings": ("a", "ab")}
    items = some.get(MEASURES[name].domain, [[1, 0], [1, 1]])
    both = MEASURES[name].rows(items, kind((0, 1, 1)), kind((1, 0, 1)))
    assert both.tolist() == [MEASURES[name].rows(items, [i], [j])[0] for i, j in ((0, 1), (1, 0), (1, 1))]
    nothing = MEASURES[name].rows(items, kind(()), kind(()))
    assert (nothing.tolist(), nothing.dtype) == ([], both.dtype)


@pytest.mark.parametrize("name", MEASURES)
def test_no_pairs_of_no_items(name):
    items = {"sets": Sets.of([]), "bags": Sets.of([]), "strings": []}.get(MEASURES[name].domain, np.zeros((0, 3)))
    assert MEASURES[name].rows(items, [], []).tolist() == []


# --- the table ---


@pytest.mark.parametrize("name", MEASURES)
def test_table(name):
    measure = MEASURES[name]
    assert measure.name == name == measure.of.__name__
    assert measure.of is getattr(measures, name)
    assert hasattr(pairwise, name) == (measure.domain != "sets")  # sets are measured by their overlap
    assert measure.domain in ("sets", "bags", "vectors", "strings")
    assert measure.kind in ("similarity", "distance")
    assert measure.low < measure.high
    assert measure.kind == "similarity" or measure.low == 0
    assert measure.kind == "distance" or measure.high == (math.inf if measure.unlimited else 1)


@pytest.mark.parametrize("name", MEASURES)
def test_both_forms_of_a_measure_have_the_same_options(name):
    forms = [(MEASURES[name].of, 2), (getattr(pairwise, name, lambda sets, left, right: None), 3)]
    one, many = (
        [(option.name, option.default) for option in [*inspect.signature(form).parameters.values()][skip:]]
        for form, skip in forms
    )
    assert one == many


def test_which_are_metrics():
    none = {"containment", "set_cosine", "overlap", "cosine_similarity", "inner_product"}
    assert {name for name, measure in MEASURES.items() if not measure.metric} == none


def test_distance():
    """It is 1 - s for a similarity, else the value itself; options are passed on."""
    assert MEASURES["jaccard"].distance({1, 2}, {2, 3, 4}) == 0.75
    assert MEASURES["bag_jaccard"].distance(Counter("aab"), ["a"]) == pytest.approx(2 / 3)
    assert MEASURES["bag_jaccard"].distance(Counter("aab"), ["a"], union="sum") == 0.75
    assert MEASURES["cosine_similarity"].distance([1, 0], [-1, 0]) == 2
    assert MEASURES["angle"].distance([1, 0], [-1, 0]) == 180
    assert MEASURES["minkowski"].distance([1, 1], [4, 5]) == 5
    assert MEASURES["minkowski"].distance([1, 1], [4, 5], r=1) == 7
    assert MEASURES["edit"].distance("ab", "ba", moves="transpositions") == 1
    for name in ("overlap", "inner_product"):
        message = rf"^{name} is a similarity without an upper limit, so it has no distance\.$"
        with pytest.raises(UsageError, match=message):
            MEASURES[name].distance([1, 2], [1, 2])


def test_other_names():
    for name, measure in MEASURES.items():
        assert {full_name(other) for other in (name, *measure.also)} == {name}
    assert [full_name(name) for name in ("dot", "ip", "cosine", None)] == ["inner_product"] * 2 + ["cosine", None]


# --- invalid input ---

TWO = [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["jaccard", "bag_jaccard", "containment"])
def test_rows_that_are_not_sets(name):
    for items in ([{1}, {2}], (Counter("a"),), np.zeros((2, 2)), ["ab", "cd"]):
        message = f"items must be Sets; got {type(items).__name__}. Make them with Sets.of."
        fails(UsageError, message, MEASURES[name].rows, items, [0], [0])
        fails(UsageError, message, MEASURES[name].rows, items, [], [])


@pytest.mark.parametrize("name", MEASURES)
def test_rows_out_of_range(name):
    some = {"sets": Sets.of([{1}, {2}]), "bags": Sets.of([Counter("a"), Counter("b")]), "strings": ["a", "b"]}
    call = partial(MEASURES[name].rows, some.get(MEASURES[name].domain, TWO))
    fails(UsageError, "rows must be in range(2); got 0 and 2.", call, [0, 0, 5], [1, 2, 5])
    fails(UsageError, "rows must be in range(2); got 2 and 1.", call, [2], [1])
    fails(UsageError, "rows must be in range(2); got -1 and 0.", call, [-1], [0])
    fails(UsageError, "rows must be in range(2); got 0 and -3.", call, [0, 0], [1, -3])
    fails(UsageError, "left and right must have the same length; got 2 and 1.", call, [0, 1], [0])
    fails(UsageError, "left and right must have the same length; got 0 and 1.", call, [], [0])
    no_positions = "left must be a list of whole numbers, the positions of rows; got {!r}."
    for odd in ([0.7], ["a"], [None], [True], 0, [[0]], [2**64]):
        fails(UsageError, no_positions.format(odd), call, odd, [0])


def test_sets_are_not_bags():
    sets, bags = Sets.of([[1, 1], [1]]), Sets.of([Counter("aa"), Counter("a")])
    rule = "items must be bags; make them with Sets.of from Counters."
    fails(UsageError, rule, MEASURES["bag_jaccard"].rows, sets, [0], [1])
    for name in ("jaccard", "containment"):
        fails(UsageError, "items must be sets, not bags.", MEASURES[name].rows, bags, [0], [1])
