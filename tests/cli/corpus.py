"""Provide the documents that the commands are run on, and read back their results."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.samples import Row, families

ROWS = families(20)
KEPT_FIRST = [row["id"] for row in ROWS if row["id"].endswith("-0")]
SUFFIXES = (".parquet", ".arrow", ".jsonl", ".csv")


def read(path: Path) -> list[Row]:
    """Return the rows of a result file; in CSV all values are strings."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path.read_bytes()).read_all().to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def family(name: str) -> str:
    return name[:3]
