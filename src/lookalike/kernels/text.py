"""Hash the shingles of texts to 64 bits, straight from UTF-8 bytes without a Python string.

A document becomes units (characters or words), each a 64-bit hash, and then every window of k units
becomes one hash by a rolling polynomial: the sum of unit[i] * BASE**(k-1-i) modulo 2**64. Unit
hashes look random, so two different windows collide with probability about 2**-64.

Texts come as one buffer of valid UTF-8, with the byte at which each text starts and stops.
"""

import numpy as np

from lookalike.kernels.characters import ALONE, INDEX, KIND, LETTER, MARK, PAGES, SEPARATOR, SPACE, UNSTABLE
from lookalike.kernels.hashing import BASE, GOLDEN, kernel, mix

CHAR, WORD, TOKEN = range(3)  # what a unit is; tokens are words and punctuation marks
COLLAPSE, KEEP, REMOVE = range(3)  # what to do with white space between characters

with np.errstate(over="ignore"):
    ASCII = mix.py_func(np.arange(1, 129, dtype=np.uint64) * GOLDEN)  # unit hashes of U+0000 to U+007F
BLANK = ASCII[32]
WHITE = (PAGES[INDEX[0], :128] == SPACE).astype(np.int64)
COLLAPSED = np.where(WHITE == 1, BLANK, ASCII)
TRAITS = PAGES.reshape(-1)
FACTORS = np.where(TRAITS[:128] == LETTER, BASE, np.uint64(0))  # by which an ASCII character multiplies a word's hash


@kernel
def decode(data, at):
    """Return the code point that starts at byte `at` of valid UTF-8, and where the next starts."""
    byte = np.uint32(data[at])
    if byte < 0x80:
        return byte, at + 1
    if byte < 0xE0:
        return (byte & np.uint32(0x1F)) << np.uint32(6) | (data[at + 1] & np.uint32(0x3F)), at + 2
    if byte < 0xF0:
        code = (byte & np.uint32(0x0F)) << np.uint32(12) | (data[at + 1] & np.uint32(0x3F)) << np.uint32(6)
        return code | (data[at + 2] & np.uint32(0x3F)), at + 3
    code = (byte & np.uint32(0x07)) << np.uint32(18) | (data[at + 1] & np.uint32(0x3F)) << np.uint32(12)
    return code | (data[at + 2] & np.uint32(0x3F)) << np.uint32(6) | (data[at + 3] & np.uint32(0x3F)), at + 4


@kernel
def properties(code):
    """Return the entry of a code point in the table of `characters`."""
    return TRAITS[np.uint32(INDEX[code >> np.uint32(8)]) << np.uint32(8) | (code & np.uint32(255))]


@kernel
def is_ascii(data, start, stop):
    """Return whether all bytes of data[start:stop] are below 128, in one pass without branches."""
    seen = np.uint8(0)
    for byte in data[start:stop]:
        seen |= byte
    return seen < 0x80


@kernel
def collapsed_ascii(data, start, stop, out):
    """Do what `characters` does for ASCII and COLLAPSE, without a branch to mispredict per word."""
    n = 0
    before = 1  # whether the previous character was white space; 1 at first, so that leading space is dropped
    for byte in data[start:stop]:
        out[n] = COLLAPSED[byte]
        n += 1 - (WHITE[byte] & before)
        before = WHITE[byte]
    return n - before if n > 0 else 0


@kernel
def characters(data, start, stop, white, out):
    """Hash each character of data[start:stop] into `out`; return how many there are.

    COLLAPSE turns a run of white space into one blank and drops it at both ends; REMOVE drops all.
    """
    if white == COLLAPSE and is_ascii(data, start, stop):
        return collapsed_ascii(data, start, stop, out)
    n = 0
    blank = False
    at = start
    while at < stop:
        byte = data[at]
        if byte < 0x80:
            at += 1
            unit = ASCII[byte]
            space = byte == 32 or 9 <= byte <= 13
        else:
            code, at = decode(data, at)
            unit = mix((np.uint64(code) + np.uint64(1)) * GOLDEN)
            space = properties(code) & KIND == SPACE
        if space and white != KEEP:
            blank = white == COLLAPSE and n > 0
            continue
        if blank:
            out[n] = BLANK
            n += 1
            blank = False
        out[n] = unit
        n += 1
    return n


