"""Check that documents in several batches lose what they would lose all at once, whatever interrupts."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, LookalikeError, UsageError
from lookalike.passages import cutting, earlier
from tests.commands import Commands, complaint
from tests.passages.test_finding import corpora

UNITS = st.sampled_from(["span:1", "span:2", "span:5", "line"])
DAYS = [["home\nnews one", "a\nb"], ["home\nnews two\nb"], ["news two\nc", "c"]]


@settings(max_examples=60)
@given(st.lists(corpora, min_size=1, max_size=3), UNITS, st.integers(1, 2))
def test_batches_lose_what_they_would_lose_at_once(batches, unit, copies):
    between = "\n" if unit == "line" else " "
    texts = [[between.join(document) for document in documents] for documents in batches]
    every = [one for documents in texts for one in documents]
    at_once = la.dedup_units(every, unit=unit, copies=copies, least=0).texts().to_pylist()
    left, cuts = [], 0
    with TemporaryDirectory() as folder:
        for documents in texts:
            found = la.dedup_units(documents, unit=unit, copies=copies, least=0, against=f"{folder}/seen", update=True)
            left += found.texts().to_pylist()
            cuts += len(found)
    if len({tuple(documents) for documents in texts}) == len(texts):  # else one is a repeated run
        assert left == at_once
        assert cuts == len(la.dedup_units(every, unit=unit, copies=copies))


def cut(day: list[str], folder: Path, update: bool = True, **options: object) -> la.Cuts:
    return la.dedup_units(day, unit="line", against=folder / "seen", update=update, **options)


def test_a_repeated_run_cuts_the_same_and_adds_nothing(tmp_path):
    found = [cut(day, tmp_path) for day in DAYS]
    assert [one.texts().to_pylist() for one in found] == [DAYS[0], ["news two\n"], ["c"]]
    assert [one["digest"] for one in json.loads((tmp_path / "seen" / "batches.json").read_text())["batches"]]
    for day, before in zip(DAYS, found, strict=True):
        again = cut(day, tmp_path)
        assert again.to_arrow().equals(before.to_arrow())
    assert len(json.loads((tmp_path / "seen" / "batches.json").read_text())["batches"]) == 3


def test_rows_name_the_batch_of_the_earlier_copy(tmp_path):
    cut(DAYS[0], tmp_path)
    cut(DAYS[1], tmp_path)
    found = cut(["z\nz", "b\nnews two"], tmp_path, update=False)
    rows = found.to_arrow().to_pylist()
    assert [(row["document"], row["first_document"], row["first_batch"], row["text"]) for row in rows] == [
        (0, 0, None, "z"),
        (1, 1, 1, "b"),
        (1, 0, 2, "news two"),
    ]
    assert (found.kept.to_pylist(), found.stats["items"]) == ([0], 2)
    assert [row["text"] for row in found.explain(2)] == ["news two", "news two"]
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "3 documents of earlier runs count as occurring before" in page
    assert "home" in page  # around the earlier copy of "news two"
    assert len(cut(["b"], tmp_path, update=False)) == 1  # nothing was added


def test_ids_of_other_types(tmp_path):
    cut(["a\nb"], tmp_path)
    found = la.dedup_units(
        pa.table({"id": ["x", "y"], "text": ["b", "c"]}), unit="line", against=tmp_path / "seen", update=True
    )
    assert found.to_arrow().select(["document", "first_document"]).to_pylist() == [
        {"document": "x", "first_document": "0"}
    ]
    assert cut(["c"], tmp_path).to_arrow()["first_document"].to_pylist() == ["y"]


@pytest.mark.parametrize("stage", ["find_runs", "cuts_of"])
def test_an_interrupted_run_resumes_with_the_batches_it_began_with(tmp_path, stage, monkeypatch):
    pq.write_table(pa.table({"text": DAYS[1]}), tmp_path / "day.parquet")
    cut(DAYS[0], tmp_path)
    options = {"unit": "line", "against": tmp_path / "seen", "workdir": tmp_path / "work"}
    expected = la.dedup_units(tmp_path / "day.parquet", **options).to_arrow()
    with monkeypatch.context() as broken:
        broken.setattr(cutting, stage, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            la.dedup_units(tmp_path / "day.parquet", **options)
    cut(["news two"], tmp_path)
    assert la.dedup_units(tmp_path / "day.parquet", **options).to_arrow().equals(expected)


def test_a_batch_is_added_completely_or_not_at_all(tmp_path, monkeypatch):
    cut(DAYS[0], tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(earlier, "write_documents", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(DataError, match="seen: cannot be used: No space left on device"):
            cut(DAYS[1], tmp_path)
    assert len(cut(["news two"], tmp_path, update=False)) == 0
    assert cut(DAYS[1], tmp_path).texts().to_pylist() == ["news two\n"]


def test_one_run_at_a_time(tmp_path):
    with (
        earlier.Earlier(tmp_path / "seen", "line", "ignore", update=True),
        pytest.raises(DataError, match="another run"),
    ):
        cut(["a"], tmp_path)


def test_folders_that_cannot_be_used(tmp_path):
    with pytest.raises(DataError, match="seen: no such folder; update=True creates one"):
        cut(["a"], tmp_path, update=False)
    with pytest.raises(UsageError, match="update must have a folder; name it with against"):
        la.dedup_units(["a"], update=True)
    with pytest.raises(DataError, match="there is no folder"):
        la.dedup_units(["a"], against=tmp_path / "no" / "seen", update=True)
    (tmp_path / "t.jsonl").touch()
    with pytest.raises(DataError, match=r"t\.jsonl: is a file; with unit, against must be the folder in which earlier"):
        la.dedup_units(["a"], against=tmp_path / "t.jsonl")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.mdb").touch()
    with pytest.raises(DataError, match="already exists and is no folder of earlier units"):
        la.dedup_units(["a"], against=tmp_path / "other", update=True)
    cut(["a"], tmp_path)
    with pytest.raises(UsageError, match="unit must match against, which has line; got sentence"):
        la.dedup_units(["a"], unit="sentence", against=tmp_path / "seen")
    with pytest.raises(UsageError, match="case must match"):
        cut(["a"], tmp_path, case="keep")


@pytest.mark.parametrize("damage", ["cut", "list", "format", "gone"])
def test_damaged_folders(tmp_path, damage):
    cut(DAYS[0], tmp_path)
    folder = tmp_path / "seen"
    if damage == "cut":
        (folder / "0.anchors").write_bytes((folder / "0.anchors").read_bytes()[:-8])
    elif damage == "gone":
        (folder / "0.documents").unlink()
    else:
        text = (folder / "batches.json").read_text()
        (folder / "batches.json").write_text(
            text[:-5] if damage == "list" else text.replace('"format": 1', '"format": 9')
        )
    with pytest.raises(LookalikeError, match=r"is damaged|another version"):
        cut(DAYS[1], tmp_path)


def test_the_command(run: Commands, inputs: Path, out: Path) -> None:
    for number, day in enumerate(DAYS):
        (inputs / f"{number}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in day))
    args = ("--unit", "line", "--against", out / "seen")
    for _ in range(2):  # the same run again writes the same file
        left = []
        for number in range(len(DAYS)):
            page = ("--report", out / "page.html") if number == 1 else ()
            done = run("dedup", inputs / f"{number}.jsonl", *args, "--update", "-o", out / "new.jsonl", *page)
            assert done.code == 0, done.err
            left.append([json.loads(line)["text"] for line in (out / "new.jsonl").read_text().splitlines()])
        assert left == [DAYS[0], ["news two\n"], ["c"]]
    assert "compared with: 3 earlier documents in 2 batches" in done.err.splitlines()
    assert "2 cuts in 1 document, 1 kept" in (out / "page.html").read_text()
    done = run("dedup", inputs / "1.jsonl", "--unit", "sentence", "--against", out / "seen")
    assert "--unit must match --against, which has line; got sentence" in complaint(done)
    done = run("dedup", inputs / "1.jsonl", "--unit", "line", "--update")
    assert "--update must have a folder; name it with --against." in complaint(done)
