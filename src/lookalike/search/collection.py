"""Read a collection: ids, contents, band keys, and the sets of any of its items on request.

Texts stream through once: each batch is prepared, shingled and sketched while the next is read. Per
item, memory holds the text, a content hash of 16 bytes and 8 bytes per band; the shingle sets of
candidates are made again. With limited memory all of this is in files, and texts are read again.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, argument
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.core.shared import SharedStorage
from lookalike.core.storage import IN_MEMORY, Kinds, Storage
from lookalike.core.wording import counted
from lookalike.families import WeightedMinHash
from lookalike.io.documents import Source
from lookalike.io.tables import in_one
from lookalike.items.sets import Sets, hash_texts, hash_values, text_bounds
from lookalike.items.shingles import Rows, Shingles, as_array
from lookalike.items.sides import Sides
from lookalike.kernels.draws import draw_rows
from lookalike.kernels.hashing import mix
from lookalike.kernels.sets import hash_rows, sort_rows, take_rows
from lookalike.kernels.sketch import fold_bands
from lookalike.kernels.text import hash_contents
from lookalike.search.grouping import Grouping
from lookalike.search.identical import Contents, first_of
from lookalike.search.joins import element_ranks
from lookalike.search.needs import needs_of
from lookalike.search.plan import Effort, Plan
from lookalike.search.sampling import Sample, expected_effort, take_sample
from lookalike.search.sharing import sketch_in_pieces
from lookalike.search.weighing import NOTHING, PLAIN, Wanted, Weighing, learn

Fit = Callable[..., Plan]  # takes a sample, the number of items and, if known, the ranks of elements
SAMPLE_SETS = 4000
PIECE = 1 << 20  # bytes of text shingled and sketched at a time
SLICE = 1 << 14  # sets per task
TASKS = 256  # enough for all threads; each costs time on the thread that hands them out
PER_ITEM = 130  # bytes of memory per item if the arrays are in files
AGAIN = 1 << 12  # texts per task when they are read again


class Columns(NamedTuple):
    """The columns of some items of a `Collection`, with their keys in one array, items x bands."""

    counts: np.ndarray
    lengths: np.ndarray
    contents: np.ndarray
    keys: np.ndarray
    sketched: np.ndarray  # whether the counts and keys are there, not those of an identical item


@dataclass
class Collection:
    """Items with the data for later stages. An item without elements is similar to nothing."""

    ids: list[pa.Array]  # one array per collection
    plan: Plan
    counts: np.ndarray  # elements of each item, repeats included
    lengths: np.ndarray  # bytes of each text, or elements of each set
    contents: np.ndarray  # items x 2 hashes, equal exactly for identical items
    keys: list[np.ndarray]  # per band, the keys of all items
    maker: "Maker"
    storage: Storage
    draws: list[np.ndarray] = field(default_factory=list)  # how many elements were drawn from each item, and those
    grouping: Grouping | None = None  # if only pairs within groups count, or across them
    weighing: Weighing = PLAIN

    def drawn(self, rows: np.ndarray) -> Sets:
        """Return the elements drawn from the items at these positions."""
        sizes, elements = self.draws
        starts = np.cumsum(sizes) - sizes
        return Sets(*take_rows(starts[rows], sizes[rows], elements))

    @property
    def sides(self) -> Sides:
        """Which items belong to which collection, if there are two."""
        sides = Sides.of([len(ids) for ids in self.ids])
        return sides if self.grouping is None else replace(sides, groups=self.grouping.apart)

    def __len__(self) -> int:
        return len(self.counts)

    def sets(self, rows: np.ndarray, run: Run, name: str | None = None) -> Sets:
        """Return the sets at ascending positions; named ones are kept in the storage."""
        storage = self.storage if name is not None else Storage()
        kinds: Kinds = {"elements": np.dtype(np.uint64), "sizes": np.dtype(np.int64)}
        grown = storage.growing(name or "", kinds, {"elements": int(self.counts[rows].sum())})
        done = grown.done
        with run.stage("sets of candidates", len(rows)) as tick:
            tick(done)
            made = run.map(self.maker.make, self.maker.tasks(rows[done:], run))
            for now in grown.extend(_counted(made, done), run):
                tick(now - done)
                done = now
            elements, sizes = grown.finish(run)
            sets = Sets(np.concatenate(([0], np.cumsum(sizes))), elements)
            room = storage.empty(f"{name}.weights", len(elements), np.float64) if self.weighing.wanted.idf else None
            return self.weighing.weighed(sets, room, run)


def _counted(made: Iterable[Sets], done: int) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield the columns of sets, and how many rows are covered with them."""
    for part in made:
        done += len(part)
        yield done, [part.elements, part.sizes]


