"""Check the two companies: their tables, the rates of errors, and the days of the records."""

import re
from collections import Counter
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from rapidfuzz.distance import OSA

from lookalike.core.errors import UsageError
from lookalike.entities import companies
from lookalike.entities.companies import A_DATE, B_DATE, Rates, two_companies
from lookalike.entities.company_words import GIVEN, NICKNAMES, STREET_KINDS, STREETS, SURNAMES, TOWNS

PEOPLE = 5000
EXACT = {
    "shared": 1,
    "families": 0,
    "typos": 0,
    "initials": 0,
    "missing": 0,
    "nicknames": 0,
    "moves": 0,
    "new_phones": 0,
    "rewritten": 0,
}
NAMES = ("name", "customer")
ADDRESSES = ("address", "street")
PHONES = ("phone", "telephone")
DATES = ("created", "created")


def made(**rates):
    """Make companies of 5,000 people without errors except those asked for."""
    return two_companies(PEOPLE, seed=7, rates=Rates(**{**EXACT, **rates}))


def pairs(both, columns):
    """Return the values of two columns in the true pairs."""
    tables = (both.left, both.right)
    ids = (both.truth["left_id"].to_pylist(), both.truth["right_id"].to_pylist())
    values = [
        dict(zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True))
        for table, column in zip(tables, columns, strict=True)
    ]
    return [(values[0][left], values[1][right]) for left, right in zip(*ids, strict=True)]


def share(flags):
    flags = list(flags)
    return sum(flags) / len(flags)


def near(rate, trials=PEOPLE):
    """Return four standard errors of a share."""
    return pytest.approx(rate, abs=4 * (rate * (1 - rate) / trials) ** 0.5)


def lags(both):
    return np.array([(datetime.strptime(b, B_DATE) - datetime.strptime(a, A_DATE)).days for a, b in pairs(both, DATES)])


# --- the tables ---


def test_tables():
    both = two_companies(PEOPLE)
    assert both.left.column_names == ["id", "name", "address", "phone", "created"]
    assert both.right.column_names == ["id", "customer", "street", "telephone", "created"]
    assert {field.type for table in (both.left, both.right, both.truth) for field in table.schema} == {pa.string()}
    assert len(both.left) == len(both.right) == PEOPLE
    for table in (both.left, both.right):
        assert len(set(table["id"].to_pylist())) == PEOPLE
        assert {name for name in table.column_names if table[name].null_count} == set(table.column_names[2:4])


def test_truth_is_one_to_one():
    both = two_companies(PEOPLE)
    assert both.truth.column_names == ["left_id", "right_id"]
    assert len(both.truth) == 0.8 * PEOPLE
    for column, table in zip(both.truth.column_names, (both.left, both.right), strict=True):
        ids = both.truth[column].to_pylist()
        assert len(set(ids)) == len(ids)
        assert set(ids) <= set(table["id"].to_pylist())


def test_ids_do_not_tell():
    """Neither the order of the tables nor an id shows who is in both."""
    both = two_companies(PEOPLE)
    left, right = ([int(name[1:]) for name in both.truth[column].to_pylist()] for column in both.truth.column_names)
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.06
    for numbers in (left, right):
        assert np.mean(numbers) == pytest.approx(PEOPLE / 2, rel=0.02)


def test_the_same_again():
    one, two, other = two_companies(300), two_companies(300), two_companies(300, seed=2)
    for name in ("left", "right", "truth"):
        assert getattr(one, name).equals(getattr(two, name))
    assert not one.left.equals(other.left)
    assert not one.truth.equals(other.truth)


def test_nothing_wrong():
    both = made()
    for columns in (NAMES, ADDRESSES, PHONES):
        assert all(a == b for a, b in pairs(both, columns))
    name = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+")
    address = re.compile(rf"[1-9]\d{{0,2}} [A-Z][a-z]+ ({'|'.join(STREET_KINDS)}), [A-Z][a-z]+")
    phone = re.compile(r"[2-9]\d\d-[2-9]\d\d-\d{4}")
    for column, form in (("name", name), ("address", address), ("phone", phone)):
        assert all(form.fullmatch(text) for text in both.left[column].to_pylist())


@pytest.mark.parametrize("people", [1, 2, 3, 17])
@pytest.mark.parametrize("rate", [0, 1])
def test_few_people(people, rate):
    both = two_companies(people, rates=Rates(*[rate] * 9))
    assert len(both.left) == len(both.right) == people
    assert len(both.truth) == people * rate
    assert both.left["phone"].null_count == both.right["street"].null_count == people * rate


# --- rates ---


