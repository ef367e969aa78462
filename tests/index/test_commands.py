"""Check the commands for an index, and that a failed run changes nothing."""

import csv
import ctypes
import functools
import json
import os
import sys
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.index import Index
from lookalike.io.documents import Source
from tests.commands import complaint, left_in
from tests.index_samples import changed_texts_of, clear, made, state, texts_of


def test_an_index_made_in_python_on_the_command_line(run, inputs, place):
    Index.build(place, ["the cat sat on the mat"], ["cat"], threshold=0.5).close()
    (inputs / "a.jsonl").write_text('{"id": 1, "text": "the cat sat on the mat"}\n')
    assert run("index", "add", place, inputs / "a.jsonl").code == 0
    assert len(run("index", "query", place, inputs / "a.jsonl").out.splitlines()) == 2


def test_the_commands(run, inputs, out):
    (inputs / "a.csv").write_text("id,text\n" + "".join(f"t{at},{text}\n" for at, text in enumerate(texts_of(40))))
    made = run("index", "build", out / "i", inputs / "a.csv", "-t", "0.5", "-s", "word:2", "--store-text")
    assert made.code == 0, made.err
    assert made.err.startswith("built: 40 items; ")
    again = run("index", "add", out / "i", inputs / "a.csv")
    assert (again.code, again.err.splitlines()[-1]) == (
        1,
        "lookalike: id 't0' already exists; use --replace to overwrite it.",
    )
    assert run("index", "add", out / "i", inputs / "a.csv", "--replace").code == 0
    asked = run("index", "query", out / "i", inputs / "a.csv", "--top", "1")
    assert len(asked.out.splitlines()) == 40
    assert run("index", "remove", out / "i", "t1", "t2").err == "removed: 2 items, 38 left\n"
    assert run("index", "remove", out / "i", "t1").code == 1
    with Index.open(out / "i") as opened:
        opened.add(["one text", "another text"], ["7", 7])
    assert complaint(run("index", "remove", out / "i", "7")) == (
        "two items match 7: one has the integer 7 as its id, the other the string '7'; "
        "remove it in Python, with Index.remove, or over HTTP."
    )
    with Index.open(out / "i") as opened:
        assert opened.remove([7, "7"]) == 2
    assert run("index", "remove", out / "i").code == 2
    assert "items: 38\n" in run("index", "info", out / "i").out
    assert run("index", "verify", out / "i").err == "verified: 38 items, no errors\n"
    assert run("index", "compact", out / "i").err.startswith("compacted: ")
    copied = run("index", "backup", out / "i", out / "copy").err
    assert copied == f"copied: 38 items, {(out / 'copy' / 'data.mdb').stat().st_size:,} bytes\n"
    assert state_in(out / "copy") == state_in(out / "i")
    assert complaint(run("index", "backup", out / "i", out / "copy")).endswith(
        "already exists; an index needs a new folder."
    )


def state_in(path):
    with Index.open(path, read_only=True) as index:
        index.verify()
        return state(index)


# --- the command ---


