"""Check how lines are cut into elements, and integers are read, against plain twins."""

import re
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.io.sets import GAPS
from lookalike.kernels.elements import NO_INTEGERS, UNSIGNED, read_integers, split_texts
from tests import reference as ref
from tests.kernel_samples import as_rows

EDGES = [
    0,
    1,
    -1,
    10**18,
    10**19 - 1,
    10**19,
    *(sign * (2**bits + more) for sign in (1, -1) for bits in (63, 64) for more in (-1, 0, 1)),
]
odd = st.sampled_from(
    ["", "-", "-0", "+1", "01", "-01", "1a", "/", ":", "1:", "00000000000000000001", "20000000000000000000"]
)
written = st.one_of(st.integers(-(10**20), 10**20), st.sampled_from(EDGES)).map(str)


def bounds_of(texts):
    indptr, content = as_rows([list(text.encode()) for text in texts], np.uint8)
    return np.append(content, np.uint8(0)), indptr[:-1], indptr[1:]


@given(st.lists(st.text("ab,; \t\x0b\x1c\x1f\x00-", max_size=9), max_size=9))
def test_elements_of_lines(lines):
    sizes, offsets, data = split_texts(*bounds_of(lines), GAPS)
    expected = [[one for one in re.split(r"[,;\s]+", line) if one] for line in lines]
    assert sizes.tolist() == [len(some) for some in expected]
    found = [bytes(data[start:stop]).decode() for start, stop in pairwise(offsets)]
    assert found == [one for some in expected for one in some]


@given(st.lists(st.one_of(written, st.integers(-99, 99).map(str)), max_size=4), st.one_of(st.none(), odd))
@example([str(2**63), "-1"], None)
@example([str(2**64)], None)
@example([str(-(2**63) - 1)], None)
def test_integers_are_read_only_as_they_are_written(texts, last):
    texts = texts if last is None else [*texts, last]
    numbers, kind = read_integers(*bounds_of(texts))
    expected = ref.integers(texts)
    assert (kind == NO_INTEGERS) == (expected is None)
    if expected is not None:
        assert (kind == UNSIGNED) == (max(expected, default=0) >= 2**63)
        assert numbers.view(np.uint64 if kind == UNSIGNED else np.int64).tolist() == expected
