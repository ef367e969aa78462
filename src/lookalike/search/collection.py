"""Read a collection: ids, contents, band keys, and the sets of any of its items on request.

Texts stream through once: each batch is prepared, shingled and sketched while the next is read. Per
item, memory holds the text, a content hash of 16 bytes and 8 bytes per band; the shingle sets of
candidates are made again. With limited memory all of this is in files, and texts are read again.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run, Tick, slices
from lookalike.core.shared import SharedStorage
from lookalike.core.storage import Kinds, Storage
from lookalike.core.wording import counted
from lookalike.families import WeightedMinHash
from lookalike.io.documents import Source
from lookalike.io.tables import in_one
from lookalike.items.sets import Sets, text_bounds
from lookalike.items.shingles import Rows, Shingles
from lookalike.items.sides import Sides
from lookalike.kernels.draws import draw_rows
from lookalike.kernels.hashing import mix
from lookalike.kernels.sets import hash_rows, sort_rows, take_rows
from lookalike.kernels.sketch import fold_bands
from lookalike.kernels.text import hash_contents
from lookalike.search.grouping import Grouping
from lookalike.search.identical import Contents, first_of
from lookalike.search.ids import unique_ids
from lookalike.search.joins import element_ranks
from lookalike.search.makers import SLICE, Chunk, Maker, ReadySets, SourceSets, TextSets
from lookalike.search.needs import needs_of
from lookalike.search.plan import Effort, Plan
from lookalike.search.sampling import Sample, expected_effort, take_sample
from lookalike.search.sharing import sets_in_pieces, sketch_in_pieces
from lookalike.search.weighing import NOTHING, PLAIN, Wanted, Weighing, learn

Fit = Callable[..., Plan]  # takes a sample, the number of items and, if known, the ranks of elements
SAMPLE_SETS = 4000
PIECE = 1 << 20  # bytes of text shingled and sketched at a time
PER_ITEM = 130  # bytes of memory per item if the arrays are in files


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
    maker: Maker
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
        with run.stage("sets of candidates", len(rows)) as tick:
            if isinstance(storage, SharedStorage):
                assert isinstance(self.maker, SourceSets)
                sets = sets_in_pieces(self.maker, rows, name or "", run, storage, tick)
            else:
                sets = self._grown_sets(rows, name or "", run, storage, tick)
            room = (
                storage.empty(f"{name}.weights", len(sets.elements), np.float64) if self.weighing.wanted.idf else None
            )
            return self.weighing.weighed(sets, room, run)

    def _grown_sets(self, rows: np.ndarray, name: str, run: Run, storage: Storage, tick: Tick) -> Sets:
        """Return the sets at ascending positions, of which an earlier run can have made some."""
        kinds: Kinds = {"elements": np.dtype(np.uint64), "sizes": np.dtype(np.int64)}
        grown = storage.growing(name, kinds, {"elements": int(self.counts[rows].sum())})
        done = grown.done
        tick(done)
        made = run.map(self.maker.make, self.maker.tasks(rows[done:], run))
        for now in grown.extend(_counted(made, done), run):
            tick(now - done)
            done = now
        elements, sizes = grown.finish(run)
        return Sets(np.concatenate(([0], np.cumsum(sizes))), elements)


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