def lines_of(*numbers, first=0, **more):
    """Return lines of JSON with these texts."""
    rows = [{"id": f"d{at}", "text": clear(number), **more} for at, number in enumerate(numbers, first)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def removed_in(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def seen(run, inputs, out):
    """Build an index of the texts 1 and 2, with the ids a and b."""
    (inputs / "seen.jsonl").write_text(f'{{"id": "a", "text": "{clear(1)}"}}\n{{"id": "b", "text": "{clear(2)}"}}\n')
    made = run("index", "build", out / "seen", inputs / "seen.jsonl", "-t", "0.6", "-q")
    assert made.code == 0, made.err
    return out / "seen"


def test_lines_stay_as_they_stood(run, inputs, out, seen):
    """Lines of unusual JSON are copied unchanged; keys that only some lines have do not matter."""
    odd = [
        b'{ "text" :"caf\\u00e9 ' + clear(3).encode() + b'", "n": 1.50,"id":"x"}',
        b'{"id": "y", "text": "' + clear(1).encode() + b'"}',
        '{"text": "é'.encode() + clear(4).encode() + b'", "id": "z", "deep": {"b": [1,  2]}}',
        b'{"id": "w", "text": "' + clear(4).encode() + b'"}',
        b'{"id": "v", "text": ""}',
        b'{"id": "u", "text": ""}',
    ]
    (inputs / "a.jsonl").write_bytes(b"\n".join(odd))
    before = (seen / "data.mdb").read_bytes()
    done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.jsonl", "--removed", out / "r.csv")
    assert done.code == 0, done.err
    assert (out / "n.jsonl").read_bytes() == b"".join(odd[at] + b"\n" for at in (0, 2, 4, 5))
    assert removed_in(out / "r.csv")[0] == {"id": "y", "kept": "a", "similarity": "1"}
    assert [(row["id"], row["kept"]) for row in removed_in(out / "r.csv")] == [("y", "a"), ("w", "z")]
    assert (seen / "data.mdb").read_bytes() == before
    assert (
        "read: 6 documents (2 empty)\nfound: 2 documents to remove, each similar to one seen before, and 4 to keep"
        in done.err
    )
    assert "index: 2 items, unchanged\n" in done.err
    assert left_in(out) == {"seen", "n.jsonl", "r.csv"}


@pytest.mark.slow
def test_day_by_day(run, inputs, out):
    """The first day creates the index; texts of any earlier day are removed."""
    days = [(1, 2, 1), (2, 3, 4, 3), (4, 5, 1)]
    kept = ["1 2", "3 4", "5"]
    for day, numbers in enumerate(days):
        (inputs / "a.jsonl").write_text(lines_of(*numbers, first=10 * day))
        to = ("-o", out / "n.jsonl", "--removed", out / "r.csv")
        done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *to, "-t", "0.7")
        assert done.code == 0, done.err
        texts = [json.loads(line)["text"] for line in (out / "n.jsonl").read_text().splitlines()]
        assert texts == [clear(int(number)) for number in kept[day].split()]
        items = sum(len(some.split()) for some in kept[: day + 1])
        assert f"index: {items} item{'s' * (items > 1)}\n" in done.err
    assert [(row["id"], row["kept"]) for row in removed_in(out / "r.csv")] == [("d20", "d12"), ("d22", "d0")]
    with Index.open(out / "seen") as index:
        assert list(index.ids()) == ["d0", "d1", "d11", "d12", "d21"]
        assert index.verify() == 5
        assert index.settings["wanted"]["threshold"] == "0.7"
    assert left_in(out) == {"seen", "n.jsonl", "r.csv"}


def test_numbers_on_the_second_day(run, inputs, out):
    for numbers in ((1, 2, 1), (2, 3)):
        (inputs / "a.jsonl").write_text("".join(json.dumps({"text": clear(n)}) + "\n" for n in numbers))
        to = ("-o", out / "n.jsonl", "--removed", out / "r.jsonl")
        assert run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *to).code == 0
    assert (out / "r.jsonl").read_text() == '{"id": 3, "kept": 1, "similarity": 1.0}\n'
    with Index.open(out / "seen") as index:
        assert list(index.ids()) == [0, 1, 4]
        assert index.verify() == 3


def test_lines_of_text_have_the_ids_of_the_index(run, inputs, out):
    """The output has the ids under which the index knows the documents."""
    for numbers in ((1, 2, 1), (2, 3)):
        (inputs / "a.txt").write_text("".join(clear(n) + "\n" for n in numbers))
        assert run("dedup", inputs / "a.txt", "--against", out / "seen", "--update", "-o", out / "n.csv").code == 0
    with Index.open(out / "seen") as index:
        [(name, _)] = index.query(clear(3))
    assert [int(row["id"]) for row in removed_in(out / "n.csv")] == [name]


