"""Check each measure of two objects against its plain twin, and the inputs it rejects."""

import math
import random
from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, LookalikeWarning, UsageError
from lookalike.items.sets import Sets
from lookalike.measures import (
    MEASURES,
    angle,
    bag_jaccard,
    chebyshev,
    containment,
    cosine,
    cosine_similarity,
    counterexample,
    edit,
    euclidean,
    hamming,
    jaccard,
    lcs,
    manhattan,
    minkowski,
)
from lookalike.measures.rows import MOVES
from tests import reference as ref
from tests.failing import fails
from tests.measure_samples import INFINITE, LARGEST, LEAST, NAN, long_strings, strings

# --- sets and bags ---


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_jaccard(a, b):
    assert jaccard(a, b) == jaccard(b, a)
    assert jaccard(a, b) * len(a | b) == pytest.approx(len(a & b))
    assert (jaccard(a, b) == 1) == (a == b and bool(a))


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_bag_jaccard_counts_each_copy(a, b):
    """A bag is the set of its elements' copies: (x, 1), (x, 2) and so on."""
    bags = Counter(a), Counter(b)
    copies = [{(x, n) for x, count in bag.items() for n in range(count)} for bag in bags]
    assert bag_jaccard(*bags) == jaccard(*copies)
    assert bag_jaccard(*bags, union="sum") == (len(copies[0] & copies[1]) / len(a + b) if a + b else 0)


def test_empty_sets_are_similar_to_nothing():
    assert jaccard(set(), set()) == jaccard(set(), {1}) == 0
    assert bag_jaccard(Counter(), Counter()) == bag_jaccard(Counter(), Counter(), union="sum") == 0


def test_unknown_union():
    with pytest.raises(UsageError, match=r"^union must be one of max, sum; got 'sun'\. Did you mean 'sum'\?"):
        bag_jaccard(Counter("a"), Counter("b"), union="sun")


# --- each measure and its twin ---


@pytest.mark.parametrize("r", [1, 1.5, 2, 7, INFINITE])
def test_vectors_without_dimensions_have_distance_zero(r):
    assert minkowski([], [], r) == 0
    assert MEASURES["minkowski"].rows([[], []], [0], [1], r=r).tolist() == [0]
    assert hamming([], []) == hamming("", "") == 0
    assert MEASURES["hamming"].rows([[], []], [0], [1]).tolist() == [0]


@pytest.mark.parametrize(
    ("x", "y", "r", "wanted"),
    [
        ([1e300, 0], [0, 0], 3, 1e300),
        ([1e300, 1e300], [0, 0], 2, 2**0.5 * 1e300),
        ([3e-300, 4e-300], [0, 0], 2, 5e-300),
        ([3 * LEAST, 4 * LEAST], [0, 0], 2, 5 * LEAST),
        ([1e300, 1e-300], [1e300, 0], 4, 1e-300),
        ([1, 1e-200], [0, 0], 1.5, 1),
        ([1, 2, 3], [0, 0, 0], 1e308, 3),
        ([1, 2, 3], [0, 0, 0], 10**18, 3),
        ([LARGEST], [0], 2, LARGEST),
        ([LARGEST], [-LARGEST], 2, INFINITE),
        ([LARGEST], [-LARGEST], INFINITE, INFINITE),
        ([LARGEST, 1e300], [-LARGEST, 0], 1, INFINITE),
        ([LARGEST, 1e300], [-LARGEST, 0], 2, INFINITE),
        ([LARGEST, 1e300], [-LARGEST, 0], 1000, INFINITE),
        ([LARGEST, LARGEST], [0, 0], 1, INFINITE),
        ([LARGEST, LARGEST], [0, 0], 2, INFINITE),
        ([LARGEST, LARGEST], [0, 0], INFINITE, LARGEST),
    ],
)
def test_norms_neither_overflow_nor_vanish(x, y, r, wanted):
    assert minkowski(x, y, r) == minkowski(y, x, r) == pytest.approx(wanted, rel=1e-15, abs=0)


@given(st.lists(st.integers(-(2**40), 2**40), max_size=9))
@example([1, 26])
def test_whole_numbers_have_whole_distances(x):
    """So that a whole threshold keeps pairs exactly at that distance."""
    zero = [0] * len(x)
    assert manhattan(x, zero) == manhattan(zero, x) == sum(map(abs, x))
    assert chebyshev(x, zero) == max(map(abs, x), default=0)


