"""The settings of a search, checked once: what similar means, what recall is needed, and how to run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from lookalike.core.errors import LARGEST_SEED, UsageError, choice, parameter, share, whole
from lookalike.core.run import Run
from lookalike.core.shards import Shards
from lookalike.devices.base import Device
from lookalike.devices.opening import NAMES as DEVICES
from lookalike.items.shingles import Shingles
from lookalike.measures.table import full_name

MAX_PAIRS = 100_000_000

IDF = "idf"


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
    workdir: str | Path | Shards | None = None
    run: Run = field(default_factory=Run)
    max_pairs: int = MAX_PAIRS
    device: str | Device = "auto"  # or "cpu" or "cuda": what compares vectors and bits
    k: int | None = None  # how many neighbours of each item are wanted
    keep: Any = "lowest-id"  # of similar items: see `keeping.Keeping`
    copies: int = 1  # how many of similar items to keep
    drop_all: bool = False  # whether to keep none of similar items
    against: Any = None  # earlier items, all of which are kept
    within: Any = None  # a column or values that the items of a pair share: see `grouping`
    across: Any = None  # a column or values in which the items of a pair differ

    @classmethod
    def of(cls, result: str, *, shingles: Shingles | str, threads: int | None, run: Run | None, **given: Any) -> Self:
        """Check the arguments of a call; those that depend on the measure are checked by the plan."""
        for name, most in (("audit", None), ("seed", LARGEST_SEED), ("probes", 100)):
            if given.get(name) is not None:
                given[name] = whole(name, given[name], least=0, most=most)
        for name in ("max_pairs", "k", "copies"):
            if given.get(name) is not None:
                given[name] = whole(name, given[name])
        if given.get("drop_all"):
            for name, usual in (("keep", cls.keep), ("copies", cls.copies)):
                if not isinstance(given[name], type(usual)) or given[name] != usual:
                    none = f"{parameter('drop_all')}, which keeps none of similar items"
                    raise UsageError(f"{parameter(name)} cannot be used with {none}.")
        if given.get("against") is not None:
            for name in ("drop_all", "audit", "memory", "workdir", "within", "across"):
                if given[name]:
                    raise UsageError(f"{parameter(name)} cannot be used with {parameter('against')}.")
        if given.get("weights") not in (None, IDF):
            raise UsageError(f"weights must be {IDF}; got {given['weights']!r}.")
        if given.get("drop_common") is not None:
            given["drop_common"] = share("drop_common", given["drop_common"])
        if not isinstance(given.get("device", "auto"), Device):
            choice("device", given.get("device", "auto"), DEVICES)
        given["measure"] = full_name(given["measure"])
        parsed = shingles if isinstance(shingles, Shingles) else Shingles.parse(shingles)
        return cls(result, shingles=parsed, run=run or Run(threads), **given)

    def matching(self) -> Self:
        """Return the settings that find, for each item, the earlier one it is most similar to."""
        usual = type(self)(run=self.run)
        return replace(self, result="pairs", k=1, keep=usual.keep, copies=1, against=None)

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
