"""Makes small valid files of every format, and lists the commands that read them."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from pyarrow import csv
from scipy import sparse

ROWS = 12
WORDS = ("bell", "ferry", "harbour", "lantern", "mill", "orchard", "rain", "sheep", "tower", "winter", "zephyr", "quay")
SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"

# {file} is the damaged file, {home} its folder, {out} an empty folder, {by} a folder of intact files.
DEDUP = "dedup {file} -t 0.5 -s char:4 -o {out}/kept.jsonl --removed {out}/removed.jsonl"
SKIP = "dedup {file} -t 0.5 -s char:4 --on-error skip -o {out}/kept.jsonl"
PAIRS = "pairs {file} -t 0.5 -s word:2 --report {out}/page.html -o {out}/pairs.parquet"
BOUNDED = "pairs {file} -t 0.5 -s char:4 --memory 1GB --workdir {out}/work -o {out}/pairs.csv"
QUERY = "index query {by}/texts.index {file} -t 0.3 -o {out}/found.jsonl"
DOCUMENTS = (DEDUP, DEDUP, SKIP, PAIRS, BOUNDED, QUERY)
PAGES = ("pairs {file} --article -t 0.5 -o {out}/pairs.jsonl", "dedup {file} --html -t 0.5 -o {out}/kept.jsonl")
VECTORS = (
    "vectors {file} -t 20 -o {out}/pairs.jsonl",
    "vectors {file} -m euclidean -t 0.5 --on-error skip -o {out}/pairs.csv",
    "vectors {file} -m cosine_similarity -t 0.9 --result clusters -o {out}/clusters.jsonl",
    "vectors {file} -m hamming -t 2 -o {out}/pairs.jsonl",
    "index query {by}/vectors.index {file} -o {out}/found.jsonl",
)
SETS = (
    "sets {file} -t 0.3 -o {out}/pairs.jsonl",
    "sets {file} -t 0.3 -m bag --on-error skip -o {out}/pairs.csv",
    "sets {file} -t 2 -m overlap -o {out}/pairs.parquet",
)
RATINGS = (
    "baskets {file} -t 0.2 -o {out}/pairs.jsonl",
    "baskets {file} --ratings stars --on-error skip -o {out}/pairs.csv",
    "baskets {file} --recommend-all -k 2 -o {out}/recommended.jsonl",
    "baskets {file} --by item --groups 0.4 --groups-out {out}/groups.csv -o {out}/pairs.jsonl",
)
PRINTS = (
    "fingerprints pairs {file} -o {out}/pairs.jsonl",
    "fingerprints enroll {out}/prints.parquet {file}",
    "fingerprints identify {by}/prints.parquet {file} --method all -o {out}/found.jsonl",
)
ENROLLED = (
    "fingerprints identify {file} {by}/print.iso -o {out}/found.jsonl",
    "fingerprints identify {file} {by}/print.iso --method grid -o {out}/found.jsonl",
    "fingerprints pairs {file} -o {out}/pairs.jsonl",
)
RECORDS = ("resolve {file} {by}/people.csv --nearest 1 -o {out}/matches.jsonl",)
RESULTS = ("report {file} --items {by}/documents.jsonl -o {out}/page.html", "report {file} -o {out}/page.html")
INDEX = (
    "index query {home} {by}/documents.jsonl -o {out}/found.jsonl",
    "index add {home} {by}/documents.jsonl --replace",
    "index verify {home}",
    "index compact {home}",
    "dedup {by}/documents.jsonl --against {home} --update -o {out}/kept.jsonl",
)


@dataclass(frozen=True)
class Sample:
    """A valid file, and commands that read it."""

    name: str
    content: bytes
    commands: tuple[str, ...]
    verbatim: bool = False  # whether each text in the output of `dedup` must be bytes of the file


def documents() -> pa.Table:
    """Return documents, some of them similar, with other columns of many types."""
    texts = [" ".join(WORDS[(at // 2 * step) % 12] for step in range(3, 13)) + f" {at % 2}" for at in range(ROWS)]
    return pa.table(
        {
            "id": [f"story-{at}" for at in range(ROWS)],
            "text": texts,
            "source": pa.array([WORDS[at % 3] for at in range(ROWS)]).dictionary_encode(),
            "words": [text.split() for text in texts],
            "place": [{"x": at / 2, "name": WORDS[at % 12]} for at in range(ROWS)],
            "day": [date(2024, 1, 1 + at) for at in range(ROWS)],
            "score": pa.array([None if at % 5 == 0 else at / 3 for at in range(ROWS)], pa.float32()),
        }
    )


def samples() -> list[Sample]:
    """Return all samples."""
    makers = _of_documents, _of_pages, _of_vectors, _of_sets, _of_ratings, _of_prints, _of_records, _of_indexes
    return [sample for make in makers for sample in make()]


def _of_documents() -> list[Sample]:
    table = documents()
    plain = table.select(["id", "text", "score"])
    rows = [json.dumps(row, default=str) for row in table.to_pylist()]
    views = plain.set_column(1, "text", plain["text"].cast(pa.string_view()))
    lines = "".join(f"{text}\n" for text in plain["text"].to_pylist()).encode()
    listed = [row.values() for row in plain.to_pylist()]
    return [
        Sample("documents.parquet", parquet(table, compression="none"), DOCUMENTS, True),
        Sample("zstd.parquet", parquet(table, compression="zstd", row_group_size=5), DOCUMENTS),
        Sample("documents.arrow", arrow(table, pa.ipc.new_file), DOCUMENTS, True),
        Sample("plain.arrow", arrow(plain, pa.ipc.new_file), DOCUMENTS, True),
        Sample("views.arrow", arrow(views, pa.ipc.new_file), DOCUMENTS, True),
        Sample("stream.arrow", arrow(table, pa.ipc.new_stream), DOCUMENTS, True),
        Sample("documents.jsonl", "\n".join(rows).encode(), DOCUMENTS),
        Sample("documents.json", f"[{', '.join(rows)}]".encode(), DOCUMENTS),
        Sample("documents.jsonl.gz", gzip.compress("\n".join(rows).encode(), mtime=0), DOCUMENTS),
        Sample("documents.csv", comma_separated(plain), DOCUMENTS),
        Sample("documents.tsv", comma_separated(plain).replace(b",", b"\t"), DOCUMENTS),
        Sample("documents.csv.zst", bytes(pa.compress(comma_separated(plain), "zstd", asbytes=True)), DOCUMENTS),
        Sample("documents.txt", lines, DOCUMENTS, True),
        Sample("documents.txt.gz", gzip.compress(lines, mtime=0), DOCUMENTS),
        Sample("documents.xlsx", workbook([plain.column_names, *map(list, listed)]), DOCUMENTS),
    ]


def _of_pages() -> list[Sample]:
    text = " ".join(documents()["text"].to_pylist())
    page = "<html><head><meta charset=utf-8><title>A</title></head><body><ul><li><a href=/>News</a></ul>"
    page += f"<p>{text}<p>{text}<table><tr><td>one<td>two</table><script>var a;</script><!-- no --></body></html>"
    rows = "\n".join(json.dumps({"id": at, "html": page}) for at in range(2))
    return [Sample("page.html", page.encode(), PAGES), Sample("pages.jsonl", rows.encode(), PAGES)]


def _of_vectors() -> list[Sample]:
    matrix = vectors()
    listed = pa.table({"id": np.arange(ROWS), "vector": matrix.tolist()})
    codes = pa.table({"id": np.arange(ROWS), "code": [f"{at // 2 + 40:08b}" for at in range(ROWS)]})
    head = struct.pack("<i", matrix.shape[1])
    floats = b"".join(head + row.astype("<f4").tobytes() for row in matrix)
    octets = b"".join(head + (row * 100).astype("u1").tobytes() for row in matrix)
    return [
        Sample("vectors.npy", made(np.save, matrix), VECTORS),
        Sample("vectors.npy.gz", gzip.compress(made(np.save, matrix), mtime=0), VECTORS),
        Sample("bits.npy", made(np.save, (matrix > 0.5).astype(np.uint8)), VECTORS),
        Sample("vectors.npz", made(np.savez, id=np.arange(ROWS), vector=matrix), VECTORS),
        Sample("sparse.npz", made(sparse.save_npz, sparse.csr_array(matrix * (matrix > 0.4))), VECTORS),
        Sample("vectors.fvecs", floats, VECTORS),
        Sample("vectors.bvecs", octets, VECTORS),
        Sample("vectors.parquet", parquet(listed, compression="none"), VECTORS),
        Sample("vectors.arrow", arrow(listed, pa.ipc.new_file), VECTORS),
        Sample("vectors.jsonl", json_lines(listed), VECTORS),
        Sample("vectors.csv", b"\n".join(b",".join(b"%g" % one for one in row) for row in matrix), VECTORS),
        Sample("codes.csv", comma_separated(codes), VECTORS[3:4]),
        Sample("picture.png", made(_picture, "png"), VECTORS[:4]),
        Sample("picture.jpeg", made(_picture, "jpeg"), VECTORS[:4]),
    ]


def _of_sets() -> list[Sample]:
    sets = [[WORDS[(at // 2 + step) % 12] for step in range(4)] for at in range(ROWS)]
    rows = [(f"set{at}", word) for at, words in enumerate(sets) for word in words]
    table = pa.table({"id": np.arange(ROWS), "words": sets})
    by_row = tuple(f"{command} --rows set,element" for command in SETS)
    return [
        Sample("sets.txt", "\n".join(map(" ".join, sets)).encode(), SETS),
        Sample("sets.jsonl", json_lines(table), SETS),
        Sample("sets.parquet", parquet(table, compression="none"), SETS),
        Sample("sets.arrow", arrow(table, pa.ipc.new_stream), SETS),
        Sample("rows.csv", "\n".join(["set,element", *map(",".join, rows)]).encode(), by_row),
    ]


def _of_ratings() -> list[Sample]:
    rows = [
        (user, item, (user * item) % 5 + 1, 1000 * item + user)
        for user in range(8)
        for item in range(6)
        if (user + item) % 3
    ]
    table = pa.table(dict(zip(("user", "item", "rating", "time"), map(list, zip(*rows, strict=True)), strict=True)))
    films = "\n".join("::".join(map(str, row)) for row in rows)
    return [
        Sample("ratings.csv", comma_separated(table), RATINGS),
        Sample("ratings.parquet", parquet(table, compression="none"), RATINGS),
        Sample("ratings.jsonl", json_lines(table), RATINGS),
        Sample("ratings.dat", films.encode(), tuple(f"{command} --format csv" for command in RATINGS)),
    ]


def minutiae(shift: int = 0) -> list[tuple[int, int, int]]:
    """Return the minutiae of a print: x, y and angle in 256ths of a turn."""
    return [((at * 97) % 250 + shift, (at * 61) % 300 + shift, (at * 37) % 256) for at in range(30)]


def template(views: list[list[tuple[int, int, int]]]) -> bytes:
    """Return an ISO 19794-2:2005 template."""
    body = b""
    for number, view in enumerate(views):
        body += bytes([1, number << 4, 80, len(view)])
        body += b"".join(struct.pack(">HHBB", 1 << 14 | x, y, angle, 50) for x, y, angle in view) + bytes(2)
    return b"FMR\0 20\0" + struct.pack(">IHHHHHBB", 24 + len(body), 0, 300, 400, 197, 197, len(views), 0) + body


def enrolled() -> bytes:
    """Return a file of enrolled prints."""
    from lookalike.fingerprints import Database, Prints

    with TemporaryDirectory() as folder:
        place = Path(folder) / "prints.parquet"
        Database(Prints.of([minutiae(), minutiae(3)], ids=["left", "right"])).save(place)
        return place.read_bytes()


def _of_prints() -> list[Sample]:
    views = [minutiae(), minutiae(2)]
    lines = "\n".join(f"{x} {y} {angle} 50" for x, y, angle in minutiae())
    rows = [("id", "x", "y", "angle"), *((number, *one) for number, view in enumerate(views) for one in view)]
    return [
        Sample("print.iso", template(views), PRINTS),
        Sample("print.xyt", lines.encode(), PRINTS),
        Sample("prints.csv", "\n".join(",".join(map(str, row)) for row in rows).encode(), PRINTS),
        Sample("enrolled.parquet", enrolled(), ENROLLED),
    ]


def people() -> pa.Table:
    """Return records of people."""
    names = [f"{WORDS[at % 12].title()} {WORDS[(at * 5) % 12].title()}" for at in range(ROWS)]
    streets = [f"{at + 2} {WORDS[(at * 7) % 12].title()} Lane" for at in range(ROWS)]
    return pa.table(
        {"id": [f"P{at}" for at in range(ROWS)], "name": names, "street": streets, "born": np.arange(1950, 1950 + ROWS)}
    )


def _of_records() -> list[Sample]:
    pairs = pa.table({"left": ["story-0", "story-2"], "right": ["story-1", "story-3"], "similarity": [0.9, 0.8]})
    removed = pa.table({"id": ["story-1"], "kept": ["story-0"], "similarity": [0.9]})
    clusters = pa.table({"cluster": [0, 0, 1, 1], "id": [f"story-{at}" for at in range(4)]})
    settings = {b"lookalike.version": b"0.1.0", b"lookalike.measure": b"jaccard", b"lookalike.threshold": b"0.5",
                b"lookalike.shingles": b"char:4", b"lookalike.stats": b'{"candidates": 3}'}  # fmt: skip
    return [
        Sample("people.csv", comma_separated(people()), RECORDS),
        Sample("people.parquet", parquet(people(), compression="none"), RECORDS),
        Sample(
            "people.xlsx",
            workbook([people().column_names, *(list(row.values()) for row in people().to_pylist())]),
            RECORDS,
        ),
        Sample("pairs.parquet", parquet(pairs.replace_schema_metadata(settings)), RESULTS),
        Sample("pairs.csv", comma_separated(pairs), RESULTS),
        Sample("removed.jsonl", json_lines(removed), RESULTS),
        Sample("clusters.arrow", arrow(clusters.replace_schema_metadata(settings), pa.ipc.new_file), RESULTS),
    ]


def _of_indexes() -> list[Sample]:
    from lookalike.index import Index

    with TemporaryDirectory() as folder:
        place = Path(folder) / "some.index"
        options: dict[str, Any] = {"threshold": 0.5, "shingles": "char:4", "store_text": True}
        Index.build(place, documents()["text"].to_pylist(), **options).close()
        return [Sample("some.index/data.mdb", (place / "data.mdb").read_bytes(), INDEX)]


def vectors() -> np.ndarray:
    """Return vectors, some of them near each other."""
    return np.repeat(np.random.default_rng(1).random((ROWS // 2, 8)), 2, axis=0) + np.arange(ROWS)[:, None] * 1e-3


# --- formats ---


def made(save: Callable[..., Any], *args: Any, **options: Any) -> bytes:
    """Return the bytes that a function writes to a file."""
    file = io.BytesIO()
    save(file, *args, **options)
    return file.getvalue()


def parquet(table: pa.Table, **options: Any) -> bytes:
    """Return a table as Parquet."""
    return made(lambda file: pq.write_table(table, file, **options))


def arrow(table: pa.Table, opened: Callable[..., Any]) -> bytes:
    """Return a table as an IPC file or stream, in two batches."""
    file = io.BytesIO()
    with opened(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=len(table) // 2)
    return file.getvalue()


def comma_separated(table: pa.Table) -> bytes:
    """Return a table as CSV."""
    return made(lambda file: csv.write_csv(table, file))


def json_lines(table: pa.Table) -> bytes:
    """Return a table as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


