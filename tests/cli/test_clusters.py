"""Check `lookalike clusters`."""

from pathlib import Path

import pytest

from tests.cli.corpus import KEPT_FIRST, ROWS, SUFFIXES, read
from tests.commands import Commands


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_clusters(run: Commands, corpus: Path, out: Path, suffix: str) -> None:
    path = out / f"clusters{suffix}"
    assert run("clusters", corpus, "-o", path).code == 0
    rows = read(path)
    assert list(rows[0]) == ["cluster", "id", "size"]
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert {(row["cluster"], str(row["size"])) for row in rows} == {(name, "3") for name in KEPT_FIRST}
