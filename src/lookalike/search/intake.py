"""Read a collection: plan from a sample, then sketch all items.

Texts stream through once: each batch is prepared, shingled and sketched while the next is read. Per
item, memory holds the text, a content hash of 16 bytes and 8 bytes per band; the shingle sets of
candidates are made again. With limited memory all of this is in files, and texts are read again.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run, Tick, slices
from lookalike.core.shared import SharedStorage
from lookalike.core.storage import Storage
from lookalike.core.wording import counted
from lookalike.io.documents import Source
from lookalike.io.tables import in_one
from lookalike.items.sets import Sets
from lookalike.items.shingles import Rows, Shingles
from lookalike.kernels.sets import hash_rows
from lookalike.search.collection import Collection
from lookalike.search.effort import Effort
from lookalike.search.grouping import Grouping
from lookalike.search.identical import Contents, first_of
from lookalike.search.ids import unique_ids
from lookalike.search.joins import element_ranks
from lookalike.search.makers import SLICE, Chunk, Maker, ReadySets, SourceSets, TextSets
from lookalike.search.needs import needs_of
from lookalike.search.plan import Plan
from lookalike.search.sampling import Sample, expected_effort, take_sample
from lookalike.search.sharing import sketch_in_pieces
from lookalike.search.sketching import (
    Columns,
    band_keys,
    draw,
    joined_columns,
    joined_draws,
    kinds_of,
    pieces,
    sketch_texts,
)
from lookalike.search.weighing import NOTHING, PLAIN, Wanted, Weighing, learn

Fit = Callable[..., Plan]  # takes a sample, the number of items and, if known, the ranks of elements
Batches = Callable[[], Iterable[tuple[int, pa.Table]]]  # reads texts and ids, each with the number of its collection
SAMPLE_SETS = 4000
PER_ITEM = 130  # bytes of memory per item if the arrays are in files


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
    read, weighing = _learn_from_texts(sources, shingles, sample, items, run, storage, wanted)
    plan = _plan_texts(sources, shingles, fit, sample, counts, weighing, run, storage)
    sketcher = TextSketcher.of(shingles, plan, weighing, grouping, storage)
    chunks: list[Chunk] = []
    with run.stage("read and sketch", items) as tick:
        if isinstance(storage, SharedStorage):
            storage.shards.agree("plan", plan.settings())
            found = sketch_in_pieces(sources[0], kinds_of(plan), sketcher.columns, run, storage, tick)
        else:
            found = _sketch(read, len(sources), sketcher, chunks, run, storage, tick)
        known, lengths, contents, new, *rest = found
        if grouping is not None:
            grouping.check(len(known))
        contents = contents.reshape(-1, 2)
        made, tables = rest[: -len(sources)], rest[-len(sources) :]
        keys, draws = (made, []) if plan.draws is None else ([], made)
        if not new.all():
            alike = first_of(contents, new)
            run.each(lambda column: _copy_rows(column, alike, ~new), [known, *keys])
    ids = [unique_ids([table["id"] for table in each if len(table)], "Source", run, storage) for each in tables]
    ways = (shingles, weighing, grouping)
    maker: Maker = TextSets(chunks, *ways) if storage.held else SourceSets(sources, list(map(len, ids)), *ways)
    return Collection(ids, plan, known, lengths, contents, keys, maker, storage, draws, grouping, weighing)


def _plan_texts(
    sources: list[Source],
    shingles: Shingles,
    fit: Fit,
    sample: Sample,
    counts: list[int],
    weighing: Weighing,
    run: Run,
    storage: Storage,
) -> Plan:
    """Plan from the sample, and say so; `counts` are the expected numbers of texts of the sources."""
    items = sum(counts)
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
    if storage.memory is not None and PER_ITEM * items > storage.memory:
        needed = f"{PER_ITEM} bytes of memory each, {PER_ITEM * items / 1e9:,.1f} GB in all"
        run.say(f"note: about {items:,} documents need {needed}, which is more than the limit")
    return plan


@dataclass(frozen=True)
class TextSketcher:
    """Sketches batches of texts, in threads."""

    shingles: Shingles
    plan: Plan
    weighing: Weighing
    grouping: Grouping | None
    met: Contents | None  # those sketched so far; None if all texts are sketched, also identical ones
    joined: Container[int]  # the collections whose sets are all needed, and so kept

    @classmethod
    def of(
        cls, shingles: Shingles, plan: Plan, weighing: Weighing, grouping: Grouping | None, storage: Storage
    ) -> "TextSketcher":
        """Return one for a plan; what it keeps depends on where the texts are held."""
        joined: Container[int] = ()
        if plan.exact and not plan.row.moves:
            joined = (0,) if plan.posts else (0, 1)
        met = Contents() if storage.held and plan.draws is None else None
        return cls(shingles, plan, weighing, grouping, met, joined)

    def sketch(self, texts: pa.LargeStringArray, side: int, at: int) -> tuple[list[np.ndarray], list[Chunk]]:
        """Return the columns of texts, and the texts in chunks; `at` is the place of the first among all texts."""
        chunks, made, drawn = [], [], []
        for piece in pieces(texts):
            prepared = self.shingles.prepare(piece)
            columns, rows = sketch_texts(prepared, self.shingles, self.plan, self.met, self.weighing, self.grouping, at)
            at += len(prepared)
            sets = Sets.sorted(*rows, self.shingles.bag) if side in self.joined else None
            chunks.append(Chunk(prepared, sets, columns.sketched))
            made.append(columns)
            drawn.append(draw(self.plan, *rows))
        return [*joined_columns(made), *joined_draws(drawn)], chunks

    def columns(self, table: pa.Table) -> list[np.ndarray]:
        """Return the columns of a batch of texts, without regard to its place."""
        return self.sketch(in_one(table["text"]), 0, 0)[0]


def _sketch(
    read: Batches, sides: int, sketcher: TextSketcher, chunks: list[Chunk], run: Run, storage: Storage, tick: Tick
) -> list[Any]:
    """Return the columns of all texts, and the tables of ids of each side; append the texts to `chunks` if held."""

    def work(batch: tuple[int, int, pa.Table]) -> tuple[int, pa.Table, list[np.ndarray], list[Chunk]]:
        side, at, table = batch
        return side, table.select(["id"]), *sketcher.sketch(in_one(table["text"]), side, at)

    grown = storage.growing("documents", kinds_of(sketcher.plan) | {f"ids{side}": None for side in range(sides)})
    done = grown.done
    if done:
        run.say(f"resuming: {counted(done, 'document')} already read")
    tick(done)
    batches = iter(()) if grown.complete else _placed(_without(read(), done), done)
    for side, table, columns, some in run.map(work, batches):
        ids = [table if at == side else table.slice(0, 0) for at in range(sides)]
        done += len(table)
        grown.append(done, [*columns, *ids])
        chunks.extend(some if storage.held else [])
        tick(len(table))
    return grown.finish(run)


def _learn_from_texts(
    sources: list[Source],
    shingles: Shingles,
    sample: Sample,
    items: int,
    run: Run,
    storage: Storage,
    wanted: Wanted,
) -> tuple[Batches, Weighing]:
    """Return a function that reads all texts, and what was learned of their shingles.

    Texts that stay in memory are read only once, and kept as soon as there is something to learn.
    """

    def tables() -> Iterator[tuple[int, pa.Table]]:
        return ((side, table) for side, source in enumerate(sources) for table in source.batches(run))

    if wanted == NOTHING:
        return tables, PLAIN
    read: Batches = tables
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
        return [*joined_columns([made]), *joined_draws([draw(plan, indptr, sets.elements)])]

    grown = Storage().growing("sets", kinds_of(plan))
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