@kernel
def ascii_words(data, start, stop, out):
    """Do what `words` does for ASCII without punctuation, without a branch to mispredict per word.

    Each letter waits for the product of the one before, so both halves of the text are hashed at once.
    """
    middle = stop - (stop - start) // 2
    while middle < stop and FACTORS[data[middle]] != 0:  # a word that began in the first half
        middle += 1
    size = stop - middle
    one = np.uint64(1)
    gap = np.uint64(middle - start)
    n, m = np.uint64(0), gap  # where the next words of the halves go; unsigned, so that no index counts from the end
    word, other, inside, within = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    left, right = data[start : start + size], data[middle:stop]
    for i in range(size):
        factor, its_factor = FACTORS[left[i]], FACTORS[right[i]]
        n += inside & ~factor & one
        m += within & ~its_factor & one
        inside, within = factor, its_factor
        word = (word ^ np.uint64(left[i])) * factor
        other = (other ^ np.uint64(right[i])) * its_factor
        out[n], out[m] = word, other
    for byte in data[start + size : middle]:
        factor = FACTORS[byte]
        n += inside & ~factor & one
        inside = factor
        word = (word ^ np.uint64(byte)) * factor
        out[n] = word
    n += inside & one
    m += within & one
    for i in range(n):
        out[i] = mix(out[i])
    for i in range(gap, m):
        out[n] = mix(out[i])
        n += one
    return np.int64(n)


@kernel
def words(data, start, stop, punctuation, out):
    """Hash each word of data[start:stop] into `out`; return how many there are.

    A word is a run of letters, digits and connectors with the marks after them; in scripts without
    spaces between words a letter is a word by itself. With `punctuation`, so is each character that
    is neither white space nor part of a word.
    """
    if not punctuation and is_ascii(data, start, stop):
        return ascii_words(data, start, stop, out)
    n = 0
    word = np.uint64(0)
    inside, alone = False, False  # whether a word is open, and whether it is a lone letter
    at = start
    while at < stop:
        byte = data[at]
        if byte < 0x80:
            at += 1
            code = np.uint32(byte)
            what = TRAITS[byte]
        else:
            code, at = decode(data, at)
            what = properties(code) & KIND
        if inside and (what == MARK or (what == LETTER and not alone)):
            word = (word ^ np.uint64(code)) * BASE
            continue
        if inside:
            out[n] = mix(word)
            n += 1
        alone = what == ALONE or (punctuation and what == SEPARATOR)
        inside = alone or what == LETTER
        word = np.uint64(code) * BASE
    if inside:
        out[n] = mix(word)
        n += 1
    return n


@kernel
def text_units(data, start, stop, unit, white, out):
    """Hash each unit of data[start:stop] into `out`; return how many there are."""
    if unit == CHAR:
        return characters(data, start, stop, white, out)
    return words(data, start, stop, unit == TOKEN, out)


@kernel
def windows(units, n, k, keep, out):
    """Hash every k consecutive units into `out`; return how many windows there are.

    Fewer than k units make one window, no units make none. `keep` masks the bits of a hash to keep.
    """
    if n == 0:
        return 0
    k = min(k, n)
    rolling = np.uint64(0)
    power = np.uint64(1)  # BASE**k
    for i in range(k):
        rolling = rolling * BASE + units[i]
        power *= BASE
    out[0] = mix(rolling) & keep
    for i in range(k, n):
        rolling = rolling * BASE + units[i] - units[i - k] * power
        out[i - k + 1] = mix(rolling) & keep
    return n - k + 1


@kernel
def total_and_longest(starts, stops):
    """Return how many bytes the texts have together, and how many the longest has."""
    total, longest = 0, 0
    for t in range(len(starts)):
        total += stops[t] - starts[t]
        longest = max(longest, stops[t] - starts[t])
    return total, longest


@kernel
def whole_text(data, start, stop, units, keep, out):
    """Hash all characters of a text into `out` as one shingle; return 1, or 0 for a blank text."""
    n = characters(data, start, stop, COLLAPSE, units)
    return windows(units, n, n, keep, out)


