"""Load the machine code of kernels from disk, without preparing Numba's compiler.

Numba's own cache prepares for the next step, which never comes in most runs: it imports and
registers all that a function might be compiled from, compiles its management of memory, and parses
what a kernel is linked from in case another one calls it. Together that takes longer than most
searches of small files.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any

from lookalike.core.imports import refusing
from lookalike.kernels import is_compiling

with refusing("scipy"), refusing("yaml"):  # slow to import: Numba looks at a version, and for a file of settings
    from llvmlite.binding import add_symbol, parse_bitcode
    from numba import njit
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache
    from numba.core.codegen import JITCodeLibrary
    from numba.core.environment import Environment, lookup_environment
    from numba.core.runtime._nrt_python import c_helpers

__all__ = ["MachineCode", "njit"]


class MachineCode(NullCache):
    """The cached machine code of one kernel. Kernels that are not used do not even look for their files."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    @cached_property
    def _files(self) -> "Files":
        return Files(self._function)

    @property
    def cache_path(self) -> str:
        """Return the folder of the files."""
        return str(self._files.cache_path)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the machine code for these types of arguments; None if it must be compiled.

        The compiler prepares itself when it is needed. Numba's lock is held.
        """
        found = self._files._load_overload(signature, context)
        if found is None:
            is_compiling()
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write machine code to disk if there is space; else the next process compiles it again."""
        with suppress(OSError):
            self._files.save_overload(signature, compiled)

    def flush(self) -> None:
        """Forget the files."""
        self._files.flush()


class Library(JITCodeLibrary):
    """Machine code from disk; what it is linked from is parsed only when a caller is compiled."""

    _unparsed: bytes | None = None

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, tuple[bytes, bytes]]) -> "Library":
        name, _, (machine_code, unparsed) = state
        made: Library = codegen.create_library(name)
        made.enable_object_caching()
        made._set_compiled_object(machine_code)
        made._unparsed = unparsed
        made._finalize_final_module()
        return made

    def _get_module_for_linking(self) -> Any:
        if self._unparsed is not None:
            self._shared_module = parse_bitcode(self._unparsed)
            self._codegen._engine._load_defined_symbols(self._shared_module)
            self._unparsed = None
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of the kernel, the only function that is looked up by its name."""
        return int(self._codegen._engine.get_function_address(name))


class Loader(CompileResultCacheImpl):
    """Makes a kernel from its machine code."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the kernel."""
        codegen = target_context.codegen()
        usual, codegen._library_class = codegen._library_class, Library
        try:
            return super().rebuild(target_context, payload)
        finally:
            codegen._library_class = usual


class DataFile(IndexDataCacheFile):
    """The files of one kernel."""

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            return Unpickler(file).load()


class Unpickler(pickle.Unpickler):
    """Reads a kernel without importing the modules of the functions within it."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by its name."""
        return environment if name == "_rebuild_env" else super().find_class(module, name)


def environment(module: str, constants: list[Any], name: str) -> Any:
    """Return the constants of a function; its globals, which machine code never uses, name only its module."""
    found = lookup_environment(name)
    if found is None:
        found = Environment._memo[name] = Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
    return found


class Files(FunctionCache):
    """The files of one kernel, and how to load them."""

    _impl_class = Loader

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._cache_file = DataFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )


for name, address in c_helpers.items():  # machine code calls these functions, by these names, to manage memory
    add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
