"""Check tables of SQLite and DuckDB databases."""

import sqlite3
import sys
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, LookalikeError
from lookalike.core.run import Run
from lookalike.io.records import RecordSource
from tests.commands import complaint

ROWS = [(7, "one text that is long enough", 1.5), (3, "another text", None), (5, "one text that is long enough", 2.0)]
DOCS = "CREATE TABLE docs (id INTEGER, body TEXT, price REAL)"


def sqlite(path, *statements, rows=()):
    """Make a database, and put rows into its table docs."""
    with closing(sqlite3.connect(path)) as opened, opened:
        for statement in statements:
            opened.execute(statement)
        for row in rows:
            opened.execute(f"INSERT INTO docs VALUES ({','.join('?' * len(row))})", row)
    return path


def duck(path, *statements):
    """Make a DuckDB database."""
    with closing(duckdb.connect(path)) as opened:
        for statement in statements:
            opened.execute(statement)
    return path


@pytest.fixture
def shop(tmp_path):
    """A SQLite database with two tables, a view, and an index that has rows in another order."""
    return sqlite(
        tmp_path / "shop.db",
        DOCS,
        "CREATE INDEX by_body ON docs (body, id)",
        "CREATE TABLE 'odd \"name' (a)",
        "CREATE VIEW seen AS SELECT * FROM docs",
        rows=ROWS,
    )


def table_of(given, **options):
    return RecordSource(given, **options).read(Run())


def test_a_table_of_sqlite(shop):
    given = f"{shop}::docs"
    found = la.find_pairs(la.Source(given))
    assert list(found) == [(7, 5, 1.0)]
    table = table_of(given)
    assert table.schema == pa.schema([("id", pa.int64()), ("body", pa.string()), ("price", pa.float64())])
    assert [tuple(row.values()) for row in table.to_pylist()] == ROWS
    assert la.Source(given).expected(pa.array([""], pa.large_string())) == 3


def test_the_order_is_that_of_the_table(shop):
    """An index on the columns asked for must not change it, since row numbers are ids."""
    for columns in (["id", "body"], ["body"]):
        (batch,) = la.Source(f"{shop}::docs", id=columns[0] if len(columns) > 1 else "-").batches()
        assert batch["text"].to_pylist() == [row[1] for row in ROWS]


def test_a_table_whose_key_orders_it(tmp_path):
    path = sqlite(tmp_path / "a.sqlite", "CREATE TABLE docs (k TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
    sqlite(path, rows=[("b", "x"), ("a", "y")])
    assert table_of(path).to_pylist() == [{"k": "a", "text": "y"}, {"k": "b", "text": "x"}]


def test_a_table_of_duckdb(tmp_path):
    path = duck(
        tmp_path / "shop.duckdb",
        "CREATE TABLE docs (id BIGINT, body VARCHAR, kind ENUM ('a', 'b'), vector FLOAT[2], twice AS (id * 2))",
        "INSERT INTO docs VALUES (7, 'one text that is long', 'a', [1, 2]), (3, 'another', NULL, NULL)",
        "INSERT INTO docs VALUES (5, 'one text that is long', 'b', [3, 4])",
        "CREATE SCHEMA old",
        "CREATE TABLE old.docs AS SELECT 1 AS id, 'ancient' AS body",
    )
    assert list(la.find_pairs(la.Source(f"{path}::docs", text="body"))) == [(7, 5, 1.0)]
    table = table_of(f"{path}::docs")
    assert table.schema.names == ["id", "body", "kind", "vector"]  # not the computed column
    assert table["kind"].to_pylist() == ["a", None, "b"]
    assert table_of(f"{path}::old.docs").to_pylist() == [{"id": 1, "body": "ancient"}]
    assert la.Source(f"{path}::docs", text="body").expected(pa.array([""], pa.large_string())) == 3


@pytest.mark.slow
def test_blocks_make_no_difference(tmp_path):
    """Neither their size nor the number of threads shows in the rows."""
    made = "SELECT range AS id, 'text ' || range AS text FROM range(5000)"
    path = duck(tmp_path / "a.duckdb", f"CREATE TABLE docs AS {made}")
    rows = [(at, f"text {at}") for at in range(5000)]
    other = sqlite(tmp_path / "a.db", "CREATE TABLE docs (id INTEGER, text TEXT)", rows=rows)
    for given in (path, other):
        for size, threads in ((1000, 1), (1 << 22, 2)):
            batches = list(la.Source(given, batch_bytes=size).batches(Run(threads)))
            whole = pa.concat_tables(batches)
            assert list(zip(*whole.to_pydict().values(), strict=True)) == rows
            assert (len(batches) > 10) == (size == 1000)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_missing_table_lists_those_that_exist(tmp_path, kind, run):
    path = tmp_path / f"shop.{kind}"
    tables = ["CREATE TABLE docs (id INT)", "CREATE TABLE users (id INT)", "CREATE VIEW recent AS SELECT * FROM docs"]
    sqlite(path, *tables) if kind == "sqlite" else duck(path, *tables)
    done = run("pairs", f"{path}::dcos")
    assert (done.code, complaint(done)) == (
        1,
        f"{path}::dcos: no table 'dcos'; the database has docs, users. Did you mean 'docs'?",
    )
    with pytest.raises(DataError, match=r"which table\? It has docs, users; name one of them, as in .*::docs\.$"):
        table_of(path)
    with pytest.raises(DataError, match="no table 'recent'"):  # a view is a program
        table_of(f"{path}::recent")


def test_the_only_table_needs_no_name(tmp_path):
    path = sqlite(tmp_path / "a.db", DOCS, rows=ROWS)
    assert len(table_of(path)) == 3
    empty = sqlite(tmp_path / "b.db", "CREATE TABLE docs (a INT)", "DROP TABLE docs")
    with pytest.raises(DataError, match=r"which table\? It has none; nothing can be read\.$"):
        table_of(empty)


def test_globs_and_folders(tmp_path):
    for name in "ab":
        sqlite(tmp_path / f"{name}.db", DOCS, "CREATE TABLE users (id)", rows=ROWS[:2])
    for given in (f"{tmp_path}/*.db::docs", f"{tmp_path}::docs"):
        table = table_of(given)
        assert table["id"].to_pylist() == [7, 3, 7, 3]
        assert [part.name for part in RecordSource(given).parts] == [f"{tmp_path}/{name}.db::docs" for name in "ab"]


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([1, None], pa.int64(), [1, None]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([1 << 53, 2.5], pa.float64(), [9007199254740992.0, 2.5]),
        ([(1 << 53) + 1, 2.5], pa.string(), ["9007199254740993", "2.5"]),
        ([1, 2.5, "x"], pa.string(), ["1", "2.5", "x"]),
        (["x", b"y"], pa.binary(), [b"x", b"y"]),
        ([None], pa.null(), [None]),
    ],
)
def test_the_type_of_a_column_holds_all_its_values(tmp_path, values, kind, read):
    path = sqlite(tmp_path / "a.db", "CREATE TABLE docs (a)", rows=[(one,) for one in values])
    column = table_of(path)["a"]
    assert (column.type, column.to_pylist()) == (kind, read)


