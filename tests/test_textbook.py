"""Check chapter 3 of "Mining of Massive Datasets": worked examples and exercises with numbers.

Answers are worked out without the package, by hand or by brute force, and compared with its
answers.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.families import BitSampling, FieldEquality, GridSquares, Hyperplanes, MinHash, RandomLines
from lookalike.kernels.hashing import EMPTY
from lookalike.measures import MEASURES
from lookalike.theory import mapreduce

FIGURE_3_2 = [{"a", "d"}, {"c"}, {"b", "d", "e"}, {"a", "c", "d"}]
FIGURE_3_4 = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
FIGURE_3_5 = [{2, 5}, {0, 1}, {3, 4}, {0, 2, 4}]
SIX = list(combinations(range(4), 2))  # the pairs of four items

SUDZO = (
    "A spokesperson for the Sudzo Corporation revealed today that studies have shown it is good for people "
    "to buy Sudzo products."
)
# Two articles and the text that two newspapers put around them, all of about the same length.
HARBOUR = (
    "The mayor told reporters on Monday that the old harbour will be closed for the winter, because the walls are "
    "in need of repair and the city has the money to do it. She said that it was not an easy choice, but that the "
    "boats would be safe in the new basin until the spring."
)
ORCHARD = (
    "A farmer who has grown apples in the valley for forty years is giving all of his trees to the village school. "
    "He hopes that the children will learn how to prune them, and that they may sell what they pick at the market "
    "to pay for their books and a trip to the sea."
)
SPORTS = (
    "Weekend Sports Results. Cheap Flights Rome Madrid Lisbon. Subscribe Today Save Half. Weather Sunny Mild. "
    "Crossword Puzzle Sudoku Archive. Garden Furniture Winter Sale Ends Friday. Top Stories Markets Rally Again. "
    "Contact Privacy Imprint Careers Newsletter Login"
)
LOCAL = (
    "Breaking News Video Gallery. Buy Sudzo Washing Powder. Dream Homes Near Lakes, Call Now. Horoscope Lottery "
    "Numbers Television Guide. Used Cars Certified Dealers Best Prices. Cinema Tonight Seven Screens. Local Jobs "
    "Nurses Drivers Wanted. Follow Us Share"
)

SAME, OTHER = 1 - 0.8, 1 - 0.2  # distances of prints of one finger, and of two
MATCH, MISMATCH = Fraction(8**3 * 2**3, 10**6), Fraction(2**6, 10**6)  # how often both have minutiae in three squares


def similarity(shingles, a, b):
    """Return the Jaccard similarity of two texts; check that the shingles' hashes give the same."""
    found = la.measures.jaccard(shingles.of(a), shingles.of(b))
    assert MEASURES["jaccard"].rows(shingles.sets([a, b]), [0], [1]).tolist() == [found]
    return found


def fractions(values, most=10**6):
    """Return floating-point numbers as the simple fractions that they stand for."""
    return [Fraction(value).limit_denominator(most) for value in values]


def tenths(first, last):
    return [round(i / 10, 1) for i in range(first, last + 1)]


def printed(values, digits):
    return [f"{value:.{digits}f}".lstrip("0") for value in values]


def pairs_of(found):
    """Return the positions of candidate pairs as a set."""
    left, right = found
    return set(zip(left.tolist(), right.tolist(), strict=True))


def expected_jaccard(n, m):
    """Return the mean for two random m-subsets of n; the overlap k is hypergeometric."""
    return sum(
        Fraction(math.comb(m, k) * math.comb(n - m, m - k), math.comb(n, m)) * Fraction(k, 2 * m - k)
        for k in range(m + 1)
    )


# --- worked examples: sets and shingles ---


def test_3_1_jaccard_of_sets():
    a, b = set("abcde"), set("cdefgh")
    assert len(a | b) == 8
    assert la.measures.jaccard(a, b) == 3 / 8
    assert MEASURES["jaccard"].distance(a, b) == 5 / 8


def test_3_2_jaccard_of_bags():
    a, b = Counter("aaab"), Counter("aabbc")
    assert la.measures.bag_jaccard(a, b, union="sum") == 1 / 3
    assert la.measures.bag_jaccard(a, a, union="sum") == la.measures.bag_jaccard(b, b, union="sum") == 1 / 2
    assert la.measures.bag_jaccard(a, b, union="max") == la.measures.bag_jaccard(a, b) == 3 / 6
    assert la.measures.bag_jaccard(a, a) == 1


def test_3_3_shingles_of_a_string():
    assert la.Shingles(k=2).of("abcdabd") == {"ab", "bc", "cd", "da", "bd"}
    assert la.Shingles(k=2).sets(["abcdabd"]).sizes.tolist() == [5]


def test_3_3b_a_set_and_a_bag_of_shingles():
    assert la.Shingles(k=2).of("abcab") == {"ab", "bc", "ca"}
    assert la.Shingles(k=2, bag=True).of("abcab") == {"ab": 2, "bc": 1, "ca": 1}
    assert la.Shingles(k=2, bag=True).sets(["abcab"]).sizes.tolist() == [4]


def test_3_4_white_space():
    plane, quarterback = "The plane was ready for touch down", "The quarterback scored a touchdown"
    kept, removed = la.Shingles(k=9, space="keep"), la.Shingles(k=9, space="remove")
    assert "touchdown" in kept.of(quarterback)
    assert {"touch dow", "ouch down"} <= kept.of(plane)
    assert "touchdown" not in kept.of(plane)
    assert similarity(kept, plane, quarterback) == 0
    assert "touchdown" in removed.of(plane) & removed.of(quarterback)
    assert similarity(removed, plane, quarterback) > 0


def test_3_4b_longer_shingles_are_shared_less():
    found = [similarity(la.Shingles(k=k), "editorial", "factorial") for k in (1, 5, 9)]
    assert found == [6 / 10, 2 / 8, 0 / 2]


def test_3_4c_a_change_of_one_word():
    """It replaces the shingles that touch the word, and no others."""
    which, that = (la.Shingles(k=3).of(f"The dog {word} chased the cat") for word in ("which", "that"))
    assert which - that == {"g w", " wh", "whi", "hic", "ich", "ch ", "h c"}
    assert that - which == {"g t", "tha", "hat", "at ", "t c"}  # " th" is also in " the"


def test_3_5_stop_word_shingles():
    shingles = la.Shingles(k=3, unit="stop")
    found = shingles.in_order(SUDZO)
    assert found[:3] == ["A spokesperson for", "for the Sudzo", "the Sudzo Corporation"]
    assert len(found) == len(shingles.of(SUDZO)) == 9
    stops = {"a", "for", "the", "that", "have", "it", "is", "to"}
    assert {shingle.split()[0].lower() for shingle in found} == stops
    assert not shingles.of("Buy Sudzo")
    assert shingles.sets([SUDZO, "Buy Sudzo"]).sizes.tolist() == [9, 0]


# --- worked examples: minhashing ---


