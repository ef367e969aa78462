"""Find where runs of units are in the texts as they were given, and compare the texts there."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.items.segments import Segments
from lookalike.items.sets import text_bounds
from lookalike.kernels.text import WORD
from lookalike.kernels.units import copy_slices, count_characters, find_units, same_units
from lookalike.passages.linking import Runs
from lookalike.passages.reading import Corpus

COMPARED = 1 << 24  # bytes of text that are compared at a time
COLUMNS = 5


class Places(NamedTuple):
    """Where runs of units are: in which documents, from and to which byte and character."""

    document: np.ndarray
    start: np.ndarray  # in bytes
    stop: np.ndarray
    first: np.ndarray  # in characters
    end: np.ndarray
    passed: np.ndarray  # units before the run that start at the same byte, as they are from the same character

    def take(self, rows: np.ndarray) -> "Places":
        """Return some of the places."""
        return Places(*(column[rows] for column in self))


def places_of(corpus: Corpus, units: np.ndarray, lengths: np.ndarray, run: Run) -> Places:
    """Return where runs of units are; `units` are the first of each, counted over all documents."""
    document = corpus.document_of(units)
    order = np.argsort(document, kind="stable")
    cuts = np.searchsorted(document[order], corpus.piece_starts)
    found = np.empty((COLUMNS, len(units)), np.int64)

    def look_up(at: int) -> None:
        here = order[cuts[at] : cuts[at + 1]]
        rows, which = np.unique(document[here] - corpus.piece_starts[at], return_inverse=True)
        texts = corpus.texts[at].take(pa.array(rows))
        indptr, starts, stops = corpus.cutter.places(texts)
        first = indptr[which] + units[here] - corpus.unit_starts[document[here]]
        last = first + lengths[here] - 1
        fresh = np.diff(starts, prepend=-1) != 0
        fresh[indptr[:-1][np.diff(indptr) > 0]] = True
        leads = np.maximum.accumulate(np.where(fresh, np.arange(len(starts)), 0))
        in_bytes = starts[first], stops[last]
        for places in (starts, stops):
            count_characters(*text_bounds(texts), indptr, places)
        found[:, here] = *in_bytes, starts[first], stops[last], first - leads[first]

    run.each(look_up, np.flatnonzero(np.diff(cuts)).tolist())
    return Places(document, *found)


def places_of_both(corpus: Corpus, runs: Runs, run: Run) -> tuple[Places, Places]:
    """Return where both sides of runs are; each document is looked through once."""
    units, lengths = np.concatenate((runs.left, runs.right)), np.tile(runs.lengths, 2)
    places = places_of(corpus, units, lengths, run)
    rows = np.arange(len(units))
    return places.take(rows[: len(runs)]), places.take(rows[len(runs) :])


def slices_of(corpus: Corpus, places: Places, pad: int = 0) -> pa.LargeStringArray:
    """Return the texts at these places, with `pad` zero characters before and after each."""
    bounds = np.concatenate(([0], np.cumsum(places.stop - places.start + 2 * pad)))
    out = np.zeros(bounds[-1], np.uint8)
    order = np.argsort(places.document, kind="stable")
    cuts = np.searchsorted(places.document[order], corpus.piece_starts)
    for at in np.flatnonzero(np.diff(cuts)).tolist():
        here = order[cuts[at] : cuts[at + 1]]
        data, starts, _ = text_bounds(corpus.texts[at])
        begins = starts[places.document[here] - corpus.piece_starts[at]] + places.start[here]
        copy_slices(data, begins, places.stop[here] - places.start[here], bounds[here] + pad, out)
    return pa.LargeStringArray.from_buffers(len(places.start), pa.py_buffer(bounds), pa.py_buffer(out))


def all_equal(corpus: Corpus, runs: Runs, left: Places, right: Places, run: Run) -> bool:
    """Return whether the two texts of each run consist of the same units, character by character.

    Lines, sentences and paragraphs are compared by all their characters. Each text has a zero
    character at both ends, so that white space there is not dropped.
    """
    sizes = np.cumsum(left.stop - left.start + right.stop - right.start)
    cuts = np.flatnonzero(np.diff(sizes // COMPARED, prepend=-1))
    unit, white = corpus.shingles.codes
    lead = 0 if unit == WORD else 1
    whole = isinstance(corpus.cutter, Segments)

    def compare(rows: np.ndarray) -> bool:
        sides, counts = [], []
        for places in (left.take(rows), right.take(rows)):
            bounds = text_bounds(corpus.shingles.prepare(slices_of(corpus, places, pad=1)))
            indptr, starts, stops = find_units(*bounds, unit, white)
            begins = np.repeat(bounds[1], np.diff(indptr))
            sides.append((bounds[0], starts + begins, stops + begins, indptr[:-1] + places.passed + lead))
            counts.append(np.diff(indptr) - 2 * lead)
        if whole and not np.array_equal(*counts):
            return False
        return bool(same_units(*sides[0], *sides[1], counts[0] if whole else runs.lengths[rows], white))

    return all(run.map(compare, np.split(np.arange(len(runs)), cuts[1:])))
