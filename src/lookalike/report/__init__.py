"""Turns a result into a page: what was asked and found, whether to trust it, and what to try next.

The page is one file that needs nothing else; it can be printed, sent, and read without scripts. For
a large result it shows samples, and says so.

Lives here: `describe` (a result in words: a `Finding`), `load` (results from files), `items` (items
from files), `choosing` (samples of a large result), `beside` (two items side by side), `page` (a
finding as HTML); `evaluating` (compares a result with its `truth`). May import: `search` and what
is below it. To show a new kind of result, register a function with `describe.finding_of`.
"""

from lookalike.report.describe import finding_of
from lookalike.report.page import check_report, write_report

__all__ = ["check_report", "finding_of", "write_report"]
