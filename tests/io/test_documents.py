"""Check that all kinds of input give the same documents and bad rows in any batch size."""

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.io.documents import Source
from lookalike.io.write import write_tables
from tests.samples import Row, encode_arrow, encode_csv, encode_jsonl, encode_parquet, families, sentence, write, zstd

SIZES = (1, 64, 1000, 1 << 30)  # bytes per batch
TEXTS = [
    "plain", "", " spaces  inside ", 'quotes "so" and , commas; and | bars', "tab\there", "café e\u0301 日本語 🙂",
    "NULL", "007", "back\\slash", sentence(1, 300), *(sentence(seed, 12) for seed in range(2, 14)),
]  # fmt: skip
ROWS: list[Row] = [{"id": f"{i:03d}", "text": text, "n": str(i)} for i, text in enumerate(TEXTS)]
TABLE = pa.Table.from_pylist(ROWS)
PAIRS = [(row["id"], row["text"]) for row in ROWS]


def documents(source: Source) -> list[tuple[Any, str]]:
    return [(row["id"], row["text"]) for table in source.batches() for row in table.to_pylist()]


def rows_of(source: Source) -> list[Row]:
    return [row for table in source.tables() for row in table.to_pylist()]


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def cast(**types: pa.DataType) -> pa.Table:
    return TABLE.cast(
        pa.schema(
            [(name, types.get(name, kind.type)) for name, kind in zip(TABLE.schema.names, TABLE.schema, strict=True)]
        )
    )


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda content: monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


# --- all kinds of input ---

DICTIONARY = pa.dictionary(pa.int32(), pa.string())
FILES: dict[str, Callable[[], bytes]] = {
    "groups.parquet": lambda: encode_parquet(TABLE),
    "one.pq": lambda: encode_parquet(TABLE, 1000),
    "dictionary.parquet": lambda: encode_parquet(cast(text=DICTIONARY, id=DICTIONARY)),
    "large.parquet": lambda: encode_parquet(cast(text=pa.large_string())),
    "view.parquet": lambda: encode_parquet(cast(text=pa.string_view(), id=pa.string_view())),
    "binary.parquet": lambda: encode_parquet(cast(text=pa.binary())),
    "file.arrow": lambda: encode_arrow(TABLE),
    "file.feather": lambda: encode_arrow(TABLE, batch=1000),
    "stream.arrow": lambda: encode_arrow(TABLE, stream=True),
    "dictionary.arrow": lambda: encode_arrow(cast(text=DICTIONARY, id=DICTIONARY)),
    "view.arrow": lambda: encode_arrow(cast(text=pa.string_view())),
    "plain.jsonl": lambda: encode_jsonl(ROWS),
    "bom.ndjson": lambda: b"\xef\xbb\xbf" + encode_jsonl(ROWS),
    "crlf.jsonl": lambda: encode_jsonl(ROWS).replace(b"\n", b"\r\n"),
    "blank lines.jsonl": lambda: b"\n \n" + encode_jsonl(ROWS).replace(b"\n", b"\n\n").rstrip(),
    "short.jsonl.gz": lambda: gzip.compress(encode_jsonl(ROWS)),
    "parts.jsonl.gz": lambda: gzip.compress(encode_jsonl(ROWS[:9])) + gzip.compress(encode_jsonl(ROWS[9:])),
    "short.jsonl.zst": lambda: zstd(encode_jsonl(ROWS)),
    "UPPER.JSONL.GZ": lambda: gzip.compress(encode_jsonl(ROWS)),
    "plain.csv": lambda: encode_csv(ROWS),
    "bom.csv": lambda: b"\xef\xbb\xbf" + encode_csv(ROWS),
    "crlf.csv": lambda: encode_csv(ROWS).replace(b"\n", b"\r\n"),
    "short.csv.gz": lambda: gzip.compress(encode_csv(ROWS)),
    "plain.tsv": lambda: encode_csv(ROWS, "\t"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FILES)
def test_files_of_every_kind_give_the_same_documents(tmp_path: Path, name: str, size: int) -> None:
    source = Source([put(tmp_path / name, FILES[name]())], batch_bytes=size)
    for _ in range(2):  # it can be read again
        assert documents(source) == PAIRS
        assert source.documents == len(ROWS)
        texts = [row | {"text": row["text"].encode()} for row in ROWS] if name == "binary.parquet" else ROWS
        assert rows_of(source) == texts


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "make", [lambda: TABLE, lambda: cast(text=DICTIONARY), lambda: pa.concat_tables([TABLE[:3], TABLE[3:]])]
)
def test_tables_in_memory(make: Callable[[], pa.Table], size: int) -> None:
    assert documents(Source(make(), batch_bytes=size)) == PAIRS
    assert rows_of(Source([make()], batch_bytes=size)) == ROWS


@pytest.mark.parametrize(
    ("format", "names"),
    [
        (None, "groups.parquet file.arrow stream.arrow plain.jsonl bom.ndjson short.jsonl.gz short.jsonl.zst"),
        ("csv", "plain.csv short.csv.gz"),
        ("tsv", "plain.tsv"),
    ],
)
def test_standard_input(standard_input: Callable[[bytes], None], format: str | None, names: str) -> None:
    for name in names.split():
        standard_input(FILES[name]())
        source = Source("-", format=format, batch_bytes=1000)
        assert documents(source) == PAIRS
        assert rows_of(source) == ROWS


def test_standard_input_of_text(standard_input: Callable[[bytes], None]) -> None:
    standard_input(b"one\ntwo\n")
    assert documents(Source("-")) == [(0, "one"), (1, "two")]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"one\ntwo\n\nfour\n", ["one", "two", "", "four"]),
        (b"one\r\ntwo\r\n\r\nfour", ["one", "two", "", "four"]),
        (b"\xef\xbb\xbfone\ntwo", ["one", "two"]),
        (b"\n", [""]),
        ("日本語\n🙂".encode(), ["日本語", "🙂"]),
        (b'{"text": "not parsed"}\n1,2\n', ['{"text": "not parsed"}', "1,2"]),
    ],
)
def test_text_has_one_document_per_line(tmp_path: Path, content: bytes, texts: list[str], size: int) -> None:
    source = Source(put(tmp_path / "lines.txt", content), batch_bytes=size)
    assert documents(source) == list(enumerate(texts))
    assert rows_of(source) == [{"id": at, "text": text} for at, text in enumerate(texts)]


