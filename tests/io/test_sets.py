"""Check that all kinds of files give the same sets and bad rows in any batch size."""

import gzip
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.io import elements as set_elements
from lookalike.io import sets as set_files
from lookalike.io.sets import SetSource
from lookalike.items.sets import Sets, hash_integers, hash_texts, hash_values
from tests.samples import Row, encode_arrow, encode_csv, encode_jsonl, encode_parquet, write, zstd

THREE = Run(3)
SIZES = (1, 64, 1000, 1 << 30)  # bytes per batch
BOM = b"\xef\xbb\xbf"
WORDS = ["é", "a b", "日本語", "🙂", "", "007", "x", "NULL", "-1"]


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def check(source: SetSource, expected: dict[Any, Any]) -> None:
    """Check that the source has exactly these sets, {id: elements}, in order, with any threads."""
    for run in (Run(1), THREE):
        ids, sets = source.read(run)
        wanted = Sets.of([Counter(some) if source.bag else some for some in expected.values()])
        assert ids.to_pylist() == list(expected)
        assert sets.indptr.tolist() == wanted.indptr.tolist()
        assert sets.elements.tolist() == wanted.elements.tolist()
        assert sets.bag == source.bag


def fails(source: SetSource, message: str) -> None:
    """Check that reading fails with this one-line message."""
    with pytest.raises(DataError) as error:
        source.read(Run(1))
    assert re.search(message, str(error.value)), str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda content: monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


# --- text: one set per line ---


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1 2 3\n2 3 4\n", {1: [1, 2, 3], 2: [2, 3, 4]}),
        (b"1 2 3\r\n2 3 4", {1: [1, 2, 3], 2: [2, 3, 4]}),
        (b"  1\t2,3 ;; 2 \n\n \n,;\n4\n", {1: [1, 2, 3, 2], 5: [4]}),
        (b"\r\n\r\n1 1 1", {3: [1, 1, 1]}),
        (BOM + b"1 2\n3", {1: [1, 2], 2: [3]}),
        (BOM + b"a\r\nb\r\n", {1: ["a"], 2: ["b"]}),
        ("é,日本語\u3000🙂\n\u00a0é\u2003é\n".encode(), {1: ["é", "日本語", "🙂"], 2: ["é", "é"]}),
        (b"1 2\n3 x\n", {1: ["1", "2"], 2: ["3", "x"]}),  # one string makes all of them strings
        (b"x\n3 1\n", {1: ["x"], 2: ["3", "1"]}),
        (b"1 2\n03\n", {1: ["1", "2"], 2: ["03"]}),
        (b"1 2\n+3\n", {1: ["1", "2"], 2: ["+3"]}),
        (b"1 0\n-0\n", {1: ["1", "0"], 2: ["-0"]}),
        (b"31\n0x1F\n", {1: ["31"], 2: ["0x1F"]}),
        (b"1\n1.0\n1e0\n", {1: ["1"], 2: ["1.0"], 3: ["1e0"]}),
        (b"-1 0\n-9223372036854775808 9223372036854775807\n", {1: [-1, 0], 2: [-(1 << 63), (1 << 63) - 1]}),
        (b"18446744073709551615\n1\n", {1: [(1 << 64) - 1], 2: [1]}),
        (b"18446744073709551615\n-1\n", {1: ["18446744073709551615"], 2: ["-1"]}),  # no integer type holds both
        (b"-1\n9223372036854775808\n", {1: ["-1"], 2: ["9223372036854775808"]}),
        (b"1\n18446744073709551616\n", {1: ["1"], 2: ["18446744073709551616"]}),
        (b'{"a": 1}\n', {1: ['{"a":', "1}"]}),
        (b"", {}),
        (BOM, {}),
        (b"\n \n,\n", {}),
    ],
)
def test_text(tmp_path: Path, content: bytes, expected: dict[int, list[Any]], bag: bool, size: int) -> None:
    for name, packed in {
        "a.txt": content,
        "a.dat": content,
        "sets": content,
        "a.dat.gz": gzip.compress(content),
        "a.txt.zst": zstd(content),
    }.items():
        source = SetSource(put(tmp_path / name, packed), bag=bag, batch_bytes=size)
        check(source, expected)
        assert source.skipped == 0
        assert source.read(Run(1))[0].type == pa.int64()


@pytest.mark.parametrize(
    ("separator", "line", "expected"),
    [
        ("|", "red wine | white, wine||red wine", ["red wine", "white, wine", "red wine"]),
        (",", "a b,c;d , ", ["a b", "c;d"]),
        ("\t", "a b\tc", ["a b", "c"]),
        (" ", "a,b  c", ["a,b", "c"]),
        ("::", "a:b::c:::d", ["a:b", "c", ":d"]),
        (".*", "a.*b", ["a", "b"]),
        ("é", "1é2", [1, 2]),
    ],
)
def test_a_separator_of_ones_own(tmp_path: Path, separator: str, line: str, expected: list[Any]) -> None:
    path = put(tmp_path / "a.txt", f"{line}\n{separator}\n{line}\r\n".encode())
    for bag in (False, True):
        check(SetSource(path, separator=separator, bag=bag), {1: expected, 3: expected})


