"""Serve an index over HTTP: an interface for programs, and a page for people; and a page to label pairs.

Needs the extra `serve`: pip install 'lookalike[serve]'.

Lives here: `app` (the operations), `messages` and `reading` (requests and answers), `failures`
(errors), `work` (threads and their time), `guard` and `access` (limits and tokens), `connections`
and `running` (slow clients and the end), `journal` and `metrics` (records), `describing` (OpenAPI),
`label_page` (asks which pairs are matches), and `page` (the web pages, without a build step), whose
files `page_files` serves.
May import: `index` and the packages below. A new operation is a function in `app`, with messages.
"""

import os
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from lookalike.core.errors import DataError, UsageError, whole
from lookalike.index import Index
from lookalike.items.pages import need_selectolax

try:
    from lookalike.serve.access import TokenFile
    from lookalike.serve.app import make_app
    from lookalike.serve.guard import is_local
    from lookalike.serve.journal import Journal
    from lookalike.serve.limits import Limits
    from lookalike.serve.running import BACKLOG, Server
except ImportError as error:
    raise UsageError("the server needs FastAPI and uvicorn: pip install 'lookalike[serve]'.") from error

__all__ = ["Limits", "listening", "make_app", "serve"]

PATIENCE = 5  # seconds to wait for another writer
GRACE = 10  # seconds until the process has ended when it is stopped


def serve(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: str | Path | None = None,
    access_log: str | Path | None = None,
    read_only: bool = False,
    limits: Limits | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve an index until SIGINT or SIGTERM, then finish the requests in progress.

    SIGHUP reads the token file again, and opens the access log anew.
    """
    tokens = None if token_file is None else TokenFile(Path(token_file), say)
    if tokens is None and not is_local(host):
        raise UsageError(
            f"--host {host} is open to other machines: name a --token-file; `openssl rand -hex 32` makes a token."
        )
    with ExitStack() as opened:
        index = opened.enter_context(Index.open(path, read_only=read_only))
        if index.settings["notes"].get("html"):
            need_selectolax()
        index.warm()
        index.store.patience = PATIENCE
        app = make_app(index, limits=limits, token=tokens, read_only=read_only)
        if access_log is not None:
            app.journal = Journal(access_log)
            opened.callback(app.journal.close)
        reloads = [] if tokens is None else [tokens.reload]
        reloads += [] if app.journal is None else [app.journal.reload]
        listener = opened.enter_context(listening(host, whole("port", port, least=0, most=65535)))
        name = f"[{host}]" if ":" in host else host
        say(f"serving {len(index):,} items at http://{name}:{listener.getsockname()[1]}/; press Ctrl-C to stop")
        Server(app, GRACE, reloads, lambda: say("stopped")).run_on(listener)
    say("stopped")


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this host and port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise DataError(f"cannot listen on {host}, port {port}: {why}.") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise small answers wait for the one before
    return listener