def test_a_file_of_unknown_name_is_text(tmp_path: Path) -> None:
    assert documents(Source(put(tmp_path / "notes", b"one\ntwo"))) == [(0, "one"), (1, "two")]
    assert documents(Source(put(tmp_path / "short.txt.gz", gzip.compress(b"one\ntwo")))) == [(0, "one"), (1, "two")]


@pytest.mark.parametrize("size", SIZES)
def test_a_folder_has_one_document_per_file(tmp_path: Path, size: int) -> None:
    folder = tmp_path / ".hidden above" / "corpus"
    for name, content in {
        "b.txt": b"two\nlines\n",
        "a.md": b"\xef\xbb\xbfone",
        "sub/deep/c": b"",
        "d.txt.gz": gzip.compress(b"four"),
    }.items():
        put(folder / name, content)
    put(folder / ".hidden", b"no")
    put(folder / ".git" / "config", b"no")
    source = Source(folder, batch_bytes=size)
    expected = [("a.md", "one"), ("b.txt", "two\nlines\n"), ("d.txt.gz", "four"), ("sub/deep/c", "")]
    assert documents(source) == expected
    assert rows_of(source) == [{"id": name, "text": text} for name, text in expected]
    assert [number for number, _ in documents(Source(folder, id="-", batch_bytes=size))] == [0, 1, 2, 3]


def test_a_glob_has_one_document_per_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x/a1.txt", "x/a2.txt", "x/b1.txt", "x/y/a3.txt"):
        put(tmp_path / name, name.encode())
    assert documents(Source(f"{tmp_path}/x/a*.txt")) == [("a1.txt", "x/a1.txt"), ("a2.txt", "x/a2.txt")]
    assert [name for name, _ in documents(Source(f"{tmp_path}/**/a*.txt"))] == ["x/a1.txt", "x/a2.txt", "x/y/a3.txt"]
    monkeypatch.chdir(tmp_path / "x")
    assert [name for name, _ in documents(Source("*1.txt"))] == ["a1.txt", "b1.txt"]
    assert [name for name, _ in documents(Source("../x/[b]?.txt"))] == ["b1.txt"]


def test_a_file_whose_name_looks_like_a_glob(tmp_path: Path) -> None:
    assert documents(Source(write(tmp_path / "a[1].jsonl", ROWS))) == PAIRS


def test_text_files_named_one_by_one_are_one_document_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [put(tmp_path / name, name.encode() + b"\nmore") for name in ("b.txt", "a.txt")]
    assert documents(Source(paths)) == [(str(path), path.name + "\nmore") for path in paths]
    monkeypatch.chdir(tmp_path)
    assert documents(Source(["b.txt", "./a.txt"])) == [("b.txt", "b.txt\nmore"), ("a.txt", "a.txt\nmore")]


@pytest.mark.parametrize("size", SIZES)
def test_tables_of_a_folder_are_read_one_after_another(tmp_path: Path, size: int) -> None:
    write(tmp_path / "2.parquet", ROWS[9:])
    write(tmp_path / "1.parquet", ROWS[:9])
    for given in (tmp_path, f"{tmp_path}/*.parquet", [tmp_path / "1.parquet", tmp_path / "2.parquet"]):
        source = Source(given, batch_bytes=size)
        assert documents(source) == PAIRS
        assert rows_of(source) == ROWS
    assert [number for number, _ in documents(Source(tmp_path, id="-", batch_bytes=size))] == list(range(len(ROWS)))


def test_kinds_may_be_mixed(tmp_path: Path) -> None:
    parts = (
        write(tmp_path / "1.csv", ROWS[:5]),
        write(tmp_path / "2.parquet", ROWS[5:9]),
        write(tmp_path / "3.jsonl", ROWS[9:]),
    )
    assert documents(Source(parts)) == PAIRS
    assert rows_of(Source(parts)) == ROWS
    assert not Source(parts).is_jsonl()


def test_tables_of_different_columns_have_the_columns_of_all(tmp_path: Path) -> None:
    first = write(tmp_path / "1.parquet", [{"text": "a", "n": 1}])
    second = write(tmp_path / "2.jsonl", [{"more": [1], "text": "b", "n": 2.5}])
    tables = list(Source([first, second]).tables())
    assert len({table.schema for table in tables}) == 1
    assert pa.concat_tables(tables).to_pylist() == [
        {"text": "a", "n": 1.0, "more": None},
        {"text": "b", "n": 2.5, "more": [1]},
    ]
    clash = write(tmp_path / "3.jsonl", [{"text": "c", "n": "three"}])
    with pytest.raises(DataError, match=r"3.jsonl: column 'n' holds string, but int64 in .*1.parquet, and no type"):
        rows_of(Source([first, clash]))


def test_format_overrides_the_name(tmp_path: Path) -> None:
    path = put(tmp_path / "data.bin", encode_jsonl(ROWS))
    assert documents(Source(path, format="jsonl")) == PAIRS
    assert documents(Source(put(tmp_path / "data.txt", encode_parquet(TABLE)), format="parquet")) == PAIRS
    assert len(documents(Source(put(tmp_path / "plain.csv", b"a,b\n1,2\n"), format="text"))) == 2
    assert documents(Source(put(tmp_path / "solo.txt", b"one\ntwo"), format="files")) == [
        (str(tmp_path / "solo.txt"), "one\ntwo")
    ]
    folder = put(tmp_path / "folder" / "1.txt", b"one\ntwo\n").parent
    put(folder / "2.txt", b"three\n")
    assert documents(Source(folder, format="text")) == [(0, "one"), (1, "two"), (2, "three")]
    assert [row["id"] for row in rows_of(Source(folder, format="text"))] == [0, 1, 2]
    with pytest.raises(UsageError, match="Did you mean 'parquet'"):
        Source(path, format="paquet")


def test_newlines_and_quotes_in_csv(tmp_path: Path) -> None:
    rows = [
        {"id": "007", "text": "two\nlines"},
        {"id": "08", "text": 'a "quoted"\r\n, word'},
        {"id": "", "text": "null"},
    ]
    for path in (put(tmp_path / "a.csv", encode_csv(rows)), put(tmp_path / "a.tsv", encode_csv(rows, "\t"))):
        assert documents(Source(path)) == [(row["id"], row["text"]) for row in rows]


@pytest.mark.parametrize("length", [1 << 16, 3 << 18])
def test_a_row_longer_than_a_batch(tmp_path: Path, length: int) -> None:
    rows = [{"id": str(i), "text": "x" * (length if i in (2, 7) else 5)} for i in range(10)]
    for name in ("a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.txt"):
        source = Source(write(tmp_path / name, rows), batch_bytes=1000)
        assert [text for _, text in documents(source)] == [row["text"] for row in rows]


