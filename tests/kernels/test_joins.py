"""Check a small index of sets against its plain twin."""

import numpy as np
from hypothesis import given

from lookalike.kernels import joins
from tests import reference as ref
from tests.kernel_samples import as_rows, drawn_sets, seeds, thresholds


@given(seeds, thresholds)
def test_probe(rng, threshold):
    sets = drawn_sets(rng, rows=rng.randrange(1, 25))
    sample = [one for one in drawn_sets(rng, rows=4) + sets[:3] if one] + [[7]]
    pairs = sorted((x, owner) for owner, one in enumerate(sample) for x in one)
    ordered = np.array([x for x, _ in pairs], np.uint64)
    owners = np.array([owner for _, owner in pairs])
    shift = np.uint64(64 - (2 * len(ordered)).bit_length())
    sizes = np.array([len(one) for one in sample])
    slots = joins.index_elements(ordered, shift)
    ratio = threshold.as_integer_ratio()
    row, owner, shared = joins.probe(*as_rows(sets), slots, shift, ordered, owners, sizes, *ratio)
    both = {(i, j): ref.similar_overlap(a, b, threshold) for i, a in enumerate(sets) for j, b in enumerate(sample)}
    expected = [(*pair, n) for pair, n in both.items() if n >= 0]
    assert sorted(zip(row.tolist(), owner.tolist(), shared.tolist(), strict=True)) == expected
