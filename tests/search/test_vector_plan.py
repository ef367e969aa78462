"""Check plans for vectors and codes."""

import math
from fractions import Fraction

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.items.bits import Bits
from tests.vector_samples import drawn, drawn_bits, found


@pytest.mark.parametrize(
    ("items", "options"),
    [
        (np.random.default_rng(1).normal(size=(300, 8)), {"measure": "angle", "threshold": 15}),
        (np.random.default_rng(1).normal(size=(300, 8)), {"measure": "cosine_similarity", "threshold": 0.9}),
        (np.random.default_rng(1).normal(size=(300, 4)), {"measure": "euclidean", "threshold": 0.5}),
        (
            Bits.of(np.random.default_rng(1).integers(0, 2, (300, 24)).astype(bool)),
            {"measure": "hamming", "threshold": 3},
        ),
    ],
)
def test_curves_of_vectors(items, options):
    """At the threshold, the curve gives the plan's recall; it is higher for closer pairs."""
    plan = la.find_pairs(items, method="lsh", **options).plan
    at = float(plan.threshold)
    assert plan.has_curve
    assert plan.probability(np.array([at]))[0] == pytest.approx(plan.recall, abs=1e-9)
    closer = np.linspace(at, 1.0 if plan.kind == "similarity" else 0.0, 20)
    assert (np.diff(plan.probability(closer)) >= -1e-12).all()
    assert plan.probability(closer)[-1] == pytest.approx(1)


# --- pigeonholes ---


def test_the_planner_splits_codes_where_that_pays():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**63, 20_000, dtype=np.int64).view(np.uint64)
    codes[10_000:12_000] = codes[:2000] ^ (np.uint64(1) << rng.integers(0, 64, 2000).astype(np.uint64))
    plain = la.find_pairs(Bits.of(codes), measure="hamming", threshold=3, method="brute")
    for method in ("exact", "auto"):
        pairs = la.find_pairs(Bits.of(codes), measure="hamming", threshold=3, method=method)
        assert pairs.plan.method == "pigeonhole"
        assert found(pairs) == found(plain)
        assert len(pairs) >= 2000
        assert pairs.stats["candidates"] < plain.stats["candidates"] == 20_000 * 19_999 // 2


# --- plans ---


def test_what_a_plan_says():
    rows = drawn(1, 50)
    lines = la.find_pairs(rows, measure="angle", threshold=20, method="brute").plan.lines()
    assert lines == ["plan: angle <= 20 degrees of vectors of 6 dimensions, exact: all pairs are compared"]
    lines = la.find_pairs(rows, measure="cosine_similarity", threshold=0.9).plan.lines()
    assert lines[0] == "plan: cosine_similarity >= 0.9 of vectors of 6 dimensions, exact: all pairs are compared"
    assert "chosen: brute force, about " in lines[1]
    lines = la.find_pairs(rows, measure="angle", threshold=0.9, method="exact").plan.lines()
    assert lines[1] == "      the threshold is an angle in degrees; for a cosine use measure 'cosine_similarity'"
    plan = la.find_pairs(rows, measure="euclidean", threshold=0.1, method="lsh", recall=0.9).plan
    bands, rows_, recall = plan.bands
    assert plan.lines()[0].startswith(f"plan: euclidean <= 0.1 of vectors of 6 dimensions, by {bands} band")
    assert f" of {rows_} row" in plan.lines()[0]
    assert f", cut into segments of {plan.width:g}" in plan.lines()[0]
    assert plan.lines()[1].startswith(
        f"      finds a pair at the threshold with probability {recall:.4f}, closer pairs"
    )
    plan = la.find_pairs([1, 2, 3], measure="hamming", threshold=1, method="lsh").plan
    assert plan.lines()[0].startswith("plan: hamming <= 1 bits of codes of 64 bits, by ")
    plan = la.find_matches(rows, rows, measure="angle", threshold=20, k=3, method="brute").plan
    assert plan.lines()[0].startswith("plan: the 3 nearest with angle <= 20 degrees of vectors of 6 dimensions")


def test_what_a_plan_of_parts_says(parts):
    parts(5)
    plan = la.find_pairs(Bits.of(drawn_bits(1, 20)), measure="hamming", threshold=3, method="exact").plan
    assert plan.lines() == [
        "plan: hamming <= 3 bits of codes of 40 bits, exact: 5 parts, of which 2 must agree (10 tables)",
        "      every pair is found; fewer than 1 pair to compare",
    ]
    assert plan.recall == 1


def test_what_a_file_depends_on():
    rows = drawn(1, 50)
    plan = la.find_pairs(rows, measure="euclidean", threshold="0.1", method="lsh", seed=7).plan
    kept = plan.settings()
    assert (
        kept.items()
        >= {
            "measure": "euclidean",
            "threshold": "1/10",
            "items": "vectors of 6 dimensions",
            "seed": "7",
            "method": f"lsh {plan.bands.bands}x{plan.bands.rows}",
            "width": repr(plan.width),
        }.items()
    )
    plan = la.find_pairs(rows, measure="angle", threshold=20, method="brute").plan
    assert plan.settings()["method"] == "brute"
    assert "width" not in plan.settings()


def test_numbers_of_items_and_candidates():
    rows = drawn(1, 50)
    pairs = la.find_pairs(rows, measure="angle", threshold=20, method="brute")
    assert (pairs.plan.items, pairs.plan.candidates) == (50, 1225)
    assert pairs.stats["items"] == 50
    assert pairs.kind == "distance"
    assert la.find_pairs(rows, measure="cosine_similarity", threshold=0.9).kind == "similarity"
    heads = len(np.unique(rows, axis=0))
    assert pairs.stats["identical"] == 50 - heads
    assert pairs.stats["candidates"] == heads * (heads - 1) // 2


# --- errors ---

PLANE = np.eye(3)


@pytest.mark.parametrize("measure", ["angle", "cosine_similarity", "euclidean", "hamming"])
@pytest.mark.parametrize("threshold", [True, [20], "1e400", Fraction(10**400), object(), b"1", math.nan, -2, 1 + 1j])
def test_invalid_thresholds(threshold, measure):
    """Each is rejected with one line about the threshold."""
    rows = Bits.of([1, 2]) if measure == "hamming" else PLANE
    with pytest.raises(UsageError, match=r"^threshold must be "):
        la.find_pairs(rows, measure=measure, threshold=threshold)


@pytest.mark.parametrize("threshold", [1.5, -2, "-3/2"])
def test_cosines_out_of_range(threshold):
    with pytest.raises(UsageError, match=rf"^threshold must be in \[-1, 1\]; got {float(Fraction(threshold)):g}\.$"):
        la.find_pairs(PLANE, measure="cosine_similarity", threshold=threshold)


def test_thresholds_of_codes():
    codes = Bits.of(["1010", "1111"])
    for threshold, message in [
        (5, "threshold must be an integer of at most 4; got 5."),
        (-1, "threshold must be an integer of at least 0; got -1."),
        (1.5, "threshold must be an integer of at least 0; got 1.5."),
        (None, "measure 'hamming' needs a threshold: set threshold= to the maximum number of differing bits."),
    ]:
        with pytest.raises(UsageError) as raised:
            la.find_pairs(codes, measure="hamming", threshold=threshold)
        assert str(raised.value) == message
