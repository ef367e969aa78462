"""Check defaults of options from the environment and from lookalike.toml."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lookalike.cli.defaults import commands_in, every_command, variables
from tests.commands import GUARD, Commands, complaint, spawn


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without variables of the user."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LOOKALIKE_")]:
        monkeypatch.delenv(name)
    return tmp_path


def used(run: Commands, *args: object) -> dict[str, Any]:
    """Return what --stats says of the options of a command."""
    outcome = run(*args, "--dry-run", "--stats", "run.json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(Path("run.json").read_text())
    return found


def test_the_nearest_source_counts(run: Commands, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line, then the environment, then the file, each for the command before for all."""
    file = Path("lookalike.toml")
    args = ["dedup", corpus]
    steps: list[tuple[object, str | None]] = []

    def now() -> None:
        found = used(run, *args)
        steps.append((found["options"]["seed"], found["set_by"].get("seed")))

    now()
    file.write_text("[all]\nseed = 2\n")
    now()
    file.write_text("[all]\nseed = 2\n[dedup]\nseed = 3\n")
    now()
    monkeypatch.setenv("LOOKALIKE_SEED", "4")
    now()
    monkeypatch.setenv("LOOKALIKE_DEDUP_SEED", "5")
    now()
    args += ["--seed", "6"]
    now()
    file_all, file_own = (f"lookalike.toml: [{table}] seed" for table in ("all", "dedup"))
    variables = ("LOOKALIKE_SEED", "LOOKALIKE_DEDUP_SEED")
    assert steps == [(1, None), *zip((2, 3, 4, 5), (file_all, file_own, *variables), strict=True), (6, None)]


def test_values_of_all_kinds(run: Commands, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lookalike.toml").write_text(
        "[all]\nthreads = 1\nport = 80\n[dedup]\nthreshold = 0.5\nrecall = 0.9\nmark = true\n"
        'keep = "score:max,longest"\nmax-document-bytes = "1MB"\nagainst = ["other.jsonl"]\nhtml = false\n'
        '[index.build]\nkind = "documents"\n'
    )
    Path("other.jsonl").write_bytes(corpus.read_bytes())
    found = used(run, "dedup", corpus)
    expected = {
        "threads": 1, "threshold": "0.5", "recall": 0.9, "mark": True, "keep": "score:max,longest",
        "max_document_bytes": "1MB", "against": ["other.jsonl"],
    }  # fmt: skip
    assert expected.items() <= found["options"].items()
    assert found["set_by"].keys() == expected.keys()
    assert found["plan"]["threshold"] == "1/2"
    for name, value in {"AGAINST": "'other.jsonl' other.jsonl", "MARK": "off", "THRESHOLD": "3/5"}.items():
        monkeypatch.setenv(f"LOOKALIKE_{name}", value)
    found = used(run, "dedup", corpus)["options"]
    assert (found["against"], found["mark"], found["threshold"]) == (["other.jsonl", "other.jsonl"], False, "3/5")


def test_the_result_is_that_of_the_same_options(run: Commands, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = run("dedup", corpus, "--keep", "score:max", "-t", "0.5")
    Path("lookalike.toml").write_text('[dedup]\nkeep = "score:max"\nthreshold = 0.5\n')
    outcome = run("dedup", corpus)
    assert outcome.out == typed.out != run("dedup", corpus, "--config", "/dev/null").out
    assert outcome.err.splitlines()[0] == "settings: --keep score:max, --threshold 0.5 by lookalike.toml"
    assert run("dedup", corpus, "-q").err == ""


@pytest.mark.parametrize("how", ["option", "variable"])
def test_another_file(run: Commands, corpus: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    Path("lookalike.toml").write_text("not read")
    Path("mine.toml").write_text("[all]\nseed = 2\n")
    if how == "variable":
        monkeypatch.setenv("LOOKALIKE_CONFIG", "mine.toml")
    found = used(run, "dedup", corpus, *(["--config", "mine.toml"] if how == "option" else []))
    assert found["set_by"] == {"seed": "mine.toml: [all] seed"}
    outcome = run("dedup", corpus, "--config", "none.toml")
    assert (outcome.code, complaint(outcome)) == (2, "none.toml: cannot be read: No such file or directory.")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[all]\nthraeds = 1", "[all] thraeds: there is no such option. Did you mean 'threads'?"),
        ("[dedup]\ntreshold = 1", "[dedup] treshold: there is no such option. Did you mean 'threshold'?"),
        ("[dedup]\ngolden = 1", "[dedup] golden: there is no such option."),
        ("[serve]\nprot = 1", "[serve] prot: there is no such option. Did you mean 'port'?"),
        ("[serve]\nconfig = 'a'", "[serve] config: there is no such option."),
        ("[dedupe]\nseed = 1", "there is no command 'dedupe'. Did you mean 'dedup'?"),
        ("[index.biuld]\nseed = 1", "there is no command 'index biuld'. Did you mean 'build'?"),
        ("[index]\nseed = 1", "there is no command 'index seed'."),
        ("[index]\nbuild = 1", "[index] build must be a table: [index.build]."),
        ("[index.build]\nsede = 1", "[index.build] sede: there is no such option. Did you mean 'seed'?"),
        ("seed = 1", "seed must be in a table, such as [all] or [dedup]."),
        ("[dedup.seed]\na = 1", "[dedup] seed must be a value; got a table."),
        ("[dedup]\nseed = [1]", "[dedup] seed must be one value, such as a string or a number; got [1]."),
        ("[dedup]\nseed = true", "[dedup] seed must be one value, such as a string or a number; got True."),
        ("[dedup]\nmark = 'maybe'", "[dedup] mark must be true or false; got 'maybe'."),
        ("[dedup", "not valid TOML: Expected ']' at the end of a table declaration (at end of document)."),
        ("[dedup]\nkeep = '\udce9'", "not valid UTF-8 (byte 16)."),
    ],
)
def test_what_is_wrong_with_a_file(run: Commands, content: str, message: str) -> None:
    Path("lookalike.toml").write_bytes(content.encode("utf-8", "surrogateescape"))
    outcome = run("dedup", "none.jsonl")
    assert (outcome.code, complaint(outcome)) == (2, f"lookalike.toml: {message}")
    assert run("dedup", "--help").code == 0


