"""Write the access log: one line of JSON per request."""

import json
import os
import time
from pathlib import Path
from typing import Any

from lookalike.core.errors import DataError

STANDARD_ERROR = 2


class Journal:
    """An access log in a file, or on standard error if the name is "-"."""

    def __init__(self, name: str | Path) -> None:
        self.name = name
        self.file = self._opened()

    def _opened(self) -> int:
        if str(self.name) == "-":
            return STANDARD_ERROR
        try:
            return os.open(self.name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        except OSError as error:
            raise DataError(f"{self.name}: the access log cannot be written: {error.strerror}.") from error

    def reload(self) -> None:
        """Open the file again, since a program that rotates logs has renamed it."""
        fresh = self._opened()
        self.close()
        self.file = fresh

    def close(self) -> None:
        """Close the file."""
        if self.file != STANDARD_ERROR:
            os.close(self.file)

    def write(self, start: float, entry: dict[str, Any]) -> None:
        """Add a line for a request that began at this time; JSON in ASCII keeps it one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start)) + f".{int(start % 1 * 1000):03}Z"
        os.write(self.file, json.dumps({"time": moment, **entry}).encode() + b"\n")
