"""Ask the system about this process: when it started, what slowed it down, and how much memory it has used."""

import os
import resource
import sys
import time
from pathlib import Path

PROC = Path("/proc/self")  # on Linux; elsewhere it does not exist


def process_start(otherwise: float) -> float:
    """Return when this process started, on the clock of `time.perf_counter`.

    Return `otherwise` where the system does not say, and if the process ran another program before
    this one, as a shell does that replaces itself by its last command.
    """
    if resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt:  # it started other processes and waited for them
        return otherwise
    try:
        after_name = (PROC / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        started = int(after_name[19]) / os.sysconf("SC_CLK_TCK")  # seconds since the system was booted
        return time.perf_counter() - max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, ValueError, IndexError, AttributeError):
        return otherwise


def crowding() -> float:
    """Return how many times as long the main thread has taken because it had to wait for a core; 1 if nobody says."""
    try:
        ran, waited = map(int, (PROC / "schedstat").read_text().split()[:2])
    except (OSError, ValueError):
        return 1.0
    return 1 + waited / max(1, ran)


def peak_memory() -> int:
    """Return the most bytes of memory that this process has held at a time.

    `ru_maxrss` is used only where there is nothing better: it includes the memory of the process
    that started this one, from before it ran this program.
    """
    try:
        lines = (PROC / "status").read_text("utf-8", "replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