def test_parquet_with_further_columns(run, inputs, out, seen):
    table = pa.table(
        {
            "n": pa.array([1, 2, 3, 4], pa.int16()),
            "text": [clear(1), clear(3), clear(3), clear(4)],
            "id": ["p", "q", "r", "s"],
            "deep": [[1], None, [2, 3], []],
        }
    )
    pq.write_table(table, inputs / "a.parquet")
    to = ("-o", out / "n.parquet", "--removed", out / "r.parquet")
    done = run("dedup", inputs / "a.parquet", "--against", seen, "--update", *to)
    assert done.code == 0, done.err
    got = pq.read_table(out / "n.parquet")
    assert got.to_pylist() == table.take(pa.array([1, 3])).to_pylist()
    assert got.schema.types == table.schema.types
    assert got.schema.metadata[b"lookalike.index"] == b"seen"
    dropped = pq.read_table(out / "r.parquet")
    assert dropped.schema.names == ["id", "kept", "similarity"]
    assert dropped.to_pylist() == [
        {"id": "p", "kept": "a", "similarity": 1.0},
        {"id": "r", "kept": "q", "similarity": 1.0},
    ]
    with Index.open(seen) as index:
        assert list(index.ids()) == ["a", "b", "q", "s"]


def test_csv_to_all_kinds(run, inputs, out, seen):
    (inputs / "a.csv").write_text(f"id,n,text\nx,1,{clear(1)}\ny,2,{clear(3)}\nz,3,{clear(3)}\n")
    for name in ("n.csv", "n.jsonl", "n.arrow"):
        done = run("dedup", inputs / "a.csv", "--against", seen, "-o", out / name)
        assert done.code == 0, done.err
    assert removed_in(out / "n.csv") == [{"id": "y", "n": "2", "text": clear(3)}]
    assert json.loads((out / "n.jsonl").read_text())["text"] == clear(3)
    with pa.ipc.open_file(out / "n.arrow") as file:
        assert file.read_all()["id"].to_pylist() == ["y"]


def test_nothing_is_left(run, inputs, out, seen):
    """The header is written nevertheless, also to an empty file of removed documents."""
    (inputs / "a.csv").write_text(f"id,text\nx,{clear(1)}\n")
    (inputs / "b.csv").write_text(f"id,text\nx,{clear(9)}\n")
    for name in "ab":
        to = ("-o", out / f"{name}.csv", "--removed", out / f"{name}-removed.csv")
        assert run("dedup", inputs / f"{name}.csv", "--against", seen, *to).code == 0
    assert (out / "a.csv").read_text() == '"id","text"\n'
    assert (out / "b-removed.csv").read_text() == '"id","kept","similarity"\n'


def test_several_inputs(run, inputs, out, seen):
    """The output has them in order, with the columns of all."""
    (inputs / "one.jsonl").write_text(lines_of(3, 1, 4, n=1))
    (inputs / "two.csv").write_text(f"id,text,m\nx,{clear(4)},u\ny,{clear(5)},v\n")
    both = (inputs / "one.jsonl", inputs / "two.csv")
    to = ("-o", out / "n.parquet", "--removed", out / "r.csv")
    done = run("dedup", *both, "--against", seen, *to)
    assert done.code == 0, done.err
    assert pq.read_table(out / "n.parquet").to_pylist() == [
        {"id": "d0", "text": clear(3), "n": 1, "m": None},
        {"id": "d2", "text": clear(4), "n": 1, "m": None},
        {"id": "y", "text": clear(5), "n": None, "m": "v"},
    ]
    assert [(row["id"], row["kept"]) for row in removed_in(out / "r.csv")] == [("d1", "a"), ("x", "d2")]
    (inputs / "two.jsonl").write_text(lines_of(4, 6, first=7))
    assert run("dedup", both[0], inputs / "two.jsonl", "--against", seen, "-o", out / "n.jsonl").code == 0
    assert [json.loads(line)["id"] for line in (out / "n.jsonl").read_text().splitlines()] == ["d0", "d2", "d8"]


