"""What result files hold: the rows, and how the result was made, written as settings and read back from them.

Parquet and Arrow files carry these settings as metadata; the plan adds its own, which `report.load` reads back.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike import __version__
from lookalike.core.run import Run, slices
from lookalike.results.base import BATCH, Result
from lookalike.results.clusters import Clusters
from lookalike.results.dedup import Dedup
from lookalike.results.pairs import Pairs


def tables_of(result: Result, run: Run) -> Iterator[pa.Table]:
    """Yield the rows of `to_arrow` in tables of a bounded size, whose ids threads look up; the first is empty."""
    rows = int(np.count_nonzero(result.sizes > 1)) if isinstance(result, Clusters) else len(result)
    yield result._table(slice(0))
    yield from run.map(result._table, slices(rows, BATCH))


def settings_of(result: Pairs | Clusters | Dedup, pages: str | None = None) -> dict[str, str]:
    """Return what a file of the result says; `pages` is what was compared of web pages, if the items are any."""
    settings = {"version": __version__}
    if pages is not None:
        settings["pages"] = pages
    if result.audit is not None:
        found = result.audit
        settings["audit"] = f"{found.sampled} {found.true} {found.found} {found.nearest}"
    sides = [result.ids]
    if isinstance(result, Pairs) and result.right_ids is not None:
        sides.append(result.right_ids)
    settings["read"] = " ".join(str(len(ids)) for ids in sides)
    if result.stats.get("nearest"):
        settings |= {"nearest": str(result.stats["nearest"]), "bounded": "yes" if result.stats["bounded"] else "no"}
    return settings | (result.plan.settings() if result.plan else {})


def audit_of(settings: Mapping[str, str]) -> tuple[int, int, int, int] | None:
    """Return the numbers of the audit, as `search.audit.Audit` takes them; None if the file says none."""
    with suppress(ValueError):
        sampled, true, found, nearest = map(int, settings.get("audit", "").split())
        return sampled, true, found, nearest
    return None


def sides_of(settings: Mapping[str, str]) -> list[int]:
    """Return how many items were read on each side; an empty list if the file does not say."""
    with suppress(ValueError):
        return [int(count) for count in settings.get("read", "").split()]
    return []


def stats_of(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the stats of the result that the file says."""
    stats: dict[str, Any] = {}
    sides = sides_of(settings)
    if sides:
        stats["items"] = sum(sides)
    with suppress(ValueError):
        if "nearest" in settings:
            stats |= {"nearest": int(settings["nearest"]), "bounded": settings.get("bounded", "yes") == "yes"}
    return stats
