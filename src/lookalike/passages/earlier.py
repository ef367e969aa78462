"""Keep the documents of earlier runs in a folder, so that later ones are cut against them.

A batch is what one run has read: its texts, as they were given, and their anchors. Batches are added
at the end and never change. So documents that come in several batches lose what they would lose all
at once, and a run that is repeated finds its batch and loses the same again.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, StoreError, UsageError, parameter, remedy
from lookalike.core.files import LOCK, OwnFolder
from lookalike.core.storage import Storage
from lookalike.core.workdir import mapped, read_json, tables_in, write_array
from lookalike.io.remote import must_be_local
from lookalike.io.tables import in_one, join_ids
from lookalike.items.sets import text_bounds
from lookalike.passages.reading import HASH, SMALL, WHOLE, Corpus

FORMAT = 1
LIST = "batches.json"
COLUMNS = {"counts": WHOLE, "entries": SMALL, "anchors": HASH, "firsts": SMALL}  # of `Corpus`
DOCUMENTS = "documents"  # the file of ids and texts, piece by piece


@dataclass(frozen=True)
class EarlierBatch:
    """The documents of one batch, with the columns of `Corpus`."""

    ids: pa.ChunkedArray
    texts: list[pa.LargeStringArray]
    counts: np.ndarray
    entries: np.ndarray
    anchors: np.ndarray
    firsts: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)


class Earlier:
    """The batches in a folder, of which one run at a time can use the folder."""

    def __init__(self, path: Path, unit: str, case: str, update: bool) -> None:
        self.path, settings = path, {"unit": unit, "case": case}
        if not (path / LIST).is_file():
            self._check_new(update)
        with ExitStack() as opened, self._known_errors():
            self.folder = OwnFolder(path)
            opened.callback(self.folder.close)
            opened.enter_context(self._hold())
            if self.folder.size(LIST) is None:
                self._write({"format": FORMAT, "settings": settings, "batches": []})
            self.batches = self._read(settings)
            self._opened = opened.pop_all()

    def _check_new(self, update: bool) -> None:
        """Raise an error unless a new folder is wanted here."""
        must_be_local(self.path, "the folder of earlier units")
        if self.path.is_file():
            raise StoreError(
                f"{self.path}: is a file; with {parameter('unit')}, {parameter('against')} must be the folder in which "
                f"earlier runs keep their texts. {remedy('update=True', '--update')} creates it: name a new one."
            )
        if not update:
            how = f"{remedy('update=True', '--update')} creates one"
            what = "this is no folder of earlier units" if self.path.exists() else "no such folder"
            raise StoreError(f"{self.path}: {what}; {how}.")
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise StoreError(f"{self.path}: already exists and is no folder of earlier units; choose a new folder.")
        if not self.path.absolute().parent.is_dir():
            raise StoreError(f"{self.path}: cannot be created: there is no folder {self.path.absolute().parent}.")

    def _hold(self) -> IO[bytes]:
        try:
            return self.folder.hold(LOCK)
        except BlockingIOError:
            raise StoreError(f"{self.path}: another run is using it; try again when it is done.") from None

    @contextmanager
    def _known_errors(self) -> Iterator[None]:
        """Turn errors of the disk, and files that are not as they were written, into one line."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be used: {error.strerror or error}.") from error
        except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
            if isinstance(error, DataError | UsageError):
                raise
            raise StoreError(f"{self.path}: is damaged; restore it from a copy, or begin a new one.") from error

    def _read(self, settings: dict[str, str]) -> list[dict[str, Any]]:
        """Return what is noted of the batches; raise an error if the folder holds units of another kind."""
        noted = read_json(self.folder, LIST)
        if noted["format"] != FORMAT:
            raise StoreError(f"{self.path}: was written by another version of lookalike; begin a new one.")
        for name, wanted in settings.items():
            if noted["settings"][name] != wanted:
                raise UsageError(
                    f"{name} must match {parameter('against')}, which has {noted['settings'][name]}; got {wanted}."
                )
        return list(noted["batches"])

    def _write(self, noted: dict[str, Any]) -> None:
        self.folder.write(LIST, json.dumps(noted, indent=1).encode())

    def __enter__(self) -> "Earlier":
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    # --- batches ---

    def before(self, digest: str) -> int:
        """Return the number of batches that came before the one with this digest, or of all."""
        digests = [batch["digest"] for batch in self.batches]
        return digests.index(digest) if digest in digests else len(digests)

    def join(self, count: int, own: Corpus, storage: Storage) -> Corpus:
        """Return a corpus of the documents of the first batches and, after them, one's own."""
        with self._known_errors():
            parts = [self._batch(number) for number in range(count)]
        if not any(map(len, parts)):
            return own
        joined = {}
        for name, kind in COLUMNS.items():
            columns = [getattr(one, name) for one in (*parts, own)]
            joined[name] = storage.empty(name, sum(map(len, columns)), kind)
            np.concatenate(columns, out=joined[name])
        ids = join_ids(part.ids for part in parts)
        texts = [piece for part in parts for piece in part.texts] + own.texts
        starts = np.cumsum([0, *map(len, parts)])
        return Corpus(own.cutter, storage, [ids, *own.ids], texts, **joined, batch_starts=starts)

    def add(self, digest: str, own: Corpus) -> None:
        """Add a batch, unless it is there; it is there completely or not at all."""
        if self.before(digest) < len(self.batches):
            return
        number = len(self.batches)
        sizes = {}
        with self._known_errors():
            for name in (*COLUMNS, DOCUMENTS):
                with self.folder.open(f"{number}.{name}", "wb") as file:
                    if name == DOCUMENTS:
                        write_documents(file, own)
                    else:
                        write_array(file, getattr(own, name))
                    file.flush()
                    os.fsync(file.fileno())
                    sizes[name] = file.tell()
            noted = read_json(self.folder, LIST)
            noted["batches"].append({"digest": digest, "sizes": sizes})
            self._write(noted)
        self.batches = noted["batches"]

    def _batch(self, number: int) -> EarlierBatch:
        """Return a batch, mapped into memory."""
        for name, size in self.batches[number]["sizes"].items():
            if self.folder.size(f"{number}.{name}") != size:
                raise ValueError(name)
        columns = {}
        for name, kind in COLUMNS.items():
            with self.folder.open(f"{number}.{name}", "rb") as file:
                columns[name] = mapped(file, kind)
        with self.folder.open(f"{number}.{DOCUMENTS}", "rb") as file:
            tables = tables_in(file)
        ids = pa.chunked_array(
            [chunk for table in tables for chunk in table["id"].chunks], tables[0]["id"].type if tables else pa.int64()
        )
        texts = [in_one(table["text"]) for table in tables]
        if not len(ids) == len(columns["counts"]) == len(columns["entries"]):
            raise ValueError("the columns of a batch have different lengths")
        return EarlierBatch(ids=ids, texts=texts, **columns)


def write_documents(file: IO[bytes], corpus: Corpus) -> None:
    """Write the ids and texts of documents, one stream for each piece."""
    start = 0
    for texts in corpus.texts:
        table = pa.table({"id": corpus.ids[0].slice(start, len(texts)), "text": texts})
        with pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
        start += len(texts)


def digest_of(corpus: Corpus) -> str:
    """Return a digest of the ids and texts of documents, in their order."""
    sizes, contents = blake2b(digest_size=16), blake2b(digest_size=16)
    for texts in (corpus.ids[0].cast(pa.large_string()), *corpus.texts):
        data, starts, stops = text_bounds(texts)
        sizes.update((stops - starts).data)
        contents.update(data[starts[0] : stops[-1]].data if len(texts) else b"")
    return sizes.hexdigest() + contents.hexdigest()
