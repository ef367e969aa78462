"""The command `lookalike serve`: an index over HTTP."""

from typing import Annotated

from lookalike.cli.app import command
from lookalike.cli.options import IndexPath, Quiet, flag, option
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import positive, whole


@command(
    "lookalike serve news.index",
    "lookalike serve news.index --host 0.0.0.0 --token-file tokens --access-log access.jsonl",
    """curl -H 'Content-Type: application/json' -d '{"items": ["a text"]}' http://127.0.0.1:8000/query""",
)
def serve(
    path: IndexPath,
    *,
    host: Annotated[str, option(help="Address to listen on; any but a local one requires --token-file.")] = "127.0.0.1",
    port: Annotated[int, option(metavar="N", help="Port to listen on; 0 picks a free one.")] = 8000,
    token_file: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="File of access tokens: a single token, or lines of NAME ROLE TOKEN (roles: metrics, read, write, "
            "admin).",
        ),
    ] = None,
    access_log: Annotated[
        str | None, option(metavar="FILE", help="Log requests as JSON; - for standard error.")
    ] = None,
    read_only: Annotated[bool, flag("--read-only", help="Refuse to add or remove items.")] = False,
    max_bytes: Annotated[int, option(metavar="N", help="Maximum size of a request, in bytes.")] = 10_000_000,
    max_items: Annotated[int, option(metavar="N", help="Maximum number of items per request.")] = 1000,
    max_requests: Annotated[int, option(metavar="N", help="Maximum number of requests at a time.")] = 256,
    max_seconds: Annotated[float, option(metavar="S", help="Maximum time to answer a request, in seconds.")] = 30.0,
    quiet: Quiet = False,
) -> None:
    """Serve an index over HTTP, with a web page to query it."""
    from lookalike.serve import Limits, serve

    limits = Limits(
        whole("max_bytes", max_bytes),
        whole("max_items", max_items),
        whole("max_requests", max_requests),
        work=positive("max_seconds", max_seconds),
    )
    serve(
        path,
        host=host,
        port=port,
        token_file=token_file,
        access_log=access_log,
        read_only=read_only,
        limits=limits,
        say=TerminalRun(1, quiet).say,
    )
