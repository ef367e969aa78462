"""Check SimHash: collision rates follow the angle between sets, even for small ones."""

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import Sets, Shingles
from lookalike.core.errors import DataError, UsageError
from lookalike.families import SimHash
from lookalike.kernels.hashing import EMPTY
from tests import reference
from tests.strategies import flat, rows_of_elements

NONE = int(EMPTY)
TRIALS = 20_480
seeds = st.sampled_from([0, 1, 2**63, 2**64 - 1])
hashes = st.sampled_from([1, 7, 8, 9, 63, 64, 65, 130])


@given(rows_of_elements, seeds)
def test_the_first_functions_do_not_change_when_there_are_more(rows, seed):
    few, many = (SimHash(count, seed).sketch(*flat(rows)) for count in (13, 90))
    assert few.tolist() == many[:, :13].tolist()


# --- collision probabilities ---

# How many elements both sets have, only the left one has, and only the right one has.
PAIRS = {
    1: [(1, 0, 0), (0, 1, 0)],
    3: [(3, 0, 0), (2, 0, 1), (1, 1, 1), (1, 0, 2), (1, 2, 0), (0, 1, 2)],
    10: [(9, 0, 1), (8, 0, 2), (8, 1, 1), (5, 2, 3), (5, 0, 5), (1, 0, 9), (0, 5, 5)],
    30: [(29, 0, 1), (28, 1, 1), (24, 3, 3), (15, 0, 15), (10, 10, 10), (0, 15, 15)],
    200: [(199, 0, 1), (180, 10, 10), (160, 0, 40), (100, 50, 50), (40, 80, 80), (0, 100, 100)],
}


def cosine_of(shared, left, right):
    return shared / math.sqrt((shared + left) * (shared + right))


def random_pair(shared, left, right):
    """Return two sets of random elements, `shared` of them in both."""
    pool = np.random.default_rng(shared + 1000 * left).integers(0, 2**64, shared + left + right, dtype=np.uint64)
    return flat([pool[: shared + left], np.concatenate((pool[:shared], pool[shared + left :]))])


@pytest.mark.parametrize(
    "pair", [pair for union in PAIRS for pair in PAIRS[union] if 0 not in np.add(pair[0], pair[1:])]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_collision_rates(pair, seed):
    """They are within four standard errors of the formula for all sets, even nested ones."""
    family = SimHash(TRIALS, seed)
    a, b = family.sketch(*random_pair(*pair))
    p = family.collision(1 - cosine_of(*pair))
    assert abs(np.mean(a == b) - p) <= 4 * math.sqrt(p * (1 - p) / TRIALS)


def test_an_empty_set_collides_with_nothing():
    a, b = SimHash(TRIALS).sketch(*random_pair(0, 1, 0))
    assert set(b.tolist()) == {NONE}
    assert not (a == b).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair", [(1, 0, 1), (2, 0, 1), (3, 0, 1), (1, 0, 3), (1, 1, 1), (2, 1, 1), (0, 2, 3), (2, 2, 2)]
)
def test_the_exact_probability_is_that_of_the_formula(pair):
    """Summed over all possible draws: normal numbers in 256 steps are precise enough."""
    exact = reference.sign_agreement(*pair, reference.NORMAL_PARTS)
    assert exact == pytest.approx(SimHash().chance(cosine_of(*pair)), abs=3e-5)


@pytest.mark.parametrize(
    ("pair", "lacking"), [((2, 0, 1), 0.0541), ((4, 0, 1), 0.0399), ((2, 0, 3), 0.0305), ((198, 0, 1), 0.0057)]
)
def test_numbers_of_plus_and_minus_one_would_not_do(pair, lacking):
    """With +1 and -1 these pairs would collide less often than the formula says."""
    exact = reference.sign_agreement(*pair, [-1, 1])
    assert SimHash().chance(cosine_of(*pair)) - exact == pytest.approx(lacking, abs=1e-4)


