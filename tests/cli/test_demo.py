"""Check `lookalike demo`."""

from tests.commands import Commands


def test_demo(run: Commands) -> None:
    outcome = run("demo")
    assert outcome.code == 0
    assert "news/ferry-ansel-courier.txt" in outcome.out
    assert "all verified" in outcome.err
    assert "audit: " in outcome.err
