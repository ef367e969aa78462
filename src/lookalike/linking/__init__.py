"""Record linkage over time: keep resolved records in an index, and link new ones to their clusters.

Lives here: `registry` (builds the index, links records), `lookup` (finds records in the index),
`working` (resolves them with the new ones), `shelf` (what the index keeps of each record), `linked`
(the result) and `describe` (its page).
May import: `index`, `entities` and the packages below. To keep more of a record, add it to
`shelf.StoredRecord`.
"""

from lookalike.linking import describe  # noqa: F401  registers how pages show LinkedRecords
from lookalike.linking.linked import LinkedRecords
from lookalike.linking.registry import RecordIndex

__all__ = ["LinkedRecords", "RecordIndex"]
