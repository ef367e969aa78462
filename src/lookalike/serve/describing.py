"""Complete the OpenAPI document: examples that fit the index, and the errors of each request."""

from typing import Any

from lookalike.serve.guard import OPEN
from lookalike.serve.messages import ADDITIONS, QUERIES, Error, Message, ToCompare

TEXTS = ["The old bell of Tarrow rang again on Sunday.", "Rain is expected until the weekend."]
ERRORS = {
    400: "The item is not of the kind that the index holds, or cannot be used.",
    401: "The token is missing or wrong.",
    403: "This server is read-only, or the token does not allow this request.",
    404: "There is no such item.",
    408: "The body took too long to arrive.",
    409: "The id already exists or is ambiguous, or the index keeps no texts.",
    413: "The body, the number of items or the number of ids exceeds the limit.",
    415: "The content type is not JSON.",
    421: "The host in the request is not this server.",
    422: "The request is invalid.",
    429: "There are too many requests at once.",
    503: "The index is unavailable, the request took too long, or the server is stopping.",
}
OF_ALL = (413, 421, 429, 503)
OF_BODIES = (400, 408, 415, 422)
OWN = {
    ("post", "/items"): (403, 409),
    ("get", "/items/{id}"): (404, 409, 422),
    ("delete", "/items/{id}"): (403, 404, 409, 422),
    ("post", "/compare"): (404, 409),
}


def described(document: dict[str, Any], kind: str | None, items: list[Any], token: bool) -> dict[str, Any]:
    """Return the document with items of this kind, examples of them, and a token if one is needed."""
    schemas = document["components"]["schemas"]
    for made_by_default in ("HTTPValidationError", "ValidationError"):
        schemas.pop(made_by_default, None)
    schemas["Error"] = Error.model_json_schema()
    bodies_of = _bodies(kind)
    schemas |= {shape["title"]: shape for shape in bodies_of.values()}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            closed = token and path not in OPEN
            bodies = OF_BODIES if method == "post" else ()
            statuses = {*OF_ALL, *OWN.get((method, path), ()), *bodies, *([401, 403] * closed)}
            for status in (400, 422):
                operation["responses"].pop(str(status), None)
            for status in sorted(statuses):
                operation["responses"][str(status)] = {"description": ERRORS[status], "content": content}
            if closed:
                operation["security"] = [{"token": []}]
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, example in _examples(items).items():
        shape = {"$ref": f"#/components/schemas/{bodies_of[path]['title']}"}
        body = {"content": {"application/json": {"schema": shape, "example": example}}, "required": True}
        document["paths"][path]["post"]["requestBody"] = body
    return document


def _bodies(kind: str | None) -> dict[str, dict[str, Any]]:
    """Return the schema of each message, which the handlers read themselves, by path."""
    shapes: dict[str, tuple[str, type[Message]]] = {
        "/query": ("Query", QUERIES[kind]),
        "/items": ("Items", ADDITIONS[kind]),
        "/compare": ("ToCompare", ToCompare),
    }
    return {path: shape.model_json_schema() | {"title": title} for path, (title, shape) in shapes.items()}


def some_items(kind: str, size: int) -> list[Any]:
    """Return two items of a kind; vectors and codes have this size."""
    if kind == "vectors":
        return [[(place * step) % 7 / 10 + 0.1 for place in range(1, size + 1)] for step in (1, 3)]
    if kind == "bits":
        return [("01" * size)[:size], ("011" * size)[:size]]
    return TEXTS if kind == "texts" else [["milk", "bread", "tea"], ["bread", "salt"]]


def _examples(items: list[Any]) -> dict[str, dict[str, Any]]:
    ids = [f"item-{number}" for number in range(1, len(items) + 1)]
    return {
        "/query": {"items": items[:1], "top": 3},
        "/items": {"items": items, "ids": ids, "replace": True},
        "/compare": {"text": TEXTS[0], "id": ids[0]},
    }
