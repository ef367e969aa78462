"""A plain-Python twin of the kernel that bounds the cost of parsing a page, read with regular expressions."""

import re

from lookalike.kernels.markup import (
    AGAIN,
    BREAKOUT,
    CAPTION,
    CELL,
    CLOSES_P,
    COLUMN,
    CONTENT,
    FOREIGN,
    FORM,
    FORMAT,
    FRAME,
    GROUP,
    ITEM,
    LINK,
    MARKER,
    MOST_NAMES,
    NAMES,
    NOBR,
    NODE,
    RAW,
    ROOT,
    ROW,
    SELECT,
    STRUCTURE,
    TABLE,
    TEMPLATE,
    TERM,
    VOID,
    P,
)

TAG = re.compile(rb"<(/?)([a-zA-Z][^\t\n\f\r />]*)")
BETWEEN = re.compile(rb"[\t\n\f\r /]*")
ATTRIBUTE = re.compile(rb"([^\t\n\f\r />][^\t\n\f\r />=]*)[\t\n\f\r ]*(=[\t\n\f\r ]*)?")
VALUE = re.compile(rb"""("[^"]*"|'[^']*')|(?!["'])[^\t\n\f\r >]*""")
OTHER = re.compile(rb"<(!--|!\[CDATA\[|!|\?|/)")


def tag_attributes(page, at):
    """Return where a tag stops, the names of its attributes and whether it ends in />; None if it never stops."""
    names = []
    while True:
        at = BETWEEN.match(page, at).end()
        if page[at : at + 1] == b">":
            return at + 1, names, page[at - 1 : at] == b"/"
        found = ATTRIBUTE.match(page, at)
        if found is None:
            return None
        names.append(found[1].lower())
        at = found.end()
        if found[2]:
            value = VALUE.match(page, at)
            if value is None:
                return None
            at = value.end()
            if not value[1] and page[at : at + 1] == b">":
                return at + 1, names, False


def raw_text_stop(page, at, name):
    """Return where the end tag of an element with raw text begins."""
    tag = re.compile(rb"<(/?)" + re.escape(name) + rb"(?=[\t\n\f\r />])|(<!(?=--))|(-->)", re.I)
    state = "shown"
    while found := tag.search(page, at):
        at = found.start() + (2 if found[2] else 1)
        if name == b"script" and found[2] and state == "shown":
            state = "escaped"
        elif found[3]:
            state = "shown"
        elif not found[2] and found[1] and state != "double":
            return found.start()
        elif not found[2] and state != "shown":
            state = "escaped" if found[1] else "double"
    return len(page)


def page_costs(page):
    """Return upper bounds of the steps, bytes and open elements of parsing a page, and whether they are known."""
    costs = PageCosts(page)
    known = costs.read()
    return costs.steps, costs.copied, costs.deepest, known


