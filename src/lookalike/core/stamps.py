"""Detect whether the input files of a run have changed since."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def stamps(paths: Iterable[Path]) -> list[list[Any]]:
    """Return the name, size and modification time of each file, to detect changes."""
    files = ((str(path.resolve()), path.stat()) for path in paths)
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in files]


def difference(was: list[list[Any]], now: list[list[Any]]) -> str:
    """Say how the input files differ from those of an earlier run; both are lists of `stamps`."""
    before, after = ({name: rest for name, *rest in files} for files in (was, now))
    kinds = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in after if name in before and after[name] != before[name]],
    }
    found = [f"{how} {names[0]}{and_more(names)}" for how, names in kinds.items() if names]
    return f"input files differ: {', '.join(found) or 'their order has changed'}"


def and_more(names: list[str]) -> str:
    """Return how many names follow the first."""
    return f" and {len(names) - 1:,} more" if len(names) > 1 else ""
