"""Numeric inner loops: arrays in, arrays out.

Their machine code is cached next to them or in the user's cache folder. If neither is writable, as
for the executors of a cluster, it goes to a folder of our own among the temporary files.

Numba notices changes to a kernel's own file, but not to the kernels it calls. So all cached machine
code is dropped here if any source file of this folder is newer.

Lives here: compiled loops, one file per data structure; no files, random numbers or Python objects.
May import: `core.imports` and other kernels. Each has a plain twin in the tests.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryFile, gettempdir, mkdtemp

SETTING = "NUMBA_CACHE_DIR"
_waiting: list[Callable[[], None]] = []  # at most one


def when_compiling(notify: Callable[[], None]) -> None:
    """Call `notify` once when a kernel must be compiled, as on a first run; that takes seconds."""
    _waiting[:] = [notify]


def is_compiling() -> None:
    """Notify whoever waits for this."""
    while _waiting:
        _waiting.pop()()


def _here() -> Path:
    return Path(__file__).parent / "__pycache__"


def _drop_stale_machine_code(folder: Path) -> None:
    compiled = list((folder / "__pycache__").glob("*.nb[ci]"))
    newest = max((source.stat().st_mtime for source in folder.glob("*.py")), default=0.0)  # a zip has no files
    stale = False
    for file in compiled:
        with suppress(FileNotFoundError):  # another process can drop them at the same time
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
    """Return a folder that only this user can write to, so that no one else's code is run."""
    folder = Path(gettempdir()) / f"lookalike-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    return Path(mkdtemp(prefix="lookalike-"))


def _choose_cache_folder() -> None:
    """Set Numba's cache folder if its own choices are not writable."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"
    if SETTING in os.environ or _can_write(_here()) or _can_write(cache):
        return
    os.environ[SETTING] = str(_own_folder())
    if "numba" in sys.modules:  # then it has read its settings already
        sys.modules["numba"].config.CACHE_DIR = os.environ[SETTING]


with suppress(OSError):  # a folder that we cannot read or write keeps its machine code
    _drop_stale_machine_code(Path(__file__).parent)
_choose_cache_folder()
