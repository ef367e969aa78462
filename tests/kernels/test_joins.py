"""Check the index of prefixes, and a small index of sets, against plain twins."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import bounds, joins
from lookalike.search.joins import RANKS
from tests import reference as ref
from tests.kernel_samples import MEASURES, as_lists, as_rows, drawn_rows, drawn_sets, seeds, thresholds


@given(seeds, st.integers(0, 5), st.integers(2, 10))
def test_counts_of_high_bits_by_range(rng, width, bits):
    elements = [x for row in drawn_rows(rng, 6) for x in row]
    shift = np.uint64(64 - bits)
    ranges = max(1, 1 << bits >> width)
    starts, numbers = joins.by_range(np.array(elements, np.uint64), shift, width, ranges)
    high = [x >> 64 - bits for x in elements]
    assert as_lists(starts, numbers) == [[x for x in high if x >> width == at] for at in range(ranges)]
    counts = np.zeros(1 << bits, np.int32)
    joins.count_numbers(numbers, counts)
    assert counts.tolist() == [Counter(high)[x] for x in range(1 << bits)]


def test_ranks_of_counts():
    """Ranks step at powers of 2 ** (1 / 8), whether the table has the count or not."""
    steps = [round(2 ** (i / 8)) for i in range(8 * 31)]
    counts = sorted({max(0, min(x + more, 2**31 - 1)) for x in steps for more in (-1, 0, 1)} | set(range(5000)))
    ranks = np.empty(len(counts), np.uint8)
    joins.rank_counts(np.array(counts, np.int32), RANKS, ranks)

    def rank(count):  # the least r with count ** 8 <= 2 ** r
        return (max(count, 1) ** 8 - 1).bit_length()

    assert ranks.tolist() == [min(rank(count), 255) for count in counts]
    assert max(ranks) == 248


@given(seeds, st.sampled_from(MEASURES))
def test_prefixes_and_postings(rng, measure):
    kind, p, q = measure
    sets = [sorted(set(row)) for row in drawn_rows(rng, 9)]
    table = np.array([rng.choice([0, 1, 2, 9, 255]) for _ in range(32)], np.uint8)
    ranks = {x: int(table[x >> 59]) for one in sets for x in one}
    rows = rng.sample(range(len(sets)), 7)
    join = (getattr(bounds, kind), p, q)
    indptr, tokens, places, kept = joins.prefixes(*as_rows(sets), np.array(rows), table, np.uint64(59), *join)
    found = [
        list(zip(*part, strict=True))
        for part in zip(*(as_lists(indptr, x) for x in (tokens, places, kept)), strict=True)
    ]
    expected = [ref.prefix(sets[row], ranks, *bounds.prefix_lengths(join[0], len(sets[row]), p, q)) for row in rows]
    assert found == expected

    mask = np.uint64(2**60 - 1)  # so that many elements share a list
    owners = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(indptr))
    ordered = np.sort((tokens & ~mask) | np.arange(len(tokens), dtype=np.uint64))
    posted, ranges = ref.postings(
        list(zip(*(x.tolist() for x in (tokens, owners, places, kept)), strict=True)), lambda x: x >> 60
    )
    assert joins.count_kept(ordered, mask, kept) == len(posted)
    values, numbers, spots = (np.empty(len(posted) + 3, kind) for kind in (np.uint64, np.int32, np.int32))
    begins, ends = np.empty(len(tokens), np.int64), np.empty(len(tokens), np.int64)
    joins.post(ordered, mask, tokens, owners, places, kept, 3, values, numbers, spots, begins, ends)
    assert list(zip(*(x[3:].tolist() for x in (values, numbers, spots)), strict=True)) == posted
    assert list(zip((begins - 3).tolist(), (ends - 3).tolist(), strict=True)) == ranges
    work = [sum(1 + stop - start for start, stop in ranges[i:j]) for i, j in pairwise(indptr)]
    assert joins.count_lookups(indptr, begins, ends).tolist() == work


@given(st.lists(st.integers(1, 9), max_size=12).map(sorted), st.integers(0, 10), seeds)
def test_the_first_row_of_a_size(sizes, smallest, rng):
    order = rng.sample(range(len(sizes)), len(sizes))
    at = dict(zip(order, sizes, strict=True))
    indptr = np.cumsum([0, *(at[row] for row in range(len(sizes)))])
    found = joins.first_of_size(np.array(order, np.int64), indptr, smallest, 0, len(sizes))
    assert found == sum(size < smallest for size in sizes)


@given(seeds, thresholds)
def test_probe(rng, threshold):
    sets = drawn_sets(rng, rows=rng.randrange(1, 25))
    sample = [one for one in drawn_sets(rng, rows=4) + sets[:3] if one] + [[7]]
    pairs = sorted((x, owner) for owner, one in enumerate(sample) for x in one)
    ordered = np.array([x for x, _ in pairs], np.uint64)
    owners = np.array([owner for _, owner in pairs])
    shift = np.uint64(64 - (2 * len(ordered)).bit_length())
    sizes = np.array([len(one) for one in sample])
    slots = joins.index_elements(ordered, shift)
    ratio = threshold.as_integer_ratio()
    row, owner, shared = joins.probe(*as_rows(sets), slots, shift, ordered, owners, sizes, bounds.JACCARD, *ratio)
    both = {(i, j): ref.similar_overlap(a, b, threshold) for i, a in enumerate(sets) for j, b in enumerate(sample)}
    expected = [(*pair, n) for pair, n in both.items() if n >= 0]
    assert sorted(zip(row.tolist(), owner.tolist(), shared.tolist(), strict=True)) == expected
