"""Measure how labels correct the probabilities of `resolve`, with labels from the truth.

    python bench/labels.py DATA [--sets dblp-acm,abt-buy,names] [--fields 2] [--draws 20]

DATA is a folder as for `records.py`. For each data set and number of labels: the change of F1, by how
much the stated number of true matches is off, and the Brier score as a multiple of that without
labels; their means over the draws, and the worst draw. --fields compares only the first fields.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from record_sets import SETS, Tables, read

import lookalike as la
from lookalike.entities.labelling import informative
from lookalike.entities.labels import MatchLabels, recalibrate
from lookalike.entities.probabilities import LIKELY, Probabilities
from lookalike.entities.scores import FULL_POINTS

COUNTS = (20, 50, 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder with the data sets")
    parser.add_argument("--sets", default="dblp-acm,abt-buy,imdb-dbpedia,names", help=f"of {', '.join(SETS)}")
    parser.add_argument("--fields", type=int, metavar="N", help="compare only the first N fields")
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="how often labels are drawn")
    given = parser.parse_args()
    print("data set|labels|F1|stated off by|Brier|worst F1|worst Brier")
    for name in given.sets.split(","):
        for title, tables in read(given.data / name, name).items():
            for row in measured(tables, list(SETS[name].fields[: given.fields]), given.draws):
                print(title, *row, sep="|", flush=True)


def measured(tables: Tables, fields: list[str], draws: int) -> list[tuple[str, ...]]:
    """Return the row of each number of labels."""
    sides = [pa.Table.from_pylist(side) for side in (tables.left, tables.right) if side is not None]
    every = la.entities.resolve(*sides, fields=fields, id="-").every
    assert every is not None
    true = np.isin(tables.numbers(every.left, every.right), tables.truth)
    before = scores(every.probability, true, len(tables.truth))
    rows = [("0", f"{before[0]:.3f}", f"{before[1]:.3f}", "1", "", "")]
    for count in COUNTS:
        found = np.array([
            scores(corrected(every, true, count, seed), true, len(tables.truth)) for seed in range(draws)
        ]) - [before[0], 0, 0]  # fmt: skip
        found[:, 2] /= before[2]
        gain, off, brier = found.mean(axis=0)
        worst = f"{found[:, 0].min():+.3f}", f"{found[:, 2].max():.3f}"
        rows.append((str(count), f"{gain:+.3f}", f"{off:.3f}", f"{brier:.3f}", *worst))
    return rows


def corrected(every: la.Resolution, true: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return the probabilities after labels of the pairs that `lookalike label` would ask about."""
    records, right = every.candidates.records, every.right + every.candidates.sides.offset
    order = np.argsort(every.left * records + right)  # as `recalibrate` takes pairs
    asked = np.isin(order, informative(every, count, seed))
    left, right, match = every.left[order], right[order], true[order].astype(float)
    labels = MatchLabels(left[asked], right[asked], match[asked], records)
    share = every.score[order] / (FULL_POINTS * len(every.fields))
    stated = Probabilities(every.probability[order], every.basis, mixture=every.mixture)
    out = np.empty(len(order))
    out[order] = recalibrate(stated, labels, left, right, share, np.ones(len(order), bool)).values
    return out


def scores(probability: np.ndarray, true: np.ndarray, matches: int) -> tuple[float, float, float]:
    """Return F1, |stated - true| / true of the matches, and the sum of squared errors."""
    chosen = probability >= LIKELY
    found = int(np.count_nonzero(true[chosen]))
    off = abs(float(probability[chosen].sum()) - found) / max(1, found)
    return 2 * found / max(1, int(chosen.sum()) + matches), off, float(((probability - true) ** 2).sum())


if __name__ == "__main__":
    main()
