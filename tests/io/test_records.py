"""Check tables of records from all kinds of files, and the command that resolves them."""

import csv
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.core.errors import DataError, LookalikeError, UsageError, naming_options
from lookalike.core.run import Run
from lookalike.entities import two_companies
from lookalike.io.records import RecordSource, read_table
from tests.commands import Commands, complaint, left_in
from tests.samples import Row, encode_arrow, encode_csv, encode_jsonl, encode_parquet, write, zstd

ROWS: list[Row] = [
    {"id": "a", "name": "Ann Lee", "phone": "212-555-0100"},
    {"id": "b", "name": "Anne Lee", "phone": "212-555-0100"},
    {"id": "c", "name": "Bob Ray", "phone": "646-555-0199"},
    {"id": "d", "name": "Robert Ray", "phone": "(646) 555-0199"},
    {"id": "e", "name": "Zoë Quist", "phone": ""},
]
NAMES = ("a.parquet", "a.arrow", "a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv")
FIELDS = ("-f", "name=name", "-f", "phone=phone")


def rows_of(inputs, **options):
    return RecordSource(inputs, **options).read(Run(1)).to_pylist()


# --- files ---


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.large_binary()])
def test_parquet_with_other_kinds_of_strings(inputs: Path, kind: pa.DataType) -> None:
    """polars and pandas write them, and so does lookalike."""
    values = ["Ann", "Zoë"] if kind != pa.large_binary() else [b"Ann", b"Zo"]
    pq.write_table(pa.table({"id": ["a", "b"], "name": pa.array(values, kind)}), inputs / "a.parquet")
    assert [row["name"] for row in rows_of(inputs / "a.parquet")] == values


@pytest.mark.parametrize("name", NAMES)
def test_formats(inputs: Path, name: str) -> None:
    assert rows_of(write(inputs / name, ROWS)) == ROWS


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 50, 1000])
def test_the_size_of_batches_does_not_matter(inputs: Path, name: str, size: int) -> None:
    rows = [{**row, "id": f"{row['id']}{n}", "n": str(n)} for n in range(40) for row in ROWS]
    assert rows_of(write(inputs / name, rows), batch_bytes=size) == rows


def test_values_keep_their_types(inputs: Path) -> None:
    rows = [{"id": 7, "price": 1.5, "name": "x", "made": "2020-01-02T03:04:05"}]
    for name in NAMES[:4]:
        assert rows_of(write(inputs / name, rows)) == rows
    (inputs / "z.csv").write_text("id,zip\n007,00123\n")
    assert rows_of(inputs / "z.csv") == [{"id": "007", "zip": "00123"}]


def test_tables_in_memory() -> None:
    table = pa.Table.from_pylist(ROWS)
    assert rows_of(table) == ROWS
    assert rows_of([table.slice(0, 2), table.slice(2)]) == ROWS
    coded = table.set_column(1, "name", table["name"].dictionary_encode())
    assert rows_of(coded) == ROWS


def test_dictionaries_with_other_keys() -> None:
    """No column is lost because the first row does not have it."""
    read = read_table([{"id": 1}, {"town": "Orm"}, {"id": 3, "name": None}], "records", Run(1))
    assert read.to_pylist() == [
        {"id": 1, "town": None, "name": None}, {"id": None, "town": "Orm", "name": None},
        {"id": 3, "town": None, "name": None},
    ]  # fmt: skip


def test_dictionaries_with_mixed_types() -> None:
    with pytest.raises(DataError, match="records must have values of one type in each column; 'v' has int, str"):
        read_table([{"v": 1}, {"v": None}, {"v": "x"}], "records", Run(1))


@pytest.mark.parametrize("separator", [";", "|", "\t", " "])
def test_separator(inputs: Path, separator: str) -> None:
    path = inputs / "a.csv"
    path.write_bytes(encode_csv(ROWS, separator))
    assert rows_of(path, separator=separator) == ROWS


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n", "§"])
def test_what_is_no_separator(inputs: Path, separator: str) -> None:
    with pytest.raises(UsageError) as error:
        RecordSource(write(inputs / "a.csv", ROWS), separator=separator)
    assert (
        str(error.value)
        == f"separator must be '::' or one ASCII character, not a quote or line end; got {separator!r}."
    )


