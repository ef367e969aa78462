"""Write the lines of standard error as text, or as one JSON object each for machines."""

import json
import re
import shlex
import sys
from datetime import UTC, datetime
from typing import Any

EVENT = re.compile(r"([a-z][a-z ]{0,20}): ")  # the word that begins a line, such as plan, found or note
LOG_FORMATS = ("text", "json")


def event_of(line: str, before: str = "message") -> str:
    """Return what a line is about: its first word, or for an indented line that of the line before.

    >>> event_of("found: 2 pairs"), event_of("      finds a pair", "plan"), event_of("first run of all")
    ('found', 'plan', 'message')
    """
    found = EVENT.match(line)
    return found[1] if found else before if line.startswith(" ") else "message"


def log_line(message: str, level: str = "info", event: str = "message", **more: Any) -> str:
    """Return a line of a log in JSON, without control characters."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": now, "level": level, "event": event, "message": message.strip(), **more})


def command_line() -> str:
    """Return the command as the user typed it."""
    return shlex.join(["lookalike", *sys.argv[1:]])
