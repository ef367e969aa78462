"""Reads remote files by place: in blocks, several at a time, of which those read last stay in memory."""

import io
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.io.remote import RemotePath

BLOCK = 1 << 20  # bytes, at a multiple of which every block begins
TOGETHER = 8  # the most blocks to fetch with one request
RUN = BLOCK * TOGETHER
HELD = 256  # blocks to keep, of all files
CONNECTIONS = 16
STEADY = 2 * BLOCK  # bytes read in order before more are fetched ahead


class Ranges:
    """The blocks of remote files that were read last, or that are on their way."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks: OrderedDict[tuple[str, str, int], tuple[Future[bytes], int]] = OrderedDict()
        self._pool = ThreadPoolExecutor(CONNECTIONS, "lookalike-remote")

    @staticmethod
    @cache
    def shared() -> "Ranges":
        """Return the blocks of all files."""
        return Ranges()

    def read(self, path: "RemotePath", start: int, stop: int) -> bytes:
        """Return the bytes of a range, which must be within the file."""
        found = [future.result()[at : at + BLOCK] for future, at in self._ask(path, start, stop)]
        if not found:
            return b""
        whole = found[0] if len(found) == 1 else b"".join(found)
        first = start % BLOCK
        return whole[first : first + stop - start]

    def ask(self, path: "RemotePath", start: int, stop: int) -> None:
        """Begin to fetch a range, unless it is so large that the first of it would be dropped before use."""
        if 0 <= start < stop <= start + HELD * BLOCK // 2:
            self._ask(path, start, stop)

    def _ask(self, path: "RemotePath", start: int, stop: int) -> list[tuple["Future[bytes]", int]]:
        """Return the blocks of a range: for each, a future of bytes and its place in them."""
        size, name = path.stat().st_size, (path.address, path.version())
        numbers = range(start // BLOCK, -(-min(stop, size) // BLOCK))
        begun: list[tuple[Future[bytes], list[tuple[str, str, int]]]] = []
        with self._lock:
            missing: list[int] = []
            for number in numbers:
                if (*name, number) in self._blocks:
                    self._blocks.move_to_end((*name, number))
                    continue
                if missing and (number != missing[-1] + 1 or len(missing) == TOGETHER):
                    begun.append(self._fetch(path, name, missing, size))
                    missing = []
                missing.append(number)
            if missing:
                begun.append(self._fetch(path, name, missing, size))
            asked = [self._blocks[(*name, number)] for number in numbers]
            while len(self._blocks) > HELD:
                self._blocks.popitem(last=False)
        for future, keys in begun:  # only now: what has failed already is forgotten in this thread, with the lock
            future.add_done_callback(partial(self._forget, keys))
        return asked

    def _fetch(
        self, path: "RemotePath", name: tuple[str, str], numbers: list[int], size: int
    ) -> tuple["Future[bytes]", list[tuple[str, str, int]]]:
        """Hand consecutive blocks to a thread; return what it will have, and the keys of the blocks."""
        keys = [(*name, number) for number in numbers]
        future = self._pool.submit(path.fetch, numbers[0] * BLOCK, min((numbers[-1] + 1) * BLOCK, size))
        for at, key in enumerate(keys):
            self._blocks[key] = (future, at * BLOCK)
        return future, keys

    def _forget(self, keys: list[tuple[str, str, int]], done: "Future[bytes]") -> None:
        """Forget blocks that could not be fetched, so that they can be asked for again."""
        if done.cancelled() or done.exception() is not None:
            with self._lock:
                for key in keys:
                    self._blocks.pop(key, None)


class RemoteFile(io.RawIOBase):
    """A remote file opened to be read; whoever reads on in order finds the next bytes fetched already."""

    def __init__(self, path: "RemotePath", size: int) -> None:
        super().__init__()
        self.path, self.size = path, size
        self._place = self._ordered = self._asked = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = 0) -> int:
        place += (0, self._place, self.size)[whence]
        if place != self._place:
            self._ordered, self._place = 0, max(0, place)
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes: as many as asked for, unless the file ends."""
        stop = self.size if size is None or size < 0 else min(self.size, self._place + size)
        found = self.read_at(self._place, stop - self._place) if stop > self._place else b""
        self._ordered += len(found)
        self._place += len(found)
        if self._ordered >= STEADY and self._place + RUN > self._asked:
            start = max(self._place, self._asked)
            self._asked = min(self.size, start + RUN)
            self.path.expect(start, self._asked)
        return found

    def read_at(self, place: int, length: int) -> bytes:
        """Return the bytes at a place of the file."""
        return Ranges.shared().read(self.path, place, place + length)

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
