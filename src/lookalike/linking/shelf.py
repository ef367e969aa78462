"""Keep records and their clusters with the items of an index, as entries attached to it.

record N     the id, the cluster and the compared values of record number N, in JSON
id ID        the number of the record with this id, as text
members N    the numbers of the records of cluster N, if there are several
model        what `resolve` learned, in JSON
settings     the cut-off of matches, in JSON
count        how many records there are; the next one gets this number

A cluster is named by its oldest record: cluster N has record N, and no record with a lower number.
"""

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from lookalike.core.errors import StoreError
from lookalike.index.records import Id, intact, pack_id
from lookalike.index.tables import Reader
from lookalike.index.writing import Writer

RECORD, ID, MEMBERS, MODEL, SETTINGS, COUNT = b"record ", b"id ", b"members ", b"model", b"settings", b"count"


class StoredRecord(NamedTuple):
    """A record in the index."""

    id: Id
    cluster: int  # the number of the oldest record of its cluster
    values: list[str | None]  # of the compared columns, as they were read


def key_of(number: int) -> bytes:
    """Return a number as bytes that sort in the same order."""
    return number.to_bytes(8, "big")


def count(reader: Reader) -> int:
    """Return how many records there are."""
    return int.from_bytes(reader.attached(COUNT) or b"", "big")


def number_of(reader: Reader, id: Id) -> int | None:
    """Return the number of the record with this id, compared as text, or None."""
    found = reader.attached(ID + pack_id(str(id)))
    return None if found is None else int.from_bytes(found, "big")


@intact("a record")
def record(reader: Reader, number: int) -> StoredRecord:
    """Return the record with this number."""
    found = reader.attached(RECORD + key_of(number))
    if found is None:
        raise ValueError(f"number {number} is missing")
    return StoredRecord(*json.loads(found))


def records(reader: Reader) -> Iterator[StoredRecord]:
    """Yield all records in the order in which they were added."""
    for number in range(count(reader)):
        yield record(reader, number)


@intact("a cluster")
def members(reader: Reader, cluster: int) -> list[int]:
    """Return the numbers of the records of a cluster, ascending."""
    found = reader.attached(MEMBERS + key_of(cluster))
    return [cluster] if found is None else [int(number) for number in json.loads(found)]


def put_records(writer: Writer, first: int, given: Iterable[StoredRecord]) -> None:
    """Save new records, which have the numbers from `first` on."""
    number = first
    for one in given:
        writer.attach(RECORD + key_of(number), json.dumps(one).encode())
        writer.attach(ID + pack_id(str(one.id)), key_of(number))
        number += 1
    writer.attach(COUNT, key_of(number))


def put_cluster(writer: Writer, numbers: list[int]) -> None:
    """Save the records of a cluster, ascending; clusters of these records that are not the first one's vanish."""
    cluster = numbers[0]
    for number in numbers:
        one = record(writer, number)
        if one.cluster != cluster:
            writer.attach(RECORD + key_of(number), json.dumps(one._replace(cluster=cluster)).encode())
        if number != cluster:
            writer.attach(MEMBERS + key_of(number), None)
    writer.attach(MEMBERS + key_of(cluster), json.dumps(numbers).encode())


def put_settings(writer: Writer, model: dict[str, Any], settings: dict[str, Any]) -> None:
    """Save the model and the settings."""
    writer.attach(MODEL, zlib.compress(json.dumps(model).encode()))
    writer.attach(SETTINGS, json.dumps(settings).encode())


@intact("the model")
def settings(reader: Reader) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the model and the settings."""
    model, found = reader.attached(MODEL), reader.attached(SETTINGS)
    if model is None or found is None:
        raise StoreError("the index has no model; build it again.")
    return json.loads(zlib.decompress(model)), json.loads(found)