def test_text_of_standard_input(standard_input: Callable[[bytes], None]) -> None:
    for content in (b"b\n\na b\n", gzip.compress(b"b\n\na b\n")):
        standard_input(content)
        check(SetSource("-"), {1: ["b"], 3: ["a", "b"]})
    standard_input(b"{a,b}\n")
    check(SetSource("-", format="text"), {1: ["{a", "b}"]})


@pytest.mark.parametrize("size", SIZES)
def test_several_text_files_have_names_in_their_ids(tmp_path: Path, size: int) -> None:
    one, two = put(tmp_path / "in" / "1.txt", b"1\n\n2\n"), put(tmp_path / "in" / "2.dat", b"1 x\n")
    expected = {f"{one}:1": ["1"], f"{one}:3": ["2"], f"{two}:1": ["1", "x"]}
    for inputs in ([one, two], one.parent, str(one.parent), f"{tmp_path}/in/*", [f"{one.parent}/1*", two]):
        check(SetSource(inputs, batch_bytes=size), expected)
    check(SetSource([two, one]), {f"{two}:1": ["1", "x"], **expected})
    fails(
        SetSource([one, one]), r"ids must be unique when each line or list is a set; '.*1\.txt:1' occurs more than once"
    )


@pytest.mark.parametrize("size", SIZES)
def test_bad_lines(tmp_path: Path, size: int) -> None:
    path = put(tmp_path / "a.txt", b"one\n\ncaf\xe9\nfour\n\xff")
    hint = "if the file is not UTF-8, set encoding=, for example to windows-1252"
    message = rf"a\.txt, row 2: text is not valid UTF-8 \(byte 3 is 0xe9\); {hint}; "
    fails(SetSource(path, batch_bytes=size), message)
    source = SetSource(path, on_error="skip", batch_bytes=size)
    check(source, {1: ["one"], 4: ["four"]})
    assert source.skipped == 2


LINE = st.text(st.sampled_from("a1 0-é,;\t\u2003\x1c\u200b\x85"), max_size=12)


@pytest.mark.slow
@given(st.lists(LINE, max_size=8), st.booleans(), st.sampled_from(SIZES))
def test_text_as_its_plain_twin(lines: list[str], bag: bool, size: int) -> None:
    sets = {at: some for at, line in enumerate(lines, 1) if (some := line.replace(",", " ").replace(";", " ").split())}
    plain = [one for some in sets.values() for one in some]
    if all(re.fullmatch("0|-?[1-9][0-9]{0,17}", one) for one in plain):
        sets = {at: [int(one) for one in some] for at, some in sets.items()}
    part = set_files.Part("lines", "text", content="\n".join(lines).encode())
    source = SetSource(pa.table({"a": [1]}), bag=bag, batch_bytes=size)
    source.parts = [part]
    check(source, sets)


# --- tables: one element per row ---

ROWS: list[Row] = [
    {"basket": f"b{at * at % 5}", "item": WORDS[at * 7 % len(WORDS)] or "·", "count": str(at % 3)} for at in range(40)
]
TABLE = pa.Table.from_pylist(ROWS)
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def plain_sets(rows: list[Row], bag: bool, counted: bool = True) -> dict[Any, Any]:
    """Return {id: elements} of rows of three columns, in plain Python."""
    sets: dict[Any, list[Any]] = {}
    for identity, element, count in (tuple(row.values()) for row in rows):
        some = sets.setdefault(identity, [])
        some += [element] * (int(count) if bag else min(1, int(count))) if counted else [element]
    return sets


def cast(kind: pa.DataType) -> pa.Table:
    return TABLE.cast(pa.schema([("basket", kind), ("item", kind), ("count", pa.string())]))


def numbers(kind: pa.DataType) -> pa.Table:
    return TABLE.cast(pa.schema([("basket", pa.string()), ("item", pa.string()), ("count", kind)]))


FILES: dict[str, Callable[[], bytes]] = {
    "groups.parquet": lambda: encode_parquet(TABLE),
    "one.pq": lambda: encode_parquet(TABLE, 1000),
    "dictionary.parquet": lambda: encode_parquet(cast(DICTIONARY)),
    "view.parquet": lambda: encode_parquet(cast(pa.string_view())),
    "large.arrow": lambda: encode_arrow(cast(pa.large_string())),
    "stream.arrow": lambda: encode_arrow(numbers(pa.int8()), stream=True),
    "float.feather": lambda: encode_arrow(numbers(pa.float32())),
    "unsigned.arrow": lambda: encode_arrow(numbers(pa.uint64())),
    "rows.jsonl": lambda: encode_jsonl([row | {"count": int(row["count"])} for row in ROWS]),
    "bom.jsonl": lambda: BOM + encode_jsonl(numbers(pa.int64()).to_pylist()).replace(b"\n", b"\r\n\r\n"),
    "rows.jsonl.gz": lambda: gzip.compress(encode_jsonl(numbers(pa.int64()).to_pylist())),
    "rows.csv": lambda: encode_csv(ROWS),
    "bom.csv": lambda: BOM + encode_csv(ROWS).replace(b"\n", b"\r\n").rstrip(),
    "rows.csv.zst": lambda: zstd(encode_csv(ROWS)),
    "float.csv": lambda: encode_csv([row | {"count": f" {row['count']}.0"} for row in ROWS]),
    "rows.tsv": lambda: encode_csv(ROWS, "\t"),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FILES)