@pytest.mark.parametrize("size", SIZES)
def test_columns_of_json_have_one_type_however_they_are_cut(tmp_path: Path, size: int) -> None:
    rows: list[Row] = [
        {"text": "a", "n": 1, "when": "2024-01-01", "tags": [], "meta": {"x": 1}, "ok": True, "late": None},
        {"text": "b", "n": 2.5, "when": "soon", "tags": ["t"], "meta": {"y": "2024-01-01"}, "late": "2024-01-01"},
        {"text": "c", "more": 3, "id": 4},
    ]
    path = put(tmp_path / "a.jsonl", encode_jsonl(rows))
    with pytest.raises(DataError, match="row 0: id is null"):
        documents(Source(path, batch_bytes=size))
    source = Source(path, id="-", batch_bytes=size)
    assert documents(source) == [(0, "a"), (1, "b"), (2, "c")]
    whole = pa.concat_tables(source.tables())
    assert whole.schema.names == ["text", "n", "when", "tags", "meta", "ok", "late", "more", "id"]
    assert whole.schema.field("when").type == whole.schema.field("late").type == pa.string()
    metas = [{"x": 1, "y": None}, {"x": None, "y": "2024-01-01"}, None]
    everything = dict.fromkeys(whole.schema.names)
    assert whole.to_pylist() == [everything | row | {"meta": meta} for row, meta in zip(rows, metas, strict=True)]


@pytest.mark.parametrize("size", SIZES)
def test_a_json_column_of_two_types_can_be_compared_but_is_no_table(tmp_path: Path, size: int) -> None:
    path = put(tmp_path / "a.jsonl", b'{"text": "a", "x": 1}\n{"text": "b", "x": "one"}\n')
    source = Source(path, batch_bytes=size)
    assert len(documents(source)) == 2
    assert sum(len(lines) for lines in source.lines()) == 2
    with pytest.raises(DataError, match=r"a\.jsonl, row 1: column 'x' holds string here, but int64"):
        rows_of(source)


@pytest.mark.parametrize("size", SIZES)
def test_lines_are_the_very_bytes(tmp_path: Path, size: int) -> None:
    lines = [b'{"text" :"a","line":1, "b":1.50}', b' {"b": [1,  2], "text": "\\u00e9"}\t', b'{"text":"\xc3\xa9"}\r']
    source = Source(put(tmp_path / "a.jsonl", b"\n\n".join(lines)), batch_bytes=size)
    assert source.is_jsonl()
    assert [line.as_py() for some in source.lines() for line in some] == [line + b"\n" for line in lines]
    assert [text for _, text in documents(source)] == ["a", "é", "é"]


def test_a_column_called_line(tmp_path: Path) -> None:
    source = Source(put(tmp_path / "a.jsonl", b'{"line":"a"}\n'))
    assert documents(source) == [(0, "a")]
    assert [lines.to_pylist() for lines in source.lines()] == [[b'{"line":"a"}\n']]


# --- memory ---


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.jsonl.gz", "a.csv", "a.txt"])
@pytest.mark.parametrize("same", [False, True], ids=["unlike", "repeated"])
def test_batches_have_about_the_size_asked_for(tmp_path: Path, name: str, same: bool) -> None:
    size = 1 << 16  # CSV is never cut into smaller blocks
    rows = [{"id": str(i), "text": f"{0 if same else i:0200d}"} for i in range(20_000)]
    table = pa.Table.from_pylist(rows)
    encoders = {
        "a.parquet": lambda: encode_parquet(table, 1 << 20),
        "a.arrow": lambda: encode_arrow(table, batch=1 << 20),
    }
    path = put(tmp_path / name, encoders[name]()) if name in encoders else write(tmp_path / name, rows)
    sizes = [table["text"].nbytes for table in Source(path, batch_bytes=size).batches()]
    assert max(sizes) <= 1.5 * size
    assert len(sizes) < 200


# --- which columns ---


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("columns", "options", "first"),
    [
        (table(id=["a"], text=["t"], body=["b"]), {}, ("a", "t")),
        (table(body=["b"], content=["c"]), {}, (0, "c")),
        (table(n=[1], body=["b"], url=["u"]), {}, (0, "b")),
        (table(n=[1], document=["d"], url=["u"]), {}, (0, "d")),
        (table(n=[1], words=["w"]), {}, (0, "w")),
        (table(id=[7], text=["t"], body=["b"]), {"text": "body"}, (7, "b")),
        (table(id=[7], text=["t"], url=["u"]), {"id": "url"}, ("u", "t")),
        (table(id=[7], text=["t"]), {"id": "-"}, (0, "t")),
        (table(id=[7], text=["t"]), {"id": "text"}, ("t", "t")),
        (table(id=[2.5], text=["t"]), {}, (2.5, "t")),
        (table(id=[b"k"], text=["t"]), {}, (b"k", "t")),
        (table(id=[7], text=["t"], x=[1]).append_column("x", [[2]]), {}, (7, "t")),
    ],
)
def test_choice_of_columns(columns: pa.Table, options: Row, first: tuple[Any, str]) -> None:
    assert documents(Source(columns, **options)) == [first]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            table(a=["x"], b=["y"], n=[1]),
            {},
            r"which column is the text\? Name it with Source\(text=\); it has a, b, n\.",
        ),
        (table(n=[1]), {}, r"which column is the text\? Name it with Source\(text=\); it has n\."),
        (table(text=["x"]), {"text": "body"}, r"no column 'body' for the text; it has text\."),
        (table(text=["x"]), {"id": "key"}, r"no column 'key' for the id; it has text\."),
        (table(text=[1]), {}, r"column 'text' holds int64, not text\."),
        (table(text=["x"], n=[[1]]), {"text": "n"}, r"column 'n' holds list<.*>, not text\."),
        (table(text=["x"], id=[[1]]), {}, r"column 'id' holds list<.*>, which cannot be an id\."),
        (table(text=["x"]).append_column("text", [["y"]]), {}, r"2 columns 'text' for the text; it has text, text\."),
    ],
)
def test_columns_that_cannot_be_chosen(columns: pa.Table, options: Row, message: str) -> None:
    for read in (documents, rows_of):
        with pytest.raises(DataError, match=f"^the table: {message}$"):
            read(Source(columns, **options))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.csv", "a.tsv"])
def test_a_missing_column_names_the_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"x": "a", "y": "b"}])
    with pytest.raises(DataError, match=rf"{name}: which column is the text\? .* it has x, y\."):
        documents(Source(path))
    with pytest.raises(DataError, match=rf"{name}: no column 'z' for the text; it has x, y\."):
        documents(Source(path, text="z"))


