"""Hold a few ratings, write them to files, and make their bags."""

import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from lookalike.baskets import Ratings

FILMS = [  # user, item, rating, time
    ("ann", "Vertigo", 5, 10),
    ("ann", "Fargo", 4, 20),
    ("ann", "Alien", 1, 30),
    ("bob", "Fargo", 5, 11),
    ("bob", "Vertigo", 4, 12),
    ("bob", "Heat", 5, 13),
    ("cy", "Alien", 5, 5),
    ("cy", "Aliens", 5, 6),
    ("cy", "Vertigo", 2, 7),
    ("dee", "Aliens", 4, 1),
    ("dee", "Alien", 4, 2),
]
RATINGS = Ratings.of(FILMS)
TABLE = pa.table(dict(zip(("user", "item", "rating", "time"), zip(*FILMS, strict=True), strict=True)))


def rows_of(ratings: Ratings) -> list[tuple[Any, ...]]:
    """Return rows (user, item[, rating[, time]]) in the order of the ratings."""
    columns = [ratings.user_ids.take(pa.array(ratings.users)), ratings.item_ids.take(pa.array(ratings.items))]
    more = [column for column in (ratings.values, ratings.times) if column is not None]
    return list(zip(*(column.to_pylist() for column in columns), *(column.tolist() for column in more), strict=True))


def write(table: pa.Table, path: Path) -> Path:
    """Write a table in the format and compression that the file name says; return the path."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    sink = pa.BufferOutputStream()
    if name.endswith(".parquet"):
        pq.write_table(table, sink)
    elif name.endswith(".arrow"):
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif name.endswith(".jsonl"):
        sink.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    else:
        csv.write_csv(table, sink, csv.WriteOptions(delimiter="\t" if name.endswith(".tsv") else ","))
    content = sink.getvalue().to_pybytes()
    if path.name.endswith(".gz"):
        content = gzip.compress(content)
    elif path.name.endswith(".zst"):
        content = pa.compress(content, "zstd", asbytes=True)
    path.write_bytes(content)
    return path


def bags(rows: list[tuple[Any, ...]], by: str, way: str, liked: float) -> dict[Any, Counter[Any]]:
    """Return the basket of each user or item, by the textbook; the last of two ratings counts."""
    found: dict[Any, Counter[Any]] = {}
    last = {(row[0], row[1]): row for row in rows}
    unit = Fraction(1, 2)
    for user, item, rating in last.values():
        owner, element = (user, item) if by == "user" else (item, user)
        basket = found.setdefault(owner, Counter())
        if way == "all" or (way == "high" and rating >= liked):
            basket[element] = 1
        elif way == "liked-hated":
            basket[element, rating >= liked] = 1
        elif way == "stars":
            basket[element] = int(Fraction(rating) / unit)
    return found
