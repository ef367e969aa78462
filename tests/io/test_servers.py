"""Test reading from real servers, and writing to a real object store, while requests fail."""

import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.stores import breaking, environment, running_store
from lookalike.core.errors import DataError
from lookalike.core.run import Run
from lookalike.io import asking
from lookalike.io.asking import Unreachable
from lookalike.io.documents import Source
from lookalike.io.remote import place_of
from lookalike.io.vectors import VectorSource
from tests.failing import fails

WORDS = [f"word{at}" for at in range(500)]
DRAW = np.random.default_rng(1)
TEXTS = [" ".join(DRAW.choice(WORDS, 40)) for _ in range(600)]
TABLE = pa.table({"id": [f"d{at}" for at in range(1200)], "text": [*TEXTS, *(f"{text} more" for text in TEXTS)]})


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(asking, "WAIT", 0.01)


# --- the web ---


class Web(ThreadingHTTPServer):
    """A web server of some files, which can lack what others have."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, files, ranges=True, lengths=True, heads=True, broken=0):
        super().__init__(("127.0.0.1", 0), Answering)
        self.files, self.ranges, self.lengths, self.heads, self.broken = files, ranges, lengths, heads, broken
        self.asked = []

    def at(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Answering(BaseHTTPRequestHandler):
    server: Web

    def do_HEAD(self):
        self._answer(send=False)

    def do_GET(self):
        self._answer(send=True)

    def _answer(self, send):
        self.server.asked.append((self.command, self.path, self.headers.get("Range")))
        content = self.server.files.get(self.path.partition("?")[0].removeprefix("/"))
        if content is None or (not send and not self.server.heads):
            self.send_error(404 if content is None else 403)
            return
        if send and self.server.broken:
            self.server.broken -= 1
            self.send_error(503)
            return
        tag = f'"{hash(content)}"'
        if self.headers.get("If-Match", tag) != tag:
            self.send_error(412)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")) if self.server.ranges else None
        part = content[int(asked[1]) : int(asked[2]) + 1] if asked else content
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {asked[1]}-{int(asked[1]) + len(part) - 1}/{len(content)}")
        self.send_header("ETag", tag)
        if self.server.lengths or asked:
            self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if send:
            self.wfile.write(part)

    def log_message(self, *_):
        pass


@contextmanager
def serving(files, **options):
    with Web(files, **options) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()


@pytest.fixture
def files(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    np.save(tmp_path / "b.npy", np.arange(60.0).reshape(20, 3))
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def documents(given):
    return [row for batch in Source(given).batches(Run(2)) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "lacking",
    [{}, {"ranges": False}, {"heads": False}, {"ranges": False, "lengths": False}, {"broken": 3}],
    ids=["complete", "no ranges", "no HEAD", "no lengths", "unavailable"],
)
def test_web_servers(files, lacking):
    with serving(files, **lacking) as web:
        assert documents(web.at("a.parquet")) == TABLE.to_pylist()
        assert VectorSource(web.at("b.npy")).read(Run(1)).values.tolist() == np.arange(60.0).reshape(20, 3).tolist()
        ranges = [asked for _, _, asked in web.asked if asked]
    assert ranges or not lacking.get("ranges", True)


def test_signed_addresses_are_used_but_not_shown(files):
    with serving(files, broken=0) as web:
        signed = web.at("a.parquet?signature=secret/and%2Bmore")
        source = Source(signed)
        assert [path for _, path, _ in web.asked][-1].endswith("?signature=secret/and%2Bmore")
        assert "secret" not in f"{source} {source.parts[0].paths[0]!r}"
        missing = web.at("b.parquet")
        fails(DataError, f"{missing}: no such file or folder.", Source, f"{missing}?signature=secret")
        assert documents(signed) == TABLE.to_pylist()


def test_web_servers_that_fail(files):
    with serving(files) as web:
        path = place_of(web.at("a.parquet?signature=secret"))
        assert path.stat().st_size == len(files["a.parquet"])
        web.broken = 100
        with pytest.raises(Unreachable, match=r"/a\.parquet: cannot be reached: 503, .*; 6 tries failed\.$") as raised:
            path.fetch(0, 10)
        assert "secret" not in str(raised.value)
        assert raised.value.__cause__ is None
        web.broken = 0
        web.files["a.parquet"] = b"new" + files["a.parquet"][3:]
        with pytest.raises(Unreachable, match="has changed while it was being read"):
            path.fetch(0, 10)
    with pytest.raises(Unreachable, match=r"cannot be reached: .*; 6 tries failed\.$"):
        Source(web.at("a.parquet"))


def test_web_servers_do_not_list(files):
    why = "web servers do not list their files; name each file."
    fails(asking.UsageError, f"https://example.org/*.parquet: {why}", Source, "https://example.org/*.parquet")
    fails(asking.UsageError, f"https://example.org/crawl: {why}", Source, "https://example.org/crawl/")


# --- an object store ---


@pytest.fixture(scope="module")
def weed(tmp_path_factory):
    with running_store(tmp_path_factory.mktemp("store")) as port:
        yield port


@contextmanager
def connected(port):
    """Let clients of S3 connect to a port, in this process; they wait only briefly before they try again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.retryhandler.delay_exponential", lambda *_, **__: 0.01)
        for name, value in environment(port).items():
            patch.setenv(name, value)
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        try:
            yield fsspec.filesystem("s3")
        finally:
            fsspec.get_filesystem_class("s3").clear_instance_cache()