# --- bad rows ---

GOOD = {"id": "g", "text": "good"}


def strings(values: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return an array of strings that can hold invalid UTF-8."""
    binary = pa.array(values, pa.binary())
    return pa.Array.from_buffers(kind, len(binary), binary.buffers()) if kind == pa.string() else binary.cast(kind)


def bad_table(kind: pa.DataType) -> pa.Table:
    texts = strings([b"good", None, b"\xff", b"good", b"caf\xe9", b"", b"half \xed\xa0\x80"], kind)
    return pa.table({"id": list("abcdefg"), "text": texts, "n": range(7)})


BAD_VALUES = strings([b"\xff", b"good"], pa.string())
JSON_LINES = [
    b'{"id": "a", "text": "good", "n": 0}',
    b'{"id": "b", "text": null, "n": 1}',
    b'{"id": "c", "text": "\xff", "n": 2}',
    b'{"id": "d", "text": "good", "n": 3}',
    b'{"id": "e", "text": "good"',
    b'["id", "text"]',
    b'{"id": "g", "text": 5}',
    b'{"id": 8, "text": "good"}',
    b'{"id": "i", "text": "\\ud800 half"}',
    b'{"id": "j", "n": 9}',
    b'{"id": "k", "text": "good"}{"id": "l", "text": "good"}',
    b'{"id": "m", "text": "good", "id": "again"}',
    b'{"id": "n", "text": "good", "x": "\\udc00"}',
    b'{"text": "good"}',
    b"null",
    b'{"id": "o", "text": "good", "n": 14}',
]
join = b"\n".join
BAD: dict[str, tuple[bytes, str, list[str], int]] = {  # content, first bad row, ids of good rows, number of bad ones
    "string.parquet": (encode_parquet(bad_table(pa.string()), 3), "row 1: text is null", ["a", "d", "f"], 4),
    "binary.parquet": (encode_parquet(bad_table(pa.large_binary()), 3), "row 1: text is null", ["a", "d", "f"], 4),
    "string.arrow": (encode_arrow(bad_table(pa.string()), batch=3), "row 1: text is null", ["a", "d", "f"], 4),
    "dictionary.arrow": (
        encode_arrow(pa.table({"id": list("abc"), "text": pa.DictionaryArray.from_arrays([1, 0, None], BAD_VALUES)})),
        "row 1: text is not valid UTF-8 (byte 0 is 0xff)", ["a"], 2,
    ),
    "id.parquet": (
        encode_parquet(pa.table({"id": ["a", None, "c"], "text": ["good"] * 3})), "row 1: id is null", ["a", "c"], 1),
    "a.jsonl": (join(JSON_LINES), "row 1: text is null", ["a", "d", "o"], 13),
    "a.jsonl.gz": (gzip.compress(join(JSON_LINES[2:])), "row 0: text is not valid UTF-8", ["d", "o"], 12),
    "broken.jsonl": (join(JSON_LINES[4:]), "row 0: not valid JSON", ["o"], 11),
    "list.jsonl": (join(JSON_LINES[5:]), "row 0: not a JSON object but a list", ["o"], 10),
    "number.jsonl": (join(JSON_LINES[:1] + JSON_LINES[6:]), "row 1: text is an integer, not a string", ["a", "o"], 9),
    "mixed.jsonl": (join(JSON_LINES[:1] + JSON_LINES[7:]), "row 1: id is an integer, not a string", ["a", "o"], 8),
    "half.jsonl": (join(JSON_LINES[:1] + JSON_LINES[8:]), "row 1: JSON parse error: The surr", ["a", "o"], 7),
    "two.jsonl": (join(JSON_LINES[:1] + JSON_LINES[10:]), "row 1: not valid JSON at column 28 (Extra", ["a", "o"], 5),
    "twice.jsonl": (join(JSON_LINES[:1] + JSON_LINES[11:]), "row 1: JSON parse error: Column(/id)", ["a", "o"], 4),
    "arrays.jsonl": (join([json.dumps([GOOD]).encode()] * 2), "row 0: not a JSON object but a list", [], 2),
    "pretty.jsonl": (json.dumps(GOOD, indent=1).encode(), "row 0: not valid JSON", [], 4),
    "a.csv": (
        b'id,text\na,"good\n"\nb,"\xff"\nc,one,two\nd,good\ne\nf,"go\nod"\ng,too,many,\nh\xff,good\n',
        "row 1: text is not valid UTF-8 (byte 0 is 0xff)", ["a", "d", "f"], 5,
    ),
    "fields.csv": (b"id,text\n\na,good\nb,one,two\nc\n", "row 1: 3 fields, not 2", ["a"], 2),
    "a.tsv": (b"id\ttext\na\tgood\nb\n", "row 1: 1 field, not 2", ["a"], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_an_error_with_file_and_row(tmp_path: Path, name: str) -> None:
    content, first, _, _ = BAD[name]
    path = put(tmp_path / name, content)
    for size in SIZES:
        with pytest.raises(DataError) as error:
            documents(Source(path, batch_bytes=size))
        assert f"{path}, {first}" in str(error.value)
        assert str(error.value).endswith("; use Source(on_error='skip') to skip such rows.")
        assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [name for name, (_, _, good, _) in BAD.items() if good])
def test_skipping_leaves_out_exactly_the_bad_rows(tmp_path: Path, name: str, size: int) -> None:
    content, _, good, bad = BAD[name]
    source = Source(put(tmp_path / name, content), on_error="skip", batch_bytes=size)
    for read in (documents, rows_of):
        assert [row[0] if read is documents else row["id"] for row in read(source)] == good
        assert (source.documents, source.skipped) == (len(good), bad)
    if source.is_jsonl():
        assert [json.loads(line)["id"] for lines in source.lines() for line in lines.to_pylist()] == good
        assert (source.documents, source.skipped) == (len(good), bad)


@pytest.mark.parametrize("size", SIZES)
def test_row_numbers_count_bad_rows_too(tmp_path: Path, size: int) -> None:
    """An id is the row's number in the file, whatever was skipped before it."""
    jsonl = put(tmp_path / "a.jsonl", b'{"text": "0"}\nbroken\n{"text": "2"}\n{"text": null}\n{"text": "4"}\n')
    lines = put(tmp_path / "a.txt", b"0\n\xff\n2\n\xff\n4\n")
    rows = put(tmp_path / "a.csv", b"text,x\n0,\n1\n2,\n3,,\n4,\n")
    memory = pa.table({"text": ["0", None, "2", None, "4"]})
    for given in (jsonl, lines, rows, memory):
        source = Source(given, on_error="skip", batch_bytes=size)
        assert documents(source) == [(0, "0"), (2, "2"), (4, "4")]
        assert source.skipped == 2
    both = Source([jsonl, memory], on_error="skip", batch_bytes=size)
    assert [number for number, _ in documents(both)] == [0, 2, 4, 5, 7, 9]


@pytest.mark.parametrize("size", SIZES)
def test_bad_lines_of_text(tmp_path: Path, size: int) -> None:
    path = put(tmp_path / "a.txt", b"one\ncaf\xe9\nthree\n")
    with pytest.raises(DataError, match=r"a\.txt, row 1: text is not valid UTF-8 \(byte 3 is 0xe9\)"):
        documents(Source(path, batch_bytes=size))
    source = Source(path, on_error="skip", batch_bytes=size)
    assert rows_of(source) == [{"id": 0, "text": "one"}, {"id": 2, "text": "three"}]


@pytest.mark.parametrize("size", SIZES)
def test_bad_files_of_a_folder(tmp_path: Path, size: int) -> None:
    for name, content in {
        "a.txt": b"one",
        "b.bin": b"\0\1\2",
        "c/d.txt": b"caf\xe9",
        "e.txt": b"five",
        "f.bin": b"\0",
    }.items():
        put(tmp_path / name, content)
    source = Source(tmp_path, on_error="skip", batch_bytes=size)
    assert documents(source) == [("a.txt", "one"), ("e.txt", "five")]
    assert source.skipped == 3
    assert rows_of(source) == [{"id": "a.txt", "text": "one"}, {"id": "e.txt", "text": "five"}]
    assert documents(Source(tmp_path, on_error="skip", id="-", batch_bytes=size)) == [(0, "one"), (3, "five")]
    with pytest.raises(DataError, match=r"b\.bin: holds null bytes, so it is not text; use Source\(on_error="):
        documents(Source(tmp_path, batch_bytes=size))
    (tmp_path / "b.bin").unlink()
    with pytest.raises(DataError, match=r"c/d\.txt: text is not valid UTF-8 \(byte 3 is 0xe9\)"):
        documents(Source(tmp_path, batch_bytes=size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [name for name, (_, _, good, _) in BAD.items() if not good])
def test_skipping_all_rows_is_an_error(tmp_path: Path, name: str, size: int) -> None:
    content, first, _, bad = BAD[name]
    path = put(tmp_path / name, content)
    for read in (documents, rows_of):
        with pytest.raises(DataError) as error:
            read(Source(path, on_error="skip", batch_bytes=size))
        every = "the only row was" if bad == 1 else f"all {bad} rows were"
        start = f"{path}: {every} left out, so nothing is left to compare. Row 0: {first.removeprefix('row 0: ')}"
        assert str(error.value).startswith(start)
    good = put(tmp_path / "good.jsonl", b'{"id": "x", "text": "good"}')
    both = Source([path, good], on_error="skip", text="text", batch_bytes=size)
    assert documents(both) == [("x", "good")]
    assert both.skipped == bad


@pytest.mark.parametrize("size", SIZES)
def test_bad_bytes_beside_the_text_are_no_fault(tmp_path: Path, size: int) -> None:
    jsonl = put(tmp_path / "a.jsonl", b'{"text": "a", "x": "\xff"}\nbroken\n{"text": "b"}\n')
    rows = put(tmp_path / "a.csv", b"text,x\na,\xff\nb,\n")
    for path, skipped in ((jsonl, 1), (rows, 0)):
        source = Source(path, on_error="skip", batch_bytes=size)
        assert [text for _, text in documents(source)] == ["a", "b"]
        assert source.skipped == skipped


def test_on_error_is_fail_or_skip() -> None:
    with pytest.raises(UsageError, match=r"on_error must be one of fail, skip; got 'skp'\. Did you mean 'skip'\?"):
        Source(TABLE, on_error="skp")


# --- broken and empty inputs ---

BROKEN: dict[str, bytes] = {
    "garbage.jsonl.gz": b"\x1f\x8bno gzip at all",
    "plain.jsonl.gz": encode_jsonl(ROWS),
    "short.jsonl.gz": gzip.compress(encode_jsonl(families(30)))[:-200],
    "short.jsonl.zst": zstd(encode_jsonl(families(30)))[:-200],
    "short.csv.gz": gzip.compress(encode_csv(families(30)))[:-200],
    "short.parquet": encode_parquet(TABLE)[:-100],
    "empty.parquet": b"",
    "text.parquet": b"no parquet",
    "empty.arrow": b"",
    "text.arrow": b"no arrow at all",
    "short.arrow": encode_arrow(TABLE)[:-300],
    "stream.arrow": encode_arrow(TABLE, stream=True)[:-300],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, BROKEN[name])
    for read in (documents, rows_of):
        with pytest.raises(DataError, match=rf"{name}: cannot be read as (jsonl|csv|parquet|arrow): \S") as error:
            read(Source(path))
        assert "\n" not in str(error.value)
    with pytest.raises(DataError, match=rf"{name}: cannot be read as"):  # as the second file too
        la.find_pairs(Source([write(tmp_path / "good.parquet", ROWS), path]))


def test_broken_standard_input(standard_input: Callable[[bytes], None]) -> None:
    standard_input(b"\x1f\x8bno gzip at all")
    with pytest.raises(DataError, match=r"^standard input: cannot be decompressed: "):
        Source("-")


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing\.jsonl: no such file or folder\.$"):
        Source(tmp_path / "missing.jsonl")
    with pytest.raises(DataError, match=r"no files found\.$"):
        Source(tmp_path)
    put(tmp_path / ".hidden", b"x")
    with pytest.raises(DataError, match=r"no files found\.$"):
        Source(tmp_path)
    with pytest.raises(DataError, match=r"\*\.csv: no files found\.$"):
        Source(f"{tmp_path}/*.csv")
    with pytest.raises(UsageError, match="nothing to read"):
        Source([])


EMPTY: dict[str, bytes] = {
    "groups.parquet": encode_parquet(TABLE[:0]),
    "file.arrow": encode_arrow(TABLE[:0]),
    "stream.arrow": encode_arrow(TABLE[:0], stream=True),
    "nothing.jsonl": b"",
    "blank.jsonl": b"\n\n  \n",
    "nothing.jsonl.gz": gzip.compress(b""),
    "nothing.csv": b"",
    "header.csv": b"id,text\n",
    "head.csv": b"id,text",
    "nothing.tsv": b"",
    "nothing.txt": b"",
    "bom.txt": b"\xef\xbb\xbf",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EMPTY)
def test_a_file_without_rows_has_no_documents(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, EMPTY[name])
    for options in ({}, {"text": "text", "id": "-"}):
        source = Source(path, **options)
        assert documents(source) == rows_of(source) == []
        assert next(iter(source.tables())).schema.names
    assert len(la.find_pairs(path)) == len(la.find_clusters(path)) == 0
    assert len(la.dedup(path).kept) == 0
    assert len(la.find_matches(path, write(tmp_path / "some.jsonl", ROWS))) == 0


def test_an_empty_file_has_the_columns_asked_for(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv"):
        tables = list(Source(put(tmp_path / name, b""), text="body", id="key").tables())
        assert [table.schema.names for table in tables] == [["body", "key"]]


def test_other_columns_may_share_a_name(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"id,text,x,x\n1,a,2,3\n")
    assert documents(Source(path)) == [("1", "a")]
    whole = pa.concat_tables(Source(path).tables())
    assert [column.to_pylist() for column in whole.columns] == [["1"], ["a"], ["2"], ["3"]]


def test_an_empty_table() -> None:
    assert documents(Source(TABLE[:0])) == []
    assert len(la.find_pairs(TABLE[:0])) == 0


def test_the_text_of_json_may_be_missing_in_the_first_line(tmp_path):
    """The columns come from many lines, not just the first."""
    path = tmp_path / "late.jsonl"
    path.write_text('{"id": 1, "title": "Intro"}\n{"id": 2, "title": "Two", "text": "body"}\n')
    source = Source(path, on_error="skip")
    assert [table["text"].to_pylist() for table in source.batches()] == [["body"]]
    assert source.skipped == 1


def test_expected_documents_of_bytes_in_memory(monkeypatch):
    """The estimate for standard input uses its size, as for a file."""
    lines = b"".join(b"a document of some length, number %d\n" % i for i in range(5000))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    source = Source("-")
    first = next(source.batches())["text"].combine_chunks()
    assert 4000 < source.expected(first.slice(0, 1000)) < 6000


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_expected_documents_are_counted_if_all_are_in_the_sample(inputs, suffix):
    """Other columns do not count as texts, so the plan is that of the same rows as a table."""
    rows = pa.table({"text": [f"text number {at}" for at in range(900)], "other": ["x" * 300] * 900})
    write_tables([rows], str(inputs / f"some{suffix}"), {})
    source = la.Source(inputs / f"some{suffix}")
    (texts,) = source.samples()
    assert source.expected(texts) == 900
    assert la.find_pairs(source, method="lsh").plan.bands == la.find_pairs(rows, method="lsh").plan.bands


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".arrow"])
def test_expected_documents_beside_other_columns(inputs, suffix):
    rows = pa.table({"text": [f"text number {at}" for at in range(9000)], "other": ["x" * 300] * 9000})
    write_tables([rows], str(inputs / f"some{suffix}"), {})
    source = la.Source(inputs / f"some{suffix}")
    assert 7000 < source.expected(source.samples()[0]) < 12000


def test_an_empty_name():
    with pytest.raises(UsageError, match="an input must name a file or folder"):
        Source([""])


# --- what other programs write ---


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_other_separators_of_csv(inputs, separator):
    """Excel writes a semicolon where the comma is the decimal point, and a byte order mark."""
    rows = [["id", "text", "price, net"], ["a", "one; two, three", "1,50"], ["b", "four | five\tsix", "2,50"]]
    with (inputs / "some.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    [table] = la.Source(inputs / "some.csv").batches()
    assert table.to_pydict() == {"id": ["a", "b"], "text": ["one; two, three", "four | five\tsix"]}


def test_one_column_of_csv(inputs):
    (inputs / "one.csv").write_text("text\none; two; three\n")
    [table] = la.Source(inputs / "one.csv").batches()
    assert table["text"].to_pylist() == ["one; two; three"]


def test_notes_beside_tables_are_passed_over(inputs):
    lines = '{"id": 1, "text": "one"}\n'
    for name in ("a.jsonl", "b.jsonl", "README.md", "_SUCCESS", "LICENSE", "lookalike.toml"):
        (inputs / name).write_text(lines.replace("1", "2") if name == "b.jsonl" else lines)
    assert [table["id"].to_pylist() for table in la.Source(inputs).batches()] == [[1], [2]]
    (inputs / "notes.md").write_text("which are documents, like all others here")
    [table] = la.Source(inputs).batches()
    assert len(table) == 5


def test_a_dataset_on_disk(inputs):
    """It is a folder of Arrow files with JSON files about them."""
    table = pa.table({"id": [1, 2], "text": ["one", "two"]})
    with (
        pa.OSFile(str(inputs / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as out,
    ):
        out.write_table(table)
    for name in ("dataset_info.json", "state.json"):
        (inputs / name).write_text('{\n  "splits": []\n}')
    [found] = la.Source(inputs).batches()
    assert found["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "book.csv",
            b"PK\x03\x04 and so on",
            r"book\.csv: is a zip archive; unpack it, or name an Excel workbook \.xlsx\.$",
        ),
        (
            "a.jsonl.bz2",
            bz2.compress(b'{"text": "one"}'),
            "is compressed with bzip2, which is not supported; pipe it through bzcat",
        ),
        ("a.txt.xz", lzma.compress(b"one"), "is compressed with xz, which is not supported; pipe it through xzcat"),
        ("a.csv", "id,text\n1,one".encode("utf-16"), r"a\.csv: is in UTF-16; use encoding='utf-16' to read it\.$"),
        ("a.pdf", b"%PDF-1.7", "is a PDF; convert it with pdftotext"),
    ],
)
def test_files_that_are_not_text_are_reported(inputs, name, content, message):
    (inputs / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        la.Source(inputs / name)


@pytest.mark.parametrize("content", ['[{"text": "one"}]\n[{"text": "two"}]\n', '[\n{"text": "one"}\n'])
def test_how_to_make_lines_of_arrays(inputs, content):
    (inputs / "a.json").write_text(content)
    message = r"row 0: not .* \(a file can be one whole array; jq -c '.\[\]' splits others\)"
    with pytest.raises(DataError, match=message):
        list(la.Source(inputs / "a.json").batches())


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_the_index_of_a_frame_is_not_the_text(tmp_path: Path, first: str) -> None:
    path = put(tmp_path / "a.csv", f"{first},review\n0,good\n1,bad\n".encode())
    assert documents(Source(path)) == [(0, "good"), (1, "bad")]
    assert rows_of(Source(path))[1] == {first: "1", "review": "bad"}


# --- encodings ---

LATIN: list[Row] = [{"id": "ä", "text": "café au lait"}, {"id": "ö", "text": "50 € für “alles”"}]
WRITTEN: dict[str, Callable[[list[Row]], bytes]] = {
    "a.csv": encode_csv,
    "a.tsv": lambda rows: encode_csv(rows).replace(b",", b"\t"),
    "a.jsonl": encode_jsonl,
    "a.csv.gz": encode_csv,
}


@pytest.mark.parametrize("encoding", ["windows-1252", "cp1252", "utf-16", "utf-16-le", "utf-8", "UTF8", "utf-8-sig"])
@pytest.mark.parametrize("name", WRITTEN)
def test_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    content = WRITTEN[name](LATIN).decode().encode(encoding)
    path = put(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    for size in SIZES:
        source = Source(path, encoding=encoding, batch_bytes=size)
        assert documents(source) == [(row["id"], row["text"]) for row in LATIN]
        assert rows_of(source) == LATIN
        if source.is_jsonl():
            assert (
                b"".join(line for lines in source.lines() for line in lines.to_pylist()).strip()
                == encode_jsonl(LATIN).strip()
            )


def test_encodings_of_texts_and_standard_input(tmp_path: Path, standard_input: Callable[[bytes], None]) -> None:
    content = "café\nnaïve\n".encode("latin-1")
    path = put(tmp_path / "texts" / "a.txt", content)
    assert documents(Source(path, encoding="latin-1")) == [(0, "café"), (1, "naïve")]
    assert documents(Source(path.parent, encoding="latin-1")) == [("a.txt", "café\nnaïve\n")]
    standard_input(content)
    assert documents(Source("-", encoding="latin-1")) == [(0, "café"), (1, "naïve")]
    parquet = put(tmp_path / "a.parquet", encode_parquet(TABLE))  # needs no encoding
    assert len(documents(Source([parquet, path], encoding="latin-1", id="-"))) == len(ROWS) + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoding": "latin-99"},
            "encoding must name a text encoding, such as utf-8, windows-1252, .*; got 'latin-99'",
        ),
        ({"encoding": "base64"}, "encoding must name a text encoding, .*; got 'base64'"),
        ({"encoding": "a\0b"}, "encoding must name a text encoding"),
        ({"encoding": "latin-1", "html": True}, "encoding does not apply to web pages, which declare their own"),
    ],
)
def test_encodings_that_cannot_be(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Source(put(tmp_path / "a.html", b"text\n"), **options)


def test_encodings_of_what_has_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"encoding applies to CSV, JSON lines and text; .*a\.parquet is parquet\.$"):
        Source(put(tmp_path / "a.parquet", encode_parquet(TABLE)), encoding="latin-1")
    with pytest.raises(DataError, match=r"a\.csv: cannot be read as csv: .* can't decode byte 0x81"):
        documents(Source(put(tmp_path / "a.csv", b"text\n\x81\n"), encoding="windows-1252"))


def test_names_of_columns_that_are_not_utf8(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "id,téxt\n1,one\n".encode("latin-1"))
    hint = "if the file is not UTF-8, set encoding=, for example to windows-1252"
    message = rf"a column's name is not valid UTF-8 \(byte 0xe9\); it has id, t\ufffdxt; {hint}"
    with pytest.raises(DataError, match=message):
        documents(Source(path))
    assert documents(Source(path, text="téxt", encoding="latin-1")) == [("1", "one")]


def test_texts_that_are_not_utf8(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "id,text\n1,café\n".encode("latin-1"))
    with pytest.raises(
        DataError, match=r"if the file is not UTF-8, set Source\(encoding=\), for example to windows-1252;"
    ):
        documents(Source(path))


@pytest.mark.parametrize("size", SIZES)
def test_rows_that_are_neither_whole_nor_utf8(tmp_path: Path, size: int, capfd: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "a.csv", b"id,text\na,one\nb,two\xe9,three\n")
    for on_error in ("fail", "skip"):
        with pytest.raises(
            DataError,
            match=r"a\.csv, row 1: 3 fields, not 2, and not valid UTF-8; if the file is not UTF-8, set encoding=",
        ):
            documents(Source(path, on_error=on_error, batch_bytes=size))
    assert documents(Source(path, on_error="skip", encoding="latin-1")) == [("a", "one")]
    assert capfd.readouterr() == ("", "")


# --- columns from folder names ---


def partitioned(folder: Path, *names: str) -> Path:
    """Write a Parquet file of one row to each of the folders."""
    for at, name in enumerate(names):
        put(folder / name / "part-0.parquet", encode_parquet(table(id=[at], review=[f"text {at}"])))
    return folder


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["lang=de", "lang=en"], [{"lang": "de"}, {"lang": "en"}]),
        (["y=2023/m=9", "y=2024/m=10"], [{"y": 2023, "m": 9}, {"y": 2024, "m": 10}]),
        (["m=09", "m=10"], [{"m": "09"}, {"m": "10"}]),  # kept as written
        (["n=-1", "n=0"], [{"n": -1}, {"n": 0}]),
        (["a=1", "a=x"], [{"a": "1"}, {"a": "x"}]),
        (["a=1", "a=__HIVE_DEFAULT_PARTITION__"], [{"a": 1}, {"a": None}]),
        (["a=x%20y%3D1"], [{"a": "x y=1"}]),
        (["a=1", "b=2"], [{"a": 1, "b": None}, {"a": None, "b": 2}]),
        (["id=7", "other"], [{}, {}]),  # the files have this column themselves
        (["=x", "x"], [{}, {}]),
    ],
)
def test_columns_from_folder_names(tmp_path: Path, folders: list[str], expected: list[Row]) -> None:
    for given in (partitioned(tmp_path, *folders), f"{tmp_path}/**/*.parquet"):
        for size in SIZES:
            source = Source(given, batch_bytes=size)
            ids = list(range(len(folders)))
            rows = {row["id"]: row for row in rows_of(source)}
            assert [rows[name] for name in ids] == [
                {"id": name, "review": f"text {at}", **expected[at]} for at, name in enumerate(ids)
            ]
            assert sorted(documents(source)) == [(name, f"text {at}") for at, name in enumerate(ids)]


