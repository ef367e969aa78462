"""Reads a table of a SQLite or DuckDB database, opened for reading only.

Only tables are read, and only stored columns: a view or a computed column is a program in the file.
Rows come in the order in which they are stored, whichever columns are asked for.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike.core.errors import DataError, did_you_mean, missing_package
from lookalike.io.arrow import cut
from lookalike.io.part import Block, Part, Task, ready, selected

if TYPE_CHECKING:
    import sqlite3

SQLITE = b"SQLite format 3\0"  # the first bytes of a file
DUCKDB = b"DUCK"  # bytes 8 to 12
FEW = 64  # rows of SQLite to fetch at a time
TOGETHER = 400  # columns of SQLite to inspect at a time
KINDS = {  # of values, and how to test for them
    **{kind: f"typeof({{0}}) = '{kind}'" for kind in ("integer", "real", "text", "blob")},
    "large": f"typeof({{0}}) = 'integer' AND {{0}} NOT BETWEEN {-1 << 53} AND {1 << 53}",  # for a float
}
DUCKDB_SETTINGS: dict[str, Any] = {  # nothing outside the file is read, and no code is loaded
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
    "threads": "1",
}


def database_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield blocks of a table with the columns of the schema."""
    blocks = _sqlite_blocks if _is_sqlite(part) else _duckdb_blocks
    return map(ready, blocks(part, schema, size))


def database_schema(part: Part) -> pa.Schema:
    """Return the columns of a table; those of SQLite have the types of the values that are there."""
    if _is_sqlite(part):
        with _sqlite(part) as opened:
            return pa.schema(_sqlite_fields(opened, _sqlite_table(part, opened)))
    with _duckdb(part) as opened:
        table, columns = _duckdb_table(part, opened)
        return opened.sql(f"SELECT {_names(columns)} FROM {table} LIMIT 0").to_arrow_reader(1).schema


def database_rows(part: Part) -> int:
    """Return the number of rows of a table."""
    if _is_sqlite(part):
        with _sqlite(part) as opened:
            table = _quoted(_sqlite_table(part, opened))
            return int(opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    with _duckdb(part) as opened:
        return int(opened.sql(f"SELECT count(*) FROM {_duckdb_table(part, opened)[0]}").fetchall()[0][0])


def _is_sqlite(part: Part) -> bool:
    if not part.paths:
        raise DataError(f"{part.name}: a database cannot be read from standard input; name its file.")
    with part.local().open("rb") as file:
        start = file.read(len(SQLITE))
    if start != SQLITE and start[8:12] != DUCKDB:
        raise DataError(f"{part.name}: is neither a SQLite nor a DuckDB database.")
    return start == SQLITE


def _chosen(part: Part, known: list[str]) -> str:
    """Return the name of the table to read, as the user gave it, or the only one."""
    have = ", ".join(sorted(known)) or "none"
    if not part.table and len(known) != 1:
        example = f"{part.paths[0]}::{known[0]}" if known else ""
        how = f"name one of them, as in {example}" if known else "nothing can be read"
        raise DataError(f"{part.name}: which table? It has {have}; {how}.")
    name = part.table or known[0]
    if name not in known:
        raise DataError(f"{part.name}: no table {name!r}; the database has {have}.{did_you_mean(name, known)}")
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names(columns: list[str]) -> str:
    return ", ".join(map(_quoted, columns))


# --- SQLite ---


@contextmanager
def _sqlite(part: Part) -> "Iterator[sqlite3.Connection]":
    """Open a database that may have been made to do harm; text stays bytes, which may not be UTF-8."""
    import sqlite3

    try:
        place = part.local().absolute().as_uri() + "?mode=ro"
        with closing(sqlite3.connect(place, uri=True, check_same_thread=False)) as opened:
            opened.text_factory = bytes
            opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(1000, part.stored_size()))  # values are not compressed
            opened.execute("PRAGMA trusted_schema = OFF")
            opened.execute("PRAGMA cell_size_check = ON")
            yield opened
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _sqlite_table(part: Part, opened: "sqlite3.Connection") -> str:
    rows = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
    names = [name.decode(errors="replace") for (name,) in rows]
    return _chosen(part, [name for name in names if not name.startswith("sqlite_")])


