"""Hold ratings in arrays, and make sets of them: what a user rated, or who rated an item."""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, argument, choice, parameter
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.elements import MOST_COPIES, assemble
from lookalike.io.objects import unwrapped
from lookalike.io.part import UTF8
from lookalike.io.ratings import HEADLESS, RatingRows, RatingSource
from lookalike.io.source import BATCH_BYTES
from lookalike.io.tables import is_text
from lookalike.items.sets import Sets, hash_integers, hash_texts

SIDES = ("user", "item")
WAYS = ("all", "high", "liked-hated", "stars")  # to make sets of ratings
LIKED = Fraction(3, 5)  # of the way from the lowest rating to the highest; liked from there on
MOST_STEPS = 1000  # on a scale of stars


class RatedElements(NamedTuple):
    """Elements: set `rows[i]` has code `codes[i]`, `copies[i]` times, from rating `kept[i]`."""

    rows: np.ndarray
    codes: np.ndarray
    copies: np.ndarray
    kept: np.ndarray


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated what: sorted by user, then by time or, without times, in the order given.

    If a user rated an item several times, only the last rating counts.

    >>> ratings = Ratings.of([("ann", "Vertigo", 5), ("ann", "Fargo", 2), ("bob", "Vertigo", 4)])
    >>> ratings
    <3 ratings by 2 users of 2 items>
    """

    users: np.ndarray  # positions in `user_ids`
    items: np.ndarray  # positions in `item_ids`
    user_ids: pa.Array
    item_ids: pa.Array
    values: np.ndarray | None = None  # the ratings, if there are any
    times: np.ndarray | None = None  # numbers, or seconds since 1970
    stats: dict[str, int] = field(default_factory=dict)  # numbers of repeated and skipped rows
    columns: dict[str, str] = field(default_factory=dict)  # their names in the input
    bad_files: tuple[str, ...] = ()  # the names of those skipped
    bounds: tuple[float, float] | None = None  # of the scale, if not those of the ratings

    @classmethod
    def read(
        cls, inputs: Any, *, user: str | None = None, item: str | None = None, rating: str | None = None,
        time: str | None = None, separator: str | None = None, format: str | None = None, on_error: str = "fail",
        on_bad_file: str = "fail", encoding: str = UTF8, batch_bytes: int = BATCH_BYTES, run: Run | None = None,
    ) -> "Ratings":  # fmt: skip
        """Read files, folders, globs, `-` (standard input) or Arrow tables, and return the ratings.

        Args:
            inputs: one of these, or several.
            user: the column of users; by default one with a usual name, else the first.
            item: the column of items; by default one with a usual name, else the next.
            rating: the column of ratings; "-" for none; by default one with a usual name, if any.
            time: the column of times; "-" for none; by default one with a usual name, if any.
            separator: the character between the cells of CSV, or "::"; by default detected.
            format: the format of the files; by default that of their suffixes.
            on_error: "fail", or "skip" to leave out bad rows and count them.
            on_bad_file: "fail", or "skip" to leave out damaged files and name them in `bad_files`.
            encoding: the encoding of CSV and JSON lines.
            batch_bytes: about how many bytes to read at a time.
            run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.
        """
        source = RatingSource(
            inputs, user=user, item=item, rating=rating, time=time, separator=separator, format=format,
            on_error=on_error, on_bad_file=on_bad_file, encoding=encoding, batch_bytes=batch_bytes,
        )  # fmt: skip
        ratings = cls.of_rows(source.read(run or Run()), source.skipped)
        return replace(ratings, columns=source.columns, bad_files=tuple(source.bad_files))

    @classmethod
    def of(cls, rows: Any) -> "Ratings":
        """Make ratings from a table, data frame, path, or rows (user, item[, rating[, time]])."""
        if isinstance(rows, Ratings):
            return rows
        if isinstance(rows, str | Path | pa.Table):
            return cls.read(rows)
        given = rows if isinstance(rows, dict) else unwrapped(rows)[0]
        return cls.read(given if isinstance(given, pa.Table) else table_of(given))

    @classmethod
    def of_rows(cls, rows: RatingRows, skipped: int = 0) -> "Ratings":
        """Make ratings sorted by user and time, with the last one of each user and item."""
        users, items = rows.users.astype(np.int64), rows.items.astype(np.int64)
        values, times, user_ids, item_ids = rows[2:]
        order = np.argsort(users, kind="stable") if times is None else np.lexsort((times, users))
        pairs = (users * len(item_ids) + items)[order]
        last = len(pairs) - 1 - np.unique(pairs[::-1], return_index=True)[1]
        order = order[np.sort(last)]
        values, times = (None if one is None else one[order] for one in (values, times))
        stats = {"repeated": len(users) - len(order), "skipped": skipped}
        return cls(users[order], items[order], user_ids, item_ids, values, times, stats)

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        users, items = counted(len(self.user_ids), "user"), counted(len(self.item_ids), "item")
        return f"<{counted(len(self), 'rating')} by {users} of {items}>"

    @property
    def scale(self) -> tuple[float, float]:
        """Return the lowest and the highest rating; (1, 1) if there are none."""
        if self.bounds is not None:
            return self.bounds
        if self.values is None or not len(self):
            return 1.0, 1.0
        return float(self.values.min()), float(self.values.max())

    @property
    def popularity(self) -> np.ndarray:
        """Return how many users rated each item."""
        return np.bincount(self.items, minlength=len(self.item_ids))

    def liked_from(self, liked: float | None = None) -> float:
        """Return the lowest rating that means liked: `liked`, or 3/5 of the way up the scale.

        >>> Ratings.of([("ann", "Vertigo", 5), ("ann", "Fargo", 1)]).liked_from()
        3.4
        """
        if liked is not None:
            if isinstance(liked, bool) or not isinstance(liked, int | float | np.number) or not math.isfinite(liked):
                raise UsageError(f"liked must be a number, the lowest rating that means liked; got {liked!r}.")
            return float(liked)
        low, high = (Fraction(str(end)) for end in self.scale)
        return float(low + LIKED * (high - low))

    def likes(self, liked: float | None = None) -> np.ndarray:
        """Return whether each rating means liked; without values, all do."""
        if liked is not None and self.values is None:
            raise UsageError(
                f"liked needs a column of ratings, which the input does not have; leave out {parameter('liked')}."
            )
        least = self.liked_from(liked)
        likes: np.ndarray = np.ones(len(self), bool) if self.values is None else self.values >= least
        return likes

    def elements(self, by: str = "user", ratings: str = "all", liked: float | None = None) -> RatedElements:
        """Return the elements of the sets: items of each user, or users of each item."""
        choice("by", by, SIDES)
        choice("ratings", ratings, WAYS)
        if ratings != "all" and self.values is None:
            raise UsageError(f"ratings must be 'all' if there is no column of ratings; got {ratings!r}.")
        rows, codes = (self.users, self.items) if by == "user" else (self.items, self.users)
        kept, copies = np.arange(len(self)), np.ones(len(self), np.int64)
        if ratings == "high":
            kept = np.flatnonzero(self.likes(liked))
        elif ratings == "liked-hated":
            codes = 2 * codes + self.likes(liked)
        elif ratings == "stars":
            copies = self.stars()
        return RatedElements(rows[kept], codes[kept], copies[kept], kept)

    def has_stars(self) -> bool:
        """Return whether the ratings can be counted as stars."""
        with suppress(DataError):
            return self.values is not None and len(self.stars()) >= 0
        return False

    def stars(self) -> np.ndarray:
        """Return the ratings as multiples of the largest step that divides all of them."""
        assert self.values is not None
        found, which = np.unique(self.values, return_inverse=True)
        if len(found) and found[0] <= 0:
            others = ", ".join(repr(way) for way in WAYS[:-1])
            raise DataError(f"the ratings must be above 0 to be counted as stars; got {found[0]:g}. Use {others}.")
        exact = [Fraction(repr(value)) for value in found[: MOST_STEPS + 1].tolist()]
        whole = math.lcm(*(one.denominator for one in exact))
        counts = [int(one * whole) for one in exact]
        step = math.gcd(*counts)
        if len(found) > MOST_STEPS or max(counts, default=0) > MOST_STEPS * step:
            raise DataError(
                f"the ratings must be on a scale of at most {MOST_STEPS:,} even steps to be counted as stars."
            )
        stars: np.ndarray = np.array([count // max(1, step) for count in counts], np.int64)[which]
        if stars.sum() > MOST_COPIES:
            raise DataError(f"the stars must add up to at most {MOST_COPIES:,}; got {stars.sum():,}.")
        return stars

    def sets(self, by: str = "user", ratings: str = "all", liked: float | None = None) -> Sets:
        """Return one set per user, of the items rated; or one per item, of the users who rated it.

        `ratings` says what the elements are. "all": everything rated. "high": only what is liked,
        that is, rated `liked` or more. "liked-hated": liking a thing and hating it are two
        elements. "stars": a bag, in which a thing with n stars occurs n times.
        """
        if liked is not None and ratings not in ("high", "liked-hated"):
            raise UsageError(f"liked is for ratings 'high' or 'liked-hated'; got {argument('ratings', ratings)}.")
        some = self.elements(by, ratings, liked)
        ids, others = (self.user_ids, self.item_ids) if by == "user" else (self.item_ids, self.user_ids)
        hashes = hash_ids(others)
        if ratings == "liked-hated":
            hashes = np.stack((hash_integers(hashes), hashes), axis=1).ravel()  # hated, liked
        bag = ratings == "stars"
        rows, codes = (np.repeat(one, some.copies) if bag else one for one in (some.rows, some.codes))
        return replace(assemble(len(ids), rows, hashes[codes], bag), ids=ids)

    def by_groups(self, groups: Any) -> "Ratings":
        """Return the ratings with groups in place of items; the centres give the ids.

        Of several items in a group the best rating and the latest time count. The scale stays.
        """
        if not self.item_ids.equals(groups.ids):
            raise UsageError("groups must be made from these ratings, with group_items(ratings).")
        centres, places = np.unique(groups.centre, return_inverse=True)
        keys = self.users * len(centres) + places[self.items]
        found, which = np.unique(keys, return_inverse=True)
        values, times = (None if one is None else greatest(one, which, len(found)) for one in (self.values, self.times))
        users, items = np.divmod(found, max(1, len(centres)))
        ids = self.item_ids.take(pa.array(centres))
        grouped = Ratings.of_rows(RatingRows(users, items, values, times, self.user_ids, ids))
        return replace(grouped, stats=self.stats, columns=self.columns, bounds=self.scale)


def greatest(values: np.ndarray, which: np.ndarray, count: int) -> np.ndarray:
    """Return the greatest value of each of `count` kinds."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, which, values)
    return best


