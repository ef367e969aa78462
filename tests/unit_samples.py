"""Texts with hard Unicode, and plain twins that cut them into units."""

import unicodedata

from hypothesis import strategies as st

from lookalike.items.shingles import split_words

# Pieces that no normal form joins together. Any character of a SIMPLE piece in normal form stands
# for the whole piece.
SIMPLE = ["a", "b", "B", " ", "\n", "\u3000", "\t", ".", "\u00e9", "e\u0301", "\u03a3", "\u03c3", "\ud55c",
          "\u1112\u1161\u11ab", "\u0e01", "\u0e31", "\u4e00", "\U0001f600"]  # fmt: skip
PIECES = [*SIMPLE, "\ufb01", "\u00bd", "\u00a8", "\u0958", "E\u0301\u0323", "\u0e01\u0e38", "\u0e33"]
WHITE = {char for char in map(chr, range(0x3001)) if char.isspace()} - set("\x1c\x1d\x1e\x1f")  # as Unicode defines it
# Characters that normal forms join, reorder and decompose in all ways.
MIXED = (
    "abAB \n.\u00a0\u3000\u2028\x1c_9\u00e9e\u0301\u0323\u0327\u0345\u0130\u03a3\u03c2\u0391\u0e01\u0e31\u0e33\u0e38"
    "\u1100\u1161\u11a8\uac00\ud55c\u3131\u314f\uff76\uff9e\uffa1\uffc2\u304b\u3099\u4e00\uf900\ufb01\u00bd\u00a8\u2126"
    "\u0915\u093c\u0958\u0b47\u0b3e\u0cc6\u0cc2\u0cd5\u1b05\u1b35\U000110b9\U000110ba\U0001f600\u200d\ufe0f\U0001f3fd"
)
mixed = st.text(st.one_of(st.sampled_from(MIXED), st.characters(exclude_categories=["Cs", "Cn"])), max_size=25)


def traced(pieces, shingles):
    """Return the characters of a text in pieces as shingles see them: (character, start, end)."""
    found, at = [], 0
    for part in "".join(pieces) if shingles.form == "none" else pieces:
        clean = part
        for lower in (False, True)[: 1 + shingles.lowercase]:
            clean = "".join(char.lower() for char in clean) if lower else clean
            clean = clean if shingles.form == "none" else unicodedata.normalize(shingles.form.upper(), clean)
        whole = clean != part
        found += [(char, *((at, at + len(part)) if whole else (at + i, at + i + 1))) for i, char in enumerate(clean)]
        at += len(part)
    return found


def twin_units(pieces, shingles):
    """Return the units of a text: (unit, start, end)."""
    characters = traced(pieces, shingles)
    clean = "".join(char for char, _, _ in characters)
    found, at = [], 0
    if shingles.unit != "char":
        for word in split_words(clean, shingles.punctuation == "keep"):
            at = clean.index(word, at)
            found.append((word, characters[at][1], characters[at + len(word) - 1][2]))
            at += len(word)
        return found
    for char, start, end in characters:
        white = char in WHITE and shingles.space != "keep"
        if white and shingles.space == "collapse" and found and found[-1][0] == " ":
            found[-1] = (" ", found[-1][1], end)
        elif not white or (shingles.space == "collapse" and found):
            found.append((" " if white else char, start, end))
    return found[:-1] if shingles.space == "collapse" and found and found[-1][0] == " " else found
