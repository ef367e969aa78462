"""Each measure against its plain-Python twin, the axioms, what has no answer, and that thresholds are exact."""

import inspect
import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, from_dtype

from lookalike import measures
from lookalike.core.errors import DataError, UsageError
from lookalike.items.sets import Sets
from lookalike.measures import (
    MEASURES,
    Counterexample,
    bag_jaccard,
    chebyshev,
    containment,
    cosine,
    cosine_similarity,
    counterexample,
    edit,
    euclidean,
    exact_fraction,
    hamming,
    jaccard,
    lcs,
    manhattan,
    minkowski,
)
from lookalike.measures import rows as pairwise
from lookalike.measures.rows import MOVES
from tests import reference as ref

INFINITE, NAN = math.inf, math.nan
LARGEST, LEAST = 1.7976931348623157e308, 5e-324  # the ends of the positive double-precision numbers
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES += ("float16", "float32", "float64")
MAGNITUDES = (0.0, -0.0, 1.0, 1.5, -1.5, 1e300, -1e300, 3e307, -LARGEST, 1e-300, -1e-300, 3e-310, LEAST, -LEAST, 1 / 3)
OPTIONS = {
    "bag_jaccard": [{}, {"union": "max"}, {"union": "sum"}],
    "minkowski": [{}, *({"r": r} for r in (1, 1.25, 2, 3.0, 10, 1000, INFINITE))],
    "edit": [{}, *({"moves": moves} for moves in MOVES)],
}
CASES = [
    pytest.param(name, options, id="-".join([name, *map(str, options.values())]))
    for name in MEASURES
    for options in OPTIONS.get(name, [{}])
]
METRICS = [case for case in CASES if MEASURES[case.values[0]].metric and case.values[1] != {"union": "sum"}]
# How far from its twin a measure may be; not at all where it is counted. The angle is in degrees.
NORM = {"rel_tol": 1e-13, "abs_tol": 4 * LEAST}
TOLERANCE = dict.fromkeys(("minkowski", "euclidean", "manhattan", "chebyshev"), NORM)
TOLERANCE |= {"set_cosine": {"rel_tol": 1e-15, "abs_tol": 0}}
TOLERANCE |= {"cosine": {"rel_tol": 0, "abs_tol": 1e-12}, "cosine_similarity": {"rel_tol": 0, "abs_tol": 1e-14}}
EXACT = {"rel_tol": 0, "abs_tol": 0}

thresholds = st.one_of(
    st.floats(0, 1, exclude_min=True),
    st.integers(1, 10**6).map(lambda n: n / 10**6),
    st.tuples(st.integers(1, 300), st.integers(1, 300)).map(lambda ab: min(ab) / max(ab)),
    st.integers(1, 10**12).map(lambda n: Fraction(n, 10**12)),
    st.sampled_from([0.1 + 0.2, 2 / 3, 1 / 3, 0.7 + 0.2, 1 - 0.9, 1e-12, 5e-324, 1 - 2**-53, 1, "2/3"]),
)


# --- what is drawn ---


LETTERS = "aab\0\u00e9\u4e00\ud800\U0001f600\U0010ffff"
hashables = st.one_of(st.integers(-2, 3), st.sampled_from([-(2**63), 2**63 - 1]))
sets = st.one_of(st.frozensets(hashables, max_size=6), st.frozensets(st.integers(0, 99), max_size=40))
bags = st.one_of(st.text("abc", max_size=9), st.text("ab\U0001f600", max_size=40)).map(Counter)
strings = st.text(LETTERS, max_size=9)


@st.composite
def long_strings(draw):
    """Strings with about 64 or 128 symbols, made of one another, so that they end on both sides of a machine word."""
    rng = draw(st.integers(0, 2**32).map(random.Random))
    start = "".join(rng.choices(LETTERS, k=rng.choice((60, 62, 126))))
    out = [start]
    for _ in range(2):
        symbols = list(start)
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(symbols))
            symbols[at : at + rng.randrange(3)] = rng.choices(LETTERS, k=rng.randrange(3))
        out.append("".join(symbols))
    return out


LAYOUTS = (np.ascontiguousarray, np.asfortranarray, lambda matrix: np.repeat(matrix, 2, axis=1)[:, ::2])


