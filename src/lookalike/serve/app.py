"""The HTTP interface of an index: query, add, remove and monitor; and its page for browsers."""

import re
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.convertors import Convertor, register_url_convertor

from lookalike import __version__
from lookalike.core.wording import counted
from lookalike.index import Index
from lookalike.items.pages import article_text, visible_text
from lookalike.items.passages import shared_passages
from lookalike.items.shingles import Shingles
from lookalike.serve.access import Token, Tokens
from lookalike.serve.describing import described, some_items
from lookalike.serve.failures import report_errors
from lookalike.serve.guard import Guard
from lookalike.serve.limits import Limits, Refused
from lookalike.serve.messages import (
    ADDITIONS,
    QUERIES,
    Added,
    Answer,
    ComparedTexts,
    Health,
    Info,
    ItemResult,
    KeptItem,
    Match,
    Message,
    ToCompare,
)
from lookalike.serve.metrics import Metrics
from lookalike.serve.page_files import add_page
from lookalike.serve.reading import read_message
from lookalike.serve.work import Desk, StoppableRun, Work

ABOUT = "Look up similar items in an index, add items and remove them. Every match is verified."
TAG = re.compile(r"<[a-zA-Z!/?]")
LONGEST = 200_000  # characters of each text that are compared for shared passages
POINTS = 101  # of the curve


