"""Write short texts as the numbers of frequent phrases, in one or two bytes each, and read them.

The first ONE_BYTE phrases have numbers of one byte, and the others of two. A byte that begins no
phrase is written as it is, after the byte LITERAL.
"""

import numpy as np

from lookalike.kernels.hashing import BASE, kernel

ONE_BYTE = 191
LITERAL = 255
LONGEST = 16  # bytes of a phrase
MOST = ONE_BYTE + (LITERAL - ONE_BYTE) * 256  # phrases


@kernel
def table_of(phrases, bounds):
    """Return a table of slots for phrases: their numbers by hash, -1 where there is none."""
    slots = 16
    while slots < 4 * len(bounds):
        slots *= 2
    table = np.full(slots, -1, np.int32)
    for number in range(len(bounds) - 1):
        code = np.uint64(0)
        for byte in phrases[bounds[number] : bounds[number + 1]]:
            code = (code ^ (np.uint64(byte) + np.uint64(1))) * BASE
        slot = np.int64(code >> np.uint64(32)) & (slots - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (slots - 1)
        table[slot] = number
    return table


@kernel
def is_phrase(data, at, length, phrases, start):
    """Return whether a phrase of this length, which begins at `start`, stands at data[at]."""
    for i in range(length):  # noqa: SIM110, which numba compiles to slower code
        if data[at + i] != phrases[start + i]:
            return False
    return True


@kernel
def longest_phrase(data, at, stop, phrases, bounds, table):
    """Return the number of the longest phrase at data[at], or -1."""
    best = -1
    code = np.uint64(0)
    for length in range(1, min(LONGEST, stop - at) + 1):
        code = (code ^ (np.uint64(data[at + length - 1]) + np.uint64(1))) * BASE
        slot = np.int64(code >> np.uint64(32)) & (len(table) - 1)
        while table[slot] >= 0:
            number = table[slot]
            start = bounds[number]
            if bounds[number + 1] - start == length and is_phrase(data, at, length, phrases, start):
                best = number
                break
            slot = (slot + 1) & (len(table) - 1)
    return best


@kernel
def encode_phrases(data, starts, stops, phrases, bounds, table, used):
    """Return (content, bounds) of the encoded texts, and count in `used` how often each phrase occurs."""
    room = 0
    for row in range(len(starts)):
        room += 2 * (stops[row] - starts[row])
    content, ends = np.empty(room, np.uint8), np.zeros(len(starts) + 1, np.int64)
    n = 0
    for row in range(len(starts)):
        at = starts[row]
        while at < stops[row]:
            number = longest_phrase(data, at, stops[row], phrases, bounds, table)
            if number < 0:
                content[n], content[n + 1] = LITERAL, data[at]
                n += 2
                at += 1
                continue
            used[number] += 1
            at += bounds[number + 1] - bounds[number]
            if number < ONE_BYTE:
                content[n] = number
                n += 1
            else:
                content[n] = ONE_BYTE + ((number - ONE_BYTE) >> 8)
                content[n + 1] = (number - ONE_BYTE) & 255
                n += 2
        ends[row + 1] = n
    return content[:n].copy(), ends


@kernel
def decode_phrases(data, starts, stops, phrases, bounds):
    """Return (content, bounds) of the texts; the content is empty if some bytes are not encoded text."""
    room = 0
    for row in range(len(starts)):
        room += LONGEST * (stops[row] - starts[row])
    content, ends = np.empty(room, np.uint8), np.zeros(len(starts) + 1, np.int64)
    n = 0
    for row in range(len(starts)):
        at = starts[row]
        while at < stops[row]:
            number = np.int64(data[at])
            at += 1
            if number >= ONE_BYTE and at == stops[row]:
                return content[:0], ends
            if number == LITERAL:
                content[n] = data[at]
                n += 1
                at += 1
                continue
            if number >= ONE_BYTE:
                number = ONE_BYTE + ((number - ONE_BYTE) << 8) + np.int64(data[at])
                at += 1
            if number >= len(bounds) - 1:
                return content[:0], ends
            for byte in phrases[bounds[number] : bounds[number + 1]]:
                content[n] = byte
                n += 1
        ends[row + 1] = n
    return content[:n].copy(), ends
