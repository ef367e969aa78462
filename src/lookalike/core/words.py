"""Read the word lists that come with the package as text files."""

from pathlib import Path


def read_words(path: Path) -> dict[str, list[str]]:
    """Return the words of each line "name: word word ..." by name.

    An indented line continues the one above; # starts a comment.
    """
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
