"""Record what a command does, and write it to the JSON file that --stats names, also if it fails."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike import __version__, cli
from lookalike.cli.log import command_line
from lookalike.core.errors import UsageError
from lookalike.core.process import peak_memory
from lookalike.core.run import Finished, Planned
from lookalike.io.remote import RemotePath, files_in, place_of

if TYPE_CHECKING:
    from lookalike.cli.progress import TerminalRun
    from lookalike.io.part import Part
    from lookalike.results import Result
    from lookalike.search.plan import Plan

FORMAT = 1


class RunRecord:
    """What the running command has done so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.facts: dict[str, Any] = {"format": FORMAT, "command": command_line(), "version": __version__}
        self.started = utc(time.time() - (time.perf_counter() - cli.begun))
        self.inputs: list[Path] = []
        self.content: list[bytes] = []  # of standard input
        self.outputs: list[str] = []
        self.notes: list[str] = []
        self.run: TerminalRun | None = None

    def written(self, status: str, code: int, error: str | None) -> dict[str, Any]:
        """Return all facts, with the sizes and checksums of the files."""
        files: dict[str, Any] = {"inputs": [], "outputs": []}
        if status == "done":
            files = {"inputs": [*map(facts_of_bytes, self.content), *self._checked(self.inputs)]}
            places = [place_of(path) for path in self.outputs if path != "-"]
            files["outputs"] = self._checked(place for path in places for place in files_in(path))
        return {
            **self.facts,
            "status": status,
            "exit_code": code,
            "error": error,
            "started": self.started,
            "finished": utc(time.time()),
            "seconds": {name: round(taken, 3) for name, taken in self._seconds().items()},
            "threads": self.run.threads if self.run else None,
            "peak_memory": peak_memory(),
            **files,
            "notes": self.notes,
        }

    def _checked(self, paths: Iterable[Path]) -> list[dict[str, Any]]:
        if self.run is None:
            return [facts_of_file(path) for path in paths]
        with self.run.stage("checksums"):
            return list(self.run.map(facts_of_file, paths))

    def _seconds(self) -> dict[str, float]:
        return {} if self.run is None else {**self.run.seconds, "in all": self.run.waited()}


_record: RunRecord | None = None  # of the running command, if it was asked for


@contextmanager
def recording(options: Mapping[str, Any], set_by: Mapping[str, str]) -> Iterator[None]:
    """Write what the command in this block did to a JSON file, if its options name one with `stats`.

    `options` are the values of all options, and `set_by` names where some were set, if not on the command line.
    """
    global _record
    path = options.get("stats")
    if path is None:
        yield
        return
    check(path, options)
    before, _record = _record, RunRecord(path)
    record(options=options, set_by=set_by)
    try:
        yield
        _write(_record, "done", 0)
    except (Planned, Finished) as ended:
        _write(_record, "planned" if isinstance(ended, Planned) else "shared", 0)
        raise
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt | BrokenPipeError)
        why = " ".join(str(error).split()) or type(error).__name__
        _write(_record, "interrupted" if stopped else "failed", cli.code_of(error), None if stopped else why)
        raise
    finally:
        _record = before


def check(path: str, values: Mapping[str, Any]) -> None:
    """Raise an error, before any work is done, if the file cannot be written or is another one of the command."""
    from lookalike.cli.folders import check_outside
    from lookalike.io.inputs import check_apart, real_place
    from lookalike.io.write import check_place

    if path == "-":
        raise UsageError("--stats must name a file; got '-', and standard output is for results.")
    check_place(path)
    named = [one for value in values.values() for one in (value if isinstance(value, list) else [value])]
    same = [one for one in named if isinstance(one, str) and real_place(one) == real_place(path)]
    if len(same) > 1:
        raise UsageError(f"--stats and the other files must be different; got {path!r} twice.")
    if values.get("out") is not None:
        check_outside("--stats", path, values["out"])
    check_apart([path], values.get("inputs", []))


def _write(record: RunRecord, status: str, code: int, error: str | None = None) -> None:
    content = json.dumps(record.written(status, code, error), indent=1, default=float, ensure_ascii=False)
    from lookalike.io.write import replacing

    with replacing(record.path) as file:
        file.write(content.encode() + b"\n")


def record(**facts: Any) -> None:
    """Add facts to the record, if there is one."""
    if _record is not None:
        _record.facts |= facts


def record_run(run: "TerminalRun") -> None:
    """Record the times of a run."""
    if _record is not None:
        _record.run = run


def record_note(line: str) -> None:
    """Record a note or warning."""
    if _record is not None and line.startswith("note: "):
        _record.notes.append(line.removeprefix("note: "))


def record_inputs(parts: "Iterable[Part]") -> None:
    """Record the files that are read."""
    if _record is not None:
        for part in parts:
            _record.inputs.extend(part.paths)
            if isinstance(part.content, bytes):
                _record.content.append(part.content)


def record_inputs_at(paths: Iterable[str]) -> None:
    """Record the files or folders that another engine reads, if they are on this machine."""
    if _record is not None:
        _record.inputs.extend(file for path in paths if Path(path).exists() for file in files_in(Path(path)))


def record_outputs(*paths: str | None) -> None:
    """Record the files that are written; None stands for no file."""
    if _record is not None:
        _record.outputs.extend(path for path in paths if path is not None)


def record_result(result: "Result") -> None:
    """Record how a result was found, what was counted, and its recall."""
    if _record is None:
        return
    counts = {name: value for name, value in result.stats.items() if isinstance(value, int)}
    if "pairs" not in counts and counts.get("candidates") == 0:  # groups can be found without counting
        del counts["candidates"]
    record(counts={**counts, "rows": len(result)}, plan=plan_facts(result.plan), recall=recall_facts(result))


def plan_facts(plan: "Plan | None") -> dict[str, Any] | None:
    """Return the settings of a plan and what it expected."""
    if plan is None:
        return None
    expected = {"candidates": round(plan.candidates), "seconds": plan.seconds or None}
    return {**plan.settings(), "expected": expected, "lines": [line.strip() for line in plan.lines()]}


def recall_facts(result: "Result") -> dict[str, Any]:
    """Return the expected recall and, after an audit, the measured one."""
    facts: dict[str, Any] = {"expected": None if result.plan is None else result.plan.recall}
    if result.audit is not None:
        found = result.audit
        measured = {"recall": found.recall, "interval": list(found.interval)}
        facts["measured"] = {"sampled": found.sampled, "true": found.true, "found": found.found, **measured}
    return facts


def facts_of_file(path: Path) -> dict[str, Any]:
    """Return the size and the checksum of a file; of a remote one, the version that its store gives it."""
    if isinstance(path, RemotePath):
        return {"path": str(path), "bytes": path.stat().st_size, "version": path.version()}
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}


def facts_of_bytes(content: bytes) -> dict[str, Any]:
    """Return the same for standard input."""
    return {"path": "-", "bytes": len(content), "sha256": sha256(content).hexdigest()}


def utc(seconds: float) -> str:
    """Return a time, in seconds since 1970, as text."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
