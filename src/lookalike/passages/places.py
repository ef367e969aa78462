"""Find where runs of units are in the texts as they were given, and compare the texts there."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.items.segments import Segments
from lookalike.items.sets import text_bounds
from lookalike.kernels.units import copy_slices, count_before, count_characters, same_units
from lookalike.passages.linking import RepeatedRuns
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
        passed = np.empty(len(first), np.int64)
        count_before(starts, indptr, which, first, passed)
        in_bytes = starts[first], stops[last]
        for places in (starts, stops):
            count_characters(*text_bounds(texts), indptr, places)
        found[:, here] = *in_bytes, starts[first], stops[last], passed

    run.each(look_up, np.flatnonzero(np.diff(cuts)).tolist())
    return Places(document, *found)


def places_of_both(corpus: Corpus, runs: RepeatedRuns, run: Run) -> tuple[Places, Places]:
    """Return where both sides of runs are; each document is looked through once."""
    units, lengths = np.concatenate((runs.left, runs.right)), np.tile(runs.lengths, 2)
    places = places_of(corpus, units, lengths, run)
    rows = np.arange(len(units))
    return places.take(rows[: len(runs)]), places.take(rows[len(runs) :])


def slices_of(corpus: Corpus, places: Places) -> pa.LargeStringArray:
    """Return the texts at these places, as given."""
    bounds = np.concatenate(([0], np.cumsum(places.stop - places.start)))
    out = np.empty(bounds[-1], np.uint8)
    order = np.argsort(places.document, kind="stable")
    cuts = np.searchsorted(places.document[order], corpus.piece_starts)
    for at in np.flatnonzero(np.diff(cuts)).tolist():
        here = order[cuts[at] : cuts[at + 1]]
        data, starts, _ = text_bounds(corpus.texts[at])
        begins = starts[places.document[here] - corpus.piece_starts[at]] + places.start[here]
        copy_slices(data, begins, places.stop[here] - places.start[here], bounds[here], out)
    return pa.LargeStringArray.from_buffers(len(places.start), pa.py_buffer(bounds), pa.py_buffer(out))


def all_equal(corpus: Corpus, runs: RepeatedRuns, left: Places, right: Places, run: Run) -> bool:
    """Return whether the two texts of each run consist of the same units, character by character.

    Lines, sentences and paragraphs are compared by all their characters.
    """
    sizes = np.cumsum(left.stop - left.start + right.stop - right.start)
    cuts = np.flatnonzero(np.diff(sizes // COMPARED, prepend=-1))
    lengths = np.full(len(runs), -1) if isinstance(corpus.cutter, Segments) else runs.lengths

    def compare(rows: np.ndarray) -> bool:
        sides: list[np.ndarray] = []
        for places in (left.take(rows), right.take(rows)):
            sides.extend((*text_bounds(corpus.shingles.prepare(slices_of(corpus, places))), places.passed))
        return bool(same_units(*sides, lengths[rows], *corpus.shingles.codes))

    return all(run.map(compare, np.split(np.arange(len(runs)), cuts[1:])))
