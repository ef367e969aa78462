"""Check the summary of a result: for no pair, one pair and several, and for nearest neighbours."""

from pathlib import Path

import numpy as np
import pytest

from tests.commands import Commands


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["one text", "quite another"], "found: 0 similar pairs; "),
        (["one text"] * 2, "found: 1 similar pair, verified; "),
        (["one text"] * 3, "found: 3 similar pairs, all verified; "),
    ],
)
def test_pairs_are_counted_in_words(run: Commands, inputs: Path, texts: list[str], found: str) -> None:
    (inputs / "a.txt").write_text("\n".join(texts))
    outcome = run("pairs", inputs / "a.txt")
    assert any(line.startswith(found) for line in outcome.err.splitlines())
    assert "expected recall at the threshold " in outcome.err


def test_neighbours_are_called_so(run: Commands, inputs: Path, out: Path) -> None:
    """Without a threshold there is no recall at one; brute force finds all neighbours."""
    np.save(inputs / "a.npy", np.random.default_rng(1).normal(size=(30, 5)))
    outcome = run("vectors", inputs / "a.npy", "-k", 3, "-o", out / "near.csv")
    found = next(line for line in outcome.err.splitlines() if line.startswith("found: "))
    assert found == "found: 90 neighbours, all verified; 900 candidate pairs compared; expected recall 1.0000"
    bounded = run("vectors", inputs / "a.npy", "-k", 3, "-t", 180, "-o", out / "near.csv").err
    assert "found: 90 neighbours, all verified; " in bounded
    assert "; expected recall at the threshold 1.0000" in bounded


def test_inner_products(run: Commands, inputs: Path, out: Path) -> None:
    np.save(inputs / "a.npy", [[1.0, 2], [3, 4], [0, 0], [1, 2]])
    outcome = run("vectors", inputs / "a.npy", "-m", "dot", "-t", 6, "-o", out / "a.csv", "--audit", 4, "--report",
                  out / "a.html")  # fmt: skip
    assert (out / "a.csv").read_text().splitlines()[1:] == ["0,1,11", "1,3,11"]
    assert "plan: inner_product >= 6 of vectors of 2 dimensions, exact: all pairs are compared" in outcome.err
    assert "audit: 2 of 2 true pairs of 4 sampled items found" in outcome.err
    assert "inner product is at least 6" in (out / "a.html").read_text()
    run("vectors", inputs / "a.npy", "--against", inputs / "a.npy", "-m", "inner_product", "-k", 1, "-o", out / "b.csv")
    assert (out / "b.csv").read_text().splitlines()[1:] == ["0,1,11", "1,1,25", "2,0,0", "3,1,11"]
    run("vectors", inputs / "a.npy", "-m", "dot", "-t", 6, "--result", "removed", "-o", out / "c.csv")
    assert (out / "c.csv").read_text().splitlines()[1:] == ["1,0,11"]
    message = run("vectors", inputs / "a.npy", "-m", "dot").err
    assert "measure 'inner_product' needs a threshold: set --threshold to the minimum inner product." in message
    message = run("vectors", inputs / "a.npy", "-m", "dot", "-t", 6, "--method", "lsh").err
    assert "--method lsh is not for inner_product: " in message


def test_neighbours_found_by_tables(run: Commands, inputs: Path, out: Path) -> None:
    """The recall is that at the distance up to which neighbours are looked for."""
    centres = np.random.default_rng(1).normal(size=(600, 40))
    np.save(inputs / "a.npy", np.concatenate([centres, centres + 1e-4]))
    outcome = run("vectors", inputs / "a.npy", "-k", 1, "--method", "lsh", "-o", out / "near.csv")
    found = next(line for line in outcome.err.splitlines() if line.startswith("found: "))
    assert " neighbours, all verified; " in found
    assert "; expected recall at angle 0." in found
    assert float(found.rpartition(": ")[2]) >= 0.99
