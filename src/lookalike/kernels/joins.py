"""Join sets exactly: prefix filtering, and looking up a few sets among many.

Rows are sorted sets as in `sets`. Pairs come with the size of their intersection.
"""

import numpy as np

from lookalike.kernels.bounds import JACCARD, least, need, prefix_lengths
from lookalike.kernels.buckets import ONE
from lookalike.kernels.hashing import kernel
from lookalike.kernels.sets import grown, shared_of

LENGTH, PREFIX, POSITION, SUFFIX = range(4)  # stages of filtering; each includes those before it


@kernel
def by_range(elements, shift, width, ranges):
    """Group the high bits x >> shift of elements by range: (starts, numbers).

    Range i holds the numbers from i << width to (i + 1) << width, numbers[starts[i]:starts[i + 1]].
    """
    starts = np.zeros(ranges + 1, np.int64)
    for x in elements:
        starts[(x >> shift >> np.uint64(width)) + np.uint64(1)] += 1
    for i in range(ranges):
        starts[i + 1] += starts[i]
    nexts = starts[:-1].copy()
    numbers = np.empty(len(elements), np.uint32)
    for x in elements:
        number = x >> shift
        numbers[nexts[number >> np.uint64(width)]] = number
        nexts[number >> np.uint64(width)] += 1
    return starts, numbers


@kernel
def count_numbers(numbers, counts):
    """Add one to counts[x] for each number x."""
    for x in numbers:
        counts[x] += 1


@kernel
def rank_counts(counts, table, ranks):
    """Write the rank of each count: table[count], or where the table ends, 8 log2(count)."""
    for i in range(len(counts)):
        count = counts[i]
        ranks[i] = table[count] if count < len(table) else min(np.ceil(8 * np.log2(count)), 255)


@kernel
def prefixes(indptr, elements, rows, ranks, shift, kind, p, q):
    """Return the elements of each of `rows` to look up: (indptr, elements, places, kept).

    Elements are ordered by ranks[x >> shift], low ranks first, then by hash. All rows share this
    order, which is all that a prefix index requires. `places` are the positions in it, from 0, and
    `kept` marks those in the shorter prefix that is indexed. Rank 0 stands for elements that no
    other set has; they count in the prefix but match nothing, and are left out.
    """
    total, longest = 0, 0
    for row in rows:
        size = indptr[row + 1] - indptr[row]
        longest = max(longest, size)
        total += prefix_lengths(kind, size, p, q)[0]
    out_indptr = np.zeros(len(rows) + 1, np.int64)
    out, places, kept = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.bool_)
    found = np.empty(longest, np.uint8)  # the ranks of a row: looking them up is slow
    starts = np.empty(257, np.int64)
    at = 0
    for r in range(len(rows)):
        values = elements[indptr[rows[r]] : indptr[rows[r] + 1]]
        probe, index = prefix_lengths(kind, len(values), p, q)
        top = np.uint8(0)
        for i in range(len(values)):
            found[i] = ranks[values[i] >> shift]
            top = max(top, found[i])
        starts[: np.int64(top) + 2] = 0
        for i in range(len(values)):
            starts[np.int64(found[i]) + 1] += 1
        for rank in range(np.int64(top) + 1):
            starts[rank + 1] += starts[rank]
        unique = min(starts[1], probe)  # the elements of rank 0 come first
        for i in range(len(values)):
            rank = np.int64(found[i])
            place = starts[rank]
            starts[rank] += 1
            if rank > 0 and place < probe:
                token = at + place - unique
                out[token], places[token], kept[token] = values[i], place, place < index
        at += probe - unique
        out_indptr[r + 1] = at
    return out_indptr, out[:at].copy(), places[:at].copy(), kept[:at].copy()


@kernel
def count_kept(ordered, mask, kept):
    """Return how many of the tokens in `ordered` are kept: see `post`."""
    n = 0
    for x in ordered:
        n += kept[x & mask]
    return n


@kernel
def post(ordered, mask, tokens, owners, places, kept, first, values, rows, spots, begins, ends):
    """Turn sorted tokens into postings, the first of them number `first`.

    A number in `ordered` holds the high bits of an element, and a token's number in the bits of the
    mask. Tokens of one element are adjacent, in order of their rows; those `kept` are posted with
    their element, row and place, in `values`, `rows` and `spots`. For token t, begins[t]:ends[t] are
    the postings of earlier rows; they include elements that differ from it only in the bits of the
    mask. No element is cut: `ordered` holds all its tokens, or none.
    """
    n, begin = first, first
    for i in range(len(ordered)):
        if i > 0 and (ordered[i] ^ ordered[i - 1]) & ~mask != 0:
            begin = n
        token = np.int64(ordered[i] & mask)
        begins[token], ends[token] = begin, n
        if kept[token]:
            values[n], rows[n], spots[n] = tokens[token], owners[token], places[token]
            n += 1


@kernel
def count_lookups(starts, begins, ends):
    """Return for each row how many tokens it has and how many postings they look up, in all."""
    out = np.empty(len(starts) - 1, np.int64)
    for row in range(len(out)):
        out[row] = starts[row + 1] - starts[row]
        for token in range(starts[row], starts[row + 1]):
            out[row] += ends[token] - begins[token]
    return out


@kernel
def with_room(n, one, two, three):
    """Return three arrays with n values, or longer copies if they have no room for one more."""
    if n < len(one):
        return one, two, three
    return grown(one, n), grown(two, n), grown(three, n)


