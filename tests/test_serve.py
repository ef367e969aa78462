"""The server: what it answers, what it refuses, and that nothing of the machine shows."""

import asyncio
import hmac
import json
import math
import re
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote

import httpx
import jsonschema_rs
import lmdb
import pytest
import schemathesis
from commands import GUARD, complaint, spawn
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from lookalike.errors import StoreError
from lookalike.index import Index
from lookalike.serve import Limits, listening, make_app

CAT, HAT, OTHER = "the cat sat on the mat", "the cat sat on the hat", "something else entirely"
TOKEN = "0123456789abcdef"
JSON = {"content-type": "application/json"}
SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


# --- helpers ---


@pytest.fixture
def indexed(tmp_path):
    """Makes indexes in the folder, and closes them."""
    made = []

    def make(items=None, ids=None, **options):
        index = Index.create(tmp_path / f"secret{len(made)}.index", **options)
        made.append(index)
        if items is not None:
            index.add(items, ids)
        return index

    yield make
    for index in made:
        index.close()


@pytest.fixture
def texts(indexed):
    """An index of texts that keeps them."""
    return indexed([CAT, OTHER], ["cat", "other"], threshold=0.5, shingles="char:4", store_text=True)


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """The same, for tests that leave it as it was."""
    place = tmp_path_factory.mktemp("still") / "secret.index"
    options = {"threshold": 0.5, "shingles": "char:4", "store_text": True}
    with Index.build(place, [CAT, OTHER], ["cat", "other"], **options) as index:
        yield index


@pytest.fixture(scope="module")
def app(still):
    """Its server; to make one takes longer than to ask it."""
    return make_app(still)


@pytest.fixture(scope="module")
def closed(still):
    """Its server with a token."""
    return make_app(still, token=TOKEN)


def client_of(app, **options):
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30, **options)


def ask(app, *calls):
    """The answers to calls, one after another: (method, path, options of httpx)."""

    async def all_of_them():
        async with client_of(app) as client:
            return [checked(await client.request(method, path, **options)) for method, path, options in calls]

    return asyncio.run(all_of_them())


def one(app, *call):
    """The status of one answer, and what it says."""
    (answer,) = ask(app, call)
    return answer.status_code, answer.json() if answer.content else None


def post(path, **message):
    return "POST", path, {"json": message}


def raw(path, body, **headers):
    return "POST", path, {"content": body, "headers": JSON | headers}


def get(path, **headers):
    return "GET", path, {"headers": {name.replace("_", "-"): value for name, value in headers.items()}}


def at(name):
    """The path of an item."""
    return f"/items/{quote(str(name), safe='')}"


def checked(answer):
    """What must hold of every answer: its headers, the form of errors, and that it shows nothing of the machine."""
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


# --- ask ---


def test_texts_are_found(texts):
    status, answer = one(make_app(texts), *post("/query", items=[HAT, "nothing of the kind"]))
    assert status == 200
    first, second = answer["results"]
    assert first == {"found": [{"id": "cat", "similarity": 15 / 21}], "candidates": 1, "crowded": False}
    assert (second["found"], second["crowded"]) == ([], False)


def test_threshold_and_top(indexed):
    index = indexed(["a b c d e f", "a b c d e g", "a b c d x y", "a b c d e f"], threshold=0.3, shingles="word:1")
    app = make_app(index)
    asked = [
        post("/query", items=["a b c d e f"]),
        post("/query", items=["a b c d e f"], top=1),
        post("/query", items=["a b c d e f"], top=1000),
        post("/query", items=["a b c d e f"], threshold=0.7),
        post("/query", items=["a b c d e f"], threshold=1),
        post("/query", items=["a b c d e f"], threshold=None),
        post("/query", items=["a b c d e f"], threshold=0, top=2),
    ]
    found = [ids_of(answer)[0] for answer in ask(app, *asked)]
    assert found == [[0, 3, 1, 2], [0], [0, 3, 1, 2], [0, 3, 1], [0, 3], [0, 3, 1, 2], [0, 3]]
    assert one(app, *post("/query", items=["a"], threshold=1.01)) == (
        400,
        {"error": "threshold must be in [0, 1]; got 1.01."},
    )


KINDS = {
    "sets of strings": ({}, [["a", "b", "c"], ["a", "b", "d"], ["x"]], ["a", "b", "c"], [0, 1]),
    "sets of numbers": ({}, [[1, 2, 3], [1, 2, 4], [7]], [1, 2, 3], [0, 1]),
    "cosine, integers": ({"measure": "cosine", "threshold": 20}, [[1.5, 0], [0, 1], [3, 1]], [1, 0], [0, 2]),
    "cosine similarity": ({"measure": "cosine_similarity", "threshold": 0.7}, [[1, 0], [0, 1], [3, 1]], [2, 0], [0, 2]),
    "euclidean": ({"measure": "euclidean", "threshold": 2}, [[1, 0], [9, 9], [1, 0.5]], [1, 0], [0, 2]),
    "bits": ({"measure": "hamming", "threshold": 1}, ["01100000", "10011111", "01100001"], "01100000", [0, 2]),
    "bits as rows": ({"measure": "hamming", "threshold": 1}, ["0110", "1001", "0111"], [0, 1, 1, 0], [0, 2]),
}


@pytest.mark.parametrize(("options", "items", "asked", "expected"), KINDS.values(), ids=KINDS)
def test_kinds(indexed, options, items, asked, expected):
    """Added over HTTP to an empty index, found, had back, replaced and removed."""
    index = indexed(**({"threshold": 0.4} | options))
    app = make_app(index)
    added, found, shown = ask(
        app, post("/items", items=items, ids=[0, 1, 2]), post("/query", items=[asked]), get("/info")
    )
    assert (added.status_code, added.json()) == (201, {"added": 3, "items": 3})
    assert ids_of(found) == [expected]
    best = found.json()["results"][0]["found"][0]
    kind = shown.json()["measured"]
    assert best == {"id": 0, kind: pytest.approx(1.0 if kind == "similarity" else 0.0)}
    assert shown.json()["kind"] == ("sets" if not options else "bits" if "hamming" in options.values() else "vectors")
    (kept,) = ask(app, get("/items/2"))
    assert kept.json() == {"id": 2, "item": items[2] if options else None}
    changed = post("/items", items=[items[1]], ids=[0], replace=True)
    assert [answer.status_code for answer in ask(app, changed, ("DELETE", "/items/2", {}))] == [201, 204]
    (now,) = ask(app, post("/query", items=[asked]))
    assert ids_of(now) == [[1, 0] if 1 in expected else []]
    assert index.verify() == 2


def test_bags(indexed):
    index = indexed([Counter("aab"), Counter("a")], measure="bag", threshold=0.3)
    app = make_app(index)
    added, found = ask(app, post("/items", items=[["b", "a", "a"]], ids=["n"]), post("/query", items=[["a", "a", "b"]]))
    assert added.status_code == 201
    assert found.json()["results"][0]["found"] == [
        {"id": 0, "similarity": 1.0},
        {"id": "n", "similarity": 1.0},
        {"id": 1, "similarity": pytest.approx(1 / 3)},
    ]


def test_the_first_bag(indexed):
    app = make_app(indexed(measure="bag", threshold=0.3))
    added, found = ask(app, post("/items", items=[["a", "a"]], ids=["n"]), post("/query", items=[["a", "a"]]))
    assert added.status_code == 201
    assert found.json()["results"][0]["found"] == [{"id": "n", "similarity": 1.0}]


