"""A grid laid over a whole print or around each of its minutiae, and the set of its squares that hold a minutia.

A minutia near the border of a square counts for the squares on the other side, too, so that the next impression of
the finger, which is never quite the same, has most of these squares again.
"""

from itertools import product

import numpy as np

from lookalike.core.errors import positive, whole
from lookalike.fingerprints.prints import Prints

FAR = 2.0**40  # squares away, where no grid reaches


def grid_sets(
    prints: Prints, *, square: float = 20.0, margin: float = 5.0, columns: int = 16, rows: int = 20
) -> np.ndarray:
    """Which squares of a grid over each whole print hold a minutia: truth values, prints x (columns * rows).

    Before the grid is laid the print is centred at the mean of its minutiae and set upright: turned so that the lines
    along which they run are vertical on average. What lies beyond the grid is left out.
    """
    positive("square", square)
    columns, rows = whole("columns", columns), whole("rows", rows)
    cells = np.zeros((len(prints), columns * rows), np.bool_)
    for number in range(len(prints)):
        minutiae = prints[number]
        if len(minutiae):
            places = _upright(minutiae) / square + (columns / 2, rows / 2)
            _mark(cells[number].reshape(columns, rows), places, margin / square)
    return cells


def local_grids(
    prints: Prints, *, square: float = 20.0, margin: float = 4.0, radius: float = 100.0, directions: int = 4
) -> np.ndarray:
    """Which squares of a grid around each minutia, turned to its direction, hold another: minutiae x squares.

    No shift or turn of the print changes them. Squares are those of a grid of `radius` to each side, once for each of
    so many directions that the other minutia may have as seen from this one.
    """
    half = int(np.ceil(positive("radius", radius) / positive("square", square)))
    directions = whole("directions", directions)
    shape = (2 * half, 2 * half, directions)
    cells = np.zeros((len(prints.minutiae), int(np.prod(shape))), np.bool_)
    for number in range(len(prints)):
        minutiae = prints[number]
        for at, (x, y, angle) in enumerate(minutiae):
            others = np.delete(minutiae, at, axis=0)
            others = others[np.hypot(others[:, 0] - x, others[:, 1] - y) < radius]
            places = _turned(others[:, :2] - (x, y), -angle) / square + half
            seen = (others[:, 2] - angle) % 360 / 360 * directions
            grid = cells[prints.starts[number] + at].reshape(shape)
            _mark(grid, np.column_stack([places, seen]), margin / square, around=True)
    return cells


def _upright(minutiae: np.ndarray) -> np.ndarray:
    """The places of the minutiae about their mean, turned so that their lines are vertical on average."""
    doubled = np.exp(2j * np.radians(minutiae[:, 2])).mean()  # a line has no sense: 10 and 190 degrees are one
    tilt = np.degrees(np.angle(doubled)) / 2 % 180 - 90
    return _turned(minutiae[:, :2] - minutiae[:, :2].mean(axis=0), -tilt)


def _turned(places: np.ndarray, degrees: float) -> np.ndarray:
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned: np.ndarray = places @ np.array([[cos, sin], [-sin, cos]])
    return turned


def _mark(grid: np.ndarray, places: np.ndarray, margin: float, around: bool = False) -> None:
    """Set the squares that the places lie in or within the margin of; with `around` the last axis is a circle."""
    for shift in product(np.append(np.arange(-margin, margin), margin), repeat=grid.ndim):
        squares = np.clip(np.floor(places + shift), -FAR, FAR).astype(np.int64)
        if around:
            squares[:, -1] %= grid.shape[-1]
        inside = ((squares >= 0) & (squares < grid.shape)).all(axis=1)
        grid[tuple(squares[inside].T)] = True
