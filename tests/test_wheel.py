"""Build the wheel, install it into a clean environment, and use it as somebody would who has only the wheel.

That shows that the wheel has all modules, word lists, pages and examples, and a command that starts. Its
dependencies are those of the environment of the tests: whether they can be had from a registry is not shown.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lookalike

ROOT = Path(__file__).parents[1]


def run(*command: object, place: Path) -> str:
    """Return what a command prints; it sees nothing of the sources."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA"))}
    done = subprocess.run(list(map(str, command)), cwd=place, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_by_itself(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path, ROOT, place=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name == f"lookalike-{lookalike.__version__}-py3-none-any.whl"
    run(sys.executable, "-m", "venv", "--without-pip", "env", place=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", place=tmp_path).strip())
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # its own .pth files, to sources, do not count
    run(*pip, "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, place=tmp_path)
    assert run(python, "-c", "import lookalike; print(lookalike.__file__)", place=tmp_path).startswith(str(own))
    lookalike_command = python.with_name("lookalike")
    assert "news/ferry-ansel-courier.txt" in run(lookalike_command, "demo", place=tmp_path)
    run(lookalike_command, "demo", "--copy", "examples", place=tmp_path)
    found = run(lookalike_command, "pairs", "examples/documents", "-q", "--report", "page.html", place=tmp_path)
    assert len(found.splitlines()) > 10
    assert "<html" in (tmp_path / "page.html").read_text()
