"""Check that each error prints one line, sets the right exit code and leaves no file behind."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lookalike.io.write
from lookalike.io.encode import encode
from tests.commands import GUARD, SLOW, Commands, Outcome, complaint, environment, left_in, spawn
from tests.samples import encode_csv, encode_jsonl, families, sentence, write

ROWS = families(10)
USAGE, DATA = 2, 1


@pytest.fixture
def corpus(inputs: Path) -> Path:
    return write(inputs / "corpus.jsonl", ROWS)


def fails(run: Commands, code: int, *args: object, out: Path) -> str:
    """Return the error message of a command that must fail and leave nothing behind."""
    outcome = run(*args)
    assert outcome.code == code
    assert outcome.out == ""
    assert left_in(out) == set()
    return complaint(outcome)


# --- contents of files ---


@pytest.mark.slow
@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_an_empty_file_is_no_error(run: Commands, tmp_path: Path, out: Path, command: str, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    for suffix in (".parquet", ".arrow", ".csv", ".jsonl"):
        outcome = run(command, tmp_path / name, "-o", out / f"result{suffix}")
        assert outcome.code == 0
        assert "read: 0 documents" in outcome.err
        assert f"note: no documents in {tmp_path / name}" in outcome.err.splitlines()
        assert (out / f"result{suffix}").exists()
    assert run(command, tmp_path / name, "-q") == (0, "", "")


def test_inputs_without_items_give_a_note(run: Commands, corpus: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    for args, note in {
        ("match", empty, corpus): f"no documents in {empty}",
        ("match", corpus, empty): f"no documents in {empty}",
        ("match", empty, empty): f"no documents in {empty}, {empty}",
        ("sets", empty): f"no sets in {empty}",
        ("dedup", empty, "--against", tmp_path / "i", "--update"): f"no documents in {empty}",
        ("pairs", "-"): "no documents in standard input",
    }.items():
        outcome = run(*args)
        assert outcome.code == 0
        assert [line for line in outcome.err.splitlines() if line.startswith("note: ")] == [f"note: {note}"]
    assert "note: no" not in run("match", corpus, corpus).err


CSV_NOTE = "note: {} looks like CSV; use --format csv to read it as a table"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "is_csv"),
    [
        (b"id,text\n1,some text\n2,more text\n", True),
        (b'id;text\n1;"some; text"\n', True),
        (b"id\ttext\n1\tsome text\n", True),
        (b"id,text\n", False),
        (b"some text\nmore text\n", False),
        (b"some text, with a comma\nmore text\n", False),
        (b"1,2\n3,4\n", False),
        (b"So it was, and so it is.\nOne, two.\n", False),
        (b'{"text": "a"}\n', False),
        (b"", False),
    ],
)
def test_csv_without_a_suffix_gives_a_note(run: Commands, tmp_path: Path, content: bytes, is_csv: bool) -> None:
    outcome = run("pairs", "-", stdin=content)
    assert (CSV_NOTE.format("standard input") in outcome.err.splitlines()) == is_csv
    for options in (("--format", "text"), ("--format", "csv", "--text", "id")):
        assert "looks like" not in run("pairs", "-", *options, stdin=content).err
    path = tmp_path / "table"
    path.write_bytes(content)
    assert (CSV_NOTE.format(path) in run("pairs", path, "-o", tmp_path / "out.csv").err.splitlines()) == is_csv
    assert "looks like" not in run("pairs", path.rename(tmp_path / "a.txt")).err


@pytest.mark.parametrize("name", ["empty.jsonl", "empty.csv"])
@pytest.mark.parametrize(
    "args",
    [
        ("dedup", "--keep", "score:max,meta.quality:min", "--within", "lang"),
        ("dedup", "--columns", "lang", "--mark"),
        ("clusters", "--rows", "--across", "meta.source"),
        ("pairs", "--within", "lang"),
    ],
)
def test_an_empty_file_can_have_any_column(run: Commands, tmp_path: Path, name: str, args: tuple[str, ...]) -> None:
    """A day without documents is no error, whatever the options."""
    (tmp_path / name).touch()
    command, *options = args
    outcome = run(command, tmp_path / name, *options, "-o", tmp_path / "out.jsonl")
    assert (outcome.code, (tmp_path / "out.jsonl").read_text()) == (0, ""), outcome.err


def test_an_empty_parquet_file_is_broken(run: Commands, tmp_path: Path, out: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    message = fails(run, DATA, "pairs", tmp_path / "a.parquet", "-o", out / "p.csv", out=out)
    assert "a.parquet: cannot be read as parquet: " in message


@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_a_missing_file(run: Commands, tmp_path: Path, out: Path, command: str) -> None:
    message = fails(run, DATA, command, tmp_path / "no.csv", "-o", out / "p.csv", out=out)
    assert message == f"{tmp_path}/no.csv: no such file or folder."


def test_a_missing_column(run: Commands, corpus: Path, out: Path) -> None:
    for option, what in (("--text", "text"), ("--id", "id")):
        message = fails(run, DATA, "pairs", corpus, option, "body", "-o", out / "p.csv", out=out)
        assert message == f"{corpus}: no column 'body' for the {what}; it has id, text, score."


def test_a_misspelled_column(run: Commands, corpus: Path, tmp_path: Path, out: Path) -> None:
    baskets = tmp_path / "baskets.csv"
    baskets.write_text("Basket,item\na,x\n")
    vectors = tmp_path / "vectors.jsonl"
    vectors.write_text('{"vec": [1, 2]}\n')
    for args, near in {
        ("pairs", corpus, "--text", "Txt"): "text",
        ("pairs", corpus, "--text", "text "): "text",
        ("dedup", corpus, "--id", "ids"): "id",
        ("sets", baskets, "--rows", "basket,item"): "Basket",
        ("baskets", baskets, "--user", "basket"): "Basket",
        ("vectors", vectors, "--vector", "vect"): "vec",
        ("resolve", baskets, "--field", "itme"): "item",
    }.items():
        assert fails(run, DATA, *args, "-o", out / "p.csv", out=out).endswith(f". Did you mean {near!r}?")


def test_a_null_text(run: Commands, corpus: Path, out: Path) -> None:
    corpus.write_bytes(encode_jsonl(ROWS[:2]) + b'{"id": "x", "text": null}\n')
    for command in ("pairs", "dedup", "clusters"):
        message = fails(run, DATA, command, corpus, "-o", out / "p.csv", out=out)
        assert message.startswith(f"{corpus}, row 2: text is null; ")


@pytest.mark.slow
def test_an_empty_text_is_counted_and_like_nothing(run: Commands, corpus: Path) -> None:
    corpus.write_bytes(
        encode_jsonl([{"id": i, "text": text} for i, text in enumerate(["", "a text", "", " \n\t", "b"])])
    )
    for command in ("pairs", "clusters"):
        outcome = run(command, corpus, "-t", "0.01")
        assert (outcome.code, outcome.out) == (0, "")
        assert "read: 5 documents (3 empty)" in outcome.err
    assert len(run("dedup", corpus, "-t", "0.01").out.splitlines()) == 5  # empty texts are not duplicates


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("a.jsonl", b'{"text": "fine"}\n{"text": "caf\xe9"}\n', ", row 1: text is not valid UTF-8 (byte 3 is 0xe9)"),
        ("a.csv", b"text\nfine\ncaf\xe9\n", ", row 1: text is not valid UTF-8 (byte 3 is 0xe9)"),
        ("a.txt", b"fine\ncaf\xe9\n", ", row 1: text is not valid UTF-8 (byte 3 is 0xe9)"),
    ],
)
def test_invalid_utf8(run: Commands, tmp_path: Path, out: Path, name: str, content: bytes, where: str) -> None:
    (tmp_path / name).write_bytes(content)
    message = fails(run, DATA, "dedup", tmp_path / name, "-o", out / "p.jsonl", out=out)
    assert message.startswith(f"{tmp_path}/{name}{where}; ")


@pytest.mark.slow
def test_another_encoding(run: Commands, tmp_path: Path, out: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_bytes("id,text,rating\n1,café au lait,1\n2,café au lait,1\n".encode("windows-1252"))
    latin = ("--encoding", "windows-1252")
    for args in (
        ("pairs", table),
        ("dedup", table, "--removed", out / "removed.csv"),
        ("clusters", table),
        ("match", table, table),
        ("sets", table),
        ("baskets", table),
        ("resolve", table, "--field", "text"),
        ("index", "build", tmp_path / "index", table),
    ):
        assert (
            "is not valid UTF-8 (byte 3 is 0xe9); if the file is not UTF-8, set --encoding, for example to "
            "windows-1252; use --on-error skip to skip such rows."
        ) in fails(run, DATA, *args, out=out)
        assert run(*args, *latin, "-q").code == 0, args
        for path in out.iterdir():
            path.unlink()
    assert run("dedup", table, "-q", *latin).out == '{"id": "1", "text": "café au lait", "rating": "1"}\n'
    assert "Did you" not in fails(run, USAGE, "pairs", table, "--encoding", "latin-99", out=out)


def test_a_binary_file(run: Commands, tmp_path: Path, out: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("fine")
    (folder / "b.bin").write_bytes(bytes(range(256)))
    message = fails(run, DATA, "pairs", folder, "-o", out / "p.csv", out=out)
    assert message.startswith(f"{folder}/b.bin: holds null bytes, so it is not text; ")
    message = fails(run, DATA, "pairs", folder / "b.bin", "-o", out / "p.csv", out=out)  # alone, it is read as lines
    assert message.startswith(f"{folder}/b.bin, row 1: text is not valid UTF-8 (byte 117 is 0x80); ")


def test_a_broken_line_of_json(run: Commands, corpus: Path, out: Path) -> None:
    corpus.write_bytes(encode_jsonl(ROWS[:2]) + b'{"id": "x", "text": \n')
    assert f"{corpus}, row 2: not valid JSON at column " in fails(
        run, DATA, "pairs", corpus, "-o", out / "p.csv", out=out
    )


def test_a_row_of_csv_with_too_many_fields(run: Commands, tmp_path: Path, out: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(encode_csv(ROWS[:2]) + b"x,y,z,too many\n")
    assert f"{path}, row 2: 4 fields, not 3; " in fails(run, DATA, "dedup", path, "-o", out / "p.csv", out=out)


def test_ids_that_are_not_unique(run: Commands, tmp_path: Path, out: Path) -> None:
    path = write(tmp_path / "a.csv", [{"id": name, "text": sentence(at)} for at, name in enumerate("abca")])
    message = fails(run, DATA, "pairs", path, "-o", out / "p.csv", out=out)
    assert message.startswith("ids must be unique; 'a' occurs more than once.")
    assert run("pairs", path, "--id", "-").code == 0


# --- options ---

BAD_OPTIONS = [
    (("--threshold", "0"), "threshold must be in (0, 1]; got "),
    (("--threshold", "80"), "Did you mean 0.8?"),
    (("--threshold", "0,8"), "threshold must be a number in (0, 1]; got '0,8'. Did you mean 0.8?"),
    (("--threshold", "75%"), "threshold must be a number in (0, 1]; got '75%'. Did you mean 0.75?"),
    (("--threshold", "-0.5"), "threshold must be "),
    (("--shingle", "word5"), "--shingle must look like char:9, word:5 or stop:3; got 'word5'. Did you mean 'word:5'?"),
    (("--shingle", "words-5"), "Did you mean 'word:5'?"),
    (
        ("--shingle", "Word:5"),
        "--shingle must look like char:9, word:5 or stop:3; got 'Word:5'. Did you mean 'word:5'?",
    ),
    (("--threshold", "nan"), "threshold must be "),
    (("--threshold", "inf"), "threshold must be "),
    (("--threshold", "abc"), "threshold must be "),
    (("--threshold", ""), "threshold must be "),
    (("--threshold", "1/0"), "threshold must be "),
    (("--recall", "0"), "recall must be in (0, 1]; got 0.0."),
    (("--recall", "1.5"), "recall must be in (0, 1]; got 1.5."),
    (("--recall", "99"), "Did you mean 0.99?"),
    (("--recall", "nan"), "recall must be in (0, 1]; got nan."),
    (("--recall", "abc"), "--recall must be a number; got 'abc'."),
    (("--audit", "x"), "--audit must be an integer; got 'x'."),
    (("--recall", "1", "--method", "lsh"), "recall must be below 1 for --method lsh; for recall 1 use --method exact."),
    (("--shingle", "char:0"), "--shingle must look like char:9, word:5 or stop:3; got 'char:0'."),
    (("--shingle", "char:x"), "char:x"),
    (("--shingle", "wrd:3"), "Did you mean 'word:3'?"),
    (("--method", "exat"), "method must be one of auto, lsh, exact; got 'exat'. Did you mean 'exact'?"),
    (("--format", "jsnl"), "Did you mean 'jsonl'?"),
    (("--on-error", "skp"), "Did you mean 'skip'?"),
    (("--space", "colapse"), "Did you mean 'collapse'?"),
    (("--form", "nfd"), "got 'nfd'"),
    (("--threads", "0"), "threads must be an integer of at least 1; got 0."),
    (("--seed", "-1"), "seed must be "),
    (("--audit", "-1"), "audit must be "),
    (("--treshold", "0.8"), "--threshold"),
    (("--threshold",), "--threshold"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"), BAD_OPTIONS, ids=lambda value: "=".join(value) if isinstance(value, tuple) else ""
)
def test_an_option_out_of_range(run: Commands, corpus: Path, out: Path, options: tuple[str, ...], message: str) -> None:
    assert message in fails(run, USAGE, "pairs", corpus, "-o", out / "p.csv", *options, out=out)


def test_missing_and_unknown_words(run: Commands, out: Path) -> None:
    assert "INPUT" in fails(run, USAGE, "pairs", out=out)
    assert "RIGHT" in fails(run, USAGE, "match", "left.csv", out=out)
    assert "'pair'" in fails(run, USAGE, "pair", "a.csv", out=out)


def test_a_wrong_option_leaves_no_workdir(run: Commands, corpus: Path, out: Path) -> None:
    options = ("--workdir", out / "work", "-o", out / "pairs.csv")
    assert "shingle" in fails(run, USAGE, "pairs", corpus, *options, "--shingle", "nope", out=out)


# --- outputs ---


@pytest.mark.parametrize("name", ["p.xlsx", "p", "p.parquet.gz", "p.gz", "p.json"])
def test_an_unknown_suffix(run: Commands, corpus: Path, out: Path, name: str) -> None:
    for args in (("pairs", corpus, "-o", out / name), ("dedup", corpus, "--removed", out / name)):
        message = fails(run, USAGE, *args, out=out)
        assert message.startswith(
            "the output file must end in .parquet, .arrow, .jsonl, .ndjson, .csv, .tsv, or a text format and "
            ".gz or .zst (.csv.gz), "
        )
        assert message.endswith(" A file of JSON lines ends in .jsonl.") == name.endswith(".json")


def test_a_folder_that_is_not_there(run: Commands, corpus: Path, out: Path) -> None:
    for option in ("--out", "--removed"):
        message = fails(run, DATA, "dedup", corpus, option, out / "no" / "p.csv", out=out)
        assert message == f"{out}/no/p.csv: cannot be written: there is no folder {out}/no."


def test_a_place_that_cannot_be_written(run: Commands, corpus: Path, out: Path) -> None:
    assert "there is no folder" in fails(run, DATA, "pairs", corpus, "-o", corpus / "p.csv", out=out)
    assert "File name too long" in fails(run, DATA, "pairs", corpus, "-o", out / f"{'x' * 250}.csv", out=out)


def test_a_bad_output_is_reported_before_anything_is_read(run: Commands, out: Path) -> None:
    message = fails(run, USAGE, "pairs", "no such input.csv", "-o", out / "p.xlsx", out=out)
    assert message.startswith("the output file must end in ")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".csv"])
def test_a_disk_that_fills_up(tmp_path: Path, out: Path, suffix: str) -> None:
    """A limit on file sizes stands in for a full disk."""
    path = tmp_path / "corpus.csv"
    path.write_bytes(encode_csv([{"id": i, "text": random.Random(i).randbytes(3000).hex()} for i in range(900)]))
    old = out / f"kept{suffix}"
    old.write_text("old")
    script = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
from lookalike.cli import main
main()
"""
    process = spawn("dedup", path, "-o", old, "--removed", out / "removed.csv", script=script)
    said, err = (stream.decode() for stream in process.communicate())
    assert process.returncode == DATA
    assert complaint(Outcome(DATA, said, err)) == f"{old}: cannot be written: File too large"
    assert old.read_text() == "old"
    assert left_in(out) == {old.name}