def test_a_column_from_folder_names_can_be_the_id(tmp_path: Path) -> None:
    source = Source(partitioned(tmp_path, "k=a", "k=b"), id="k")
    assert documents(source) == [("a", "text 0"), ("b", "text 1")]
    with pytest.raises(DataError, match=r"no column 'j' for the id; it has id, review, k\.$"):
        documents(Source(tmp_path, id="j"))


# --- quotes that are not closed ---


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("content", "line", "after"),
    [
        (b'id,text\n1,"fine"\n2,"open, and on\n3,three\n4,four\n', 3, 2),
        (b'id,text\r\n1,"fine"\r\n2,"open\r\n3,three', 3, 1),
        (b'id,text,n\n1,one,1\n2,two,"2\n3,three,3\n\n \n', 3, 1),  # in a column that is not used
        (b'text,id\n"two\nlines",1\n"open,2\nthree,3\nfour,4\n', 4, 2),  # a row of one field
        (b'text,id\n"two\nlines",1\n"open,2\n"three",3\n4,"four,4\nfive,5\n', 6, 1),
    ],
)
def test_a_quote_that_is_not_closed(tmp_path: Path, content: bytes, line: int, after: int, size: int) -> None:
    for path in (put(tmp_path / "a.csv", content), put(tmp_path / "a.csv.gz", gzip.compress(content))):
        lines = f"{after} line{'s' * (after > 1)}"
        for read in (documents, rows_of):
            for on_error in ("fail", "skip"):
                with pytest.raises(DataError) as error:
                    read(Source(path, on_error=on_error, batch_bytes=size))
                where = f"{path}, line {line}: a quote opens here and is never closed, so its cell includes the {lines}"
                assert str(error.value).startswith(f"{where} after it.")


