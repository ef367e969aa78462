"""Check that malformed messages are refused, in the terms of the interface."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.serve import Limits, make_app, messages, reading
from tests.serving import ask, one, post, raw

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
    "a long integer": b'{"items": ["x"], "k": ' + LONG + b"}",
    "a large integer": b'{"items": ["x"], "k": ' + LONG[:400] + b"}",
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


@pytest.mark.parametrize("name", BODIES)
def test_malformed_queries(app, name):
    """Those with more brackets than any query has are not even parsed."""
    (answer,) = ask(app, raw("/query", BODIES[name]))
    assert answer.status_code in ((413,) if name.startswith("deep") else (400, 422))


@pytest.mark.parametrize("kind", ["texts", "sets", "vectors", "bits", "empty"])
def test_malformed_items_of_every_kind(indexed, kind):
    options = {"vectors": {"measure": "angle", "threshold": 9}, "bits": {"measure": "hamming", "threshold": 1}}
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
    ("/query", {"items": ["x"]}, "k", [None, True, 0, -1, 1001, 1.5, "3", [], {}]),
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
    if field not in ("threshold", "k", "replace"):
        (missing,) = ask(app, raw(path, json.dumps({name: good[name] for name in good if name != field}).encode()))
        assert (missing.status_code, missing.json()["error"]) == (422, f"{field} is missing.")
    assert len(still) == 2


@pytest.mark.parametrize("value", ["0.5", True])
def test_a_threshold_that_is_not_a_number(app, value):
    assert one(app, *post("/query", items=["x"], threshold=value))[0] == 422


@pytest.mark.parametrize("ids", [["a", "b"], [1, 2, 3]])
def test_more_or_fewer_ids_than_items(app, ids):
    assert one(app, *post("/items", items=["x"], ids=ids)) == (
        422,
        {"error": f"there must be as many ids as items; got {len(ids)} ids for 1 item."},
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


# --- hostile messages ---

MANY = 100_000
HOSTILE = {
    "numbers as texts": ("/query", b'{"items": [' + b"1," * MANY + b"1]}", 413),
    "objects as texts": ("/query", b'{"items": [' + b"{}," * MANY + b"{}]}", 413),
    "lists as texts": ("/query", b'{"items": [' + b"[]," * MANY + b"[]]}", 413),
    "many ids": ("/items", b'{"items": ["x"], "ids": [' + b"1.5," * MANY + b"1]}", 413),
    "objects as ids": ("/items", b'{"items": ["x"], "ids": [' + b"{}," * MANY + b"{}]}", 413),
    "many fields": ("/query", b"{" + b",".join(b'"f%d": 1' % at for at in range(MANY)) + b"}", 413),
    "some fields": ("/query", b"{" + b",".join(b'"f%d": 1' % at for at in range(900)) + b"}", 422),
    "a set of two kinds": ("/query", b'{"items": [[' + b"1," * MANY + b'"x"]]}', 400),
    "deep lists": ("/query", b'{"items": ' + b"[" * 900 + b"]" * 900 + b"}", 422),
    "a large object as items": ("/query", b'{"items": {"a": [' + b"1," * MANY + b"1]}}", 422),
}


@pytest.mark.parametrize(("path", "body", "status"), HOSTILE.values(), ids=HOSTILE)
def test_only_the_first_error_is_built(app, monkeypatch, path, body, status):
    """An error per element took 37 seconds and 2.9 GB for one megabyte."""
    counts = []
    for shape in {*messages.QUERIES.values(), *messages.ADDITIONS.values()}:
        validate = shape.model_validate

        def counted(given, validate=validate):
            try:
                return validate(given)
            except reading.ValidationError as error:
                counts.append(error.error_count())
                raise

        monkeypatch.setattr(shape, "model_validate", counted)
    (answer,) = ask(app, raw(path, body))
    assert answer.status_code == status
    assert len(answer.json()["error"]) < 200
    assert max(counts, default=0) <= 8


@pytest.mark.parametrize("kind", ["texts", "empty"])
@pytest.mark.parametrize("path", ["/query", "/items"])
def test_lists_of_errors_end_at_the_first(indexed, kind, path):
    """Also below the limit on items."""
    app = make_app(indexed(["abc"] if kind == "texts" else None), limits=Limits(items=10**6))
    for wrong in (b"1", b"{}", b"null", b"[null,null]"):
        more = b', "ids": [' + b"{}," * 1000 + b"{}]" if path == "/items" else b""
        body = b'{"items": [' + (wrong + b",") * MANY + wrong + b"]" + more + b"}"
        (answer,) = ask(app, raw(path, body))
        assert (answer.status_code, answer.json()["error"][:8]) == (422, "items[0]")


@given(texts=st.lists(st.text(alphabet='[]{}:"\\ab', max_size=30), min_size=1, max_size=5))
def test_brackets_in_texts_are_not_counted(texts):
    """A message of texts is never refused for what its texts contain."""
    body = json.dumps({"items": texts}).encode()
    assert reading._marks(reading._outside(body)) == 3
    assert reading.read_message(body, messages.QUERIES["texts"], "texts", len(texts)).items == texts


def test_a_text_of_many_brackets(app):
    assert one(app, *post("/query", items=["f(x)[0]: {}; " * 2000]))[0] == 200
