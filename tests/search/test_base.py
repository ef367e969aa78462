"""Check what the pipeline says when an exact method would have to list too much."""

import pytest

import lookalike as la
from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run

SINGLE = Run(1)


# --- the choice ---


def test_a_crowd_that_an_exact_method_would_have_to_list(monkeypatch):
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    sets = [{1, 2, 3, 4, 5, 6, 7, 8, 9, extra} for extra in range(20, 27)]
    with pytest.raises(TooManyPairs) as error:
        la.dedup(sets, threshold=0.8, recall=1.0, run=SINGLE)
    assert str(error.value) == (
        "more than 10 similar pairs, all of which an exact method has to list; "
        "with method 'lsh' and a recall under 1 they need not be listed."
    )
    assert la.find_clusters(sets, threshold=0.8, recall=1.0, run=SINGLE).label.tolist() == [0] * 7
