"""Check `dedup --against FILE`: rows similar to earlier ones are removed."""

import json
from pathlib import Path

import pytest

from tests.commands import Commands, complaint

OPTIONS = ("-s", "char:4", "-t", "0.5")
NEW = ["the cat sat on the mat", "the cat sat on the hat", "a dog ran off home", "a dog ran off home!", "unlike"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {"new": NEW, "old": ["the cat sat on the mat again"], "past": ["unlike"]}
    for name, texts in made.items():
        lines = [json.dumps({"id": f"{name[0]}{at}", "text": text, "score": at}) for at, text in enumerate(texts)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    return {name: tmp_path / f"{name}.jsonl" for name in made}


def test_rows_similar_to_earlier_ones_are_removed(run: Commands, files: dict[str, Path], out: Path) -> None:
    paths = ["--removed", out / "r.csv", "-o", out / "kept.jsonl", "--report", out / "page.html"]
    done = run("dedup", files["new"], "--against", files["old"], *OPTIONS, "--keep", "score:max", *paths)
    assert done.code == 0
    assert "3 documents to remove, each similar to one of the 2 kept or to an earlier one" in done.err
    assert [json.loads(line)["id"] for line in (out / "kept.jsonl").read_text().splitlines()] == ["n3", "n4"]
    assert (out / "r.csv").read_text().splitlines() == [
        '"id","kept","similarity","earlier"',
        '"n0","o0",0.75,true',
        '"n1","o0",0.5555555555555556,true',
        '"n2","n3",0.9375,false',
    ]
    assert "the cat sat on the mat again" in (out / "page.html").read_text()
    again = run("report", out / "r.csv", "--items", files["new"], "--items", files["old"], "-o", out / "again.html")
    assert again.code == 0
    assert "the cat sat on the mat again" in (out / "again.html").read_text()


def test_several_files_and_marks(run: Commands, files: dict[str, Path]) -> None:
    both = ("--against", files["old"], "--against", files["past"])
    rows = [json.loads(line) for line in run("dedup", files["new"], *both, *OPTIONS, "--mark").out.splitlines()]
    assert [row["duplicate_of"] for row in rows] == ["o0", "o0", None, "n2", "p0"]
    assert [row["earlier"] for row in rows] == [True, True, False, False, True]


def test_what_cannot_be(run: Commands, files: dict[str, Path], out: Path) -> None:
    new, old = files["new"], files["old"]
    for args, why in {
        ("--drop-all",): "--drop-all cannot be used with --against",
        ("--memory", "1GB", "-o", out / "kept.jsonl"): "--memory cannot be used with --against",
        ("-o", old): f"{old}: is an input and would be overwritten",
        ("--against", new, "--update"): "--update adds to an index, and",
    }.items():
        done = run("dedup", new, "--against", old, *args)
        assert done.code == 2
        assert why in complaint(done)
    done = run("dedup", new, "--against", out / "none.jsonl")
    assert (done.code, complaint(done)) == (1, f"{out / 'none.jsonl'}: no such file or folder.")
