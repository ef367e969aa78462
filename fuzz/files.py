"""Runs commands on damaged files, and checks what each does."""

import json
import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fuzz import mutate
from fuzz.failures import Failure, Failures
from fuzz.samples import Sample, companions, samples
from fuzz.worker import Outcome, Worker

LIMIT = 60.0  # seconds for a command, ample for a small file even on a busy machine
NOTES = ("plan: ", "      ", "first run: ", "note: ", "lookalike: warning: ")  # lines that are not errors


class Case(NamedTuple):
    """A damaged file, and the command to run on it."""

    sample: Sample
    content: bytes
    command: str


class FileFuzzer:
    """Makes cases from a seed, runs them, and saves those that fail."""

    def __init__(self, seed: int, failures: Failures) -> None:
        self.seed, self.failures = seed, failures
        self.samples, self.tried = samples(), 0
        self.secret = f"secret-{random.Random(seed).getrandbits(128):032x}"
        self.worker = Worker(self.secret.encode(), LIMIT)

    def case(self, number: int) -> Case:
        """Make a case, always the same one for the same seed and number."""
        draw = random.Random(f"{self.seed} {number}")
        sample = self.samples[number % len(self.samples)]
        alike = tuple(one.content for one in self.samples if Path(one.name).suffix == Path(sample.name).suffix)
        inside = draw.random() < 0.6 or sample.name.endswith(".mdb")
        content = (
            mutate.damaged_inside(sample.name, sample.content, draw)
            if inside
            else mutate.damaged(sample.content, draw, alike)
        )
        return Case(sample, content, draw.choice(sample.commands))

    def run(self, numbers: Iterator[int]) -> None:
        """Run cases by their numbers."""
        with TemporaryDirectory() as folder:
            companions(Path(folder))
            for number in numbers:
                self._try(number, Path(folder))
        self.worker.stop()

    def _try(self, number: int, by: Path) -> None:
        case = self.case(number)
        with TemporaryDirectory() as folder:
            file, out = Path(folder) / "in" / case.sample.name, Path(folder) / "out"
            file.parent.mkdir(parents=True)
            file.write_bytes(case.content)
            out.mkdir()
            if file.suffix == ".mdb":
                for name in ("in-use", "writing"):
                    (file.parent / name).touch()
            places = {"file": file, "home": file.parent, "out": out, "by": by}
            args = [word.format(**places) for word in shlex.split(case.command)] + ["-q"]
            outcome = self.worker(args)
            found = faults(outcome, out, case, self.secret)
            self.tried += 1
            if found:
                again = f"python -m fuzz files --seed {self.seed} --case {number}    # {case.command}"
                said = outcome.out + outcome.err
                self.failures.add(Failure("; ".join(found), again, case.content, Path(case.sample.name).name, said))


def faults(outcome: Outcome, out: Path, case: Case, secret: str) -> list[str]:
    """Return what is wrong with the outcome of a command, which could write to the folder `out`."""
    if outcome.fate:
        return [f"the process {outcome.fate}"]
    found = []
    said = outcome.err.decode("utf-8", "replace")
    errors = [line for line in said.splitlines() if line and not line.startswith(NOTES)]
    if "Traceback" in said:
        found.append(f"a traceback: {said.strip().splitlines()[-1]}")
    elif outcome.status not in (0, 1, 2):
        found.append(f"exit status {outcome.status}")
    elif len(errors) != (outcome.status != 0) or not all(line.startswith("lookalike: ") for line in errors):
        found.append(f"not one line for exit status {outcome.status}: {errors[:3]}")
    if any(ord(letter) < 32 and letter != "\n" for letter in said):
        found.append(f"control characters in a message: {said!r}")
    return found + _faults_of_files(outcome, out, case, secret)


def _faults_of_files(outcome: Outcome, out: Path, case: Case, secret: str) -> list[str]:
    """Return what is wrong with the files that a command has written."""
    expected = {Path(word).parts[1] for word in shlex.split(case.command) if word.startswith("{out}/")}
    written = {path.name for path in out.iterdir()}
    allowed = expected if outcome.status == 0 else set()
    found = [f"left behind: {', '.join(sorted(written - allowed))}"] if written - allowed else []
    said = [outcome.out, outcome.err, *(path.read_bytes() for path in out.rglob("*") if path.is_file())]
    if any(secret.encode() in one for one in said):
        found.append("the secret in the process's memory was written")
    kept = out / "kept.jsonl"
    if case.sample.verbatim and kept.exists():
        for line in kept.read_bytes().splitlines():
            strange = [text for text in _texts(json.loads(line)) if text.encode() not in case.content]
            if strange:
                found.append(f"a text that is not in the file: {strange[0][:100]!r}")
                break
    return found


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings within a JSON value, but not the dates, which are numbers in the file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            if name != "day":
                yield from _texts(one)
