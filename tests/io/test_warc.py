"""Check web archives, written with warcio and by hand."""

import gzip
import io
import warnings
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import lookalike as la
from lookalike.core.errors import BadFile, DataError
from lookalike.core.run import Run
from lookalike.io.records import RecordSource
from lookalike.io.warc import _joined
from tests.commands import complaint

PAGE = "<html><body><h1>Number {}</h1><p>Some words of the page, and {} more words.</p></body></html>"


def written(path, records, gz=False):
    """Write (type, url, headers, content) records with warcio; headers are those of HTTP."""
    with open(path, "wb") as file, warnings.catch_warnings(action="ignore"):  # warcio leaves its own files open
        writer = WARCWriter(file, gzip=gz)
        for kind, url, headers, content in records:
            http = StatusAndHeaders(headers[0], headers[1:], protocol="HTTP/1.1") if headers else None
            about = {} if headers else {"warc_content_type": "text/plain"}
            writer.write_record(
                writer.create_warc_record(url, kind, payload=io.BytesIO(content), http_headers=http, **about)
            )
    return path


def page(number, content=None, status="200 OK", kind="text/html", *more):
    content = PAGE.format(number, number).encode() if content is None else content
    return "response", f"http://site.org/{number}", [status, ("Content-Type", kind), *more], content


def by_hand(*contents, kind="conversion", ends=b"\r\n\r\n"):
    """Return an archive of records with these contents, and the places where they begin."""
    whole, places = b"", []
    for number, content in enumerate(contents):
        places.append(len(whole))
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:{number}>\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        whole += head.encode() + content + ends
    return whole, places


def texts(path, **options):
    """Return the texts of an archive, and the number of bad rows."""
    source = la.Source(path, on_error="skip", **options)
    return [text for batch in source.batches() for text in batch["text"].to_pylist()], source.skipped


@pytest.mark.parametrize("gz", [False, True])
def test_a_thousand_pages(tmp_path, gz):
    """They are compared as the same pages in a table are, with their own ids."""
    path = written(tmp_path / f"crawl.warc{'.gz' if gz else ''}", map(page, range(1000)), gz)
    source = la.Source(path, html=True)
    table = pa.table({"id": list(range(1000)), "html": [PAGE.format(n, n) for n in range(1000)]})
    for size in (1 << 22, 5000):
        source = la.Source(path, html=True, batch_bytes=size)
        found = pa.concat_tables(source.batches(Run(2)))
        assert found["text"].equals(pa.concat_tables(la.Source(table, html=True).batches())["text"])
    assert len(set(found["id"].to_pylist())) == 1000
    assert found["id"][0].as_py().startswith("urn:uuid:")
    rows = RecordSource(path).read(Run())
    assert rows.column_names == ["id", "url", "date", "html"]
    assert rows["url"].to_pylist() == [f"http://site.org/{n}" for n in range(1000)]
    pairs = la.find_pairs(la.Source(path, html=True, id="url"), threshold=0.9)
    alike = la.find_pairs(la.Source(table, html=True), threshold=0.9)
    assert [(int(a[16:]), int(b[16:]), s) for a, b, s in pairs] == list(alike)


def test_the_texts_of_a_wet_file(tmp_path, run):
    records = [("warcinfo", None, None, b"software: x\r\n")]
    records += [("conversion", f"http://site.org/{n}", None, f"text {n} \u00e9".encode()) for n in range(3)]
    path = written(tmp_path / "crawl.warc.wet.gz", records, gz=True)
    assert texts(path) == ([f"text {n} \u00e9" for n in range(3)], 0)
    done = run("dedup", path, "--id", "url", "--columns", "date", "-o", tmp_path / "out.jsonl")
    assert done.code == 0
    assert (tmp_path / "out.jsonl").read_text().count("http://site.org/") == 3


def test_records_that_are_no_pages(tmp_path):
    records = [
        page(0),
        page(1, kind="image/png", content=b"\x89PNG"),
        page(2, status="404 Not Found"),
        ("request", "http://site.org/3", ["GET / HTTP/1.1", ("Host", "site.org")], b""),
        page(4, kind="application/xhtml+xml; charset=utf-8"),
        ("conversion", "http://site.org/5", None, b"another kind than the first"),
    ]
    path = written(tmp_path / "a.warc", records)
    assert RecordSource(path).read(Run())["url"].to_pylist() == ["http://site.org/0", "http://site.org/4"]