def test_3_6_matrix_of_sets():
    matrix = {"a": "1001", "b": "0010", "c": "0101", "d": "1011", "e": "0010"}
    columns = [{element for element, row in matrix.items() if row[column] == "1"} for column in range(4)]
    assert columns == FIGURE_3_2
    sets = la.Sets.of(columns)
    assert sets.sizes.tolist() == [2, 1, 3, 3]
    assert [len({*sets[i].tolist()} & {*sets[j].tolist()}) for i, j in SIX] == [0, 1, 2, 0, 1, 1]


def test_3_7_minhash_of_a_permutation():
    signatures = MinHash.from_permutations(["beadc"]).signatures(FIGURE_3_2)
    assert ["beadc"[place] for (place,) in signatures.tolist()] == ["a", "c", "b", "a"]


def test_3_8_signatures_row_by_row():
    """Each matrix holds the signatures of the rows so far; a set without elements has infinity."""
    family = MinHash.from_functions([lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])
    none = int(EMPTY)
    after = [
        [[1, 1], [none, none], [none, none], [1, 1]],
        [[1, 1], [none, none], [2, 4], [1, 1]],
        [[1, 1], [3, 2], [2, 4], [1, 1]],
        [[1, 0], [3, 2], [2, 0], [1, 0]],
        [[1, 0], [3, 2], [0, 0], [1, 0]],
    ]
    for row, matrix in enumerate(after):
        assert family.signatures([{x for x in one if x <= row} for one in FIGURE_3_4]).tolist() == matrix
    signatures = family.signatures(FIGURE_3_4)
    assert signatures.tolist() == after[-1]
    assert [family.estimate(signatures[0], signatures[other]) for other in (3, 2, 1)] == [1, 1 / 2, 0]
    true = [la.measures.jaccard(FIGURE_3_4[0], FIGURE_3_4[other]) for other in (3, 2, 1)]
    assert true == [2 / 3, 1 / 4, 0]


def test_3_8b_three_permutations_of_seven_rows():
    matrix = ["1010", "1001", "0101", "0101", "0101", "1010", "1010"]
    columns = [{row for row in range(7) if matrix[row][column] == "1"} for column in range(4)]
    numbers = ["2376154", "4213675", "3472615"]
    family = MinHash.from_functions([lambda row, of=of: int(of[row]) for of in numbers])
    signatures = family.signatures(columns)
    assert signatures.T.tolist() == [[2, 1, 2, 1], [2, 1, 4, 1], [1, 2, 1, 2]]
    pairs = [(0, 2), (1, 3), (0, 1), (2, 3)]
    assert [la.measures.jaccard(columns[i], columns[j]) for i, j in pairs] == [3 / 4, 3 / 4, 0, 0]
    assert [family.estimate(signatures[i], signatures[j]) for i, j in pairs] == [2 / 3, 1, 0, 0]


def test_3_8c_all_permutations():
    """Over all permutations, minhashes agree in a share equal to the similarity."""
    family = MinHash.from_permutations(list(permutations([1, 2, 3])))
    a, b = family.signatures([{1, 2}, {2, 3}])
    assert (a == b).tolist().count(True) == 2
    assert family.estimate(a, b) == la.measures.jaccard({1, 2}, {2, 3}) == 1 / 3


# --- worked examples: banding ---


def test_3_9_a_million_documents():
    signature = MinHash(hashes=250).signatures([{"a", "document"}]).astype(np.uint32)
    assert signature.nbytes == 1_000
    assert 10**6 * signature.nbytes == 10**9
    pairs = math.comb(10**6, 2)
    assert pairs == pytest.approx(5e11, rel=1e-5)
    assert 5.75 < pairs * 1e-6 / (24 * 60 * 60) < 6


def test_3_10_bands_of_a_signature_matrix():
    """Columns that are equal in the first band are candidates; others can meet in another band."""
    first = [[1, 3, 0], [0, 2, 1], [0, 1, 3], [0, 2, 1], [2, 2, 1]]
    columns = [[*top, *range(100 * place, 100 * place + 9)] for place, top in enumerate(first)]
    bands = la.And(3) >> la.Or(4)
    assert bands.functions == 12
    assert pairs_of(bands.pairs(np.array(columns))) == {(1, 3)}
    assert mapreduce.candidates([(at, tuple(column)) for at, column in enumerate(columns)], rows=3) == [(1, [3])]
    columns[0][9:] = columns[1][9:]
    assert pairs_of(bands.pairs(np.array(columns))) == {(0, 1), (1, 3)}
    columns[0][9] += 1
    assert pairs_of(bands.pairs(np.array(columns))) == {(1, 3)}


def test_3_11_s_curve():
    curve = la.And(5) >> la.Or(20)
    assert curve.functions == 100
    values = [curve(s) for s in tenths(2, 8)]
    assert printed(values[:6], 3) == [".006", ".047", ".186", ".470", ".802", ".975"]
    assert printed(values[6:], 4) == [".9996"]
    assert [f"{(1 / b) ** (1 / r):.3f}" for b, r in ((20, 5), (16, 4))] == ["0.549", "0.500"]
    assert 0.5 < curve.threshold() < 0.549
    assert curve.steepest()[1] > 3


# --- worked examples: distances ---


def test_3_12_norms():
    x, y = (2, 7), (6, 4)
    assert la.measures.euclidean(x, y) == la.measures.minkowski(x, y, r=2) == 5
    assert la.measures.manhattan(x, y) == la.measures.minkowski(x, y, r=1) == 7
    assert la.measures.chebyshev(x, y) == la.measures.minkowski(x, y, r=math.inf) == 4


def test_3_13_cosine():
    x, y = [1, 2, -1], [2, 1, 1]
    assert la.measures.cosine_similarity(x, y) == pytest.approx(1 / 2, abs=1e-15)
    assert la.measures.angle(x, y) == pytest.approx(60, abs=1e-12)


def test_3_14_3_15_edit_distance():
    assert la.measures.edit("abcde", "acfdeg") == 3
    assert la.measures.lcs("abcde", "acfdeg") == "acde"
    assert la.measures.edit("aba", "bab") == 2
    assert la.measures.lcs("aba", "bab") in ("ab", "ba")


def test_3_15b_edit_distance_of_titles():
    titles = "the hundred foot journey", "the hundred ft journey"
    assert la.measures.edit(*titles) == la.measures.edit(*titles, moves="levenshtein") == 2


def test_3_16_hamming():
    assert la.measures.hamming("10101", "11110") == 3


def test_3_16b_bit_vectors_as_sets():
    a, b = ({at for at, bit in enumerate(bits) if bit == "1"} for bits in ("10111", "10011"))
    assert la.measures.jaccard(a, b) == 3 / 4
    assert MEASURES["jaccard"].distance(a, b) == 1 / 4


# --- worked examples: families and cascades ---


def test_3_17_sensitivity_of_minhash():
    assert fractions(MinHash().sensitivity(0.3, 0.6)) == [Fraction(n, 10) for n in (3, 6, 7, 4)]


