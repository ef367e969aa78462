"""Describe the machine, print tables, and copy the first rows of a file, for all benchmarks."""

import os
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from textwrap import wrap

Table = list[list[str]]  # the first row is the header
LOAD = os.getloadavg()[0]  # before the benchmark adds to it
# The end of a script for `measure`; getrusage would count the peak of the parent too.
PEAK = """
from pathlib import Path
line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print("\\npeak", int(line.split()[1]) * 1024)
"""


def machine(*packages: str) -> str:
    """Describe the processor, cores, memory, load and versions in one line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    versions = [f"{name} {found}" for name in packages if (found := version_of(name))]
    return (
        f"{model}, {cores} cores, {memory:.0f} GiB, load {LOAD:.1f} at the start; "
        f"Python {platform.python_version()}, {', '.join(versions)}"
    )


def version_of(package: str) -> str | None:
    """Return the installed version, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def publish(blocks: list[str | Table], markdown: Path | None) -> None:
    """Print paragraphs and tables; also write them as Markdown, below the command line."""
    print("\n\n".join(block if isinstance(block, str) else _table(block, "  ", "-") for block in blocks))
    if markdown is not None:
        command = f"    {shlex.join(['python', *sys.argv])}"
        texts = [block if isinstance(block, str) else _table(block, " | ", "-", "|") for block in blocks]
        markdown.write_text("\n\n".join([command, *texts]) + "\n")


def _table(rows: Table, between: str, line: str, edge: str = "") -> str:
    """Lay out columns of even width, the first aligned left, the others right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = [line * width if i == 0 or not edge else line * (width - 1) + ":" for i, width in enumerate(widths)]
    texts = []
    for row in [rows[0], rule, *rows[1:]]:
        cells = [
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        texts.append(f"{edge} {between.join(cells)} {edge}" if edge else between.join(cells).rstrip())
    return "\n".join(texts)


def update_tables(path: Path, sections: list[tuple[str, str, Table]]) -> None:
    """Replace rows of the tables of a Markdown file, each below a heading of its own.

    A section is a heading, the text for a new one, and a table. Rows with the same first cell are replaced, others
    stay, below new ones; a table with other columns is replaced as a whole. Sections whose heading is not there come
    at the end.
    """
    lines = path.read_text().splitlines() if path.exists() else []
    for heading, text, table in sections:
        title = f"### {heading}"
        if title not in lines:
            lines += ["", title, "", *wrap(text, 100), "", *_table(table, " | ", "-", "|").splitlines()]
            continue
        start = next(at for at in range(lines.index(title), len(lines)) if lines[at].startswith("|"))
        stop = next((at for at in range(start, len(lines)) if not lines[at].startswith("|")), len(lines))
        old = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:stop]]
        known = {row[0]: row for row in old[2:]} if old[0] == table[0] else {}
        new = {row[0]: row for row in table[1:]}
        rows = {key: row for key, row in new.items() if key not in known} | known | new
        lines[start:stop] = _table([table[0], *rows.values()], " | ", "-", "|").splitlines()
    path.write_text("\n".join(lines).rstrip() + "\n")


def measure(command: list[str]) -> tuple[float, float, int]:
    """Return the wall time, CPU time and peak memory in bytes of a command, which ends with PEAK."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode:
        sys.exit(f"failed: {command[0]}: {done.stderr[-2000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, int(done.stdout.split()[-1])


def part_of(path: Path, megabytes: int, work: Path) -> tuple[Path, int]:
    """Return a Parquet file with the first documents of a corpus, and its bytes of text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    out, size = work / f"{megabytes}" / "part.parquet", 0
    out.parent.mkdir(exist_ok=True)
    with pq.ParquetFile(path) as file, pq.ParquetWriter(out, file.schema_arrow) as writer:
        for batch in file.iter_batches(200):
            size += pc.sum(pc.binary_length(batch.column("text"))).as_py()
            writer.write_table(pa.Table.from_batches([batch]))
            if size >= megabytes * 1_000_000:
                break
    return out, size


def take_head(corpus: Path, rows: int, out: Path) -> None:
    """Write the first rows of a Parquet file to another file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    batches, count = [], 0
    with pq.ParquetFile(corpus) as file:
        for batch in file.iter_batches(4096):
            batches.append(batch)
            count += len(batch)
            if count >= rows:
                break
        pq.write_table(pa.Table.from_batches(batches, file.schema_arrow).slice(0, rows), out, compression="zstd")
