"""Check the error when an exact method would have to list too many pairs."""

import pytest

import lookalike as la
from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run

SINGLE = Run(1)


# --- choice of method ---


def test_a_crowd_that_an_exact_method_would_have_to_list(monkeypatch):
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    sets = [{1, 2, 3, 4, 5, 6, 7, 8, 9, extra} for extra in range(20, 27)]
    with pytest.raises(TooManyPairs) as error:
        la.dedup(sets, threshold=0.8, recall=1.0, run=SINGLE)
    assert str(error.value) == (
        "more than 10 similar pairs, all of which an exact method must list; "
        "use method='lsh' with a recall below 1, which does not list them."
    )
    assert la.find_clusters(sets, threshold=0.8, recall=1.0, run=SINGLE).label.tolist() == [0] * 7


@pytest.mark.parametrize(
    ("items", "options"),
    [
        ([f"a text {letter}" for letter in "abcdefg"], {"measure": "edit", "threshold": 2}),
        ([{1, 2, extra} for extra in range(20, 27)], {"measure": "containment", "threshold": 0.5}),
        ([[1.0, extra / 100] for extra in range(7)], {"measure": "angle", "threshold": 20, "method": "lsh"}),
    ],
)
def test_a_crowd_that_no_method_avoids_listing(items, options, monkeypatch):
    """These measures have no bands, or dedup lists their pairs by any method."""
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    with pytest.raises(TooManyPairs) as error:
        la.dedup(items, run=SINGLE, **options)
    assert str(error.value) == "more than 10 similar pairs, too many to list; choose a stricter threshold."