@pytest.mark.parametrize("rate", [0, 0.3, 0.75, 1])
def test_shared(rate):
    both = made(shared=rate)
    assert len(both.truth) == rate * PEOPLE
    in_both = set(both.left["phone"].to_pylist()) & set(both.right["telephone"].to_pylist())
    assert len(in_both) == pytest.approx(rate * PEOPLE, abs=5)


@pytest.mark.parametrize(("columns", "most"), [(NAMES, 2), (ADDRESSES, 2)])
def test_typos(columns, most):
    """In either table; each is one letter inserted, deleted, replaced or swapped."""
    rate = 0.2
    found = pairs(made(typos=rate), columns)
    assert share(a != b for a, b in found) == near(1 - (1 - rate) ** 2)
    distances = Counter(OSA.distance(a, b) for a, b in found)
    assert max(distances) <= most + 1  # two errors in one place can take three
    assert distances[1] == pytest.approx(2 * rate * (1 - rate) * PEOPLE, rel=0.1)


def test_all_four_kinds_of_typos():
    texts = pa.array(["Maple Street 12"] * 4000)
    wrong = np.arange(4000) % 2 == 0
    found = companies._mistyped(texts, wrong, np.random.default_rng(3)).to_pylist()
    assert set(found[1::2]) == {"Maple Street 12"}
    changed = found[::2]
    assert all(OSA.distance("Maple Street 12", text) == 1 for text in changed)
    kinds = Counter(
        len(text) - 15 if len(text) != 15 else "swap" if sorted(text) == sorted("Maple Street 12") else "replace"
        for text in changed
    )
    # swapping the two letters e of Street becomes a replacement
    for kind, expected in ((1, 0.25), (-1, 0.25), ("swap", 0.25 * 13 / 14), ("replace", 0.25 * 15 / 14)):
        assert kinds[kind] / 2000 == near(expected, 2000)


def test_nothing_mistyped():
    texts = pa.array(["a", "b"])
    assert companies._mistyped(texts, np.zeros(2, bool), np.random.default_rng(3)) is texts


def test_initials():
    found = pairs(made(initials=0.4), NAMES)
    for side in range(2):
        assert share(bool(re.fullmatch(r"\w+ [A-Z]\. \w+", two[side])) for two in found) == near(0.4)
    both = [two for two in found if "." in two[0] and "." in two[1]]
    assert all(a == b for a, b in both)
    assert len({a.split()[1] for a, _ in both}) == 26


def test_nicknames():
    """Of the names that have a short form, and in B only."""
    found = [(a.split()[0], b.split()[0]) for a, b in pairs(made(nicknames=0.3), NAMES)]
    changed = [(a, b) for a, b in found if a != b]
    assert all(NICKNAMES[a] == b for a, b in changed)
    could = sum(a in NICKNAMES for a, _ in found)
    assert len(changed) / could == near(0.3, could)


def test_moves():
    found = pairs(made(moves=0.15), ADDRESSES)
    assert share(a != b for a, b in found) == near(0.15)
    assert share(a.split()[0] != b.split()[0] for a, b in found) == near(0.15)


def test_new_phones():
    assert share(a != b for a, b in pairs(made(new_phones=0.15), PHONES)) == near(0.15)


@pytest.mark.parametrize("columns", [ADDRESSES, PHONES])
def test_missing(columns):
    found = pairs(made(missing=0.1), columns)
    for side in range(2):
        assert share(two[side] is None for two in found) == near(0.1)
    assert share(a is None and b is None for a, b in found) == near(0.01)


def test_other_ways_of_writing():
    """In B only, a share of each column; the meaning stays the same."""
    both = made(rewritten=0.4, initials=0.5)
    names, addresses, phones = (pairs(both, columns) for columns in (NAMES, ADDRESSES, PHONES))
    for column in ([b for _, b in names if "," in b], [b for a, b in addresses if a != b]):
        assert len(column) / PEOPLE == near(0.4)
    assert share(a != b for a, b in phones) == near(0.4)
    short = STREET_KINDS
    for a, b in names:
        surname, _, first = b.partition(", ")
        plain = re.sub(r" [A-Z]\.", "", f"{first} {surname}" if first else b)
        assert plain == re.sub(r" [A-Z]\.", "", a)
    for a, b in addresses:
        kind = a.split(",")[0].split()[-1]
        assert b in (a, a.replace(f" {kind},", f" {short[kind]},"))
    forms = Counter(re.sub(r"\d", "0", b) for _, b in phones)
    assert set(forms) == {"000-000-0000", "(000) 000-0000", "000.000.0000", "0000000000", "+0 000 000 0000"}
    for form in set(forms) - {"000-000-0000"}:
        assert forms[form] / PEOPLE == near(0.1)
    assert all(re.sub(r"\D", "", a) == re.sub(r"\D", "", b)[-10:] for a, b in phones)


