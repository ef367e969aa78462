"""Check the estimate of the candidates' recall against known truth."""

import numpy as np
import pyarrow.compute as pc
import pytest

import lookalike as la
from lookalike.entities.candidates import Stage
from lookalike.entities.companies import Rates
from lookalike.entities.recall import LEAST_MATCHES, estimated_recall
from tests.entities.shared import FIELDS

STAGES = [Stage(f"same {name}", 0, 0, field=name) for name in ("name", "street", "phone")]
WHOLE = Stage("2 nearest as a whole", 0, 0)


@pytest.mark.parametrize("shares", [(0.9, 0.8, 0.7), (0.5, 0.4, 0.3), (0.3, 0.3, 0.0)])
def test_independent_fields(shares):
    """What no field finds is estimated from how often one finds what another does."""
    draw = np.random.default_rng(1)
    bits = sum((draw.random(50_000) < share).astype(np.uint64) << np.uint64(at) for at, share in enumerate(shares))
    found = bits[bits > 0]
    estimate = estimated_recall(STAGES, found, np.ones(len(found)))
    assert estimate == pytest.approx(len(found) / len(bits), abs=0.01)


def test_matches_found_only_as_a_whole_count_as_found():
    draw = np.random.default_rng(2)
    bits = sum((draw.random(50_000) < 0.5).astype(np.uint64) << np.uint64(at) for at in range(3))
    bits |= (draw.random(50_000) < 0.6).astype(np.uint64) << np.uint64(3)
    found = bits[bits > 0]
    estimate = estimated_recall([*STAGES, WHOLE], found, np.ones(len(found)))
    assert estimate == pytest.approx(len(found) / len(bits), abs=0.01)


def test_non_matches_do_not_count():
    bits = np.repeat(np.array([1, 2, 3, 1], np.uint64), [40, 10, 40, 500])
    assert estimated_recall(STAGES[:2], bits, np.repeat([1.0, 0.0], [90, 500])) == pytest.approx(0.9)


def test_several_stages_of_one_field_are_one_way():
    """Equal and near names are not independent."""
    stages = [STAGES[0], Stage("2 nearest by name", 0, 0, field="name")]
    assert estimated_recall(stages, np.repeat(np.uint64(3), 100), np.ones(100)) is None
    assert estimated_recall([WHOLE], np.repeat(np.uint64(1), 100), np.ones(100)) is None
    assert estimated_recall([], np.zeros(0, np.uint64), np.zeros(0)) is None


def test_too_few_matches_say_nothing():
    for count in (LEAST_MATCHES - 1, LEAST_MATCHES):
        found = estimated_recall(STAGES, np.repeat(np.array([1, 2, 3], np.uint64), count), np.ones(3 * count))
        assert found is None if count < LEAST_MATCHES else found == pytest.approx(0.75)


def test_missing_fields_are_no_errors():
    """Half of the records have no telephone, so it finds half of the matches; without one, few are missed by name."""
    draw = np.random.default_rng(3)
    there = draw.random((40_000, 3)) < (0.9, 0.9, 0.5)
    hits = there & (draw.random(there.shape) < (0.9, 0.8, 0.95))
    bits = hits @ np.array([1, 2, 4], np.uint64)
    some = bits > 0
    names, points = ["name", "street", "phone"], np.where(there, 100.0, np.nan)[some]
    estimate = estimated_recall(STAGES, bits[some], np.ones(some.sum()), names, points)
    assert estimate == pytest.approx(some.sum() / np.count_nonzero(there.any(axis=1)), abs=0.005)


def test_fields_that_no_record_has_together():
    """Of films and people in one table, the names of people cannot be compared with another field."""
    bits = np.repeat(np.array([1, 2, 4, 6], np.uint64), [500, 30, 30, 440])
    points = np.repeat(np.array([[100, np.nan, np.nan], [np.nan, 100, 100]]), [500, 500], axis=0)
    names = ["name", "street", "phone"]
    assert estimated_recall(STAGES, bits, np.ones(1000), names, points) is None
    known = estimated_recall(STAGES, bits[480:], np.ones(520), names, points[480:])
    assert known == pytest.approx(1 - (30 / 470) ** 2, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("errors", [0.1, 0.4])
def test_two_companies(errors):
    """If probabilities are true, the estimate is near the true share of matches among candidates."""
    made = la.entities.two_companies(3000, rates=Rates(typos=errors, moves=errors / 2, new_phones=errors / 2))
    found = la.entities.resolve(made.left, made.right, fields=FIELDS, nearest=0, threshold=0.9)
    candidates = found.candidates
    truth = [places_of(made.truth[name], side["id"]) for name, side in
             (("left_id", made.left), ("right_id", made.right))]  # fmt: skip
    true = np.isin(candidates.numbers, truth[0] * candidates.records + truth[1] + 3000)
    estimate = estimated_recall(candidates.stages, candidates.found_by, true.astype(float))
    assert estimate == pytest.approx(np.count_nonzero(true) / len(made.truth), abs=0.03)


def places_of(ids, every):
    return np.asarray(pc.index_in(ids, every.combine_chunks())).astype(np.int64)


def test_the_estimate_is_shown():
    made = la.entities.two_companies(1000)
    found = la.entities.resolve(made.left, made.right, fields=FIELDS)
    [line] = [line for line in found.lines() if line.startswith("estimated recall of candidates: ")]
    assert 0.95 < float(line.split()[-1]) <= found.stats["candidate_recall"] <= 1
    found = la.entities.resolve(made.left, made.right, fields=FIELDS[:1])
    assert found.stats["candidate_recall"] is None
    assert not any("estimated recall" in line for line in found.lines())
