"""Generate gigabytes of pages with the structure of a crawl, from a fixed seed.

    python bench/pages.py OUT.parquet --gigabytes 30

Pages are of invented words with natural frequencies. Their lengths have a heavy tail: half have
fewer than 350 words, one in a hundred more than 5,000. One page in five is an exact copy of an
earlier one, and one in twenty a copy in which one word in fifty is replaced. Originals of copies can
be anywhere before them in the file. A larger file begins like a smaller one.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from index import WORDS, vocabulary
from numba import njit

SEED = 1
BLOCK = 64_000_000  # bytes of text, about, in a row group
USUAL, SPREAD = 350, 1.15  # words of a page: the median, and the standard deviation of their logarithm
SHORTEST, LONGEST = 20, 100_000
COPIES, CHANGED = 0.20, 0.05  # shares of the pages
REPLACED = 0.02  # share of the words of a changed page
OLD = 20_000  # pages that can be copied in a later block
DRAWS = 1 << 20  # entries of the table from which words are drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT.parquet")
    parser.add_argument("--gigabytes", type=float, default=3.0)
    given = parser.parse_args()
    words = [f"{word} ".encode() for word in vocabulary()]
    starts = np.concatenate(([0], np.cumsum([len(word) for word in words])))
    letters = np.frombuffer(b"".join(words), np.uint8)
    weights = np.cumsum(1 / (np.arange(WORDS) + 3))
    table = np.searchsorted(weights, (np.arange(DRAWS) + 0.5) / DRAWS * weights[-1]).astype(np.int32)
    draw = np.random.default_rng(SEED)
    schema = pa.schema({"id": pa.int64(), "text": pa.large_string()})
    old: list[np.ndarray] = []
    pages = size = 0
    with pq.ParquetWriter(given.out, schema, use_dictionary=False) as writer:
        while size < given.gigabytes * 1e9:
            block = make_block(draw, table, old)
            texts = as_texts(block, letters, starts)
            writer.write_table(pa.table({"id": np.arange(pages, pages + len(block)), "text": texts}, schema=schema))
            keep = draw.choice(len(block), min(len(block), 200), replace=False)
            old = [*old, *(block[at] for at in keep)][-OLD:]
            pages += len(block)
            size += texts.nbytes
    print(f"{given.out}: {pages:,} pages, {size / 1e6:,.0f} MB of text")


def make_block(draw: np.random.Generator, table: np.ndarray, old: list[np.ndarray]) -> list[np.ndarray]:
    """Return pages as numbers of words: new ones, and copies of these or of old ones."""
    count = int(BLOCK / 7.0 / (USUAL * np.exp(SPREAD**2 / 2)))  # a word has seven bytes
    lengths = np.clip(USUAL * np.exp(SPREAD * draw.standard_normal(count)), SHORTEST, LONGEST).astype(np.int64)
    kinds = draw.random(count)
    pages: list[np.ndarray] = []
    for length, kind in zip(lengths.tolist(), kinds.tolist(), strict=True):
        if kind > COPIES + CHANGED or not pages:
            pages.append(table[draw.integers(0, DRAWS, length)])
            continue
        from_old = old and draw.random() < 0.5
        page = old[int(draw.integers(len(old)))] if from_old else pages[int(draw.integers(len(pages)))]
        if kind > COPIES:
            page = page.copy()
            places = draw.integers(0, len(page), max(1, int(REPLACED * len(page))))
            page[places] = draw.integers(0, WORDS, len(places))
        pages.append(page)
    return pages


def as_texts(pages: list[np.ndarray], letters: np.ndarray, starts: np.ndarray) -> pa.LargeStringArray:
    """Return pages as texts."""
    numbers = np.concatenate(pages)
    bounds = np.concatenate(([0], np.cumsum([len(page) for page in pages])))
    offsets, content = spell(numbers, bounds, letters, starts)
    return pa.Array.from_buffers(pa.large_string(), len(pages), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


@njit(cache=True)
def spell(numbers, bounds, letters, starts):  # type: ignore[no-untyped-def]
    """Return where each page begins, and the letters of all words."""
    size = 0
    for word in numbers:
        size += starts[word + 1] - starts[word]
    content, offsets = np.empty(size, np.uint8), np.zeros(len(bounds), np.int64)
    at = 0
    for page in range(len(bounds) - 1):
        for word in numbers[bounds[page] : bounds[page + 1]]:
            for i in range(starts[word], starts[word + 1]):
                content[at] = letters[i]
                at += 1
        offsets[page + 1] = at
    return offsets, content


if __name__ == "__main__":
    main()
