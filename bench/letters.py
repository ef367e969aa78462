"""Measure how well form letters are kept apart: 300 words in all of them, and 12 that differ.

python bench/letters.py [--letters 10000 --copies 500]

Each letter has the same 300 words and 12 of its own, from a list of 5,000, spread over the letter.
Of the letters, some are copies of another in which one word, any of the 312, was misread. `dedup`
should remove exactly those. Precision is the share of copies among the removed letters, and recall
the share of copies that are removed. Crowded letters were compared with only part of those in their
buckets.
"""

import argparse
import random
import time
from pathlib import Path

from shared import Table, machine, publish

import lookalike as la

SAME, OWN, NAMES = 300, 12, 5_000
WAYS = {"plain": {}, "drop_common 1%": {"drop_common": "1%"}, "weights idf": {"weights": "idf"}}


def letters(count: int, copies: int, seed: int = 1) -> tuple[list[str], list[bool]]:
    """Return letters, and which of them are copies of an earlier one."""
    rng = random.Random(seed)
    form = [f"{rng.choice('bdfgklmnprst')}{number:x}ing" for number in range(SAME)]
    spots = sorted(rng.sample(range(SAME), OWN))
    made: list[list[str]] = []
    for _ in range(count - copies):
        words = form.copy()
        for spot in reversed(spots):
            words.insert(spot, f"name{rng.randrange(NAMES)}")
        made.append(words)
    for words in rng.sample(made, copies):
        again = words.copy()
        again[rng.randrange(len(again))] = f"misread{rng.randrange(10**6)}"
        made.append(again)
    return [" ".join(words) for words in made], [False] * (count - copies) + [True] * copies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--letters", type=int, default=10_000)
    parser.add_argument("--copies", type=int, default=500)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    texts, copied = letters(options.letters, options.copies)
    table: Table = [["shingles", "compared by", "removed", "precision", "recall", "crowded", "CPU seconds"]]
    for shingles in ("word:1", "word:3", "char:9"):
        for name, way in WAYS.items():
            la.dedup(texts[:100], shingles=shingles, **way)  # loads the kernels
            start = time.process_time()
            found = la.dedup(texts, shingles=shingles, **way)
            taken = time.process_time() - start
            removed = [copy for copy, keep in zip(copied, found.keep.tolist(), strict=True) if not keep]
            right = sum(removed)
            precision = f"{right / len(removed):.3f}" if removed else "-"
            counts = f"{len(removed):,}", precision, f"{right / options.copies:.3f}", f"{found.stats['crowded']:,}"
            table.append([shingles, name, *counts, f"{taken:.1f}"])
    about = f"{options.letters:,} letters, of which {options.copies:,} are copies; threshold 0.8, recall 0.99"
    publish([machine("lookalike", "numpy", "numba"), about, table], options.markdown)


if __name__ == "__main__":
    main()
