"""Similar users, similar items, and groups of items: sets of ratings to pairs and stars."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypedDict, Unpack

import numpy as np
import pyarrow as pa

from lookalike.baskets.ratings import RatedElements, Ratings
from lookalike.core.errors import UsageError, choice
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.find import dedup, find_pairs
from lookalike.items.sets import Sets
from lookalike.measures import exact_fraction
from lookalike.results import Dedup, Pairs
from lookalike.search.settings import MAX_PAIRS

UNIONS = ("max", "sum")


class SimilarOptions(TypedDict, total=False):
    """What is passed on: what may be missed, and how to run. See `search.settings.Options`."""

    recall: float
    method: str
    filter: str
    sketch: str
    seed: int
    audit: int
    threads: int
    run: Run


def find_similar(
    given: Any,
    *,
    by: str = "user",
    ratings: str = "all",
    liked: float | None = None,
    union: str = "max",
    threshold: float | str | Fraction = 0.2,
    max_pairs: int = MAX_PAIRS,
    **options: Unpack[SimilarOptions],
) -> Pairs:
    """All pairs of similar users, or of similar items, by Jaccard similarity, each one verified.

    `given`: `Ratings`, or what they can be made of. `ratings` and `liked` say what the elements are, as for
    `Ratings.sets`. Of stars the union of two bags has of each element the more copies ("max", so that equal bags have
    similarity 1) or all of both ("sum", as in the textbook, so that they have 1/2).

    >>> rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("cy", "Alien")]
    >>> list(find_similar(rows, threshold=0.5))
    [('ann', 'bob', 1.0)]
    """
    choice("union", union, UNIONS)
    if union == "sum" and ratings != "stars":
        raise UsageError(f"union 'sum' is for ratings 'stars'; got {ratings!r}.")
    data = Ratings.of(given)
    sets = named_sets(data, by, ratings, liked)
    measure = "bag_jaccard" if sets.bag else "jaccard"
    least = threshold if union == "max" else least_of_max(threshold)
    found = find_pairs(sets, threshold=least, measure=measure, max_pairs=max_pairs, **options)
    if union == "max":
        return found
    least = Fraction(*exact_fraction(threshold))
    return replace(found, values=over_sums(found, sets), stats=found.stats | {"threshold": float(least)})


def least_of_max(threshold: float | str | Fraction) -> Fraction:
    """The threshold for the union "max" that is just as strict as this one is for "sum".

    Two bags of a and b elements that share o have s = o / (a + b) by the one and o / (a + b - o) = s / (1 - s) by the
    other.

    >>> least_of_max(0.2), least_of_max("1/2")
    (Fraction(1, 4), Fraction(1, 1))
    """
    least = Fraction(*exact_fraction(threshold))
    if least > Fraction(1, 2):
        raise UsageError(
            f"threshold must be in (0, 0.5] for union 'sum', by which equal bags have 1/2; got {threshold}."
        )
    return least / (1 - least)


def over_sums(found: Pairs, bags: Sets) -> np.ndarray:
    """The similarities by the union "sum", from those by "max": the number of shared elements is whole."""
    both = bags.sizes[found.left] + bags.sizes[found.right]
    shared = np.rint(found.values / (1 + found.values) * both)
    similarity: np.ndarray = shared / both
    return similarity


def named_sets(data: Ratings, by: str, ratings: str, liked: float | None) -> Sets:
    """The sets of users, or of items, whose elements are known by their ids."""

    def named(rows: np.ndarray) -> list[Counter[Any]]:
        some = data.elements(by, ratings, liked)
        return [named_elements(data, by, ratings, some, row) for row in rows.tolist()]

    return replace(data.sets(by, ratings, liked), named=named)


def named_elements(data: Ratings, by: str, ratings: str, some: RatedElements, row: int) -> Counter[Any]:
    """The elements of one set, by their ids."""
    inside = np.flatnonzero(some.rows == row)
    codes, ids = some.codes[inside], data.item_ids if by == "user" else data.user_ids
    if ratings == "liked-hated":
        names = [f"{ids[code // 2]} {'liked' if code % 2 else 'hated'}" for code in codes.tolist()]
    else:
        names = ids.take(pa.array(codes)).to_pylist()
    return Counter(dict(zip(names, some.copies[inside].tolist(), strict=True)))


# --- groups ---


class ItemGroups(Dedup):
    """Items in groups: each is verified similar to the centre of its group, so that no chains form."""

    def __len__(self) -> int:
        """How many groups have two items or more."""
        return int(np.count_nonzero(np.bincount(self.centre, minlength=1) > 1))

    def __iter__(self) -> Iterator[list[Any]]:
        """The ids of each group of two items or more, its centre first."""
        table = self.to_arrow()
        ids, sizes = table["id"].to_pylist(), table["size"].to_pylist()
        start = 0
        while start < len(ids):
            yield ids[start : start + sizes[start]]
            start += sizes[start]

    def to_arrow(self) -> pa.Table:
        """A row for each item of a group of two or more: `group` (the id of its centre), `id`, `similarity`, `size`."""
        sizes = np.bincount(self.centre, minlength=len(self.centre))[self.centre]
        items = np.flatnonzero(sizes > 1)
        items = items[np.lexsort((items, -self.values[items], ~self.keep[items], self.centre[items], -sizes[items]))]
        group, ids = (self.ids.take(pa.array(places)) for places in (self.centre[items], items))
        return pa.table({"group": group, "id": ids, "similarity": self.values[items], "size": sizes[items]})

    def __repr__(self) -> str:
        items = int(np.count_nonzero(np.bincount(self.centre, minlength=1)[self.centre] > 1))
        return f"<{counted(len(self), 'group')} of {items:,} among {counted(len(self.ids), 'item')}>"


def group_items(
    given: Any,
    *,
    ratings: str = "all",
    liked: float | None = None,
    threshold: float | str | Fraction = 0.3,
    **options: Unpack[SimilarOptions],
) -> ItemGroups:
    """Groups of similar items. The most popular are the centres: an item joins the first that it is similar to.

    >>> rows = [(user, film) for user in "abc" for film in ("Alien", "Aliens")] + [("a", "Fargo"), ("d", "Alien")]
    >>> list(group_items(rows, threshold=0.5))
    [['Alien', 'Aliens']]
    """
    data = Ratings.of(given)
    sets = named_sets(data, "item", ratings, liked)
    measure = "bag_jaccard" if sets.bag else "jaccard"
    stars = dedup(sets, keep=data.popularity, threshold=threshold, measure=measure, **options)
    return ItemGroups(**vars(stars))
