"""Make up the customers of two companies: records to be matched, and the truth about them.

Company A sells on behalf of company B, so most customers are in both tables. Each has a name, an
address, a phone and the day the record was made; column names and formats differ. B's record of a
customer is made 0 to 90 days after A's, 10 on average. Records of different people that are 0 to 90
days apart are 45 apart on average, since days are spread evenly over years. So the days, which are
not used to match, show how many matches are true.

Names, streets and towns of rank r have a weight of 1 / (r + 10): some are frequent, and many people
have the same name. A family has one address, one phone and one surname.
"""

from dataclasses import dataclass, fields
from datetime import date, timedelta
from string import ascii_uppercase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import LARGEST_SEED, UsageError, positive, whole, within
from lookalike.entities.company_words import GIVEN, NICKNAMES, STREET_KINDS, STREETS, SURNAMES, TOWNS

FIRST_DAY = date(2015, 1, 1)
A_DATE, B_DATE = "%Y-%m-%d", "%d.%m.%Y"
A_COLUMNS = ["id", "name", "address", "phone", "created"]
B_COLUMNS = ["id", "customer", "street", "telephone", "created"]
FAMILY_SIZES, FAMILY_SHARES = (2, 3, 4, 5), (0.4, 0.25, 0.25, 0.1)
EVEN = 10  # the larger, the less frequent the most frequent words are
HOUSES = 999  # in a street, at most
LARGEST_PEOPLE = 10_000_000  # keeps the texts of a column under 2 GB

# Each person in numbers: `given`, `middle` and `surname` (positions in the word lists), `address`
# (house, street, kind, town), `phone`, and `created` (the day of A's record, from FIRST_DAY).
_People = dict[str, np.ndarray]


@dataclass(frozen=True)
class Rates:
    """How often records overlap, vary and contain errors; each a share in [0, 1]."""

    shared: float = 0.8  # people of each company who are in both
    families: float = 0.3  # people who live in a family
    typos: float = 0.1  # names, and addresses, with a letter inserted, deleted, replaced or swapped
    initials: float = 0.3  # names with a middle initial
    missing: float = 0.05  # addresses, and phones, that are missing
    nicknames: float = 0.2  # names in B that are shortened, of those that can be
    moves: float = 0.1  # addresses in B that differ from A's
    new_phones: float = 0.1  # phones in B that differ from A's
    rewritten: float = 0.3  # names, addresses and phones in B that are written another way

    def __post_init__(self) -> None:
        for field in fields(self):
            if within(field.name, getattr(self, field.name), 1).ndim:
                raise UsageError(f"{field.name} must be one number; got {getattr(self, field.name)!r}.")


@dataclass(frozen=True, eq=False)
class Companies:
    """The tables of the two companies, and which records belong to the same person.

    `left` has the columns id, name, address, phone and created, `right` has id, customer, street,
    telephone and created; texts, or null. `truth` has left_id and right_id, each id at most once.
    """

    left: pa.Table
    right: pa.Table
    truth: pa.Table


def two_companies(
    people: int = 1000,
    *,
    seed: int = 1,
    rates: Rates | None = None,
    years: float = 5.0,
    lag: float = 10.0,
    max_lag: int = 90,
) -> Companies:
    """Make up the tables of two companies; the same parameters give the same tables.

    Time and memory are O(people): about 6 seconds and 1 GB for a million.

    Args:
        people: the number of records of each company.
        seed: the seed of all random choices.
        rates: a `lookalike.entities.companies.Rates`: how often records overlap, vary and contain
            errors.
        years: the number of years over which records are made.
        lag: the average number of days from A's record of a person to B's.
        max_lag: the greatest number of these days.

    Returns:
        `Companies`: the tables `left` and `right`, and the ids of true matches, `truth`.

    >>> made = two_companies(3, rates=Rates(shared=1))
    >>> made.left.column_names, made.right.column_names, len(made.truth)
    (['id', 'name', 'address', 'phone', 'created'], ['id', 'customer', 'street', 'telephone', 'created'], 3)
    """
    people = whole("people", people, 1, LARGEST_PEOPLE)
    draw = np.random.default_rng(whole("seed", seed, 0, LARGEST_SEED))
    rates = rates or Rates()
    lag, max_lag = positive("lag", lag), whole("max_lag", max_lag)
    days = int(positive("years", years) * 365)
    if lag * 5 > max_lag:
        raise UsageError(
            f"lag must be at most a fifth of max_lag ({max_lag}), or late records are cut off; got {lag:g}."
        )
    if not max_lag <= days <= 1_000_000:
        raise UsageError(f"years must be between max_lag ({max_lag} days) and 2,700; got {years:g}.")

    shared = round(rates.shared * people)
    everyone = _everyone(2 * people - shared, rates.families, days, draw)
    left_order, right_order = draw.permutation(people), draw.permutation(people)
    # A has the first people and B the last, so those in the middle are in both.
    a = {name: known[left_order] for name, known in everyone.items()}
    b = {name: known[people - shared + right_order] for name, known in everyone.items()}
    b = _later(b, rates, lag, max_lag, draw)
    left_ids, right_ids = _ids("A", people), _ids("B", people)
    left_rows, right_rows = np.argsort(left_order)[people - shared :], np.argsort(right_order)[:shared]
    truth = pa.table({"left_id": left_ids.take(left_rows), "right_id": right_ids.take(right_rows)}).sort_by("left_id")
    left = [left_ids, *_written(a, rates, 0.0, 0.0, draw), _dates(a["created"], A_DATE)]
    right = [right_ids, *_written(b, rates, rates.nicknames, rates.rewritten, draw), _dates(b["created"], B_DATE)]
    return Companies(pa.table(left, names=A_COLUMNS), pa.table(right, names=B_COLUMNS), truth)