def test_3_18_and_then_or():
    curve = la.And(4) >> la.Or(4)
    expected = [".0064", ".0320", ".0985", ".2275", ".4260", ".6666", ".8785", ".9860"]
    assert printed([curve(p) for p in tenths(2, 9)], 4) == expected
    *distances, p1, p2 = curve.amplify((0.2, 0.6, 0.8, 0.4))
    assert (distances, printed([p1, p2], 4)) == ([0.2, 0.6], [".8785", ".0985"])
    (fixed,) = curve.fixed_points()
    assert 0.7 < fixed < 0.8
    assert curve(fixed) == pytest.approx(fixed, abs=1e-12)


def test_3_19_or_then_and():
    curve = la.Or(4) >> la.And(4)
    expected = [".0140", ".1215", ".3334", ".5740", ".7725", ".9015", ".9680", ".9936"]
    assert printed([curve(p) for p in tenths(1, 8)], 4) == expected
    *distances, p1, p2 = curve.amplify((0.2, 0.6, 0.8, 0.4))
    assert (distances, printed([p1, p2], 4)) == ([0.2, 0.6], [".9936", ".5740"])


def test_3_20_cascade():
    cascade = la.And(4) >> la.Or(4) >> la.Or(4) >> la.And(4)
    assert cascade.functions == 256
    *distances, p1, p2 = cascade.amplify((0.2, 0.8, 0.8, 0.2))
    assert (distances, printed([p1, p2], 7)) == ([0.2, 0.8], [".9991285", ".0000004"])


@pytest.mark.parametrize("d", [2, 6, 10])
def test_3_7_1_hamming_family(d):
    family = BitSampling(d)
    assert family.hashes == d
    for d1, d2 in combinations(range(d + 1), 2):
        assert family.sensitivity(d1, d2) == pytest.approx((d1, d2, 1 - d1 / d, 1 - d2 / d))
    for distance in range(d + 1):
        a, b = family.signatures(["0" * d, "1" * distance + "0" * (d - distance)])
        assert family.agreement(a, b) == pytest.approx(1 - distance / d)
    with pytest.raises(UsageError, match=f"^hashes must be at most {d}, the number of positions"):
        BitSampling(d, hashes=d + 1)


def test_3_7_2_hyperplanes():
    """Of evenly spread directions in the plane, exactly those within the angle separate vectors."""
    family = Hyperplanes()
    assert family.sensitivity(40, 120) == pytest.approx((40, 120, 140 / 180, 60 / 180))
    assert [family.collision(d) for d in (0, 90, 180)] == [1, 1 / 2, 0]
    turns = np.radians(np.arange(3600) / 10 + 0.05)
    every = Hyperplanes.from_vectors(np.stack((np.cos(turns), np.sin(turns)), axis=1))
    for angle in (0, 1, 45, 60, 90, 135, 179, 180):
        a, b = every.signatures([[1, 0], [math.cos(math.radians(angle)), math.sin(math.radians(angle))]])
        assert every.agreement(a, b) == pytest.approx((180 - angle) / 180)
        assert every.estimate(a, b) == pytest.approx(angle)


def test_3_21_sketches():
    x, y = [3, 4, 5, 6], [4, 3, 2, 1]
    family = Hyperplanes.from_vectors([[1, -1, 1, 1], [-1, 1, -1, 1], [1, 1, -1, -1]])
    a, b = family.signatures([x, y])
    assert (a.tolist(), b.tolist()) == ([1, 1, 0], [1, 0, 1])
    assert family.estimate(a, b) == pytest.approx(120)
    assert sum(i * j for i, j in zip(x, y, strict=True)) == 40
    assert la.measures.angle(x, y) == pytest.approx(38, abs=0.1)
    every = Hyperplanes.from_vectors(list(product((1, -1), repeat=4)))
    assert every.estimate(*every.signatures([x, y])) == 45


@pytest.mark.parametrize("width", [1.0, 2.5])
def test_3_7_4_random_lines(width):
    """The exact probabilities lie within the bounds."""
    family = RandomLines(width, lines="unit", dimensions=2)
    d1, d2, p1, p2 = family.plane_bounds()
    assert (d1, d2, p1, p2) == (width / 2, 2 * width, 1 / 2, 1 / 3)
    assert all(family.collision(d) >= p1 for d in np.linspace(0, d1, 20))
    assert all(family.collision(d) <= p2 for d in np.linspace(d2, 10 * d2, 20))


# --- worked examples: applications ---


def test_3_8_2_entity_resolution():
    def score(a, b):
        return sum(la.entities.points(x, y, alike={("Bill", "William"): 1}) for x, y in zip(a, b, strict=True))

    records = [
        ("William", "1 Oak Lane", "555-0101"),
        ("Bill", "1 Oak Lane", "555-0199"),
        ("Maria", "22 Elm Street", "555-0101"),
        ("Maria", "9 Harbour Road", "555-0142"),
        ("Otto", "7 Mill Hill", "555-0177"),
    ]
    assert score(records[0], records[0]) == 300
    lost = [100 - la.entities.points("a" * 9, "a" * (9 - d)) for d in range(5)]
    assert lost == [lost[1] * d**2 for d in range(5)]
    assert lost[1] > 0
    assert la.measures.edit("Bill", "William") == 5
    assert score(["Bill"], ["William"]) == la.entities.points("Bill", "Bil")
    family = FieldEquality(["name", "address", "phone"])
    assert pairs_of(la.Or(3).candidates(family, records)) == {(0, 1), (0, 2), (2, 3)}


def test_3_8_3_true_matches():
    for x in range(10, 46):
        assert la.entities.match_fraction(x, perfect=10, random=45) == (45 - x) / 35
    for h0, h1, f in [(0.5, 4, 1 / 4), (1, 9, 1 / 2), (2, 3, 0), (7, 3, 1 / 8)]:
        h = f * h0 + (1 - f) * h1
        assert la.entities.match_fraction(h, perfect=h0, random=h1) == f == (h1 - h) / (h1 - h0)


def test_3_22_fingerprints():
    family = GridSquares(squares=3, hashes=1024, density=0.2)
    *_, same, other = family.sensitivity(SAME, OTHER)
    assert (same, other) == pytest.approx((0.004096, 0.000064))
    any_of = la.Or(1024)
    assert printed([any_of(same), any_of(other)], 3) == [".985", ".063"]
    both = any_of >> la.And(2)
    assert both.functions == 2048
    assert printed([both(same)], 3) == [".970"]
    assert both(other) == pytest.approx(0.063**2, rel=0.02)  # 0.00397 is 0.00402 after rounding 0.063
    assert printed([0.063**2, both(other)], 5) == [".00397", ".00402"]


def test_3_23_an_ad_and_a_sentence():
    shingles = la.Shingles(k=3, unit="stop", stop_words=frozenset(["I", "that", "you", "for", "your"]))
    recommended = "I recommend that you buy Sudzo for your laundry."
    expected = {"I recommend that", "that you buy", "you buy Sudzo", "for your laundry", "your laundry x"}
    assert shingles.of(f"{recommended} x") == expected
    assert shingles.of(recommended) == expected - {"your laundry x"}
    assert shingles.sets([f"{recommended} x", recommended, "Buy Sudzo"]).sizes.tolist() == [5, 4, 0]


