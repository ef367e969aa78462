"""Files of object stores and web servers: s3://, gs://, az://, hf://, https:// and what else fsspec knows.

A `RemotePath` is a Path, so that readers need not know where a file is: they ask for its name, its
size, and its bytes by place. Formats that need a file on disk get a copy.
"""

import atexit
import glob
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path, PosixPath
from tempfile import gettempdir
from threading import RLock
from typing import Any

from lookalike.core.errors import DataError, UsageError
from lookalike.core.files import folder_beside
from lookalike.io.asking import PACKAGES, WEB, NoRanges, Result, ask, changed, shown, system_of
from lookalike.io.ranges import RUN, Ranges, RemoteFile

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
MARKS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "blob_id")  # that a store gives each content
DATES = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "created")


def is_remote(given: Any) -> bool:
    """Return whether a path is an address; pathlib writes s3:/bucket for it.

    >>> is_remote("s3://bucket/pages.parquet"), is_remote(Path("s3://bucket/pages.parquet")), is_remote("pages.parquet")
    (True, True, False)
    """
    if isinstance(given, Path):
        return isinstance(given, RemotePath) or given.parts[:1] in {(f"{name}:",) for name in PACKAGES}
    return isinstance(given, str) and ADDRESS.match(given) is not None


def place_of(given: str | os.PathLike[str]) -> Path:
    """Return a path, local or remote."""
    if isinstance(given, RemotePath):
        return given
    given = given if isinstance(given, str) else Path(given)
    if not is_remote(given):
        return Path(given)
    address = str(given)
    return RemotePath.at(address if "://" in address else address.replace(":/", "://", 1))


def files_in(path: Path) -> list[Path]:
    """Return the files of a folder, in order; a file is the only one of its own."""
    if not path.is_dir():
        return [path]
    if isinstance(path, RemotePath):
        return path.listed()
    return sorted(place for place in path.rglob("*") if place.is_file())


def must_be_local(given: str | os.PathLike[str], what: str) -> None:
    """Raise an error for an address where only a file or folder on disk can be."""
    if is_remote(given):
        raise UsageError(f"{place_of(given)}: {what} must be on a local disk.")


