"""Check reading fingerprints from files of every kind."""

import gzip
import json
import math
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.core.errors import DataError, UsageError, skip_hint
from lookalike.fingerprints import Database, read_prints
from lookalike.fingerprints.print_files import iso_minutiae
from tests.print_samples import as_csv, iso_record

NEEDED = "a table of minutiae needs the columns x, y and angle, and id for several prints"
SKIP_FILES = skip_hint("files", of="")
OTHER = "is truncated, or not an ISO template: its header gives a length other than the file's"


# --- files ---


def view_of(draw, size=30):
    return [(int(x), int(y), int(angle)) for x, y, angle in draw.integers(0, (300, 400, 256), (size, 3))]


VIEW = view_of(np.random.default_rng(5))
DPI = 2.54 * 197
EXPECTED = np.array(VIEW) * (500 / DPI, -500 / DPI, 360 / 256)


def as_table(minutiae, **columns):
    """Return x, y (downwards) and degrees of rows (x, y, 256ths of a turn)."""
    x, y, angle = zip(*minutiae, strict=True)
    return pa.table({**columns, "x": x, "y": y, "angle": [a * 360 / 256 for a in angle]})


def test_iso(inputs):
    (inputs / "101_1.iso").write_bytes(iso_record([VIEW]))
    prints = read_prints(inputs / "101_1.iso")
    assert prints.ids.to_pylist() == ["101_1"]
    assert prints.minutiae == pytest.approx(EXPECTED)
    assert prints.skipped == 0


def test_iso_of_several_views(inputs):
    (inputs / "hand.fmr").write_bytes(iso_record([VIEW, [], VIEW[:3]], extended=b"\1\2\0\x06ab"))
    prints = read_prints(str(inputs / "hand.fmr"))
    assert prints.ids.to_pylist() == ["hand", "hand#2", "hand#3"]
    assert prints.sizes.tolist() == [30, 0, 3]
    assert prints[2] == pytest.approx(EXPECTED[:3])


@pytest.mark.parametrize("size", [0, 1, 255])
def test_iso_of_so_many_minutiae(size):
    view = view_of(np.random.default_rng(1), size)
    (found,) = iso_minutiae(iso_record([view]))
    assert found == pytest.approx(np.array(view).reshape(-1, 3) * (500 / DPI, -500 / DPI, 360 / 256))


def test_iso_of_greatest_numbers():
    """x and y have 14 bits; the two bits before them mean something else."""
    (found,) = iso_minutiae(iso_record([[(16383, 16383, 255), (0, 0, 0)]], resolution=(1000, 2000)))
    assert found == pytest.approx(np.array([[16383 / 5.08, -16383 / 10.16, 255 * 360 / 256], [0, 0, 0]]))


def test_iso_of_another_resolution(inputs):
    """All are scaled to 500 pixels per inch; `dpi` is for other files."""
    (inputs / "fine.iso").write_bytes(iso_record([[(100, 50, 64)]], resolution=(394, 197)))
    for dpi in (500, 1000):
        found = read_prints(inputs / "fine.iso", dpi=dpi).minutiae
        assert found == pytest.approx(np.array([[100 * 500 / 2.54 / 394, -50 * 500 / 2.54 / 197, 90]]))


@pytest.mark.parametrize("views", [[VIEW[:2]], [VIEW[:1], VIEW[:2]], [[]]])
def test_iso_truncated_anywhere(views):
    """Also if the length in the header fits."""
    content = iso_record(views, extended=b"abc")
    assert len(iso_minutiae(content)) == len(views)
    for size in range(len(content)):
        with pytest.raises(DataError):
            iso_minutiae(content[:size])
    for size in range(24, len(content)):
        with pytest.raises(DataError, match="truncated"):
            iso_minutiae(content[:8] + struct.pack(">I", size) + content[12:size])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (iso_record([VIEW], magic=b"FIR\0"), "is not an ISO 19794-2 template: it does not begin with FMR"),
        (iso_record([VIEW], version=b"030\0"), "is a template of version '030'; only version '20' (2005) is supported"),
        (iso_record([VIEW], length=5), f"{OTHER} 210 bytes"),
        (iso_record([VIEW], length=211), f"{OTHER} 210 bytes"),
        (iso_record([VIEW]) + b"\0", f"{OTHER} 211 bytes"),
        (iso_record([VIEW], resolution=(0, 197)), "does not state its resolution"),
        (iso_record([VIEW], resolution=(197, 0)), "does not state its resolution"),
        (b"", "is not an ISO 19794-2 template: it does not begin with FMR"),
    ],
    ids=["magic", "version", "shorter", "longer", "more", "no width", "no height", "empty"],
)
def test_what_is_no_iso_template(inputs, content, message):
    path = inputs / "bad.iso"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_prints(path)
    assert str(error.value) == f"{path}: {message}; {SKIP_FILES}."
    with pytest.raises(DataError, match=r"^nothing is left: none of the 1 files could be read\.$"):
        read_prints(path, on_error="skip")


