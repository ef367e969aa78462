"""Propose fields: the columns that identify a record, and which columns of two tables belong together.

Columns of two tables with the same name, or with names that mean the same, belong together. The
others are matched by content: two records with several rare words in common are probably the same
entity, so columns that agree in such pairs of records, and do not agree in random pairs, belong
together. That also shows which columns of the same name say nothing, such as the day a record was
made.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, argument
from lookalike.core.run import Run
from lookalike.entities.fields import WORDS, Field, normalise
from lookalike.entities.kinds import guess_common_kind, guess_kind, hinted_kind, make_column, words_of
from lookalike.entities.scores import FULL_POINTS, field_points
from lookalike.entities.whole import TextVectors

LEAST_FILLED = 0.02  # the least share of records with a value
SAMPLE = 2000  # records whose counterparts are looked for; also the values that are read to judge a column
RARE = 200  # the most records with a word by which counterparts are found
COMMON_WORDS = 2  # the least number of such words in common
CLEARLY = 1.5  # how many times as much as the next one the best record must have in common
FEW = 10  # with fewer pairs, nothing can be said about two columns
OFTEN = 30  # of linked records; by chance fewer than FEW have both of two columns if this many are expected to
AGREEMENT, ERRORS = 0.01, 4.0  # the least excess over random pairs: a similarity, and in standard errors
MOST = 0.5  # the share of linked records that must have the same date
OVERLAP = 0.3  # the least share of words that two columns have in common, where no records can be linked
RUNNING = r"^[\pL _-]{0,8}(?P<number>\d{1,18})$"  # a number, perhaps with letters before it
MEANING_ONE = ("phone", "email", "address")  # kinds whose names in HINTS mean the same
ADMINISTRATIVE = {"created", "updated", "modified", "inserted", "imported", "loaded", "timestamp"}  # not of the entity
IDS = {"id", "ids", "uuid", "guid", "key", "index", "row"}


class FoldedColumn(NamedTuple):
    """A column that can identify records: its values as folded texts, null where missing."""

    name: str
    values: pa.LargeStringArray


def propose_fields(tables: Sequence[pa.Table], skipped: Sequence[Collection[str]], run: Run) -> list[Field]:
    """Return the fields to compare, in the order of the first table.

    `skipped` names the columns of each table to leave out, such as the id.

    >>> table = pa.table({"id": [7, 8], "name": ["Ann Lee", "Bob Ray"], "town": ["Ansel", "Ansel"]})
    >>> [str(field) for field in propose_fields([table], [["id"]], Run(1))]
    ['name']
    """
    with run.stage("propose"):
        every = [identifying(table, skip, run) for table, skip in zip(tables, skipped, strict=True)]
        if len(every) == 1:
            found = [(one.name, one.name) for one in every[0] if not _is_id(one)]
        else:
            found = corresponding(every[0], every[1], tables, run)
    if not found:
        why = "no column can tell records apart" if len(every) == 1 else "no columns of the two tables correspond"
        raise DataError(f"{why}: name those to compare with {argument('fields')}.")
    return [Field(left, left, right) for left, right in found]


# --- columns of one table ---


def identifying(table: pa.Table, skip: Collection[str], run: Run) -> list[FoldedColumn]:
    """Return the columns that can identify records: texts, numbers or dates, not constant, not a running number."""
    names = table.schema.names
    out = []
    for name in dict.fromkeys(names):
        if not name or names.count(name) > 1 or name in skip or not ADMINISTRATIVE.isdisjoint(words_of(name)):
            continue
        with suppress(DataError):  # lists, bytes and other types that cannot be a field
            texts = normalise(table[name], "text", run=run).values
            if _tells_apart(texts):
                out.append(FoldedColumn(name, texts))
    return out


def _tells_apart(texts: pa.LargeStringArray) -> bool:
    if len(texts) - texts.null_count < max(1, LEAST_FILLED * len(texts)):
        return False
    return len(texts) == 1 or (pc.count_distinct(texts).as_py() > 1 and not runs_on(texts))


def runs_on(texts: pa.LargeStringArray) -> bool:
    """Return whether texts are a running number: all different, and close together.

    >>> [runs_on(pa.array(texts, pa.large_string())) for texts in (["a 3", "a 1", "a 2"], ["7", "7"], ["1", "999"])]
    [True, False, False]
    """
    numbers = pc.struct_field(pc.extract_regex(texts, RUNNING), "number").drop_null().cast(pa.int64())
    if not len(numbers) or len(numbers) < len(texts):
        return False
    least, most = pc.min_max(numbers).values()
    return bool(pc.count_distinct(numbers).as_py() == len(texts) and most.as_py() - least.as_py() < 2 * len(texts))


def _is_id(column: FoldedColumn) -> bool:
    """Return whether a column is named as an id, and its values are all different."""
    different = pc.count_distinct(column.values, mode="all").as_py() == len(column.values)
    return bool(IDS & set(words_of(column.name))) and different


# --- columns of two tables ---


def corresponding(
    left: list[FoldedColumn], right: list[FoldedColumn], tables: Sequence[pa.Table], run: Run
) -> list[tuple[str, str]]:
    """Return the names of columns that belong together; each column is used once."""
    if not (left and right):
        return []
    named = by_name([one.name for one in left], [one.name for one in right])
    linked = linked_records(left, right)
    agree = np.zeros((len(left), len(right)))
    for at, one in enumerate(left):
        for to, other in enumerate(right):
            if (at, to) in named:
                agree[at, to] = agreement_by_kind(one.name, other.name, tables, *linked, run)
            if not agree[at, to]:
                agree[at, to] = agreement(one.values, other.values, *linked, run)
                if agree[at, to] and (
                    dates := _dates((one.name, other.name), tables)
                ):  # their words are years and months
                    both = dates == 2  # a year and a date have only noise in common
                    agree[at, to] = agreement_by_kind(one.name, other.name, tables, *linked, run, 0.0) if both else 0
            if (_is_id(one) or _is_id(other)) and not pc.any(pc.is_in(one.values, other.values)).as_py():
                agree[at, to] = 0
    order = sorted(np.argwhere(agree > 0).tolist(), key=lambda pair: (tuple(pair) not in named, -agree[tuple(pair)]))
    found: dict[int, int] = {}
    for at, to in order:
        if at not in found and to not in found.values():
            found[at] = to
    return [(left[at].name, right[to].name) for at, to in sorted(found.items())]


def by_name(left: Sequence[str], right: Sequence[str]) -> set[tuple[int, int]]:
    """Return the columns whose names have the same words, or mean the same and no other column's does.

    >>> sorted(by_name(["fullName", "street", "no"], ["no", "full_name", "address"]))
    [(0, 1), (1, 2), (2, 0)]
    """
    meanings = [[hinted_kind(name) for name in names] for names in (left, right)]
    alone = {kind for kind in MEANING_ONE if all(kinds.count(kind) == 1 for kinds in meanings)}
    return {
        (at, to)
        for at, one in enumerate(left)
        for to, other in enumerate(right)
        if one == other
        or (words_of(one) and words_of(one) == words_of(other))
        or (meanings[0][at] == meanings[1][to] and meanings[0][at] in alone)
    }


def linked_records(left: list[FoldedColumn], right: list[FoldedColumn]) -> tuple[np.ndarray, np.ndarray]:
    """Return records of both tables with several rare words in common, and far more than with any other record.

    The rarity of a word is counted in the second table; only a sample of the first one is used.
    """
    from scipy.sparse import csr_array  # slow to import

    sample = spread(len(left[0].values))
    every = [_words(one.values.take(pa.array(sample))) for one in left]
    known = np.unique(np.concatenate([hashes for _, hashes in every]))
    ours = _incidence(every, known, len(sample))
    theirs = _incidence(map(_words, (one.values for one in right)), known, len(right[0].values))
    count = np.bincount(theirs.indices, minlength=len(known))
    weights = np.where(count <= RARE, np.log(1 + theirs.shape[0] / np.maximum(count, 1)), 0)
    ours.data *= (count <= RARE)[ours.indices]
    ours.eliminate_zeros()
    common = ours @ theirs.T
    weighted = csr_array((ours.data * weights[ours.indices], ours.indices, ours.indptr), shape=ours.shape) @ theirs.T
    weighted.data[common.data < COMMON_WORDS] = 0  # both have the same pattern
    found = []
    for row, (start, stop) in enumerate(pairwise(weighted.indptr.tolist())):
        scores = weighted.data[start:stop]
        best = int(scores.argmax()) if stop > start else 0
        if stop > start and scores[best] > CLEARLY * np.delete(scores, best).max(initial=0):
            found.append((sample[row], weighted.indices[start + best]))
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _incidence(words: Iterable[tuple[np.ndarray, np.ndarray]], known: np.ndarray, records: int) -> Any:
    """Return which records have which of the known words, as a sparse matrix of ones."""
    from scipy.sparse import csr_array  # slow to import

    keys = []
    for rows, hashes in words:
        places = np.searchsorted(known, hashes)
        found = np.flatnonzero(known[np.minimum(places, len(known) - 1)] == hashes) if len(known) else places
        keys.append(rows[found] * len(known) + places[found])
    rows, columns = np.divmod(np.unique(np.concatenate(keys)), max(1, len(known)))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(records, len(known)))


def agreement(
    one: pa.LargeStringArray, other: pa.LargeStringArray, left: np.ndarray, right: np.ndarray, run: Run
) -> float:
    """Return by how much more similar two columns are in linked records than in random pairs; 0 if not clearly.

    With too few linked records, columns agree if they have many words in common. Columns of sparse
    tables that linked records should often have together, but do not, hold different things, such as
    the years of films and the birthdays of people.
    """
    ours, theirs = one.take(pa.array(left)), other.take(pa.array(right))
    expected = (len(ours) - ours.null_count) * (len(theirs) - theirs.null_count) / max(1, len(left))
    present = pc.and_(ours.is_valid(), theirs.is_valid())
    ours, theirs = ours.filter(present), theirs.filter(present)
    if len(ours) < FEW:
        return 0.0 if expected >= OFTEN else _overlap(one, other)
    return _excess(len(ours), TextVectors.of(pa.concat_arrays([ours, theirs]), run).cosines)


def agreement_by_kind(
    one: str, other: str, tables: Sequence[pa.Table], left: np.ndarray, right: np.ndarray, run: Run,
    unknown: float = 1.0,
) -> float:  # fmt: skip
    """Return `agreement` of columns of the same name, by their points; `unknown` with too few linked records.

    Dates of an entity are the same in most linked records. The days on which two records of it were
    made are not, but they are close to each other, so the same in part: they do not agree.
    """
    sides = [
        table[name].take(pa.array(rows)) for table, name, rows in zip(tables, (one, other), (left, right), strict=True)
    ]
    column = make_column(Field(one, one, other), sides, run)
    present = np.asarray(column.values.is_valid())
    both = np.flatnonzero(present[: len(left)] & present[len(left) :])
    if len(both) < FEW:
        return unknown

    def shares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        points = field_points(column, both[a], both[b - len(both)] + len(left), run)
        return np.asarray(points == FULL_POINTS, float) if column.kind == "date" else points / FULL_POINTS

    excess = _excess(len(both), shares)
    return excess if column.kind != "date" or excess >= MOST else 0.0


def _dates(names: Sequence[str], tables: Sequence[pa.Table]) -> int:
    """Return how many of two columns hold dates."""
    sides = [table[name] for table, name in zip(tables, names, strict=True)]
    if guess_common_kind(names, sides) == "date":
        return 2
    return sum(guess_kind(name, side) == "date" for name, side in zip(names, sides, strict=True))


def _excess(pairs: int, similar: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """Return how much more similar row n and row `pairs` + n are than other rows on average; 0 if not clearly."""
    rows = np.arange(pairs)
    linked, random = similar(rows, pairs + rows), similar(rows, pairs + np.roll(rows, pairs // 2))
    excess = float(linked.mean() - random.mean())
    return excess if excess >= max(AGREEMENT, ERRORS * np.sqrt((linked.var() + random.var()) / pairs)) else 0.0


def _overlap(one: pa.LargeStringArray, other: pa.LargeStringArray) -> float:
    """Return the share of the words of the poorer of two columns that are in the other one; 0 if it is low."""
    ours, theirs = (np.unique(_words(column)[1]) for column in (one, other))
    share = len(np.intersect1d(ours, theirs)) / max(1, min(len(ours), len(theirs)))
    return share if share >= OVERLAP else 0.0


def _words(texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of texts: positions of texts, and hashes."""
    indptr, hashes = WORDS.hashes(texts.fill_null(""))
    return np.repeat(np.arange(len(texts)), np.diff(indptr)), hashes


def spread(rows: int) -> np.ndarray:
    """Return up to SAMPLE row numbers, evenly spread."""
    return np.unique(np.linspace(0, rows - 1, min(rows, SAMPLE)).astype(np.int64))