class PageCosts:
    """A stack of open elements from which an end tag removes one only if a parser is certain to."""

    def __init__(self, page):
        self.page = page
        self.open = []  # dictionaries
        self.names = []
        self.steps = self.copied = self.deepest = self.written = 0
        self.doubt = self.table_doubt = self.in_select = self.rooted = 0
        self.columns = self.frames = self.ended = self.stored = False
        self.apart = 2

    def count(self, kind):
        return sum(bool(element["kind"] & kind) for element in self.open)

    def weights(self):
        return [element["weight"] for element in self.open if element["weight"]]

    def last_of_table(self):
        """Return the number of the last open element that is a part of a table, from 1."""
        return max((at for at, one in enumerate(self.open, 1) if one["kind"] & STRUCTURE), default=0)

    def texts_follow_elements(self):
        last = self.last_of_table()
        inside = last > self.table_doubt and self.open[last - 1]["kind"] & (CELL | CAPTION)
        return not self.columns and not self.frames and bool(inside or not self.count(TABLE))

    def surely_foreign(self):
        return len(self.open) > self.doubt and self.open[-1]["foreign"]

    def read(self):
        at = text = 0
        while (at := self.page.find(b"<", at)) >= 0:
            tag, other = TAG.match(self.page, at), OTHER.match(self.page, at)
            if tag is None and other is None:
                at += 1
                continue
            self.add_text(self.page[text:at])
            if tag is None:
                at = text = self.other(at, other[1])
                if at is None:
                    return False
                continue
            found = tag_attributes(self.page, tag.end())
            self.look_up(tag[2].lower())
            if found is None:
                return True
            at, attributes, closed = found
            for name in attributes:
                self.look_up(name)
            kind = sum(kind for kind, names in NAMES.items() if tag[2].decode("latin-1").lower() in names.split())
            self.in_select = self.in_select + 1 if self.count(SELECT) else 0
            self.steps += 1 + len(self.open) + len(self.weights()) + self.in_select + len(attributes) ** 2
            self.copied += sum(self.weights())
            self.stored |= bool(attributes)
            if tag[1]:
                self.close(tag[2].lower(), kind)
            else:
                at = self.begin(tag[2].lower(), kind, len(attributes), closed, at, at - tag.start(2))
                if at is None:
                    return False
            text = at
        return True

    def look_up(self, name):
        self.steps += 1 + len(self.names) // 4
        if name not in self.names[:MOST_NAMES]:
            self.names.append(name)

    def add_text(self, text):
        if text:
            self.written += len(text)
            blank = self.apart == 1 and not text.strip(b"\t\n\f\r ")
            if self.apart < 2 and not blank and (self.stored or not self.texts_follow_elements()):
                self.copied += self.written // 4
            self.stored = False

    def other(self, at, start):
        """Read a comment or the like; return where it stops, or None if that is not certain."""
        after = [self.page.find(b">", at) + 1 or len(self.page)]
        if start == b"!--":
            ends = re.compile(rb"-->").search(self.page, at + 2), re.compile(rb"--!>").search(self.page, at + 4)
            after = [found.end() for found in ends if found] or [len(self.page)]
        elif start == b"![CDATA[" and self.count(FOREIGN):
            stop = self.page.find(b"]]>", at) + 3 if b"]]>" in self.page[at:] else len(self.page)
            if not self.surely_foreign() and b"<" in self.page[after[0] : stop]:
                return None
            after = [stop]
        self.apart = 2 if self.texts_follow_elements() and not self.ended else 0
        self.stored = True
        return min(after)

    def leave(self, keep):
        del self.open[keep:]
        self.doubt, self.table_doubt = min(self.doubt, keep), min(self.table_doubt, keep)
        self.columns = self.columns and bool(self.count(TEMPLATE))

    def close(self, name, kind):
        keep, plain = len(self.open), self.texts_follow_elements()
        over = 0
        if not self.count(FOREIGN | TEMPLATE):
            over = {ROW: CELL, GROUP: CELL | ROW, TABLE: CELL | ROW | GROUP}.get(kind & (ROW | GROUP | TABLE), 0)
        while keep and self.open[keep - 1]["kind"] & over:
            keep -= 1
        if keep and self.open[keep - 1]["name"] == name:
            self.apart = 1 if kind & STRUCTURE else 2 if plain and not kind & (FORM | FRAME) else 0
            self.leave(keep - 1)
            return
        self.apart = 0
        self.ended |= bool(kind & ROOT)
        if not kind & ROOT:
            self.doubt = len(self.open)
        if kind & (STRUCTURE | TEMPLATE | FRAME):
            self.table_doubt = len(self.open)
        if kind & FORMAT:
            self.again()
        self.leave(len(self.open))

    def again(self):
        self.steps += AGAIN * (len(self.open) + len(self.weights()))
        self.copied += AGAIN * sum(self.weights())

    def begin(self, name, kind, attributes, closed, stop, length):
        """Open an element; return where reading goes on, or None if that is not certain."""
        surely, plain = self.surely_foreign(), self.texts_follow_elements()
        if not self.count(FOREIGN | TEMPLATE):
            over = P if kind & CLOSES_P else 0
            over |= kind & (ITEM | TERM | CELL | GROUP) | (CELL | ROW if kind & (ROW | GROUP) else 0)
            while self.open and self.open[-1]["kind"] & over:
                self.open.pop()
        self.leave(len(self.open))
        self.frames |= bool(kind & FRAME)
        self.apart = 2 if plain or not kind & VOID else 0
        if kind & STRUCTURE:
            certain = self.last_of_table() > self.table_doubt or kind & TABLE
            self.apart = (2 if kind & (CELL | CAPTION) else 1) if certain else 0
            if self.last_of_table() < len(self.open):
                self.table_doubt = len(self.open)
        if kind & (ROOT | FORM) or self.frames or self.columns:
            self.apart = 0
        if kind & ROOT:
            self.rooted += 1 + attributes
            self.steps += attributes * self.rooted
            return stop
        if self.count(FOREIGN) and (not surely or kind & BREAKOUT):
            self.doubt, surely = len(self.open), False
        self.columns |= bool(self.count(TEMPLATE) and kind & COLUMN)
        if (kind & VOID and (not self.count(FOREIGN) or kind & BREAKOUT)) or (closed and (surely or kind & FOREIGN)):
            return stop
        weight = self.weigh(name, kind, attributes, length) if kind & FORMAT else 0
        raw_in_doubt = self.count(FOREIGN | SELECT) or self.columns or self.frames
        foreign = bool(kind & FOREIGN or (surely and not kind & CONTENT))
        element = {"name": name, "kind": kind, "weight": weight, "foreign": foreign, "bare": not attributes}
        self.open.append(element)
        self.deepest = max(self.deepest, len(self.open))
        if kind & RAW and not surely:
            end = raw_text_stop(self.page, stop, name)
            return None if raw_in_doubt and b"<" in self.page[stop:end] else end
        return stop

    def weigh(self, name, kind, attributes, length):
        """Return the bytes of each copy of a formatting element."""
        self.steps += 3 * len(self.weights()) * (1 + attributes)
        if kind & (LINK | NOBR):
            self.again()
        if kind & LINK:
            before = next((one for one in reversed(self.open) if one["kind"] & (LINK | MARKER)), None)
            if before is not None and before["kind"] & LINK:
                before["weight"] = 0
        if attributes or kind & LINK:
            return NODE * (1 + attributes) + length
        return NODE if sum(one["name"] == name and one["bare"] for one in self.open) < 3 else 0
