"""Check made-up prints: they are found, and the example files hold them."""

from pathlib import Path

import numpy as np

from lookalike.fingerprints import Database, made_up_prints, read_prints

# --- prints ---


def test_made_up_prints():
    prints = made_up_prints(6, 3)
    assert prints.ids.to_pylist() == [f"{finger}_{number}" for finger in range(1, 7) for number in (1, 2, 3)]
    assert (made_up_prints(6, 3).minutiae == prints.minutiae).all()
    assert len(made_up_prints(0)) == 0
    found = {(left.split("_")[0], right.split("_")[0]) for left, right, _ in Database(prints).pairs()}
    assert {one for one, other in found if one == other} == set("123456")
    assert all(one == other for one, other in found)


# --- files ---


def test_the_examples_are_what_their_page_says():
    """The same except for the order, and rounded to whole pixels and degrees."""
    read = read_prints(Path(__file__).parents[2] / "examples" / "fingerprints")
    made = made_up_prints(6, 3, seed=2)
    assert len(read) == len(made)
    assert np.abs(read.minutiae[:, :2] - made.minutiae[:, :2]).max() <= 0.5
    assert np.abs((read.minutiae[:, 2] - made.minutiae[:, 2] + 180) % 360 - 180).max() <= 0.5