def make_app(
    index: Index, *, limits: Limits | None = None, token: str | Tokens | None = None, read_only: bool = False
) -> Guard:
    """Return the server of an index as an ASGI application. The caller closes the index."""
    limits, metrics = limits or Limits(), Metrics()
    tokens = Tokens([Token.of("token", "admin", token)]) if isinstance(token, str) else token
    app = FastAPI(
        title="lookalike",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    handlers = Handlers(index, metrics, limits, read_only)
    report_errors(app)
    _routes(app, handlers)
    add_page(app, "index")
    app.openapi_schema = described(app.openapi(), index.kind, some_items(*index.holds()), tokens is not None)
    return Guard(app, metrics, limits, tokens, handlers.desk)


class Handlers:
    """The handlers of all requests."""

    def __init__(self, index: Index, metrics: Metrics, limits: Limits, read_only: bool) -> None:
        self.index, self.metrics, self.limits, self.read_only = index, metrics, limits, read_only
        self.desk = Desk(limits.work)
        self.curve = lru_cache(maxsize=1)(lambda kind: index.curve(POINTS))  # computed again once there is an item

    async def query(self, request: Request) -> Response:
        """Find the items most similar to each of the given items."""
        body = await request.body()
        return await self.desk.read(request.receive, lambda work: self._query(body, work))

    def _query(self, body: bytes, work: Work) -> Response:
        kind = self.index.kind
        asked = read_message(body, QUERIES[kind], kind, self.limits.items)
        results = []
        for item in asked.items:
            work.check()
            looked = self.index.look(self._as_read(item), threshold=asked.threshold, k=asked.k, check=work.check)
            found = [Match.model_validate({"id": name, self.index.measured: value}) for name, value in looked.found]
            results.append(_json(ItemResult(found=found, candidates=looked.candidates, crowded=looked.crowded)))
            self.metrics.add(queries=1, candidates=looked.candidates, matches=len(found))
        return _answer(b'{"results":[%s]}' % b",".join(results))

    async def add(self, request: Request) -> Response:
        """Add items, all of them or none; they are on disk when the answer arrives."""
        self._check_writable()
        body = await request.body()
        return await self.desk.write(request.receive, lambda work: self._add(body, work))

    def _add(self, body: bytes, work: Work) -> Response:
        kind = self.index.kind
        given = read_message(body, ADDITIONS[kind], kind, self.limits.items)
        if len(given.ids) != len(given.items):
            got = f"{counted(len(given.ids), 'id')} for {counted(len(given.items), 'item')}"
            raise Refused(422, f"there must be as many ids as items; got {got}.")
        items: list[Any] = []
        for item in given.items:
            work.check()
            items.append(self._as_read(item))
        run = StoppableRun(work)
        added = self.index.add(items, given.ids, replace=given.replace, batch=self.limits.items, run=run)
        self.metrics.add(added=added)
        return _answer(_json(Added(added=added, items=len(self.index))), 201)

    async def remove(self, request: Request, id: str, number: bool | None = None) -> None:
        """Remove an item. `number` says which is meant if a number and a string have this id."""
        self._check_writable()
        await self.desk.write(request.receive, lambda work: self.index.remove([self._spelled(id, number)]))
        self.metrics.add(removed=1)

    def item(self, id: str, number: bool | None = None) -> KeptItem:
        """Show an item, with its text if the index keeps texts."""
        name = self._spelled(id, number)
        return KeptItem(id=name, item=self.index.item(name))

    def _spelled(self, id: str, number: bool | None) -> int | str:
        return self.index.spelled(id, number, "set number=true or number=false")

    async def compare(self, request: Request) -> Response:
        """Show which passages a text shares with an item, if the index keeps texts."""
        body = await request.body()
        return await self.desk.read(request.receive, lambda work: self._compare(body, work))

    def _compare(self, body: bytes, work: Work) -> Response:
        asked = read_message(body, ToCompare, None, self.limits.items)
        other = self.index.item(asked.id)
        if not isinstance(other, str) or not self.index.settings["store_text"]:
            raise Refused(409, "the index keeps no texts; build it with --store-text to compare texts.")
        text = self._as_read(asked.text)
        work.check()
        shingles = Shingles(**self.index.settings["shingles"])
        passages = shared_passages(text, other, shingles, LONGEST)
        return _answer(_json(ComparedTexts(text=text, other=other, looked_at=LONGEST, passages=[*passages])))

    def info(self) -> Info:
        """Describe the index: what it holds, and the probability of finding similar items."""
        facts = self.index.info(buckets=False)
        kind = facts.get("kind")
        return Info(
            items=facts["items"],
            bytes=facts["bytes"],
            kind=kind,
            measure=self.index.measure,
            measured=self.index.measured,
            threshold=self.index.threshold,
            recall=facts.get("expected recall at the threshold"),
            shingles=str(Shingles(**self.index.settings["shingles"])) if kind in (None, "texts") else None,
            texts_kept=facts["texts kept"],
            read_only=self.read_only,
            curve=self.curve(kind),
        )

    def health(self) -> Health:
        """Report that the server is running and can read its index."""
        len(self.index)
        return Health(status="ok")

    def count(self) -> PlainTextResponse:
        """Report counts and times in the text format of Prometheus."""
        gauges = {"items": len(self.index), "index_bytes": self.index.store.byte_size()}
        return PlainTextResponse(self.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    def _as_read(self, item: Any) -> Any:
        """Return what is compared: the item, or the text of a page if the index holds pages."""
        notes = self.index.settings["notes"]
        if notes.get("html") and isinstance(item, str) and TAG.search(item):
            return article_text(item) if notes.get("article") else visible_text(item)
        return item

    def _check_writable(self) -> None:
        if self.read_only:
            raise Refused(403, "this server is read-only.")


def _json(message: Message) -> bytes:
    """Return a message as JSON. This is done piece by piece in a thread: answers can be large."""
    return message.model_dump_json(exclude_none=True).encode()


def _answer(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


class Anything(Convertor[str]):
    """A path parameter of any characters, including line feeds."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", Anything())


def _routes(app: FastAPI, handlers: Handlers) -> None:
    app.post("/query", response_model=Answer)(handlers.query)
    app.post("/items", response_model=Added, status_code=201)(handlers.add)
    app.get("/items/{id:any}")(handlers.item)
    app.delete("/items/{id:any}", status_code=204)(handlers.remove)
    app.post("/compare", response_model=ComparedTexts)(handlers.compare)
    app.get("/info")(handlers.info)
    app.get("/health")(handlers.health)
    app.head("/health", include_in_schema=False)(handlers.health)
    app.get("/metrics", response_class=PlainTextResponse)(handlers.count)