@pytest.mark.parametrize(
    ("x", "length"), [([3, 4], 5), ([2, 10, 11], 15), ([2, 7, 26], 27), ([2, 18, 39], 43), ([1] * 9, 3), ([3] * 49, 21)]
)
def test_whole_lengths(x, length):
    assert euclidean(x, [0] * len(x)) == length


def test_named_norms():
    x, y = (2.5, 7, -1), (6, 4, 0)
    assert minkowski(x, y) == euclidean(x, y) == minkowski(x, y, 2)
    assert manhattan(x, y) == minkowski(x, y, 1) == 7.5
    assert chebyshev(x, y) == minkowski(x, y, INFINITE) == 3.5
    assert manhattan(x, y) == minkowski(x, y, r=np.float64(1))


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.floats(1, 50), st.floats(0, 50))
def test_norms_fall_as_r_grows(x, r, more):
    zero = [0, 0, 0]
    assert chebyshev(x, zero) <= minkowski(x, zero, r + more) * (1 + 1e-12)
    assert minkowski(x, zero, r + more) <= minkowski(x, zero, r) * (1 + 1e-12)
    assert minkowski(x, zero, r) <= manhattan(x, zero) * (1 + 1e-12)


@given(st.integers(0, 150))
def test_small_angles_keep_their_digits(zeros):
    """An arc cosine would give 0 for all but the first few."""
    small = 10.0**-zeros
    degrees = math.degrees(math.atan(small))
    assert angle([1, small], [1, 0]) == pytest.approx(degrees, rel=1e-14, abs=0)
    assert angle([0, -3], [3 * small, -3]) == pytest.approx(degrees, rel=1e-14, abs=0)
    assert angle([1, small], [-1, 0]) == pytest.approx(180 - degrees, rel=1e-15)


moderate = st.one_of(st.just(0.0), st.floats(1e-200, 1e200), st.floats(-1e200, -1e-200))


@given(st.lists(st.tuples(moderate, moderate), max_size=5), st.integers(-99, 99))
def test_an_angle_does_not_depend_on_lengths(coordinates, power):
    """A vector and its multiple have angle 0, a vector and its opposite 180 degrees."""
    x, y = np.array([*coordinates, (1, 1)]).T
    scale = 2.0**power
    assert angle(x * scale, y) == angle(x, y * scale) == angle(x, y)
    assert cosine_similarity(x * scale, y) == cosine_similarity(x, y * scale) == cosine_similarity(x, y)
    assert angle(x, x * scale) == 0
    assert angle(x, -x * scale) == 180


@pytest.mark.parametrize(
    ("x", "y", "degrees"),
    [
        ([1, 0], [0, 1], 90),
        ([1, 1], [1, 0], 45),
        ([1, 2, 3], [3, 6, 9], 0),
        ([1, 2, 3], [-3, -6, -9], 180),
        ([1e300, 1e300], [1e-300, 0], 45),
        ([LEAST, LEAST], [LARGEST, 0], 45),
        ([LARGEST] * 9, [LEAST] * 9, 0),
        ([1, 2, -1], [2, 1, 1], 60),
        ([True, False], [True, True], 45),
    ],
)
def test_angles(x, y, degrees):
    assert angle(x, y) == angle(y, x) == pytest.approx(degrees, abs=1e-13)
    assert cosine_similarity(x, y) == pytest.approx(math.cos(math.radians(degrees)), abs=1e-15)


def test_hamming_of_any_symbols():
    assert hamming("caf\u00e9\U0001f600", "caf\u00e8\U0001f601") == 2
    assert hamming(b"abc", b"abd") == 1
    assert hamming([None, "a", (1, 2)], [None, "b", (1, 2)]) == 1
    assert hamming([1, 2.0, INFINITE], (True, 2, INFINITE)) == 0
    assert hamming(np.array([1, 2, 3]), [1, 0, 3]) == 1
    assert type(hamming(np.array([1, 2, 3]), np.array([1, 0, 0]))) is int
    words = ["ab", "ac", "\U0001f600b"]
    assert MEASURES["hamming"].rows(words, [0, 0, 1], [1, 2, 2]).tolist() == [1, 1, 2]
    assert MEASURES["hamming"].rows(np.array([[True, False], [True, True]]), [0], [1]).tolist() == [1]


