"""Field equality, the family for records: each function looks at one field."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lookalike.core.errors import DataError, UsageError
from lookalike.families.base import Family
from lookalike.items.sets import hash_values
from lookalike.kernels.hashing import EMPTY

MISSING = ("", "nan", "NaN", "NaT", "<NA>")  # texts of missing values in several libraries


class FieldEquality(Family):
    """One function per field: two records agree if both have the same value, and it is not missing.

    The distance of two records is the number of fields in which they differ: a random field is the
    same with probability 1 - distance / fields. An OR of all functions gives the pairs that share
    at least one field. Values are compared as texts; a missing value (None, nan, NaT or an empty
    text) equals no other.

    >>> family = FieldEquality(["name", "phone"])
    >>> a, b = family.signatures([{"name": "Ann", "phone": ""}, {"name": "Ann", "phone": ""}])
    >>> family.agreement(a, b)
    0.5
    """

    measure = "hamming"

    def __init__(self, fields: Iterable[str]):
        names = [] if isinstance(fields, str) or not isinstance(fields, Iterable) else list(fields)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise UsageError(f"fields must be a list of different names; got {fields!r}.")
        self.fields = names
        self.hashes = len(self.fields)

    @property
    def farthest(self) -> float:
        """Return the distance of records that share no field."""
        return float(self.hashes)

    @property
    def most(self) -> float:
        """Return the number of fields, as there is one function per field."""
        return self.hashes

    def _law(self, distance: np.ndarray) -> np.ndarray:
        return 1 - distance / self.hashes

    def _distance(self, share: float) -> float:
        return self.hashes * (1 - share)

    def signatures(self, items: Any) -> np.ndarray:
        """Return a hash of each field's value, EMPTY if it is missing: an array records x fields.

        Records are mappings with the fields' names, or sequences of values in the fields' order.
        """
        columns = list(zip(*(self._values(record) for record in items), strict=True))
        out = np.full((len(columns[0]) if columns else 0, self.hashes), EMPTY)
        for field, column in enumerate(columns):
            texts = ["" if value is None or str(value) in MISSING else str(value) for value in column]
            present = np.array([bool(text) for text in texts])
            out[present, field] = hash_values(texts)[present]
        return out

    def _values(self, record: Any) -> list[Any]:
        if isinstance(record, Mapping):
            missing = [field for field in self.fields if field not in record]
            if missing:
                raise DataError(f"records must have the field {missing[0]!r}; one has {', '.join(map(str, record))}.")
            return [record[field] for field in self.fields]
        if not isinstance(record, list | tuple | np.ndarray) or len(record) != self.hashes:
            rule = f"records must be mappings, or lists of {self.hashes} values, one per field"
            raise DataError(f"{rule}; got {record!r}.")
        return list(record)
