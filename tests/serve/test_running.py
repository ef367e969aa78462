"""Check which threads the end of a server waits for; `test_serve` checks the rest, with a server process."""

import threading

from lookalike.serve.running import wait_for_workers
from tests.commands import GUARD


def test_threads_that_were_there_before_are_not_awaited():
    """Those of earlier work are idle, and end with the process only."""
    release, began = threading.Event(), []
    before = threading.Thread(target=lambda: release.wait(GUARD))
    during = threading.Thread(target=lambda: began.append(True))
    before.start()
    others = threading.enumerate()
    during.start()
    wait_for_workers(others)
    assert began
    assert not during.is_alive()
    assert before.is_alive()
    release.set()
    before.join()