@pytest.mark.parametrize(
    ("content", "texts", "skipped"),
    [
        (b'id,text\n1,"two\nlines"\n', ["two\nlines"], 0),
        (b'id,text\n1,"two\nlines" \n\n', ["two\nlines "], 0),
        (b'id,text\n1,5" disk\n2,a "b\n', ['5" disk', 'a "b'], 0),
        (b'id,text\n1,"say ""\n"""\n', ['say "\n"'], 0),
        (b'id,text\n1,"two\nlines"\n2,too,many\n', ["two\nlines"], 1),  # the last row is a different one
        (b'id,text\n1,one\n2,"too\nmany",3\n', ["one"], 1),
    ],
)
def test_quotes_that_are_closed(tmp_path: Path, content: bytes, texts: list[str], skipped: int) -> None:
    for size in SIZES:
        source = Source(put(tmp_path / "a.csv", content), on_error="skip", batch_bytes=size)
        assert [text for _, text in documents(source)] == texts
        assert source.skipped == skipped


# --- pieces ---

LONG = pa.Table.from_pylist([{"id": at, "text": sentence(at, 20), "n": "x" * (at % 30)} for at in range(300)])
PIECED = {
    "a.parquet": lambda rows: encode_parquet(pa.Table.from_pylist(rows), 17),
    "a.jsonl": encode_jsonl,
    "a.txt": lambda rows: "".join(f"{row['text']}\n" for row in rows).encode(),
}
WHOLE = {
    "a.jsonl.gz": lambda rows: gzip.compress(encode_jsonl(rows)),
    "a.json": lambda rows: json.dumps(rows).encode(),
    "a.csv": encode_csv,
}


