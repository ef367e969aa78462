"""Check the lines that kernels find against Python's."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.lines import BLANK, OBJECT, OTHER, line_ends, line_kinds

contents = st.lists(st.sampled_from([b"\n", b"\r", b" ", b"\t", b"{", b"}", b"a", b"{}", b"\n\n", b"\xc3\xa9"])).map(
    b"".join
)


@given(contents)
def test_lines_and_their_kinds(content: bytes) -> None:
    lines = content.splitlines(keepends=True) if b"\r" not in content else split(content)
    data = np.frombuffer(content, np.uint8)
    ends = line_ends(data)
    assert ends.tolist() == np.cumsum([len(line) for line in lines], dtype=np.int64).tolist()
    assert line_kinds(data, ends).tolist() == [kind_of(line) for line in lines]


def split(content: bytes) -> list[bytes]:
    """Return the lines with their line feeds; a carriage return ends none."""
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def kind_of(line: bytes) -> int:
    bare = line.strip(b" \t\r\n")
    if not bare:
        return BLANK
    return OBJECT if bare.startswith(b"{") and bare.endswith(b"}") and len(bare) > 1 else OTHER


def test_many_lines() -> None:
    content = b"".join(json.dumps({"x": at}).encode() + b"\n" for at in range(1000))
    data = np.frombuffer(content, np.uint8)
    assert len(line_ends(data)) == 1000
    assert (line_kinds(data, line_ends(data)) == OBJECT).all()
