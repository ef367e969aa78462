"""Check `lookalike sets` on lines and on rows."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.corpus import SUFFIXES, read
from tests.commands import Commands, complaint

BASKETS = "milk bread eggs\nbread,milk;eggs\n\nmilk bread butter jam\nmilk bread\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sets_of_lines(run: Commands, inputs: Path, out: Path, suffix: str) -> None:
    path = inputs / "baskets.txt"
    path.write_text(BASKETS)
    outcome = run("sets", path, "-t", 0.6, "-o", out / f"pairs{suffix}")
    assert outcome.code == 0
    pairs = [(int(row["left"]), int(row["right"]), float(row["similarity"])) for row in read(out / f"pairs{suffix}")]
    assert pairs == [(1, 2, 1.0), (1, 5, pytest.approx(2 / 3)), (2, 5, pytest.approx(2 / 3))]
    assert "read: 4 sets (1 identical), 12 elements" in outcome.err
    assert "found: 3 similar pairs, all verified" in outcome.err


@pytest.mark.slow
def test_sets_of_rows(run: Commands, inputs: Path) -> None:
    path = inputs / "orders.csv"
    path.write_text("n,order,product,quantity\n1,a,pen,2\n2,b,pen,2\n3,a,ink,1\n4,b,ink,3\n5,c,pen,1\n")
    whole = run("sets", path, "--rows", "order,product", "-t", 0.9)
    assert [json.loads(line) for line in whole.out.splitlines()] == [{"left": "a", "right": "b", "similarity": 1.0}]
    bags = run("sets", path, "--rows", "order,product,quantity", "-m", "bag", "-t", 0.6)
    assert [json.loads(line) for line in bags.out.splitlines()] == [{"left": "a", "right": "b", "similarity": 0.6}]
    part = run("sets", path, "--rows", "order,product", "-m", "containment", "-t", 1)
    found = [(row["left"], row["right"]) for row in map(json.loads, part.out.splitlines())]
    assert found == [("a", "b"), ("b", "a"), ("c", "a"), ("c", "b")]
    both = run("sets", path, "--rows", "order,product", "-m", "overlap", "-t", 2)
    assert [json.loads(line) for line in both.out.splitlines()] == [{"left": "a", "right": "b", "similarity": 2}]


@pytest.mark.parametrize(("stage", "compared"), [("length", 6), ("prefix", 1), ("position", 1), ("suffix", 1)])
def test_filters_say_what_they_compare(run: Commands, inputs: Path, stage: str, compared: int) -> None:
    """All six pairs pass the length filter; only the first two sets share an indexed element, c."""
    path = inputs / "sets.txt"
    path.write_text("a b c d\na b c e\na b f g\na h i j\n")
    outcome = run("sets", path, "-t", 0.5, "--filter", stage)
    assert outcome.out == '{"left": 1, "right": 2, "similarity": 0.6}\n'
    found = re.search(r"found: 1 similar pair, verified; ([\d,]+) candidate pairs? compared;", outcome.err)
    assert found
    assert int(found[1]) == compared


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("pairs", ("-m", "edit"), "measure 'edit' needs a threshold: set --threshold to the maximum number of edits."),
        ("pairs", ("-m", "angle"), "--measure must be one of jaccard, bag, containment, cosine, overlap, edit"),
        ("pairs", ("-m", "jacard"), "measure must be one of jaccard"),
        ("sets", ("-m", "edit", "-t", 1), "measure 'edit' compares texts, not sets; use `lookalike pairs`."),
        ("sets", ("--filter", "x"), "filter must be one of length, prefix, position, suffix; got 'x'."),
        ("sets", ("--rows", "a,b"), "rows"),
    ],
)
def test_invalid_measures(run: Commands, inputs: Path, command: str, options: tuple[object, ...], message: str) -> None:
    path = inputs / "lines.txt"
    path.write_text("a b\nb c\n")
    outcome = run(command, path, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in complaint(outcome)


def test_sets_with_weights(run: Commands, inputs: Path) -> None:
    path = inputs / "baskets.txt"
    path.write_text("".join(f"bag receipt milk item{at} item{at + 50}\n" for at in range(30)) + "bag item3 item53\n")
    for way in (("--weights", "idf"), ("--drop-common", "50%")):
        outcome = run("sets", path, "-t", 0.6, *way)
        assert [(row["left"], row["right"]) for row in map(json.loads, outcome.out.splitlines())] == [(4, 31)]
    outcome = run("sets", path, "--drop-common", "5")
    assert complaint(outcome) == (
        "--drop-common must be a share above 0 and below 1, such as 1% or 0.01; got '5'. Did you mean 5%?"
    )
