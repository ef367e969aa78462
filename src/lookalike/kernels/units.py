"""Find the units of texts, characters or words, with their hashes and their places.

Texts are prepared by `Shingles` (normal form, case) before they are cut into units, so a place in
the prepared text must be traced back to the text as it was given. Most characters stand for
themselves there. The others are cut out, with those that normal form joins to them, and every unit
in such a piece is traced to the whole piece, unless the piece did not change.
"""

import numpy as np

from lookalike.kernels.characters import ALONE, KIND, LETTER, MARK, SEPARATOR, SPACE
from lookalike.kernels.hashing import kernel
from lookalike.kernels.text import (
    CHAR,
    COLLAPSE,
    KEEP,
    REMOVE,
    TOKEN,
    decode,
    is_ascii,
    properties,
    text_units,
    total_and_longest,
)

PLAIN, JOINS, ALTERED = range(3)  # a character that stands for itself; that joins the one before; any other


@kernel
def hash_units(data, starts, stops, unit, white):
    """Return the hashes of the units of each text, in order: (indptr, hashes)."""
    total, _ = total_and_longest(starts, stops)
    hashes = np.empty(total, np.uint64)
    indptr = np.zeros(len(starts) + 1, np.int64)
    for t in range(len(starts)):
        made = text_units(data, starts[t], stops[t], unit, white, hashes[indptr[t] :])
        indptr[t + 1] = indptr[t] + made
    return indptr, hashes[: indptr[-1]].copy()


@kernel
def find_units(data, starts, stops, unit, white):
    """Return where the units of each text begin and end, in bytes of the text: (indptr, begins, ends)."""
    total, _ = total_and_longest(starts, stops)
    begins, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    indptr = np.zeros(len(starts) + 1, np.int64)
    for t in range(len(starts)):
        place = indptr[t]
        if unit == CHAR:
            made = find_characters(data, starts[t], stops[t], white, begins[place:], ends[place:])
        else:
            made = find_words(data, starts[t], stops[t], unit == TOKEN, begins[place:], ends[place:])
        indptr[t + 1] = place + made
    return indptr, begins[: indptr[-1]].copy(), ends[: indptr[-1]].copy()


@kernel
def find_characters(data, start, stop, white, begins, ends):
    """Find what `text.characters` hashes; a blank that stands for white space is all of it."""
    n = 0
    blank, blank_end = -1, -1
    at = start
    while at < stop:
        code, after = decode(data, at)
        if white != KEEP and properties(code) & KIND == SPACE:
            if white == COLLAPSE and n > 0:
                blank = at if blank < 0 else blank
                blank_end = after
        else:
            if blank >= 0:
                begins[n], ends[n] = blank - start, blank_end - start
                n += 1
                blank = -1
            begins[n], ends[n] = at - start, after - start
            n += 1
        at = after
    return n


@kernel
def find_words(data, start, stop, punctuation, begins, ends):
    """Find what `text.words` hashes."""
    n = 0
    inside, alone = False, False  # whether a word is open, and whether it is a lone letter
    at = start
    while at < stop:
        code, after = decode(data, at)
        what = properties(code) & KIND
        if not (inside and (what == MARK or (what == LETTER and not alone))):
            n += inside
            alone = what == ALONE or (punctuation and what == SEPARATOR)
            inside = alone or what == LETTER
            if inside:
                begins[n] = at - start
        if inside:
            ends[n] = after - start
        at = after
    return n + inside


