"""Show results in a notebook as small tables and pictures of curves; all text is escaped."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from io import StringIO
from typing import Any

from lookalike.core.drawing import GREY

SIZE = (4.6, 2.2)  # width and height of a picture in inches


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str, more: str = "") -> str:
    """Return an HTML table with a caption above it and, if `more` is given, a line below it."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    under = f"<p>{escape(more)}</p>" if more else ""
    above = f"<caption>{escape(caption)}</caption>"
    return f"<table>{above}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{under}"


def shown(value: Any, most: int = 80) -> str:
    """Return the text of a cell: floats have four significant digits, long texts are cut."""
    text = f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def paragraphs(lines: Iterable[str]) -> str:
    """Return preformatted HTML that shows each line on its own."""
    return f'<pre style="white-space: pre-wrap">{escape(chr(10).join(lines))}</pre>'


def picture(plot: Callable[[Any], Any], label: str) -> str:
    """Return a matplotlib plot as a small SVG that suits light and dark pages."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style: Any = {**dict.fromkeys(inks, GREY), "font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "lookalike"}
    with rc_context(style):
        figure = Figure(SIZE, layout="constrained")
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        plot(axes)
        drawn = StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    svg = drawn.getvalue()
    head, _, inside = svg[svg.index("<svg") :].partition(">")
    return f'{head} role="img"><title>{escape(label)}</title>{inside}'
