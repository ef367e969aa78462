"""Check plans for vectors and codes."""

import numpy as np
import pytest

import lookalike as la
from lookalike.items.bits import Bits


@pytest.mark.parametrize(
    ("items", "options"),
    [
        (np.random.default_rng(1).normal(size=(300, 8)), {"measure": "cosine", "threshold": 15}),
        (np.random.default_rng(1).normal(size=(300, 8)), {"measure": "cosine_similarity", "threshold": 0.9}),
        (np.random.default_rng(1).normal(size=(300, 4)), {"measure": "euclidean", "threshold": 0.5}),
        (
            Bits.of(np.random.default_rng(1).integers(0, 2, (300, 24)).astype(bool)),
            {"measure": "hamming", "threshold": 3},
        ),
    ],
)
def test_curves_of_vectors(items, options):
    """What the plan says of a pair at the threshold is what its curve says there, and closer ones are surer."""
    plan = la.find_pairs(items, method="lsh", **options).plan
    at = float(plan.threshold)
    assert plan.has_curve
    assert plan.probability(np.array([at]))[0] == pytest.approx(plan.recall, abs=1e-9)
    closer = np.linspace(at, 1.0 if plan.kind == "similarity" else 0.0, 20)
    assert (np.diff(plan.probability(closer)) >= -1e-12).all()
    assert plan.probability(closer)[-1] == pytest.approx(1)
