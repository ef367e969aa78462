"""Draw elements from sets, and look up those of other sets to find which sets are contained in them.

Rows are sets as in `sets`: sorted, without repeats.
"""

import numpy as np

from lookalike.kernels.hashing import kernel, mix
from lookalike.kernels.joins import with_room
from lookalike.kernels.sets import shared_between, sort_hashes

SEARCH = 16  # a set this many times as large is searched, not merged


@kernel
def draw_rows(indptr, elements, size, seed):
    """Return `size` different elements of each row, or all if it has fewer: (indptr, elements).

    Those with the lowest hashes are drawn, so a row is drawn alike wherever it occurs. Elements can
    be in any order, with repeats; drawn ones ascend.
    """
    out_indptr = np.zeros(len(indptr), np.int64)
    room = 0
    for row in range(len(indptr) - 1):
        room += min(size, indptr[row + 1] - indptr[row])
    out, hashes, counts = np.empty(room, np.uint64), np.empty(size, np.uint64), np.empty(2 * size + 1, np.int32)
    for row in range(len(indptr) - 1):
        start, n = out_indptr[row], 0
        for x in elements[indptr[row] : indptr[row + 1]]:
            drawn = mix(x ^ seed)
            if n == size and drawn >= hashes[n - 1]:
                continue
            place = np.searchsorted(hashes[:n], drawn)
            if place < n and hashes[place] == drawn:  # a repeat
                continue
            n = min(n + 1, size)
            for i in range(n - 1, place, -1):
                hashes[i], out[start + i] = hashes[i - 1], out[start + i - 1]
            hashes[place], out[start + place] = drawn, x
        sort_hashes(out[start : start + n], hashes, counts)
        out_indptr[row + 1] = start + n
    return out_indptr, out[: out_indptr[-1]].copy()


@kernel
def rarest(indptr, elements, needs, ranks, shift, lowest):
    """Return all but needs[row] - 1 elements of each row, the rarest: (owners, tokens).

    A set with at least needs[row] of the row's elements has one of these. Element x has the rank
    ranks[x >> shift]; those ranked below `lowest` are in no other set, and are left out.
    """
    total = 0
    for row in range(len(needs)):
        total += indptr[row + 1] - indptr[row] - needs[row] + 1
    owners, tokens = np.empty(total, np.int32), np.empty(total, np.uint64)
    counts = np.empty(256, np.int64)
    n = 0
    for row in range(len(needs)):
        values = elements[indptr[row] : indptr[row + 1]]
        counts[:] = 0
        for x in values:
            counts[ranks[x >> shift]] += 1
        cut, spare = 0, len(values) - needs[row] + 1
        while counts[cut] < spare:
            spare -= counts[cut]
            cut += 1
        for x in values:
            rank = ranks[x >> shift]
            spare -= rank == cut
            if lowest <= rank < cut or (rank == cut and rank >= lowest and spare >= 0):
                owners[n], tokens[n] = row, x
                n += 1
    return owners[:n].copy(), tokens[:n].copy()


@kernel
def shared_within(one, other, least):
    """Return how many elements two sets share, or -1 if fewer than `least`; fast for a small and a large one.

    The large one is searched for each element of the small one.
    """
    small, large = (one, other) if len(one) < len(other) else (other, one)
    if SEARCH * len(small) > len(large):
        return shared_between(one, other, least)
    shared, start = 0, 0
    for i in range(len(small)):
        if shared + len(small) - i < least:
            return -1
        start += np.searchsorted(large[start:], small[i])
        shared += start < len(large) and large[start] == small[i]
    return shared if shared >= least else -1


@kernel
def look_up(rows, indptr, elements, starts, shift, tokens, owners, its_indptr, its_elements, needs, items, met, most):
    """Find the posted sets of which rows have enough elements: (item, row, shared, compared).

    Row i of `elements` is item rows[i], posted set s is items[s], and no item is compared with itself.
    The elements posted with the high bits h = x >> shift are tokens[starts[h]:starts[h + 1]], each for
    the set in `owners`. A row that meets a set there must have needs[s] of its elements. met[s] is the
    last item that met it. Stops early after more than `most` pairs.
    """
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, compared = 0, 0
    for row in range(len(rows)):
        values = elements[indptr[row] : indptr[row + 1]]
        for x in values:
            for at in range(starts[x >> shift], starts[(x >> shift) + np.uint64(1)]):
                owner = owners[at]
                if tokens[at] != x or met[owner] == rows[row] or items[owner] == rows[row]:
                    continue
                met[owner] = rows[row]
                compared += 1
                both = shared_within(its_elements[its_indptr[owner] : its_indptr[owner + 1]], values, needs[owner])
                if both >= 0:
                    left, right, shared = with_room(n, left, right, shared)
                    left[n], right[n], shared[n] = items[owner], rows[row], both
                    n += 1
        if n > most:
            break
    return left[:n], right[:n], shared[:n], compared


@kernel
def contained(indptr, elements, left, right, p, q):
    """Return how much of each left row the right one has, or -1 if that is less than p/q of it."""
    out = np.empty(len(left), np.int64)
    for i in range(len(left)):
        one = elements[indptr[left[i]] : indptr[left[i] + 1]]
        other = elements[indptr[right[i]] : indptr[right[i] + 1]]
        out[i] = shared_within(one, other, (p * len(one) + q - 1) // q)
    return out
