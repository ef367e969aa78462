"""Values written many at a time are the same as those written one by one."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.run import Run
from lookalike.entities import usual
from lookalike.entities.nicknames import formal_name, full_address, plain_name
from lookalike.entities.texts import email, plain_text
from lookalike.entities.values import fold, phone

WORDS = [
    "Ann",
    "o'brien",
    "Smith",
    "Dr",
    "st",
    "ST",
    "Jr",
    "ph",
    "d",
    "P",
    "O",
    "box",
    "12",
    "bill",
    "Ave",
    "&",
    "é",
    "(1959)",
]
WORDS += ["(I)", "(tv)", "The", "l'", "@", "x.org", "(2005/II)", "("]
texts = st.lists(
    st.sampled_from([*WORDS, ",", ", ", " ", "  ", "-", ".", "`", "\n", "\t", "\x1f", "\u00a0", "\u0660"]), max_size=8
).map("".join)
spaced = st.lists(st.sampled_from([*WORDS, "12", "james", "street"]), max_size=6).map(" ".join)
numbers = st.from_regex(r"(\+1 )?\(?[0-9]{3}\)?[-. ]?[0-9]{3}[-. ]?[0-9]{4}( x7)?\n?", fullmatch=True)


@pytest.mark.parametrize(
    ("many", "one"),
    [
        (usual.fold_all, fold),
        (usual.plain_names, plain_name),
        (usual.plain_texts, plain_text),
        (usual.emails, email),
        (usual.formal_names, formal_name),
        (usual.full_addresses, full_address),
        (lambda values: usual.phones(values, ""), lambda value: phone(value, "")),
        (lambda values: usual.phones(values, "44"), lambda value: phone(value, "44")),
    ],
)
@given(values=st.lists(texts | spaced | spaced.map(fold) | numbers | st.text(max_size=12), max_size=12))
def test_many_values_are_written_like_each_of_them(many, one, values):
    """Whether a value is usual or not: titles, commas, abbreviations, other scripts, white space."""
    assert many(pa.array(values, pa.large_string())).to_pylist() == [one(value) for value in values]


def test_usual_values_are_not_written_one_by_one(monkeypatch):
    """These are nearly all values of most tables; one by one would take the time of all threads."""

    def fail(*_):
        raise AssertionError

    for name in ("fold", "plain_name", "plain_text", "formal_name", "full_address", "phone"):
        monkeypatch.setattr(usual, name, fail)
    values = pa.array(["Ann O'Brien-Lee", "Olson, Gregory", "972 Park Ave., Springfield"], pa.large_string())
    folded = usual.fold_all(values)
    assert folded.to_pylist() == ["ann obrien lee", "olson gregory", "972 park ave springfield"]
    assert usual.plain_texts(values).equals(folded)
    assert usual.plain_names(values).to_pylist()[:2] == ["ann obrien lee", "gregory olson"]
    assert usual.formal_names(folded).to_pylist()[1] == "olson gregory"
    assert usual.full_addresses(folded).to_pylist()[2] == "972 park avenue springfield"
    given = pa.array(["(212) 555-0100", "212.555.0100"], pa.large_string())
    assert usual.phones(given, "").to_pylist() == ["2125550100"] * 2


def test_values_are_written_in_parts(monkeypatch):
    """They come back in order, missing ones too, also if there are none."""
    monkeypatch.setattr(usual, "VALUES_PER_TASK", 2)
    for values in ([], ["A"], ["A", "B", None, "A", "E", None]):
        found = usual.in_parts(usual.fold_all, pa.array(values, pa.large_string()), Run(2))
        assert found.to_pylist() == [value and value.lower() for value in values]
