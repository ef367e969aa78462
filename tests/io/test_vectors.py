"""Check that all kinds of files give the same vectors, codes and bad rows."""

import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import lookalike as la
from lookalike.core.errors import DataError, LookalikeError, UsageError, naming_options
from lookalike.core.run import Run
from lookalike.io.part import Part
from lookalike.io.vectors import VectorSource
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from tests.commands import Commands, complaint
from tests.samples import encode_arrow, encode_csv, encode_jsonl, encode_parquet, zstd

SIZES = (1, 100, 1 << 30)  # bytes per batch
BOM = b"\xef\xbb\xbf"
NAN, INF = float("nan"), float("inf")
SKIP = r"; remove such rows first\.$"
MATRIX = np.random.default_rng(1).integers(-99, 99, (23, 5)) / 4
ROWS = MATRIX.tolist()
NAMES = [f"n{at * 7 % 23}" for at in range(23)]


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def vectors_of(source: VectorSource) -> Vectors:
    found = source.read(Run(1))
    assert isinstance(found, Vectors)
    assert found.skipped == source.skipped
    assert found.on_error == source.on_error
    return found


def check(source: VectorSource, rows: Any, ids: Any = None, skipped: int = 0) -> None:
    """Check that the source has exactly these vectors and ids, each time it is read."""
    for _ in range(2):
        found = vectors_of(source)
        values = found.values if isinstance(found.values, np.ndarray) else found.values.toarray()
        assert values.tolist() == [list(row) for row in rows]
        assert values.dtype in (np.float32, np.float64)
        assert (None if found.ids is None else found.ids.to_pylist()) == ids
        assert found.skipped == skipped


