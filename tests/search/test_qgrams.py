"""Check pairs of strings within some edits against brute force, for every way to find them."""

import random
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs
from lookalike.core.run import Run
from lookalike.items.sides import ALONE, Sides
from lookalike.measures.rows import MOVES, edit
from lookalike.search import qgrams as strings
from lookalike.search.qgrams import edit_pairs
from tests import reference as ref

ALPHABETS = ("ab", "abc", "aé\U0001f600", "ab cdefgh", "\U00010000\U00010001\U0010ffff\0")

moves = st.sampled_from(sorted(MOVES))
seeds = st.integers(0, 2**32).map(random.Random)
splits = st.one_of(st.none(), st.integers(0, 12))


def joined(texts, edits, moves, split=None, threads=1):
    """Return {(i, j): distance}, and how many pairs were compared."""
    across = Sides(split)
    *found, compared = edit_pairs(texts, edits, moves, across, 10**9, Run(threads))
    assert all(column.dtype == np.int64 for column in found)
    left, right, distance = (column.tolist() for column in found)
    pairs = dict(zip(zip(left, right, strict=True), distance, strict=True))
    assert len(pairs) == len(left)
    return pairs, compared


def near(texts, edits, moves, split=None):
    """Return the same by comparing all pairs, except those whose lengths differ too much."""
    pairs = [(i, j) for i, j in combinations(range(len(texts)), 2) if split is None or i < split <= j]
    close = [(i, j) for i, j in pairs if abs(len(texts[i]) - len(texts[j])) <= edits]
    found = {(i, j): ref.edit(texts[i], texts[j], moves) for i, j in close}
    return {pair: distance for pair, distance in found.items() if distance <= edits}


def drawn_texts(rng, most, least, longest):
    """Draw strings of few letters, and strings some edits away from one of them."""
    letters = rng.choice(ALPHABETS)
    texts = ["".join(rng.choices(letters, k=rng.randint(least, longest))) for _ in range(rng.randint(0, most))]
    for _ in range(len(texts)):
        texts.append(changed(rng, rng.choice(texts), rng.randrange(6), letters))
    rng.shuffle(texts)
    return texts


def changed(rng, text, edits, letters):
    """Return a string at most `edits` edits of any kind away."""
    for _ in range(edits):
        at, letter = rng.randrange(len(text) + 1), rng.choice(letters)
        ways = (text[at + 1 :], letter + text[at:], letter + text[at + 1 :], text[at + 1 : at + 2] + text[at : at + 1])
        text = text[:at] + rng.choice((*ways[:3], ways[3] + text[at + 2 :]))
    return text


# --- against brute force ---


@pytest.mark.slow
@settings(max_examples=1200)
@given(seeds, st.integers(0, 4), moves, splits)
def test_short_strings_are_brute_force(rng, edits, moves, split):
    texts = drawn_texts(rng, 6, 0, 12)
    assert joined(texts, edits, moves, split)[0] == near(texts, edits, moves, split)


@pytest.mark.slow
@settings(max_examples=400)
@given(seeds, st.integers(0, 4), moves, splits)
def test_strings_about_as_long_as_the_ways_part_are_brute_force(rng, edits, moves, split):
    """The longer of a pair has just enough characters to be found by 3-grams, or one too few."""
    lost = edits * (4 if moves == "transpositions" else 3)
    texts = drawn_texts(rng, 5, max(0, lost + 3 - edits), lost + 8)
    assert joined(texts, edits, moves, split)[0] == near(texts, edits, moves, split)


@pytest.mark.slow
@settings(max_examples=100)
@given(seeds, st.integers(0, 4), moves, splits)
def test_long_strings_are_brute_force(rng, edits, moves, split):
    """Strings longer than the 64 characters that are compared at once, among short ones."""
    texts = drawn_texts(rng, 3, 60, 70) + drawn_texts(rng, 3, 0, 12)
    assert joined(texts, edits, moves, split)[0] == near(texts, edits, moves, split)


@pytest.mark.slow
@pytest.mark.parametrize("moves", sorted(MOVES))
@pytest.mark.parametrize("edits", range(5))
def test_all_strings_of_two_letters(edits, moves):
    """All pairs of up to five characters, including identical strings."""
    texts = ["".join(letters) for n in range(6) for letters in product("ab", repeat=n)]
    texts += texts[:10]
    assert joined(texts, edits, moves)[0] == near(texts, edits, moves)


