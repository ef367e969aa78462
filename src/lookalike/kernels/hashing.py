"""The hash function that everything is built on, and the decorators of kernels.

Kernels are plain functions on arrays: no I/O, no random state, no Python objects. They release the
GIL, so that each thread of a pool can work on its own batch, and their machine code is cached on
disk. All hash arithmetic is on unsigned 64-bit integers and wraps on purpose.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lookalike.kernels.machine_code import MachineCode, njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: a step that visits all residues evenly
BASE = np.uint64(0xD1342543DE82EF95)  # odd: the base of polynomial hashes
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)  # no hash: an empty bin of a sketch, the band key of an empty set


def kernel(function: Callable[..., Any]) -> Any:
    """Compile to machine code that releases the GIL and does not check for division by zero."""
    return _compiled(function)


def fused_kernel(function: Callable[..., Any]) -> Any:
    """Compile like `kernel`, but round a product and a sum once: faster, for inexact bounds."""
    return _compiled(function, fastmath={"contract"})


def summing_kernel(function: Callable[..., Any]) -> Any:
    """Compile like `fused_kernel`, but add numbers in any order."""
    return _compiled(function, fastmath={"contract", "reassoc"})


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    compiled = njit(nogil=True, error_model="numpy", **options)(function)
    compiled._cache = MachineCode(function)
    return compiled


@kernel
def mix(x):
    """Scramble 64 bits so that every bit depends on every bit of `x` (splitmix64's finaliser).

    A bijection, so distinct inputs never collide.
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
