"""Compare measured collision rates of the families with theory, and draw both.

python bench/laws.py                     print the tables
python bench/laws.py --plots docs/plots  also draw the plots of the guides
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from shared import Table, machine, publish

from lookalike import And, Or, Sets, choose_bands
from lookalike.cli.plots import picture
from lookalike.core.drawing import BLUE, GREEN, GREY, INK, ORANGE, draw_curve
from lookalike.families import (
    BitSampling,
    Family,
    FieldEquality,
    GridSquares,
    Hyperplanes,
    MinHash,
    RandomLines,
    WeightedMinHash,
)
from lookalike.families.draws import gaussians

TRIALS = 40_000


class Law(NamedTuple):
    """A family, some distances, and the rates measured there with their standard errors."""

    name: str
    unit: str
    family: Family
    distances: list[float]
    measured: list[tuple[float, float]]


def laws() -> Iterator[Law]:
    """Yield every family, measured at several distances."""
    tenths = [0.1, 0.3, 0.5, 0.7, 0.9]
    for union in (3, 10, 1000):
        near = [1 / 3, 2 / 3] if union == 3 else tenths
        measured = [minhash_rate(union, distance) for distance in near]
        yield Law(f"MinHash, unions of {union:,}", "Jaccard distance", MinHash(128), near, measured)
    weighted = WeightedMinHash(TRIALS)
    for union in (4, 1000):
        measured = [rate(weighted, with_weights(distance, union)) for distance in tenths]
        yield Law(f"WeightedMinHash, unions of {union:,}", "weighted distance", weighted, tenths, measured)
    angles = [10.0, 30.0, 60.0, 90.0, 150.0]
    planes = Hyperplanes(TRIALS)
    yield Law("Hyperplanes", "degrees", planes, angles, [rate(planes, at_angle(angle)) for angle in angles])
    signs = Hyperplanes(TRIALS, vectors="signs")
    yield Law("Hyperplanes, signs", "degrees", signs, angles, [rate(signs, at_angle(angle)) for angle in angles])
    apart = [0.25, 0.5, 1.0, 2.0, 4.0]
    lines = RandomLines(1.0, TRIALS)
    yield Law("RandomLines", "widths", lines, apart, [rate(lines, at_distance(d, 20)) for d in apart])
    unit = RandomLines(1.0, TRIALS, lines="unit", dimensions=2)
    yield Law("RandomLines, unit, 2-d", "widths", unit, apart, [rate(unit, at_distance(d, 2)) for d in apart])
    bits = BitSampling(64, TRIALS, repeat=True)
    differ = [3.0, 10.0, 20.0, 40.0, 60.0]
    yield Law("BitSampling(64)", "bits", bits, differ, [rate(bits, with_bits_flipped(d)) for d in differ])
    squares = GridSquares(squares=3, hashes=64, cells=100, density=0.5)
    yield Law(
        "GridSquares(3), density 1/2", "1 - share kept", squares, tenths, [prints_rate(squares, d) for d in tenths]
    )
    fields = FieldEquality([str(i) for i in range(10)])
    some = [1.0, 3.0, 5.0, 7.0, 9.0]
    yield Law("FieldEquality, 10 fields", "fields", fields, some, [records_rate(fields, d) for d in some])


def rate(family: Family, pair: Any) -> tuple[float, float]:
    """Return the share of independent functions that agree on one pair, with its standard error."""
    p = family.agreement(*family.signatures(pair))
    return p, math.sqrt(max(p * (1 - p), 1 / family.hashes) / family.hashes)


def mean(rates: np.ndarray) -> tuple[float, float]:
    """Return the mean of the rates of independent pairs, with its standard error."""
    return float(rates.mean()), float(rates.std() / math.sqrt(len(rates)))


def minhash_rate(union: int, distance: float) -> tuple[float, float]:
    """Return the share of agreeing positions over random pairs whose union has this size."""
    return mean(np.concatenate([agree.mean(axis=1) for agree in sketched_pairs(union, 1 - distance, 128, TRIALS)]))


def sketched_pairs(union: int, similarity: float, hashes: int, pairs: int) -> Iterator[np.ndarray]:
    """Yield where the signatures of random pairs of sets agree, in blocks of pairs x hashes."""
    rng = np.random.default_rng(union)
    shared = round(similarity * union)
    left = shared + (union - shared) // 2
    step = max(1, 2_000_000 // union)
    for start in range(0, pairs, step):
        some = min(step, pairs - start)
        pool = rng.integers(0, 2**64, (some, union), dtype=np.uint64)
        rows = np.concatenate((pool[:, :left], pool[:, :shared], pool[:, left:]), axis=1)
        sizes = np.tile([left, shared + union - left], some)
        sets = Sets(np.concatenate(([0], np.cumsum(sizes))), rows.ravel())
        signatures = MinHash(hashes, seed=int(rng.integers(2**63))).signatures(sets)
        yield signatures[::2] == signatures[1::2]


def with_weights(distance: float, union: int) -> list[dict[int, float]]:
    """Return two sets at this distance, whose elements have weights from 1/20 to 20 before they are scaled."""
    weights = np.exp(np.random.default_rng(union).uniform(-3, 3, union))
    parts = np.split(np.arange(union), [union // 2, 3 * union // 4])  # in both, left only, right only
    shares = (1 - distance, distance / 2, distance / 2)
    both, left, right = (
        {int(x): share * weights[x] / weights[part].sum() for x in part}
        for part, share in zip(parts, shares, strict=True)
    )
    return [both | left, both | right]


def at_angle(degrees: float, dimensions: int = 100) -> np.ndarray:
    """Return two random vectors at this angle."""
    u, v = gaussians(7, 2, dimensions)
    u /= np.linalg.norm(u)
    v -= u * (u @ v)
    v /= np.linalg.norm(v)
    return np.array([u, math.cos(math.radians(degrees)) * u + math.sin(math.radians(degrees)) * v])


def at_distance(distance: float, dimensions: int) -> np.ndarray:
    """Return two random points at this distance."""
    point, way = gaussians(5, 2, dimensions)
    return np.array([point, point + distance * way / np.linalg.norm(way)])


def with_bits_flipped(distance: float) -> np.ndarray:
    """Return two vectors of 64 bits that differ in this many bits."""
    rng = np.random.default_rng(1)
    one = rng.integers(0, 2, 64)
    other = one.copy()
    other[rng.permutation(64)[: int(distance)]] ^= 1
    return np.array([one, other])


def prints_rate(family: GridSquares, distance: float) -> tuple[float, float]:
    """Measure random prints and second impressions that keep a share of the minutiae."""
    rng = np.random.default_rng(2)
    one = rng.random((TRIALS, family.cells)) < family.density
    other = one & (rng.random(one.shape) < 1 - distance)
    inside = (family.signatures(one) == 0) & (family.signatures(other) == 0)
    return mean(inside.mean(axis=1))


def records_rate(family: FieldEquality, distance: float) -> tuple[float, float]:
    """Measure pairs of records with one function each, a field drawn at random."""
    rng = np.random.default_rng(3)
    fields = family.hashes
    differs = rng.permuted(np.tile(np.arange(fields) < distance, (TRIALS, 1)), axis=1)
    one = family.signatures(np.zeros((TRIALS, fields), int).tolist())
    other = family.signatures(differs.astype(int).tolist())
    drawn = rng.integers(0, fields, TRIALS)
    agree = (one == other)[np.arange(TRIALS), drawn]
    p = float(agree.mean())
    return p, math.sqrt(p * (1 - p) / TRIALS)


def law_table(every: list[Law]) -> Table:
    """Return theory, measurement and their difference in standard errors, at each distance."""
    table = [["family", "distance", "", "collision", "measured", "standard errors"]]
    for law in every:
        for distance, (p, error) in zip(law.distances, law.measured, strict=True):
            expected = law.family.collision(distance)
            off = f"{(p - expected) / error:+.1f}" if error else "exact"
            table.append([law.name, f"{distance:.3g}", law.unit, f"{expected:.4f}", f"{p:.4f}", off])
    return table


def bands_table(pairs: int) -> Table:
    """Compare how often pairs of small and large sets become candidates with the curve."""
    table = [["hashes", "bands", "elements", "similarity", "curve", "measured", "standard errors", "variance"]]
    for hashes in (128, 256):
        for threshold in (0.5, 0.8, 0.9):
            bands, rows, _ = choose_bands(threshold, hashes, 0.99)
            curve = And(rows) >> Or(bands)
            for union in (10, 50, 500, 5000):
                for similarity in (threshold / 2, threshold, (1 + threshold) / 2):
                    s = round(similarity * union) / union
                    if s < 1 and (similarity < threshold or s >= threshold):
                        table.append(band_row(hashes, bands, rows, union, s, pairs, curve(s)))
    return table


def band_row(hashes: int, bands: int, rows: int, union: int, s: float, pairs: int, expected: float) -> list[str]:
    """Return one row; its variance is that of the estimate over that of independent functions."""
    found, estimates = 0, []
    for agree in sketched_pairs(union, s, hashes, pairs):
        found += int(agree[:, : bands * rows].reshape(-1, bands, rows).all(axis=2).any(axis=1).sum())
        estimates.append(agree.mean(axis=1))
    error = math.sqrt(expected * (1 - expected) / pairs)
    ratio = np.concatenate(estimates).var() / (s * (1 - s) / hashes)
    off = f"{(found / pairs - expected) / error:+.1f}"
    cells = [f"{union:,}", f"{s:.3f}", f"{expected:.4f}", f"{found / pairs:.4f}", off, f"{ratio:.2f}"]
    return [str(hashes), f"{bands} x {rows}", *cells]


def draw(every: list[Law], folder: Path) -> None:
    """Draw the plots of the guides."""
    folder.mkdir(exist_ok=True)
    with picture(folder / "s-curve.svg") as axes:
        curve = And(5) >> Or(20)
        draw_curve(axes, curve, 1.0, curve.threshold())
        axes.set(xlabel="Jaccard similarity", title="20 bands of 5 rows")
    with picture(folder / "choices.svg") as axes:
        s = np.linspace(0, 1, 501)
        for hashes, colour in ((10, GREY), (100, GREEN), (512, BLUE)):
            bands = choose_bands(0.8, hashes, 0.99)
            label = f"{bands.bands} x {bands.rows}: {bands.hashes} minhashes"
            axes.plot(s, bands.curve(s), color=colour, linewidth=2.2, label=label)
        axes.plot([0.8, 0.8], [0, 1], color=ORANGE, linewidth=1, linestyle="--")
        axes.annotate("threshold", (0.8, 0.02), xytext=(6, 0), textcoords="offset points", color=INK)
        axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="Jaccard similarity")
        axes.set(ylabel="probability of becoming a candidate", title="Bands that find 99% of the pairs at 0.8")
        axes.legend(frameon=False, loc="upper left")
    with picture(folder / "cascades.svg") as axes:
        p = np.linspace(0, 1, 501)
        cascades = [And(4) >> Or(4), Or(4) >> And(4), And(4) >> Or(4) >> Or(4) >> And(4)]
        for cascade, colour in zip(cascades, (BLUE, GREEN, ORANGE), strict=True):
            axes.plot(p, cascade(p), color=colour, linewidth=2.2, label=str(cascade))
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
        axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="probability that one function agrees")
        axes.set(ylabel="probability that the cascade agrees")
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, fontsize=9)
    chosen = ["MinHash, unions of 10", "Hyperplanes", "BitSampling(64)"]
    chosen += ["RandomLines", "GridSquares(3), density 1/2", "FieldEquality, 10 fields"]
    with picture(folder / "collisions.svg", panels=(2, 3), size=(9.6, 5.6)) as panels:
        by_name = {law.name: law for law in every}
        for axes, name in zip(panels.flat, chosen, strict=True):
            law = by_name[name]
            end = law.family.farthest if law.family.farthest < math.inf else law.distances[-1] * 1.05
            x = np.linspace(0, end, 301)
            axes.plot(x, law.family.collision(x), color=BLUE, linewidth=2)
            rates, errors = zip(*law.measured, strict=True)
            axes.errorbar(law.distances, rates, 4 * np.array(errors), fmt="o", color=ORANGE, markersize=4, capsize=2)
            axes.set(xlim=(0, end), ylim=(0, None), xlabel=law.unit, title=name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of sets for each row of the table of bands")
    parser.add_argument("--plots", type=Path, help="a folder for the plots")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    every = list(laws())
    if options.plots:
        draw(every, options.plots)
    publish([machine("lookalike", "numpy", "numba"), law_table(every), bands_table(options.pairs)], options.markdown)


if __name__ == "__main__":
    main()
