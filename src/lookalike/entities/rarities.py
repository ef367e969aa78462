"""Weight the words and trigrams of texts by their rarity: the fewer texts have one, the more it says."""

from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from lookalike.entities.fields import TRIGRAMS, WORDS


class Rarities(NamedTuple):
    """In how many of some texts each element is; one that is not listed counts as if it were in one."""

    texts: int
    elements: np.ndarray  # hashes, ascending
    counts: np.ndarray  # at least 2

    @classmethod
    def of(cls, texts: pa.LargeStringArray) -> Self:
        """Count the words and trigrams of texts.

        >>> some = Rarities.of(pa.array(["red bus", "red car", "tram"], pa.large_string()))
        >>> some.texts, some.counts.tolist()  # of "red" as a word and as a trigram, and of "ed "
        (3, [2, 2, 2])
        """
        rows, hashes = element_rows(texts)
        pairs = np.unique(np.rec.fromarrays([hashes, rows]))
        return cls.counted(len(texts), *np.unique(pairs["f0"], return_counts=True))

    @classmethod
    def counted(cls, texts: int, elements: np.ndarray, counts: np.ndarray) -> Self:
        """Keep the counts of elements that are in several texts."""
        several = np.flatnonzero(counts > 1)
        several = several[np.argsort(elements[several])]
        return cls(texts, elements[several], counts[several].astype(np.int64))

    def counts_of(self, elements: np.ndarray) -> np.ndarray:
        """Return in how many texts each of some elements is."""
        out = np.ones(len(elements), np.int64)
        at = np.searchsorted(self.elements, elements)
        inside = np.flatnonzero(at < len(self.elements))
        known = inside[self.elements[at[inside]] == elements[inside]]
        out[known] = self.counts[at[known]]
        return out


def element_rows(texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the words and trigrams of texts: positions of texts, and hashes."""
    texts = texts.fill_null("")
    made = [shingles.hashes(texts) for shingles in (WORDS, TRIGRAMS)]
    rows = [np.repeat(np.arange(len(texts)), np.diff(indptr)) for indptr, _ in made]
    return np.concatenate(rows), np.concatenate([hashes for _, hashes in made])
