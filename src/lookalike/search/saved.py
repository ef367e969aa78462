"""Restore plans from files: results keep `Plan.settings`, and indexes keep `Plan.saved`."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.measures import MEASURES
from lookalike.measures.table import OF_VECTORS, OLD_NAMES
from lookalike.search.plan import Plan
from lookalike.search.vector_plan import VectorPlan
from lookalike.theory.amplify import Bands
from lookalike.theory.drawing import Draws, chance_of


def plan_of(kept: Mapping[str, Any]) -> Plan | None:
    """Return the plan that a file keeps, or None without one or if its measure is unknown.

    Result files keep strings, with the bands in the method ("lsh 20x5"), or the
    draws ("lsh 20/32"); indexes keep JSON values.
    """
    if not {"measure", "threshold", "seed"} <= set(kept):
        return None
    measure = OLD_NAMES.get(kept["measure"], kept["measure"])
    if measure not in MEASURES:
        return None
    method, _, size = kept.get("method", "lsh").partition(" ")
    what = kept.get("items") or kept.get("kind", "")
    plan = Plan(
        method,
        measure,
        Fraction(kept["threshold"]),
        int(kept["seed"]),
        what,
        wanted=float(kept.get("recall", 1.0)),
        sketch=kept.get("sketch", "minhash"),
        weights=kept.get("weights"),
        drop_common=Fraction(kept["drop_common"]) if kept.get("drop_common") else None,
        bands=Bands(*kept["bands"]) if kept.get("bands") else None,
    )
    if plan.measure in OF_VECTORS:
        parts, probes, nearest = (int(kept.get(name, 0)) for name in ("parts", "probes", "nearest"))
        length = int("".join(filter(str.isdigit, what)) or 0)
        width = float(kept.get("width", 0))
        own = {"width": width, "parts": parts, "probes": probes, "nearest": nearest, "size": length}
        plan = VectorPlan(**{**vars(plan), **own})
    if not size:
        return plan
    if "/" in size:
        need, drawn = map(int, size.split("/"))
        return replace(plan, draws=Draws(drawn, need, chance_of(plan.threshold, drawn, need)))
    bands, rows = map(int, size.split("x"))
    plan = replace(plan, bands=Bands(bands, rows, 0.0))
    chance = float(plan.probability(np.array([float(plan.threshold)]))[0]) if plan.has_curve else float("nan")
    return replace(plan, bands=Bands(bands, rows, chance))
