"""Check map and reduce functions against direct computation, however the input is cut."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import And, Or
from lookalike.core.errors import UsageError
from lookalike.families import BitSampling, MinHash
from lookalike.kernels import hashing
from lookalike.theory.mapreduce import (
    EMPTY,
    candidates,
    map_bands,
    map_pairs,
    map_rows,
    reduce_buckets,
    reduce_minima,
    reduce_pairs,
    run,
)

PRIME = 31

line = st.tuples(st.integers(1, PRIME - 1), st.integers(0, PRIME - 1))  # a and b of a x + b
lines = st.lists(line, min_size=1, max_size=6)
columns = st.lists(st.sets(st.integers(0, 12), max_size=6), max_size=7)  # the rows in which each column has a 1
seeds = st.integers(0, 2**32 - 1)


def functions_of(lines):
    return [lambda x, a=a, b=b: (a * x + b) % PRIME for a, b in lines]


def rows_of(columns):
    """Return the matrix by rows, each with the columns that have a 1 in it."""
    return [(row, [at for at, column in enumerate(columns) if row in column]) for row in range(13)]


def direct(functions, columns):
    """Return the signatures of all columns that have a 1."""
    signatures = MinHash.from_functions(functions).signatures(columns).tolist()
    return [(at, tuple(signatures[at])) for at, column in enumerate(columns) if column]


def cut(items, seed):
    """Return the items in random order in chunks of random size, none of them empty."""
    draw = random.Random(seed)
    shuffled = draw.sample(items, len(items))
    chunks = [[]]
    for item in shuffled:
        if draw.random() < 0.4:
            chunks.append([])
        chunks[-1].append(item)
    return [chunk for chunk in chunks if chunk]


def as_is(key, value):
    return [(key, value)]


# --- run ---


def test_run_counts_words():
    found = run(
        lambda _, text: ((word, 1) for word in text.split()),
        lambda word, ones: [(word, sum(ones))],
        [(0, "to be or not"), (1, "to be")],
    )
    assert found == [("be", 2), ("not", 1), ("or", 1), ("to", 2)]


def test_run_keeps_the_order_of_values():
    assert run(as_is, lambda key, values: [(key, values)], [(2, "a"), (1, "b"), (2, "c")]) == [
        (1, ["b"]),
        (2, ["a", "c"]),
    ]


def test_run_on_nothing():
    assert run(as_is, reduce_minima, []) == []


def test_reducers_can_make_no_pair_or_several():
    doubled = run(as_is, lambda key, values: ((key, value) for value in values if value), [(1, 5), (2, 0), (1, 6)])
    assert doubled == [(1, 5), (1, 6)]


# --- minhashing ---


@given(lines, columns, seeds)
def test_signatures_in_any_order_of_rows(lines, columns, seed):
    functions = functions_of(lines)
    rows = [row for chunk in cut(rows_of(columns), seed) for row in chunk]
    assert run(map_rows(functions), reduce_minima, rows) == direct(functions, columns)


@given(lines, columns, seeds)
def test_signatures_of_chunks_by_their_minima(lines, columns, seed):
    """Each task reduces its own rows first, and sends at most one signature per column."""
    functions = functions_of(lines)
    tasks = [run(map_rows(functions), reduce_minima, chunk) for chunk in cut(rows_of(columns), seed)]
    assert all(len(task) <= len(columns) for task in tasks)
    assert run(as_is, reduce_minima, [pair for task in tasks for pair in task]) == direct(functions, columns)


@given(lines, columns, seeds)
def test_rows_can_be_cut(lines, columns, seed):
    """The columns of a row can come in several pairs."""
    functions = functions_of(lines)
    ones = [(row, [column]) for row, having in rows_of(columns) for column in having]
    rows = [one for chunk in cut(ones, seed) for one in chunk]
    assert run(map_rows(functions), reduce_minima, rows) == direct(functions, columns)


def test_functions_can_be_an_iterator():
    mapped = map_rows(iter([lambda x: x, lambda x: 9 - x]))
    assert run(mapped, reduce_minima, [(3, "AB"), (5, "B")]) == [("A", (3, 6)), ("B", (3, 4))]


# --- banding ---


@given(st.integers(1, 3), st.integers(1, 4), st.data())
def test_candidates_are_those_of_the_curve(rows, bands, data):
    """For minhashes, with some columns without a 1, which are similar to nothing."""
    functions = functions_of(data.draw(st.lists(line, min_size=rows * bands, max_size=rows * bands)))
    sets = data.draw(columns)
    found = candidates(run(map_rows(functions), reduce_minima, rows_of(sets)), rows)
    left, right = (And(rows) >> Or(bands)).candidates(MinHash.from_functions(functions), sets)
    assert [(i, j) for i, others in found for j in others] == list(zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.slow
@given(st.integers(1, 3), st.integers(1, 4), st.data())
def test_candidates_in_any_order_of_columns(rows, bands, data):
    """For any signatures: the pairs that are equal in a whole band, each later column once."""
    numbers = st.lists(st.integers(0, 2), min_size=rows * bands, max_size=rows * bands).map(tuple)
    signatures = data.draw(st.lists(numbers, max_size=8))
    shuffled = data.draw(st.permutations(list(enumerate(signatures))))

    def meet(a, b):
        return any(a[start : start + rows] == b[start : start + rows] for start in range(0, rows * bands, rows))

    later = {
        i: [j for j in range(i + 1, len(signatures)) if meet(signatures[i], signatures[j])]
        for i in range(len(signatures))
    }
    assert candidates(shuffled, rows) == [(i, others) for i, others in later.items() if others]
    left, right = (And(rows) >> Or(bands)).candidates(BitSampling(rows * bands), signatures)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(i, j) for i in later for j in later[i]]


def test_empty_is_the_value_of_the_kernels():
    assert int(hashing.EMPTY) == EMPTY


def test_steps_of_banding():
    signatures = [("A", (1, 2, 3, 4)), ("B", (1, 2, 9, 9)), ("C", (1, 2, 9, 9)), ("D", (9, 9, 1, 2))]
    buckets = run(map_bands(2), reduce_buckets, signatures)
    assert buckets == [((0, (1, 2)), ["A", "B", "C"]), ((1, (9, 9)), ["B", "C"])]
    assert list(map_pairs(*buckets[0])) == [("A", "B"), ("A", "C"), ("B", "C")]
    assert run(map_pairs, reduce_pairs, buckets) == candidates(signatures, 2) == [("A", ["B", "C"]), ("B", ["C"])]


def test_values_in_no_bucket():
    """EMPTY values, and values of an incomplete band."""
    signatures = [(0, (EMPTY, 1, 2, 3, 9)), (1, (EMPTY, 1, 2, 4, 9)), (2, [7, 1, 2, 3, 8])]
    assert candidates(signatures, 2) == [(0, [2])]
    left, right = (And(2) >> Or(2)).pairs(np.array([signature for _, signature in signatures], np.uint64))
    assert (left.tolist(), right.tolist()) == ([0], [2])


@pytest.mark.parametrize("rows", [0, -1, 1.5])
def test_bands_without_rows(rows):
    with pytest.raises(UsageError) as error:
        map_bands(rows)
    assert str(error.value) == f"rows must be an integer of at least 1; got {rows!r}."


@pytest.mark.parametrize("signatures", [[], [("A", (1, 2))]])
def test_nothing_to_compare(signatures):
    assert candidates(signatures, 2) == []