def take_in_texts(
    sources: list[Source],
    shingles: Shingles,
    fit: Fit,
    run: Run,
    storage: Storage,
    wanted: Wanted = NOTHING,
    grouping: Grouping | None = None,
) -> Collection:
    """Read, prepare, shingle and sketch one source or two; `fit` plans from an early sample.

    What is `wanted` to be known of shingles is learned first, from all texts.
    """
    with run.stage("plan"):
        sample = take_sample(sources, run)
        counts = [source.expected(texts) for source, texts in zip(sources, sample.texts, strict=True)]
        items = sum(counts)
    tables, weighing = _learn_from_texts(sources, shingles, sample, items, run, storage, wanted)
    with run.stage("plan"):
        size = items * sample.whole.nbytes / max(1, len(sample.whole))  # of all texts
        of_left = counts[0] * sample.texts[0].nbytes / max(1, len(sample.texts[0]))
        effort = expected_effort(sources, shingles, sample.whole, size, run)
        left = min(1.0, of_left / max(1.0, size)) if len(sources) > 1 else None
        sets = weighing.weighed(weighing.sets(shingles, shingles.prepare(sample.whole)))
        plan = fit(sets, items, effort=effort, places=sample.places, left=left)
        if plan.memory:
            plan = replace(plan, memory=plan.memory + size)
    for line in plan.lines():
        run.say(line)
    elements = items * len(sets.elements) / max(1, len(sets))
    run.planned(needs_of(plan, items, size, elements, len(weighing.elements), storage))

    def work(batch: tuple[int, int, pa.Table]) -> tuple[int, pa.Table, list[Chunk], list[np.ndarray]]:
        side, at, table = batch
        chunks, made, drawn = [], [], []
        for piece in pieces(in_one(table["text"])):
            texts = shingles.prepare(piece)
            columns, rows = sketch_texts(texts, shingles, plan, met, weighing, grouping, at)
            at += len(texts)
            chunks.append(Chunk(texts, Sets.sorted(*rows, shingles.bag) if side in joined else None, columns.sketched))
            made.append(columns)
            drawn.append(draw(plan, *rows))
        return side, table.select(["id"]), chunks, [*_joined(made), *_joined_draws(drawn)]

    met = Contents() if storage.held and plan.draws is None else None  # otherwise all texts are sketched
    joined: Container[int] = ()  # the collections whose sets are all needed
    if plan.exact and not plan.row.moves:
        joined = (0,) if plan.posts else (0, 1)
    chunks: list[Chunk] = []
    if storage.memory is not None and PER_ITEM * items > storage.memory:
        needed = f"{PER_ITEM} bytes of memory each, {PER_ITEM * items / 1e9:,.1f} GB in all"
        run.say(f"note: about {items:,} documents need {needed}, which is more than the limit")

    def grow() -> list[Any]:
        grown = storage.growing("documents", _kinds(plan) | dict.fromkeys(f"ids{side}" for side in range(len(sources))))
        done = grown.done
        if done:
            run.say(f"resuming: {counted(done, 'document')} already read")
        tick(done)
        batches = iter(()) if grown.complete else _placed(_without(tables(), done), done)
        for side, table, some, made in run.map(work, batches):
            ids = [table if at == side else table.slice(0, 0) for at in range(len(sources))]
            done += len(table)
            grown.append(done, [*made, *ids])
            chunks.extend(some if storage.held else [])
            tick(len(table))
        return grown.finish(run)

    def share() -> list[Any]:
        assert isinstance(storage, SharedStorage)
        storage.shards.agree("plan", plan.settings())
        return sketch_in_pieces(sources[0], _kinds(plan), lambda table: work((0, 0, table))[3], run, storage, tick)

    with run.stage("read and sketch", items) as tick:
        counts, lengths, contents, new, *rest = share() if isinstance(storage, SharedStorage) else grow()
        if grouping is not None:
            grouping.check(len(counts))
        contents = contents.reshape(-1, 2)
        keys, draws = (rest[: -len(sources)], []) if plan.draws is None else ([], rest[: -len(sources)])
        if not new.all():
            known = first_of(contents, new)
            run.each(lambda column: _copy_rows(column, known, ~new), [counts, *keys])
    ids = [
        unique_ids([table["id"] for table in tables if len(table)], "Source", run, storage)
        for tables in rest[-len(sources) :]
    ]
    ways = (shingles, weighing, grouping)
    maker: Maker = TextSets(chunks, *ways) if storage.held else SourceSets(sources, list(map(len, ids)), *ways)
    return Collection(ids, plan, counts, lengths, contents, keys, maker, storage, draws, grouping, weighing)


