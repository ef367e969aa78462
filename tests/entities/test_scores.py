"""Check the points of fields, for one pair and for many at once: what differences cost."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.entities import points, scores
from lookalike.entities.comparing import Forms, distances
from lookalike.entities.fields import FIELD_KINDS, Column, canonical, normalise
from lookalike.entities.scores import comparisons_of, field_points, points_of_pairs
from lookalike.measures import edit

RUN = Run(2)
SOFTENED = 96.0  # points after one soft edit

words = st.sampled_from(
    ["j", "s", "smith", "smyth", "john", "jon", "bill", "william", "ann", "st", "street", "12", "a"]
)
names = st.lists(words, min_size=1, max_size=3).map(" ".join)
letters = st.text("abc", max_size=6)


def column(values, kind):
    normal = normalise(pa.array(values, pa.string()), kind).values
    return Column("field", kind, normal, canonical(normal, kind))


def scored(kind, one, other):
    """Return the points of two values as they are in a table; the order does not matter."""
    field = column([one, other], kind)
    there, back = field_points(field, np.array([0, 1]), np.array([1, 0]), RUN)
    assert there == back or (math.isnan(there) and math.isnan(back))
    return float(there)


# --- one pair ---


@given(letters, letters)
def test_points(a, b):
    """100 less four times the squared edit distance, but never below 0."""
    found = points(a, b)
    assert found == points(b, a) == max(0, 100 - 4 * edit(a, b) ** 2)
    assert 0 <= found <= 100
    assert (found == 100) == (a == b)


@pytest.mark.parametrize(("distance", "expected"), [(0, 100), (1, 96), (2, 84), (3, 64), (4, 36), (5, 0), (6, 0)])
def test_points_fall_faster_and_faster(distance, expected):
    assert points("x" * 8, "x" * (8 - distance)) == expected


@given(letters, letters, st.floats(0, 50))
def test_penalty(a, b, penalty):
    assert points(a, b, penalty=penalty) == pytest.approx(max(0, 100 - penalty * edit(a, b) ** 2))
    assert points(a, b, penalty=0) == 100


@given(letters, letters, st.sampled_from([0, 0.5, 1, 2, 9]))
def test_values_known_to_go_together(a, b, distance):
    """In either order; other values and equal ones are not affected."""
    expected = max(0, 100 - 4 * distance**2) if a != b else 100
    assert points(a, b, alike={(a, b): distance}) == points(b, a, alike={(a, b): distance}) == expected
    assert points(a, b + "d", alike={(a, b): distance}) == points(a, b + "d")


def test_the_order_of_the_record_goes_first():
    alike = {("Bill", "William"): 1, ("William", "Bill"): 2}
    assert (points("Bill", "William", alike=alike), points("William", "Bill", alike=alike)) == (96, 84)


def test_empty_fields():
    assert (points("", ""), points("", "a"), points("", "abcde")) == (100, 96, 0)


@pytest.mark.parametrize(
    ("fields", "options", "kind", "message"),
    [
        (("a", "b"), {"penalty": -4}, UsageError, "penalty must be a number of at least 0; got -4."),
        (("a", "b"), {"penalty": math.nan}, UsageError, "penalty must be a number of at least 0; got nan."),
        (("a", None), {}, DataError, "a and b must be texts; got 'a' and None."),
        (
            ("a", "b"),
            {"alike": {("b", "a"): -1}},
            UsageError,
            "alike must hold numbers of at least 0; got -1 for 'a' and 'b'.",
        ),
    ],
)
def test_points_that_cannot_be(fields, options, kind, message):
    with pytest.raises(kind) as error:
        points(*fields, **options)
    assert str(error.value) == message


# --- many pairs: the rule ---


@given(st.text("qxz", min_size=1, max_size=8), st.text("qxz", min_size=1, max_size=8))
def test_words_have_the_points_of_the_textbook(a, b):
    """Holds for words without abbreviations; as text they can have more, for common shingles."""
    assert scored("address", a, b) == points(a, b)
    assert scored("text", a, b) >= points(a, b)


def test_rare_words_in_common_count_most():
    names = ["Sony Turntable PSLX350H", "Sony PSLX350H belt drive turntable", "Sony Bravia television"]
    texts = [*names, *(f"Sony thing {number}" for number in range(50))]
    products = column(texts, "text")
    same, other = field_points(products, np.array([0, 0]), np.array([1, 2]), Run(1))
    assert same > 50 > 10 > other


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_equal_values(kind):
    value = {"date": "2020-03-01", "number": "12", "phone": "212-555-0100", "email": "a@b.org"}.get(kind, "Ann Lee")
    assert scored(kind, value, value) == 100


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_missing_values(kind):
    value = {"date": "2020-03-01", "number": "12", "phone": "212-555-0100", "email": "a@b.org"}.get(kind, "Ann Lee")
    for missing in (None, "", "n/a", "-"):
        assert math.isnan(scored(kind, value, missing))
        assert math.isnan(scored(kind, missing, missing))


@pytest.mark.parametrize(
    ("kind", "one", "other", "expected"),
    [
        ("name", "Smith", "Smyth", 84),
        ("name", "John Smith", "john  SMITH", 100),
        ("name", "José Muñoz", "Jose Munoz", 100),
        ("name", "Smith, John", "John Smith", 100),
        ("name", "Dr. John Smith", "John Smith", 100),
        ("name", "Bill Smith", "William Smith", SOFTENED),
        ("name", "Bob Smith", "Robert Smyth", 64),  # one soft edit and two others
        ("name", "Bob", "Bill", 0),  # five edits; Robert and William are farther apart
        ("name", "Smith John", "John Smith", SOFTENED),
        ("name", "J Smith", "Jonathan Smith", SOFTENED),
        ("name", "J R Smith", "John Robert Smith", SOFTENED),
        ("name", "J. R. Smith", "John Robert Smyth", 64),
        ("name", "John Smith", "Mary Jones", 0),
        ("name", "K Smith", "Jonathan Smith", 0),
        ("address", "12 Elm Street", "12 Elm St", SOFTENED),
        ("address", "12 Elm St.", "12 ELM ST", 100),
        ("address", "12 Elm Street", "12 Oak Street", 0),
        ("address", "12 Elm Street", "13 Elm Street", 84),
        ("text", "red car", "car red", SOFTENED),
        ("text", "12 elm street", "12 elm st", pytest.approx(60.47, abs=0.01)),  # two of three words, and shingles
        ("phone", "212-555-0100", "(212) 555 0100", 100),
        ("phone", "212-555-0100", "+1 212 555 0100", 100),
        ("phone", "212-555-0100", "212-555-0101", 84),
        ("phone", "212-555-0100", "646-123-9876", 0),
        ("date", "2020-03-01", "1 March 2020", 100),
        ("date", "2020-03-01", "2020-03-02", 84),
        ("date", "2020-03-01", "1999-12-31", 0),
        ("category", "red", "Red", 100),
        ("category", "red", "rod", 0),
        ("number", "100", "100.0", 100),
        ("number", "1,000", "1000", 100),
        ("number", "90", "100", 84),  # 10% counts as two edits
        ("number", "95", "100", 96),
        ("number", "50", "100", 0),
        ("number", "0", "5", 0),
        ("number", "-5", "5", 0),
        ("number", "-100", "-95", 96),
        ("number", "1e-9", "0.0000000011", pytest.approx(100 - 4 * (20 / 11) ** 2, abs=1e-3)),
    ],
)
def test_what_differences_cost(kind, one, other, expected):
    assert scored(kind, one, other) == expected


@pytest.mark.parametrize("surname", ["Smith", "Stevens", "Miller"])
@pytest.mark.parametrize("given", ["Samantha", "Montgomery"])
def test_an_initial_that_the_surname_begins_with_too(surname, given):
    """S Smith and Samantha Smith are as similar as S Miller and Samantha Miller."""
    assert scored("name", f"{given[0]} {surname}", f"{given} {surname}") == SOFTENED


def test_a_long_text_is_measured_as_one_of_20_letters():
    long, longer = "a" * 39 + "b", "a" * 39 + "c"
    assert scored("text", long, longer) == 100 - 4 * 1.0**2
    assert scored("text", "a" * 19 + "b", "a" * 19 + "c") == 84
    assert scored("phone", "12345678901234", "12345678901235") == 84


@pytest.mark.parametrize("length", [19, 20, 21, 40, 400])
def test_texts_with_nothing_in_common(length):
    assert scored("text", "a" * length, "b" * length) == 0


def test_numbers_at_the_ends():
    """There is no overflow and no division by zero."""
    for one, other in (("1e299", "-1e299"), ("1e299", "1e-200"), ("0", "1e-200"), ("0", "-0.0")):
        assert 0 <= scored("number", one, other) <= 100
    assert scored("number", "0", "-0.0") == 100


# --- laws ---


@given(names, names, st.sampled_from(["text", "name", "address", "category"]))
def test_points_are_in_bounds_and_symmetric(a, b, kind):
    field = column([a, b], kind)
    found = scored(kind, a, b)
    assert 0 <= found <= 100
    if field.values[0] == field.values[1]:
        assert found == 100
    elif kind in ("text", "name"):
        softened = points(*(value.as_py() for value in field.values))
        assert found >= min(softened, 100)


@given(names, names)
def test_what_softens_never_costs(a, b):
    """A name has at least the points that its letters alone give it."""
    one, other = (value.as_py() for value in column([a, b], "name").values)
    apart, _ = distances("name", [one], [other], *([text] for text in (one, other)))
    assert max(0, 100 - 4 * apart[0] ** 2) <= scored("name", a, b) + 1e-6


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), names), min_size=1, max_size=8), st.data())
def test_each_pair_for_itself(values, data):
    """The points of a pair depend only on its two values, not on other pairs or repeats."""
    field = column(values, "name")
    places = st.integers(0, len(values) - 1)
    pairs = data.draw(st.lists(st.tuples(places, places), max_size=20))
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    found = field_points(field, left, right, RUN)
    assert found.dtype == np.float32
    assert len(found) == len(pairs)
    for (a, b), score in zip(pairs, found.tolist(), strict=True):
        alone = field_points(field, np.array([a]), np.array([b]), RUN)[0]
        two = Column("field", "name", field.values.take([a, b]), field.canonical.take([a, b]))
        assert np.array_equal(
            [alone, field_points(two, np.array([0]), np.array([1]), RUN)[0]], [score, score], equal_nan=True
        )
        assert math.isnan(score) == (field.values[a].as_py() is None or field.values[b].as_py() is None)


def test_each_pair_of_values_once(monkeypatch):
    """10,000 pairs of the same two values take one comparison for each order."""
    seen = []
    compare = Forms.distances
    monkeypatch.setattr(Forms, "distances", lambda *given: seen.append(len(given[1])) or compare(*given))
    field = column(["ann", "anne"] * 100, "name")
    draw = np.random.default_rng(1)
    field_points(field, *draw.integers(0, 200, (2, 10_000)), RUN)
    assert sum(seen) <= 2


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("Ann", "Lee"), ("Lee", "Ann"), [96, 96]),
        (("Bill", "Smith"), ("Smyth", "William"), [92, 80]),  # a short form, or two edits, and the change of places
        (("Ann", "Lee"), ("Ann", "Smith"), [100, 0]),
        (("Ann", "Lee"), ("Lee", None), [0, math.nan]),
        (("Ann", "Lee"), ("Kim", "Ray"), [0, 0]),
    ],
)
def test_swapped_names(one, other, expected):
    """Each name that is in the field of the other loses 4 points; nothing else changes."""
    pairs = np.array([0]), np.array([1])
    given, surnames = zip(one, other, strict=True)
    fields = [replace(column(given, "name"), name="given_name"), replace(column(surnames, "name"), name="surname")]
    found = points_of_pairs(comparisons_of(fields, RUN), *pairs, RUN)[0].tolist()
    assert found == pytest.approx(expected, abs=1e-4, nan_ok=True)
    others = [replace(field, name=name) for field, name in zip(fields, ("a", "b"), strict=True)]
    apart = points_of_pairs(comparisons_of(others, RUN), *pairs, RUN)[0]
    assert np.array_equal(apart, [field_points(field, *pairs, RUN)[0] for field in fields], equal_nan=True)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Silver Lining, The (1937)", "The Silver Lining", 100 - 4 * 0.4**2),
        ("King Kong (1933)", "King Kong (1933)", 100),
        ("King Kong (1933)", "King Kong (1976)", 36),  # four edits: another film
        ("King Kong (1933)", "King Kongs (1976)", 0),
        ("King Kong (1933)", "King Kong, 1933", 100),
        ("Call (TV)", "Call TV", 100),
        ("King Kong (1933) (TV)", "Kong King", 100 - 4 * 1.4**2),
    ],
)
def test_titles_with_years(one, other, expected):
    assert scored("text", one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("ann.lee@gmail.com", "AnnLee+news@googlemail.com", 100),
        ("ann.lee@work.org", "ann.lee@home.net", 96),
        ("ann.lee@work.org", "anne.lee@work.org", 96),
        ("ann.lee@work.org", "bob.ray@work.org", 0),
    ],
)
def test_emails(one, other, expected):
    assert scored("email", one, other) == expected


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_neither_chunks_nor_threads_matter(monkeypatch, threads):
    draw = np.random.default_rng(1)
    field = column([" ".join(draw.choice(["ann", "bob", "j", "smith", "st"], 3)) for _ in range(200)], "name")
    pairs = draw.integers(0, 200, (2, 3000))
    whole = field_points(field, *pairs, Run(1))
    monkeypatch.setattr(scores, "PAIRS_PER_TASK", 7)
    assert np.array_equal(field_points(field, *pairs, Run(threads)), whole)


def test_memory_does_not_grow_with_the_length_of_texts():
    """A task of pairs needs arrays of pairs, not the elements of all their texts."""
    draw = np.random.default_rng(1)
    peaks = []
    for words in (4, 400):
        texts = column([" ".join(f"w{word}" for word in draw.integers(0, 500, words)) for _ in range(40)], "text")
        compared = comparisons_of([texts], RUN)[0]
        pairs = draw.integers(0, 40, (2, 1 << 14))
        compared.points(*pairs)
        tracemalloc.start()
        compared.points(*pairs)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_points_as_if_all_were_counted(monkeypatch):
    """What is left out because it cannot change the points, does not."""
    draw = np.random.default_rng(1)
    texts = [" ".join(draw.choice(["red", "blue", "sony", "x100", "x200"], draw.integers(1, 12))) for _ in range(60)]
    texts += [f"{text} (1959)" for text in texts[:20]]
    pairs = draw.integers(0, 80, (2, 2000))
    found = [field_points(column(texts, kind), *pairs, RUN) for kind in ("text", "name", "address")]
    compare = Forms.distances
    monkeypatch.setattr(Forms, "distances", lambda *given: compare(*given[:3]))
    expected = [field_points(column(texts, kind), *pairs, RUN) for kind in ("text", "name", "address")]
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_nothing_to_compare(kind):
    none = np.zeros(0, np.int64)
    for values in ([], [None, None], ["1", "2"]):
        assert len(field_points(column(values, kind), none, none, RUN)) == 0


def test_all_missing():
    assert np.isnan(field_points(column([None] * 4, "name"), np.array([0, 1]), np.array([2, 3]), RUN)).all()
