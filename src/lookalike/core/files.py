"""Create files and folders that no other user can redirect, and remove what killed runs left.

Other users may write to the folder of an output or of a run, so names there cannot be trusted: new
files get names that cannot be guessed and that must be new, links are not followed, and a folder of
our own is reached by its descriptor, wherever its path leads meanwhile. A file in progress is
locked; without its lock, the process that wrote it has ended.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

LOCK = "in-use"


class OwnFolder:
    """A folder that only its owner can use; raises an OSError if it is another user's, or a link."""

    def __init__(self, path: Path) -> None:
        with suppress(FileExistsError):
            path.mkdir(0o700)
        self.place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._opened = ExitStack()
        self._opened.callback(os.close, self.place)
        if os.fstat(self.place).st_uid != os.geteuid():
            self.close()
            raise PermissionError(errno.EPERM, "it belongs to another user")
        with suppress(OSError):  # some file systems have no permissions
            os.fchmod(self.place, 0o700)

    def open(self, name: str, mode: str) -> IO[bytes]:
        """Open a file of the folder; its mode must be binary."""

        def opener(name: str, flags: int) -> int:
            return os.open(name, flags | os.O_NOFOLLOW, 0o600, dir_fd=self.place)

        return open(name, mode, opener=opener)

    def size(self, name: str) -> int | None:
        """Return the size of a file, or None if there is no such file."""
        try:
            found = os.stat(name, dir_fd=self.place, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file, which then replaces the old one at once."""
        with self.open(f".{name}", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f".{name}", name, src_dir_fd=self.place, dst_dir_fd=self.place)
        self.sync()

    def link(self, part: str, name: str) -> bool:
        """Give a file its name, unless a file has it already; return whether none had. `part` is gone then.

        To make sure that the name lasts, call `sync` next.

        This needs no locks, so it works on network file systems too. Where files cannot have two names,
        two processes can both succeed at the same moment, and the later file stays.
        """
        try:
            os.link(part, name, src_dir_fd=self.place, dst_dir_fd=self.place)
            new = True
        except FileExistsError:
            new = os.stat(part, dir_fd=self.place).st_nlink > 1  # NFS can repeat a call of which the answer was lost
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK):
                raise
            new = self.size(name) is None
            if new:
                os.replace(part, name, src_dir_fd=self.place, dst_dir_fd=self.place)
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=self.place)
        return new

    def sync(self) -> None:
        """Make sure that the names of files are on disk."""
        os.fsync(self.place)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.place)

    def names(self) -> list[str]:
        """Return the names of all files."""
        return os.listdir(self.place)

    def hold(self, name: str) -> IO[bytes]:
        """Lock a file, creating it if needed; closing it releases the lock.

        Raises a BlockingIOError if another process has the lock, or has just removed the file.
        """
        held = self.open(name, "ab")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(held.fileno()).st_nlink:
                raise BlockingIOError
        except BaseException:
            held.close()
            raise
        return held

    def clear(self, first: str) -> None:
        """Remove all files, beginning with the one without which the others are ignored."""
        for name in sorted(os.listdir(self.place), key=lambda name: name != first):
            with suppress(OSError):
                os.unlink(name, dir_fd=self.place)
            if name == first:
                os.fsync(self.place)

    def close(self) -> None:
        """Close the folder; files that are open stay open."""
        self._opened.close()


@contextmanager
def replacing_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` if the block succeeds, else is removed.

    It also takes the permissions of an old file. A link stays, and its target is replaced.
    """
    _check_link(path)
    old = _status(path)
    place = Path(os.path.realpath(path))
    remove_leftovers(place)
    part, file = _new_file(place, 0o666 if old is None else 0o600)
    try:
        with file:
            if old is not None:
                keep_permissions(file, old)
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(place)  # before it is closed, which releases its lock
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def folder_beside(place: Path) -> Iterator[Path]:
    """Provide a path for new files on the disk of `place`, in a folder for their owner only.

    The folder is removed at the end, with all that was not moved away from it.
    """
    remove_leftovers(place)
    part, lock = _new_folder(place)
    with lock:
        try:
            yield part / "new"
        finally:
            _remove_folder(part)


@contextmanager
def taking_turns(place: Path, wait: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time into this block for `place`, which need not exist.

    Calls `wait` before waiting for another process.
    """
    name = place.with_name(f".{place.name}.lock")
    while True:
        with open(os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                wait()
                fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.fstat(lock.fileno()).st_nlink:
                continue  # the process before us has removed it
            try:
                yield
            finally:
                name.unlink(missing_ok=True)
            return


def keep_permissions(file: IO[bytes], old: os.stat_result) -> None:
    """Give a file the owner, group and mode of an old one, as far as this user may."""
    for owner in (old.st_uid, -1):
        with suppress(OSError):
            os.fchown(file.fileno(), owner, old.st_gid)
            break
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if os.fstat(file.fileno()).st_gid != old.st_gid:
        mode &= ~0o070  # they were meant for another group
    with suppress(OSError):  # some file systems have no permissions
        os.fchmod(file.fileno(), mode)


def remove_leftovers(place: Path) -> None:
    """Remove the files and folders beside `place` that killed processes of this user left."""
    named = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        for name in filter(named.fullmatch, os.listdir(place.parent)):
            _remove_unless_used(place.with_name(name))


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _status(path: str | Path) -> os.stat_result | None:
    """Return the status of a file, or None if there is no file."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _check_link(path: str | Path) -> None:
    """Raise an error for a link that another user made in a folder for all, such as /tmp."""
    if os.path.islink(path):
        link, folder = os.lstat(path), os.stat(Path(path).absolute().parent)
        shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if shared and link.st_uid not in (os.geteuid(), folder.st_uid):
            raise PermissionError(errno.EACCES, "it is a link that another user made")


def _part_of(place: Path) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")


def _new_file(place: Path, mode: int) -> tuple[Path, IO[bytes]]:
    """Create and lock a file beside `place`, with these permissions unless the umask has fewer."""
    while True:
        part = _part_of(place)
        file = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb")
        if _lock(file):
            return part, file
        file.close()


def _new_folder(place: Path) -> tuple[Path, IO[bytes]]:
    """Create a folder beside `place`, with a file that is locked."""
    while True:
        part = _part_of(place)
        part.mkdir(0o700)
        with suppress(FileNotFoundError):
            lock = (part / LOCK).open("xb")
            if _lock(lock):
                return part, lock
            lock.close()


def _lock(file: IO[bytes]) -> bool:
    """Lock a new file; return False if another process has just taken it for a leftover."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # this file system has no locks, so nobody removes leftovers there
    return os.fstat(file.fileno()).st_nlink > 0


def _remove_unless_used(part: Path) -> None:
    with suppress(OSError):  # in use, or already removed
        found = part.lstat()
        if found.st_uid != os.geteuid():
            return
        folder = stat.S_ISDIR(found.st_mode)
        try:
            lock = os.open(part / LOCK if folder else part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            part.rmdir()  # the process was killed before it created the lock
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # also works on NFS for a file opened to be read
            if folder:
                _remove_folder(part)
            else:
                part.unlink()
        finally:
            os.close(lock)


def _remove_folder(part: Path) -> None:
    """Remove a folder, its lock last, so that an interrupted removal can be repeated."""
    shutil.rmtree(part / "new", ignore_errors=True)
    shutil.rmtree(part, ignore_errors=True)
