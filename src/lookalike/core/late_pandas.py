"""Let pyarrow import pandas only when it needs it, in a process that makes no objects of pandas.

Before pyarrow makes an array, it asks pandas for its classes, in case that the values belong to
one of them; to import pandas takes longer than most searches of small files. But as long as pandas
is not imported, nothing belongs to its classes. pyarrow needs pandas itself only to return times
with nanoseconds.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

PANDAS = "pandas"
SINGLE = ("NaT", "NA")  # objects of pandas of which there is only one
PARTS = ("api", "extensions", "types")  # modules within it


class LateClass(type):
    """A class of pandas: it has no instances until pandas is imported, and makes them by importing it."""

    def real(cls) -> Any:
        """Return the class itself."""
        return getattr(imported(cls.__module__), cls.__name__)

    def __instancecheck__(cls, one: Any) -> bool:
        return not isinstance(sys.modules.get(PANDAS), LateModule | None) and isinstance(one, cls.real())

    def __call__(cls, *values: Any, **options: Any) -> Any:
        return cls.real()(*values, **options)


class LateModule(ModuleType):
    """pandas or a module within it: its classes are `LateClass`; anything else imports it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made: Any
        if name == "__version__":
            made = installed_version()
        elif name in PARTS:
            made = LateModule(f"{self.__name__}.{name}")
        elif name in SINGLE:
            made = object()
        elif name[0].isupper():
            made = LateClass(name, (), {"__module__": self.__name__})
        else:
            return getattr(imported(self.__name__), name)
        setattr(self, name, made)
        return made


def installed_version() -> str:
    """Return the version of pandas, from the name of the folder with its metadata; to parse these takes long."""
    spec = PathFinder.find_spec(PANDAS)
    if spec is not None and spec.origin is not None:
        for folder in Path(spec.origin).parents[1].glob(f"{PANDAS}-*.dist-info"):
            return folder.stem.partition("-")[2]
    from importlib.metadata import version

    return version(PANDAS)


class LateFinder:
    """A finder and loader of pandas as a `LateModule`, if it is installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Return how to load pandas."""
        return ModuleSpec(name, self) if name == PANDAS and PathFinder.find_spec(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is ready."""


_finder = LateFinder()


def import_pandas_late() -> None:
    """From now on, import pandas only when something in it is used."""
    sys.meta_path.insert(0, _finder)


def import_pandas_early() -> None:
    """From now on, import pandas like any other module."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if isinstance(sys.modules.get(PANDAS), LateModule):
        sys.modules.pop(PANDAS, None)


def imported(name: str) -> ModuleType:
    """Import pandas, and return it or a module within it."""
    import_pandas_early()
    return import_module(name)
