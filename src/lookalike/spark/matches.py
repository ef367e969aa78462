"""Find the similar pairs between two data frames."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from pyspark.sql import DataFrame

from lookalike.core.errors import DataError, whole
from lookalike.core.run import Run
from lookalike.items.shingles import Shingles
from lookalike.search.plan import Plan
from lookalike.spark.frames import Frames, Ranks
from lookalike.spark.items import FrameItems, SparkSettings, plan_for
from lookalike.spark.jobs import MAX_PAIRS
from lookalike.spark.pairs import both_sides, ids_again, similar_pairs


def find_matches(
    left: DataFrame,
    right: DataFrame,
    *,
    max_pairs: int = MAX_PAIRS,
    text: str | None = None,
    id: str = "id",
    plan: Plan | None = None,
    threshold: float | str | Fraction = 0.8,
    measure: str = "jaccard",
    recall: float = 0.99,
    shingles: Shingles | str = "char:9",
    sketch: str = "minhash",
    seed: int = 1,
    run: Run | None = None,
) -> DataFrame:
    """Find all similar pairs of one item of `left` and one item of `right`, each one verified.

    Args:
        left, right: the data frames with the items.
        max_pairs: the number of pairs in one task above which the search stops with an error.
        text: the column of texts, or of lists of elements, or both columns, "body:article"; by
            default `text`, `content`, `body` or `document`.
        id: the column of ids, unique strings or integers, or both columns, "key:number".
        plan: a plan to use instead of threshold, measure, recall, sketch and seed: one that
            `la.spark.plan` returned, or the `.plan` of a result of `la.find_pairs` and the like.
        threshold: the minimum Jaccard similarity of a similar pair.
        measure: "jaccard" or "bag".
        recall: the probability of finding a pair exactly at the threshold.
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        sketch: the kind of signature: "minhash" or "simhash".
        seed: the seed of all random choices.
        run: a `lookalike.core.run.Run`, of which a subclass can show progress.

    Returns:
        A data frame of `left`, `right` (ids) and `similarity`.

    >>> import lookalike as la
    >>> la.spark.find_matches(new, archive, threshold=0.8).show()  # doctest: +SKIP
    """
    whole("max_pairs", max_pairs)
    settings = SparkSettings(text, id, None, plan, threshold, measure, recall, shingles, sketch, seed, run)
    sides = []
    for at, df in enumerate((left, right)):
        names: dict[str, Any] = {"text": None if text is None else of_side(text, df, at), "id": of_side(id, df, at)}
        sides.append(FrameItems(df, replace(settings, **names), alone=False))
    one, other = sides
    if one.lists != other.lists:
        raise DataError(f"columns {one.text!r} and {other.text!r} must both hold texts, or both lists of elements.")
    made, count, small = plan_for(sides)
    found = None if small is None else small.pairs(max_pairs)
    if found is not None:
        return found
    items = both_sides(one.frame, other.frame)
    frames = Frames(items, one.making(made), count, one.run, Ranks((False,)))
    return ids_again(similar_pairs(frames, max_pairs), one.frame, other.frame)


def of_side(name: str, df: DataFrame, at: int) -> str:
    """Return the name of a column of one side, given that of both or "left:right".

    >>> from types import SimpleNamespace
    >>> of_side("body:article", SimpleNamespace(columns=["article", "id"]), 1)
    'article'
    """
    names = name.split(":")
    return name if name in df.columns or len(names) != 2 else names[at]
