"""Compare values of a field: how many edits apart they are, and by which way of writing them.

The ways are those of VARIANTS: as they are, with short forms written out, with their words in
order, without the domain of an email, with words cut to initials. All but the last are prepared
once for each value, so that a pair needs only the edits between them, which are counted without the
interpreter lock. A remark that ends a text, such as (1959), is compared by itself.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import process
from rapidfuzz.distance import Indel

from lookalike.core.arrays import even_slices
from lookalike.core.run import Run, slices
from lookalike.entities.fields import as_numbers

LONG = 20  # letters; edits in longer texts are scaled down
LONGEST, MOST_EDITS = 4000, 1000  # letters of texts whose edits are all counted, and how many are in longer ones
SOFT = 1.0  # edits that a known variant counts as
SLIGHT = 0.4  # edits that a remark counts as if only one of two texts ends in one
VALUES_PER_TASK = 1 << 14
LETTERS_PER_TASK = 1 << 22
HOW_COMPARED = (
    "same", "same but for short forms", "same but for the order of words", "same but for initials",
    "same but for the domain", "same but for what is in parentheses", "edited"
)  # fmt: skip
SAME, SHORT_FORM, ORDER, INITIAL, DOMAIN, REMARK, EDITED = range(len(HOW_COMPARED))
VARIANTS = {
    "name": (SHORT_FORM, ORDER, INITIAL), "address": (SHORT_FORM,), "text": (ORDER,), "email": (DOMAIN,)
}  # by kind  # fmt: skip

Texts: TypeAlias = pa.LargeStringArray


class Form(NamedTuple):
    """Values in one way of writing them."""

    texts: np.ndarray  # Python strings
    lengths: np.ndarray
    changed: np.ndarray  # whether a value differs from the way before

    @classmethod
    def of(cls, texts: Texts, before: Texts) -> "Form":
        """Return this form of texts that had another one before."""
        lengths = np.asarray(pc.utf8_length(texts)).astype(float)
        return cls(texts.to_numpy(zero_copy_only=False), lengths, np.asarray(pc.not_equal(texts, before)))

    def edits(self, a: np.ndarray, b: np.ndarray, scaled: bool, most: np.ndarray) -> np.ndarray:
        """Count letters inserted and deleted; if `scaled`, scale long texts down to LONG letters.

        A count of `most` or more need not be exact: it can be any number from `most` on. Texts of more than
        LONGEST letters that are more than MOST_EDITS apart are infinitely far apart.
        """
        lengths = self.lengths[a], self.lengths[b]
        scale = LONG / np.maximum(LONG, np.maximum(*lengths)) if scaled else np.ones(len(a))
        found = np.abs(lengths[0] - lengths[1])  # the least it can be
        limits = counted_up_to(np.minimum(most / scale, lengths[0] + lengths[1]))
        cut = (np.maximum(*lengths) > LONGEST) & (limits > MOST_EDITS)
        limits[cut] = MOST_EDITS
        near = np.flatnonzero(found <= limits)
        for limit in np.unique(limits[near]).tolist():
            rows = near[limits[near] == limit]
            found[rows] = indel(self.texts[a[rows]], self.texts[b[rows]], limit)
        found[cut & (found > MOST_EDITS)] = np.inf
        return np.asarray(found * scale)


def counted_up_to(limits: np.ndarray) -> np.ndarray:
    """Return whole numbers above the limits, by at most an eighth: few different ones.

    >>> counted_up_to(np.array([0, 3.2, 6.9, 8.1, 100])).tolist()
    [1, 4, 7, 9, 104]
    """
    above = np.floor(limits).astype(np.int64) + 1
    step = 1 << np.maximum(0, np.frexp(above)[1] - 4).astype(np.int64)
    return np.asarray(-(-above // step) * step)


def indel(one: np.ndarray, other: np.ndarray, limit: int | None = None) -> np.ndarray:
    """Count letters inserted and deleted, up to a limit: farther pairs of texts get the limit plus one."""
    found: np.ndarray = process.cpdist(
        one.tolist(), other.tolist(), scorer=Indel.distance, score_cutoff=limit, dtype=np.int64
    )
    return found


class Initials(NamedTuple):
    """Which values have initials, and letters that initials can stand for: a bit for each letter."""

    there: np.ndarray  # whether a word of the value, as it is, is one letter
    single: np.ndarray  # words of one letter, of the value written out
    first: np.ndarray  # first letters of all other words

    def can_match(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return whether an initial of one value can be that of a word of the other."""
        common = (self.single[a] & self.first[b]) | (self.single[b] & self.first[a])
        found: np.ndarray = (self.there[a] | self.there[b]) & (common != 0)
        return found