def _learn_from_texts(
    sources: list[Source],
    shingles: Shingles,
    sample: Sample,
    items: int,
    run: Run,
    storage: Storage,
    wanted: Wanted,
) -> tuple[Callable[[], Iterable[tuple[int, pa.Table]]], Weighing]:
    """Return a function that reads all texts, and what was learned of their shingles.

    Texts that stay in memory are read only once, and kept as soon as there is something to learn.
    """

    def tables() -> Iterator[tuple[int, pa.Table]]:
        return ((side, table) for side, source in enumerate(sources) for table in source.batches(run))

    if wanted == NOTHING:
        return tables, PLAIN
    read: Callable[[], Iterable[tuple[int, pa.Table]]] = tables
    if storage.held:
        with run.stage("read"):
            held = list(tables())
        read = held.__iter__

    def hashes(batch: tuple[int, pa.Table]) -> Rows:
        return shingles.hashes(shingles.prepare(in_one(batch[1]["text"])))

    some = len(shingles.hashes(shingles.prepare(sample.whole))[1])
    weighing = learn(wanted, read, hashes, items * some / max(1, len(sample.whole)), run, storage)
    for line in weighing.lines("document", "shingle"):
        run.say(line)
    return read, weighing


def _copy_rows(column: np.ndarray, known: np.ndarray, to: np.ndarray) -> None:
    column[to] = column[known]


