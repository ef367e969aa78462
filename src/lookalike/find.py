"""The pipeline, stage by stage: read, plan and sketch; group identical items; verify candidates; order; audit.

`find_pairs` lists similar pairs, `find_matches` those between two collections. `find_clusters` and `dedup` group items
without listing their pairs.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.errors import TooManyPairs, remedy
from lookalike.core.run import Run
from lookalike.devices.base import Device
from lookalike.items.bits import Bits
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.results import Clusters, Dedup, Pairs
from lookalike.search import sets
from lookalike.search.audit import Audit
from lookalike.search.base import Labels, Search
from lookalike.search.identical import Groups
from lookalike.search.inputs import take_sides
from lookalike.search.keeping import Keeping, first_members, last
from lookalike.search.settings import MAX_PAIRS, Settings
from lookalike.search.storage import starting, storage_for


def find_pairs(
    items: Any,
    *,
    threshold: float | str | Fraction | None = None,
    measure: str = "jaccard",
    recall: float = 0.99,
    method: str = "auto",
    shingles: Shingles | str = "char:9",
    weights: str | None = None,
    drop_common: float | str | Fraction | None = None,
    k: int | None = None,
    max_pairs: int = MAX_PAIRS,
    sketch: str = "minhash",
    filter: str | None = None,
    order: Sequence[Any] | None = None,
    probes: int | None = None,
    device: str | Device = "auto",
    within: Any = None,
    across: Any = None,
    audit: int = 0,
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> Pairs:
    """Find all pairs of similar items, each one verified, with the stated recall.

    Args:
        items: texts, sets, `Sets`, `Source`, a path (a string or a `pathlib.Path`), a list of
            `pathlib.Path` (strings in a list are texts), or an Arrow, pandas or polars table with a
            text column; or vectors: a matrix (NumPy, SciPy, torch), rows of numbers, a dict of id
            to vector, `Vectors`, `Bits`, or a file or table of vectors. Items without ids are
            numbered from 0. To name columns of texts or skip bad rows, pass `Source`; read vectors
            yourself to choose columns, and pass `Vectors.of(matrix, ids)`.
        threshold: the least similarity, or the greatest distance, of a similar pair. Sets and
            texts: 0.8 by default. Edit distances and overlap need one; so do vectors and bits, unless
            `k` is given.
        measure: for texts and sets "jaccard", "bag", "containment", "cosine" or "overlap"; for
            texts also "edit" or "levenshtein"; for vectors "angle" (degrees), "cosine_similarity",
            "euclidean" or "inner_product"; for bits "hamming".
        recall: the probability of finding a pair exactly at the threshold; 1.0 means an exact
            method.
        method: "auto" picks the cheapest; or "lsh", "exact", and for vectors and bits "brute".
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        weights: "idf" compares by weighted Jaccard similarity: shingles or elements count the more,
            the fewer of the N items have them; one that n have weighs log(1 + N / n).
        drop_common: ignore shingles or elements in more than this share of the items, such as "1%"
            or 0.01; an item that has no others is compared by all of its own.
        k: list only the k items most similar to each item, best first. A pair is then (item,
            neighbour), so it can occur in both orders. Vectors and bits then need no threshold.
        max_pairs: the number of pairs above which the search stops with an error.
        sketch: the kind of signature: "minhash" or "simhash".
        filter: the last filter to use in an exact join, out of "length", "prefix", "position" and
            "suffix", which are applied in this order; by default all four are used.
        order: for an exact join of sets, all elements in the order in which to look them up; by
            default the rarest first. It affects the speed, not the result.
        probes: for vectors, how many neighbouring buckets of each hash table to look into as well;
            by default as many as save time.
        device: what compares vectors and bits: "cpu", "cuda" (an NVIDIA card, with the extra `gpu`; all
            pairs are compared, so none is missed), or "auto", a card if one is there and saves time.
        within: count only pairs of items with the same value: the name of a column of texts (also of
            a field, such as "meta.source"), or one value per item. Null is a value like others.
        across: count only pairs of items with different values, given in the same way.
        audit: how many items to compare with all others to measure the recall; 0 for none.
        memory: for texts read from files, with measure "jaccard", "bag" or "containment" and a recall
            below 1, about how much memory to use, such as "2GB"; data that does not fit is kept in files.
            For vectors, how much memory of a card to use.
        workdir: the folder of those files; the same call, repeated after an interruption, resumes
            there.
        seed: the seed of all random choices; the same seed gives the same result.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Pairs`: iterate over (left id, right id, similarity or distance), or convert with
        `.to_pandas()`, `.to_polars()` or `.to_arrow()`.

    >>> texts = ["the cat sat on the mat", "the cat sat on the hat", "something else"]
    >>> [(left, right) for left, right, _ in find_pairs(texts, threshold=0.5, shingles="char:4")]
    [(0, 1)]
    """
    settings = Settings.of(
        "pairs",
        threshold=threshold,
        measure=measure,
        recall=recall,
        method=method,
        shingles=shingles,
        weights=weights,
        drop_common=drop_common,
        k=k,
        max_pairs=max_pairs,
        sketch=sketch,
        filter=filter,
        order=order,
        probes=probes,
        device=device,
        within=within,
        across=across,
        audit=audit,
        memory=memory,
        workdir=workdir,
        seed=seed,
        threads=threads,
        run=run,
    )
    return _pairs([items], settings)


def find_matches(
    left: Any,
    right: Any,
    *,
    threshold: float | str | Fraction | None = None,
    measure: str = "jaccard",
    recall: float = 0.99,
    method: str = "auto",
    shingles: Shingles | str = "char:9",
    weights: str | None = None,
    drop_common: float | str | Fraction | None = None,
    k: int | None = None,
    max_pairs: int = MAX_PAIRS,
    sketch: str = "minhash",
    filter: str | None = None,
    order: Sequence[Any] | None = None,
    probes: int | None = None,
    device: str | Device = "auto",
    audit: int = 0,
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> Pairs:
    """Find all similar pairs of one item of `left` and one item of `right`, each one verified.

    Args:
        left, right: texts, sets, `Sets`, `Source`, a path (a string or a `pathlib.Path`), a list
            of `pathlib.Path` (strings in a list are texts), or an Arrow, pandas or polars table
            with a text column; or vectors: a matrix (NumPy, SciPy, torch), rows of numbers, a dict
            of id to vector, `Vectors`, `Bits`, or a file or table of vectors. Items without ids are
            numbered from 0. To name columns of texts or skip bad rows, pass `Source`; read vectors
            yourself to choose columns, and pass `Vectors.of(matrix, ids)`.
        threshold: the least similarity, or the greatest distance, of a similar pair. Sets and
            texts: 0.8 by default. Edit distances and overlap need one; so do vectors and bits, unless
            `k` is given.
        measure: for texts and sets "jaccard", "bag", "containment", "cosine" or "overlap"; for
            texts also "edit" or "levenshtein"; for vectors "angle" (degrees), "cosine_similarity",
            "euclidean" or "inner_product"; for bits "hamming".
        recall: the probability of finding a pair exactly at the threshold; 1.0 means an exact
            method.
        method: "auto" picks the cheapest; or "lsh", "exact", and for vectors and bits "brute".
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        weights: "idf" compares by weighted Jaccard similarity: shingles or elements count the more,
            the fewer of the N items have them; one that n have weighs log(1 + N / n).
        drop_common: ignore shingles or elements in more than this share of the items, such as "1%"
            or 0.01; an item that has no others is compared by all of its own.
        k: list only the k most similar items of `right` for each item of `left`, best first.
            Vectors and bits then need no threshold: how far to look is learned from a sample.
        max_pairs: the number of pairs above which the search stops with an error.
        sketch: the kind of signature: "minhash" or "simhash".
        filter: the last filter to use in an exact join, out of "length", "prefix", "position" and
            "suffix", which are applied in this order; by default all four are used.
        order: for an exact join of sets, all elements in the order in which to look them up; by
            default the rarest first. It affects the speed, not the result.
        probes: for vectors, how many neighbouring buckets of each hash table to look into as well;
            by default as many as save time.
        device: what compares vectors and bits: "cpu", "cuda" (an NVIDIA card, with the extra `gpu`; all
            pairs are compared, so none is missed), or "auto", a card if one is there and saves time.
        audit: how many items to compare with all others to measure the recall; 0 for none.
        memory: for texts read from files, with measure "jaccard", "bag" or "containment" and a recall
            below 1, about how much memory to use, such as "2GB"; data that does not fit is kept in files.
        workdir: the folder of those files; the same call, repeated after an interruption, resumes
            there.
        seed: the seed of all random choices; the same seed gives the same result.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Pairs`: iterate over (left id, right id, similarity or distance), or convert with
        `.to_pandas()`, `.to_polars()` or `.to_arrow()`.

    >>> list(find_matches([{1, 2, 3}], [{1, 2, 3, 4}, {5, 6}], threshold=0.7))
    [(0, 0, 0.75)]
    """
    settings = Settings.of(
        "pairs",
        threshold=threshold,
        measure=measure,
        recall=recall,
        method=method,
        shingles=shingles,
        weights=weights,
        drop_common=drop_common,
        k=k,
        max_pairs=max_pairs,
        sketch=sketch,
        filter=filter,
        order=order,
        probes=probes,
        device=device,
        audit=audit,
        memory=memory,
        workdir=workdir,
        seed=seed,
        threads=threads,
        run=run,
    )
    return _pairs([left, right], settings)


def find_clusters(
    items: Any,
    *,
    threshold: float | str | Fraction | None = None,
    measure: str = "jaccard",
    recall: float = 0.99,
    method: str = "auto",
    shingles: Shingles | str = "char:9",
    weights: str | None = None,
    drop_common: float | str | Fraction | None = None,
    sketch: str = "minhash",
    filter: str | None = None,
    order: Sequence[Any] | None = None,
    probes: int | None = None,
    device: str | Device = "auto",
    within: Any = None,
    across: Any = None,
    audit: int = 0,
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> Clusters:
    """Group items that are connected by similar pairs.

    Pairs are not listed, so a cluster can have any size. Only edit distances and containment need a
    list of all pairs, and more than 100 million are an error.

    Args:
        items: texts, sets, `Sets`, `Source`, a path (a string or a `pathlib.Path`), a list of
            `pathlib.Path` (strings in a list are texts), or an Arrow, pandas or polars table with a
            text column; or vectors: a matrix (NumPy, SciPy, torch), rows of numbers, a dict of id
            to vector, `Vectors`, `Bits`, or a file or table of vectors. Items without ids are
            numbered from 0. To name columns of texts or skip bad rows, pass `Source`; read vectors
            yourself to choose columns, and pass `Vectors.of(matrix, ids)`.
        threshold: the least similarity, or the greatest distance, of a similar pair. Sets and
            texts: 0.8 by default. Edit distances, overlap, vectors and bits need one.
        measure: for texts and sets "jaccard", "bag", "containment", "cosine" or "overlap"; for
            texts also "edit" or "levenshtein"; for vectors "angle" (degrees), "cosine_similarity",
            "euclidean" or "inner_product"; for bits "hamming".
        recall: the probability of finding a pair exactly at the threshold; 1.0 means an exact
            method.
        method: "auto" picks the cheapest; or "lsh", "exact", and for vectors and bits "brute".
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        weights: "idf" compares by weighted Jaccard similarity: shingles or elements count the more,
            the fewer of the N items have them; one that n have weighs log(1 + N / n).
        drop_common: ignore shingles or elements in more than this share of the items, such as "1%"
            or 0.01; an item that has no others is compared by all of its own.
        sketch: the kind of signature: "minhash" or "simhash".
        filter: the last filter to use in an exact join, out of "length", "prefix", "position" and
            "suffix", which are applied in this order; by default all four are used.
        order: for an exact join of sets, all elements in the order in which to look them up; by
            default the rarest first. It affects the speed, not the result.
        probes: for vectors, how many neighbouring buckets of each hash table to look into as well;
            by default as many as save time.
        device: what compares vectors and bits: "cpu", "cuda" (an NVIDIA card, with the extra `gpu`; all
            pairs are compared, so none is missed), or "auto", a card if one is there and saves time.
        within: count only pairs of items with the same value: the name of a column of texts (also of
            a field, such as "meta.source"), or one value per item. Null is a value like others.
        across: count only pairs of items with different values, given in the same way.
        audit: how many items to compare with all others to measure the recall; 0 for none.
        memory: for texts read from files, with measure "jaccard", "bag" or "containment" and a recall
            below 1, about how much memory to use, such as "2GB"; data that does not fit is kept in files.
            For vectors, how much memory of a card to use.
        workdir: the folder of those files; the same call, repeated after an interruption, resumes
            there.
        seed: the seed of all random choices; the same seed gives the same result.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Clusters`: iterate over lists of ids, or convert to a table with one row per member.

    >>> list(find_clusters([{1, 2, 3}, {7, 8}, {1, 2, 3, 4}], threshold=0.7))
    [[0, 2]]
    """
    settings = Settings.of(
        "clusters",
        threshold=threshold,
        measure=measure,
        recall=recall,
        method=method,
        shingles=shingles,
        weights=weights,
        drop_common=drop_common,
        sketch=sketch,
        filter=filter,
        order=order,
        probes=probes,
        device=device,
        within=within,
        across=across,
        audit=audit,
        memory=memory,
        workdir=workdir,
        seed=seed,
        threads=threads,
        run=run,
    )
    with _started([items], settings) as search:
        label, groups, found = _clusters(search)
        measured = _audit(search, settings, lambda a, b: label[a] == label[b])
        stats = _stats(search, groups, found.candidates, found.crowded)
        return Clusters(label, search.ids[0], search.plan, measured, stats, search)


def dedup(
    items: Any,
    *,
    threshold: float | str | Fraction | None = None,
    measure: str = "jaccard",
    recall: float = 0.99,
    method: str = "auto",
    shingles: Shingles | str = "char:9",
    weights: str | None = None,
    drop_common: float | str | Fraction | None = None,
    keep: Any = "lowest-id",
    copies: int = 1,
    drop_all: bool = False,
    against: Any = None,
    sketch: str = "minhash",
    filter: str | None = None,
    order: Sequence[Any] | None = None,
    probes: int | None = None,
    device: str | Device = "auto",
    within: Any = None,
    across: Any = None,
    audit: int = 0,
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    seed: int = 1,
    threads: int | None = None,
    run: Run | None = None,
) -> Dedup:
    """Decide which items to keep, so that each removed item is verified similar to a kept one.

    To cut repeated lines, sentences, paragraphs or spans out of texts, use `dedup_units`.

    No two kept items are similar, except for pairs missed within the stated recall. With
    containment, an item is removed if a kept one contains it, so larger items should come first:
    keep="longest". Exact joins and containment list all similar pairs; more than 100 million are an
    error.

    Args:
        items: texts, sets, `Sets`, `Source`, a path (a string or a `pathlib.Path`), a list of
            `pathlib.Path` (strings in a list are texts), or an Arrow, pandas or polars table with a
            text column; or vectors: a matrix (NumPy, SciPy, torch), rows of numbers, a dict of id
            to vector, `Vectors`, `Bits`, or a file or table of vectors. Items without ids are
            numbered from 0. To name columns of texts or skip bad rows, pass `Source`; read vectors
            yourself to choose columns, and pass `Vectors.of(matrix, ids)`.
        threshold: the least similarity, or the greatest distance, of a similar pair. Sets and
            texts: 0.8 by default. Edit distances, overlap, vectors and bits need one.
        measure: for texts and sets "jaccard", "bag", "containment", "cosine" or "overlap"; for
            texts also "edit" or "levenshtein"; for vectors "angle" (degrees), "cosine_similarity",
            "euclidean" or "inner_product"; for bits "hamming".
        recall: the probability of finding a pair exactly at the threshold; 1.0 means an exact
            method.
        method: "auto" picks the cheapest; or "lsh", "exact", and for vectors and bits "brute".
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        weights: "idf" compares by weighted Jaccard similarity: shingles or elements count the more,
            the fewer of the N items have them; one that n have weighs log(1 + N / n).
        drop_common: ignore shingles or elements in more than this share of the items, such as "1%"
            or 0.01; an item that has no others is compared by all of its own.
        keep: which of several similar items to keep: the one with the "lowest-id" (of items without
            ids, the first), the "first", the "longest", or the one with the greatest of the values
            given, one per item. For texts with other columns also rules by these, the first of which
            decides: "score:max,date:min", "meta.quality:max,longest", or [("score", "max"), ("date",
            "min")]. Without a direction it is max; items without a value come last.
        copies: how many items of each group to keep: the one that stands for the group, and the next
            ones in the order of `keep`. Each removed item is similar to the first of them.
        drop_all: whether to remove all items that are similar to another one, and keep only those
            that are similar to none.
        against: earlier items, in any of the forms of `items`: an item similar to one of them is removed, as
            if they all were kept before.
        sketch: the kind of signature: "minhash" or "simhash".
        filter: the last filter to use in an exact join, out of "length", "prefix", "position" and
            "suffix", which are applied in this order; by default all four are used.
        order: for an exact join of sets, all elements in the order in which to look them up; by
            default the rarest first. It affects the speed, not the result.
        probes: for vectors, how many neighbouring buckets of each hash table to look into as well;
            by default as many as save time.
        device: what compares vectors and bits: "cpu", "cuda" (an NVIDIA card, with the extra `gpu`; all
            pairs are compared, so none is missed), or "auto", a card if one is there and saves time.
        within: count only pairs of items with the same value: the name of a column of texts (also of
            a field, such as "meta.source"), or one value per item. Null is a value like others.
        across: count only pairs of items with different values, given in the same way.
        audit: how many items to compare with all others to measure the recall; 0 for none.
        memory: for texts read from files, with measure "jaccard", "bag" or "containment" and a recall
            below 1, about how much memory to use, such as "2GB"; data that does not fit is kept in files.
            For vectors, how much memory of a card to use.
        workdir: the folder of those files; the same call, repeated after an interruption, resumes
            there.
        seed: the seed of all random choices; the same seed gives the same result.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Dedup`: `.kept` has the ids of the kept items; iterate over (removed id, kept id,
        similarity or distance).

    >>> dedup([{1, 2, 3}, {7, 8}, {1, 2, 3, 4}], threshold=0.7).kept.to_pylist()
    [0, 1]
    """
    settings = Settings.of(
        "dedup",
        threshold=threshold,
        measure=measure,
        recall=recall,
        method=method,
        shingles=shingles,
        weights=weights,
        drop_common=drop_common,
        keep=keep,
        copies=copies,
        drop_all=drop_all,
        against=against,
        sketch=sketch,
        filter=filter,
        order=order,
        probes=probes,
        device=device,
        within=within,
        across=across,
        audit=audit,
        memory=memory,
        workdir=workdir,
        seed=seed,
        threads=threads,
        run=run,
    )
    taken = take_sides([items] if against is None else [items, against], settings.measure, settings.run)
    rules = Keeping.of(settings.keep).read(taken[0], settings.run)
    earlier = None if against is None else _pairs(taken, settings.matching())
    with _started(taken[:1], settings) as search:
        if settings.drop_all:
            return _drop_all(search, settings)
        visit = search.order(rules)
        if earlier is not None:
            visit = last(visit, earlier.left)
        groups = search.identical(visit)
        centre, values, candidates, crowded = search.stars(groups, visit)
        heads = groups.first[search.live]
        joined, value = centre[heads], values[heads]
        if search.sides.groups is not None:  # then an item is not compared with identical ones, which are in its group
            joined = np.where(joined == heads, search.live, joined)
        centre[search.live], values[search.live] = joined, value
        alone = centre == np.arange(len(centre))
        kept = alone if settings.copies == 1 else first_members(centre, visit, settings.copies)
        measured = _audit(search, settings, lambda a, b: ~(alone[a] & alone[b]))
        if earlier is not None:
            kept[earlier.left] = False
            centre[earlier.left], values[earlier.left] = earlier.right + len(centre), earlier.values
            candidates, crowded = (
                have + earlier.stats[name] for name, have in (("candidates", candidates), ("crowded", crowded))
            )
        counts = {"kept": int(kept.sum()), "dropped": int((~kept).sum())}
        stats = _stats(search, groups, candidates, crowded, **counts)
        plan, holder = search.plan, search if earlier is None else earlier.holder
        return Dedup(centre, values, search.ids[0], plan.kind, plan, measured, stats, holder, kept, earlier)


def _drop_all(search: Search, settings: Settings) -> Dedup:
    """Keep the items that are similar to no other: those that are alone in their cluster."""
    label, groups, found = _clusters(search)
    kept = np.bincount(label, minlength=len(label))[label] == 1
    measured = _audit(search, settings, lambda a, b: label[a] == label[b])
    counts = {"kept": int(kept.sum()), "dropped": int((~kept).sum())}
    stats = _stats(search, groups, found.candidates, found.crowded, **counts)
    plan, values = search.plan, np.full(len(label), np.nan)
    return Dedup(label, values, search.ids[0], plan.kind, plan, measured, stats, search, kept, drop_all=True)


def _clusters(search: Search) -> tuple[np.ndarray, Groups, Labels]:
    """Return the first item of each item's cluster, and how they were found."""
    groups = search.identical()
    found = search.labels(groups)
    label = found.label
    heads = groups.first[search.live]
    joined = label[heads]
    if search.sides.groups is not None:  # then identical items are connected only through others
        sizes = np.bincount(label[groups.heads], minlength=len(label))
        joined = np.where(sizes[joined] > 1, joined, search.live)
    label[search.live] = joined
    return label, groups, found


