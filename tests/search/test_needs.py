"""Check what a search is expected to need: how that follows from its plan, and that dry runs know it."""

from dataclasses import replace
from fractions import Fraction

import pytest

from lookalike.core.storage import Storage
from lookalike.search.fitting import PROGRAM
from lookalike.search.needs import Needs, needs_of
from lookalike.search.plan import Plan, make_plan
from tests.commands import Commands
from tests.samples import families, write

PLAN = replace(make_plan(threshold=0.8), seconds=3.0)


class Files(Storage):
    """Arrays in files, with 1 GB of memory."""

    held = False
    memory = 10**9


def needs(plan: Plan = PLAN, learned: int = 0, storage: Storage | None = None) -> Needs:
    return needs_of(plan, 10_000, 2e7, 2e7, learned, storage or Storage())


def test_memory_grows_with_what_is_held() -> None:
    plain = needs()
    assert plain.memory > PROGRAM + 2e7
    assert (plain.disk, plain.seconds, plain.items) == (0, 3.0, 10_000)
    assert needs(replace(PLAN, weights="idf")).memory > plain.memory
    assert needs(replace(PLAN, drop_common=Fraction(1, 100)), learned=10**6).memory > plain.memory + 10**6
    assert needs(replace(PLAN, memory=5e9)).memory == 5e9


def test_files_take_what_memory_does_not_hold() -> None:
    found = needs(storage=Files())
    assert found.memory == 10**9
    assert found.disk > 0
    assert needs(learned=10**8, storage=Files()).memory > 10**9


@pytest.mark.parametrize("args", [[], ["--recall", "1"], ["-m", "containment"], ["--weights", "idf"]])
def test_a_dry_run_knows_the_time(run: Commands, tmp_path, args: list[str]) -> None:
    """Also that of exact joins, which have no choice to explain."""
    path = write(tmp_path / "a.jsonl", families(400))
    said = run("pairs", path, "--dry-run", *args).err
    assert "a time not known yet" not in said
    assert "expected: about" in said
