"""Make documents for the tests of files and commands, and write files of every kind."""

import csv
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]
WORDS = [f"w{number}" for number in range(2000)]


def sentence(seed: int, words: int = 40) -> str:
    """Return random words, the same for the same seed."""
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(words))


def families(count: int, copies: int = 3) -> list[Row]:
    """Make `count` different texts, each followed by near-copies, of which the last is longest."""
    rows = []
    for family in range(count):
        words = sentence(family, 60).split()
        for copy in range(copies):
            text = " ".join(words[:30] + ["copy"] * copy + words[30:])
            rows.append({"id": f"{family:03d}-{copy}", "text": text, "score": (family + copy) % copies})
    return rows


def encode_csv(rows: list[Row], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def encode_jsonl(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def encode_arrow(table: pa.Table, stream: bool = False, batch: int = 5) -> bytes:
    sink = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch)
    return sink.getvalue()


def encode_parquet(table: pa.Table, group: int = 7) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=group)
    return sink.getvalue()


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


def write(path: Path, rows: list[Row]) -> Path:
    """Write the rows to a file in the format that its name says; return the path."""
    table = pa.Table.from_pylist(rows)
    encoders = {
        ".parquet": lambda: encode_parquet(table),
        ".arrow": lambda: encode_arrow(table),
        ".jsonl": lambda: encode_jsonl(rows),
        ".gz": lambda: gzip.compress(encode_jsonl(rows), mtime=0),
        ".csv": lambda: encode_csv(rows),
        ".tsv": lambda: encode_csv(rows, "\t"),
        ".txt": lambda: "".join(row["text"] + "\n" for row in rows).encode(),
    }
    path.write_bytes(encoders[path.suffix]())
    return path


def small_sets(rng: random.Random, n: int) -> list[set[int]]:
    """Draw small sets, many of them similar, some equal or empty."""
    pool = range(rng.choice([4, 9, 20]))
    sets = [set(rng.sample(pool, rng.randint(0, len(pool)))) for _ in range(n // 2)]
    return sets + [rng.choice(sets) ^ set(rng.sample(pool, rng.choice([0, 1, 2]))) for _ in range(n - n // 2)]


def texts_of(count: int, seed: int = 1) -> list[str]:
    """Make texts of thirty words; every third is similar to the last, every tenth is a copy."""
    draw = random.Random(seed)
    texts: list[str] = []
    for number in range(count):
        words = texts[-1].split() if number % 3 == 1 else draw.choices(WORDS, k=30)
        words[draw.randrange(30)] = draw.choice(WORDS)
        texts.append(draw.choice(texts) if number % 10 == 9 else " ".join(words))
    return texts