def test_rows_of_every_kind(tmp_path: Path, name: str, size: int) -> None:
    path = put(tmp_path / name, FILES[name]())
    for bag in (False, True):
        check(SetSource(path, bag=bag, batch_bytes=size), plain_sets(ROWS, bag))
        expected = plain_sets(ROWS, bag, counted=False)
        check(SetSource(path, rows="basket,item", bag=bag, batch_bytes=size), expected)
    source = SetSource(path, rows="item, basket,count", batch_bytes=size)
    check(
        source, plain_sets([{"set": row["item"], "element": row["basket"], "n": row["count"]} for row in ROWS], False)
    )
    assert source.skipped == 0


@pytest.mark.parametrize(
    ("format", "names"),
    [(None, "groups.parquet stream.arrow rows.jsonl bom.jsonl"), ("csv", "rows.csv rows.csv.zst"), ("tsv", "rows.tsv")],
)
def test_rows_of_standard_input(standard_input: Callable[[bytes], None], format: str | None, names: str) -> None:
    for name in names.split():
        standard_input(FILES[name]())
        check(SetSource("-", format=format), plain_sets(ROWS, False))


@pytest.mark.parametrize("size", SIZES)
def test_sets_go_across_files_and_kinds(tmp_path: Path, size: int) -> None:
    paths = [put(tmp_path / "1.csv", encode_csv(ROWS[:9])), write(tmp_path / "2.parquet", ROWS[9:20])]
    paths.append(put(tmp_path / "3.jsonl", encode_jsonl(numbers(pa.int64()).to_pylist()[20:30])))
    inputs = [*paths, TABLE[30:]]
    check(SetSource(inputs, bag=True, batch_bytes=size), plain_sets(ROWS, True))
    put(tmp_path / "4.csv", encode_csv(ROWS[30:]))
    check(SetSource(tmp_path, bag=True, batch_bytes=size), plain_sets(ROWS, True))


def test_tables_and_text_of_one_folder(tmp_path: Path) -> None:
    put(tmp_path / "1.csv", b"s,e\nx,1\ny,2\nx,3\n")
    text = put(tmp_path / "2.txt", b"\n1 3\n")
    put(tmp_path / "3.parquet", encode_parquet(pa.table({"items": [[7], []]})))
    check(SetSource(tmp_path), {"x": [1, 3], "y": [2], f"{text}:2": [1, 3], "5": [7], "6": []})


KEYS = st.sampled_from([0, 1, -5, 1 << 40, 7])
TABLES = st.tuples(
    st.lists(
        st.tuples(KEYS, st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 3), st.integers(0, 3)), max_size=30
    ),
    st.booleans(),
    st.sampled_from(SIZES),
    st.sampled_from(["table", "strings", "csv", "jsonl", "parquet"]),
)


@pytest.mark.slow
@given(TABLES)
def test_rows_as_their_plain_twin(drawn: tuple[list[tuple[int, int, int]], bool, int, str]) -> None:
    values, bag, size, kind = drawn
    rows: list[Row] = [dict(zip(("set", "element", "n"), row, strict=True)) for row in values]
    schema = pa.schema([("set", pa.int64()), ("element", pa.int64()), ("n", pa.int64())])
    table = pa.Table.from_pylist(rows, schema)
    if kind == "strings":
        rows = [row | {"element": str(row["element"])} for row in rows]
        table = table.cast(schema.set(1, pa.field("element", pa.string())))
    source = SetSource(table, bag=bag, batch_bytes=size)
    encoders = {"csv": encode_csv, "jsonl": encode_jsonl, "parquet": lambda rows: encode_parquet(table)}
    if rows and kind in encoders:
        source.parts = [set_files.Part("rows", kind, content=encoders[kind](rows))]
    if rows and kind == "csv":  # there ids have no type
        rows = [row | {"set": str(row["set"])} for row in rows]
    check(source, plain_sets(rows, bag))


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([3, 1, 3], pa.uint8()),
        pa.array([2.5, -1.0, 2.5]),
        pa.array([b"k", b"a", b"k"]),
        pa.array(["007", "7", "007"]),
        pa.array([True, False, True]),
        pa.array([3, 1, 3], pa.date32()),
        pa.array([3, 1, 3]).cast(pa.timestamp("us", "UTC")),
        pa.array([3, 1, 3]).cast(pa.decimal128(30, 2)),
    ],
)
def test_ids_keep_their_type_and_order(ids: pa.Array) -> None:
    source = SetSource(pa.table({"s": ids, "e": ["x", "y", "z"]}), batch_bytes=1)
    assert source.read(Run(1))[0].type == ids.type
    first, second, _ = ids.to_pylist()
    check(source, {first: ["x", "z"], second: ["y"]})