def test_3_8_6_news_pages():
    """Stop words occur in the article only; other shingles treat both halves the same."""
    page, elsewhere, another = f"{SPORTS} {HARBOUR}", f"{LOCAL} {HARBOUR}", f"{SPORTS} {ORCHARD}"
    char = la.Shingles.parse("char:10")
    for stop in (la.Shingles(unit="stop", k=3), la.Shingles(unit="stop", k=3, distance=2, skip_stops=True)):
        assert similarity(stop, page, elsewhere) > 3 / 4
        assert similarity(stop, page, another) < 1 / 10
    assert similarity(char, page, elsewhere) == pytest.approx(1 / 3, abs=0.05)
    assert similarity(char, page, another) == pytest.approx(1 / 3, abs=0.05)


# --- worked examples: high degrees of similarity ---


def test_3_24_a_set_as_a_string():
    assert "".join(la.exact.as_string({"d", "a", "b"})) == "abd"


def test_3_25_lengths():
    assert (la.exact.longest(9, 0.9), la.exact.longest(8, 0.9)) == (10, 8)


def test_3_26_prefixes():
    assert la.exact.prefix(9, 0.9) == 1
    assert {la.exact.prefix(length, 0.9) for length in range(10, 20)} == {2}
    assert {la.exact.prefix(length, 0.9) for length in range(20, 30)} == {3}


def test_3_27_positions():
    string = "acdefghijk"
    assert [(string[i - 1], j) for i, j in la.exact.probes(len(string), 0.9)] == [("a", 1), ("a", 2), ("c", 1)]


def test_3_28_positions_and_suffix_lengths():
    string = "acdefghijk"
    places = range(1, la.exact.prefix(len(string), 0.9) + 1)
    assert [(string[i - 1], i, len(string) - i) for i in places] == [("a", 1, 9), ("c", 2, 8)]


def test_3_29_buckets_to_look_in():
    expected = {
        1: [(1, 7), (1, 8), (2, 8), (1, 9), (2, 9), (3, 9), (1, 10), (2, 10), (1, 11)],
        2: [(1, 7), (1, 8), (2, 8), (1, 9)],
        3: [(1, 7)],
    }
    found = la.exact.probes(10, 0.8, by="length")
    assert found == [(i, j, q) for i, places in expected.items() for j, q in places]


# --- exercises of section 3.1 ---


def test_exercise_3_1_1():
    a, b, c = {1, 2, 3, 4}, {2, 3, 5, 7}, {2, 4, 6}
    assert [la.measures.jaccard(*two) for two in ((a, b), (a, c), (b, c))] == [1 / 3, 2 / 5, 1 / 6]


def test_exercise_3_1_2():
    pairs = list(combinations(([1, 1, 1, 2], [1, 1, 2, 2, 3], [1, 2, 3, 4]), 2))
    assert [la.measures.bag_jaccard(*two, union="sum") for two in pairs] == [3 / 9, 2 / 8, 3 / 9]
    assert [la.measures.bag_jaccard(*two, union="max") for two in pairs] == [3 / 6, 2 / 6, 3 / 6]


@pytest.mark.parametrize(("n", "m"), [(n, m) for n in range(1, 7) for m in range(1, n + 1)])
def test_exercise_3_1_3(n, m):
    subsets = list(combinations(range(n), m))
    every = [la.measures.jaccard(s, t) for s, t in product(subsets, repeat=2)]
    assert sum(fractions(every)) / len(every) == expected_jaccard(n, m)


def test_exercise_3_1_3_simulated():
    """Two of four elements, twice: 1/6 of pairs share none, 4/6 one of three, 1/6 are the same."""
    assert expected_jaccard(4, 2) == Fraction(4, 6) / 3 + Fraction(1, 6) == Fraction(7, 18)
    rng = np.random.default_rng(1)
    n, m, draws = 40, 10, 2000
    sets = la.Sets.of([rng.choice(n, m, replace=False).tolist() for _ in range(2 * draws)])
    found = MEASURES["jaccard"].rows(sets, np.arange(0, 2 * draws, 2), np.arange(1, 2 * draws, 2))
    assert abs(found.mean() - float(expected_jaccard(n, m))) < 4 * found.std() / draws**0.5


# --- exercises of section 3.2 ---


def test_exercise_3_2_1():
    """Only the first twelve characters count."""
    found = la.Shingles(k=3).in_order("The most effective way")[:10]
    assert found == ["The", "he ", "e m", " mo", "mos", "ost", "st ", "t e", " ef", "eff"]
    assert la.Shingles(k=3).of("The most eff") == set(found)


def test_exercise_3_2_2():
    """Stop words have up to three letters; the last two words of the sentence start no shingle."""
    sentence = "She put the old boat on the river, and with a new sail went as far north as one can go."
    words = sentence.replace(",", "").replace(".", "").split()
    short = frozenset(word.lower() for word in words if len(word) <= 3)
    starts = [at for at, word in enumerate(words[:-2]) if len(word) <= 3]
    shingles = la.Shingles(k=3, unit="stop", stop_words=short)
    found = shingles.in_order(sentence)
    assert found == [" ".join(words[at : at + 3]) for at in starts]
    assert found[:3] == ["She put the", "put the old", "the old boat"]
    assert found[-1] == "one can go"
    assert len(found) == 13


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in range(1, 6) for k in range(1, n + 1)])
def test_exercise_3_2_3(n, k):
    """At most n - k + 1, and some documents have that many."""
    documents = ["".join(letters) for letters in product("abcde"[:n], repeat=n)]
    assert la.Shingles(k=k).sets(documents).sizes.max() == n - k + 1


# --- exercises of section 3.3 ---


def test_exercise_3_3_1():
    true = [Fraction(0), Fraction(1, 4), Fraction(2, 3), Fraction(0), Fraction(1, 3), Fraction(1, 5)]
    assert fractions(la.measures.jaccard(FIGURE_3_2[i], FIGURE_3_2[j]) for i, j in SIX) == true
    orders = list(permutations("abcde"))
    family = MinHash.from_permutations(orders)
    assert family.hashes == 120
    signatures = family.signatures(FIGURE_3_2)
    agree = [int((signatures[i] == signatures[j]).sum()) for i, j in SIX]
    assert agree == [0, 30, 80, 0, 40, 24]
    assert [Fraction(count, 120) for count in agree] == true
    first = [[next(x for x in order if x in one) for order in orders] for one in FIGURE_3_2]
    assert agree == [sum(a == b for a, b in zip(first[i], first[j], strict=True)) for i, j in SIX]


def test_exercise_3_3_2():
    family = MinHash.from_functions([lambda x: (2 * x + 4) % 5, lambda x: (3 * x - 1) % 5])
    assert family.signatures(FIGURE_3_4).T.tolist() == [[0, 3, 0, 0], [3, 0, 1, 0]]


