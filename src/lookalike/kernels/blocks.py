"""Pack sorted entries into small blocks of bits, and find entries there again.

An entry is one 64-bit number: a key in the high half, the number of an item in the low half. A
block has a head of 8 bytes: the width of the differences between keys, the width of the numbers,
the count of entries (two bytes), and the first key (four). The entries follow, each a difference
from the key before it and a number. Blocks are stored under their last entries, so that the first
block at or after a key is the one that holds it.
"""

import numpy as np

from lookalike.kernels.hashing import EMPTY, kernel, mix
from lookalike.kernels.sets import grown

HEAD = 8  # bytes
SPARE = 8  # bytes that must follow a block in memory, whatever they are: bits are read in words
HALF = 32  # bits of a key, and of a number
MOST_ENTRIES = 4096  # in a block
SLICES = 256  # one for each first byte of a hash


@kernel
def bits_of(x):
    """Return how many bits a number takes."""
    width = 0
    while x:
        width += 1
        x >>= np.uint64(1)
    return width


@kernel
def put_bits(out, at, value, width):
    """Write `width` bits of a value from bit `at` on, into bytes that are zero."""
    while width > 0:
        free = 8 - (at & 7)
        out[at >> 3] |= np.uint8((value << np.uint64(at & 7)) & np.uint64(255))
        value = value >> np.uint64(free)
        at += min(free, width)
        width -= free


@kernel
def get_bits(data, at, width):
    """Return `width` bits from bit `at` on, at most 57; the word that begins there is read as a whole."""
    byte = at >> 3
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[byte + i]) << np.uint64(8 * i)
    return (word >> np.uint64(at & 7)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))


@kernel
def key_of(entry):
    """Return the key of an entry."""
    return entry >> np.uint64(HALF)


@kernel
def number_of(entry):
    """Return the number of an entry."""
    return entry & np.uint64(0xFFFFFFFF)


@kernel
def entries_that_fit(entries, start, most):
    """Return how many of the entries from `start` on fit into `most` bytes, and the widths they need."""
    key_width, number_width, count = 0, 0, 0
    for i in range(start, min(len(entries), start + MOST_ENTRIES)):
        wide = max(key_width, bits_of(key_of(entries[i]) - key_of(entries[max(i - 1, start)])))
        long = max(number_width, bits_of(number_of(entries[i])))
        if count > 0 and HEAD + ((count + 1) * (wide + long) + 7) // 8 > most:
            break
        key_width, number_width, count = wide, long, count + 1
    return count, key_width, number_width


@kernel
def pack_blocks(entries, most):
    """Pack sorted entries into blocks of at most `most` bytes.

    Returns (content, bounds, lasts): block i is content[bounds[i]:bounds[i + 1]], and ends with
    entry lasts[i].
    """
    content = np.zeros(16 * len(entries), np.uint8)
    bounds, lasts = np.zeros(len(entries) + 1, np.int64), np.zeros(len(entries), np.int64)
    blocks, i, end = 0, 0, 0
    while i < len(entries):
        count, key_width, number_width = entries_that_fit(entries, i, most)
        content[end], content[end + 1] = key_width, number_width
        content[end + 2], content[end + 3] = count & 255, count >> 8
        put_bits(content, 8 * end + 32, key_of(entries[i]), HALF)
        at = 8 * (end + HEAD)
        for j in range(i, i + count):
            put_bits(content, at, key_of(entries[j]) - key_of(entries[max(j - 1, i)]), key_width)
            put_bits(content, at + key_width, number_of(entries[j]), number_width)
            at += key_width + number_width
        end = (at + 7) >> 3
        i += count
        lasts[blocks] = i - 1
        blocks += 1
        bounds[blocks] = end
    return content[:end].copy(), bounds[: blocks + 1].copy(), lasts[:blocks].copy()


@kernel
def size_of_block(block):
    """Return how many entries a block has, or -1 if its bytes cannot be those of a block."""
    if len(block) < HEAD or block[0] > HALF or block[1] > HALF:
        return -1
    count = np.int64(block[2]) + (np.int64(block[3]) << 8)
    return count if len(block) == HEAD + (count * (np.int64(block[0]) + np.int64(block[1])) + 7) // 8 else -1


