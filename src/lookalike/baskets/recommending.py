"""Recommend what similar users liked, with the users it comes from and why.

Similar users are those with the highest Jaccard similarity, where the latest of a user's own
ratings count most: a rating followed by `half_life` others counts half. Each similar user gives an
item its stars, times a power of the similarity. The sum is divided by a power of the number of
users who rated the item, since what everybody has says little. The constants were chosen on
held-out ratings: see bench/results/baskets.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import process

from lookalike.baskets.ratings import Ratings
from lookalike.core.errors import UsageError, whole, within
from lookalike.core.run import Run, slices
from lookalike.core.wording import counted
from lookalike.kernels.neighbours import best_offers, nearest_rows
from lookalike.results import Explanation, Result
from lookalike.results.explanations import ExplainedRows

NEIGHBOURS = 200  # similar users to ask
HALF_LIFE = 4.0  # ratings
POWER = 3.0  # of the similarity, as the weight of a vote
DAMPING = 0.3  # votes are divided by the popularity to this power
LEAST_WEIGHT = 1e-100  # of a rating, however old
SHOWN = 3  # similar users shown per recommendation, and items in common
SLICE = 256  # users per task
CLOSE = 60  # least points of 100 for suggesting another id


class Neighbour(NamedTuple):
    """A similar user, the similarity, and the user's rating of the item; None if there are none."""

    user: Any
    similarity: float
    rating: float | None


class Recommendation(NamedTuple):
    """A recommended item, with its score as a share of the best.

    `who` are similar users who liked it; `why` are items that the user and some of them liked.
    """

    item: Any
    score: float
    who: list[Neighbour]
    why: list[Any]


@dataclass(frozen=True, eq=False)
class Recommendations(Result):
    """Recommendations for a user, best first.

    >>> rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    >>> found = recommend(rows, "ann")
    >>> found, found[0].item
    (<1 item for 'ann', liked by similar users>, 'Alien')
    """

    user: Any
    found: list[Recommendation]
    neighbours: int  # number of similar users asked
    kinds: tuple[pa.DataType, pa.DataType]  # of the ids of users and of items
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.found)

    def _listed(self, rows: np.ndarray) -> list[Any]:
        return [self.found[row] for row in rows]

    def explain(self, row: int) -> Explanation:
        """List the similar users who liked an item: `user`, `similarity` and `rating`."""
        return ExplainedRows([one._asdict() for one in self.found[row].who])

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'item')} for {self.user!r}, liked by similar users>"

    def to_arrow(self) -> pa.Table:
        """Return one row per item: `item`, `score`, `who` and `why`, as in `Recommendation`."""
        return super().to_arrow()

    def _table(self, rows: Any) -> pa.Table:
        user, item = self.kinds
        neighbour = pa.struct([("user", user), ("similarity", pa.float64()), ("rating", pa.float64())])
        kinds = {"item": item, "score": pa.float64(), "who": pa.list_(neighbour), "why": pa.list_(item)}
        listed = self.found[rows] if isinstance(rows, slice) else self._listed(rows)
        dicts = [one._asdict() | {"who": [other._asdict() for other in one.who]} for one in listed]
        return pa.Table.from_pylist(dicts, pa.schema(list(kinds.items())))


def recommend(
    given: Any,
    user: Any,
    *,
    k: int = 10,
    neighbours: int = NEIGHBOURS,
    ratings: str | None = None,
    liked: float | None = None,
    half_life: float = HALF_LIFE,
    run: Run | None = None,
) -> Recommendations:
    """Recommend items that similar users liked and the user has not rated, with reasons.

    Args:
        given: `Ratings`, or what `Ratings.of` accepts: rows, a data frame, a table or a path.
        user: the id of the user.
        k: the greatest number of items.
        neighbours: how many similar users to recommend from.
        ratings: how to compare users, as for `Ratings.sets`; by default "stars" if the ratings can
            be counted as stars, else "all".
        liked: the least rating that counts as liked; by default inferred from the ratings.
        half_life: the weight of a rating halves with every `half_life` later ratings of the same
            user; with 0, or without times, all count the same.
        run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

    Returns:
        `Recommendations`: iterate over (item, score, who, why): see `Recommendation`.

    >>> rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    >>> [(one.item, one.who[0].user, one.why) for one in recommend(rows, "ann")]
    [('Alien', 'bob', ['Fargo', 'Vertigo'])]
    """
    chosen = Recommender(given, neighbours=neighbours, ratings=ratings, liked=liked, half_life=half_life, run=run)
    return chosen.recommend(user, k)


