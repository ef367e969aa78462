"""Count how rare the words and trigrams of texts are, and whole values: the rarer one is, the more it says."""

from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.entities.fields import TRIGRAMS, WORDS

COMMON = 10  # records with a value, up to which it counts as rare
CLASSES = 4  # of the rarity of values, at most


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


class Rarity(NamedTuple):
    """How many records have each common value of a field, and how many have values of each class."""

    common: dict[str, int]
    records: list[int]  # by class, the rarest first

    @classmethod
    def of(cls, texts: np.ndarray, codes: np.ndarray) -> Self:
        """Count the values of records, given as codes of texts, -1 where missing."""
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        classes = class_of(counts)
        records = np.bincount(classes, counts, 1).astype(int).tolist()
        common = np.flatnonzero(classes)
        return cls(dict(zip(texts[common].tolist(), counts[common].tolist(), strict=True)), records)

    @property
    def shares(self) -> np.ndarray:
        """Return the share of records with a value of each class, the most common class first."""
        counts = np.array(self.records[::-1], float) + 1 / len(self.records)
        return np.asarray(counts / counts.sum())

    def classes(self, texts: np.ndarray) -> np.ndarray:
        """Return the class of each text; one that is not common is of the rarest."""
        common = pa.array([*self.common], pa.large_string())
        at = pc.index_in(pa.array(texts, pa.large_string()), common).fill_null(len(common))
        known = np.append(class_of(np.array([*self.common.values()], np.int64)), 0)
        return np.asarray(known[np.asarray(at)])


def class_of(counts: np.ndarray) -> np.ndarray:
    """Return the classes of values that this many records have: 0 if they are rare.

    >>> class_of(np.array([1, 10, 11, 100, 101, 10**6])).tolist()
    [0, 0, 1, 1, 2, 3]
    """
    bounds = COMMON * 10 ** np.arange(CLASSES - 1)
    return np.asarray(np.searchsorted(bounds, counts))
