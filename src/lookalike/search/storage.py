"""Choose where a search keeps large arrays: in memory, or in files from which a run can resume."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from lookalike import __version__
from lookalike.core.errors import LookalikeError, StoreError, UsageError, argument, parameter, remedy
from lookalike.core.shards import Shards
from lookalike.core.shared import SharedStorage
from lookalike.core.stamps import stamps
from lookalike.core.storage import Storage
from lookalike.core.workdir import FolderStorage, parse_memory
from lookalike.io.documents import Source
from lookalike.io.remote import must_be_local
from lookalike.measures import MEASURES
from lookalike.measures.table import HASHED, SHORT
from lookalike.search.keeping import LEAST, Keeping
from lookalike.search.plan import parse_threshold
from lookalike.search.settings import Settings

READING = ("text", "id", "format", "on_error", "on_bad_file", "html", "article", "max_document_bytes")  # of a source


@contextmanager
def storage_for(items: list[Any], settings: Settings) -> Iterator[Storage]:
    """Open the storage that the settings ask for."""
    in_files = settings.memory is not None or settings.workdir is not None
    with open_storage(_about(items, settings) if in_files else {}, settings.memory, settings.workdir) as storage:
        yield storage


@contextmanager
def open_storage(
    about: dict[str, Any], memory: str | int | None, workdir: str | Path | Shards | None
) -> Iterator[Storage]:
    """Open a storage in files if one of both is given, else in memory; `about` is what the run depends on."""
    if memory is None and workdir is None:
        yield Storage()
        return
    size = parse_memory("2GB" if memory is None else memory)
    about = {"version": __version__, **about}
    if isinstance(workdir, Shards):
        workdir.begin(about)
        yield SharedStorage(workdir, size)
        return
    with ExitStack() as opened:
        temporary = workdir is None
        if workdir is not None:
            must_be_local(workdir, parameter("workdir"))
        else:
            workdir = opened.enter_context(TemporaryDirectory(prefix="lookalike-"))
        yield opened.enter_context(FolderStorage(Path(workdir), about, size, not temporary))


@contextmanager
def starting(storage: Storage) -> Iterator[None]:
    """Remove the storage if a search cannot even start, since running it again would not help."""
    try:
        yield
    except StoreError:
        raise
    except LookalikeError:
        storage.remove()
        raise


def _about(items: list[Any], settings: Settings) -> dict[str, Any]:
    """Return what a run in files depends on; raise an error if it cannot use files."""
    both = f"{parameter('memory')} and {parameter('workdir')}"
    files = [source_files(source, settings.workdir) for source in items]
    measure = SHORT.get(settings.measure, settings.measure)
    refused = {"measure": measure not in HASHED, "method": settings.method == "exact", "recall": settings.recall == 1}
    for name in (name for name in refused if refused[name]):
        got = argument(name, getattr(settings, name))
        raise UsageError(f"{both} support only Jaccard similarity, containment and a recall below 1; got {got}.")
    if isinstance(settings.workdir, Shards):
        for name in ("within", "across", "audit"):
            if getattr(settings, name):
                raise UsageError(f"{parameter(name)} cannot be used with {parameter('shard')}.")
    threshold: Any = MEASURES[measure].default if settings.threshold is None else settings.threshold
    return {
        "files": [stamp for side in files for stamp in side],
        **({"sizes": [len(side) for side in files]} if len(files) > 1 else {}),
        **{name: [getattr(source, name) for source in items] for name in READING},
        "threshold": str(parse_threshold(measure, threshold)),
        "measure": measure,
        "recall": str(settings.recall),
        "seed": str(settings.seed),
        "shingles": str(settings.shingles),
        "weights": str(settings.weights),
        "drop_common": str(settings.drop_common),
        "sketch": settings.sketch,
        "result": settings.result,
        "keep": about_keep(settings.keep),
        "within": about_groups(settings.within),
        "across": about_groups(settings.across),
    }


def about_keep(keep: Any) -> str:
    """Return what a run depends on of the items to keep: the rules, or a digest of the values given."""
    given = Keeping.of(keep)
    if given.columns:
        return digest(given.columns[0])
    return ",".join(rule.name if rule.greatest else f"{rule.name}:{LEAST}" for rule in given.rules)


def about_groups(given: Any) -> str | None:
    """Return what a run depends on of the groups: the column, or a digest of the values given."""
    return given if given is None or isinstance(given, str) else digest(given)


def source_files(source: Any, workdir: str | Path | Shards | None) -> Any:
    """Return the stamps of the files of a source; raise an error if it has none.

    A data set that is iterated needs none, but cannot have a working folder.
    """
    parts = source.parts if isinstance(source, Source) else []
    files = [path for part in parts for path in part.paths]
    if parts and workdir is None and all(part.format == "stream" for part in parts):
        return []  # nothing shows whether it is the same one as before, so that no run can be resumed
    if not files:
        how = remedy("pass a path, a list of Paths, or Source(path)", "name the files instead of standard input")
        both = f"{parameter('memory')} and {parameter('workdir')}"
        raise UsageError(f"{both} support only texts that are read from files: {how}.")
    return [*stamps(files), *([part.name, part.table] for part in parts if part.table)]


def digest(values: Any) -> str:
    """Return a hash of the values of a column."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    found = sha256()
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        found.update(repr((chunk.type, chunk.offset, len(chunk))).encode())
        for buffer in filter(None, chunk.buffers()):
            found.update(buffer)
    return found.hexdigest()
