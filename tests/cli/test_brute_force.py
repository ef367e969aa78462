"""Compare each option for pipelines with brute force, through the command line, on small random rows."""

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from lookalike.io.part import CODECS
from tests.commands import Commands
from tests.samples import Row

EXACT = ("-s", "char:4", "--recall", "1", "-q")
Similarity = Callable[[Row, Row], float]
Order = Callable[[Row], Any]
SEEDS = (1, 2, 3)
WORDS = ("ferry", "seal", "harbour", "tide", "island", "bell", "market", "winter", "storm", "lantern")


def rows_of(seed: int, count: int = 24, start: str = "r") -> list[Row]:
    """Return rows with texts of a few words, many of which are alike."""
    draw = random.Random(seed)
    texts: list[list[str]] = []
    for _ in range(count):
        text = list(draw.choice(texts)) if texts and draw.random() < 0.7 else draw.choices(WORDS, k=6)
        text[draw.randrange(6)] = draw.choice(WORDS)
        texts.append(text)
    return [
        {
            "id": f"{start}{at:02}",
            "text": " ".join(text),
            "lang": draw.choice(["en", "de", None]),
            "meta": {"quality": draw.choice([1, 2, 3, None])},
            "date": f"2026-01-{draw.randint(1, 4):02}",
        }
        for at, text in enumerate(texts)
    ]


def shingles(row: Row) -> set[str]:
    text = row["text"]
    return {text[at : at + 4] for at in range(len(text) - 3)}


def jaccard(one: Row, other: Row) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


def by_id(row: Row) -> str:
    return str(row["id"])


def centres_of(rows: list[Row], similar: Callable[[Row, Row], bool], order: Order = by_id) -> list[Row]:
    """Return the rows that are similar to none of those before them that were returned."""
    found: list[Row] = []
    for row in sorted(rows, key=order):
        if not any(similar(one, row) for one in found):
            found.append(row)
    return sorted(found, key=rows.index)


def at_least(threshold: float, similarity: Similarity = jaccard) -> Callable[[Row, Row], bool]:
    return lambda one, other: similarity(one, other) >= threshold


class Case:
    """Random rows in a file, and commands on it."""

    def __init__(self, run: Commands, folder: Path, seed: int) -> None:
        self.run, self.folder = run, folder
        self.rows = rows_of(seed)
        self.path = self.write("rows.jsonl", self.rows)

    def write(self, name: str, rows: list[Row]) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def __call__(self, command: str, *args: object) -> list[Row]:
        """Return what a command prints: rows."""
        outcome = self.run(command, self.path, *EXACT, *args)
        assert outcome.code == 0, outcome.err
        return [json.loads(line) for line in outcome.out.splitlines()]

    def kept(self, *args: object) -> list[str]:
        """Return the ids that dedup keeps."""
        return [row["id"] for row in self("dedup", *args)]


@pytest.fixture(params=SEEDS)
def case(run: Commands, tmp_path: Path, request: pytest.FixtureRequest) -> Case:
    made = Case(run, tmp_path, request.param)
    assert 3 < len(centres_of(made.rows, at_least(0.5))) < 20  # there is something to keep and to drop
    return made


def ids(rows: list[Row]) -> list[str]:
    return [row["id"] for row in rows]


def test_mark(case: Case) -> None:
    kept = ids(centres_of(case.rows, at_least(0.5)))
    marked = case("dedup", "-t", 0.5, "--mark")
    rows = {row["id"]: row for row in case.rows}
    groups = Counter(row["cluster"] for row in marked)
    assert ids(marked) == ids(case.rows)
    for row in marked:
        name, other = row["id"], row["duplicate_of"]
        assert {key: row[key] for key in rows[name]} == rows[name]
        assert (other is None) == (name in kept)
        assert row["cluster"] == (other or name)
        assert row["copies"] == groups[row["cluster"]]
        if other is None:
            assert row["similarity"] is None
        else:
            assert other in kept
            assert row["similarity"] == jaccard(rows[name], rows[other]) >= 0.5


def test_rows(case: Case) -> None:
    component = {name: name for name in ids(case.rows)}
    for one, other in combinations(case.rows, 2):
        if jaccard(one, other) >= 0.6:
            first, second = sorted((component[one["id"]], component[other["id"]]))
            component = {name: first if root == second else root for name, root in component.items()}
    sizes = Counter(component.values())
    found = case("clusters", "-t", 0.6, "--rows")
    assert [(row["id"], row["cluster"], row["size"]) for row in found] == [
        (name, root, sizes[root]) for name, root in component.items()
    ]


@pytest.mark.parametrize(("option", "same"), [("--within", True), ("--across", False)])
def test_within_and_across(case: Case, option: str, same: bool) -> None:
    def counts(one: Row, other: Row) -> bool:
        return jaccard(one, other) >= 0.5 and (one["lang"] == other["lang"]) == same

    pairs = [(one, other) for one, other in combinations(case.rows, 2) if counts(one, other)]
    found = {(row["left"], row["right"]): row["similarity"] for row in case("pairs", "-t", 0.5, option, "lang")}
    assert found == {(one["id"], other["id"]): jaccard(one, other) for one, other in pairs}
    assert case.kept("-t", 0.5, option, "lang") == ids(centres_of(case.rows, counts))