@pytest.mark.parametrize("rate", [0, 0.3, 1])
def test_families(rate):
    """They share address, phone and surname, but mostly have different given names."""
    left = made(families=rate).left
    rows = list(zip(*(left[name].to_pylist() for name in ("name", "address", "phone")), strict=True))
    at = Counter((address, phone) for _, address, phone in rows)
    in_family = [(name.split(), address, phone) for name, address, phone in rows if at[address, phone] > 1]
    assert len(in_family) / PEOPLE == pytest.approx(rate, abs=0.03)
    homes = {}
    for (given, surname), address, phone in in_family:
        homes.setdefault((address, phone), []).append((given, surname))
    for members in homes.values():
        assert 2 <= len(members) <= 5
        assert len({surname for _, surname in members}) == 1
    if homes:
        assert share(len(set(members)) == len(members) for members in homes.values()) > 0.9


def test_frequent_names():
    """Some names and streets are frequent, and many people share a name."""
    left = made().left
    names = Counter(left["name"].to_pylist())
    surnames = Counter(name.split()[1] for name in left["name"].to_pylist())
    assert share(names[name] > 1 for name in left["name"].to_pylist()) > 0.1
    assert surnames["Smith"] == pytest.approx(PEOPLE / 10 / np.sum(1 / (np.arange(len(SURNAMES)) + 10)), rel=0.25)
    assert surnames["Smith"] > 5 * np.median(list(surnames.values()))


def test_words():
    for words, least in ((GIVEN, 150), (SURNAMES, 1000), (STREETS, 150), (TOWNS, 80)):
        assert len(words) == len(set(words)) >= least
        assert all(re.fullmatch("[A-Z][a-z]+", word) for word in words)
    assert set(NICKNAMES) <= set(GIVEN)
    assert len(NICKNAMES) >= 30


# --- days ---


def test_lags_of_true_pairs():
    found = lags(two_companies(20_000))
    assert found.min() == 0
    assert 60 < found.max() <= 90
    assert found.mean() == pytest.approx(10, abs=0.35)


def test_lags_of_unrelated_records():
    """Lags from 0 to 90 days are 45 on average."""
    both = two_companies(20_000)
    a = np.array(both.left["created"].to_pylist(), "datetime64[D]")
    b = np.array([datetime.strptime(day, B_DATE) for day in both.right["created"].to_pylist()], "datetime64[D]")
    found = np.concatenate([(np.roll(b, shift) - a).astype(int) for shift in range(50)])
    within = found[(found >= 0) & (found <= 90)]
    assert len(within) > 20_000
    assert within.mean() == pytest.approx(45, abs=1)


def test_other_lags_and_years():
    both = two_companies(PEOPLE, lag=2, max_lag=12, years=1, rates=Rates(**EXACT))
    found = lags(both)
    assert (found.min(), found.max()) == (0, 12)
    assert found.mean() == pytest.approx(2, abs=0.15)
    days = np.array(both.left["created"].to_pylist(), "datetime64[D]")
    assert days.min() == np.datetime64("2015-01-01")
    assert (days.max() - days.min()).astype(int) == 364


# --- errors ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_companies(0), "people must be an integer of at least 1; got 0."),
        (lambda: two_companies(10**9), "people must be an integer of at most 10000000; got 1000000000."),
        (lambda: two_companies(9, seed=-1), "seed must be an integer of at least 0; got -1."),
        (lambda: two_companies(9, lag=0), "lag must be a positive number; got 0."),
        (
            lambda: two_companies(9, lag=30),
            "lag must be at most a fifth of max_lag (90), or late records are cut off; got 30.",
        ),
        (lambda: two_companies(9, max_lag=0), "max_lag must be an integer of at least 1; got 0."),
        (lambda: two_companies(9, years=0.1), "years must be between max_lag (90 days) and 2,700; got 0.1."),
        (lambda: two_companies(9, years=5000), "years must be between max_lag (90 days) and 2,700; got 5000."),
        (lambda: Rates(typos=1.5), "typos must be in [0, 1]; got 1.5."),
        (lambda: Rates(moves=-0.1), "moves must be in [0, 1]; got -0.1."),
        (lambda: Rates(missing="x"), "missing must be a number in [0, 1]; got 'x'."),
        (lambda: Rates(shared=[0.1, 0.2]), "shared must be one number; got [0.1, 0.2]."),
    ],
)
def test_errors(call, message):
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == message