def test_ids_of_several_types() -> None:
    kinds = (pa.int32(), pa.int64(), pa.string())
    tables = [pa.table({"s": pa.array([1, 2]).cast(kind), "e": ["a", "b"]}) for kind in kinds]
    check(SetSource(tables[:2]), {1: ["a"], 2: ["b"]})
    assert SetSource(tables[:2]).read(Run(1))[0].type == pa.int64()
    check(SetSource(tables), {"1": ["a"], "2": ["b"]})


def test_hashes_are_those_of_lists() -> None:
    many = [0, 1, -1, 1 << 62, -(1 << 63)]
    assert hash_integers(np.array(many)).tolist() == hash_values(many).tolist()
    assert hash_texts(pa.array(WORDS, pa.large_string())).tolist() == hash_values(WORDS).tolist()


# --- kinds of elements ---


def table_of(*elements: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"s": pa.array(range(len(elements)), pa.int64()), "e": pa.array(elements, kind)})


@pytest.mark.parametrize("size", SIZES)
def test_kinds_of_elements(tmp_path: Path, size: int) -> None:
    digits = put(tmp_path / "digits.csv", b"s,e\na,1\n")
    words = put(tmp_path / "words.csv", b"s,e\na,1\nb,x\n")
    options = {"batch_bytes": size}
    check(SetSource(digits, **options), {"a": [1]})
    check(SetSource([digits, words], **options), {"a": ["1"], "b": ["x"]})
    check(SetSource([words, digits], **options), {"a": ["1"], "b": ["x"]})
    check(SetSource([digits, table_of(2, kind=pa.int8())], **options), {"a": [1], "0": [2]})
    check(SetSource([digits, table_of("2")], **options), {"a": ["1"], "0": ["2"]})
    check(SetSource([table_of("2"), digits], **options), {"0": ["2"], "a": ["1"]})
    check(SetSource([table_of("1", "2")], **options), {0: ["1"], 1: ["2"]})  # the type decides
    check(SetSource([table_of(1), table_of(kind=pa.string())], **options), {0: [1]})
    message = r"^the elements of sets must be all strings or all integers; .* has (integers|strings) and .* has (i|s)"
    for inputs in (
        [table_of(1), table_of("1")],
        [table_of("1"), table_of(1)],
        [table_of(1), words],
        [words, table_of(1)],
    ):
        fails(SetSource(inputs, **options), message)


def test_huge_integers() -> None:
    top = (1 << 64) - 1
    check(SetSource(table_of(top, 1, kind=pa.uint64())), {0: [top], 1: [1]})
    check(SetSource([table_of(5, kind=pa.uint64()), table_of(-1, -2)]), {0: [5, -1], 1: [-2]})
    for inputs in ([table_of(top, kind=pa.uint64()), table_of(-1)], [table_of(-1), table_of(top, kind=pa.uint64())]):
        fails(SetSource(inputs), r"^the table: integer elements must fit in 64 bits, all signed or all unsigned\.$")


def test_huge_integers_of_text_beside_a_table(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"s,e\n1,18446744073709551615\n")
    fails(SetSource([table_of(-1), path]), r"a\.csv: integer elements must fit in 64 bits")


# --- lists: one set per row ---

LISTS: list[Row] = [{"id": f"k{at}", "n": at, "items": WORDS[at : at + 3] * (1 + at % 2)} for at in range(11)]
LIST_TABLE = pa.Table.from_pylist(LISTS)


def listed(kind: pa.DataType) -> pa.Table:
    return LIST_TABLE.set_column(2, "items", pa.array([row["items"] for row in LISTS], kind))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.parquet", lambda: encode_parquet(LIST_TABLE)),
        ("large.parquet", lambda: encode_parquet(listed(pa.large_list(pa.large_string())))),
        ("bytes.arrow", lambda: encode_arrow(listed(pa.list_(pa.binary())))),
        ("stream.arrow", lambda: encode_arrow(LIST_TABLE, stream=True)),
        ("a.jsonl", lambda: encode_jsonl(LISTS)),
        ("a.jsonl.zst", lambda: zstd(BOM + encode_jsonl(LISTS).replace(b"\n", b"\r\n\n"))),
    ],
)
def test_lists_of_every_kind(tmp_path: Path, name: str, make: Callable[[], bytes], size: int) -> None:
    path = put(tmp_path / name, make())
    for bag in (False, True):
        check(SetSource(path, bag=bag, batch_bytes=size), {row["id"]: row["items"] for row in LISTS})
        check(SetSource(path, rows="n,items", bag=bag, batch_bytes=size), {row["n"]: row["items"] for row in LISTS})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [pa.int64(), pa.int16(), pa.uint64()])