def test_hamming_accepts_infinity():
    assert hamming([INFINITE, 1.0], [-INFINITE, 1.0]) == 1
    assert MEASURES["hamming"].rows([[INFINITE, 1.0], [-INFINITE, 1.0]], [0], [1]).tolist() == [1]


# --- strings ---


@pytest.mark.parametrize("moves", MOVES)
def test_edits_are_the_fewest_possible(moves):
    """All strings of up to three letters abc, against a search among strings of up to five."""
    tiny = ["".join(letters) for n in range(4) for letters in product("abc", repeat=n)]
    for x in tiny:
        found = ref.edits_from(x, "abc", 5, moves)
        assert [found[y] for y in tiny] == [ref.edit(x, y, moves) for y in tiny]
        assert [found[y] for y in tiny] == [edit(x, y, moves) for y in tiny]


@pytest.mark.slow
@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 128, 129, 200])
def test_edits_of_long_strings(moves, n):
    text = "".join(random.Random(n).choices("ab\U0001f600", k=n))
    for other in (text[1:] + "x", text[::-1], "x" * n, text[:-1], text + text[:3], ""):
        wanted = ref.edit(text, other, moves)
        assert edit(text, other, moves) == edit(other, text, moves) == edit([*text], [*other], moves) == wanted
        assert MEASURES["edit"].rows([text, other], [0, 1], [1, 0], moves=moves).tolist() == [wanted, wanted]


def test_what_each_kind_of_edit_costs():
    of = {moves: partial(edit, moves=moves) for moves in MOVES}
    assert [d("ab", "ba") for d in of.values()] == [2, 2, 1]
    assert [d("a", "b") for d in of.values()] == [2, 1, 1]
    assert [d("ca", "abc") for d in of.values()] == [3, 3, 2]  # 3 if the swapped pair could not be edited again
    assert edit("ca", "abc") == edit("ca", "abc", "indel")


def test_symbols_other_than_characters():
    """-1 and -2 have the same hash; a word is one symbol."""
    assert hash(-1) == hash(-2)
    assert [edit([-1], [-2], moves) for moves in MOVES] == [2, 1, 1]
    assert lcs([-1], [-2]) == []
    assert edit(["to", "be", "or", "not"], ["not", "to", "be"]) == 3
    assert edit((1, 2), [1, 2]) == 0
    assert edit([1, True, 1.0], [1, 1, 1]) == 0
    assert edit([(1, 2), None], [None, (1, 2)], "transpositions") == 1
    assert edit(b"abc", b"acb", "transpositions") == 1
    assert edit(range(3), np.array([0, 1, 2])) == 0
    assert type(edit([1], [2])) is type(edit("a", "b")) is int


symbols = st.lists(st.sampled_from([-1, -2, 0, "a", None, (1,)]), max_size=9)


@given(symbols, symbols, st.sampled_from([*MOVES]))
def test_edits_of_sequences(x, y, moves):
    assert edit(x, y, moves) == edit(tuple(x), y, moves) == ref.edit(x, y, moves)


def is_subsequence(short, long):
    """Return whether the symbols of one occur in the other, in that order."""
    rest = iter(long)
    return all(symbol in rest for symbol in short)


@given(st.one_of(st.tuples(strings, strings), st.tuples(symbols, symbols), long_strings().map(lambda some: some[:2])))
def test_lcs(both):
    x, y = both
    common = lcs(x, y)
    assert type(common) is type(x)
    assert is_subsequence(common, x)
    assert is_subsequence(common, y)
    assert 2 * len(common) == 2 * ref.lcs_length(x, y) == len(x) + len(y) - edit(x, y)
    assert lcs(tuple(x), tuple(y)) == lcs([*x], tuple(y)) == [*common]
    assert lcs(x, x) == x
    assert lcs(x, x[:0]) == lcs(x[:0], x) == x[:0]