@kernel
def cut_texts(data, starts, stops, behaviour):
    """Cut texts where no normal form joins the two sides: (indptr, cuts, plain).

    `behaviour` says of each code point whether it is PLAIN, JOINS or ALTERED. A piece is a run of
    plain characters, in which each stands for itself, or one character with those that join it. No
    character joins white space: a mark behind it is a unit of its own.
    """
    total, _ = total_and_longest(starts, stops)
    cuts, plain = np.empty(total, np.int64), np.empty(total, np.bool_)
    indptr = np.zeros(len(starts) + 1, np.int64)
    n = 0
    for t in range(len(starts)):
        before = at = starts[t]
        white = True
        while at < stops[t]:
            code, after = decode(data, at)
            what = behaviour[code]
            if what == JOINS and not white:
                if plain[n - 1] and cuts[n - 1] < before:
                    cuts[n] = before
                    n += 1
                plain[n - 1] = False
            elif what != PLAIN or at == starts[t] or not plain[n - 1]:
                cuts[n], plain[n] = at, what == PLAIN
                n += 1
            before, at = at, after
            white = properties(code) & KIND == SPACE
        indptr[t + 1] = n
    return indptr, cuts[:n].copy(), plain[:n].copy()


@kernel
def same_bytes(one, start, stop, other, other_start, other_stop):
    """Return whether one[start:stop] equals other[other_start:other_stop]."""
    same = stop - start == other_stop - other_start
    i = 0
    while same and start + i < stop:
        same = one[start + i] == other[other_start + i]
        i += 1
    return same


@kernel
def trace(data, piece_starts, piece_stops, plain, clean, clean_starts, clean_stops, bounds, rows, indptr, begins, ends):
    """Trace units of prepared texts back to the texts as given, in place.

    Piece i, data[piece_starts[i]:piece_stops[i]], became clean[clean_starts[i]:clean_stops[i]]. The
    pieces of text rows[j] are those from bounds[j] to bounds[j + 1], and its units those from
    indptr[rows[j]] on; their places are counted in bytes from where the text starts.
    """
    for j in range(len(rows)):
        u = v = indptr[rows[j]]
        last = indptr[rows[j] + 1]
        text_start, clean_start = piece_starts[bounds[j]], clean_starts[bounds[j]]
        for i in range(bounds[j], bounds[j + 1]):
            at, place = piece_starts[i], clean_starts[i]
            alone = plain[i] or same_bytes(data, at, piece_stops[i], clean, place, clean_stops[i])
            while alone and place < clean_stops[i]:
                _, after = decode(data, at)
                _, passed = decode(clean, place)
                if u < last and begins[u] + clean_start == place:
                    begins[u] = at - text_start
                    u += 1
                if v < last and ends[v] + clean_start == passed:
                    ends[v] = after - text_start
                    v += 1
                at, place = after, passed
            while u < last and begins[u] + clean_start < clean_stops[i]:
                begins[u] = piece_starts[i] - text_start
                u += 1
            while v < last and ends[v] + clean_start <= clean_stops[i]:
                ends[v] = piece_stops[i] - text_start
                v += 1


@kernel
def count_characters(data, starts, stops, indptr, places):
    """Turn places in texts from bytes into characters (code points), in place.

    Those of text t are places[indptr[t]:indptr[t + 1]], in ascending order.
    """
    for t in range(len(starts)):
        if is_ascii(data, starts[t], stops[t]):
            continue
        at, passed = starts[t], 0
        for i in range(indptr[t], indptr[t + 1]):
            while at < starts[t] + places[i]:
                passed += data[at] & 0xC0 != 0x80
                at += 1
            places[i] = passed


@kernel
def copy_slices(data, starts, sizes, places, out):
    """Copy the bytes from each start to its place in `out`."""
    for i in range(len(starts)):
        out[places[i] : places[i] + sizes[i]] = data[starts[i] : starts[i] + sizes[i]]


@kernel
def next_unit(data, at, stop, unit, white):
    """Return where the next unit from a byte on begins and ends; white space that becomes a blank is one."""
    begin = stop
    alone = False  # whether it is a lone letter, or a character
    while at < stop:
        code, after = decode(data, at)
        what = properties(code) & KIND
        if begin < stop:
            goes_on = what == MARK or (what == LETTER and not alone)
            if unit == CHAR:
                goes_on = not alone and what == SPACE
            if not goes_on:
                return begin, at
        elif unit == CHAR:
            if what != SPACE or white != REMOVE:
                begin, alone = at, what != SPACE or white == KEEP
        elif what in (LETTER, ALONE) or (unit == TOKEN and what == SEPARATOR):
            begin, alone = at, what != LETTER
        at = after
    return begin, stop


