"""Write texts as strings of JSON: within quotes, with quotes, backslashes and control characters escaped.

Texts come as one buffer of valid UTF-8, with the byte at which each text starts and, last, where
they end. Their escapes are those of Python's `json.dumps` with ensure_ascii=False.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

QUOTE, BACKSLASH, SPACE, U, ZERO = (ord(character) for character in '"\\ u0')
SHORT = np.zeros(128, np.uint8)  # the letter or sign that follows the backslash; 0 for others
for character, letter in {'"': '"', "\\": "\\", "\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}.items():
    SHORT[ord(character)] = ord(letter)
HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)


@kernel
def escaped_starts(data, starts):
    """Return where each text starts, and the last one ends, in what `escape` writes."""
    found = np.zeros(len(starts), np.int64)
    for row in range(len(starts) - 1):
        size = 2 + starts[row + 1] - starts[row]
        for byte in data[starts[row] : starts[row + 1]]:
            size += (byte == QUOTE) + (byte == BACKSLASH)
            size += 5 * (byte < SPACE) - 4 * ((byte == 8) + (byte == 9) + (byte == 10) + (byte == 12) + (byte == 13))
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
            if byte >= SPACE and byte != QUOTE and byte != BACKSLASH:
                out[at] = byte
                at += 1
                continue
            out[at] = BACKSLASH
            if SHORT[byte]:
                out[at + 1] = SHORT[byte]
                at += 2
                continue
            out[at + 1] = U
            out[at + 2] = out[at + 3] = ZERO
            out[at + 4] = HEXADECIMAL[byte >> 4]
            out[at + 5] = HEXADECIMAL[byte & 15]
            at += 6
        out[at] = QUOTE
        at += 1
    return out
