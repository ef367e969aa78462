"""Measure how often the right finger is identified, and how many prints are compared.

    python bench/fingerprints.py DATA
    python bench/fingerprints.py --simulate 100000
    python bench/fingerprints.py --enrolled 100000

DATA is a folder of folders of ISO 19794-2 templates named finger_impression.iso, such as those of
FVC2002 DB1_B and DB2_B (10 fingers, 8 impressions each) that come with openafis. The first
impression of each finger is enrolled and the others are identified; the equal error rate is over
all pairs of impressions.

--simulate makes grids of N fingers with the probabilities of the textbook's Example 3.22 and
compares its predictions with the measured rates; --enrolled enrols N synthetic prints and times
queries.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from shared import Table, machine, publish

from lookalike import fingerprints as fp
from lookalike.core.run import Run

QUERIES = 2000  # in the simulation
ASKED = 200  # queries to the database of synthetic prints
ANY = 1e-9  # a similarity that is not zero

Similarity = Callable[[fp.Prints], np.ndarray]  # returns the matrix of all pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, help="a folder of folders of templates")
    parser.add_argument("--simulate", type=int, metavar="N", help="simulate grids of N fingers")
    parser.add_argument("--enrolled", type=int, metavar="N", help="enrol N synthetic prints")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    blocks: list[str | Table] = [machine("lookalike", "numpy", "numba")]
    if given.data is not None:
        if not given.data.is_dir():
            parser.error(f"{given.data}: no such folder; it must hold folders of templates, finger_impression.iso.")
        for folder in sorted(path for path in given.data.iterdir() if path.is_dir()):
            blocks += [f"{folder.name}:", measured(fp.read_prints(folder))]
    if given.simulate:
        blocks += [f"The textbook's example with {given.simulate:,} fingers:", simulated(given.simulate)]
    if given.enrolled:
        blocks += [f"{given.enrolled:,} synthetic prints:", looked_up(given.enrolled)]
    publish(blocks, given.markdown)


# --- real prints ---


def measured(prints: fp.Prints) -> Table:
    """Return a table with one row per method of comparing, or of choosing candidates."""
    rows: Table = [["method", "rank-1", "equal error rate", "database compared", "time per query"]]
    for name, similarity in WAYS.items():
        start = time.perf_counter()
        values = similarity(prints)
        each = (time.perf_counter() - start) / values.size
        fingers, first = split(prints)
        best = values[np.ix_(~first, first)].argmax(axis=1)
        right = fingers[first][best] == fingers[~first]
        rows.append([name, share(right), f"{error_rate(values, fingers):.3f}", "100%", ms(each * first.sum())])
    for name, options in LOOK_UPS.items():
        rows.append([name, *identified(prints, **options)])
    return rows


def identified(prints: fp.Prints, **options: object) -> list[str]:
    """Enrol the first impressions and return the rank-1 rate, the share compared, and the time."""
    fingers, first = split(prints)
    enrolled = fp.Database(prints.take(np.flatnonzero(first)))
    queries = prints.take(np.flatnonzero(~first))
    enrolled.identify(queries, **options)  # type: ignore[arg-type]  # compiles the kernels
    run = Run(1)
    found = enrolled.identify(queries, threshold=ANY, k=1, run=run, **options)  # type: ignore[arg-type]
    right = fingers[~first][found.left] == fingers[first][found.right]
    compared = found.stats["compared"] / found.stats["pairs"]
    rate = f"{right.sum() / len(queries):.3f} ({right.sum()} of {len(queries)})"
    return [rate, "", f"{compared:.0%}", ms(run.seconds["look up"] / len(queries))]


def by_minutiae(prints: fp.Prints) -> np.ndarray:
    """Compare the minutiae of all pairs of aligned prints."""
    found = fp.Database(prints).pairs(threshold=ANY, method="all", run=Run(1))
    return symmetric(len(prints), found.left, found.right, found.values)


def by_whole_grids(prints: fp.Prints) -> np.ndarray:
    """Return the Jaccard similarities of the squares of a centred, upright grid over each print."""
    return jaccard(fp.grid_sets(prints))


def by_aligned_grids(prints: fp.Prints) -> np.ndarray:
    """Return the Jaccard similarities of grids over pairs of prints aligned by their corners."""
    left, right = np.triu_indices(len(prints), 1)
    values = []
    for one, other in zip(left, right, strict=True):
        moved = laid(prints[one], prints[other])
        grids = [squares(minutiae, prints[other].mean(axis=0)) for minutiae in (moved, prints[other])]
        values.append(len(grids[0] & grids[1]) / max(1, len(grids[0] | grids[1])))
    return symmetric(len(prints), left, right, np.array(values))


def by_local_grids(prints: fp.Prints) -> np.ndarray:
    """Return the mean of the five best Jaccard similarities of grids around the minutiae."""
    values = jaccard(fp.local_grids(prints))
    owners = np.repeat(np.arange(len(prints)), prints.sizes)
    best = np.array([values[:, owners == p].max(axis=1) for p in range(len(prints))])  # per minutia and print
    means = np.array([np.sort(best[:, owners == p], axis=1)[:, -5:].mean(axis=1) for p in range(len(prints))])
    return (means + means.T) / 2


def laid(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the minutiae of one print, rotated and shifted onto the matching ones of the other."""
    found = fp.compare(one, other)
    if not len(found.minutiae):
        return one
    here, there = one[found.minutiae[:, 0], :2], other[found.minutiae[:, 1], :2]
    cos, sin = np.cos(np.radians(found.turn)), np.sin(np.radians(found.turn))
    turn = np.array([[cos, sin], [-sin, cos]])
    return (one[:, :2] - here.mean(axis=0)) @ turn + there.mean(axis=0)


