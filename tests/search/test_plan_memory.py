"""Check the memory that a plan states for an exact join."""

import numpy as np
import pytest

from lookalike.items.sets import Sets
from lookalike.search.joins import element_counts, element_ranks
from lookalike.search.plan import fit, make_plan


def sample(size: int, items: int = 200) -> Sets:
    rng = np.random.default_rng(0)
    return Sets.of([set(rng.integers(0, 1 << 40, size).tolist()) for _ in range(items)])


@pytest.mark.parametrize(
    ("items", "size", "measured"), [(7_500, 2_091, 621e6), (15_000, 2_091, 955e6), (30_000, 2_091, 1_570e6)]
)
def test_the_plan_states_the_memory_of_an_exact_join(items: int, size: int, measured: float) -> None:
    """The estimate is within 30% of what runs on documents of 2,100 characters needed."""
    plan = fit(make_plan(threshold=0.8, method="exact"), sample(size), items)
    needed = plan.memory + 2_100 * items
    assert 0.7 * measured < needed < 1.3 * measured
    assert f"      needs about {plan.memory / 1e9:.1f} GB of memory" in plan.lines() or plan.memory < 5e8


def test_the_plan_of_a_small_join_does_not_speak_of_memory() -> None:
    plan = fit(make_plan(threshold=0.8, method="exact"), sample(20), 1000)
    assert not any("memory" in line for line in plan.lines())


def test_ranks_are_made_in_parts() -> None:
    """Each rank is that of its count, however many there are."""
    sets = sample(500)
    ranks, shift = element_ranks(sets)
    counts, same = element_counts(sets)
    assert (len(ranks), shift) == (len(counts), same)
    expected = np.minimum(np.ceil(8 * np.log2(np.maximum(counts, 1))), 255).astype(np.uint8)
    assert np.array_equal(ranks, expected)
