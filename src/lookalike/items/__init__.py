"""What is compared: sets, vectors and codes of bits, and how texts become sets.

Lives here: `sets`, `vectors` and `bits` (frozen, made of arrays), `shingles` (texts to sets), `passages` (what two
texts share), `pages` (the text of web pages) and `stop_words`.
May import: `core`, `kernels`. To add a kind of item, give it a file here, a reader in `io` and a search in `search`.
"""
