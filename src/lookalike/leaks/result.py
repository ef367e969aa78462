"""The result of `decontaminate`: which documents contain which test items, and where."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.wording import counted
from lookalike.io.tables import join_ids
from lookalike.leaks.items import RULE, QuestionFile
from lookalike.leaks.listing import LeakCounts
from lookalike.leaks.searching import LeakSearch
from lookalike.results.base import Result
from lookalike.results.explanations import SharedElements


@dataclass(frozen=True, eq=False)
class Leaks(Result):
    """The places of test items in the documents of a corpus.

    Its rows are (document, file, item, containment, longest run in words, start, stop, text); with
    answers, also whether the answer follows. Start and stop count characters.

    At most `places` of an item are listed; the counts are of all.

    >>> import lookalike as la
    >>> found = la.decontaminate(["Is a tomato a fruit? Yes.", "No."], ["Is a tomato a fruit?", "Why?"])
    >>> found, found.keep.tolist(), found.items["documents"].to_pylist()
    (<1 leak in 1 of 2 documents>, [False, True], [1])
    """

    found: pa.Table  # the columns of FOUND, in the order of the corpus
    ids: pa.Array  # of the document of each row
    keep: np.ndarray  # of each document: whether it contains no item
    counts: LeakCounts
    search: LeakSearch
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.found)

    def _table(self, rows: Any) -> pa.Table:
        at = rows if isinstance(rows, np.ndarray) else np.arange(len(self))[rows]
        found, ids = self.found.take(pa.array(at)), self.ids.take(pa.array(at))
        columns = {"document": ids} | self._items_of(found["row"].to_numpy())
        columns |= {name: found[name] for name in ("containment", "longest", "start", "stop")}
        if self.search.answers is not None:
            columns["answered"] = found["answered"]
        return pa.table(columns | {"text": found["text"]})

    def to_arrow(self) -> pa.Table:
        """Return one row per leak, in the order of the corpus."""
        return super().to_arrow()

    @property
    def items(self) -> pa.Table:
        """How many documents contain each test item that leaked, most first, and at how many places."""
        rows = np.flatnonzero(self.counts.places)
        rows = rows[np.argsort(-self.counts.documents[rows], kind="stable")]
        counts = {"documents": self.counts.documents[rows], "places": self.counts.places[rows]}
        return pa.table(self._items_of(rows) | counts | {"text": pa.array(self.questions(rows), pa.large_string())})

    @property
    def files(self) -> pa.Table:
        """How many items of each test file leaked, at how many places, and how many documents contain one.

        Rows of a file with the same question are one item.
        """
        parts = [self.counts.places[start:stop] for start, stop in pairwise(self._bounds)]
        return pa.table(
            {
                "file": [file.name for file in self.tests],
                "rows": [file.rows for file in self.tests],
                "items": [len(part) for part in parts],
                "leaked": [np.count_nonzero(part) for part in parts],
                "places": [part.sum() for part in parts],
                "documents": self.counts.files,
            }
        )

    @property
    def tests(self) -> Sequence[QuestionFile]:
        """The test files."""
        return self.search.files

    def explain(self, row: int) -> SharedElements:
        """Explain a leak: the shingles that the item and the passage share, and those that only one has."""
        at = self._position(row)
        (question,) = self.questions(self.found["row"].to_numpy()[at : at + 1])
        return SharedElements.of(RULE.of(question), RULE.of(self.found["text"][at].as_py()))

    def __repr__(self) -> str:
        places = int(self.counts.places.sum())
        documents = f"{np.count_nonzero(~self.keep):,} of {counted(len(self.keep), 'document')}"
        listed = f", {len(self):,} of them listed" if len(self) < places else ""
        return f"<{counted(places, 'leak')} in {documents}{listed}>"

    # --- test items ---

    @cached_property
    def _bounds(self) -> np.ndarray:
        return np.concatenate(([0], np.cumsum([len(file.questions) for file in self.tests])))

    def _items_of(self, rows: np.ndarray) -> dict[str, pa.Array]:
        """Return the columns `file` and `item` of test items; the item is the id in the file, or its row."""
        names = pa.array([file.name for file in self.tests])
        return {"file": names.take(pa.array(self._files_of(rows))), "item": self.item_ids.take(pa.array(rows))}

    def _files_of(self, rows: np.ndarray) -> np.ndarray:
        files: np.ndarray = np.searchsorted(self._bounds, rows, side="right") - 1
        return files

    def questions(self, rows: np.ndarray) -> list[str]:
        """Return the texts of test items, given by their rows, counted over all files."""
        files = self._files_of(rows)
        places = zip(files.tolist(), (rows - self._bounds[files]).tolist(), strict=True)
        return [self.tests[file].questions[at].as_py() for file, at in places]

    @cached_property
    def item_ids(self) -> pa.Array:
        """The ids of all test items."""
        return join_ids([file.ids for file in self.tests])