def test_a_name_without_a_known_format(inputs: Path) -> None:
    path = inputs / "a.data"
    path.write_bytes(encode_csv(ROWS))
    with pytest.raises(DataError) as error:
        RecordSource(path)
    assert str(error.value) == f"{path}: cannot infer the format from the name; pass an Arrow table."
    with naming_options({"format": "--format"}), pytest.raises(DataError) as error:
        RecordSource(path)
    known = "parquet, arrow, jsonl, csv, tsv, excel, database, warc"
    assert str(error.value) == f"{path}: cannot infer the format from the name; set --format to one of {known}."
    assert rows_of(path, format="csv") == ROWS
    with pytest.raises(
        UsageError, match=r"^format must be one of parquet, arrow, jsonl, csv, tsv, excel, database, warc; got 'text'\."
    ):
        RecordSource(path, format="text")


def test_quoted_cells_and_line_ends(inputs: Path) -> None:
    path = inputs / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfid,name\r\n1,"Lee, Ann ""A"""\r\n2,"two\nlines"\r\n')
    assert rows_of(path) == [{"id": "1", "name": 'Lee, Ann "A"'}, {"id": "2", "name": "two\nlines"}]


def test_folders_and_globs(inputs: Path) -> None:
    write(inputs / "1.csv", ROWS[:2])
    write(inputs / "2.csv", ROWS[2:])
    assert rows_of(inputs) == rows_of(str(inputs / "*.csv")) == rows_of([inputs / "1.csv", inputs / "2.csv"]) == ROWS


def test_files_with_other_columns(inputs: Path) -> None:
    """Every row has all columns; those missing in its file are null."""
    write(inputs / "1.csv", [{"id": "a", "name": "x"}])
    write(inputs / "2.jsonl", [{"born": "2020", "id": "b"}, {"id": "c", "mail": None}])
    write(inputs / "3.parquet", [{"name": "y", "id": "d"}])
    found = rows_of(inputs)
    none = dict.fromkeys(("id", "name", "born", "mail"))
    expected = [{"id": "a", "name": "x"}, {"id": "b", "born": "2020"}, {"id": "c"}, {"id": "d", "name": "y"}]
    assert found == [none | row for row in expected]


def test_files_that_do_not_fit_together(inputs: Path) -> None:
    write(inputs / "1.parquet", [{"id": 1}])
    write(inputs / "2.parquet", [{"id": "b"}])
    with pytest.raises(DataError) as error:
        rows_of(inputs)
    types = f"column 'id' holds string, but int64 in {inputs / '1.parquet'}"
    assert str(error.value) == f"{inputs / '2.parquet'}: {types}, and no type holds both."


# --- faults ---

SHORT = b"id,name,phone\na,Ann,1\nb,Bob\nc,Cid,3\nd,Dan,4,5\ne,Eve,6\n"
BROKEN = b'{"id": "a"}\n{"id": \n{"id": "c"}\n[1]\n{"id": "e"}\n'


def test_rows_with_too_few_cells(inputs: Path) -> None:
    path = inputs / "a.csv"
    path.write_bytes(SHORT)
    with pytest.raises(DataError) as error:
        rows_of(path)
    hint = "remove such rows first"
    assert str(error.value) == f"{path}, row 1: 2 fields, not 3; {hint}."
    source = RecordSource(path, on_error="skip")
    for _ in range(2):  # reading again starts from zero
        assert [row["id"] for row in source.read(Run(1)).to_pylist()] == ["a", "c", "e"]
        assert source.skipped == 2


@pytest.mark.parametrize("size", [1, 30, 1000])
def test_broken_lines_of_json(inputs: Path, size: int) -> None:
    path = inputs / "a.jsonl"
    path.write_bytes(BROKEN)
    with pytest.raises(DataError) as error:
        rows_of(path, batch_bytes=size)
    assert str(error.value).startswith(f"{path}, row 1: not valid JSON")
    source = RecordSource(path, on_error="skip", batch_bytes=size)
    assert source.read(Run(1)).to_pylist() == [{"id": "a"}, {"id": "c"}, {"id": "e"}]
    assert source.skipped == 2


