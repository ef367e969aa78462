"""Check the program: help, completion, and turning functions into commands."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

import lookalike
from lookalike import cli
from lookalike.cli import COMMANDS
from lookalike.cli.app import GivenOptions, command, program
from lookalike.core.errors import UsageError
from tests.commands import Commands, complaint, environment, spawn


def test_version(run: Commands) -> None:
    assert run("--version") == (0, f"lookalike {lookalike.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run: Commands, command: str) -> None:
    outcome = run(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Examples" in outcome.out
    assert f"lookalike {command}" in outcome.out.split("Examples")[1]


def test_help_names_every_command(run: Commands) -> None:
    for args, code in ((["--help"], 0), ([], 2)):
        outcome = run(*args)
        assert all(re.search(rf"\b{command}\b", outcome.out) for command in COMMANDS)
        assert (outcome.code, outcome.err) == (code, "")


def test_help_and_guide_name_the_exit_codes(run: Commands) -> None:
    said = run("--help").out.split("Exit codes")[1]
    guide = (Path(__file__).parents[2] / "docs" / "formats-and-guarantees.md").read_text().split("## Exit codes")[1]
    codes = [cli.DONE, cli.FAILED, UsageError.exit_code, cli.INTERRUPTED, cli.TERMINATED]
    assert codes == [0, 1, 2, 130, 143]
    assert [int(code) for code in re.findall(r"\b\d+\b", said)] == codes
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", guide.split("\n## ")[0], re.M)] == codes


@pytest.mark.parametrize(
    "arguments", [["--help"], ["pairs", "--help"], ["index", "--help"], ["index", "add", "--help"]]
)
def test_help_shows_no_type_beside_flags(run: Commands, arguments: list[str]) -> None:
    assert "<bool>" not in run(*arguments).out


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["pairs", "--help"], ["index", "build", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = f"""
import sys
sys.argv = ["lookalike", *{arguments}]
from lookalike.cli import main
try:
    main()
finally:
    heavy = ("numba", "numpy", "pyarrow", "matplotlib", "pydantic")
    print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    assert spawn(script=script).communicate()[1].decode().split() == ["[]"]


def test_the_help_of_the_program_says_what_commands_say() -> None:
    """It lists them without importing them."""
    assert {name: command.help for name, command in program(*COMMANDS).commands.items()} == COMMANDS


def test_unknown_commands_get_a_suggestion(run: Commands) -> None:
    assert complaint(run("pears", "a")) == "No such command 'pears'. Did you mean 'pairs'?"


def test_commands_are_in_the_order_of_their_list(run: Commands) -> None:
    """The order does not depend on which one is imported first."""
    shown = re.findall(r"^│ (\w+)  ", run("--help").out.split("Commands")[1], re.M)
    assert shown == list(COMMANDS)
    script = """
import lookalike.cli.index
from lookalike.cli import COMMANDS
from lookalike.cli.app import program
assert list(program(*COMMANDS).commands) == list(COMMANDS)
"""
    assert spawn(script=script).communicate() == (b"", b"")


def test_each_command_is_in_the_file_of_its_name() -> None:
    folder = Path(lookalike.cli.__file__).parent
    for name in COMMANDS:
        assert f"`lookalike {name}`" in (folder / f"{name}.py").read_text().partition("\n")[0]


def test_the_help_of_every_command_has_an_example() -> None:
    waiting: list[Any] = [program(*COMMANDS)]
    seen = 0
    while waiting:
        command = waiting.pop()
        assert "lookalike " in (command.epilog or ""), command.name
        waiting.extend(getattr(command, "commands", {}).values())
        seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("lookalike rep", ["report"]),
        ("lookalike pairs --thr", ["--threshold", "--threads"]),
        ("lookalike pairs --measure co", ["containment", "cosine"]),
        ("lookalike index bu", ["build"]),
        ("lookalike pairs corp", []),  # a file name, left to the shell
    ],
)
def test_completions_that_shells_offer(
    run: Commands, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_LOOKALIKE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert run().out.split() == offered


@pytest.mark.slow
def test_bash_completes_lines() -> None:
    """Use the script that --show-completion prints."""
    script = (
        'eval "$(lookalike --show-completion)"; COMP_WORDS=(lookalike clu); COMP_CWORD=1;'
        ' _lookalike_completion lookalike; echo "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env=environment() | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "clusters\n"


@dataclass(frozen=True)
class Colour:
    """A group of options."""

    red: Annotated[int, typer.Option("--red", "-r")] = 1
    blue: Annotated[str | None, typer.Option()] = None


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A group that contains another."""

    colour: Colour
    wide: Annotated[bool, typer.Option("--wide")] = False


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a b", (["a", "b"], Picture(colour=Colour(1, None)), 5, set())),
        ("a -r 3 --wide", (["a"], Picture(colour=Colour(3, None), wide=True), 5, {"red", "wide"})),
        ("a --blue x --size 5", (["a"], Picture(colour=Colour(1, "x")), 5, {"blue", "size"})),
    ],
)
def test_groups_of_options_become_options_and_come_back_as_groups(typed: str, expected: tuple[object, ...]) -> None:
    """Options that were given are named, even if given their default."""
    seen: list[tuple[object, ...]] = []
    app = typer.Typer()

    @command("draw a", of=app)
    def draw(
        names: Annotated[list[str], typer.Argument()],
        *,
        picture: Picture,
        size: Annotated[int, typer.Option()] = 5,
        given: GivenOptions,
    ) -> None:
        seen.append((names, picture, size, set(given.names) - {"names"}))

    get_command(app).main(typed.split(), standalone_mode=False)
    assert seen == [expected]


def test_options_that_are_refused() -> None:
    given = GivenOptions(frozenset({"audit"}))
    given.refuse(("html", "memory"), "--engine spark")
    with pytest.raises(UsageError, match=r"^--audit cannot be used with --engine spark\.$"):
        given.refuse(("html", "audit"), "--engine spark")
