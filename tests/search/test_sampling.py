"""Check the sample of texts that a plan is made from."""

from pathlib import Path

import numpy as np
import pytest

import lookalike as la

TEXTS = 10_000  # of 1.8 kB, so that they are not a small input


def put(folder: Path, files: int, alike: tuple[int, ...] = ()) -> list[Path]:
    """Write texts of random words, one per line; 200 from each number in `alike` on share two thirds of them."""
    words = np.array([b"w%04d " % word for word in range(5000)])
    rows = words[np.random.default_rng(1).integers(5000, size=(TEXTS, 300))]
    for row in alike:
        rows[row : row + 200, 100:] = rows[0, 100:]
    rows[:, 0] = [b"n%04d " % row for row in range(TEXTS)]
    rows[:, -1] = b"end..\n"
    paths = [folder / f"{at:02d}.txt" for at in range(files)]
    for path, some in zip(paths, np.array_split(rows, files), strict=True):
        path.write_bytes(some.tobytes())
    return paths


@pytest.mark.parametrize(("files", "places"), [(1, 32), (3, 33), (40, 32)])
def test_places_are_all_over_the_inputs(inputs: Path, files: int, places: int) -> None:
    found = la.Source(put(inputs, files), format="text").samples()
    numbers = [[int(text[1:5]) for text in texts.to_pylist()] for texts in found]
    assert len(numbers) == places
    assert all(some == list(range(some[0], some[0] + 16)) for some in numbers)
    gaps = np.diff([0, *(some[0] for some in numbers), TEXTS])
    assert gaps.max() < 2 * TEXTS / places


def test_two_places_that_are_alike_do_not_decide_for_all(inputs: Path) -> None:
    """They would be two of as few as eight places, too, but hold 400 of the texts."""
    (path,) = put(inputs, 1, alike=(560, 7840))
    alike = [texts for texts in la.Source(path).samples() if texts[8].as_py()[600:] == texts[9].as_py()[600:]]
    assert len(alike) == 2
    plan = la.find_clusters(path, threshold=0.8, shingles="word:3", method="lsh").plan
    assert plan is not None
    assert plan.candidates < 400**2 / 2