def test_standard_input_and_output(run, seen):
    done = run("dedup", "-", "--format", "jsonl", "--against", seen, "--update", stdin=lines_of(1, 3, 3, 4).encode())
    assert done.code == 0, done.err
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["d1", "d3"]
    again = run("dedup", "-", "--format", "jsonl", "--against", seen, stdin=lines_of(4, 5).encode())
    assert [json.loads(line)["id"] for line in again.out.splitlines()] == ["d1"]
    with Index.open(seen) as index:
        assert index.verify() == 4


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_numbers_and_strings_as_ids(run, inputs, out, suffix):
    """A column holds numbers, or strings if any id is a string, even a late one."""
    (inputs / "old.jsonl").write_text(f'{{"id": 17, "text": "{clear(1)}"}}\n{{"id": -3, "text": "{clear(2)}"}}\n')
    assert run("index", "build", out / "seen", inputs / "old.jsonl", "-q").code == 0
    (inputs / "a.jsonl").write_text(lines_of(2, 5, 1, 5))
    removed = out / f"r.{suffix}"
    to = ("-o", out / "n.jsonl", "--removed", removed)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", *to)
    assert done.code == 0, done.err
    expected = [("d0", "-3"), ("d2", "17"), ("d3", "d1")]
    assert [(row["id"], row["kept"]) for row in rows_in(removed)] == expected
    (inputs / "b.jsonl").write_text(f'{{"id": 5, "text": "{clear(2)}"}}\n{{"id": 6, "text": "{clear(1)}"}}\n')
    assert run("dedup", inputs / "b.jsonl", "--against", out / "seen", *to).code == 0
    number = str if suffix == "csv" else int
    assert [(row["id"], row["kept"]) for row in rows_in(removed)] == [
        (number(5), number(-3)),
        (number(6), number(17)),
    ]


def rows_in(path):
    if path.suffix == ".csv":
        return removed_in(path)
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return pq.read_table(path).to_pylist()


def test_strings_after_many_numbers(run, inputs, out, monkeypatch):
    """The first batches match items with numbers as ids, the last one an item with a string."""
    monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=200))
    with Index.create(out / "seen") as index:
        index.add([clear(number) for number in range(40)], [*range(39), "last"])
    rows = ({"id": 100 + n, "text": clear(n)} for n in range(40))
    (inputs / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    to = ("-o", out / "n.jsonl", "--removed", out / "r.parquet")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", *to)
    assert done.code == 0, done.err
    table = pq.read_table(out / "r.parquet")
    assert table["id"].to_pylist() == list(range(100, 140))
    assert table["kept"].to_pylist() == [*map(str, range(39)), "last"]


@pytest.mark.slow
@pytest.mark.parametrize("update", [(), ("--update",)])
@pytest.mark.parametrize("name", ["n.jsonl", "n.parquet", "n.csv"])
def test_the_same_whatever_the_size_of_batches(run, inputs, out, monkeypatch, update, name):
    """All files are equal byte for byte, and so are the ids in the index."""
    texts = changed_texts_of(150, changes=1)
    (inputs / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    found = []
    for size in (900, 1 << 22):
        monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=size))
        place = out / str(size)
        place.mkdir()
        with made(place / "seen") as index:
            index.add(texts[:20:3])
        to = ("-o", place / name, "--removed", place / "r.csv")
        done = run("dedup", inputs / "a.jsonl", "--against", place / "seen", *to, *update)
        assert done.code == 0, done.err
        with Index.open(place / "seen") as index:
            found.append(((place / name).read_bytes(), (place / "r.csv").read_bytes(), list(index.ids())))
            index.verify()
    assert all(one == found[0] for one in found)
    assert len(rows_in(place / "r.csv")) > 50


# --- failed runs change nothing ---

TOO_LONG = "n" * 245 + ".csv"  # leaves no room for a longer temporary name