def check_pieces(source: Source, size: int) -> list[Source]:
    """Check that the pieces of a source have all that it has; return them."""
    pieces = source.pieces(size)
    rows = 0
    for piece in pieces:
        piece.rows_before = rows
        list(piece.batches())
        rows += piece.rows_read
    assert [one for piece in pieces for one in documents(piece)] == documents(source)
    assert [one for piece in pieces for one in rows_of(piece)] == rows_of(source)
    if source.is_jsonl():
        lines = [line for piece in pieces for some in piece.lines() for line in some.to_pylist()]
        assert lines == [line for some in source.lines() for line in some.to_pylist()]
    return pieces


@pytest.mark.parametrize("ids", ["id", "-"])
@pytest.mark.parametrize("name", [*PIECED, *WHOLE])
def test_pieces(tmp_path: Path, name: str, ids: str) -> None:
    content = {**PIECED, **WHOLE}[name](LONG.to_pylist())
    path = put(tmp_path / name, content)
    for size in (13, 777, 5000, 1 << 30):  # the smallest less than a line
        pieces = check_pieces(Source(path, id="-" if name == "a.txt" else ids), size)
        assert (len(pieces) > 1) == (name in PIECED and size < len(content))


def test_pieces_of_arrow_files(tmp_path: Path) -> None:
    """A stream can only be read from its beginning."""
    for make, most in ((pa.ipc.new_file, 30), (pa.ipc.new_stream, 1)):
        with make(str(tmp_path / "a.arrow"), LONG.schema) as file:
            file.write_table(LONG, max_chunksize=10)
        assert len(check_pieces(Source(tmp_path / "a.arrow"), 100)) == most