def recommend_all(
    given: Any,
    users: Sequence[Any] | None = None,
    *,
    k: int = 10,
    neighbours: int = NEIGHBOURS,
    ratings: str | None = None,
    liked: float | None = None,
    half_life: float = HALF_LIFE,
    run: Run | None = None,
) -> pa.Table:
    """Recommend items to some users, or to all.

    Args:
        given: `Ratings`, or what `Ratings.of` accepts: rows, a data frame, a table or a path.
        users: the ids of the users; None for all.
        k: the greatest number of items for each user.
        neighbours: how many similar users to recommend from.
        ratings: how to compare users, as for `Ratings.sets`; by default "stars" if the ratings can
            be counted as stars, else "all".
        liked: the least rating that counts as liked; by default inferred from the ratings.
        half_life: the weight of a rating halves with every `half_life` later ratings of the same
            user; with 0, or without times, all count the same.
        run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

    Returns:
        An Arrow table of `user`, `item`, `rank` and `score`.

    >>> rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    >>> recommend_all(rows, ["ann"]).to_pylist()
    [{'user': 'ann', 'item': 'Alien', 'rank': 1, 'score': 1.0}]
    """
    chosen = Recommender(given, neighbours=neighbours, ratings=ratings, liked=liked, half_life=half_life, run=run)
    return chosen.recommend_all(users, k)


