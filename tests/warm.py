"""Load what the first item of an index needs. For processes that others are forked from: tests do not import this."""

from pathlib import Path
from tempfile import TemporaryDirectory

from lookalike.index import Index

with TemporaryDirectory() as folder:
    Index.build(Path(folder) / "warm.index", ["some text to begin with"] * 2, threshold=0.8).close()