def test_a_text_is_no_bag(indexed):
    app = make_app(indexed([Counter("aab")], measure="bag", threshold=0.3))
    assert one(app, *post("/query", items=["aab"]))[0] == 400


def test_the_first_vectors_are_of_integers(indexed):
    app = make_app(indexed(measure="cosine", threshold=20))
    assert one(app, *post("/items", items=[[1, 2]], ids=["n"])) == (201, {"added": 1, "items": 1})


WRONG_KINDS = {
    "texts": ({}, [CAT], [["a"], [1], [0.5], []]),
    "sets": ({}, [["a"]], ["a", [0.5], [2**70]]),
    "vectors": ({"measure": "cosine", "threshold": 9}, [[0.5, 1.0]], ["a", ["a", "b"], [1], [1, 2, 3], [], [0, 0]]),
    "euclidean": ({"measure": "euclidean", "threshold": 1}, [[0.5, 1.0]], [[1e308, -1e308]]),
    "bits": ({"measure": "hamming", "threshold": 1}, ["0110"], ["", "0", "01x0", "01100", ["0", "1"], "\u0660\u0661"]),
}


@pytest.mark.parametrize(("options", "items", "wrong"), WRONG_KINDS.values(), ids=WRONG_KINDS)
def test_items_of_another_kind(indexed, options, items, wrong):
    index = indexed(items, ["a"], **options)
    app = make_app(index)
    for item in wrong:
        asked, added = ask(app, post("/query", items=[item]), post("/items", items=[*items, item], ids=["b", "c"]))
        assert (item, asked.status_code, added.status_code) == (item, 400, 400)
    assert index.verify() == 1


def test_an_empty_index(indexed):
    app = make_app(indexed())
    nothing = {"found": [], "candidates": 0, "crowded": False}
    assert one(app, *post("/query", items=["x", [1], ["a"], [0.5]])) == (200, {"results": [nothing] * 4})
    for call in (get("/items/x"), ("DELETE", "/items/x", {}), post("/compare", text="x", id="x")):
        assert one(app, *call) == (404, {"error": "there is no item 'x' in the index."})
    (info,) = ask(app, get("/info"))
    assert (info.json()["items"], info.json()["kind"], info.json()["curve"]) == (0, None, [])
    assert ask(app, post("/items", items=[CAT], ids=[1]))[0].status_code == 201
    (info,) = ask(app, get("/info"))
    assert (info.json()["items"], info.json()["kind"], len(info.json()["curve"])) == (1, "texts", 101)


def test_what_was_refused_does_not_begin_an_index(indexed):
    app = make_app(indexed())
    assert one(app, *post("/items", items=["x", "y"], ids=["t", "t"]))[0] == 400
    (info,) = ask(app, get("/info"))
    assert (info.json()["items"], info.json()["kind"]) == (0, None)
    assert one(app, *post("/items", items=[[1, 2]], ids=["n"]))[0] == 201


def test_empty_texts(texts):
    app = make_app(texts)
    answers = ask(app, post("/items", items=[""], ids=["e"]), post("/query", items=[""], threshold=0), get("/items/e"))
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert ids_of(answers[1]) == [[]]
    assert answers[2].json() == {"id": "e", "item": ""}


PAGE = f"<html><head><style>p {{}}</style></head><body><p>{CAT}</p><!-- note --></body></html>"


@pytest.mark.parametrize("notes", [{"html": True}, {"html": True, "article": True}], ids=["html", "article"])
def test_an_index_of_pages(indexed, notes):
    long = " ".join([CAT, "and looked at all the people who went by that day."])
    index = indexed([long], ["cat"], threshold=0.5, shingles="char:4", store_text=True, notes=notes)
    app = make_app(index)
    page = PAGE.replace(CAT, long)
    for item in (page, long):
        (found,) = ask(app, post("/query", items=[item]))
        assert found.json()["results"][0]["found"] == [{"id": "cat", "similarity": 1.0}]
    compared, added, kept = ask(
        app, post("/compare", text=page, id="cat"), post("/items", items=[page], ids=["p"]), get("/items/p")
    )
    assert compared.json()["text"].strip() == long
    assert added.status_code == 201
    assert kept.json()["item"].strip() == long
    odd = ["a < b", "<", "<!", "<div>" * 5_000, "<p>\0</p>", "<script>1</script>"]
    assert ask(app, post("/query", items=odd))[0].status_code == 200


def test_markup_is_text_in_an_index_of_texts(texts):
    app = make_app(texts)
    added, kept = ask(app, post("/items", items=[PAGE], ids=["p"]), get("/items/p"))
    assert (added.status_code, kept.json()["item"]) == (201, PAGE)


# --- add, show, remove ---


def test_add_replace_and_remove(texts):
    app = make_app(texts)
    assert one(app, *post("/items", items=["new text"], ids=["new"])) == (201, {"added": 1, "items": 3})
    status, message = one(app, *post("/items", items=["other text", HAT], ids=["fresh", "cat"]))
    assert status == 409
    assert message["error"].startswith("id 'cat' is there already; ")
    assert one(app, *get("/items/fresh"))[0] == 404  # all of it, or nothing
    assert one(app, *post("/items", items=["z", HAT], ids=["fresh", "cat"], replace=True)) == (
        201,
        {"added": 2, "items": 4},
    )
    assert one(app, *get("/items/cat")) == (200, {"id": "cat", "item": HAT})
    assert one(app, "DELETE", "/items/cat", {}) == (204, None)
    assert one(app, *get("/items/cat")) == (404, {"error": "there is no item 'cat' in the index."})
    assert one(app, "DELETE", "/items/cat", {}) == (404, {"error": "there is no item 'cat' in the index."})
    assert one(app, *post("/items", items=["a", "b"], ids=["t", "t"])) == (
        400,
        {"error": "ids must be unique; 't' occurs more than once."},
    )
    assert texts.verify() == 3


ODD_IDS = [
    "a/b",
    "/",
    "a/",
    "//",
    "a b",
    " ",
    "é",
    "日本",
    "😀",
    "100%",
    "%41",
    "%2F",
    "a?b",
    "a#b",
    "a;b",
    "a+b",
    "a&b=c",
]
ODD_IDS += ["\\", '"', "<b>", "\0", "a\tb", "-7", "007", "info", "..a", "a/../b", "x" * 479, "é" * 239]


@pytest.mark.parametrize("name", ODD_IDS, ids=ascii)
def test_odd_ids(still, app, name):
    asked = [post("/items", items=[HAT], ids=[name]), get(at(name)), post("/compare", text=CAT, id=name)]
    added, kept, compared = ask(app, *asked)
    assert (added.status_code, compared.status_code) == (201, 200)
    assert kept.json() == {"id": name, "item": HAT}
    assert name in ids_of(ask(app, post("/query", items=[HAT]))[0])[0]
    assert one(app, "DELETE", at(name), {}) == (204, None)
    assert one(app, *get(at(name)))[0] == 404
    assert still.verify() == 2


