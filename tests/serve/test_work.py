"""Check that no request takes more time than it has, and that work ends when nobody waits for it."""

import asyncio
import threading
import time

import pytest

from lookalike.index import looking
from lookalike.serve import Limits, make_app
from lookalike.serve.limits import Refused
from lookalike.serve.work import Desk, Stopped, Work
from tests.commands import GUARD
from tests.serving import CAT, HAT, ask, checked, client_of, one, post


def held(index, monkeypatch, name):
    """Let a method of an index wait until it is let go, and then check its work as usual."""
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    quick = getattr(index, name)

    def slow(*args, **options):
        begun.set()
        assert go_on.wait(GUARD)
        try:
            return quick(*args, **options)
        finally:
            ended.set()

    monkeypatch.setattr(index, name, slow)
    return begun, go_on, ended


def test_a_query_that_takes_too_long(texts, monkeypatch):
    """It is answered although its thread is still at work, and then the work ends."""
    begun, go_on, ended = held(texts, monkeypatch, "look")
    app = make_app(texts, limits=Limits(work=0.05))
    (answer,) = ask(app, post("/query", items=[CAT, HAT]))
    assert begun.is_set()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json() == {
        "error": "the request took more than 0.05 seconds; send fewer or smaller items, or try again later."
    }
    go_on.set()
    assert ended.wait(GUARD)
    assert app.metrics.counts["queries"] == 0


def test_a_request_that_waits_too_long_for_a_thread(texts, monkeypatch):
    """It is answered, and never begun."""
    _, go_on, _ = held(texts, monkeypatch, "look")
    app = make_app(texts, limits=Limits(work=0.05))

    async def crowd():
        async with client_of(app) as client:
            return await asyncio.gather(*(client.post("/query", json={"items": [CAT]}) for _ in range(6)))

    assert {checked(answer).status_code for answer in asyncio.run(crowd())} == {503}
    go_on.set()
    monkeypatch.undo()
    assert one(make_app(texts), *post("/query", items=[CAT]))[0] == 200
    assert app.metrics.counts["queries"] == 0


def test_an_addition_that_takes_too_long(texts, monkeypatch):
    """Its answer waits until it is certain that nothing was added."""
    begun, go_on, _ = held(texts, monkeypatch, "add")
    app = make_app(texts, limits=Limits(work=0.05))

    async def add():
        async with client_of(app) as client:
            adding = asyncio.create_task(client.post("/items", json={"items": ["x"], "ids": ["n"]}))
            assert await asyncio.to_thread(begun.wait, GUARD)
            done, _ = await asyncio.wait((adding,), timeout=0.3)
            go_on.set()
            return done, checked(await adding)

    early, answer = asyncio.run(add())
    assert (early, answer.status_code) == (set(), 503)
    assert "n" not in texts
    assert texts.verify() == 2


@pytest.mark.parametrize("call", ["read", "write"])
def test_a_client_that_goes_away_ends_the_work(call):
    begun, gone = threading.Event(), threading.Event()

    async def receive():
        assert await asyncio.to_thread(begun.wait, GUARD)
        return {"type": "http.disconnect"}

    def job(work):
        begun.set()
        try:
            while True:
                work.check()
                time.sleep(0.001)
        finally:
            gone.set()

    with pytest.raises(Refused) as refused:
        asyncio.run(getattr(Desk(GUARD), call)(receive, job))
    assert refused.value.status == 499
    assert gone.wait(GUARD)


def test_a_job_that_ends_an_iteration():
    """StopIteration, which a damaged index can cause, is an error like others."""

    async def receive():
        await asyncio.Event().wait()

    def job(work):
        return next(iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(Desk(GUARD).read(receive, job))


# --- lookups in blocks ---

CATS = [f"{CAT}, and {number} mice" for number in range(40)]


@pytest.mark.parametrize("block", [1, 100, 1000])
def test_blocks_do_not_change_what_is_found(indexed, monkeypatch, block):
    index = indexed([*CATS, CATS[3]], threshold=0.3, shingles="char:4")
    whole = index.look(CAT, k=None)
    assert len(whole.found) > 5
    monkeypatch.setattr(looking, "BLOCK", block)
    assert index.look(CAT, k=None) == whole
    assert index.look(CAT, k=3).found == whole.found[:3]


def test_blocks_are_of_limited_size(indexed, monkeypatch):
    """A query keeps one block of candidates in memory, not all of them."""
    index = indexed(CATS, threshold=0.3, shingles="char:4")
    sizes = []
    coding = index._known()
    measure = coding.measure

    def watched(rows, others, *pairs):
        sizes.append(sum(map(len, others)))
        return measure(rows, others, *pairs)

    monkeypatch.setattr(coding, "measure", watched)
    index.look(CAT)
    assert len(sizes) == 1
    monkeypatch.setattr(looking, "BLOCK", 1000)
    index.look(CAT)
    assert len(sizes) > 4
    assert max(sizes[1:]) <= 1000


def test_a_lookup_ends_between_blocks(indexed, monkeypatch):
    index = indexed(CATS, threshold=0.3, shingles="char:4")
    monkeypatch.setattr(looking, "BLOCK", 1)
    coding, work, measured = index._known(), Work(GUARD), []
    measure = coding.measure

    def watched(rows, others, *pairs):
        measured.append(len(others))
        work.stop()
        return measure(rows, others, *pairs)

    monkeypatch.setattr(coding, "measure", watched)
    with pytest.raises(Stopped):
        index.look(CAT, check=work.check)
    assert measured == [1]
