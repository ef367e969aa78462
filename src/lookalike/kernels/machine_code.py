"""Load the machine code of kernels from disk, without preparing Numba's compiler."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from lookalike.core.imports import refusing
from lookalike.kernels import is_compiling

with refusing("scipy"):  # slow to import: Numba only looks at its version
    from numba import njit
    from numba.core.caching import FunctionCache, NullCache
    from numba.core.runtime.nrt import rtsys

__all__ = ["MachineCode", "njit"]


class MachineCode(NullCache):
    """The cached machine code of one kernel.

    Before it loads machine code, Numba's own cache imports and registers everything that a function
    might be compiled from, with SciPy's linear algebra: that takes longer than most searches of
    small files. But machine code needs only Numba's management of memory, and the compiler prepares
    itself when it is needed. Kernels that are not used do not even look for their files.
    """

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    @cached_property
    def _files(self) -> Any:
        return FunctionCache(self._function)

    @property
    def cache_path(self) -> str:
        """Return the folder of the files."""
        return str(self._files.cache_path)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the machine code for these types of arguments; None if it must be compiled."""
        rtsys.initialize(context)
        found = self._files._load_overload(signature, context)
        if found is None:
            is_compiling()
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write machine code to disk."""
        self._files.save_overload(signature, compiled)

    def flush(self) -> None:
        """Forget the files."""
        self._files.flush()
