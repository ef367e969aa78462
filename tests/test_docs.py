"""Check that the code in the README and the guides runs and prints what the page shows."""

import contextlib
import importlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import lookalike
from tests.commands import Commands, environment

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.spark] * (page.name == "spark.md"), id=page.name) for page in PAGES],
)
def test_code_prints_what_the_page_says(
    page: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(ROOT)
    if page.name == "spark.md":
        request.getfixturevalue("spark")  # the page uses this session
    blocks = BLOCK.findall(page.read_text())
    assert blocks or page.name in ("README.md", "index.md"), "a guide without code"
    names: dict[str, object] = {}
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if expected:
            assert without_times(printed.getvalue()) == without_times(expected)


def without_times(text: str) -> str:
    """Return a text without the times that a plan predicts, which depend on the machine."""
    return re.sub(r"(about|take|over) [-.0-9e]+ s( with [0-9]+ threads?)?", r"\1 some time", text)


def shown_commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page that show output or use the examples, with the output."""
    consoles = re.findall(r"^```console\n(.*?)^```\n", page.read_text(), re.M | re.S)
    commands = [part for console in consoles for part in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, re.M)]
    return [(command, output) for command, output in commands if output or " examples/" in command]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_says(
    page: Path, run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for command, expected in shown_commands(page):
        name, *args = shlex.split(command)
        if name in ("head", "cat"):
            printed = subprocess.run([name, *args], check=True, capture_output=True, text=True).stdout
        else:
            assert name == "lookalike"
            outcome = run(*args)
            assert outcome.code == 0, outcome.err
            printed = outcome.out
        if expected:
            assert printed == expected


@pytest.mark.slow
def test_commands_in_the_tables_of_pipelines_run(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\| .* \| `(.*)` \|$", (ROOT / "docs" / "pipelines.md").read_text(), re.M)
    assert len(commands) > 1
    for command in commands:
        settings, _, args = command.partition("lookalike ")
        with monkeypatch.context() as environment:
            for setting in settings.split():
                environment.setenv(*setting.split("=", 1))
            outcome = run(*shlex.split(args))
        assert outcome.code == 0, f"{command}: {outcome.err}"


@pytest.mark.slow
def test_the_script_for_an_array_of_jobs(tmp_path: Path) -> None:
    """Run it as Slurm would, once per task; all tasks write one output, which is that of one command."""
    (script,) = re.findall(r"^```bash\n(#!.*?)^```\n", (ROOT / "docs" / "scale.md").read_text(), re.M | re.S)
    (tmp_path / "crawl").symlink_to(ROOT / "examples" / "shards")
    (tmp_path / "job.sh").write_text(script)
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    job = environment() | {"PATH": paths, "SCRATCH": str(tmp_path), "SLURM_ARRAY_JOB_ID": "7"}
    (first, last) = map(int, re.findall(r"--array=(\d+)-(\d+)", script)[0])
    job["SLURM_ARRAY_TASK_COUNT"] = str(last - first + 1)
    tasks = [
        subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=job | {"SLURM_ARRAY_TASK_ID": str(task)})
        for task in range(first, last + 1)
    ]
    assert [task.wait() for task in tasks] == [0] * 8
    written = (tmp_path / "clean.jsonl.gz").read_bytes()
    command = re.sub(r"\s--shard.*", "", " ".join(script.replace("\\\n", " ").splitlines()[-1:]))
    assert "--out" in command
    subprocess.run(["bash", "-c", command.replace("clean.", "alone.")], cwd=tmp_path, env=job, check=True)
    assert (tmp_path / "alone.jsonl.gz").read_bytes() == written


def test_the_map_leads_to_every_page() -> None:
    map = (ROOT / "docs" / "index.md").read_text()
    for page in PAGES[1:]:
        assert f"]({page.name})" in map or page.name == "index.md", page.name


EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.parent.name)
def test_commands_on_the_examples_run(
    page: Path, run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    lookalike (.*)", page.read_text(), re.M)
    assert commands
    for command in commands:
        outcome = run(*shlex.split(command, comments=True))
        assert outcome.code == 0, outcome.err


def test_customers_and_songs_are_as_their_pages_say(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    fields = ("-f", "name:full_name", "-f", "street:address", "-f", "phone:telephone")
    found = run("resolve", "examples/customers/shop.csv", "examples/customers/newsletter.csv", *fields, "-q").out
    assert len(found.splitlines()) == 13
    assert "N12" in found.splitlines()[-1]  # lives with a customer, so this is the least probable match
    found = run("vectors", "examples/songs/songs.jsonl", "--threshold", "25", "-q").out
    pairs = [json.loads(line) for line in found.splitlines()]
    assert {pair["left"].partition(" (")[0] == pair["right"].partition(" (")[0] for pair in pairs} == {True}
    assert len({name for pair in pairs for name in (pair["left"], pair["right"]) if name.endswith(")")}) == 6


def test_some_commands_are_shown() -> None:
    assert any(shown_commands(page) for page in PAGES)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target, heading in re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
            if heading:
                assert heading in headings(page.parent / target), f"{page.name}: {target}#{heading}"


def headings(page: Path) -> list[str]:
    """Return the headings of a page as links refer to them."""
    return [
        re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-")
        for one in re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    ]


def test_the_readme_example_has_eight_lines() -> None:
    code, _ = BLOCK.findall((ROOT / "README.md").read_text())[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 8


def test_the_site_has_all_pages_names_and_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    made = importlib.import_module("made_pages")
    listed = {name for names in made.NAVIGATION.values() for name in names if not name.startswith("reference/")}
    assert listed == {page.stem for page in PAGES[1:]} - {"index"}
    shown = {name.rpartition(".")[2] for names in made.FUNCTIONS.values() for name in names} | set(made.MODULES)
    assert set(lookalike.__all__) <= shown
    commands = "\n".join(made.commands())
    assert "## pairs\n" in commands
    assert "### index build\n" in commands