def strings_of(codes: Bits) -> list[str]:
    """Return each code as a string, first bit first."""
    return [
        "".join(str(int(words[at // 64]) >> at % 64 & 1) for at in range(codes.length))
        for words in codes.words.tolist()
    ]


def check_bits(source: VectorSource, strings: list[str], ids: Any = None, skipped: int = 0) -> None:
    """Check that the source has exactly these codes."""
    for _ in range(2):
        found = source.read(Run(1))
        assert isinstance(found, Bits)
        assert strings_of(found) == strings
        assert (None if found.ids is None else found.ids.to_pylist()) == ids
        assert found.skipped == source.skipped == skipped


def fails(message: str, inputs: Any, kind: type[LookalikeError] = DataError, **options: Any) -> None:
    """Check that reading fails with this one-line message."""
    with pytest.raises(kind) as error:
        VectorSource(inputs, **options).read(Run(1))
    assert re.search(message, str(error.value)), str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda content: monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def npy(array: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, **options)
    return sink.getvalue()


def npz(**arrays: Any) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def few(matrix: Any, compressed: bool = True) -> bytes:
    sink = io.BytesIO()
    sparse.save_npz(sink, matrix, compressed)
    return sink.getvalue()


def vecs(kind: str, *rows: Any) -> bytes:
    return b"".join(np.int32(len(row)).astype("<i4").tobytes() + np.array(row).astype(kind).tobytes() for row in rows)


def list_table(kind: pa.DataType, ids: bool = True) -> pa.Table:
    columns = {"id": pa.array(NAMES)} if ids else {}
    return pa.table({"note": ["x"] * len(ROWS), **columns, "vector": pa.array(ROWS).cast(kind)})


# --- arrays ---


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_an_array_of_floats_stays_in_its_file(tmp_path: Path, kind: str) -> None:
    path = put(tmp_path / "a.npy", npy(MATRIX.astype(kind)))
    for source in (
        VectorSource(path),
        VectorSource(str(path), on_error="skip"),
        VectorSource(tmp_path, directions=True),
    ):
        check(source, ROWS)
        values = vectors_of(source).values
        assert isinstance(values, np.memmap) or isinstance(values.base, np.memmap)
        assert values.filename == path
        assert values.flags.c_contiguous
        assert values.dtype == np.dtype(kind)


@pytest.mark.parametrize("kind", ["float16", ">f4", ">f8", "longdouble"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_arrays_are_copied(tmp_path: Path, kind: str, order: Any) -> None:
    check(VectorSource(put(tmp_path / "a.npy", npy(MATRIX.astype(kind, order=order)))), ROWS)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "int32", "uint64"])
def test_arrays_of_integers(tmp_path: Path, kind: str) -> None:
    matrix = (MATRIX > 0).astype(kind)
    check(VectorSource(put(tmp_path / "a.npy", npy(matrix))), matrix.astype(float).tolist())


def test_compressed_arrays(tmp_path: Path) -> None:
    check(VectorSource(put(tmp_path / "a.npy.gz", gzip.compress(npy(MATRIX)))), ROWS)
    check(VectorSource(put(tmp_path / "a.npz.zst", zstd(npz(a=MATRIX)))), ROWS)
    check(VectorSource(put(tmp_path / "few.npz.zst", zstd(few(sparse.csr_array(MATRIX))))), ROWS)
    check(VectorSource(put(tmp_path / "a.fvecs.gz", gzip.compress(vecs("<f4", *ROWS)))), ROWS)


def test_named_arrays(tmp_path: Path) -> None:
    check(VectorSource(put(tmp_path / "one.npz", npz(anything=MATRIX))), ROWS)
    path = put(tmp_path / "two.npz", npz(a=MATRIX, b=MATRIX[:, :2], names=np.array(NAMES)))
    check(VectorSource(path, vector="a"), ROWS)
    check(VectorSource(path, vector="b", id="names"), MATRIX[:, :2].tolist(), NAMES)
    fails(r"two\.npz: which array holds the vectors\? Pass Vectors\.of\(matrix\); it has a, b, names\.$", path)
    fails(r"two\.npz: no array 'c'; it has a, b, names\.$", path, vector="c")
    fails(r"two\.npz: no array 'c'; it has a, b, names\.$", path, vector="a", id="c")
    fails(
        r"array 'b' must hold an id for each of the 23 rows; got float64 of shape \(23, 2\)\.$",
        path,
        vector="a",
        id="b",
    )
    path = put(tmp_path / "id.npz", npz(a=MATRIX, id=np.arange(23) * 2))
    check(VectorSource(path), ROWS, list(range(0, 46, 2)))
    check(VectorSource(path, vector="a", id="-"), ROWS)
    fails(
        r"none\.npz: which array holds the vectors\? Pass Vectors\.of\(matrix\); it has none\.$",
        put(tmp_path / "none.npz", npz()),
    )
    with ZipFile(path, "a") as file:  # a member without the start of an array, which NumPy returns as bytes
        file.writestr("names.npy", b"no array")
    fails(
        r"array 'names' must hold an id for each of the 23 rows; got \|S8 of shape \(\)\.$",
        path,
        vector="a",
        id="names",
    )


def test_a_sparse_matrix_whose_members_are_not_arrays(tmp_path: Path) -> None:
    """NumPy returns a member without the start of an array as bytes, which SciPy does not expect."""
    path = tmp_path / "few.npz"
    with ZipFile(path, "w") as file:
        for name in ("format", "shape", "data"):
            file.writestr(f"{name}.npy", b"csr")
    fails(r"few\.npz: cannot be read as npz: .*\.$", path)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("compressed", [False, True])
def test_sparse_matrices(tmp_path: Path, format: str, compressed: bool) -> None:
    matrix = np.where(MATRIX > 5, MATRIX, 0).astype(np.float32)
    path = put(tmp_path / "a.npz", few(sparse.csr_array(matrix).asformat(format), compressed))
    source = VectorSource(path)
    check(source, matrix.tolist())
    vectors = vectors_of(source)
    assert vectors.sparse
    assert vectors.values.format == "csr"
    assert vectors.values.dtype == np.float32
    check(VectorSource([path, path]), matrix.tolist() * 2)
    assert vectors_of(VectorSource([path, path])).sparse
    dense = put(tmp_path / "b.npy", npy(MATRIX))
    check(VectorSource([path, dense]), [*matrix.tolist(), *ROWS])


def test_bad_rows_of_sparse_matrices(tmp_path: Path) -> None:
    matrix = sparse.csr_array(np.array([[0, 1.0], [NAN, 0], [0, 0], [2, 0], [0, INF]]))
    path = put(tmp_path / "a.npz", few(matrix))
    fails(rf"a\.npz, row 1: a component is nan or infinite{SKIP}", path)
    check(VectorSource(path, on_error="skip"), [[0, 1], [0, 0], [2, 0]], [0, 2, 3], 2)
    check(VectorSource(path, on_error="skip", directions=True), [[0, 1], [2, 0]], [0, 3], 3)
    zero = put(tmp_path / "zero.npz", few(sparse.csr_array(np.array([[0, 1], [0, 0]]))))
    fails(rf"zero\.npz, row 1: a zero vector has no direction{SKIP}", zero, directions=True)
    fails(r"zero\.npz: bits cannot be read from a sparse matrix\.$", zero, bits=True)
    fails(r"zero\.npz: vector='a' names a column or array, but npz has no names\.$", zero, vector="a")


def test_places_out_of_a_sparse_matrix(tmp_path: Path) -> None:
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[1] = 1000
    fails(r"a\.npz: cannot be read as npz: \S.*\.$", put(tmp_path / "a.npz", few(matrix)))


@pytest.mark.parametrize(("suffix", "kind"), [("fvecs", "<f4"), ("bvecs", "u1"), ("ivecs", "<i4")])
def test_vecs(tmp_path: Path, suffix: str, kind: str) -> None:
    matrix = np.abs(MATRIX).astype(kind)
    path = put(tmp_path / f"a.{suffix}", vecs(kind, *matrix.tolist()))
    check(VectorSource(path), matrix.tolist())
    assert vectors_of(VectorSource(path)).values.flags.c_contiguous
    row, name = matrix[0].tolist(), re.escape(f"a.{suffix}")
    for content, message in {
        b"": f"{name}: the file is empty",
        b"\x05": f"{name}, row 0: its dimension must be at least 1; got 0",
        vecs(kind, []): f"{name}, row 0: its dimension must be at least 1; got 0",
        b"\xff\xff\xff\xff" * 4: f"{name}, row 0: its dimension must be at least 1; got -1",
        vecs(kind, row)[:-1]: f"{name}, row 0: the file ends in the middle of it",
        vecs(kind, row, row)[:-1]: f"{name}, row 1: the file ends in the middle of it",
        vecs(kind, row, row) + b"\x05": f"{name}, row 2: the file ends in the middle of it",
        vecs(kind, row, row[:3]): f"{name}, row 1: 3 dimensions, where the first has 5",
        vecs(kind, row, row[:3], row, row): f"{name}, row 1: 3 dimensions, where the first has 5",
    }.items():
        put(path, content)
        fails(rf"{message}\.$", path)
        fails(rf"{message}\.$", path, on_error="skip")


WRONG_ARRAYS: dict[str, tuple[bytes, str]] = {
    "line.npy": (npy(np.zeros(3)), r"vectors must be a matrix, one vector per row; got shape \(3,\)"),
    "cube.npy": (
        npy(np.zeros((2, 2, 2))),
        r"vectors must be a matrix, one vector per row; got shape \(2, 2, 2\)",
    ),
    "thin.npy": (
        npy(np.zeros((3, 0))),
        r"vectors must be a matrix, one vector per row; got shape \(3, 0\)",
    ),
    "text.npy": (npy(np.array([["a"]])), "vectors must be numeric; got <U1"),
    "complex.npy": (npy(np.ones((2, 2), complex)), "vectors must be numeric; got complex128"),
    "dates.npy": (npy(np.zeros((2, 2), "M8[s]")), r"vectors must be numeric; got datetime64\[s\]"),
    "complex.npz": (few(sparse.csr_array(np.ones((2, 2), complex))), "vectors must be numeric; got complex128"),
    "objects.npy": (
        npy(np.array([[{}]]), allow_pickle=True),
        "cannot be read as npy: it holds Python objects, which are never loaded; save it as numbers",
    ),
    "objects.npy.gz": (
        gzip.compress(npy(np.array([[{}]]), allow_pickle=True), mtime=0),
        "cannot be read as npy: it holds Python objects, which are never loaded; save it as numbers",
    ),
    "objects.npz": (
        npz(a=np.array([[{}]])),
        "cannot be read as npz: it holds Python objects, which are never loaded; save it as numbers",
    ),
    "empty.npy": (b"", r"cannot be read as npy: \S.*"),
    "short.npy": (npy(MATRIX)[:-8], r"cannot be read as npy: \S.*"),
    "head.npy": (npy(MATRIX)[:40], r"cannot be read as npy: \S.*"),
    "token.npy": (npy(MATRIX).replace(b"}", b" ", 1), r"cannot be read as npy: \S.*"),
    "other.npy": (b"1,2\n3,4\n" * 9, "cannot be read as npy: the magic string is not correct; .*"),
    "empty.npz": (b"", "cannot be read as npz: it is not a zip file"),
    "other.npz": (npy(MATRIX), "cannot be read as npz: it is not a zip file"),
    "short.npz": (npz(a=MATRIX)[:-8], "cannot be read as npz: it is not a zip file"),
    "broken.npz": (npz(a=MATRIX).replace(b"\x93NUMPY", b"\x93NUMPX"), r"cannot be read as npz: \S.*"),
    "short.fvecs.gz": (gzip.compress(vecs("<f4", *ROWS))[:-9], r"cannot be read as fvecs: \S.*"),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_arrays_that_are_not_vectors(tmp_path: Path, name: str) -> None:
    content, message = WRONG_ARRAYS[name]
    fails(rf"{re.escape(name)}: {message}", put(tmp_path / name, content))
    fails(rf"{re.escape(name)}: \S", put(tmp_path / name, content), bits=True)


# --- tables ---

FILES: dict[str, Callable[[], bytes]] = {
    "list.parquet": lambda: encode_parquet(list_table(pa.list_(pa.float64()))),
    "float.pq": lambda: encode_parquet(list_table(pa.list_(pa.float32())), 1000),
    "half.parquet": lambda: encode_parquet(list_table(pa.list_(pa.float16()))),
    "fixed.parquet": lambda: encode_parquet(list_table(pa.list_(pa.float32(), 5))),
    "large.arrow": lambda: encode_arrow(list_table(pa.large_list(pa.float64()))),
    "fixed.arrow": lambda: encode_arrow(list_table(pa.list_(pa.float64(), 5))),
    "decimal.arrow": lambda: encode_arrow(list_table(pa.list_(pa.decimal128(9, 3)))),
    "stream.arrow": lambda: encode_arrow(list_table(pa.list_(pa.float32(), 5)), stream=True),
    "list.jsonl": lambda: encode_jsonl(list_table(pa.list_(pa.float64())).to_pylist()),
    "list.jsonl.gz": lambda: gzip.compress(encode_jsonl(list_table(pa.list_(pa.float64())).to_pylist())),
    "bom.ndjson": lambda: (
        BOM + encode_jsonl(list_table(pa.list_(pa.float64())).to_pylist()).replace(b"\n", b"\r\n\r\n")
    ),
    "wide.parquet": lambda: encode_parquet(WIDE),
    "wide.arrow": lambda: encode_arrow(WIDE),
    "wide.jsonl": lambda: encode_jsonl(WIDE.to_pylist()),
    "wide.csv": lambda: encode_csv(WIDE.to_pylist()),
    "bom.csv": lambda: BOM + encode_csv(WIDE.to_pylist()).replace(b"\n", b"\r\n").rstrip(),
    "wide.csv.zst": lambda: zstd(encode_csv(WIDE.to_pylist())),
    "spaces.csv": lambda: encode_csv(WIDE.to_pylist()).replace(b",", b", ").replace(b", ", b",", 5),
    "wide.tsv": lambda: encode_csv(WIDE.to_pylist(), "\t"),
    "wide.tsv.gz": lambda: gzip.compress(encode_csv(WIDE.to_pylist(), "\t")),
}
WIDE = pa.table({"id": NAMES, **{name: pa.array(MATRIX[:, at]) for at, name in enumerate("abcde")}})


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FILES)
def test_tables_of_every_kind(tmp_path: Path, name: str, size: int) -> None:
    path = put(tmp_path / name, FILES[name]())
    check(VectorSource(path, batch_bytes=size), ROWS, NAMES)
    check(VectorSource(path, id="id", batch_bytes=size), ROWS, NAMES)
    if "note" in path.read_bytes().decode("utf-8", "replace") and "wide" not in name:
        check(VectorSource(path, vector="vector", id="-", batch_bytes=size), ROWS)


def test_floats_of_32_bits_stay_such() -> None:
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float16(), 5)):
        assert vectors_of(VectorSource(list_table(kind), batch_bytes=1)).values.dtype == np.float32
    tables = [list_table(pa.list_(pa.float32())), list_table(pa.list_(pa.float64()))]
    assert vectors_of(VectorSource(tables)).values.dtype == np.float64


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.bool_()])
def test_lists_of_integers(kind: pa.DataType) -> None:
    table = pa.table({"v": pa.array([[0, 1], [1, 1]], pa.list_(pa.int8())).cast(pa.list_(kind))})
    check(VectorSource(table, vector="v"), [[0, 1], [1, 1]])
    check(VectorSource(pa.table({"v": [[1 << 62, 3]]})), [[float(1 << 62), 3]])


