"""Compare the stated recall of lookalike with the recall measured by its own exact join.

    python bench/recall.py CORPUS.parquet [--shingles word:5,char:9] [--thresholds 0.5,0.7,0.8,0.9] [--rows N]

The stated recall is for a pair exactly at the threshold; closer pairs are found more often. A pair
counts as correct if the exact join finds it too, with exactly the same similarity.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from shared import Table, machine, publish, take_head

from lookalike.find import find_pairs

HEAD = "shingles|threshold|true pairs|found|recall|precision|bands x rows|predicted at threshold|candidates|time|exact"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a Parquet file with a column `text`")
    parser.add_argument("--shingles", default="word:5,char:9")
    parser.add_argument("--thresholds", default="0.5,0.7,0.8,0.9")
    parser.add_argument("--recall", type=float, default=0.99, help="the recall to request")
    parser.add_argument("--rows", type=int, help="use only the first rows of the file")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    table: Table = [HEAD.split("|")]
    with tempfile.TemporaryDirectory() as folder:
        corpus = given.corpus
        if given.rows:
            corpus = Path(folder, "corpus.parquet")
            take_head(given.corpus, given.rows, corpus)
        for shingles in given.shingles.split(","):
            for threshold in given.thresholds.split(","):
                table.append(compare(corpus, shingles, threshold, given.recall))
                print(" ".join(table[-1]), file=sys.stderr)
    rows = f"first {given.rows:,} rows of " if given.rows else ""
    title = f"{rows}{given.corpus.name}: pairs found at recall {given.recall:g}, against the exact join"
    publish([title, machine("lookalike", "numpy", "numba", "pyarrow"), table], given.markdown)


def compare(corpus: Path, shingles: str, threshold: str, recall: float) -> list[str]:
    """Return one row of the table."""
    found, seconds = timed(corpus, shingles, threshold, recall)
    truth, exact_seconds = timed(corpus, shingles, threshold, 1.0)
    _, in_found, in_truth = np.intersect1d(numbers(found), numbers(truth), assume_unique=True, return_indices=True)
    right = int(np.count_nonzero(found.similarity[in_found] == truth.similarity[in_truth]))
    bands = found.plan.bands
    return [
        shingles,
        threshold,
        f"{len(truth):,}",
        f"{len(found):,}",
        f"{len(in_found) / len(truth):.5f}" if len(truth) else "-",
        f"{right / len(found):.5f}" if len(found) else "-",
        f"{bands.bands} x {bands.rows}",
        f"{bands.recall:.5f}",
        f"{found.stats['candidates']:,}",
        f"{seconds:.2f} s",
        f"{exact_seconds:.2f} s",
    ]


def timed(corpus: Path, shingles: str, threshold: str, recall: float) -> tuple[Any, float]:
    """Return the pairs and the seconds to find them, with the kernels compiled beforehand."""
    find_pairs(["one two three", "one two three four"], threshold=threshold, shingles=shingles, recall=recall)
    start = time.perf_counter()
    pairs = find_pairs(corpus, threshold=threshold, shingles=shingles, recall=recall)
    return pairs, time.perf_counter() - start


def numbers(pairs: Any) -> np.ndarray:
    """Return one number per pair, in the order of the pairs."""
    made: np.ndarray = pairs.left * len(pairs.ids) + pairs.right
    return made


if __name__ == "__main__":
    main()
