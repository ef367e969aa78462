"""Check MinHash: collision rates equal similarities, and bands follow their curve."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import Sets, Shingles, choose_bands
from lookalike.core.errors import DataError, UsageError
from lookalike.families import MinHash
from lookalike.families.minhash import PRIME, is_prime
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.sketch import fold_bands, sketch_rows
from lookalike.search.plan import Bands, Plan
from lookalike.search.sketching import band_keys
from tests import reference

NONE = int(EMPTY)


# --- Fast Similarity Sketching ---


def test_signatures_of_texts_and_of_sets_agree():
    """Neither repeated shingles, which texts have, nor the batch make a difference."""
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
    """Even seeds that are the same as floats."""
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
    """f(x) = (a x + b) mod p with a = f(1) - f(0) and b = f(0), up to the largest x."""
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
    with pytest.raises(UsageError, match=r"^signatures must have the same length; got shapes \(2,\) and \(3,\)"):
        MinHash().estimate(np.zeros(2, np.uint64), np.zeros(3, np.uint64))


# --- plain twins ---

seeds = st.integers(0, 2**64 - 1)


@given(st.lists(st.sets(st.integers(0, 2**64 - 1), max_size=5), min_size=1, max_size=4), seeds)
def test_minhash_signatures(sets, seed):
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in sets])))
    elements = np.array([x for row in sets for x in row], np.uint64)
    found = MinHash(7, seed).sketch(indptr, elements)
    assert found.tolist() == [reference.sketch(row, seed, 7) for row in sets]


PAIRS = {5: 8000, 10: 8000, 50: 8000, 500: 4000, 5000: 1000}  # pairs to try, by elements in the union


def agreements(hashes, union, shared):
    """Return where the signatures of random pairs of sets agree: pairs x hashes."""
    pairs = PAIRS[union]
    rng = np.random.default_rng([hashes, union, shared])
    pool = rng.integers(0, 2**64, (pairs, union), dtype=np.uint64)
    left = shared + (union - shared) // 2
    rows = np.concatenate((pool[:, :left], pool[:, :shared], pool[:, left:]), axis=1)
    sizes = np.tile([left, shared + union - left], pairs)
    sets = Sets(np.concatenate(([0], np.cumsum(sizes))), rows.ravel())
    signatures = MinHash(hashes, seed=int(rng.integers(2**63))).signatures(sets)
    return signatures[::2] == signatures[1::2]


def candidates(agree, bands, rows):
    """Return the share of pairs that agree in all rows of a band."""
    in_bands = agree[:, : bands * rows].reshape(-1, bands, rows)
    return in_bands.all(axis=2).any(axis=1).mean()


@pytest.mark.slow
@pytest.mark.parametrize("union", PAIRS)
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("hashes", [128, 256])
def test_bands_follow_their_curve(hashes, threshold, union):
    """From the threshold on there are at least as many candidates as the curve says.

    Far below it there are at most as many; both within four standard errors, for bands that find at
    least 0.9 of the pairs at the threshold. The bins of a sketch are not quite independent: where
    the curve is one half, or with a single band, rates can differ from it by 0.01 or 0.02.
    """
    for shared in {round(s * union) for s in (threshold / 2, threshold, (1 + threshold) / 2)} - {0, union}:
        s = shared / union
        agree = agreements(hashes, union, shared)
        for recall in (0.9, 0.99):
            bands, rows, _ = choose_bands(threshold, hashes, recall)
            expected = choose_bands(threshold, hashes, recall).curve(s)
            slack = 4 * (expected * (1 - expected) / len(agree)) ** 0.5
            found = candidates(agree, bands, rows)
            if s >= threshold:
                assert found >= expected - slack
            elif s < 0.6 * threshold:
                assert found <= expected + slack


@pytest.mark.slow
@pytest.mark.parametrize("union", PAIRS)
@pytest.mark.parametrize("hashes", [128, 256])
def test_estimates_vary_no_more_than_those_of_independent_functions(hashes, union):
    """The variance is at most s (1 - s) / hashes, within four standard errors of its estimate."""
    for shared in {round(s * union) for s in (0.2, 0.5, 0.8)} - {0}:
        s = shared / union
        estimates = agreements(hashes, union, shared).mean(axis=1)
        assert estimates.var() <= s * (1 - s) / hashes * (1 + 4 * (2 / len(estimates)) ** 0.5)
        assert abs(estimates.mean() - s) <= 4 * estimates.std() / len(estimates) ** 0.5


def test_functions_of_elements_see_the_elements_of_sets():
    """Figure 3.4: sets that were hashed give the same signatures as plain ones, or an error."""
    family = MinHash.from_functions([lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])
    columns = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    expected = [[1, 0], [3, 2], [0, 0], [1, 0]]
    assert family.signatures(columns).tolist() == family.signatures(Sets.of(columns)).tolist() == expected
    assert family.signatures(Sets.of(map(iter, columns))).tolist() == expected
    with pytest.raises(DataError, match=r"^functions of elements need the elements; these sets hold only hashes of"):
        family.signatures(Sets.of(columns).take(np.arange(2)))


def test_the_prime_must_be_prime():
    """The functions permute range(p) only if p is prime."""
    for number in (10, 91, (1 << 61) - 3, 3215031751):  # the last passes Fermat's test for 2, 3, 5 and 7
        with pytest.raises(UsageError, match=rf"^prime must be a prime number; got {number}\.$"):
            MinHash.universal(prime=number)
    sieve = [all(number % least for least in range(2, number)) for number in range(2, 2000)]
    assert [is_prime(number) for number in range(2, 2000)] == sieve
