"""Run the recipes of the guide as far as their packages are there.

The recipes for Hugging Face, Polars and DuckDB run as they stand, most of them in `test_docs`. Those for
Airflow, Prefect, Slurm, DVC and datatrove run without these programs: the functions and the shell
commands that they would run. What needs the packages themselves is only compiled.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
import yaml

import lookalike as la

ROOT = Path(__file__).parents[1]
DAYS = [ROOT / "examples" / "shards" / f"{day}.jsonl" for day in ("monday", "tuesday")]
PAGE = (ROOT / "docs" / "recipes.md").read_text()


def blocks(title: str, kind: str) -> list[str]:
    """Return the blocks of code of one kind below a heading."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section is not None
    found = re.findall(rf"^```{kind}\n(.*?)^```\n", section[1], re.M | re.S)
    assert found
    return found


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the examples, where `lookalike` is this program."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "lookalike").write_text(f'#!/bin/sh\nexec {sys.executable} -m lookalike "$@"\n')
    (programs / "lookalike").chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def shell(script: str, **variables: str) -> None:
    """Run a script; an error of any of its commands is one of the test."""
    done = subprocess.run(["bash", "-ec", script], env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def rows(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def new_by_day() -> list[list[str]]:
    """Return the ids that are similar to no earlier one, by brute force."""
    kept: list[dict[str, Any]] = []
    for row in rows(*DAYS):
        similar = [one for one in kept if len(la.find_pairs([one["text"], row["text"]], recall=1.0, threshold=0.8))]
        kept.extend([] if similar else [row])
    return [[row["id"] for row in kept if row["id"][0] == day] for day in "mt"]


@pytest.mark.slow
def test_airflow_and_prefect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    function, *only_compiled = blocks("Airflow and Prefect", "py")
    for code in only_compiled:
        compile(code, "recipe", "exec")
    names: dict[str, Any] = {}
    exec(compile(function, "recipe", "exec"), names)
    new_on = names["new_on"]
    for day, expected in zip(("monday", "tuesday"), new_by_day(), strict=True):
        assert new_on(day, str(tmp_path))["kept"] == len(expected)
        assert pq.read_table(tmp_path / f"{day}.parquet")["id"].to_pylist() == expected
    before = (tmp_path / "tuesday.parquet").read_bytes()
    assert new_on("tuesday", str(tmp_path))["kept"] == len(expected)  # a retry
    assert (tmp_path / "tuesday.parquet").read_bytes() == before
    with pytest.raises(RuntimeError, match="no such file or folder"):
        new_on("sunday", str(tmp_path))
    monkeypatch.setenv("LOOKALIKE_THRESHOLD", "80")
    with pytest.raises(ValueError, match="--threshold is set by LOOKALIKE_THRESHOLD"):
        new_on("sunday", str(tmp_path))


@pytest.mark.slow
def test_slurm(tmp_path: Path) -> None:
    [script] = blocks("Slurm", "sh")
    for task, (day, expected) in enumerate(zip(("monday", "tuesday"), new_by_day(), strict=True)):
        shell(script, SLURM_ARRAY_TASK_ID=str(task), SLURM_CPUS_PER_TASK="2")
        assert [row["id"] for row in rows(tmp_path / f"new-{day}.jsonl")] == expected
        stats = json.loads((tmp_path / f"run-{task}.json").read_text())
        assert stats["set_by"] == {"threads": "LOOKALIKE_THREADS"}


@pytest.mark.slow
def test_dvc(tmp_path: Path) -> None:
    [file], [parameters] = blocks("DVC", "yaml"), blocks("DVC", "toml")
    stage = yaml.safe_load(file)["stages"]["dedup"]
    (tmp_path / "params.toml").write_text(parameters)
    shell(stage["cmd"])
    assert all(Path(one).exists() for one in [*stage["deps"], *stage["outs"]])
    [[metrics]] = [one.keys() for one in stage["metrics"]]
    assert json.loads((tmp_path / metrics).read_text())["counts"]["kept"] == 6


@pytest.mark.slow
def test_datatrove(tmp_path: Path) -> None:
    """The filter gets what datatrove's reader makes of a row: all columns but text and id are in `metadata`."""
    [command], [code] = blocks("datatrove", "sh"), blocks("datatrove", "py")
    [function] = [part for part in ast.parse(code).body if isinstance(part, ast.FunctionDef)]
    names: dict[str, Any] = {}
    exec(compile(ast.Module([function], []), "recipe", "exec"), names)
    shell(command)
    marked = rows(*sorted((tmp_path / "marked").iterdir()))
    kept = [row["id"] for row in marked if names["is_kept"](SimpleNamespace(metadata=row))]
    assert kept == la.dedup("examples/shards").kept.to_pylist()


@pytest.mark.slow
def test_duckdb_reads_marks() -> None:
    [command], [code] = blocks("DuckDB", "sh"), blocks("DuckDB", "py")
    shell(command)
    kept = set(la.dedup("examples/shards").kept.to_pylist())
    expected = sorted(row["id"] for row in rows(*DAYS) if row["id"] in kept and row["meta"]["quality"] > 0.5)
    found = eval(compile(code.strip(), "recipe", "eval"), {"duckdb": duckdb})
    assert [one for (one,) in found.fetchall()] == expected


def test_code_of_other_tools_is_code() -> None:
    """What the page on migration shows of other tools needs these to run; here it is only compiled."""
    found = re.findall(r"^```py\n(.*?)^```\n", (ROOT / "docs" / "migrating.md").read_text(), re.M | re.S)
    assert len(found) == 3
    for code in found:
        compile(code, "migrating.md", "exec")
