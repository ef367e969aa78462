"""Extract the text of web pages: all that a reader sees, or the article alone.

selectolax parses the pages as browsers do. The article is the stretch of a page in which prose
outweighs everything else the most, as in Pasternack and Roth, "Extracting article text from the web
with maximum subsequence segmentation" (2009). Stop words and links decide what counts as prose.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from lookalike.core.errors import TooCostly, UsageError
from lookalike.items.page_limits import too_costly
from lookalike.items.stop_words import languages

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

FILLED = {"iframe", "object", "embed", "canvas", "audio", "video", "select"}  # whose content is not text of the page
UNSEEN = FILLED | {
    "head", "title", "script", "style", "template", "noscript", "noframes", "noembed", "svg", "datalist", "rp",
}  # fmt: skip
BOXES = FILLED | {"button"}  # within a line, but separate from the words beside them
BREAKING = {
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "col", "colgroup", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "listing", "main", "marquee", "menu", "nav", "ol", "optgroup",
    "option", "p", "plaintext", "pre", "search", "section", "summary", "table", "tbody", "td", "textarea", "tfoot",
    "th", "thead", "tr", "ul", "xmp",
}  # fmt: skip
AROUND = {"nav", "footer", "aside", "menu", "navigation", "contentinfo", "complementary", "banner", "search"}
MAIN = {"main", "article"}  # these and the above are both elements and roles
PLACING = AROUND | MAIN | {"a", "h1"}  # elements that change the `Place` of the text in them
NONE: Mapping[str, str | None] = {}
NO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # soft hyphens and the like
UNDISPLAYED = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.I)
WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|\w+")  # in scripts without spaces a letter is a word


LEAST_WORDS = 10  # fewest words of a block that is prose by itself
LEAST_STOPS = 0.25  # smallest share of stop words among its words
MOST_LINKED = 1 / 3  # largest share of its characters in links
USUAL_STOPS = 1 / 3  # share of stop words that most longer blocks of a page reach, if its language has a list

DECLARED = re.compile(rb"""<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
DECLARED_WITHIN = 4096  # bytes from the start in which a declaration counts
BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# Names of encodings that browsers know and Python does not.
LABELS = {
    label: name
    for name, labels in {
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "iso8859-6": "iso-8859-6-e iso-8859-6-i csiso88596e csiso88596i",
        "iso8859-7": "sun_eu_greek",
        "iso8859-8": "iso-8859-8-e iso-8859-8-i csiso88598e csiso88598i logical visual",
        "iso8859-15": "csisolatin9",
        "koi8-r": "koi koi8",
        "koi8-u": "koi8-ru",
        "mac-roman": "mac csmacintosh x-mac-roman",
        "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
        "cp874": "windows-874 dos-874",
        "cp932": "windows-31j x-sjis",
        "cp949": "windows-949 cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601",
        "gbk": "x-gbk csgb2312 gb_2312 gb_2312-80",
        "big5": "cn-big5 x-x-big5",
        "euc_jp": "x-euc-jp cseucpkdfmtjapanese",
    }.items()
    for label in labels.split()
}
LABELS |= {f"x-cp125{digit}": f"cp125{digit}" for digit in range(9)}
LABELS |= {f"iso8859{number}": f"iso8859-{number}" for number in range(1, 16) if number != 12}
# Encodings of pages by Python's names, and the ones that browsers use in place of some of them.
USED = re.compile(
    r"utf-8|cp866|cp874|cp932|cp949|cp125\d|iso8859-\d+|koi8-[ru]|mac-\w+|gb18030|euc_jp|iso2022_jp|big5hkscs"
)
TAKEN_FOR = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
}  # fmt: skip


class Place(NamedTuple):
    """What is known about where on the page a text is."""

    linked: bool = False
    around: bool = False  # in navigation, a footer and the like
    main: bool = False  # in the element of the page's main content, or an article
    headline: bool = False

    def within(self, names: set[str | None]) -> "Place":
        """Return the place inside an element with this tag and role."""
        return Place(
            self.linked or "a" in names,
            self.around or not names.isdisjoint(AROUND),
            self.main or not names.isdisjoint(MAIN),
            self.headline or "h1" in names,
        )


