"""Join items into groups along links, if all that is known about the two groups speaks for it."""

import numpy as np

from lookalike.kernels.buckets import ONE, find
from lookalike.kernels.hashing import kernel


@kernel
def join_supported(left, right, indptr, others, evidence, unknown, most, split, parent):
    """Join groups along the links left[i], right[i], in order; return which links joined two groups.

    Item a was compared with others[indptr[a]:indptr[a + 1]], and `evidence` at the same places says
    how much that speaks for joining. A link joins its two groups if the sum over all pairs between
    them is at least 0. A pair that was not compared counts `unknown`, but at most `most` of them per
    item of the smaller group do. Unless `split` is ONE, only pairs across it count. The links are
    gone through again until none of them joins. `parent` has the groups from which to begin, and
    becomes that of the groups at the end; the root of a group is its first item.

    The compared pairs of the smaller group are visited for each link: O(pairs * log(items)) for
    links that join; more only if large groups have many links that do not.
    """
    n = len(parent)
    joined = np.zeros(len(left), np.bool_)
    after = np.arange(n)  # the members of each group form a ring
    size, first = np.ones(n, np.int64), np.zeros(n, np.int64)  # of groups, by their roots; before the split
    for item in range(min(n, max(split, 0))):
        first[item] = 1
    for item in range(n):
        root = find(parent, item)
        if root != item:
            after[item], after[root] = after[root], after[item]
            size[root] += 1
            first[root] += first[item]
    again = True
    while again:
        again = False
        for i in range(len(left)):
            a, b = find(parent, left[i]), find(parent, right[i])
            if a == b:
                continue
            if size[b] < size[a]:
                a, b = b, a
            second_a, second_b = size[a] - first[a], size[b] - first[b]
            pairs = size[a] * size[b] if split == ONE else first[a] * second_b + second_a * first[b]
            total, known, item = 0, 0, a
            while True:
                for at in range(indptr[item], indptr[item + 1]):
                    if find(parent, others[at]) == b:
                        total += evidence[at]
                        known += 1
                item = after[item]
                if item == a:
                    break
            if total + unknown * min(pairs - known, most * size[a]) >= 0:
                joined[i] = again = True
                after[a], after[b] = after[b], after[a]
                root, other = min(a, b), max(a, b)
                parent[other] = root
                size[root] += size[other]
                first[root] += first[other]
    return joined
