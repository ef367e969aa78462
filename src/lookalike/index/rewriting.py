"""Write an index anew, in order and without gaps, and in the present format if it has an older one.

Items keep their numbers, so that the order in which they were added, and the records of batches,
stay as they are.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.index.codings import SetCoding, coding_of
from lookalike.index.entries import entries_of, salt_of
from lookalike.index.old import OldReader
from lookalike.index.postings import FOLDS
from lookalike.index.tables import FORMAT, Reader, Writer
from lookalike.index.texts import SAMPLED, Phrasebook

STEP = 1000  # items that are encoded again at a time


def rewrite(reader: Reader, writer: Writer, run: Run) -> None:
    """Write all that a reader reads."""
    tables = {name.encode() for name in reader.tables}
    for key, value in reader.txn.cursor():
        if bytes(key) not in tables and not bytes(key).startswith(FOLDS):
            writer.txn.put(bytes(key), bytes(value))
    if isinstance(reader, OldReader):
        _upgrade(reader, writer, run)
        return
    writer.txn.cursor(db=writer.tables["items"]).putmulti(reader.txn.cursor(db=reader.tables["items"]), append=True)
    for name, postings in reader.postings.items():
        writer.postings[name].load(postings.slices(), run)


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
            entries = entries_of([item.id for item in some], encoded, new, writer.salt)
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
