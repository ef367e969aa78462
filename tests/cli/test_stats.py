"""Check what schedulers read: the JSON of --stats, lines of JSON, lines on progress, and --dry-run."""

import json
import re
import time
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from unittest.mock import Mock

import pytest

from lookalike import __version__, cli
from lookalike.cli import Terminated, asks_for_json
from lookalike.cli.progress import ProgressLines, TerminalRun
from lookalike.cli.stats import RunRecord
from tests.commands import Commands, complaint, left_in


def stats(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text())
    return read


def test_stats_say_what_was_done(run: Commands, corpus: Path, out: Path, tmp_path: Path) -> None:
    path = out / "run.json"
    outputs = [out / "kept.jsonl", out / "removed.csv"]
    args = ["dedup", corpus, "-o", outputs[0], "--removed", outputs[1], "--audit", 10, "--stats", path]
    assert run(*args).code == 0
    found = stats(path)
    assert found["command"].startswith(f"lookalike dedup {corpus} -o {outputs[0]}")
    assert (found["version"], found["status"], found["exit_code"], found["error"]) == (__version__, "done", 0, None)
    counts = {"items": 60, "kept": 20, "dropped": 40, "rows": 40, "skipped": 0}
    assert {name: found["counts"][name] for name in counts} == counts
    assert found["plan"]["measure"] == "jaccard"
    assert found["plan"]["lines"][0].startswith("plan: jaccard >= 0.8 of char:9")
    assert found["recall"]["expected"] >= 0.99
    assert found["recall"]["measured"]["sampled"] == 10
    assert found["seconds"]["in all"] >= found["seconds"]["write"] > 0
    assert found["peak_memory"] > 1 << 20
    for files, paths in ((found["inputs"], [corpus]), (found["outputs"], outputs)):
        expected = [(str(path), len(content := path.read_bytes()), sha256(content).hexdigest()) for path in paths]
        assert [(one["path"], one["bytes"], one["sha256"]) for one in files] == expected
    assert "Z" in found["started"] <= found["finished"]


