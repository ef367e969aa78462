"""Tables to matches: normalise the fields, find candidates, score them, and tell how likely each is a match."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, fraction, one_column, positive, whole
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.entities.blocks import Column, find_candidates
from lookalike.entities.comparing import compare
from lookalike.entities.fields import Field, as_days, as_numbers, canonical, guess_kind, normalise
from lookalike.entities.mixture import MISSING, Mixture, fit
from lookalike.entities.resolution import NEUTRAL, Resolution, one_to_one
from lookalike.entities.scores import FULL
from lookalike.entities.validation import validate as tell
from lookalike.io.records import RecordSource
from lookalike.io.tables import plain
from lookalike.kernels.buckets import ONE
from lookalike.search.collection import unique_ids

LEVELS = (40.0, 75.0, 99.0)  # points from which on a field agrees somewhat, nearly, wholly
RANDOM = 200_000  # pairs of random records
TELLING = 3  # fields that the mixture takes to tell matches from others
LIKELY = 0.5  # the least probability of a match, unless a precision is asked for


def resolve(
    left: Any,
    right: Any = None,
    *,
    fields: Sequence[Field | str],
    id: str | None = None,
    validate: Field | str | None = None,
    max_lag: float | None = None,
    precision: float | None = None,
    one_to_one: bool = False,
    threshold: float = 0.6,
    nearest: int = 2,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> Resolution:
    """The pairs of records of two tables, or within one, that are of the same person or thing.

    `fields` name the columns to compare: "name", or "address:street" where the second table calls it otherwise;
    "born=date" tells the kind, "phone*2" a weight (`Field`). `validate` names a column of dates or numbers that is not
    among them, from which the share of true matches is told for each score; with `max_lag` a value of the second table
    is at least that of the first, and at most so much more. Without it the probabilities are those of a mixture of
    matches and others. `precision` is the share of true matches wanted, on average; by default a pair is a match if
    that is more likely than not. `threshold` and `nearest` say which pairs are looked at (`blocks`). `id` names the
    column of ids, "key:number" if the tables call it otherwise; by default it is `id`, or else rows are counted.
    """
    job = Job(left, right, as_fields(fields), id, Run(threads) if run is None else run)
    chosen = None if validate is None else as_fields([validate])[0]
    job.check(chosen, max_lag)
    return job.resolve(
        chosen,
        None if max_lag is None else positive("max_lag", max_lag),
        None if precision is None else fraction("precision", precision),
        one_to_one,
        fraction("threshold", threshold),
        whole("nearest", nearest, least=0),
        whole("seed", seed, least=0, most=LARGEST_SEED),
    )


class Job:
    """One or two tables with the fields that they are compared by."""

    def __init__(self, left: Any, right: Any, fields: list[Field], id: str | None, run: Run):
        self.run = run
        self.tables = [as_table(side, run) for side in (left, right) if side is not None]
        self.split = len(self.tables[0]) if len(self.tables) > 1 else ONE
        self.records = sum(len(table) for table in self.tables)
        self.fields = fields
        first, _, second = (id or "").partition(":")
        names = [first or None, second or first or None]
        sides = zip(self.tables, names, self.named(), strict=False)
        self.ids = [ids_of(table, name, where) for table, name, where in sides]
        self.notes: list[str] = []
        self.guess = False  # all that probabilities are

    def check(self, chosen: Field | None, max_lag: float | None) -> None:
        """The columns must be there, and what validates must not be what scores."""
        for field in [*self.fields, *([] if chosen is None else [chosen])]:
            self.raw(field)
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"fields must be different; {twice!r} is there twice.")
        if chosen is not None and any((chosen.left, chosen.right) == (one.left, one.right) for one in self.fields):
            raise UsageError(f"validate must be a column that is not scored; {chosen.left!r} is among the fields.")
        if max_lag is not None and chosen is None:
            raise UsageError("max_lag is for the column that validates: name it with validate (--validate).")

    def raw(self, field: Field) -> list[pa.ChunkedArray]:
        """A field's column of each table."""
        sides = zip(self.tables, self.named(), (field.left, field.right), strict=False)
        return [column_of(table, name, f"field {field.name!r}", where) for table, where, name in sides]

    def named(self) -> list[str]:
        """What the tables are called in messages."""
        return ["table"] if len(self.tables) == 1 else ["first table", "second table"]

    def column(self, field: Field) -> Column:
        """A field of all records, normalised."""
        sides = self.raw(field)
        kind = field.kind or guess_kind(field.name, sides[0])
        done = [normalise(side, kind) for side in sides]
        values = pa.chunked_array([one.values for one in done], pa.large_string()).combine_chunks()
        missing, unread = sum(one.missing for one in done), sum(one.unparsable for one in done)
        if missing == self.records and self.records:
            self.notes.append(f"{field.name} is empty in all records, and tells nothing")
        if unread:
            self.notes.append(f"{counted(unread, 'value')} of {field.name} cannot be read as {kind}, and are missing")
        return Column(field.name, kind, values, canonical(values, kind))

    def resolve(
        self,
        chosen: Field | None,
        max_lag: float | None,
        precision: float | None,
        single: bool,
        threshold: float,
        nearest: int,
        seed: int,
    ) -> Resolution:
        """Everything, one step after another."""
        with self.run.stage("fields", len(self.fields)) as tick:
            columns = []
            for field in self.fields:
                columns.append(self.column(field))
                tick(1)
        found = find_candidates(columns, self.split, threshold=threshold, nearest=nearest, seed=seed, run=self.run)
        left, right = np.divmod(found.numbers, max(1, self.records))
        lags = None if chosen is None else self.lags(chosen)
        if lags is not None and max_lag is not None:
            apart = self.apart(lags, left, right, max_lag)
            possible = np.isnan(apart) | ((apart >= 0) & (apart <= max_lag))
            beyond = int((~possible).sum())
            if beyond:
                self.notes.append(f"{counted(beyond, 'pair')} with a lag beyond 0 to {max_lag:g} left out")
            left, right = left[possible], right[possible]
        points = self.points(columns, left, right)
        weights = np.array([field.weight for field in self.fields])
        score = np.where(np.isnan(points), NEUTRAL, points) @ weights
        validation = mixture = None
        if lags is not None and chosen is not None:
            one, other = self.random_pairs(seed) if max_lag is None else self.pairs_within(lags, max_lag, seed)
            random = self.apart(lags, one, other, max_lag)
            apart = self.apart(lags, left, right, max_lag)
            validation = tell(chosen.name, score, apart, random, FULL * weights.sum())
            probability = validation.probability(score)
            basis = f"the differences of {chosen.name}"
        else:
            mixture, probability = self.mixture(columns, left, right, points, score, seed)
            basis = "a mixture of matches and others"
        cut_off = least_probability(probability, precision)
        every = Resolution(
            left,
            right - max(self.split, 0),
            score,
            points,
            probability,
            self.ids[0],
            self.ids[1] if len(self.ids) > 1 else None,
            self.fields,
            columns,
            found,
            cut_off,
            basis,
            validation,
            mixture,
            {"note": "; ".join(self.notes), "guess": self.guess, "seconds": self.run.seconds},
        )
        order = np.lexsort((right, left, -score, -probability))
        every = part_of(every, order)
        matches = np.flatnonzero(every.probability >= cut_off)
        if single:
            matches = matches[one_to_one(left[order[matches]], right[order[matches]], self.records)]
        return replace(part_of(every, matches), every=every)

    def apart(self, lags: np.ndarray, left: np.ndarray, right: np.ndarray, max_lag: float | None) -> np.ndarray:
        """By how much the values of pairs differ; from the first table to the second where there is an order."""
        difference: np.ndarray = lags[right] - lags[left]
        return np.abs(difference) if max_lag is None or self.split == ONE else difference

    def mixture(
        self,
        columns: list[Column],
        left: np.ndarray,
        right: np.ndarray,
        points: np.ndarray,
        score: np.ndarray,
        seed: int,
    ) -> tuple[Mixture, np.ndarray]:
        """The mixture of matches and others, and how likely each pair is a match by it.

        It is fitted to pairs without a rival: those with the best score of both their records. A pair with a rival that
        differs in some field is taken for none, since members of a family share nearly all, and only that each has a
        better match tells them apart. One that differs in none may be a third record of the same entity.
        """
        levels = as_levels(points)
        random = as_levels(self.points(columns, *self.random_pairs(seed)))
        best = np.full(self.records, -np.inf)
        np.maximum.at(best, left, score)
        np.maximum.at(best, right, score)
        alone = (score >= best[left]) & (score >= best[right])
        with self.run.stage("mixture"):
            mixture = fit(levels[alone], random_levels=random)
        probability = mixture.probability(levels)
        none = ~alone & (levels == 0).any(axis=1)
        taken = int(np.count_nonzero(probability[none] >= LIKELY))
        if taken:
            why = "a field differs and one of the two is more like another record"
            self.notes.append(f"{counted(taken, 'pair')} not taken for matches, as {why}")
        probability[none] = 0
        if np.count_nonzero((levels != MISSING).any(axis=0)) < TELLING:
            self.guess = True
            self.notes.append(f"with fewer than {TELLING} fields the probabilities are no more than a guess")
        return mixture, probability

    def points(self, columns: list[Column], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The points of each field of pairs of records."""
        out = np.empty((len(left), len(columns)), np.float32)
        with self.run.stage("score", len(columns)) as tick:
            for at, column in enumerate(columns):
                out[:, at] = compare(column, left, right, self.run)
                tick(1)
        return out

    def lags(self, chosen: Field) -> np.ndarray:
        """The value that validates, of all records: days or numbers, nan where missing."""
        column = self.column(chosen)
        if column.kind not in ("date", "number"):
            raise UsageError(f"validate must be a column of dates or numbers; {chosen.name!r} holds {column.kind}.")
        return as_days(column.values) if column.kind == "date" else as_numbers(column.values)

    def random_pairs(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of records drawn at random, of the two tables or within the one."""
        rng = np.random.default_rng(seed)
        if self.records < 2 or self.split == 0 or self.split == self.records:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self.split == ONE:
            left = rng.integers(0, self.records, RANDOM)
            return left, (left + rng.integers(1, self.records, RANDOM)) % self.records
        return rng.integers(0, self.split, RANDOM), rng.integers(self.split, self.records, RANDOM)

    def pairs_within(self, lags: np.ndarray, max_lag: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Random pairs whose lag is possible: a random record, and a random one of those within reach of it."""
        rng = np.random.default_rng(seed)
        first = np.arange(self.records if self.split == ONE else self.split)
        second = np.arange(0 if self.split == ONE else self.split, self.records)
        first, second = first[~np.isnan(lags[first])], second[~np.isnan(lags[second])]
        second = second[np.argsort(lags[second], kind="stable")]
        ordered = lags[second]
        low = np.searchsorted(ordered, lags[first])
        counts = np.searchsorted(ordered, lags[first] + max_lag, side="right") - low
        if not counts.sum():
            return first[:0], second[:0]
        chosen = rng.choice(len(first), RANDOM, p=counts / counts.sum())
        others = second[low[chosen] + (rng.random(RANDOM) * counts[chosen]).astype(np.int64)]
        apart = first[chosen] != others
        return first[chosen][apart], others[apart]


def part_of(every: Resolution, rows: np.ndarray) -> Resolution:
    """Some of the pairs, in that order."""
    some = {name: getattr(every, name)[rows] for name in ("left", "right", "score", "points", "probability")}
    return replace(every, **some)


def as_levels(points: np.ndarray) -> np.ndarray:
    """How well each field agrees: 0 not, 1 somewhat, 2 nearly, 3 wholly, or MISSING."""
    levels: np.ndarray = np.searchsorted(LEVELS, np.nan_to_num(points), side="right").astype(np.uint8)
    levels[np.isnan(points)] = MISSING
    return levels


def least_probability(probability: np.ndarray, precision: float | None) -> float:
    """The least probability of a match, such that so large a share of all from it on are expected to be true."""
    if precision is None:
        return LIKELY
    ordered = np.sort(probability)[::-1]
    last = np.append(ordered[1:], -1) < ordered  # of those just as likely, which are matches all or none
    good = np.flatnonzero(last & (np.cumsum(ordered) / np.arange(1, len(ordered) + 1) >= precision))
    return float(ordered[good[-1]]) if len(good) else np.inf


def as_fields(given: Any) -> list[Field]:
    """Fields, or what they are written as."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise UsageError(f"fields must be a list of at least one column to compare; got {given!r}.")
    for one in given:
        if not isinstance(one, Field | str):
            raise UsageError(f"a field must be a Field, or a text such as 'name' or 'address:street'; got {one!r}.")
    return [Field.parse(one) if isinstance(one, str) else one for one in given]


def column_of(table: pa.Table, name: str, what: str, where: str) -> pa.ChunkedArray:
    """The column of a name, of which there must be just one."""
    one_column(table.schema.names, name, f"the {where} has", f" for {what}")
    return table[name]


def as_table(given: Any, run: Run) -> pa.Table:
    """A table as it is, read from a file, or made of a data frame or of dictionaries, one a row."""
    if isinstance(given, pa.Table):
        return given
    if isinstance(given, str | Path):
        return RecordSource(given).read(run)
    try:
        return pa.Table.from_pylist(given) if isinstance(given, list) else pa.table(given)
    except (TypeError, ValueError, AttributeError, pa.ArrowException):
        raise UsageError(
            f"records must be a table, a data frame, dictionaries or a path; got {type(given).__name__}."
        ) from None


def ids_of(table: pa.Table, name: str | None, where: str) -> pa.Array:
    """The ids of a table: the column, by default `id`; or the rows' numbers."""
    wanted = name or ("id" if "id" in table.schema.names else "-")
    if wanted == "-":
        return pa.array(np.arange(len(table)))
    column = column_of(table, wanted, "the id", where)
    if pa.types.is_nested(column.type):
        raise DataError(f"column {wanted!r} holds {column.type}, which is no id.")
    if column.null_count:
        raise DataError(f"column {wanted!r} for the id has {counted(column.null_count, 'row')} without one.")
    return unique_ids([plain(pa.table({"id": column}))["id"]])