@st.composite
def matrices(draw, least=0):
    """Vectors of every type and layout, some of them equal."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.integers(1, 5)), draw(st.sampled_from([size for size in (0, 1, 2, 3, 8, 9, 40) if size >= least]))
    elements = from_dtype(dtype, allow_nan=False, allow_infinity=False)
    if dtype == np.float64:
        elements = st.one_of(st.sampled_from(MAGNITUDES), st.floats(-9, 9), elements)
    matrix = draw(arrays(dtype, shape, elements=elements, fill=elements))
    matrix = matrix[draw(st.lists(st.integers(0, shape[0] - 1), min_size=shape[0], max_size=shape[0]))]
    return draw(st.sampled_from(LAYOUTS))(matrix)


def no_zeros(matrix):
    """The same with a one in the first column of every zero vector."""
    matrix[~matrix.any(axis=1), 0] = 1
    return matrix


COLLECTIONS = {
    "sets": st.lists(sets, max_size=6),
    "bags": st.lists(bags, max_size=6),
    "vectors": matrices(),
    "directions": matrices(least=1).map(no_zeros),
    "strings": st.one_of(st.lists(strings, max_size=6), long_strings()),
}


def domain_of(name):
    return "directions" if name in ("cosine", "cosine_similarity") else MEASURES[name].domain


def drawn_pairs(items):
    """Pairs of rows, with some of them twice and both ways round."""
    if not len(items):
        return st.just([])
    rows = st.integers(0, len(items) - 1)
    pairs = st.lists(st.tuples(rows, rows), max_size=6)
    return pairs.map(lambda some: [*some, *((j, i) for i, j in some), *some[:1]])


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


def twin(name, x, y, **options):
    """A twin has Python's numbers; that of vectors has them in double precision, but where they are counted."""
    if isinstance(x, np.ndarray):
        x, y = (side.tolist() if name == "hamming" else side.astype(float).tolist() for side in (x, y))
    return getattr(ref, name)(x, y, **options)


def assert_close(name, got, wanted):
    """Numbers beyond the largest are infinite; near it either will do."""
    one, two = (max(min(float(value), 0.999 * LARGEST), -LARGEST) for value in (got, wanted))
    assert math.isclose(one, two, **TOLERANCE.get(name, EXACT)), (got, wanted)


@pytest.mark.parametrize(("name", "options"), CASES)
@settings(max_examples=40)
@given(st.data(), st.sampled_from((1, 2, 5, 16, 1 << 20)))
def test_rows_and_two_objects_and_twin_agree(name, options, data, block):
    measure = MEASURES[name]
    items = data.draw(COLLECTIONS[domain_of(name)])
    pairs = data.draw(drawn_pairs(items))
    left, right = [i for i, _ in pairs], [j for _, j in pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "BLOCK", block)
        rows = measure.rows(Sets.of(items) if measure.domain in ("sets", "bags") else items, left, right, **options)
    assert rows.shape == (len(pairs),)
    assert rows.dtype == (np.int64 if name in ("hamming", "edit", "levenshtein", "overlap") else np.float64)
    for (i, j), got in zip(pairs, rows.tolist(), strict=True):
        assert measure.low <= got <= measure.high
        assert got == measure.of(items[i], items[j], **options)
        assert_close(name, got, twin(name, items[i], items[j], **options))


@pytest.mark.parametrize("block", [1, 299, 300, 301, 1 << 20])
@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.domain == "vectors"])
def test_long_vectors(monkeypatch, name, block):
    """More columns than NumPy sums in one go, in more blocks than one."""
    monkeypatch.setattr(pairwise, "BLOCK", block)
    matrix = np.random.default_rng(1).normal(size=(4, 300)).round(1)
    left, right = [0, 1, 2, 3, 0], [1, 1, 3, 0, 2]
    for i, j, got in zip(left, right, MEASURES[name].rows(matrix, left, right), strict=True):
        assert got == MEASURES[name].of(matrix[i], matrix[j])
        assert_close(name, got, twin(name, matrix[i], matrix[j]))


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", [list, tuple, *(partial(np.array, dtype=t) for t in ("uint8", "int32", "uint64"))])
def test_positions_of_every_kind(name, kind):
    some = {"sets": Sets.of([{1}, {1, 2}]), "bags": Sets.of([Counter("a"), Counter("ab")]), "strings": ("a", "ab")}
    items = some.get(MEASURES[name].domain, [[1, 0], [1, 1]])
    both = MEASURES[name].rows(items, kind((0, 1, 1)), kind((1, 0, 1)))
    assert both.tolist() == [MEASURES[name].rows(items, [i], [j])[0] for i, j in ((0, 1), (1, 0), (1, 1))]
    nothing = MEASURES[name].rows(items, kind(()), kind(()))
    assert (nothing.tolist(), nothing.dtype) == ([], both.dtype)


