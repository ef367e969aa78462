"""A field of all records, normalised; and its texts as vectors of words and shingles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.items.shingles import Shingles

TRIGRAMS = Shingles(k=3, form="none", space="keep")
WORDS = Shingles(k=1, unit="word", form="none")


@dataclass(frozen=True)
class Column:
    """The values of one field, those of the second table after those of the first; null where missing."""

    name: str
    kind: str
    values: pa.LargeStringArray  # as they are compared
    canonical: pa.LargeStringArray  # with short forms and abbreviations written out
    unread: int = 0  # values that are null because they cannot be read as of this kind

    @property
    def wordy(self) -> bool:
        """Say whether the values are made of words, so that parts of two values can be alike."""
        return self.kind in ("text", "name", "address")


def word_vectors(texts: pa.LargeStringArray) -> Any:
    """Turn texts into sparse vectors of their words and shingles, each weighted by its rarity."""
    from scipy.sparse import csr_array  # slow to import

    texts = texts.fill_null("")
    every = []
    for shingles in (WORDS, TRIGRAMS):
        indptr, hashes = shingles.hashes(texts)
        every.append((np.repeat(np.arange(len(texts)), np.diff(indptr)), hashes))
    rows, hashes = (np.concatenate(arrays) for arrays in zip(*every, strict=True))
    _, columns = np.unique(hashes, return_inverse=True)
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(texts), int(columns.max(initial=0)) + 1))
    matrix.data[:] = 1  # how often a text has an element does not matter
    frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
    matrix.data = np.log(1 + len(texts) / frequency[matrix.indices])
    return matrix


def unit_vectors(texts: pa.LargeStringArray) -> Any:
    """Scale the vectors of `word_vectors` to length 1, so that their products are cosines."""
    from scipy.sparse import diags_array  # slow to import

    vectors = word_vectors(texts)
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    return diags_array(1 / np.maximum(lengths, 1e-300), format="csr") @ vectors
