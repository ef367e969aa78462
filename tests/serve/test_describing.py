"""Check the OpenAPI document: its examples are accepted, and answers match it."""

import json
from collections import Counter

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from lookalike.serve import make_app
from tests.serving import CAT, HAT, TOKEN, ask, get, ids_of, raw

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
    "vectors": ([[1.0, 0.5, 0.0]], {"measure": "angle", "threshold": 9}),
    "bits": (["0000"], {"measure": "hamming", "threshold": 1}),
    "vectors of 2": ([[1.0, 0.5]], {"measure": "angle", "threshold": 9}),
    "bits of 8": (["00000000"], {"measure": "hamming", "threshold": 1}),
    "no vectors yet": (None, {"measure": "euclidean", "threshold": 1}),
    "no bits yet": (None, {"measure": "hamming", "threshold": 1}),
}


@pytest.mark.slow
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
    "POST /query": {"body": {"items": [CAT], "threshold": 0.2, "k": 2}},
    "POST /items": {"body": {"items": ["x"], "ids": ["n"]}},
    "GET /items/{id}": {"path_parameters": {"id": "cat"}},
    "DELETE /items/{id}": {"path_parameters": {"id": "cat"}},
    "POST /compare": {"body": {"text": HAT, "id": "cat"}},
    "GET /info": {},
    "GET /health": {},
    "GET /metrics": {},
}
TUPLES = ("POST /compare", "GET /info")  # Schemathesis misreads their `prefixItems`


@pytest.mark.slow
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


@pytest.mark.server
@pytest.mark.parametrize(("method", "path", "mode"), DRAWN, ids=[f"{row[0]} {row[1]} {row[2].value}" for row in DRAWN])
def test_drawn_requests(texts, method, path, mode):
    """No request causes a failure, and each answer is one that the document describes.

    The server need not accept all that the document allows: it counts 30.0 as an integer, and items
    of a kind that the index does not hold as items.
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
