"""Numeric inner loops: arrays in, arrays out.

Numba notices when a kernel's own file changes, not when a kernel that it calls does, so the cached
machine code is dropped here as soon as any source file of this folder is newer than it.
"""

from contextlib import suppress
from pathlib import Path


def is_compiled() -> bool:
    """Whether machine code is cached from an earlier run; a first run takes some seconds to make it."""
    return any((Path(__file__).parent / "__pycache__").glob("*.nbi"))


def _drop_stale_machine_code(folder: Path) -> None:
    compiled = list((folder / "__pycache__").glob("*.nb[ci]"))
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    if any(file.stat().st_mtime < newest for file in compiled):
        for file in compiled:
            with suppress(OSError):
                file.unlink()


with suppress(OSError):  # a folder we may not look into or write to keeps what it has
    _drop_stale_machine_code(Path(__file__).parent)