@pytest.mark.parametrize("size", SIZES)
def test_csv_without_a_header(tmp_path: Path, size: int) -> None:
    text = "".join(",".join(map(str, row)) + "\n" for row in ROWS)
    for name, content in {
        "a.csv": text.encode(),
        "bom.csv": BOM + text.encode().replace(b"\n", b"\r\n"),
        "a.csv.gz": gzip.compress(text.encode()),
        "a.tsv": text.replace(",", "\t").encode(),
        "blank.csv": b"\n" + text.encode().replace(b"\n", b"\n\n"),
    }.items():
        check(VectorSource(put(tmp_path / name, content), batch_bytes=size), ROWS)
    path = tmp_path / "a.csv"
    ids = [str(row[1]) for row in ROWS]
    check(VectorSource(path, id="2", batch_bytes=size), MATRIX[:, [0, 2, 3, 4]].tolist(), ids)
    fails(r"a\.csv: no column 'id' for the id; it has 1, 2, 3, 4, 5\.$", path, id="id")
    path = put(tmp_path / "bad.csv", b"1,3\n3\n4,x\n,5\n6,7,8\nnan,1\n9,1e3\n")
    fails(rf"bad\.csv, row 1: 1 field, not 2{SKIP}", path, batch_bytes=size)
    check(VectorSource(path, on_error="skip", batch_bytes=size), [[1, 3], [9, 1000]], [0, 6], 5)


@pytest.mark.parametrize(
    ("content", "rows", "ids"),
    [
        (b"0,1,2\n.5,1,2\n3,4,5\n", [[0.5, 1, 2], [3, 4, 5]], None),
        (b"1\t2\n3\t4\n0.5\t1\n", [[3, 4], [0.5, 1]], None),
        (b"0,1,2,3\n5,6,7,8\n", [[5, 6, 7, 8]], None),
        (b"1;2;3;4\n5;6;7;8\n", [[5, 6, 7, 8]], None),
        (b"0,1,2,3\n0,1,2,3\n5,6,7,8\n", [[0, 1, 2, 3], [0, 1, 2, 3], [5, 6, 7, 8]], None),
        (b"0,1,2,3\n", [[0, 1, 2, 3]], None),  # the only line
        (b"0,1\n1,0\n1,1\n", [[0, 1], [1, 0], [1, 1]], None),  # two integers can be a vector
        (b"0,1,3,4\n5,6,7,8\n", [[0, 1, 3, 4], [5, 6, 7, 8]], None),
        (b"2,3\n.5,.5\n", [[2, 3], [0.5, 0.5]], None),
        (b"0\n.5\n", [[0], [0.5]], None),
        (b"Unnamed: 0,0,1\n7,3,4\n8,5,6\n", [[3, 4], [5, 6]], ["7", "8"]),
        (b'"","V1","V2"\n"a",3,4\n"b",5,6\n', [[3, 4], [5, 6]], ["a", "b"]),
        (b",id,b\n0,a,4\n1,b,6\n", [[0, 4], [1, 6]], ["a", "b"]),
    ],
)
def test_first_lines_that_number_the_columns(
    tmp_path: Path, content: bytes, rows: list[list[float]], ids: list[str] | None
) -> None:
    check(VectorSource(put(tmp_path / ("a.tsv" if b"\t" in content else "a.csv"), content)), rows, ids)


