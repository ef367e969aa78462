"""Store rows of sorted hashes as the differences between them, in fewer bits.

Among n evenly spread hashes, a difference is about 2**64 / n. It is divided by a power of two near
that (Rice 1979): the quotient is written as so many ones and a zero, the rest in its own bits. A
row of n hashes then takes about 65.5 - log2(n) bits per hash. A row begins with its length, in
bytes of seven bits.
"""

import numpy as np

from lookalike.kernels.blocks import bits_of, put_bits
from lookalike.kernels.hashing import kernel

WORST = 10  # bytes that a length or a hash takes at most, on average over a row


@kernel
def rest_width(n):
    """Return how many bits of a difference between n hashes are written as they are."""
    return 64 - max(bits_of(np.uint64(n)) - 1, 0)


@kernel
def pack_differences(indptr, elements):
    """Return (content, bounds): the rows as bytes, row i in content[bounds[i]:bounds[i + 1]]."""
    content = np.zeros(WORST * (len(elements) + len(indptr)), np.uint8)
    bounds = np.zeros(len(indptr), np.int64)
    end = 0
    for row in range(len(indptr) - 1):
        n = indptr[row + 1] - indptr[row]
        left = n
        while left > 127:
            content[end] = 128 | (left & 127)
            left >>= 7
            end += 1
        content[end] = left
        end += 1
        width = rest_width(n)
        rest = np.uint64(0xFFFFFFFFFFFFFFFF) if width == 64 else (np.uint64(1) << np.uint64(width)) - np.uint64(1)
        at = 8 * end
        last = np.uint64(0)
        for x in elements[indptr[row] : indptr[row + 1]]:
            step = x - last
            ones = np.uint64(0) if width == 64 else step >> np.uint64(width)
            for _ in range(ones):
                content[at >> 3] |= np.uint8(1 << (at & 7))
                at += 1
            at += 1
            put_bits(content, at, step & rest, width)
            at += width
            last = x
        end = (at + 7) >> 3
        bounds[row + 1] = end
    return content[:end].copy(), bounds


@kernel
def row_sizes(data, starts, stops):
    """Return how many hashes each packed row has, or -1 if its bytes cannot be those of a row."""
    sizes = np.empty(len(starts), np.int64)
    for row in range(len(starts)):
        n, shift = np.int64(0), 0
        at = starts[row]
        while at < stops[row] and shift < 49:
            n |= np.int64(data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
        bits = 8 * (stops[row] - at)
        least = n * (rest_width(n) + 1)  # the quotients of all differences add up to less than 2n
        whole = at > starts[row] and data[at - 1] < 128 and least <= bits < least + 2 * n + 8
        sizes[row] = n if whole else -1
    return sizes


@kernel
def unpack_rows(data, bounds):
    """Return (indptr, elements): the hashes of packed rows, row i in data[bounds[i]:bounds[i + 1]].

    If the bytes of some row cannot be those of a row, there is no indptr.
    """
    sizes = row_sizes(data, bounds[:-1], bounds[1:])
    indptr = np.zeros(len(bounds), np.int64)
    for row in range(len(sizes)):
        if sizes[row] < 0:
            return indptr[:0], np.empty(0, np.uint64)
        indptr[row + 1] = indptr[row] + sizes[row]
    return indptr, unpack_differences(data, bounds[:-1], bounds[1:], indptr)


@kernel
def unpack_differences(data, starts, stops, indptr):
    """Return the hashes of packed rows, of which `row_sizes` has returned the sizes."""
    elements = np.empty(indptr[-1], np.uint64)
    for row in range(len(starts)):
        at = starts[row]
        while data[at] > 127:
            at += 1
        n = indptr[row + 1] - indptr[row]
        width = rest_width(n)
        at = 8 * (at + 1)
        end = 8 * stops[row]
        last = np.uint64(0)
        for i in range(indptr[row], indptr[row + 1]):
            ones = np.uint64(0)
            while at < end and data[at >> 3] >> (at & 7) & 1:
                ones += np.uint64(1)
                at += 1
            at += 1
            step, shift = np.uint64(0), 0
            while shift < width and at < end:
                taken = min(8 - (at & 7), width - shift)
                part = (np.uint64(data[at >> 3]) >> np.uint64(at & 7)) & (
                    (np.uint64(1) << np.uint64(taken)) - np.uint64(1)
                )
                step |= part << np.uint64(shift)
                shift += taken
                at += taken
            if width < 64:
                step |= ones << np.uint64(width)
            last += step
            elements[i] = last
    return elements