def test_lcs_gives_the_symbols_of_the_first():
    assert lcs([1, 2], [True, 2.0]) == [1, 2]
    assert [type(symbol) for symbol in lcs([1, 2], [True, 2.0])] == [int, int]
    assert lcs(b"abc", b"bcd") == [*b"bc"]
    assert lcs(range(5), range(2, 9)) == [2, 3, 4]


# --- invalid input ---

TWO = [[1, 2], [3, 4]]
NOT_SETS = "a set must be a set, list or tuple; got {}."
NOT_BAGS = "a bag must be a Counter, list or tuple; got {}."
NO_R = "r must be a positive number, or infinity; got {}."
NO_MOVES = "moves must be one of indel, levenshtein, transpositions; got {}."
NO_UNION = "union must be one of max, sum; got {}."


@pytest.mark.parametrize("given", ["abc", b"abc", {1: 2}, None, 5, range(3)])
def test_invalid_sets(given):
    message = NOT_SETS.format(type(given).__name__)
    for of, x, y in product((jaccard, containment), (given, {1}), (given, {1})):
        if not x == y == {1}:
            fails(UsageError, message, of, x, y)


@pytest.mark.parametrize("given", ["abc", b"abc", {"a": 2}, {1}, None])
def test_invalid_bags(given):
    for x, y in ((given, [1]), ([1], given)):
        fails(UsageError, NOT_BAGS.format(type(given).__name__), bag_jaccard, x, y)


def test_sets_of_every_kind():
    assert jaccard([1, 2, 2], (2, 3)) == jaccard(frozenset([1, 2]), {2: "b", 3: "c"}.keys()) == 1 / 3
    assert bag_jaccard([1, 2, 2], (2, 2, 3)) == bag_jaccard(Counter([1, 2, 2]), Counter([2, 2, 3])) == 1 / 2
    assert containment([1, 1, 2], {2}) == 1 / 2
    assert containment([], [1]) == containment([], []) == containment([1], []) == 0


@pytest.mark.parametrize("of", [minkowski, euclidean, manhattan, chebyshev, angle, cosine_similarity])
@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("12", "real"),
        (["1", "2"], "real"),
        ([1, None], "real"),
        ([1j, 2], "real"),
        ([[1, 2]], "real"),
        ([1, [2]], "real"),
        (5, "real"),
        ({1, 2}, "real"),
        ([1, NAN], "finite"),
        ([INFINITE, 1], "finite"),
        ([1, -INFINITE], "finite"),
    ],
)
def test_invalid_vectors(of, given, rule):
    fails(DataError, f"x must be a vector of {rule} numbers; got {given!r}.", of, given, [1, 2])
    fails(DataError, f"y must be a vector of {rule} numbers; got {given!r}.", of, [1, 2], given)


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.domain == "vectors"])
def test_vectors_of_unequal_lengths(name):
    fails(DataError, "x and y must have the same length; got 2 and 1.", MEASURES[name].of, [1, 2], [1])
    fails(DataError, "x and y must have the same length; got 0 and 1.", MEASURES[name].of, [], [1])


@pytest.mark.parametrize("r", [0.1, 0.5, 0.999])
def test_below_one_the_triangle_inequality_fails(r):
    """From (0, 0) to (1, 1), the sum is 2 ** (1 / r) > 2, which is the length of the path by (1, 0)."""
    assert minkowski([0, 0], [1, 1], r) == pytest.approx(2 ** (1 / r), rel=1e-14)
    assert minkowski([2, 7], [6, 4], r) == pytest.approx((4**r + 3**r) ** (1 / r), rel=1e-14)
    found = counterexample(lambda x, y: minkowski(x, y, r), [(0, 0), (1, 0), (1, 1)])
    assert found == ("d(x, z) <= d(x, y) + d(y, z)", ((0, 0), (1, 0), (1, 1)))
    assert minkowski([0, 0], [1e200, 1e200], 0.001) == INFINITE


def test_cosine_of_vectors_is_an_angle_and_warns():
    with pytest.warns(
        LookalikeWarning, match=r"^for vectors 'cosine' is the angle in degrees; write 'angle', or "
    ) as seen:
        assert cosine([1, 0], [0, 1]) == 90
    assert seen[0].filename == __file__