def test_a_line_that_numbers_the_columns_is_reported(run: Commands, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"0,1\n.5,1\n1,2\n")
    outcome = run("vectors", path, "-t", 45)
    assert f"note: the first line of {path} numbers the columns, so it is the header" in outcome.err.replace("\n", " ")
    assert "read: 2 vectors" in outcome.err
    assert "note" not in run("vectors", put(path, b"0,1\n1,1\n1,2\n"), "-t", 45).err


def test_removed_vectors_can_be_written_by_the_old_name_too(run: Commands, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"a,b\n1,1\n2,2\n")
    removed = run("vectors", path, "-t", 45, "--result", "removed", "-q")
    assert (removed.code, removed.out) == (0, '{"id": 1, "kept": 0, "distance": 0.0}\n')
    assert run("vectors", path, "-t", 45, "--result", "dropped", "-q") == removed


def test_which_csv_has_a_header(tmp_path: Path) -> None:
    for content, rows, ids in (
        (b"1,2\n3,4\n", [[1, 2], [3, 4]], None),
        (b"x,2\n3,4\n", [[3, 4]], None),
        (b",0,1\n7,3,4\n8,5,6\n", [[3, 4], [5, 6]], ["7", "8"]),  # a frame with its index
        (b"id,0,1\n7,3,4\n", [[3, 4]], ["7"]),
        (b"1e3, -2.5\n", [[1000, -2.5]], None),
        (b"5\n", [[5]], None),
    ):
        check(VectorSource(put(tmp_path / "a.csv", content)), rows, ids)
    fails(rf"a\.csv, row 0: 2 is empty{SKIP}", put(tmp_path / "a.csv", b"1,,3\n"))
    fails(rf"a\.csv, row 0: a component is nan or infinite{SKIP}", put(tmp_path / "a.csv", b"1,nan,3\n"))


def test_standard_input(standard_input: Callable[[bytes], None]) -> None:
    wide = FILES["wide.csv"]()
    for content, options, ids in (
        (wide, {}, NAMES),
        (gzip.compress(wide), {}, NAMES),
        (FILES["wide.tsv"](), {"format": "tsv"}, NAMES),
        (FILES["list.jsonl"](), {}, NAMES),
        (FILES["list.parquet"](), {}, NAMES),
        (FILES["stream.arrow"](), {}, NAMES),
        (npy(MATRIX), {}, None),
        (npz(a=MATRIX), {}, None),
        (few(sparse.csr_array(MATRIX)), {}, None),
        (vecs("<f4", *ROWS), {"format": "fvecs"}, None),
    ):
        standard_input(content)
        check(VectorSource("-", **options), ROWS, ids)
    standard_input(b"")
    fails(r"^standard input: no vectors found\.$", "-")


FINITE = st.floats(-1e6, 1e6, width=32)
TABLES = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(FINITE, min_size=width, max_size=width), min_size=1, max_size=12)
)


@pytest.mark.slow
@given(TABLES, st.sampled_from(["jsonl", "csv", "header", "parquet", "fixed", "npy", "fvecs"]), st.sampled_from(SIZES))
def test_what_is_written_is_read(rows: list[list[float]], kind: str, size: int) -> None:
    width = len(rows[0])
    lists = pa.table({"v": pa.array(rows, pa.list_(pa.float32()))})
    lines = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    format, content = {
        "jsonl": ("jsonl", encode_jsonl([{"v": row} for row in rows])),
        "csv": ("csv", lines.encode()),
        "header": ("csv", (",".join(f"c{at}" for at in range(width)) + "\n" + lines).encode()),
        "parquet": ("parquet", encode_parquet(lists)),
        "fixed": ("arrow", encode_arrow(lists.cast(pa.schema([("v", pa.list_(pa.float32(), width))])))),
        "npy": ("npy", npy(np.array(rows, np.float32))),
        "fvecs": ("fvecs", vecs("<f4", *rows)),
    }[kind]
    source = VectorSource(pa.table({"a": [1]}), batch_bytes=size)
    source.parts = [Part("rows", format, content=content)]
    check(source, rows)


