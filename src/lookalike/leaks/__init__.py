"""Test questions that leaked into a corpus: find them, and drop the documents or cut the passages.

Lives here: the items of tests, the search for them in a stream of documents, and its result.
May import: everything below `find`. A new way to decide what counts as a leak is a new limit in
`items.Limits`.
"""

from lookalike.leaks.finding import decontaminate
from lookalike.leaks.result import Leaks

__all__ = ["Leaks", "decontaminate"]
