"""Look up new sets in an index of prefixes.

Rows are sorted sets as in `sets`: the index in one pair of arrays, the queries in another.
"""

import numpy as np

from lookalike.kernels.bounds import need
from lookalike.kernels.hashing import GOLDEN, kernel
from lookalike.kernels.joins import SUFFIX, can_share, with_room
from lookalike.kernels.sets import shared_between


@kernel
def no_meetings(starts, begins, ends, rows):
    """Return an empty table for `meets` with at least twice the slots that any query fills.

    Query n meets at most as many rows as its tokens, starts[n] to starts[n + 1] - 1, have postings.
    """
    most = 1
    for number in range(len(starts) - 1):
        meetings = 0
        for token in range(starts[number], starts[number + 1]):
            meetings += ends[token] - begins[token]
        most = max(most, min(meetings, rows))
    slots = 2
    while slots < 2 * most:
        slots *= 2
    return np.full(slots, -1, np.int64)


@kernel
def meets(table, number, row):
    """Return whether query `number` meets the row for the first time, and record it in the table.

    A slot holds a query's number in its high 32 bits and a row's in its low ones; those of earlier
    queries are free.
    """
    spread = np.uint64(row) * GOLDEN >> np.uint64(32)
    slot = np.int64(spread) & (len(table) - 1)
    meeting = np.int64(number) << 32 | np.int64(row)
    while table[slot] >> 32 == number:
        if table[slot] == meeting:
            return False
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = meeting
    return True


@kernel
def prefix_probe(
    first, starts, places, begins, ends, query_indptr, query_elements, rows, spots, indptr, elements, kind, p, q
):
    """Return the rows similar to the queries from `first` on: (query, row, shared, compared).

    They are ordered by query. The tokens of query n, counted from `first`, are starts[n] to
    starts[n + 1] - 1, in the order of elements; `places` are their positions in it. Postings
    begins[t] to ends[t] - 1 are those of token t's element: the rows with it in their prefix, and
    its positions there (`spots`). A row is first met at the first element that both sets share, so
    the positions show whether the sets can be similar; a row too small or too large never can.
    """
    table = no_meetings(starts, begins, ends, len(indptr) - 1)
    queries, found, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, compared = 0, 0
    for number in range(len(starts) - 1):
        asked = query_elements[query_indptr[first + number] : query_indptr[first + number + 1]]
        for token in range(starts[number], starts[number + 1]):
            for at in range(begins[token], ends[token]):
                row = rows[at]
                if not meets(table, number, row):
                    continue
                its = elements[indptr[row] : indptr[row + 1]]
                must = need(kind, len(asked), len(its), p, q)
                if not can_share(SUFFIX, kind, len(asked), places[token], len(its), spots[at], must, p, q):
                    continue
                compared += 1
                both = shared_between(asked, its, must)
                if both >= 0:
                    queries, found, shared = with_room(n, queries, found, shared)
                    queries[n], found[n], shared[n] = first + number, row, both
                    n += 1
    return queries[:n], found[:n], shared[:n], compared
