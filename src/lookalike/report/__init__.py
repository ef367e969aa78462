"""Turns a result into a page: what was asked, what was found, whether to trust it, and what to try next.

The page is one file that needs nothing from elsewhere and can be read without scripts, printed and sent. A large result
is shown by samples, and the page says so.

Lives here: `describe` (a result in words: a `Finding`), `load` (results from their files), `items` (items from theirs),
`choosing` (what of a large result is shown), `beside` (two items side by side), `page` (a finding as HTML).
May import: `search` and what is below it. To show a new kind of result, register a function with `describe.finding_of`.
"""

from lookalike.report.describe import finding_of
from lookalike.report.page import check_report, write_report

__all__ = ["check_report", "finding_of", "write_report"]
