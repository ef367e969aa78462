"""MinHash: sets collide as often as they are similar."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import And, Or, Sets, Shingles
from lookalike.core.errors import UsageError
from lookalike.families import MinHash
from lookalike.families.minhash import PRIME
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.sketch import fold_bands, sketch_rows
from lookalike.search.collection import band_keys
from lookalike.search.plan import Bands, Plan

NONE = int(EMPTY)

# How a pair is made: the elements that both have, that only the left has, that only the right has.
PARTS = {Fraction(1, 4): (2, 3, 3), Fraction(1, 2): (2, 1, 1), Fraction(4, 5): (8, 1, 1)}
NESTED = {Fraction(1, 4): (1, 0, 3), Fraction(1, 2): (1, 0, 1), Fraction(4, 5): (4, 0, 1)}


def random_pairs(pairs, shared, left, right, seed=0):
    """Sets 0 and 1, 2 and 3 and so on make pairs of one similarity; elements are random."""
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
    """Within four standard errors; and no estimate strays more than that of independent functions would."""
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


@pytest.mark.parametrize(("bands", "rows"), [(2, 1), (3, 1), (5, 4), (16, 8), (13, 8), (26, 8), (21, 6)])
@pytest.mark.parametrize("size", [5, 50, 450])
def test_whole_bands_lie_over_the_curve_at_the_threshold(bands, rows, size):
    """What the recall is promised by: a pair at 4/5 shares a band at least as often as the curve says.

    This holds for two bands or more that find most pairs. A lone band, or bands that find less than half of
    the pairs, lie a little under the curve, since the bins of a sketch are not independent.
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
    """Every one of the bins agrees with the same probability."""
    indptr, elements = random_pairs(4000, 6, 2, 2)
    signatures = sketch_rows(indptr, elements, np.uint64(3), 16)
    rates = (signatures[::2] == signatures[1::2]).mean(axis=0)
    assert abs(rates - 0.6).max() < 4.5 * (0.6 * 0.4 / 4000) ** 0.5


def test_signatures_of_texts_and_of_sets_agree():
    """Repeated shingles, which texts are sketched with, make no difference; nor does the batch."""
    texts = ["to be or not to be", "", "be or be or be or be", "a" * 500, "x"]
    shingles = Shingles(k=3)
    indptr, hashes = shingles.hashes(pa.array(texts, pa.large_string()))
    family = MinHash(hashes=32, seed=7)
    signatures = family.signatures(shingles.sets(texts))
    assert signatures.tolist() == sketch_rows(indptr, hashes, np.uint64(7), 32).tolist()
    assert signatures.tolist() == [family.signatures(shingles.sets([text]))[0].tolist() for text in texts]
    plan = Plan("lsh", "jaccard", Fraction(1, 2), 7, "char:3", bands=Bands(8, 4, 0.9))
    assert band_keys(plan, indptr, hashes).tolist() == fold_bands(signatures, 8, 4).tolist()


@given(st.lists(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=5), max_size=4))
def test_signatures_of_python_sets(sets):
    family = MinHash(hashes=8, seed=2)
    found = family.signatures(sets)
    assert found.shape == (len(sets), 8)
    assert found.tolist() == family.signatures(Sets.of(sets)).tolist()


def test_seeds_make_different_functions():
    """Also seeds that one floating-point number stands for."""
    seeds = [0, 1, 2, 2**53, 2**53 + 1, 2**64 - 2, 2**64 - 1]
    signatures = [MinHash(hashes=8, seed=seed).signatures([{1, 2, 3}]).tobytes() for seed in seeds]
    assert len(set(signatures)) == len(seeds)


@pytest.mark.parametrize("seed", [2**53 + 1, 2**63 - 1])
def test_seeds_of_numpy_are_those_of_python(seed):
    for kind in (np.int64, np.uint64):
        assert MinHash(seed=kind(seed)).seed == seed
    assert MinHash(seed=np.uint64(2**64 - 1)).seed == 2**64 - 1


def test_empty_sets():
    family = MinHash(hashes=16)
    a, b, c = family.signatures([set(), set(), {"x"}])
    assert a.tolist() == b.tolist() == [NONE] * 16
    assert NONE not in c.tolist()
    assert family.estimate(a, b) == family.estimate(a, c) == 0
    assert family.estimate(c, c) == 1
    assert family.signatures([]).shape == (0, 16)


# --- universal hashing ---


def test_universal_functions_are_linear_and_never_overflow():
    """f(x) = (a x + b) mod p with a = f(1) - f(0) and b = f(0), on Python integers, up to the largest x."""
    family = MinHash.universal(hashes=20, seed=1)
    values = [0, 1, 2, 2**31, 2**32 + 1, 2**60, PRIME - 2, PRIME - 1]
    signatures = family.signatures([{x} for x in values])
    for b, one, column in zip(*signatures[:2].tolist(), signatures.T.tolist(), strict=True):
        a = (one - b) % PRIME
        assert a > 0
        assert column == [(a * x + b) % PRIME for x in values]


def test_universal_functions_are_permutations_that_estimate():
    family = MinHash.universal(hashes=300, seed=1, prime=101)
    assert all(sorted(map(f, range(101))) == list(range(101)) for f in family.functions)
    a, b = family.signatures([set(range(60)), set(range(30, 90))])
    assert abs(family.estimate(a, b) - 1 / 3) < 4 * (2 / 9 / 300) ** 0.5


def test_universal_functions_depend_on_the_seed_alone():
    families = [MinHash.universal(hashes=4, seed=seed) for seed in (1, 1, 2)]
    first, again, other = (family.signatures([{5, 6}]).tolist() for family in families)
    assert first == again != other


# --- parameters ---


def test_collision_and_sensitivity():
    assert MinHash().collision(0.25) == 0.75
    assert MinHash().sensitivity(0.3, 0.6) == pytest.approx((0.3, 0.6, 0.7, 0.4))


@pytest.mark.parametrize("options", [{"hashes": 0}, {"hashes": 1.5}, {"seed": -1}, {"seed": 0.5}])
def test_errors_of_parameters(options):
    (name,) = options
    least = 1 if name == "hashes" else 0
    with pytest.raises(UsageError) as error:
        MinHash(**options)
    assert str(error.value) == f"{name} must be an integer of at least {least}; got {options[name]!r}."


def test_signatures_of_different_lengths_have_no_estimate():
    with pytest.raises(UsageError, match=r"^signatures must have one length; got shapes \(2,\) and \(3,\)"):
        MinHash().estimate(np.zeros(2, np.uint64), np.zeros(3, np.uint64))