def _pairs(collections: list[Any], settings: Settings) -> Pairs:
    """Find the similar pairs within one collection, or between two."""
    with _started(collections, settings) as search, _suggesting_groups(search, settings):
        groups = search.identical()
        found = search.pairs(groups, settings.max_pairs)
        plan, run, sides = search.plan, settings.run, search.sides
        with run.stage("order"):
            spread = groups.spread(*found[:4], sides, settings.max_pairs, plan.directed, run)
        left, right, values = spread
        audit = search.audit_pairs(settings.audit, left, right, values) if settings.audit else None
        wanted: dict[str, Any] = {}
        if settings.k is not None:
            from lookalike.search.nearest import both_directions, first_k  # only neighbours need it

            with run.stage("order"):
                if not sides.two and not plan.directed:
                    left, right, values = both_directions(left, right, values)
                others = left + sides.offset != right if sides.same else slice(None)
                left, right, values = left[others], right[others], values[others]
                best = first_k(left, right, values, settings.k, plan.row.is_similarity, run)
                left, right, values = left[best], right[best], values[best]
            wanted = {"nearest": settings.k, "bounded": not settings.nearest}
        stats = _stats(search, groups, found.candidates, pairs=len(left)) | wanted
        return Pairs(
            left,
            right - sides.offset,
            values,
            search.ids[0],
            right_ids=search.ids[1] if sides.two and not sides.same else None,
            kind=plan.kind,
            plan=plan,
            audit=audit,
            stats=stats,
            holder=search,
        )


