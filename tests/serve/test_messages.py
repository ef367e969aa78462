"""Check that malformed messages are refused, in the terms of the interface."""

import json
import re

import pytest

from lookalike.serve import make_app
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


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_malformed_queries(app, body):
    (answer,) = ask(app, raw("/query", body))
    assert answer.status_code in (400, 422)


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
        {"error": f"ids must be as many as the items; got {len(ids)} ids for 1 item."},
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
