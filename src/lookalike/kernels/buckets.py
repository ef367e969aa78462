"""Make buckets of items that share a key, and from them pairs, stars and components.

Buckets come as rows: the items of bucket b are items[indptr[b]:indptr[b + 1]], in ascending order.
"""

import numpy as np

from lookalike.kernels.hashing import EMPTY, kernel
from lookalike.kernels.sets import grown, overlap

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
def new_pairs(indptr, items, keys, band, mask, split, state, stop, left, right):
    """Fill `left` and `right` with pairs that share a bucket of this band and of no earlier one.

    Returns how many. `state` = [bucket, i, j] is where to continue: at items[i] of this bucket and
    at items[j] before it. Call again until i reaches `stop`. Unless `split` is ONE, only pairs
    across it count.
    """
    n = 0
    bucket, i, j = state[0], state[1], state[2]
    while i < stop:
        while i >= indptr[bucket + 1]:
            bucket += 1
        b = items[i]
        j = max(j, indptr[bucket])
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
    state[0], state[1], state[2] = bucket, i, 0
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
def met_before(other, of_indptr, of_buckets, item, at, rooms, kept, held):
    """Return whether `other` is among the kept items of one of the item's buckets before place `at`."""
    mine, its = of_indptr[item], of_indptr[other]
    while mine < at and its < of_indptr[other + 1]:
        bucket = of_buckets[mine]
        if bucket == of_buckets[its]:
            if rooms[bucket] + held[bucket] < rooms[bucket + 1]:  # it has room, so all its kept items are there
                return True
            for one in kept[rooms[bucket] : rooms[bucket + 1]]:
                if one == other:
                    return True
        mine += bucket <= of_buckets[its]
        its += of_buckets[its] <= bucket
    return False


@kernel
def first_kept(
    item, of_indptr, of_buckets, rooms, kept, held, fresh, late, unlike, patience, indptr, elements, weights, p, q
):  # fmt: skip
    """Return the first similar kept item in the item's buckets, or -1, and their overlap.

    Only kept items whose mark in `fresh` equals `late` are compared, each once. unlike[item] counts
    the dissimilar ones; the search ends after a bucket that brings it to `patience`.
    """
    for at in range(of_indptr[item], of_indptr[item + 1]):
        bucket = of_buckets[at]
        for other in kept[rooms[bucket] : rooms[bucket] + held[bucket]]:
            if fresh[other] != late or met_before(other, of_indptr, of_buckets, item, at, rooms, kept, held):
                continue
            both = overlap(indptr, elements, weights, item, other, p, q)
            if both >= 0:
                return other, both
            unlike[item] += 1
        if unlike[item] >= patience:
            break
    return -1, -1


@kernel
def look_at_kept(
    order, of_indptr, of_buckets, rooms, kept, held, fresh, unlike, patience, indptr, elements, weights, p, q, centre,
    shared,
):  # fmt: skip
    """Find the items in `order` that are similar to an item kept so far, which is then their `centre`.

    `shared` is their overlap. Other items are left as their own centre: see `stars`.
    """
    for item in order:
        other, both = first_kept(
            item, of_indptr, of_buckets, rooms, kept, held, fresh, False, unlike, patience, indptr, elements,
            weights, p, q,
        )  # fmt: skip
        centre[item] = item
        if other >= 0:
            centre[item], shared[item] = other, both


@kernel
def stars(
    order, of_indptr, of_buckets, rooms, kept, held, fresh, unlike, patience, indptr, elements, weights, p, q, centre,
    shared,
):  # fmt: skip
    """Visit items in `order`, and keep each one that is not similar to a kept item in its buckets.

    `look_at_kept` has compared them with the items kept before; here they are compared with the
    fresh ones, kept since. kept[rooms[b]:rooms[b + 1]] has room for the first kept items of bucket
    b, held[b] of them so far: so a visit to a bucket of many dissimilar items has a bounded cost.
    An item is kept after `patience` dissimilar ones. Returns how many searches were cut off.
    """
    crowded = 0
    for item in order:
        if centre[item] == item and unlike[item] < patience:
            other, both = first_kept(
                item, of_indptr, of_buckets, rooms, kept, held, fresh, True, unlike, patience, indptr, elements,
                weights, p, q,
            )  # fmt: skip
            if other >= 0:
                centre[item], shared[item] = other, both
        if centre[item] == item:
            full = False
            for at in range(of_indptr[item], of_indptr[item + 1]):
                bucket = of_buckets[at]
                if rooms[bucket] + held[bucket] < rooms[bucket + 1]:
                    kept[rooms[bucket] + held[bucket]] = item
                    held[bucket] += 1
                else:
                    full = True
            fresh[item] = True
            crowded += full or unlike[item] >= patience
    for item in order:
        fresh[item] = False
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
def root_of(parent, item):
    """Return the same as `find`, without changing `parent`, so that threads can share it."""
    while parent[item] != item:
        item = parent[item]
    return item


@kernel
def similar_in_buckets(
    start, stop, bucket, bucket_indptr, items, reach, patience, unlike, cut, indptr, elements, weights, p, q, parent
):  # fmt: skip
    """Return pairs that connect all similar items of buckets: (left, right).

    Each of items[start:stop] is compared with the `reach` items before it in its bucket, except
    those connected with it already: all pairs of a small bucket, and at most `reach` per item of a
    large one. `bucket` is that of items[start]. `unlike` counts the dissimilar items found for each
    item in all bands; after `patience` of them its search ends. `cut` marks items not compared with
    all that they could be joined to, as far as that shows here: see `mark_apart`.
    """
    low = max(bucket_indptr[bucket], start - reach) if stop > start else start
    root, near = np.empty(stop - low, np.int64), np.arange(stop - low)  # components before, and those found here
    for i in range(low, stop):
        root[i - low] = root_of(parent, items[i])
    left, right = np.empty(stop - low, np.int64), np.empty(stop - low, np.int64)
    n = 0
    for i in range(start, stop):
        while i >= bucket_indptr[bucket + 1]:
            bucket += 1
        first = bucket_indptr[bucket]
        item, before = items[i], unlike[items[i]]
        for j in range(i - 1, max(first, i - reach) - 1, -1):
            if unlike[item] >= patience:
                break
            if root[i - low] == root[j - low]:
                union(near, i - low, j - low)
            if find(near, i - low) == find(near, j - low):
                continue
            if overlap(indptr, elements, weights, item, items[j], p, q) >= 0:
                union(near, i - low, j - low)
                if n == len(left):
                    left, right = grown(left, n), grown(right, n)
                left[n], right[n] = item, items[j]
                n += 1
            else:
                unlike[item] += 1
        if unlike[item] >= patience or (i - reach > first and unlike[item] > before):
            cut[item] = True
    return left[:n], right[:n]


@kernel
def mark_apart(bucket_indptr, items, reach, parent, cut):
    """Mark items beyond the reach of their bucket's first item that are not connected with it."""
    for bucket in range(len(bucket_indptr) - 1):
        first = bucket_indptr[bucket]
        for i in range(first + reach + 1, bucket_indptr[bucket + 1]):
            if find(parent, items[i]) != find(parent, items[first]):
                cut[items[i]] = True


@kernel
def roots(parent):
    """Return the least item of each item's component."""
    out = np.empty(len(parent), np.int64)
    for item in range(len(parent)):
        out[item] = find(parent, item)
    return out