def test_exercise_3_3_3():
    functions = [lambda x: (2 * x + 1) % 6, lambda x: (3 * x + 2) % 6, lambda x: (5 * x + 2) % 6]
    family = MinHash.from_functions(functions)
    signatures = family.signatures(FIGURE_3_5)
    assert signatures.tolist() == [[5, 2, 0], [1, 2, 1], [1, 2, 4], [1, 2, 0]]
    values = family.signatures([{x} for x in range(6)])
    assert [len({*column}) == 6 for column in values.T.tolist()] == [False, False, True]
    estimates = [family.estimate(signatures[i], signatures[j]) for i, j in SIX]
    assert estimates == [1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3]
    assert [la.measures.jaccard(FIGURE_3_5[i], FIGURE_3_5[j]) for i, j in SIX] == [0, 0, 1 / 4, 0, 1 / 4, 1 / 4]


@pytest.mark.parametrize(("n", "m"), [(3, 2), (4, 2), (5, 2), (5, 3), (5, 4)])
def test_exercise_3_3_4(n, m):
    """Two random subsets have the same minhash as often as the same least element, by symmetry."""
    expected = sum(Fraction(math.comb(n - x, m - 1), math.comb(n, m)) ** 2 for x in range(1, n + 1))
    assert expected == expected_jaccard(n, m)
    subsets = list(combinations(range(n), m))
    one = MinHash.from_functions([lambda x: x]).signatures(subsets)[:, 0]
    assert Fraction(int((one[:, None] == one).sum()), len(subsets) ** 2) == expected
    every = MinHash.from_permutations(list(permutations(range(n)))).signatures(subsets)
    agree = (every[:, None, :] == every).sum()
    assert Fraction(int(agree), len(subsets) ** 2 * math.factorial(n)) == expected


def test_exercise_3_3_6():
    """Rows 11, 01, 00: from the second row on the columns differ; 2 of 3 orders is not 1/2."""
    a, b = {0}, {0, 1}
    cyclic = MinHash.from_permutations([(0, 1, 2), (1, 2, 0), (2, 0, 1)])
    assert cyclic.estimate(*cyclic.signatures([a, b])) == 2 / 3
    every = MinHash.from_permutations(list(permutations(range(3))))
    assert every.estimate(*every.signatures([a, b])) == la.measures.jaccard(a, b) == 1 / 2


@pytest.mark.parametrize("chunks", [1, 2, 3, 5])
def test_exercise_3_3_7(chunks):
    """Each map task has some rows, and sends one signature per column, of these rows only."""
    functions = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5, lambda x: (2 * x + 4) % 5]
    matrix = [(row, [column for column, one in enumerate(FIGURE_3_4) if row in one]) for row in range(5)]
    direct = MinHash.from_functions(functions).signatures(FIGURE_3_4).tolist()
    assert direct == [[1, 0, 0], [3, 2, 3], [0, 0, 0], [1, 0, 0]]
    expected = [(column, tuple(signature)) for column, signature in enumerate(direct)]
    assert mapreduce.run(mapreduce.map_rows(functions), mapreduce.reduce_minima, matrix) == expected
    tasks = [matrix[start::chunks] for start in range(chunks)]
    sent = [
        pair for task in tasks for pair in mapreduce.run(mapreduce.map_rows(functions), mapreduce.reduce_minima, task)
    ]
    assert mapreduce.run(lambda column, signature: [(column, signature)], mapreduce.reduce_minima, sent) == expected


# --- exercises of section 3.4 ---

BANDS = [(3, 10), (6, 20), (5, 50)]  # rows and bands of exercises 3.4.1 and 3.4.2


def test_exercise_3_4_1():
    tables = [
        [".0100", ".0772", ".2394", ".4839", ".7369", ".9123", ".9850", ".9992", "1.0000"],
        [".0000", ".0013", ".0145", ".0788", ".2702", ".6154", ".9182", ".9977", "1.0000"],
        [".0005", ".0159", ".1145", ".4023", ".7956", ".9825", ".9999", "1.0000", "1.0000"],
    ]
    for (r, b), table in zip(BANDS, tables, strict=True):
        curve = la.And(r) >> la.Or(b)
        assert printed([curve(s) for s in tenths(1, 9)], 4) == table
        exact = [1 - (1 - Fraction(s, 10) ** r) ** b for s in range(1, 10)]
        assert [curve(s) for s in tenths(1, 9)] == pytest.approx([float(p) for p in exact], rel=1e-12)


def test_exercise_3_4_2():
    """The curve is 1/2 where s**r = 1 - (1/2)**(1/b); the estimates are all too high."""
    curves = [la.And(r) >> la.Or(b) for r, b in BANDS]
    assert printed([curve.threshold() for curve in curves], 4) == [".4061", ".5694", ".4244"]
    estimates = [(1 / b) ** (1 / r) for r, b in BANDS]
    assert printed(estimates, 4) == [".4642", ".6070", ".4573"]
    for (r, b), curve, estimate in zip(BANDS, curves, estimates, strict=True):
        assert curve.threshold() == pytest.approx((1 - 0.5 ** (1 / b)) ** (1 / r), abs=1e-12)
        assert curve(estimate) == pytest.approx(1 - (1 - 1 / b) ** b)


@pytest.mark.parametrize(("r", "b"), [*BANDS, (10, 1000)])
def test_exercise_3_4_3(r, b):
    """1 - exp(-b s**r), or b s**r if small: exp(-x - x**2) <= 1 - x <= exp(-x), x = s**r < 1/2."""
    curve = la.And(r) >> la.Or(b)
    for x in np.geomspace(1e-12, 0.1, 23):
        found = curve(x ** (1 / r))
        assert -math.expm1(-b * x) <= found * (1 + 1e-12)
        assert found <= -math.expm1(-b * (x + x**2)) * (1 + 1e-12)
        assert b * x * (1 - b * x / 2) * (1 - 1e-12) <= found <= b * x * (1 + 1e-12)


def test_exercise_3_4_4():
    """Columns 0 and 3 agree in both bands, 0 and 2 in the last number only, 1 and 4 in band 2."""
    signatures = [(0, 5, 1, 2), (3, 3, 7, 8), (4, 4, 9, 2), (0, 5, 1, 2), (6, 6, 7, 8)]
    pairs = list(enumerate(signatures))
    buckets = mapreduce.run(mapreduce.map_bands(2), mapreduce.reduce_buckets, pairs)
    assert buckets == [((0, (0, 5)), [0, 3]), ((1, (1, 2)), [0, 3]), ((1, (7, 8)), [1, 4])]
    compare = mapreduce.run(mapreduce.map_pairs, mapreduce.reduce_pairs, buckets)
    assert compare == mapreduce.candidates(pairs, rows=2) == [(0, [3]), (1, [4])]
    direct = pairs_of((la.And(2) >> la.Or(2)).pairs(np.array(signatures)))
    assert {(i, j) for i, others in compare for j in others} == direct


# --- exercises of section 3.5 ---