def test_xyt(inputs):
    """Three columns or four, y upwards; blank lines are skipped."""
    (inputs / "a.xyt").write_text("10 20 90 55\n\n  30\t40   0\r\n50 60 359 1 more\n")
    prints = read_prints(inputs / "a.xyt")
    assert prints.ids.to_pylist() == ["a"]
    assert prints[0][:, :2].tolist() == [[10, 20], [30, 40], [50, 60]]
    assert prints[0][:, 2].tolist() == [270, 180, 179]  # in .xyt they point the other way
    assert read_prints(inputs / "a.xyt", dpi=1000)[0][:, :2].tolist() == [[5, 10], [15, 20], [25, 30]]
    (inputs / "none.xyt").write_text("\n \n")
    assert read_prints(inputs / "none.xyt").sizes.tolist() == [0]


def test_files_of_one_name_have_distinct_ids(inputs):
    for folder in "ab":
        (inputs / folder).mkdir()
        (inputs / folder / "1.xyt").write_text("1 2 3\n")
    both = [inputs / "a" / "1.xyt", inputs / "b" / "1.xyt"]
    assert read_prints(both).ids.to_pylist() == [path.as_posix() for path in both]
    assert read_prints(inputs).ids.to_pylist() == ["a/1", "b/1"]


def test_a_broken_stream_names_its_file(inputs):
    (inputs / "good.xyt").write_text("1 2 3\n")
    (inputs / "bad.xyt.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"bad\.xyt\.gz: .*; use on_error='skip'"):
        read_prints(inputs)
    assert read_prints(inputs, on_error="skip").ids.to_pylist() == ["good"]


def test_which_column_is_the_id(inputs):
    path = inputs / "all.csv"
    path.write_text("person,x,y,angle,quality\nann,1,2,3,9\nbob,4,5,6,9\n")
    unknown = r"column 'person' is unknown: drop it, or name the id column of the prints with id="
    with pytest.raises(DataError, match=rf"all\.csv: {unknown}; use on_error='skip' to skip such files\.$"):
        read_prints(path)
    assert read_prints(path, id="person").ids.to_pylist() == ["ann", "bob"]
    with pytest.raises(DataError, match=r"no column 'who' for the id; it has person, x, y, angle, quality"):
        read_prints(path, id="who")


@pytest.mark.parametrize("line", ["1 2", "1", "x y t", "1 2 nan", "1 2 inf", "1,2,3", "\x00\x01", "1 2 3e999"])
def test_junk_in_xyt(inputs, line):
    path = inputs / "bad.xyt"
    path.write_text(f"1 2 3\n{line}\n")
    with pytest.raises(DataError) as error:
        read_prints(path)
    assert str(error.value) == f"{path}: line 2: x, y and angle must be numbers; got {line!r}; {SKIP_FILES}."
    (inputs / "good.xyt").write_text("1 2 3\n")
    assert read_prints([path, path, inputs / "good.xyt"], on_error="skip").skipped == 2


def nist_lines(minutiae, height=400):
    """Return the lines NIST's mindtct writes for (x, y, 256ths of a turn) of ISO.

    y is upwards, and directions point the other way. See xytreps.c of NBIS: "direction pointing out
    and away from the ridge ending or bifurcation valley (opposite direction from M1)"; M1 is ANSI
    INCITS 378, whose directions are those of ISO 19794-2.
    """
    return "".join(f"{x} {height - y} {round(angle * 360 / 256 + 180) % 360} 50\n" for x, y, angle in minutiae)


@pytest.fixture
def in_all_formats(inputs):
    """Return one print as a template, as an .xyt file and as tables."""
    (inputs / "a.iso").write_bytes(iso_record([VIEW]))
    (inputs / "b.xyt").write_text(nist_lines(VIEW))
    table = as_table(VIEW)
    (inputs / "c.csv").write_text(as_csv(table))
    (inputs / "d.tsv").write_text(as_csv(table).replace(",", "\t"))
    (inputs / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    pq.write_table(table, inputs / "f.parquet")
    with pa.OSFile(str(inputs / "g.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return read_prints(inputs, dpi=DPI)


def centred(minutiae):
    return minutiae[:, :2] - minutiae[:, :2].mean(axis=0)


def test_places_are_the_same_in_all_formats(in_all_formats):
    assert in_all_formats.ids.to_pylist() == list("abcdefg")
    for one in in_all_formats:
        assert centred(one) == pytest.approx(centred(EXPECTED))


def test_directions_are_the_same_in_all_formats(in_all_formats):
    """To the precision of .xyt, one degree."""
    for one in in_all_formats:
        assert abs((one[:, 2] - EXPECTED[:, 2] + 180) % 360 - 180).max() <= 0.5


def test_prints_match_in_all_formats(in_all_formats):
    found = Database(in_all_formats).pairs()
    assert len(found) == math.comb(7, 2)
    assert found.similarity == pytest.approx(30 / 38)


@pytest.mark.parametrize("column", ["id", "print", "finger", " Finger "])
def test_tables_of_several_prints(inputs, column):
    """Rows with one id are a print, wherever they are; prints are in the order of first rows."""
    ids = ["007" if at % 3 else "b" for at in range(30)]
    table = as_table(VIEW, **{column: ids})
    (inputs / "a.csv").write_text(as_csv(table))
    pq.write_table(table, inputs / "b.parquet")
    for name in ("a.csv", "b.parquet"):
        prints = read_prints(inputs / name, dpi=DPI)
        assert prints.ids.to_pylist() == ["b", "007"]
        assert prints[0] == pytest.approx(EXPECTED[::3])
        assert prints[1] == pytest.approx(np.delete(EXPECTED, slice(None, None, 3), axis=0))


@pytest.mark.parametrize("names", ["X,Y,THETA", "x,y,direction", "quality,x,y,angle", "angle,y,x"])
def test_columns_of_tables(inputs, names):
    (inputs / "a.csv").write_text(f"{names}\n" + ",".join("5" for _ in names.split(",")) + "\n")
    assert read_prints(inputs / "a.csv").minutiae.tolist() == [[5, -5, 5]]


def test_spaces_in_csv(inputs):
    """Around names and around numbers."""
    (inputs / "a.csv").write_text("x, y, angle\n1, 2, 3\n")
    assert read_prints(inputs / "a.csv").minutiae.tolist() == [[1, -2, 3]]


def test_tables_without_rows(inputs):
    (inputs / "one.csv").write_text("x,y,angle\n")
    (inputs / "none.csv").write_text("id,x,y,angle\n")
    assert read_prints(inputs / "one.csv").sizes.tolist() == [0]
    assert len(read_prints(inputs / "none.csv")) == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", f"{NEEDED}; it has none"),
        ("a.csv", "x,y\n1,2\n", f"{NEEDED}; it has x, y"),
        ("a.csv", "x,y,angle\n1,2,3\n1,,3\n", "row 1: y must be a number; got ''"),
        ("a.csv", "x,y,angle\n1,two,3\n", "row 0: y must be a number; got 'two'"),
        ("a.csv", "x,y,angle\n1,2,3\nnan,2,3\n", "row 1: x must be a number; got 'nan'"),
        ("a.csv", "x,y,angle\n1,2,-inf\n", "row 0: angle must be a number; got '-inf'"),
        ("a.csv", "id,x,y,angle\n,1,2,3\n", "column 'id' has an empty id"),
        ("a.csv", "x,y,angle\n1,2\n", "row 0: 2 fields, not 3"),
        ("a.csv", "x,y,x,angle\n1,2,3,4\n", ""),
        ("a.jsonl", "", f"{NEEDED}; it has none"),
        ("a.jsonl", '{"x": 1, "y": 2, "angle": [3]}\n', "column 'angle' must hold numbers"),
        ("a.jsonl", '{"x": 1, "y": 2, "angle": null}\n', "row 0: angle must be a number; got None"),
        ("a.jsonl", '{"id": null, "x": 1, "y": 2, "angle": 3}\n', "column 'id' has an empty id"),
        ("a.jsonl", '{"id": [1], "x": 1, "y": 2, "angle": 3}\n', "column 'id' "),
        ("a.jsonl", '{"x": 1,\n', ""),
        ("a.parquet", "", ""),
        ("a.arrow", "ARROW1", ""),
    ],
)
def test_bad_tables(inputs, name, content, message):
    """An error is one line with the file, the fault and the hint; skip leaves the file out."""
    path = inputs / name
    path.write_text(content)
    with pytest.raises(DataError) as error:
        read_prints(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert str(error.value).count("on_error='skip'") == 1
    assert "\n" not in str(error.value)
    good = inputs / "good.xyt"
    good.write_text("1 2 3\n")
    some = read_prints([path, good], on_error="skip")
    assert (some.ids.to_pylist(), some.skipped) == (["good"], 1)


def test_folders(inputs):
    """Prints are found among other files and in subfolders; hidden files are skipped."""
    (inputs / "sub").mkdir()
    for name in ("b.iso", "sub/a.fmd", "sub/c", ".hidden.iso"):
        (inputs / name).write_bytes(iso_record([VIEW[:3]]))
    (inputs / "d.XYT").write_text("1 2 3\n")
    (inputs / "README.txt").write_text("prints of nobody")
    (inputs / "picture.png").write_bytes(b"\x89PNG")
    prints = read_prints(inputs)
    assert prints.ids.to_pylist() == ["b", "d", "sub/a", "sub/c"]
    assert prints.skipped == 0
    assert read_prints(str(inputs / "*.iso")).ids.to_pylist() == ["b"]
    assert read_prints(str(inputs / "**/*.fmd")).ids.to_pylist() == ["sub/a"]
    assert read_prints([inputs / "sub", inputs / "b.iso"]).ids.to_pylist() == ["a", "c", "b"]
    assert read_prints(inputs / "sub" / "c").ids.to_pylist() == ["c"]


def test_bad_files_in_folders(inputs):
    (inputs / "a.iso").write_bytes(iso_record([VIEW]))
    (inputs / "b.iso").write_bytes(iso_record([VIEW])[:-1])
    (inputs / "c.xyt").write_text("junk\n")
    with pytest.raises(DataError, match=r"b\.iso: is truncated"):
        read_prints(inputs)
    prints = read_prints(inputs, on_error="skip")
    assert (prints.ids.to_pylist(), prints.skipped) == (["a"], 2)


def test_ids_of_names_with_dots(inputs):
    """Only a suffix that names a format is removed; a file that begins with FMR needs none."""
    for name in ("finger.1", "finger.2", "2024.05.iso"):
        (inputs / name).write_bytes(iso_record([VIEW]))
    assert read_prints(inputs).ids.to_pylist() == ["2024.05", "finger.1", "finger.2"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv.gz", b"x,y,angle\n1,-2,3\n"), ("a.xyt.gz", b"1 2 3\n"), ("a.iso.gz", iso_record([[(1, 2, 3)]]))],
    ids=["csv", "xyt", "iso"],
)
def test_compressed_files(inputs, name, content):
    """Files of all kinds can be compressed, since their names show the format."""
    (inputs / name).write_bytes(gzip.compress(content))
    prints = read_prints(inputs / name)
    assert prints.sizes.tolist() == [1]
    assert prints.ids.to_pylist() == ["a"]


def test_format_decides(inputs):
    (inputs / "a.txt").write_text("1 2 3\n")
    assert read_prints(inputs / "a.txt", format="xyt").sizes.tolist() == [1]
    (inputs / "a.txt").write_text("x,y,angle\n1,2,3\n")
    assert read_prints(inputs, format="csv").sizes.tolist() == [1]


@pytest.mark.parametrize(
    ("given", "options", "kind", "message"),
    [
        ([], {}, UsageError, "nothing to read: no input was given."),
        ("", {}, UsageError, "an input must name a file or folder; got ''."),
        ("-", {}, UsageError, "prints are read from files, not from standard input."),
        ("no/such.iso", {}, DataError, "no/such.iso: no such file or folder."),
        ("no/*.iso", {}, DataError, "no/*.iso: no files found."),
        (
            "x",
            {"format": "wsq"},
            UsageError,
            "format must be one of iso, xyt, csv, tsv, jsonl, parquet, arrow, excel, database; got 'wsq'.",
        ),
        ("x", {"dpi": 0}, UsageError, "dpi must be a positive number; got 0."),
        ("x", {"dpi": math.nan}, UsageError, "dpi must be a positive number; got nan."),
        ("x", {"on_error": "ignore"}, UsageError, "on_error must be one of fail, skip; got 'ignore'."),
    ],
)
def test_invalid_inputs(given, options, kind, message):
    with pytest.raises(kind) as error:
        read_prints(given, **options)
    assert str(error.value).startswith(message)


def test_files_that_are_not_prints(inputs):
    (inputs / "a.txt").write_text("words")
    message = r"a\.txt: not a fingerprint template; its suffix must be one of \.iso, \.fmr, "
    with pytest.raises(DataError, match=message):
        read_prints(inputs / "a.txt")
    with pytest.raises(DataError, match=r": no fingerprints found, neither templates"):
        read_prints(inputs)


def test_a_table_whose_names_are_not_text(inputs):
    """A column name that is not UTF-8 is an error in one line, whether or not the prints are enrolled."""
    path = inputs / "a.parquet"
    pq.write_table(pa.table({"x": [1.0], "y": [1.0], "angle": [1.0]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"angle", b"\x81ngle"))
    for read in (read_prints, Database.open):
        with pytest.raises(DataError, match=r"a\.parquet: cannot be read as .*utf-8") as error:
            read(path)
        assert "\n" not in str(error.value)
