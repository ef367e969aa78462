"""Print to a terminal without obeying control characters in names and values."""

from typing import Any

from rich.console import Console
from rich.text import Text

from lookalike.core.wording import visible


class Terminal(Console):
    """A console that escapes the control characters of all strings, except for line breaks."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str("\n".join(map(visible, text.split("\n"))), **options)
