"""Writes files to object stores, piece by piece; a file is there when all of it has arrived, or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, Any

from lookalike.core.errors import DataError, UsageError
from lookalike.io.asking import PACKAGES, WEB, reason, shown
from lookalike.io.remote import DATES, MARKS, RemotePath, place_of

PIECE = 1 << 25  # bytes of a part of an upload; stores take up to 10,000 of them

_later: ContextVar[list["Upload"] | None] = ContextVar("_later", default=None)  # those to publish together


class Upload:
    """A file on its way to a store."""

    def __init__(self, path: RemotePath) -> None:
        self.path = path
        system, name = path.system()
        self.before = _seen(path)
        self.file = path.ask(lambda: system.open(name, "wb", block_size=PIECE, autocommit=False))
        self.waits = _can_wait(type(self.file))

    def finish(self) -> None:
        """Send what is left, as far as that does not show the file yet."""
        if self.waits:
            self.file.close()

    def publish(self) -> None:
        """Show the file; if the answer to that got lost, look whether it is there."""
        try:
            if not self.file.closed:
                self.file.close()
            self.file.commit()
        except Exception:
            now = _seen(self.path)
            if now == self.before or now is None or now["size"] != self.file.tell():
                raise

    def drop(self) -> None:
        """Forget what has been sent; whatever the package would do when the file is closed, it must not."""
        with suppress(Exception):
            self.file.discard()
        with suppress(AttributeError):
            self.file.closed = True


def _seen(path: RemotePath) -> dict[str, Any] | None:
    """Return what a store says now about a file, as far as it changes with the file; None if there is none."""
    try:
        about = RemotePath.at(path.address).about()
    except FileNotFoundError:
        return None
    except DataError:  # whoever may write need not be allowed to look
        return None
    return {name: about.get(name) for name in ("size", *MARKS, *DATES)}


def _can_wait(kind: type) -> bool:
    """Return whether a closed file shows only when it is committed; otherwise closing it shows it."""
    return any("commit" in vars(one) for one in kind.__mro__ if one.__name__ != "AbstractBufferedFile")


def check_upload(path: str) -> None:
    """Raise an error, before any work is done, if a file cannot be written to an address."""
    place = place_of(path)
    assert isinstance(place, RemotePath)
    if place.scheme in WEB:
        raise UsageError(f"{place}: {place.scheme}:// can only be read; write to a store or to a local file.")
    if len(place.parts) < 3:
        raise UsageError(f"{place}: must name a bucket and a file in it.")
    place.system()
    if PACKAGES.get(place.scheme) in ("s3fs", "gcsfs", "adlfs"):
        bucket = RemotePath.at(f"{place.scheme}://{place.parts[1]}")
        try:
            there = bucket.exists()
        except DataError as error:
            if "access is denied" not in str(error):  # whoever may write need not be allowed to look
                raise
            there = True
        if not there:
            raise DataError(f"{place}: cannot be written: there is no bucket {place.parts[1]}.")


@contextmanager
def uploading(path: str) -> Iterator[IO[bytes]]:
    """Open a file in a store; it shows if the block succeeds, or later within `together`."""
    with _explained(path):
        place = place_of(path)
        assert isinstance(place, RemotePath)
        upload = Upload(place)
    waiting = _later.get()
    try:
        with _explained(path):
            yield upload.file
            upload.finish()
            if waiting is None:
                upload.publish()
            else:
                waiting.append(upload)
    except BaseException:
        upload.drop()
        raise


@contextmanager
def together() -> Iterator[None]:
    """Show all files that are written in this block at its end, and none if it fails."""
    uploads: list[Upload] = []
    token = _later.set(uploads)
    try:
        yield
        for upload in uploads:
            with _explained(str(upload.path)):
                upload.publish()
    except BaseException:
        for upload in uploads:
            upload.drop()
        raise
    finally:
        _later.reset(token)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn the errors of packages into one line that names the file."""
    try:
        yield
    except (DataError, UsageError, MemoryError):
        raise
    except Exception as error:
        if not isinstance(error, OSError) and not _is_foreign(error):
            raise
        raise DataError(f"{shown(path)}: cannot be written: {reason(error)}.") from None


def _is_foreign(error: Exception) -> bool:
    """Return whether an error comes from a package that talks to a store."""
    return type(error).__module__.partition(".")[0] in (
        "botocore", "aiobotocore", "aiohttp", "azure", "gcsfs", "google", "huggingface_hub", "fsspec", "adlfs",
    )  # fmt: skip