# --- which columns ---


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        (pa.table({"a": [1], "v": [[2, 3]], "s": ["x"]}), {}, [[2, 3]]),
        (pa.table({"v": [[2, 3]], "tags": [["x"]]}), {}, [[2, 3]]),
        (pa.table({"v": [[2, 3]], "w": [[4]]}), {"vector": "w"}, [[4]]),
        (pa.table({"a": [1], "b": [2.5], "s": ["x"], "yes": [True]}), {}, [[1, 2.5]]),
        (pa.table({"a": [1], "b": [2.5]}), {"id": "-"}, [[1, 2.5]]),
    ],
)
def test_choice_of_columns(table: pa.Table, options: dict[str, str], expected: list[list[float]]) -> None:
    check(VectorSource(table, **options), expected)
    lines = VectorSource(table, **options)
    lines.parts = [Part("lines", "jsonl", content=encode_jsonl(table.to_pylist()))]
    check(lines, expected)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            pa.table({"v": [[2]], "w": [[4]]}), {},
            r"which column holds the vectors\? Pass Vectors\.of\(matrix\); it has v, w\.",
        ),
        (pa.table({"v": [[2]]}), {"vector": "w"}, r"no column 'w' for the vectors; it has v\."),
        (pa.table({"v": [[2]]}), {"id": "w"}, r"no column 'w' for the id; it has v\."),
        (pa.table({"s": ["x"]}), {}, r"no column holds numbers or lists of numbers; it has s\."),
        (pa.table({"s": ["x"], "id": [1]}), {}, r"no column holds numbers or lists of numbers; it has s\."),
        (pa.table({}), {}, r"no column holds numbers or lists of numbers; it has none\."),
        (
            pa.table({"x": [2.5]}), {"vector": "x"},
            r"column 'x' holds double, not lists of numbers; pass Vectors\.of\(matrix\)\.",
        ),
        (pa.table({"x": [["a"]]}), {"vector": "x"}, r"column 'x' holds list<.*string>, not lists of numbers; .*"),
        (pa.table({"v": [[2]], "id": [[1]]}), {}, r"column 'id' holds list<.*>, which cannot be an id\."),
        (pa.table({"v": [[2]]}), {"id": "v", "vector": "v"}, r"column 'v' holds list<.*>, which cannot be an id\."),
        (
            pa.table({"v": [2]}), {"id": "v", "vector": "v", "bits": True},
            r"column 'v' cannot be both the id and the vector\.",
        ),
        (pa.table([[1], [2]], names=["a", "a"]), {}, r"2 columns 'a' for the vectors; it has a, a\."),
        (
            pa.table({"s": ["1"], "n": [1]}), {"bits": True},
            r"which column holds the codes\? Pass Bits\.of\(codes\); it has s, n\.",
        ),
        (pa.table({"yes": [True]}), {"bits": True}, r"no column holds codes or lists of 0 and 1; it has yes\."),
        (
            pa.table({"x": [2.5]}), {"vector": "x", "bits": True},
            r"column 'x' holds double, not codes; pass Bits\.of\(codes\)\.",
        ),
        (pa.table({"v": [[1]], "w": [[0]]}), {"bits": True}, r"which column holds the codes\? Pass Bits\.of.*"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_chosen(table: pa.Table, options: dict[str, Any], message: str) -> None:
    fails(f"^the table: {message}$", table, **options)


def test_options(tmp_path: Path) -> None:
    path = put(tmp_path / "a.npy", npy(MATRIX))
    fails(r"on_error must be one of fail, skip; got 'skp'\. Did you mean 'skip'\?", path, UsageError, on_error="skp")
    fails(r"format must be one of npy, npz, fvecs, .*, pictures; got 'text'", path, UsageError, format="text")
    fails(r"nothing to read: no input was given\.$", [], UsageError)
    fails(r"an input must name a file or folder; got ''\.$", "", UsageError)
    fails(r"gone\.npy: no such file or folder\.$", tmp_path / "gone.npy")
    fails(r"a\.npy: vector='v' names a column or array, but npy has no names\.$", path, vector="v")
    fails(r"a\.npy: id='v' names a column or array, but npy has no names\.$", path, id="v")
    check(VectorSource(path, id="-"), ROWS)
    check(VectorSource(put(tmp_path / "array", path.read_bytes()), format="npy"), ROWS)
    path = put(tmp_path / "a.txt", b"1,2\n")
    fails(r"a\.txt: cannot infer the format from the name; pass Vectors\.of\(matrix\)\.$", path)
    with naming_options({"format": "--format"}):
        fails(r"a\.txt: cannot infer the format from the name; set --format to one of npy, npz, ", path)
    check(VectorSource(tmp_path / "a.txt", format="csv"), [[1, 2]])


def test_documents_are_not_read_from_arrays(tmp_path: Path, run: Commands) -> None:
    path = put(tmp_path / "a.npy", npy(MATRIX))
    for command in ("pairs", "sets"):
        outcome = run(command, path, "--threshold", "0.5")
        assert outcome.code == 1
        how = "use `lookalike vectors` or, for an index, a measure of vectors, such as --measure angle"
        assert complaint(outcome) == f"{path}: holds vectors, not texts or sets; {how}."
    with pytest.raises(
        DataError, match=r"a\.npy: holds vectors, not texts or sets; set measure= to a measure of vectors, "
    ):
        la.find_pairs(path)


# --- bad rows ---

LISTS = [[1.0, 2.0], None, [3.0, None], [4.0], [], [NAN, 1.0], [1.0, -INF], [0.0, 0.0], [5.0, 6.0], [7.0, 8.0, 9.0]]
KEPT, PLACES = [[1, 2], [0, 0], [5, 6]], [0, 7, 8]
WIDE_BAD = pa.table({"x": [1.0, None, 3.0, NAN, 0.0, 5.0], "y": pa.array([2, 2, None, 4, 0, 6])})


def bad_files() -> dict[str, tuple[bytes, str, list[Any], list[int]]]:
    """Return for each file its content, the first fault, the good rows, and their numbers."""
    table = pa.table({"v": pa.array(LISTS, pa.list_(pa.float64()))})
    fixed = pa.table({"v": pa.array([[1, 2], None, [3, None], [NAN, 1], [0, 0], [5, 6]], pa.list_(pa.float32(), 2))})
    lines = encode_jsonl([{"v": row} for row in LISTS])
    more = b'\n{"v": 5}\nbroken\n[1]\nnull\n{"v": ["x", 1]}\n{"v": [true, 1]}\n{"v": {"a": 1}}\n{}\n{"v": [1e999, 1]}\n'
    huge = b'{"v": [1' + b"0" * 400 + b', 1]}\n{"v": [1, 2]} {"v": [1, 2]}\n{"v": [9, 9]}\n'
    csv = b"x,y\n1,2\n,3\n4,five\n6\n7,8,9\nnan,1\n1,-inf\n0,0\n5,6\n1_0,1\n\xff,1\n"
    return {
        "a.parquet": (encode_parquet(table), "row 1: v is null", KEPT, PLACES),
        "a.arrow": (encode_arrow(table[2:]), "row 0: v holds null", [[4]], [1]),
        "empty.arrow": (encode_arrow(table[4:]), "row 0: v has no components", KEPT[1:], [3, 4]),
        "ragged.arrow": (
            encode_arrow(pa.table({"v": [[1.0, 2], [3], [4, 5]]})),
            "row 1: 1 component, where the first row has 2", [[1, 2], [4, 5]], [0, 2],
        ),
        "null.arrow": (encode_arrow(fixed), "row 1: v is null", KEPT, [0, 4, 5]),
        "fixed.arrow": (encode_arrow(fixed[2:]), "row 0: v holds null", KEPT[1:], [2, 3]),
        "a.jsonl": (lines + more + huge, "row 1: v is null", [*KEPT, [9, 9]], [*PLACES, 21]),
        "str.jsonl": (b'{"v": [1]}\n{"v": 5}\n', "row 1: v is an integer, not a list", [[1]], [0]),
        "holds.jsonl": (b'{"v": [1]}\n{"v": ["5"]}\n', "row 1: v holds a string, not numbers", [[1]], [0]),
        "line.jsonl": (
            b"oops\n" + b'{"v": [1]}\n', r"row 0: not valid JSON at column 1 \(Expecting value.*", [[1]], [1],
        ),
        "list.jsonl": (
            b'{"v": [1]}\n[1]\n',
            r"row 1: not a JSON object but a list \(a file can be one whole array; jq -c '\.\[\]' splits others\)",
            [[1]], [0],
        ),
        "x.jsonl": (b'{"x": 1}\n{"x": "1"}\n{"x": 2.5}\n', "row 1: x is '1', not a number", [[1], [2.5]], [0, 2]),
        "id.jsonl": (
            b'{"id": 1, "x": 1}\n{"id": "b", "x": 1}\n{"id": null, "x": 5}\n{"id": 4, "x": 2}\n',
            "row 1: id is a string, not an integer", [[1], [2]], [1, 4],
        ),
        "wide.parquet": (encode_parquet(WIDE_BAD), "row 1: x is null", KEPT, [0, 4, 5]),
        "wide.arrow": (encode_arrow(WIDE_BAD[2:]), "row 0: y is null", KEPT[1:], [2, 3]),
        "wide.jsonl": (
            encode_jsonl(WIDE_BAD.to_pylist()) + b'{"x": 1}\n', "row 1: x is null", KEPT, [0, 4, 5],
        ),
        "a.csv": (csv, "row 1: x is empty", KEPT, PLACES),
        "cell.csv": (b"x,y\n1,2\n3,five\n", "row 1: y is 'five', not a number", [[1, 2]], [0]),
        "field.csv": (b"x,y\n1,2\n3\n4,5,6\n", "row 1: 1 field, not 2", [[1, 2]], [0]),
        "a.npy": (
            npy(np.array([[1, 2], [NAN, 1], [0, 0], [1, INF], [5, 6]])),
            "row 1: a component is nan or infinite", KEPT, [0, 2, 4],
        ),
        "a.fvecs": (
            vecs("<f4", [1, 2], [NAN, 1], [0, 0], [5, 6]), "row 1: a component is nan or infinite", KEPT, [0, 2, 3],
        ),
    }  # fmt: skip


BAD = bad_files()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BAD)
def test_bad_rows(tmp_path: Path, name: str, size: int) -> None:
    content, first, rows, places = BAD[name]
    path = put(tmp_path / name, content)
    fails(rf"^{re.escape(str(path))}, {first}{SKIP}", path, batch_bytes=size)
    skipped = vectors_of(VectorSource(path, on_error="skip", batch_bytes=size)).skipped
    assert skipped > 0
    check(VectorSource(path, on_error="skip", batch_bytes=size), rows, places, skipped)
    kept = [(row, place) for row, place in zip(rows, places, strict=True) if any(row)]
    zeros = len(rows) - len(kept)
    source = VectorSource(path, directions=True, on_error="skip", batch_bytes=size)
    check(source, [row for row, _ in kept], [place for _, place in kept], skipped + zeros)