def test_faults_of_the_second_file(inputs: Path) -> None:
    """Rows are numbered per file; the faults of both files are counted together."""
    write(inputs / "1.csv", ROWS)
    (inputs / "2.csv").write_bytes(SHORT)
    with pytest.raises(DataError, match=rf"^{re.escape(str(inputs / '2.csv'))}, row 1: "):
        rows_of(inputs)
    (inputs / "3.csv").write_bytes(SHORT)
    source = RecordSource(inputs, on_error="skip")
    assert len(source.read(Run(1))) == 5 + 3 + 3
    assert source.skipped == 4


def test_no_good_row_is_an_error(inputs: Path) -> None:
    path = inputs / "a.csv"
    path.write_bytes(b"id,name\n1\n2,b,c\n")
    with pytest.raises(DataError, match=r"a\.csv: all 2 rows were left out, .* Row 0: 1 field, not 2\.$"):
        RecordSource(path, on_error="skip").read(Run(1))


def test_a_fault_far_down(inputs: Path) -> None:
    rows = [f"{n},name {n},{n}" for n in range(20_000)]
    rows[15_000] = "15000,name"
    path = inputs / "a.csv"
    path.write_text("id,name,phone\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError) as error:
        rows_of(path, batch_bytes=1 << 16)
    assert str(error.value).startswith(f"{path}, row 15000: 2 fields, not 3")
    assert len(rows_of(path, on_error="skip", batch_bytes=1 << 16)) == 19_999


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl.gz", ".csv.zst"])
def test_files_with_a_wrong_suffix(inputs: Path, suffix: str) -> None:
    path = inputs / f"a{suffix}"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError) as error:
        rows_of(path)
    assert str(error.value).startswith(f"{path}: cannot be read as ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "table", "csv", "tsv"])
def test_a_table_without_rows_still_has_columns(inputs: Path, kind: str) -> None:
    empty = pa.Table.from_pylist(ROWS).slice(0, 0)
    given: object = inputs / f"a.{kind}"
    if kind == "table":
        given = empty
    else:
        content = {"parquet": encode_parquet, "arrow": encode_arrow}.get(kind, lambda table: b"")(empty)
        Path(str(given)).write_bytes(
            content or ("\t" if kind == "tsv" else ",").join(empty.column_names).encode() + b"\n"
        )
    table = RecordSource(given).read(Run(1))
    assert (len(table), table.column_names) == (0, ["id", "name", "phone"])


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_a_file_without_anything(inputs: Path, name: str) -> None:
    """It has neither rows nor columns."""
    (inputs / name).touch()
    table = RecordSource(inputs / name).read(Run(1))
    assert (len(table), table.column_names) == (0, [])


def test_an_empty_file_among_others(inputs: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS).slice(0, 0), inputs / "0.parquet")
    write(inputs / "1.parquet", ROWS)
    assert rows_of(inputs) == ROWS


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ([], UsageError, "nothing to read: no input was given."),
        ("", UsageError, "an input must name a file or folder; got ''."),
        ("/nowhere/a.csv", DataError, "/nowhere/a.csv: no such file or folder."),
    ],
)
def test_invalid_inputs(given: object, kind: type[LookalikeError], message: str) -> None:
    with pytest.raises(kind) as error:
        RecordSource(given)
    assert str(error.value) == message


def test_on_error_is_fail_or_skip(inputs: Path) -> None:
    with pytest.raises(UsageError, match=r"^on_error must be one of fail, skip; got 'skp'\. Did you mean 'skip'\?$"):
        RecordSource(write(inputs / "a.csv", ROWS), on_error="skp")


# --- the command ---


@pytest.fixture
def people(inputs: Path) -> Path:
    return write(inputs / "people.csv", ROWS)


@pytest.fixture(scope="module")
def companies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("companies")
    made = two_companies(600, seed=5)
    paths = folder / "a.parquet", folder / "b.csv"
    pq.write_table(made.left, paths[0])
    paths[1].write_bytes(encode_csv(made.right.to_pylist()))
    return paths


COMPANY_FIELDS = ("-f", "name:customer=name", "-f", "address:street=address", "-f", "phone:telephone=phone")
BY_DAYS = ("--validate", "created", "--max-lag", "90")