def workbook(rows: list[list[Any]]) -> bytes:
    """Return rows of strings and numbers as an Excel workbook with one sheet."""

    def cell(place: str, value: Any) -> str:
        text = f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
        return text if isinstance(value, str) else f'<c r="{place}"><v>{value or 0}</v></c>'

    cells = [
        "".join(cell(f"{chr(65 + at)}{number}", value) for at, value in enumerate(row))
        for number, row in enumerate(rows, 1)
    ]
    sheet = "".join(f'<row r="{number}">{row}</row>' for number, row in enumerate(cells, 1))
    link = f'<Relationship Id="r1" Type="{RELATIONS}/'
    links = f'<Relationships xmlns="{PACKAGE}/relationships">{link}'
    parts = {
        "_rels/.rels": f'{links}officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{RELATIONS}"><sheets>'
        '<sheet name="rows" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{links}worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _picture(file: io.BytesIO, kind: str) -> None:
    Image.fromarray((vectors() * 80).astype(np.uint8)).save(file, kind)


def companions(folder: Path) -> None:
    """Write the intact files that commands read beside a damaged one."""
    from lookalike.index import Index

    table = documents()
    (folder / "documents.jsonl").write_bytes(json_lines(table.select(["id", "text"])))
    (folder / "people.csv").write_bytes(comma_separated(people()))
    (folder / "print.iso").write_bytes(template([minutiae()]))
    (folder / "prints.parquet").write_bytes(enrolled())
    Index.build(folder / "texts.index", table["text"].to_pylist(), threshold=0.5, shingles="char:4").close()
    Index.build(folder / "vectors.index", vectors(), measure="angle", threshold=20).close()
