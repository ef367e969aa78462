"""Turn texts into shingles: the sets of short strings that a document consists of.

There are two forms. `Shingles.of` returns the shingles of one text as readable strings;
`Shingles.sets` returns those of many texts as sorted 64-bit hashes, straight from Arrow's buffers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, argument, choice, closest, parameter, whole
from lookalike.items.sets import Sets, text_bounds
from lookalike.items.stop_words import parse_codes, words_of
from lookalike.kernels import characters, text

Rows = tuple[np.ndarray, np.ndarray]  # (indptr, elements)

UNITS = ("char", "word", "stop")
SPACES = ("collapse", "keep", "remove")
FORMS = ("nfc", "nfkc", "none")
PUNCTUATION = ("drop", "keep")
STOP_PARAMETERS = ("stop_words", "distance", "skip_stops", "antecedents")
BETWEEN = {"collapse": " ", "remove": ""}  # what white space between characters becomes
DEFAULT_K = {"char": 9, "word": 5, "stop": 3}


@dataclass(frozen=True)
class Shingles:
    """The rule that turns texts into sets: every `k` consecutive units, characters or words.

    unit: "char", "word", or "stop": a stop word and k - 1 words after it, which are frequent in
        articles and rare in menus and advertisements. Words are runs of Unicode letters, digits,
        marks and connectors such as _; in scripts without spaces between words each letter is a
        word (but a run of katakana is one).
    bag: keep how often each shingle occurs.
    space: for the unit "char", "collapse" each run of white space to one blank and drop it at both
        ends, "keep" white space, or "remove" it.
    lowercase: ignore case.
    form: Unicode normal form: "nfc" (the encoding of accents does not matter), "nfkc" or "none".
    punctuation: for words, "drop" it (ignore it, except in texts shorter than k words) or "keep" it:
        then each mark, symbol or emoji is a word of its own.
    bits: the length of the hashes of shingles. Leave it at 64; 32 is for studying collisions, of
        which there are then about n**2 / 2**33 among n different shingles.
    stop_words: the stop list: language codes such as "de" or "en,de", or words; default: English.
    distance: use every `distance`-th of the words after a stop word; 1 uses those right after it.
    skip_stops: skip other stop words when choosing the words after a stop word.
    antecedents: the words that shingles can begin with; default: all stop words.

    A text of fewer than k characters or words is one shingle made of all its characters,
    punctuation included, so that with word:5 the texts C++ and C# differ. A blank text, and for
    "stop" a text without stop words, has no shingles and is similar to nothing.

    >>> sorted(Shingles(k=2).of("abcdabd"))
    ['ab', 'bc', 'bd', 'cd', 'da']
    >>> Shingles(k=2, bag=True).of("abcab")
    Counter({'ab': 2, 'bc': 1, 'ca': 1})
    >>> Shingles.parse("word:2").of("to be or not to be") == {"to be", "be or", "or not", "not to"}
    True
    """

    k: int = 9
    unit: str = "char"
    bag: bool = False
    space: str = "collapse"
    lowercase: bool = False
    form: str = "nfc"
    bits: int = 64
    stop_words: str | Iterable[str] | None = None
    distance: int = 1
    skip_stops: bool = False
    antecedents: Iterable[str] | None = None
    punctuation: str = "drop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole("k", self.k, most=1 << 31))
        choice("unit", self.unit, UNITS)
        choice("space", self.space, SPACES)
        choice("form", self.form, FORMS)
        choice("punctuation", self.punctuation, PUNCTUATION)
        if self.unit != "word" and self.punctuation == "keep":
            rule = f"{argument('punctuation', 'keep')} is for shingles of words, such as word:5"
            raise UsageError(f"{rule}; got {self.unit}:{self.k}.")
        if self.bits not in (32, 64):
            raise UsageError(f"bits must be 64 or 32; got {self.bits!r}.")
        object.__setattr__(self, "distance", whole("distance", self.distance, most=1 << 31))
        if isinstance(self.stop_words, str):
            object.__setattr__(self, "stop_words", parse_codes(self.stop_words))
        elif self.stop_words is not None:
            object.__setattr__(self, "stop_words", word_list("stop_words", self.stop_words))
        if self.antecedents is not None:
            object.__setattr__(self, "antecedents", word_list("antecedents", self.antecedents))
        for name in STOP_PARAMETERS:
            if self.unit != "stop" and getattr(self, name) != DEFAULTS[name]:
                rule = f"{parameter(name)} is for stop-word shingles, such as stop:3"
                raise UsageError(f"{rule}; got {self.unit}:{self.k}.")
        if self.stop_words == "en":
            object.__setattr__(self, "stop_words", None)

    @classmethod
    def parse(cls, spec: str, **options: Any) -> "Shingles":
        """Parse a text such as "char:9", "word:5", "stop:3", or a unit alone with its usual k.

        The `options` are the other parameters of `Shingles`, such as lowercase=True.
        """
        unit, _, k = str(spec).partition(":")
        joined = re.fullmatch(rf"({'|'.join(UNITS)})s?\W*(\d+)", str(spec))
        near = closest(unit, UNITS)
        meant = f"{joined[1]}:{joined[2]}" if joined else near and f"{near}:{k}".rstrip(":")
        if unit not in UNITS or (k and not (k.isdecimal() and int(k))):
            hint = f" Did you mean {meant!r}?" if meant and meant != spec else ""
            raise UsageError(f"shingles must look like char:9, word:5 or stop:3; got {spec!r}.{hint}")
        return cls(k=int(k) if k else DEFAULT_K[unit], unit=unit, **options)

    def __str__(self) -> str:
        flags = [name for name in ("bag", "lowercase", "skip_stops") if getattr(self, name)]
        names = ("stop_words", "antecedents", "distance", "punctuation", "space", "form", "bits")
        changed = {name: getattr(self, name) for name in names if getattr(self, name) != DEFAULTS[name]}
        shown = [f"{n}={word_list_name(v) if isinstance(v, frozenset) else v}" for n, v in changed.items()]
        return " ".join([f"{self.unit}:{self.k}", *flags, *shown])

    @classmethod
    def from_str(cls, line: str) -> "Shingles | None":
        """Return the shingles that `str` described; None for custom words, which it does not list.

        >>> Shingles.from_str("word:5 lowercase space=remove") == Shingles(5, "word", lowercase=True, space="remove")
        True
        """
        spec, *options = line.split(" ")
        named = dict(option.partition("=")[::2] for option in options)
        if any(":" in named.get(name, "") for name in ("stop_words", "antecedents")):
            return None
        given = {name: int(value) if value.isdecimal() else value or True for name, value in named.items()}
        return cls.parse(spec, **given)

    # --- readable ---

    def of(self, document: str) -> "set[str] | Counter[str]":
        """Return the shingles of one text as strings: a set, or a Counter for bags."""
        return self.of_prepared(self.prepare(as_array([document]))[0].as_py())

    def in_order(self, document: str) -> list[str]:
        """Return the shingles of one text as strings, in order, repeats included.

        >>> Shingles(k=2).in_order("abcab")
        ['ab', 'bc', 'ca', 'ab']
        """
        return self._windows(self.prepare(as_array([document]))[0].as_py())

    def of_prepared(self, clean: str) -> "set[str] | Counter[str]":
        """Return the same as `of`, for a text that `prepare` has already processed."""
        found = self._windows(clean)
        return Counter(found) if self.bag else set(found)

    def _windows(self, clean: str) -> list[str]:
        units: Sequence[str]
        if self.unit == "char":
            whole = units = clean if self.space == "keep" else BETWEEN[self.space].join(_chunks(clean))
        else:
            whole, units = " ".join(_chunks(clean)), split_words(clean, self.punctuation == "keep")
        if self.unit == "stop":
            return self._spots(units)
        glue = "" if self.unit == "char" else " "
        found = [glue.join(units[i : i + self.k]) for i in range(len(units) - self.k + 1)]
        return found or [whole] * (whole != "")

    def _spots(self, words: Sequence[str]) -> list[str]:
        """Return the shingles that antecedents make with words after them."""
        chain = [word for word in words if word not in self._skipped]
        found = []
        after = 0  # where in the chain the words after this one begin
        for word in words:
            after += word not in self._skipped
            last = after + (self.k - 1) * self.distance
            if word in self._antecedents and last <= len(chain):
                found.append(" ".join([word, *chain[after + self.distance - 1 : last : self.distance]]))
        return found

    # --- hashed ---

    def sets(self, texts: Iterable[str] | pa.Array) -> Sets:
        """Return the shingles of many texts as sets of 64-bit hashes; bags count each copy."""
        indptr, hashes = self.hashes(self.prepare(as_array(texts)))
        return Sets.sorted(indptr, hashes, self.bag)

    def prepare(self, texts: pa.LargeStringArray) -> pa.LargeStringArray:
        """Return the texts in the chosen normal form and case; most are in it already."""
        texts = self._normal(texts)
        return self._normal(pc.utf8_lower(texts)) if self.lowercase else texts

    def _normal(self, texts: pa.LargeStringArray) -> pa.LargeStringArray:
        if self.form == "none":
            return texts
        if self.form == "nfc":
            found = text.needs_normal_form(*text_bounds(texts))
            if not found.any():
                return texts
            unstable = pa.array(found)
        else:
            unstable = pc.invert(pc.string_is_ascii(texts))
            if not pc.any(unstable).as_py():
                return texts
        changed = pc.utf8_normalize(texts.filter(unstable), self.form.upper())
        return pc.replace_with_mask(texts, unstable, changed)

    def hashes(self, prepared: pa.LargeStringArray, rows: np.ndarray | None = None) -> Rows:
        """Return (indptr, hashes): the shingles of each prepared text in order, with repeats."""
        data, starts, stops = text_bounds(prepared, rows)
        keep = np.uint64(0xFFFFFFFF_FFFFFFFF if self.bits == 64 else 0xFFFFFFFF_00000000)
        made: Rows
        if self.unit == "stop":
            made = text.hash_spots(data, starts, stops, *self.spot_hashes, self.k, self.distance, keep)
        else:
            unit, white = self.codes
            made = text.hash_texts(data, starts, stops, unit, self.k, white, keep)
        return made

    @property
    def codes(self) -> tuple[int, int]:
        """What a unit is, and what becomes of white space between characters, as kernels name them."""
        unit = text.CHAR if self.unit == "char" else text.TOKEN if self.punctuation == "keep" else text.WORD
        return unit, SPACES.index(self.space)

    @cached_property
    def _antecedents(self) -> frozenset[str]:
        return self._stops if self.antecedents is None else self._forms(self.antecedents)

    @cached_property
    def _skipped(self) -> frozenset[str]:
        return self._stops if self.skip_stops else frozenset()

    @cached_property
    def _stops(self) -> frozenset[str]:
        codes = "en" if self.stop_words is None else self.stop_words
        return self._forms(words_of(codes) if isinstance(codes, str) else codes)

    def _forms(self, listed: Iterable[str]) -> frozenset[str]:
        """Return the words of a list in the forms that texts use: the, The, THE."""
        forms = (form for word in listed for form in (word, word.capitalize(), word.upper()))
        prepared = self.prepare(pa.array(sorted(forms), pa.large_string())).to_pylist()
        return frozenset(word for form in prepared for word in split_words(form))

    @cached_property
    def spot_hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of the words that shingles can begin with, and of those that are skipped after them."""
        return _hash_words(self._antecedents), _hash_words(self._skipped)


