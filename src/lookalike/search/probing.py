"""Many-one: every set of a collection that is similar to a new one, by an index of prefixes made once."""

from fractions import Fraction

import numpy as np

from lookalike.core.errors import UsageError, choice
from lookalike.core.run import Run, slices
from lookalike.items.sets import Sets
from lookalike.kernels.joins import prefixes
from lookalike.kernels.probes import prefix_probe
from lookalike.measures import MEASURES
from lookalike.measures.table import OF_SETS, SHORT, usual_names
from lookalike.search.joins import Found, element_counts
from lookalike.search.plan import parse_threshold

STEP = 64  # queries a task


class PrefixIndex:
    """The sets of a collection that are similar to a new one: an index of prefixes, made once, asked many times.

    Two similar sets share an element of their prefixes, however the elements are ordered, if all sets are ordered alike
    (see `kernels.bounds.prefix_lengths`). A set has two: the shorter is enough when the other set is as large or
    larger, the longer when it is smaller. A new set may be either, so each indexed set is posted under its longer
    prefix, and each query looks up its longer one. No similar pair is missed: where the query is the larger, the first
    element that both share lies in the query's longer prefix and in the row's shorter one, which is a part of its
    longer one; where the row is the larger, the other way round. An element beyond the shorter prefix of both can be
    passed over: what such an element looks up is the postings of shorter prefixes alone, which come first.

    By containment, similar are two sets of which the smaller is contained in the other, whichever was asked for. Empty
    sets are similar to nothing.

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
        self._short = np.concatenate(([0], np.cumsum(short[order])))  # how many postings before each are of those

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"<index of {len(self):,} sets: {self.measure} at {self.threshold}>"

    def probe(self, queries: Sets, run: Run | None = None) -> Found:
        """(query, row, shared, compared): every similar pair, ordered by query, then row; and how many were compared.

        Threads do not pay for a few queries, which take but one unless a run is given.
        """
        _checked("queries", queries)
        if len(queries) and len(self) and queries.bag != self.sets.bag:
            wanted = "bags, as those of the index are" if self.sets.bag else "sets, not bags, as those of the index are"
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
        """`probe` for a slice of the queries."""
        starts, tokens, places, short = self._prefixes(queries, np.arange(part.start, part.stop))
        begins, ends = np.searchsorted(self._tokens, tokens, "left"), np.searchsorted(self._tokens, tokens, "right")
        ends = np.where(short, ends, begins + self._short[ends] - self._short[begins])
        asked = (part.start, starts, places, begins, ends, queries.indptr, queries.elements)
        posted = (self._rows, self._spots, self.sets.indptr, self.sets.elements)
        query, row, shared, compared = prefix_probe(*asked, *posted, *self._join)
        order = np.lexsort((row, query))
        return query[order], row[order], shared[order], compared

    def _prefixes(self, sets: Sets, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """The longer prefixes of some rows, in the order that all sets share, and what is in the shorter ones."""
        found: tuple[np.ndarray, ...]
        found = prefixes(sets.indptr, sets.elements, rows, self._ranks, self._shift, *self._join)
        return found


def query_ranks(sets: Sets) -> tuple[np.ndarray, np.uint64]:
    """(ranks, shift): the rank of element x is ranks[x >> shift], 1 for one in a single set, up to 255.

    Rank 0 is left for elements that no set has, which only queries can have. They match nothing but take places in the
    order, as all elements do. Elements that share their high bits share a rank, which costs a little selectivity and
    nothing else.
    """
    counts, shift = element_counts(sets)
    ranks = np.minimum(np.ceil(8 * np.log2(np.maximum(counts, 1))) + 1, 255) * (counts > 0)
    return ranks.astype(np.uint8), shift


def _checked(name: str, sets: Sets) -> Sets:
    """`sets` if they are Sets."""
    if not isinstance(sets, Sets):
        raise UsageError(f"{name} must be Sets; got {type(sets).__name__}. Make them with Sets.of.")
    return sets
