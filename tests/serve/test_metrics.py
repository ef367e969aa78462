"""Check what the server counts."""

import math

from lookalike.serve import make_app
from tests.serving import CAT, HAT, OTHER, ask, get, parsed, post, raw


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
