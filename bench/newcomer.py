"""Time a newcomer's first steps: clone, every command of the README, dedup of their own files.

    python bench/newcomer.py

The newcomer's own files are 200 generated texts; forty of them are copies with one word changed.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
NOT_HERE = ("make test", "source")  # the first takes minutes; each shell activates .venv by itself
SERVING = 8  # seconds until a server is stopped


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with TemporaryDirectory() as folder:
        return walk(Path(folder))


def walk(folder: Path) -> int:
    """Take these steps in an empty folder; return the number of failed commands."""
    home, own, clone = folder / "home", folder / "own", folder / "lookalike"
    home.mkdir()
    write_files(own)
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb"}

    def paste(command: str, place: Path) -> tuple[int, float]:
        shell = command if command.startswith(("git", "make")) else f". .venv/bin/activate; {command}"
        began = time.perf_counter()
        done = subprocess.run(["bash", "-c", shell], cwd=place, env=environ, capture_output=True, text=True)
        if done.returncode not in (0, 124):
            print(done.stdout[-500:], done.stderr[-500:])
        return done.returncode, time.perf_counter() - began

    began = time.perf_counter()
    paste(f"git clone -q {ROOT} {clone}", folder)
    failed = 0
    for command in commands(clone / "README.md"):
        code, seconds = paste(f"timeout {SERVING} {command}" if " serve " in command else command, clone)
        print(f"{seconds:6.1f} s  {command}{'' if code in (0, 124) else '  FAILED'}")
        failed += code not in (0, 124)
        if command.startswith("make demo"):
            code, seconds = paste(f"lookalike dedup {own} --out own.jsonl --report own.html", clone)
            failed += code != 0
            since = f"{time.perf_counter() - began:.0f} s after the clone began"
            print(f"{seconds:6.1f} s  lookalike dedup on your own files: {since}")
    return failed


def commands(readme: Path) -> list[str]:
    """Return the commands after the prompts of a page, without comments."""
    blocks = re.findall(r"^```console\n(.*?)^```", readme.read_text(), re.M | re.S)
    lines = [line[2:].partition("#")[0].strip() for block in blocks for line in block.splitlines() if line[:2] == "$ "]
    return [line for line in lines if not line.startswith(NOT_HERE)]


def write_files(folder: Path) -> None:
    """Write 200 texts; every fifth is a copy of the one before with a word changed."""
    folder.mkdir()
    draw = random.Random(1)
    words: list[str] = []
    for number in range(200):
        if number % 5 < 4:
            words = [f"word{draw.randrange(5000)}" for _ in range(150)]
        else:
            words[7] = "changed"
        (folder / f"{number:03}.txt").write_text(" ".join(words))


if __name__ == "__main__":
    sys.exit(main())