def test_against_files(case: Case) -> None:
    earlier = [rows_of(seed, 6, start) for seed, start in ((8, "a"), (9, "b"))]
    earlier[1][0]["text"] = case.rows[-1]["text"]
    files = [case.write(f"{at}.jsonl", rows) for at, rows in enumerate(earlier)]
    similar = at_least(0.5)
    new = [row for row in case.rows if not any(similar(row, one) for rows in earlier for one in rows)]
    assert len(new) < len(case.rows)
    assert case.kept("-t", 0.5, "--against", files[0], "--against", files[1]) == ids(centres_of(new, similar))


def rules(row: Row) -> tuple[object, ...]:
    """Order rows by quality, the highest first, then by date, the earliest first."""
    quality = row["meta"]["quality"]
    return (quality is None, -(quality or 0), row["date"], row["id"])


def test_keep_by_columns(case: Case) -> None:
    expected = ids(centres_of(case.rows, at_least(0.5), rules))
    assert case.kept("-t", 0.5, "--keep", "meta.quality:max,date:min") == expected
    assert expected != ids(centres_of(case.rows, at_least(0.5)))


def test_copies(case: Case) -> None:
    """Of each group, which `--mark` names, the first rows stay in the order of the rules."""
    keep = ("--keep", "meta.quality:max,date:min")
    clusters = {row["id"]: row["cluster"] for row in case("dedup", "-t", 0.5, *keep, "--mark")}
    room = Counter(dict.fromkeys(clusters.values(), 2))
    expected = []
    for row in sorted(case.rows, key=lambda row: (row["id"] != clusters[row["id"]], rules(row))):
        room[clusters[row["id"]]] -= 1
        expected.extend([row["id"]] if room[clusters[row["id"]]] >= 0 else [])
    assert case.kept("-t", 0.5, *keep, "--copies", 2) == sorted(expected)


def test_drop_all(case: Case) -> None:
    similar = at_least(0.6)
    alone = [row for row in case.rows if not any(similar(row, one) for one in case.rows if one is not row)]
    assert case.kept("-t", 0.6, "--drop-all") == ids(alone)


def test_drop_common(case: Case) -> None:
    counts = Counter(one for row in case.rows for one in shingles(row))

    def rare(row: Row) -> set[str]:
        return {one for one in shingles(row) if counts[one] <= 0.3 * len(case.rows)} or shingles(row)

    def similarity(one: Row, other: Row) -> float:
        return len(rare(one) & rare(other)) / len(rare(one) | rare(other))

    assert any(rare(row) < shingles(row) for row in case.rows)
    assert case.kept("-t", 0.5, "--drop-common", "30%") == ids(centres_of(case.rows, at_least(0.5, similarity)))


def test_weights(case: Case) -> None:
    counts = Counter(one for row in case.rows for one in shingles(row))

    def weight(some: set[str]) -> float:
        return math.fsum(math.log(1 + len(case.rows) / counts[one]) for one in some)

    def similarity(one: Row, other: Row) -> float:
        return weight(shingles(one) & shingles(other)) / weight(shingles(one) | shingles(other))

    found = {(row["left"], row["right"]): row["similarity"] for row in case("pairs", "-t", 0.41, "--weights", "idf")}
    pairs = {(one["id"], other["id"]): similarity(one, other) for one, other in combinations(case.rows, 2)}
    assert found == pytest.approx({pair: value for pair, value in pairs.items() if value >= 0.41})
    assert case.kept("-t", 0.41, "--weights", "idf") == ids(centres_of(case.rows, at_least(0.41, similarity)))


def test_many_files(case: Case) -> None:
    """One output per input, with the chosen columns."""
    thirds = {f"in/{name}.jsonl": case.rows[at::3] for at, name in enumerate("abc")}
    for name, rows in thirds.items():
        case.write(name, rows)
    read = [row for rows in thirds.values() for row in rows]
    kept = ids(centres_of(read, at_least(0.5)))
    options = ("-t", 0.5, "-o", f"{case.folder}/out/", "--columns", "date,id")
    outcome = case.run("dedup", case.folder / "in", *EXACT, *options)
    assert outcome.code == 0, outcome.err
    for name, rows in thirds.items():
        lines = (case.folder / name.replace("in/", "out/")).read_text().splitlines()
        expected = [{key: row[key] for key in ("id", "text", "date")} for row in rows if row["id"] in kept]
        assert [json.loads(line) for line in lines] == expected


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_outputs(case: Case, codec: str) -> None:
    plain, packed = case.folder / "kept.jsonl", case.folder / f"kept.jsonl{codec}"
    for path in (plain, packed):
        assert case.run("dedup", case.path, *EXACT, "-t", 0.5, "-o", path).code == 0
    kept = ids(centres_of(case.rows, at_least(0.5)))
    assert ids([json.loads(line) for line in plain.read_text().splitlines()]) == kept
    again = case.run("dedup", packed, *EXACT, "-t", 1, "--text", "id")  # ids are all different
    assert ids([json.loads(line) for line in again.out.splitlines()]) == kept
    assert packed.read_bytes() != plain.read_bytes()