def test_exercise_3_5_1():
    """The maximum and the sum are not 0 for a number and itself; the difference is a distance."""
    points = range(12)
    assert la.measures.counterexample(max, points) == ("d(x, x) = 0", (1,))
    assert la.measures.counterexample(lambda x, y: x + y, points) == ("d(x, x) = 0", (1,))
    assert la.measures.counterexample(lambda x, y: abs(x - y), points) is None


def test_exercise_3_5_2():
    x, y = (5, 6, 7), (8, 2, 4)
    assert la.measures.manhattan(x, y) == 3 + 4 + 3
    assert la.measures.euclidean(x, y) == pytest.approx(math.sqrt(34), rel=1e-15)


def test_exercise_3_5_4():
    distance = MEASURES["jaccard"].distance
    assert distance({1, 2, 3, 4}, {2, 3, 4, 5}) == pytest.approx(2 / 5, abs=1e-15)
    assert distance({1, 2, 3}, {4, 5, 6}) == 1


@pytest.mark.parametrize(
    ("x", "y", "cosine", "degrees"),
    [
        ((3, -1, 2), (-2, 3, 1), Fraction(-7, 14), 120),
        ((1, 2, 3), (2, 4, 6), 1, 0),
        ((5, 0, -4), (-1, -6, 2), Fraction(-13, 41), 108.4861),
        ((0, 1, 1, 0, 1, 1), (0, 0, 1, 0, 0, 0), Fraction(1, 2), 60),
    ],
)
def test_exercise_3_5_5(x, y, cosine, degrees):
    assert la.measures.cosine_similarity(x, y) == pytest.approx(float(cosine), abs=1e-15)
    assert la.measures.angle(x, y) == pytest.approx(degrees, abs=1e-4)


STRINGS = [("abcdef", "bdaefc"), ("abccdabc", "acbdcab"), ("abcdef", "baedfc")]


def edits(string, alphabet, more):
    """Yield all strings one insertion or deletion away, and if `more`, one replacement or swap."""
    for at in range(len(string) + 1):
        before, after = string[:at], string[at:]
        yield from (before + letter + after for letter in alphabet)
        yield before + after[1:]
        if more and after:
            yield from (before + letter + after[1:] for letter in alphabet)
            yield before + after[1:2] + after[:1] + after[2:]


def fewest_edits(x, y, more):
    """Return the fewest edits, by search from both ends."""
    reached, count = [{x}, {y}], 0
    while not reached[0] & reached[1]:
        side = count % 2
        reached[side] |= {new for old in reached[side] for new in edits(old, set(x + y), more)}
        count += 1
    return count


def test_exercise_3_5_7():
    """Longest common subsequences: bdef; acdab, or others of five; bdf, or others of three."""
    assert [la.measures.edit(*two) for two in STRINGS] == [6 + 6 - 2 * 4, 8 + 7 - 2 * 5, 6 + 6 - 2 * 3] == [4, 5, 6]
    assert [len(la.measures.lcs(*two)) for two in STRINGS] == [4, 5, 3]
    assert [fewest_edits(*two, more=False) for two in STRINGS] == [4, 5, 6]


def test_exercise_3_5_8():
    assert [la.measures.edit(*two, moves="transpositions") for two in STRINGS] == [4, 3, 4]
    assert [fewest_edits(*two, more=True) for two in STRINGS] == [4, 3, 4]


BITS = ["000000", "110011", "010101", "011100"]  # of exercises 3.5.10 and 3.7.1


def test_exercise_3_5_10():
    assert [la.measures.hamming(BITS[i], BITS[j]) for i, j in SIX] == [4, 3, 3, 3, 5, 2]
    assert [bin(int(BITS[i], 2) ^ int(BITS[j], 2)).count("1") for i, j in SIX] == [4, 3, 3, 3, 5, 2]


# --- exercises of section 3.6 ---

CASCADES = [
    la.And(2) >> la.Or(3),
    la.Or(3) >> la.And(2),
    la.And(2) >> la.Or(2) >> la.And(2),
    la.Or(2) >> la.And(2) >> la.Or(2) >> la.And(2),
]


def test_exercise_3_6_1():
    effects = [
        lambda p: 1 - (1 - p**2) ** 3,
        lambda p: (1 - (1 - p) ** 3) ** 2,
        lambda p: (1 - (1 - p**2) ** 2) ** 2,
        lambda p: (1 - (1 - (1 - (1 - p) ** 2) ** 2) ** 2) ** 2,
    ]
    for cascade, effect in zip(CASCADES, effects, strict=True):
        for tenth in range(11):
            assert cascade(tenth / 10) == pytest.approx(float(effect(Fraction(tenth, 10))), rel=1e-12)
    assert [cascade.functions for cascade in CASCADES] == [6, 6, 8, 16]


def test_exercise_3_6_2():
    """Besides 0 and 1, the fixed points are the roots of four equations.

    These are (1 - p)**2 (1 + p)**3 = 1, p (3 - 3 p + p**2)**2 = 1, p**3 (2 - p**2)**2 = 1 and p**2
    - 3 p + 1 = 0.
    """
    roots = [
        lambda p: 1 - (1 - p) ** 2 * (1 + p) ** 3,
        lambda p: p * (3 - 3 * p + p**2) ** 2 - 1,
        lambda p: p**3 * (2 - p**2) ** 2 - 1,
        lambda p: 3 * p - p**2 - 1,
    ]
    found = [cascade.fixed_points() for cascade in CASCADES]
    assert [len(points) for points in found] == [1, 1, 1, 1]
    assert printed([point for (point,) in found], 6) == [".389391", ".151625", ".847445", ".381966"]
    for (point,), below in zip(found, roots, strict=True):
        assert below(Fraction(point) - Fraction(1, 10**9)) < 0 < below(Fraction(point) + Fraction(1, 10**9))


def test_exercise_3_6_3():
    """At p**4 = 1/5 the slope is 16 p**3 (1 - p**4)**3; the other curve is its mirror image."""
    where, slope = (la.And(4) >> la.Or(4)).steepest()
    assert where == pytest.approx(0.2**0.25, abs=1e-6)
    assert slope == pytest.approx(16 * 0.2**0.75 * 0.8**3)
    where_too, slope_too = (la.Or(4) >> la.And(4)).steepest()
    assert where_too == pytest.approx(1 - 0.2**0.25, abs=1e-6)
    assert slope_too == pytest.approx(slope)
    assert printed([where, where_too, slope / 10], 4) == [".6687", ".3313", ".2450"]


@pytest.mark.parametrize(("r", "b"), [(r, b) for r in range(1, 8) for b in range(1, 8) if r * b > 1])
def test_exercise_3_6_4(r, b):
    """The slope is greatest where the second derivative is 0, and no numeric slope is greater.

    AND, then OR: the slope b r p**(r-1) (1 - p**r)**(b-1) is greatest at p**r = (r - 1) / (b r -
    1). OR, then AND: the same for 1 - p, with r and b exchanged.
    """

    def closed(r, b):
        x = (r - 1) / (b * r - 1)
        return x ** (1 / r), b * r * x ** ((r - 1) / r) * (1 - x) ** (b - 1)

    p = np.linspace(0, 1, 20_001)
    where, slope = (la.And(r) >> la.Or(b)).steepest()
    assert (where, slope) == pytest.approx(closed(r, b), abs=1e-6)
    assert np.diff(1 - (1 - p**r) ** b).max() * 20_000 == pytest.approx(slope, rel=1e-3)
    assert (la.And(r) >> la.Or(b)).slope(where) == pytest.approx(slope)
    where, slope = (la.Or(b) >> la.And(r)).steepest()
    turned, expected = closed(b, r)
    assert (where, slope) == pytest.approx((1 - turned, expected), abs=1e-6)
    assert np.diff((1 - (1 - p) ** b) ** r).max() * 20_000 == pytest.approx(slope, rel=1e-3)