def test_markup_needs_the_option(tmp_path, run):
    path = written(tmp_path / "a.warc", [page(0)])
    done = run("pairs", path)
    assert complaint(done).endswith(
        "Name it with --text (use --html to read the column html as web pages); it has id, url, date, html."
    )


def test_standard_input_and_names(tmp_path, run):
    path = written(tmp_path / "a.warc.gz", [page(0), page(0)], gz=True)
    done = run("pairs", "-", "--html", "--id", "-", stdin=path.read_bytes())
    assert (done.code, done.out) == (0, '{"left": 0, "right": 1, "similarity": 1.0}\n')
    other = path.rename(tmp_path / "archive")
    assert len(texts(other, html=True, format="warc")[0]) == 2
    other.write_bytes(gzip.decompress(other.read_bytes()))
    assert complaint(run("pairs", other)) == f"{other}: is a web archive; name it .warc, or set the format to warc."
    assert "is metadata of a web archive" in complaint(run("pairs", other.rename(tmp_path / "a.wat")))


@pytest.mark.parametrize(
    ("content", "headers", "shown"),
    [
        ("<p>caf\u00e9".encode("latin-1"), ["text/html; charset=ISO-8859-1"], "café"),
        ("<p>\u043c\u0438\u0440".encode("cp1251"), ["text/html; charset=windows-1251"], "мир"),
        (b"<meta charset=windows-1251><p>\xec\xe8\xf0", ["text/html; charset=nonsense"], "мир"),
        (gzip.compress(b"<p>zipped"), ["text/html", ("Content-Encoding", "gzip")], "zipped"),
        (zlib.compress(b"<p>deflated"), ["text/html", ("Content-Encoding", "deflate")], "deflated"),
        (b"<p>as it is", ["text/html", ("Content-Encoding", "gzip")], "as it is"),
        (b"4\r\n<p>a\r\n3;x=y\r\nbcd\r\n0\r\n\r\n", ["text/html", ("Transfer-Encoding", "chunked")], "abcd"),
        (b"<p>not in chunks", ["text/html", ("Transfer-Encoding", "chunked")], "not in chunks"),
    ],
)
def test_encodings(tmp_path, content, headers, shown):
    path = written(tmp_path / "a.warc", [page(0, content, "200 OK", *headers)])
    assert texts(path, html=True) == ([shown], 0)


@given(st.binary(), st.lists(st.integers(1, 20)))
def test_chunks_are_joined(body, sizes):
    chunks, at = b"", 0
    for size in sizes:
        if body[at : at + size]:
            chunks += b"%x\r\n%s\r\n" % (len(body[at : at + size]), body[at : at + size])
        at += size
    if body[at:]:
        chunks += b"%X\r\n%s\r\n" % (len(body[at:]), body[at:])
    assert _joined(chunks + b"0\r\n\r\n") == body


@pytest.mark.parametrize(
    ("content", "headers", "why"),
    [
        (b"x", ("Content-Encoding", "br"), "is a page compressed with Brotli, which is not supported"),
        (b"\x1f\x8b\x08", ("Content-Encoding", "gzip"), "has a page that cannot be decompressed: it is cut off"),
        (b"\x1f\x8b" + b"x" * 9, ("Content-Encoding", "gzip"), "has a page that cannot be decompressed: Error -3"),
        (
            gzip.compress(b"x" * 10**6),
            ("Content-Encoding", "gzip"),
            r"has more than 1,000 bytes, the limit set by Source",
        ),
        (b"x" * 1001, ("X-Other", "y"), r"has more than 1,000 bytes, the limit set by Source"),
    ],
)
def test_pages_that_are_bad_rows(tmp_path, content, headers, why):
    path = written(tmp_path / "a.warc.gz", [page(0), page(1, content, "200 OK", "text/html", headers)], gz=True)
    with pytest.raises(DataError, match=rf"a\.warc\.gz, row 1: record 1 {why}"):
        list(la.Source(path, html=True, max_document_bytes=1000).batches())
    assert len(texts(path, html=True, max_document_bytes=1000)[0]) == 1


