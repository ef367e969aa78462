"""Resolve the synthetic tables of two companies, and compare the estimates made without labels with the truth."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from record_scores import best_first, quality
from shared import Table

MANY = 1000  # pairs that a group of scores needs for its estimate to be checked
SHOWN = 20  # groups in the table
COMPANIES = ["name:customer=name", "address:street=address", "phone:telephone=phone"]
Result = dict[str, Any]


def company_blocks(people: int, memory: str, result: Result) -> list[str | Table]:
    """Return the tables of a result of `resolve_companies`."""
    if "error" in result:
        sys.exit(result["error"])
    stages: Table = [["stage", "time"], *([name, f"{took:.2f} s"] for name, took in result["stages"].items())]
    stages.append(["all", f"{result['seconds']:.2f} s"])
    counts: Table = [["", "pairs", "precision", "recall", "F1"], *result["counts"]]
    groups: Table = [["score", "pairs", "estimated share of matches", "95% interval", "true share", "off by"]]
    groups += result["groups"]
    return [
        f"two companies of {people:,} people, {result['truth']:,} of them in both; {', '.join(COMPANIES)}; validated "
        f"by the days of creation, 0 to 90 apart; {f'memory={memory!r}' if memory else 'in memory'}",
        stages,
        f"{result['cpu']:.1f} s of CPU time, load {load()}; memory: {result['peak']:,.0f} MB at the peak, "
        f"{result['rise']:,.0f} MB more than the tables and imports",
        "\n".join(f"    {line}" for line in result["lines"]),
        counts,
        f"Of the matches, {result['expected']:,.0f} are estimated to be true; {result['true']:,} are.",
        groups,
        f"Largest deviation of an estimate from the truth: {result['group_off']} among the "
        f"{result['group_count']:,} groups of scores with {MANY:,} pairs or more "
        f"({min(SHOWN, result['group_count'])} shown), and {result['score_off']} among the {result['score_count']:,} "
        "single scores with that many pairs. Pairs with an impossible lag are excluded first; recall refers to all "
        "matches.",
        result["plain"],
    ]


def resolve_companies(people: int, memory: str = "") -> Result:
    """Resolve the tables of two companies, and compare what is stated with the truth."""
    import pyarrow.compute as pc

    import lookalike as la

    made = la.entities.two_companies(people)
    places = [
        pc.index_in(made.truth[name], side["id"].combine_chunks()).to_numpy()
        for name, side in (("left_id", made.left), ("right_id", made.right))
    ]
    truth = np.sort(places[0].astype(np.int64) * people + places[1])
    limit = memory or None
    with measured() as peak:
        found = la.entities.resolve(
            made.left, made.right, fields=COMPANIES, validate="created", max_lag=90, memory=limit
        )
    every = found.every
    numbers = every.left * people + every.right
    true = is_among(numbers, truth)
    matches = found.left * people + found.right
    single = matches[best_first(matches, found.score, people)]
    compared = np.divmod(found.candidates.numbers, 2 * people)
    candidates = compared[0] * people + compared[1] - people
    sets = {
        "candidates": candidates,
        "those with a possible lag": numbers,
        f"matches, at least {found.cut_off:.4g}": matches,
        "matches, one to one": single,
    }
    return {
        "stages": found.stats["seconds"],
        **peak,
        "truth": len(truth),
        "lines": found.lines(),
        "counts": [
            [name, f"{len(some):,}", *quality(is_among(some, truth), len(truth))] for name, some in sets.items()
        ],
        "expected": float(found.probability.sum()),
        "true": int(np.count_nonzero(is_among(matches, truth))),
        **deviations(found.validation, every.score, true),
        "plain": without_validation(made, truth, people, limit),
    }


def without_validation(made: Any, truth: np.ndarray, people: int, limit: str | None) -> str:
    """Resolve the same tables without the validation column, and say what is stated and true."""
    import lookalike as la

    with measured() as peak:
        found = la.entities.resolve(made.left, made.right, fields=COMPANIES, memory=limit)
    true = int(np.count_nonzero(is_among(found.left * people + found.right, truth)))
    return (
        f"Without the validation column: {peak['seconds']:.1f} s, {peak['cpu']:.1f} s of CPU time, "
        f"{peak['peak']:,.0f} MB at the peak; "
        f"of {len(found):,} matches, {found.probability.sum():,.0f} are stated to be true, and {true:,} are."
    )


def is_among(numbers: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return which of the numbers occur in a sorted array."""
    place = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
    found: np.ndarray = ordered[place] == numbers
    return found


def deviations(validation: Any, score: np.ndarray, true: np.ndarray) -> Result:
    """Compare estimated with true shares of matches, for groups of scores and for single scores."""
    group = np.searchsorted(-validation.low_scores, -score)
    inside = group < len(validation.low_scores)
    pairs = np.bincount(group[inside], minlength=len(validation.low_scores))
    share = np.bincount(group[inside], true[inside], len(pairs)) / np.maximum(pairs, 1)
    off = np.abs(validation.shares - share)
    large = np.flatnonzero(pairs >= MANY)
    rows = []
    for at in np.sort(large[np.argsort(-pairs[large], kind="stable")[:SHOWN]]).tolist():
        low, high = validation.low_scores[at], validation.high_scores[at]
        name = f"{low:.5g}" if low == high else f"{low:.5g} to {high:.5g}"
        between = f"{validation.low[at]:.3f} to {validation.high[at]:.3f}"
        rows.append(
            [name, f"{pairs[at]:,}", f"{validation.shares[at]:.4f}", between, f"{share[at]:.4f}", f"{off[at]:.4f}"]
        )
    values, which, counts = np.unique(score, return_inverse=True, return_counts=True)
    frequent = counts >= MANY
    single = np.abs(validation.probability(values) - np.bincount(which, true) / counts)[frequent]
    return {
        "groups": rows,
        "group_count": len(large),
        "group_off": f"{off[large].max():.4f}" if len(large) else "-",
        "score_count": int(frequent.sum()),
        "score_off": f"{single.max():.4f}" if len(single) else "-",
    }


@contextlib.contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Measure the time, the CPU time, the peak memory of this process in MB, and its increase."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    found: dict[str, float] = {}
    start, cpu = time.perf_counter(), time.process_time()
    yield found
    found["seconds"], found["cpu"] = time.perf_counter() - start, time.process_time() - cpu
    found["peak"] = memory("VmHWM")
    found["rise"] = found["peak"] - before


def load() -> str:
    """Return how many processes wanted to run on this machine lately."""
    return f"{os.getloadavg()[1]:.1f} on {os.cpu_count()} cores"


def memory(kind: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) * 1024 / 1e6
