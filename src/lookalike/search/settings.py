"""The settings of a search, checked once: what similar means, what recall is needed, and how to run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from lookalike.core.errors import LARGEST_SEED, UsageError, choice, share, whole
from lookalike.core.run import Run
from lookalike.items.shingles import Shingles

MAX_PAIRS = 100_000_000

IDF = "idf"
KEEP = ("lowest-id", "first", "longest")  # rules for which of several similar items to keep


@dataclass(frozen=True)
class Settings:
    """The settings of one search. `find` documents them; a search rejects those that its items cannot have."""

    result: str = "pairs"  # or "clusters" or "dedup"
    threshold: float | str | Fraction | None = None
    measure: str = "jaccard"
    recall: float = 0.99
    method: str = "auto"
    shingles: Shingles = field(default_factory=Shingles)
    weights: str | None = None  # of shingles or elements: IDF
    drop_common: Fraction | None = None  # drop those in more than this share of the items
    sketch: str = "minhash"
    filter: str | None = None
    order: Sequence[Any] | None = None
    probes: int | None = None
    seed: int = 1
    audit: int = 0
    memory: str | int | None = None
    workdir: str | Path | None = None
    run: Run = field(default_factory=Run)
    max_pairs: int = MAX_PAIRS
    k: int | None = None  # how many neighbours of each item are wanted
    keep: Any = "lowest-id"  # of similar items: one of KEEP, or the one with the greatest of these values

    @classmethod
    def of(cls, result: str, *, shingles: Shingles | str, threads: int | None, run: Run | None, **given: Any) -> Self:
        """Check the arguments of a call; those that depend on the measure are checked by the plan."""
        for name, most in (("audit", None), ("seed", LARGEST_SEED), ("probes", 100)):
            if given.get(name) is not None:
                given[name] = whole(name, given[name], least=0, most=most)
        for name in ("max_pairs", "k"):
            if given.get(name) is not None:
                given[name] = whole(name, given[name])
        if given.get("weights") not in (None, IDF):
            raise UsageError(f"weights must be {IDF}; got {given['weights']!r}.")
        if given.get("drop_common") is not None:
            given["drop_common"] = share("drop_common", given["drop_common"])
        if isinstance(given.get("keep"), str):
            choice("keep", given["keep"], KEEP)
        parsed = shingles if isinstance(shingles, Shingles) else Shingles.parse(shingles)
        return cls(result, shingles=parsed, run=run or Run(threads), **given)

    def given(self, name: str) -> bool:
        """Whether a setting differs from its default."""
        value, default = getattr(self, name), getattr(Settings(run=self.run), name)
        return value is not None if default is None else bool(value != default)

    @property
    def listing(self) -> bool:
        """Whether pairs are wanted, not groups."""
        return self.result == "pairs"

    @property
    def nearest(self) -> bool:
        """Whether the k nearest are wanted, without a threshold that bounds them."""
        return self.k is not None and self.threshold is None