@pytest.mark.parametrize("r", [0, -0.5, -1, -INFINITE, NAN, "2", None, [2]])
def test_invalid_r(r):
    for pairs in ([0], []):
        fails(UsageError, NO_R.format(repr(r)), MEASURES["minkowski"].rows, TWO, pairs, pairs, r=r)
    fails(UsageError, NO_R.format(repr(r)), minkowski, [1], [2], r)


@pytest.mark.parametrize("of", [angle, cosine_similarity])
def test_a_zero_vector_has_no_direction(of):
    for x, y in (([0, 0], [1, 2]), ([1, 2], [0, -0.0]), ([0], [0]), ([], [])):
        with pytest.raises(DataError, match=r"^a zero vector has no direction"):
            of(x, y)


def test_invalid_input_of_hamming():
    fails(DataError, "x and y must have the same length; got 2 and 3.", hamming, "ab", "abc")
    fails(DataError, "x and y must not hold nan.", hamming, [NAN, 1], [1, 1])
    fails(DataError, "x and y must not hold nan.", hamming, np.array([1.0]), np.array([NAN]))
    rows = MEASURES["hamming"].rows
    no_matrix = "vectors must be the rows of a matrix of real numbers; got {}."
    fails(DataError, no_matrix.format("3 dimensions of int64"), rows, [[[1]]], [0], [0])
    fails(DataError, no_matrix.format("2 dimensions of <U21"), rows, [[1, "1"], ["1", 1]], [0], [0])
    fails(DataError, no_matrix.format("2 dimensions of <U1"), rows, np.array([["a"], ["b"]]), [0], [0])
    fails(DataError, "vectors must all have the same length.", rows, [[1, 2], [3]], [0], [0])
    fails(DataError, "vectors must all have the same length.", rows, ["ab", "c"], [0], [0])
    fails(DataError, "items must be vectors or strings; got one string.", rows, "ab", [0], [0])
    fails(DataError, "items must be all strings or all vectors.", rows, ["ab", [1, 2]], [0], [0])
    fails(DataError, "vectors must not hold nan.", rows, [[1, NAN], [1, 2]], [1, 0], [1, 1])
    fails(DataError, "vectors must not hold nan.", rows, [[1, NAN], [1, 2]], [1, 1], [1, 0])
    assert rows([[1, NAN], [1, 2]], [1], [1]).tolist() == [0]


def test_unknown_moves():
    rows = MEASURES["edit"].rows
    for call, args in ((edit, ("a", "b")), (rows, (["a", "b"], [0], [1])), (rows, ([], [], []))):
        fails(UsageError, NO_MOVES.format("'swap'"), call, *args, moves="swap")
        fails(UsageError, NO_MOVES.format("None"), call, *args, moves=None)
        hint = " Did you mean 'levenshtein'?"
        fails(UsageError, NO_MOVES.format("'levenstein'") + hint, call, *args, moves="levenstein")
        hint = " Did you mean 'transpositions'?"
        fails(UsageError, NO_MOVES.format("'transposition'") + hint, call, *args, moves="transposition")


def test_unknown_unions():
    rows = MEASURES["bag_jaccard"].rows
    for call, args in ((bag_jaccard, ([1], [1])), (rows, (Sets.of([Counter("a")]), [0], [0]))):
        fails(UsageError, NO_UNION.format("'min'"), call, *args, union="min")
        fails(UsageError, NO_UNION.format("None"), call, *args, union=None)
        fails(UsageError, NO_UNION.format("'sun'") + " Did you mean 'sum'?", call, *args, union="sun")


@pytest.mark.parametrize(("x", "y"), [("ab", ["a", "b"]), (["a"], "a"), ("ab", b"ab"), ((), ""), (1, 2)])
def test_a_string_has_no_edit_distance_to_another_sequence(x, y):
    for call in (edit, lcs, *(partial(edit, moves=moves) for moves in MOVES)):
        got = f"got {type(x).__name__} and {type(y).__name__}."
        fails(UsageError, f"x and y must both be strings, or both be other sequences; {got}", call, x, y)


def test_equal_vectors_have_a_cosine_of_exactly_one():
    rng = np.random.default_rng(1)
    for vector in rng.normal(size=(500, 3)):
        assert cosine_similarity(vector, vector) == cosine_similarity(vector, 4 * vector) == 1
        assert cosine_similarity(vector, -vector) == -1
        assert angle(vector, vector) == 0