def test_functions_are_independent():
    """The number that agree varies as for independent functions; each has the same rate."""
    pairs, count = 2000, 64
    pool = np.random.default_rng(5).integers(0, 2**64, (pairs, 10), dtype=np.uint64)
    rows = [row for elements_of_pair in pool for row in (elements_of_pair[:8], elements_of_pair[2:])]
    signs = SimHash(count, seed=3).sketch(*flat(rows))
    agreed = signs[::2] == signs[1::2]
    p = SimHash().chance(0.75)
    assert abs(agreed.mean(axis=0) - p).max() < 4.5 * math.sqrt(p * (1 - p) / pairs)
    assert np.var(agreed.sum(axis=1)) == pytest.approx(count * p * (1 - p), rel=4 * math.sqrt(2 / pairs))


def test_weighted_codes_follow_the_angle_of_weighted_sets():
    """Sets {x, y} and {x, z} of weights 3 and 4 are at an angle whose cosine is 9 / 25."""
    pool = {"x": 3.0, "y": 4.0, "z": 4.0}
    sets = Sets.of([{"x", "y"}, {"x", "z"}])
    weight_of = {int(Sets.of([{name}]).elements[0]): weight for name, weight in pool.items()}
    words = SimHash(TRIALS).codes(sets, [weight_of[x] for x in sets.elements.tolist()]).words
    apart = int(np.bitwise_count(words[0] ^ words[1]).sum())
    p = math.acos(9 / 25) / math.pi
    assert abs(apart / TRIALS - p) <= 4 * math.sqrt(p * (1 - p) / TRIALS)


# --- probabilities ---


def test_chances():
    family = SimHash()
    assert [family.chance(cosine) for cosine in (0, 0.5, 1)] == pytest.approx([1 / 2, 2 / 3, 1])
    assert family.chance(math.sqrt(0.5)) == pytest.approx(3 / 4)
    assert family.collision(0) == 1
    assert family.collision(1) == 0.5
    assert family.sensitivity(0.1, 0.5) == pytest.approx((0.1, 0.5, 1 - math.acos(0.9) / math.pi, 2 / 3))
    assert 1 - family.collision(1e-18) == pytest.approx(math.sqrt(2e-18) / math.pi, abs=2e-16)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_chance_of_jaccard_is_the_least(shared, left, right):
    """For sets of equal size it is that of their cosine."""
    if shared + min(left, right) == 0:
        return
    least = SimHash().chance_of_jaccard(shared / (shared + left + right))
    chance = SimHash().chance(min(1.0, cosine_of(shared, left, right)))
    assert least <= chance + 1e-7
    if left == right:
        assert least == pytest.approx(chance, abs=1e-7)


def test_chance_of_jaccard_at_both_ends():
    assert [SimHash().chance_of_jaccard(similarity) for similarity in (0, 1)] == [0.5, 1]
    with pytest.raises(UsageError, match=r"^threshold must be in \[0, 1\]; got 1.5\.$"):
        SimHash().chance_of_jaccard(1.5)


@pytest.mark.parametrize("agreeing", [0, 10, 31, 32, 40, 48, 63, 64])
def test_estimates_are_the_cosine_of_the_angle(agreeing):
    """The inverse of the formula; the angle between sets is at most a right angle."""
    a = np.zeros(64, np.uint64)
    b = (np.arange(64) >= agreeing).astype(np.uint64)
    assert SimHash().estimate(a, b) == pytest.approx(max(0, math.cos(math.pi * (1 - agreeing / 64))), abs=1e-12)


# --- items ---


@given(st.lists(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), max_size=4), hashes)
def test_codes_are_packed_signatures(sets, count):
    family = SimHash(count, seed=2)
    found, codes = family.signatures(sets), family.codes(sets)
    assert found.shape == (len(sets), count)
    assert found.dtype == np.uint64
    assert found.tolist() == family.signatures(Sets.of(sets)).tolist()
    assert codes.length == count
    assert codes.words.tolist() == [reference.pack_signs(signs) for signs in found.tolist()]


