"""Compress texts, each by itself: short ones with a trained dictionary, long ones with zstd.

The dictionary is a list of phrases, frequent words and parts of words, learned from the first texts
of an index. General compressors learn such phrases from the text itself, and a short text is over
before they have.
"""

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.items.sets import text_bounds
from lookalike.kernels import phrases as kernels

LONG = 1000  # bytes of a text that zstd compresses better
PHRASES, ZSTD = b"\0", b"\1"  # the first byte says how the rest is encoded
SAMPLED = 1_000_000  # bytes of texts that phrases are learned from
FREQUENT = 3  # occurrences of a phrase that is worth learning
WORD = re.compile(rb"\s?[^\s]{1,15}|\s")
WORDS, PARTS, PART = 12_000, 4_000, 4  # parts of words have at most PART bytes


class Phrasebook:
    """The phrases that texts are encoded with."""

    def __init__(self, phrases: Sequence[bytes]) -> None:
        self.phrases = list(phrases)
        self.content = np.frombuffer(b"".join(self.phrases) or b"\0", np.uint8)
        self.bounds = np.cumsum([0, *map(len, self.phrases)]).astype(np.int64)

    @cached_property
    def _table(self) -> np.ndarray:
        table: np.ndarray = kernels.table_of(self.content, self.bounds)
        return table

    @classmethod
    def learned(cls, texts: pa.LargeStringArray) -> "Phrasebook":
        """Learn the phrases of short texts among these: those used most often have the shortest numbers."""
        texts = texts.filter(pc.less_equal(pc.binary_length(texts), LONG))
        data, starts, stops = text_bounds(texts)
        enough = int(np.searchsorted(stops - starts[:1].sum(), SAMPLED)) + 1
        starts, stops = starts[:enough], stops[:enough]
        sample = data[starts[0] : stops[-1]].tobytes() if len(starts) else b""
        book = cls(sorted(_candidates(sample)))
        used = book._encoded(data, starts, stops)[2]
        best = np.argsort(-used, kind="stable")[: kernels.MOST]
        return cls([book.phrases[at] for at in best.tolist() if used[at]])

    def encode(self, texts: pa.LargeStringArray) -> pa.LargeBinaryArray:
        """Return the bytes that keep these texts."""
        data, starts, stops = text_bounds(texts)
        long = stops - starts > LONG
        content, bounds, _ = self._encoded(data, starts, np.where(long, starts, stops))
        short = content.tobytes()
        codec = pa.Codec("zstd")
        rows: list[bytes] = []
        for at, (start, stop) in enumerate(pairwise(bounds.tolist())):
            if long[at]:
                text = data[starts[at] : stops[at]]
                rows.append(ZSTD + len(text).to_bytes(8, "little") + codec.compress(text, asbytes=True))
            else:
                rows.append(PHRASES + short[start:stop])
        return pa.array(rows, pa.large_binary())

    def _encoded(self, data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, ...]:
        used = np.zeros(len(self.phrases), np.int64)
        content, bounds = kernels.encode_phrases(data, starts, stops, self.content, self.bounds, self._table, used)
        return content, bounds, used

    def decode(self, rows: Sequence[bytes | memoryview]) -> pa.LargeStringArray:
        """Return the texts that these bytes keep; raises a ValueError for other bytes."""
        ends = np.fromiter(accumulate(map(len, rows), initial=0), np.int64, len(rows) + 1)
        if not all(rows):
            raise ValueError("a text has no encoding")
        data = np.frombuffer(b"".join(rows) or b"\0", np.uint8)
        starts = ends[:-1] + 1  # after the bytes that say how the rest is encoded
        short = data[ends[:-1]] == PHRASES[0]
        stops = np.where(short, ends[1:], starts)
        content, bounds = kernels.decode_phrases(data, starts, stops, self.content, self.bounds)
        if not len(content) and (stops > starts).any():
            raise ValueError("a text is not encoded with the phrases of the index")
        if short.all():
            made = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(bounds), pa.py_buffer(content))
            made.validate(full=True)
            return made
        codec = pa.Codec("zstd")
        texts: list[bytes] = []
        for row, (start, stop) in zip(rows, pairwise(bounds.tolist()), strict=True):
            if row[:1] == ZSTD:
                size = int.from_bytes(row[1:9], "little")
                if size <= LONG:
                    raise ValueError("a long text is too short")
                texts.append(codec.decompress(row[9:], size, asbytes=True))
            elif row[:1] == PHRASES:
                texts.append(content[start:stop].tobytes())
            else:
                raise ValueError("a text has an unknown encoding")
        return pa.array(texts, pa.large_binary()).cast(pa.large_string())

    def saved(self) -> str:
        """Return the phrases as a text."""
        packed = b"".join(bytes([len(phrase)]) + phrase for phrase in self.phrases)
        return b64encode(packed).decode()

    @classmethod
    def restored(cls, saved: str) -> "Phrasebook":
        """Return the phrases that were saved as this text."""
        packed = b64decode(saved, validate=True)
        phrases, at = [], 0
        while at < len(packed):
            phrases.append(packed[at + 1 : at + 1 + packed[at]])
            if not 0 < len(phrases[-1]) == packed[at] <= kernels.LONGEST:
                raise ValueError("phrases")
            at += 1 + packed[at]
        if len(phrases) > kernels.MOST:
            raise ValueError("phrases")
        return cls(phrases)


def _candidates(sample: bytes) -> Iterable[bytes]:
    """Return frequent words of a sample, and frequent parts of all words."""
    words = Counter(WORD.findall(sample))
    frequent = [word for word, count in words.most_common(WORDS) if count >= FREQUENT]
    parts: Counter[bytes] = Counter()
    for word, count in words.items():
        for size in range(1, PART + 1):
            for at in range(len(word) - size + 1):
                parts[word[at : at + size]] += count
    saved = {part: count * len(part) for part, count in parts.items() if count >= FREQUENT or len(part) == 1}
    best = sorted(saved, key=lambda part: (-saved[part], part))[:PARTS]
    return {*frequent, *best, *(part for part in saved if len(part) == 1)}