class PageBlock(NamedTuple):
    """Text between two breaks, the share of it in links, and its place."""

    text: str
    linked: float
    place: Place


def visible_text(page: bytes | str) -> str:
    """Return all text of a page that a reader sees, one block per line.

    Scripts, styles, comments and hidden elements are left out. `decode_page` decodes bytes.

    >>> visible_text("<title>no</title><p>One<b>word</b> &amp; more<br>lines<script>x < y</script>")
    'Oneword & more\\nlines'
    """
    return "\n".join(block.text for block in _blocks(page))


def article_text(page: bytes | str) -> str:
    """Return the main text of a page without menus, ads and footers; empty if there is no prose.

    A block is prose if it has at least 10 words, at least a quarter of them stop words, and at most
    a third of it is links; blocks in navigation, footers and asides are never prose. The article is
    the stretch of blocks with the greatest sum of words, where prose and headlines count up and the
    rest counts down. Returned are its prose, its headlines and its shorter blocks that are
    otherwise like prose. If half of the prose is in `main` or `article` elements, only those count.
    The stop words are those of the page's apparent language, if it has a list.

    >>> article_text("<nav>Home</nav><p>The bell of the old town hall was found in a barn by the river.<footer>About")
    'The bell of the old town hall was found in a barn by the river.'
    """
    blocks = list(_blocks(page))
    words = [WORD.findall(block.text.lower()) for block in blocks]
    longer = [some for block, some in zip(blocks, words, strict=True) if _weight(block, some, None) >= LEAST_WORDS]
    stops = _stop_words(longer)
    weights = [_weight(block, some, stops) for block, some in zip(blocks, words, strict=True)]
    prose = sum(weight for weight in weights if weight > 0)
    inside = sum(weight for block, weight in zip(blocks, weights, strict=True) if weight > 0 and block.place.main)
    if 2 * inside >= prose:
        weights = [w if block.place.main else -len(some) for block, some, w in zip(blocks, words, weights, strict=True)]
    start, stop = _heaviest(weights)
    found = [blocks[at] for at in range(start, stop) if weights[at] >= 0]
    return "" if all(block.place.headline for block in found) else "\n".join(block.text for block in found)


def decode_page(page: bytes, sent: str = "") -> str:
    """Return the text of a page given as bytes, markup included.

    The encoding is that of a byte order mark, else the one the page was `sent` with, else the one it
    declares, else UTF-8, else Windows-1252. Invalid bytes become U+FFFD.

    >>> decode_page(b"<p>caf\\xe9</p>")
    '<p>café</p>'
    """
    for mark, encoding in BOMS.items():
        if page.startswith(mark):
            return page[len(mark) :].decode(encoding, "replace")
    start = re.sub(rb"<!--.*?-->", b"", page[:DECLARED_WITHIN], flags=re.S)
    declared = DECLARED.search(start)
    for label in (sent.lower(), declared[1].decode().lower() if declared else ""):
        with suppress(LookupError):  # there is no such encoding
            name = codecs.lookup(LABELS.get(label, label)).name
            if name in TAKEN_FOR or USED.fullmatch(name):
                return page.decode(TAKEN_FOR.get(name, name), "replace")
    try:
        return page.decode()
    except UnicodeDecodeError:
        return page.decode("cp1252", "replace")


def need_selectolax() -> None:
    """Raise an error unless selectolax is installed."""
    try:
        import selectolax.lexbor  # noqa: F401
    except ImportError:
        message = "reading pages needs selectolax, which is not installed: pip install 'lookalike[html]'"
        raise UsageError(message) from None