def test_lists_of_integers_numbered_by_row(tmp_path: Path, kind: pa.DataType, size: int) -> None:
    lists = [[3, 1, 3], [], [2], [9] * 4]
    table = pa.table({"x": [1.5] * 4, "items": pa.array(lists, pa.list_(kind))})
    lines = encode_jsonl(table.to_pylist())
    for one in (table, put(tmp_path / "a.parquet", encode_parquet(table)), put(tmp_path / "a.jsonl", lines)):
        check(SetSource(one, bag=True, batch_bytes=size), dict(enumerate(lists)))
    check(SetSource([table, table], batch_bytes=size), dict(enumerate(lists * 2)))


def test_other_lists() -> None:
    words = pa.array(["a", "b"]).dictionary_encode()
    check(SetSource(pa.table({"e": pa.ListArray.from_arrays([0, 1, 2], words)})), {0: ["a"], 1: ["b"]})
    check(SetSource(pa.table({"e": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))})), {0: [1, 2], 1: [3, 4]})
    check(SetSource(pa.table({"e": pa.array([[], []])})), {0: [], 1: []})
    check(SetSource(pa.table({"id": pa.array([[5], [6]])})), {0: [5], 1: [6]})
    two = pa.table({"x": ["k"], "e": [["a"]], "f": [["b"]]})
    check(SetSource(two, rows="x,f"), {"k": ["b"]})


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5), max_size=9), st.booleans(), st.sampled_from(SIZES))
def test_lists_as_their_plain_twin(lists: list[list[str]], bag: bool, size: int) -> None:
    source = SetSource(pa.table({"e": pa.array(lists, pa.list_(pa.string()))}), bag=bag, batch_bytes=size)
    check(source, dict(enumerate(lists)))
    source.parts = [set_files.Part("lines", "jsonl", content=encode_jsonl([{"e": one} for one in lists]))]
    check(source, dict(enumerate(lists)))


def test_the_first_lists_of_json_may_be_empty(tmp_path: Path) -> None:
    path = put(
        tmp_path / "a.jsonl", b'{"e": null, "id": 4}\n{"id": 5, "e": []}\n{"id": 6, "e": [null]}\n{"id": 7, "e": [1]}\n'
    )
    fails(SetSource(path), r"a\.jsonl, row 0: e is null")
    source = SetSource(path, on_error="skip")
    check(source, {5: [], 7: [1]})
    assert source.skipped == 2


def test_ids_of_lists_are_unique() -> None:
    table = pa.table({"id": ["a", "b", "a"], "e": [[1], [2], [3]]})
    for size in SIZES:
        fails(
            SetSource(table, batch_bytes=size), r"^ids must be unique when each line or list is a set; 'a' occurs more"
        )
    fails(SetSource([pa.table({"id": ["a"], "e": [1]}), table[:1]]), "ids must be unique")


# --- bad rows ---


def strings(values: list[bytes | None]) -> pa.Array:
    """Return an array of strings that can hold invalid UTF-8."""
    binary = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())