def read(path: Path) -> list[Row]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path.read_bytes()).read_all().to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".csv"])
def test_resolve(run: Commands, people: Path, out: Path, suffix: str) -> None:
    path = out / f"matches{suffix}"
    outcome = run("resolve", people, *FIELDS, "-o", path)
    assert (outcome.code, outcome.out) == (0, "")
    rows = read(path)
    assert list(rows[0]) == ["left", "right", "score", "probability", "missing", "name_points", "phone_points"]
    assert {("a", "b"), ("c", "d")} <= {(row["left"], row["right"]) for row in rows}
    assert left_in(out) == {path.name}
    assert "matches: " in outcome.err
    assert "candidates: " in outcome.err


def test_standard_output_and_quiet(run: Commands, people: Path, out: Path) -> None:
    run("resolve", people, *FIELDS, "-o", out / "a.jsonl")
    outcome = run("resolve", people, *FIELDS, "-q")
    assert (outcome.code, outcome.out, outcome.err) == (0, (out / "a.jsonl").read_text(), "")


def test_standard_input(run: Commands, people: Path) -> None:
    usual = run("resolve", people, *FIELDS, "-q").out
    assert run("resolve", "-", *FIELDS, "-q", stdin=encode_jsonl(ROWS)).out == usual
    assert run("resolve", "-", *FIELDS, "-q", "--format", "csv", stdin=people.read_bytes()).out == usual
    assert run("resolve", "-", *FIELDS, "-q", "--format", "csv", stdin=zstd(people.read_bytes())).out == usual


def test_standard_input_cannot_be_both(run: Commands) -> None:
    outcome = run("resolve", "-", "-", *FIELDS, "-q", stdin=encode_jsonl(ROWS))
    assert outcome.code in (1, 2)
    assert complaint(outcome)


def test_all(run: Commands, people: Path, out: Path) -> None:
    run("resolve", people, *FIELDS, "-o", out / "some.jsonl")
    run("resolve", people, *FIELDS, "--all", "-o", out / "all.jsonl")
    some, every = ([(r["left"], r["right"]) for r in read(out / f"{name}.jsonl")] for name in ("some", "all"))
    assert set(some) < set(every)
    assert len(set(every)) == len(every)


def test_clusters(run: Commands, people: Path, out: Path) -> None:
    assert run("resolve", people, *FIELDS, "-o", out / "m.csv", "--clusters", out / "c.csv").code == 0
    rows = read(out / "c.csv")
    assert list(rows[0]) == ["cluster", "id", "size", "probability", "weakest"]
    groups: dict[str, set[str]] = {}
    for row in rows:
        groups.setdefault(row["cluster"], set()).add(row["id"])
    assert {frozenset("ab"), frozenset("cd")} <= set(map(frozenset, groups.values()))
    assert left_in(out) == {"m.csv", "c.csv"}


@pytest.mark.slow
def test_two_tables_with_validation(run: Commands, companies: tuple[Path, Path], out: Path) -> None:
    extra = ("-o", out / "m.parquet", "--table", out / "t.csv", "--plot", out / "p.svg")
    outcome = run("resolve", *companies, *COMPANY_FIELDS, *BY_DAYS, "--precision", "0.9", "--one-to-one", *extra)
    assert outcome.code == 0, outcome.err
    rows = read(out / "m.parquet")
    for side in ("left", "right"):
        assert len({row[side] for row in rows}) == len(rows) > 200
    shares = read(out / "t.csv")
    assert list(shares[0]) == [
        "score_from", "score_to", "pairs", "mean_difference", "fraction", "matches", "low", "high",
    ]  # fmt: skip
    assert float(shares[0]["score_to"]) == 300
    assert (out / "p.svg").read_text().lstrip().startswith("<?xml")
    assert "true matches by score, estimated from created" in outcome.err
    assert "left out" in outcome.err
    assert left_in(out) == {"m.parquet", "t.csv", "p.svg"}
    metadata = pq.read_schema(out / "m.parquet").metadata
    assert metadata[b"lookalike.seed"] == b"1"
    assert metadata[b"lookalike.basis"]


