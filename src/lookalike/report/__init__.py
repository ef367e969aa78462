"""A result as a page: what was asked, what was found, whether to trust it, and what to try next.

The page is one file that needs nothing from elsewhere and can be read without scripts, printed and sent. A large result
is shown by samples, and the page says so.
"""

from lookalike.report.beside import Beside, FieldRow, Fields, beside
from lookalike.report.choosing import similar_inside
from lookalike.report.finding import Finding, Values
from lookalike.report.page import SNIPPET, check_report, write_report

__all__ = [
    "SNIPPET",
    "Beside",
    "FieldRow",
    "Fields",
    "Finding",
    "Values",
    "beside",
    "check_report",
    "similar_inside",
    "write_report",
]
