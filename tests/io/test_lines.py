"""Check that ranges of a file, read by themselves, give each line once and in order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.run import Run
from lookalike.io import lines as module
from lookalike.io.documents import Source
from lookalike.io.lines import blocks, line_blocks, lines_between
from lookalike.io.part import BOM, Part

texts = st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"\r\n", b"efghijklmnop"]), max_size=40).map(b"".join)


@given(texts, st.integers(1, 30), st.booleans(), st.sampled_from([1, 3, 1 << 16]))
def test_ranges_have_the_lines_that_begin_in_them(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int, marked: bool, beyond: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(BOM + content if marked else content)
    part = Part("a", "text", (path,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BEYOND", beyond)
        found = [read() for read in line_blocks(part, size, 1000)]
    assert b"".join(found) == content == b"".join(blocks(part, size, 1000))
    assert all(block.endswith(b"\n") for block in found[:-1] if block and not content.endswith(block))


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 30))
def test_a_line_that_is_too_long_is_cut_off_but_stays_too_long(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    lines = [bytes([97 + at]) * length for at, length in enumerate(lengths)]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BEYOND", 4)
        found = [read() for read in line_blocks(Part("a", "text", (path,)), size, 20)]
    read = [line for block in found for line in block.removesuffix(b"\n").split(b"\n") if block]
    assert len(read) == len(lines)
    assert all(
        line == one or (len(one) > 20 and one.startswith(line) and len(line) > 20)
        for line, one in zip(read, lines, strict=True)
    )


def test_a_range_within_a_line_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"first\n" + b"x" * 100 + b"\nlast")
    assert lines_between(path, 10, 50, 1000) == b""
    assert lines_between(path, 100, 108, 1000) == b"last"
    assert lines_between(path, 0, 6, 1000) == b"first\n"


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_rows_are_numbered_in_order_whatever_thread_reads_them(tmp_path: Path, name: str, threads: int) -> None:
    path = tmp_path / name
    rows = [f'{{"text": "row {at}"}}' for at in range(300)]
    path.write_text("\n".join(rows))
    batches = list(Source(path, batch_bytes=100).batches(Run(threads)))
    assert len(batches) > 10
    assert [number for batch in batches for number in batch["id"].to_pylist()] == list(range(300))