def test_pieces_of_many_files(tmp_path: Path) -> None:
    """Small files are read together, unless only some of them have ids."""
    for at in range(40):
        put(tmp_path / "texts" / f"{at}.txt", sentence(at, 30).encode())
        put(tmp_path / "lines" / f"{at:02}.jsonl", encode_jsonl([{"text": sentence(at, 30)}]))
    assert 5 < len(check_pieces(Source(tmp_path / "texts", format="files"), 1000)) < 20
    assert 5 < len(check_pieces(Source(tmp_path / "lines"), 1000)) < 20
    mixed = [put(tmp_path / "ids.jsonl", encode_jsonl(LONG.to_pylist()[:2])), tmp_path / "lines" / "00.jsonl"]
    assert len(Source(mixed).pieces(1 << 30)) == 2


def test_types_of_pieces(tmp_path: Path) -> None:
    """A piece has the columns of the whole, with types that fit all of it."""
    rows = [{"text": sentence(at, 9), "n": at if at < 50 else at / 2, "only": [at]} for at in range(100)]
    rows[70]["late"] = 1.5
    pieces = check_pieces(Source(put(tmp_path / "a.jsonl", encode_jsonl(rows))), 500)
    assert len({next(iter(piece.tables())).schema for piece in pieces}) == 1


def test_bad_rows_of_pieces(tmp_path: Path) -> None:
    """They are named by the place where the piece begins."""
    lines = encode_jsonl(LONG.to_pylist()).splitlines(keepends=True)
    lines[200] = b'{"id": 200}\n'
    pieces = Source(put(tmp_path / "a.jsonl", b"".join(lines))).pieces(4000)
    at = sum(map(len, lines[:200])) // 4000
    with pytest.raises(DataError, match=rf"a\.jsonl from byte {4000 * at:,}, row \d+: text is null"):
        list(pieces[at].batches())
