"""Refuse web pages that could take a parser too long, or too much memory."""

import numpy as np

MOST_STEPS = 100_000_000  # of parsing a page: about a second. Pages of news need about 100,000.
MOST_COPIED = 128 << 20  # bytes that parsing may copy: less than a second. Pages of news need about 500,000.
MOST_PER_BYTE = 32  # more of both for each byte of a page, so that no page is refused for its size alone


def too_costly(page: bytes) -> str | None:
    """Return why a page in UTF-8 is not parsed: it could take too long, or too much memory.

    >>> too_costly(b"<p>one<p>two")
    >>> too_costly(b"<div>" * 20_000)
    'nests its elements too deeply, or has too many names or attributes, to be parsed in 103,200,000 steps'
    """
    from lookalike.kernels.markup import page_costs  # here, because Numba takes long to import

    most_steps, most_copied = MOST_STEPS + MOST_PER_BYTE * len(page), MOST_COPIED + MOST_PER_BYTE * len(page)
    steps, copied, _, is_known = page_costs(np.frombuffer(page, np.uint8), most_steps, most_copied)
    if steps > most_steps:
        return (
            f"nests its elements too deeply, or has too many names or attributes, to be parsed in {most_steps:,} steps"
        )
    if copied > most_copied:
        return f"has too many unclosed or misplaced tags to be parsed in {most_copied >> 20} MB"
    return None if is_known else "mixes HTML with SVG, lists or frames so that the cost of parsing it is unknown"