@pytest.mark.parametrize("name", MEASURES)
def test_no_pairs_of_no_items(name):
    items = {"sets": Sets.of([]), "bags": Sets.of([]), "strings": []}.get(MEASURES[name].domain, np.zeros((0, 3)))
    assert MEASURES[name].rows(items, [], []).tolist() == []


@pytest.mark.parametrize("r", [1, 1.5, 2, 7, INFINITE])
def test_vectors_without_dimensions_are_no_way_apart(r):
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
def test_whole_numbers_are_a_whole_number_of_steps_apart(x):
    """So that a threshold that is a whole number keeps what is just as far apart."""
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
    """An arc cosine would say 0 for all but the first few."""
    small = 10.0**-zeros
    degrees = math.degrees(math.atan(small))
    assert cosine([1, small], [1, 0]) == pytest.approx(degrees, rel=1e-14, abs=0)
    assert cosine([0, -3], [3 * small, -3]) == pytest.approx(degrees, rel=1e-14, abs=0)
    assert cosine([1, small], [-1, 0]) == pytest.approx(180 - degrees, rel=1e-15)


moderate = st.one_of(st.just(0.0), st.floats(1e-200, 1e200), st.floats(-1e200, -1e-200))


@given(st.lists(st.tuples(moderate, moderate), max_size=5), st.integers(-99, 99))
def test_an_angle_does_not_depend_on_lengths(coordinates, power):
    """A vector and its multiple have no angle, a vector and its opposite the greatest."""
    x, y = np.array([*coordinates, (1, 1)]).T
    scale = 2.0**power
    assert cosine(x * scale, y) == cosine(x, y * scale) == cosine(x, y)
    assert cosine_similarity(x * scale, y) == cosine_similarity(x, y * scale) == cosine_similarity(x, y)
    assert cosine(x, x * scale) == 0
    assert cosine(x, -x * scale) == 180


def test_no_cosine_is_beyond_one():
    """The sums of squares are rounded, up or down."""
    matrix = np.random.default_rng(1).normal(size=(500, 3))
    rows = np.arange(500)
    of = MEASURES["cosine_similarity"].rows
    same, opposite = of(matrix, rows, rows), of(np.vstack((matrix, -matrix)), rows, rows + 500)
    assert same.max() == 1
    assert opposite.min() == -1
    assert same.min() == pytest.approx(1, rel=1e-15)
    assert opposite.max() == pytest.approx(-1, rel=1e-15)


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
    assert cosine(x, y) == cosine(y, x) == pytest.approx(degrees, abs=1e-13)
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


def test_hamming_takes_what_is_infinite():
    assert hamming([INFINITE, 1.0], [-INFINITE, 1.0]) == 1
    assert MEASURES["hamming"].rows([[INFINITE, 1.0], [-INFINITE, 1.0]], [0], [1]).tolist() == [1]


# --- strings ---


@pytest.mark.parametrize("moves", MOVES)
def test_edits_are_the_fewest_of_all_that_can_be_done(moves):
    """On all strings of up to three of three letters, against a search among the strings of up to five."""
    tiny = ["".join(letters) for n in range(4) for letters in product("abc", repeat=n)]
    for x in tiny:
        found = ref.edits_from(x, "abc", 5, moves)
        assert [found[y] for y in tiny] == [ref.edit(x, y, moves) for y in tiny]
        assert [found[y] for y in tiny] == [edit(x, y, moves) for y in tiny]


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
    """-1 and -2 have one hash; a word is one symbol."""
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
    """Whether the symbols of one occur in the other, in that order."""
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


# --- the table ---


@pytest.mark.parametrize("name", MEASURES)
def test_table(name):
    measure = MEASURES[name]
    assert measure.name == name == measure.of.__name__ == measure.batch.__name__
    assert measure.of is getattr(measures, name)
    assert measure.batch is getattr(pairwise, name)
    assert measure.domain in ("sets", "bags", "vectors", "strings")
    assert measure.kind in ("similarity", "distance")
    assert measure.low < measure.high
    assert measure.kind == "similarity" or measure.low == 0
    assert measure.kind == "distance" or measure.high == (math.inf if name == "overlap" else 1)


@pytest.mark.parametrize("name", MEASURES)
def test_both_forms_of_a_measure_have_the_same_options(name):
    one, many = (
        [(option.name, option.default) for option in [*inspect.signature(form).parameters.values()][skip:]]
        for form, skip in ((MEASURES[name].of, 2), (MEASURES[name].batch, 3))
    )
    assert one == many


def test_which_are_metrics():
    none = {"containment", "set_cosine", "overlap", "cosine_similarity"}
    assert {name for name, measure in MEASURES.items() if not measure.metric} == none


