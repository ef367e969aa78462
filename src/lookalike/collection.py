"""A collection taken in: ids, contents, band keys, and the sets of any of its items when they are asked for.

Texts stream through once: each batch is prepared, shingled and sketched while the next is being read. What stays
in memory is the text, 16 bytes of content hash and eight bytes a band for each item; the shingle sets of the few
items that become candidates are made again from the text.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.candidates.exact import element_ranks
from lookalike.data import Sets, text_bounds
from lookalike.errors import DataError
from lookalike.kernels.buckets import ONE
from lookalike.kernels.sets import hash_rows, sort_rows
from lookalike.kernels.sketch import fold_bands
from lookalike.kernels.text import hash_contents
from lookalike.plan import SAMPLE, Plan
from lookalike.read import Source
from lookalike.results import Explanation
from lookalike.run import Run, slices
from lookalike.shingles import Shingles

Fit = Callable[..., Plan]  # of a sample, the number of items, and the ranks of elements if known
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # counts, lengths, contents, keys of a Collection
SAMPLE_BYTES = 8 << 20
SAMPLE_SETS = 4000
PIECE = 1 << 20  # bytes of text that are shingled and sketched at a time
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
    head: list[tuple[int, pa.Table]] = []
    while sum(len(table) for _, table in head) < HEAD and (batch := next(stream, None)) is not None:
        head.append(batch)
    start = [chunk for _, table in head for chunk in table["text"].chunks]
    texts = pa.chunked_array(start, pa.large_string()).slice(0, HEAD).combine_chunks()
    items = sum(source.expected(texts) for source in sources)
    with run.stage("plan"):
        plan = fit(shingles.sets(texts.take(pa.array(sample_rows(texts)))), items)
    for line in plan.lines():
        run.say(line)

    def work(batch: tuple[int, pa.Table]) -> tuple[int, pa.Table, list[pa.LargeStringArray], list[Columns]]:
        side, table = batch
        chunks = pieces(shingles.prepare(table["text"].combine_chunks()))
        return side, table, chunks, [sketch_texts(chunk, shingles, plan) for chunk in chunks]

    ids: list[list[pa.ChunkedArray]] = [[] for _ in sources]
    chunks: list[pa.LargeStringArray] = []
    made: list[Columns] = []
    with run.stage("read and sketch", items) as tick:
        for side, table, some, columns in run.map(work, chain(head, stream)):
            ids[side].append(table["id"])
            chunks.extend(some)
            made.extend(columns)
            tick(len(table))
    every = [unique_ids(side) for side in ids]
    return Collection(every, plan, *_stack(made, plan), TextSets(chunks, shingles))


def sample_rows(texts: pa.LargeStringArray) -> np.ndarray:
    """Some of the texts, at random but always the same: at most SAMPLE, and of about SAMPLE_BYTES bytes."""
    rows = np.random.default_rng(0).permutation(len(texts))[:SAMPLE]
    _, starts, stops = text_bounds(texts, rows)
    return np.sort(rows[: 2 + np.searchsorted(np.cumsum(stops - starts), SAMPLE_BYTES)])


def pieces(texts: pa.LargeStringArray) -> list[pa.LargeStringArray]:
    """Slices of about PIECE bytes: what is made of one stays in the processor's cache."""
    _, starts, _ = text_bounds(texts)
    first = np.flatnonzero(np.diff((starts - starts[:1]) // PIECE, prepend=-1))
    return [texts.slice(start, stop - start) for start, stop in pairwise([*first.tolist(), len(texts)])]


def sketch_texts(texts: pa.LargeStringArray, shingles: Shingles, plan: Plan) -> Columns:
    """The columns of prepared texts. Repeats do not matter to minhashes of a set; a bag's copies are made distinct."""
    indptr, elements = shingles.hashes(texts)
    if shingles.bag or plan.sketch == "simhash":
        indptr, elements = sort_rows(indptr, elements, shingles.bag)
    content, starts, stops = text_bounds(texts)
    return np.diff(indptr), stops - starts, hash_contents(content, starts, stops), band_keys(plan, indptr, elements)


def take_in_sets(collections: list[Sets], fit: Fit, run: Run) -> Collection:
    """Sketch one collection or two of sets that are there already."""
    sets = Sets.concatenate(collections)
    ids = [pa.array(np.arange(len(one))) if one.ids is None else one.ids for one in collections]
    rows = np.random.default_rng(0).permutation(len(sets))[:SAMPLE_SETS]
    with run.stage("plan"):
        plan = fit(sets.take(rows), len(sets), partial(element_ranks, sets))
    for line in plan.lines():
        run.say(line)

    def work(part: slice) -> Columns:
        indptr = sets.indptr[part.start : part.stop + 1]
        sizes = np.diff(indptr)
        return sizes, sizes, hash_rows(indptr, sets.elements), band_keys(plan, indptr, sets.elements)

    made = []
    with run.stage("sketch", len(sets)) as tick:
        for columns in run.map(work, slices(len(sets), SLICE)):
            made.append(columns)
            tick(len(columns[0]))
    return Collection(ids, plan, *_stack(made, plan), ReadySets(sets))


def band_keys(plan: Plan, indptr: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """One key a band for each row, which items have in common that `plan.bands.curve` makes candidates.

    No columns if the plan has no bands.
    """
    if plan.bands is None:
        return np.empty((len(indptr) - 1, 0), np.uint64)
    bands, rows, _ = plan.bands
    keys: np.ndarray = fold_bands(plan.functions(bands * rows).sketch(indptr, elements), bands, rows)
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
        return Sets.sorted(*self.shingles.hashes(*self._place(rows)), self.shingles.bag)

    def _place(self, rows: np.ndarray) -> tuple[pa.LargeStringArray, np.ndarray]:
        """The chunk that has one task's rows, and their places in it."""
        chunk = int(np.searchsorted(self.starts, rows[0], side="right")) - 1
        return self.chunks[chunk], rows - self.starts[chunk]

    def texts(self, rows: np.ndarray) -> list[str]:
        """The texts at ascending positions, as strings."""
        parts = (self._place(part) for part in self.tasks(rows))
        return [text for chunk, inside in parts for text in chunk.take(pa.array(inside)).to_pylist()]

    def explain(self, left: int, right: int) -> Explanation:
        """The shingles that two texts share or not."""
        return Explanation.of(self._readable(left), self._readable(right))

    def _readable(self, row: int) -> "set[str] | Counter[str]":
        return self.shingles.of_prepared(self.texts(np.array([row]))[0])


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


def _stack(made: list[Columns], plan: Plan) -> Columns:
    """The batches' columns, one after another."""
    bands = plan.bands.bands if plan.bands else 0
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2), np.uint64), np.zeros((0, bands), np.uint64))
    counts, lengths, contents, keys = (np.concatenate(arrays) for arrays in zip(none, *made, strict=True))
    return counts, lengths, contents, keys
