"""Keep other packages from importing modules that they can use, but that we do not need.

A refused module seems not to be installed, unless it is imported already.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from typing import Any


class Refusal:
    """A finder of modules that finds none, and raises an error for those that are refused."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Raise an error for a refused module, and leave all others to the next finder."""
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


_refusal = Refusal()


def refuse(name: str) -> None:
    """Refuse to import a module from now on."""
    _refusal.names.add(name)
    if _refusal not in sys.meta_path:
        sys.meta_path.insert(0, _refusal)


def allow(name: str) -> None:
    """Allow to import a module again."""
    _refusal.names.discard(name)


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Refuse to import a module within a block."""
    refuse(name)
    try:
        yield
    finally:
        allow(name)
