"""Read the tags of a web page as browsers do, from its bytes in UTF-8.

The numbers are ASCII: 33 !, 34 ", 39 ', 45 -, 47 /, 60 <, 61 =, 62 >.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

# By byte: the 1s end a tag name, the 2s an attribute's name, the 4s its value if it has no quotes.
STOPS = np.zeros(256, np.uint8)
STOPS[[9, 10, 12, 13, 32, 62]] = 7
STOPS[[47, 61]] = [3, 2]


@kernel
def is_letter(byte):
    """Return whether a byte is an ASCII letter."""
    return 97 <= (byte | 32) <= 122


@kernel
def is_space(byte):
    """Return whether a byte is white space in HTML."""
    return byte == 32 or byte == 9 or byte == 10 or byte == 12 or byte == 13


@kernel
def lower(byte):
    """Return an ASCII letter in lower case, and any other byte as it is."""
    return byte | np.uint8(32) if 65 <= byte <= 90 else byte


@kernel
def name_stop(data, at):
    """Return where the tag name that begins at `at` stops."""
    while at < len(data) and not STOPS[data[at]] & 1:
        at += 1
    return at


@kernel
def same(data, start, stop, other, other_stop):
    """Return whether two names are equal except for case."""
    if stop - start != other_stop - other:
        return False
    while start < stop and lower(data[start]) == lower(data[other]):
        start += 1
        other += 1
    return start == stop


@kernel
def begins_with(data, at, pattern):
    """Return whether the data have a pattern at `at`."""
    if at + len(pattern) > len(data):
        return False
    i = 0
    while i < len(pattern) and data[at + i] == pattern[i]:
        i += 1
    return i == len(pattern)


@kernel
def stop_after(data, at, pattern):
    """Return where the next pattern at or after `at` stops; the length of the data if nowhere."""
    for start in range(at, len(data)):
        if data[start] == pattern[0] and begins_with(data, start, pattern):
            return start + len(pattern)
    return len(data)


@kernel
def has_tag(data, at, stop):
    """Return whether there is a < in data[at:stop]."""
    while at < stop and data[at] != 60:
        at += 1
    return at < stop


@kernel
def comment_stop(data, at):
    """Return where the comment that begins at `at` stops: the dashes that open it may also end it."""
    for start in range(at + 2, len(data)):
        if data[start] == 45:
            if begins_with(data, start, b"-->"):
                return start + 3
            if start >= at + 4 and begins_with(data, start, b"--!>"):
                return start + 4
    return len(data)


@kernel
def add_name(data, start, stop, table, names, total):
    """Add a name to the names so far; return how many there are, and steps to look it up.

    The parser's table of names is small, so it looks at many of them, or at all if an attacker
    chose them.
    """
    slot = np.uint32(0)
    for i in range(start, stop):
        slot = (slot ^ lower(data[i])) * np.uint32(16777619)
    slot = (slot ^ (slot >> np.uint32(15))) & np.uint32(len(table) - 1)
    steps = 1 + total // 4
    while table[slot]:
        other = names[table[slot] - 1]
        if same(data, start, stop, other[0], other[1]):
            return total, steps
        slot = (slot + np.uint32(1)) & np.uint32(len(table) - 1)
        steps += 1
    if total < len(names):
        names[total, 0], names[total, 1] = start, stop
        table[slot] = total + 1
    return total + 1, steps


@kernel
def attributes(data, at, table, names, total):
    """Read a tag from the end of its name.

    Return where it stops, how many attributes it has, whether it ends in />, how many names there
    are now, and steps to look up its own. A tag that the page ends in stops at -1.
    """
    count = steps = 0
    size = len(data)
    while at < size:
        if data[at] == 62:
            return at + 1, count, data[at - 1] == 47, total, steps
        if is_space(data[at]) or data[at] == 47:
            at += 1
            continue
        count += 1
        start = at
        at += 1  # even an equals sign begins a name
        while at < size and not STOPS[data[at]] & 2:
            at += 1
        total, more = add_name(data, start, at, table, names, total)
        steps += more
        while at < size and is_space(data[at]):
            at += 1
        if at >= size or data[at] != 61:
            continue
        at += 1
        while at < size and is_space(data[at]):
            at += 1
        if at < size and (data[at] == 34 or data[at] == 39):
            quote = data[at]
            at += 1
            while at < size and data[at] != quote:
                at += 1
            at += 1
        else:
            while at < size and not STOPS[data[at]] & 4:
                at += 1
            if at < size and data[at] == 62:  # a slash before it belongs to the value
                return at + 1, count, False, total, steps
    return -1, count, False, total, steps


@kernel
def raw_stop(data, at, start, stop, script):
    """Return where the end tag begins of an element with raw text, whose name is data[start:stop].

    In a script, `<!--` hides a script within it, as the standard says.
    """
    size, length = len(data), stop - start
    hidden = 0  # 1 after <!--, 2 also after <script>
    while at < size:
        while not hidden and at < size - 1 and data[at] != 60:
            at += 1
        if hidden and data[at] == 45 and begins_with(data, at, b"-->"):
            hidden = 0
        if data[at] != 60:
            at += 1
            continue
        if script and not hidden and begins_with(data, at, b"<!--"):
            hidden = 1
            at += 2  # its dashes may also end it
            continue
        closing = at + 1 < size and data[at + 1] == 47
        name = at + 2 if closing else at + 1
        after = name + length
        if after < size and STOPS[data[after]] & 1 and same(data, name, after, start, stop):
            if closing and hidden < 2:
                return at
            if hidden:
                hidden = 1 if closing else 2
        at += 1
    return size