def test_all_rows_are_counted(tmp_path: Path) -> None:
    for name, total in {"a.parquet": 10, "a.jsonl": 22, "a.csv": 11, "a.npy": 5}.items():
        content, _, rows, _ = BAD[name]
        source = VectorSource(put(tmp_path / name, content), on_error="skip")
        source.read(Run(1))
        assert source.skipped == total - len(rows)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zero_vectors_have_no_direction(tmp_path: Path, kind: type) -> None:
    path = put(tmp_path / "a.npy", npy(np.array([[1, 2], [0, -0.0], [0, 1]], kind)))
    check(VectorSource(path), [[1, 2], [0, 0], [0, 1]])
    fails(rf"a\.npy, row 1: a zero vector has no direction{SKIP}", path, directions=True)
    check(VectorSource(path, directions=True, on_error="skip"), [[1, 2], [0, 1]], [0, 2], 1)


def test_bad_ids(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", None, "c"], "v": [[1], [2], [3]]})
    fails(rf"^the table, row 1: id is null{SKIP}", table)
    check(VectorSource(table, on_error="skip"), [[1], [3]], ["a", "c"], 1)
    path = put(tmp_path / "a.csv", b"id,x\na,1\n,2\n\xff,3\nd,4\n")
    fails(rf"a\.csv, row 1: id is empty{SKIP}", path)
    check(VectorSource(path, on_error="skip"), [[1], [4]], ["a", "d"], 2)
    lines = put(tmp_path / "a.jsonl", b'{"id": "a", "x": 1}\n{"id": "\xff", "x": 2}\n{"id": "\\ud800", "x": 3}\n')
    for size in SIZES:
        fails(rf"a\.jsonl, row 1: id is not valid UTF-8.*{SKIP}", lines, batch_bytes=size)
        check(VectorSource(lines, on_error="skip", batch_bytes=size), [[1]], ["a"], 2)


# --- several inputs ---


def test_several_inputs(tmp_path: Path) -> None:
    one = put(tmp_path / "in" / "1.npy", npy(MATRIX[:9].astype(np.float32)))
    two = put(tmp_path / "in" / "2.parquet", encode_parquet(pa.table({"v": ROWS[9:15]})))
    three = put(tmp_path / "in" / "3.csv", b"".join(b",".join(b"%f" % x for x in row) + b"\n" for row in ROWS[15:]))
    for inputs in ([one, two, three], [one, pa.table({"v": ROWS[9:15]}), str(three)], one.parent, f"{one.parent}/*"):
        check(VectorSource(inputs), ROWS)
    assert vectors_of(VectorSource([one, one])).values.dtype == np.float32
    named = pa.table({"id": ["x"], "v": [ROWS[0]]})
    check(VectorSource([one, named]), [*ROWS[:9], ROWS[0]], [*map(str, range(9)), "x"])
    check(VectorSource([named, named]), [ROWS[0], ROWS[0]], ["x", "x"])


def test_rows_are_numbered_across_inputs(tmp_path: Path) -> None:
    path = put(tmp_path / "a.npy", npy(np.array([[1.0], [NAN]])))
    table = pa.table({"v": [None, [2.0], [3.0]]})
    check(VectorSource([path, table, path], on_error="skip"), [[1], [2], [3], [1]], [0, 3, 4, 5], 3)
    fails(rf"a\.npy, row 1: a component is nan or infinite{SKIP}", [table[1:], path])


def test_inputs_of_several_dimensions(tmp_path: Path) -> None:
    one, two = put(tmp_path / "1.npy", npy(MATRIX)), put(tmp_path / "2.npy", npy(MATRIX[:, :3]))
    message = r"2\.npy: vectors of 3 dimensions, where .*1\.npy has 5; all inputs must have the same number\.$"
    fails(message, [one, two])
    fails(message, [one, two], on_error="skip")
    fails(r"the table: vectors of 2 dimensions, where .*1\.npy has 5; all", [one, pa.table({"v": [[1, 2]]})])
    codes = [put(tmp_path / "c.npy", npy(np.array([1], "u8"))), put(tmp_path / "d.npy", npy(np.array([1], "u4")))]
    fails(r"d\.npy: codes of 32 bits, where .*c\.npy has 64; all inputs must have the same number\.$", codes, bits=True)


def test_inputs_without_rows(tmp_path: Path) -> None:
    for name, content in {
        "a.npy": npy(np.zeros((0, 5))), "a.csv": b"a,b,c,d,e\n",
        "a.parquet": encode_parquet(list_table(pa.list_(pa.float32(), 5))[:0]),
    }.items():  # fmt: skip
        path = put(tmp_path / name, content)
        assert vectors_of(VectorSource(path)).values.shape == (0, 5)
        check(VectorSource([path, list_table(pa.list_(pa.float64()), ids=False)]), ROWS)
    for name, content in {
        "b.csv": b"", "b.jsonl": b"", "blank.jsonl": b"\n \n",
        "b.parquet": encode_parquet(list_table(pa.list_(pa.float32()))[:0]),
    }.items():  # fmt: skip
        path = put(tmp_path / name, content)
        fails(rf"{name}: no vectors found\.$", path)
        check(VectorSource([path, list_table(pa.list_(pa.float64()), ids=False)]), ROWS)
    fails(r"^the table: no codes found\.$", pa.table({"v": pa.array([], pa.string())}), bits=True)
    lost = put(tmp_path / "lost.jsonl", b"oops\n{}\n")
    fails(r"lost\.jsonl: no vectors found; all 2 rows were left out\.$", lost, on_error="skip")


BROKEN: dict[str, bytes] = {
    "short.csv.gz": gzip.compress(b"1,2\n" * 5000)[:-20],
    "short.jsonl.zst": zstd(FILES["list.jsonl"]())[:-20],
    "short.parquet": FILES["list.parquet"]()[:-100],
    "empty.parquet": b"",
    "text.arrow": b"no arrow at all",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path, name: str) -> None:
    fails(rf"{name}: cannot be read as (jsonl|csv|parquet|arrow): \S", put(tmp_path / name, BROKEN[name]))


# --- codes ---

DIGITS = ["10110", "00000", "11111", "01001"]
BITS = np.array([[int(digit) for digit in row] for row in DIGITS])


def words(*numbers: int, width: int = 64) -> list[str]:
    """Return integers as strings, lowest bit first."""
    return [format(number % (1 << width), f"0{width}b")[::-1] for number in numbers]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32])
