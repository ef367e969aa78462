"""Run the tools that `records.py` compares with, each on one data set; none is tuned.

Each function takes the name of the data set and its tables, and returns the seconds it took, the numbers of the pairs
it compared, and their probabilities (nan if it states none).
"""

import io
import json
import os
import re
import time
from collections import Counter
from typing import Any

import numpy as np
from record_sets import SETS, Record, Tables

LABELS = 50  # matches, and as many non-matches, to train dedupe with
NAMES = ("starring", "writer")  # of people, in imdb-dbpedia
RARE = 20  # the most records with a word that splink blocks on
Scored = tuple[float, np.ndarray, np.ndarray]


def clean(value: str | None) -> str | None:
    """Return the words in lower case, which the peers require and lookalike does itself."""
    return (" ".join(re.findall(r"\w+", value.lower())) or None) if value else None


def columns_of(rows: list[Record], name: str) -> list[Record]:
    """Return records with the columns that are compared, under the names of the first table."""
    data = SETS[name.partition("/")[0]]
    same = [{data.renamed.get(key, key): value for key, value in row.items()} for row in rows]
    return [{key: row.get(key) for key in data.names} for row in same]


def frames(tables: Tables, name: str) -> list[Any]:
    """Return the one or two tables as data frames, prepared as a user who knows the data would."""
    import pandas as pd

    out = []
    for side in (tables.left, tables.right):
        if side is None:
            continue
        rows = columns_of(side, name)
        if name == "imdb-dbpedia":  # "Tin Drum, The (1979)" is "The Tin Drum"; names are compared as sets of words
            for row in rows:
                bare = re.sub(r"\s*\(.*", "", row["title"] or "")
                row["title"] = re.sub(r"^(.*), (\w+)$", r"\2 \1", bare)
                row |= {key: " ".join(sorted((clean(row[key]) or "").split())) for key in NAMES}
        frame = pd.DataFrame([{key: clean(value) for key, value in row.items()} for row in rows])
        if name == "abt-buy":
            frame["price"] = pd.to_numeric([re.sub(r"[$,]", "", row["price"] or "") for row in rows], errors="coerce")
            frame["code"] = [max(re.findall(r"\w*\d\w*", text or ""), key=len, default=None) for text in frame["name"]]
        text = "title" if "title" in frame else "name"
        if text in frame:
            frame["first"] = frame[text].str.split().str[0]
        out.append(frame)
    return out


# --- recordlinkage ---


def recordlinkage(name: str, tables: Tables) -> Scored:
    """Block and sort, compare with thresholds, and classify by expectation maximisation."""
    import recordlinkage as rl

    sides = frames(tables, name)
    start = time.perf_counter()
    index, compare = rl.Index(), rl.Compare()
    if name == "dblp-acm":
        index.block("year")
        index.sortedneighbourhood("title", window=9)
        compare.string("title", "title", method="jarowinkler", threshold=0.85)
        compare.string("authors", "authors", method="jarowinkler", threshold=0.85)
        compare.exact("year", "year")
    elif name == "abt-buy":
        index.block("first")
        index.sortedneighbourhood("name", window=9)
        compare.string("name", "name", method="cosine", threshold=0.6)
        compare.string("description", "description", method="cosine", threshold=0.4)
        compare.numeric("price", "price", method="linear", offset=10, scale=50)
    elif name == "imdb-dbpedia":
        for column in ("title", *NAMES):
            index.block(column)
        index.sortedneighbourhood("title", window=9)
        compare.string("title", "title", method="jarowinkler", threshold=0.92)
        for column in NAMES:
            compare.string(column, column, method="cosine", threshold=0.6)
    elif name.startswith("names/"):
        index.block("first")
        index.sortedneighbourhood("title", window=9)
        for method, threshold in (("jarowinkler", 0.92), ("cosine", 0.7), ("levenshtein", 0.8)):
            compare.string("title", "title", method=method, threshold=threshold)
    else:
        for column in ("given_name", "surname", "date_of_birth", "soc_sec_id"):
            index.block(column)
        for column in ("given_name", "surname", "address_1", "suburb"):
            compare.string(column, column, method="jarowinkler", threshold=0.85)
        for column in ("street_number", "postcode", "state", "date_of_birth", "soc_sec_id"):
            compare.exact(column, column)
    pairs = index.index(*sides)
    levels = compare.compute(pairs, *sides)
    classifier = rl.ECMClassifier(binarize=0.5)
    classifier.fit(levels)
    probability = classifier.prob(levels)
    seconds = time.perf_counter() - start
    places = np.array(probability.index.to_list(), np.int64).reshape(-1, 2)
    return seconds, tables.numbers(*places.T), probability.to_numpy()


# --- splink ---