@kernel
def unpack_blocks(data, bounds):
    """Return the entries of all blocks, block i being data[bounds[i]:bounds[i + 1]], and whether none is damaged."""
    total = 0
    for i in range(len(bounds) - 1):
        count = size_of_block(data[bounds[i] : bounds[i + 1]])
        if count < 0:
            return np.empty(0, np.uint64), False
        total += count
    entries = np.empty(total, np.uint64)
    n = 0
    for i in range(len(bounds) - 1):
        start = bounds[i]
        key_width, number_width = np.int64(data[start]), np.int64(data[start + 1])
        key, at = get_bits(data, 8 * start + 32, HALF), 8 * (start + HEAD)
        for _ in range(size_of_block(data[start : bounds[i + 1]])):
            key += get_bits(data, at, key_width)
            entries[n] = key << np.uint64(HALF) | get_bits(data, at + key_width, number_width)
            at += key_width + number_width
            n += 1
    return entries, True


@kernel
def first_in_block(data, start, count, wanted):
    """Return (place, key, at) of the first of `count` entries with a key from `wanted` on, at bit `at`.

    The place is `count` if there is none.
    """
    key_width, width = np.int64(data[start]), np.int64(data[start]) + np.int64(data[start + 1])
    key, at = get_bits(data, 8 * start + 32, HALF), 8 * (start + HEAD)
    for place in range(count):
        key += get_bits(data, at, key_width)
        if key >= wanted:
            return place, key, at
        at += width
    return count, key, at


@kernel
def find_in_blocks(data, bounds, wanted):
    """Return (numbers, ends): those of the entries with key wanted[i] in block i, up to ends[i].

    Block i is data[bounds[i]:bounds[i + 1]]. For a damaged block, the last end is -1.
    """
    ends = np.zeros(len(wanted), np.int64)
    found = np.empty(16, np.int64)
    n = 0
    for i in range(len(wanted)):
        start = bounds[i]
        count = size_of_block(data[start : bounds[i + 1]])
        if count < 0:
            ends[-1] = -1
            return found[:0], ends
        place, key, at = first_in_block(data, start, count, wanted[i])
        key_width, number_width = np.int64(data[start]), np.int64(data[start + 1])
        while place < count and key == wanted[i]:
            if n == len(found):
                found = grown(found, n)
            found[n] = get_bits(data, at + key_width, number_width)
            n += 1
            place += 1
            at += key_width + number_width
            key += get_bits(data, at, key_width)
        ends[i] = n
    return found[:n].copy(), ends


@kernel
def into_slices(hashes, numbers, chosen):
    """Return (entries, starts): those of the chosen items, by the first bytes of their hashes.

    Row r of the hashes is of the item with numbers[r]. The entries with first byte b are
    entries[starts[b]:starts[b + 1]]; they have the 32 bits after it as keys. EMPTY has no entry.
    """
    starts = np.zeros(SLICES + 1, np.int64)
    for row in range(len(hashes)):
        for x in hashes[row]:
            if chosen[row] and x != EMPTY:
                starts[(x >> np.uint64(56)) + np.uint64(1)] += 1
    for i in range(SLICES):
        starts[i + 1] += starts[i]
    nexts = starts[:-1].copy()
    entries = np.empty(starts[-1], np.uint64)
    for row in range(len(hashes)):
        for x in hashes[row]:
            if chosen[row] and x != EMPTY:
                part = x >> np.uint64(56)
                entries[nexts[part]] = x >> np.uint64(24) << np.uint64(HALF) | numbers[row]
                nexts[part] += 1
    return entries, starts


@kernel
def hash_names(data, starts, stops, salt):
    """Return a hash of each name that nobody can foresee without the salt."""
    out = np.empty(len(starts), np.uint64)
    for row in range(len(starts)):
        state = salt ^ np.uint64(stops[row] - starts[row])
        word = np.uint64(0)
        for i in range(starts[row], stops[row]):
            word = word << np.uint64(8) | np.uint64(data[i])
            if (i - starts[row]) & 7 == 7:
                state = mix(state ^ word)
                word = np.uint64(0)
        out[row] = mix(mix(state ^ word) + salt)
    return out
