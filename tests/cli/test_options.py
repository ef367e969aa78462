"""Check that help and shell completion offer exactly the values that options accept."""

import re
from pathlib import Path

import pytest

from lookalike.cli.app import program
from lookalike.measures.table import OF_VECTORS, usual_names
from tests.commands import Commands, complaint

DOCUMENTS, SETS = usual_names("sets", "bags", "strings"), usual_names("sets", "bags")


def words(command: str, option: str) -> list[str]:
    """Return the words in the help of an option."""
    found = program(command.split()[0])
    for name in command.split():
        found = found.commands[name]
    help = next(parameter.help for parameter in found.params if f"--{option}" in parameter.opts)
    return re.findall(r"[a-z_]+", help)


def offered(run: Commands, monkeypatch: pytest.MonkeyPatch, command: str, option: str) -> list[str]:
    """Return the values that shells offer for an option."""
    with monkeypatch.context() as patch:
        patch.setenv("_LOOKALIKE_COMPLETE", "complete_bash")
        patch.setenv("COMP_WORDS", f"lookalike {command} --{option} ")
        patch.setenv("COMP_CWORD", str(len(command.split()) + 2))
        return run().out.split()


@pytest.mark.parametrize(
    ("command", "measures"),
    [*((name, DOCUMENTS) for name in ("pairs", "match", "dedup", "clusters")), ("sets", SETS), ("vectors", OF_VECTORS)],
)
def test_help_and_shells_name_the_measures_of_the_table(
    run: Commands, monkeypatch: pytest.MonkeyPatch, command: str, measures: tuple[str, ...]
) -> None:
    every = {*usual_names("sets", "bags", "strings"), *OF_VECTORS}
    assert [word for word in words(command, "measure") if word in every] == list(measures)
    assert offered(run, monkeypatch, command, "measure") == list(measures)


def test_help_names_the_measures_of_an_index(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    message = complaint(run("index", "build", tmp_path / "i", tmp_path / "a.txt", "-m", "nope"))
    allowed = re.findall(r"\w+", message.removeprefix("--measure must be one of ").partition(";")[0])
    assert allowed == [word for word in words("index build", "measure") if word not in ("or", "for", "vectors")]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((command, option) for command in ("pairs", "dedup") for option in ("format", "on-error", "method", "sketch")),
        *((command, option) for command in ("pairs", "match") for option in ("space", "form")),
        ("sets", "format"),
        ("sets", "filter"),
        ("vectors", "format"),
        ("vectors", "method"),
        ("vectors", "result"),
        ("clusters", "engine"),
        ("resolve", "format"),
        ("baskets", "format"),
    ],
)
def test_help_and_shells_name_the_values_of_an_option(
    run: Commands, inputs: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    (inputs / "a.csv").write_text("a,b\n1,2\n3,4\n")
    two = [inputs / "a.csv"] * (2 if command == "match" else 1)
    more = {"resolve": ["-f", "a"], "vectors": ["-t", 1], "sets": [], "baskets": []}.get(command, ["--text", "a"])
    message = complaint(run(command, *two, *more, "-q", f"--{option}", "nope"))
    allowed = re.findall(r"[\w-]+", re.findall(r"must be one of (.*?);", message)[0])
    assert {*allowed} <= {*words(command, option)}
    shells = offered(run, monkeypatch, command, option)
    assert not shells or {*shells} == {*allowed}


@pytest.mark.parametrize(
    ("command", "option", "message"),
    [
        ("pairs", "--treshold", "there is no option --treshold. Did you mean --threshold?"),
        ("pairs", "--thresh", "there is no option --thresh. Did you mean --threshold?"),
        ("pairs", "--out-put", "there is no option --out-put. Did you mean --out?"),
        ("pairs", "--ids", "there is no option --ids. Did you mean --id?"),
        ("pairs", "--minhash", "there is no option --minhash."),
        ("pairs", "--k", "there is no option --k."),
        ("vectors", "--k", "there is no option --k. Did you mean -k?"),
        ("pairs", "-z", "there is no option -z."),
    ],
)
def test_an_unknown_option_suggests_a_close_one_or_none(run: Commands, command: str, option: str, message: str) -> None:
    outcome = run(command, "a.csv", option, "3")
    assert (outcome.code, complaint(outcome)) == (2, message)