@pytest.mark.slow
def test_standard_output_that_is_full(corpus: Path) -> None:
    for command in ("pairs", "dedup"):
        with Path("/dev/full").open("wb") as full:
            process = spawn(command, corpus, stdout=full)
            err = process.communicate()[1].decode()
        assert process.returncode == DATA
        assert complaint(Outcome(DATA, "", err)) == "standard output: cannot be written: No space left on device"


# --- interrupted runs ---


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(corpus: Path, out: Path, sent: signal.Signals) -> None:
    old = out / "kept.jsonl"
    spawn("dedup", corpus, "-o", old).communicate()  # compile first: compiling cannot be interrupted
    corpus.write_bytes(encode_jsonl(families(300)))
    old.write_text("old")
    script = SLOW.format(pause=0.5)
    process = spawn("dedup", corpus, "-o", old, "--removed", out / "removed.csv", "--threads", "2", script=script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(sent)
    begun, err = process.communicate(timeout=GUARD)
    assert len(begun.splitlines()) < 100  # of 390 batches, two at a time: it stopped early
    assert process.returncode == -sent  # which a shell shows as 130 or 143
    assert complaint(Outcome(1, "", err.decode())) == "interrupted; no incomplete file was left."
    assert old.read_text() == "old"
    assert left_in(out) == {old.name}


def test_an_interrupt_while_writing(tmp_path: Path, out: Path, run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", ROWS)

    def interrupted(kind: str, *rest: Any) -> Iterator[Any]:
        if kind == ".csv" and left_in(out):  # not before the search, to see whether the format can hold the columns
            assert len(left_in(out)) == 2  # both files are being written
            raise KeyboardInterrupt
        return encode(kind, *rest)

    monkeypatch.setattr(lookalike.io.write, "encode", interrupted)
    message = fails(run, 130, "dedup", path, "-o", out / "kept.csv", "--removed", out / "removed.jsonl", out=out)
    assert message == "interrupted; no incomplete file was left."


@pytest.mark.slow
@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_a_reader_that_is_gone(corpus: Path, command: str) -> None:
    theirs, ours = os.pipe()
    os.close(theirs)
    process = spawn(command, corpus, "-q", stdout=ours)
    os.close(ours)
    assert process.communicate()[1] == b""
    assert process.returncode == 0


@pytest.mark.slow
def test_standard_output_closed_early(corpus: Path) -> None:
    corpus.write_bytes(encode_jsonl(families(5000, 1)))  # more than a pipe holds
    shell = f"{sys.executable} -m lookalike dedup {corpus} | head -1; echo ${{PIPESTATUS[0]}} >&2"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=environment())
    *said, code = done.stderr.splitlines()
    assert done.stdout.encode() == encode_jsonl(families(1, 1))
    assert all(line.startswith(("plan: ", "      ", "first run: ")) for line in said)
    assert code == "0"
