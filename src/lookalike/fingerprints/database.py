"""Identify prints among enrolled ones, and find pairs of one finger, minutia by minutia."""

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import LARGEST_SEED, DataError, LookalikeError, UsageError, choice, fraction, remedy, whole
from lookalike.core.run import Run
from lookalike.fingerprints.corners import CornerTables
from lookalike.fingerprints.grids import grid_sets
from lookalike.fingerprints.prints import COLUMNS, FORMAT, MARK, Prints
from lookalike.fingerprints.squares import SquareIndex
from lookalike.io.remote import must_be_local
from lookalike.io.write import check_output, write_tables
from lookalike.kernels.minutiae import lay_upon, lay_upon_each
from lookalike.results import Explanation, Holder, Pairs
from lookalike.results.explanations import ExplainedRows
from lookalike.search.nearest import first_k

METHODS = ("corners", "grid", "all")
THRESHOLD = 0.35  # least similarity of a match
LEAST = 0.006  # votes needed for a comparison, as a share of the corners
DOUBT = 8  # minutiae assumed to meet no other, so that few that meet say little
REACH, SLACK, ROUNDS = (
    15.0,
    0.065,
    3,
)  # minutiae meet within these pixels and turns; how often the placement is improved


Found = tuple[np.ndarray, np.ndarray, np.ndarray]  # left, right and similarity of pairs


@dataclass(frozen=True, eq=False)
class Comparison:
    """How one print lies on another: their similarity, the turn, and the minutiae that meet.

    >>> finger = np.random.default_rng(1).uniform((0, 0, 0), (300, 400, 360), (40, 3))
    >>> found = compare(finger, finger)
    >>> len(found.minutiae), found.turn
    (40, 0.0)
    """

    similarity: float
    turn: float  # degrees by which the first print is turned
    minutiae: np.ndarray  # those that meet: one of the first print and one of the other per row

    def __repr__(self) -> str:
        return (
            f"<similarity {self.similarity:.3f}: {len(self.minutiae)} minutiae meet, turned by {self.turn:.0f} degrees>"
        )


def check_place(path: str | Path) -> None:
    """Raise an error if enrolled prints cannot be written to this path."""
    if Path(path).suffix != ".parquet":
        raise UsageError(f"enrolled prints are kept in a .parquet file; got {str(path)!r}.")
    must_be_local(path, "enrolled prints")
    check_output(str(path))


@contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Keep other processes from enrolling in this folder, so that no additions are lost."""
    folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def compare(one: Any, other: Any, *, seed: int = 1) -> Comparison:
    """Return how one print lies on the other where they fit best, and which minutiae meet.

    Each print is a list of minutiae (x, y, angle); `seed` chooses the functions that hash corners.
    The similarity is the number of minutiae that meet, divided by eight plus the number in the
    area where the prints overlap (the geometric mean of both prints' counts).

    >>> from lookalike.fingerprints import made_up_prints
    >>> one, same, other = made_up_prints(2).take(np.arange(3))
    >>> compare(one, same).similarity > 0.35, compare(one, other).similarity > 0.35
    (True, False)
    """
    asking, there = Prints.of([one]), Prints.of([other])
    votes, places = CornerTables(there, seed=seed).vote(asking, 0.0)
    if not votes[0]:
        return Comparison(0.0, 0.0, np.zeros((0, 2), np.int64))
    met = np.empty(len(asking.minutiae), np.int64)
    counts = lay_upon(there.points, asking.points, places[0], REACH, SLACK, ROUNDS, met)
    pairs = np.column_stack([np.flatnonzero(met >= 0), met[met >= 0]])
    return Comparison(float(_similarity(np.array([counts]))[0]), float(places[0, 0] * 360), pairs)


class Database:
    """Enrolled prints; `seed` chooses the functions they are hashed with.

    >>> from lookalike.fingerprints import Prints
    >>> draw = np.random.default_rng(1)
    >>> fingers = [draw.uniform((0, 0, 0), (300, 400, 360), (40, 3)) for _ in range(3)]
    >>> enrolled = Database(Prints.of(fingers, ids=["ada", "ben", "cleo"]))
    >>> shifted = Prints.of([fingers[1] + (20, -10, 0)], ids=["on the glass"])
    >>> [(left, right, round(similarity, 2)) for left, right, similarity in enrolled.identify(shifted)]
    [('on the glass', 'ben', 0.83)]
    """

    def __init__(self, prints: Prints, seed: int = 1) -> None:
        self.prints = prints
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)
        self._made: CornerTables | None = None  # built at the first query

    @classmethod
    def open(cls, path: str | Path) -> "Database":
        """Read a file that `save` has written."""
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
            names, written = table.schema.names, table.schema.metadata or {}
        except FileNotFoundError:
            how = f"create it with {remedy('Database.save', '`lookalike fingerprints enroll`')}"
            raise DataError(f"{path}: no such file; {how}.") from None
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise DataError(f"{path}: cannot be read as enrolled prints: {' '.join(str(error).split())}") from error
        if names != ["id", *COLUMNS] or MARK not in written:
            raise DataError(f"{path}: holds no enrolled prints.")
        got = written[MARK].decode("utf-8", "replace")
        if got != FORMAT:
            raise DataError(
                f"{path}: the prints have format {got}, but this version reads {FORMAT}; enroll them again."
            )
        seed = written.get(b"lookalike.seed", b"").decode("ascii", "replace")
        if not (seed.isascii() and seed.isdecimal() and len(seed) <= len(str(LARGEST_SEED))):
            raise DataError(f"{path}: the seed in it must be a whole number; got {seed!r}.")
        try:
            return cls(Prints.of_arrow(table), int(seed))
        except LookalikeError as error:
            raise DataError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the prints to a Parquet file, completely or not at all."""
        check_place(path)
        write_tables([self.prints.to_arrow()], str(path), {"prints": FORMAT, "seed": str(self.seed)})

    def enroll(self, prints: Prints) -> "Database":
        """Return a database with these prints added; their ids must be new."""
        known: set[str] = set(self.prints.ids.to_pylist())
        for name, count in Counter(prints.ids.to_pylist()).items():
            if count > 1:
                raise DataError(f"ids must be unique; {name!r} occurs {count} times among the prints to be enrolled.")
            if name in known:
                raise DataError(f"ids must be new; {name!r} is enrolled already.")
        return Database(Prints.concatenate([self.prints, prints]), self.seed)

    def identify(
        self,
        queries: Prints,
        *,
        threshold: float = THRESHOLD,
        k: int | None = None,
        method: str = "corners",
        groups: int = 1,
        run: Run | None = None,
    ) -> Pairs:
        """Return for each print the enrolled ones of at least this similarity, most similar first.

        `k` limits their number. `method` says which prints are compared: "corners", those that have
        many corners (a minutia and two of its neighbours) in common; "grid", those that share a
        bucket of grid squares in each of `groups` groups of 1024 functions; or "all".
        """
        most = max(1, len(self.prints)) if k is None else whole("k", k)
        (left, right, values), stats = self._look_up(queries, threshold, method, groups, run)
        best = first_k(left, right, values, most, alike=True)
        holder = HeldPrints([queries, self.prints])
        ids = queries.ids, self.prints.ids
        return Pairs(left[best], right[best], values[best], *ids, stats=stats, holder=holder)

    def pairs(
        self, *, threshold: float = THRESHOLD, method: str = "corners", groups: int = 1, run: Run | None = None
    ) -> Pairs:
        """Return the pairs of enrolled prints of the same finger."""
        (left, right, values), stats = self._look_up(self.prints, threshold, method, groups, run, within=True)
        return Pairs(left, right, values, self.prints.ids, stats=stats, holder=HeldPrints([self.prints]))

    def _look_up(
        self, queries: Prints, threshold: float, method: str, groups: int, run: Run | None, within: bool = False
    ) -> tuple[Found, dict[str, Any]]:
        """Return matches and counts; `within` the database, the better of both ways counts."""
        choice("method", method, METHODS)
        least = fraction("threshold", threshold)
        run = run or Run()
        with run.stage("hash"):
            compared = self._comparer(queries, method, whole("groups", groups), run, within)
        left, right, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        with run.stage("look up", len(queries)) as tick:
            for number, (rows, similarity) in enumerate(run.map(compared, range(len(queries)))):
                left.append(np.full(len(rows), number))
                right.append(rows)
                values.append(similarity)
                tick(1)
        found = np.concatenate(left), np.concatenate(right), np.concatenate(values)
        if within:
            found = either_way(*found, len(queries))
        possible = len(queries) * (len(queries) - 1) // 2 if within else len(queries) * len(self.prints)
        stats: dict[str, Any] = {"queries": len(queries), "enrolled": len(self.prints), "pairs": possible}
        stats |= {"compared": len(found[0]), "threshold": float(least)}
        match = found[2] >= least
        return (found[0][match], found[1][match], found[2][match]), stats

    def _tables(self, run: Run) -> CornerTables:
        """Return the corners of all prints."""
        if self._made is None:
            self._made = CornerTables(self.prints, seed=self.seed, run=run)
        return self._made

    def _comparer(
        self, queries: Prints, method: str, groups: int, run: Run, within: bool
    ) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
        """Return a function that compares a query: ascending prints, and their similarities."""
        tables = self._tables(run)
        every = np.arange(len(self.prints))
        if method == "grid":
            index = SquareIndex(grid_sets(self.prints), groups=groups, seed=self.seed)
            grids = grid_sets(queries)

        def compared(number: int) -> tuple[np.ndarray, np.ndarray]:
            asking = queries.take(np.array([number]))
            among = index.look_up(grids[number]) if method == "grid" else every
            if within:
                among = among[among != number]
            votes, places = tables.vote(asking, LEAST if method == "corners" else 0.0, among)
            rows = np.flatnonzero(votes)
            looked_at = rows if method == "corners" else among
            similarity = np.zeros(len(looked_at))  # 0 if no corner agrees
            similarity[np.searchsorted(looked_at, rows)] = _similarity(
                lay_upon_each(tables.points, tables.starts, rows, asking.points, places[rows], REACH, SLACK, ROUNDS)
            )
            return looked_at, similarity

        return compared


@dataclass(frozen=True)
class HeldPrints(Holder):
    """The prints of one collection or of two."""

    sides: list[Prints]

    def look(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the minutiae of prints; the second collection is counted after the first."""
        split = len(self.sides[0])
        return [self.sides[0][row] if row < split else self.sides[1][row - split] for row in rows.tolist()]

    def explain(self, left: int, right: int) -> Explanation:
        """List the minutiae that meet when one print is laid on the other."""
        one, other = (self.look(np.array([row]))[0] for row in (left, right))
        met = compare(one, other).minutiae
        return ExplainedRows([{"left": one[i].tolist(), "right": other[j].tolist()} for i, j in met.tolist()])


def either_way(left: np.ndarray, right: np.ndarray, values: np.ndarray, size: int) -> Found:
    """Return pairs with left before right, each once, with the greater of their values."""
    numbers, which = np.unique(np.minimum(left, right) * size + np.maximum(left, right), return_inverse=True)
    greatest = np.zeros(len(numbers))
    np.maximum.at(greatest, which, values)
    return *np.divmod(numbers, max(1, size)), greatest


def _similarity(counts: np.ndarray) -> np.ndarray:
    """Return similarities from rows: minutiae that meet, and those of each print in the overlap."""
    similarity: np.ndarray = counts[:, 0] / (np.sqrt(counts[:, 1] * counts[:, 2]) + DOUBT)
    return similarity
