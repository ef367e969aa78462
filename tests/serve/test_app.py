"""Check the answers of the server, and that failures reveal nothing about the machine."""

import asyncio
import re
from collections import Counter

import httpx
import lmdb
import pytest

from lookalike.core.errors import StoreError
from lookalike.serve import Limits, make_app
from tests.hostile_pages import ATTACKS
from tests.serving import CAT, HAT, JSON, TOKEN, ask, at, get, ids_of, one, parsed, post

# --- queries ---


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
        post("/query", items=["a b c d e f"], k=1),
        post("/query", items=["a b c d e f"], k=1000),
        post("/query", items=["a b c d e f"], threshold=0.7),
        post("/query", items=["a b c d e f"], threshold=1),
        post("/query", items=["a b c d e f"], threshold=None),
        post("/query", items=["a b c d e f"], threshold=0, k=2),
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
    "cosine, integers": ({"measure": "angle", "threshold": 20}, [[1.5, 0], [0, 1], [3, 1]], [1, 0], [0, 2]),
    "cosine similarity": ({"measure": "cosine_similarity", "threshold": 0.7}, [[1, 0], [0, 1], [3, 1]], [2, 0], [0, 2]),
    "euclidean": ({"measure": "euclidean", "threshold": 2}, [[1, 0], [9, 9], [1, 0.5]], [1, 0], [0, 2]),
    "bits": ({"measure": "hamming", "threshold": 1}, ["01100000", "10011111", "01100001"], "01100000", [0, 2]),
    "bits as rows": ({"measure": "hamming", "threshold": 1}, ["0110", "1001", "0111"], [0, 1, 1, 0], [0, 2]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "items", "asked", "expected"), KINDS.values(), ids=KINDS)
def test_kinds(indexed, options, items, asked, expected):
    """Items are added over HTTP to an empty index, found, read back, replaced and removed."""
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
    app = make_app(indexed(measure="angle", threshold=20))
    assert one(app, *post("/items", items=[[1, 2]], ids=["n"])) == (201, {"added": 1, "items": 1})


WRONG_KINDS = {
    "texts": ({}, [CAT], [["a"], [1], [0.5], []]),
    "sets": ({}, [["a"]], ["a", [0.5], [2**70]]),
    "vectors": ({"measure": "angle", "threshold": 9}, [[0.5, 1.0]], ["a", ["a", "b"], [1], [1, 2, 3], [], [0, 0]]),
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


@pytest.mark.slow
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


def test_pages_that_cost_too_much_to_parse(indexed):
    """Stray end tags and unclosed formatting are no way around the limit."""
    app = make_app(indexed([CAT], ["cat"], threshold=0.5, shingles="char:4", store_text=True, notes={"html": True}))
    for name in ("stray end tags", "formatting with attributes", "nested"):
        for request in (post("/query", items=[ATTACKS[name]]), post("/items", items=[ATTACKS[name]], ids=["p"])):
            status, answer = one(app, *request)
            assert status == 413
            assert answer["error"].startswith("the page ")


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
    assert message["error"] == "id 'cat' already exists; use \"replace\": true to overwrite it."
    assert one(app, *get("/items/fresh"))[0] == 404  # all items are added, or none
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


@pytest.mark.slow
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
    """7 and "7" are two ids; if both exist, a path must say which is meant."""
    app = make_app(texts)
    assert one(app, *post("/items", items=["one", "two"], ids=[7, "7"])) == (201, {"added": 2, "items": 4})
    both = "two items match 7: one has the integer 7 as its id, the other the string '7'"
    answer = (409, {"error": f"{both}; set number=true or number=false."})
    assert one(app, *get("/items/7")) == one(app, "DELETE", "/items/7", {}) == answer
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


def test_a_number_that_is_not_an_id(app):
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
        {"error": "the index keeps no texts; build it with --store-text to compare texts."},
    )


def test_compare(app):
    status, shown = one(app, *post("/compare", text="😀 cat sat on the mat", id="cat"))
    assert (status, shown["text"], shown["other"]) == (200, "😀 cat sat on the mat", CAT)
    assert [2, 20, 4, 22] in shown["passages"]  # in code points
    assert one(app, *post("/compare", text="", id="cat"))[1]["passages"] == []
    assert one(app, *post("/compare", text="x", id="no")) == (404, {"error": "there is no item 'no' in the index."})


def test_info_health_and_the_page(texts):
    app = make_app(texts)
    info, health, page, *files = ask(
        app, *map(get, ("/info", "/health", "/", "/page.css", "/page.js", "/common.js", "/icon.svg"))
    )
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
        "text/javascript",
        "image/svg+xml",
    ]
    for name in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
        assert name.lstrip("./") in ("page.css", "page.js", "icon.svg", "openapi.json")  # nothing from other sites


def test_read_only(texts):
    app = make_app(texts, read_only=True)
    for call in (post("/items", items=["x"], ids=["n"]), ("DELETE", "/items/cat", {}), ("DELETE", "/items/no", {})):
        assert one(app, *call) == (403, {"error": "this server is read-only."})
    assert one(app, *post("/query", items=[CAT]))[0] == 200
    assert one(app, *get("/info"))[1]["read_only"] is True
    assert len(texts) == 2


# --- refused requests ---

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


def test_the_number_of_items(texts):
    app = make_app(texts, limits=Limits(items=3))
    for path, more in (("/query", {}), ("/items", {"ids": [1, 2, 3, 4]})):
        assert one(app, *post(path, items=["x"] * 4, **more)) == (
            413,
            {"error": "a request may have at most 3 items; got 4."},
        )
    assert one(app, *post("/query", items=["x"] * 3))[0] == 200
    assert one(app, *post("/items", items=["x"] * 3, ids=[1, 2, 3])) == (201, {"added": 3, "items": 5})


# --- internal errors ---

FAILURES = {
    "the disk": StoreError("/tmp/secret: could not be written; the disk may be full. Nothing was changed."),
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
            assert (status, message["error"]) == (503, "the index is unavailable; see the server log.")
            assert str(error) in caplog.text
        else:
            assert (status, message["error"]) == (500, "internal error; see the server log.")
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
    """Requests that meet an invalid record are refused without a traceback; others are answered."""
    app = make_app(texts)
    with texts.store.writing() as writer:
        for item in list(writer.items()):
            writer.kept.put(item.number, b"\0")
    calls = [
        post("/query", items=[CAT]),
        get("/items/cat"),
        ("DELETE", "/items/cat", {}),
        post("/compare", text="x", id="cat"),
    ]
    assert [answer.status_code for answer in ask(app, *calls)] == [503, 503, 503, 503]
    assert one(app, *get("/health"))[0] == 200


def test_a_store_that_fails(texts, caplog):
    class Broken:
        def begin(self, **options):
            raise lmdb.CorruptedError("/tmp/secret/data.mdb: MDB_CORRUPTED")

        reader_check = begin

    app = make_app(texts)
    env, texts.store.live.env = texts.store.live.env, Broken()
    try:
        calls = [*WITHIN.values(), get("/health"), get("/metrics")]
        assert {answer.status_code for answer in ask(app, *calls)} == {503}
        assert "MDB_CORRUPTED" in caplog.text
    finally:
        texts.store.live.env = env
    assert one(app, *get("/health"))[0] == 200


def test_files_that_are_gone(texts):
    app = make_app(texts)
    (texts.store.path / "data.mdb").unlink()
    assert {answer.status_code for answer in ask(app, get("/info"), get("/metrics"))} == {500}
