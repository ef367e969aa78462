"""Write texts as strings of JSON: in quotes, with quotes, backslashes and control characters escaped.

Texts come as one buffer of valid UTF-8, with the byte at which each text starts and, last, the byte
at which they end. Their escapes are those of Python's `json.dumps` with ensure_ascii=False.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

QUOTE, BACKSLASH, SPACE, ZERO, U = (ord(character) for character in '"\\ 0u')
ESCAPES = np.zeros(256, np.uint8)  # what follows the backslash: u for a code of four digits; 0 without an escape
ESCAPES[:SPACE] = U
for character, letter in {'"': '"', "\\": "\\", "\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}.items():
    ESCAPES[ord(character)] = ord(letter)
LONGER = np.select([ESCAPES == 0, ESCAPES == U], [0, 5], 1)  # how many more bytes the escape of a byte has
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


@kernel
def escaped_starts(data, starts):
    """Return where each text starts, and the last one ends, in what `escape` returns."""
    found = np.zeros(len(starts), np.int64)
    for row in range(len(starts) - 1):
        size = 2 + starts[row + 1] - starts[row]
        for byte in data[starts[row] : starts[row + 1]]:
            size += LONGER[byte]
        found[row + 1] = found[row] + size
    return found


@kernel
def escape(data, starts, size):
    """Return all texts as strings of JSON, one after the other; `size` is the length of the result."""
    out = np.empty(size, np.uint8)
    at = 0
    for row in range(len(starts) - 1):
        out[at] = QUOTE
        at += 1
        for byte in data[starts[row] : starts[row + 1]]:
            escaped = ESCAPES[byte]
            if escaped == 0:
                out[at] = byte
                at += 1
                continue
            out[at] = BACKSLASH
            out[at + 1] = escaped
            at += 2
            if escaped == U:
                out[at] = out[at + 1] = ZERO
                out[at + 2] = DIGITS[byte >> 4]
                out[at + 3] = DIGITS[byte & 15]
                at += 4
        out[at] = QUOTE
        at += 1
    return out
