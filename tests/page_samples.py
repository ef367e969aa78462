"""Make web pages, and write them to files."""

from pathlib import Path

STORY = (
    "The keeper of the lighthouse has been on the rock for so long that he no longer knows what the price of bread is.",
    "He said that the boat comes when it can, and that he would not want it to come more often than it does.",
    "In the winter there is nobody but him and a cat that was left behind by the men who built the tower.",
)
ANOTHER = (
    "A school in the hills has found a way to keep its pupils warm that does not cost it anything at all.",
    "The children sit with the sheep, which are in the next room anyway, and the sheep do not seem to mind it.",
    "It is not clear what will be done in the summer, when there are neither sheep nor lessons in the house.",
)
MENU = "".join(
    f"<li><a href=/{at}>{word}</a></li>" for at, word in enumerate(("News", "Sport", "Weather", "Money", "Jobs"))
)


def page(paragraphs: tuple[str, ...] = STORY, before: str = "", after: str = "", between: str = "") -> str:
    return f"<ul>{MENU}</ul>{before}{between.join(f'<p>{one}</p>' for one in paragraphs)}{after}"


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
