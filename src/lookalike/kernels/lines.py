"""Find the lines of text, and those that can be JSON objects."""

import numpy as np

from lookalike.kernels.hashing import kernel

BLANK, OBJECT, OTHER = range(3)  # kinds of lines
LINE_FEED, CARRIAGE_RETURN, TAB, SPACE, OPEN, CLOSE = 10, 13, 9, 32, 123, 125


@kernel
def line_ends(content):
    """Return the place after each line's line feed; the last line can lack one."""
    out = np.empty(64, np.int64)
    n = 0
    for i in range(len(content)):
        if content[i] == LINE_FEED or i == len(content) - 1:
            if n == len(out):
                more = np.empty(2 * n, np.int64)
                more[:n] = out
                out = more
            out[n] = i + 1
            n += 1
    return out[:n]


@kernel
def is_blank(byte):
    """Return whether a byte is white space in JSON."""
    return byte in (LINE_FEED, CARRIAGE_RETURN, TAB, SPACE)


@kernel
def line_kinds(content, ends):
    """Return the kind of each line: BLANK, OBJECT if it begins with { and ends with }, or OTHER."""
    out = np.empty(len(ends), np.uint8)
    first = 0
    for line in range(len(ends)):
        last = ends[line] - 1
        while first <= last and is_blank(content[last]):
            last -= 1
        while first < last and is_blank(content[first]):
            first += 1
        braces = first < last and content[first] == OPEN and content[last] == CLOSE
        out[line] = OBJECT if braces else BLANK if first > last else OTHER
        first = ends[line]
    return out
