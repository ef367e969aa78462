"""Find out whether a file of LMDB is complete, although it is shorter than its number of pages says.

LMDB does not write a page that a transaction takes and gives back. At the end of the file, such pages
are missing, and it is complete as long as all that are missing are in the list of free pages. LMDB has no
call that returns this list, so it is read here, in the layout of version 1: a tree whose entries are the
pages that one transaction gave back.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

MAGIC, VERSION = 0xBEEFC0DE, 1
HEAD = 16  # bytes of a page before its content, or before the places of its entries
METAS = 2  # pages that each begin a state of the file; the older one is overwritten next
FREE_ROOT, LAST, NUMBER = 80, 136, 144  # places in such a page
BRANCH, ELSEWHERE = 1, 1  # flags of a page, and of an entry whose content has pages of its own
TRIES = 1000
NOTHING = (1 << 64) - 1  # the root of an empty tree


def is_complete(env: Any, path: str) -> bool:
    """Return whether the file of an environment has all pages that are in use."""
    size = env.stat()["psize"]
    if (env.info()["last_pgno"] + 1) * size <= os.path.getsize(path):
        return True
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for _ in range(TRIES):
            with env.begin() as txn:  # as long as it lasts, its pages are not used again
                metas = [size * number for number in range(METAS)]
                if any(struct.unpack_from("=II", content, meta + HEAD) != (MAGIC, VERSION) for meta in metas):
                    return False
                for meta in metas:
                    if _number(content, meta + NUMBER) == txn.id():
                        return _complete(content, meta, size)
            # else others have written twice since it began
    return False


def _complete(content: mmap.mmap, meta: int, size: int) -> bool:
    """Return whether all pages that are missing in a state of the file are free."""
    try:
        free = {page for pages in _free(content, _number(content, meta + FREE_ROOT), size) for page in pages}
    except (struct.error, ValueError):  # the list itself is not complete
        return False
    return free.issuperset(range(len(content) // size, _number(content, meta + LAST) + 1))


def _free(content: mmap.mmap, root: int, size: int) -> Iterator[list[int]]:
    """Yield the numbers of free pages, some at a time."""
    waiting = [] if root == NOTHING else [root]
    for _ in range(len(content) // size):
        if not waiting:
            return
        page = size * waiting.pop()
        flags, end = struct.unpack_from("=HH", content, page + 10)
        for place in struct.unpack_from(f"={(end - HEAD) // 2}H", content, page + HEAD):
            low, high, more, key = struct.unpack_from("=4H", content, page + place)
            at = page + place + 8 + key
            if flags & BRANCH:
                waiting.append(low | high << 16 | more << 32)
                continue
            if more & ELSEWHERE:
                at = size * _number(content, at) + HEAD
            stop = at + 8 + 8 * _number(content, at)
            yield np.frombuffer(content[at + 8 : stop], "=u8").tolist()


def _number(content: mmap.mmap, at: int) -> int:
    (number,) = struct.unpack_from("=Q", content, at)
    return int(number)
