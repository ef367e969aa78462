"""Makes up web pages that are hard to parse: named attacks, and random tags, repeated."""

from random import Random

FORMATTING = ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]
NAMES = [
    "a", "b", "i", "font", "nobr", "em", "code", "p", "div", "span", "li", "ul", "dd", "dt", "dl", "td", "th", "tr",
    "tbody", "table", "caption", "col", "colgroup", "select", "option", "optgroup", "template", "svg", "math", "g",
    "path", "title", "desc", "foreignObject", "mi", "mtext", "annotation-xml", "object", "marquee", "applet",
    "button", "form", "input", "textarea", "script", "style", "html", "body", "head", "frameset", "frame",
    "noscript", "noframes", "iframe", "xmp", "br", "hr", "img", "h1", "ruby", "rt", "pre", "zzz", "image", "keygen",
    "center", "plaintext", "B", "DIV",
]  # fmt: skip
ATTRIBUTES = ["x", "x=y", "hidden", "n=#", "type=hidden x=y", "n#=y", "/", "color=#", "x='>'", 'x="<b>"', "x=/"]
OTHERS = [
    "<!---->", "<!--x-->", "<!-->", "<!--</b>-->", "<!----!>", "<![CDATA[", "]]>", "<![CDATA[</g>]]>", "<!doctype>",
    "<?x>", "</>", "<", "<<", "&amp;", "<script><!--</script>", "<script><!--<script></script>", "-->", "<!--",
]  # fmt: skip

ATTACKS = {
    "formatting with attributes": "<p>" + "".join(f"<b a={i}>" for i in range(600)) + "</p>" + "<p>x</p>" * 30_000,
    "formatting": "<p>" + "".join(f"<{name}>" * 3 for name in FORMATTING) + "</p>" + "<p>x</p>" * 100_000,
    "large formatting": f"<p><b title='{'x' * 100_000}'></p>" + "<p>x</p>" * 3000,
    "stray end tags": "<div></b>" * 100_000,
    "nested": "<div>" * 300_000,
    "nested in capitals": "<DIV>" * 30_000,
    "end tags in attributes": "<div title='</div>'>" * 30_000,
    "end tags in comments": "<div><!--</div>-->" * 30_000,
    "end tags in scripts": "<div><script></div></script>" * 30_000,
    "end tags in hidden scripts": "<div><script><!--<script></script></div>--></script>" * 30_000,
    "end tags in CDATA": "<svg><g><![CDATA[></g>]]>" * 30_000,
    "tags after CDATA": "<svg><p><![CDATA[>" + "<div>" * 30_000 + "]]>",
    "a style that is not raw": "<svg><desc><svg></desc><style>" + "<div>" * 30_000,
    "empty elements in drawings": "<svg>" + "<input>" * 30_000,
    "slashes outside drawings": "<svg></svg>" + "<path/>" * 30_000,
    "slashes after a drawing was ended": "<svg><p></p>" + "<path/>" * 30_000,
    "paragraphs ended by blocks": "<p><div></p>" * 30_000,
    "items and terms": "<li><dd>" * 30_000,
    "unclosed formatting": "<b><div></b>" * 30_000,
    "unclosed links": "<a><div>" * 30_000,
    "no breaks": "<nobr><div>" * 30_000,
    "options": "<select>" + "<option>" * 50_000,
    "templates": "<template>" * 30_000,
    "objects": "<object>" * 30_000,
    "text beside a table": "<table>" + "a<tr x=y>" * 100_000,
    "text beside a cell that was ended": "<table><td><x></td>" + "a<tr x=y>" * 100_000,
    "text beside ignored tags": "a<td x=y>" * 100_000,
    "text after the end": "a</body><!--x-->" * 100_000,
    "attributes of one tag": "<p " + " ".join(f"a{i}" for i in range(100_000)) + ">",
    "attributes of the body": "".join(f"<body a{i}>" for i in range(20_000)),
    "names of attributes": "".join(f"<br a{i}>" for i in range(100_000)),
    "names of tags": "".join(f"<a{i}></a{i}>" for i in range(100_000)),
}


def tag(random: Random) -> str:
    """Return a tag, a text or something that looks like a tag."""
    kind = random.random()
    if kind < 0.5:
        attribute = f" {random.choice(ATTRIBUTES)}" if random.random() < 0.5 else ""
        return f"<{random.choice(NAMES)}{attribute}{random.choice(['', '', '', '', '/'])}>"
    if kind < 0.8:
        return f"</{random.choice(NAMES)}>"
    return random.choice(["a", " ", "a ", "some text"] if kind < 0.93 else OTHERS)


def soup(random: Random, size: int) -> str:
    """Return a page of about this size: some tags, then others many times, up to three times."""
    parts = []
    for _ in range(random.randint(1, 3)):
        parts += [tag(random) for _ in range(random.randint(0, 5))]
        unit = "".join(tag(random) for _ in range(random.randint(1, 6)))
        times = max(1, size // len(unit) // 2)
        parts += [unit.replace("#", str(i)) for i in range(times)]
    return "".join(parts)