# --- exercises of section 3.7 ---


def test_exercise_3_7_1():
    signatures = BitSampling(6).signatures(BITS)
    found = {(i, j): (np.flatnonzero(signatures[i] == signatures[j]) + 1).tolist() for i, j in SIX}
    assert found == {
        (0, 1): [3, 4],
        (0, 2): [1, 3, 5],
        (0, 3): [1, 5, 6],
        (1, 2): [2, 3, 6],
        (1, 3): [2],
        (2, 3): [1, 2, 4, 5],
    }
    for at in range(6):
        pairs = pairs_of(la.Or(1).candidates(BitSampling.from_positions([at], dimensions=6), BITS))
        assert pairs == {pair for pair, functions in found.items() if at + 1 in functions}


VECTORS = [[2, 3, 4, 5], [-2, 3, -4, 5], [2, -3, 4, -5]]  # of exercises 3.7.2 and 3.7.3
ANGLES = [math.degrees(math.acos(14 / 54)), math.degrees(math.acos(-14 / 54)), 180]


def test_exercise_3_7_2():
    family = Hyperplanes.from_vectors([[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]])
    signatures = family.signatures(VECTORS)
    assert signatures.tolist() == [[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]]
    pairs = list(combinations(range(3), 2))
    assert [family.estimate(signatures[i], signatures[j]) for i, j in pairs] == [90, 90, 180]
    assert [la.measures.angle(VECTORS[i], VECTORS[j]) for i, j in pairs] == pytest.approx(ANGLES)
    assert printed(ANGLES, 1) == ["75.0", "105.0", "180.0"]


def test_exercise_3_7_3():
    """Two of 16 dot products are 0 for each vector, as 2 + 5 = 3 + 4, and count as positive.

    So the opposite vectors agree there, and their estimate is 157.5.
    """
    every = list(product((1, -1), repeat=4))
    family = Hyperplanes.from_vectors(every)
    signatures = family.signatures(VECTORS)
    dots = [[sum(i * j for i, j in zip(one, v, strict=True)) for v in every] for one in VECTORS]
    assert [row.count(0) for row in dots] == [2, 2, 2]
    assert signatures.tolist() == [[int(dot >= 0) for dot in row] for row in dots]
    apart = [int((signatures[i] != signatures[j]).sum()) for i, j in combinations(range(3), 2)]
    assert apart == [6, 10, 14]
    estimates = [family.estimate(signatures[i], signatures[j]) for i, j in combinations(range(3), 2)]
    assert estimates == pytest.approx([67.5, 112.5, 157.5])
    assert [abs(a - b) < 23 for a, b in zip(estimates, ANGLES, strict=True)] == [True, True, True]


AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
POINTS = [(1, 2, 3), (0, 2, 4), (4, 3, 2)]


def test_exercise_3_7_5():
    one, two = (RandomLines.from_lines(AXES, width=width) for width in (1, 2))
    assert one.signatures(POINTS).tolist() == [[1, 2, 3], [0, 2, 4], [4, 3, 2]]
    assert two.signatures(POINTS).tolist() == [[0, 1, 1], [0, 1, 2], [2, 1, 1]]
    assert pairs_of(la.Or(3).candidates(one, POINTS)) == {(0, 1)}
    assert pairs_of(la.Or(3).candidates(two, POINTS)) == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.parametrize("eighths", [1, 2, 6, 8, 10, 11, 12, 13, 14, 16, 17, 20, 24, 25, 28, 32, 33, 40, 800])
