"""Make buckets of items that share a key, and from them pairs, stars and components.

Buckets come as rows: the items of bucket b are items[indptr[b]:indptr[b + 1]], in ascending order.
"""

import numpy as np

from lookalike.kernels.hashing import EMPTY, kernel
from lookalike.kernels.sets import overlap

ONE = -1  # the value of `split` if there is only one collection


@kernel
def members(ordered, mask):
    """Return the buckets of two or more items: (indptr, items).

    `ordered` is sorted: each number holds the high bits of an item's key, and the item's number in
    the bits of `mask`. So the items of a bucket are adjacent and in order. Items without a key
    (EMPTY) are at the end and in no bucket.
    """
    indptr = np.empty(len(ordered) // 2 + 1, np.int64)
    items = np.empty(len(ordered), np.int64)
    indptr[0] = 0
    buckets, n, start = 0, 0, 0
    for i in range(1, len(ordered) + 1):
        if i < len(ordered) and (ordered[i] ^ ordered[start]) & ~mask == 0:
            continue
        if i - start > 1 and ordered[start] & ~mask != EMPTY & ~mask:
            for j in range(start, i):
                items[n] = np.int64(ordered[j] & mask)
                n += 1
            buckets += 1
            indptr[buckets] = n
        start = i
    return indptr[: buckets + 1].copy(), items[:n].copy()


@kernel
def new_pairs(indptr, items, keys, band, mask, split, state, left, right):
    """Fill `left` and `right` with pairs that share a bucket of this band and of no earlier one.

    Returns how many. `state` = [bucket, i, j] is where to continue: start with zeros and call again
    until state[0] is the number of buckets. Unless `split` is ONE, only pairs across it count.
    """
    n = 0
    bucket, i, j = state[0], state[1], state[2]
    while bucket < len(indptr) - 1:
        first, last = indptr[bucket], indptr[bucket + 1]
        i = max(i, first)
        while i < last:
            b = items[i]
            j = max(j, first)
            while j < i and (split == ONE or items[j] < split <= b):
                a = items[j]
                j += 1
                earlier = 0
                while earlier < band and (
                    (keys[a, earlier] ^ keys[b, earlier]) & ~mask != 0 or keys[a, earlier] | mask == EMPTY
                ):
                    earlier += 1
                if earlier == band:
                    left[n], right[n] = a, b
                    n += 1
                    if n == len(left):
                        state[0], state[1], state[2] = bucket, i, j
                        return n
            i += 1
            j = 0
        bucket += 1
    state[0], state[1], state[2] = bucket, 0, 0
    return n


@kernel
def buckets_of(indptr, items, n, out):
    """Invert `members`: fill `out` with the buckets of each of n items, and return its indptr."""
    out_indptr = np.zeros(n + 1, np.int64)
    for item in items:
        out_indptr[item + 1] += 1
    for item in range(n):
        out_indptr[item + 1] += out_indptr[item]
    at = out_indptr[:n].copy()
    for bucket in range(len(indptr) - 1):
        for i in range(indptr[bucket], indptr[bucket + 1]):
            out[at[items[i]]] = bucket
            at[items[i]] += 1
    return out_indptr


@kernel
def stars(order, of_indptr, of_buckets, rooms, kept, held, seen, patience, indptr, elements, p, q, centre, shared):
    """Visit items in `order`, and keep each one that is not similar to a kept item in its buckets.

    A removed item's `centre` is the first similar kept item, and `shared` is their overlap; a kept
    item is its own centre. kept[rooms[b]:rooms[b + 1]] has room for the first kept items of bucket
    b, held[b] of them so far: so a visit to a bucket of many dissimilar items has a bounded cost.
    `seen` (one number per item, -1 at first) avoids comparing with an item of two buckets twice. An
    item is kept after `patience` dissimilar ones. Returns how many searches were cut off.
    """
    crowded = 0
    for item in order:
        centre[item] = item
        unlike = 0
        full = False
        for at in range(of_indptr[item], of_indptr[item + 1]):
            bucket = of_buckets[at]
            for other in kept[rooms[bucket] : rooms[bucket] + held[bucket]]:
                if seen[other] == item:
                    continue
                seen[other] = item
                both = overlap(indptr, elements, item, other, p, q)
                if both >= 0:
                    centre[item] = other
                    shared[item] = both
                    break
                unlike += 1
            if centre[item] != item or unlike >= patience:
                break
        if centre[item] == item:
            for at in range(of_indptr[item], of_indptr[item + 1]):
                bucket = of_buckets[at]
                if rooms[bucket] + held[bucket] < rooms[bucket + 1]:
                    kept[rooms[bucket] + held[bucket]] = item
                    held[bucket] += 1
                else:
                    full = True
            crowded += full or unlike >= patience
    return crowded


@kernel
def keep_apart(order, indptr, others, centre, edge):
    """Visit items in `order`, and keep each one that is not similar to a kept item.

    The items similar to item i are others[indptr[i]:indptr[i + 1]]. A removed item's `centre` is
    the first of them that was kept, and `edge` its place in the list. Kept items leave both alone.
    """
    kept = np.zeros(len(indptr) - 1, np.bool_)
    for item in order:
        kept[item] = True
        for at in range(indptr[item], indptr[item + 1]):
            if kept[others[at]] and others[at] != item:
                kept[item] = False
                centre[item], edge[item] = others[at], at
                break


@kernel
def find(parent, item):
    """Return the least item of the component of `item`, halving the path to it on the way."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@kernel
def union(parent, a, b):
    """Join two components."""
    a, b = find(parent, a), find(parent, b)
    parent[max(a, b)] = min(a, b)


@kernel
def join_pairs(left, right, parent):
    """Join the components of each pair's two items."""
    for i in range(len(left)):
        union(parent, left[i], right[i])


@kernel
def join_buckets(bucket_indptr, items, reach, patience, unlike, cut, indptr, elements, p, q, parent):
    """Join the components of the similar items of each bucket.

    Each item is compared with the `reach` items before it in its bucket, except those in its
    component already: all pairs of a small bucket, and at most `reach` per item of a large one.
    `unlike` counts the dissimilar items found for each item in all buckets; after `patience` of
    them its search ends. `cut` marks items not compared with all that they could be joined to.
    """
    for bucket in range(len(bucket_indptr) - 1):
        first = bucket_indptr[bucket]
        for i in range(first + 1, bucket_indptr[bucket + 1]):
            before = unlike[items[i]]
            for j in range(i - 1, max(first, i - reach) - 1, -1):
                if unlike[items[i]] >= patience:
                    break
                if find(parent, items[i]) == find(parent, items[j]):
                    continue
                if overlap(indptr, elements, items[i], items[j], p, q) >= 0:
                    union(parent, items[i], items[j])
                else:
                    unlike[items[i]] += 1
            apart = unlike[items[i]] > before or find(parent, items[i]) != find(parent, items[first])
            if unlike[items[i]] >= patience or (i - reach > first and apart):
                cut[items[i]] = True


@kernel
def roots(parent):
    """Return the least item of each item's component."""
    out = np.empty(len(parent), np.int64)
    for item in range(len(parent)):
        out[item] = find(parent, item)
    return out
