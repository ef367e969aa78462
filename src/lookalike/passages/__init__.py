"""Passages: runs of words or characters that occur more than once, within documents or between them.

Lives here: `reading` (texts, with anchors of their windows), `linking` (windows to their copies, and
runs), `places` (of runs in the texts as given, compared there), `finding` (the stages in order),
`result`, `describe` (what a page shows of it), `cutting` (repeats out of texts), and `earlier` (a
folder with the documents of earlier runs).
May import: `search` and all below it. To add a job on passages, begin with `finding.find_runs`, or
with `items.units` for texts that stream past.
"""

from lookalike.passages import describe  # noqa: F401  registers how pages show passages
from lookalike.passages.cutting import Cuts, dedup_units
from lookalike.passages.finding import find_passages
from lookalike.passages.result import Passages

__all__ = ["Cuts", "Passages", "dedup_units", "find_passages"]
