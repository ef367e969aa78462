"""Check sketches against their plain twins, and that they agree as often as sets are similar."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import And, Or
from lookalike.families import MinHash
from lookalike.items.shingles import Shingles
from lookalike.kernels.sketch import count_agreements, fold_bands, sketch_rows
from tests import reference as ref
from tests.kernel_samples import EDGES, GOLDEN_TEXT, as_rows, drawn_rows, numbers, seeds

# The number of elements that both sets have, only the left one has, and only the right one has.
PARTS = {Fraction(1, 4): (2, 3, 3), Fraction(1, 2): (2, 1, 1), Fraction(4, 5): (8, 1, 1)}
NESTED = {Fraction(1, 4): (1, 0, 3), Fraction(1, 2): (1, 0, 1), Fraction(4, 5): (4, 0, 1)}


def random_pairs(pairs, shared, left, right, seed=0):
    """Return random sets, of which 0 and 1, 2 and 3 and so on are pairs of the same similarity."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2**64, (pairs, shared + left + right), dtype=np.uint64)
    columns = np.arange(shared + left + right)
    sides = columns < shared + left, (columns < shared) | (columns >= shared + left)
    rows = [row[side] for row in pool for side in sides]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return indptr, np.concatenate(rows)


# --- Fast Similarity Sketching ---


@pytest.mark.parametrize("parts", [PARTS, NESTED], ids=["alike", "nested"])
@pytest.mark.parametrize("similarity", PARTS, ids=str)
@pytest.mark.parametrize("size", [3, 10, 50, 500])
def test_estimates_are_unbiased(parts, similarity, size):
    """Within four standard errors; their variance is at most that of independent functions."""
    shape = np.array(parts[similarity])
    shape = shape * max(1, round(size / shape.sum()))
    indptr, elements = random_pairs(100, *shape)
    estimates = []
    for seed in range(20):
        signatures = sketch_rows(indptr, elements, np.uint64(seed), 64)
        estimates.append((signatures[::2] == signatures[1::2]).mean(axis=1))
    values = np.concatenate(estimates)
    s, n = float(similarity), len(values)
    assert abs(values.mean() - s) < 4 * values.std() / n**0.5
    assert values.var() < s * (1 - s) / 64 * (1 + 4 * (2 / n) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("bands", "rows"), [(2, 1), (3, 1), (5, 4), (16, 8), (13, 8), (26, 8), (21, 6)])
@pytest.mark.parametrize("size", [5, 50, 450])
def test_bands_are_not_below_the_curve_at_the_threshold(bands, rows, size):
    """The promised recall depends on this: pairs at 4/5 share a band as often as the curve says.

    It holds for two or more bands that find most pairs. A single band, or bands that find less than
    half of the pairs, are a little below the curve, since the bins of a sketch are not independent.
    """
    found, trials = 0, 0
    for seed in range(4):
        indptr, elements = random_pairs(1000, 4 * size // 5, 0, size // 5, seed)
        keys = fold_bands(sketch_rows(indptr, elements, np.uint64(seed), bands * rows), bands, rows)
        found += int((keys[::2] == keys[1::2]).any(axis=1).sum())
        trials += 1000
    expected = (And(rows) >> Or(bands))(0.8)
    assert found / trials > expected - 4 * (expected * (1 - expected) / trials) ** 0.5


def test_functions_agree_independently_of_their_place():
    """Every bin agrees with the same probability."""
    indptr, elements = random_pairs(4000, 6, 2, 2)
    signatures = sketch_rows(indptr, elements, np.uint64(3), 16)
    rates = (signatures[::2] == signatures[1::2]).mean(axis=0)
    assert abs(rates - 0.6).max() < 4.5 * (0.6 * 0.4 / 4000) ** 0.5


SIGNATURE = [448590352, 2781326205, 112697744, 1078145801]
BAND_KEYS = [12741267917703617095, 18377969194731407569]


# --- sketches ---


@given(seeds, st.sampled_from([1, 2, 3, 7, 64, 100]), numbers)
def test_sketch(rng, hashes, seed):
    rows = [row[: rng.choice([1, 8, 65, 300])] for row in drawn_rows(rng, 2, repeats=True)]
    found = sketch_rows(*as_rows(rows), np.uint64(seed), hashes)
    assert found.tolist() == [ref.sketch(row, seed, hashes) for row in rows]


@given(seeds, st.integers(1, 9), st.integers(1, 9))
def test_band_keys(rng, bands, rows):
    pool = [*EDGES, *(rng.getrandbits(64) for _ in range(20))]
    signatures = [rng.choices(pool, k=bands * rows + 2) for _ in range(4)]
    found = fold_bands(np.array(signatures, np.uint64), bands, rows)
    assert found.tolist() == [ref.band_keys(signature, bands, rows) for signature in signatures]


@given(seeds, st.sampled_from([1, 8, 65]), st.integers(1, 9))
def test_count_agreements(rng, hashes, items):
    signatures = [[rng.randrange(3) for _ in range(hashes)] for _ in range(items)]
    places = [rng.randrange(3) for _ in range(items)]
    found = count_agreements(np.array(signatures, np.uint64), np.array(places))
    assert found.tolist() == ref.count_agreements(signatures, places)


# --- format 1 ---


def test_format_1_signature_and_band_key():
    sets = Shingles.parse("word:2").sets([GOLDEN_TEXT])
    signatures = MinHash(hashes=4, seed=1).signatures(sets)
    assert signatures.tolist() == [SIGNATURE]
    assert fold_bands(signatures, 2, 2).tolist() == [BAND_KEYS]
