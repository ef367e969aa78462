"""Run a writer of an index, to be killed: forked from a loaded process, so it starts at once."""

import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from lookalike.index import Index


def write(place: str, first: int, texts: list[str], said: Connection) -> None:
    """Add seven items at a time, forever, and report after each time how many there are."""
    index = Index.open(place)
    for start in range(first, 10**9, 7):
        names = list(range(start, start + 7))
        index.add([texts[name % len(texts)] + f" {name}" for name in names], names)
        said.send(start + 7)


def start_writer(place: Path, first: int, texts: list[str]) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    """Start a writer; return it and the connection on which it reports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tests.warm"])
    heard, said = context.Pipe(duplex=False)
    writer = context.Process(target=write, args=(str(place), first, texts, said), daemon=True)
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(paths)):  # so that the fork server finds this module
        writer.start()
    said.close()
    return writer, heard