def table_of(rows: Any) -> pa.Table:
    """Return rows as a table."""
    if isinstance(rows, bytes | dict) or not isinstance(rows, Iterable):
        raise UsageError(f"ratings must be rows, a table, a data frame or a path; got {type(rows).__name__}.")
    every = [tuple(row) if isinstance(row, list) else row for row in rows]
    if every and all(isinstance(row, dict) for row in every):
        return pa.Table.from_pylist(every)
    width = len(every[0]) if every and isinstance(every[0], tuple) else 2
    for at, row in enumerate(every):
        if not isinstance(row, tuple) or len(row) != width or not 2 <= width <= len(HEADLESS):
            raise DataError(
                f"row {at}: ratings must be (user, item[, rating[, time]]), all of the same length; got {row!r}."
            )
    try:
        columns = [pa.array([row[at] for row in every], None if every else pa.string()) for at in range(width)]
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(f"ratings must have columns of one type each: {' '.join(str(error).split())}") from None
    return pa.table(columns, names=list(HEADLESS[:width]))


def hash_ids(ids: pa.Array) -> np.ndarray:
    """Return one hash per id, the same whichever file it comes from."""
    if pa.types.is_integer(ids.type):
        wide = pa.uint64() if ids.type == pa.uint64() else pa.int64()
        return hash_integers(np.asarray(ids.cast(wide)))
    if is_text(ids.type):
        return hash_texts(ids.cast(pa.large_string()))
    return hash_texts(ids.cast(pa.string()).cast(pa.large_string()))
