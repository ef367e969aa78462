"""Make up fingers and impressions of them, for trials and tests: no real person's prints."""

import numpy as np

from lookalike.core.errors import whole
from lookalike.fingerprints.prints import Prints

WIDTH, HEIGHT = 300.0, 400.0  # of the sensor, in pixels
MINUTIAE = 60  # of a finger; an impression shows some of them
APART = 11.0  # least distance between two, in pixels
JITTER, SWAY = 2.5, 5.0  # pixels and degrees by which a minutia is off in an impression
MISSED, FALSE = 0.2, 0.1  # shares of minutiae that are overlooked, and that are not real
TURNED, SHIFTED = 12.0, 25.0  # degrees and pixels by which an impression is moved


def made_up_prints(fingers: int, impressions: int = 2, seed: int = 1) -> Prints:
    """Return made-up prints: `impressions` of each of `fingers` fingers, with ids such as "1_2".

    The same `seed` gives the same prints. Minutiae are at random places; their directions follow
    ridges around a core and a delta. An impression is a part of the finger, turned and shifted;
    some minutiae are missing, some false.

    >>> prints = made_up_prints(3)
    >>> prints.ids.to_pylist()
    ['1_1', '1_2', '2_1', '2_2', '3_1', '3_2']
    """
    draw = np.random.default_rng(whole("seed", seed, least=0))
    made, names = [], []
    for finger in range(1, whole("fingers", fingers, least=0) + 1):
        minutiae, field = _finger(draw)
        for impression in range(1, whole("impressions", impressions) + 1):
            made.append(_impression(draw, minutiae, field))
            names.append(f"{finger}_{impression}")
    return Prints.of(made, names)


def _finger(draw: np.random.Generator) -> tuple[np.ndarray, tuple[complex, complex]]:
    """Return the minutiae of a finger, and the core and delta that its ridges run around."""
    core = complex(*draw.normal((150, 230), 20))
    delta = core + complex(draw.choice((-1, 1)) * draw.uniform(60, 120), -draw.uniform(100, 160))
    places = np.empty((0, 2))
    while len(places) < MINUTIAE:
        place = draw.uniform((0, 0), (WIDTH, HEIGHT))
        if not len(places) or np.hypot(*(places - place).T).min() >= APART:
            places = np.vstack([places, place])
    return _directed(draw, places, (core, delta)), (core, delta)


def _directed(draw: np.random.Generator, places: np.ndarray, field: tuple[complex, complex]) -> np.ndarray:
    """Return minutiae at these places that point along the ridges, one way or the other."""
    core, delta = field
    at = places[:, 0] + 1j * places[:, 1]
    along = (np.angle(at - delta, deg=True) - np.angle(at - core, deg=True)) / 2 + 90
    return np.column_stack([places, (along + draw.choice((0, 180), len(at)) + draw.normal(0, 10, len(at))) % 360])


def _impression(draw: np.random.Generator, finger: np.ndarray, field: tuple[complex, complex]) -> np.ndarray:
    kept = finger[draw.random(len(finger)) >= MISSED]
    false = _directed(draw, draw.uniform((0, 0), (WIDTH, HEIGHT), (draw.poisson(FALSE * len(kept)), 2)), field)
    seen = np.vstack([kept, false])
    middle = draw.normal((WIDTH / 2, HEIGHT / 2), SHIFTED)
    seen = seen[(((seen[:, :2] - middle) / (WIDTH / 2.2, HEIGHT / 2.2)) ** 2).sum(axis=1) < 1]
    turn = draw.normal(0, TURNED)
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    places = (seen[:, :2] - middle) @ np.array([[cos, sin], [-sin, cos]]) + (WIDTH / 2, HEIGHT / 2)
    off = np.column_stack([places, seen[:, 2] + turn]) + draw.normal(0, (JITTER, JITTER, SWAY), (len(seen), 3))
    return np.column_stack([off[:, :2], off[:, 2] % 360]).round(1)