def test_codes_of_matrices(tmp_path: Path, kind: type) -> None:
    check_bits(VectorSource(put(tmp_path / "a.npy", npy(BITS.astype(kind))), bits=True), DIGITS)
    check_bits(VectorSource(put(tmp_path / "a.npz", npz(a=BITS.astype(kind))), bits=True), DIGITS)


@pytest.mark.parametrize("kind", ["u1", "<u2", ">u4", "i4", "u8", ">i8"])
def test_codes_of_integers(tmp_path: Path, kind: str) -> None:
    numbers = np.array([0, 5, np.iinfo(kind).max, np.iinfo(kind).min], kind)
    expected = words(*map(int, numbers), width=8 * numbers.dtype.itemsize)
    check_bits(VectorSource(put(tmp_path / "a.npy", npy(numbers)), bits=True), expected)


def test_codes_of_bytes(tmp_path: Path) -> None:
    packed = np.array([[1, 2, 255], [0, 7, 16]], np.uint8)
    expected = ["".join(words(*row, width=8)) for row in packed.tolist()]
    check_bits(VectorSource(put(tmp_path / "a.npy", npy(packed)), bits=True), expected)
    check_bits(VectorSource(put(tmp_path / "a.bvecs", vecs("u1", *packed.tolist())), bits=True), expected)
    few_bits = vecs("u1", [1, 0], [0, 0])
    check_bits(VectorSource(put(tmp_path / "b.bvecs", few_bits), bits=True), ["1" + "0" * 15, "0" * 16])


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_codes_of_tables(tmp_path: Path, size: int) -> None:
    ids = ["a", "b", "c", "d"]
    numbers = [0, 5, (1 << 63) - 1, 77]
    hexadecimal = ["0x0f3", "0xFFF", "0X000", "0x10a"]
    for column, expected in (
        (pa.array(numbers), words(*numbers)),
        (pa.array(numbers, pa.uint64()), words(*numbers)),
        (pa.array([-1, 5, -(1 << 31), 0], pa.int32()), words((1 << 32) - 1, 5, 1 << 31, 0)),
        (pa.array([(1 << 64) - 1, 0, 1, 2], pa.uint64()), words((1 << 64) - 1, 0, 1, 2)),
        (pa.array(DIGITS), DIGITS),
        (pa.array(DIGITS, pa.dictionary(pa.int32(), pa.string())), DIGITS),
        (pa.array(hexadecimal, pa.large_string()), words(0x0F3, 0xFFF, 0, 0x10A, width=12)),
        (pa.array(BITS.tolist(), pa.list_(pa.int8())), DIGITS),
        (pa.array(BITS.tolist(), pa.list_(pa.int64(), 5)), DIGITS),
        (pa.array(BITS.astype(bool).tolist(), pa.list_(pa.bool_())), DIGITS),
    ):
        table = pa.table({"id": ids, "code": column})
        for source in (table, put(tmp_path / "a.parquet", encode_parquet(table, 3))):
            check_bits(VectorSource(source, vector="code", bits=True, batch_bytes=size), expected, ids)
        rows = table.to_pylist()
        lines = VectorSource(put(tmp_path / "a.jsonl", encode_jsonl(rows)), bits=True, batch_bytes=size)
        if column.type not in (pa.int32(), pa.list_(pa.bool_())):
            check_bits(lines, expected, ids)
            if not pa.types.is_nested(column.type):
                csv = put(tmp_path / "a.csv", encode_csv(rows))
                check_bits(VectorSource(csv, bits=True, batch_bytes=size), expected, ids)
    wide = pa.table({name: BITS[:, at] for at, name in enumerate("abcde")})
    check_bits(VectorSource(wide, bits=True, batch_bytes=size), DIGITS)
    csv = put(tmp_path / "a.csv", encode_csv(wide.to_pylist()))
    check_bits(VectorSource(csv, bits=True, batch_bytes=size), DIGITS)


@given(st.integers(1, 40), st.data())
def test_hexadecimal_codes_are_their_numbers(digits: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 16**digits - 1), min_size=1, max_size=5))
    table = pa.table({"code": [f"0x{number:0{digits}x}" for number in numbers]})
    check_bits(VectorSource(table, bits=True), words(*numbers, width=4 * digits))


