"""Measure answers per second, errors, latency and memory of a server with many clients.

    python bench/server.py [--documents N] [--clients 100] [--seconds 30] [--changes 0.05] [--markdown FILE]

The index holds the generated documents of index.py, 20 words each. Each client has its own
connection and sends a request when the previous one is answered: mostly a query for one document; a
share `--changes` add or remove one. Clients run in this process and share the cores with the
server.
"""

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
from index import SHINGLES, documents, questions, texts_of
from shared import machine, publish

from lookalike.index import Index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--changes", type=float, default=0.05, help="the share of requests that add or remove an item")
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    rows = documents(given.documents)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "load.index"
        print("building the index", file=sys.stderr)
        Index.build(place, texts_of(rows), threshold=given.threshold, shingles=SHINGLES).close()
        command = [sys.executable, "-m", "lookalike", "serve", str(place), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            line = server.stderr.readline()
            port = int(line.partition("/;")[0].rpartition(":")[2])
            load = Load(port, texts_of(questions(rows, 2000)), given)
            memory = asyncio.run(load.run(server.pid))
            server.send_signal(signal.SIGTERM)
            left = server.wait(30)
        with Index.open(place) as index:
            intact = index.verify()
    p50, p99 = (1000 * np.percentile(load.times, (50, 99))).tolist()
    quarter = len(memory) // 4
    table = [
        ["clients", "seconds", "answers", "answers/s", "errors", "p50", "p99", "memory after 1/4", "at the end"],
        [
            f"{given.clients}",
            f"{given.seconds:g}",
            f"{len(load.times):,}",
            f"{len(load.times) / given.seconds:,.0f}",
            f"{sum(load.errors.values())}",
            f"{p50:.1f} ms",
            f"{p99:.1f} ms",
            f"{memory[quarter] / 1e6:.1f} MB",
            f"{memory[-1] / 1e6:.1f} MB",
        ],
    ]
    errors = dict(load.errors) or "none"
    outcome = f"The server exited with {left}; its index of {intact:,} items is intact. Errors: {errors}."
    what = f"{given.documents:,} documents; {given.changes:.0%} of the requests add or remove one."
    publish([machine("lookalike", "fastapi", "uvicorn"), what, table, outcome], given.markdown)


class Load:
    """Clients of a server on a local port."""

    def __init__(self, port: int, asked: list[str], given: argparse.Namespace) -> None:
        self.port, self.asked, self.given = port, asked, given
        self.times: list[float] = []
        self.errors: Counter[str] = Counter()

    async def run(self, process: int) -> list[int]:
        """Send requests until the time is over; return the server's memory every half second."""
        self.end = time.perf_counter() + self.given.seconds
        clients = [asyncio.create_task(self.client(number)) for number in range(self.given.clients)]
        memory = []
        while time.perf_counter() < self.end:
            await asyncio.sleep(0.5)
            memory.append(resident(process))
        await asyncio.gather(*clients)
        return memory

    async def client(self, number: int) -> None:
        """Send one request after another on one connection."""
        draw = Random(number)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        own: list[str] = []  # ids added by this client
        while time.perf_counter() < self.end:
            method, path, body = self.request(number, draw, own)
            start = time.perf_counter()
            try:
                status = await exchange(reader, writer, method, path, body)
            except (OSError, EOFError, ValueError) as error:
                self.errors[type(error).__name__] += 1
                return
            self.times.append(time.perf_counter() - start)
            if status >= 400:
                self.errors[str(status)] += 1
        writer.close()

    def request(self, number: int, draw: Random, own: list[str]) -> tuple[str, str, object]:
        """Return the next request, a query or a change."""
        if draw.random() >= self.given.changes:
            return "POST", "/query", {"items": [draw.choice(self.asked)]}
        if own and draw.random() < 0.5:
            return "DELETE", f"/items/{own.pop()}", None
        own.append(f"{number}-{len(self.times)}")
        return "POST", "/items", {"items": [draw.choice(self.asked)], "ids": own[-1:], "replace": True}


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, body: object
) -> int:
    """Send a request, read the answer and return its status."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = answer.partition("content-length: ")[2].partition("\r")[0]
    await reader.readexactly(int(length or 0))
    return int(answer.split()[1])


def resident(process: int) -> int:
    """Return the bytes of a process's own memory, without the pages of its index."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


if __name__ == "__main__":
    main()
