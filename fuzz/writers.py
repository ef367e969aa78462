"""Changes an index from several threads until it is killed: python -m fuzz.writers INDEX ROUND [BYTES]

Each thread adds items, some at a time, and removes some of its own. It prints a line when a change
is acknowledged. Another thread compacts the index now and then. With BYTES, no file can grow beyond
that size, as on a full disk; the threads go on after the errors that this causes.
"""

import resource
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from threading import Lock, Thread

from lookalike.core.errors import StoreError
from lookalike.index import Index

THREADS = 6
WORDS = 6  # in a text
FULL = "the disk may be full"  # what errors say then
PRINTING = Lock()
SOME = (1, 1, 1, 7, 100)  # items added at a time


def change(index: Index, round_: str, thread: int) -> None:
    """Add and remove items forever."""
    draw, own, number = Random(f"{round_} {thread}"), list[str](), 0
    while True:
        names = [f"{round_}-{thread}-{number + at}" for at in range(draw.choice(SOME))]
        number += len(names)
        if attempt("added", names, partial(index.add, [text(name) for name in names], names)):
            own += names
        gone = draw.sample(own, min(len(own) // 2, draw.choice(SOME)))
        if gone:
            own = [name for name in own if name not in gone]
            say("removing", *gone)
            attempt("removed", gone, partial(index.remove, gone))


def attempt(done: str, names: list[str], work: Callable[[], object]) -> bool:
    """Make a change, and report whether it was acknowledged; a full disk refuses it."""
    try:
        work()
    except StoreError as error:
        if FULL not in str(error):
            raise
        say("refused", *names)
        time.sleep(0.01)
        return False
    say(done, *names)
    return True


def say(*words: str) -> None:
    """Print a line, whatever other threads print."""
    with PRINTING:
        print(*words, flush=True)


def text(name: str) -> str:
    """Return the text of an item."""
    draw = Random(name)
    return " ".join(f"w{draw.randrange(5000)}" for _ in range(WORDS))


def compact(index: Index) -> None:
    """Compact the index now and then."""
    while True:
        time.sleep(0.3)
        try:
            index.compact()
        except StoreError as error:
            if FULL not in str(error):
                raise


def main() -> None:
    path, round_ = sys.argv[1:3]
    if len(sys.argv) > 3:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
    index = Index.open(Path(path))
    index.warm()
    say("ready")
    threads = [Thread(target=change, args=(index, round_, thread), daemon=True) for thread in range(THREADS)]
    threads += [Thread(target=compact, args=(index,), daemon=True)] if len(sys.argv) == 3 else []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