BAD_TABLE = pa.table(
    {
        "s": strings([b"a", None, b"a", b"\xff", b"b", b"c", b"b"]),
        "e": strings([b"x", b"x", b"y", b"x", b"\xff", None, b"z"]),
    }
)
BAD_COUNTS = pa.table({"s": list("aabbcc"), "e": list("xyxyxy"), "n": [1, None, -1, 2, 0, -7]})
FLOATS = pa.table({"s": list("aabbcc"), "e": list("xyxyxy"), "n": [1, float("nan"), 0.5, 2, 0, float("inf")]})
COUNTS = {"a": ["x"], "b": ["y", "y"], "c": []}
LETTERS = {"a": ["x", "y"], "b": ["z"]}
JSON_ROWS = rb"""{"s": "a", "e": "x", "n": 1}
{"s": "a", "e": null, "n": 1}
{"s": null, "e": "x", "n": 1}
{"s": "a", "e": 5, "n": 1}
{"s": 5, "e": "x", "n": 1}
{"s": "a", "e": "x", "n": 1.5}
{"s": "a", "e": "x", "n": "1"}
{"s": "a", "e": "x", "n": -1}
{"s": "a", "e": "x"}
{"s": "a", "e": ["x"], "n": 1}
broken
{"s": "b", "e": "y", "n": 2}
{"s": "c", "e": "y", "n": 0}
"""
JSON_LISTS = rb"""{"id": "a", "e": ["x", "y"]}
{"id": "k", "e": "x"}
{"id": "l", "e": null}
{"id": "m", "e": ["x", null]}
{"id": null, "e": ["x"]}
{"id": 5, "e": ["x"]}
{"id": "n", "e": ["x", 5]}
{"id": "o", "e": ["\ud800"]}
broken
5
{"id": "p", "e": [], "e": []}
{"id": "q", "e": {"x": 1}}
{"id": "r", "e": [["x"]]}
{"id": "t"}
{"id": "b", "e": ["z"]}
"""
LIST_BYTES = pa.array([[b"x", b"y"], None, [b"\xff", b"x", b"caf\xe9"], [None], [b"x"], [b"z"]], pa.list_(pa.binary()))
BAD_LISTS = pa.table({"id": ["a", "k", "l", "m", None, "b"], "e": LIST_BYTES})
BAD: dict[str, tuple[bytes, str, dict[Any, list[Any]], int]] = {  # content, first bad row, good sets, bad rows
    "a.parquet": (encode_parquet(BAD_TABLE, 3), "row 1: s is null", LETTERS, 4),
    "utf8.arrow": (
        encode_arrow(BAD_TABLE[2:], batch=3), r"row 1: s is not valid UTF-8", {"a": ["y"], "b": ["z"]}, 3,
    ),
    "elements.arrow": (encode_arrow(BAD_TABLE[4:]), r"row 0: e is not valid UTF-8 \(byte 0 is 0xff\)", {"b": ["z"]}, 2),
    "null.arrow": (encode_arrow(BAD_TABLE[5:], stream=True), "row 0: e is null", {"b": ["z"]}, 1),
    "counts.parquet": (encode_parquet(BAD_COUNTS), "row 1: n is null", COUNTS, 3),
    "less.arrow": (encode_arrow(BAD_COUNTS[2:]), "row 0: n must be a whole number of at least 0; got -1",
        {"b": ["y", "y"], "c": []}, 2),
    "floats.arrow": (encode_arrow(FLOATS), "row 1: n must be a whole number of at least 0; got nan", COUNTS, 3),
    "half.arrow": (encode_arrow(FLOATS[2:]), r"row 0: n must be a whole number of at least 0; got 0\.5",
        {"b": ["y", "y"], "c": []}, 2),
    "a.csv": (
        b"s,e,n\na,x,1\na,,1\n,x,1\na,x,\nb,x,-1\nb,x,two\nb,x,1.5\nb,y,2\nb\nb,x,1,1\nb,\xff,1\nb,x,\xff\nc,x,0\n",
        "row 1: e is empty", COUNTS, 10,
    ),
    "fields.csv": (b"s,e\na,x\nb\nc,d,e\na,y\nb,z\n", "row 1: 1 field, not 2", LETTERS, 2),
    "a.tsv": (b"s\te\tn\na\tx\t1\nb\ty\ttwo\nb\ty\t2\nc\tx\t0", "row 1: n must be .*; got 'two'", COUNTS, 1),
    "a.jsonl": (JSON_ROWS, "row 1: e is null", COUNTS, 10),
    "lists.jsonl": (JSON_LISTS, "row 1: e is a string, not a list", LETTERS, 13),
    "number.jsonl": (b'{"e": [1]}\n{"e": [1, "x"]}\n', "row 1: e holds a string, not integers", {0: [1]}, 1),
    "huge.jsonl": (b'{"e": [1]}\n{"e": [9223372036854775808]}\n', "row 1: Failed.* JSON to int64", {0: [1]}, 1),
    "twice.jsonl": (b'{"e": ["x"]}\n{"e": [], "e": []}\n', r"row 1: JSON parse error: Column\(/e\) was", {0: ["x"]}, 1),
    "half.jsonl": (rb'{"e": ["x"]}' + b"\n" + rb'{"e": ["\ud800"]}', "row 1: JSON parse error", {0: ["x"]}, 1),
    "lists.parquet": (encode_parquet(BAD_LISTS, 4), "row 1: e is null", LETTERS, 4),
    "utf8 lists.arrow": (encode_arrow(BAD_LISTS[2:]), r"row 0: e is not valid UTF-8", {"b": ["z"]}, 3),
    "null lists.arrow": (encode_arrow(BAD_LISTS[3:]), "row 0: e holds null", {"b": ["z"]}, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_an_error_with_file_and_row(tmp_path: Path, name: str) -> None:
    content, first, _, _ = BAD[name]
    path = put(tmp_path / name, content)
    for size in SIZES:
        fails(
            SetSource(path, batch_bytes=size),
            rf"{name}, {first}.*; remove such rows first\.$",
        )


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BAD)
def test_skipping_leaves_out_exactly_the_bad_rows(tmp_path: Path, name: str, size: int) -> None:
    content, _, good, bad = BAD[name]
    source = SetSource(put(tmp_path / name, content), bag=True, on_error="skip", batch_bytes=size)
    check(source, good)
    assert source.skipped == bad


@pytest.mark.parametrize("size", SIZES)
def test_row_numbers_count_bad_rows_too(tmp_path: Path, size: int) -> None:
    lists = [[0], None, [2], None, [4]]
    table = pa.table({"e": lists})
    lines = put(tmp_path / "a.jsonl", b'{"e": [0]}\nbroken\n{"e": [2]}\n{"e": 3}\n{"e": [4]}\n')
    for one in (table, lines):
        source = SetSource(one, on_error="skip", batch_bytes=size)
        check(source, {0: [0], 2: [2], 4: [4]})
        assert source.skipped == 2
    ids, _ = SetSource([lines, table], on_error="skip", batch_bytes=size).read(Run(1))
    assert ids.to_pylist() == [0, 2, 4, 5, 7, 9]


def test_many_bad_lists_of_json(tmp_path: Path) -> None:
    rows = [{"id": at, "e": at if at % 3 == 0 else [at]} for at in range(1, 400)]
    source = SetSource(put(tmp_path / "a.jsonl", encode_jsonl(rows)), on_error="skip")
    check(source, {row["id"]: row["e"] for row in rows if row["id"] % 3})
    assert source.skipped == 133


def test_counts_that_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.csv", b"s,e,n\na,x,1000000000000000000\na,y,3\n")
    check(SetSource(path), {"a": ["x", "y"]})
    fails(SetSource(path, bag=True), r"a\.csv: the counts must add up to at most 1,073,741,824; they add up to more\.$")
    monkeypatch.setattr(set_elements, "MOST_COPIES", 5)
    monkeypatch.setattr(set_files, "MOST_COPIES", 5)
    check(SetSource(pa.table({"s": [1, 2], "e": [3, 3], "n": [2, 3]}), bag=True), {1: [3, 3], 2: [3, 3, 3]})
    fails(
        SetSource(pa.table({"s": [1, 2], "e": [3, 3], "n": [3, 3]}), bag=True, batch_bytes=1),
        "at most 5; they add up to more",
    )


# --- which columns ---


def columns(**values: list[Any]) -> pa.Table:
    return pa.table(values)


@pytest.mark.parametrize(
    ("table", "rows", "expected"),
    [
        (columns(a=[1], b=["x"], c=[2]), None, {1: ["x"]}),
        (columns(a=[1], b=["x"], n=[2]), None, {1: ["x", "x"]}),
        (columns(a=[1], b=["x"], c=[5], quantity=[2]), None, {1: ["x", "x"]}),
        (columns(a=[1], b=["x"], times=[5], weight=[2]), None, {1: ["x", "x"]}),
        (columns(n=[1], count=["x"]), None, {1: ["x"]}),
        (columns(a=[1], b=["x"], c=[2]), "a,b,c", {1: ["x", "x"]}),
        (columns(a=[1], b=["x"], n=[2]), "a,b", {1: ["x"]}),
        (columns(a=[1], b=["x"], c=["2"]), " c , b ", {"2": ["x"]}),
        (columns(a=[1], b=["x"], c=[True]), "a,b,c", {1: ["x"]}),
    ],
)
def test_choice_of_columns(table: pa.Table, rows: str | None, expected: dict[Any, list[str]]) -> None:
    check(SetSource(table, rows=rows, bag=True), expected)


@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        (columns(a=[1]), None, r"sets need two columns, set and element, or one column of lists; it has a\."),
        (pa.table({}), None, r"sets need two columns, set and element, or one column of lists; it has none\."),
        (columns(a=[1], b=[2]), "a,c", r"no column 'c'; it has a, b\."),
        (columns(a=[1], b=[2]), "a,b,n", r"no column 'n'; it has a, b\."),
        (columns(a=[1]).append_column("a", [["y"]]), None, r"2 columns 'a'; it has a, a\."),
        (
            columns(a=[1], b=[2.5]),
            None,
            r"column 'b' holds double, not strings or integers; name other columns with rows=\.",
        ),
        (columns(a=[1], b=[[2.5]]), None, r"column 'b' holds list<.*double>, not strings or integers; .*"),
        (columns(a=[1], b=[["x"]], n=[1]), "a,b,n", r"column 'b' holds list<.*>, not strings or integers; .*"),
        (
            columns(a=[[1]], b=["x"]),
            "a,b",
            r"column 'a' holds list<.*>, which cannot be an id; name other columns with rows=\.",
        ),
        (columns(a=[[1]], b=[[2]]), None, r"column 'a' holds list<.*>, which cannot be an id; .*"),
        (
            listed(pa.list_view(pa.string())),
            "n,items",
            r"column 'items' holds list_view<.*>, not strings or integers; .*",
        ),
        (columns(a=[1], b=["x"], n=[[1]]), "a,b,n", r"column 'n' holds list<.*>, not counts; .*"),
    ],
)
def test_columns_that_cannot_be_chosen(table: pa.Table, rows: str | None, message: str) -> None:
    fails(SetSource(table, rows=rows), f"^the table: {message}$")