def _without(batches: Iterable[tuple[int, pa.Table]], done: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the batches without the first `done` documents."""
    for side, table in batches:
        if done < len(table):
            yield side, table.slice(done)
        done = max(0, done - len(table))


def _placed(batches: Iterable[tuple[int, pa.Table]], done: int) -> Iterator[tuple[int, int, pa.Table]]:
    """Yield the batches with the place of their first document among all."""
    for side, table in batches:
        yield side, done, table
        done += len(table)


def pieces(texts: pa.LargeStringArray) -> list[pa.LargeStringArray]:
    """Cut texts into slices of about PIECE bytes, so that work stays in the processor's cache."""
    _, starts, _ = text_bounds(texts)
    first = np.flatnonzero(np.diff((starts - starts[:1]) // PIECE, prepend=-1))
    return [texts.slice(start, stop - start) for start, stop in pairwise([*first.tolist(), len(texts)])]


def sketch_texts(
    texts: pa.LargeStringArray,
    shingles: Shingles,
    plan: Plan,
    met: Contents | None = None,
    weighing: Weighing = PLAIN,
    grouping: Grouping | None = None,
    at: int = 0,
) -> tuple[Columns, Rows]:
    """Return the columns of prepared texts, and the shingles of those whose content is new.

    Only those are sketched. Only simhash, bags and weights need to sort out repeated shingles. `at` is
    the place of the first text among all items.
    """
    content, starts, stops = text_bounds(texts)
    contents = hash_contents(content, starts, stops)
    if grouping is not None:
        grouping.check(max(len(grouping.codes), at + len(texts)))
        contents ^= grouping.salts[at : at + len(texts), None]
    new = np.ones(len(texts), np.bool_) if met is None else met.add(contents)
    indptr, elements = rows = weighing.kept(shingles.hashes(texts, None if new.all() else np.flatnonzero(new)))
    if grouping is not None:
        grouping.scramble(at + np.flatnonzero(new), indptr, elements)
    if shingles.bag or plan.sketch == "simhash" or plan.weights is not None:
        indptr, elements = sort_rows(*rows, shingles.bag)
    made = band_keys(plan, indptr, elements, weighing.weights(elements))
    counts, keys = np.zeros(len(texts), np.int64), np.empty((len(texts), made.shape[1]), np.uint64)
    counts[new], keys[new] = np.diff(indptr), made
    return Columns(counts, stops - starts, contents, keys, new), rows


def take_in_sets(
    collections: list[Sets], fit: Fit, run: Run, wanted: Wanted = NOTHING, grouping: Grouping | None = None
) -> Collection:
    """Sketch one collection or two of given sets."""
    whole = Sets.concatenate(collections)
    parts = slices(len(whole), SLICE)
    weighing = learn(wanted, lambda: parts, partial(_rows_in, whole), len(whole.elements), run, Storage())
    for line in weighing.lines("set", "element"):
        run.say(line)
    sets = weighing.weighed(Sets(*weighing.kept((whole.indptr, whole.elements)), whole.bag), run=run)
    if grouping is not None:
        grouping.check(len(sets))
        sets = grouping.scrambled(sets)
    ids = [pa.array(np.arange(len(one))) if one.ids is None else one.ids for one in collections]
    rows = np.random.default_rng(0).permutation(len(sets))[:SAMPLE_SETS]
    with run.stage("plan"):
        plan = fit(
            sets.take(rows),
            len(sets),
            partial(element_ranks, sets, run),
            effort=Effort(threads=run.threads, waited=run.waited()),
            left=len(collections[0].elements) / max(1, len(sets.elements)) if len(collections) > 1 else None,
        )
    for line in plan.lines():
        run.say(line)

    def work(part: slice) -> list[np.ndarray]:
        indptr = sets.indptr[part.start : part.stop + 1]
        sizes = np.diff(indptr)
        keys = band_keys(plan, indptr, sets.elements, sets.weights)
        contents = hash_rows(indptr, sets.elements)
        if grouping is not None:
            contents ^= grouping.salts[part, None]
        made = Columns(sizes, sizes, contents, keys, np.ones(len(sizes), np.bool_))
        return [*_joined([made]), *_joined_draws([draw(plan, indptr, sets.elements)])]

    grown = Storage().growing("sets", _kinds(plan))
    with run.stage("sketch", len(sets)) as tick:
        for columns in run.map(work, slices(len(sets), SLICE)):
            grown.append(0, columns)
            tick(len(columns[0]))
        counts, lengths, contents, _, *rest = grown.finish(run)
    keys, draws = (rest, []) if plan.draws is None else ([], rest)
    maker = ReadySets(sets, collections)
    contents = contents.reshape(-1, 2)
    return Collection(ids, plan, counts, lengths, contents, keys, maker, Storage(), draws, grouping, weighing)


def _rows_in(sets: Sets, part: slice) -> Rows:
    """Return some rows."""
    indptr = sets.indptr[part.start : part.stop + 1]
    return indptr - indptr[0], sets.elements[indptr[0] : indptr[-1]]


def band_keys(plan: Plan, indptr: np.ndarray, elements: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return one key per band for each row; no columns if the plan has no bands.

    `weights` are those of the elements, if the plan has any. Items that share a key are candidates;
    `plan.bands.curve` gives the probability of that.
    """
    if plan.bands is None:
        return np.empty((len(indptr) - 1, 0), np.uint64)
    bands, rows, _ = plan.bands
    functions = plan.functions(bands * rows)
    if isinstance(functions, WeightedMinHash):
        signatures = functions.sketch(indptr, elements, weights)
    else:
        signatures = functions.sketch(indptr, elements)
    keys: np.ndarray = fold_bands(signatures, bands, rows)
    return keys


def draw(plan: Plan, indptr: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return how many elements are drawn from each row, and those; None if the plan draws none."""
    if plan.draws is None:
        return None
    starts, drawn = draw_rows(indptr, elements, plan.draws.size, np.uint64(mix(np.uint64(plan.seed))))
    return np.diff(starts), drawn


class Maker(ABC):
    """A maker of the sets of any items, one task at a time."""

    @abstractmethod
    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[Any]:
        """Yield tasks that make the sets of ascending rows, in order; `run` reads them, if needed."""

    @abstractmethod
    def make(self, task: Any) -> Sets:
        """Make the sets of one task's rows."""

    @abstractmethod
    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the items at ascending positions: texts, or collections of elements."""

    @abstractmethod
    def elements(self, item: Any) -> Iterable[Any]:
        """Return the elements of an item that `look` returned."""

    @abstractmethod
    def hashed(self, item: Any) -> tuple[Sequence[Any], np.ndarray]:
        """Return the same elements with their hashes; in a bag, with repeats."""

    def rows(self, task: Any) -> np.ndarray:
        """Return the rows of a task."""
        rows: np.ndarray = task
        return rows


class TextRows(NamedTuple):
    """Some texts of a collection: their rows, a batch with them, and their places in it."""

    rows: np.ndarray
    batch: pa.ChunkedArray
    places: np.ndarray

    def texts(self) -> pa.LargeStringArray:
        """Return the texts."""
        return self.batch.take(pa.array(self.places)).combine_chunks()


class Chunk(NamedTuple):
    """Some texts and, if all sets are needed, the sets of those with a new content."""

    texts: pa.LargeStringArray
    sets: Sets | None
    new: np.ndarray


class TextSets(Maker):
    """A maker of the shingle sets of texts in memory, some chunks of texts per task.

    Sets that were made before are handed out once, so that they do not fill memory.
    """

    def __init__(self, chunks: list[Chunk], shingles: Shingles, weighing: Weighing, grouping: Grouping | None = None):
        self.chunks = [chunk.texts for chunk in chunks]
        self.shingles, self.weighing, self.grouping = shingles, weighing, grouping
        self.starts = np.concatenate(([0], np.cumsum([len(texts) for texts in self.chunks], dtype=np.int64)))
        self.ready = {at: chunk for at, chunk in enumerate(chunks) if chunk.sets is not None}

    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[np.ndarray]:
        """Yield ascending rows, split where some chunks end."""
        return self._split(rows, 1 + len(self.chunks) // TASKS)

    def make(self, rows: np.ndarray) -> Sets:
        """Make the sets of one task's rows."""
        return Sets.concatenate(map(self._make_within, self._split(rows, 1)))

    def _split(self, rows: np.ndarray, step: int) -> Iterator[np.ndarray]:
        """Yield ascending rows, split after every `step` chunks."""
        return (part for part in np.split(rows, np.searchsorted(rows, self.starts[step::step])) if len(part))

    def _make_within(self, rows: np.ndarray) -> Sets:
        """Make the sets of rows that are in one chunk."""
        at, inside = self._place(rows)
        ready = self.ready.pop(at, None)
        if ready is not None and ready.sets is not None and ready.new[inside].all():
            return ready.sets.take(np.cumsum(ready.new)[inside] - 1)
        indptr, elements = self.weighing.kept(self.shingles.hashes(self.chunks[at], inside))
        if self.grouping is not None:
            self.grouping.scramble(rows, indptr, elements)
        return Sets.sorted(indptr, elements, self.shingles.bag)

    def _place(self, rows: np.ndarray) -> tuple[int, np.ndarray]:
        """Return the chunk that holds some rows, and their positions in it."""
        at = int(np.searchsorted(self.starts, rows[0], side="right")) - 1
        return at, rows - self.starts[at]

    def look(self, rows: np.ndarray) -> list[str]:
        """Return the texts at ascending positions, as strings."""
        parts = (self._place(part) for part in self._split(rows, 1))
        return [text for at, inside in parts for text in self.chunks[at].take(pa.array(inside)).to_pylist()]

    def elements(self, item: str) -> "set[str] | Counter[str]":
        """Return the shingles of a prepared text."""
        return self.shingles.of_prepared(item)

    def hashed(self, item: str) -> tuple[list[str], np.ndarray]:
        return _hashed_shingles(self.shingles, item)


class SourceSets(Maker):
    """A maker of the shingle sets of texts that are not in memory but read again, in order.

    `sizes` are the numbers of texts of the sources.
    """

    def __init__(
        self,
        sources: list[Source],
        sizes: list[int],
        shingles: Shingles,
        weighing: Weighing,
        grouping: Grouping | None = None,
    ):
        self.sources, self.sizes = sources, sizes
        self.shingles, self.weighing, self.grouping = shingles, weighing, grouping

    def of(self, source: Source, size: int) -> "SourceSets":
        """Return a maker of the same sets of the texts of another source, of which there are `size`."""
        return SourceSets([source], [size], self.shingles, self.weighing, self.grouping)

    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[TextRows]:
        before = 0
        for source, size in zip(self.sources, self.sizes, strict=True):
            here = rows[np.searchsorted(rows, before) : np.searchsorted(rows, before + size)]
            yield from self._tasks_in(source, before, here, run)
            before += size

    def _tasks_in(self, source: Source, first: int, rows: np.ndarray, run: Run) -> Iterator[TextRows]:
        """Yield tasks for rows of one source, whose first text is the row `first`."""
        for table in source.batches(run) if len(rows) else ():
            here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + len(table))]
            for part in slices(len(here), AGAIN):
                yield TextRows(here[part], table["text"], here[part] - first)
            first += len(table)
            if first > rows[-1]:
                return

    def make(self, task: TextRows) -> Sets:
        indptr, elements = self.weighing.kept(self.shingles.hashes(self.shingles.prepare(task.texts())))
        if self.grouping is not None:
            self.grouping.scramble(task.rows, indptr, elements)
        return Sets.sorted(indptr, elements, self.shingles.bag)

    def rows(self, task: TextRows) -> np.ndarray:
        return task.rows

    def look(self, rows: np.ndarray) -> list[str]:
        return [text for task in self.tasks(rows) for text in task.texts().to_pylist()]

    def elements(self, item: str) -> "set[str] | Counter[str]":
        return self.shingles.of(item)

    def hashed(self, item: str) -> tuple[list[str], np.ndarray]:
        return _hashed_shingles(self.shingles, item)


class ReadySets(Maker):
    """A maker for items that were given as sets."""

    def __init__(self, sets: Sets, parts: list[Sets]):
        self.sets = sets  # of all collections
        self.parts = parts  # the one or two collections
        self.starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]

    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[np.ndarray]:
        """Yield slices of the rows."""
        return (rows[part] for part in slices(len(rows), SLICE))

    def make(self, rows: np.ndarray) -> Sets:
        """Return the sets of one task's rows."""
        return self.sets.take(rows)

    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the elements as they were given, or their hashes if only those are known."""
        cuts = np.searchsorted(rows, self.starts)
        return [
            item
            for part, rows_of, start in zip(self.parts, np.split(rows, cuts[1:]), self.starts, strict=True)
            for item in (part.named or part.hashes)(rows_of - start)
        ]

    def elements(self, item: Iterable[Any]) -> Iterable[Any]:
        return item

    def hashed(self, item: Iterable[Any]) -> tuple[list[Any], np.ndarray]:
        elements = list(item)
        if self.parts[0].named is None:  # they are hashes
            return elements, np.array(elements, np.uint64)
        return elements, hash_values(elements)


def _hashed_shingles(shingles: Shingles, text: str) -> tuple[list[str], np.ndarray]:
    """Return the shingles of a text, in order, with their hashes."""
    _, hashes = shingles.hashes(shingles.prepare(as_array([text])))
    return shingles.in_order(text), hashes


def unique_ids(
    ids: list[pa.ChunkedArray], of: str = "", run: Run = ONE_THREAD, storage: Storage = IN_MEMORY
) -> pa.Array:
    """Return all ids in one array; a repeated id is an error, since results name items by id.

    In Python, `of` names the class that has the parameter `id`: see `argument`.
    """
    kinds = {array.type for array in ids}
    if len(kinds) > 1:  # one file numbers its rows or has integers, another has strings
        ids = [array.cast(pa.string()) for array in ids]
    chunks = [chunk for array in ids for chunk in array.chunks]
    whole = pa.chunked_array(chunks, type=ids[0].type if ids else pa.int64()).combine_chunks()
    (found,) = storage.once("repeated", lambda: (repeated(whole, run),))
    if len(found):
        twice = int(found[0])
        raise DataError(
            f"ids must be unique; {whole[twice].as_py()!r} occurs more than once. "
            f"Name another column with {argument('id', of=of)}, or number the rows with {argument('id', '-', of)}."
        )
    return whole


def repeated(ids: pa.Array, run: Run = ONE_THREAD) -> np.ndarray:
    """Return the position of a repeated id, if there is one; sorted numbers or hashes take little memory."""
    none = np.empty(0, np.int64)
    if pa.types.is_integer(ids.type):
        keys = ids.to_numpy(zero_copy_only=False).astype(np.uint64)
        order = np.sort(keys)
        same = order[1:][order[1:] == order[:-1]]
        return np.flatnonzero(keys == same[0])[1:2] if len(same) else none
    texts = ids.cast(pa.large_string())
    parts = (texts.slice(part.start, part.stop - part.start) for part in slices(len(texts), SLICE))
    keys = np.concatenate([np.empty(0, np.uint64), *run.map(hash_texts, parts)])
    order = np.sort(keys)
    for key in np.unique(order[1:][order[1:] == order[:-1]]):  # few, since different ids rarely share a hash
        seen: set[str] = set()
        for place in np.flatnonzero(keys == key).tolist():
            text = texts[place].as_py()
            if text in seen:
                return np.array([place])
            seen.add(text)
    return none


def _kinds(plan: Plan) -> Kinds:
    """Return the columns of a collection, and the types of their numbers."""
    bands = plan.bands.bands if plan.bands else 0
    whole, hashes = np.dtype(np.int64), np.dtype(np.uint64)
    columns = {"counts": whole, "lengths": whole, "contents": hashes, "sketched": np.dtype(np.bool_)}
    if plan.draws is not None:
        return {**columns, "drawn": whole, "draws": hashes}
    return {**columns, **{f"keys{band}": hashes for band in range(bands)}}


def _joined(made: list[Columns]) -> list[np.ndarray]:
    """Concatenate the columns of some pieces: the contents in one row, the keys band by band."""
    counts, lengths, contents, keys, sketched = (np.concatenate(arrays) for arrays in zip(*made, strict=True))
    return [counts, lengths, contents.ravel(), sketched, *np.ascontiguousarray(keys.T)]


def _joined_draws(parts: list[tuple[np.ndarray, np.ndarray] | None]) -> list[np.ndarray]:
    """Concatenate the draws of some pieces, if there are any."""
    drawn = [part for part in parts if part is not None]
    return [np.concatenate(arrays) for arrays in zip(*drawn, strict=True)]
