"""Find the nearest rows by the cosine of rarity-weighted elements, through an inverted index.

Row i has the elements elements[indptr[i]:indptr[i + 1]], in ascending order; elements are numbered
from the rarest to the most frequent. Its length is lengths[i], the root of the sum of its elements'
squared weights, so two rows have the cosine

    sum of weights[e] ** 2 over the elements e of both / (lengths[i] * lengths[j]).

Element e is in the rows by_rows[by_indptr[e]:by_indptr[e + 1]] that are searched.
"""

import numpy as np

from lookalike.kernels.hashing import kernel
from lookalike.kernels.neighbours import insert

FINALISTS = 16  # rows whose cosine is computed in full
FIRST_LOOK = 64  # entries read before the best rows are looked at for the first time
MARGIN = 1e-5  # for rounding: sums of squares are in single precision


@kernel
def number_distinct(hashes):
    """Number hashes by their first occurrence: (numbers, the distinct hashes, how often each occurs)."""
    slots = 16
    while slots < 2 * len(hashes):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, np.int32)
    numbers = np.empty(len(hashes), np.int32)
    known, counts = np.empty(len(hashes), np.uint64), np.zeros(len(hashes), np.int64)
    n = 0
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while table[at] >= 0 and known[table[at]] != hashes[i]:
            at = (at + np.uint64(1)) & mask
        if table[at] < 0:
            table[at], known[n] = n, hashes[i]
            n += 1
        numbers[i] = table[at]
        counts[table[at]] += 1
    return numbers, known[:n].copy(), counts[:n].copy()


@kernel
def rank_rows(indptr, elements, ranks, weights):
    """Replace the elements of rows by their ranks, ascending in each row; return the rows' lengths.

    Rank r has the weight weights[r].
    """
    lengths = np.zeros(len(indptr) - 1)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            elements[i] = ranks[elements[i]]
        elements[indptr[row] : indptr[row + 1]].sort()
        for rank in elements[indptr[row] : indptr[row + 1]]:
            lengths[row] += weights[rank] ** 2
    return np.sqrt(lengths)


@kernel
def rows_of_elements(indptr, elements, rows, count):
    """Invert some rows: return (by_indptr, by_rows) for `count` elements."""
    by_indptr = np.zeros(count + 1, np.int64)
    for row in rows:
        for i in range(indptr[row], indptr[row + 1]):
            by_indptr[elements[i] + 1] += 1
    for element in range(count):
        by_indptr[element + 1] += by_indptr[element]
    by_rows = np.empty(by_indptr[count], np.int32)
    nexts = by_indptr[:count].copy()
    for row in rows:
        for i in range(indptr[row], indptr[row + 1]):
            by_rows[nexts[elements[i]]] = row
            nexts[elements[i]] += 1
    return by_indptr, by_rows


@kernel
def nearest_by_elements(queries, indptr, elements, weights, lengths, by_indptr, by_rows, k, most, alone):
    """Return the k rows nearest to each query, best first: (rows, cosines, proven).

    Missing ones are -1 and 0. Ties go to the first row. If `alone`, a query is not its own neighbour.

    The rows of the rarest element are read first, and each row's common weight is added up. After
    that of some elements, a row that has not been met can have a cosine of at most the rest of the
    query's length, a row that has been met at most that much more than so far. So once this cannot
    lift any row into the k best, but for FINALISTS with the most common weight, whose cosines are
    computed in full, the nearest are `proven`. A search also ends before the first element that
    would bring the entries read to more than `most`.
    """
    rows = np.full((len(queries), k), -1)
    cosines = np.zeros((len(queries), k))
    proven = np.zeros(len(queries), np.bool_)
    own = np.zeros(len(weights))  # squared weights of the query's elements
    shared = np.zeros(len(lengths), np.float32)
    met = np.empty(min(len(lengths), most), np.int32)
    finalists = np.empty(max(FINALISTS, k), np.int64)
    so_far = np.empty(len(finalists))
    for at in range(len(queries)):
        query = queries[at]
        rest = 0.0
        for i in range(indptr[query], indptr[query + 1]):
            own[elements[i]] = weights[elements[i]] ** 2
            rest += own[elements[i]]
        n, read, look = 0, 0, FIRST_LOOK
        place, stop = indptr[query], indptr[query + 1]
        while True:
            following = 0
            if place < stop:
                following = by_indptr[elements[place] + 1] - by_indptr[elements[place]]
            ends = place == stop or read + following > most
            tail = np.sqrt(max(0.0, rest)) / lengths[query] + MARGIN
            if read > 0 and (ends or read >= (look if tail < cosines[at, k - 1] else 4 * look)):
                look = 2 * read
                finalists[:] = -1
                so_far[:] = 0.0
                for i in range(n):
                    row = met[i]
                    part = shared[row] / lengths[row]
                    if part >= so_far[-1]:
                        insert(finalists, so_far, row, part)
                rows[at], cosines[at] = -1, 0.0
                for i in range(len(finalists)):
                    if finalists[i] < 0 or so_far[i] / lengths[query] + tail < cosines[at, k - 1]:
                        proven[at] = tail < cosines[at, k - 1]  # those that follow cannot be better
                        break
                    if i == k and not (ends or tail < cosines[at, k - 1]):
                        break  # not met yet: a row as near as the k found so far
                    row, common = finalists[i], 0.0
                    for other in range(indptr[row], indptr[row + 1]):
                        common += own[elements[other]]
                    insert(rows[at], cosines[at], row, common / lengths[query] / lengths[row])
            if ends or proven[at]:
                proven[at] |= place == stop and n <= len(finalists)
                break
            squared = own[elements[place]]
            for other in range(by_indptr[elements[place]], by_indptr[elements[place] + 1]):
                row = by_rows[other]
                if alone and row == query:
                    continue
                if shared[row] == 0:
                    met[n] = row
                    n += 1
                shared[row] += squared
            rest -= squared
            read += following
            place += 1
        for i in range(n):
            shared[met[i]] = 0
        for i in range(indptr[query], indptr[query + 1]):
            own[elements[i]] = 0
    return rows, cosines, proven


@kernel
def spread_to_records(records, texts, place, rows, cosines, by_text, of_text, alone):
    """Return the records nearest to each record, best first: (records, cosines); missing ones are -1.

    Record i has the text texts[i], whose nearest texts are rows[place[i]]. Text t is that of the
    records of_text[by_text[t]:by_text[t + 1]]. If `alone`, records of the same text are the nearest.
    """
    k = rows.shape[1]
    out = np.full((len(records), k), -1)
    near = np.zeros((len(records), k))
    for i in range(len(records)):
        n = 0
        for at in range(-1 if alone else 0, k):
            text, cosine = texts[i], 1.0
            if at >= 0:
                text, cosine = rows[place[i], at], cosines[place[i], at]
            if text < 0:
                break
            for one in range(by_text[text], by_text[text + 1]):
                if n == k:
                    break
                if of_text[one] != records[i]:
                    out[i, n], near[i, n] = of_text[one], cosine
                    n += 1
    return out, near
