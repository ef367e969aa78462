"""Field equality: the family for records. Each function looks at one field."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lookalike.data import hash_values
from lookalike.errors import DataError, UsageError
from lookalike.families.base import Family
from lookalike.kernels.hashing import EMPTY


class FieldEquality(Family):
    """One function a field: two records agree if they have the same value there, and have one.

    The distance of two records is the number of fields in which they differ: a random field is the same with
    probability 1 - distance / fields. An OR of all functions gives the pairs that share at least one field.
    Values are compared as texts; a value that is missing (None, nan, or an empty text) is the same as no other.

    >>> family = FieldEquality(["name", "phone"])
    >>> a, b = family.signatures([{"name": "Ann", "phone": ""}, {"name": "Ann", "phone": ""}])
    >>> family.agreement(a, b)
    0.5
    """

    measure = "hamming"

    def __init__(self, fields: Sequence[str]):
        if isinstance(fields, str) or not fields or len(set(fields)) < len(fields):
            raise UsageError(f"fields must be a list of different names; got {fields!r}.")
        self.fields = list(fields)
        self.hashes = len(self.fields)

    @property
    def farthest(self) -> float:
        """No field in common."""
        return float(self.hashes)

    def _law(self, distance: np.ndarray) -> np.ndarray:
        return 1 - distance / self.hashes

    def signatures(self, items: Any) -> np.ndarray:
        """A hash of each field's value, EMPTY where it is missing: an array records x fields.

        Records are mappings with the fields' names, or sequences of values in the fields' order.
        """
        columns = list(zip(*(self._values(record) for record in items), strict=True))
        out = np.full((len(columns[0]) if columns else 0, self.hashes), EMPTY)
        for field, column in enumerate(columns):
            texts = ["" if value is None or value != value else str(value) for value in column]
            present = np.array([bool(text) for text in texts])
            out[present, field] = hash_values(texts)[present]
        return out

    def _values(self, record: Any) -> Sequence[Any]:
        if isinstance(record, Mapping):
            missing = [field for field in self.fields if field not in record]
            if missing:
                raise DataError(f"records must have the field {missing[0]!r}; one has {', '.join(map(str, record))}.")
            return [record[field] for field in self.fields]
        if isinstance(record, str) or len(record) != self.hashes:
            raise DataError(f"records must have {self.hashes} values, one a field; got {record!r}.")
        values: Sequence[Any] = record
        return values
