"""The items to compare: sets, vectors and bit codes, and the ways to make sets from texts.

Lives here: `sets`, `vectors` and `bits` (frozen, made of arrays), `shingles` (texts to sets),
`passages` (what two texts share), `pages` (the text of web pages) and `stop_words`.
May import: `core`, `kernels`. A new kind of item needs a file here, a reader in `io` and a search.
"""
