"""Find the elements of sets in text: cut lines into elements, and read integers.

Texts are bytes, with the bounds of each text, as in `text`.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

NO_INTEGERS, SIGNED, UNSIGNED = range(3)
MINUS, ZERO = 45, 48  # as bytes
HALF, LONG = np.uint64(2**63), np.uint64(10**19)  # the least unsigned number, and the least of 20 digits


@kernel
def split_texts(content, starts, stops, gaps):
    """Cut texts at all bytes x with gaps[x], which are no elements: (sizes, offsets, data).

    `sizes` are the numbers of elements of each text; element i is data[offsets[i]:offsets[i + 1]].
    """
    sizes = np.zeros(len(starts), np.int64)
    length, elements = 0, 0
    for row in range(len(starts)):
        before = True
        for at in range(starts[row], stops[row]):
            gap = gaps[content[at]]
            sizes[row] += before and not gap
            length += not gap
            before = gap
        elements += sizes[row]
    offsets, data = np.zeros(elements + 1, np.int64), np.empty(length, np.uint8)
    n, end = 0, 0
    for row in range(len(starts)):
        before = True
        for at in range(starts[row], stops[row]):
            gap = gaps[content[at]]
            if not gap:
                data[end] = content[at]
                end += 1
            elif not before:
                n += 1
                offsets[n] = end
            before = gap
        if not before:
            n += 1
            offsets[n] = end
    return sizes, offsets, data


@kernel
def read_integers(content, starts, stops):
    """Read texts as 64-bit integers: (numbers, kind).

    The kind is SIGNED if all of them fit that, else UNSIGNED, and NO_INTEGERS if neither holds all.
    Each integer can be written in one way only: without a plus or leading zeros, and 0 without sign.
    """
    out = np.empty(len(starts), np.uint64)
    negative, wide = False, False
    for i in range(len(starts)):
        minus = starts[i] < stops[i] and content[starts[i]] == MINUS
        start, stop = starts[i] + minus, stops[i]
        digits = stop - start
        if not 0 < digits <= 20 or (content[start] == ZERO and (digits > 1 or minus)):
            return out, NO_INTEGERS
        number = np.uint64(0)
        for at in range(start, stop):
            digit = np.uint64(content[at]) - np.uint64(ZERO)  # wraps below 0
            if digit > np.uint64(9):
                return out, NO_INTEGERS
            number = number * np.uint64(10) + digit
        if digits == 20 and (content[start] > ZERO + 1 or number < LONG):  # at least 2**64, so it has wrapped
            return out, NO_INTEGERS
        if minus and number > HALF:
            return out, NO_INTEGERS
        negative |= minus
        wide |= number >= HALF and not minus
        if negative and wide:
            return out, NO_INTEGERS
        out[i] = ~number + np.uint64(1) if minus else number
    return out, UNSIGNED if wide else SIGNED
