"""Find the most similar rows, and recommend their items, in one pass over an inverted index.

Row i has the elements elements[indptr[i]:indptr[i + 1]], each `copies` times (once in a set).
Element e is in the rows by_rows[by_indptr[e]:by_indptr[e + 1]], `by_copies` times.
"""

import numpy as np

from lookalike.kernels.hashing import kernel


@kernel
def nearest_rows(queries, indptr, elements, copies, weights, by_indptr, by_rows, by_copies, sizes, k):
    """Return the k most similar rows of each query, best first: (rows, similarities).

    Missing ones are -1 and 0. The similarity is a weighted Jaccard similarity: c is the share of
    the query's weight that is in elements the row has too; o = c * (the query's size) stands for
    the number of shared elements, and the similarity is o / (a + b - o). With equal weights it is
    the Jaccard similarity itself. Weights are positive. Ties go to the first row. The cost per
    query is the number of rows of all its elements.
    """
    rows = np.full((len(queries), k), -1)
    similarities = np.zeros((len(queries), k))
    shared = np.zeros(len(sizes))
    touched = np.empty(len(sizes), np.int64)
    for at in range(len(queries)):
        query = queries[at]
        n, total = 0, 0.0
        for place in range(indptr[query], indptr[query + 1]):
            element, weight, count = elements[place], weights[place], copies[place]
            total += weight * count
            for other in range(by_indptr[element], by_indptr[element + 1]):
                row = by_rows[other]
                if shared[row] == 0:
                    touched[n] = row
                    n += 1
                shared[row] += weight * min(count, by_copies[other])
        for i in range(n):
            row = touched[i]
            both = shared[row] / total * sizes[query]
            shared[row] = 0
            if row != query:
                insert(rows[at], similarities[at], row, both / (sizes[query] + sizes[row] - both))
    return rows, similarities


@kernel
def best_offers(queries, rows, weights, indptr, items, votes, liked, scale, k):
    """Return the k items with most votes that a query lacks: (items, scores), padded with -1 and 0.

    votes[j] is a row's vote for items[j], weighted by the rows' `weights` for the query; an item's
    sum is multiplied by its `scale`. Items that no row liked are left out. Ties go to the first.
    """
    offers = np.full((len(queries), k), -1)
    scores = np.zeros((len(queries), k))
    sums = np.zeros(len(scale))
    likes = np.zeros(len(scale), np.bool_)
    there = np.zeros(len(scale), np.bool_)  # whether an item was met already, or the query has it
    touched = np.empty(len(scale), np.int64)
    for at in range(len(queries)):
        n = 0
        for place in range(indptr[queries[at]], indptr[queries[at] + 1]):
            touched[n] = items[place]
            there[items[place]] = True
            n += 1
        own = n
        for neighbour in range(rows.shape[1]):
            row = rows[at, neighbour]
            if row < 0:
                break
            for place in range(indptr[row], indptr[row + 1]):
                item = items[place]
                if not there[item]:
                    touched[n] = item
                    there[item] = True
                    n += 1
                sums[item] += weights[at, neighbour] * votes[place]
                likes[item] |= liked[place]
        for i in range(n):
            item = touched[i]
            if i >= own and likes[item]:
                insert(offers[at], scores[at], item, sums[item] * scale[item])
            there[item], likes[item], sums[item] = False, False, 0.0
    return offers, scores


@kernel
def insert(places, values, place, value):
    """Insert a place by value, then by place, if the value is positive; the last one drops out."""
    at = len(places)
    while at > 0 and (value > values[at - 1] or (value == values[at - 1] and value > 0 and place < places[at - 1])):
        at -= 1
    if at < len(places) and value > 0:
        for i in range(len(places) - 1, at, -1):
            places[i], values[i] = places[i - 1], values[i - 1]
        places[at], values[at] = place, value
