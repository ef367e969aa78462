"""Results as reports tell them: plans in words, what was and may not have been found, and what to try next."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import singledispatch
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.wording import counted, rounded
from lookalike.measures import MEASURES
from lookalike.report.beside import Beside, beside
from lookalike.report.choosing import similar_inside
from lookalike.report.finding import Finding, Values
from lookalike.report.page import SNIPPET
from lookalike.results import Clusters, Dedup, Holder, Pairs, Reportable

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan

BOUNDS = {"similarity": "at least", "distance": "at most"}
UNITS = {"char": "characters", "word": "words", "stop": "words that begin with a stop word"}
CLOSE = 0.05  # of the scale: pairs so close to the threshold are near it
MANY_CLOSE = 0.25
LOOSE = 0.3  # share of its pairs under which a cluster may be a chain


@singledispatch
def finding_of(result: Reportable) -> Finding:
    """Say what a page shows of a result; each kind of result registers how."""
    raise TypeError(f"no page shows {type(result).__name__}.")


@finding_of.register
def of_pairs(found: Pairs) -> Finding:
    """Pairs of one collection, or between two."""
    sides = [found.ids] if found.right_ids is None else [found.ids, found.right_ids]
    offset = 0 if found.right_ids is None else len(found.ids)
    pairs = values_of(found.plan, found.kind, found.left, found.right + offset, found.values, found.stats)
    label = found.clusters().label if found.right_ids is None else None
    item = item_of(found.plan, found.stats)
    among = " and ".join([*(f"{len(ids):,}" for ids in sides[:-1]), counted(len(sides[-1]), item)])
    ours = found.plan is not None or "threshold" in found.stats  # and not a list of someone else's
    return Finding(
        title=f"{counted(len(found), 'pair')} of {among}",
        ids=sides,
        item=item,
        made=found.stats.get("command", ""),
        facts=facts_of(found.stats, item, {"pairs found, all verified" if ours else "pairs listed": len(found)}),
        recall=recall_of(found.plan, found.audit, found.stats, pairs, ours),
        advice=[*advice_of(found.plan, found.audit, found.stats, pairs), *chains(pairs, label)],
        plan=in_words(found.plan, found.kind, found.stats),
        values=pairs,
        beside=side_by_side(found.holder, pairs),
        label=label,
        look=in_brief(found.holder),
        seconds=found.stats.get("seconds", {}),
    )


@finding_of.register
def of_clusters(found: Clusters) -> Finding:
    """Clusters, whose pairs were not listed."""
    item = item_of(found.plan, found.stats)
    counts = {"clusters found": len(found), f"{item}s in them": int((found.sizes > 1).sum())}
    return Finding(
        title=f"{counted(len(found), 'cluster')} among {counted(len(found.ids), item)}",
        ids=[found.ids],
        item=item,
        facts=facts_of(found.stats, item, counts),
        recall=recall_of(found.plan, found.audit, found.stats),
        advice=advice_of(found.plan, found.audit, found.stats, None),
        plan=in_words(found.plan, "", found.stats),
        made=found.stats.get("command", ""),
        label=found.label,
        look=in_brief(found.holder),
        seconds=found.stats.get("seconds", {}),
    )


@finding_of.register
def of_dedup(found: Dedup) -> Finding:
    """What is dropped, with what is kept for it."""
    item = item_of(found.plan, found.stats)
    dropped = np.flatnonzero(~found.keep)
    sides = found.centre[dropped], dropped
    if found.plan is not None and found.plan.directed:  # how much of the dropped one is in the other
        sides = sides[::-1]
    pairs = values_of(found.plan, found.kind, *sides, found.values[dropped], found.stats)
    kept = len(found.ids) - len(dropped)
    return Finding(
        title=f"{kept:,} of {counted(len(found.ids), item)} kept, {len(dropped):,} dropped",
        ids=[found.ids],
        item=item,
        facts=facts_of(found.stats, item, {"kept": kept, "dropped, each similar to a kept one": len(dropped)}),
        recall=recall_of(found.plan, found.audit, found.stats),
        advice=advice_of(found.plan, found.audit, found.stats, pairs),
        plan=in_words(found.plan, "", found.stats),
        made=found.stats.get("command", ""),
        values=pairs,
        beside=side_by_side(found.holder, pairs),
        label=found.centre,
        groups="groups",
        group_line=f"A group is a kept {item} with all that are dropped for it.",
        leads="kept:",
        look=in_brief(found.holder),
        seconds=found.stats.get("seconds", {}),
    )


# --- what was asked and done ---


def item_of(plan: "Plan | None", stats: dict[str, Any]) -> str:
    """What the items are called."""
    if "enrolled" in stats:
        return "print"
    what = "" if plan is None else plan.what.partition(" ")[0]
    return {"": "item", "sets": "set", "vectors": "vector", "codes": "code"}.get(what, "document")


def in_words(plan: "Plan | None", kind: str, stats: dict[str, Any]) -> list[str]:
    """What was asked for and how it was found, in sentences."""
    nearest, bounded = stats.get("nearest", 0), stats.get("bounded", True)
    what = f"the {nearest:,} most alike of each" if nearest else "pairs"
    if "threshold" in stats:
        return [f"Asked for: {what} whose {kind} is {BOUNDS[kind]} {stats['threshold']:g}."]
    if plan is None:
        return []
    measure = MEASURES[plan.measure].words
    limit = f" whose {measure} is {BOUNDS[plan.kind]} {float(plan.threshold):g}" if bounded else f" by {measure}"
    wanted = f", to be found with a probability of {plan.wanted:g} or more" if plan.bands and plan.wanted < 1 else ""
    first, *others = (line.strip() for line in plan.lines())
    how = first.partition(", ")[2]  # after what is asked for
    done = "; ".join([how, *others])
    return [f"Asked for: {what}{limit}, by {what_words(plan.what)}{wanted}.", f"Done: {done}."]


def what_words(what: str) -> str:
    """What is compared.

    >>> what_words("word:5 lowercase"), what_words("vectors of 3 dimensions")
    ('shingles of 5 words (lowercase)', 'vectors of 3 dimensions')
    """
    head, _, options = what.partition(" ")
    unit, _, k = head.partition(":")
    if unit not in UNITS or not k:
        return what
    return f"shingles of {k} {UNITS[unit]}" + (f" ({options})" if options else "")


def facts_of(stats: dict[str, Any], item: str, found: dict[str, int]) -> dict[str, str]:
    """What was read, compared and found, as far as it was counted."""
    names = {
        "items": f"{item}s read",
        "empty": "of these empty",
        "identical": "identical to an earlier one",
        "skipped": "bad rows skipped",
        "candidates": "pairs compared",
        "compared": "pairs compared",
    }
    told = {name: stats[key] for key, name in names.items() if stats.get(key) or (key == "items" and key in stats)}
    return {name: f"{count:,}" for name, count in (told | found).items()}


def values_of(
    plan: "Plan | None", kind: str, left: np.ndarray, right: np.ndarray, values: np.ndarray, stats: dict[str, Any]
) -> Values:
    """Pairs with the threshold and the curve of their plan, if it is what bounds them."""
    found = Values(left, right, values, kind, rising=kind == "similarity", cut_name="least alike of them")
    if "threshold" in stats:
        return replace(found, cut=stats["threshold"], cut_name="threshold")
    if plan is None:
        return found
    found = replace(found, word=MEASURES[plan.measure].words)
    if not stats.get("bounded", True):
        return found
    curve = plan.probability if plan.has_curve and not stats.get("nearest") else None
    return replace(found, cut=float(plan.threshold), cut_name="threshold", probability=curve)


# --- whether to trust it ---


def recall_of(
    plan: "Plan | None",
    audit: "Audit | None",
    stats: dict[str, Any],
    pairs: Values | None = None,  # that are listed
    ours: bool = True,  # and were compared
) -> list[str]:
    """What is known of what was missed."""
    lines = []
    if plan is not None and plan.bands is None:
        found = "the most alike of each are" if stats.get("nearest") else "every pair within the threshold is"
        lines.append(f"The method is exact: {found} found.")
    elif plan is not None:
        where = "right at the threshold" if stats.get("bounded", True) else "as far apart as was looked"
        lines.append(
            f"Expected: a pair {where} is found with probability {plan.recall:.4f}, "
            "and the more alike two are, the more surely."
        )
        lines.extend(_missed(pairs))
    if audit is not None:
        lines.append(f"Measured: {audit.line().removeprefix('audit: ')}.")
    elif plan is not None and plan.bands is not None:
        lines.append("Not measured: an audit compares a sample with everything and tells how much of it was found.")
    if stats.get("crowded"):
        lines.append(
            f"{stats['crowded']:,} were among very many nearly similar ones and were compared with a part of those: "
            "there more may be missed."
        )
    if pairs is not None and len(pairs):
        checked = "Every pair that is listed has been compared exactly: none is there by a hash alone."
        unknown = "The file does not tell how it was made, so nothing is known of what it lacks."
        lines.append(checked if ours else unknown)
    return lines


def _missed(pairs: Values | None) -> list[str]:
    """How many pairs are expected to be missed: each found one stands for one over its probability."""
    if pairs is None or pairs.probability is None or not len(pairs):
        return []
    chances = np.maximum(pairs.probability(pairs.values), 1e-9)
    there = float((1 / chances).sum())
    missed = there - len(pairs)
    share = len(pairs) / there
    few = "fewer than one pair" if missed < 1 else f"about {rounded(missed)} pair{'s' * (missed >= 1.5)}"
    return [f"Near and far together, going by the curve: {share:.2%} of all pairs are found, {few} missed."]


def advice_of(plan: "Plan | None", audit: "Audit | None", stats: dict[str, Any], pairs: Values | None) -> list[str]:
    """What to look at, or to try."""
    lines = []
    items = stats.get("items", 1000)
    if plan is not None and plan.bands is not None and audit is None:
        few = min(1000, items)
        lines.append(f"To know the recall and not only expect it, run it again with --audit {few} (audit={few}).")
    if pairs is not None and pairs.cut is not None and not stats.get("nearest"):
        if not len(pairs) and items > 1:
            easier = "lower" if pairs.rising else "greater"
            short = "; of short texts so do smaller shingles" if plan is not None and ":" in plan.what else ""
            lines.append(f"Nothing was found. A {easier} threshold finds more{short}.")
        lines.extend(_close(pairs))
    if 10 * stats.get("empty", 0) > items:
        lines.append(f"There is nothing in {stats['empty']:,} of them: see whether the right column was read.")
    return lines


def _close(pairs: Values) -> list[str]:
    """Where many pairs are next to the threshold, others are likely to be just beyond it."""
    assert pairs.cut is not None
    reach = CLOSE * (1.0 if pairs.rising else pairs.cut)
    inside = np.abs(pairs.values - pairs.cut) <= reach
    share = float(inside.mean()) if len(pairs) else 0.0
    if share < MANY_CLOSE or inside.sum() < 5 or reach == 0:
        return []
    easier, stricter = ("lower", "higher") if pairs.rising else ("greater", "smaller")
    return [
        f"{share:.0%} of the pairs are within {reach:g} of the threshold, so more are likely just beyond it. If those "
        f"below look right, try a {easier} threshold; if they look wrong, a {stricter} one."
    ]


def chains(pairs: Values, label: np.ndarray | None) -> list[str]:
    """A word on a large cluster few of whose pairs are similar."""
    if label is None or not len(pairs):
        return []
    sizes = np.bincount(label)
    largest = int(np.argmax(sizes))
    size = int(sizes[largest])
    share = 2 * int(similar_inside(pairs, label)[largest]) / max(1, size * (size - 1))
    if size < 10 or share >= LOOSE:
        return []
    return [
        f"In the largest cluster, of {size:,}, only {share:.0%} of the pairs are similar: it may be a chain. "
        "A stricter threshold breaks chains; dedup never follows them."
    ]


# --- the items ---


def side_by_side(holder: Holder | None, pairs: Values) -> Callable[[np.ndarray], list[Beside | None]] | None:
    """How pairs look side by side; all their items are looked up at once."""
    if holder is None:
        return None

    def show(numbers: np.ndarray) -> list[Beside | None]:
        left, right = pairs.left[numbers], pairs.right[numbers]
        rows = np.unique(np.concatenate((left, right)))
        items = dict(zip(rows.tolist(), holder.look(rows), strict=True))
        each = [(items[one], items[other]) for one, other in zip(left.tolist(), right.tolist(), strict=True)]
        return [None if one is None or other is None else beside(one, other, holder.shingles) for one, other in each]

    return show


def in_brief(holder: Holder | None) -> Callable[[np.ndarray], list[str]] | None:
    """What items are, in few words."""
    return None if holder is None else lambda rows: [brief(item) for item in holder.look(rows)]


def brief(item: Any) -> str:
    """A text's beginning, some elements, or some numbers.

    >>> brief("to be,\\n or not"), brief({"b", "a"}), brief(np.array([0.25, 1]))
    ('to be, or not', 'a, b', '0.25, 1')
    """
    if item is None:  # it is not at hand
        return ""
    if isinstance(item, str):
        return " ".join(item[: 2 * SNIPPET].split())[:SNIPPET]
    if isinstance(item, np.ndarray) and item.ndim == 2:
        return counted(len(item), "minutia", "e")
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return "".join(map(str, item.astype(int)))[:SNIPPET]
    if isinstance(item, np.ndarray):
        return _list(f"{x:.3g}" for x in item[:20])
    if hasattr(item, "toarray"):  # a sparse vector
        return _list(f"{at}: {x:.3g}" for at, x in zip(item.indices[:20], item.data[:20], strict=True))
    return _list(map(str, nsmallest(SNIPPET, item)))


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)[:SNIPPET]