@pytest.mark.slow
def test_table_of_weights(run: Commands, companies: tuple[Path, Path], out: Path) -> None:
    assert run("resolve", *companies, *COMPANY_FIELDS, "-o", out / "m.csv", "--table", out / "t.csv").code == 0
    rows = read(out / "t.csv")
    assert list(rows[0]) == ["round", "feature", "weight", "weight_few_matches", "weight_siblings"]
    fields = ("-f", "name", "-f", "address", "-f", "phone")
    assert run("resolve", companies[0], *fields, "-o", out / "one.csv", "--table", out / "t.csv").code == 0
    rows = read(out / "t.csv")
    assert list(rows[0]) == ["field", "level", "m", "u", "weight"]
    assert {row["field"] for row in rows} == {"name", "address", "phone"}


def test_larger_than_memory(run: Commands, companies: tuple[Path, Path], out: Path) -> None:
    for name, more in (("all.csv", []), ("parts.csv", ["--memory", "1GB"])):
        assert run("resolve", *companies, *COMPANY_FIELDS, *more, "-o", out / name, "--all").code == 0
    assert (out / "parts.csv").read_bytes() == (out / "all.csv").read_bytes()
    assert left_in(out) == {"all.csv", "parts.csv"}
    assert run("resolve", *companies, "--memory", "1GB").err.splitlines()[-1] == (
        "lookalike: --memory needs a folder for temporary files: set --workdir, or write to a file with --out."
    )


def test_the_same_files_each_time(run: Commands, companies: tuple[Path, Path], out: Path) -> None:
    made = []
    for threads in (1, 2):
        run("resolve", *companies, *COMPANY_FIELDS, *BY_DAYS, "--threads", threads, "-o", out / "m.parquet")
        made.append((out / "m.parquet").read_bytes())
    assert made[0] == made[1]


def test_separator_and_skipped_rows(run: Commands, inputs: Path) -> None:
    path = inputs / "a.csv"
    path.write_bytes(encode_csv(ROWS, ";") + b"f;too few\n")
    refused = run("resolve", path, *FIELDS, "--separator", ";")
    assert refused.code == 1
    assert f"{path}, row 5: 2 fields, not 3" in complaint(refused)
    outcome = run("resolve", path, *FIELDS, "--separator", ";", "--on-error", "skip")
    assert outcome.code == 0
    assert re.search(r"read: 1 bad row", outcome.err)


def test_dates_that_cannot_be_read_are_counted(run: Commands, inputs: Path) -> None:
    rows = [{**row, "born": "soon" if row["id"] in "ab" else "2000-01-01"} for row in ROWS]
    outcome = run("resolve", write(inputs / "a.csv", rows), *FIELDS, "-f", "born=date")
    assert outcome.code == 0
    assert "note: 2 values of born cannot be read as date: set to missing" in outcome.err


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_empty_table(run: Commands, people: Path, inputs: Path, out: Path, kind: str) -> None:
    empty = inputs / f"empty.{kind}"
    if kind == "csv":
        empty.write_text("id,name,phone\n")
    else:
        pq.write_table(pa.Table.from_pylist(ROWS).slice(0, 0), empty)
    for tables in ((empty, people), (people, empty), (empty,), (empty, empty)):
        outcome = run("resolve", *tables, *FIELDS, "-o", out / "m.csv")
        assert outcome.code == 0, outcome.err
        assert read(out / "m.csv") == []
        assert "matches: 0 pairs" in outcome.err


