"""Cut texts into lines, sentences or paragraphs, and hash each in full.

The rules are simple on purpose. A line ends with its line break: LF, CR or both. A paragraph ends
before a line that follows a blank one. A sentence ends after a full stop, a question or exclamation
mark or an ellipsis, with other such marks and the quotes and brackets that close there, if white space
follows; after an ideographic one also without; and where a paragraph ends.
"""

import numpy as np

from lookalike.kernels.characters import KIND, SPACE
from lookalike.kernels.hashing import BASE, kernel, mix
from lookalike.kernels.text import COLLAPSE, characters, decode, properties, total_and_longest

LINE, SENTENCE, PARAGRAPH = range(3)
OPEN, ENDS, STOPS = range(3)  # a sentence that goes on; that ends if white space follows; that ends
LF, CR = 10, 13


@kernel
def ending(code, state):
    """Return whether a sentence ends after this character, given whether it did before."""
    if code in (0x3002, 0xFF01, 0xFF1F):
        return STOPS
    if code in (0x21, 0x2E, 0x3F, 0x2026, 0x61F, 0x6D4, 0x964):
        return max(state, ENDS)
    return state if closes(code) else OPEN


@kernel
def closes(code):
    """Return whether a character closes a quotation or a bracket."""
    return code in (0x22, 0x27, 0x29, 0x5D, 0xBB, 0x2019, 0x201D, 0x300D, 0x300F, 0xFF09)


@kernel
def find_segments(data, starts, stops, kind):
    """Return the segments of each text that are not blank: (indptr, begins, ends, firsts, lasts).

    A segment reaches from its begin to its end, in bytes of the text, with the white space around
    it; without that it reaches from its first byte to its last, end excluded.
    """
    total, _ = total_and_longest(starts, stops)
    begins, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    firsts, lasts = np.empty(total, np.int64), np.empty(total, np.int64)
    indptr = np.zeros(len(starts) + 1, np.int64)
    n = 0
    for t in range(len(starts)):
        start, stop = starts[t], stops[t]
        begin, first, last = start, -1, start
        line, after_line = start, start  # where this line began, and the one after the last that was not blank
        breaks, white, state = 1, False, OPEN  # a text begins as after a line break
        at = start
        while at < stop:
            code, after = decode(data, at)
            if code == CR and after < stop and data[after] == LF:
                after += 1
            if properties(code) & KIND == SPACE:
                white = True
                if code in (LF, CR):
                    breaks += 1
                    line = after
                    after_line = after if breaks == 1 else after_line
                at = after
                continue
            cut = -1
            if kind == LINE:
                cut = line if breaks >= 1 else -1
            elif breaks >= 2:
                cut = line
            elif kind == SENTENCE and ((state != OPEN and white) or (state == STOPS and ending(code, state) == OPEN)):
                cut = at
            if cut >= 0:
                if first >= 0:
                    begins[n], ends[n] = begin - start, (after_line if kind == LINE else cut) - start
                    firsts[n], lasts[n] = first - start, last - start
                    n += 1
                begin, first, state = cut, -1, OPEN
            first = at if first < 0 else first
            last = after
            state = ending(code, state)
            breaks, white = 0, False
            at = after
        if first >= 0:
            begins[n], ends[n] = begin - start, (after_line if kind == LINE and breaks else stop) - start
            firsts[n], lasts[n] = first - start, last - start
            n += 1
        indptr[t + 1] = n
    return indptr, begins[:n].copy(), ends[:n].copy(), firsts[:n].copy(), lasts[:n].copy()


@kernel
def hash_wholes(data, starts, stops, seed):
    """Return the hash of all characters of each text, with white space collapsed; seeds differ in their base."""
    _, longest = total_and_longest(starts, stops)
    units = np.empty(longest, np.uint64)
    base = BASE + np.uint64(2) * np.uint64(seed)
    out = np.empty(len(starts), np.uint64)
    for t in range(len(starts)):
        n = characters(data, starts[t], stops[t], COLLAPSE, units)
        rolling = np.uint64(n)
        for i in range(n):
            rolling = rolling * base + units[i]
        out[t] = mix(rolling)
    return out
