"""Describes results in words: the plan, what was found and missed, and what to try next."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import singledispatch
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import argument
from lookalike.core.wording import about, counted
from lookalike.measures import MEASURES
from lookalike.report.beside import Beside, beside
from lookalike.report.choosing import similar_inside
from lookalike.report.finding import Finding, Values
from lookalike.report.page import SNIPPET
from lookalike.results import Clusters, Dedup, Holder, Pairs, Result

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan

BOUNDS = {"similarity": "at least", "distance": "at most"}
UNITS = {"char": "characters", "word": "words", "stop": "words that begin with a stop word"}
CLOSE = 0.05  # pairs within this part of the scale are near the threshold
MANY_CLOSE = 0.25  # share of pairs near the threshold that is worth a remark
LOOSE = 0.3  # a cluster with a smaller share of similar pairs may be a chain


@singledispatch
def finding_of(result: Result) -> Finding:
    """Return what a page shows of a result; each kind of result registers a function."""
    raise TypeError(f"a report cannot show {type(result).__name__}.")


@finding_of.register
def of_pairs(found: Pairs) -> Finding:
    """Describe pairs within one collection, or between two."""
    sides = [found.ids] if found.right_ids is None else [found.ids, found.right_ids]
    offset = 0 if found.right_ids is None else len(found.ids)
    pairs = values_of(found.plan, found.kind, found.left, found.right + offset, found.values, found.stats)
    label = found.clusters().label if found.right_ids is None else None
    item = item_of(found.plan, found.stats)
    among = " and ".join([*(f"{len(ids):,}" for ids in sides[:-1]), counted(len(sides[-1]), item)])
    ours = found.plan is not None or "threshold" in found.stats  # not a list from elsewhere
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
    """Describe clusters, without their pairs."""
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
    """Describe the removed items, with the kept ones they are similar to."""
    item = item_of(found.plan, found.stats)
    dropped = np.flatnonzero(~found.keep)
    if found.drop_all:
        clusters = Clusters(found.centre, found.ids, found.plan, found.audit, found.stats, found.holder)
        left = f"{len(found.ids) - len(dropped):,} of {counted(len(found.ids), item)} kept, {len(dropped):,} removed"
        return replace(of_clusters(clusters), title=left)
    sides = found.centre[dropped], dropped
    if found.plan is not None and found.plan.directed:  # how much of the removed one is in the other
        sides = sides[::-1]
    pairs = values_of(found.plan, found.kind, *sides, found.values[dropped], found.stats)
    kept = len(found.ids) - len(dropped)
    ids, label = [found.ids], found.centre
    if found.earlier is not None and found.earlier.right_ids is not None:
        ids.append(found.earlier.right_ids)
        label = np.append(label, np.arange(len(label), len(label) + len(ids[1])))
    return Finding(
        title=f"{kept:,} of {counted(len(found.ids), item)} kept, {len(dropped):,} removed",
        ids=ids,
        item=item,
        facts=facts_of(found.stats, item, {"kept": kept, "removed, each similar to a kept one": len(dropped)}),
        recall=recall_of(found.plan, found.audit, found.stats),
        advice=advice_of(found.plan, found.audit, found.stats, pairs),
        plan=in_words(found.plan, "", found.stats),
        made=found.stats.get("command", ""),
        values=pairs,
        beside=side_by_side(found.holder, pairs),
        label=label,
        groups="groups",
        group_line=f"A group is a kept {item} and the {item}s removed as similar to it.",
        leads="kept:",
        look=in_brief(found.holder),
        seconds=found.stats.get("seconds", {}),
    )


# --- what was asked and done ---


def item_of(plan: "Plan | None", stats: dict[str, Any]) -> str:
    """Return the word for one item."""
    if "enrolled" in stats:
        return "print"
    what = "" if plan is None else plan.what.partition(" ")[0]
    return {"": "item", "sets": "set", "vectors": "vector", "codes": "code"}.get(what, "document")


def in_words(plan: "Plan | None", kind: str, stats: dict[str, Any]) -> list[str]:
    """Return sentences that say what was asked for and how it was found."""
    nearest, bounded = stats.get("nearest", 0), stats.get("bounded", True)
    what = f"the {counted(nearest, 'nearest neighbour')} of each item" if nearest else "pairs"
    if "threshold" in stats:
        return [f"Asked for: {what} whose {kind} is {BOUNDS[kind]} {stats['threshold']:g}."]
    if plan is None:
        return []
    measure = MEASURES[plan.measure].words
    limit = f" whose {measure} is {BOUNDS[plan.kind]} {float(plan.threshold):g}" if bounded else f" by {measure}"
    wanted = f", to be found with probability {plan.wanted:g} or more" if plan.bands and plan.wanted < 1 else ""
    more = plan.compared.removeprefix(plan.what)
    first, *others = (line.strip() for line in plan.lines())
    how = first.partition(", ")[2].removeprefix("by ")  # the first part repeats the request
    done = "; ".join([how, *others])
    return [f"Asked for: {what}{limit}, comparing {what_words(plan.what)}{more}{wanted}.", f"Method: {done}."]


def what_words(what: str) -> str:
    """Return what is compared, in words.

    >>> what_words("word:5 lowercase"), what_words("vectors of 3 dimensions")
    ('shingles of 5 words (lowercase)', 'vectors of 3 dimensions')
    """
    head, _, options = what.partition(" ")
    unit, _, k = head.partition(":")
    if unit not in UNITS or not k:
        return what
    return f"shingles of {k} {UNITS[unit]}" + (f" ({options})" if options else "")


def facts_of(stats: dict[str, Any], item: str, found: dict[str, int]) -> dict[str, str]:
    """Return the counts of what was read, compared and found, as far as they are known."""
    names = {
        "items": f"{item}s read",
        "empty": f"empty {item}s",
        "identical": "identical to an earlier one",
        "skipped": "bad rows skipped",
        "candidates": "pairs compared",
        "compared": "pairs compared",
    }
    known = {name: stats[key] for key, name in names.items() if stats.get(key) or (key == "items" and key in stats)}
    return {name: f"{count:,}" for name, count in (known | found).items()}


def values_of(
    plan: "Plan | None", kind: str, left: np.ndarray, right: np.ndarray, values: np.ndarray, stats: dict[str, Any]
) -> Values:
    """Return pairs with the threshold and the curve of their plan, where those apply."""
    found = Values(left, right, values, kind, rising=kind == "similarity", cut_name="least similar pair")
    if "threshold" in stats:
        return replace(found, cut=stats["threshold"], cut_name="threshold")
    if plan is None:
        return found
    found = replace(found, word=plan.row.words, unlimited=plan.row.unlimited)
    if not stats.get("bounded", True):
        return found
    curve = plan.probability if plan.has_curve and not stats.get("nearest") else None
    return replace(found, cut=float(plan.threshold), cut_name="threshold", probability=curve)


# --- whether to trust it ---


def recall_of(
    plan: "Plan | None",
    audit: "Audit | None",
    stats: dict[str, Any],
    pairs: Values | None = None,  # the listed pairs
    ours: bool = True,  # whether we compared them
) -> list[str]:
    """Return what is known about missed pairs."""
    lines = []
    if plan is not None and plan.exact:
        found = "the nearest neighbours of each item" if stats.get("nearest") else "every pair within the threshold"
        lines.append(f"The method is exact: it finds {found}.")
    elif plan is not None:
        where = "right at the threshold" if stats.get("bounded", True) else "at the limit of the search"
        lines.append(
            f"Expected: a pair {where} is found with probability {plan.recall:.4f}, "
            "closer pairs with higher probability."
        )
        lines.extend(_missed(pairs))
    if audit is not None:
        lines.append(f"Measured: {audit.line().removeprefix('audit: ')}.")
    elif plan is not None and not plan.exact:
        lines.append("Not measured: an audit compares a sample with all items, and reports how much was found.")
    if stats.get("crowded"):
        lines.append(
            f"{counted(stats['crowded'], 'item')} had very many nearly similar neighbours, of which only some were "
            "compared, so more pairs may be missed there."
        )
    if pairs is not None and len(pairs):
        checked = "Every listed pair was compared exactly: none is listed on the evidence of a hash alone."
        unknown = "The file does not say how it was made, so nothing is known about missed pairs."
        lines.append(checked if ours else unknown)
    return lines


def _missed(pairs: Values | None) -> list[str]:
    """Estimate the missed pairs: a pair found with probability p stands for 1 / p pairs."""
    if pairs is None or pairs.probability is None or not len(pairs):
        return []
    chances = np.maximum(pairs.probability(pairs.values), 1e-9)
    there = float((1 / chances).sum())
    missed = there - len(pairs)
    share = len(pairs) / there
    few = f"{about(missed, 'pair')} {'are' if missed >= 1.5 else 'is'}"
    return [f"According to the curve, {share:.2%} of all similar pairs are found and {few} missed."]


def advice_of(plan: "Plan | None", audit: "Audit | None", stats: dict[str, Any], pairs: Values | None) -> list[str]:
    """Return what to look at, or try next."""
    lines = []
    items = stats.get("items", 1000)
    if plan is not None and plan.bands is not None and audit is None:
        few = min(1000, items)
        lines.append(f"To measure the recall, run it again with {argument('audit', few)}.")
    if pairs is not None and pairs.cut is not None and not stats.get("nearest"):
        if not len(pairs) and items > 1:
            easier = "lower" if pairs.rising else "greater"
            short = "; for short texts, so do smaller shingles" if plan is not None and ":" in plan.what else ""
            lines.append(f"Nothing was found. A {easier} threshold finds more{short}.")
        lines.extend(_close(pairs))
    if 10 * stats.get("empty", 0) > items:
        lines.append(f"{stats['empty']:,} of them are empty: check that the right column was read.")
    return lines


def _close(pairs: Values) -> list[str]:
    """Return advice if many pairs are near the threshold: more are likely just beyond it."""
    assert pairs.cut is not None
    reach = CLOSE * (1.0 if pairs.rising else pairs.cut)
    inside = np.abs(pairs.values - pairs.cut) <= reach
    share = float(inside.mean()) if len(pairs) else 0.0
    if share < MANY_CLOSE or inside.sum() < 5 or reach == 0:
        return []
    easier, stricter = ("lower", "higher") if pairs.rising else ("greater", "smaller")
    return [
        f"{share:.0%} of the pairs are within {reach:g} of the threshold, so more are likely just beyond it. If those "
        f"shown below look right, try a {easier} threshold; if they look wrong, a {stricter} one."
    ]


def chains(pairs: Values, label: np.ndarray | None) -> list[str]:
    """Return a warning if few pairs of the largest cluster are similar."""
    if label is None or not len(pairs):
        return []
    sizes = np.bincount(label)
    largest = int(np.argmax(sizes))
    size = int(sizes[largest])
    share = 2 * int(similar_inside(pairs, label)[largest]) / max(1, size * (size - 1))
    if size < 10 or share >= LOOSE:
        return []
    return [
        f"In the largest cluster, of {size:,} items, only {share:.0%} of the pairs are similar: it may be a chain. "
        "A stricter threshold breaks chains; dedup never follows them."
    ]


# --- the items ---


def side_by_side(holder: Holder | None, pairs: Values) -> Callable[[np.ndarray], list[Beside | None]] | None:
    """Return a function that shows pairs side by side; it looks up all their items at once."""
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
    """Return a function that describes items in a few words."""
    return None if holder is None else lambda rows: [brief(item) for item in holder.look(rows)]


def brief(item: Any) -> str:
    """Return the beginning of a text, some elements, or some numbers.

    >>> brief("to be,\\n or not"), brief({"b", "a"}), brief(np.array([0.25, 1]))
    ('to be, or not', 'a, b', '0.25, 1')
    """
    if item is None:  # not available
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
