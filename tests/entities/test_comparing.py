"""Values prepared once and compared by position: the same as every pair rewritten and compared."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.run import Run
from lookalike.entities import comparing
from lookalike.entities.comparing import (
    DOMAIN,
    EDITED,
    INITIAL,
    LONG,
    LONGEST,
    MOST_EDITS,
    ORDER,
    REMARK,
    SAME,
    SHORT_FORM,
    SLIGHT,
    SOFT,
    Forms,
    _initials,
)
from lookalike.entities.fields import canonical
from lookalike.measures import edit

WORDS = [
    "j",
    "s",
    "smith",
    "smyth",
    "john",
    "bill",
    "william",
    "st",
    "street",
    "12",
    "1",
    "\u00e9",
    "\u00e9mile",
    "ann",
]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
titles = st.builds("{}{}".format, texts, st.sampled_from(["", " (1959)", " (1961 tv)", " 1959"]))
mails = st.builds("{}@{}".format, st.sampled_from(WORDS), st.sampled_from(["a.org", "b.org", "gmail.com"]))


def in_order(text):
    return " ".join(sorted(text.split()))


def edits(one, other):
    return edit(one, other) * (LONG / max(LONG, len(one), len(other)))


def textbook(kind, one, other, written, others):
    """Return the distance of two values and how they were compared, way by way."""
    if one == other:
        return 0.0, SAME
    if kind == "text" and (one, other) != (written, others):
        remarks = one[len(written) :], other[len(others) :]
        more = edit(*remarks) if all(remarks) else SLIGHT * any(remarks)
        apart, way = textbook(kind, written, others, written, others)
        ways = [(apart + more, REMARK if way == SAME else way)]
        if bool(remarks[0]) != bool(remarks[1]):
            whole = edits(*(text.replace("(", "").replace(")", "") for text in (one, other)))
            ways.append((whole, EDITED if whole else SAME))
        return min(ways, key=lambda way: way[0])
    ways = [(edits(one, other), EDITED)]
    if kind == "email":
        ways.append((SOFT + edits(one.split("@")[0], other.split("@")[0]), DOMAIN))
    if kind in ("name", "address"):
        ways.append((SOFT + edits(written, others), SHORT_FORM))
    if kind in ("name", "text"):
        ways.append((SOFT + edits(in_order(written), in_order(others)), ORDER))
    initial = any(len(word) == 1 and word.isalpha() for text in (one, other) for word in text.split())
    if kind == "name" and initial:
        ways.append((SOFT + edits(*_initials(written, others)), INITIAL))
    return min(ways, key=lambda way: way[0])


@pytest.mark.parametrize("kind", ["name", "address", "text", "title", "email"])
@given(data=st.data())
def test_forms_compare_like_the_textbook(kind, data):
    """All pairs of values, in both orders, each with its distance and the first way that gives it."""
    values = data.draw(st.lists({"title": titles, "email": mails}.get(kind, texts), min_size=2, max_size=6))
    kind = "text" if kind == "title" else kind
    plain = pa.array(values, pa.large_string())
    written = canonical(plain, kind)
    a, b = (side.ravel() for side in np.meshgrid(*[np.arange(len(values))] * 2))
    apart, way = Forms(kind, plain, written, Run(1)).distances(a, b)
    full = written.to_pylist()
    expected = [textbook(kind, values[i], values[j], full[i], full[j]) for i, j in zip(a, b, strict=True)]
    assert list(zip(apart.tolist(), way.tolist(), strict=True)) == expected


@pytest.mark.parametrize("kind", ["name", "address", "text", "title", "email", "phone", "number", "category"])
@given(data=st.data())
def test_distances_up_to_a_limit(kind, data):
    """Below its limit a distance is exact; from there on, it can be anything that is not below."""
    long = st.builds("{} {}".format, texts, st.text("ab ", min_size=15, max_size=150))
    drawn = {"title": titles, "email": mails, "number": st.integers(1, 200).map(str)}.get(kind, texts | long)
    values = pa.array(data.draw(st.lists(drawn, min_size=2, max_size=6)), pa.large_string())
    kind = "text" if kind == "title" else kind
    a, b = (side.ravel() for side in np.meshgrid(*[np.arange(len(values))] * 2))
    most = np.array(data.draw(st.lists(st.floats(0, 8), min_size=len(a), max_size=len(a))))
    forms = Forms(kind, values, canonical(values, kind), Run(1))
    whole, near = forms.distances(a, b)[0], forms.distances(a, b, most)[0]
    assert np.array_equal(near[whole < most], whole[whole < most])
    assert (near >= most)[whole >= most].all()


def test_texts_that_are_too_far_apart_are_not_compared_in_full(monkeypatch):
    """Of 100 long texts, letters are only compared where the lengths allow a distance below the limit."""
    values = pa.array(["ab " * (100 + 12 * n) for n in range(100)], pa.large_string())
    a, b = np.triu_indices(100, 1)
    forms, seen = Forms("address", values, values, Run(1)), []
    count = comparing.indel
    monkeypatch.setattr(comparing, "indel", lambda *given: seen.append(len(given[0])) or count(*given))
    forms.distances(a, b, np.full(len(a), 5.0))
    lengths = np.array([len(value) for value in values.to_pylist()])
    possible = 20 * (lengths[b] - lengths[a]) / lengths[b] < 5
    assert possible.sum() <= sum(seen) < 1.2 * possible.sum() < 0.5 * len(a)


def test_few_edits_are_counted_in_very_long_texts(monkeypatch):
    """Texts of up to LONGEST letters are compared in full; longer ones as long as MOST_EDITS suffice."""
    draw = np.random.default_rng(1)
    long, other = ("".join(draw.choice(list("abcdefgh "), 3 * LONGEST)) for _ in range(2))
    values = [long, other, long.replace("a", "e", 10), long[:LONGEST], other[:LONGEST], "x" + long[MOST_EDITS + 2 :]]
    texts = pa.array(values, pa.large_string())
    form, limits = comparing.Form.of(texts, texts), []
    count = comparing.indel
    monkeypatch.setattr(comparing, "indel", lambda *given: limits.append(given[2]) or count(*given))
    a, b = np.array([0, 0, 0]), np.array([1, 2, 5])
    found = form.edits(a, b, True, np.full(3, np.inf))
    assert found.tolist() == [np.inf, 20 * LONG / (3 * LONGEST), np.inf]
    assert set(limits) == {MOST_EDITS}
    short = form.edits(np.array([3]), np.array([4]), True, np.full(1, np.inf))[0]
    assert short == edits(values[3], values[4]) > 5


@pytest.mark.parametrize("letters", [1, 30, 1 << 22])
def test_initials_are_cut_in_parts(monkeypatch, letters):
    monkeypatch.setattr(comparing, "LETTERS_PER_TASK", letters)
    values = pa.array(["j smith", "john smith", "s jones", "sue jones", "sue j"], pa.large_string())
    a, b = np.triu_indices(5, 1)
    forms = Forms("name", values, values, Run(1))
    expected = [textbook("name", *(values[i].as_py() for i in (*pair, *pair)))[0] for pair in zip(a, b, strict=True)]
    assert forms.distances(a, b)[0].tolist() == expected


@given(st.lists(texts, max_size=8))
def test_words_in_order(values):
    found = comparing.words_in_order(pa.array(values, pa.large_string()))
    assert found.to_pylist() == [in_order(value) for value in values]


@pytest.mark.parametrize("kind", ["name", "text", "number", "category", "phone"])
def test_values_are_prepared_in_parts(monkeypatch, kind):
    """Parts of any size, and any number of threads, give the same distances; so do no values."""
    values = pa.array(["2", "1 j smith", "john smith 1", "a", "3"] if kind != "number" else ["1", "2", "30", "4", "5"])
    values = values.cast(pa.large_string())
    places = np.arange(5)
    whole = Forms(kind, values, values, Run(1)).distances(places, places[::-1])
    monkeypatch.setattr(comparing, "VALUES_PER_TASK", 2)
    parts = Forms(kind, values, values, Run(3)).distances(places, places[::-1])
    assert all(np.array_equal(one, other) for one, other in zip(whole, parts, strict=True))
    none = Forms(kind, values[:0], values[:0], Run(1)).distances(places[:0], places[:0])
    assert [len(one) for one in none] == [0, 0]


def test_only_names_that_an_initial_can_shorten_are_cut_pair_by_pair(monkeypatch):
    """Cutting runs in Python, one pair at a time, so it is left to those that it can change."""
    seen = []
    monkeypatch.setattr(comparing, "_initials", lambda one, other: seen.append((one, other)) or _initials(one, other))
    values = pa.array(["j smith", "john smith", "mary jones", "ann v lee", "ann lee"], pa.large_string())
    a, b = np.triu_indices(5, 1)
    Forms("name", values, values, Run(1)).distances(a, b)
    assert seen == [("j smith", "john smith"), ("j smith", "mary jones")]