def test_distance():
    """1 - s of a similarity, else the value itself; the options go with it."""
    assert MEASURES["jaccard"].distance({1, 2}, {2, 3, 4}) == 0.75
    assert MEASURES["bag_jaccard"].distance(Counter("aab"), ["a"]) == pytest.approx(2 / 3)
    assert MEASURES["bag_jaccard"].distance(Counter("aab"), ["a"], union="sum") == 0.75
    assert MEASURES["cosine_similarity"].distance([1, 0], [-1, 0]) == 2
    assert MEASURES["cosine"].distance([1, 0], [-1, 0]) == 180
    assert MEASURES["minkowski"].distance([1, 1], [4, 5]) == 5
    assert MEASURES["minkowski"].distance([1, 1], [4, 5], r=1) == 7
    assert MEASURES["edit"].distance("ab", "ba", moves="transpositions") == 1


# --- axioms ---


def primitive(vector):
    """The shortest vector of integers in the same direction."""
    return tuple(value // math.gcd(*vector) for value in vector)


def of_one_length(elements):
    return st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(elements, min_size=n, max_size=n), max_size=5))


finite = st.one_of(st.sampled_from(MAGNITUDES), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
POINTS = {
    "sets": st.lists(sets.filter(len), max_size=6),
    "bags": st.lists(bags.filter(len), max_size=6),
    "vectors": of_one_length(finite),
    "directions": st.lists(st.tuples(*[st.integers(-5, 5)] * 3).filter(any).map(primitive), max_size=6),
    "strings": st.lists(st.text("ab\U0001f600", max_size=6), max_size=6),
}
TRIANGLE = "d(x, z) <= d(x, y) + d(y, z)"
# Of each measure whose distance is no metric: points, and the axiom that fails.
NO_METRIC = {
    "containment": ([{1}, {1, 2}], Counterexample("d(x, y) > 0 unless x = y", ({1}, {1, 2}))),
    "set_cosine": ([{1}, {1, 2}, {2}], Counterexample(TRIANGLE, ({1}, {1, 2}, {2}))),
    "overlap": ([{1}, {1, 2}], Counterexample("d(x, y) >= 0", ({1, 2}, {1, 2}))),
    "cosine_similarity": (
        [(1, 0), (1, 1), (0, 1)],
        Counterexample(TRIANGLE, ((1, 0), (1, 1), (0, 1))),
    ),
}


@pytest.mark.parametrize(("name", "options"), METRICS)
@settings(max_examples=60)
@given(st.data())
def test_metrics(name, options, data):
    points = data.draw(POINTS[domain_of(name)])
    assert counterexample(partial(MEASURES[name].distance, **options), points) is None


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if not measure.metric])
def test_what_is_no_metric(name):
    points, found = NO_METRIC[name]
    assert counterexample(MEASURES[name].distance, points) == found


@given(of_one_length(st.sampled_from("ab")).map(lambda points: ["".join(point) for point in points]))
def test_hamming_is_a_metric_on_strings(points):
    assert counterexample(hamming, points) is None


def test_equal_bags_are_apart_where_the_union_is_a_sum():
    apart = partial(MEASURES["bag_jaccard"].distance, union="sum")
    assert counterexample(apart, [Counter("ab")]) == Counterexample("d(x, x) = 0", (Counter("ab"),))


@pytest.mark.parametrize(("name", "empty"), [("jaccard", set()), ("bag_jaccard", Counter())])
def test_an_empty_set_is_apart_from_itself(name, empty):
    assert counterexample(MEASURES[name].distance, [empty]) == Counterexample("d(x, x) = 0", (empty,))


def test_an_angle_is_a_metric_on_directions_alone():
    found = Counterexample("d(x, y) > 0 unless x = y", ([1, 2], [2, 4]))
    assert counterexample(cosine, [[1, 2], [2, 4]]) == found


