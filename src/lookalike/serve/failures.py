"""Report each error as one line in one form; for internal errors, the log has the details."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from lookalike.core.errors import AlreadyThere, LookalikeError, NotThere, StoreError, TooCostly
from lookalike.serve.guard import log
from lookalike.serve.limits import Refused

STATUSES: dict[type[LookalikeError], int] = {
    NotThere: 404,
    AlreadyThere: 409,
    TooCostly: 413,
    StoreError: 503,
    LookalikeError: 400,
}


def report_errors(app: FastAPI) -> None:
    """Register a handler for each kind of error."""

    def refused(request: Request, error: Refused) -> JSONResponse:
        return JSONResponse({"error": error.reason}, error.status, error.headers)

    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": f"number must be true or false; got {error.errors()[0]['input']!r}."}, 422)

    def unknown(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": f"{error.detail}."}, error.status_code, error.headers)

    def failed(request: Request, error: LookalikeError) -> JSONResponse:
        status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        line = str(error).replace(" use replace=True", ' use "replace": true')  # as in a request
        if status < 500:
            return JSONResponse({"error": line.partition("; use Vectors.of(")[0].rstrip(".") + "."}, status)
        log.error("%s", error)
        said = "the index is unavailable; see the server log."
        return JSONResponse({"error": said}, status, {"Retry-After": "5"})

    def broken(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": "internal error; see the server log."}, 500)

    handlers: dict[type[Exception], Callable[[Request, Any], JSONResponse]] = {
        Refused: refused,
        RequestValidationError: invalid,
        HTTPException: unknown,
        LookalikeError: failed,
        Exception: broken,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
