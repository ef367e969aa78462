"""A collection taken in: ids, contents, band keys, and the sets of any of its items when they are asked for.

Texts stream through once: each batch is prepared, shingled and sketched while the next is being read. What stays
in memory is the text, 16 bytes of content hash and eight bytes a band for each item; the shingle sets of the few
items that become candidates are made again from the text.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import Explanation, Sets, text_bounds
from lookalike.errors import DataError
from lookalike.kernels.buckets import ONE
from lookalike.kernels.sets import hash_rows, sort_rows
from lookalike.kernels.sketch import fold_bands, sketch_rows
from lookalike.kernels.text import hash_contents
from lookalike.plan import SAMPLE, Plan
from lookalike.read import Source
from lookalike.run import Run, slices
from lookalike.shingles import Shingles

Fit = Callable[[Sets, int], Plan]
HEAD = 1000  # documents that the plan's sample is drawn from: a number, since results may not depend on batches
SLICE = 1 << 14  # items of a collection of sets handled by one task


@dataclass
class Collection:
    """Items with what the later stages ask of them. An item without elements is similar to nothing."""

    ids: list[pa.Array]  # of the one collection, or of each of two that are matched
    plan: Plan
    counts: np.ndarray  # elements of each item, repeats included
    lengths: np.ndarray  # bytes of each text, or elements of each set
    contents: np.ndarray  # items x 2: equal just for equal items
    keys: np.ndarray  # items x bands
    maker: "TextSets | ReadySets"

    @property
    def split(self) -> int:
        """Of two collections: where the second begins."""
        return len(self.ids[0]) if len(self.ids) > 1 else ONE

    def __len__(self) -> int:
        return len(self.counts)

    def sets(self, rows: np.ndarray, run: Run) -> Sets:
        """The sets of items at ascending positions."""
        elements = np.empty(int(self.counts[rows].sum()), np.uint64)  # more than enough; what is not used costs nothing
        sizes = [np.zeros(1, np.int64)]
        filled = 0
        with run.stage("sets of candidates", len(rows)) as tick:
            for part in run.map(self.maker.make, self.maker.tasks(rows)):
                elements[filled : filled + len(part.elements)] = part.elements
                filled += len(part.elements)
                sizes.append(part.sizes)
                tick(len(part))
        return Sets(np.concatenate(sizes).cumsum(), elements[:filled])


def take_in_texts(sources: list[Source], shingles: Shingles, fit: Fit, run: Run) -> Collection:
    """Read, prepare, shingle and sketch the texts of one source or two; `fit` plans from a sample of the start."""
    stream = ((side, table) for side, source in enumerate(sources) for table in source.batches())
    chunks: list[pa.LargeStringArray] = []
    ids: list[list[pa.ChunkedArray]] = [[] for _ in sources]
    made: list[tuple[np.ndarray, ...]] = []

    head: list[tuple[int, pa.Table]] = []
    while sum(len(table) for _, table in head) < HEAD and (batch := next(stream, None)) is not None:
        head.append(batch)
    start = [chunk for _, table in head for chunk in table["text"].chunks]
    texts = pa.chunked_array(start, pa.large_string()).slice(0, HEAD).combine_chunks()
    items = sum(source.expected(texts) for source in sources)
    rows = np.sort(np.random.default_rng(0).permutation(len(texts))[:SAMPLE])
    plan = fit(shingles.sets(texts.take(pa.array(rows))), items)
    for line in plan.lines():
        run.say(line)
    with run.stage("read and sketch", items) as tick:

        def work(batch: tuple[int, pa.Table]) -> tuple[int, pa.Table, pa.LargeStringArray, tuple[np.ndarray, ...]]:
            side, table = batch
            texts = shingles.prepare(_one_array(table["text"]))
            bounds = text_bounds(texts)
            indptr, hashes = _elements(shingles, texts)
            lengths = bounds[2] - bounds[1]
            keys = band_keys(plan, indptr, hashes)
            return side, table, texts, (np.diff(indptr), lengths, hash_contents(*bounds), keys)

        for side, table, texts, arrays in run.map(work, chain(head, stream)):
            ids[side].append(table["id"])
            chunks.append(texts)
            made.append(arrays)
            tick(len(texts))

    counts, lengths, contents, keys = _stack(made, plan)
    every = [unique_ids(side) for side in ids]
    return Collection(every, plan, counts, lengths, contents, keys, TextSets(chunks, shingles))


def take_in_sets(collections: list[Sets], fit: Fit, run: Run) -> Collection:
    """Sketch one collection or two of sets that are there already; their ids are their numbers."""
    sets = Sets.concatenate(collections)
    ids = [pa.array(np.arange(len(one))) for one in collections]
    rows = np.sort(np.random.default_rng(0).permutation(len(sets))[:SAMPLE])
    plan = fit(sets.take(rows), len(sets))

    def work(part: slice) -> tuple[np.ndarray, ...]:
        indptr = sets.indptr[part.start : part.stop + 1]
        return (hash_rows(indptr, sets.elements), band_keys(plan, indptr, sets.elements))

    made = []
    with run.stage("sketch", len(sets)) as tick:
        for part, arrays in zip(slices(len(sets), SLICE), run.map(work, slices(len(sets), SLICE)), strict=True):
            sizes = sets.sizes[part]
            made.append((sizes, sizes, *arrays))
            tick(len(sizes))
    counts, lengths, contents, keys = _stack(made, plan)
    return Collection(ids, plan, counts, lengths, contents, keys, ReadySets(sets))


def band_keys(plan: Plan, indptr: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """One key a band for each row; no columns if the plan has no bands."""
    if plan.bands is None:
        return np.empty((len(indptr) - 1, 0), np.uint64)
    bands, rows, _ = plan.bands
    signatures = sketch_rows(indptr, elements, np.uint64(plan.seed), bands * rows)
    keys: np.ndarray = fold_bands(signatures, bands, rows)
    return keys


class TextSets:
    """Makes the shingle sets of any of the texts it holds, a chunk of texts to a task."""

    def __init__(self, chunks: list[pa.LargeStringArray], shingles: Shingles):
        self.chunks = chunks
        self.shingles = shingles
        self.starts = np.concatenate(([0], np.cumsum([len(chunk) for chunk in chunks], dtype=np.int64)))

    def tasks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Ascending rows, cut where chunks end."""
        return (part for part in np.split(rows, np.searchsorted(rows, self.starts[1:])) if len(part))

    def make(self, rows: np.ndarray) -> Sets:
        """The sets of one task's rows."""
        chunk = int(np.searchsorted(self.starts, rows[0], side="right")) - 1
        indptr, hashes = self.shingles.hashes(self.chunks[chunk], rows - self.starts[chunk])
        return Sets.sorted(indptr, hashes, self.shingles.bag)

    def explain(self, left: int, right: int) -> Explanation:
        """The shingles that two texts share or not."""
        return Explanation.of(self._readable(left), self._readable(right))

    def _readable(self, row: int) -> "set[str] | Counter[str]":
        chunk = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.shingles.of_prepared(self.chunks[chunk][row - int(self.starts[chunk])].as_py())


