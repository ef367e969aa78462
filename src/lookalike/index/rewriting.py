"""Write an index anew, in order and without gaps, and in the present format if it has an older one.

Items keep their numbers, so that the order in which they were added, and the records of batches,
stay as they are.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.index.codings import SetCoding, coding_of
from lookalike.index.entries import entries_of, salt_of
from lookalike.index.kept import SWEPT
from lookalike.index.old import OldReader
from lookalike.index.postings import FOLDS
from lookalike.index.tables import FORMAT, POSTINGS, Reader, Writer
from lookalike.index.texts import SAMPLED, Phrasebook

STEP = 1000  # items that are encoded again at a time


def rewrite(reader: Reader, writer: Writer, run: Run) -> None:
    """Write all that a reader reads."""
    _copy_facts(reader, writer)
    if isinstance(reader, OldReader):
        _upgrade(reader, writer, run)
        return
    writer.kept.extend(reader.kept.since())
    for name in POSTINGS:
        writer.postings(name).load(reader.postings(name).slices(), run)


def catch_up(before: Reader, now: Reader, writer: Writer, run: Run) -> None:
    """Make the changes that were made to an index since it was written anew from the reader `before`."""
    settings = now.settings()
    assert settings is not None
    if settings["coding"] is not None:
        coding, first = coding_of(settings["coding"]), before.next_number()
        for number in _missing(before.numbers(), now.numbers()):
            item = before.item(number)
            writer.remove(item, coding.again([item.payload]).keys[0])
        items = now.items(first)
        while some := list(islice(items, STEP)):
            encoded = coding.again([item.payload for item in some])
            payloads = pa.array([bytes(item.payload) for item in some], pa.large_binary())
            entries = entries_of([item.id for item in some], encoded, payloads, writer.salt)
            writer.add_numbered([entries], np.array([item.number for item in some], np.uint64), run)
        writer.settle(run, 1)
    _copy_facts(now, writer)


def _missing(before: Iterator[int], now: Iterator[int]) -> Iterator[int]:
    """Yield the numbers that are missing now; both ascend."""
    other = next(now, None)
    for number in before:
        while other is not None and other < number:
            other = next(now, None)
        if other != number:
            yield number


def _copy_facts(reader: Reader, writer: Writer) -> None:
    """Copy the settings, counts, records of batches and attached entries; remove those that are gone."""
    for key in [key for key, _ in _facts(writer) if reader.txn.get(key) is None]:
        writer.txn.delete(key)
    for key, value in _facts(reader):
        writer.txn.put(key, bytes(value))


def _facts(reader: Reader) -> Iterator[tuple[bytes, Any]]:
    """Yield what is in no table."""
    tables = {name.encode() for name in reader.tables}
    for key, value in reader.txn.cursor():
        if bytes(key) not in {*tables, SWEPT} and not bytes(key).startswith(FOLDS):
            yield bytes(key), value


def _upgrade(reader: OldReader, writer: Writer, run: Run) -> None:
    """Write the items of an older format; they keep their numbers and buckets."""
    settings = reader.settings()
    assert settings is not None
    writer.put_salt(salt_of(settings["wanted"]["seed"]))
    if settings["coding"] is not None:
        old = new = coding_of(settings["coding"])
        texts = settings["store_text"] and old.kind == "texts"
        if isinstance(old, SetCoding):
            sample = pa.array(_sample(reader, old), pa.large_string()) if texts else None
            new = old.renewed(None if sample is None else Phrasebook.learned(sample))
        items = reader.items()
        while some := list(islice(items, STEP)):
            encoded = old.again([item.payload for item in some])
            if texts:
                encoded = encoded._replace(
                    texts=pa.array([reader.shown(old, item) for item in some], pa.large_string())
                )
            entries = entries_of([item.id for item in some], encoded, new.payloads(encoded), writer.salt)
            writer.add_numbered([entries], np.array([item.number for item in some], np.uint64), run)
        writer.settle(run)
        settings["coding"] = new.settings()
    writer.put_settings(settings | {"format": FORMAT})


def _sample(reader: OldReader, coding: SetCoding) -> Iterator[str]:
    """Yield texts to learn phrases from."""
    size = 0
    for item in reader.items():
        text = reader.shown(coding, item)
        size += len(text)
        yield text
        if size > SAMPLED:
            return