@pytest.mark.parametrize(
    ("d", "points", "found"),
    [
        (lambda x, y: x - y, [1, 2], ("d(x, y) >= 0", (1, 2))),
        (lambda x, y: NAN, [1], ("d(x, y) >= 0", (1, 1))),
        (lambda x, y: NAN if (x, y) == (2, 1) else abs(x - y), [1, 2], ("d(x, y) >= 0", (2, 1))),
        (lambda x, y: abs(x - y) + 1, [5], ("d(x, x) = 0", (5,))),
        (lambda x, y: x + y, [0, 1, 2], ("d(x, x) = 0", (1,))),
        (lambda x, y: abs(x // 2 - y // 2), [1, 2, 3], ("d(x, y) > 0 unless x = y", (2, 3))),
        (lambda x, y: max(x - y, 2 * (y - x)), [0, 1], ("d(x, y) = d(y, x)", (0, 1))),
        (lambda x, y: 0 if x == y else INFINITE if x < y else 1, [0, 1], ("d(x, y) = d(y, x)", (0, 1))),
        (lambda x, y: (x - y) ** 2, [0, 1, 2], (TRIANGLE, (0, 1, 2))),
        (lambda x, y: abs(x - y) * (1 if abs(x - y) < 2 else INFINITE), [2, 1, 0], (TRIANGLE, (2, 1, 0))),
    ],
)
def test_each_axiom_can_fail(d, points, found):
    assert counterexample(d, points) == found
    assert counterexample(d, points).axiom == found[0]
    assert counterexample(d, points).points == found[1]


@pytest.mark.parametrize(
    ("d", "points"),
    [
        (lambda x, y: abs(x - y), range(12)),
        (lambda x, y: int(x != y), [1, 1, 2, "a", None]),
        (lambda x, y: 0 if x == y else INFINITE, {1, 2, 3}),
        (lambda x, y: np.float32(abs(x - y)), [1, 2, 3]),
        (euclidean, [(0, 0), (3, 4), (3, 4.0)]),
        (lambda x, y: NAN, []),
    ],
)
def test_metrics_have_no_counterexample(d, points):
    assert counterexample(d, points) is None


def test_arrays_as_points():
    points = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]])
    assert counterexample(euclidean, points) is None
    assert counterexample(euclidean, [*points]) is None
    axiom, (x, y) = counterexample(lambda x, y: 0.0, points)
    assert axiom == "d(x, y) > 0 unless x = y"
    assert (x.tolist(), y.tolist()) == ([1, 2], [3, 5])
    axiom, (x, y) = counterexample(lambda x, y: 0.0, [np.zeros(2), np.zeros(3)])
    assert (x.shape, y.shape) == ((2,), (3,))


def test_tolerance():
    """Rounding is no counterexample, in all or of the size of the distances; a distance of 0 must be just that."""

    def near_zero(x, y):
        return abs(x - y) + 1e-10

    assert counterexample(near_zero, [1]) is None
    assert counterexample(near_zero, [1], tolerance=1e-11).axiom == "d(x, x) = 0"

    def uneven(x, y):
        return 0 if x == y else 1e6 + (1e-4 if x < y else 0)

    assert counterexample(uneven, [1, 2]) is None
    assert counterexample(uneven, [1, 2], tolerance=1e-11).axiom == "d(x, y) = d(y, x)"

    def bent(x, y):
        return abs(x - y) * (1 + 1e-10 * (abs(x - y) == 2))

    assert counterexample(bent, [0, 1, 2]) is None
    found = counterexample(bent, [0, 1, 2], tolerance=0)
    assert found == Counterexample(TRIANGLE, (0, 1, 2))
    assert counterexample(lambda x, y: abs(x - y) * 1e-12, [1, 2]) is None


FAILS = {
    "d(x, y) >= 0": lambda d, x, y: not d[x, y] >= 0,
    "d(x, x) = 0": lambda d, x: d[x, x] != 0,
    "d(x, y) > 0 unless x = y": lambda d, x, y: d[x, y] == 0 and x != y,
    "d(x, y) = d(y, x)": lambda d, x, y: d[x, y] != d[y, x],
    TRIANGLE: lambda d, x, y, z: d[x, z] > d[x, y] + d[y, z],
}


@given(st.lists(st.integers(-1, 4), min_size=6, max_size=6), st.lists(st.sampled_from([0, 0, 0, 0, 1]), min_size=3))
def test_counterexamples_are_those_that_there_are(sides, diagonal):
    """Of any table of distances of three points: None just when no axiom fails, else points where the named does."""
    pairs = [(x, y) for x in range(3) for y in range(3) if x != y]
    d = dict(zip(pairs, sides, strict=True)) | {(x, x): diagonal[x] for x in range(3)}
    broken = {
        axiom
        for axiom, fails in FAILS.items()
        for some in product(range(3), repeat=len({*"xyz"}.intersection(axiom)))
        if fails(d, *some)
    }
    found = counterexample(lambda x, y: d[x, y], range(3))
    assert (found is None) == (not broken)
    assert found is None or FAILS[found.axiom](d, *found.points)


def test_every_pair_is_measured_once():
    calls = []
    counterexample(lambda x, y: calls.append((x, y)) or abs(x - y), range(4))
    assert sorted(calls) == [*product(range(4), repeat=2)]


# --- what is no input ---

