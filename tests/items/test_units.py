"""Check the units of texts, their hashes and their places in the text as it was given."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import Shingles
from lookalike.items.units import behaviours, unit_hashes, units_of
from lookalike.kernels.units import ALTERED, JOINS, PLAIN
from tests import reference as ref
from tests.unit_samples import PIECES, WHITE, mixed, twin_units

common = {"lowercase": st.booleans(), "form": st.sampled_from(["nfc", "nfkc", "none"])}
settings = st.one_of(
    st.builds(Shingles, unit=st.just("char"), space=st.sampled_from(["collapse", "keep", "remove"]), **common),
    st.builds(Shingles, unit=st.just("word"), punctuation=st.sampled_from(["drop", "keep"]), **common),
)


def array(texts):
    """Return texts in the middle of a larger Arrow array."""
    return pa.array(["\u4e00b\u0301 c", *texts, "d"], pa.large_string()).slice(1, len(texts))


def in_rows(found):
    """Return (hash, start, stop) of the units of each text."""
    rows = list(zip(found.hashes.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True))
    return [rows[start:stop] for start, stop in pairwise(found.indptr.tolist())]


def test_places_refer_to_the_text_as_given():
    texts = ["To  BE,\r\nor", "cafe\u0301 \u0130X", "\ufb01t", "", "\u05e9\u05dc\u05d5\u05dd \u4e00\u4e8c"]
    shown = []
    for rows, text in zip(
        in_rows(units_of(array(texts), Shingles(1, "word", lowercase=True), True)), texts, strict=True
    ):
        shown.append([text[start:stop] for _, start, stop in rows])
    assert shown == [
        ["To", "BE", "or"],
        ["cafe\u0301", "\u0130X"],
        ["\ufb01t"],
        [],
        ["\u05e9\u05dc\u05d5\u05dd", "\u4e00", "\u4e8c"],
    ]


def test_encodings_of_one_text_have_the_same_hashes():
    texts = ["Caf\u00e9  au lait", "cafe\u0301 AU\r\nlait"]
    for spec in ("word:1", "char:1"):
        one, two = in_rows(units_of(array(texts), Shingles.parse(spec, lowercase=True)))
        assert [unit[0] for unit in one] == [unit[0] for unit in two]


@given(settings, st.lists(st.lists(st.sampled_from(PIECES), max_size=20), max_size=4))
def test_units_are_those_of_the_plain_twin(shingles, pieces):
    texts = ["".join(one) for one in pieces]
    hashes = (lambda unit: ref.hash_character(unit)) if shingles.unit == "char" else ref.hash_word
    expected = [[(hashes(unit), start, stop) for unit, start, stop in twin_units(one, shingles)] for one in pieces]
    found = in_rows(units_of(array(texts), shingles, characters=True))
    assert [[unit[0] for unit in row] for row in found] == [[unit[0] for unit in row] for row in expected]
    assert [[unit[1:] for unit in row] for row in found] == [[unit[1:] for unit in row] for row in expected]


@given(settings, st.lists(mixed, max_size=4))
def test_places_in_any_text(shingles, texts):
    """They are in order, within the text, and never inside a character; the hashes are those of the prepared text."""
    given = array(texts)
    units = units_of(given, shingles)
    places = units_of(given, shingles, characters=True)
    indptr, hashes = unit_hashes(given, shingles)
    assert np.array_equal(indptr, units.indptr)
    assert np.array_equal(hashes, units.hashes)
    for row, same, text in zip(in_rows(units), in_rows(places), texts, strict=True):
        content = text.encode()
        for (_, start, stop), (_, first, last) in zip(row, same, strict=True):
            assert content[start:stop].decode() == text[first:last] != ""
        for one, two in pairwise(row):
            assert one[1:] <= two[1:]
        if shingles.unit == "char" and shingles.space == "keep" and row:
            assert (row[0][1], row[-1][2]) == (0, len(content))
        clean = shingles.prepare(array([text]))[0].as_py()
        if shingles.unit == "char":
            assert [unit[0] for unit in row] == [ref.hash_character(c) for c in ref.characters(clean, shingles.space)]
        else:
            assert [unit[0] for unit in row] == [
                ref.hash_word(w) for w in ref.words(clean, shingles.punctuation == "keep")
            ]


@pytest.mark.parametrize("form", ["nfc", "nfkc", "none"])
def test_plain_characters_stand_for_themselves(form):
    """Each is one character when it is prepared; newer characters than the table knows can join others."""
    behaviour = behaviours(form)
    codes = [code for code in np.flatnonzero(behaviour == PLAIN).tolist() if not 0xD800 <= code < 0xE000]
    text = "\n".join(map(chr, codes))
    for lowercase in (False, True):
        clean = Shingles(form=form, lowercase=lowercase).prepare(array([text]))[0].as_py()
        assert len(clean) == 2 * len(codes) - 1
    if form != "none":
        assert behaviour[0x301] == JOINS
        assert behaviour[0x958] == ALTERED
    assert all(chr(code) in WHITE or behaviour[code] == PLAIN for code in range(128))