def test_the_start_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It comes before the imports, as in the times that are reported."""
    monkeypatch.setattr(cli, "begun", time.perf_counter() - 100)
    written = RunRecord(str(tmp_path / "run.json")).written("failed", 1, None)
    took = datetime.fromisoformat(written["finished"]) - datetime.fromisoformat(written["started"])
    assert 98 <= took.total_seconds() <= 160


@pytest.mark.parametrize("command", ["pairs", "clusters", "match"])
def test_stats_of_other_commands(run: Commands, corpus: Path, out: Path, command: str) -> None:
    two = [corpus, corpus] if command == "match" else [corpus]
    assert run(command, *two, "-o", out / "found.csv", "--stats", out / "run.json", "-q") == (0, "", "")
    found = stats(out / "run.json")
    assert found["counts"]["rows"] == {"pairs": 60, "clusters": 20, "match": 180}[command]
    assert ("candidates" in found["counts"]) == (command != "clusters")  # which are found without counting pairs
    assert len(found["inputs"]) == len(two)


def test_stats_of_cuts_and_of_an_index(run: Commands, corpus: Path, out: Path) -> None:
    for more, kept in ((("--unit", "line"), 60), (("--against", out / "seen.index", "--update"), 20)):
        assert run("dedup", corpus, *more, "-o", out / "kept.jsonl", "--stats", out / "run.json", "-q").code == 0
        found = stats(out / "run.json")
        counts = {"items": 60, "kept": kept, "dropped": 60 - kept, "skipped": 0}
        assert {name: found["counts"][name] for name in counts} == counts
        assert len((out / "kept.jsonl").read_text().splitlines()) == kept
        assert 0.99 <= found["recall"]["expected"] <= 1
        assert {Path(one["path"]).name for one in found["inputs"]} == {corpus.name}


def test_stats_of_standard_input_and_notes(run: Commands, out: Path) -> None:
    assert run("dedup", "-", "--format", "text", "--stats", out / "run.json", stdin=b"\n\n\n").code == 0
    found = stats(out / "run.json")
    digest = sha256(b"\n\n\n").hexdigest()
    assert (found["inputs"], found["outputs"]) == ([{"path": "-", "bytes": 3, "sha256": digest}], [])


def test_stats_of_runs_that_fail(
    run: Commands, corpus: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = out / "run.json"
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "a"}\n{"text": 1}\n')
    outcome = run("dedup", bad, "-o", out / "kept.jsonl", "--stats", path)
    found = stats(path)
    assert (found["status"], found["exit_code"], found["error"]) == ("failed", 1, complaint(outcome))
    assert left_in(out) == {"run.json"}
    outcome = run("dedup", corpus, "--threshold", 3, "--stats", path)
    assert (outcome.code, stats(path)["exit_code"]) == (2, 2)

    for error, code in {KeyboardInterrupt: 130, Terminated: 143, BrokenPipeError: 0}.items():
        monkeypatch.setattr("lookalike.find.find_pairs", Mock(side_effect=error))
        assert run("pairs", corpus, "--stats", path).code == code
        found = stats(path)
        assert (found["status"], found["exit_code"], found["error"]) == ("interrupted", code, None)


def test_stats_need_a_file_of_their_own(run: Commands, corpus: Path, out: Path) -> None:
    assert "--stats must name a file" in complaint(run("pairs", corpus, "--stats", "-"))
    assert "there is no folder" in complaint(run("pairs", corpus, "--stats", out / "no" / "run.json"))
    before = corpus.read_bytes()
    for path in (out / "p.csv", corpus):
        outcome = run("pairs", corpus, "-o", out / "p.csv", "--stats", path)
        assert (outcome.code, "must be different" in complaint(outcome)) == (2, True)
    assert (left_in(out), corpus.read_bytes()) == (set(), before)


def test_lines_of_json(run: Commands, corpus: Path, tmp_path: Path) -> None:
    outcome = run("pairs", corpus, "--log-format", "json")
    lines = [json.loads(line) for line in outcome.err.splitlines()]
    assert {"time", "level", "event", "message"} <= lines[0].keys()
    events = [line["event"] for line in lines if "compiling" not in line["message"]]
    assert list(dict.fromkeys(events)) == ["plan", "read", "found", "time"]
    for args, code in ((["pairs", tmp_path / "none"], 1), (["pairs", corpus, "--no-such"], 2)):
        outcome = run(*args, "--log-format=json")
        error = json.loads(outcome.err)
        assert (outcome.code, error["exit_code"], error["level"]) == (code, code, "error")
    assert run("pairs", corpus, "--log-format", "xml").code == 2
    assert not asks_for_json(["lookalike", "pairs", "json", "--log-format"])


def test_lines_on_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = TerminalRun(1, quiet=False)
    with run.show("verify", 200.0) as tick:
        lines = tick.__self__  # type: ignore[attr-defined]
        assert isinstance(lines, ProgressLines)
        tick(50)
        lines.print(30.0)
    assert not lines.thread.is_alive()
    assert capsys.readouterr().err == "progress: verify, 30 s so far, 25% of 200, about 1 min 30 s left\n"
    sifting = ProgressLines(run, "sift", None)
    sifting.stop()
    assert sifting.line(7260, None) == "sift, 2 h 1 min so far"
    sifting.advance(1500)
    assert sifting.line(61, None) == "sift, 1 min 1 s so far, 1,500 done"


def test_lines_come_until_the_stage_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.cli.progress.EVERY", 0.001)
    said: SimpleQueue[str] = SimpleQueue()
    run = TerminalRun(1, quiet=False)
    monkeypatch.setattr(run, "say", said.put)
    with run.show("verify", 200.0):
        for _ in range(3):
            assert said.get(timeout=60).startswith("progress: verify, ")


def test_lines_on_progress_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines(TerminalRun(1, quiet=False, log_format="json"), "verify", 200)
    lines.stop()
    lines.advance(100)
    lines.print(30.0)
    found = json.loads(capsys.readouterr().err)
    facts = {"event": "progress", "stage": "verify", "done": 100, "total": 200, "seconds": 30, "seconds_left": 30}
    assert facts.items() <= found.items()


@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters", "match"])
def test_a_dry_run_only_plans(run: Commands, corpus: Path, out: Path, command: str) -> None:
    two = [corpus, corpus] if command == "match" else [corpus]
    outcome = run(command, *two, "-o", out / "found.csv", "--dry-run", "--stats", out / "run.json")
    assert (outcome.code, outcome.out) == (0, "")
    assert left_in(out) == {"run.json"}
    *plan, needs, end = outcome.err.splitlines()
    assert any(line.startswith("plan: jaccard") for line in plan)
    assert re.fullmatch(r"expected: about \d+ s to find .*, about \d+ MB of memory, no temporary files; .*", needs)
    assert end == "dry run: nothing was searched or written"
    assert stats(out / "run.json")["status"] == "planned"
    assert stats(out / "run.json")["needs"]["memory"] > 0
    assert stats(out / "run.json")["plan"]["threshold"] == "4/5"


def test_a_dry_run_of_a_run_in_files(run: Commands, corpus: Path, out: Path) -> None:
    outcome = run("dedup", corpus, "-o", out / "kept.csv", "--memory", "500MB", "--dry-run")
    assert "of disk for temporary files" in outcome.err
    assert left_in(out) == set()
    counting = ("--weights", "idf", "--drop-common", "50%")
    assert run("dedup", corpus, "-o", out / "kept.csv", "--memory", "500MB", "--dry-run", *counting).code == 0
    assert left_in(out) == set()
    assert run("dedup", corpus, "-o", out / "kept.csv", "--unit", "line", "--dry-run").code == 2
    assert run("dedup", corpus, "-o", out / "kept.csv", "--against", "x", "--dry-run").code == 2
