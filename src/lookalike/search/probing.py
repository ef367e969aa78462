"""Find every set of a collection that is similar to a new one, with an index of prefixes."""

from fractions import Fraction

import numpy as np

from lookalike.core.errors import UsageError, choice
from lookalike.core.run import Run, slices
from lookalike.items.sets import Sets
from lookalike.kernels.joins import prefixes
from lookalike.kernels.probes import prefix_probe
from lookalike.measures import MEASURES
from lookalike.measures.table import OF_SETS, SHORT, usual_names
from lookalike.search.joins import Found, element_counts, ranks_of
from lookalike.search.plan import parse_threshold

STEP = 64  # queries per task


class PrefixIndex:
    """An index of prefixes, made once, that finds the sets similar to any new set.

    Two similar sets share an element of their prefixes if all sets order their elements alike (see
    `kernels.bounds.prefix_lengths`). A set has two prefixes: the shorter is enough if the other set
    is at least as large, the longer if it is smaller. A new set can be either, so each indexed set
    is posted under its longer prefix, and each query looks up its longer one. This misses no
    similar pair: if the query is larger, the first element that both share lies in the query's
    longer prefix and in the row's shorter one, which is part of its longer one; if the row is
    larger, the other way round. Elements beyond the shorter prefixes of both can be skipped: those
    of a query look up only the postings of shorter prefixes, which come first.

    By containment, two sets are similar if the smaller is contained in the other, whichever is the
    query. Empty sets are similar to nothing.

    >>> index = PrefixIndex(Sets.of([{1, 2, 3, 4}, {7, 8}, {1, 2, 3, 4, 5}]), threshold=0.75)
    >>> query, row, shared, compared = index.probe(Sets.of([{8, 9}, {1, 2, 3, 4}]))
    >>> query.tolist(), row.tolist(), shared.tolist()
    ([1, 1], [0, 2], [4, 4])
    """

    def __init__(self, sets: Sets, *, threshold: float | str | Fraction = 0.8, measure: str = "jaccard"):
        measure = SHORT.get(measure, measure)
        if measure not in OF_SETS or MEASURES[measure].moves:
            choice("measure", measure, usual_names("sets", "bags"))
        self.sets = _checked("sets", sets)
        self.measure = measure
        self.threshold = parse_threshold(measure, threshold)
        self._join = (MEASURES[measure].join, *self.threshold.as_integer_ratio())
        self._ranks, self._shift = query_ranks(sets)
        starts, tokens, places, short = self._prefixes(sets, np.arange(len(sets)))
        order = np.lexsort((~short, tokens))  # by element, those of shorter prefixes first, then by row
        owners = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(starts))
        self._tokens, self._rows, self._spots = tokens[order], owners[order], places[order]
        self._short = np.concatenate(([0], np.cumsum(short[order])))  # such postings before each

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"<index of {len(self):,} sets: {self.measure} at {self.threshold}>"

    def probe(self, queries: Sets, run: Run | None = None) -> Found:
        """Return (query, row, shared, compared): all similar pairs, and how many were compared.

        Pairs are in order of query and row. A few queries use only one thread, unless a run is
        given.
        """
        _checked("queries", queries)
        if len(queries) and len(self) and queries.bag != self.sets.bag:
            wanted = "bags, like those of the index" if self.sets.bag else "sets, not bags, like those of the index"
            raise UsageError(f"queries must be {wanted}.")
        run = run or Run(None if len(queries) > STEP else 1)

        def work(part: slice) -> Found:
            return self._probe(queries, part)

        found = []
        with run.stage("look up", len(queries)) as tick:
            for part in run.map(work, slices(len(queries), STEP)):
                found.append(part)
                tick(STEP)
        none = np.zeros(0, np.int64)
        query, row, shared = (np.concatenate([none, *(part[i] for part in found)]) for i in range(3))
        return query, row, shared, sum(part[3] for part in found)

    def _probe(self, queries: Sets, part: slice) -> Found:
        """Probe with a slice of the queries."""
        starts, tokens, places, short = self._prefixes(queries, np.arange(part.start, part.stop))
        begins, ends = np.searchsorted(self._tokens, tokens, "left"), np.searchsorted(self._tokens, tokens, "right")
        ends = np.where(short, ends, begins + self._short[ends] - self._short[begins])
        asked = (part.start, starts, places, begins, ends, queries.indptr, queries.elements)
        posted = (self._rows, self._spots, self.sets.indptr, self.sets.elements)
        query, row, shared, compared = prefix_probe(*asked, *posted, *self._join)
        order = np.lexsort((row, query))
        return query[order], row[order], shared[order], compared

    def _prefixes(self, sets: Sets, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the longer prefixes of rows, in the common order, and mark the shorter ones."""
        found: tuple[np.ndarray, ...]
        found = prefixes(sets.indptr, sets.elements, rows, self._ranks, self._shift, *self._join)
        return found


def query_ranks(sets: Sets) -> tuple[np.ndarray, np.uint64]:
    """Return (ranks, shift): element x has rank ranks[x >> shift], from 1 (in a single set) to 255.

    Rank 0 is for elements that no indexed set has. They match nothing, but take places in the order
    as all elements do. Elements that share their high bits share a rank, which costs only a little
    selectivity.
    """
    counts, shift = element_counts(sets)
    return np.minimum(ranks_of(counts), 254) + (counts > 0), shift


def _checked(name: str, sets: Sets) -> Sets:
    """Return `sets`, or raise an error if they are not Sets."""
    if not isinstance(sets, Sets):
        raise UsageError(f"{name} must be Sets; got {type(sets).__name__}. Make them with Sets.of.")
    return sets
