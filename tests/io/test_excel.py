"""Check Excel workbooks, written here as the few XML files that they need."""

import sys
import zipfile
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.io.records import RecordSource

NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
STYLES = f'<styleSheet xmlns="{NAMESPACE}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'


def workbook(path, rows):
    """Write a workbook with one sheet; a tuple (number,) is a date, counted in days from 1899-12-30."""

    def cell(value):
        if isinstance(value, tuple):
            return f'<c s="1"><v>{value[0]}</v></c>'
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return "<c/>" if value is None else f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    def written(at, row):
        cells = (cell(value).replace("<c", f'<c r="{chr(65 + place)}{at}"', 1) for place, value in enumerate(row))
        return f'<row r="{at}">{"".join(cells)}</row>'

    sheet = "".join(written(at, row) for at, row in enumerate(rows, 1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{NAMESPACE}" xmlns:r="{RELATIONS}"><sheets>'
        '<sheet name="people" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{RELATIONS}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": STYLES,
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{NAMESPACE}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


HEAD = ["id", "name", "born", "points", "code", "member"]
PEOPLE = [
    [1, "Ann Lee & Sons", (29254,), 1.5, "007", True],
    [2, "Anne <Lee>", (29254.5,), None, 7, False],
    [3, "", (27395,), 2, "x", True],
]


def test_columns_have_the_types_of_their_cells(tmp_path):
    table = RecordSource(workbook(tmp_path / "people.xlsx", [HEAD, *PEOPLE])).read(Run())
    assert table.schema.types == [pa.int64(), pa.string(), pa.string(), pa.float64(), pa.string(), pa.string()]
    assert table.to_pydict() == {
        "id": [1, 2, 3],
        "name": ["Ann Lee & Sons", "Anne <Lee>", ""],
        "born": ["1980-02-03", "1980-02-03T12:00:00", "1975-01-01"],
        "points": [1.5, None, 2.0],
        "code": ["007", "7", "x"],
        "member": ["true", "false", "true"],
    }


def test_workbooks_hold_documents_sets_vectors_ratings_and_records(tmp_path, run):
    texts = [["id", "text"], ["a", "the cat sat on the mat today"], ["b", "the cat sat on the mat"], ["c", "other"]]
    path = workbook(tmp_path / "texts.xlsx", texts)
    assert [pair[:2] for pair in la.find_pairs(path, threshold=0.5)] == [("a", "b")]
    done = run("dedup", path, "--threshold", "0.5", "-o", tmp_path / "kept.csv", "-q")
    assert done.code == 0, done.err
    assert (tmp_path / "kept.csv").read_text().count("\n") == 3
    path = workbook(tmp_path / "vectors.xlsx", [["x", "y"], [1, 0.5], [1, 0.51], [-1, 2]])
    assert run("vectors", path, "-t", "5", "-q").out.startswith('{"left": 0, "right": 1, ')
    path = workbook(tmp_path / "sets.xlsx", [["order", "product"], *([o, p] for o in (1, 2) for p in ("tea", "milk"))])
    assert run("sets", path, "--rows", "order,product", "-q").out == '{"left": 1, "right": 2, "similarity": 1.0}\n'
    path = workbook(tmp_path / "ratings.xlsx", [["user", "item"], *([u, i] for u in ("ann", "bob") for i in "VF")])
    assert list(la.baskets.find_similar(path)) == [("ann", "bob", 1.0)]
    path = workbook(tmp_path / "people.xlsx", [HEAD, *PEOPLE])
    assert len(la.entities.resolve(path, fields=["name", "born", "code"]).every) >= 1


def test_an_empty_workbook(tmp_path):
    assert len(la.find_pairs(workbook(tmp_path / "empty.xlsx", [["text"]]))) == 0


@pytest.mark.parametrize("content", [b"id,text\n1,one\n", b"PK\x03\x04 and so on"])
def test_a_file_that_is_not_a_workbook(tmp_path, content):
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.xlsx: cannot be read as an Excel workbook: "):
        la.find_pairs(tmp_path / "a.xlsx")


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    needs = r"reading Excel needs python-calamine, which is not installed: pip install 'lookalike\[excel\]'\.$"
    with pytest.raises(UsageError, match=needs):
        la.find_pairs(workbook(tmp_path / "people.xlsx", [HEAD, *PEOPLE]))