class RemotePath(PosixPath):
    """The path of a file, folder or glob in an object store or on a web server."""

    address = ""  # as fsspec needs it
    _found: tuple[Any, str] | None = None  # the file system of fsspec, and the name there
    _about: dict[str, Any] | None = None  # what fsspec says about it, maybe as part of a list
    _first: str | None = None  # its version when it was first asked for
    _opened: Any = None
    _copy: Path | None = None
    _turn = RLock()

    @classmethod
    def at(cls, address: str) -> "RemotePath":
        """Return the path of an address."""
        path = cls(shown(address))
        path.address, path._turn = address, RLock()
        return path

    def __str__(self) -> str:
        first, *rest = self.parts or ("",)
        return f"{first}//{'/'.join(rest)}" if first.endswith(":") else super().__str__()

    def __fspath__(self) -> str:
        raise UsageError(f"{self}: must be a file on a local disk here.")

    @property
    def scheme(self) -> str:
        """The part of the address before ://."""
        return self.parts[0].removesuffix(":").lower()

    def resolve(self, strict: bool = False) -> "RemotePath":
        return self

    def absolute(self) -> "RemotePath":
        return self

    # --- what there is ---

    def system(self) -> tuple[Any, str]:
        """Return the file system of fsspec, and the name there."""
        if self._found is None:
            self._found = self.ask(lambda: system_of(self.address or str(self), self.scheme))
        return self._found

    def about(self) -> dict[str, Any]:
        """Return what the server says about the file or folder; raise FileNotFoundError if there is none."""
        if self._about is None:
            about = self._look()
            self._about, self._first = about, _version(about)
        return self._about

    def _look(self) -> dict[str, Any]:
        system, name = self.system()
        system.invalidate_cache()
        try:
            found: dict[str, Any] = self.ask(lambda: system.info(name))
        except FileNotFoundError:
            raise FileNotFoundError(2, self.missing()) from None
        return found

    def missing(self) -> str:
        """Return what is not there: a bucket, or a file or folder in it."""
        bucket = RemotePath.at(f"{self.scheme}://{self.parts[1]}")
        if self.scheme in (*WEB, "hf") or (len(self.parts) > 2 and bucket.exists()):
            return "no such file or folder"
        return f"there is no bucket {self.parts[1]}"

    def version(self) -> str:
        """Return what stands for the content: its size, and its ETag or date; lists can write these differently."""
        if self._first is None:
            listed, now = self.about(), self._look()
            if now.get("size") != listed.get("size"):
                raise changed(str(self))
            self._first = _version(now)
        return self._first

    def check_unchanged(self) -> None:
        """Raise an error if the file is not the one that was read."""
        try:
            now = _version(self._look())
        except FileNotFoundError:
            now = ""
        if now != self.version():
            raise changed(str(self))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        about = self.about()
        folder = about.get("type") == "directory"
        if about.get("size") is None and not folder:  # a server can say how much there is only by sending it
            self.local()
            about = self.about()
        date = int.from_bytes(blake2b(_version(about).encode(), digest_size=7).digest())
        kind = stat.S_IFDIR if folder else stat.S_IFREG
        return os.stat_result((kind, 0, 0, 1, 0, 0, about["size"] or 0, 0, 0, 0), {"st_mtime_ns": date})

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        try:
            self.about()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.exists() and self.about().get("type") == "directory"

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.exists() and self.about().get("type") != "directory"

    def is_glob(self) -> bool:
        """Return whether the name is a pattern; raise an error if the server cannot list what fits it."""
        if self.scheme not in WEB:
            return glob.has_magic(str(self))
        if glob.has_magic(str(self)) or self.address.endswith("/"):
            raise UsageError(f"{self}: web servers do not list their files; name each file.")
        return False

    def base(self) -> "RemotePath":
        """Return the folder, or that of all files which fit the pattern."""
        return RemotePath.at(_fixed(str(self)))

    def listed(self) -> list[Path]:
        """Return the files of a folder or glob, in order."""
        system, name = self.system()
        system.invalidate_cache()
        found = self.ask(lambda: (system.glob if self.is_glob() else system.find)(name, detail=True))
        files = []
        for about in found.values():
            if about.get("type") != "directory" and not about["name"].endswith("/"):
                below = about["name"][len(_fixed(name)) :]
                path = RemotePath.at(f"{_fixed(str(self))}/{below.lstrip('/')}")
                path._found, path._about = (system, about["name"]), about
                files.append(path)
        return sorted(files)

    # --- its bytes ---

    def open(self, *_: Any, **__: Any) -> Any:
        """Open the file to read its bytes; there are no other modes."""
        return RemoteFile(self, self.stat().st_size)

    def expect(self, start: int, stop: int) -> None:
        """Begin to fetch bytes that will be read soon."""
        if self._copy is None:
            Ranges.shared().ask(self, start, stop)

    def fetch(self, start: int, stop: int) -> bytes:
        """Return some bytes of the file."""
        try:
            if self._copy is None:
                return self.ask(lambda: self._ranged(start, stop))
        except NoRanges:
            pass
        with self.local().open("rb") as file:
            file.seek(start)
            return file.read(stop - start)

    def _ranged(self, start: int, stop: int) -> bytes:
        system, name = self.system()
        with self._turn:
            if self._opened is None:
                self._opened = system.open(name, "rb", cache_type="none", **self._options())
        if not hasattr(self._opened, "_fetch_range"):  # it is in memory
            return _checked(system.cat_file(name, start=start, end=stop), stop - start)
        try:
            return _checked(self._opened._fetch_range(start, stop), stop - start)
        except ValueError as error:
            if self.scheme in WEB and ("range" in str(error) or "more bytes" in str(error)):
                raise NoRanges from None
            raise

    def _options(self) -> dict[str, Any]:
        """Return what fsspec needs to ask a web server for ranges of the file that was found, and of no other."""
        if self.scheme not in WEB:
            return {}
        tag = str(self.about().get("ETag", ""))
        match = {"If-Match": tag} if tag.startswith('"') else {}
        return {"size": self.about()["size"], "headers": {"Accept-Encoding": "identity", **match}}

    def local(self) -> Path:
        """Return the path of a copy on the local disk, which is removed when the process ends."""
        with self._turn:
            if self._copy is None:
                place = _copies() / f"{secrets.token_hex(4)}-{self.name}"
                try:
                    self._download(place)
                except FileNotFoundError as error:
                    raise DataError(f"{self}: {error.strerror}.") from None
                except OSError as error:
                    raise DataError(f"{self}: cannot be copied to {place.parent}: {error.strerror or error}.") from None
                self._copy = place
            return self._copy

    def _download(self, place: Path) -> None:
        system, name = self.system()
        size = self.about().get("size")
        with suppress(NoRanges):
            if size is not None:
                with place.open("wb") as file:
                    for start in range(0, size, RUN):
                        file.write(self.ask(partial(self._ranged, start, min(start + RUN, size))))
                return
        self.ask(lambda: system.get_file(name, str(place)))
        self._about = {**self.about(), "size": place.stat().st_size}
        self.check_unchanged()

    def ask(self, request: Callable[[], Result]) -> Result:
        """Return the answer to a request about this file; see `ask`."""
        return ask(str(self), self.scheme, request)


def _checked(found: bytes, size: int) -> bytes:
    """Return bytes if they are as many as were asked for."""
    if len(found) > size:
        raise NoRanges
    if len(found) < size:
        raise ConnectionError(f"{len(found):,} bytes were sent in place of {size:,}")
    return found


def _version(about: dict[str, Any]) -> str:
    marks = [str(about[name]) for name in (*MARKS, *DATES) if about.get(name)]
    return " ".join([str(about.get("size")), *marks[:1]])


def _fixed(name: str) -> str:
    """Return a name, or what is before the last slash before the first mark of a pattern.

    >>> _fixed("s3://bucket/crawl"), _fixed("s3://bucket/crawl/2024*/*.parquet")
    ('s3://bucket/crawl', 's3://bucket/crawl')
    """
    marks = [name.index(mark) for mark in "*?[" if mark in name]
    return name[: min(marks)].rpartition("/")[0] if marks else name


@cache
def _copies() -> Path:
    """Return the folder of local copies, which is removed when the process ends."""
    opened = ExitStack()
    folder = opened.enter_context(folder_beside(Path(gettempdir()) / "lookalike-remote"))
    atexit.register(opened.close)
    folder.mkdir()
    return folder