def _sqlite_fields(opened: "sqlite3.Connection", table: str) -> list[pa.Field]:
    """Return the stored columns with the types of their values, for which all rows are looked at."""
    rows = opened.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    declared = {name.decode(errors="replace"): kind.decode(errors="replace") for _, name, kind, *_ in rows}
    columns = list(declared)
    fields = []
    for start in range(0, len(columns), TOGETHER):
        some = columns[start : start + TOGETHER]
        tests = [f"max({test.format(_quoted(one))})" for one in some for test in KINDS.values()]
        found = iter(opened.execute(f"SELECT {', '.join(tests)} FROM {_quoted(table)} NOT INDEXED").fetchone())
        for one in some:
            fields.append(pa.field(one, _type_of({kind for kind in KINDS if next(found)}, declared[one])))
    return fields


def _type_of(kinds: set[str], declared: str) -> pa.DataType:
    """Return the type that holds all values of a column exactly; the declared one if there are none."""
    if not kinds:
        words = {"INT": "integer", "CHAR": "text", "CLOB": "text", "TEXT": "text", "REAL": "real", "DOUB": "real"}
        kinds = {kind for word, kind in words.items() if word in declared.upper()}
    if "blob" in kinds:
        return pa.binary()
    if "text" in kinds or kinds >= {"real", "large"}:
        return pa.string()
    return pa.float64() if "real" in kinds else pa.int64() if kinds else pa.null()


def _sqlite_blocks(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    with _sqlite(part) as opened:
        table = _quoted(_sqlite_table(part, opened))
        # An index could give the rows in another order.
        cursor = opened.execute(f"SELECT {_names(schema.names)} FROM {table} NOT INDEXED")
        rows: list[tuple[Any, ...]] = []
        held = 0
        while more := cursor.fetchmany(FEW):
            rows += more
            held += sum(len(value) for row in more for value in row if type(value) is bytes) + 8 * len(more)
            if held >= size:
                yield _block(rows, schema)
                rows, held = [], 0
        yield _block(rows, schema)


def _block(rows: list[tuple[Any, ...]], schema: pa.Schema) -> Block:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [_array(values, field.type) for field, values in zip(schema, columns, strict=True)]
    return Block(pa.Table.from_arrays(arrays, schema=schema))


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if kind == pa.float64():
        return pa.array([None if value is None else float(value) for value in values], kind)
    if kind not in (pa.string(), pa.binary()):
        return pa.array(values, kind)
    written = [value if type(value) is bytes or value is None else str(value).encode() for value in values]
    return pa.array(written, pa.binary()).view(kind)  # whether it is UTF-8 is checked row by row


# --- DuckDB ---


@contextmanager
def _duckdb(part: Part) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise missing_package(f"{part.name}: reading DuckDB", "duckdb", "'lookalike[duckdb]'") from None
    try:
        with closing(duckdb.connect(str(part.local()), read_only=True, config=DUCKDB_SETTINGS)) as opened:
            yield opened
    except duckdb.Error as error:
        raise OSError(str(error)) from error


def _duckdb_table(part: Part, opened: Any) -> tuple[str, list[str]]:
    """Return the name of the table for a query, and its stored columns."""
    rows = opened.sql("SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    known = {table if schema == "main" else f"{schema}.{table}": (schema, table) for schema, table in rows}
    schema, table = known[_chosen(part, list(known))]
    asked = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 "
        "AND is_generated <> 'ALWAYS' ORDER BY ordinal_position"
    )
    columns = [name for (name,) in opened.execute(asked, [schema, table]).fetchall()]
    return f"{_quoted(schema)}.{_quoted(table)}", columns


def _duckdb_blocks(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    with _duckdb(part) as opened:
        table, _ = _duckdb_table(part, opened)
        reader = opened.sql(f"SELECT {_names(schema.names)} FROM {table}").to_arrow_reader(1 << 11)
        for batch in reader:
            yield from cut(selected(pa.Table.from_batches([batch]), schema), size)