def damaged(whole, at, new):
    return whole[:at] + new + whole[at + len(new) :]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"WARC/1.0", b"XXXX/1.0", "does not begin like a record"),
        (b"Content-Length: 1", b"Content-Length: x", "has the length 'x6', which is not a number"),
        (b"Content-Length: 1", b"Content-Length: 8", "has a wrong length"),
        (b"Content-Length: 16", b"Content-Length: 10", "has a wrong length"),
        (b"Content-Length: 16", b"Content-Lenght: 16", "has the length '', which is not a number"),
    ],
)
def test_a_damaged_record_is_one_bad_row(tmp_path, old, new, why):
    whole, places = by_hand(*(f"text of number {n}".encode() for n in range(5)))
    path = tmp_path / "a.wet"
    path.write_bytes(damaged(whole, whole.find(old, places[2]), new))
    with pytest.raises(DataError, match=rf"a\.wet, row 2: record 2 is damaged: it {why}"):
        list(la.Source(path).batches())
    assert texts(path) == ([f"text of number {n}" for n in (0, 1, 3, 4)], 1)


def test_every_damaged_byte_of_a_compressed_record(tmp_path):
    """Whatever happens to one member, the others are read, and nothing is lost silently."""
    members = [gzip.compress(by_hand(b"text of number %d" % n)[0]) for n in range(4)]
    path = tmp_path / "a.wet.gz"
    for at in range(len(members[1])):
        new = bytes([members[1][at] ^ 0xFF])
        path.write_bytes(members[0] + damaged(members[1], at, new) + members[2] + members[3])
        found, skipped = texts(path)
        assert (len(found), skipped) in ((3, 1), (4, 0))  # the header has bytes without meaning
        assert {"text of number 0", "text of number 2", "text of number 3"} <= set(found)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lambda b: pa.Codec("zstd").compress(b, asbytes=True)])
def test_a_file_that_is_cut_off(tmp_path, compress):
    """It is a damaged file wherever it is cut, but not between records."""
    parts = [compress(by_hand(b"text of number %d" % n)[0]) for n in range(3)]
    path = tmp_path / f"a.wet{'' if compress is bytes else '.gz' if compress is gzip.compress else '.zst'}"
    whole = b"".join(parts)
    path.write_bytes(whole)
    assert texts(path)[0] == [f"text of number {n}" for n in range(3)]
    for at in range(1, len(whole)):
        path.write_bytes(whole[:at])
        rest = at - sum(map(len, parts[: (at >= len(parts[0])) + (at >= sum(map(len, parts[:2])))]))
        cut = rest > 0 and not (compress is bytes and len(parts[0]) - rest <= 4)  # line ends
        if cut:
            with pytest.raises(BadFile, match="cannot be read as"):
                texts(path)
        else:
            found, _ = texts(path)
            assert len(found) == len([1 for n in range(3) if at >= sum(map(len, parts[: n + 1])) - 4])


def test_a_bomb_takes_little_memory(tmp_path):
    """A record that expands to a gigabyte is a bad row; it is never held as a whole."""
    path = tmp_path / "a.wet.gz"
    head = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: %d\r\n\r\n" % (100 << 20)
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(head) + b"".join(packer.compress(bytes(1 << 20)) for _ in range(100))
    path.write_bytes(bomb + packer.compress(b"\r\n\r\n") + packer.flush() + gzip.compress(by_hand(b"good")[0]))
    before = pa.total_allocated_bytes()
    assert texts(path, max_document_bytes=10**6) == (["good"], 1)
    assert pa.total_allocated_bytes() - before < 1 << 24


def test_invalid_text(tmp_path):
    path = tmp_path / "a.wet"
    path.write_bytes(by_hand(b"good", b"\xff")[0])
    with pytest.raises(DataError, match=r"row 1: text is not valid UTF-8"):
        list(la.Source(path).batches())


def test_headers_without_an_end(tmp_path):
    path = tmp_path / "a.wet"
    path.write_bytes(b"WARC/1.0\r\nx: " + b"y" * (3 << 20) + b"\r\n\r\n" + by_hand(b"good")[0])
    assert texts(path) == (["good"], 1)


def test_an_empty_archive(tmp_path):
    path = tmp_path / "a.warc"
    path.write_bytes(b"")
    assert list(la.find_pairs(str(path))) == []
