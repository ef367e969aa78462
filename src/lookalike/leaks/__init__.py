"""Test questions that leaked into a corpus: find them, and drop the documents or cut the passages.

Lives here: `items` (reads tests and prepares the lookup), `searching` (looks for them in a batch of
documents), `listing` (counts what was found), `finding` (streams the corpus past them), `result`,
`cutting` (what remains of a document) and `describe` (the page).
May import: `find`, `report`, `search` and the packages below. What counts as a leak is in
`items.Limits`, and a new rule is a new limit there.
"""

from lookalike.leaks import describe  # noqa: F401  registers how pages show Leaks
from lookalike.leaks.finding import decontaminate
from lookalike.leaks.result import Leaks

__all__ = ["Leaks", "decontaminate"]
