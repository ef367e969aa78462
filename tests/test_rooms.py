"""Check rooms: descriptions, tests and names; `lint-imports` checks that imports go one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lookalike

ROOT = Path(lookalike.__file__).parent
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))

# Test files in any room that are not named after a module.
ACROSS = {
    "test_commands.py",  # the commands of a room, from the command line to the files they write
    "test_in_browser.py",  # the pages of a room, in a real browser
    "test_bad_input.py",  # bad inputs, whichever command reads them
    "test_brute_force.py",  # options for pipelines, whichever command has them
    "test_cluster.py",  # the jobs of a room on a cluster of several processes
    "test_servers.py",  # what a room reads, from real servers
}


def test_the_top_level_holds_rooms_alone():
    assert {path.name for path in ROOT.glob("*") if path.is_file()} == {
        "__init__.py",
        "__main__.py",
        "py.typed",
        "find.py",
    }


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_says_what_lives_there(room):
    """It also says what the room may import."""
    said = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text()))
    assert "Lives here:" in said or room == "measures"
    assert "May import:" in said


def test_files_of_tests_are_named_after_modules():
    """`tests/io/test_csv.py` tests `lookalike/io/csv.py`; one named after a room tests it all."""
    files = [path for path in Path(__file__).parent.glob("*/test_*.py") if path.name not in ACROSS]
    homes = {path: ROOT / path.parent.name / path.stem.removeprefix("test_") for path in files}
    strays = {
        str(path)
        for path, home in homes.items()
        if home.name != home.parent.name
        and not home.with_suffix(".py").exists()
        and not (home / "__init__.py").exists()
    }
    assert files
    assert strays == set()


def test_no_two_classes_share_a_name():
    homes: dict[str, list[str]] = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {"Pairs", "Source"} <= homes.keys()
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def loaded_after(statement):
    """Return the modules that a fresh Python has loaded after a statement."""
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_alone_is_light():
    assert not loaded_after("import lookalike") & {"numba", "numpy", "pyarrow", "lookalike.find"}


def test_names_load_when_they_are_used():
    loaded = loaded_after("import lookalike\nlookalike.And")
    assert "lookalike.theory.amplify" in loaded
    assert not loaded & {"numba", "pyarrow"}


def test_public_names():
    assert len(lookalike.__all__) == len(set(lookalike.__all__))
    assert set(lookalike.__all__) <= set(dir(lookalike))
    for name in lookalike.__all__:
        assert getattr(lookalike, name).__doc__


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"^module 'lookalike' has no attribute 'find_pears'"):
        lookalike.find_pears  # noqa: B018
