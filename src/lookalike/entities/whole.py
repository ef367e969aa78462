"""Compare whole records: the words, trigrams and numbers of all their fields together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.fields import TRIGRAMS, WORDS, Column
from lookalike.entities.neighbours import ElementRows, whole_texts
from lookalike.entities.rarities import Rarities
from lookalike.entities.usual import in_slices
from lookalike.kernels.overlaps import common_weights, overlaps, sums_of_rows

PAIRS_PER_TASK = 1 << 16
WORDS_WITHOUT_DIGITS = r"(^| )[^ 0-9]+"


class WeighedRows(NamedTuple):
    """Rows of elements, a weight for each element, and the sum of the weights of each row."""

    rows: ElementRows
    weights: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, rows: ElementRows, weights: np.ndarray) -> Self:
        """Add up the weights of each row."""
        return cls(rows, weights, sums_of_rows(rows.indptr, rows.elements, weights))

    def overlaps(self, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, ...]:
        """Weigh what pairs of rows have in common, and what only one of them has; see the kernel."""
        found: tuple[np.ndarray, ...] = overlaps(self.rows.indptr, self.rows.elements, self.weights, one, other)
        return found

    def common(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Weigh what pairs of rows have in common."""
        found: np.ndarray = common_weights(self.rows.indptr, self.rows.elements, self.weights, one, other)
        return found

    def share(self, common: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which part of the weight of rows is common."""
        return np.asarray(common / np.maximum(self.sums[rows], 1e-300))


class TextVectors(NamedTuple):
    """Texts as vectors of their words and trigrams, each weighted by its rarity."""

    squares: WeighedRows  # of the weights

    @classmethod
    def of(
        cls, texts: pa.LargeStringArray, run: Run, rarities: Rarities | None = None, storage: Storage = IN_MEMORY,
        name: str = "",
    ) -> Self:  # fmt: skip
        """Cut texts into elements; their rarity is counted in these texts, or given."""
        rows = ElementRows.of(texts, run, (WORDS, TRIGRAMS), rarities, storage, name)
        return cls(WeighedRows.of(rows, rows.weights**2))

    def cosines(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs of texts, 0 for a text without elements."""
        lengths = self.squares.rows.lengths
        return np.asarray(self.squares.common(one, other) / np.maximum(lengths[one] * lengths[other], 1e-300))


def words_with_digits(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts without all other words."""
    return pc.replace_substring_regex(texts, WORDS_WITHOUT_DIGITS, " ")


def forms_of_words(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts with 9 for each digit and a for each letter: W830 and W810 have one form.

    >>> forms_of_words(pa.array(["dsc w830"], pa.large_string())).to_pylist()
    ['aaa a999']
    """
    return pc.replace_substring_regex(pc.replace_substring_regex(texts, "[0-9]", "9"), "[^ 9]", "a")


class NumberForms(NamedTuple):
    """The words with digits in the fields of kind text, and their forms; a value without letters is no name."""

    codes: np.ndarray  # of each record
    numbers: WeighedRows
    forms: WeighedRows

    @classmethod
    def of(cls, columns: Sequence[Column], run: Run, storage: Storage = IN_MEMORY) -> Self:
        """Find the words with digits."""
        named = [
            replace(one, canonical=pc.if_else(pc.match_substring_regex(one.canonical, "[^0-9 ]"), one.canonical, None))
            for one in columns
            if one.kind == "text"
        ]
        texts = whole_texts(named, run) if named else pa.nulls(len(columns[0].canonical), pa.large_string())
        coded = in_slices(words_with_digits, texts.fill_null(""), run).dictionary_encode()
        made = []
        for name, words in (("codes", coded.dictionary), ("forms", forms_of_words(coded.dictionary))):
            rows = ElementRows.of(words, run, (WORDS,), None, storage, name)
            made.append(WeighedRows.of(rows, np.ones(len(rows.weights))))
        return cls(np.asarray(coded.indices).astype(np.int64), *made)

    def apart(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return which pairs of records have different words with digits of one form, such as W830 and W810."""
        one, other = self.codes[left], self.codes[right]
        common = self.numbers.common(one, other)
        more = (common < self.numbers.sums[one]) & (common < self.numbers.sums[other])
        return np.asarray(more & (self.forms.common(one, other) > common))


class WholeTexts(NamedTuple):
    """The distinct texts of whole records, as words, as trigrams and as words with digits."""

    texts: int  # among which the rarities were counted
    codes: np.ndarray  # the text of each record
    words: WeighedRows
    grams: WeighedRows
    numbers: WeighedRows
    siblings: NumberForms

    @classmethod
    def of(
        cls, columns: Sequence[Column], run: Run, known: tuple[Rarities, Rarities] | None = None,
        storage: Storage = IN_MEMORY,
    ) -> Self:  # fmt: skip
        """Cut the texts of all records into elements, weighted by their rarity; numbers weigh 1.

        The rarities of words and of trigrams are counted here, or `known`.
        """
        coded = whole_texts(columns, run).fill_null("").dictionary_encode()
        texts = coded.dictionary
        words, grams = (
            ElementRows.of(texts, run, (shingles,), rarities, storage, name)
            for shingles, rarities, name in zip(
                (WORDS, TRIGRAMS), known or (None, None), ("words", "grams"), strict=True
            )
        )
        numbers = ElementRows.of(in_slices(words_with_digits, texts, run), run, (WORDS,), None, storage, "numbers")
        return cls(
            known[0].texts if known else len(texts),
            np.asarray(coded.indices).astype(np.int64),
            WeighedRows.of(words, words.weights),
            WeighedRows.of(grams, grams.weights),
            WeighedRows.of(numbers, np.ones(len(numbers.weights))),
            NumberForms.of(columns, run, storage),
        )

    def rarities(self) -> tuple[Rarities, Rarities]:
        """Return the rarities of words and of trigrams."""
        words, grams = (Rarities.counted(self.texts, one.rows.hashes, one.rows.counts) for one in self[2:4])
        return words, grams

    def nearness(self, left: np.ndarray, right: np.ndarray, run: Run, storage: Storage = IN_MEMORY) -> np.ndarray:
        """Return the cosines of pairs of records, by their words and trigrams."""
        lengths = np.hypot(self.words.rows.lengths, self.grams.rows.lengths)
        squares = [WeighedRows(rows, weights**2, sums) for rows, weights, sums in (self.words, self.grams)]

        def work(part: slice) -> np.ndarray:
            one, other = self.codes[left[part]], self.codes[right[part]]
            common = sum(some.common(one, other) for some in squares)
            return np.asarray(np.minimum(1, common / np.maximum(lengths[one] * lengths[other], 1e-300)))

        return storage.filled("near", len(left), np.float64, work, run, PAIRS_PER_TASK)

    def compare(self, left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
        """Return how much pairs of records have in common, and what only one of them has.

        Rarities are given as shares of the highest there can be, that of an element of one record.
        """
        one, other = self.codes[left], self.codes[right]
        full = np.log(1 + self.texts)
        shared, rarest, only_one, only_other = self.words.overlaps(one, other)
        letters, numbers = self.grams.common(one, other), self.numbers.common(one, other)
        more, others = numbers < self.numbers.sums[one], numbers < self.numbers.sums[other]
        return [
            np.minimum(shared / full, 5), rarest / full, one == other,
            only_one / full, only_other / full, self.words.share(shared, one), self.words.share(shared, other),
            self.grams.share(letters, one), self.grams.share(letters, other),
            more & others, more != others, (numbers > 0) & ~more & ~others, self.siblings.apart(left, right),
        ]  # fmt: skip
