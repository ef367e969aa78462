"""Send requests to servers within this process, and check every answer."""

import asyncio
import re
from urllib.parse import quote

import httpx

CAT, HAT, OTHER = "the cat sat on the mat", "the cat sat on the hat", "something else entirely"
TOKEN = "0123456789abcdef"
JSON = {"content-type": "application/json"}
SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def client_of(app, **options):
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30, **options)


def ask(app, *calls):
    """Return the answers to calls (method, path, options of httpx), made one after another."""

    async def all_of_them():
        async with client_of(app) as client:
            return [checked(await client.request(method, path, **options)) for method, path, options in calls]

    return asyncio.run(all_of_them())


def one(app, *call):
    """Return the status of one answer, and its content."""
    (answer,) = ask(app, call)
    return answer.status_code, answer.json() if answer.content else None


def post(path, **message):
    return "POST", path, {"json": message}


def raw(path, body, **headers):
    return "POST", path, {"content": body, "headers": JSON | headers}


def get(path, **headers):
    return "GET", path, {"headers": {name.replace("_", "-"): value for name, value in headers.items()}}


def at(name):
    """Return the path of an item."""
    return f"/items/{quote(str(name), safe='')}"


def checked(answer):
    """Check the headers of an answer, the form of errors, and that it reveals no internals."""
    assert SECURITY.items() <= dict(answer.headers).items()
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "server" not in answer.headers
    for secret in ("Traceback", 'File "', "secret", "/tmp/", "site-packages", ".mdb"):
        assert secret not in answer.text
    if answer.status_code >= 400 and answer.request.method != "HEAD":
        assert answer.headers["content-type"] == "application/json"
        assert list(answer.json()) == ["error"]
        line = answer.json()["error"]
        assert line
        assert "\n" not in line
    return answer


def ids_of(answer):
    return [[match["id"] for match in result["found"]] for result in answer.json()["results"]]


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z]+="[^"\\\n]*",?)+)\})? (\S+)')


def parsed(text):
    """Return {name: {labels: value}} of the Prometheus text format, checking its rules."""
    assert text.endswith("\n")
    families, seen, samples = {}, set(), {}
    family = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            assert family not in families  # the lines of a family are contiguous
            assert line.split(" ", 3)[3]
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2] == family
            families[family] = line.split(" ")[3]
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            endings = ("_bucket", "_sum", "_count") if families[family] == "histogram" else ("",)
            assert name in [family + ending for ending in endings]
            key = tuple(re.findall(r'([a-z]+)="([^"]*)"', labels or ""))
            assert (name, key) not in seen
            seen.add((name, key))
            samples.setdefault(name, {})[key] = float(value)
            if families[family] == "counter":
                assert name.endswith("_total")
    assert set(families.values()) <= {"counter", "gauge", "histogram"}
    return samples
