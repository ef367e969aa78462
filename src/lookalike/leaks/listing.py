"""Count all places of test items in a corpus, and list the first of each item."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.io.tables import in_one, join_ids
from lookalike.leaks.searching import LeakSearch

FOUND = pa.schema(
    [
        ("document", pa.int64()),  # its position in the corpus
        ("row", pa.int64()),  # of the test item, counted over all files
        ("containment", pa.float64()),
        ("longest", pa.int64()),  # words of a run
        ("start", pa.int64()),  # in characters
        ("stop", pa.int64()),
        ("answered", pa.bool_()),
        ("text", pa.large_string()),
    ]
)


class LeakCounts(NamedTuple):
    """How often items occur, listed or not."""

    places: np.ndarray  # of each item
    documents: np.ndarray  # that contain each item
    files: np.ndarray  # documents that contain an item of each file


class BatchLeaks(NamedTuple):
    """What was found in a batch of documents."""

    keep: np.ndarray
    listed: pa.Table  # rows of FOUND, with positions in the batch
    ids: pa.Array  # of the document of each
    counts: LeakCounts


class LeakListing:
    """The places of items found so far: all are counted, and at most `most` of each item listed.

    So memory does not grow with a corpus that has some items again and again. Batches are added in
    the order of the corpus: the places listed are the first ones, whatever the batches and threads.
    """

    def __init__(self, search: LeakSearch, most: int):
        self.search, self.most = search, most
        sizes = [len(file.questions) for file in search.files]
        self.file_of = np.repeat(np.arange(len(sizes)), sizes)
        self.counts = LeakCounts(*(np.zeros(size, np.int64) for size in (sum(sizes), sum(sizes), len(sizes))))
        self._listed = np.zeros(sum(sizes), np.int64)
        self._keep: list[np.ndarray] = [np.zeros(0, np.bool_)]
        self._tables, self._ids = [FOUND.empty_table()], [pa.array([], pa.int64())]
        self._documents = 0

    def look(self, batch: pa.Table) -> tuple[BatchLeaks, int]:
        """Return what is in a batch of documents, and its size in bytes."""
        texts = in_one(batch["text"])
        found = self.search.places(texts)
        keep = np.ones(len(texts), np.bool_)
        keep[found.document] = False
        items, files = len(self.counts.places), len(self.counts.files)
        counts = LeakCounts(
            np.bincount(found.row, minlength=items),
            np.bincount(np.unique(found.document * items + found.row) % items, minlength=items),
            np.bincount(np.unique(found.document * files + self.file_of[found.row]) % files, minlength=files),
        )
        some = found.take(np.flatnonzero(rank_in_group(found.row) < self.most))
        documents = np.unique(some.document)
        full = dict(zip(documents.tolist(), texts.take(pa.array(documents)).to_pylist(), strict=True))
        parts = zip(some.document.tolist(), some.start.tolist(), some.stop.tolist(), strict=True)
        copied = pa.array([full[document][start:stop] for document, start, stop in parts], pa.large_string())
        ids = in_one(batch["id"]).take(pa.array(some.document))
        listed = pa.table([*some[:-1], some.answer >= 0, copied], schema=FOUND)
        return BatchLeaks(keep, listed, ids, counts), texts.nbytes

    def add(self, found: BatchLeaks) -> None:
        """Add what was found in the next batch."""
        rows = found.listed["row"].to_numpy()
        some = np.flatnonzero(rank_in_group(rows) + self._listed[rows] < self.most)
        if len(some):
            listed = found.listed.take(pa.array(some))
            self._tables.append(
                listed.set_column(0, "document", pa.array(listed["document"].to_numpy() + self._documents))
            )
            self._ids.append(found.ids.take(pa.array(some)))
            self._listed += np.bincount(rows[some], minlength=len(self._listed))
        for total, part in zip(self.counts, found.counts, strict=True):
            total += part
        self._keep.append(found.keep)
        self._documents += len(found.keep)

    @property
    def keep(self) -> np.ndarray:
        """Of each document, whether it contains no item."""
        return np.concatenate(self._keep)

    @property
    def table(self) -> pa.Table:
        """The places listed, as rows of FOUND, in the order of the corpus."""
        return pa.concat_tables(self._tables).combine_chunks()

    @property
    def ids(self) -> pa.Array:
        """The id of the document of each place listed."""
        return join_ids([pa.chunked_array([part]) for part in self._ids])


def rank_in_group(groups: np.ndarray) -> np.ndarray:
    """Return how many entries before each are of the same group.

    >>> rank_in_group(np.array([7, 5, 7, 7, 5])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
    return ranks