@pytest.mark.parametrize("edits", [1, 2, 3])
@pytest.mark.parametrize(("moves", "lost"), [("indel", 3), ("levenshtein", 3), ("transpositions", 4)])
def test_edits_that_take_away_all_the_grams_they_can(edits, moves, lost):
    """The edits are far apart, so each removes its own grams: strings share only what they must."""
    for length in range(1, (edits + 1) * (lost + 1) + 4):
        text = "".join(chr(ord("A") + i) for i in range(length))
        places = range(2, length - 1, lost)[:edits]
        other = list(text)
        for at in reversed(places):
            if moves == "transpositions":
                other[at], other[at + 1] = other[at + 1], other[at]
            elif moves == "levenshtein":
                other[at] = "_"
            else:
                del other[at]
        found, _ = joined([text, "".join(other)], edits, moves)
        assert found == {(0, 1): len(places)}


# --- each way to find pairs ---


def ways_of(texts, edits, moves="levenshtein"):
    """Return the candidates of each way, as lists of pairs."""
    found = []
    for chunks, count, compared in strings.candidates(texts, edits, moves, ALONE, Run(1)):
        pairs = [pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert len(pairs) == count <= compared
        found.append(sorted(pairs))
    return found


def test_the_longer_string_decides_which_way_finds_a_pair():
    """With one edit: 3-grams from 8 characters on, characters from 2 to 7, brute force up to 1."""
    assert ways_of(["abcdefgh", "abcdefg"], 1) == [[(0, 1)], [], []]
    assert ways_of(["abcdefg", "abcdef"], 1) == [[(0, 1)], []]
    assert ways_of(["ab", "b"], 1) == [[(0, 1)], []]
    assert ways_of(["a", "b"], 1) == [[(0, 1)]]
    assert ways_of(["a", ""], 1) == [[(0, 1)]]
    assert ways_of(["abcdefgh", "abcdefg", "abcdef", "ab", "b", "a", ""], 1) == [
        [(0, 1)],
        [(1, 2), (3, 4), (3, 5)],
        [(4, 5), (4, 6), (5, 6)],
    ]


def test_the_ways_part_later_if_neighbours_may_be_swapped():
    assert ways_of(["abcdefghi", "abcdefghj"], 1, "transpositions")[0] == [(0, 1)]
    assert ways_of(["abcdefgh", "abcdefgj"], 1, "transpositions") == [[(0, 1)], []]


def test_the_empty_string():
    texts = ["", "a", "ab", "abc", "", "x" * 30]
    assert joined(texts, 0, "indel")[0] == {(0, 4): 0}
    assert joined(texts, 1, "indel")[0] == {(0, 1): 1, (0, 4): 0, (1, 2): 1, (1, 4): 1, (2, 3): 1}
    assert joined(texts, 3, "levenshtein")[0] == near(texts, 3, "levenshtein")


def test_no_edits_leave_identical_strings():
    texts = ["long enough for grams", "short", "", "long enough for grams", "short", "shirt", "ab", "ab", "ba"]
    assert joined(texts, 0, "transpositions")[0] == {(0, 3): 0, (1, 4): 0, (6, 7): 0}


@pytest.mark.parametrize("moves", sorted(MOVES))
def test_few_strings(moves):
    for texts in ([], [""], ["a"], ["a longer one"]):
        assert joined(texts, 2, moves) == ({}, 0)
        assert joined(texts, 2, moves, split=0) == joined(texts, 2, moves, split=1) == ({}, 0)


def test_more_edits_than_characters():
    texts = ["one", "two", "three", ""]
    assert joined(texts, 1000, "levenshtein")[0] == near(texts, 1000, "levenshtein")


def test_white_space_and_normal_forms_count():
    """Strings are compared as they are; a combining mark is a character that can be swapped."""
    texts = [
        "José María de la Cruz",
        "Jose\u0301 María de la Cruz",
        "José  María de la Cruz",
        " José María de la Cruz\n",
    ]
    assert joined(texts, 2, "levenshtein")[0] == near(texts, 2, "levenshtein")
    assert len(joined(texts, 0, "levenshtein")[0]) == 0
    assert joined(["ea\u0301", "e\u0301a"], 1, "transpositions")[0] == {(0, 1): 1}


def test_strings_must_be_valid_unicode():
    with pytest.raises(DataError, match="valid Unicode"):
        joined(["a \ud800 surrogate", "a \ud801 surrogate"], 1, "indel")


# --- many strings ---


def people(count):
    """Return names of a few letters, with typos."""
    rng = random.Random(5)
    parts = ["".join(rng.choices("aeinrst", k=rng.randint(1, 6))) for _ in range(150)]
    names = [f"{rng.choice(parts)} {rng.choice(parts)}" for _ in range(count)]
    return [changed(rng, name, rng.randrange(3), "aeinrst") for name in names]


@pytest.mark.parametrize(("edits", "moves"), [(1, "transpositions"), (2, "levenshtein"), (3, "indel")])
def test_no_result_depends_on_threads_or_chunks(edits, moves, monkeypatch):
    names = people(1000)
    one = edit_pairs(names, edits, moves, ALONE, 10**9, Run(1))
    monkeypatch.setattr(strings, "CHUNK", 100)
    three = edit_pairs(names, edits, moves, ALONE, 10**9, Run(3))
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("edits", "moves"), [(1, "transpositions"), (2, "levenshtein"), (3, "indel")])
def test_many_strings(edits, moves):
    """No pair of a thousand names is missed, and most pairs are never compared."""
    names = people(1000)
    left, right = np.triu_indices(len(names), 1)
    distances = edit(names, left, right, moves)
    close = distances <= edits
    pairs = zip(left[close].tolist(), right[close].tolist(), strict=True)
    found, compared = joined(names, edits, moves)
    assert found == dict(zip(pairs, distances[close].tolist(), strict=True))
    assert 300 < len(found) < compared < len(left) / 2