def test_bytes_that_are_not_text(run: Commands, inputs: Path) -> None:
    for content in (b"id,name,phone\n1,\xff\xfe,3\n2,b,3\n", b"id,name,phone\n\xff,a,3\n\xfe,a,3\n"):
        (inputs / "a.csv").write_bytes(content)
        outcome = run("resolve", inputs / "a.csv", *FIELDS, "--all", "-q")
        assert outcome.code == 1
        assert complaint(outcome)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("-f", "nme"), 1, "the table has no column 'nme' for field 'nme'; it has id, name, phone."),
        (("-f", "name=nam"), 2, "the kind of field 'name' must be one of"),
        (("-f", "name", "--max-lag", "9"), 2, "--max-lag applies to the validation column: name it with --validate."),
        (("-f", "name", "--precision", "95"), 2, "--precision must be in (0, 1]; got 95.0. Did you mean 0.95?"),
        (("-f", "name", "--precision", "x"), 2, "--precision must be a number; got 'x'."),
        (
            ("-f", "name", "--validate", "name"),
            2,
            "--validate must be a column that is not compared; 'name' is among the fields.",
        ),
        (
            ("-f", "name", "--validate", "phone"),
            2,
            "--validate must be a column of dates or numbers; 'phone' is of kind 'phone'.",
        ),
        (
            ("-f", "name", "--plot", "p.png"),
            2,
            "--plot shows the share of true matches by score, which needs --validate.",
        ),
        (("-f", "name", "--id", "key"), 1, "the table has no column 'key' for the id; it has id, name, phone."),
        (("-f", "name", "--id", "phone"), 1, "ids must be unique; '212-555-0100' occurs more than once."),
        (("-f", "name", "--separator", ";;"), 2, "--separator must be '::' or one ASCII character"),
        (
            ("-f", "name", "--format", "text"),
            2,
            "--format must be one of parquet, arrow, jsonl, csv, tsv, excel, database, warc; got 'text'.",
        ),
        (("-f", "name", "-o", "m.txt"), 2, "the output file must end in .parquet, .arrow, .jsonl, .ndjson, .csv"),
        (("-f", "name", "--clusters", "m.txt"), 2, "the output file must end in .parquet, .arrow, .jsonl, .ndjson, .c"),
        (("-f", "name", "--table", "/nowhere/t.csv"), 1, "/nowhere/t.csv: cannot be written: there is no folder"),
        (("-f", "name", "--on-error", "no"), 2, "--on-error must be one of fail, skip; got 'no'."),
    ],
)
def test_complaints(run: Commands, people: Path, options: tuple[str, ...], code: int, message: str) -> None:
    outcome = run("resolve", people, *options)
    assert (outcome.code, outcome.out) == (code, "")
    assert complaint(outcome).startswith(message)


def test_no_such_file(run: Commands, people: Path) -> None:
    outcome = run("resolve", people, "/nowhere/b.csv", *FIELDS)
    assert (outcome.code, complaint(outcome)) == (1, "/nowhere/b.csv: no such file or folder.")


@pytest.mark.parametrize("plot", ["p.txt", "nowhere/p.png"])
def test_a_plot_that_cannot_be_drawn_leaves_nothing(
    run: Commands, companies: tuple[Path, Path], out: Path, plot: str
) -> None:
    """Errors in the command are reported before any work is done, and nothing is written."""
    outcome = run("resolve", *companies, *COMPANY_FIELDS, *BY_DAYS, "-o", out / "m.csv", "--plot", out / plot, "-q")
    assert outcome.code in (1, 2)
    assert complaint(outcome)
    assert left_in(out) == set()


def test_outputs_in_one_place(run: Commands, people: Path, out: Path) -> None:
    """One file cannot hold both outputs."""
    outcome = run("resolve", people, *FIELDS, "-o", out / "m.csv", "--clusters", out / "m.csv", "-q")
    assert outcome.code == 2
    assert left_in(out) == set()


def test_help(run: Commands) -> None:
    outcome = run("resolve", "--help")
    assert outcome.code == 0
    assert "--one-to-one" in outcome.out


def test_a_note_is_kept_in_the_file(run: Commands, inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.parquet"
    outcome = run("resolve", write(inputs / "a.csv", ROWS), "-f", "name", "-f", "phone", "-q", "-o", out)
    assert (outcome.code, outcome.err) == (0, "")
    note = pq.read_schema(out).metadata[b"lookalike.note"].decode()
    assert "fields the probabilities are only a guess" in note


def test_tables_with_different_separators(run: Commands, inputs: Path) -> None:
    paths = [inputs / f"{at}.csv" for at in range(2)]
    for path, separator in zip(paths, ";,", strict=True):
        path.write_bytes(encode_csv(ROWS, separator))
    different = run("resolve", *paths, "-f", "name", "-f", "phone", "-q")
    same = run("resolve", paths[1], write(inputs / "b.csv", ROWS), "-f", "name", "-f", "phone", "-q")
    assert different.out == same.out != ""
