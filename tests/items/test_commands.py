"""Check web pages in any encoding, from the file to the result."""

import csv
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.core.errors import UsageError
from lookalike.items.pages import decode_page, visible_text
from tests.commands import Commands, complaint
from tests.page_samples import ANOTHER, MENU, STORY, page, put
from tests.samples import encode_jsonl


@pytest.fixture
def folder(inputs: Path) -> Path:
    """Two copies of an article, encoded and framed differently, and another in the first frame."""
    menu = "<ul>" + MENU.replace("</a>", " und übermorgen</a>") + "</ul>"
    put(inputs / "a.html", f"{page(STORY)}<p>\u201cÉté\u201d".encode("cp1252"))
    put(
        inputs / "b.html",
        f"\ufeff{menu}{''.join(f'<p>{one}</p>' for one in STORY)}<p>\u201cÉté\u201d".encode("utf-16-be"),
    )
    put(inputs / "c.html", f"{page(ANOTHER)}<p>\u201cÉté\u201d".encode())
    return inputs


def test_pairs(run: Commands, folder: Path) -> None:
    for options in (("--html", "-s", "stop:3"), ("--article",), ("--article", "-s", "word:5", "--text", "ignored")):
        outcome = run("pairs", folder, "-t", "0.6", *options)
        assert outcome.code == 0, outcome.err
        found = [json.loads(line) for line in outcome.out.splitlines()]
        assert [(row["left"], row["right"]) for row in found] == [("a.html", "b.html")]


def test_match_and_clusters(run: Commands, folder: Path) -> None:
    wanted = (folder / "b.html").read_bytes()
    outcome = run("match", "-", folder, "--html", "-s", "stop:3", "-t", "0.6", stdin=wanted)
    assert [json.loads(line)["right"] for line in outcome.out.splitlines()] == ["a.html", "b.html"]
    assert json.loads(outcome.out.splitlines()[0])["left"] == "-"
    outcome = run("clusters", f"{folder}/*.html", "--html", "-s", "stop:3", "-t", "0.6")
    assert [json.loads(line)["id"] for line in outcome.out.splitlines()] == ["a.html", "b.html"]


def test_dedup_writes_the_pages(run: Commands, folder: Path, out: Path) -> None:
    for name in ("clean.jsonl", "clean.parquet"):
        outcome = run("dedup", folder, "--html", "-s", "stop:3", "-t", "0.6", "-o", out / name)
        assert outcome.code == 0, outcome.err
    rows = [json.loads(line) for line in (out / "clean.jsonl").read_text().splitlines()]
    assert rows == pq.read_table(out / "clean.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["a.html", "c.html"]
    assert rows[0]["text"] == decode_page((folder / "a.html").read_bytes())
    assert pq.read_schema(out / "clean.parquet").metadata[b"lookalike.pages"] == b"visible text"
    lines = encode_jsonl([{"id": i, "html": page(), "n": [i]} for i in range(3)])
    path = put(folder / "rows.jsonl", lines)
    run("dedup", path, "--article", "-o", out / "rows.jsonl")
    assert (out / "rows.jsonl").read_bytes() == lines.splitlines(keepends=True)[0]


def test_dedup_of_pages_in_bytes(run: Commands, inputs: Path, out: Path) -> None:
    """Decoded in formats that hold only strings, unchanged in those that hold bytes."""
    pages = ["<p>caf\xe9".encode("cp1252"), "<meta charset=koi8-r>маяк".encode("koi8-r")]
    path = inputs / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2], "html": pages}), path)
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        outcome = run("dedup", path, "--html", "-o", out / name)
        assert outcome.code == 0, outcome.err
    texts = [decode_page(one) for one in pages]
    assert [json.loads(line)["html"] for line in (out / "a.jsonl").read_text().splitlines()] == texts
    with (out / "a.csv").open(newline="") as file:
        assert [row["html"] for row in csv.DictReader(file)] == texts
    assert pq.read_table(out / "a.parquet")["html"].to_pylist() == pages
    pq.write_table(pa.table({"id": [1], "html": ["<p>a"], "raw": [b"\xff"]}), path)
    for name in ("b.jsonl", "b.csv"):
        message = complaint(run("dedup", path, "--html", "-q", "-o", out / name))
        assert message.endswith("bytes that are not valid UTF-8; a .parquet or .arrow file can hold them.")
        assert not (out / name).exists()


def test_pages_without_the_option_give_a_note(run: Commands, folder: Path) -> None:
    note = "note: web pages are compared with their markup; use --html to compare only their text"
    outcome = run("pairs", folder / "a.html", folder / "c.html", "--on-error", "skip")
    assert note in outcome.err.splitlines()
    assert note not in run("pairs", folder, "--html").err
    assert note not in run("pairs", put(folder / "lines.txt", b"a\nb\n")).err


@pytest.mark.slow
def test_pages_without_the_option_that_fail_advise_it(run: Commands, folder: Path) -> None:
    hint = "is not valid UTF-8 (byte {} is 0x93); use --html to read pages in any encoding."
    at = (folder / "a.html").read_bytes().index(b"\x93")
    assert complaint(run("pairs", folder, "-q")) == f"{folder / 'a.html'}: text {hint.format(at)}"
    assert complaint(run("pairs", folder / "a.html", "-q")).endswith(hint.format(at))
    rows = put(folder / "rows.jsonl", encode_jsonl([{"id": "a", "html": page()}]))
    assert "Name it with --text (use --html to read the column html as web pages); it has id, html." in complaint(
        run("pairs", rows)
    )