class Recommender:
    """An index of ratings for repeated recommendations; for the parameters see `recommend`.

    >>> rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    >>> recommender = Recommender(rows)
    >>> recommender.recommend("ann"), recommender.recommend("bob")
    (<1 item for 'ann', liked by similar users>, <0 items for 'bob', liked by similar users>)
    """

    def __init__(
        self,
        given: Any,
        *,
        neighbours: int = NEIGHBOURS,
        ratings: str | None = None,
        liked: float | None = None,
        half_life: float = HALF_LIFE,
        run: Run | None = None,
    ):
        self.data = data = Ratings.of(given)
        self.run = run or Run()
        users = len(data.user_ids)
        self.most = max(1, min(whole("neighbours", neighbours), users - 1))
        self.ratings = ratings or ("stars" if data.has_stars() else "all")
        half = float(within("half_life", half_life, np.inf))
        ages = later(data) / half if half and data.times is not None else np.zeros(len(data))
        weights = np.maximum(0.5**ages, LEAST_WEIGHT)
        self.liked = data.likes(liked)
        self.votes = shares(data)
        self.indptr = starts(data.users, users)
        some = data.elements("user", self.ratings, liked)
        by = np.argsort(some.codes, kind="stable")
        inverted = (starts(some.codes, 2 * len(data.item_ids)), some.rows[by], some.copies[by])
        sizes = np.bincount(some.rows, some.copies, users)
        self._index = (starts(some.rows, users), some.codes, some.copies, weights[some.kept], *inverted, sizes)
        self._offers = (self.indptr, data.items, self.votes, self.liked, np.maximum(1, data.popularity) ** -DAMPING)

    def recommend(self, user: Any, k: int = 10) -> Recommendations:
        """Recommend at most k items that similar users liked and the user has not rated."""
        query = self.places_of([user])
        place = int(query[0])
        near, similarity, items, scores = (found[0] for found in self._ask(query, whole("k", k)))
        near, similarity = near[near >= 0], similarity[near >= 0]
        sizes = self.indptr[near + 1] - self.indptr[near]
        theirs = np.arange(sizes.sum()) + np.repeat(self.indptr[near] - np.cumsum(sizes) + sizes, sizes)
        similar = np.repeat(similarity, sizes)[self.liked[theirs]]
        liked = theirs[self.liked[theirs]]  # what similar users liked
        found = []
        for item, score in zip(items[items >= 0].tolist(), scores.tolist(), strict=False):
            inside = np.flatnonzero(self.data.items[liked] == item)
            inside = inside[np.argsort(-(similar[inside] ** POWER) * self.votes[liked[inside]], kind="stable")][:SHOWN]
            who = [self._neighbour(*one) for one in zip(liked[inside], similar[inside], strict=True)]
            why = self._in_common(place, self.data.users[liked[inside]])
            found.append(Recommendation(self._item(item), score / float(scores[0]), who, why))
        kinds = (self.data.user_ids.type, self.data.item_ids.type)
        return Recommendations(self.data.user_ids[place].as_py(), found, len(near), kinds)

    def recommend_all(self, users: Sequence[Any] | None = None, k: int = 10) -> pa.Table:
        """Recommend at most k items per user (None: all): `user`, `item`, `rank` and `score`."""
        data, k = self.data, whole("k", k)
        queries = np.arange(len(data.user_ids)) if users is None else self.places_of(users)
        found = [self._ask(queries[:0], k)[2:]]
        with self.run.stage("recommend", len(queries)) as tick:
            for part in self.run.map(lambda part: self._ask(queries[part], k)[2:], slices(len(queries), SLICE)):
                found.append(part)
                tick(len(part[0]))
        items, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        row, rank = np.nonzero(items >= 0)
        named = data.user_ids.take(pa.array(queries[row])), data.item_ids.take(pa.array(items[row, rank]))
        shares = scores[row, rank] / scores[row, 0]
        return pa.table({"user": named[0], "item": named[1], "rank": rank + 1, "score": shares})

    def _ask(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
        """Return per user the most similar ones, similarities, the best items and their scores."""
        near, similarity = nearest_rows(queries, *self._index, self.most)
        k = max(1, min(k, len(self.data.item_ids)))
        return near, similarity, *best_offers(queries, near, similarity**POWER, *self._offers, k)

    def _in_common(self, place: int, others: np.ndarray) -> list[Any]:
        """Return items that the user and most of the others liked; of equal ones, the latest."""
        own = np.arange(self.indptr[place], self.indptr[place + 1])
        theirs = np.concatenate([np.arange(self.indptr[row], self.indptr[row + 1]) for row in others])
        mine, yours = own[self.liked[own]], theirs[self.liked[theirs]]
        items, others_have = self.data.items[mine], np.sort(self.data.items[yours])
        shared = np.searchsorted(others_have, items, side="right") - np.searchsorted(others_have, items)
        best = np.lexsort((-mine, -shared))[:SHOWN]
        return [self._item(item) for item in items[best[shared[best] > 0]]]

    def _neighbour(self, rating: int, similarity: float) -> Neighbour:
        """Return the user who made a rating."""
        user, values = self.data.user_ids[int(self.data.users[rating])].as_py(), self.data.values
        return Neighbour(user, float(similarity), None if values is None else float(values[rating]))

    def places_of(self, users: Sequence[Any]) -> np.ndarray:
        """Return the positions of users; the error for an unknown one suggests a similar id."""
        texts = self.data.user_ids.cast(pa.string())
        wanted = pa.array([str(user) for user in users], pa.string()).dictionary_encode()
        which = pc.index_in(texts, wanted.dictionary)  # looks up the many in the few
        rows = np.flatnonzero(which.is_valid())
        places = np.full(len(wanted.dictionary), -1)
        places[np.asarray(which.take(rows))] = rows
        found: np.ndarray = places[np.asarray(wanted.indices)]
        if (found < 0).any():
            lost = users[int(np.argmax(found < 0))]
            close = process.extractOne(str(lost), texts.to_pylist(), score_cutoff=CLOSE)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise UsageError(
                f"the user must be one of the {counted(len(texts), 'user')} in the data; got {lost!r}.{hint}"
            )
        return found

    def _item(self, place: int) -> Any:
        return self.data.item_ids[int(place)].as_py()


def later(data: Ratings) -> np.ndarray:
    """Return how many ratings the same user made later than each; equal times are one moment."""
    assert data.times is not None
    new = np.ones(len(data), bool)
    new[1:] = (np.diff(data.users) != 0) | (np.diff(data.times) != 0)
    moment = np.cumsum(new) - 1
    ends = np.append(np.flatnonzero(new)[1:], len(data))  # where each moment ends
    of_user = starts(data.users, len(data.user_ids))[data.users + 1]
    count: np.ndarray = of_user - ends[moment]
    return count


def shares(data: Ratings) -> np.ndarray:
    """Return ratings as shares of the highest; if some are below 0, of the way from the lowest."""
    low, high = data.scale
    if data.values is None or low == high:
        return np.ones(len(data))
    share: np.ndarray = (data.values - min(low, 0)) / (high - min(low, 0))
    return share


def starts(rows: np.ndarray, count: int) -> np.ndarray:
    """Return where each row begins among sorted rows, and where the last one ends."""
    indptr: np.ndarray = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=count))))
    return indptr
