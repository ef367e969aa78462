"""Check groups of items against a plain twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.buckets import ONE
from lookalike.kernels.groups import join_supported
from tests import reference as ref
from tests.kernel_samples import seeds


@given(
    seeds,
    st.sampled_from([0, 1, 2, 5, 12]),
    st.sampled_from([None, 0, 2, 5]),
    st.sampled_from([-3, -1, 0]),
    st.sampled_from([0, 1, 9]),
    st.booleans(),
)
def test_join_supported(rng, n, split, unknown, most, begun):
    pairs = [(a, b) for b in range(n) for a in range(b) if split is None or a < split <= b]
    evidence = {pair: rng.randint(-6, 6) for pair in pairs if rng.random() < 0.6}
    links = [pair for pair in evidence if evidence[pair] >= 0 or rng.random() < 0.2]
    rng.shuffle(links)
    others = [sorted({*pair} - {item})[0] for item in range(n) for pair in evidence if item in pair]
    values = [evidence[pair] for item in range(n) for pair in evidence if item in pair]
    indptr = np.cumsum([0, *(sum(item in pair for pair in evidence) for item in range(n))])
    ends = np.array(links, np.int64).reshape(-1, 2).T
    compared = indptr, np.array(others, np.int64), np.array(values, np.int64)
    parent = np.arange(n)
    for item in range(n if begun else 0):
        parent[item] = parent[rng.randint(0, item)] if rng.random() < 0.4 else item
    known = [{item for item in range(n) if parent[item] == root} for root in range(n) if parent[root] == root]
    joined = join_supported(*ends.copy(), *compared, unknown, most, ONE if split is None else split, parent)
    label = list(range(n))
    for item in range(n):
        while label[item] != parent[label[item]]:
            label[item] = int(parent[label[item]])
    assert (label, joined.tolist()) == ref.join_supported(n, links, evidence, unknown, most, split, known)
