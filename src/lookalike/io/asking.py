"""Asks object stores and web servers through fsspec: repeats what can succeed later, explains what cannot."""

import random
import re
import time
from collections.abc import Callable
from typing import Any, TypeVar

from lookalike.core.errors import DataError, UsageError, missing_package

PACKAGES = {  # what fsspec needs for an address
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    "hf": "huggingface_hub",
    **dict.fromkeys(("http", "https"), "aiohttp"),
}
INSTALL = "'lookalike[remote]'"
WEB = ("http", "https")  # servers without folders, which can only be read
CREDENTIALS = {
    "s3fs": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile; FSSPEC_S3_ANON=true reads public buckets",
    "gcsfs": "run `gcloud auth application-default login` or set GOOGLE_APPLICATION_CREDENTIALS",
    "adlfs": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "huggingface_hub": "run `hf auth login` or set HF_TOKEN",
}
WRITTEN_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]+://[^\s'\"<>)]+", re.I)  # in a message
TRIES = 6  # of a request, besides those of the packages themselves
WAIT, LONGEST_WAIT = 0.2, 10.0  # seconds before the second try, which double, up to the second number
AGAIN = (408, 425, 429)  # codes of errors on the side of the caller after which a request can succeed

Result = TypeVar("Result")


class Unreachable(DataError):
    """A remote file cannot be read or written, for a reason that is not in the file."""


class NoRanges(Exception):
    """A server sends only whole files."""


def ask(name: str, scheme: str, request: Callable[[], Result]) -> Result:
    """Return the answer to a request about a file, repeated if it fails for a reason that can pass.

    Raises FileNotFoundError if there is no such file, or an error that says what else is wrong.
    """
    for tried in range(1, TRIES + 1):
        try:
            return request()
        except (DataError, UsageError, NoRanges, MemoryError):
            raise
        except Exception as error:
            refused = _refusal(name, scheme, error)
            if refused is not None:
                raise refused from None  # the message of the other error can show what is secret
            if tried == TRIES:
                raise Unreachable(f"{name}: cannot be reached{_why(name, error)}; {TRIES} tries failed.") from None
        time.sleep(min(LONGEST_WAIT, WAIT * 2 ** (tried - 1)) * random.uniform(0.5, 1.0))
    raise AssertionError


def _refusal(name: str, scheme: str, error: Exception) -> Exception | None:
    """Return the error to raise for one that would happen again; None for others."""
    code, kind = _code(error), type(error).__name__
    hidden = not code and scheme in WEB and error.__cause__ is not None  # fsspec says so for any failure
    if isinstance(error, FileNotFoundError) and code in (0, 404, 410) and not hidden:
        return FileNotFoundError(2, "no such file or folder")
    if code == 412 or kind == "FileExpired":
        return changed(name)
    if "redential" in kind + str(error)[:200]:
        hint = CREDENTIALS.get(PACKAGES.get(scheme, ""), "see the manual of its package")
        return Unreachable(f"{name}: no valid credentials were found; {hint}.")
    if isinstance(error, PermissionError) or code in (401, 403):
        return Unreachable(f"{name}: access is denied; check the credentials, and what they allow.")
    lasting = isinstance(error, IsADirectoryError | ValueError | TypeError) or "Validation" in kind
    if lasting or (400 <= code < 500 and code not in AGAIN):
        return Unreachable(f"{name}: cannot be reached{_why(name, error)}.")
    return None


def changed(name: str) -> Unreachable:
    """Return the error for a file that is not the one it was."""
    return Unreachable(f"{name}: has changed while it was being read; run again when nobody writes it.")


def shown(address: str) -> str:
    """Return an address without what can be secret: its query, and the name and password of a user.

    >>> shown("https://me:secret@example.org/pages.parquet?signature=secret")
    'https://example.org/pages.parquet'
    """
    scheme, mark, rest = address.partition("://")
    if scheme.lower() in WEB:
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, key = rest.partition("/")
    host = host.rpartition("@")[2] if scheme.lower() in WEB or ":" in host else host
    return f"{scheme}{mark}{host}{slash}{key}"


def reason(error: BaseException) -> str:
    """Return what an error says, in one line and without what can be secret.

    >>> reason(OSError("cannot connect to https://me:secret@example.org/a?signature=secret"))
    'cannot connect to https://example.org/a'
    """
    text = " ".join(str(error).split()) or type(error).__name__
    return WRITTEN_ADDRESS.sub(lambda found: shown(found[0]), text).rstrip(".")


def _why(name: str, error: BaseException) -> str:
    """Return what an error says of a file, after a colon; if it only repeats the name, what its cause says."""
    why = reason(error)
    if why == name and error.__cause__ is not None:
        return _why(name, error.__cause__)
    return "" if why == name else f": {why}"


def _code(error: BaseException | None) -> int:
    """Return the code of an answer of HTTP that led to an error; 0 if there is none."""
    while error is not None:
        response = getattr(error, "response", None)
        about = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        found = about.get("HTTPStatusCode") or getattr(error, "status", None)
        if found is None and type(error).__module__.startswith("gcsfs"):
            found = getattr(error, "code", None)
        if isinstance(found, int):
            return found
        error = error.__cause__
    return 0


def system_of(address: str, scheme: str) -> tuple[Any, str]:
    """Return the file system of fsspec for an address, and the name there."""
    what = f"{shown(address)}: {scheme}://"
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import get_filesystem_class
    except ImportError:
        raise missing_package(what, "fsspec", INSTALL) from None
    try:
        get_filesystem_class(scheme)
    except ImportError:
        raise missing_package(what, PACKAGES.get(scheme, f"a package for {scheme}"), INSTALL) from None
    except ValueError:
        known = ", ".join(f"{name}://" for name in ("s3", "gs", "az", "hf", "https"))
        raise UsageError(f"{shown(address)}: {scheme}:// is not supported; use {known} or a path.") from None
    found: tuple[Any, str] = url_to_fs(address)
    return found