def failing(inputs, out):
    """Return runs that fail after documents have been read, and their messages."""
    good, bad = lines_of(3, 4), lines_of(3) + '{"id": "bad", "text": null}\n' + lines_of(4, first=5)
    (inputs / "good.jsonl").write_text(good)
    (inputs / "bad.jsonl").write_text(bad)
    (inputs / "late.jsonl").write_text(bad)
    pq.write_table(pa.table({"text": [clear(3), clear(4)], "bytes": [b"fine", b"\xff"]}), inputs / "bytes.parquet")
    return {
        "a bad row": ((inputs / "bad.jsonl", "-o", out / "n.jsonl"), "row 1: text is null"),
        "a bad row in the second input": (
            (inputs / "good.jsonl", inputs / "late.jsonl", "-o", out / "n.jsonl"),
            "late.jsonl, row 1: text is null",
        ),
        "an output of columns": ((inputs / "bytes.parquet", "-o", out / "n.jsonl"), "n.jsonl: cannot be written: "),
        "an output": ((inputs / "good.jsonl", "-o", out / TOO_LONG), "cannot be written: File name too long"),
        "a second output": (
            (inputs / "good.jsonl", "-o", "-", "--removed", out / TOO_LONG),
            "cannot be written: File name too long",
        ),
        "no folder": ((inputs / "good.jsonl", "-o", out / "no" / "n.csv"), "there is no folder"),
        "no input": ((inputs / "none.jsonl", "-o", out / "n.csv"), "none.jsonl"),
    }


WAYS = [
    "a bad row",
    "a bad row in the second input",
    "an output of columns",
    "an output",
    "a second output",
    "no folder",
    "no input",
]


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_run_makes_no_index(run, inputs, out, monkeypatch, way):
    monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=1))
    args, why = failing(inputs, out)[way]
    done = run("dedup", *args, "--against", out / "seen", "--update")
    assert done.code in (1, 2)
    assert why in complaint(done)
    assert left_in(out) == set()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 1 << 22])
def test_a_failed_run_changes_no_index(run, inputs, out, seen, monkeypatch, way, size):
    monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=size))
    before = state_in(seen)
    args, why = failing(inputs, out)[way]
    done = run("dedup", *args, "--against", seen, "--update")
    assert done.code in (1, 2)
    assert why in complaint(done)
    assert state_in(seen) == before
    assert left_in(out) == {"seen"}
    done = run("dedup", inputs / "good.jsonl", "--against", seen, "--update")  # a good run still works
    assert len(done.out.splitlines()) == 2
    with Index.open(seen) as index:
        assert index.verify() == 4


def test_bad_rows_are_skipped_and_counted(run, inputs, out, seen):
    bad = lines_of(3) + '{"id": "bad", "text": null}\nno json\n' + lines_of(1, 4, first=5)
    (inputs / "a.jsonl").write_text(bad)
    for name in ("n.jsonl", "n.csv"):
        done = run("dedup", inputs / "a.jsonl", "--against", seen, "--on-error", "skip", "-o", out / name)
        assert done.code == 0, done.err
        assert "read: 3 documents (2 skipped)\nfound: 1 document to remove, " in done.err
        assert " and 2 to keep; " in done.err
        assert [row["id"] for row in rows_in(out / name)] == ["d0", "d6"]


# --- options ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("-t", "0.7"), "--threshold must match the index, which has 0.6; got 0.7."),
        (("-t", "2/3"), "--threshold must match the index, which has 0.6; got 2/3."),
        (("-t", "60"), "--threshold must be in (0, 1]; got '60'. Did you mean 0.6?"),
        (("-s", "word:3"), "--shingle must match the index, which has unit char; got unit word."),
        (("-s", "char:5"), "--shingle must match the index, which has k 9; got k 5."),
        (("--lowercase",), "the index was built without --lowercase; leave it out."),
        (("--space", "keep"), "--space must match the index, which has collapse; got keep."),
        (("--form", "nfkc"), "--form must match the index, which has nfc; got nfkc."),
        (("--recall", "0.9"), "--recall must match the index, which has 0.99; got 0.9."),
        (("--seed", "2"), "--seed must match the index, which has 1; got 2."),
        (("--measure", "containment"), "--measure must match the index, which has jaccard; got containment."),
        (("--html",), "the index was built without --html; leave it out."),
        (("--article",), "the index was built without --article; leave it out."),
        (("--keep", "longest"), "--keep cannot be used with --against, which handles documents one by one."),
        (("--keep", "first"), "--keep cannot be used with --against, which handles documents one by one."),
        (("--method", "exact"), "--method cannot be used with --against, which handles documents one by one."),
        (("--sketch", "simhash"), "--sketch cannot be used with --against, which handles documents one by one."),
        (("--audit", "10"), "--audit cannot be used with --against, which handles documents one by one."),
    ],
)
def test_options_that_contradict_the_index(run, inputs, out, seen, given, why):
    before = state_in(seen)
    (inputs / "a.jsonl").write_text(lines_of(3))
    done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.jsonl", "--update", *given)
    assert (done.code, complaint(done)) == (2, why)
    assert state_in(seen) == before
    assert left_in(out) == {"seen"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        ("-t", "0.6"),
        ("-t", "3/5"),
        ("-t", "0.600"),
        ("-t", "6e-1"),
        ("-s", "char:9", "--recall", "0.990", "--seed", "1", "--measure", "jaccard"),
        ("--space", "collapse", "--form", "nfc"),
    ],
)
def test_options_as_those_of_the_index(run, inputs, seen, given):
    (inputs / "a.jsonl").write_text(lines_of(1, 3))
    done = run("dedup", inputs / "a.jsonl", "--against", seen, *given)
    assert done.code == 0, done.err
    assert done.out == lines_of(1, 3).splitlines(keepends=True)[1]


