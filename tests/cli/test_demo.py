"""Check `lookalike demo`."""

from pathlib import Path

from tests.commands import Commands, complaint


def test_demo(run: Commands) -> None:
    outcome = run("demo")
    assert outcome.code == 0
    assert "news/ferry-ansel-courier.txt" in outcome.out
    assert "all verified" in outcome.err
    assert "audit: " in outcome.err


def test_a_copy_of_the_examples(run: Commands, tmp_path: Path) -> None:
    place = tmp_path / "examples"
    outcome = run("demo", "--copy", place)
    assert (outcome.code, outcome.out) == (0, "")
    ours = Path(__file__).parents[2] / "examples"
    names = {path.relative_to(ours) for path in ours.rglob("*")}
    assert {path.relative_to(place) for path in place.rglob("*")} == names
    again = run("demo", "--copy", place)
    assert (again.code, complaint(again)) == (1, f"{place}: exists already; name a new folder.")