DEFAULTS = {name: f.default for name, f in Shingles.__dataclass_fields__.items()}


def word_list(name: str, words: Iterable[str]) -> frozenset[str]:
    """Return the words in lower case; raise an error if there are none."""
    listed = [] if isinstance(words, str) else list(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in listed):
        raise UsageError(f"{name} must be a collection of words; got {words!r}.")
    if not any(map(split_words, listed)):
        raise UsageError(f"{name} must have at least one word; got {', '.join(listed)!r}.")
    return frozenset(word.lower() for word in listed)


def word_list_name(words: frozenset[str]) -> str:
    """Return the number of words and a short hash of them, to identify the list."""
    return f"{len(words)}:{sha256(chr(10).join(sorted(words)).encode()).hexdigest()[:8]}"


def _hash_words(words: frozenset[str]) -> np.ndarray:
    data, starts, stops = text_bounds(pa.array(sorted(words), pa.large_string()))
    hashes = np.empty(len(data), np.uint64)
    filled = 0
    for start, stop in zip(starts, stops, strict=True):
        filled += text.words(data, start, stop, False, hashes[filled:])
    return np.sort(hashes[:filled])


def as_array(texts: Iterable[str] | pa.Array) -> pa.LargeStringArray:
    """Return texts as one Arrow array without nulls."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    try:
        array = texts if isinstance(texts, pa.Array) else pa.array(list(texts), pa.large_string())
        array = array if array.type == pa.large_string() else array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeError) as error:
        raise DataError(f"texts must be strings of valid Unicode: {' '.join(str(error).split())}") from error
    if array.null_count:
        at = pc.index(array.is_null(), True).as_py()
        raise DataError(f"texts must be strings; text {at} is null.")
    return array


def split_words(clean: str, punctuation: bool = False) -> list[str]:
    """Return the words of a text, and its punctuation marks if asked, by the same table as the kernel."""
    words: list[str] = []
    open_ = alone = False
    for char in clean:
        kind = _traits(char) & characters.KIND
        if open_ and (kind == characters.MARK or (kind == characters.LETTER and not alone)):
            words[-1] += char
            continue
        alone = kind == characters.ALONE or (punctuation and kind == characters.SEPARATOR)
        open_ = alone or kind == characters.LETTER
        if open_:
            words.append(char)
    return words


def _chunks(clean: str) -> list[str]:
    """Split a text at white space as Unicode defines it; str.split knows four more characters."""
    white = (" " if _traits(char) & characters.KIND == characters.SPACE else char for char in clean)
    return [chunk for chunk in "".join(white).split(" ") if chunk]


def _traits(char: str) -> int:
    return int(characters.PAGES[characters.INDEX[ord(char) // characters.PAGE], ord(char) % characters.PAGE])