@pytest.mark.parametrize("rows", ["", "a", "a,", "a,,b", "a,a", "a,b,c,d"])
def test_rows_names_two_columns_or_three(rows: str) -> None:
    with pytest.raises(
        UsageError, match=f"rows must be 'set,element' or 'set,element,count', each a different column; got '{rows}'"
    ):
        SetSource(TABLE, rows=rows)


def test_options(tmp_path: Path) -> None:
    text = put(tmp_path / "a.txt", b"1 2\n")
    for separator in ("", "\n"):
        with pytest.raises(UsageError, match="separator must be one or more characters within a line; got"):
            SetSource(text, separator=separator)
    with pytest.raises(
        UsageError, match="separator is for text with one set per line; use format='text' to read a table that way"
    ):
        SetSource(TABLE, separator=",")
    with pytest.raises(UsageError, match=r"rows names columns of tables, but .*a\.txt is read as text; set format="):
        SetSource(text, rows="a,b")
    with pytest.raises(UsageError, match=r"on_error must be one of fail, skip; got 'skp'\. Did you mean 'skip'\?"):
        SetSource(text, on_error="skp")
    with pytest.raises(
        UsageError,
        match="format must be one of parquet, arrow, jsonl, csv, tsv, excel, database, warc, text; got 'files'",
    ):
        SetSource(text, format="files")
    with pytest.raises(UsageError, match="nothing to read"):
        SetSource([])
    with pytest.raises(DataError, match=r"missing\.dat: no such file or folder\.$"):
        SetSource(tmp_path / "missing.dat")


