"""Lists of words that come with the package, as text files beside the modules that use them."""

from pathlib import Path


def read_words(path: Path) -> dict[str, list[str]]:
    """The words of each line "name: word word ..."; an indented line goes on with the one above, # begins a remark."""
    lists: dict[str, list[str]] = {}
    words: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line[0].isspace():
            name, _, line = line.partition(":")
            words = lists.setdefault(name, [])
        words.extend(line.split())
    return lists