@kernel
def can_share(stage, kind, a, i, b, j, least, p, q):
    """Return whether sets of a and b elements can share `least`, given the first shared element.

    It is element i of one set and element j of the other, counted from 0. SUFFIX uses that at most
    min(a - i, b - j) elements are shared. POSITION does not look at what follows in the other set:
    at most a - i elements are shared, and j more are in the union.
    """
    if stage == SUFFIX:
        return min(a - i, b - j) >= least
    if stage == POSITION:
        return q * (a - i) >= p * (a + j) if kind == JACCARD else a - i >= least
    return True


@kernel
def prefix_join(
    start, stop, met, rows, prefix_indptr, tokens, places, values, posted, spots, begins, ends,
    indptr, elements, kind, p, q, stage, split,
):  # fmt: skip
    """Return similar pairs whose larger row is in range(start, stop), and how many were candidates.

    `rows` are in order of size, and `posted` holds their numbers in it. Each look-up walks back
    over the postings of smaller rows until one is too small to be similar. A row is first met at
    the first element that both prefixes share, which is the first that both sets share, so its
    positions show whether the sets can be similar. `met` holds, for each row, a row that met it
    earlier, or -1; another task with other rows can use it again.
    """
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, candidates, first = 0, 0, 0
    for number in range(start, stop):
        row = rows[number]
        size = indptr[row + 1] - indptr[row]
        first = first_of_size(rows, indptr, least(kind, size, p, q), first, number)
        for token in range(prefix_indptr[number], prefix_indptr[number + 1]):
            for at in range(ends[token] - 1, begins[token] - 1, -1):
                other = posted[at]
                if other < first:
                    break
                if met[other] == number or values[at] != tokens[token]:
                    continue
                it = rows[other]
                if split != ONE and (it < split) == (row < split):
                    continue
                met[other] = number
                its = indptr[it + 1] - indptr[it]
                must = need(kind, size, its, p, q)
                if not can_share(stage, kind, size, places[token], its, spots[at], must, p, q):
                    continue
                candidates += 1
                both = shared_of(indptr, elements, row, it, must)
                if both >= 0:
                    left, right, shared = with_room(n, left, right, shared)
                    left[n], right[n], shared[n] = min(row, it), max(row, it), both
                    n += 1
    return left[:n], right[:n], shared[:n], candidates


@kernel
def first_of_size(rows, indptr, smallest, low, high):
    """Return the first number from `low` to `high` whose row has at least `smallest` elements.

    Rows are in order of size.
    """
    while low < high:
        middle = (low + high) // 2
        if indptr[rows[middle] + 1] - indptr[rows[middle]] < smallest:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def length_join(start, stop, rows, indptr, elements, kind, p, q, split):
    """Return the same by comparing each row with all smaller rows that are not too small."""
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, candidates = 0, 0
    for number in range(start, stop):
        row = rows[number]
        size = indptr[row + 1] - indptr[row]
        smallest = least(kind, size, p, q)
        for other in range(number - 1, -1, -1):
            it = rows[other]
            its = indptr[it + 1] - indptr[it]
            if its < smallest:
                break
            if split != ONE and (it < split) == (row < split):
                continue
            candidates += 1
            both = shared_of(indptr, elements, row, it, need(kind, size, its, p, q))
            if both >= 0:
                left, right, shared = with_room(n, left, right, shared)
                left[n], right[n], shared[n] = min(row, it), max(row, it), both
                n += 1
    return left[:n], right[:n], shared[:n], candidates


@kernel
def index_elements(ordered, shift):
    """Return a hash table from elements to their first places in sorted `ordered`; -1 is free."""
    slots = np.full(np.int64(1) << (64 - np.int64(shift)), -1, np.int64)
    for i in range(len(ordered)):
        if i > 0 and ordered[i] == ordered[i - 1]:
            continue
        slot = ordered[i] >> shift
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
        slots[slot] = i
    return slots


@kernel
def probe(indptr, elements, slots, shift, ordered, owners, sizes, kind, p, q):
    """Compare every row with every set of a small index; return similar pairs: (row, set, shared).

    Similar means a Jaccard similarity of at least p/q or, by containment, that a share of at least
    p/q of the set is in the row. `ordered` holds the elements of the indexed
    sets, sorted, `owners` the set of each, `slots` the table of `index_elements`. Each row counts
    the elements it shares with each set it meets. O(elements + meetings).
    """
    counts = np.zeros(len(sizes), np.int64)
    touched = np.empty(len(sizes), np.int64)
    rows, sets, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n = 0
    for row in range(len(indptr) - 1):
        met = 0
        for x in elements[indptr[row] : indptr[row + 1]]:
            slot = x >> shift
            while slots[slot] >= 0 and ordered[slots[slot]] != x:
                slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
            i = slots[slot]
            while 0 <= i < len(ordered) and ordered[i] == x:
                if counts[owners[i]] == 0:
                    touched[met] = owners[i]
                    met += 1
                counts[owners[i]] += 1
                i += 1
        size = indptr[row + 1] - indptr[row]
        for owner in touched[:met]:
            whole = size + sizes[owner] - counts[owner] if kind == JACCARD else sizes[owner]
            if counts[owner] * q >= p * whole:
                rows, sets, shared = with_room(n, rows, sets, shared)
                rows[n], sets[n], shared[n] = row, owner, counts[owner]
                n += 1
            counts[owner] = 0
    return rows[:n], sets[:n], shared[:n]
