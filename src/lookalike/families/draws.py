"""Draw the random numbers of families: the same for a seed on every machine and in every release.

Word i of a seed is a hash of the seed and i, so the first rows do not change if more are drawn.
Normal numbers can differ in their last bit between processors, as logarithms and cosines do.
"""

import numpy as np

from lookalike.core.errors import LARGEST_SEED, whole
from lookalike.kernels.hashing import GOLDEN, mix


def words(seed: int, rows: int, columns: int, stream: int = 0, first: int = 0) -> np.ndarray:
    """Return random 64-bit numbers, rows x columns, from row `first` on; streams differ."""
    start = np.uint64(whole("seed", seed, least=0, most=LARGEST_SEED))
    count = np.arange(first * columns + 1, (first + rows) * columns + 1, dtype=np.uint64).reshape(rows, columns)
    with np.errstate(over="ignore"):
        drawn: np.ndarray = mix.py_func(mix.py_func(start + np.uint64(stream) * GOLDEN) + count * GOLDEN)
    return drawn


def uniforms(seed: int, rows: int, columns: int, stream: int = 0, first: int = 0) -> np.ndarray:
    """Return random numbers in (0, 1] with 53 bits."""
    return ((words(seed, rows, columns, stream, first) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53


def gaussians(seed: int, rows: int, columns: int, stream: int = 0, first: int = 0) -> np.ndarray:
    """Return independent normal numbers, by Box and Muller: sqrt(-2 ln u) cos(2 pi v)."""
    u, v = (uniforms(seed, rows, columns, 2 * stream + side, first) for side in (0, 1))
    normal: np.ndarray = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    return normal


def signs(seed: int, rows: int, columns: int, first: int = 0) -> np.ndarray:
    """Return random +1 and -1."""
    return (words(seed, rows, columns, first=first) >> np.uint64(63)) * 2.0 - 1.0


def samples(seed: int, rows: int, size: int, of: int) -> np.ndarray:
    """Return rows of `size` different numbers from range(of), drawn without replacement."""
    chosen: np.ndarray = np.argsort(words(seed, rows, of), axis=1, kind="stable")[:, :size]
    return chosen