def test_format_overrides_the_name(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"a,b\nb,c\n")
    check(SetSource(path), {"b": ["c"]})
    check(SetSource(path, format="text"), {1: ["a", "b"], 2: ["b", "c"]})
    check(SetSource(put(tmp_path / "a.dat", path.read_bytes()), format="csv"), {"b": ["c"]})


# --- broken and empty inputs ---


BROKEN: dict[str, bytes] = {
    "short.dat.gz": gzip.compress(b"1 2 3\n" * 5000)[:-20],
    "plain.txt.gz": b"1 2 3\n",
    "short.csv.gz": gzip.compress(encode_csv(ROWS * 50))[:-20],
    "short.jsonl.zst": zstd(encode_jsonl(ROWS))[:-20],
    "short.parquet": encode_parquet(TABLE)[:-100],
    "empty.parquet": b"",
    "text.arrow": b"no arrow at all",
}
EMPTY: dict[str, bytes] = {
    "a.parquet": encode_parquet(TABLE[:0]),
    "a.arrow": encode_arrow(TABLE[:0]),
    "a.csv": b"",
    "header.csv": b"basket,item\n",
    "a.tsv": b"",
    "a.jsonl": b"",
    "blank.jsonl": b"\n \n",
    "a.jsonl.gz": gzip.compress(b""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, BROKEN[name])
    fails(SetSource(path), rf"{name}: cannot be read as (text|jsonl|csv|parquet|arrow): \S")


@pytest.mark.parametrize("name", EMPTY)
def test_a_table_without_rows_has_no_sets(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, EMPTY[name])
    check(SetSource(path), {})
    check(SetSource(path, rows="basket,item"), {})
    check(SetSource([path, TABLE], bag=True), plain_sets(ROWS, True))
    check(SetSource(LIST_TABLE[:0]), {})


def test_lines_of_json_that_are_all_broken(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", b"broken\n{}\n[1]\n")
    fails(SetSource(path), r"a\.jsonl, row 0: not valid JSON")
    fails(SetSource(path, on_error="skip"), r"a\.jsonl: all 3 rows were left out, .*\. Row 0: not valid JSON")
    both = SetSource([path, LIST_TABLE], on_error="skip")
    assert len(both.read(Run(1))[0]) == len(LIST_TABLE)
    assert both.skipped == 3


class Watched(Run):
    """A run that adds up the progress of a stage."""

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Callable[[float], None]]:
        self.total, self.done = total, 0.0
        yield self.advance

    def advance(self, amount: float) -> None:
        self.done += amount


def test_progress_ends_at_its_total(tmp_path: Path) -> None:
    text = put(tmp_path / "a.txt", b"1 2\n3\n" * 100)
    rows = put(tmp_path / "a.jsonl", encode_jsonl(LISTS))
    for inputs in (text, [text, rows], TABLE):
        run = Watched(1)
        SetSource(inputs, batch_bytes=64).read(run)
        assert run.done == run.total > 0
        assert list(run.seconds) == ["read"]


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_the_index_of_a_frame_is_passed_over(tmp_path: Path, first: str) -> None:
    path = put(tmp_path / "a.csv", f"{first},basket,item,n\n0,a,x,2\n1,b,y,1\n2,a,z,1\n".encode())
    check(SetSource(path), {"a": ["x", "z"], "b": ["y"]})
    check(SetSource(path, bag=True), {"a": ["x", "x", "z"], "b": ["y"]})
    fails(SetSource(put(path, f"{first},item\n0,x\n".encode())), "sets need two columns, .*; it has item.$")
