"""Bound what an HTML parser can do with a page, in one pass over its bytes.

The standard's algorithm for building a tree looks through all open elements at almost every tag,
copies unclosed formatting elements such as `<b>` into every later block, and joins texts that end
up next to each other. Each makes small pages cost minutes or gigabytes. So tags are matched here
without building a tree. An end tag closes an element only if the parser is certain to close it too;
whatever is in doubt stays open. So this stack holds at least what is open in the parser, for any
sequence of tags. Pages with few errors have close bounds, and others have bounds that are too high.
"""

import numpy as np

from lookalike.kernels.hashing import kernel
from lookalike.kernels.tags import (
    add_name,
    attributes,
    begins_with,
    comment_stop,
    has_tag,
    is_letter,
    is_space,
    lower,
    name_stop,
    raw_stop,
    same,
    stop_after,
)

NODE = 160  # bytes of an element or attribute in the parser
MOST_NAMES = 4096  # different names that are remembered; of the others, each counts as a new one
AGAIN = 8  # times that the parser repeats its work at an end tag of a formatting element in the wrong place

VOID, BREAKOUT, FORMAT, RAW, FOREIGN, CONTENT, SELECT, TEMPLATE, MARKER, CLOSES_P = (1 << bit for bit in range(10))
P, ITEM, TERM, CELL, ROW, GROUP, TABLE, COLUMN, LINK, NOBR, ROOT, FORM, SCRIPT, CAPTION, FRAME = (
    1 << bit for bit in range(10, 25)
)
STRUCTURE = CELL | ROW | GROUP | TABLE | COLUMN | CAPTION  # of tables: ignored elsewhere, and not where texts go
NAMES = {
    VOID: "area base br col embed hr img input link meta param source track wbr",
    # These end SVG and MathML. The other elements without content have some there.
    BREAKOUT: "b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li "
    "listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var",
    FORMAT: "a b big code em font i nobr s small strike strong tt u",
    RAW: "script style title textarea xmp iframe noembed noframes noscript",  # with text inside, not tags
    FOREIGN: "svg math",
    CONTENT: "title desc foreignobject annotation-xml mi mo mn ms mtext",  # HTML in SVG and MathML
    SELECT: "select",
    TEMPLATE: "template",
    MARKER: "td th caption object applet marquee template",  # which hide formatting elements outside
    CLOSES_P: "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer "
    "header hgroup main menu nav ol p section summary ul h1 h2 h3 h4 h5 h6 pre listing li dd dt hr",
    P: "p",
    ITEM: "li",
    TERM: "dd dt",
    CELL: "td th",
    ROW: "tr",
    GROUP: "tbody thead tfoot",
    TABLE: "table",
    COLUMN: "col colgroup",
    LINK: "a",
    NOBR: "nobr",
    ROOT: "html head body",  # of which there is one each
    FORM: "form",
    SCRIPT: "script",
    CAPTION: "caption",
    FRAME: "frame frameset",
}


def _code(name: str) -> int:
    """Return the number of a name: all its bytes, or the first seven and the length."""
    data = name.encode()
    return int.from_bytes(data if len(data) <= 8 else data[:7] + bytes([128 + len(data)]), "little")


_ALL = sorted({name for names in NAMES.values() for name in names.split()}, key=_code)
CODES = np.array([_code(name) for name in _ALL], np.uint64)
KINDS = np.array([sum(kind for kind, names in NAMES.items() if name in names.split()) for name in _ALL], np.int64)


@kernel
def known(data, start, stop):
    """Return the position of a name in `CODES`, or -1."""
    code = np.uint64(0)
    length = stop - start
    for i in range(min(length, 7 if length > 8 else 8)):
        code |= np.uint64(lower(data[start + i])) << np.uint64(8 * i)
    if length > 8:
        code |= np.uint64(128 + min(length, 127)) << np.uint64(56)
    at = np.searchsorted(CODES, code)
    return at if at < len(CODES) and CODES[at] == code else -1