def test_errors_say_where_an_option_was_set(run: Commands, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lookalike.toml").write_text("[dedup]\nthreshold = 80\nmark = true\n[all]\nseed = 'x'\n")
    where = "--seed is set by lookalike.toml: [all] seed."
    assert complaint(run("dedup", corpus)).endswith(where)
    assert where not in complaint(run("dedup", corpus, "--seed", "x", "-t", "1"))
    monkeypatch.setenv("LOOKALIKE_SEED", "1")
    message = "--threshold must be in (0, 1]; got '80'. Did you mean 0.8?"
    where = "--threshold is set by lookalike.toml: [dedup] threshold."
    outcome = run("dedup", corpus, "-q", "--stats", "run.json")
    assert complaint(outcome) == f"{message} {where}"
    assert json.loads(Path("run.json").read_text())["error"] == f"{message} {where}"
    monkeypatch.setenv("LOOKALIKE_THRESHOLD", "0.8")
    outcome = run("dedup", corpus, "-q", "--engine", "spark")
    where = "--mark is set by lookalike.toml: [dedup] mark."
    assert complaint(outcome) == f"--mark cannot be used with --engine spark. {where}"


def test_errors_are_json_if_the_environment_or_the_file_says_so(
    run: Commands, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("lookalike.toml").write_text("[all]\nlog-format = 'json'\n")
    for outcome in (run("dedup", "none"), run("dedup", corpus, "--seed", "x")):
        assert json.loads(outcome.err.splitlines()[-1])["level"] == "error"
    assert json.loads(run("dedup", corpus).err.splitlines()[0])["event"] == "settings"
    assert run("dedup", corpus, "--seed", "x", "--log-format", "text").err.startswith("lookalike: ")
    Path("lookalike.toml").unlink()
    monkeypatch.setenv("LOOKALIKE_LOG_FORMAT", "json")
    assert json.loads(run("dedup", corpus, "--no-such").err)["level"] == "error"


@pytest.mark.slow
def test_variables_that_are_no_options(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt name gets a warning; others are left alone, such as those that Kubernetes sets for a service."""
    for name in ("THRAEDS", "VERSION", "SERVICE_HOST", "SERVICE_PORT", "PORT_80_TCP_ADDR", "RESOLVE_MAX_LAG"):
        monkeypatch.setenv(f"LOOKALIKE_{name}", "1")
    monkeypatch.setenv("LOOKALIKE_SEED", "")
    monkeypatch.setenv("LOOKALIKE_PORT", "tcp://10.0.0.1:80")
    said = spawn("dedup", corpus, "-q", "-o", "kept.jsonl").communicate(timeout=GUARD)[1].decode()
    assert said == "lookalike: warning: no option reads LOOKALIKE_THRAEDS. Did you mean LOOKALIKE_THREADS?\n"
    said = spawn("serve", "none.index").communicate(timeout=GUARD)[1].decode()
    assert "LOOKALIKE_PORT" not in said


def test_no_variable_means_two_options() -> None:
    seen: dict[str, set[str]] = {}
    for path, options in every_command():
        for name in options:
            for variable in variables(path, name):
                seen.setdefault(variable, set()).add(name)
    assert len(seen) > 300
    assert {variable: names for variable, names in seen.items() if len(names) > 1} == {}
    assert commands_in("index")[0][0] == ["index", "build"]


def test_values_that_cannot_be_separated(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOKALIKE_AGAINST", "one 'two")
    message = """LOOKALIKE_AGAINST must have values quoted as in a shell; got "one 'two": No closing quotation."""
    outcome = run("dedup", "none.jsonl")
    assert (outcome.code, complaint(outcome)) == (2, message)


def test_completion_reads_no_file(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lookalike.toml").write_text("[dedup")
    for name, value in {"_LOOKALIKE_COMPLETE": "complete_bash", "COMP_CWORD": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_WORDS", "lookalike dedup --thresh")
    assert run().out.split() == ["--threshold"]
