"""Check the page of `lookalike label`: what the server answers, and how a person uses it in a real browser."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from lookalike.entities import resolve
from lookalike.entities.labelling import HEADER, LabelFile, informative
from lookalike.serve.label_page import make_label_app
from tests.browsing import EVIL, LEAST_CONTRAST, opened, shown_in_all_ways
from tests.commands import GUARD, spawn
from tests.samples import write
from tests.serving import TOKEN, ask, get, one, post

NAMES = ("Ann Lee", "Bob Ray", "Cleo Vance", "Dan Poe", "Eve Stone", "Finn Marsh")
SHOP = [{"id": f"s{at}", "name": name, "town": "Ansel"} for at, name in enumerate(NAMES)]
CLUB = [{"id": at, "who": f"{name}e", "town": "Tarrow", "since": 2001} for at, name in enumerate(NAMES)]
FIELDS = ("-f", "name:who=name")

# --- what the server answers ---


class Asking:
    """A server that asks about three pairs, and what it did."""

    def __init__(self, path: Path, before: int = 0) -> None:
        every = resolve(SHOP, CLUB, fields=["name:who=name"]).every
        self.ended, self.file = 0, LabelFile(path)
        self.app = make_label_app(every, informative(every, 3, 1).tolist(), self.file, before, TOKEN, self.end)

    def end(self) -> None:
        self.ended += 1

    def __call__(self, method: str, path: str, options: dict) -> tuple:
        """Return the status of an answer to the page, and its content."""
        headers = options.pop("headers", {}) | {"authorization": f"Bearer {TOKEN}"}
        return one(self.app, method, path, {"headers": headers} | options)


@pytest.fixture
def asking(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Asking(Path("labels.csv"), before=2)


def remove(at):
    return "DELETE", f"/answers/{at}", {}


def test_answers_and_undo(asking):
    state = {"before": 2, "answers": 0, "pairs": 3, "file": str(asking.file.path)}
    assert asking(*get("/state")) == (200, state)
    pairs = [asking(*get(f"/pairs/{at}"))[1] for at in range(3)]
    assert asking(*post("/answers", at=0, match="yes")) == (200, state | {"answers": 1})
    assert asking(*post("/answers", at=1, match="no")) == (200, state | {"answers": 2})
    assert asking(*remove(1)) == (200, state | {"answers": 1})
    assert asking(*post("/answers", at=1, match="unsure"))[0] == 200
    lines = [f"{pair['left']},{pair['right']},{match}" for pair, match in zip(pairs, ("yes", "unsure"), strict=False)]
    assert asking.file.path.read_text().splitlines() == [HEADER, *lines]
    assert asking(*post("/done")) == (200, state | {"answers": 2})
    assert asking.ended == 1


def test_a_pair(asking):
    shown = [asking(*get(f"/pairs/{at}"))[1] for at in range(3)]
    pair = next(one for one in shown if one["left"][1:] == one["right"])
    name = NAMES[int(pair["right"])]
    first, last = name.split()
    assert pair["fields"] == [
        {
            "name": "name / who",
            "left": [[f"{first} ", ""], [last, "different"]],
            "right": [[f"{first} ", ""], [f"{last}e", "different"]],
            "same": False,
        }
    ]
    assert [(other["name"], other["left"], other["right"]) for other in pair["others"]] == [
        ("town", [["Ansel", "different"]], [["Tarrow", "different"]]),
        ("since", None, [["2001", ""]]),
    ]


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        (post("/answers", at=0, match="yes"), 409, "another window has changed the answers"),
        (post("/answers", at=2, match="yes"), 409, "another window has changed the answers"),
        (remove(1), 409, "another window has changed the answers"),
        (get("/pairs/3"), 404, "there is no pair 3."),
        (get("/pairs/-1"), 404, "Not Found."),
        (post("/answers", at=1, match="maybe"), 422, "match: Input should be 'yes', 'no' or 'unsure'"),
        (post("/answers", at=-1, match="yes"), 422, "at: Input should be greater than or equal to 0"),
        (post("/answers", at=True, match="yes"), 422, "at: "),
        (post("/answers", at=1), 422, "match is missing."),
        (post("/answers", at=1, match="yes", left="x"), 422, "there is no field 'left'."),
    ],
)
def test_refused(asking, call, status, message):
    """Whatever is refused leaves the file as it is."""
    asking(*post("/answers", at=0, match="no"))
    before = asking.file.path.read_text()
    got, answer = asking(*call)
    assert (got, asking.file.path.read_text()) == (status, before)
    assert answer["error"].startswith(message)


def test_after_the_last_pair(asking):
    for at in range(3):
        assert asking(*post("/answers", at=at, match="no"))[0] == 200
    assert asking(*post("/answers", at=3, match="no")) == (404, {"error": "there is no pair 3."})
    assert asking(*remove(2))[1]["answers"] == 2


def test_only_who_has_the_address(asking):
    """Other sites and other users of this machine see neither records nor answers, and cannot answer."""
    calls = [get("/state"), get("/pairs/0"), post("/answers", at=0, match="yes"), remove(0), post("/done")]
    for method, path, options in calls:
        for headers in ({}, {"authorization": "Bearer another-token-0"}, {"host": "evil.example"}):
            assert one(asking.app, method, path, {**options, "headers": headers})[0] == 401
    assert [answer.status_code for answer in ask(asking.app, get("/"), get("/page.js"), get("/docs"))] == [
        200,
        200,
        401,
    ]
    form = {"content": b'{"at": 0, "match": "yes"}', "headers": {"content-type": "text/plain"}}
    assert asking("POST", "/answers", form)[0] == 415
    assert not asking.file.path.exists()
    assert not asking.ended


def test_a_file_that_cannot_be_written(asking):
    path = asking.file.path
    path.mkdir()  # not even root can write to it
    status, answer = asking(*post("/answers", at=0, match="yes"))
    assert status == 503
    assert answer["error"] == f"nothing was changed: {path}: Is a directory."
    path.rmdir()
    assert asking(*post("/answers", at=0, match="yes"))[1]["answers"] == 1
    path.write_text(path.read_text() + "x,y,yes\n")
    status, answer = asking(*remove(0))
    assert status == 503
    assert answer["error"].endswith("the last answer cannot be removed: another program has changed the file.")
    assert asking(*get("/state"))[1]["answers"] == 1


# --- in a browser ---


class Server:
    """`lookalike label --page` as a process of its own."""

    def __init__(self, *arguments: object) -> None:
        self.process = spawn("label", *arguments, "--page", stdout=subprocess.DEVNULL)
        self.said: list[str] = []
        while not self.said or not self.said[-1].startswith("asking "):
            self.said.append(self.process.stderr.readline().decode())
            assert self.said[-1], self.said
        self.address = re.search(r"http://127\.0\.0\.1:\d+/#\S+(?=;)", self.said[-1])[0]

    def end(self, how: signal.Signals | None) -> str:
        """Return the summary, after a signal or without one."""
        if how is not None:
            self.process.send_signal(how)
        _, said = self.process.communicate(timeout=GUARD)
        assert self.process.returncode == 0, said
        return said.decode()


@contextmanager
def labelling(*arguments: object) -> Iterator[Server]:
    server = Server(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


@pytest.fixture
def files(tmp_path) -> list:
    return [
        write(tmp_path / "shop.csv", SHOP),
        write(tmp_path / "club.csv", CLUB),
        *FIELDS,
        "--labels",
        tmp_path / "l.csv",
    ]


def answers(path: Path) -> list[str]:
    head, *lines = path.read_text().splitlines()
    assert head == HEADER
    return [line.rpartition(",")[2] for line in lines]


def ids(page) -> str:
    return "-".join(page.locator("#records tr").first.locator(".value").all_text_contents())


def at_pair(page, number: int, of: int) -> str:
    """Wait until a pair is shown; return its ids."""
    expect(page.locator("#count")).to_have_text(f"pair {number} of {of}")
    expect(page.locator("#pair")).to_have_attribute("aria-busy", "false")
    return ids(page)


def press(page, key: str) -> None:
    """Press a key, and wait until the server has answered."""
    with page.expect_response(re.compile("/answers")):
        page.keyboard.press(key)


@pytest.mark.browser
@pytest.mark.server
def test_by_keys_and_buttons(browser, files):
    with labelling(*files, "--count", 4, "--quiet") as server, opened(browser, server.address) as page:
        first = at_pair(page, 1, of=4)
        expect(page.locator("#undo")).to_be_disabled()
        page.keyboard.press("z")  # nothing to undo
        page.keyboard.press("y")
        second = at_pair(page, 2, of=4)
        assert first != second
        page.get_by_role("button", name="No", exact=True).click()
        third = at_pair(page, 3, of=4)
        page.keyboard.press("z")
        assert at_pair(page, 2, of=4) == second
        page.keyboard.press("U")
        assert at_pair(page, 3, of=4) == third
        page.keyboard.press("Control+y")
        page.evaluate(
            "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'y', repeat: true }))"
        )  # a key held down
        page.get_by_label("Answer by keys").uncheck()
        page.keyboard.press("y")
        page.get_by_label("Answer by keys").check()
        assert at_pair(page, 3, of=4) == third
        page.keyboard.press("n")
        at_pair(page, 4, of=4)
        page.keyboard.press("n")
        expect(page.locator("#finished-title")).to_be_focused()
        expect(page.locator("#count")).to_have_text("4 of 4 answered")
        expect(page.get_by_role("button", name="Yes")).to_be_disabled()
        page.get_by_role("button", name="Undo").click()
        at_pair(page, 4, of=4)
        page.keyboard.press("y")
        page.get_by_role("button", name="Done").click()
        expect(page.locator("#ended-title")).to_have_text(f"4 answers saved in {files[-1]}")
        expect(page.locator("#main")).to_be_hidden()
        assert server.end(None) == ""  # --quiet hides the summary, but not the address
    assert answers(files[-1]) == ["yes", "unsure", "no", "yes"]
    assert files[-1].read_text().splitlines()[1:3] == [
        f"{first.replace('-', ',')},yes",
        f"{second.replace('-', ',')},unsure",
    ]


@pytest.mark.browser
@pytest.mark.server
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_reload_and_resume(browser, files, how):
    with labelling(*files, "--count", 3) as server, opened(browser, server.address) as page:
        seen = [at_pair(page, 1, of=3)]
        press(page, "y")
        seen.append(at_pair(page, 2, of=3))
        expect(page.locator("#status")).to_have_text("Answered yes.")
        page.reload()
        assert at_pair(page, 2, of=3) == seen[1]
        page.keyboard.press("z")  # also what was answered before
        assert at_pair(page, 1, of=3) == seen[0]
        press(page, "n")
        at_pair(page, 2, of=3)
        assert server.end(how) == f"labels: 1 answer added; 1 of 3 in {files[-1]}\n"
    with labelling(*files, "--count", 3) as server, opened(browser, server.address) as page:
        assert at_pair(page, 2, of=3) not in seen[:1]
        expect(page.locator("#undo")).to_be_disabled()
        page.keyboard.press("u")  # Done waits until it is saved
        at_pair(page, 3, of=3)
        page.get_by_role("button", name="Done").click()
        assert server.end(None) == f"labels: 1 answer added; 2 of 3 in {files[-1]}\n"
    assert answers(files[-1]) == ["no", "unsure"]


@pytest.mark.browser
@pytest.mark.server
def test_two_windows(browser, files):
    """A window with an old pair cannot answer another one, but shows the new one; also when it is looked at again."""
    with labelling(*files, "--count", 5) as server, opened(browser, server.address) as page:
        other = page.context.new_page()
        other.goto(server.address)
        assert at_pair(other, 1, of=5) == at_pair(page, 1, of=5)
        press(other, "y")
        second = at_pair(other, 2, of=5)
        page.keyboard.press("n")
        expect(page.locator("#error")).to_have_text(re.compile("^Another window has changed the answers"))
        assert at_pair(page, 2, of=5) == second
        press(page, "n")
        third = at_pair(page, 3, of=5)
        expect(page.locator("#error")).to_be_hidden()
        expect(other.locator("#count")).to_have_text("pair 2 of 5")
        other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        assert at_pair(other, 3, of=5) == third
        press(other, "z")
        assert at_pair(other, 2, of=5) == second
    assert answers(files[-1]) == ["yes"]


@pytest.mark.browser
@pytest.mark.server
def test_the_next_pair_is_there_at_once(browser, files):
    """It is shown before the answer is saved. Answers are saved in turn; a failure takes back those after it."""
    with labelling(*files, "--count", 6) as server, opened(browser, server.address) as page:
        held = []
        page.route("**/answers", lambda route: held.append(route))
        page.reload()
        first = at_pair(page, 1, of=6)
        page.keyboard.press("y")
        second = at_pair(page, 2, of=6)
        page.keyboard.press("n")
        third = at_pair(page, 3, of=6)
        page.keyboard.press("u")
        at_pair(page, 4, of=6)
        assert len({first, second, third}) == 3
        while not held:
            page.wait_for_timeout(10)
        assert [route.request.post_data_json for route in held] == [{"at": 0, "match": "yes"}]
        held.pop().continue_()
        while not held:
            page.wait_for_timeout(10)
        assert held[0].request.post_data_json == {"at": 1, "match": "no"}
        held.pop().fulfill(status=503, json={"error": "nothing was changed: the disk is full."})
        expect(page.locator("#error")).to_have_text("Nothing was changed: the disk is full.")
        assert at_pair(page, 2, of=6) == second
        assert held == []  # the third was not sent
        page.unroute("**/answers")
        press(page, "u")
        assert at_pair(page, 3, of=6) == third
        expect(page.locator("#error")).to_be_hidden()
    assert answers(files[-1]) == ["yes", "unsure"]


@pytest.mark.browser
@pytest.mark.server
def test_a_server_that_ends(browser, files):
    """The page says what to do, and the same window goes on with the next run at the same port."""
    with labelling(*files) as server, opened(browser, server.address) as page:
        at_pair(page, 1, of=6)
        press(page, "y")
        at_pair(page, 2, of=6)
        server.end(signal.SIGINT)
        page.keyboard.press("y")
        expect(page.locator("#error")).to_have_text("The server is not responding.")
        expect(page.locator("#again")).to_contain_text("run it again: it resumes where you stopped")
        expect(page.locator("#count")).to_have_text("pair 2 of 6")
        port = re.search(r":(\d+)/", server.address)[1]
        with labelling(*files, "--port", port) as again:
            page.get_by_role("button", name="Try again").click()
            expect(page.locator("#error")).to_have_text(re.compile("^This address is no longer valid"))
            page.goto(again.address)
            at_pair(page, 2, of=6)
            expect(page.locator("#error")).to_be_hidden()
            expect(page.locator("#again")).to_be_hidden()


@pytest.mark.browser
@pytest.mark.server
def test_a_file_that_becomes_unwritable(browser, files):
    path = files[-1]
    with labelling(*files) as server, opened(browser, server.address) as page:
        first = at_pair(page, 1, of=6)
        path.mkdir()
        page.keyboard.press("y")
        expect(page.locator("#error")).to_have_text(f"Nothing was changed: {path}: Is a directory.")
        assert at_pair(page, 1, of=6) == first
        path.rmdir()
        press(page, "y")
        at_pair(page, 2, of=6)
        expect(page.locator("#error")).to_be_hidden()
    assert answers(path) == ["yes"]


@pytest.mark.browser
@pytest.mark.server
def test_records_are_never_markup(browser, tmp_path):
    columns = ["id", *(f"{evil} {at}" for at, evil in enumerate(EVIL))]
    tables = [
        write(
            tmp_path / f"{side}.csv",
            [dict(zip(columns, [f"{at} {side} {EVIL[at]}", *EVIL], strict=True)) for at in range(2)],
        )
        for side in ("left", "right")
    ]
    fields = ["-f", re.sub(r"([:=*])", r"\\\1", columns[1]) + "=text"]
    with labelling(*tables, *fields, "--labels", tmp_path / "l.csv") as server, opened(browser, server.address) as page:
        at_pair(page, 1, of=4)
        assert page.locator("tbody th").all_text_contents() == ["id", columns[1], "Not compared", *columns[2:]]
        for side in ("left", "right"):
            assert page.locator(f".value[data-side={side}]").all_text_contents()[1:] == EVIL
        for _ in range(4):
            page.keyboard.press("u")
        expect(page.locator("#finished")).to_be_visible()
        assert page.evaluate("window.harmed") is None
        assert page.locator("main iframe, main img, main a, main script, main svg").count() == 0


@pytest.mark.browser
@pytest.mark.server
def test_it_fits_the_window(browser, tmp_path):
    """Nothing is cut off, all text has a contrast of at least 4.5, and the buttons are always in sight."""
    long = {"text": "a long description of something " * 40, "word": "w" * 400, "street": "4 Elm Street", "size": "12"}
    tables = [
        write(tmp_path / "a.csv", [{"name": "Ann Lee", **long}]),
        write(tmp_path / "b.csv", [{"name": "Ann Leigh", **long, "street": "4 Elm St", "since": "2001", "size": ""}]),
    ]
    fields = [part for name in ("name", "word=text", "street", "size=number") for part in ("-f", name)]
    with labelling(*tables, *fields, "--labels", tmp_path / "l.csv") as server, opened(browser, server.address) as page:
        at_pair(page, 1, of=1)
        for end in (False, True):
            if end:
                page.keyboard.press("y")
                expect(page.locator("#finished")).to_be_visible()
                expect(page.locator("#status")).to_have_text("Answered yes.")
                page.evaluate(
                    "document.querySelectorAll('[data-match]').forEach((one) => one.remove())"
                )  # grey, as disabled
            for width in shown_in_all_ways(page):
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert page.evaluate(LEAST_CONTRAST) >= 4.5
                expect(page.get_by_role("button", name="Done")).to_be_in_viewport()