def _everyone(count: int, families: float, days: int, draw: np.random.Generator) -> _People:
    """Draw people in random order; a share `families` of them live in families."""
    in_family = round(families * count)
    sizes = draw.choice(FAMILY_SIZES, in_family // 2 + 1, p=FAMILY_SHARES)
    home = np.arange(count)  # those who live alone come after the families
    home[:in_family] = np.searchsorted(np.cumsum(sizes), np.arange(in_family), side="right")
    home = draw.permutation(home)
    return {
        "given": _frequent_first(len(GIVEN), count, draw),
        "middle": draw.integers(0, 26, count),
        "surname": _frequent_first(len(SURNAMES), count, draw)[home],
        "address": _addresses(count, draw)[home],
        "phone": _phones(count, draw)[home],
        "created": draw.integers(0, days, count),
    }


def _later(people: _People, rates: Rates, lag: float, max_lag: int, draw: np.random.Generator) -> _People:
    """Let a geometric number of days pass: some people have moved or have another phone."""
    count = len(people["phone"])
    after = draw.geometric(1 / (1 + lag), count) - 1
    while (late := after > max_lag).any():
        after[late] = draw.geometric(1 / (1 + lag), late.sum()) - 1
    moved, other_phone = draw.random(count) < rates.moves, draw.random(count) < rates.new_phones
    address = np.where(moved[:, None], _addresses(count, draw), people["address"])
    phone = np.where(other_phone, _phones(count, draw), people["phone"])
    return {**people, "address": address, "phone": phone, "created": people["created"] + after}


def _addresses(count: int, draw: np.random.Generator) -> np.ndarray:
    words = [_frequent_first(len(some), count, draw) for some in (STREETS, STREET_KINDS, TOWNS)]
    return np.stack([draw.integers(1, HOUSES + 1, count), *words], axis=1)


def _phones(count: int, draw: np.random.Generator) -> np.ndarray:
    """Draw numbers of ten digits; neither the area code nor the rest begins with 0 or 1."""
    return draw.integers(200, 1000, count) * 10**7 + draw.integers(2_000_000, 10**7, count)


def _frequent_first(size: int, count: int, draw: np.random.Generator) -> np.ndarray:
    """Draw numbers below `size`, r with a weight of 1 / (r + EVEN)."""
    weights = np.cumsum(1 / (np.arange(size) + EVEN))
    return np.asarray(np.searchsorted(weights, draw.random(count) * weights[-1]))


def _written(
    people: _People, rates: Rates, nicknames: float, rewritten: float, draw: np.random.Generator
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return names, addresses and phones as they are written in a table."""
    count = len(people["phone"])

    def some(share: float) -> np.ndarray:
        return draw.random(count) < share

    names = _names(people, some(nicknames), some(rates.initials), some(rewritten))
    addresses = _address_texts(people["address"], some(rewritten))
    phones = _phone_texts(people["phone"], np.where(some(rewritten), draw.integers(1, 5, count), 0))
    names, addresses = (_mistyped(texts, some(rates.typos), draw) for texts in (names, addresses))
    addresses, phones = (pc.if_else(pa.array(some(rates.missing)), None, texts) for texts in (addresses, phones))
    return names, addresses, phones


def _names(people: _People, short: np.ndarray, with_initial: np.ndarray, surname_first: np.ndarray) -> pa.Array:
    """Return names such as "Mary Smith", "Mary A. Smith", "Molly Smith", "Smith, Mary A."."""
    words = GIVEN + [NICKNAMES.get(name, name) for name in GIVEN]
    given = _words(words, people["given"] + len(GIVEN) * short)
    letters = [f" {letter}." for letter in ascii_uppercase]
    middle = _words([*letters, ""], np.where(with_initial, people["middle"], 26))
    surname = _words(SURNAMES, people["surname"])
    first = pc.binary_join_element_wise(given, middle, "")
    ways = (pc.binary_join_element_wise(surname, first, ", "), pc.binary_join_element_wise(first, surname, " "))
    return pc.if_else(pa.array(surname_first), *ways)


def _address_texts(address: np.ndarray, short: np.ndarray) -> pa.Array:
    """Return addresses such as "12 Maple Street, Salem", or if short "12 Maple St, Salem"."""
    house = pa.array(address[:, 0]).cast(pa.string())
    street = _words(STREETS, address[:, 1])
    kind = _words([*STREET_KINDS, *STREET_KINDS.values()], address[:, 2] + len(STREET_KINDS) * short)
    line = pc.binary_join_element_wise(house, street, kind, " ")
    return pc.binary_join_element_wise(line, _words(TOWNS, address[:, 3]), ", ")


def _phone_texts(phone: np.ndarray, way: np.ndarray) -> pa.Array:
    """Return phone numbers such as "555-234-5678", "(555) 234-5678" or "+1 555 234 5678"."""
    digits = pa.array(phone).cast(pa.string())
    parts = [pc.utf8_slice_codeunits(digits, *ends) for ends in ((0, 3), (3, 6), (6, 10))]
    marks = (("", "-", "-"), ("(", ") ", "-"), ("", ".", "."), ("", "", ""), ("+1 ", " ", " "))
    before = [_words([ways[place] for ways in marks], way) for place in range(3)]
    pieces = [piece for two in zip(before, parts, strict=True) for piece in two]
    return pc.binary_join_element_wise(*pieces, "")


def _mistyped(texts: pa.Array, wrong: np.ndarray, draw: np.random.Generator) -> pa.Array:
    """Put one typing error, of one of four kinds, into each of the texts that are `wrong`."""
    if not wrong.any():
        return texts
    chosen = texts.filter(pa.array(wrong)).to_numpy(zero_copy_only=False).astype("S")
    rows, width = len(chosen), chosen.dtype.itemsize + 1
    letters = np.zeros((rows, width), np.uint8)
    letters[:, :-1] = chosen.view(np.uint8).reshape(rows, -1)
    length = np.count_nonzero(letters, axis=1)
    row, kind = np.arange(rows), draw.integers(0, 4, rows)
    put_in, left_out, swapped = (kind == number for number in range(3))
    at = (draw.random(rows) * (length - swapped)).astype(np.int64)
    swapped &= letters[row, at] != letters[row, np.minimum(at + 1, width - 1)]  # two equal letters: replace one
    place = np.arange(width)
    source = place - (put_in[:, None] & (place > at[:, None])) + (left_out[:, None] & (place >= at[:, None]))
    source[row, at] += swapped
    source[row[swapped], at[swapped] + 1] -= 1
    old = letters[row, at]
    new = np.where((old >= ord("0")) & (old <= ord("9")), _other(old, "0", 10, draw), _other(old, "a", 26, draw))
    typed = np.take_along_axis(letters, np.minimum(source, width - 1), axis=1)
    written = ~(left_out | swapped)
    typed[row[written], at[written]] = new[written]
    changed = pa.array(typed.view(f"S{width}")[:, 0].astype(str), pa.string())
    return pc.replace_with_mask(texts, pa.array(wrong), changed)


def _other(old: np.ndarray, first: str, size: int, draw: np.random.Generator) -> np.ndarray:
    """Draw one of `size` characters from `first` on, but not the old one."""
    step = draw.integers(1, size, len(old))
    return ((old.astype(np.int64) - ord(first) + step) % size + ord(first)).astype(np.uint8)


def _words(words: list[str], numbers: np.ndarray) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(numbers))


def _ids(letter: str, count: int) -> pa.Array:
    numbers = pc.utf8_lpad(pa.array(np.arange(1, count + 1)).cast(pa.string()), len(str(count)), "0")
    return pc.binary_join_element_wise(pa.scalar(letter), numbers, "")


def _dates(days: np.ndarray, form: str) -> pa.Array:
    texts = [(FIRST_DAY + timedelta(days=day)).strftime(form) for day in range(int(days.max()) + 1)]
    return _words(texts, days)