def _blocks(page: bytes | str) -> Iterator[PageBlock]:
    """Yield the blocks of a page that have visible text."""
    need_selectolax()
    from selectolax.lexbor import LexborHTMLParser

    markup = (decode_page(page) if isinstance(page, bytes) else page).encode(errors="ignore")
    if (why := too_costly(markup)) is not None:
        raise TooCostly(f"the page {why}.")
    body = LexborHTMLParser(markup, scripting=True).body
    texts: list[tuple[str, Place]] = []  # since the last break
    for piece in _pieces(body) if body is not None else ():  # pages of frames have no body
        if piece is not None:
            texts.append(piece)
        elif texts:
            text = _collapse(text for text, _ in texts)
            if text:
                linked = _collapse(text for text, place in texts if place.linked)
                yield PageBlock(text, len(linked) / len(text), texts[0][1])
            texts.clear()


def _pieces(body: "LexborNode") -> Iterator[tuple[str, Place] | None]:
    """Yield the visible texts with their places, and None at breaks.

    Not recursive, since pages nest deeply. As in browsers, unknown elements do not break the line.
    """
    marked = {node.mem_id: node.attributes for node in body.css("[hidden], [style], [role], dialog")}
    inside = [(body.iter(include_text=True), "body", Place())]  # the open elements
    while inside:
        children, tag, place = inside[-1]
        node = next(children, None)
        if node is None:
            inside.pop()
        elif node.is_text_node:
            yield node.text(deep=False), place
            continue
        elif node.is_element_node and not _is_hidden(tag := node.tag or "", marks := marked.get(node.mem_id, NONE)):
            if tag in PLACING or marks:
                place = place.within({tag, marks.get("role")})
            inside.append((node.iter(include_text=True), tag, place))
        elif tag not in FILLED:
            continue
        if tag in BREAKING:
            yield None
        elif tag in BOXES:
            yield " ", place


def _is_hidden(tag: str, marks: Mapping[str, str | None]) -> bool:
    """Return whether an element is invisible to a reader."""
    closed = tag == "dialog" and "open" not in marks
    return tag in UNSEEN or closed or "hidden" in marks or bool(UNDISPLAYED.search(marks.get("style") or ""))


def _collapse(texts: Iterable[str]) -> str:
    """Join the texts, collapse white space and drop characters without width."""
    text = "".join(texts)
    return " ".join((text if text.isascii() else text.translate(NO_WIDTH)).split())


def _stop_words(blocks: Sequence[Sequence[str]]) -> frozenset[str] | None:
    """Return the stop list with the most hits; None if most blocks have fewer hits than prose has.

    Then the language has no list, but shares words with one that has, as Danish does with Swedish.
    """
    lists = languages()
    counts = Counter(word for words in blocks for word in words)
    _, code = max((sum(counts[word] for word in words if word in counts), code) for code, words in lists.items())
    usual = sum(len(words) for words in blocks if _share(words, lists[code]) >= USUAL_STOPS)
    return lists[code] if 2 * usual >= counts.total() else None


def _share(words: Sequence[str], stops: frozenset[str]) -> float:
    """Return the share of stop words among the words."""
    return sum(word in stops for word in words) / max(1, len(words))


def _weight(block: PageBlock, words: Sequence[str], stops: frozenset[str] | None) -> int:
    """Return the number of words of a prose block, 0 if it is unclear, else minus the number."""
    if block.place.around:
        return -len(words)
    if block.place.headline:
        return len(words)
    if block.linked > MOST_LINKED or (stops is not None and _share(words, stops) < LEAST_STOPS):
        return -len(words)
    return len(words) if len(words) >= LEAST_WORDS else 0


def _heaviest(weights: Sequence[int]) -> tuple[int, int]:
    """Return start and stop of the stretch with the greatest sum; (0, 0) if none is positive."""
    found, best = (0, 0), 0
    start, total = 0, 0
    for at, weight in enumerate(weights):
        total += weight
        if total <= 0:
            start, total = at + 1, 0
        elif total > best:
            found, best = (start, at + 1), total
    return found