def test_an_empty_table_has_the_types_declared(tmp_path):
    path = sqlite(tmp_path / "a.db", "CREATE TABLE docs (a INTEGER, b VARCHAR(9), c DOUBLE, d, e AS (a + 1))")
    assert table_of(path).schema == pa.schema(
        [("a", pa.int64()), ("b", pa.string()), ("c", pa.float64()), ("d", pa.null())]
    )


def test_bad_rows(tmp_path):
    path = sqlite(tmp_path / "a.db", "CREATE TABLE docs (text TEXT, n)")
    sqlite(path, "INSERT INTO docs VALUES (CAST(x'66ff' AS TEXT), 1), (NULL, 2), ('good', 3)")
    sqlite(path, rows=[("fine", 2)])
    with pytest.raises(DataError, match=r"a\.db, row 0: text is not valid UTF-8 \(byte 1 is 0xff\)"):
        list(la.Source(path).batches())
    source = la.Source(path, on_error="skip")
    assert [batch["text"].to_pylist() for batch in source.batches()] == [["good", "fine"]]
    assert source.skipped == 2


@pytest.mark.parametrize(
    "content", [b"no database", b"SQLite format 3\0" + b"x" * 2000, b"\0" * 8 + b"DUCK" + b"x" * 20000]
)
def test_files_that_are_no_databases(tmp_path, content):
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.db: (is neither a SQLite nor a DuckDB|cannot be read as) database"):
        table_of(path)


def test_a_damaged_page(tmp_path):
    path = sqlite(tmp_path / "a.db", DOCS, rows=[(at, "some text " * 50, 1) for at in range(500)])
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as database: database disk image is malformed"):
        table_of(path)


def test_nothing_in_a_database_runs(tmp_path):
    """A computed column is not read, and a table that is a program is not there."""
    path = sqlite(
        tmp_path / "a.db",
        "CREATE TABLE docs (text TEXT, big AS (length(hex(zeroblob(4000000)))))",
        "CREATE VIRTUAL TABLE found USING fts5(text)",
    )
    sqlite(path, "INSERT INTO docs VALUES ('x')")
    assert table_of(f"{path}::docs").column_names == ["text"]
    with pytest.raises(DataError, match="no table 'found'"):
        table_of(f"{path}::found")


def test_a_database_is_not_written_to(shop):
    before = shop.read_bytes()
    shop.chmod(0o444)
    table_of(f"{shop}::docs")
    assert shop.read_bytes() == before
    assert [path.name for path in shop.parent.iterdir()] == ["shop.db"]


def test_the_database_must_not_be_an_output(shop, run):
    done = run("dedup", f"{shop}::docs", "-o", shop.parent / "shop.jsonl")
    assert done.code == 0
    done = run("dedup", f"{shop.parent}/*.jsonl", "--text", "body", "-o", shop.parent / "shop.jsonl")
    assert done.code == 2


def test_standard_input(run, shop):
    done = run("pairs", "-", stdin=shop.read_bytes())
    assert complaint(done) == "standard input: a database cannot be read from standard input; name its file."


def test_another_table_is_another_run(tmp_path):
    """A run in files that was interrupted is not resumed with another table of the same file."""
    from lookalike.search.storage import source_files

    path = sqlite(tmp_path / "a.db", DOCS, "CREATE TABLE users (id)", rows=ROWS)
    stamps = [source_files(la.Source(f"{path}::{name}"), None) for name in ("docs", "users")]
    assert stamps[0] != stamps[1]


def test_tables_of_other_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,text\n1,x\n")
    with pytest.raises(DataError, match=r"a\.csv::docs: is neither a SQLite nor a DuckDB database\.$"):
        table_of(f"{path}::docs")
    with pytest.raises(LookalikeError, match=r"a\.csv::docs: only databases have tables; .* is csv\.$"):
        table_of(f"{path}::docs", format="csv")
    with pytest.raises(DataError, match="no such file or folder"):
        table_of(f"{tmp_path}/missing.db::docs")


def test_without_duckdb(tmp_path, monkeypatch):
    path = duck(tmp_path / "a.duckdb", "CREATE TABLE docs (id INT)")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(
        LookalikeError,
        match=r"reading DuckDB needs duckdb, which is not installed: pip install 'lookalike\[duckdb\]'\.$",
    ):
        table_of(path)
