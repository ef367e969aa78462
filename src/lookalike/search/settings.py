"""What a search is asked for, checked once: what similar means, what may be missed, and how to run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict

from lookalike.core.errors import LARGEST_SEED, choice, whole
from lookalike.core.run import Run
from lookalike.items.shingles import Shingles

MAX_PAIRS = 100_000_000


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


@dataclass(frozen=True)
class Settings:
    """The options of one search, and what is wanted of it. What was not given is None where that matters."""

    result: str = "pairs"  # or "clusters" or "dedup"
    threshold: float | str | Fraction | None = None
    measure: str = "jaccard"
    recall: float = 0.99
    method: str = "auto"
    filter: str | None = None
    order: Sequence[Any] | None = None
    shingles: Shingles | None = None
    sketch: str | None = None
    probes: int | None = None
    seed: int = 1
    audit: int = 0
    memory: str | int | None = None
    workdir: str | Path | None = None
    run: Run = field(default_factory=Run)
    max_pairs: int = MAX_PAIRS
    k: int | None = None  # how many of each item of the first of two collections are wanted
    keep: Any = "first"  # of similar items: "first", "longest", or the one with the greatest of these values

    @classmethod
    def of(
        cls, result: str, options: Options, max_pairs: int = MAX_PAIRS, k: int | None = None, keep: Any = "first"
    ) -> "Settings":
        """Check the options that a caller gave; what depends on the measure is checked by the plan."""
        for name in options:
            choice("option", name, Options.__annotations__)
        given: dict[str, Any] = dict(options)
        shingles, threads, run = (given.pop(name, None) for name in ("shingles", "threads", "run"))
        if shingles is not None and not isinstance(shingles, Shingles):
            shingles = Shingles.parse(shingles)
        for name, most in (("audit", None), ("seed", LARGEST_SEED), ("probes", 100)):
            if given.get(name) is not None:
                given[name] = whole(name, given[name], least=0, most=most)
        return cls(
            result=result,
            max_pairs=whole("max_pairs", max_pairs),
            keep=choice("keep", keep, ("first", "longest")) if isinstance(keep, str) else keep,
            k=None if k is None else whole("k", k),
            shingles=shingles,
            run=run or Run(threads),
            **given,
        )

    @property
    def listing(self) -> bool:
        """Whether pairs are wanted, not groups."""
        return self.result == "pairs"

    @property
    def nearest(self) -> bool:
        """Whether only the nearest are wanted, and no threshold bounds them."""
        return self.k is not None and self.threshold is None