def bad_codes() -> dict[str, tuple[Any, str, list[str], list[int], int]]:
    """Return cases: the input, the first fault, the good codes, their numbers, and the skips."""
    strings = ["12", "0110", None, "011", "01x0", "1111", "é110"]
    hexadecimal = ["0x", "0x1f", "1f", "0xgg", "0x123", "0xff", "1x22"]
    return {
        "strings": (
            pa.table({"c": strings}), "row 0: c is '12', neither a string of 0 and 1 nor 0x and hexadecimal digits",
            ["0110", "1111"], [1, 5], 5,
        ),
        "length": (pa.table({"c": ["01", "011"]}), "row 1: c is '011', not 2 digits of 0 and 1", ["01"], [0], 1),
        "hexadecimal": (
            pa.table({"c": hexadecimal[1:]}), "row 1: c is '1f', not 0x and 2 hexadecimal digits",
            words(0x1F, 0xFF, width=8), [0, 4], 4,
        ),
        "early": (
            pa.table({"c": hexadecimal}), "row 0: c is '0x', neither a string .*",
            words(0x1F, 0xFF, width=8), [1, 5], 5,
        ),
        "integers": (pa.table({"c": [1, None, 3]}), "row 1: c is null", words(1, 3), [0, 2], 1),
        "lists": (
            pa.table({"c": [[0, 1], [2, 0], None, [1], [1, None], [1, 1]]}), "row 1: a bit must be 0 or 1",
            ["01", "11"], [0, 5], 4,
        ),
        "a.npy": (
            npy(np.array([[0, 1], [NAN, 0], [0.5, 1], [1, 1]])), "row 1: a bit must be 0 or 1",
            ["01", "11"], [0, 3], 2,
        ),
        "a.csv": (
            b"c\n5\n-1\nx\n99999999999999999999\n18446744073709551615\n\"\"\n7\n",
            "row 2: c is 'x', not a 64-bit integer",
            words(5, -1, -1, 7), [0, 1, 4, 6], 3,
        ),
        "wide.csv": (b"a,b\n0,1\n1,2\n1,x\n1,1\n", "row 1: a bit must be 0 or 1", ["01", "11"], [0, 3], 2),
        "a.jsonl": (
            b'{"c": 5}\n{"c": -1}\n{"c": 1.5}\n{"c": "7"}\n{"c": 9223372036854775808}\n{"c": 7}\n',
            "row 2: c is a number, not an integer", words(5, -1, 7), [0, 1, 5], 3,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", bad_codes())
def test_bad_codes(tmp_path: Path, name: str, size: int) -> None:
    content, first, good, places, skipped = bad_codes()[name]
    given = put(tmp_path / name, content) if isinstance(content, bytes) else content
    fails(f", {first}{SKIP}", given, bits=True, batch_bytes=size)
    check_bits(VectorSource(given, bits=True, on_error="skip", batch_bytes=size), good, places, skipped)


@pytest.mark.parametrize(
    ("array", "got"),
    [(np.zeros((2, 2, 2)), r"float64 of shape \(2, 2, 2\)"), (np.zeros(2), r"float64 of shape \(2,\)"),
     (np.array([["a"]]), r"<U1 of shape \(1, 1\)"), (np.zeros((2, 0), bool), r"bool of shape \(2, 0\)")],
)  # fmt: skip
def test_arrays_that_are_not_codes(tmp_path: Path, array: np.ndarray, got: str) -> None:
    path = put(tmp_path / "a.npy", npy(array))
    fails(rf"a\.npy: bits must be integers, or a matrix of 0 and 1 or of bytes; got {got}\.$", path, bits=True)


def test_several_inputs_of_codes(tmp_path: Path) -> None:
    one = put(tmp_path / "1.npz", npz(code=BITS, id=np.array(["a", "b", "c", "d"])))
    two = pa.table({"code": ["00111", "x"]})
    check_bits(VectorSource([one, two], bits=True, on_error="skip"), [*DIGITS, "00111"], ["a", "b", "c", "d", "4"], 1)
    wide = np.random.default_rng(2).integers(0, 2, (6, 130))
    paths = [put(tmp_path / f"{at}.npy", npy(wide[at : at + 2])) for at in (0, 2, 4)]
    check_bits(VectorSource(paths, bits=True), ["".join(map(str, row)) for row in wide.tolist()])


# --- progress ---


class Watched(Run):
    """A run that adds up the progress of a stage."""

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Callable[[float], None]]:
        self.total, self.done = total, 0.0
        yield self.advance

    def advance(self, amount: float) -> None:
        self.done += amount


def test_progress_ends_at_its_total(tmp_path: Path) -> None:
    path = put(tmp_path / "a.npy", npy(MATRIX))
    lines = put(tmp_path / "a.jsonl", b"".join(json.dumps({"v": row}).encode() + b"\n" for row in ROWS))
    for inputs in (path, [path, lines], list_table(pa.list_(pa.float64()))):
        run = Watched(1)
        VectorSource(inputs, batch_bytes=64).read(run)
        assert run.done == run.total > 0
        assert list(run.seconds) == ["read"]


def test_numbers_in_folder_names_are_not_components(tmp_path: Path) -> None:
    for year in (2023, 2024):
        put(tmp_path / f"year={year}" / "a.parquet", encode_parquet(pa.table({"x": [0.5], "y": [1.5]})))
    check(VectorSource(tmp_path), [[0.5, 1.5]] * 2)


@pytest.mark.parametrize("size", SIZES)
def test_csv_of_texts_is_no_vectors(tmp_path: Path, size: int) -> None:
    """A whole column of words is no bad row: the advice is about columns, not about skipping rows."""
    path = put(tmp_path / "a.csv", b"id,name,x\na,one,1\nb,two,2\n")
    for on_error in ("fail", "skip"):
        fails(
            r"a\.csv: column 'name' holds text, but each row of CSV must be numbers\. Use id='name' if it holds ids\. "
            r"Vectors in one column need JSON lines or Parquet, and vector=\.$",
            path, batch_bytes=size, on_error=on_error,
        )  # fmt: skip
    check(VectorSource(put(tmp_path / "b.csv", b"id,x\na,1\nb,2\n"), batch_bytes=size), [[1], [2]], ["a", "b"])


# --- threads ---


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_arrays_are_read_alike_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Rows are converted, checked and packed in threads; bad ones are counted in order."""
    rng = np.random.default_rng(0)
    floats = rng.normal(size=(50, 3)).astype(np.float16)
    floats[[7, 30]], floats[41] = np.nan, 0
    bits = rng.integers(0, 2, (50, 9)).astype(np.uint8)
    np.save(tmp_path / "floats.npy", floats)
    np.save(tmp_path / "bits.npy", bits)
    np.save(tmp_path / "wrong.npy", np.where(np.arange(50)[:, None] % 20 == 3, 2, bits).astype(np.int64))
    np.save(tmp_path / "bytes.npy", rng.integers(0, 200, (50, 9)).astype(np.uint8))

    def read() -> list[Any]:
        found = [VectorSource(tmp_path / "floats.npy", directions=True, on_error="skip").read(Run(threads))]
        paths = [tmp_path / f"{name}.npy" for name in ("bits", "wrong", "bytes")]
        codes = [VectorSource(path, bits=True, on_error="skip").read(Run(threads)) for path in paths]
        ids = [None if some.ids is None else some.ids.to_pylist() for some in [*found, *codes]]
        return [found[0].values.tolist(), [code.words.tolist() for code in codes], ids]

    whole = read()
    assert whole[2][:3] == [
        [at for at in range(50) if at not in (7, 30, 41)], None, [at for at in range(50) if at % 20 != 3]
    ]  # fmt: skip
    monkeypatch.setattr("lookalike.items.vectors.BLOCK", 4)
    assert read() == whole


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_bad_row_before_damage_in_a_file_is_reported_first(tmp_path: Path, threads: int) -> None:
    """Even though threads work ahead and meet the damage before."""
    rows = [[1.0, 2.0]] * 40
    batches = [pa.record_batch({"vector": pa.array(rows, pa.list_(pa.float64()))}) for _ in range(4)]
    batches[2] = pa.record_batch({"vector": pa.array([*rows[:5], [1.0, None]], pa.list_(pa.float64()))})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    path = tmp_path / "cut.arrow"
    path.write_bytes(stream.getvalue()[:-300])
    with pytest.raises(DataError, match=r"cut\.arrow, row 85: vector holds null"):
        VectorSource(path).read(Run(threads))
