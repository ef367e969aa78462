"""The result of `decontaminate`: which documents contain which test items, and where."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.wording import counted
from lookalike.io.tables import join_ids
from lookalike.leaks.items import RULE, QuestionFile
from lookalike.results.base import Result
from lookalike.results.explanations import SharedElements

FOUND = pa.schema(
    [
        ("document", pa.int64()),  # its position in the corpus
        ("row", pa.int64()),  # of the test item, counted over all files
        ("containment", pa.float64()),
        ("longest", pa.int64()),  # words of a run
        ("start", pa.int64()),  # in characters
        ("stop", pa.int64()),
        ("answer", pa.int64()),  # where the answer ends, if it follows
        ("text", pa.large_string()),
    ]
)


@dataclass(frozen=True, eq=False)
class Leaks(Result):
    """The places of test items in the documents of a corpus.

    Its rows are (document, file, item, containment, longest run in words, start, stop, text); with
    answers, also whether the answer follows. Start and stop count characters.

    >>> import lookalike as la
    >>> found = la.decontaminate(["Is a tomato a fruit? Yes.", "No."], ["Is a tomato a fruit?", "Why?"])
    >>> found, found.keep.tolist(), found.files.to_pylist()
    (<1 leak in 1 of 2 documents>, [False, True], [{'file': 'the table', 'items': 2, 'leaked': 1, 'documents': 1}])
    """

    found: pa.Table  # the columns of FOUND, in the order of the corpus
    ids: pa.Array  # of the document of each row
    keep: np.ndarray  # of each document: whether it contains no item
    tests: Sequence[QuestionFile]
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.found)

    def _table(self, rows: Any) -> pa.Table:
        at = rows if isinstance(rows, np.ndarray) else np.arange(len(self))[rows]
        found, ids = self.found.take(pa.array(at)), self.ids.take(pa.array(at))
        columns = {"document": ids} | self._items_of(found["row"].to_numpy())
        columns |= {name: found[name] for name in ("containment", "longest", "start", "stop")}
        if self._have_answers:
            columns["answered"] = pc.is_valid(found["answer"])
        return pa.table(columns | {"text": found["text"]})

    def to_arrow(self) -> pa.Table:
        """Return one row per leak, in the order of the corpus."""
        return super().to_arrow()

    @property
    def items(self) -> pa.Table:
        """How many documents contain each test item that leaked, most first."""
        pairs = np.unique(np.stack([self.found["row"].to_numpy(), self.found["document"].to_numpy()]), axis=1)
        rows, documents = np.unique(pairs[0], return_counts=True)
        rows, documents = (column[np.argsort(-documents, kind="stable")] for column in (rows, documents))
        texts = pa.array(self.questions(rows), pa.large_string())
        return pa.table(self._items_of(rows) | {"documents": documents, "text": texts})

    @property
    def files(self) -> pa.Table:
        """How many items of each test file leaked, and how many documents contain one."""
        of_row = self._files_of(self.found["row"].to_numpy())
        counts: dict[str, list[Any]] = {"file": [], "items": [], "leaked": [], "documents": []}
        for at, file in enumerate(self.tests):
            here = self.found.filter(pa.array(of_row == at))
            counts["file"].append(file.name)
            counts["items"].append(len(file.questions))
            counts["leaked"].append(pc.count_distinct(here["row"]).as_py())
            counts["documents"].append(pc.count_distinct(here["document"]).as_py())
        return pa.table(counts)

    def cuts(self, document: int) -> list[tuple[int, int]]:
        """Return the parts to cut from a document, given its position: questions, and answers that follow."""
        bounds = np.searchsorted(self._documents, [document, document + 1])
        found = self.found.slice(bounds[0], bounds[1] - bounds[0])
        ends = pc.coalesce(found["answer"], found["stop"]).to_pylist()
        parts: list[tuple[int, int]] = []
        for start, stop in sorted(zip(found["start"].to_pylist(), ends, strict=True)):
            if parts and start <= parts[-1][1]:
                parts[-1] = parts[-1][0], max(stop, parts[-1][1])
            else:
                parts.append((start, stop))
        return parts

    def explain(self, row: int) -> SharedElements:
        """Explain a leak: the shingles that the item and the passage share, and those that only one has."""
        at = self._position(row)
        (question,) = self.questions(self.found["row"].to_numpy()[at : at + 1])
        return SharedElements.of(RULE.of(question), RULE.of(self.found["text"][at].as_py()))

    def __repr__(self) -> str:
        documents = f"{np.count_nonzero(~self.keep):,} of {counted(len(self.keep), 'document')}"
        return f"<{counted(len(self), 'leak')} in {documents}>"

    # --- test items ---

    @cached_property
    def _documents(self) -> np.ndarray:
        documents: np.ndarray = self.found["document"].to_numpy()
        return documents

    @cached_property
    def _bounds(self) -> np.ndarray:
        return np.concatenate(([0], np.cumsum([len(file.questions) for file in self.tests])))

    @property
    def _have_answers(self) -> bool:
        return any(file.answers is not None for file in self.tests)

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