@kernel
def same_units(one, starts, stops, passed, other, other_starts, other_stops, other_passed, lengths, unit, white):
    """Return whether pairs of texts have the same units, character by character.

    Of pair i, the first passed[i] units of `one` and other_passed[i] of `other` are skipped, and then
    lengths[i] units compared; all of them, and the ends of both texts, if it is negative.
    """
    for i in range(len(lengths)):
        at, place = starts[i], other_starts[i]
        for _ in range(passed[i]):
            _, at = next_unit(one, at, stops[i], unit, white)
        for _ in range(other_passed[i]):
            _, place = next_unit(other, place, other_stops[i], unit, white)
        left = lengths[i]
        while left != 0 and (left > 0 or at < stops[i] or place < other_stops[i]):
            begin, at = next_unit(one, at, stops[i], unit, white)
            other_begin, place = next_unit(other, place, other_stops[i], unit, white)
            blank = unit == CHAR and white == COLLAPSE and begin < at and other_begin < place
            blank = blank and is_space(one, begin) and is_space(other, other_begin)
            if not blank and not same_bytes(one, begin, at, other, other_begin, place):
                return False
            left -= 1
    return True


@kernel
def count_before(starts, indptr, texts, places, out):
    """Count the units of a text that start where a unit does, but come before it."""
    for i in range(len(places)):
        first = places[i]
        while first > indptr[texts[i]] and starts[first - 1] == starts[places[i]]:
            first -= 1
        out[i] = places[i] - first


@kernel
def is_space(data, at):
    """Return whether the character at a byte is white space."""
    code, _ = decode(data, at)
    return properties(code) & KIND == SPACE


@kernel
def skip_space(data, starts, stops, indptr, ends):
    """Move each end in a text behind the white space that follows it; text t has ends[indptr[t]:indptr[t + 1]]."""
    for t in range(len(starts)):
        for i in range(indptr[t], indptr[t + 1]):
            at = starts[t] + ends[i]
            while at < stops[t]:
                code, after = decode(data, at)
                if properties(code) & KIND != SPACE:
                    break
                at = after
            ends[i] = at - starts[t]


@kernel
def remove_parts(data, starts, stops, indptr, begins, ends):
    """Return texts without parts of them: (offsets, bytes).

    Those of text t are begins[i]:ends[i] for i from indptr[t] to indptr[t + 1], in order. A blank
    stays between letters that would otherwise become one word.
    """
    total, _ = total_and_longest(starts, stops)
    out = np.empty(total + len(begins), np.uint8)
    offsets = np.zeros(len(starts) + 1, np.int64)
    n = 0
    for t in range(len(starts)):
        at = starts[t]
        for i in range(indptr[t], indptr[t + 1]):
            begin, end = starts[t] + begins[i], starts[t] + ends[i]
            out[n : n + begin - at] = data[at:begin]
            n += begin - at
            at = max(at, end)
            if n > offsets[t] and at < stops[t] and in_word(data, at) and in_word(out, last_character(out, n)):
                out[n] = 32
                n += 1
        out[n : n + stops[t] - at] = data[at : stops[t]]
        n += stops[t] - at
        offsets[t + 1] = n
    return offsets, out[:n].copy()


@kernel
def last_character(data, stop):
    """Return where the last character before a byte begins."""
    at = stop - 1
    while data[at] & 0xC0 == 0x80:
        at -= 1
    return at


@kernel
def in_word(data, at):
    """Return whether the character at a byte is a letter or a mark of a word with others."""
    code, _ = decode(data, at)
    what = properties(code) & KIND
    return what in (LETTER, MARK)