def splink(name: str, tables: Tables) -> Scored:
    """Block with rules, train by expectation maximisation, and predict, in DuckDB."""
    import splink.comparison_level_library as cll
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    sides = frames(tables, name)
    sure, prior = [], {}
    if name == "dblp-acm":
        blocks = training = [block_on("year"), block_on("substr(title, 1, 8)")]
        sure = [block_on("title", "year")]
        comparisons = [
            cl.JaroWinklerAtThresholds("title", [0.95, 0.85, 0.7]),
            cl.JaroWinklerAtThresholds("authors", [0.95, 0.85, 0.7]),
            cl.ExactMatch("year"),
        ]
    elif name == "abt-buy":
        add_words(sides, "name", "description")
        blocks, training = [block_on("word", arrays_to_explode=["word"])], [block_on("first")]
        sure = [block_on("code")]
        price = [cll.NullLevel("price"), *(cll.PercentageDifferenceLevel("price", x) for x in (0.02, 0.1, 0.3))]
        comparisons = [
            cl.ArrayIntersectAtSizes("name_words", [6, 5, 4, 3, 2]),
            cl.ArrayIntersectAtSizes("description_words", [8, 4, 2]),
            cl.CustomComparison(output_column_name="price", comparison_levels=[*price, cll.ElseLevel()]),
        ]
    elif name == "imdb-dbpedia":
        add_words(sides, "title", *NAMES)
        blocks = [block_on("word", arrays_to_explode=["word"]), *(block_on(column) for column in ("title", *NAMES))]
        training, sure = [block_on("title"), block_on("starring")], [block_on("title")]
        comparisons = [
            cl.JaroWinklerAtThresholds("title", [0.97, 0.9, 0.8]),
            *(cl.ArrayIntersectAtSizes(f"{column}_words", [2, 1]) for column in NAMES),
        ]
    elif name.startswith("names/"):
        add_words(sides, "title")
        blocks, training = [block_on("word", arrays_to_explode=["word"]), block_on("first")], [block_on("first")]
        prior = {"probability_two_random_records_match": 0.5 / len(tables.left)}  # half of the names have a match
        comparisons = [
            cl.JaroWinklerAtThresholds("title", [0.97, 0.92, 0.85, 0.7]),
            cl.ArrayIntersectAtSizes("title_words", [4, 3, 2, 1]),
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
        link_type="dedupe_only" if tables.right is None else "link_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=blocks,
        retain_matching_columns=False,
        **prior,
    )
    for frame in sides:
        frame["unique_id"] = np.arange(len(frame))
    start = time.perf_counter()
    base = DuckDBAPI()
    named = [base.register(frame, dataset_display_name=side) for frame, side in zip(sides, "ab", strict=False)]
    linker = Linker(named if tables.right is not None else named[0], settings, log_level="ERROR")
    if sure:
        linker.training.estimate_probability_two_random_records_match(sure, recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in training:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    found = linker.inference.predict(threshold_match_probability=0).as_pandas_dataframe()
    seconds = time.perf_counter() - start
    ids = [found[f"unique_id_{side}"].to_numpy() for side in "lr"]
    if tables.right is not None:
        first = (found["source_dataset_l"] == "a").to_numpy()
        ids = [np.where(first, *ids), np.where(first, *ids[::-1])]
    return seconds, tables.numbers(*ids), found["match_probability"].to_numpy()


def add_words(sides: list[Any], *columns: str) -> None:
    """Add columns with the words of some columns, and the rare words of the first one."""
    for column in columns:
        for frame in sides:
            frame[f"{column}_words"] = [sorted(set((text or "").split())) for text in frame[column]]
    first = f"{columns[0]}_words"
    counts = Counter(word for frame in sides for words in frame[first] for word in words)
    for frame in sides:
        frame["word"] = [[word for word in words if counts[word] <= RARE] for words in frame[first]]


# --- AutoFJ ---


def autofj(name: str, tables: Tables) -> Scored:
    """Join one column of names at a target precision, as its own README does."""
    import pandas as pd
    from autofj import AutoFJ

    assert tables.right is not None
    left, right = (
        pd.DataFrame({"id": np.arange(len(rows)), "title": [row["title"] or "" for row in rows]})
        for rows in (tables.left, tables.right)
    )
    start = time.perf_counter()
    found = AutoFJ(precision_target=SETS["names"].precision).join(left, right, "id")
    seconds = time.perf_counter() - start
    numbers = tables.numbers(found["id_l"].to_numpy(), found["id_r"].to_numpy())
    return seconds, numbers, np.full(len(numbers), np.nan)


# --- dedupe ---


def dedupe(name: str, tables: Tables) -> Scored:
    """Train with labels, and join."""
    import dedupe as package
    from dedupe import variables

    assert tables.right is not None
    rows = [columns_of(side, name) for side in (tables.left, tables.right)]
    sides = [{at: {key: clean(text) for key, text in row.items()} for at, row in enumerate(side)} for side in rows]
    kinds: dict[str, Any] = {"title": variables.Text, "description": variables.Text}
    if name == "abt-buy":
        kinds["price"] = variables.Price
        for side, given in zip(sides, rows, strict=True):
            for at, row in enumerate(given):
                side[at]["price"] = float(re.sub(r"[$,]", "", row["price"] or "") or 0) or None
    fields = [kinds.get(one, variables.String)(one, has_missing=True) for one in SETS[name].names]
    labels = examples(*sides, tables.truth)
    start = time.perf_counter()
    linker = package.RecordLink(fields, num_cores=len(os.sched_getaffinity(0)))
    linker.prepare_training(*sides, training_file=io.StringIO(dedupe_json(labels)))
    linker.train()
    linker.cleanup_training()
    found = list(linker.join(*sides, threshold=0.0, constraint="many-to-many"))
    seconds = time.perf_counter() - start
    places = np.array([pair for pair, _ in found], np.int64).reshape(-1, 2)
    return seconds, tables.numbers(*places.T), np.array([float(one) for _, one in found])


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


PEERS = {"recordlinkage": recordlinkage, "splink": splink, "autofj": autofj, "dedupe": dedupe}


def why_not(tool: str, name: str, tables: Tables) -> str:
    """Return why a tool is not run on a data set; "" if it is."""
    if tool == "autofj" and not name.startswith("names/"):
        return "joins one column of names only"
    if tool == "dedupe" and (tables.right is None or name.startswith("names/") or name == "imdb-dbpedia"):
        return "not run here, since it needs labels"
    return ""
