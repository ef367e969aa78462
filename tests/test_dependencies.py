"""Check that the oldest packages we test with are those that we say we support."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
OURS = ("pictures", "excel", "duckdb", "html", "remote", "serve", "spark")  # the extras that users install


def test_lower_bounds_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [Requirement(one) for one in [*project["dependencies"], *(one for name in OURS for one in extras[name])]]
    lines = (ROOT / "constraints" / "lowest.txt").read_text().splitlines()
    pinned = {one.name: one.specifier for one in map(Requirement, filter(is_pin, lines))}
    lowest = {one.name: Version(part.version) for one in needed for part in one.specifier if part.operator == ">="}
    assert lowest.keys() == {one.name for one in needed}
    assert {name: Version(next(iter(pinned[name])).version) for name in lowest} == lowest


def is_pin(line: str) -> bool:
    """Return whether a line of the file is about a package."""
    return bool(line) and not line.startswith("#")