def test_pairs_across_a_split():
    names = people(400)
    found, _ = joined(names, 2, "levenshtein")
    for split in (0, 1, 150, 400, 1000):
        across = {(i, j): distance for (i, j), distance in found.items() if i < split <= j}
        assert joined(names, 2, "levenshtein", split)[0] == across


@pytest.mark.parametrize("text", ["a long string of many grams", "short", ""])
def test_too_many_pairs(text):
    texts = [text] * 10
    assert len(edit_pairs(texts, 0, "indel", ALONE, 45, Run(1))[0]) == 45
    with pytest.raises(TooManyPairs, match="at least 45 similar pairs, more than max_pairs = 44"):
        edit_pairs(texts, 0, "indel", ALONE, 44, Run(1))


def test_the_limit_is_of_answers_not_of_candidates():
    """Anagrams share all their characters, but are far from each other."""
    texts = ["abcdef", "fedcba", "defabc", "bafedc"]
    found, compared = joined(texts, 2, "levenshtein")
    assert found == {}
    assert compared == 6
    assert len(edit_pairs(texts, 2, "levenshtein", ALONE, 0, Run(1))[0]) == 0


def test_the_limit_is_of_all_ways_together():
    texts = ["a long string of many grams"] * 3 + ["short"] * 3 + [""] * 3
    with pytest.raises(TooManyPairs, match="at least 9 similar pairs, more than max_pairs = 8"):
        edit_pairs(texts, 0, "indel", ALONE, 8, Run(1))


def test_stages_are_timed():
    run = Run(1)
    edit_pairs(["a long string of many grams"] * 3, 1, "indel", ALONE, 10, run)
    assert set(run.seconds) == {"index prefixes", "compare", "edit distances"}


SINGLE = Run(1)


def found(pairs):
    return {(left, right): value for left, right, value in pairs}


# --- measures ---


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "moves"), [("edit", "indel"), ("levenshtein", "levenshtein")])
@settings(max_examples=60)
@given(seeds, st.integers(0, 3))
def test_pairs_of_texts_by_edit_distance(measure, moves, rng, edits):
    """The distance of an empty text is the length of the other text."""
    texts = ["".join(rng.choices("ab", k=rng.randrange(9))) for _ in range(12)]
    pairs = la.find_pairs(texts, measure=measure, threshold=edits, run=SINGLE)
    distances = {(i, j): ref.edit(texts[i], texts[j], moves) for i, j in combinations(range(12), 2)}
    assert found(pairs) == {pair: d for pair, d in distances.items() if d <= edits}
    assert pairs.to_arrow().schema.names == ["left", "right", "distance"]
    assert pairs.distance.tolist() == list(found(pairs).values())


def test_edits_of_texts_in_one_case_and_normal_form():
    texts = ["Jane Doe", "jane doe", "caf\u00e9 x", "cafe\u0301 x"]
    assert found(la.find_pairs(texts, measure="edit", threshold=0, run=SINGLE)) == {(2, 3): 0}
    lower = la.Shingles(lowercase=True)
    assert found(la.find_pairs(texts, measure="edit", threshold="0", shingles=lower, run=SINGLE)) == {
        (0, 1): 0,
        (2, 3): 0,
    }


# --- groups ---


def test_dedup_by_edit_distance():
    result = la.dedup(["Jon Smith", "John Smith", "Jane Doe", "Jon Smith"], measure="edit", threshold=2, run=SINGLE)
    assert result.keep.tolist() == [True, False, True, False]
    assert result.to_arrow().to_pydict() == {"id": [1, 3], "kept": [0, 0], "distance": [1, 0]}
    assert result.distance.tolist() == [0, 1, 0, 0]
