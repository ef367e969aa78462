"""Check tokens, their roles, and the access log."""

import json
from pathlib import Path

import pytest

from lookalike.core.errors import DataError
from lookalike.serve import make_app
from lookalike.serve.access import Token, TokenFile, Tokens, read_tokens
from lookalike.serve.journal import Journal
from tests.serving import CAT, TOKEN, ask, get, one, post

WORDS = {role: f"{role}-0123456789abcdef" for role in ("metrics", "read", "write", "admin")}
ALLOWED = {
    ("GET", "/metrics"): {"metrics", "admin"},
    ("GET", "/info"): {"read", "write", "admin"},
    ("GET", "/openapi.json"): {"read", "write", "admin"},
    ("GET", "/items/cat"): {"read", "write", "admin"},
    ("POST", "/query"): {"read", "write", "admin"},
    ("POST", "/compare"): {"read", "write", "admin"},
    ("POST", "/items"): {"write", "admin"},
    ("DELETE", "/items/no"): {"write", "admin"},
    ("PUT", "/items/cat"): {"write", "admin"},
    ("DELETE", "/query/"): {"write", "admin"},
    ("GET", "/health"): set(WORDS),
}


@pytest.fixture(scope="module")
def roles(still):
    """Return a server with one token of each role."""
    return make_app(still, token=Tokens([Token.of(f"of {role}", role, word) for role, word in WORDS.items()]))


@pytest.mark.parametrize(("call", "allowed"), ALLOWED.items(), ids=[" ".join(call) for call in ALLOWED])
def test_roles(roles, call, allowed):
    body = {"json": {}} if call[0] == "POST" else {}
    for role, word in WORDS.items():
        (answer,) = ask(roles, (*call, body | {"headers": {"authorization": f"Bearer {word}"}}))
        assert (role, answer.status_code == 403) == (role, role not in allowed)
        if role not in allowed:
            assert answer.json()["error"].startswith(f"the role of this token is {role}, which does not allow to ")


def test_a_token_alone_may_do_everything(tmp_path):
    (tmp_path / "token").write_text(f"\n{TOKEN}\n\n")
    (token,) = read_tokens(tmp_path / "token")
    assert (token.name, token.role) == ("token", "admin")


FILES = {
    "two words": (
        "a 0123456789abcdef",
        ", line 1: must be a name, a role (metrics, read, write, admin) and a token.",
    ),
    "no role": ("a read 0123456789abcdef\nb owner 0123456789abcdeg", ", line 2: must be a name, a role"),
    "one alone": ("a read 0123456789abcdef\n0123456789abcdeg", ", line 2: must be a name, a role"),
    "short": ("a read 0123456789abcde", ", line 1: a token must be one word of at least 16 ASCII characters."),
    "not ASCII": ("a read 0123456789abcdeé", ", line 1: a token must be one word of at least 16 ASCII characters."),
    "same name": ("a read 0123456789abcdef\na read 0123456789abcdeg", ": two lines have the same name."),
    "same token": ("a read 0123456789abcdef\nb read 0123456789abcdef", ": two lines have the same token."),
}


@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES)
def test_files_that_will_not_do(tmp_path, content, message):
    (tmp_path / "tokens").write_text(content)
    with pytest.raises(DataError) as refused:
        read_tokens(tmp_path / "tokens")
    assert str(refused.value).startswith(f"{tmp_path}/tokens{message}")
    assert "0123456789" not in str(refused.value)


def test_a_broken_file_keeps_the_old_tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"ann read {WORDS['read']}\n")
    path.chmod(0o600)
    tokens = TokenFile(path, pytest.fail)
    bearer = f"Bearer {WORDS['read']}"
    assert tokens.find(bearer).name == "ann"
    path.write_text("ann read short")
    with pytest.raises(DataError):
        tokens.reload()
    assert tokens.find(bearer).name == "ann"
    path.write_text(f"bob write {WORDS['write']}\n")
    tokens.reload()
    assert tokens.find(bearer) is None
    assert tokens.find(f"Bearer {WORDS['write']}").role == "write"


# --- the access log ---


@pytest.fixture
def logged(still, tmp_path):
    """Return a server with an access log, and a function that reads the log."""
    app = make_app(still, token=Tokens([Token.of("ann", "read", TOKEN)]))
    app.journal = Journal(tmp_path / "access.jsonl")
    yield app, lambda: [json.loads(line) for line in Path(tmp_path / "access.jsonl").read_text().splitlines()]
    app.journal.close()


def test_each_request_is_one_line(logged):
    app, lines = logged
    bearer = {"headers": {"authorization": f"Bearer {TOKEN}"}}
    method, path, query = post("/query", items=[CAT])
    (answer, *_) = ask(app, (method, path, query | bearer), get("/health"), get("/info"))
    first, second, third = lines()
    assert {**first, "time": 0, "seconds": 0, "client": 0, "bytes_in": 0} == {
        "time": 0,
        "token": "ann",
        "client": 0,
        "method": "POST",
        "path": "/query",
        "status": 200,
        "seconds": 0,
        "bytes_in": 0,
        "bytes_out": len(answer.content),
    }
    assert first["bytes_in"] == len(answer.request.content)
    assert first["seconds"] > 0
    assert first["time"].endswith("Z")
    assert [(line["token"], line["status"]) for line in (second, third)] == [(None, 200), (None, 401)]
    assert TOKEN not in str(lines())


def test_requests_cannot_write_lines_of_their_own(logged):
    app, lines = logged
    ask(app, get('/items/%0a%7b%22status%22:200%7d%e2%80%a8%1b%5b2J"x'), ("BREW", "/\u2028", {}))
    assert [line["status"] for line in lines()] == [401, 401]
    assert app.journal.name.read_text().isprintable() is False  # its line feeds
    assert app.journal.name.read_text().replace("\n", "").isprintable()


def test_the_log_is_opened_again(logged, tmp_path):
    app, lines = logged
    ask(app, get("/health"))
    (tmp_path / "access.jsonl").rename(tmp_path / "old.jsonl")
    ask(app, get("/health"))
    app.journal.reload()
    assert lines() == []
    ask(app, get("/health"))
    assert (len(lines()), len((tmp_path / "old.jsonl").read_text().splitlines())) == (1, 2)


def test_a_full_disk_does_not_stop_the_server(still, caplog):
    app = make_app(still)
    app.journal = Journal("/dev/full")
    assert one(app, *get("/health"))[0] == 200
    app.journal.close()
    assert "the access log cannot be written: No space left on device" in caplog.text


def test_a_log_that_cannot_be_opened(tmp_path):
    with pytest.raises(DataError, match=r"the access log cannot be written: Is a directory\.$"):
        Journal(tmp_path)