class ReadySets:
    """The same for sets that are there already."""

    def __init__(self, sets: Sets):
        self.sets = sets

    def tasks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Slices of the rows."""
        return (rows[part] for part in slices(len(rows), SLICE))

    def make(self, rows: np.ndarray) -> Sets:
        """The sets of one task's rows."""
        return self.sets.take(rows)

    def explain(self, left: int, right: int) -> Explanation:
        """The elements, as hashes, that two sets share or not."""
        return Explanation.of(self.sets[left].tolist(), self.sets[right].tolist())


def unique_ids(ids: list[pa.ChunkedArray]) -> pa.Array:
    """All ids in one array; a repeated id is an error, since results name items by it."""
    kinds = {array.type for array in ids}
    if len(kinds) > 1:  # one file numbers its rows or has integers, another has strings
        ids = [array.cast(pa.string()) for array in ids]
    chunks = [chunk for array in ids for chunk in array.chunks]
    whole = pa.chunked_array(chunks, type=ids[0].type if ids else pa.int64()).combine_chunks()
    if len(whole) and pc.count_distinct(whole).as_py() < len(whole):
        counts = pc.value_counts(whole)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"]
        raise DataError(
            f"ids must be unique; {twice.as_py()!r} occurs more than once. "
            "Name another column with --id, or number the rows with --id -."
        )
    return whole


def _elements(shingles: Shingles, texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """What to sketch: hashes with repeats, which do not matter to a set; a bag's copies made distinct."""
    indptr, hashes = shingles.hashes(texts)
    return sort_rows(indptr, hashes, True) if shingles.bag else (indptr, hashes)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _stack(made: list[tuple[np.ndarray, ...]], plan: Plan) -> tuple[np.ndarray, ...]:
    """The batches' arrays, one after another."""
    bands = plan.bands.bands if plan.bands else 0
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2), np.uint64), np.zeros((0, bands), np.uint64))
    return tuple(np.concatenate(arrays) for arrays in zip(none, *made, strict=True))
