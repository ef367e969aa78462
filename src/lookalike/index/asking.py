"""Query an index: similar items, the items themselves, and the probability of finding them."""

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from lookalike.core.errors import AlreadyThere, NotThere, UsageError, whole, within
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.index.base import Coding
from lookalike.index.batches import as_id, as_kind, batches_of, kind_by, numbered, same_type
from lookalike.index.checking import check
from lookalike.index.codings import coding_of
from lookalike.index.exporting import write_items
from lookalike.index.looking import Found, Looked, look_up, look_up_all
from lookalike.index.records import Id, intact, is_id
from lookalike.index.settings import read_settings
from lookalike.index.store import Store
from lookalike.index.tables import Check, Reader, go_on
from lookalike.measures import MEASURES
from lookalike.results import Pairs

STEPS = 200  # values whose recall is computed
SPELLED = re.compile(r"0|-?[1-9][0-9]{0,18}")  # strings that spell a number


@intact("an item")
def shown(reader: Reader, coding: Coding, number: int) -> Any:
    """Return an item as a user would give it, or None if the index does not hold it."""
    return reader.shown(coding, reader.item(number))


class Asking:
    """The part of an index that only reads."""

    def __init__(self, store: Store, settings: dict[str, Any]) -> None:
        self.store, self.settings = store, settings
        self._coding = None if settings["coding"] is None else coding_of(settings["coding"])

    def close(self) -> None:
        """Close the files."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        sign = ">=" if self.measured == "similarity" else "<="
        aim = f"{MEASURES[self.measure].usual} {sign} {self.threshold:g}, in {self.store.path}"
        if self.store.closed:
            return f"<closed Index: {aim}>"
        noun = "bit code" if self.holds()[0] == "bits" else self.holds()[0].removesuffix("s")
        return f"<Index of {counted(len(self), noun)}, {aim}>"

    def __len__(self) -> int:
        with self.store.reading() as reader:
            return len(reader)

    def __contains__(self, identity: Id) -> bool:
        with self.store.reading() as reader:
            return reader.number_of(as_id(identity)) is not None

    def _known(self) -> Coding | None:
        """Return the coding, perhaps chosen by another process meanwhile; None without items."""
        if self._coding is None:
            settings = read_settings(self.store)
            if settings["coding"] is not None:
                self.settings, self._coding = settings, coding_of(settings["coding"])
        return self._coding

    def _batches(self, items: Any, ids: Iterator[Id] | None, run: Run) -> Iterator[tuple[Any, list[Id] | None]]:
        coding = self._known()
        return batches_of(items, self.measure, None if coding is None else coding.kind, ids, run)

    def query(self, item: Any, *, threshold: float | None = None, k: int | None = 10) -> Found:
        """Return (id, similarity or distance) of the items most similar to this one, best first.

        At most `k` are returned, and only those within `threshold`, by default that of the index.
        """
        return self.look(item, threshold=threshold, k=k).found

    def look(self, item: Any, *, threshold: float | None = None, k: int | None = 10, check: Check = go_on) -> Looked:
        """Look up an item as `query` does, with details that the server reports.

        Returns `found`, which `query` returns; `candidates`, how many items were compared; and
        `crowded`, whether some bucket held too many items to compare with all of them. `check` is
        called between steps; it raises an error to end the lookup.
        """
        coding = self._known()
        bounds = self._bounds(threshold, k)
        if coding is None:
            return Looked([])
        return self._looks(as_kind([item], coding.kind, self.measure), *bounds, check)[0]

    def _looks(self, batch: Any, threshold: float, k: int | None, check: Check = go_on) -> list[Looked]:
        coding = self._known()
        if coding is None:
            return [Looked([])] * len(batch)
        encoded = coding.encode(batch)
        with self.store.reading() as reader:
            if len(batch) == 1 or self.store.old:
                places = range(len(batch))
                return [look_up(reader, coding, encoded, place, threshold, k, check=check) for place in places]
            return look_up_all(reader, coding, encoded, threshold, k, check)

    def query_batch(
        self, items: Any, *, threshold: float | None = None, k: int | None = 10, run: Run | None = None
    ) -> Pairs:
        """Look up many items as `query` does, but together; return pairs of an item given and an item found.

        `stats["recall"]` is the expected share of the `k` most similar items within the threshold that
        is found, at least; nothing is expected of a crowded item, which was not compared with all items
        of its buckets. To find the most similar items however similar they are, set the threshold to 0,
        and build the index with a low one.
        """
        run = run or Run()
        bounds = self._bounds(threshold, k)
        asked: list[Any] = []
        left: list[int] = []
        found: Found = []
        crowded: list[bool] = []
        stats = {"candidates": 0, "crowded": 0, "threshold": bounds[0], **({} if k is None else {"nearest": k})}
        with run.stage("query") as tick:
            batches = numbered(self._batches(items, None, run))
            for names, several in run.map(lambda task: (task[1], self._looks(task[0], *bounds)), batches):
                for place, looked in enumerate(several, len(asked)):
                    left.extend([place] * len(looked.found))
                    found.extend(looked.found)
                    stats["candidates"] += looked.candidates
                    crowded.append(looked.crowded)
                asked.extend(names)
                tick(len(names))
        stats["crowded"] = sum(crowded)
        if k is not None:
            stats["recall"] = self._recall_of_nearest(found, left, crowded, k, bounds[0])
        values = np.array([value for _, value in found], np.float64)
        names, ids = same_type(asked), same_type([name for name, _ in found])
        return Pairs(
            np.array(left, np.int64),
            np.arange(len(found)),
            values,
            names,
            right_ids=ids,
            kind=self.measured,
            stats=stats,
        )

    def _recall_of_nearest(self, found: Found, left: list[int], crowded: list[bool], k: int, threshold: float) -> float:
        """Return the probability of finding an item that is among the `k` most similar to one that was asked.

        Such an item is at least as similar as the last of `k` that were found, or within the threshold
        if fewer were found; the least probability that follows is averaged over all that were asked.
        For crowded ones it is 0.
        """
        coding, asked = self._known(), len(crowded)
        if coding is None or not asked:
            return 1.0
        counts = np.bincount(np.array(left, np.int64), minlength=asked)
        ends = np.cumsum(counts)[counts == k] - 1
        last = np.full(asked, threshold)
        last[counts == k] = [found[at][1] for at in ends.tolist()]
        step = (1.0 if self.measured == "similarity" else max(last.max(), 1e-9)) / STEPS
        rounded = step * (np.floor(last / step) if self.measured == "similarity" else np.ceil(last / step))
        distinct, which = np.unique(rounded, return_inverse=True)
        chances = np.array([coding.recall(value) for value in distinct.tolist()])[which]
        return float(np.where(crowded, 0, chances).mean())

    def warm(self) -> None:
        """Look up some item, so that the first query need not wait for compilation or the disk."""
        coding = self._known()
        if coding is not None:
            with self.store.reading() as reader:
                for item in islice(reader.items(), 1):
                    look_up(reader, coding, coding.again([item.payload]), 0, self.threshold, 1)
            if coding.kind == "texts":
                self.look("a text to begin with")

    def _bounds(self, threshold: float | None, k: int | None) -> tuple[float, int | None]:
        return self._threshold(threshold), None if k is None else whole("k", k)

    @cached_property
    def threshold(self) -> float:
        """The similarity or distance within which items are found, unless a query gives another."""
        return float(Fraction(self.settings["wanted"]["threshold"]))

    def recall(self, threshold: float | None = None) -> float:
        """Return the probability of finding an item right at a threshold; default: the index's."""
        coding = self._known()
        return 1.0 if coding is None else coding.recall(self._threshold(threshold))

    @property
    def kind(self) -> str | None:
        """The kind of its items: "texts", "sets", "vectors" or "bits"; None without items."""
        coding = self._known()
        return None if coding is None else coding.kind

    def holds(self) -> tuple[str, int]:
        """Return (kind, length): the kind of items and, for vectors and bits, their length.

        The server uses it to show example queries. For an empty index the kind ("texts", "sets",
        "vectors" or "bits") is inferred from the measure, and the length is 3, for the example.
        """
        coding = self._known()
        return (kind_by(self.measure), 3) if coding is None else (coding.kind, coding.size)

    def curve(self, points: int = 101) -> list[tuple[float, float]]:
        """Return points (x, probability of finding an item at similarity or distance x), to plot.

        Similarities go from 0 to 1, distances from 0 to three times the threshold.
        """
        coding = self._known()
        if coding is None:
            return []
        least, most = (0.0, 1.0) if self.measured == "similarity" else (0.0, min(coding.farthest, 3 * self.threshold))
        return [(x, coding.recall(x)) for x in np.linspace(least, most, points).tolist()]

    def _threshold(self, given: float | None) -> float:
        """Return the given threshold, or that of the index."""
        if given is None:
            return self.threshold
        return float(within("threshold", given, 1.0 if self.measured == "similarity" else math.inf))

    @property
    def measure(self) -> str:
        """The measure by which items are compared."""
        return str(self.settings["wanted"]["measure"])

    @property
    def measured(self) -> str:
        """Whether the measure is a "similarity" or a "distance"."""
        return MEASURES[self.measure].kind

    def item(self, identity: Id) -> Any:
        """Return an item as it was given: a vector, a code as a string of 0 and 1, or a kept text.

        Return None for sets, and for texts that are not kept: only hashes of them are stored.
        """
        coding, identity = self._known(), as_id(identity)
        with self.store.reading() as reader:
            number = reader.number_of(identity)
            if number is None or coding is None:
                raise NotThere(f"there is no item {identity!r} in the index.")
            return shown(reader, coding, number)

    def spelled(self, name: str, number: bool | None = None, how: str = "set number=True or number=False") -> Id:
        """Return the id in the index that a string typed by a user means: itself, or an integer.

        If both are ids, such as "17" and 17, `number` must say which is meant; `how` is the end of
        the error message otherwise.
        """
        strings: list[Id] = [] if number else [name]
        numbers: list[Id] = [int(name)] if number is not False and SPELLED.fullmatch(name) else []
        found = [identity for identity in strings + numbers if is_id(identity) and identity in self]
        if len(found) > 1:
            both = f"one has the integer {name} as its id, the other the string {name!r}"
            raise AlreadyThere(f"two items match {name}: {both}; {how}.")
        if not found:
            raise NotThere(f"there is no item {name!r} in the index.")
        return found[0]

    def ids(self) -> Iterator[Id]:
        """Yield the ids of all items, in the order in which they were added."""
        with self.store.reading() as reader:
            for item in reader.items():
                yield item.id

    def info(self, buckets: bool = True) -> dict[str, Any]:
        """Return the size and settings of the index; counting the `buckets` can take a second."""
        with self.store.reading() as reader:
            items, sizes, text = len(reader), reader.sizes(), reader.text_bytes()
            distinct, entries = reader.buckets() if buckets else (0, 0)
        size = self.store.byte_size()
        coding = self._known()
        facts: dict[str, Any] = {"items": items, "bytes": size, "bytes per item": round(size / max(1, items), 1)}
        if text and coding is not None and coding.kind == "texts":
            facts |= {"bytes of text given": text, "bytes per byte of text": round(size / text, 2)}
        facts |= {f"bytes of {name}": part for name, part in sizes.items()}
        facts["bytes of gaps"] = max(0, size - sum(sizes.values()))
        if coding is not None:
            facts |= {
                "kind": coding.kind,
                "measure": coding.plan.row.usual,
                "threshold": str(coding.plan.threshold),
                "expected recall at the threshold": round(coding.recall(float(coding.plan.threshold)), 4),
                "tables": coding.tables,
            }
        if distinct:
            facts |= {"buckets": distinct, "items per bucket": round(entries / distinct, 2)}
        return facts | {
            "format": self.settings["format"],
            "made by": self.settings["version"],
            "texts kept": self.settings["store_text"],
        }

    def backup(self, path: str | Path) -> None:
        """Copy the index to a new folder, which appears complete or not at all.

        The copy is the index as it was at one moment, without gaps. Others can use the index, and add to
        it, meanwhile.

        >>> from tempfile import mkdtemp
        >>> from lookalike.index import Index
        >>> folder = Path(mkdtemp())
        >>> with Index.build(folder / "news.index", [{1, 2, 3}], threshold=0.5) as index:
        ...     index.backup(folder / "copy.index")
        >>> with Index.open(folder / "copy.index") as copy:
        ...     copy.query({1, 2, 3, 4})
        [(0, 0.75)]
        """
        self.store.backup(Path(path))

    def export(self, path: str | Path, run: Run | None = None) -> None:
        """Write the items and settings to a Parquet file, from which `Index.restore` makes the index again.

        Its columns are `id` and `text`, `vector`, `bits` or `hashes`: what the index keeps of an item.

        >>> from tempfile import mkdtemp
        >>> from lookalike.index import Index
        >>> folder = Path(mkdtemp())
        >>> with Index.build(folder / "some.index", ["one two", "three four"], store_text=True) as index:
        ...     index.export(folder / "some.parquet")
        >>> import pyarrow.parquet as pq
        >>> pq.read_table(folder / "some.parquet").to_pylist()
        [{'id': 0, 'text': 'one two'}, {'id': 1, 'text': 'three four'}]
        >>> with Index.restore(folder / "again.index", folder / "some.parquet") as again:
        ...     again.query("one two")
        [(0, 1.0)]
        """
        run = run or Run()
        self.store.check_format()
        if "kind" in self.settings["notes"] and self.settings["notes"]["kind"] == "records":
            raise UsageError("an index of records cannot be exported; copy it with `backup`.")
        coding = self._known()
        with run.stage("export"), self.store.reading() as reader:
            write_items(reader, coding, str(path), run)

    def verify(self, run: Run | None = None) -> int:
        """Check that the hash tables agree with the items, or raise an error; return how many items."""
        run = run or Run()
        self._known()
        with self.store.reading() as reader, run.stage("verify", len(reader)) as tick:
            texts = self.settings["store_text"] and self._coding is not None and self._coding.kind == "texts"
            return check(reader, self._coding, texts, tick)