class Forms:
    """The values of a field in all the ways in which they are compared."""

    def __init__(self, kind: str, values: Texts, written: Texts, run: Run) -> None:
        def work(make: Callable[..., Texts | Initials], *texts: Texts) -> list[Texts | Initials]:
            return list(run.map(lambda part: make(*(one[part] for one in texts)), slices(len(values), VALUES_PER_TASK)))

        self.kind, self.ways = kind, VARIANTS.get(kind, ())
        self.exact = self.plain = self.written = Form.of(values, values)
        self.forms: dict[int, Form] = {}  # the variants of single values
        if SHORT_FORM in self.ways:
            self.written = self.forms[SHORT_FORM] = Form.of(written, values)
        if DOMAIN in self.ways:
            self.forms[DOMAIN] = Form.of(pc.replace_substring_regex(values, "@.*", ""), values)
        self.remarks: np.ndarray | None = None
        if kind == "text" and not written.equals(values):
            self.plain = Form.of(written, values)
            self.remarks = remarks_of(values, written)
            self.whole = Form.of(pc.replace_substring_regex(values, "[()]", ""), values)
        if ORDER in self.ways:
            ordered = pa.chunked_array(work(words_in_order, written), pa.large_string()).combine_chunks()
            self.forms[ORDER] = Form.of(ordered, written)
        if INITIAL in self.ways:
            parts = [initials_of(values[:0], written[:0]), *work(initials_of, values, written)]
            self.initials = Initials(*map(np.concatenate, zip(*parts, strict=True)))
        if kind == "number":
            self.numbers = as_numbers(values)

    def distances(self, a: np.ndarray, b: np.ndarray, most: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of values given by position, and which of HOW_COMPARED.

        Those that are not below `most` can be any number that is not; this saves most of the time.
        """
        most = np.full(len(a), np.inf) if most is None else most
        same = (self.exact.texts[a] == self.exact.texts[b]).astype(bool)
        way = np.where(same, SAME, EDITED)
        if self.kind == "category":
            return np.where(same, 0.0, np.inf), way
        if self.kind == "number":
            return np.where(same, 0.0, _relative(self.numbers[a], self.numbers[b])), way
        apart = np.where(same, 0.0, self.plain.edits(a, b, bool(self.ways), most))

        def soften(number: int, rows: np.ndarray, edits: np.ndarray) -> None:
            better = SOFT + edits < apart[rows]
            apart[rows[better]], way[rows[better]] = (SOFT + edits)[better], number

        def left(rows: np.ndarray) -> np.ndarray:
            least: np.ndarray = np.minimum(apart[rows], most[rows])
            return least - SOFT

        for number, form in self.forms.items():
            changed = form.changed[a] | form.changed[b]  # others are as far apart as before
            rows = np.flatnonzero(changed & (apart > SOFT))
            soften(number, rows, form.edits(a[rows], b[rows], True, left(rows)))
        if INITIAL in self.ways:
            rows = np.flatnonzero(self.initials.can_match(a, b) & (apart > SOFT))
            soften(INITIAL, rows, self._edits_of_initials(a[rows], b[rows], left(rows)))
        way[~same & (apart == 0)] = REMARK
        apart += self.between_remarks(a, b)
        if self.remarks is not None:  # one text can have its year in parentheses, the other without them
            rows = np.flatnonzero((self.remarks[a] == "") != (self.remarks[b] == ""))
            edits = self.whole.edits(a[rows], b[rows], True, np.minimum(apart[rows], most[rows]))
            better = edits < apart[rows]
            apart[rows[better]], way[rows[better]] = edits[better], np.where(edits[better] > 0, EDITED, SAME)
        return apart, way

    def between_remarks(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return how much the remarks at the end of texts add to the distances of the texts."""
        if self.remarks is None:
            return np.zeros(len(a))
        one, other = self.remarks[a], self.remarks[b]
        out = np.where((one == other).astype(bool), 0.0, SLIGHT)
        both = np.flatnonzero((out > 0) & ((one != "") & (other != "")).astype(bool))
        out[both] = indel(one[both], other[both])
        return out

    def _edits_of_initials(self, a: np.ndarray, b: np.ndarray, most: np.ndarray) -> np.ndarray:
        texts, lengths, out = self.written.texts, self.written.lengths, np.zeros(len(a))
        for part in even_slices(np.append(0, np.cumsum(lengths[a] + lengths[b])), LETTERS_PER_TASK):
            pairs = map(_initials, texts[a[part]].tolist(), texts[b[part]].tolist())
            both = pa.array([text for pair in pairs for text in pair], pa.large_string())
            places = np.arange(0, len(both), 2)
            out[part] = Form.of(both, both).edits(places, places + 1, True, most[part])
        return out


def distances(
    kind: str, one: Sequence[str], other: Sequence[str], written: Sequence[str], others: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of values (as they are, and written out), and which of HOW_COMPARED."""
    values, forms = (pa.array([*a, *b], pa.large_string()) for a, b in ((one, other), (written, others)))
    places = np.arange(len(values))
    return Forms(kind, values, forms, Run(1)).distances(places[: len(one)], places[len(one) :])


def remarks_of(values: Texts, written: Texts) -> np.ndarray:
    """Return what the texts have beyond the written form: the remarks that end them."""
    pairs = zip(values.to_pylist(), written.to_pylist(), strict=True)
    return np.array([value[len(text) :] for value, text in pairs], object)


def words_in_order(texts: Texts) -> Texts:
    """Sort the words of each text; one space separates words."""
    lists = pc.split_pattern(texts, " ")
    words = lists.flatten().dictionary_encode()
    order = pc.sort_indices(words.dictionary)
    size = max(1, len(order))
    rank = np.empty(size, np.int64)
    rank[np.asarray(order)] = np.arange(len(order))
    rows = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    ranks = np.sort(rows * size + rank[np.asarray(words.indices)]) % size
    sorted_words = words.dictionary.take(order).take(pa.array(ranks))
    return pc.binary_join(pa.ListArray.from_arrays(lists.offsets, sorted_words), pa.scalar(" ", pa.large_string()))


def initials_of(values: Texts, written: Texts) -> Initials:
    """Return the initials of values, as they are and written out."""
    if not len(values):
        return Initials(np.zeros(0, np.bool_), np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    lists, full = pc.split_pattern(values, " "), pc.split_pattern(written, " ")
    letter = pc.and_(_is_single(lists.flatten()), pc.utf8_is_alpha(lists.flatten()))
    there = np.logical_or.reduceat(np.asarray(letter), np.asarray(lists.offsets)[:-1])
    words = full.flatten()
    first = pc.utf8_slice_codeunits(words, 0, 1).dictionary_encode()
    bits = np.array([1 << (ord(letter or " ") % 64) for letter in first.dictionary.to_pylist()], np.uint64)
    single, starts = np.asarray(_is_single(words)), np.asarray(full.offsets)[:-1]
    of_words = bits[np.asarray(first.indices)]
    masks = (np.bitwise_or.reduceat(np.where(some, of_words, 0), starts) for some in (single, ~single))
    return Initials(there, *masks)


def _is_single(words: Texts) -> pa.BooleanArray:
    return pc.equal(pc.utf8_length(words), 1)


def _relative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the relative distances of numbers: a difference of 10% counts as two edits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = 20 * np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return np.where(np.isnan(apart), 0.0, apart)


def _initials(one: str, other: str) -> tuple[str, str]:
    """Return both names with words cut to their first letter where the other name has just that.

    >>> _initials("j r smith", "john robert smith")
    ('j r smith', 'j r smith')
    """

    def cut(words: list[str], others: list[str]) -> str:
        return " ".join(word[0] if word[0] in others and word not in others else word for word in words)

    a, b = one.split(), other.split()
    return cut(a, b), cut(b, a)
