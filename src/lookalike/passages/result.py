"""The passages that occur more than once, each with its first copy."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.wording import counted
from lookalike.passages.places import Places, slices_of
from lookalike.passages.reading import Corpus
from lookalike.results import Explanation, Result
from lookalike.results.explanations import ExplainedRows

PLACE = ("document", "start", "stop")


@dataclass(frozen=True, eq=False)
class Passages(Result):
    """Runs of words or characters that repeat an earlier one, the most costly first.

    The cost of a passage is its length times the number of its copies but one; that is what the
    collection would be shorter by without them. Its rows are (document, start, stop, length, copies,
    first_document, first_start, first_stop, text). Places are in characters of the text as it was
    given, end excluded; the length is in units. `copies` counts the places where the passage is: if
    parts of it are at more places than others, those of the N units that are at the fewest.

    >>> import lookalike as la
    >>> found = la.find_passages(["He said: to be, or not to be.", "To be or not to  be?"], length=6)
    >>> found, found[0]
    (<1 passage of 6 words or more in 2 documents>, (1, 0, 19, 6, 2, 0, 9, 28, 'To be or not to  be'))
    """

    corpus: Corpus
    found: Places
    first: Places
    length: np.ndarray
    copies: np.ndarray
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.length)

    def _table(self, rows: Any) -> pa.Table:
        found, first = self.found.take(rows), self.first.take(rows)
        columns = columns_of(self.corpus, found, "") | {"length": self.length[rows], "copies": self.copies[rows]}
        return pa.table(columns | columns_of(self.corpus, first, "first_") | {"text": slices_of(self.corpus, found)})

    def to_arrow(self) -> pa.Table:
        """Return one row per passage: where it is, its length and copies, where the first copy is, and its text."""
        return super().to_arrow()

    @property
    def unit(self) -> str:
        """The word for a unit."""
        return self.corpus.cutter.name

    def explain(self, row: int) -> Explanation:
        """Explain a passage: its first copy and itself, each with its text as it was given."""
        rows = np.array([self._position(row)])
        shown = []
        for places, prefix in ((self.first.take(rows), "first_"), (self.found.take(rows), "")):
            place = pa.table(columns_of(self.corpus, places, prefix)).to_pylist()[0]
            text = slices_of(self.corpus, places)[0].as_py()
            shown.append({name.removeprefix(prefix): value for name, value in place.items()} | {"text": text})
        return ExplainedRows(shown)

    def __repr__(self) -> str:
        least = counted(self.corpus.cutter.length, self.unit)
        among = counted(len(self.corpus), "document")
        return f"<{counted(len(self), 'passage')} of {least} or more in {among}>"


def columns_of(corpus: Corpus, places: Places, prefix: str) -> dict[str, Any]:
    """Return the columns of places, with the ids of their documents.

    First copies can be in the first of two collections, or in earlier data; the others cannot.
    """
    if prefix:
        ids = (corpus.every_id if corpus.earlier else corpus.ids[0]).take(pa.array(places.document))
    else:
        ids = corpus.ids[-1].take(pa.array(places.document - corpus.before))
    named = (ids, places.first, places.end)
    return {f"{prefix}{name}": column for name, column in zip(PLACE, named, strict=True)}
