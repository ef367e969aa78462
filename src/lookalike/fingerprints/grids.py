"""Lay a grid over a print or around each of its minutiae, and find the squares that hold a minutia.

A minutia near the border of a square also counts for the squares across the border, so that another
impression of the finger, which is never quite the same, has most of these squares again.
"""

from itertools import product

import numpy as np

from lookalike.core.errors import positive, whole
from lookalike.fingerprints.prints import Prints

FAR = 2.0**40  # in squares; no grid reaches there


def grid_sets(
    prints: Prints, *, square: float = 20.0, margin: float = 5.0, columns: int = 16, rows: int = 20
) -> np.ndarray:
    """Return which squares of a grid over each print hold a minutia: prints x (columns * rows).

    First the print is centred at the mean of its minutiae and set upright: turned so that their
    directions are vertical on average. Minutiae beyond the grid are ignored.

    Args:
        prints: the prints.
        square: the side of a square, in pixels.
        margin: a minutia also counts for other squares that are at most this many pixels away.
        columns: the number of columns of the grid.
        rows: the number of its rows.

    >>> grid_sets(Prints.of([[(0, 0, 90), (52, 0, 90)]]), columns=4, rows=1).tolist()
    [[True, False, False, True]]
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
    """Return which squares of a grid around each minutia hold another one: minutiae x squares.

    The grid is turned to the direction of the minutia, so no shift or turn of the print changes it.

    Args:
        prints: the prints.
        square: the side of a square, in pixels.
        margin: a minutia also counts for other squares that are at most this many pixels away.
        radius: how many pixels the grid reaches to each side.
        directions: the number of layers of the grid, by the direction of the other minutia.

    >>> grids = local_grids(Prints.of([[(0, 0, 0), (31, 12, 50)], [(5, 5, 90), (-7, 36, 140)]]))
    >>> grids.shape, np.array_equal(grids[:2], grids[2:])  # the second print is the first, turned
    ((4, 400), True)
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
    """Return the places of the minutiae around their mean, turned as in `grid_sets`."""
    doubled = np.exp(2j * np.radians(minutiae[:, 2])).mean()  # for a line, 10 and 190 degrees are the same
    tilt = np.degrees(np.angle(doubled)) / 2 % 180 - 90
    return _turned(minutiae[:, :2] - minutiae[:, :2].mean(axis=0), -tilt)


def _turned(places: np.ndarray, degrees: float) -> np.ndarray:
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned: np.ndarray = places @ np.array([[cos, sin], [-sin, cos]])
    return turned


def _mark(grid: np.ndarray, places: np.ndarray, margin: float, around: bool = False) -> None:
    """Set the squares within `margin` of the places; with `around` the last axis is a circle."""
    for shift in product(np.append(np.arange(-margin, margin), margin), repeat=grid.ndim):
        squares = np.clip(np.floor(places + shift), -FAR, FAR).astype(np.int64)
        if around:
            squares[:, -1] %= grid.shape[-1]
        inside = ((squares >= 0) & (squares < grid.shape)).all(axis=1)
        grid[tuple(squares[inside].T)] = True
