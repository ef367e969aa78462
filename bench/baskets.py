"""Benchmark similar films, similar users and recommendations, and pairs of a million baskets.

    python bench/baskets.py DATA [--parts pairs,recommend,large] [--retail retail.dat] [--users 1000000]

DATA is the folder of MovieLens 100k, which contains u.data. retail.dat has one basket per line. The
peer needs `pip install implicit`.

pairs: compare the pairs that lookalike finds with those of brute force in NumPy and SciPy.
recommend: hold out the last rating of each user and check whether it is among ten recommendations;
all settings, of lookalike and of the peer, are chosen on earlier ratings.
large: find pairs of baskets at a low threshold, each data set in its own process.
"""

import argparse
import importlib.util
import itertools
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # implicit recommends it

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, csr_matrix
from shared import Table, machine, publish

from lookalike.baskets import Ratings, Recommender, find_similar, recommending
from lookalike.core.run import Run
from lookalike.core.statistics import wilson
from lookalike.io.ratings import RatingRows
from lookalike.io.sets import SetSource

HERE = Path(__file__).resolve()
PACKAGES = ("lookalike", "numpy", "scipy", "numba", "pyarrow", "implicit")
PARTS = ("pairs", "recommend", "large")
REPEAT = 3  # runs of short tasks; the best time counts
EARLIER = (1, 2, 3, 4, 5)  # ratings before the last one; settings are chosen on them
TOP = 10
NEIGHBOURS = (5, 10, 20, 50, 200, 1682)  # per item, for implicit
HALF_LIVES = (2.0, 4.0, 8.0)
MOST_PAIRS = 200_000_000
SAMPLED = 500  # baskets that an audit samples


