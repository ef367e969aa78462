"""Numeric inner loops: arrays in, arrays out.

Their machine code is cached beside them, or in the user's cache folder. Where neither can be written to, as for the
executors of a cluster, it goes to a folder of our own among the temporary files.

Numba notices when a kernel's own file changes, not when a kernel that it calls does, so the cached
machine code is dropped here as soon as any source file of this folder is newer than it.

Lives here: compiled loops, one file for each structure they work on. No files, no random numbers, no Python objects.
May import: nothing of lookalike but other kernels. Each kernel has a plain twin in the tests, which run both.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryFile, gettempdir, mkdtemp
from typing import Any

SETTING = "NUMBA_CACHE_DIR"


_listeners: list[Any] = []  # there is one at most


def when_compiling(tell: Callable[[], None]) -> None:
    """Have it told, once, when a kernel must be compiled, as on a first run: that takes some seconds."""
    from numba.core import event

    class Teller(event.Listener):
        def on_start(self, _: Any) -> None:
            if self in _listeners:
                _listeners.remove(self)
                tell()

        def on_end(self, _: Any) -> None:
            pass

    for old in _listeners:
        event.unregister("numba:compile", old)
    _listeners[:] = [Teller()]
    event.register("numba:compile", _listeners[0])


def _here() -> Path:
    return Path(__file__).parent / "__pycache__"


def _drop_stale_machine_code(folder: Path) -> None:
    compiled = list((folder / "__pycache__").glob("*.nb[ci]"))
    newest = max((source.stat().st_mtime for source in folder.glob("*.py")), default=0.0)  # there are none in a zip
    stale = False
    for file in compiled:
        with suppress(FileNotFoundError):  # another process may drop them at the same time
            stale = stale or file.stat().st_mtime < newest
    if stale:
        for file in compiled:
            with suppress(OSError):
                file.unlink()


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own_folder() -> Path:
    """A folder that is ours alone, since machine code of others is not to be run; the same for all our processes."""
    folder = Path(gettempdir()) / f"lookalike-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    return Path(mkdtemp(prefix="lookalike-"))


def _find_room() -> None:
    """Tell Numba where to cache, if it would find no place by itself."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"
    if SETTING in os.environ or _can_write(_here()) or _can_write(cache):
        return
    os.environ[SETTING] = str(_own_folder())
    if "numba" in sys.modules:  # which has read its settings already
        sys.modules["numba"].config.CACHE_DIR = os.environ[SETTING]


with suppress(OSError):  # a folder we may not look into or write to keeps what it has
    _drop_stale_machine_code(Path(__file__).parent)
_find_room()
