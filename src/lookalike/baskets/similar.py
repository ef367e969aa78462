"""Find similar users, similar items, and groups of items."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.baskets.ratings import RatedElements, Ratings
from lookalike.core.errors import UsageError, argument, choice
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.find import dedup, find_pairs
from lookalike.items.sets import Sets
from lookalike.measures import exact_fraction
from lookalike.results import Dedup, Explanation, Pairs
from lookalike.results.base import Grouped, explained
from lookalike.search.settings import MAX_PAIRS

UNIONS = ("max", "sum")


def find_similar(
    given: Any,
    *,
    by: str = "user",
    ratings: str = "all",
    liked: float | None = None,
    union: str = "max",
    threshold: float | str | Fraction = 0.2,
    max_pairs: int = MAX_PAIRS,
    recall: float = 0.99,
    method: str = "auto",
    filter: str | None = None,
    sketch: str = "minhash",
    audit: int = 0,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> Pairs:
    """Find all pairs of similar users, or of similar items, by verified Jaccard similarity.

    Args:
        given: `Ratings`, or what `Ratings.of` accepts: rows, a data frame, a table or a path.
        by: "user" for pairs of users, "item" for pairs of items.
        ratings: the elements of the sets, as for `Ratings.sets`: "all", "high", "liked-hated" or
            "stars".
        liked: the least rating that counts as liked; by default inferred from the ratings.
        union: for stars, how often the union of two bags has an element: as often as the bag that
            has more of it ("max", so that equal bags have similarity 1), or as often as both bags
            together ("sum", so that equal bags have similarity 1/2).
        threshold: the least similarity of a pair.
        max_pairs: the number of pairs above which the search stops with an error.
        recall: the probability of finding a pair exactly at the threshold; 1.0 means an exact
            method.
        method: "auto" picks the cheapest; or "lsh" or "exact".
        filter: the last filter to use in an exact join, out of "length", "prefix", "position" and
            "suffix", which are applied in this order; by default all four are used.
        sketch: the kind of signature: "minhash" or "simhash".
        audit: how many users or items to compare with all others to measure the recall.
        seed: the seed of all random choices.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Pairs`: iterate over (left id, right id, similarity).

    >>> rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("cy", "Alien")]
    >>> list(find_similar(rows, threshold=0.5))
    [('ann', 'bob', 1.0)]
    """
    choice("union", union, UNIONS)
    if union == "sum" and ratings != "stars":
        raise UsageError(
            f"{argument('union', 'sum')} needs {argument('ratings', 'stars')}; got {argument('ratings', ratings)}."
        )
    data = Ratings.of(given)
    sets = named_sets(data, by, ratings, liked)
    measure = "bag_jaccard" if sets.bag else "jaccard"
    least = threshold if union == "max" else least_of_max(threshold)
    found = find_pairs(
        sets,
        threshold=least,
        measure=measure,
        max_pairs=max_pairs,
        recall=recall,
        method=method,
        filter=filter,
        sketch=sketch,
        audit=audit,
        seed=seed,
        threads=threads,
        run=run,
    )
    if union == "max":
        return found
    least = Fraction(*exact_fraction(threshold))
    return replace(found, values=over_sums(found, sets), stats=found.stats | {"threshold": float(least)})


def least_of_max(threshold: float | str | Fraction) -> Fraction:
    """Return the threshold for the union "max" that is equivalent to this one for "sum".

    Two bags of a and b elements that share o have similarity s = o / (a + b) with "sum" and
    o / (a + b - o) = s / (1 - s) with "max".

    >>> least_of_max(0.2), least_of_max("1/2")
    (Fraction(1, 4), Fraction(1, 1))
    """
    least = Fraction(*exact_fraction(threshold))
    if least > Fraction(1, 2):
        rule = f"threshold must be in (0, 0.5] for {argument('union', 'sum')}, where equal bags have similarity 1/2"
        raise UsageError(f"{rule}; got {threshold}.")
    return least / (1 - least)


def over_sums(found: Pairs, bags: Sets) -> np.ndarray:
    """Return the similarities with "sum", from those with "max" and the sizes."""
    both = bags.sizes[found.left] + bags.sizes[found.right]
    shared = np.rint(found.values / (1 + found.values) * both)
    similarity: np.ndarray = shared / both
    return similarity


def named_sets(data: Ratings, by: str, ratings: str, liked: float | None) -> Sets:
    """Return the sets of users, or of items, with elements that can be named by their ids."""

    def named(rows: np.ndarray) -> list[Counter[Any]]:
        some = data.elements(by, ratings, liked)
        return [named_elements(data, by, ratings, some, row) for row in rows.tolist()]

    return replace(data.sets(by, ratings, liked), named=named)


def named_elements(data: Ratings, by: str, ratings: str, some: RatedElements, row: int) -> Counter[Any]:
    """Return the elements of one set, by their ids."""
    inside = np.flatnonzero(some.rows == row)
    codes, ids = some.codes[inside], data.item_ids if by == "user" else data.user_ids
    if ratings == "liked-hated":
        names = [f"{ids[code // 2]} {'liked' if code % 2 else 'hated'}" for code in codes.tolist()]
    else:
        names = ids.take(pa.array(codes)).to_pylist()
    return Counter(dict(zip(names, some.copies[inside].tolist(), strict=True)))


# --- groups ---


class ItemGroups(Grouped, Dedup):
    """Groups of items; each is verified to be similar to its centre, so that no chains form.

    >>> groups = group_items([(user, film) for user in "abc" for film in ("Alien", "Aliens")])
    >>> groups, groups[0]
    (<1 group with 2 of 2 items>, ['Alien', 'Aliens'])
    """

    def __len__(self) -> int:
        """Return how many groups have two or more items."""
        return int(np.count_nonzero(np.bincount(self.centre, minlength=1) > 1))

    def _members(self) -> tuple[np.ndarray, np.ndarray]:
        """Return items in groups of two or more, largest group and its centre first."""
        sizes = np.bincount(self.centre, minlength=len(self.centre))[self.centre]
        items = np.flatnonzero(sizes > 1)
        items = items[np.lexsort((items, -self.values[items], ~self.keep[items], self.centre[items], -sizes[items]))]
        return items, np.append(np.flatnonzero(self.keep[items]), len(items))

    def _table(self, rows: Any) -> pa.Table:
        items = self._members()[0][rows]
        group, ids = (self.ids.take(pa.array(places)) for places in (self.centre[items], items))
        sizes = np.bincount(self.centre)[self.centre[items]]
        return pa.table({"group": group, "id": ids, "similarity": self.values[items], "size": sizes})

    def to_arrow(self) -> pa.Table:
        """Return one row per item in a group of two or more; `group` is the id of its centre."""
        return super().to_arrow()

    def explain(self, row: int, member: int = 1) -> Explanation:
        """Explain what a member of a group, by default the first, shares with its centre."""
        inside = self._inside(row)
        return explained(self.holder, int(inside[0]), int(inside[member]))

    def __repr__(self) -> str:
        items = int(np.count_nonzero(np.bincount(self.centre, minlength=1)[self.centre] > 1))
        return f"<{counted(len(self), 'group')} with {items:,} of {counted(len(self.ids), 'item')}>"


def group_items(
    given: Any,
    *,
    ratings: str = "all",
    liked: float | None = None,
    threshold: float | str | Fraction = 0.3,
    recall: float = 0.99,
    method: str = "auto",
    filter: str | None = None,
    sketch: str = "minhash",
    audit: int = 0,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> ItemGroups:
    """Group similar items: the most popular ones become centres, and others join a similar centre.

    Args:
        given: `Ratings`, or what `Ratings.of` accepts: rows, a data frame, a table or a path.
        ratings: the elements of the sets, as for `Ratings.sets`.
        liked: the least rating that counts as liked; by default inferred from the ratings.
        threshold: the least similarity of an item to the centre of its group.
        recall: the probability of finding a pair exactly at the threshold; 1.0 means an exact
            method.
        method: "auto" picks the cheapest; or "lsh" or "exact".
        filter: the last filter to use in an exact join, out of "length", "prefix", "position" and
            "suffix", which are applied in this order; by default all four are used.
        sketch: the kind of signature: "minhash" or "simhash".
        audit: how many items to compare with all others to measure the recall.
        seed: the seed of all random choices.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `ItemGroups`: iterate over lists of ids, the centre first.

    >>> rows = [(user, film) for user in "abc" for film in ("Alien", "Aliens")] + [("a", "Fargo"), ("d", "Alien")]
    >>> list(group_items(rows, threshold=0.5))
    [['Alien', 'Aliens']]
    """
    data = Ratings.of(given)
    sets = named_sets(data, "item", ratings, liked)
    measure = "bag_jaccard" if sets.bag else "jaccard"
    stars = dedup(
        sets,
        keep=data.popularity,
        threshold=threshold,
        measure=measure,
        recall=recall,
        method=method,
        filter=filter,
        sketch=sketch,
        audit=audit,
        seed=seed,
        threads=threads,
        run=run,
    )
    return ItemGroups(**vars(stars))
