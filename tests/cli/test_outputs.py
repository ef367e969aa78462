"""Check that no output overwrites an input, and that outputs are reproducible."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from lookalike.io.documents import Source
from tests.cli.corpus import ROWS, SUFFIXES
from tests.commands import Commands, complaint
from tests.samples import write


def overwriting(corpus: Path, database: Path) -> list[list[object]]:
    """Return commands whose output is one of their inputs."""
    resolving = ["resolve", corpus, "--field", "text"]
    return [
        *([command, corpus, "-o", corpus] for command in ("pairs", "clusters", "dedup", "sets", "vectors", "baskets")),
        ["match", corpus, corpus, "-o", corpus],
        ["dedup", corpus, "--removed", corpus],
        ["vectors", database, "--against", corpus, "-o", corpus],
        [*resolving, "-o", corpus],
        [*resolving, "--table", corpus],
        ["baskets", corpus, "--groups", 0.5, "--groups-out", corpus],
        ["baskets", database, "--by", "item", "--names", corpus, "-o", corpus],
        ["fingerprints", "pairs", corpus, "-o", corpus],
        ["fingerprints", "identify", database, corpus, "-o", database],
    ]


def test_an_input_is_not_overwritten(run: Commands, corpus: Path, tmp_path: Path) -> None:
    database = write(tmp_path / "vectors.csv", [{"a": 1, "b": 2}])
    before = {path: path.read_bytes() for path in (corpus, database)}
    for command in overwriting(corpus, database):
        outcome = run(*command)
        assert outcome.code == 2, command
        assert complaint(outcome).endswith(": is an input and would be overwritten; name another output file.")
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.slow
def test_an_input_is_known_by_any_name(
    run: Commands, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.jsonl").symlink_to(corpus)
    Path("folder").symlink_to(corpus.parent)
    others = ("in/corpus.jsonl", "in/../in/corpus.jsonl", "link.jsonl", "folder/corpus.jsonl")
    for name in others:
        for one, other in ((corpus, name), (name, corpus)):
            assert "is an input" in complaint(run("dedup", one, "-o", other))
        assert "is an input" in complaint(run("dedup", "in/*.jsonl", "-o", name))
    for folder in ("in", "folder", corpus.parent, "."):
        new = complaint(run("dedup", folder, "-o", "in/new.jsonl"))
        why = f"is inside the input {folder} and would be read with it next time"
        assert new == f"in/new.jsonl: {why}; choose a place outside it."
    assert len(corpus.read_text().splitlines()) == len(ROWS)
    assert run("dedup", "in", "-o", "new.jsonl").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_files_do_not_depend_on_threads_or_batches(
    run: Commands, corpus: Path, out: Path, monkeypatch: pytest.MonkeyPatch, command: str, suffix: str
) -> None:
    results: set[tuple[bytes, ...]] = set()
    make: Callable[..., Source] = Source
    for threads, size in ((1, 2 << 20), (2, 2 << 20), (2, 2 << 20), (1, 20_000), (2, 9_000)):
        monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(make, batch_bytes=size))
        paths = [out / f"main{suffix}", *([out / f"removed{suffix}"] if command == "dedup" else [])]
        extra = ("--removed", paths[1]) if command == "dedup" else ()
        assert run(command, corpus, "-o", paths[0], *extra, "--threads", threads).code == 0
        results.add(tuple(path.read_bytes() for path in paths))
    assert len(results) == 1
    assert all(results.pop())


@pytest.mark.slow
def test_no_formulas_for_spreadsheets(run: Commands, tmp_path: Path) -> None:
    """All outputs of a command have an apostrophe before what a spreadsheet would compute."""
    rows = [{"id": f"={at}+1", "text": "the same words in each of these"} for at in range(3)]
    corpus = write(tmp_path / "in.csv", rows)
    people = write(tmp_path / "people.csv", [{"id": f"={at}+1", "name": "Ada Lovelace"} for at in range(2)])
    sets = write(tmp_path / "sets.csv", [{"set": f"={at}+1", "element": "x"} for at in range(2)])
    vectors = write(tmp_path / "vectors.csv", [{"id": f"={at}+1", "x": 1, "y": 2} for at in range(2)])
    ratings = write(tmp_path / "ratings.csv", [{"user": f"={at}+1", "item": "a", "rating": 5} for at in range(2)])
    index, out, other = tmp_path / "some.index", tmp_path / "out.csv", tmp_path / "other.tsv"
    assert run("index", "build", index, corpus).code == 0
    for command, outputs in {
        ("pairs", corpus, "-o", out): [out],
        ("clusters", corpus, "-o", out): [out],
        ("match", corpus, corpus, "-o", out): [out],
        ("dedup", corpus, "-o", out, "--removed", other): [out, other],
        ("dedup", corpus, "--against", tmp_path / "new.index", "--update", "-o", out, "--removed", other): [out, other],
        ("sets", sets, "-o", out): [out],
        ("vectors", vectors, "--id", "id", "-t", 1, "-o", out): [out],
        ("baskets", ratings, "-o", out): [out],
        ("resolve", people, people, "-f", "name", "--all", "-o", out): [out],
        ("index", "query", index, corpus, "-o", out): [out],
    }.items():
        outcome = run(*command, "--excel-safe")
        assert outcome.code == 0, outcome.err
        for path in outputs:
            text = path.read_text()
            assert "'=" in text, command
            assert '"=' not in text, command
    for output in ("-", "out.parquet"):
        ended = run("pairs", corpus, "--excel-safe", "-o", output)
        assert complaint(ended) == f"--excel-safe is for .csv and .tsv outputs; got {output!r}."