@kernel
def hash_texts(data, starts, stops, unit, k, white, keep):
    """Return the shingle hashes of each text in order, with repeats: (indptr, hashes). O(bytes).

    A text of fewer than k words is one shingle, all its characters: C++ differs from C#.
    """
    texts = len(starts)
    total, longest = total_and_longest(starts, stops)
    units = np.empty(longest, np.uint64)
    hashes = np.empty(total, np.uint64)
    indptr = np.zeros(texts + 1, np.int64)
    for t in range(texts):
        n = text_units(data, starts[t], stops[t], unit, white, units)
        if unit == CHAR or n >= k:
            made = windows(units, n, k, keep, hashes[indptr[t] :])
        else:
            made = whole_text(data, starts[t], stops[t], units, keep, hashes[indptr[t] :])
        indptr[t + 1] = indptr[t] + made
    return indptr, hashes[: indptr[texts]]


@kernel
def needs_normal_form(data, starts, stops):
    """Return whether each text has a character that normal form C can change; most texts do not."""
    out = np.zeros(len(starts), np.bool_)
    for t in range(len(starts)):
        if is_ascii(data, starts[t], stops[t]):
            continue
        at = starts[t]
        while at < stops[t]:
            if data[at] < 0x80:
                at += 1
                continue
            code, at = decode(data, at)
            if properties(code) & UNSTABLE:
                out[t] = True
                break
    return out


@kernel
def hash_table(values):
    """Return a hash table of the values by their low bits, with linear probing; zero is free."""
    slots = 16
    while slots < 4 * len(values):
        slots *= 2
    table = np.zeros(slots, np.uint64)
    for value in values:
        at = np.int64(value & np.uint64(slots - 1))
        while table[at] != 0:
            at = (at + 1) & (slots - 1)
        table[at] = value
    return table


@kernel
def is_in(table, value):
    """Return whether a value other than zero is in the table."""
    at = np.int64(value & np.uint64(len(table) - 1))
    while table[at] != 0:
        if table[at] == value:
            return True
        at = (at + 1) & (len(table) - 1)
    return False


@kernel
def hash_spots(data, starts, stops, antecedents, skipped, k, distance, keep):
    """Hash each antecedent with k - 1 words after it, `distance` words apart: (indptr, hashes).

    `antecedents` are word hashes; `skipped` are those of words that are skipped after an
    antecedent. An antecedent with too few words after it makes no shingle. O(bytes).
    """
    texts = len(starts)
    total, longest = total_and_longest(starts, stops)
    beginning, passed = hash_table(antecedents), hash_table(skipped)
    units = np.empty(longest, np.uint64)
    chain = np.empty(longest, np.uint64)  # the words that are not skipped
    after = np.empty(longest, np.int64)  # where in the chain the words after each word begin
    hashes = np.empty(total, np.uint64)
    indptr = np.zeros(texts + 1, np.int64)
    for t in range(texts):
        n = words(data, starts[t], stops[t], False, units)
        linked = 0
        for i in range(n):
            chain[linked] = units[i]
            linked += not is_in(passed, units[i])
            after[i] = linked
        at = indptr[t]
        for i in range(n):
            if after[i] + (k - 1) * distance <= linked and is_in(beginning, units[i]):
                rolling = units[i]
                for j in range(1, k):
                    rolling = rolling * BASE + chain[after[i] + j * distance - 1]
                hashes[at] = mix(rolling) & keep
                at += 1
        indptr[t + 1] = at
    return indptr, hashes[: indptr[texts]]


@kernel
def hash_contents(data, starts, stops):
    """Return two independent hashes of the bytes of each text: an array texts x 2.

    Equal texts have equal hashes; different texts have them by chance once in 2**128 pairs.
    """
    out = np.empty((len(starts), 2), np.uint64)
    for t in range(len(starts)):
        last = starts[t] + (stops[t] - starts[t]) // 8 * 8
        one = np.uint64(stops[t] - starts[t])
        two = ~one
        for block in data[starts[t] : last].view(np.uint64):
            one = (one ^ block) * BASE
            one ^= one >> np.uint64(29)
            two = (two + block) * GOLDEN
            two ^= two >> np.uint64(32)
        tail = np.uint64(0)
        for i in range(last, stops[t]):
            tail = tail << np.uint64(8) | np.uint64(data[i])
        out[t, 0] = mix((one ^ tail) * BASE)
        out[t, 1] = mix((two + tail) * GOLDEN)
    return out