def test_the_options_of_the_index_are_taken(run, inputs, out):
    """Options of the first run apply without being repeated."""
    (inputs / "a.jsonl").write_text('{"text": "The Cat Sat On The Mat"}\n')
    (inputs / "b.jsonl").write_text('{"text": "the cat sat on the HAT"}\n{"text": "a dog"}\n')
    options = ("-t", "0.5", "-s", "word:2", "--lowercase", "--recall", "0.999")
    assert run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *options).code == 0
    done = run("dedup", inputs / "b.jsonl", "--against", out / "seen", "--update", "--removed", out / "r.csv")
    assert done.out == '{"text": "a dog"}\n'
    assert float(removed_in(out / "r.csv")[0]["similarity"]) == pytest.approx(4 / 6)
    done = run("dedup", inputs / "b.jsonl", "--against", out / "seen", "-s", "word:3")
    assert (done.code, complaint(done)) == (2, "--shingle must match the index, which has k 2; got k 3.")


def test_pages(run, inputs, out):
    """They are compared by their visible text, and written unchanged."""
    pages = [f"<html><body><p>{clear(1)}</p></body></html>", f"<body><div><b>{clear(1)}</b></div></body>"]
    (inputs / "a.jsonl").write_text(json.dumps({"id": "x", "html": pages[0]}) + "\n")
    (inputs / "b.jsonl").write_text(json.dumps({"id": "y", "html": pages[1]}) + "\n")
    first = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "--html", "-o", out / "n.csv")
    assert first.code == 0, first.err
    assert [row["html"] for row in removed_in(out / "n.csv")] == [pages[0]]
    for options in ((), ("--html",)):
        second = run("dedup", inputs / "b.jsonl", "--against", out / "seen", *options)
        assert (second.code, second.out) == (0, "")
    assert complaint(run("dedup", inputs / "b.jsonl", "--against", out / "seen", "--article")) == (
        "the index was built without --article; leave it out."
    )


def test_columns_by_name(run, inputs, out, seen):
    (inputs / "a.csv").write_text(f"key,story,text\nx,{clear(1)},u\ny,{clear(3)},u\n")
    columns = ("--text", "story", "--id", "key")
    to = ("-o", out / "n.csv", "--removed", out / "r.csv")
    assert run("dedup", inputs / "a.csv", "--against", seen, "--update", *columns, *to).code == 0
    assert removed_in(out / "n.csv") == [{"key": "y", "story": clear(3), "text": "u"}]
    assert removed_in(out / "r.csv")[0]["id"] == "x"
    with Index.open(seen) as index:
        assert list(index.ids()) == ["a", "b", "y"]


def test_ids_to_remove_must_be_utf_8(run, out):
    (out / "ids").write_bytes(b"caf\xe9\n")
    done = run("index", "remove", out / "any.index", "--file", out / "ids")
    assert (done.code, complaint(done)) == (1, f"{out / 'ids'}: not valid UTF-8 (byte 3).")


