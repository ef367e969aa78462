"""Write the indexes that `test_old` opens: python -m tests.index.old_files FOLDER

`old_files.zip` was made by this script with the last version that wrote format 2. The indexes are
written with the package at hand; to add those of a later format, run it with that version.
"""

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.index import Index
from tests.index_samples import texts_of

TEXTS = [*texts_of(4), texts_of(1)[0], "", "naïve café"]
MADE: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "texts": (TEXTS, [*range(4), "four", "five", "six"], {"store_text": True}),
    "hashes": (TEXTS, None, {}),
    "sets": ([{1, 2, 3}, {2, 3, 4}, {1, 2, 3}, {9}], list("abcd"), {}),
    "vectors": (np.eye(4), None, {"measure": "angle", "threshold": 40}),
}


def make(folder: Path) -> None:
    """Write an index of each kind; each had an item that was removed."""
    for name, (items, ids, options) in MADE.items():
        given = {"threshold": 0.6, "shingles": "word:1", "seed": 7, "expected": 10, **options}
        with Index.build(folder / name, items, ids, **given) as index:
            index.remove([list(index.ids())[2]])
            index.compact()


def pack(folder: Path, path: Path) -> None:
    """Pack the files of the indexes, with the same bytes for the same files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name in MADE:
            content = (folder / name / "data.mdb").read_bytes()
            packed.writestr(zipfile.ZipInfo(f"{name}/data.mdb"), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
    pack(Path(sys.argv[1]), Path(sys.argv[1]) / "old_files.zip")