TWO = [[1, 2], [3, 4]]
NOT_SETS = "a set must be a set, list or tuple; got {}."
NOT_BAGS = "a bag must be a Counter, list or tuple; got {}."
NO_MATRIX = "vectors must be the rows of a matrix of real numbers; got {}."
NO_R = "r must be a number of at least 1, or infinity; got {}."
NO_MOVES = "moves must be one of indel, levenshtein, transpositions; got {}."
NO_UNION = "union must be one of max, sum; got {}."


def fails(error, message, call, *args, **options):
    """The call must raise just this error."""
    with pytest.raises(error) as raised:
        call(*args, **options)
    assert (type(raised.value), str(raised.value)) == (error, message)


@pytest.mark.parametrize("given", ["abc", b"abc", {1: 2}, None, 5, range(3)])
def test_what_is_no_set(given):
    message = NOT_SETS.format(type(given).__name__)
    for of, x, y in product((jaccard, containment), (given, {1}), (given, {1})):
        if not x == y == {1}:
            fails(UsageError, message, of, x, y)


@pytest.mark.parametrize("given", ["abc", b"abc", {"a": 2}, {1}, None])
def test_what_is_no_bag(given):
    for x, y in ((given, [1]), ([1], given)):
        fails(UsageError, NOT_BAGS.format(type(given).__name__), bag_jaccard, x, y)


def test_sets_of_every_kind():
    assert jaccard([1, 2, 2], (2, 3)) == jaccard(frozenset([1, 2]), {2: "b", 3: "c"}.keys()) == 1 / 3
    assert bag_jaccard([1, 2, 2], (2, 2, 3)) == bag_jaccard(Counter([1, 2, 2]), Counter([2, 2, 3])) == 1 / 2
    assert containment([1, 1, 2], {2}) == 1 / 2
    assert containment([], [1]) == containment([], []) == containment([1], []) == 0


@pytest.mark.parametrize("of", [minkowski, euclidean, manhattan, chebyshev, cosine, cosine_similarity])
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
def test_what_is_no_vector(of, given, rule):
    fails(DataError, f"x must be a vector of {rule} numbers; got {given!r}.", of, given, [1, 2])
    fails(DataError, f"y must be a vector of {rule} numbers; got {given!r}.", of, [1, 2], given)


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.domain == "vectors"])
def test_vectors_of_unequal_lengths(name):
    fails(DataError, "x and y must have one length; got 2 and 1.", MEASURES[name].of, [1, 2], [1])
    fails(DataError, "x and y must have one length; got 0 and 1.", MEASURES[name].of, [], [1])


@pytest.mark.parametrize("r", [0, 0.5, 0.999, -1, -INFINITE, NAN, "2", None, [2]])
def test_what_is_no_r(r):
    for pairs in ([0], []):
        fails(UsageError, NO_R.format(repr(r)), MEASURES["minkowski"].rows, TWO, pairs, pairs, r=r)
    fails(UsageError, NO_R.format(repr(r)), minkowski, [1], [2], r)


@pytest.mark.parametrize("of", [cosine, cosine_similarity])
def test_a_zero_vector_has_no_direction(of):
    for x, y in (([0, 0], [1, 2]), ([1, 2], [0, -0.0]), ([0], [0]), ([], [])):
        with pytest.raises(DataError, match=r"^a zero vector has no direction"):
            of(x, y)


@pytest.mark.parametrize("name", ["cosine", "cosine_similarity"])
def test_a_zero_row_has_no_direction(monkeypatch, name):
    """Of the rows that are in a pair; the message has the row, in whatever block it is."""
    monkeypatch.setattr(pairwise, "BLOCK", 4)
    rows = MEASURES[name].rows
    matrix = [[1, 1], [0, 0], [2, 1], [1, 3], [0, 0]]
    assert len(rows(matrix, [0, 2, 3], [2, 3, 0])) == 3
    fails(DataError, "a zero vector has no direction; row 1 is one.", rows, matrix, [0, 2, 1], [2, 3, 4])
    fails(DataError, "a zero vector has no direction; row 4 is one.", rows, matrix, [0, 2, 0, 3], [2, 3, 4, 1])
    fails(DataError, "a zero vector has no direction; row 0 is one.", rows, [[], []], [0], [1])


