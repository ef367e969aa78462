"""Keep other packages from importing modules that they can use, but that we do not need."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from typing import Any


class Refusal:
    """A finder that says that a module is not installed."""

    def __init__(self, name: str):
        self.name = name

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Raise an error for the refused module, and leave all others to the next finder."""
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def refuse(*names: str) -> None:
    """From now on, refuse to import these modules."""
    sys.meta_path[:0] = map(Refusal, names)


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Refuse to import a module within a block, unless it is imported already."""
    refusal = Refusal(name)
    sys.meta_path.insert(0, refusal)
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)