def squares(
    minutiae: np.ndarray, centre: np.ndarray, square: float = 20.0, margin: float = 5.0
) -> set[tuple[int, int]]:
    shifts = [(x, y) for x in (-margin, margin) for y in (-margin, margin)]
    return {tuple(cell) for s in shifts for cell in np.floor((minutiae[:, :2] - centre[:2] + s) / square).astype(int)}


WAYS: dict[str, Similarity] = {
    "grid over the print, Jaccard": by_whole_grids,
    "grid over aligned prints, Jaccard": by_aligned_grids,
    "grid around each minutia, Jaccard": by_local_grids,
    "minutiae of aligned prints": by_minutiae,
}
LOOK_UPS: dict[str, dict[str, object]] = {
    "candidates by one group of 1024 grid functions": {"method": "grid", "groups": 1},
    "candidates by two groups": {"method": "grid", "groups": 2},
    "candidates by matching corners": {"method": "corners"},
}


# --- simulations ---


def simulated(fingers: int) -> Table:
    """Return the rates of the textbook's example, predicted and measured."""
    head = "grid|functions|found, predicted|measured|compared, predicted|measured|time per query"
    rows: Table = [head.split("|")]
    for cells in (1000, 4000):
        one, two = fp.two_impressions(fingers, cells=cells)
        for groups in (1, 2):
            index = fp.SquareIndex(one, groups=groups)
            start = time.perf_counter()
            looks = [index.look_up(two[finger]) for finger in range(QUERIES)]
            each = (time.perf_counter() - start) / QUERIES
            found = sum(finger in look for finger, look in enumerate(looks))
            looked_at = (sum(map(len, looks)) - found) / QUERIES / (fingers - 1)
            expected = fp.expected_rates(groups=groups)
            rates = [expected[0], found / QUERIES, expected[1], looked_at]
            rows.append([f"{cells:,} squares", f"{groups} x 1024", *(f"{rate:.4f}" for rate in rates), ms(each)])
    return rows


def looked_up(fingers: int) -> Table:
    """Enrol one impression of many fingers, and query with other impressions of some of them."""
    both = fp.made_up_prints(ASKED, 2)
    others = fp.made_up_prints(fingers - ASKED, 1, seed=2)
    known = fp.Prints.of([both[at] for at in range(0, 2 * ASKED, 2)], [f"query {at}" for at in range(ASKED)])
    database = fp.Database(fp.Prints.concatenate([known, others]))
    run = Run(1)
    found = database.identify(both.take(np.arange(1, 2 * ASKED, 2)), k=1, run=run)
    right = (found.left == found.right).sum()
    compared = found.stats["compared"] / found.stats["pairs"]
    rows: Table = [["queries", "identified", "misidentified", "database compared", "build time", "time per query"]]
    times = [f"{run.seconds['hash']:.1f} s", ms(run.seconds["look up"] / ASKED)]
    rows.append([f"{ASKED}", f"{right}", f"{len(found) - right}", f"{compared:.2%}", *times])
    return rows


# --- helpers ---


def split(prints: fp.Prints) -> tuple[np.ndarray, np.ndarray]:
    """Return the finger of each print, and whether it is the first impression."""
    names = [name.rsplit("_", 1) for name in prints.ids.to_pylist()]
    return np.array([name[0] for name in names]), np.array([name[1] == "1" for name in names])


def jaccard(cells: np.ndarray) -> np.ndarray:
    ones = cells.astype(np.float32)
    both = ones @ ones.T
    sizes = ones.sum(axis=1)
    values: np.ndarray = both / np.maximum(sizes[:, None] + sizes - both, 1)
    return values


def symmetric(size: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> np.ndarray:
    matrix = np.zeros((size, size))
    matrix[left, right] = matrix[right, left] = values
    return matrix


def error_rate(values: np.ndarray, fingers: np.ndarray) -> float:
    """Return the rate at which false negatives and false positives are equally frequent."""
    left, right = np.triu_indices(len(values), 1)
    pairs = values[left, right]
    same = fingers[left] == fingers[right]
    thresholds = np.unique(pairs)
    missed = np.searchsorted(np.sort(pairs[same]), thresholds) / same.sum()
    taken = 1 - np.searchsorted(np.sort(pairs[~same]), thresholds) / (~same).sum()
    at = np.argmin(np.abs(missed - taken))
    return float(missed[at] + taken[at]) / 2


def share(right: np.ndarray) -> str:
    return f"{right.mean():.3f} ({right.sum()} of {len(right)})"


def ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


if __name__ == "__main__":
    main()