def test_exercise_3_7_5d(eighths):
    """p1 and p2 have equal second coordinates and always meet; p3 if 2 and 3 share a bucket.

    That is so for 3/2 < a <= 2 and for a > 3; 1 and 4, 0 and 4, or 2 and 4 share one only for a >
    4.
    """
    a = Fraction(eighths, 8)
    buckets = [[x // a for x in point] for point in POINTS]
    meets = {
        (i, j) for i, j in combinations(range(3), 2) if any(x == y for x, y in zip(buckets[i], buckets[j], strict=True))
    }
    within = Fraction(3, 2) < a <= 2 or a > 3
    assert meets == ({(0, 1), (0, 2), (1, 2)} if within else {(0, 1)})
    assert pairs_of(la.Or(3).candidates(RandomLines.from_lines(AXES, width=float(a)), POINTS)) == meets


# --- exercises of section 3.8 ---


def test_exercise_3_8_1():
    """Two random years out of ten are 3.3 years apart on average."""
    random = Fraction(sum(abs(i - j) for i in range(10) for j in range(10)), 100)
    assert random == Fraction(33, 10)
    expected = (random - 2) / (random - Fraction(1, 10))
    assert expected == Fraction(13, 32)
    assert la.entities.match_fraction(2, perfect=0.1, random=float(random)) == pytest.approx(float(expected))


def rates(cascade, squares=3):
    """Return the rates of false positives and false negatives of a cascade of grid squares."""
    *_, same, other = GridSquares(squares=squares, density=0.2).sensitivity(SAME, OTHER)
    return cascade(other), 1 - cascade(same)


def test_exercise_3_8_2():
    """The OR of 2048 misses almost nothing and compares 12%; the AND of two ORs: 3% and 0.4%."""
    any_of = rates(la.Or(2048))
    assert any_of == pytest.approx((float(1 - (1 - MISMATCH) ** 2048), float((1 - MATCH) ** 2048)))
    assert printed(any_of, 4) == [".1228", ".0002"]
    both = rates(la.Or(1024) >> la.And(2))
    same, other = (1 - (1 - p) ** 1024 for p in (MATCH, MISMATCH))
    assert both == pytest.approx((float(other**2), float(1 - same**2)))
    assert printed(both, 4) == [".0040", ".0297"]


@pytest.mark.parametrize("n", [1, 10, 100, 150, 1000])
def test_exercise_3_8_3(n):
    """1 - (1 - 0.0016)**n and (1 - 0.0256)**n."""
    match, mismatch = Fraction(256, 10**4), Fraction(16, 10**4)
    expected = float(1 - (1 - mismatch) ** n), float((1 - match) ** n)
    assert rates(la.Or(n), squares=2) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.slow
def test_exercise_3_8_4():
    """As in the many-one problem, 6.3% are compared in vain and 1.5% missed; simulated, too."""
    expected = float(1 - (1 - MISMATCH) ** 1024), float((1 - MATCH) ** 1024)
    assert rates(la.Or(1024)) == pytest.approx(expected)
    assert printed(expected, 4) == [".0634", ".0150"]
    rng = np.random.default_rng(1)
    fingers, cells = 150, 4000
    first = rng.random((fingers, cells)) < 0.2
    kept = rng.random((fingers, cells)) < 0.8
    new = rng.random((fingers, cells)) < 0.2 * 0.2 / 0.8  # keeps the density of the second print
    prints = np.concatenate((first, np.where(first, kept, new)))
    pairs = pairs_of(la.Or(1024).candidates(GridSquares(cells=cells, hashes=1024), prints))
    found = sum((finger, finger + fingers) in pairs for finger in range(fingers))
    assert 1 - found / fingers == pytest.approx(expected[1], abs=0.04)
    others = math.comb(2 * fingers, 2) - fingers
    assert (len(pairs) - found) / others == pytest.approx(expected[0], abs=0.015)


def test_exercise_3_8_5():
    """The sum falls while q (1 - q)**n < p (1 - p)**n (p: one finger, q: two), up to n = 1030."""
    p, q = MATCH, MISMATCH
    assert q * (1 - q) ** 1029 < p * (1 - p) ** 1029
    assert q * (1 - q) ** 1030 > p * (1 - p) ** 1030
    assert math.ceil(math.log(p / q) / (math.log1p(-q) - math.log1p(-p))) == 1030
    sums = [sum(rates(la.Or(n))) for n in range(1, 3001)]
    assert 1 + int(np.argmin(sums)) == 1030
    assert printed([min(sums)], 4) == [".0784"]


# --- exercises of section 3.9 ---


def test_exercise_3_9_1():
    order = "aeiou" + "zyxwvtsrqpnmlkjhgfdcb"
    assert sorted(order) == list("abcdefghijklmnopqrstuvwxyz")
    assert "".join(la.exact.as_string(set("qwerty"), order=order)) == "eywtrq"
    assert "".join(la.exact.as_string(set("asdfghjui"), order=order)) == "aiusjhgfd"


def test_exercise_3_9_2():
    lengths = [(la.exact.shortest(20, J), la.exact.longest(20, J)) for J in (0.85, 0.95, 0.98)]
    assert lengths == [(17, 23), (19, 21), (20, 20)]


def test_exercise_3_9_3():
    """Four symbols if 3 <= 15 (1 - J) < 4, that is 11/15 < J <= 4/5."""
    assert (la.exact.prefix(15, 0.85), la.exact.prefix(15, 0.95)) == (3, 1)
    for J in [Fraction(n, 1000) for n in range(600, 1001)] + [Fraction(11, 15), Fraction(12, 15)]:
        assert (la.exact.prefix(15, J) == 4) == (Fraction(11, 15) < J <= Fraction(4, 5))


def test_exercise_3_9_4():
    """12 - i + 1 are shared, of 12 + j - 1: for J = 3/4 up to j = 5, 3, 2 and 1."""
    assert la.exact.probes(12, 0.75) == [
        *((1, j) for j in (1, 2, 3, 4, 5)),
        *((2, j) for j in (1, 2, 3)),
        *((3, j) for j in (1, 2)),
        (4, 1),
    ]
    assert la.exact.probes(12, 0.95) == [(1, 1)]


def compared(s, t, J):
    """Return whether s as a probe finds t in an index of symbols and positions."""
    index = {(symbol, place) for place, symbol in enumerate(t[: la.exact.prefix(len(t), J)], 1)}
    return any((s[i - 1], j) in index for i, j in la.exact.probes(len(s), J))


def chance_of_first(n, length):
    """Return the probability that two random strings of n symbols begin with the same one."""
    return sum(Fraction(math.comb(n - x, length - 1), math.comb(n, length)) ** 2 for x in range(1, n + 1))


def chance_of_first_or_second(n, length):
    """Add the probability that one's first symbol is the other's second; the cases are disjoint."""
    crossed = (math.comb(n - x, length - 1) * (x - 1) * math.comb(n - x, length - 2) for x in range(1, n + 1))
    return chance_of_first(n, length) + 2 * Fraction(sum(crossed), math.comb(n, length) ** 2)


def test_exercise_3_9_5():
    """Strings of length 9 are compared if their first symbols agree: as often as the similarity.

    Strings of length 10 have two symbols in the index. If both second ones agreed, 9 of 11 would be
    left, which is not looked up.
    """
    assert chance_of_first(100, 9) == expected_jaccard(100, 9) == Fraction(741896347369, 14946107066000)
    assert chance_of_first_or_second(100, 10) == Fraction(219484767077067, 2044874382310760)
    assert printed([float(chance_of_first(100, 9)), float(chance_of_first_or_second(100, 10))], 4) == [".0496", ".1073"]
    for length, chance in ((9, chance_of_first), (10, chance_of_first_or_second)):
        for n in (length, length + 1, length + 2):
            strings = [la.exact.as_string(one) for one in combinations(range(n), length)]
            found = sum(compared(s, t, 0.9) for s, t in product(strings, repeat=2))
            assert Fraction(found, len(strings) ** 2) == chance(n, length)


def test_exercise_3_9_5_simulated():
    rng = np.random.default_rng(1)
    for length, p in ((9, float(chance_of_first(100, 9))), (10, float(chance_of_first_or_second(100, 10)))):
        draws = np.sort([rng.choice(100, length, replace=False) for _ in range(4000)], axis=1).tolist()
        found = sum(compared(s, t, 0.9) for s, t in zip(draws[::2], draws[1::2], strict=True))
        assert abs(found / 2000 - p) < 4 * (p * (1 - p) / 2000) ** 0.5


@pytest.mark.parametrize(
    ("J", "last"),
    [
        (
            0.8,
            {
                1: {15: 1, 16: 2, 17: 3, 18: 4, 19: 6, 20: 5, 21: 4, 22: 3, 23: 2, 24: 1},
                2: {15: 1, 16: 2, 17: 3, 18: 4, 19: 3, 20: 2, 21: 1},
                3: {15: 1, 16: 2, 17: 3, 18: 2, 19: 1},
                4: {15: 1, 16: 2, 17: 1},
                5: {15: 1},
            },
        ),
        (0.9, {1: {17: 1, 18: 2, 19: 3, 20: 2, 21: 1}, 2: {17: 1, 18: 2, 19: 1}, 3: {17: 1}}),
    ],
)
def test_exercise_3_9_6(J, last):
    """The last position j per i and suffix length q, and the triples that the bounds allow."""
    found = la.exact.probes(20, J, by="length")
    listed = [(i, j, q) for i, ends in last.items() for q, end in ends.items() for j in range(1, end + 1)]
    assert found == listed
    least = Fraction(str(J))
    allowed = {
        (i, j, q)
        for i, j, q in product(range(1, 21), range(1, 31), range(31))
        if (Fraction(q + 1, 20 + j - 1) if 20 - i >= q else Fraction(20 - i + 1, i + j - 1 + q)) >= least
    }
    assert set(found) == allowed