def test_codes_keep_the_ids_of_sets():
    sets = Sets(*flat([[1], [2]]), ids=pa.array(["a", "b"]))
    assert SimHash().codes(sets).ids.to_pylist() == ["a", "b"]


def test_signatures_do_not_depend_on_the_batch():
    texts = ["to be or not to be", "", "be or be or be or be", "a" * 500, "x"]
    shingles, family = Shingles(k=3), SimHash(hashes=100, seed=7)
    signatures = family.signatures(shingles.sets(texts))
    assert signatures.tolist() == [family.signatures(shingles.sets([text]))[0].tolist() for text in texts]


def test_bags_are_sets_of_copies():
    """aab and ab share two copies, of three and of two: their cosine is 2 / sqrt(6)."""
    family = SimHash(TRIALS)
    a, b = family.signatures([Counter("aab"), Counter("ab")])
    p = family.chance(2 / math.sqrt(6))
    assert abs(np.mean(a == b) - p) <= 4 * math.sqrt(p * (1 - p) / TRIALS)


def test_empty_sets():
    family = SimHash(hashes=70)
    a, b, c = family.signatures([set(), set(), {"x"}])
    assert a.tolist() == b.tolist() == [NONE] * 70
    assert set(c.tolist()) == {0, 1}
    assert family.estimate(a, b) == family.estimate(a, c) == 0
    assert family.estimate(c, c) == 1
    assert family.signatures([]).shape == (0, 70)
    assert family.codes([]).words.shape == (0, 2)
    assert family.codes([set(), {"x"}]).words[0].tolist() == [0, 0]


def test_sets_without_weight_are_like_empty_ones():
    words = SimHash().codes(Sets.of([{"x"}, {"y"}]), [0, 1]).words
    assert words[0, 0] == 0 < words[1, 0]


def test_seeds_make_different_functions():
    """Even seeds that are the same as floats."""
    many = [0, 1, 2, 2**53, 2**53 + 1, 2**64 - 2, 2**64 - 1]
    assert len({SimHash(seed=seed).signatures([{1, 2, 3}]).tobytes() for seed in many}) == len(many)


# --- errors ---


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "weights must be one number for each of the 2 elements; got shape (1,)."),
        ([[1.0, 2.0]], "weights must be one number for each of the 2 elements; got shape (1, 2)."),
        ([[1.0], [2.0, 3.0]], "weights must be one number for each of the 2 elements; got shape (0, 0)."),
        (["a", "b"], "weights must be real numbers; got <U1."),
        ([1.0, math.nan], "weights must be finite and at most 1e+100 in size; weight 1 is nan."),
        ([-math.inf, 1.0], "weights must be finite and at most 1e+100 in size; weight 0 is -inf."),
        ([1.0, 1e101], "weights must be finite and at most 1e+100 in size; weight 1 is 1e+101."),
    ],
)
def test_errors_of_weights(weights, message):
    with pytest.raises(DataError) as error:
        SimHash().codes(Sets.of([{"x", "y"}]), weights)
    assert str(error.value) == message


def test_only_sets_have_weights():
    """Other collections have no order that weights could follow."""
    with pytest.raises(UsageError, match=r"^weights can only be given with Sets; got list\.$"):
        SimHash().codes([{"x", "y"}], [1, 2])


@pytest.mark.parametrize("options", [{"hashes": 0}, {"hashes": 1.5}, {"seed": -1}, {"seed": 0.5}])
def test_errors_of_parameters(options):
    (name,) = options
    least = 1 if name == "hashes" else 0
    with pytest.raises(UsageError) as error:
        SimHash(**options)
    assert str(error.value) == f"{name} must be an integer of at least {least}; got {options[name]!r}."
