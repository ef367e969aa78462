"""The pipeline: take in, collapse identical items, find candidates, verify them.

`find_pairs` lists similar pairs, `find_matches` those between two collections; `find_clusters` and `dedup` group
items without listing pairs.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike import __version__
from lookalike.core.errors import LARGEST_SEED, DataError, LookalikeError, StoreError, UsageError, choice, whole
from lookalike.core.run import Run
from lookalike.core.storage import Room
from lookalike.core.workdir import Folder, parse_memory, stamps
from lookalike.io.documents import Source
from lookalike.items.bits import Bits
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.results import Clusters, Dedup, Pairs
from lookalike.search.audit import Audit
from lookalike.search.base import Search
from lookalike.search.identical import Groups, group_identical
from lookalike.search.inputs import take_sides
from lookalike.search.nearest import first_k
from lookalike.search.plan import BANDED, NAMES, parse_threshold
from lookalike.search.sets import SetSearch
from lookalike.search.vectors import VectorSearch

MAX_PAIRS = 100_000_000

DEFAULTS = {
    "threshold": None,
    "measure": "jaccard",
    "recall": 0.99,
    "method": "auto",
    "shingles": "char:9",
    "sketch": "minhash",
    "seed": 1,
    "audit": 0,
}


class Options(TypedDict, total=False):
    """What all four functions take: what similar means, what may be missed, and how to run."""

    threshold: float | str | Fraction  # the least similarity, or the greatest distance; of sets 0.8 by default
    measure: str  # "jaccard", "bag", "containment", "cosine" or "overlap" of sets; "edit" or "levenshtein" of texts;
    # "cosine" (an angle in degrees), "cosine_similarity" or "euclidean" of vectors; "hamming" of bits
    recall: float  # of a pair right at the threshold, 0.99 by default; 1.0 means exact
    method: str  # "auto", "lsh" or "exact"; of vectors and bits also "brute"
    filter: str  # of an exact join, the last to be used: "length", "prefix", "position" or "suffix", the default
    order: Sequence[Any]  # of the elements of sets, for an exact join; rarest first by default
    shingles: Shingles | str  # how texts become sets, "char:9" by default
    sketch: str  # what is banded: "minhash", the default, or "simhash"
    probes: int  # of vectors: how many further buckets of a table to look into; by default as many as pays
    seed: int
    audit: int  # items to sample for measuring the recall; 0, the default, for none
    memory: str | int  # of texts: how much memory may be used, such as "2GB"; what does not fit is kept in files
    workdir: str | Path  # the folder of these; the same call, made again after it was cut off, goes on from there
    threads: int  # all cores by default
    run: Run  # in place of threads: how work is run and progress shown


def find_pairs(items: Any, *, max_pairs: int = MAX_PAIRS, **options: Unpack[Options]) -> Pairs:
    """All pairs of similar items, each one verified, up to the stated recall.

    `items`: texts, sets, `Sets`, an Arrow table or anything that gives one (pandas, polars), a path, a `Source`; a
    NumPy or SciPy matrix with a vector a row, `Vectors`, or `Bits`.

    >>> texts = ["the cat sat on the mat", "the cat sat on the hat", "something else"]
    >>> [(left, right) for left, right, _ in find_pairs(texts, threshold=0.5, shingles="char:4")]
    [(0, 1)]
    """
    with Job([items], options, max_pairs=max_pairs) as job:
        return job.pairs()


def find_matches(
    left: Any, right: Any, *, k: int | None = None, max_pairs: int = MAX_PAIRS, **options: Unpack[Options]
) -> Pairs:
    """All similar pairs of an item of `left` and an item of `right`, as `find_pairs` does for one collection.

    With `k` the k most similar ones of each item of `left`, most similar first. Vectors and bits then need no
    threshold: how far to look is told from a sample, and an audit counts how many of the true k nearest were found.
    """
    with Job([left, right], options, max_pairs=max_pairs, k=k) as job:
        return job.pairs()


def find_clusters(items: Any, **options: Unpack[Options]) -> Clusters:
    """Groups of items connected by similar pairs; the pairs are not listed, so a group may be of any size.

    By edit distance they are, and more than a hundred million are an error.
    """
    with Job([items], options, result="clusters") as job:
        return job.clusters()


def dedup(items: Any, *, keep: Any = "first", **options: Unpack[Options]) -> Dedup:
    """What to keep: one of similar items. Each dropped item is verified similar to one that is kept.

    No two kept items are similar, but for pairs missed within the stated recall. By containment an item is dropped for
    a kept one that contains it, so that larger ones should come first: keep="longest".
    `keep` says which of similar items is kept: the "first", the "longest", or the one with the greatest of the
    values given, one for each item.
    """
    with Job([items], options, keep=keep, result="dedup") as job:
        return job.stars()


class Job:
    """One run of the pipeline on one collection, or on two to be matched."""

    def __init__(
        self,
        sides: list[Any],
        options: Options,
        max_pairs: int = MAX_PAIRS,
        keep: Any = "first",
        result: str = "pairs",  # or "clusters" or "dedup"
        k: int | None = None,
    ):
        for name in options:
            choice("option", name, Options.__annotations__)
        self.max_pairs = whole("max_pairs", max_pairs)
        self.keep = choice("keep", keep, ("first", "longest")) if isinstance(keep, str) else keep
        self.k = None if k is None else whole("k", k)
        settings: dict[str, Any] = {**DEFAULTS, **options}
        self.run: Run = settings.get("run") or Run(settings.get("threads"))
        settings["audit"] = self.audit_size = whole("audit", settings["audit"], least=0)
        settings["seed"] = whole("seed", settings["seed"], least=0, most=LARGEST_SEED)
        if not isinstance(settings["shingles"], Shingles):
            settings["shingles"] = Shingles.parse(settings["shingles"])
        taken = take_sides(sides, settings["measure"], self.run)
        if "probes" in options and not isinstance(taken[0], Vectors | Bits):
            raise UsageError("probes are for vectors, not for sets or texts.")
        self.search: Search
        self.room, self._opened = Room(), ExitStack()
        if isinstance(taken[0], Vectors | Bits):
            for name in ("filter", "order", "shingles", "sketch", "memory", "workdir"):
                if name in options:
                    raise UsageError(f"{name} is for sets and texts, not for vectors or bits.")
            if isinstance(self.keep, str) and self.keep == "longest":
                raise UsageError("keep must be 'first', or a value for each item: vectors and bits are all as long.")
            self.search = VectorSearch(taken, settings, self.run, self.k)
        else:
            settings["measure"] = NAMES.get(settings["measure"], settings["measure"])
            with ExitStack() as opened:
                self.room = self._room(taken, settings, result, opened)
                try:
                    self.search = SetSearch(taken, settings, self.run, result == "pairs", self.room)
                except StoreError:
                    raise
                except LookalikeError:  # which no second run would mend
                    self.room.remove()
                    raise
                self._opened = opened.pop_all()
        self.nearest = self.k is not None and settings["threshold"] is None  # no other bound was given
        self.plan = self.search.plan

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def _room(self, sides: list[Any], settings: dict[str, Any], result: str, opened: ExitStack) -> Room:
        """Where large arrays go."""
        memory, workdir = settings.get("memory"), settings.get("workdir")
        if memory is None and workdir is None:
            return Room()
        source = sides[0]
        files = [path for part in source.parts for path in part.paths] if isinstance(source, Source) else []
        if len(sides) > 1 or not files:
            raise UsageError("memory and workdir are for texts of one collection in files, which can be read again.")
        if settings["measure"] not in BANDED or settings["method"] == "exact" or settings["recall"] == 1:
            raise UsageError("memory and workdir are for Jaccard similarity by method 'lsh', with a recall under 1.")
        settings["method"] = "lsh"
        about = {
            "version": __version__,
            "files": stamps(files),
            **{name: getattr(source, name) for name in ("text", "id", "format", "on_error", "html", "article")},
            "threshold": str(parse_threshold(settings["measure"], settings["threshold"] or 0.8)),
            **{name: str(settings[name]) for name in ("measure", "recall", "seed", "shingles", "sketch")},
            "result": result,
            "keep": self.keep if isinstance(self.keep, str) else digest(self.keep),
        }
        if workdir is None:
            workdir = opened.enter_context(TemporaryDirectory(prefix="lookalike-"))
        size = parse_memory("2GB" if memory is None else memory)
        return opened.enter_context(Folder(Path(workdir), about, size))

    def pairs(self) -> Pairs:
        """List the similar pairs."""
        search = self.search
        groups = group_identical(search.contents, search.live, search.split, self.room.memory)
        left, right, values, own = search.pairs(groups, self.max_pairs)
        with self.run.stage("order"):
            limits = (search.split, self.max_pairs, self.plan.directed)
            left, right, values = groups.spread(left, right, values, own, *limits)
        audit = self._audit_of(left, right, values)
        with self.run.stage("order"):
            if self.k is not None:
                best = first_k(left, right, values, self.k, self.plan.kind == "similarity")
                left, right, values = left[best], right[best], values[best]
        ids = search.ids
        return Pairs(
            left,
            right - max(search.split, 0),
            values,
            ids[0],
            right_ids=ids[1] if len(ids) > 1 else None,
            kind=self.plan.kind,
            plan=self.plan,
            audit=audit,
            stats=self._stats(groups, pairs=len(left)) | self._wanted(),
            holder=search,
        )

    def _wanted(self) -> dict[str, Any]:
        """What else bounds the pairs: how many of each item were wanted, and whether the threshold was."""
        return {} if self.k is None else {"nearest": self.k, "bounded": not self.nearest}

    def _audit_of(self, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> Audit | None:
        if not self.audit_size:
            return None
        if self.nearest and isinstance(self.search, VectorSearch):
            return self.search.audit_nearest(self.audit_size, left, right, values)
        n = len(self.search)
        numbers = left * n + right  # ascending, since the pairs are in order
        return self._audit(lambda a, b: _contains(numbers, a * n + b))

    def clusters(self) -> Clusters:
        """Group by connected components of the similar pairs."""
        search = self.search
        groups = group_identical(search.contents, search.live, memory=self.room.memory)
        label = search.labels(groups)
        label[search.live] = label[groups.first[search.live]]
        audit = self._audit(lambda a, b: label[a] == label[b])
        return Clusters(label, search.ids[0], plan=self.plan, audit=audit, stats=self._stats(groups), holder=search)

    def stars(self) -> Dedup:
        """Keep items that are similar to none kept before, the best ones first."""
        search = self.search
        order = self._order()
        groups = group_identical(search.contents, order, memory=self.room.memory)
        centre, values = search.stars(groups, order)
        head = groups.first[search.live]
        centre[search.live], values[search.live] = centre[head], values[head]
        kept = centre == np.arange(len(centre))
        audit = self._audit(lambda a, b: ~(kept[a] & kept[b]))
        stats = self._stats(groups, kept=int(kept.sum()), dropped=int((~kept).sum()))
        return Dedup(
            centre,
            values,
            search.ids[0],
            kind=self.plan.kind,
            plan=self.plan,
            audit=audit,
            stats=stats,
            holder=search,
        )

    def _order(self) -> np.ndarray:
        """The items that may be similar to another, the ones to be kept first."""
        if isinstance(self.keep, str) and self.keep == "first":
            return self.search.live
        try:
            if isinstance(self.keep, pa.Array | pa.ChunkedArray):
                values = self.keep
            else:
                values = pa.array(self.search.lengths if isinstance(self.keep, str) else self.keep)
            places = pc.sort_indices(values, sort_keys=[("", "descending")])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
            raise DataError(f"keep must be values of one kind that can be ordered: {error}") from error
        n = len(self.search)
        if len(values) != n:
            raise DataError(f"keep must have a value for each of the {n:,} items; it has {len(values):,}.")
        order = places.to_numpy().astype(np.int64)
        live: np.ndarray = order[np.isin(order, self.search.live, kind="table")]
        return live

    def _audit(self, found: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Audit | None:
        return self.search.audit(self.audit_size, found) if self.audit_size else None

    def _stats(self, groups: Groups, **more: int) -> dict[str, Any]:
        return {
            **self.search.counts(),
            "identical": groups.identical,
            "candidates": self.search.candidates,
            "crowded": self.search.crowded,
            **more,
            "seconds": dict(self.run.seconds),
        }


def digest(values: Any) -> str:
    """A hash of the values of a column."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    found = sha256()
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        found.update(repr((chunk.type, chunk.offset, len(chunk))).encode())
        for buffer in filter(None, chunk.buffers()):
            found.update(buffer)
    return found.hexdigest()


def _contains(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether each value is in the ascending array."""
    at = np.searchsorted(ordered, values)
    inside: np.ndarray = at < len(ordered)
    inside[inside] = ordered[at[inside]] == values[inside]
    return inside
