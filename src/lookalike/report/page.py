"""Renders a finding as one self-contained page of HTML."""

import base64
import hashlib
import os
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lookalike import __version__
from lookalike.core.errors import UsageError
from lookalike.core.wording import counted
from lookalike.io.write import check_place, replacing
from lookalike.report.beside import LISTED, visible
from lookalike.report.choosing import (
    Bar,
    Chosen,
    Histogram,
    Size,
    choose,
    histogram,
    largest_groups,
    size_bars,
    sizes_of,
)
from lookalike.report.finding import Finding, Values

SUFFIXES = (".html", ".htm")
OPEN = 3  # pairs that are expanded at first
ROOM = 3_500_000  # bytes for pairs; a page should stay under 5 MB
LONGEST = 300  # characters shown of an id
SNIPPET = 200  # characters shown of a member of a group


def check_report(path: str | Path) -> None:
    """Raise an error, before any work is done, if a page cannot be written."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise UsageError(f"a report must end in {' or '.join(SUFFIXES)}; got {str(path)!r}.")
    check_place(str(path))


def write_report(finding: Finding, path: str | Path, title: str | None = None) -> None:
    """Write the page of a finding, completely or not at all."""
    check_report(path)
    page = render(finding, title).encode("utf-8", "replace")
    with replacing(os.fspath(path)) as file:
        file.write(page)


def render(finding: Finding, title: str | None = None) -> str:
    """Return the page as text."""
    templates = Environment(
        loader=PackageLoader("lookalike.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    own = files("lookalike.report").joinpath("page")
    style = "".join(own.joinpath(name).read_text("utf-8") for name in ("colours.css", "report.css"))
    script = own.joinpath("report.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    context = {
        "title": visible(title or finding.title),
        "heading": finding.title if title else "",
        "made": visible(finding.made),
        "version": __version__,
        "date": datetime.now().astimezone().strftime("%-d %B %Y, %H:%M"),
        "plan": finding.plan,
        "facts": finding.facts,
        "recall": finding.recall,
        "advice": finding.advice,
        "item": finding.item,
        "style": Markup(style),
        "script": Markup(script),
        "hash": f"sha256-{digest}",
        **_values(finding),
        **_groups(finding),
        **_pairs(finding, templates),
        "seconds": _seconds(finding),
    }
    sections = {
        "asked": "What was asked",
        "trust": "Trust" if finding.recall or finding.advice else "",
        "values": _kind(finding.values) if context["histogram"] else "",
        "groups": finding.groups.capitalize() if context["sizes"] else "",
        "pairs": "Pairs" if context["pairs"] else "",
        "time": "Time" if context["seconds"] else "",
    }
    contents = [(place, name) for place, name in sections.items() if name]
    return templates.get_template("report.html").render(contents=contents, **context)


def _values(finding: Finding) -> dict[str, Any]:
    """Return what the template needs to draw the values."""
    found = finding.values
    if found is None or not len(found):
        return {"histogram": None}
    drawn = histogram(found)
    cut = "" if found.cut is None else f"; the {found.cut_name} is {found.cut:.4g}"
    label = f"number of pairs by {found.word}, from {found.values.min():.4g} to {found.values.max():.4g}"
    return {
        "histogram": drawn,
        "word": found.word,
        "cut": found.cut,
        "cut_name": found.cut_name,
        "chart_label": label + cut,
        "bar_name": lambda bar: f"{_range(bar, drawn)}: {counted(bar.pairs, 'pair')}",
        "range_name": lambda bar: _range(bar, drawn),
        "chance_name": lambda bar: _chance(bar, found),
    }


def _kind(found: Values | None) -> str:
    """Return the word for the values."""
    if found is None or found.word.startswith("probability"):
        return "Probabilities"
    return "Similarities" if found.rising else "Distances"


def _range(bar: Bar, drawn: Histogram) -> str:
    if bar.high - bar.low == 1 and drawn.low % 1 == 0.5:  # one whole number
        return f"{bar.low + 0.5:.0f}"
    return f"{bar.low:.4g} to {bar.high:.4g}"


def _chance(bar: Bar, found: Values) -> str:
    assert found.probability is not None
    inside = (bar.low + bar.high) / 2
    if found.cut is not None:  # a bar that the threshold cuts has pairs on one side of it only
        inside = max(inside, found.cut) if found.rising else min(inside, found.cut)
    return f"{float(found.probability(np.array([inside]))[0]):.4f}"


def _groups(finding: Finding) -> dict[str, Any]:
    """Return what the template needs to show the groups."""
    sizes = np.zeros(0, np.int64) if finding.label is None else sizes_of(finding.label)
    if not len(sizes):
        return {"sizes": []}
    bars = size_bars(sizes)
    largest = largest_groups(finding)
    rows = np.unique(np.concatenate([group.members for group in largest]))
    texts = dict.fromkeys(rows.tolist(), "")
    if finding.look is not None:
        texts = dict(zip(rows.tolist(), finding.look(rows), strict=True))
    shown = [
        {
            "size": group.size,
            "name": _id(finding, group.first),
            "share": _density(group.share, group.size),
            "members": [(_id(finding, at), visible(texts[at][:SNIPPET])) for at in group.members.tolist()],
            "more": group.size - len(group.members),
        }
        for group in largest
    ]
    items = counted(int(sizes.sum()), finding.item)
    number = counted(len(sizes), finding.groups.removesuffix("s"))
    line = f"{number}, {items} in all; the largest has {sizes.max():,}. {finding.group_line}"
    return {
        "sizes": bars,
        "groups": finding.groups,
        "groups_line": line,
        "leads": finding.leads,
        "most_items": max(bar.items for bar in bars),
        "largest": shown,
        "size_name": _size,
    }


def _density(share: float | None, size: int) -> str | None:
    return None if share is None or size < 3 else f"{share:.0%} of its pairs are similar"


def _size(size: Size) -> str:
    return f"{size.low:,}" if size.low == size.high else f"{size.low:,} to {size.high:,}"


def _id(finding: Finding, position: int) -> str:
    name = visible(str(finding.names(np.array([position]))[0]))
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


def _pairs(finding: Finding, templates: Environment) -> dict[str, Any]:
    """Return the chosen pairs, rendered; those that fit on the page are shown side by side."""
    found = finding.values
    if found is None or not len(found):
        return {"pairs": [], "cut_name": "threshold"}
    chosen = choose(found)
    numbers = np.array([one.pair for one in chosen])
    beside = [None] * len(chosen) if finding.beside is None else finding.beside(numbers)
    template = templates.get_template("pair.html")
    rendered: list[Markup] = []
    room, dropped = ROOM, 0
    for at, (one, other) in enumerate(zip(chosen, beside, strict=True)):
        context = _pair(finding, found, one, open=at < OPEN)
        if finding.beside is not None:
            context["why_not"] = "One of the two was not found among the items."
        page = template.render(beside=other, **context)
        if len(page.encode("utf-8", "replace")) > room and other is not None:
            page = template.render(beside=None, **{**context, "why_not": "Left out, to keep this page small."})
            dropped += 1
        room -= len(page.encode("utf-8", "replace"))
        rendered.append(Markup(page))
    return {"pairs": rendered, "sample_line": _sample(found, chosen, dropped), "cut_name": found.cut_name}


def _pair(finding: Finding, found: Values, one: Chosen, open: bool) -> dict[str, Any]:
    value, whole = found.values[one.pair], found.values.dtype.kind in "iu"
    return {
        "value": value.item() if whole else _written(value),
        "shown": f"{value:,}" if whole else _written(value),
        "near": one.near,
        "open": open,
        "left": _id(finding, int(found.left[one.pair])),
        "right": _id(finding, int(found.right[one.pair])),
        "tag": "" if found.within[one.pair] else f"beyond the {found.cut_name}",
        "why_not": "The items are not available: pass them to lookalike report with --items.",
        "listed": LISTED,
    }


def _written(value: float) -> str:
    """Format a number with four decimals, or with four digits if it is very large or small."""
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def _sample(found: Values, chosen: list[Chosen], dropped: int) -> str:
    if len(chosen) == len(found):
        every = f"All {len(found):,} pairs, those nearest to the {found.cut_name} first."
        line = every if len(found) > 1 else "There is one pair."
    else:
        near = sum(one.near for one in chosen)
        line = (
            f"{len(chosen):,} of {len(found):,} pairs: the {near:,} nearest to the {found.cut_name}, where errors are "
            f"most likely, and {len(chosen) - near:,} spread over all other values."
        )
    return f"{line} {dropped:,} of them are too long to show side by side here." if dropped else line


def _seconds(finding: Finding) -> list[tuple[str, float, float]]:
    longest = max(finding.seconds.values(), default=0.0)
    return [(name, taken, taken / longest) for name, taken in finding.seconds.items() if taken >= 0.005]
