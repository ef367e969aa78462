"""Serve an index over HTTP: an interface for programs, and a page for people.

Needs the extra `serve`: pip install 'lookalike[serve]'.

Lives here: `app` (the operations), `guard` (access and limits), `messages` (requests and answers),
`describing` (OpenAPI), `metrics`, and `page` (the web page, without a build step).
May import: `index` and the packages below. A new operation is a function in `app`, with messages.
"""

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lookalike.core.errors import DataError, UsageError, whole
from lookalike.index import Index
from lookalike.items.pages import need_selectolax

try:
    import uvicorn

    from lookalike.serve.app import make_app
    from lookalike.serve.guard import Limits, is_local
except ImportError as error:
    raise UsageError("the server needs FastAPI and uvicorn: pip install 'lookalike[serve]'.") from error

__all__ = ["Limits", "make_app", "serve"]

LEAST_TOKEN = 16  # characters
PATIENCE = 5  # seconds to wait for another writer
GRACE = 10  # seconds for requests to finish when the server is stopped


def serve(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: str | Path | None = None,
    read_only: bool = False,
    limits: Limits | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve an index until SIGINT or SIGTERM, then finish the requests in progress."""
    token = None if token_file is None else read_token(Path(token_file), say)
    if token is None and not is_local(host):
        raise UsageError(
            f"--host {host} is open to other machines: name a --token-file; `openssl rand -hex 32` makes a token."
        )
    with Index.open(path, read_only=read_only) as index:
        if index.settings["notes"].get("html"):
            need_selectolax()
        index.warm()
        index.store.patience = PATIENCE
        app = make_app(index, limits=limits, token=token, read_only=read_only)
        with listening(host, whole("port", port, least=0, most=65535)) as listener:
            name = f"[{host}]" if ":" in host else host
            say(f"serving {len(index):,} items at http://{name}:{listener.getsockname()[1]}/; press Ctrl-C to stop")
            server = uvicorn.Server(
                uvicorn.Config(
                    app,
                    log_level="warning",
                    access_log=False,
                    server_header=False,
                    proxy_headers=False,
                    lifespan="off",
                    timeout_graceful_shutdown=GRACE,
                )
            )
            with suppress(KeyboardInterrupt):  # uvicorn raises it again at the end
                server.run(sockets=[listener])
            wait_for_workers()
    say("stopped")


def wait_for_workers() -> None:
    """Wait for threads that outlast the grace period: they use the index."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this host and port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise DataError(f"cannot listen on {host}, port {port}: {why}.") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise small answers wait for the one before
    return listener


def read_token(path: Path, say: Callable[[str], None]) -> str:
    """Return the token in a file."""
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the token cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if len(token) < LEAST_TOKEN or not token.isascii() or len(token.split()) != 1:
        raise DataError(f"{path}: a token must be one word of at least {LEAST_TOKEN} ASCII characters.")
    if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        say(f"note: {path} can be read by other users of this machine; chmod 600 makes it private")
    return token
