"""How results look in a notebook: small tables and curves, as HTML that takes its colours from the page around it.

All text from the data is escaped.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

WIDTH, HEIGHT = 360, 140  # of a curve
LEFT, BOTTOM, EDGE = 34, 22, 8  # of its margins
POINTS = 121


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str, more: str = "") -> str:
    """A table with a caption above it, and a line under it where there is more than it shows."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    under = f"<p>{escape(more)}</p>" if more else ""
    above = f"<caption>{escape(caption)}</caption>"
    return f"<table>{above}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{under}"


def shown(value: Any, most: int = 80) -> str:
    """A value as a cell has it: numbers with four digits, long texts cut."""
    text = f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def paragraphs(lines: Iterable[str]) -> str:
    """Lines as they stand, each on its own."""
    return f'<pre style="white-space: pre-wrap">{escape(chr(10).join(lines))}</pre>'


def curve(probability: Callable[[np.ndarray], np.ndarray], label: str, marks: Sequence[tuple[float, str]] = ()) -> str:
    """A picture of a probability over [0, 1], with lines at some places."""
    points = np.linspace(0, 1, POINTS)
    places = " ".join(f"{at(x):.1f},{up(y):.1f}" for x, y in zip(points, probability(points), strict=True))
    heights = [(y, f"{up(y):.1f}") for y in (0, 0.5, 1)]
    grid = [f'<path d="M{LEFT} {top}H{WIDTH - EDGE}" stroke="currentColor" opacity="0.15"/>' for _, top in heights]
    names = [f'<text x="{LEFT - 6}" y="{top}" dy="4" text-anchor="end">{y:g}</text>' for y, top in heights]
    fifths = (0, 0.2, 0.4, 0.6, 0.8, 1)
    ticks = [f'<text x="{at(x):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{x:g}</text>' for x in fifths]
    lines = [
        f'<path d="M{at(place):.1f} {up(0):.1f}V{up(1):.1f}" stroke="#d9730d" stroke-dasharray="4 3">'
        f"<title>{escape(name)}</title></path>"
        for place, name in marks
    ]
    drawn = f'<polyline points="{places}" fill="none" stroke="#1f6feb" stroke-width="2"/>'
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    style = 'fill="currentColor" font-family="sans-serif" font-size="11"'
    inside = "".join([f"<title>{escape(label)}</title>", *grid, *names, *ticks, *lines, drawn])
    return f'<svg role="img" {size} {style}>{inside}</svg>'


def at(x: float) -> float:
    """Where x is from the left."""
    return LEFT + x * (WIDTH - LEFT - EDGE)


def up(y: float) -> float:
    """Where y is from the top."""
    return EDGE + (1 - y) * (HEIGHT - BOTTOM - EDGE)