def main() -> None:
    given = arguments()
    blocks: list[str | Table] = [machine(*PACKAGES)]
    if {"pairs", "recommend"} & {*given.parts}:
        data = Ratings.read(given.data / "u.data", format="tsv")
        low, high = data.scale
        blocks.append(f"{str(data)[1:-1]}, from {low:g} to {high:g}; liked: {data.liked_from():g} or more")
    if "pairs" in given.parts:
        blocks += pair_blocks(data)
    if "recommend" in given.parts:
        blocks += recommend_blocks(data)
    if "large" in given.parts:
        blocks += large_blocks(given.retail, given.users)
    publish(blocks, given.markdown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of MovieLens 100k")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"which parts to run, of {', '.join(PARTS)}")
    parser.add_argument("--retail", type=Path, metavar="FILE", help="a file with one basket per line")
    parser.add_argument("--users", type=int, default=1_000_000, help="number of users in the synthetic data set")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    given.parts = [name for name in given.parts.split(",") if name]
    if not {*given.parts} <= {*PARTS}:
        parser.error(f"--parts must be of {', '.join(PARTS)}; got {','.join(given.parts)}")
    for path in [given.data / "u.data", *([given.retail] if given.retail else [])]:
        if not path.is_file():
            sys.exit(f"no such file: {path}")
    return given


def best_time(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the shortest time of several runs."""
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


# --- pairs ---

PAIR_HEAD = (
    "pairs of|ratings|threshold|brute force|time|recall=1.0|same pairs|time|"
    "method='lsh'|recall|precision|time|auto|time"
)
CASES = [("item", "all"), ("user", "all"), ("item", "high"), ("user", "liked-hated"), ("item", "stars")]


def pair_blocks(data: Ratings) -> list[str | Table]:
    table: Table = [PAIR_HEAD.split("|")]
    for (by, ratings), threshold in itertools.product(CASES, (0.3, 0.2)):
        true, brute = best_time(lambda: brute_force(data, by, ratings, threshold))  # noqa: B023
        row = [{"item": "films", "user": "users"}[by], ratings, f"{threshold}", f"{len(true):,}", f"{brute:.2f} s"]
        for way in ({"recall": 1.0}, {"method": "lsh"}, {}):
            found, seconds = best_time(lambda: find_similar(data, by=by, ratings=ratings, threshold=threshold, **way))  # noqa: B023
            pairs = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
            both = len(pairs & true)
            if "recall" in way:
                row += [f"{len(pairs):,}", "yes" if pairs == true else "no"]
            elif "method" in way:
                row += [f"{len(pairs):,}", f"{both / len(true):.4f}", f"{both / len(pairs):.4f}"]
            else:
                row.append(found.plan.method)
            row.append(f"{seconds:.2f} s")
        table.append(row)
    notes = (
        "Brute force multiplies matrices of 0 and 1 (for stars, one matrix per star) and compares whole numbers. "
        f"'lsh' is asked for a recall of 0.99. Each time is the best of {REPEAT} runs, from ratings in memory to "
        "pairs."
    )
    return ["Pairs", table, notes]


def brute_force(data: Ratings, by: str, ratings: str, threshold: float) -> set[tuple[int, int]]:
    """Return all pairs of similar rows, left before right."""
    rows, columns = (data.users, data.items) if by == "user" else (data.items, data.users)
    n, m = (len(ids) for ids in ((data.user_ids, data.item_ids)[:: 1 if by == "user" else -1]))
    liked = data.values >= 4
    if ratings == "liked-hated":
        columns, m = columns + m * liked, 2 * m
    layers = [data.values >= star for star in range(1, 6)] if ratings == "stars" else [np.ones(len(data), bool)]
    if ratings == "high":
        layers = [liked]
    shared, sizes = np.zeros((n, n), np.int64), np.zeros(n, np.int64)
    for layer in layers:
        matrix = csr_array((np.ones(layer.sum(), np.int32), (rows[layer], columns[layer])), (n, m))
        shared += (matrix @ matrix.T).toarray()
        sizes += np.asarray(matrix.sum(axis=1)).ravel()
    p, q = Fraction(str(threshold)).as_integer_ratio()
    union = sizes[:, None] + sizes[None] - shared
    left, right = np.nonzero(np.triu((shared > 0) & (shared * q >= p * union), 1))
    return set(zip(left.tolist(), right.tolist(), strict=True))


# --- recommendations ---


def recommend_blocks(data: Ratings) -> list[str | Table]:
    blocks: list[str | Table] = ["Recommendations: settings tried on earlier ratings", *tried(data)]
    makers: dict[str, Callable[[Ratings], np.ndarray]] = {
        "lookalike": ours,
        "lookalike, all ratings weighted equally": lambda train: ours(train, half_life=0),
        "popularity": popular,
        **tuned_peers(data),
    }
    table: Table = [["recommended by", "hit-rate@10", "95% interval", "liked only", "time"]]
    train, users, items, liked = held_out(data, 0)
    for name, make in makers.items():
        found, seconds = best_time(lambda: make(train))  # noqa: B023
        hits = is_hit(found, users, items)
        low, high = wilson(int(hits.sum()), len(hits))
        row = [name, f"{hits.mean():.4f}", f"{low:.3f} to {high:.3f}", f"{hits[liked].mean():.4f}", f"{seconds:.2f} s"]
        table.append(row)
    notes = (
        f"The last rating of each of {len(users):,} users is held out (the last by time; among equal times, the last "
        f"in the file), and all films that the user has not rated before are ranked; {int(liked.sum())} of the "
        "held-out ratings are liked. Settings were chosen on the five ratings before the last: each is held out in "
        "turn, together with all later ones, and the mean of the five hit rates decides. Times are for all users and "
        "include fitting."
    )
    return [*blocks, "Recommendations: the last rating", table, notes]


def held_out(data: Ratings, back: int) -> tuple[Ratings, np.ndarray, np.ndarray, np.ndarray]:
    """Hold out the rating `back` before each user's last: (earlier, users, items, liked)."""
    last = np.append(np.flatnonzero(np.diff(data.users)), len(data) - 1)
    keep = np.ones(len(data), bool)
    for later in range(back + 1):
        keep[last - later] = False
    some = {name: getattr(data, name)[keep] for name in ("users", "items", "values", "times")}
    at = last - back
    return replace(data, **some), data.users[at], data.items[at], data.likes()[at]


def is_hit(found: np.ndarray, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    hit: np.ndarray = (found[users] == items[:, None]).any(axis=1)
    return hit


def rates(data: Ratings, make: Callable[[Ratings], np.ndarray]) -> tuple[float, float]:
    """Return the mean hit rates on earlier ratings: for all of them, and for the liked ones."""
    found = []
    for back in EARLIER:
        train, users, items, liked = held_out(data, back)
        hits = is_hit(make(train), users, items)
        found.append((hits.mean(), hits[liked].mean()))
    every, some = np.mean(found, axis=0)
    return float(every), float(some)


def ours(train: Ratings, **options: Any) -> np.ndarray:
    """Return the recommendations of lookalike, as an array of users x 10 items."""
    recommender = Recommender(train, **options)
    table = recommender.recommend_all(k=TOP)
    out = np.full((len(train.user_ids), TOP), -1)
    places = {name: at for at, name in enumerate(train.user_ids.to_pylist())}
    codes = {name: at for at, name in enumerate(train.item_ids.to_pylist())}
    users = np.array([places[name] for name in table["user"].to_pylist()])
    out[users, np.asarray(table["rank"]) - 1] = [codes[name] for name in table["item"].to_pylist()]
    return out


def tried(data: Ratings) -> list[str | Table]:
    """Change one setting at a time and measure the hit rate on earlier ratings."""
    table: Table = [["lookalike with", "hit-rate@10", "liked only"]]
    options: list[tuple[str, dict[str, Any]]] = [("default settings", {})]
    options += [(f"ratings {way!r}", {"ratings": way}) for way in ("all", "high", "liked-hated")]
    options += [(f"{count} neighbours", {"neighbours": count}) for count in (30, 50, 100, 942)]
    options += [(f"half-life {half:g}" if half else "no half-life", {"half_life": half}) for half in (0, 2, 8, 16)]
    options += [(f"similarity to the power of {power}", {"POWER": power}) for power in (1.0, 2.0, 4.0)]
    options += [(f"popularity to the power of {power}", {"DAMPING": power}) for power in (0.0, 0.2, 0.4)]
    for name, changed in options:
        constants = {key: changed[key] for key in changed if key.isupper()}
        before = {key: getattr(recommending, key) for key in constants}
        vars(recommending).update(constants)
        settings = {key: changed[key] for key in changed if key not in constants}
        every, liked = rates(data, lambda train: ours(train, **settings))  # noqa: B023
        vars(recommending).update(before)
        table.append([name, f"{every:.4f}", f"{liked:.4f}"])
    return [table]


def popular(train: Ratings) -> np.ndarray:
    """Recommend to each user the most often rated films that the user has not rated."""
    counts = np.tile(train.popularity.astype(float), (len(train.user_ids), 1))
    counts[train.users, train.items] = -1
    best: np.ndarray = np.argsort(-counts, axis=1, kind="stable")[:, :TOP]
    return best


def tuned_peers(data: Ratings) -> dict[str, Callable[[Ratings], np.ndarray]]:
    """Return the best of each kind of recommender of implicit, and the best with a half-life."""
    if importlib.util.find_spec("implicit") is None:
        print("implicit is skipped, since it is not installed: pip install implicit", file=sys.stderr)
        return {}
    from implicit.nearest_neighbours import BM25Recommender, CosineRecommender, TFIDFRecommender

    warnings.filterwarnings("ignore", message="Method expects CSR input")  # implicit raises it itself
    kinds: list[tuple[Any, dict[str, Any]]] = [(CosineRecommender, {}), (TFIDFRecommender, {})]
    kinds += [(BM25Recommender, {"K1": k1, "B": b}) for k1 in (0.2, 1.2, 100.0) for b in (0.2, 0.8)]
    every = []
    for (kind, settings), stars, count in itertools.product(kinds, (False, True), NEIGHBOURS):
        peer = Peer(kind, {"K": count, **settings}, stars)
        every.append((rates(data, peer)[0], peer))
    chosen = []
    for kind in dict.fromkeys(kind for kind, _ in kinds):
        chosen.append(max((one for one in every if one[1].kind is kind), key=lambda one: one[0]))
    firsts = [peer for _, peer in sorted(every, key=lambda one: -one[0])[:5]]
    firsts += [replace(peer, settings={**peer.settings, "K": NEIGHBOURS[-1]}) for peer in firsts]
    with_times = [replace(peer, half_life=half) for peer in firsts for half in HALF_LIVES]
    chosen.append(max(((rates(data, peer)[0], peer) for peer in with_times), key=lambda one: one[0]))
    for rate, peer in chosen:
        print(f"{peer}: {rate:.4f} on earlier ratings", file=sys.stderr)
    return {str(peer): peer for _, peer in chosen}


@dataclass(frozen=True)
class Peer:
    """A nearest-item recommender of implicit; with a half-life, the latest films weigh most."""

    kind: Any
    settings: dict[str, Any]
    stars: bool
    half_life: float = 0.0

    def __str__(self) -> str:
        words = ", ".join(f"{key}={value:g}" for key, value in self.settings.items())
        half = f", half-life {self.half_life:g}" if self.half_life else ""
        return f"implicit, {self.kind.__name__}({words}) on {'stars' if self.stars else '0 and 1'}{half}"

    def __call__(self, train: Ratings) -> np.ndarray:
        shape = (len(train.user_ids), len(train.item_ids))
        values = train.values if self.stars else np.ones(len(train))
        matrix = csr_matrix((values, (train.users, train.items)), shape)
        model = self.kind(**self.settings)
        model.fit(matrix, show_progress=False)
        if self.half_life:
            weights = 0.5 ** (recommending.later(train) / self.half_life)
            matrix = csr_matrix((values * weights, (train.users, train.items)), shape)
        found: np.ndarray = model.recommend(np.arange(shape[0]), matrix, N=TOP)[0]
        return found


# --- large ---


def large_blocks(retail: Path | None, users: int) -> list[str | Table]:
    head = "baskets|rows|pairs|candidates|method|recall by audit|read time|pairs time|peak memory|one user|1,000 users"
    table: Table = [head.split("|")]
    jobs = [("retail", str(retail), method) for method in ("auto", "lsh")] if retail is not None else []
    for name, given, method in [*jobs, ("synthetic", str(users), "auto")]:
        line = [sys.executable, str(HERE), "--child", name, given, method]
        result = json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout)
        table.append([f"{name}: {result.pop('sets'):,}", *result.values()])
        print(f"{table[-1]}", file=sys.stderr)
    notes = (
        "Similarity of at least 0.2; all ratings count; recall 0.99. The planner chose the method, except for "
        f"'lsh', which was requested. The audit compares {SAMPLED} baskets with all others. The time for pairs "
        "includes planning but not the audit. One user: a recommendation with its reasons, once the index is built; "
        "1,000 users: recommendations without reasons."
    )
    return ["Large sets", table, notes]


def child(name: str, given: str, method: str) -> dict[str, Any]:
    """Find the pairs of one large data set, and time recommendations."""
    find_similar([("a", "x"), ("b", "x")])  # compiles the kernels
    start = time.perf_counter()
    if name == "retail":
        ratings = of_baskets(given)
    else:
        table = made_up(int(given))
        start = time.perf_counter()
        ratings = Ratings.of(table)
    read = time.perf_counter() - start
    start = time.perf_counter()
    found = find_similar(ratings, threshold=0.2, method=method, audit=SAMPLED, max_pairs=MOST_PAIRS)
    seconds = time.perf_counter() - start - found.stats["seconds"]["audit"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    low, high = found.audit.interval
    audit = f"{found.audit.recall:.4f} ({low:.4f} to {high:.4f} of {found.audit.true:,})"
    pairs, candidates, method = f"{len(found):,}", f"{found.stats['candidates']:,}", found.plan.method
    del found
    recommender = Recommender(ratings)
    recommender.recommend_all(ratings.user_ids[:1].to_pylist())
    _, one = best_time(lambda: recommender.recommend(ratings.user_ids[5].as_py()))
    _, many = best_time(lambda: recommender.recommend_all(ratings.user_ids[:1000].to_pylist()))
    return {
        "sets": len(ratings.user_ids),
        "rows": f"{len(ratings):,}",
        "pairs": pairs,
        "candidates": candidates,
        "method": method,
        "audit": audit,
        "read": f"{read:.1f} s",
        "seconds": f"{seconds:.1f} s",
        "peak": f"{peak:,.0f} MB",
        "one": f"{1000 * one:.0f} ms",
        "many": f"{many:.2f} s",
    }


def of_baskets(path: str) -> Ratings:
    """Read a file with one basket per line as ratings."""
    ids, sets = SetSource(path, format="text").read(Run())
    found, items = np.unique(sets.elements, return_inverse=True)
    users = np.repeat(np.arange(len(sets)), sets.sizes)
    return Ratings.of_rows(RatingRows(users, items, None, None, ids, pa.array(found)))


def made_up(users: int, seed: int = 1) -> pa.Table:
    """Generate baskets of about ten items: seven of a taste that 200 users share, three popular."""
    rng = np.random.default_rng(seed)
    items, tastes, each = users // 5, max(1, users // 200), 80
    of_taste = rng.integers(0, items, (tastes, each))
    sizes = np.clip(rng.lognormal(2.3, 0.5, users).astype(int), 3, 60)
    user = np.repeat(np.arange(users), sizes)
    taste = rng.integers(0, tastes, users)[user]
    place = np.minimum((rng.exponential(0.35, len(user)) * each).astype(int), each - 1)
    anywhere = (items * rng.random(len(user)) ** 4).astype(int)
    item = np.where(rng.random(len(user)) < 0.3, anywhere, of_taste[taste, place])
    return pa.table({"user": user, "item": item})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(*sys.argv[2:])))
    else:
        main()