@pytest.fixture
def bucket(weed, request):
    """Make a bucket; yield its name."""
    name = f"bucket{abs(hash(request.node.name)) % 10**8}"
    with connected(weed) as system:
        system.mkdir(name)
    return name


def uploads_in_progress(system, bucket):
    return system.call_s3("list_multipart_uploads", Bucket=bucket).get("Uploads", [])


@pytest.mark.slow
@pytest.mark.server
def test_dedup_while_requests_fail(weed, bucket, run, inputs, out, monkeypatch):
    monkeypatch.setattr("lookalike.io.ranges.BLOCK", 1 << 14)  # so that there are many requests
    monkeypatch.setattr("lookalike.io.ranges.TOGETHER", 1)
    for at in range(2):
        pq.write_table(TABLE[600 * at : 600 * at + 600], inputs / f"{at}.parquet")
    assert run("dedup", inputs, "-t", "0.7", "-o", out / "a.parquet", "--removed", out / "r.csv").code == 0
    assert run("dedup", inputs, "-t", "0.7", "-o", f"{out}/clean/").code == 0
    with connected(weed) as system:
        system.put(f"{inputs}/", f"{bucket}/crawl/", recursive=True)
    with breaking(weed, 0.15) as proxy, connected(proxy.port):
        base = f"s3://{bucket}"
        for given in (
            [f"{base}/crawl/*.parquet", "-o", f"{base}/o/a.parquet", "--removed", f"{base}/o/r.csv"],
            [f"{base}/crawl/", "-o", f"{base}/clean/", "--memory", "1GB", "--workdir", out / "w"],
        ):
            outcome = run("dedup", "-t", "0.7", *given)
            assert (outcome.code, outcome.err.splitlines()[-1][:6]) == (0, "time: ")
        assert min(proxy.broken.values()) > 0
    with connected(weed) as system:
        for name in ("a.parquet", "r.csv"):
            assert system.cat(f"{bucket}/o/{name}") == (out / name).read_bytes()
        for at in range(2):
            assert system.cat(f"{bucket}/clean/{at}.parquet") == (out / "clean" / f"{at}.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.server
def test_an_upload_shows_only_when_it_is_complete(weed, bucket, monkeypatch):
    from lookalike.io import uploads
    from lookalike.io.write import replacing

    monkeypatch.setattr(uploads, "PIECE", 5 << 20)
    content = np.random.default_rng(1).bytes(12 << 20)
    with connected(weed) as system:
        system.pipe_file(f"{bucket}/a", b"old")
        with replacing(f"s3://{bucket}/a") as file:
            file.write(content)
            assert system.cat(f"{bucket}/a") == b"old"
            assert len(uploads_in_progress(system, bucket)) == 1
        assert system.cat(f"{bucket}/a") == content

        def stopped():
            with replacing(f"s3://{bucket}/a") as file:
                file.write(b"new" + content)
                raise DataError("stopped")

        fails(DataError, "stopped", stopped)
        assert system.cat(f"{bucket}/a") == content
        assert uploads_in_progress(system, bucket) == []


@pytest.mark.slow
@pytest.mark.server
def test_what_the_store_refuses(weed, bucket, monkeypatch):
    with connected(weed) as system:
        base = f"s3://{bucket}"
        fails(DataError, f"{base}/no.csv: no such file or folder.", Source, f"{base}/no.csv")
        fails(
            DataError,
            "s3://no-such-bucket/a.csv: there is no bucket no-such-bucket.",
            Source,
            "s3://no-such-bucket/a.csv",
        )
        system.pipe_file(f"{bucket}/a.jsonl", b'{"text": "one text"}\n' * 3)
        path = place_of(f"{base}/a.jsonl")
        assert path.fetch(0, 5) == b'{"tex'
        system.pipe_file(f"{bucket}/a.jsonl", b'{"text": "new text"}\n' * 3)
        changed = f"{base}/a.jsonl: has changed while it was being read; run again when nobody writes it."
        fails(Unreachable, changed, path.fetch, 0, 5)
    with connected(weed):
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
        denied = f"{base}/a.jsonl: access is denied; check the credentials, and what they allow."
        fails(Unreachable, denied, Source, f"{base}/a.jsonl")
    with connected(weed):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", "/nowhere")
        with pytest.raises(Unreachable, match=r"a\.jsonl: no valid credentials were found; set AWS_ACCESS_KEY_ID"):
            Source(f"{base}/a.jsonl")
