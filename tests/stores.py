"""A store in memory in place of remote ones: what it holds, and how it fails, is up to the test."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from fsspec.registry import _registry

from lookalike.io import asking

PROTOCOLS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "hf")


class Store(MemoryFileSystem):
    """A store whose files show when they are committed, as those of real ones do."""

    store: dict[str, MemoryFile] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    faults: list[Exception | Callable[[bytes], bytes]] = []  # noqa: RUF012  # of the next requests, from the last
    asked: list[tuple[str, int | None, int | None]] = []  # noqa: RUF012
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(re.sub(r"^[a-z0-9]+://", "", path))

    def info(self, path, **kwargs):
        self._fail()
        return super().info(path, **kwargs)

    def cat_file(self, path, start=None, end=None, **kwargs):
        self.asked.append((path, start, end))
        spoil = self._fail()
        found = super().cat_file(path, start=start, end=end)
        return spoil(found) if spoil else found

    def _open(self, path, mode="rb", **kwargs):
        if mode == "wb":
            self._fail()
            return MemoryFile(self, self._strip_protocol(path), kwargs.get("data"))
        return super()._open(path, mode, **kwargs)

    def _fail(self):
        fault = self.faults.pop() if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        return fault

    @classmethod
    def put_all(cls, folder: Path, into: str) -> None:
        """Copy the files of a folder to a place such as bucket/crawl."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                cls.save(f"{into}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    @classmethod
    def save(cls, name: str, content: bytes) -> None:
        cls.store[f"/{name}"] = MemoryFile(cls(), f"/{name}", content)

    @classmethod
    def load(cls, name: str) -> bytes:
        return cls.store[f"/{name}"].getvalue()

    @classmethod
    def names(cls) -> list[str]:
        return sorted(name[1:] for name in cls.store)


@contextmanager
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Store]]:
    """Provide a store for all protocols of real ones; waiting takes no time."""
    with monkeypatch.context() as patch:
        for protocol in PROTOCOLS:
            patch.setitem(_registry, protocol, Store)
        for name, empty in (("store", {}), ("pseudo_dirs", [""]), ("faults", []), ("asked", [])):
            patch.setattr(Store, name, empty)
        patch.setattr(asking, "WAIT", 0.0)
        yield Store