def test_numbers_as_ids(texts):
    """7 and "7" are two ids; where both are there a path must say which is meant."""
    app = make_app(texts)
    assert one(app, *post("/items", items=["one", "two"], ids=[7, "7"])) == (201, {"added": 2, "items": 4})
    assert one(app, *get("/items/7"))[0] == one(app, "DELETE", "/items/7", {})[0] == 409
    assert one(app, *get("/items/7?number=false")) == (200, {"id": "7", "item": "two"})
    assert one(app, *get("/items/7?number=true")) == (200, {"id": 7, "item": "one"})
    assert one(app, *get("/items/7?number=perhaps"))[0] == 422
    assert one(app, "DELETE", "/items/7?number=false", {}) == (204, None)
    assert one(app, "DELETE", "/items/7?number=false", {})[0] == 404
    assert one(app, *get("/items/7")) == (200, {"id": 7, "item": "one"})
    assert one(app, *post("/compare", text="x", id="7"))[0] == 404
    assert one(app, *post("/compare", text="x", id=7))[0] == 200
    assert one(app, "DELETE", "/items/7", {}) == (204, None)
    assert one(app, "DELETE", "/items/7", {})[0] == 404
    most = 2**63 - 1
    assert one(app, *post("/items", items=["x", "y"], ids=[most, -most // 100]))[0] == 201
    for name in (most, -most // 100):
        assert one(app, *get(at(name)))[1]["id"] == name


@pytest.mark.parametrize("name", [-(2**63), -(10**18)])
def test_low_numbers_as_ids(texts, name):
    app = make_app(texts)
    assert one(app, *post("/items", items=["x"], ids=[name]))[0] == 201
    assert one(app, *get(at(name))) == (200, {"id": name, "item": "x"})


def test_an_id_of_two_lines(texts):
    app = make_app(texts)
    assert one(app, *post("/items", items=["x"], ids=["a\nb"]))[0] == 201
    assert one(app, *get(at("a\nb"))) == (200, {"id": "a\nb", "item": "x"})
    assert one(app, "DELETE", at("a\nb"), {}) == (204, None)


def test_a_number_that_is_no_id(app):
    assert one(app, *get("/items/9999999999999999999"))[0] == 404


@pytest.mark.parametrize("name", ["x" * 480, "é" * 240, 2**63, -(2**63) - 1])
def test_ids_that_are_too_long(still, app, name):
    answers = ask(app, post("/items", items=["x"], ids=[name]), post("/compare", text="x", id=name))
    assert [answer.status_code in (400, 422) for answer in answers] == [True, True]
    assert len(still) == 2


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_path_that_is_too_long(app, method):
    answer, document = ask(app, (method, at("x" * 480), {}), get("/openapi.json"))
    assert str(answer.status_code) in document.json()["paths"]["/items/{id}"][method.lower()]["responses"]


def test_texts_that_are_not_kept(indexed):
    app = make_app(indexed([CAT], ["cat"], shingles="char:4"))
    assert one(app, *get("/items/cat")) == (200, {"id": "cat", "item": None})
    assert one(app, *post("/compare", text=CAT, id="cat")) == (
        409,
        {"error": "the index keeps no texts; one built with --store-text does."},
    )


def test_compare(app):
    status, shown = one(app, *post("/compare", text="😀 cat sat on the mat", id="cat"))
    assert (status, shown["text"], shown["other"]) == (200, "😀 cat sat on the mat", CAT)
    assert [2, 20, 4, 22] in shown["passages"]  # in code points
    assert one(app, *post("/compare", text="", id="cat"))[1]["passages"] == []
    assert one(app, *post("/compare", text="x", id="no")) == (404, {"error": "there is no item 'no' in the index."})


def test_info_health_and_the_page(texts):
    app = make_app(texts)
    info, health, page, *files = ask(app, *map(get, ("/info", "/health", "/", "/page.css", "/page.js", "/icon.svg")))
    facts = info.json()
    curve = facts.pop("curve")
    assert {**facts, "bytes": 0, "recall": 0} == {
        "items": 2,
        "bytes": 0,
        "kind": "texts",
        "measure": "jaccard",
        "measured": "similarity",
        "threshold": 0.5,
        "recall": 0,
        "shingles": "char:4",
        "texts_kept": True,
        "read_only": False,
    }
    assert facts["bytes"] == texts.store.byte_size()
    assert facts["recall"] >= 0.99
    assert [curve[0], curve[-1]] == [[0.0, 0.0], [1.0, 1.0]]
    assert health.json() == {"status": "ok"}
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert [file.headers["content-type"].partition(";")[0] for file in files] == [
        "text/css",
        "text/javascript",
        "image/svg+xml",
    ]
    for name in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
        assert name.lstrip("./") in ("page.css", "page.js", "icon.svg", "openapi.json")  # nothing from elsewhere


def test_read_only(texts):
    app = make_app(texts, read_only=True)
    for call in (post("/items", items=["x"], ids=["n"]), ("DELETE", "/items/cat", {}), ("DELETE", "/items/no", {})):
        assert one(app, *call) == (403, {"error": "this server only reads."})
    assert one(app, *post("/query", items=[CAT]))[0] == 200
    assert one(app, *get("/info"))[1]["read_only"] is True
    assert len(texts) == 2


# --- what is refused ---

LONG = b"9" * 5000
BODIES = {
    "nothing": b"",
    "no end": b"{",
    "no JSON": b"items=x",
    "two": b"{}{}",
    "not UTF-8": b"\xff",
    "not UTF-8 within": b'{"items": ["\xff"]}',
    "a list": b"[]",
    "null": b"null",
    "a number": b"7",
    "a string": b'"items"',
    "an empty object": b"{}",
    "deep lists": b"[" * 100_000,
    "deep items": b'{"items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a long integer": b'{"items": ["x"], "top": ' + LONG + b"}",
    "a large integer": b'{"items": ["x"], "top": ' + LONG[:400] + b"}",
    "a long threshold": b'{"items": ["x"], "threshold": ' + LONG[:400] + b"}",
    "a large component": b'{"items": [[' + LONG[:400] + b"]]}",
    "NaN": b'{"items": ["x"], "threshold": NaN}',
    "infinity": b'{"items": ["x"], "threshold": Infinity}',
    "minus infinity": b'{"items": ["x"], "threshold": -Infinity}',
    "overflow": b'{"items": ["x"], "threshold": 1e999}',
    "NaN within": b'{"items": [[NaN, 1.0]]}',
    "infinity within": b'{"items": [[1e999, 1.0]]}',
    "a lone surrogate": b'{"items": ["\\ud800"]}',
    "a lone surrogate in a set": b'{"items": [["\\udc00"]]}',
    "a lone surrogate as a field": b'{"items": ["x"], "\\ud800": 1}',
    "UTF-16": '{"items": ["x"]'.encode("utf-16"),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_malformed_queries(app, body):
    (answer,) = ask(app, raw("/query", body))
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize("kind", ["texts", "sets", "vectors", "bits", "empty"])
def test_malformed_items_of_every_kind(indexed, kind):
    options = {"vectors": {"measure": "cosine", "threshold": 9}, "bits": {"measure": "hamming", "threshold": 1}}
    first = {"texts": ["abc"], "sets": [["a"]], "vectors": [[0.5]], "bits": ["01"], "empty": None}[kind]
    index = indexed(first, **options.get(kind, {}))
    app = make_app(index)
    for item in (b'"\\ud800"', b'["\\ud800"]', b"[" + LONG + b"]", b"[NaN]", b"[" * 500 + b"]" * 500):
        asked = raw("/query", b'{"items": [%s]}' % item), raw("/items", b'{"items": [%s], "ids": [9]}' % item)
        answers = ask(app, *asked)
        assert answers[1].status_code in (400, 422)
        assert answers[0].status_code in ((400, 422) if first else (200, 400, 422))
    assert len(index) == (1 if first else 0)


WRONG = [None, True, 1, 1.5, "x", [], {}, [None], [{}], [[None]], [[True]], [["a", 1]], [[[]]]]
FIELDS = [
    ("/query", {"items": ["x"]}, "items", WRONG),
    ("/query", {"items": ["x"]}, "threshold", ["x", [], {}, [1], -0.1, -1]),
    ("/query", {"items": ["x"]}, "top", [None, True, 0, -1, 1001, 1.5, "3", [], {}]),
    ("/items", {"items": ["x"], "ids": ["a"]}, "items", WRONG),
    (
        "/items",
        {"items": ["x"], "ids": ["a"]},
        "ids",
        [*WRONG, [True], [1.5], [["a"]], [2**63], ["x" * 480], ["\ud800"]],
    ),
    ("/items", {"items": ["x"], "ids": ["a"]}, "replace", [None, 0, 1, "true", "", [], {}]),
    ("/compare", {"text": "x", "id": "cat"}, "text", [None, True, 1, 1.5, [], ["x"], {}]),
    ("/compare", {"text": "x", "id": "cat"}, "id", [None, True, 1.5, [], ["cat"], {}, 2**63, "x" * 480, "\ud800"]),
]


@pytest.mark.parametrize(("path", "good", "field", "wrong"), FIELDS, ids=[f"{row[0]} {row[2]}" for row in FIELDS])
def test_wrong_types(still, app, path, good, field, wrong):
    for value in wrong:
        (answer,) = ask(app, raw(path, json.dumps(good | {field: value}).encode()))
        assert (value, answer.status_code) == (value, 422)
    (extra,) = ask(app, raw(path, json.dumps(good | {"further": 1}).encode()))
    assert (extra.status_code, extra.json()["error"]) == (422, "there is no field 'further'.")
    if field not in ("threshold", "top", "replace"):
        (missing,) = ask(app, raw(path, json.dumps({name: good[name] for name in good if name != field}).encode()))
        assert (missing.status_code, missing.json()["error"]) == (422, f"{field} is missing.")
    assert len(still) == 2


@pytest.mark.parametrize("value", ["0.5", True])
def test_a_threshold_that_is_no_number(app, value):
    assert one(app, *post("/query", items=["x"], threshold=value))[0] == 422


@pytest.mark.parametrize("ids", [["a", "b"], [1, 2, 3]])
def test_more_or_fewer_ids_than_items(app, ids):
    assert one(app, *post("/items", items=["x"], ids=ids)) == (
        422,
        {"error": f"ids must name each item; got {len(ids)} for 1."},
    )
    assert one(app, *post("/items", items=["x"] * 9, ids=ids))[0] == 422


UGLY = {
    "a number as text": raw("/query", b'{"items": [1]}'),
    "a set of two kinds": raw("/query", b'{"items": [["a", 1]]}'),
    "half an id": raw("/items", b'{"items": ["x"], "ids": [1.5]}'),
    "a large id": raw("/items", b'{"items": ["x"], "ids": [9223372036854775808]}'),
    "a long id": raw("/compare", b'{"text": "x", "id": "%s"}' % (b"x" * 480)),
    "no JSON": raw("/query", b"{"),
    "deep": raw("/query", b"[" * 100_000),
    "a list as text": raw("/query", b'{"items": [["a"]]}'),
    "there already": raw("/items", b'{"items": ["x"], "ids": ["cat"]}'),
}


@pytest.mark.parametrize("call", UGLY.values(), ids=UGLY)
def test_errors_are_in_words_of_the_interface(app, call):
    line = one(app, *call)[1]["error"]
    assert not re.search(
        r"\.str\b|constrained-str|^1:|There was an error parsing|Expected bytes|replace=True|--replace", line
    )


METHODS = {
    "unknown": ("GET", "/nope", 404),
    "the pages of FastAPI": ("GET", "/docs", 404),
    "out of the folder": ("GET", "/page.css/..%2f..%2fapp.py", 404),
    "two slashes": ("GET", "/x//query", 404),
    "GET for POST": ("GET", "/query", 405),
    "GET of all items": ("GET", "/items", 405),
    "POST for GET": ("POST", "/info", 405),
    "PUT": ("PUT", "/items/cat", 405),
    "PATCH": ("PATCH", "/items/cat", 405),
    "HEAD": ("HEAD", "/query", 405),
    "HEAD of health": ("HEAD", "/health", 200),
    "OPTIONS": ("OPTIONS", "/query", 405),
    "TRACE": ("TRACE", "/", 405),
    "of nobody": ("BREW", "/info", 405),
}


@pytest.mark.parametrize(("method", "path", "status"), METHODS.values(), ids=METHODS)
def test_paths_and_methods(app, method, path, status):
    (answer,) = ask(app, (method, path, {"headers": JSON}))
    assert answer.status_code == status
    assert ("allow" in answer.headers) == (status == 405)
    assert "access-control-allow-origin" not in answer.headers


def test_a_slash_at_the_end(closed):
    assert one(closed, *get("/health/", host="elsewhere.example", authorization=f"Bearer {TOKEN}")) == (
        404,
        {"error": "Not Found."},
    )


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_bodies_must_be_said_to_be_json(still, app, kind):
    headers = {} if kind is None else {"content-type": kind}
    body = json.dumps({"items": ["x"], "ids": ["n"]}).encode()
    assert one(app, "POST", "/items", {"content": body, "headers": headers}) == (
        415,
        {"error": "the body must be JSON: Content-Type: application/json."},
    )
    assert len(still) == 2


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", " application/json ;x"])
def test_json_by_other_spellings(app, kind):
    assert one(app, "POST", "/query", {"content": b'{"items": ["x"]}', "headers": {"content-type": kind}})[0] == 200


async def chunks(*parts, pause=0.0):
    for part in parts:
        yield part
        await asyncio.sleep(pause)


def test_the_size_of_bodies(texts):
    app = make_app(texts, limits=Limits(body=1000))
    message = b'{"items": ["%s"]}'
    fits = message % (b"x" * (1000 - len(message) + 2))
    assert len(fits) == 1000
    too_large = (413, {"error": "the body must have at most 1,000 bytes."})
    assert one(app, *raw("/query", fits))[0] == 200
    assert one(app, *raw("/query", fits + b" ")) == too_large
    assert one(app, *raw("/query", chunks(fits[:600], fits[600:])))[0] == 200
    assert one(app, *raw("/query", chunks(fits[:600], fits[600:], b" "))) == too_large
    lying = {"content-length": "5"}
    assert one(app, *raw("/query", chunks(fits, fits), **lying)) == too_large
    for size in ("1001", "99999999999999"):
        assert one(app, *get("/info", content_length=size)) == too_large
    for size in ("-1", "x", "1e3", "0x10", ""):
        assert one(app, *get("/info", content_length=size))[0] == 400
    (answer,) = ask(app, raw("/query", fits + b" "))
    assert answer.headers["connection"] == "close"


def test_a_body_that_is_too_large_is_not_read(texts):
    """It is refused by its head, or at the first chunk over the limit."""
    read = []

    async def endless():
        while True:
            read.append(1)
            yield b" " * 400

    app = make_app(texts, limits=Limits(body=1000))
    assert one(app, *raw("/query", endless(), **{"content-length": "4000"}))[0] == 413
    assert read == []
    assert one(app, *raw("/query", endless()))[0] == 413
    assert len(read) == 3


def test_a_length_of_many_digits(app):
    (answer,) = ask(app, get("/info", content_length="9" * 5000))
    assert answer.status_code == 413


def test_a_slow_body(texts):
    app = make_app(texts, limits=Limits(seconds=0.2))
    (answer,) = ask(app, raw("/query", chunks(b'{"items": ', b'["x"]}', pause=3600)))
    assert (answer.status_code, answer.json()) == (408, {"error": "the body took too long to arrive."})
    assert answer.headers["connection"] == "close"
    app = make_app(texts, limits=Limits(seconds=GUARD))
    assert one(app, *raw("/query", chunks(b'{"items": ', b'["x"]}', pause=0.001)))[0] == 200


def test_a_client_that_goes_away(texts):
    guard = make_app(texts)
    scope = {"type": "http", "method": "POST", "path": "/items", "query_string": b"", "http_version": "1.1"}
    scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    coming = [{"type": "http.request", "body": b'{"items": ["x"], "ids": [1]}', "more_body": True}]
    sent = []

    async def receive():
        return coming.pop() if coming else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    assert sent[0]["status"] == 400
    assert guard.metrics.in_flight == 0
    assert len(texts) == 2


def test_the_number_of_items(texts):
    app = make_app(texts, limits=Limits(items=3))
    for path, more in (("/query", {}), ("/items", {"ids": [1, 2, 3, 4]})):
        assert one(app, *post(path, items=["x"] * 4, **more)) == (
            413,
            {"error": "a request may have at most 3 items; got 4."},
        )
    assert one(app, *post("/query", items=["x"] * 3))[0] == 200
    assert one(app, *post("/items", items=["x"] * 3, ids=[1, 2, 3])) == (201, {"added": 3, "items": 5})


def test_the_number_of_requests(texts, monkeypatch):
    app = make_app(texts, limits=Limits(requests=2))
    begun, go_on = threading.Semaphore(0), threading.Event()
    quick = texts.look

    def slow(*args, **options):
        begun.release()
        assert go_on.wait(GUARD)
        return quick(*args, **options)

    monkeypatch.setattr(texts, "look", slow)

    async def crowd():
        async with client_of(app) as client:
            try:
                held = [asyncio.create_task(client.post("/query", json={"items": [CAT]})) for _ in range(2)]
                for _ in held:
                    assert await asyncio.to_thread(begun.acquire, timeout=GUARD)
                third = await client.post("/query", json={"items": [CAT]})
                always = [(await client.get(path)).status_code for path in ("/health", "/metrics", "/info")]
                metrics = (await client.get("/metrics")).text
            finally:
                go_on.set()
            first = [(await answer).status_code for answer in held]
            return first, checked(third), always, metrics, (await client.get("/info")).status_code

    first, third, always, metrics, after = asyncio.run(crowd())
    assert (third.status_code, third.json()) == (429, {"error": "more than 2 requests at a time; try again."})
    assert third.headers["retry-after"] == "1"
    assert (first, always, after) == ([200, 200], [200, 200, 429], 200)
    assert parsed(metrics)["lookalike_requests_in_flight"][()] == 3


# --- who may ask ---

OPEN = ["/", "/page.css", "/page.js", "/icon.svg", "/health"]
CLOSED = [
    "/openapi.json",
    "/info",
    "/metrics",
    "/items/cat",
    "/query",
    "/items",
    "/compare",
    "/nope",
    "/health/",
    "//health",
]
BEARERS = {
    "none": (None, 401),
    "empty": ("", 401),
    "right": (f"Bearer {TOKEN}", 200),
    "small letters": (f"bearer {TOKEN}", 200),
    "wrong": (f"Bearer {TOKEN[:-1]}x", 401),
    "cut": (f"Bearer {TOKEN[:-1]}", 401),
    "longer": (f"Bearer {TOKEN}x", 401),
    "another scheme": (f"Basic {TOKEN}", 401),
    "no scheme": (TOKEN, 401),
    "scheme alone": ("Bearer", 401),
    "not ASCII": (f"Bearer {TOKEN}é".encode("latin-1"), 401),
    "UTF-8": ("Bearer ключ".encode(), 401),
}


@pytest.mark.parametrize(("given", "status"), BEARERS.values(), ids=BEARERS)
def test_tokens(closed, given, status):
    (answer,) = ask(closed, ("GET", "/info", {"headers": {} if given is None else {"authorization": given}}))
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json() == {"error": "a token is needed: Authorization: Bearer TOKEN."}


def test_what_is_open_without_a_token(closed):
    assert {answer.status_code for answer in ask(closed, *map(get, OPEN))} == {200}
    base = "http://127.0.0.1"
    assert {answer.status_code for answer in ask(closed, *(get(base + path) for path in CLOSED))} == {401}
    methods = [(method, path, {"headers": JSON}) for method in ("POST", "DELETE", "OPTIONS") for path in CLOSED[:7]]
    assert {answer.status_code for answer in ask(closed, *methods)} == {401}


def test_tokens_are_compared_in_constant_time(texts, monkeypatch):
    """By digests of one length, whatever is given."""
    compared = []

    def watched(left, right):
        compared.append((len(left), len(right)))
        return compare(left, right)

    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", watched)
    app = make_app(texts, token=TOKEN)
    for bearer, _ in BEARERS.values():
        ask(app, ("GET", "/info", {"headers": {} if bearer is None else {"authorization": bearer}}))
    assert compared == [(32, 32)] * len(BEARERS)


HOSTS = {
    "localhost": 200,
    "LOCALHOST:8000": 200,
    "127.0.0.1": 200,
    "127.0.0.1:80": 200,
    "[::1]:80": 200,
    "": 421,
    "elsewhere.example": 421,
    "localhost.elsewhere.example": 421,
    "127.0.0.1.nip.io": 421,
    "0.0.0.0": 421,
    "192.168.1.1:8000": 421,
    "2130706433": 421,
    "127.0.0.1@elsewhere.example": 421,
}


@pytest.mark.parametrize(("host", "status"), HOSTS.items())
def test_hosts(app, closed, host, status):
    """A page elsewhere whose name is made to mean this machine is not answered; with a token it may be any."""
    for path in ("/health", "/info", "/"):
        assert ask(app, get(path, host=host))[0].status_code == status
    assert ask(closed, get("/health", host=host))[0].status_code == 200


# --- what fails within ---

FAILURES = {
    "the disk": StoreError("/tmp/secret: could not be written, the disk may be full; nothing was changed."),
    "the system": OSError(28, "No space left on device", "/tmp/secret/data.mdb"),
    "memory": MemoryError("/tmp/secret"),
    "a slip": KeyError("/tmp/secret"),
    "depth": RecursionError("/tmp/secret"),
    "another slip": RuntimeError("/tmp/secret\nTraceback"),
}
WITHIN = {
    "look": post("/query", items=[CAT]),
    "add": post("/items", items=["x"], ids=["n"]),
    "remove": ("DELETE", "/items/cat", {}),
    "item": get("/items/cat"),
    "info": get("/info"),
    "spelled": get("/items/cat"),
}


@pytest.mark.parametrize("error", FAILURES.values(), ids=FAILURES)
def test_failures_show_nothing(texts, monkeypatch, caplog, error):
    app = make_app(texts)

    def fails(*args, **options):
        raise error

    for name, call in WITHIN.items():
        with monkeypatch.context() as patch:
            patch.setattr(texts, name, fails)
            status, message = one(app, *call)
        if isinstance(error, StoreError):
            assert (status, message["error"]) == (503, "the index cannot be used now; the log of the server says why.")
            assert str(error) in caplog.text
        else:
            assert (status, message["error"]) == (500, "something failed; the log of the server says what.")
    assert one(app, *get("/items/cat"))[0] == 200
    metrics = parsed(ask(app, get("/metrics"))[0].text)
    failed = {key[-1][1] for key in metrics["lookalike_requests_total"]} & {"500", "503"}
    assert failed == {"503" if isinstance(error, StoreError) else "500"}
    assert metrics["lookalike_requests_in_flight"][()] == 1


def test_what_fails_is_raised_for_the_log(texts, monkeypatch):
    """uvicorn logs what the application raises."""
    monkeypatch.setattr(texts, "look", lambda *args, **options: {}["x"])

    async def ask_it():
        transport = httpx.ASGITransport(app=make_app(texts))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await client.post("/query", json={"items": [CAT]})

    with pytest.raises(KeyError):
        asyncio.run(ask_it())


def test_a_damaged_index(texts):
    """Records that make no sense: what can be answered still is."""
    app = make_app(texts)
    with texts.store.writing() as writer:
        for key, _ in list(writer.pairs("items")):
            writer.txn.put(key, b"\0", db=writer.tables["items"])
        for key, _ in list(writer.pairs("texts")):
            writer.txn.put(key, b"no deflate", db=writer.tables["texts"])
    calls = [
        post("/query", items=[CAT]),
        get("/items/cat"),
        ("DELETE", "/items/cat", {}),
        post("/compare", text="x", id="cat"),
    ]
    assert [answer.status_code for answer in ask(app, *calls)] == [200, 500, 500, 500]  # no record is like the first
    assert one(app, *get("/health"))[0] == 200


def test_a_store_that_fails(texts, caplog):
    class Broken:
        def begin(self, **options):
            raise lmdb.CorruptedError("/tmp/secret/data.mdb: MDB_CORRUPTED")

    app = make_app(texts)
    env, texts.store.env = texts.store.env, Broken()
    try:
        calls = [*WITHIN.values(), get("/health"), get("/metrics")]
        assert {answer.status_code for answer in ask(app, *calls)} == {503}
        assert "MDB_CORRUPTED" in caplog.text
    finally:
        texts.store.env = env
    assert one(app, *get("/health"))[0] == 200


def test_files_that_are_gone(texts):
    app = make_app(texts)
    (texts.store.path / "data.mdb").unlink()
    assert {answer.status_code for answer in ask(app, get("/info"), get("/metrics"))} == {500}


# --- counts ---

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z]+="[^"\\\n]*",?)+)\})? (\S+)')


def parsed(text):
    """{name: {labels: value}} of the text format of Prometheus, by its rules."""
    assert text.endswith("\n")
    families, seen, samples = {}, set(), {}
    family = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            assert family not in families  # the lines of each stand together
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


def test_metrics(texts):
    app = make_app(texts)
    ask(
        app,
        post("/query", items=[CAT, HAT, "x"]),
        post("/query", items=[OTHER]),
        raw("/query", b"{"),
        post("/items", items=["x", "y"], ids=[1, 2]),
        post("/items", items=["x"], ids=[1]),
        ("DELETE", "/items/1", {}),
        get("/items/2"),
        get('/items/"odd"'),
        get("/nope"),
        ("BREW", "/nope", {}),
        get("/info", host="elsewhere.example"),
    )
    (answer,) = ask(app, get("/metrics"))
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = parsed(answer.text)
    assert {key: value for key, (value,) in ((k, tuple(v.values())) for k, v in samples.items() if () in v)} == {
        "lookalike_queries_total": 4,
        "lookalike_candidates_total": 3,
        "lookalike_matches_total": 3,
        "lookalike_added_total": 2,
        "lookalike_removed_total": 1,
        "lookalike_requests_in_flight": 1,
        "lookalike_items": 3,
        "lookalike_index_bytes": texts.store.byte_size(),
    }
    requests = {tuple(value for _, value in key): n for key, n in samples["lookalike_requests_total"].items()}
    assert requests == {
        ("/query", "POST", "200"): 2,
        ("/query", "POST", "422"): 1,
        ("/items", "POST", "201"): 1,
        ("/items", "POST", "409"): 1,
        ("/items/{id}", "DELETE", "204"): 1,
        ("/items/{id}", "GET", "200"): 1,
        ("/items/{id}", "GET", "404"): 1,
        ("other", "GET", "404"): 1,
        ("other", "other", "404"): 1,
        ("/info", "GET", "421"): 1,
    }
    counts = {dict(key)["route"]: n for key, n in samples["lookalike_request_seconds_count"].items()}
    assert counts == {"/query": 3, "/items": 2, "/items/{id}": 3, "other": 2, "/info": 1}
    for route, count in counts.items():
        buckets = [
            (float(dict(key)["le"]), n)
            for key, n in samples["lookalike_request_seconds_bucket"].items()
            if dict(key)["route"] == route
        ]
        assert buckets == sorted(buckets)
        assert [n for _, n in buckets] == sorted(n for _, n in buckets)
        assert buckets[-1] == (math.inf, count)
        assert samples["lookalike_request_seconds_sum"][(("route", route),)] > 0


def test_metrics_before_anything_is_asked(texts):
    samples = parsed(ask(make_app(texts), get("/metrics"))[0].text)
    assert samples["lookalike_queries_total"] == {(): 0}
    assert "lookalike_requests_total" not in samples


# --- the document ---

OPERATIONS = [
    ("POST", "/query"),
    ("POST", "/items"),
    ("GET", "/items/{id}"),
    ("DELETE", "/items/{id}"),
    ("POST", "/compare"),
    ("GET", "/info"),
    ("GET", "/health"),
    ("GET", "/metrics"),
]


def document_of(app):
    return ask(app, get("/openapi.json", authorization=f"Bearer {TOKEN}"))[0].json()


def test_the_document(texts):
    open_to_all, closed = document_of(make_app(texts)), document_of(make_app(texts, token=TOKEN))
    described = [(method.upper(), path) for path, methods in open_to_all["paths"].items() for method in methods]
    assert sorted(described) == sorted(OPERATIONS)
    assert "securitySchemes" not in open_to_all["components"]
    assert closed["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    secured = {path for path, methods in closed["paths"].items() for one in methods.values() if "security" in one}
    assert secured == {path for _, path in OPERATIONS} - {"/health"}


EXAMPLES = {
    "nothing": (None, {"store_text": True}),
    "texts": ([CAT], {"store_text": True}),
    "sets": ([["a"]], {}),
    "sets of numbers": ([[1]], {}),
    "vectors": ([[1.0, 0.5, 0.0]], {"measure": "cosine", "threshold": 9}),
    "bits": (["0000"], {"measure": "hamming", "threshold": 1}),
    "vectors of 2": ([[1.0, 0.5]], {"measure": "cosine", "threshold": 9}),
    "bits of 8": (["00000000"], {"measure": "hamming", "threshold": 1}),
    "no vectors yet": (None, {"measure": "euclidean", "threshold": 1}),
    "no bits yet": (None, {"measure": "hamming", "threshold": 1}),
}


@pytest.mark.parametrize(("items", "options"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_are_accepted(indexed, items, options):
    app = make_app(indexed(items, **options))
    paths = document_of(app)["paths"]
    examples = {
        path: paths[path]["post"]["requestBody"]["content"]["application/json"]["example"]
        for path in ("/items", "/query", "/compare")
    }
    kept = options.get("store_text", False)
    answers = ask(app, *(raw(path, json.dumps(example).encode()) for path, example in examples.items()))
    assert [answer.status_code for answer in answers] == [201, 200, 200 if kept else 409]
    assert examples["/items"]["ids"][0] in ids_of(answers[1])[0]


def schema_of(app):
    return schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "localhost"})


GOOD = {
    "POST /query": {"body": {"items": [CAT], "threshold": 0.2, "top": 2}},
    "POST /items": {"body": {"items": ["x"], "ids": ["n"]}},
    "GET /items/{id}": {"path_parameters": {"id": "cat"}},
    "DELETE /items/{id}": {"path_parameters": {"id": "cat"}},
    "POST /compare": {"body": {"text": HAT, "id": "cat"}},
    "GET /info": {},
    "GET /health": {},
    "GET /metrics": {},
}
TUPLES = ("POST /compare", "GET /info")  # whose `prefixItems` Schemathesis takes for something else


@pytest.mark.parametrize("name", GOOD)
def test_answers_are_as_the_document_says(texts, name):
    method, path = name.split()
    app = make_app(texts)
    document = document_of(app)
    media = {"media_type": "application/json"} if "body" in GOOD[name] else {}
    case = schema_of(app)[path][method].Case(**GOOD[name], **media)
    answer = case.call(headers={"host": "localhost"})
    assert answer.status_code in (200, 201, 204)
    if name not in TUPLES:
        case.validate_response(answer)
    if path != "/metrics" and answer.content:
        content = document["paths"][path][method.lower()]["responses"][str(answer.status_code)]["content"]
        rule = {**content["application/json"]["schema"], "components": document["components"]}
        jsonschema_rs.Draft202012Validator(rule).validate(answer.json())
        assert not jsonschema_rs.Draft202012Validator(rule).is_valid({**answer.json(), "further": 1})


DRAWN = [(*operation, GenerationMode.POSITIVE) for operation in OPERATIONS[:5]]
DRAWN += [(*operation, GenerationMode.NEGATIVE) for operation in OPERATIONS[:5] if operation[0] == "POST"]


@pytest.mark.parametrize(("method", "path", "mode"), DRAWN, ids=[f"{row[0]} {row[1]} {row[2].value}" for row in DRAWN])
def test_drawn_requests(texts, method, path, mode):
    """Whatever is asked, there is no failure, and the answer is one that the document describes.

    That all is accepted which the document allows is not asked: to it 30.0 is an integer, and an item of another kind
    than those of the index an item.
    """
    schema = schema_of(make_app(texts))
    statuses = Counter()

    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=60, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def ask_it(case):
        answer = case.call(headers={"host": "localhost"})
        statuses[answer.status_code] += 1
        if not (path == "/compare" and answer.status_code == 200):  # as above
            case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    ask_it()
    assert sum(statuses.values()) >= 60
    assert max(statuses) < 500
    assert texts.verify() == len(texts)


# --- a server of its own ---


class Server:
    """A server as a process."""

    def __init__(self, *args, script=None):
        self.process = spawn("serve", *args, "--port", 0, script=script)
        self.said = []
        while not self.said or not self.said[-1].startswith("serving "):
            line = self.process.stderr.readline().decode()
            assert line, self.said
            self.said.append(line)
        self.port = int(re.search(r":(\d+)/; Ctrl-C stops$", self.said[-1]).group(1))

    def __call__(self, method, path, message=None, host="127.0.0.1", **headers):
        connection = HTTPConnection(host, self.port, timeout=GUARD)
        try:
            body = None if message is None else json.dumps(message)
            connection.request(method, path, body, headers | (JSON if body else {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def stop(self, how=signal.SIGTERM):
        """Its exit code, and what it said last."""
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=GUARD)
        return self.process.returncode, err.decode()


@pytest.fixture
def server():
    """Starts servers, and ends those that are left."""
    started = []

    def start(*args, **options):
        started.append(Server(*args, **options))
        return started[-1]

    yield start
    for one in started:
        with suppress(ProcessLookupError):
            one.process.kill()
        one.process.wait()
        one.process.stdout.close()
        one.process.stderr.close()


@pytest.fixture
def place(tmp_path):
    """The folder of an index of texts, which is not open."""
    texts = [CAT, OTHER, *(f"text number {number} of many, {number * 7919}" for number in range(50))]
    Index.build(
        tmp_path / "secret.index", texts, [f"t{at}" for at in range(52)], threshold=0.5, shingles="char:4"
    ).close()
    return tmp_path / "secret.index"


# Waits for the disk, and for clients to ask again, for as long as a busy machine takes.
PATIENT = f"""
import functools, uvicorn
import lookalike.serve
lookalike.serve.PATIENCE = {GUARD}
uvicorn.Config = functools.partial(uvicorn.Config, timeout_keep_alive={GUARD})
from lookalike.cli import main
main()
"""


def test_many_requests_at_a_time(place, server):
    """A hundred askers: no error, and no more memory at the end than in the middle."""
    served = server(place, script=PATIENT)
    assert served.said == [f"serving 52 items at http://127.0.0.1:{served.port}/; Ctrl-C stops\n"]
    with pytest.raises(ConnectionRefusedError):
        served("GET", "/health", host="127.0.0.2")  # this machine too, but not that address
    statuses, memory = Counter(), []

    def resident():
        with open(f"/proc/{served.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024

    def asker(number):
        """Every tenth adds an item and removes it again, which waits for the disk; the others look up and show."""
        calls = [("POST", "/query", {"items": [HAT, OTHER]}), ("GET", "/items/t0", None), ("GET", "/info", None)]
        if number % 10 == 0:
            own = {"items": [f"{number} {CAT}"], "ids": [f"own/{number}"]}
            calls = [
                ("POST", "/items", own),
                *((method, f"/items/own%2F{number}", None) for method in ("GET", "DELETE")),
            ]
        with closing(HTTPConnection("127.0.0.1", served.port, timeout=GUARD)) as connection:
            for _ in range(2):
                for method, path, message in calls * 4:
                    connection.request(method, path, message and json.dumps(message), JSON if message else {})
                    answer = connection.getresponse()
                    answer.read()
                    with lock:
                        statuses[method, answer.status] += 1
                together.wait()
                together.wait()  # until the memory is measured

    lock, together = threading.Lock(), threading.Barrier(101, timeout=GUARD)
    threads = [threading.Thread(target=asker, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        together.wait()
        memory.append(resident())
        together.wait()
    for thread in threads:
        thread.join()
    assert statuses == {("POST", 200): 720, ("POST", 201): 80, ("GET", 200): 1520, ("DELETE", 204): 80}
    assert memory[1] - memory[0] < 16  # MB
    counted = parsed(served("GET", "/metrics")[1])["lookalike_requests_total"]
    assert sum(counted.values()) == sum(statuses.values())
    assert served.stop() == (0, "stopped\n")
    with Index.open(place) as index:
        assert index.verify() == 52


# What is called "slow" waits until a file is there; requests have so many seconds when the server is stopped.
WAITING = """
import os, time
from pathlib import Path
import lookalike.serve
from lookalike.index import Index
lookalike.serve.GRACE = {grace}
def waiting(quick):
    def wait(self, items, *args, **options):
        if "slow" in items:
            os.write(1, b"begun\\n")  # in one piece, whichever threads write
            while not Path({go_on!r}).exists():
                time.sleep(0.01)
        return quick(self, items, *args, **options)
    return wait
Index.look, Index.add = waiting(Index.look), waiting(Index.add)
from lookalike.cli import main
main()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_answered(place, tmp_path, server, how):
    """By a server that can be reached from elsewhere, with a token."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "token").chmod(0o600)
    script = WAITING.format(grace=GUARD, go_on=str(tmp_path / "go on"))
    served = server(place, "--host", "0.0.0.0", "--token-file", tmp_path / "token", script=script)
    assert len(served.said) == 1
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert [served("GET", "/info")[0], served("GET", "/info", **bearer)[0]] == [401, 200]
    asked = [("/query", {"items": ["slow"]}), ("/items", {"items": ["slow"], "ids": ["slow"]})]
    answers = []
    threads = [
        threading.Thread(target=lambda call=call: answers.append(served("POST", *call, **bearer)[0])) for call in asked
    ]
    for thread in threads:
        thread.start()
    assert [served.process.stdout.readline() for _ in asked] == [b"begun\n"] * 2
    served.process.send_signal(how)
    refused = False
    while not refused:  # nobody else is let in
        try:
            socket.create_connection(("127.0.0.1", served.port)).close()
            time.sleep(0.01)
        except ConnectionRefusedError:
            refused = True
    assert answers == []
    (tmp_path / "go on").touch()
    for thread in threads:
        thread.join()
    _, err = served.process.communicate(timeout=GUARD)
    assert (sorted(answers), served.process.returncode) == ([200, 201], 0)
    assert err.decode().endswith("stopped\n")
    with Index.open(place) as index:
        assert index.verify() == 53


def test_a_body_that_never_ends_does_not_keep_the_server(place, server):
    served = server(place, script=WAITING.format(grace=1, go_on="never"))
    address = ("127.0.0.1", served.port)
    with socket.create_connection(address) as idle, socket.create_connection(address) as stuck:
        stuck.sendall(b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        stuck.sendall(b"Content-Length: 100\r\n\r\n{")
        while parsed(served("GET", "/metrics")[1])["lookalike_requests_in_flight"][()] < 2:
            time.sleep(0.01)
        code, err = served.stop()
        assert (code, err.splitlines()[-1]) == (0, "stopped")
        assert idle.recv(1) == b""


def test_what_was_answered_survives_a_kill(place, server):
    served = server(place)
    answered = []

    def add():
        with suppress(OSError, HTTPException):  # the last answer may be cut off anywhere
            for number in range(100_000):
                status, _ = served("POST", "/items", {"items": [f"added {number}"], "ids": [number]})
                answered.append((number, status))

    adder = threading.Thread(target=add)
    adder.start()
    while len(answered) < 50 and adder.is_alive():
        time.sleep(0.001)
    served.process.kill()
    adder.join()
    assert {status for _, status in answered} == {201}
    with Index.open(place) as index:
        assert index.verify() - 52 - len(answered) in (0, 1)  # one may be written and not answered
        assert all(number in index for number, _ in answered)


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
from lookalike.cli import main
main()
"""


def test_a_full_disk(place, server):
    """A limit on the size of files stands for the disk; what is asked is answered on."""
    served = server(place, script=FULL)
    statuses, last, count = [], "", 52
    while not statuses or statuses[-1] == 201:
        first = 500 * len(statuses)
        items = [f"text {number} {CAT} {number * 104729}" for number in range(first, first + 500)]
        status, last = served("POST", "/items", {"items": items, "ids": list(range(first, first + 500))})
        statuses.append(status)
        count += 500 * (status == 201)
    assert statuses[-1] == 503
    assert json.loads(last) == {"error": "the index cannot be used now; the log of the server says why."}
    assert [served("GET", "/health")[0], served("POST", "/query", {"items": [CAT]})[0]] == [200, 200]
    code, err = served.stop()
    assert code == 0
    assert f"{place}: could not be written, the disk may be full; nothing was changed." in err
    with Index.open(place) as index:
        assert index.verify() == count


# --- what the command refuses ---


def test_the_port_is_in_use(place, run):
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        ended = run("serve", place, "--port", port)
    assert ended.code == 1
    assert complaint(ended).startswith(f"127.0.0.1, port {port}: cannot be listened at: Address already in use")


def test_answers_are_sent_at_once():
    with listening("127.0.0.1", 0) as listener:  # what is accepted has its options
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_the_port_is_named_once(place, run):
    with listening("127.0.0.1", 0) as taken:
        ended = run("serve", place, "--port", taken.getsockname()[1])
    assert complaint(ended).endswith(": Address already in use.")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "elsewhere.example", ""])
def test_another_address_needs_a_token(place, run, host):
    with listening("127.0.0.1", 0) as taken:  # so that no server would be started
        ended = run("serve", place, "--port", taken.getsockname()[1], "--host", host)
    assert (ended.code, complaint(ended)) == (
        2,
        f"--host {host} can be reached from elsewhere: name a --token-file; `openssl rand -hex 32` makes a token."
        if host
        else "--host can be reached from elsewhere: name a --token-file; `openssl rand -hex 32` makes a token.",
    )


def test_no_index(tmp_path, run):
    ended = run("serve", tmp_path / "no.index", "--port", 0)
    assert ended.code == 1
    assert complaint(ended) == f"{tmp_path}/no.index: there is no index; `lookalike index build` makes one."


BOUNDS = [("--port", -1), ("--port", 65536), ("--max-bytes", 0), ("--max-items", 0), ("--max-requests", -5)]


@pytest.mark.parametrize(("option", "value"), BOUNDS)
def test_options_out_of_bounds(place, run, option, value):
    ended = run("serve", place, option, value)
    assert ended.code == 2
    assert complaint(ended).startswith(f"{option.removeprefix('--')} must be an integer of at ")


TOKENS = {
    "empty": b"",
    "blank": b" \n",
    "short": b"0123456789abcde\n",
    "two words": b"0123456789 0123456789",
    "two lines": b"0123456789abcdef\n0123456789abcdef\n",
    "not ASCII": "0123456789abcdefé".encode(),
}


@pytest.mark.parametrize("content", TOKENS.values(), ids=TOKENS)
def test_tokens_that_will_not_do(place, tmp_path, run, content):
    (tmp_path / "token").write_bytes(content)
    ended = run("serve", place, "--port", 0, "--token-file", tmp_path / "token")
    assert ended.code == 1
    assert complaint(ended) == f"{tmp_path}/token: a token must be one word of at least 16 ASCII characters."


def test_token_files_that_cannot_be_read(place, tmp_path, run):
    (tmp_path / "bytes").write_bytes(b"\xff" * 20)
    for name, reason in (("missing", "No such file or directory."), ("", "Is a directory."), ("bytes", "")):
        ended = run("serve", place, "--port", 0, "--token-file", tmp_path / name)
        assert ended.code == 1
        assert ": the token cannot be read: " in complaint(ended)
        assert complaint(ended).endswith(reason)


@pytest.mark.parametrize(("mode", "noted"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_token_file_that_others_can_read(place, tmp_path, run, mode, noted):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(mode)
    with listening("127.0.0.1", 0) as taken:  # so that the server stops at once
        ended = run("serve", place, "--port", taken.getsockname()[1], "--token-file", tmp_path / "token")
    note = f"note: {tmp_path}/token can be read by other users of this machine; chmod 600 keeps it to yourself\n"
    assert ended.err.startswith(note) == noted
    assert TOKEN not in ended.err
    assert "Address already in use" in ended.err


@pytest.mark.parametrize("module", ["fastapi", "uvicorn"])
def test_without_the_extra(module):
    script = f"import sys; sys.modules[{module!r}] = None\nfrom lookalike.cli import main\nmain()"
    process = spawn("serve", "some.index", script=script)
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == 2
    assert err.decode() == "lookalike: the server needs FastAPI and uvicorn: pip install 'lookalike[serve]'.\n"
