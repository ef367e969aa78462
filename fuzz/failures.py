"""Saves what the fuzzers find, with the command that repeats it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Failure:
    """A damaged file or request that was not answered well."""

    reason: str
    again: str  # the command that repeats it
    content: bytes  # the file or request
    name: str  # of the file
    said: bytes = b""  # what the command printed, or the server answered


class Failures:
    """A folder of failures, one folder each: the file, what is wrong, and how to repeat it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def add(self, failure: Failure) -> None:
        """Save a failure."""
        self.count += 1
        place = self.folder / f"{self.count:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / failure.name).write_bytes(failure.content)
        (place / "said.txt").write_bytes(failure.said)
        (place / "failure.txt").write_text(f"{failure.reason}\n{failure.again}\n", "utf-8", "backslashreplace")
        print(f"{place}: {failure.reason}", flush=True)
