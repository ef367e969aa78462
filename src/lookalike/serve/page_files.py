"""Serve the files of a web page, which lie in the folder `page`: NAME.html, .css and .js, and what all pages share."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import PurePath

from fastapi import FastAPI, Response

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def add_page(app: FastAPI, name: str) -> None:
    """Serve the files of a page, at the paths in `guard.PAGE`."""
    paths = {
        "/": f"{name}.html",
        "/page.css": f"{name}.css",
        "/page.js": f"{name}.js",
        "/common.js": "common.js",
        "/icon.svg": "icon.svg",
    }
    for path, file in paths.items():
        app.get(path, include_in_schema=False)(_file(file))


def _file(name: str) -> Callable[[], Response]:
    """Return a handler that serves a file."""
    folder, kind = files("lookalike.serve").joinpath("page"), TYPES[PurePath(name).suffix]
    content = folder.joinpath(name).read_bytes()
    if kind == "text/css":  # same colours as in reports
        colours = files("lookalike.report").joinpath("page", "colours.css").read_bytes()
        content = colours + folder.joinpath("common.css").read_bytes() + content
    return lambda: Response(content, media_type=kind)