@kernel
def page_costs(data, most_steps, most_copied):
    """Return upper bounds for a page in UTF-8: (steps, bytes copied, elements open, known).

    A step is looking at an open element, an unclosed formatting element, or an attribute. The bytes
    are those of copied elements and joined texts. `known` is False if the page mixes HTML and SVG
    so that what is a tag depends on what the parser has open. Stops when a bound is above its most.
    O(bytes).
    """
    size = len(data)
    most = int(np.sqrt(2.0 * most_steps)) + 3  # deeper elements take more steps than this to reach
    begins, ends = np.empty(most, np.int64), np.empty(most, np.int64)  # the names of the open elements
    kinds, weights = np.empty(most, np.int64), np.empty(most, np.int64)
    plain = np.empty(most, np.int64)  # the position in CODES of a formatting element without attributes
    foreign_at = np.empty(most, np.bool_)  # whether it is certainly an element of SVG or MathML
    frame = np.empty(most + 1, np.int64)  # which of the first elements is the last part of a table, from 1
    names = np.empty((MOST_NAMES, 2), np.int64)  # of tags and attributes
    table = np.zeros(4 * MOST_NAMES, np.int32)
    total = 0
    frame[0] = 0
    open_plain = np.zeros(len(CODES), np.int64)
    steps = copied = weight = listed = written = 0
    depth = deepest = 0
    doubt = table_doubt = 0  # elements below may be closed already, so foreign_at and frame are uncertain
    foreign = templates = selects = tables = 0  # how many are open
    in_select = rooted = at = text = 0
    columns = frames = ended = False
    apart = 2  # whether the next text starts a node: 2 surely, 1 if it is white space, 0 perhaps not
    stored = False  # whether anything was stored since the last text, so that this cannot grow in place
    while at < size and steps <= most_steps and copied <= most_copied:
        while at < size and data[at] != 60:
            at += 1
        if at + 1 >= size:
            break
        closing = data[at + 1] == 47
        begin = at + 2 if closing else at + 1
        tag = begin < size and is_letter(data[begin])
        if not tag and not closing and data[begin] != 33 and data[begin] != 63:
            at += 1
            continue
        last = frame[depth]
        inside = last > table_doubt and kinds[last - 1] & (CELL | CAPTION) != 0
        apart_anyway = not columns and not frames and (tables == 0 or inside)  # texts go where elements go
        if at > text:
            written += at - text
            blank = apart == 1
            for i in range(text, at if blank else text):
                blank = blank and is_space(data[i])
            if apart < 2 and not blank and (stored or not apart_anyway):
                copied += written // 4  # the longest text that this can be joined to; the parser frees most of it
            stored = False
        surely = depth > doubt and foreign_at[depth - 1]
        if not tag:
            if begins_with(data, at, b"<!--"):
                stop = comment_stop(data, at)
            elif foreign and begins_with(data, at, b"<![CDATA["):
                stop = stop_after(data, at, b"]]>")
                if not surely and has_tag(data, stop_after(data, at, b">"), stop):
                    return steps, copied, deepest, False
            else:
                stop = stop_after(data, at, b">")
            at = text = stop
            apart = 2 if apart_anyway and not ended else 0
            stored = True
            continue
        end = name_stop(data, begin)
        number = known(data, begin, end)
        kind = KINDS[number] if number >= 0 else 0
        total, more = add_name(data, begin, end, table, names, total)
        steps += more
        stop, count, closed, total, more = attributes(data, end, table, names, total)
        steps += more
        if stop < 0:
            break
        in_select = in_select + 1 if selects else 0
        steps += 1 + depth + listed + in_select + count * count
        copied += weight
        stored = stored or count > 0
        keep = depth  # how many elements stay open
        if closing:
            mask = 0
            if foreign + templates == 0:
                mask = CELL * (kind & (ROW | GROUP | TABLE) != 0) | ROW * (kind & (GROUP | TABLE) != 0)
                mask |= GROUP * (kind & TABLE != 0)
            while keep > 0 and kinds[keep - 1] & mask:
                keep -= 1
            if keep > 0 and same(data, begin, end, begins[keep - 1], ends[keep - 1]):
                keep -= 1
                apart = 1 if kind & STRUCTURE else 2 if apart_anyway and not kind & (FORM | FRAME) else 0
            else:
                keep = depth
                apart = 0
                ended = ended or kind & ROOT != 0
                if kind & ROOT == 0:
                    doubt = depth
                if kind & (STRUCTURE | TEMPLATE | FRAME):
                    table_doubt = depth
                if kind & FORMAT:
                    steps += AGAIN * (depth + listed)
                    copied += AGAIN * weight
        elif foreign + templates == 0:
            mask = P * (kind & CLOSES_P != 0) | kind & (ITEM | TERM | CELL)
            mask |= (CELL | ROW) * (kind & (ROW | GROUP) != 0) | kind & GROUP
            while keep > 0 and kinds[keep - 1] & mask:
                keep -= 1
        while depth > keep:
            depth -= 1
            kind_of = kinds[depth]
            foreign -= kind_of & FOREIGN != 0
            templates -= kind_of & TEMPLATE != 0
            selects -= kind_of & SELECT != 0
            tables -= kind_of & TABLE != 0
            weight -= weights[depth]
            listed -= weights[depth] > 0
            if plain[depth] >= 0:
                open_plain[plain[depth]] -= 1
        doubt, table_doubt = min(doubt, depth), min(table_doubt, depth)
        columns = columns and templates > 0
        at = text = stop
        if closing:
            continue
        frames = frames or kind & FRAME != 0
        apart = 2 if apart_anyway or not kind & VOID else 0
        if kind & STRUCTURE:
            apart = 0 if frame[depth] <= table_doubt and not kind & TABLE else 2 if kind & (CELL | CAPTION) else 1
            if frame[depth] < depth:
                table_doubt = depth
        if kind & (ROOT | FORM) or frames or columns:
            apart = 0
        if kind & ROOT:
            rooted += 1 + count
            steps += count * rooted
            continue
        if foreign and (not surely or kind & BREAKOUT):
            doubt = depth
            surely = False
        columns = columns or (templates > 0 and kind & COLUMN != 0)
        if kind & VOID and (foreign == 0 or kind & BREAKOUT):
            continue
        if closed and (surely or kind & FOREIGN):
            continue
        weights[depth], plain[depth] = 0, -1
        if kind & FORMAT:
            steps += 3 * listed * (1 + count)
            if kind & (LINK | NOBR):
                steps += AGAIN * (depth + listed)
                copied += AGAIN * weight
            if kind & LINK:  # which ends the link before it, unless a marker hides that
                before = depth - 1
                while before >= 0 and not kinds[before] & (LINK | MARKER):
                    before -= 1
                if before >= 0 and kinds[before] & LINK:
                    weight -= weights[before]
                    listed -= weights[before] > 0
                    weights[before] = 0
            if count or kind & LINK:
                weights[depth] = NODE * (1 + count) + stop - begin
            else:  # of equal ones, only the last three are copied
                weights[depth] = NODE if open_plain[number] < 3 else 0
                open_plain[number] += 1
                plain[depth] = number
            weight += weights[depth]
            listed += weights[depth] > 0
        begins[depth], ends[depth], kinds[depth] = begin, end, kind
        foreign_at[depth] = kind & FOREIGN != 0 or (surely and not kind & CONTENT)
        frame[depth + 1] = depth + 1 if kind & STRUCTURE else frame[depth]
        depth += 1
        deepest = max(deepest, depth)
        if kind & RAW and not surely:
            at = raw_stop(data, stop, begin, end, kind & SCRIPT != 0)
            if (foreign or selects or columns or frames) and has_tag(data, stop, at):
                return steps, copied, deepest, False
            text = at
        foreign += kind & FOREIGN != 0
        templates += kind & TEMPLATE != 0
        selects += kind & SELECT != 0
        tables += kind & TABLE != 0
    return steps, copied, deepest, True