@contextmanager
def _started(collections: list[Any], settings: Settings) -> Iterator[Search]:
    """Read the collections, plan the search, and sketch the items; large arrays are in memory or in files."""
    items = take_sides(collections, settings.measure, settings.run)
    if isinstance(items[0], Vectors | Bits):
        from lookalike.search import vectors  # only vectors need it

        yield vectors.start(items, settings)
    else:
        with storage_for(items, settings) as storage:
            with starting(storage):
                search = sets.start(items, settings, storage)
            yield search


@contextmanager
def _suggesting_groups(search: Search, settings: Settings) -> Iterator[None]:
    """Add to the error for too many pairs of documents that groups can be found without listing pairs."""
    try:
        yield
    except TooManyPairs as error:
        documents = isinstance(search, sets.SetSearch) and bool(search.sources)
        if not documents or search.sides.two or search.plan.bands is None or settings.k is not None:
            raise
        groups = remedy("find_clusters or dedup", "`lookalike clusters` or `lookalike dedup`")
        raise TooManyPairs(f"{error} To find groups without listing pairs, use {groups}.") from None


def _audit(search: Search, settings: Settings, found: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Audit | None:
    return search.audit(settings.audit, found) if settings.audit else None


def _stats(search: Search, groups: Groups, candidates: int, crowded: int = 0, **more: int) -> dict[str, Any]:
    """Count what was read, compared and found, with the seconds of each stage."""
    return {
        **search.counts(),
        "identical": groups.identical // (1 + search.sides.same),
        "candidates": candidates,
        "crowded": crowded,
        **more,
        "seconds": dict(search.run.seconds),
    }
