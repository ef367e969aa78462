"""Collect the text files of folders into a Parquet file with columns `id` (the path) and `text`.

    python bench/corpus.py FOLDER... OUT.parquet

A text file is valid UTF-8 without null bytes, 100 bytes to 1 MB long. Links are not followed.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SMALLEST, LARGEST = 100, 1_000_000  # bytes of a file
GROUP = 64 << 20  # bytes of text in a row group
SCHEMA = pa.schema({"id": pa.string(), "text": pa.string()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("out", type=Path, metavar="OUT.parquet")
    given = parser.parse_args()
    for folder in given.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    if given.out.suffix != ".parquet":
        parser.error(f"the last argument must end in .parquet; got {given.out}")
    documents = size = 0
    with pq.ParquetWriter(given.out, SCHEMA, compression="zstd") as writer:
        for table in tables(given.folders):
            writer.write_table(table)
            documents += len(table)
            size += pc.sum(pc.binary_length(table["text"])).as_py()
    print(f"{given.out}: {documents:,} documents, {size / 1e6:,.1f} MB of text")


def tables(folders: list[Path]) -> Iterator[pa.Table]:
    """Yield the texts with their paths, in tables of some megabytes."""
    ids: list[str] = []
    texts: list[str] = []
    size = 0
    for path in sorted({path for folder in folders for path in files(folder)}):
        text = read_text(path)
        if text is not None:
            ids.append(str(path))
            texts.append(text)
            size += len(text)
        if size > GROUP:
            yield pa.table([ids, texts], SCHEMA)
            ids, texts, size = [], [], 0
    if ids:
        yield pa.table([ids, texts], SCHEMA)


def files(folder: Path) -> Iterator[Path]:
    """Yield all regular files under a folder."""
    for place, _, names in os.walk(folder.resolve()):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


def read_text(path: Path) -> str | None:
    """Return a file's text; None if it is not text, too short, too long or unreadable."""
    try:
        if not SMALLEST <= path.stat().st_size <= LARGEST:
            return None
        text = path.read_bytes().decode()
        str(path).encode()  # a name that is not UTF-8 cannot be an id
    except (OSError, UnicodeError):
        return None
    return None if "\0" in text else text


if __name__ == "__main__":
    main()
