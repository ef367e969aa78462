"""Measure what each filter of an exact join saves, and whether the planner picks the faster method.

    python bench/methods.py --sets retail.dat bms.txt --texts articles.jsonl corpus.parquet

A file of sets has one set per line; a file of texts is any input of `lookalike pairs`.
"""

import argparse
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from shared import Table, machine, publish

import lookalike as la
from lookalike.cli.plots import picture
from lookalike.core.drawing import BLUE, GREEN, GREY, ORANGE
from lookalike.core.run import Run
from lookalike.io.sets import SetSource
from lookalike.results import Pairs

FILTERS = ("length", "prefix", "position", "suffix")


def filters_table(collections: dict[str, la.Sets], thresholds: list[str]) -> Table:
    """Count the candidate pairs after each filter; identical sets are not candidates."""
    table = [["file", "threshold", *FILTERS, "similar pairs"]]
    for name, sets in collections.items():
        for threshold in thresholds:
            found = [la.find_pairs(sets, threshold=threshold, filter=stage) for stage in FILTERS]
            assert len({len(pairs) for pairs in found}) == 1
            compared = [f"{pairs.stats['candidates']:,}" for pairs in found]
            table.append([name, threshold, *compared, f"{len(found[0]):,}"])
    return table


def draw_filters(table: Table, path: Path) -> None:
    """Plot the first table, the numbers of pairs compared, on a logarithmic scale."""
    with picture(path, size=(7.2, 4.2)) as axes:
        width = 0.2
        for place, (stage, colour) in enumerate(zip(FILTERS, (GREY, GREEN, ORANGE, BLUE), strict=True)):
            counts = [int(row[2 + place].replace(",", "")) for row in table[1:]]
            at = [number + (place - 1.5) * width for number in range(len(counts))]
            axes.bar(at, counts, width, color=colour, label=stage)
        axes.set_xticks(range(len(table) - 1), [f"{row[0].split('.')[0].split('-')[0]}\n{row[1]}" for row in table[1:]])
        axes.set(yscale="log", ylabel="pairs compared")
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4)


def choices_table(jobs: dict[str, Callable[..., Pairs]], thresholds: list[str], repeat: int) -> Table:
    """Time both methods and report the planner's choice."""
    table = [["items", "threshold", "exact", "bands", "auto", "picked", "auto / faster one", "estimates (core-s)"]]
    for name, find in jobs.items():
        for threshold in thresholds:
            methods: dict[str, list[float]] = {"exact": [], "lsh": [], "auto": []}
            for _ in range(repeat):
                for method, times in methods.items():
                    start = time.perf_counter()
                    find(threshold=threshold, method=method)
                    times.append(time.perf_counter() - start)
            plan = find(threshold=threshold).plan
            best = {method: min(times) for method, times in methods.items()}
            over = best["auto"] / min(best["exact"], best["lsh"])
            picked = "bands" if plan.method == "lsh" else plan.method
            times = [f"{best[method]:.3f} s" for method in methods]
            estimates = re.search(r"([\d.e+-]+) core-.*?, ([\d.e+-]+) for", plan.reason)
            costs = f"{estimates[1]}, {estimates[2]}" if estimates else ""
            table.append([name, threshold, *times, picked, f"{over:.2f}", costs])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", type=Path, default=[], help="files with one set per line")
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help="files of documents")
    parser.add_argument("--shingle", default="word:5", help="the shingles of texts")
    parser.add_argument("--filters", default="0.9,0.8,0.7", help="thresholds of the first table")
    parser.add_argument("--thresholds", default="0.95,0.9,0.8,0.7,0.5", help="thresholds of the second table")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="plot the first table to a .svg, .png or .pdf file")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    for path in [*options.sets, *options.texts]:
        if not path.exists():
            raise SystemExit(f"no such file: {path}")
    collections = {path.name: SetSource(str(path)).read(Run())[1] for path in options.sets}
    jobs: dict[str, Callable[..., Pairs]] = {}
    for name, sets in collections.items():
        jobs[name] = partial(la.find_pairs, sets)
    for path in options.texts:
        jobs[f"{path.name} {options.shingle}"] = partial(la.find_pairs, path, shingles=options.shingle)
    blocks: list[str | Table] = [machine("lookalike", "numpy", "numba")]
    if collections:
        compared = filters_table(collections, options.filters.split(","))
        blocks += ["Pairs compared:", compared]
        if options.plot:
            draw_filters(compared, options.plot)
    blocks += ["Methods:", choices_table(jobs, options.thresholds.split(","), options.repeat)]
    publish(blocks, options.markdown)


if __name__ == "__main__":
    main()
