"""Check that `lookalike tune` makes the choices of `choose_bands`."""

import re

import pytest

import lookalike
from tests.commands import Commands, complaint


def test_tune(run: Commands) -> None:
    outcome = run("tune", "--threshold", 0.8, "--recall", 0.99)
    rows = [line.split() for line in outcome.out.splitlines() if re.match(r"^\d+ +\d+ ", line)]
    for at, (band_rows, bands, hashes, recall, _) in enumerate(rows):
        p = 0.8 ** int(band_rows)
        assert int(band_rows) == at + 1
        assert int(hashes) == int(band_rows) * int(bands) <= 512
        assert float(recall) == pytest.approx(1 - (1 - p) ** int(bands), abs=6e-5)
        assert 1 - (1 - p) ** int(bands) >= 0.99 > 1 - (1 - p) ** (int(bands) - 1)
    best = lookalike.choose_bands(threshold=0.8, hashes=512, recall=0.99)
    assert f"the most selective choice is {best.bands} bands of {best.rows} rows" in outcome.out
    assert len(rows) == best.rows
    assert (outcome.code, outcome.err) == (0, "")


def test_tune_for_other_families(run: Commands) -> None:
    outcome = run("tune", "-t", 20, "--family", "hyperplanes", "--hashes", 128)
    best = lookalike.choose_bands(20, 128, 0.99, lookalike.families.Hyperplanes())
    assert "at angle 20 with probability 0.889" in outcome.out
    assert f"the most selective choice is {best.bands} bands of {best.rows} rows: it finds 99.07%" in outcome.out
    assert len(re.findall(r"^\d+ +\d+ +\d+ ", outcome.out, re.M)) == best.rows
    assert "threshold must be in [0, 180]; got 200." in complaint(run("tune", "-t", 200, "--family", "hyperplanes"))


def test_invalid_tune_options(run: Commands) -> None:
    assert "Did you mean 0.8?" in complaint(run("tune", "-t", 80))
    assert "needs more than 512 hash functions" in complaint(run("tune", "-t", 0.001))
    assert run("tune", "-t", 0.8, "--recall", 1).code == 2