def test_skipped_files_give_a_note(run: Commands, folder: Path) -> None:
    note = f"note: skipped {{}} in {folder} not named .html, .htm, .xhtml"
    assert "note: skipped" not in run("pairs", folder, "--html").err
    put(folder / "index.php", b"<p>one")
    assert note.format("1 file") in run("pairs", folder, "--html").err.splitlines()
    put(folder / "saved", b"<p>one")
    assert note.format("2 files") in run("pairs", folder, "--article").err.splitlines()
    assert "note: skipped" not in run("pairs", f"{folder}/*", "--html").err


def test_documents_that_are_mostly_empty_give_a_note(run: Commands, folder: Path) -> None:
    rows = put(folder / "rows.jsonl", encode_jsonl([{"id": at, "html": f"<p>{at} Hut"} for at in range(3)]))
    for args, note in (
        ((rows, "--article"), "have no article in column html; use --html without --article to compare all visible"),
        (
            (rows, "--html", "-s", "stop:3"),
            "have no shingles in column html: these begin with stop words; name the language",
        ),
        ((put(folder / "lines.txt", b"\n\n a\n"),), "have no text\n"),
    ):
        assert f"note: most documents {note}" in run("pairs", *args).err
    assert "most documents" not in run("pairs", folder, "--html").err


def test_bad_pages(run: Commands, folder: Path) -> None:
    put(folder / "d.html", b"PK\0\0")
    assert complaint(run("pairs", folder, "--html")).startswith(f"{folder / 'd.html'}: holds null bytes")
    outcome = run("pairs", folder, "--html", "--on-error", "skip")
    assert outcome.code == 0
    assert "read: 3 documents (1 skipped)" in outcome.err


def test_stop_words_by_language_and_from_a_file(run: Commands, inputs: Path) -> None:
    texts = put(inputs / "lines.txt", b"der Hut the ram xyz\nder Hut and the cat\n")
    words = put(inputs / "words.txt", "\ufeffthe\r\n\n Der \n".encode())
    for options, expected in {
        ("--stop-words", "de"): 1.0,
        ("--stop-words", "en"): 0.0,
        ("--stop-words", "de,en"): 1 / 4,
        ("--stop-words", words): 1 / 3,
        ("--stop-words", "de,en", "--antecedents", "the, der"): 1 / 3,
        ("--stop-words", "de,en", "--antecedents", words): 1 / 3,
        ("--stop-words", "de,en", "--antecedents", f"the,der,{'x,' * 5000}x"): 1 / 3,
        ("--stop-words", "de,en", "--antecedents", "der", "--spot-distance", 2): 0.0,
        ("--stop-words", "en", "--antecedents", "hut", "--skip-stops"): 0.0,
    }.items():
        outcome = run("pairs", texts, "-s", "stop:2", "-t", "0.01", "--recall", 1, "-q", *options)
        found = [json.loads(line)["similarity"] for line in outcome.out.splitlines()]
        assert (found or [0.0]) == [expected], options


def test_wrong_options(run: Commands, inputs: Path) -> None:
    texts = put(inputs / "lines.txt", b"one\n")
    empty = put(inputs / "empty.txt", b" \n\n")
    latin = put(inputs / "latin.txt", b"caf\xe9\n")
    for options, code, message in (
        (
            ("-s", "stop:3", "--stop-words", "words.txt"),
            2,
            "--stop-words must be language codes (de, en, es, fr, it, nl, pt, sv) or a file of words; got 'words.txt'.",
        ),
        (("--stop-words", "de"), 2, "--stop-words is for stop-word shingles, such as stop:3; got char:9."),
        (("--stop-words", "en"), 2, "--stop-words is for stop-word shingles, such as stop:3; got char:9."),
        (("--spot-distance", "2"), 2, "--spot-distance is for stop-word shingles, such as stop:3; got char:9."),
        (("-s", "stop:x"), 2, "--shingle must look like char:9, word:5 or stop:3; got 'stop:x'."),
        (("-s", "stop:3", "--antecedents", "gone.txt"), 1, "gone.txt: no such file; --antecedents must be a file of "),
        (("-s", "stop:3", "--antecedents", "lists/gone"), 1, "lists/gone: no such file; --antecedents must be a file "),
        (("-s", "stop:3", "--antecedents", ""), 2, "--antecedents must have at least one word; got ''."),
        (("-s", "stop:3", "--antecedents", ", -"), 2, "--antecedents must have at least one word; got ', -'."),
        (("-s", "stop:3", "--antecedents", empty), 1, f"{empty}: has no words; it must have one word per line."),
        (("-s", "stop:3", "--stop-words", empty), 1, f"{empty}: has no words; it must have one word per line."),
        (("-s", "stop:3", "--spot-distance", "0"), 2, "--spot-distance must be an integer of at least 1; got 0."),
        (("-s", "stop:3", "--stop-words", latin), 1, f"{latin}: not valid UTF-8 (byte 3)."),
    ):
        outcome = run("pairs", texts, *options)
        assert (outcome.code, complaint(outcome).startswith(message)) == (code, True), outcome.err


def test_without_selectolax(run: Commands, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    message = "reading pages needs selectolax, which is not installed: pip install 'lookalike[html]'"
    outcome = run("pairs", folder, "--html")
    assert (outcome.code, complaint(outcome)) == (2, message)
    with pytest.raises(UsageError) as error:
        visible_text("<p>one")
    assert str(error.value) == message
    assert run("pairs", folder / "c.html").code == 0
