"""Write src/lookalike/kernels/characters.py: what each Unicode character is to a tokeniser.

The table is frozen in the package, not asked of the running Python, because a shingle's hash must be
the same on every machine and under every Python release. Run it again only with a new format version:

    python tools/make_characters.py > src/lookalike/kernels/characters.py
"""

import textwrap
import unicodedata
from collections.abc import Iterable
from itertools import groupby

# Scripts written without spaces between words: each letter is a token of its own (UAX #29 does the
# same for ideographs, hiragana and the "complex context" scripts of South-East Asia).
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "THAI ", "LAO ", "MYANMAR ",
    "KHMER ", "TAI THAM", "NEW TAI LUE", "TAI VIET", "TAI LE", "AHOM", "TANGUT IDEOGRAPH",
)  # fmt: skip
WHITE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
         0x205F, 0x3000}  # fmt: skip
JOINERS = {0x200C, 0x200D}


def kind(code: int) -> str:
    """The class of a code point: S separator, W white space, L letter, A letter that stands alone, M mark."""
    char = chr(code)
    category = unicodedata.category(char)
    if code in WHITE:
        return "W"
    if code in JOINERS or category[0] == "M":
        return "M"
    if category[0] == "L" and unicodedata.name(char, "").startswith(UNSPACED):
        return "A"
    if category[0] == "L" or category[0] == "N" or category == "Pc":
        return "L"
    if category == "Cn" and 0x20000 <= code < 0x3FFFE:  # planes reserved for ideographs
        return "A"
    return "S"


def unstable() -> set[int]:
    """Code points that normal form C may change, move or join to the one before them."""
    found = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # Hangul vowels and final consonants
    for code in range(0x110000):
        if unicodedata.combining(chr(code)) or not unicodedata.is_normalized("NFC", chr(code)):
            found.add(code)
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(int(parts[1], 16))
    return found


def runs(kinds: Iterable[str]) -> str:
    """Each run of equal kinds as the kind and, in base 36, the run's length; folded to lines."""
    text = ""
    for value, group in groupby(kinds):
        length, number = sum(1 for _ in group), ""
        while length:
            length, digit = divmod(length, 36)
            number = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + number
        text += value + number
    return "\n".join(textwrap.wrap(text, 110))


HEADER = '''"""Classify characters for the tokeniser: separator, white space, letter, lone letter or mark.

The table is frozen (Unicode {version}, written by tools/make_characters.py), so that a shingle hashes
to the same number on every machine and under every Python. Letters include digits and connectors
such as `_`; marks and joiners belong to the word before them; a lone letter (an ideograph, a
hiragana, a Thai letter) is a word by itself, since its script puts no spaces between words.
"""

import re

import numpy as np

SEPARATOR, SPACE, LETTER, ALONE, MARK = range(5)
KIND = 7  # the bits that hold one of these
UNSTABLE = 8  # a flag: normal form C can change, move or join this character
PAGE = 256  # characters per page of the two-level table

# Runs from U+0000 on: the kind (S, W, L, A, M in the order above) and, in base 36, the length.
KINDS = """
{kinds}
"""
# The same for stable (S) and unstable (U) characters.
STABILITY = """
{stability}
"""


def _spread(runs: str, letters: str) -> np.ndarray:
    """Return one number per character: the place of its run's letter in `letters`."""
    pairs = re.findall("([A-Z])([0-9a-z]+)", runs.replace("\\n", ""))
    values = np.array([letters.index(letter) for letter, _ in pairs], dtype=np.uint8)
    return np.repeat(values, [int(length, 36) for _, length in pairs])


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Return (index, pages): the entry of character c is pages[index[c // PAGE], c % PAGE]."""
    flat = _spread(KINDS, "SWLAM") + UNSTABLE * _spread(STABILITY, "SU")
    pages: dict[bytes, int] = {}  # distinct pages in order of appearance
    index = [pages.setdefault(page.tobytes(), len(pages)) for page in flat.reshape(-1, PAGE)]
    return np.array(index, dtype=np.uint8), np.frombuffer(b"".join(pages), dtype=np.uint8).reshape(-1, PAGE)


INDEX, PAGES = _tables()'''


if __name__ == "__main__":
    moving = unstable()
    tables = {
        "{version}": unicodedata.unidata_version,
        "{kinds}": runs(kind(code) for code in range(0x110000)),
        "{stability}": runs("U" if code in moving else "S" for code in range(0x110000)),
    }
    for mark, value in tables.items():
        HEADER = HEADER.replace(mark, value)
    print(HEADER)