def test_update_needs_an_index_to_update(run, inputs, out):
    (inputs / "a.jsonl").write_text(lines_of(1))
    done = run("dedup", inputs / "a.jsonl", "--update", "-o", out / "n.jsonl")
    assert (done.code, complaint(done)) == (2, "--update needs an index: name it with --against.")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "none", "-o", out / "n.jsonl")
    assert (done.code, complaint(done)) == (
        1,
        f"{out / 'none'}: no such folder; --update creates an index there.",
    )
    (out / "empty").mkdir()
    assert run("dedup", inputs / "a.jsonl", "--against", out / "empty", "--update").code == 1
    done = run("dedup", inputs / "a.jsonl", "--against", inputs / "a.jsonl", "--update", "-o", out / "n.jsonl")
    file = inputs / "a.jsonl"
    why = f"--update adds to an index, and {file} is a file; leave it out, or name an index."
    assert (done.code, complaint(done)) == (2, why)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "no" / "index", "--update")
    assert (done.code, complaint(done)) == (
        1,
        f"{out / 'no' / 'index'}: cannot be created: there is no folder {out / 'no'}.",
    )
    assert left_in(out) == {"empty"}
    assert left_in(out / "empty") == set()


def test_two_outputs_must_differ(run, inputs, out, seen):
    (inputs / "a.jsonl").write_text(lines_of(1))
    done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.csv", "--removed", out / "n.csv")
    assert done.code == 2
    assert "--out and --removed must be different files" in complaint(done)


@pytest.mark.parametrize("kind", ["vectors", "sets"])
def test_an_index_of_something_else(run, inputs, out, kind):
    if kind == "vectors":
        np.save(inputs / "v.npy", np.random.default_rng(1).normal(size=(20, 4)))
        made = run("index", "build", out / "seen", inputs / "v.npy", "--measure", "angle", "-t", "15", "-q")
    else:
        (inputs / "s.txt").write_text("1 2 3\n4 5 6\n")
        made = run("index", "build", out / "seen", inputs / "s.txt", "--kind", "sets", "-q")
    assert made.code == 0, made.err
    (inputs / "a.jsonl").write_text(lines_of(1))
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen")
    assert (done.code, complaint(done)) == (2, f"dedup --against needs an index of documents; the index holds {kind}.")


def test_an_index_of_vectors_made_in_python(run, inputs, out):
    rows = np.random.default_rng(1).normal(size=(20, 4))
    Index.build(out / "seen", rows, measure="angle", threshold=15).close()
    (inputs / "a.jsonl").write_text(lines_of(1))
    before = state_in(out / "seen")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "-o", out / "n.jsonl")
    assert done.code in (1, 2)
    assert "the index holds vectors" in complaint(done)
    assert state_in(out / "seen") == before
    assert left_in(out) == {"seen"}


def test_an_index_made_in_python(run, inputs, out):
    with Index.create(out / "seen", threshold=0.5, shingles=la.Shingles.parse("word:2", lowercase=True)) as index:
        index.add(["The Cat Sat On The Mat"])
    (inputs / "a.txt").write_text("the cat sat on the hat\na dog\n")
    done = run("dedup", inputs / "a.txt", "--against", out / "seen", "--update", "-s", "word:2")
    assert done.code == 0, done.err
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == ["a dog"]


@pytest.mark.parametrize(
    ("threshold", "rule", "text"),
    [
        *((wrong, "in (0, 1]", text) for text in (lines_of(1), "") for wrong in ("2", "0")),
        *((wrong, "a number in (0, 1]", lines_of(1)) for wrong in ("abc", "3/0", "nan")),
    ],
)
def test_an_invalid_threshold(run, inputs, out, threshold, rule, text):
    (inputs / "a.jsonl").write_text(text)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "-t", threshold)
    assert (done.code, complaint(done)) == (2, f"--threshold must be {rule}; got {threshold!r}.")
    assert left_in(out) == set()


@pytest.mark.parametrize("text", [lines_of(1), ""], ids=["one", "none"])
def test_a_measure_that_no_index_has(run, inputs, out, text):
    (inputs / "a.jsonl").write_text(text)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "--measure", "edit", "-t", "2")
    assert done.code == 2
    assert len(complaint(done)) > 10
    assert left_in(out) == set()


