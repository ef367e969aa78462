"""Check bounds of exact joins: no pair is lost, and only possible pairs are compared."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.theory.exact import as_string, longest, prefix, probes, shortest

LETTERS = "abcdefghijk"
# The same similarity, written in several ways.
THRESHOLDS = [
    (0.5, "0.5", "1/2", Fraction(1, 2)),
    (0.6, "0.6", "3/5", Fraction(3, 5)),
    ("2/3", Fraction(2, 3)),
    (0.7, "0.70", Fraction(7, 10)),
    (0.75, "0.75", Fraction(3, 4)),
    (0.8, "0.8", Fraction(4, 5)),
    (0.9, "0.9", Fraction(9, 10)),
    (0.95, ".95", Fraction(19, 20)),
    (1, 1.0, "1", Fraction(1)),
]
every_threshold = pytest.mark.parametrize("J", [J for same in THRESHOLDS for J in same], ids=repr)

lengths = st.integers(1, 10**6)
thresholds = st.one_of(
    st.integers(1, 1000).map(lambda n: n / 1000),
    st.integers(1, 1000).map(lambda n: f"{n / 1000}"),
    st.tuples(st.integers(1, 1000), st.integers(1, 1000)).map(lambda ab: Fraction(min(ab), max(ab))),
)


class Match(NamedTuple):
    """The quantities that are bounded, for two strings s and t with a common symbol."""

    similarity: Fraction
    s: int  # the lengths
    t: int
    i: int  # the position in s of the first common symbol, counted from 1
    j: int


@cache
def matches():
    """Return all pairs of strings of similarity 1/2 or more with up to 11 symbols in the union.

    The names of symbols do not matter: a pair is a word that says for every symbol, in order,
    whether both strings have it or only one of them.
    """
    found = set()
    for union in range(1, len(LETTERS) + 1):
        for word in product("bst", repeat=union):
            shared = word.count("b")
            if 2 * shared >= union:
                s, t = ([letter for letter, of in zip(LETTERS, word, strict=False) if of in ("b", one)] for one in "st")
                first = LETTERS[word.index("b")]
                found.add(Match(Fraction(shared, union), len(s), len(t), s.index(first) + 1, t.index(first) + 1))
    return found


def matches_of(J):
    return [match for match in matches() if match.similarity >= Fraction(str(J))]


def complete(J):
    """Return the lengths for which `matches` is complete: a union has up to length / J symbols."""
    return [length for length in range(1, len(LETTERS) + 1) if length / Fraction(str(J)) < len(LETTERS) + 1]


# --- against brute force ---


@pytest.mark.slow
@every_threshold
def test_matches_are_within_the_bounds(J):
    for match in matches_of(J):
        assert shortest(match.s, J) <= match.t <= longest(match.s, J)
        assert match.i <= prefix(match.s, J)
        assert match.j <= prefix(match.t, J)


@every_threshold
def test_matches_are_found_by_probes(J):
    """They are found in the bucket of the first common symbol, which t is in."""
    looked = {(by, length): set(probes(length, J, by=by)) for by in ("position", "length") for length in range(1, 12)}
    for match in matches_of(J):
        assert (match.i, match.j) in looked["position", match.s]
        assert (match.i, match.j, match.t - match.j) in looked["length", match.s]


@pytest.mark.slow
@every_threshold
def test_bounds_are_attained(J):
    """Some match attains each bound, so none can be tighter."""
    for length in complete(J):
        own = [match for match in matches_of(J) if match.s == length]
        assert max(match.t for match in own) == longest(length, J)
        assert min(match.t for match in own) == shortest(length, J)
        assert max(match.i for match in own) == prefix(length, J)


@pytest.mark.slow
@every_threshold
def test_no_probe_is_unnecessary(J):
    """The buckets are exactly those in which some match has its first common symbol, each once."""
    for length in complete(J):
        own = [match for match in matches_of(J) if match.s == length]
        positions, triples = probes(length, J), probes(length, J, by="length")
        assert sorted(positions) == sorted({(match.i, match.j) for match in own})
        assert sorted(triples) == sorted({(match.i, match.j, match.t - match.j) for match in own})


@pytest.mark.slow
@pytest.mark.parametrize("J", [0.5, "0.6", Fraction(2, 3), 0.75, 0.8, 1])
@pytest.mark.parametrize("order", [None, "cabed"], ids=repr)
def test_an_index_finds_all_pairs(J, order):
    """Among all sets of five elements, by symbol, then also by position and by suffix length."""
    sets = [set(one) for size in range(1, 6) for one in combinations("abcde", size)]
    strings = [as_string(one, order=order) for one in sets]
    expected = {
        (a, b)
        for a, b in product(range(len(sets)), repeat=2)
        if Fraction(len(sets[a] & sets[b]), len(sets[a] | sets[b])) >= Fraction(str(J))
    }
    found = {"symbol": set(), "position": set(), "length": set()}
    for (a, s), (b, t) in product(enumerate(strings), repeat=2):
        ends = range(1, prefix(len(t), J) + 1)
        near = shortest(len(s), J) <= len(t) <= longest(len(s), J)
        if near and {*s[: prefix(len(s), J)]} & {*t[: prefix(len(t), J)]}:
            found["symbol"].add((a, b))
        if {(s[i - 1], j) for i, j in probes(len(s), J)} & {(t[j - 1], j) for j in ends}:
            found["position"].add((a, b))
        triples = {(s[i - 1], j, q) for i, j, q in probes(len(s), J, by="length")}
        if triples & {(t[j - 1], j, len(t) - j) for j in ends}:
            found["length"].add((a, b))
    assert expected <= found["length"] <= found["position"]
    assert expected <= found["symbol"]


# --- strings of any length ---


@given(lengths, thresholds)
@example(10, 0.9)
@example(100, 0.99)
@example(3 * 10**5, 0.7)
def test_bounds_of_long_strings(length, J):
    """Strings at a bound are similar enough; with one symbol more or less they are not."""
    least = Fraction(str(J))
    assert Fraction(length, longest(length, J)) >= least > Fraction(length, longest(length, J) + 1)
    assert Fraction(shortest(length, J), length) >= least > Fraction(shortest(length, J) - 1, length)
    assert Fraction(length - prefix(length, J) + 1, length) >= least > Fraction(length - prefix(length, J), length)


@given(lengths, thresholds)
def test_bounds_fit_together(length, J):
    assert shortest(longest(length, J), J) <= length <= longest(shortest(length, J), J)
    assert prefix(length, J) == length - shortest(length, J) + 1


@given(st.integers(1, 40), st.integers(50, 100).map(lambda n: Fraction(n, 100)))
def test_probes_by_length_are_those_by_position_with_a_length(length, J):
    triples = probes(length, J, by="length")
    assert {(i, j) for i, j, _ in triples} == set(probes(length, J))
    least, most = shortest(length, J), longest(length, J)
    assert all(least <= j + q <= most for _, j, q in triples)
    assert len({*triples}) == len(triples)


@pytest.mark.parametrize("same", THRESHOLDS, ids=lambda same: str(same[-1]))
@pytest.mark.parametrize("length", [1, 9, 10, 20, 30, 50, 99, 100])
def test_every_way_to_write_a_threshold(same, length):
    for function in (longest, shortest, prefix, probes):
        assert len({str(function(length, J)) for J in same}) == 1


def test_bounds_are_not_rounded():
    """Here floating-point arithmetic would be off by one."""
    assert (1 - 0.9) * 10 < 1
    assert prefix(10, 0.9) == 2
    assert 33 / 0.55 < 60
    assert longest(33, 0.55) == 60
    assert 100 * 0.55 > 55
    assert shortest(100, 0.55) == 55


def test_only_equal_strings_are_found_with_similarity_one():
    assert (longest(7, 1), shortest(7, 1), prefix(7, 1)) == (7, 7, 1)
    assert (probes(7, 1), probes(7, 1, by="length")) == ([(1, 1)], [(1, 1, 6)])


# --- sets as strings ---


@given(st.lists(st.integers(0, 20)), st.permutations(range(21)))
def test_as_string(elements, order):
    assert as_string(elements) == sorted({*elements})
    string = as_string(elements, order=order)
    assert {*string} == {*elements}
    assert [order.index(element) for element in string] == sorted({order.index(element) for element in elements})


def test_as_string_of_nothing():
    assert as_string([]) == as_string(set(), order="abc") == as_string(set(), order="") == []


# --- errors ---


def test_elements_missing_from_the_order():
    with pytest.raises(DataError) as error:
        as_string({"x"}, order="abc")
    assert str(error.value) == "the order must hold all elements; 'x' is not in it."


def test_elements_repeated_in_the_order():
    with pytest.raises(DataError) as error:
        as_string("ab", order="aba")
    assert str(error.value) == "the order must hold each element once."


def test_elements_can_be_an_iterator():
    assert as_string(iter("dab"), order="dcba") == ["d", "b", "a"]


@pytest.mark.parametrize("function", [longest, shortest, prefix, probes])
@pytest.mark.parametrize("length", [0, -1, 1.5, "9", None, True])
def test_invalid_lengths(function, length):
    with pytest.raises(UsageError) as error:
        function(length, 0.9)
    assert str(error.value) == f"length must be an integer of at least 1; got {length!r}."


@pytest.mark.parametrize("function", [longest, shortest, prefix, probes])
@pytest.mark.parametrize(
    ("J", "message"),
    [
        (0, "must be in (0, 1]; got 0."),
        (-0.5, "must be in (0, 1]; got -0.5."),
        (1.5, "must be in (0, 1]; got 1.5."),
        ("90", "must be in (0, 1]; got '90'. Did you mean 0.9?"),
        ("high", "must be a number in (0, 1]; got 'high'."),
        (float("nan"), "must be in (0, 1]; got nan."),
        (None, "must be a number in (0, 1]; got None."),
    ],
)
def test_invalid_thresholds(function, J, message):
    with pytest.raises(UsageError) as error:
        function(10, J)
    assert str(error.value).endswith(message)


def test_unknown_kind_of_probe():
    with pytest.raises(UsageError) as error:
        probes(10, 0.9, by="lengths")
    assert str(error.value) == "by must be one of position, length; got 'lengths'. Did you mean 'length'?"
