"""Tokens: who may use the server, and for what.

A token file holds one token alone, which may do everything; or one token per line, as
`name role token`.
"""

import hmac
import stat
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lookalike.core.errors import DataError

LEAST_TOKEN = 16  # characters
ROLES = {
    "metrics": {"metrics"},
    "read": {"read"},
    "write": {"read", "write"},
    "admin": {"read", "write", "metrics"},
}


@dataclass(frozen=True)
class Token:
    """A token of which only the hash is kept."""

    name: str
    role: str
    digest: bytes

    @classmethod
    def of(cls, name: str, role: str, token: str) -> "Token":
        """Return the token with this name and role."""
        return cls(name, role, sha256(token.encode()).digest())

    def allows(self, what: str) -> bool:
        """Return whether this token allows to "read", to "write" or to see the "metrics"."""
        return what in ROLES[self.role]


class Tokens:
    """The tokens that a server knows."""

    def __init__(self, known: list[Token]) -> None:
        self.known = known

    def find(self, authorization: str) -> Token | None:
        """Return the token in a header, or None; the time this takes reveals nothing about any."""
        scheme, _, given = authorization.partition(" ")
        digest = sha256(given.strip().encode("latin-1")).digest()
        same = [token for token in self.known if hmac.compare_digest(digest, token.digest)]
        return same[0] if same and scheme.lower() == "bearer" else None


class TokenFile(Tokens):
    """The tokens in a file, which can be read again."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        super().__init__(read_tokens(path))
        self.path = path
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            say(f"note: {path} can be read by other users of this machine; chmod 600 makes it private")

    def reload(self) -> None:
        """Read the file again; if that fails, the tokens stay as they were."""
        self.known = read_tokens(self.path)


def read_tokens(path: Path) -> list[Token]:
    """Return the tokens in a file."""
    try:
        lines = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot read the token file: {getattr(error, 'strerror', None) or error}.") from error
    if all(len(words) == 1 for words in lines):
        return [Token.of("token", "admin", _checked(f"{path}", [word for (word,) in lines]))]
    tokens = [_token(f"{path}, line {number}", words) for number, words in enumerate(lines, 1)]
    for kind, column in (("name", [token.name for token in tokens]), ("token", [token.digest for token in tokens])):
        if len(set(column)) < len(column):
            raise DataError(f"{path}: two lines have the same {kind}.")
    return tokens


def _token(where: str, words: list[str]) -> Token:
    if len(words) != 3 or words[1] not in ROLES:
        raise DataError(f"{where}: must be a name, a role ({', '.join(ROLES)}) and a token.")
    name, role, token = words
    return Token.of(name, role, _checked(where, [token]))


def _checked(where: str, words: list[str]) -> str:
    """Return the only word if it can be a token; the message must not show it."""
    if len(words) != 1 or len(words[0]) < LEAST_TOKEN or not words[0].isascii():
        raise DataError(f"{where}: a token must be one word of at least {LEAST_TOKEN} ASCII characters.")
    return words[0]