@pytest.mark.parametrize("name", ["bag", "bag_jaccard"])
def test_documents_as_bags(run, inputs, out, name):
    """The measure has two names, here as elsewhere."""
    (inputs / "a.jsonl").write_text('{"text": "a a a a"}\n{"text": "a"}\n{"text": "a a a a"}\n')
    options = ("--measure", name, "-s", "word:1")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *options)
    assert done.code == 0, done.err
    assert done.out == '{"text": "a a a a"}\n{"text": "a"}\n'
    for other in ("bag", "bag_jaccard"):
        done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--measure", other)
        assert (done.code, done.out) == (0, "")


def test_a_number_too_large_for_an_id(run, inputs, out):
    """If its document is removed, this is an error of one line, or no error at all."""
    ids = pa.array([1, 1 << 63], pa.uint64())
    pq.write_table(pa.table({"id": ids, "text": [clear(1)] * 2}), inputs / "a.parquet")
    to = ("-o", out / "n.parquet", "--removed", out / "r.csv")
    done = run("dedup", inputs / "a.parquet", "--against", out / "seen", "--update", *to)
    if done.code:
        assert "id" in complaint(done)
        assert left_in(out) == set()
    else:
        assert removed_in(out / "r.csv")[0]["id"] == str(1 << 63)


def test_an_empty_input(run, inputs, out):
    (inputs / "a.jsonl").write_text("")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "-o", out / "n.jsonl")
    assert done.code == 0, done.err
    assert (out / "n.jsonl").read_bytes() == b""
    (inputs / "b.jsonl").write_text(lines_of(1, 1))
    assert run("dedup", inputs / "b.jsonl", "--against", out / "seen", "--update").out == lines_of(1)
    with Index.open(out / "seen") as index:
        assert index.verify() == 1


# --- permissions ---


class Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class Capabilities(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def as_others():
    """Make permissions apply to root too, by dropping its capabilities in this thread."""
    if os.geteuid() != 0:
        yield
        return
    library = ctypes.CDLL(None)
    header, have = Header(0x20080522, 0), (Capabilities * 2)()
    if not sys.platform.startswith("linux") or library.capget(ctypes.byref(header), have) != 0:
        pytest.skip("root may write everywhere")
    before = have[0].effective
    have[0].effective = before & ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert library.capset(ctypes.byref(header), have) == 0
    try:
        yield
    finally:
        have[0].effective = before
        assert library.capset(ctypes.byref(header), have) == 0


@contextmanager
def read_only(folder):
    """Make a folder and its files read-only."""
    paths = [folder, *folder.iterdir()]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with as_others():
            assert not os.access(folder, os.W_OK, effective_ids=True)
            yield
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


def test_a_folder_that_is_read_only(run, inputs, out, seen):
    """It is enough without --update."""
    (inputs / "a.jsonl").write_text(lines_of(1, 3))
    with read_only(seen):
        done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.jsonl")
    assert done.code == 0, done.err
    assert (out / "n.jsonl").read_text() == lines_of(1, 3).splitlines(keepends=True)[1]


def test_a_folder_that_is_read_only_is_not_updated(run, inputs, out, seen):
    (inputs / "a.jsonl").write_text(lines_of(1, 3))
    before = state_in(seen)
    with read_only(seen):
        done = run("dedup", inputs / "a.jsonl", "--against", seen, "--update", "-o", out / "n.jsonl")
    assert done.code == 1
    assert "denied" in complaint(done)
    assert state_in(seen) == before
    assert left_in(out) == {"seen"}


def test_an_output_folder_that_is_read_only(run, inputs, out, seen):
    (inputs / "a.jsonl").write_text(lines_of(3))
    before = state_in(seen)
    (out / "closed").mkdir()
    with read_only(out / "closed"):
        for place, index in (("n.jsonl", seen), ("n.jsonl", out / "new")):
            done = run("dedup", inputs / "a.jsonl", "--against", index, "--update", "-o", out / "closed" / place)
            assert done.code == 1
            assert "denied" in complaint(done)
    assert state_in(seen) == before
    assert left_in(out) == {"seen", "closed"}
