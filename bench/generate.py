"""Generate large inputs of invented words with natural frequencies, from a fixed seed.

    python bench/generate.py FOLDER [--messages 1000000] [--variants 200000]

messages.parquet  short messages of 100 to 300 characters; 5% are copies of others with a word or
                  two changed; the column `planted` has the id of the original (-1 for all others)
variants.parquet  variants of one page of 300 words, with one to three words replaced: nearly all
                  pairs are similar
"""

import argparse
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, product
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 1
WORDS = 30_000
PLANTED = 0.05
SHORTEST, LONGEST = 100, 300  # characters of a message
PAGE = 300  # words
GROUP = 100_000  # rows per row group


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--messages", type=int, default=1_000_000, help="how many; 0 for none")
    parser.add_argument("--variants", type=int, default=200_000, help="how many; 0 for none")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.messages:
        save(messages(given.messages), given.folder / "messages.parquet")
    if given.variants:
        save(variants(given.variants), given.folder / "variants.parquet")


def messages(count: int) -> pa.Table:
    """Return messages with planted copies, in random order."""
    random = Random(SEED)
    stock = draw_words(random)
    planted = int(count * PLANTED)
    texts = [message(random, stock) for _ in range(count - planted)]
    order = random.sample(range(count), count)  # the id of each text
    origin = [-1] * len(texts)
    for original in random.choices(range(len(texts)), k=planted):
        texts.append(edit(texts[original], random, stock))
        origin.append(order[original])
    table = pa.table({"id": order, "text": texts, "planted": origin})
    return table.sort_by("id")


def message(random: Random, stock: Iterator[str]) -> str:
    """Return a message of words up to a random length."""
    length = random.randint(SHORTEST + 20, LONGEST - 30)  # so that copies stay within the limits
    text = next(stock).capitalize()
    while len(text) < length:
        text += " " + next(stock)
    return text + "."


def edit(text: str, random: Random, stock: Iterator[str]) -> str:
    """Return a copy with one or two words replaced, dropped or inserted."""
    while True:
        words = text.split(" ")
        for _ in range(random.randint(1, 2)):
            at = random.randrange(len(words))
            kind = random.choice(("replace", "drop", "insert"))
            words[at : at + (kind != "insert")] = [] if kind == "drop" else [next(stock)]
        copy = " ".join(words)
        if copy != text and SHORTEST <= len(copy) <= LONGEST:
            return copy


def variants(count: int) -> pa.Table:
    """Return copies of one page, each with one to three words replaced."""
    random = Random(SEED)
    stock = draw_words(random)
    page = [next(stock) for _ in range(PAGE)]
    texts = []
    for _ in range(count):
        words = page.copy()
        for at in random.sample(range(PAGE), random.randint(1, 3)):
            words[at] = next(word for word in stock if word != page[at])
        texts.append(" ".join(words))
    return pa.table({"id": range(count), "text": texts})


def draw_words(random: Random) -> Iterator[str]:
    """Yield words without end; the word of rank r has the weight 1 / (r + 3)."""
    words = invent_words(random)
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    while True:
        yield words[bisect_left(weights, random.random() * weights[-1])]


def invent_words(random: Random) -> list[str]:
    """Return distinct words of one to four syllables; the first, most frequent ones are short."""
    syllables = ["".join(letters) for letters in product("bdfgklmnprstvz", "aeiou", ("", "n", "s"))]
    words: dict[str, None] = {}
    while len(words) < WORDS:
        longest = 1 + (len(words) > 50) + (len(words) > 1_000) + (len(words) > 10_000)
        words["".join(random.choices(syllables, k=random.randint(1, longest)))] = None
    return list(words)


def save(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=GROUP)
    text, size = pc.sum(pc.binary_length(table["text"])).as_py() / 1e6, path.stat().st_size / 1e6
    print(f"{path}: {len(table):,} documents, {text:,.1f} MB of text, {size:,.1f} MB on disk")


if __name__ == "__main__":
    main()
