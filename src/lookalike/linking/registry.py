"""Keep resolved records in an index, and give new records the clusters of those that they match.

New records are resolved together with the records of the index that are similar to them, and with
all other records of the clusters of these, by the model that the index keeps. So a pair has the
probability that it had, or would have had, when the index was built. The clusters of the index stay
together; a new record joins one, or becomes a new one, or joins several, if all that is known about
them speaks for it: see `entities.grouping`.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from lookalike.core.errors import AlreadyThere, DataError, StoreError, UsageError, argument, remedy
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.entities.fields import Field, as_texts
from lookalike.entities.models import ResolveModel
from lookalike.entities.pipeline import normalise_fields
from lookalike.entities.reading import RecordTables, read
from lookalike.entities.resolution import Resolution
from lookalike.index import Index
from lookalike.index.batches import as_id, same_type
from lookalike.index.records import Id
from lookalike.index.store import NoIndex, building
from lookalike.index.tables import Reader
from lookalike.index.writing import Writer
from lookalike.linking import shelf
from lookalike.linking.linked import LinkedRecords
from lookalike.linking.lookup import RECALL, THRESHOLD, items_of, similar_records
from lookalike.linking.shelf import StoredRecord
from lookalike.linking.working import WorkingSet, compared, groups_of

KIND = "records"


class RecordIndex:
    """An index of records that were resolved, to which new records are linked.

    >>> from tempfile import mkdtemp
    >>> import lookalike as la
    >>> people = [{"id": "a", "name": "Ann Lee", "town": "Ansel"}, {"id": "b", "name": "Bob Ray", "town": "Orm"}]
    >>> found = la.entities.resolve(people, fields=["name=name", "town"])
    >>> index = la.linking.RecordIndex.build(Path(mkdtemp()) / "people.index", found)
    >>> index.link([{"id": "c", "name": "Cyd Fox", "town": "Orm"}], update=True)
    <1 record linked: 0 to known clusters, 1 new cluster>
    >>> len(index), index.cluster_of("c")
    (3, 'c')
    >>> index.close()
    """

    def __init__(self, index: Index, model: ResolveModel, cut_off: float, id: str) -> None:
        self.index, self.model, self.cut_off, self.id = index, model, cut_off, id

    @classmethod
    def build(cls, path: str | Path, found: Resolution, *, run: Run | None = None) -> "RecordIndex":
        """Build an index of the records of one table; it appears complete or not at all.

        Args:
            path: the folder of the index, which must not exist yet.
            found: the result of `resolve`; its clusters and what it learned are kept.
            run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

        Returns:
            The index, open for writing.
        """
        run = run or Run()
        check_built(found)
        model, tables = found.model(), found.tables
        label = found.clusters().label
        clusters = groups_of(label, range(len(label)))
        ids, every = ids_of(tables.ids[0]), values_of(tables, model.fields)
        stored = [StoredRecord(*one) for one in zip(ids, label.tolist(), every, strict=True)]
        facts = {"cut_off": float(found.cut_off), "id": tables.id_columns[0]}
        items, numbers = items_of(found.columns, 0, run)

        def also(writer: Writer) -> None:
            shelf.put_settings(writer, model.to_json(), facts)
            shelf.put_records(writer, 0, stored)
            for cluster in clusters:
                shelf.put_cluster(writer, cluster)

        seed, notes = model.settings["seed"], {"kind": KIND}
        how: dict[str, Any] = {"threshold": THRESHOLD, "recall": RECALL, "seed": seed, "notes": notes}
        with building(Path(path)) as place, Index.create(place, **how) as index:
            index.add(items, numbers.tolist(), also=also, run=run)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> "RecordIndex":
        """Open an existing index of records."""
        how = "RecordIndex.build", "`lookalike resolve --to-index`"
        try:
            index = Index.open(path, read_only=read_only)
        except NoIndex:
            raise NoIndex(Path(path), *how) from None
        try:
            kind = index.settings["notes"].get("kind", "documents")
            if kind != KIND:
                raise DataError(f"{path}: the index holds {kind}, not records; build one with {remedy(*how)}.")
            with index.store.reading() as reader:
                model, facts = shelf.settings(reader)
            return cls(index, ResolveModel.of_json(model, str(path)), facts["cut_off"], facts["id"])
        except BaseException:
            index.close()
            raise

    def close(self) -> None:
        """Close the files."""
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RecordIndex of {counted(len(self), 'record')}, in {self.index.store.path}>"

    def __len__(self) -> int:
        with self.index.store.reading() as reader:
            return shelf.count(reader)

    def cluster_of(self, id: Id) -> Id:
        """Return the id of the cluster of a record now; that of a replaced cluster gives the one it belongs to."""
        with self.index.store.reading() as reader:
            number = shelf.number_of(reader, id)
            if number is None:
                raise DataError(f"there is no record {id!r} in the index.")
            return shelf.record(reader, shelf.record(reader, number).cluster).id

    def to_arrow(self) -> pa.Table:
        """Return one row per record, in the order in which they were added: `id` and `cluster`."""
        with self.index.store.reading() as reader:
            every = list(shelf.records(reader))
        clusters = [every[one.cluster].id for one in every]
        return pa.table({"id": same_type([one.id for one in every]), "cluster": same_type(clusters)})

    # --- link ---

    def link(
        self, records: Any, *, id: str | None = None, update: bool = False, run: Run | None = None
    ) -> LinkedRecords:
        """Find the clusters of new records; with `update`, add them: all of them, or none if something fails.

        Args:
            records: a table, a data frame, a list of dictionaries or a path, with the columns that were
                compared when the index was built.
            id: the id column; by default that of the first table, or `id`.
            update: whether to add the records. The same records again get the same answer, and change
                nothing; an id that is in the index is an error otherwise.
            run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

        Returns:
            `LinkedRecords`: iterate over (id, cluster).
        """
        run = run or Run()
        tables = read(records, None, id or self.id, run)
        check_named(tables)
        columns = normalise_fields(tables, one_sided(self.model.fields), run, self.model)
        ids, values = ids_of(tables.ids[0]), values_of(tables, self.model.fields)
        key = digest_of(ids, values)
        items, numbers = items_of(columns, 0, run)
        while True:
            with self.index.store.reading() as reader:
                before = next(reader.batch(key), None)
                if before is not None:
                    return unpacked(before)
                check_new(reader, ids)
                size = shelf.count(reader)
            similar = similar_records(self.index, columns, run)
            with self.index.store.reading() as reader:
                if shelf.count(reader) != size:
                    continue  # another process has added records meanwhile
                old = with_clusters(reader, similar)
                stored = [shelf.record(reader, number) for number in old]
            work = WorkingSet(old, stored, ids, values, size)
            linked, clusters = work.link(self.model, self.cut_off, run)
            if not update:
                return linked
            linked = replace(linked, updated=True)
            also = partial(write, size=size, key=key, work=work, clusters=clusters, linked=linked)
            try:
                self.index.add(items, (numbers + size * (len(columns) + 1)).tolist(), also=also, run=run)
            except Changed:
                continue
            return linked


class Changed(StoreError):
    """Another process has added records since these were linked."""


def write(
    writer: Writer, *, size: int, key: bytes, work: WorkingSet, clusters: list[list[int]], linked: LinkedRecords
) -> None:
    """Save new records, the clusters that they changed, and the answer for the same records again."""
    if shelf.count(writer) != size:
        raise Changed("another process has added records meanwhile.")
    fresh = [
        StoredRecord(id, size + row, some) for row, (id, some) in enumerate(zip(work.ids, work.values, strict=True))
    ]
    shelf.put_records(writer, size, fresh)
    for cluster in clusters:
        shelf.put_cluster(writer, cluster)
    writer.put_batch(key, 0, packed(linked))


# --- records ---


def one_sided(fields: Sequence[Field]) -> list[Field]:
    """Return fields of one table."""
    return [replace(one, right=one.left) for one in fields]


def values_of(tables: RecordTables, fields: Sequence[Field]) -> list[list[str | None]]:
    """Return the compared values of each record as texts."""
    kinds = {one.left: one for one in fields}
    columns = [as_texts(tables.columns(kinds[name])[0], kinds[name].kind).to_pylist() for name in compared(fields)]
    return [list(row) for row in zip(*columns, strict=True)]


def ids_of(ids: pa.Array) -> list[Id]:
    """Return ids as an index can hold them."""
    return [as_id(one) for one in ids.to_pylist()]


def check_built(found: Resolution) -> None:
    """Raise an error if a result cannot be kept in an index."""
    if found.tables.sides.two:
        raise UsageError("an index of records is built from one table; got two. Put them into one first.")
    check_named(found.tables)
    if found.model().settings["max_lag"] is not None:
        raise UsageError("max_lag cannot be used with an index of records, which keeps only the compared columns.")


def check_named(tables: RecordTables) -> None:
    """Raise an error unless the records have ids of their own."""
    if not tables.id_columns[0]:
        have = ", ".join(tables.tables[0].schema.names) or "none"
        raise UsageError(
            f"records of an index need ids that stay the same: name their column with {argument('id')}; the "
            f"{tables.names[0]} has {have}."
        )


def check_new(reader: Reader, ids: Sequence[Id]) -> None:
    """Raise an error if the index has a record with one of these ids."""
    for one in ids:
        if shelf.number_of(reader, one) is not None:
            raise AlreadyThere(f"id {one!r} is already in the index; leave out records that were added before.")


def with_clusters(reader: Reader, numbers: np.ndarray) -> list[int]:
    """Return these records and all others of their clusters, ascending."""
    clusters = {shelf.record(reader, number).cluster for number in numbers.tolist()}
    return sorted(number for cluster in clusters for number in shelf.members(reader, cluster))


# --- the same records again ---


def digest_of(ids: list[Id], values: list[list[str | None]]) -> bytes:
    """Return a digest of records."""
    return blake2b(json.dumps([ids, values]).encode(), digest_size=32).digest()


def packed(linked: LinkedRecords) -> bytes:
    """Return an answer as bytes."""
    probability = [None if np.isnan(one) else one for one in linked.probability.tolist()]
    replaced = [*linked.replaced.items()]
    facts = [linked.ids, linked.clusters, linked.matches, probability, linked.known, replaced]
    return zlib.compress(json.dumps(facts).encode())


def unpacked(record: bytes) -> LinkedRecords:
    """Return the answer that `packed` made these bytes from."""
    ids, clusters, matches, probability, known, replaced = json.loads(zlib.decompress(record))
    values = np.array(probability, float)
    return LinkedRecords(ids, clusters, matches, values, known, dict(replaced), updated=True, repeated=True)
