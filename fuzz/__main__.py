"""Runs the fuzzers: python -m fuzz [files|requests|kills] [--minutes N | --cases N | --case N]."""

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fuzz.failures import Failures
from fuzz.files import FileFuzzer
from fuzz.kills import JOBS, Killer
from fuzz.requests import RequestFuzzer


def numbers(minutes: float, cases: int | None, case: int | None) -> Iterator[int]:
    """Yield the numbers of cases: the given one, the first `cases`, or all until the time is over."""
    if case is not None:
        return iter([case])
    if cases is not None:
        return iter(range(cases))
    end = time.monotonic() + 60 * minutes
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())


def main() -> int:
    """Run the fuzzers that the arguments name; return 1 if something failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("all", "files", "requests", "kills"), default="all")
    parser.add_argument("--minutes", type=float, default=10, help="how long to run, in all")
    parser.add_argument("--cases", type=int, help="how many files, requests and kills to try instead")
    parser.add_argument("--case", type=int, help="the number of the only case to try")
    parser.add_argument("--job", choices=JOBS, help="the only job to kill")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32), help="default: a new one")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="folder for what failed")
    given = parser.parse_args()
    failures = Failures(given.keep)
    files, requests = (kind(given.seed, failures) for kind in (FileFuzzer, RequestFuzzer))
    kills = Killer(given.seed, failures, [given.job] if given.job else list(JOBS))
    named = {"files": files, "requests": requests, "kills": kills}
    chosen = [one for name, one in named.items() if given.what in ("all", name)]
    for fuzzer in chosen:
        fuzzer.run(numbers(given.minutes / len(chosen), given.cases, given.case))
    print(
        f"seed {given.seed}: {files.tried:,} files tried, {requests.tried:,} requests sent, "
        f"{kills.tried:,} processes killed, {failures.count:,} failures"
    )
    return 1 if failures.count else 0


if __name__ == "__main__":
    sys.exit(main())