@pytest.mark.parametrize("name", ["minkowski", "euclidean", "manhattan", "chebyshev", "cosine", "cosine_similarity"])
def test_what_is_no_matrix(monkeypatch, name):
    monkeypatch.setattr(pairwise, "BLOCK", 2)
    rows = MEASURES[name].rows
    for pairs in ([0], []):
        fails(DataError, "vectors must all have one length.", rows, [[1, 2], [3]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("1 dimensions of int64"), rows, [1, 2], pairs, pairs)
        fails(DataError, NO_MATRIX.format("3 dimensions of int64"), rows, [[[1]]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("1 dimensions of <U2"), rows, ["ab", "cd"], pairs, pairs)
        fails(DataError, NO_MATRIX.format("2 dimensions of <U1"), rows, [["1"], ["2"]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("2 dimensions of object"), rows, [[1], [None]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("2 dimensions of complex128"), rows, [[1j]], pairs, pairs)
    for bad in (NAN, INFINITE, -INFINITE):
        matrix = [[1, 2], [3, 4], [1, bad]]
        assert len(rows(matrix, [0], [1])) == 1
        fails(DataError, "vectors must be of finite numbers; row 2 is not.", rows, matrix, [0, 1, 2], [1, 0, 0])
        fails(DataError, "vectors must be of finite numbers; row 2 is not.", rows, matrix, [0, 1, 0], [1, 0, 2])


def test_what_has_no_hamming_distance():
    fails(DataError, "x and y must have one length; got 2 and 3.", hamming, "ab", "abc")
    fails(DataError, "x and y must not hold nan.", hamming, [NAN, 1], [1, 1])
    fails(DataError, "x and y must not hold nan.", hamming, np.array([1.0]), np.array([NAN]))
    rows = MEASURES["hamming"].rows
    no_matrix = "vectors must be the rows of a matrix of real numbers; got {}."
    fails(DataError, no_matrix.format("3 dimensions of int64"), rows, [[[1]]], [0], [0])
    fails(DataError, no_matrix.format("2 dimensions of <U21"), rows, [[1, "1"], ["1", 1]], [0], [0])
    fails(DataError, no_matrix.format("2 dimensions of <U1"), rows, np.array([["a"], ["b"]]), [0], [0])
    fails(DataError, "vectors must all have one length.", rows, [[1, 2], [3]], [0], [0])
    fails(DataError, "vectors must all have one length.", rows, ["ab", "c"], [0], [0])
    fails(DataError, "items must be vectors or strings; got one string.", rows, "ab", [0], [0])
    fails(DataError, "items must all be strings, or none of them.", rows, ["ab", [1, 2]], [0], [0])
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


@pytest.mark.parametrize(("x", "y"), [("ab", ["a", "b"]), (["a"], "a"), ("ab", b"ab"), ((), "")])
def test_a_string_has_no_edit_distance_to_another_sequence(x, y):
    for call in (edit, lcs, *(partial(edit, moves=moves) for moves in MOVES)):
        fails(UsageError, "x and y must both be strings, or both be other sequences.", call, x, y)


@pytest.mark.parametrize("bad", [5, None, b"a", ["a"]])
def test_what_is_no_string(bad):
    rows = MEASURES["edit"].rows
    fails(DataError, "items must be strings.", rows, ["a", bad], [0], [1])
    fails(DataError, "items must be strings.", rows, ["a", bad], [1], [0])
    assert rows(["a", bad], [0], [0]).tolist() == [0]


@pytest.mark.parametrize("name", ["jaccard", "bag_jaccard", "containment"])
def test_rows_that_are_no_sets(name):
    for items in ([{1}, {2}], (Counter("a"),), np.zeros((2, 2)), ["ab", "cd"]):
        message = f"items must be Sets; got {type(items).__name__}. Make them with Sets.of."
        fails(UsageError, message, MEASURES[name].rows, items, [0], [0])
        fails(UsageError, message, MEASURES[name].rows, items, [], [])


@pytest.mark.parametrize("name", MEASURES)
def test_rows_that_are_not_there(name):
    some = {"sets": Sets.of([{1}, {2}]), "bags": Sets.of([Counter("a"), Counter("b")]), "strings": ["a", "b"]}
    call = partial(MEASURES[name].rows, some.get(MEASURES[name].domain, TWO))
    fails(UsageError, "rows must be in range(2); got 0 and 2.", call, [0, 0, 5], [1, 2, 5])
    fails(UsageError, "rows must be in range(2); got 2 and 1.", call, [2], [1])
    fails(UsageError, "rows must be in range(2); got -1 and 0.", call, [-1], [0])
    fails(UsageError, "rows must be in range(2); got 0 and -3.", call, [0, 0], [1, -3])
    fails(UsageError, "left and right must have one length; got 2 and 1.", call, [0, 1], [0])
    fails(UsageError, "left and right must have one length; got 0 and 1.", call, [], [0])
    no_positions = "left must be a list of whole numbers, the positions of rows; got {!r}."
    for odd in ([0.7], ["a"], [None], [True], 0, [[0]], [2**64]):
        fails(UsageError, no_positions.format(odd), call, odd, [0])


def test_sets_are_no_bags():
    sets, bags = Sets.of([[1, 1], [1]]), Sets.of([Counter("aa"), Counter("a")])
    fails(UsageError, "items must be bags: Sets.of Counters.", MEASURES["bag_jaccard"].rows, sets, [0], [1])
    for name in ("jaccard", "containment"):
        fails(UsageError, "items must be sets, not bags.", MEASURES[name].rows, bags, [0], [1])


def test_equal_vectors_have_a_cosine_of_exactly_one():
    rng = np.random.default_rng(1)
    for vector in rng.normal(size=(500, 3)):
        assert cosine_similarity(vector, vector) == cosine_similarity(vector, 4 * vector) == 1
        assert cosine_similarity(vector, -vector) == -1
        assert cosine(vector, vector) == 0


@given(st.lists(st.text("ab", max_size=2), max_size=4))
def test_counterexample_tells_equal_points_by_equality(points):
    """Texts with a null character at the end, which arrays drop, are different."""
    assert counterexample(lambda x, y: float(x != y), points) is None
    assert counterexample(lambda x, y: 0, ["a\0", "a"]) == ("d(x, y) > 0 unless x = y", ("a\0", "a"))


# --- thresholds ---


@given(thresholds)
@example(0.6666666666666666)
@example(0.6666666666666667)
@example(Fraction(1, 3 * 2**30))
def test_thresholds_are_compared_exactly(threshold):
    """i/u >= threshold, as the decimal that was typed, just when i q >= p u, for all small i/u."""
    p, q = exact_fraction(threshold)
    wanted = Fraction(str(threshold))
    assert 0 < p <= q < 2**31
    assert Fraction(p, q) >= wanted
    for u in range(1, 41):
        for i in range(u + 1):
            assert (Fraction(i, u) >= wanted) == (i * q >= p * u)


@given(thresholds, st.integers(2, 2**30), st.integers(-3, 3))
def test_thresholds_are_compared_exactly_with_large_sets(threshold, union, off):
    """Overlaps next to the threshold, where one element more or less decides."""
    p, q = exact_fraction(threshold)
    wanted = Fraction(str(threshold))
    shared = max(0, min(union, int(wanted * union) + off))
    assert (Fraction(shared, union) >= wanted) == (shared * q >= p * union)


def test_thresholds_next_to_fractions_of_the_largest_sets():
    rng = random.Random(1)
    for _ in range(2000):
        u = rng.randrange(2**29, 2**30 + 1)
        i = rng.randrange(1, u)
        for off in (0, Fraction(1, 2**70), Fraction(-1, 2**70)):
            wanted = Fraction(i, u) + off
            p, q = exact_fraction(wanted)
            assert (Fraction(i, u) >= wanted) == (i * q >= p * u)
            assert q < 2**31


@pytest.mark.parametrize(
    "threshold", [0.8, "0.8", "4/5", Decimal("0.80"), Fraction(4, 5), np.float64(0.8), np.float32(0.8)]
)
def test_every_way_to_write_a_threshold(threshold):
    assert exact_fraction(threshold) == (4, 5)


@pytest.mark.parametrize("threshold", [1, 1.0, "1", True + 0.0])
def test_threshold_one(threshold):
    assert exact_fraction(threshold) == (1, 1)


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (0, "threshold must be in (0, 1]; got 0."),
        (-0.5, "threshold must be in (0, 1]; got -0.5."),
        (80, "threshold must be in (0, 1]; got 80. Did you mean 0.8?"),
        (101, "threshold must be in (0, 1]; got 101."),
        (float("nan"), "threshold must be in (0, 1]; got nan."),
        (float("inf"), "threshold must be in (0, 1]; got inf."),
        ("x", "threshold must be a number in (0, 1]; got 'x'."),
        ("1/0", "threshold must be a number in (0, 1]; got '1/0'."),
        ("nan", "threshold must be a number in (0, 1]; got 'nan'."),
        ("1e400", "threshold must be in (0, 1]; got '1e400'."),
        ("80", "threshold must be in (0, 1]; got '80'. Did you mean 0.8?"),
        (True, "threshold must be a number in (0, 1]; got True."),
        (None, "threshold must be a number in (0, 1]; got None."),
    ],
)
def test_thresholds_that_are_none(threshold, message):
    with pytest.raises(UsageError) as error:
        exact_fraction(threshold)
    assert str(error.value) == message
