"""Check the page of an index as a person uses it: in a real browser, with a real server."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from playwright.sync_api import expect

from lookalike.index import Index
from tests.browsing import EVIL, LEAST_CONTRAST, opened, shown_in_all_ways
from tests.commands import GUARD

pytestmark = [pytest.mark.browser, pytest.mark.server]

BELL = """The old bell of Tarrow rang again on Sunday, after forty years of silence. Two hundred people came up.
The smith who mended the clapper, Ada Brandt, is eighty-one and had heard it as a girl. She would not take any pay."""
TWIN = """TARROW - The old bell of Tarrow rang again on Sunday, after forty years of silence. Many people came up.
The smith who mended the clapper, Ada Brandt, is eighty-one and had heard it as a girl. The church paid her in wine."""
RAIN = "Rain is expected until the weekend, with some snow above nine hundred metres and a cold wind from the north."


@contextmanager
def served(place, *options: object) -> Iterator[str]:
    """Provide the address of a server of an index."""
    command = [sys.executable, "-m", "lookalike", "serve", str(place), "--port", "0", *map(str, options)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            line = server.stderr.readline()
            while not line.startswith("serving"):  # after notes
                assert line, "the server did not start"
                line = server.stderr.readline()
            yield re.search(r"http://\S+/", line)[0]
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(GUARD) == 0
            assert server.stderr.read().splitlines()[-1] == "stopped"


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    place = tmp_path_factory.mktemp("page") / "news.index"
    options = {"threshold": 0.4, "shingles": "word:3", "store_text": True, "expected": 1000}
    Index.build(place, [BELL, RAIN], ["bell", "weather/rain"], **options).close()
    with served(place) as address:
        yield address


def names(page):
    return [name.text_content() for name in page.locator("#results .name").all()]


def test_a_text_is_looked_up_and_compared(browser, news):
    with opened(browser, news) as page:
        expect(page.locator("#facts")).to_have_text("2 texts, compared by Jaccard similarity of word:3 shingles")
        expect(page.locator("#item")).to_be_focused()
        page.keyboard.insert_text(TWIN)  # as from the clipboard
        expect(page.locator("#status")).to_have_text("1 found and verified; 1 candidate compared.")
        assert names(page) == ["bell"]
        value = float(page.locator("#results .value").text_content())
        assert 0.4 <= value < 1
        page.get_by_role("button", name="bell", exact=True).click()
        expect(page.locator("#compare-title")).to_have_text(re.compile(r"^\d shared passages$"))
        marks = [mark.text_content() for mark in page.locator("#left mark").all()]
        assert marks[0].startswith("The old bell of Tarrow rang again on Sunday, after forty years of silence")
        assert all(" ".join(mark.split()) in " ".join(TWIN.split()) for mark in marks)
        for side, text in (("left", TWIN), ("right", BELL)):
            assert page.locator(f"#{side}").text_content() == text
        page.locator("#left mark").first.hover()
        expect(page.locator("#right mark.now")).to_have_text(marks[0])


def test_the_threshold(browser, news):
    with opened(browser, news) as page:
        page.fill("#item", TWIN)
        expect(page.locator("#results li")).to_have_count(1)
        expect(page.locator("#chance")).to_have_text(re.compile(r"^An item of similarity 0.4 is found with probab"))
        path = page.locator("#line").get_attribute("d")
        assert path.startswith("M0 40")
        assert path.endswith("L100 0")
        slider = page.locator("#threshold")
        slider.focus()
        page.keyboard.press("End")
        expect(page.locator("#status")).to_have_text("None found; 1 candidate compared.")
        expect(page.locator("#chance")).to_have_text("An item of similarity 1 is found with probability over 0.999.")
        assert float(page.locator("#mark").get_attribute("x1")) == pytest.approx(100)
        for _ in range(70):
            page.keyboard.press("ArrowLeft")
        expect(page.locator("#results li")).to_have_count(1)


def test_by_the_keyboard_alone(browser, news):
    """Paste, tab to the results, compare, move to a passage, and see it on the other side."""
    with opened(browser, news) as page:
        expect(page.locator("#item")).to_be_focused()
        page.keyboard.insert_text(TWIN)
        expect(page.locator("#results li")).to_have_count(1)
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
            if reached[-1] == "name" and page.evaluate("document.activeElement.tagName") == "BUTTON":
                break
        assert reached[:3] == ["name", "add-it", "threshold"]
        page.keyboard.press("Enter")
        expect(page.locator("#compare")).to_be_visible()
        page.keyboard.press("Tab")  # its Remove button
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "MARK"
        page.keyboard.press("Enter")
        expect(page.locator("#right mark.now")).to_have_count(1)


def test_items_are_added_and_removed(browser, news):
    with opened(browser, news) as page:
        page.fill("#item", "A text of the day, about nothing that was ever written before, in a town without a name.")
        expect(page.locator("#status")).to_have_text("None found; 0 candidates compared.")
        page.fill("#name", "of the/day?")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("#status")).to_have_text(re.compile(r"^Added of the/day\?\. 1 found"))
        expect(page.locator("#facts")).to_have_text(re.compile(r"^3 texts"))
        page.fill("#name", "bell")
        page.keyboard.press("Enter")
        expect(page.locator("#error")).to_have_text(re.compile(r"^Id 'bell' already exists"))
        page.clock.install(time=0)
        page.clock.pause_at(1000)  # otherwise a busy machine may be too slow for the second press
        page.get_by_role("button", name="Remove of the/day?").click()
        page.clock.run_for(4000)
        page.get_by_role("button", name="Remove of the/day?").click()
        page.clock.run_for(3999)
        page.get_by_role("button", name="Really remove of the/day??").click()
        page.clock.resume()
        expect(page.locator("#status")).to_have_text(re.compile(r"^Removed of the/day\?\. None found"))
        expect(page.locator("#facts")).to_have_text(re.compile(r"^2 texts"))


def drop(page, name, text):
    given = page.evaluate_handle(
        """([name, text]) => { const data = new DataTransfer();
        data.items.add(new File([text], name, { type: "text/plain" })); return data; }""",
        [name, text],
    )
    page.dispatch_event("#item", "drop", {"dataTransfer": given})


def test_a_file_is_dropped(browser, news):
    with opened(browser, news) as page:
        drop(page, "today.txt", RAIN)
        expect(page.locator("#results .name")).to_have_text("weather/rain")
        assert page.input_value("#item") == RAIN
        assert page.input_value("#name") == "today.txt"


@contextmanager
def before_the_answer(page):
    """Hold back the server's answer about the index until the block is done."""
    held = []
    page.route("**/info", lambda route: held.append(route))
    yield
    while not held:
        page.wait_for_timeout(10)
    held.pop().continue_()
    page.unroute("**/info")


def test_a_file_is_dropped_before_the_server_answers(browser, news):
    with opened(browser, news) as page:
        with before_the_answer(page):
            page.reload()
            drop(page, "today.txt", RAIN)
            expect(page.locator("#status")).to_have_text("Waiting for the server.")
        expect(page.locator("#results .name")).to_have_text("weather/rain")
        assert page.input_value("#name") == "today.txt"


@pytest.mark.parametrize("keys", [[], ["Control+Enter"], ["Tab"], ["Shift+Tab"]])
def test_a_text_is_pasted_before_the_server_answers(browser, news, keys):
    """It is looked up once, and the focus stays where the user has moved it."""
    with opened(browser, news) as page:
        queries = []
        page.on("request", lambda request: queries.append(request.post_data_json) if request.post_data else None)
        with before_the_answer(page):
            page.reload()
            expect(page.locator("#item")).to_be_focused()
            page.keyboard.insert_text(RAIN)
            page.keyboard.insert_text(" ")
            for key in keys:
                page.keyboard.press(key)
            where = page.evaluate("document.activeElement.className")
            expect(page.locator("#status")).to_have_text("Waiting for the server.")
            for name in ("add-it", "threshold"):  # the server must answer first
                expect(page.locator(f"#{name}")).to_be_hidden()
        expect(page.locator("#results .name")).to_have_text("weather/rain")
        assert page.evaluate("document.activeElement.className") == where
        assert [query["items"] for query in queries] == [[RAIN + " "]]
        page.locator("#threshold").focus()
        page.keyboard.press("End")
        expect(page.locator("#chance")).to_have_text("An item of similarity 1 is found with probability over 0.999.")
        expect(page.locator("#add-it")).to_be_enabled()


def test_a_server_that_fails_at_first(browser, news):
    """The page says so, keeps the pasted text, and looks it up when the server is back."""
    with opened(browser, news) as page:
        for fail, line in (
            (lambda route: route.abort(), "The server is not responding."),
            (lambda route: route.fulfill(status=503, json={"error": "not now."}), "Not now."),
        ):
            page.route("**/info", fail)
            page.reload()
            expect(page.locator("#error")).to_have_text(line)
            page.keyboard.insert_text(RAIN)
            page.keyboard.press("Control+Enter")
            expect(page.locator("#error")).to_have_text(line)
            page.get_by_role("button", name="Try again").click()
            expect(page.locator("#error")).to_have_text(line)
            page.unroute("**/info")
            page.get_by_role("button", name="Try again").click()
            expect(page.locator("#results .name")).to_have_text("weather/rain")
            expect(page.locator("#error")).to_be_hidden()
            expect(page.locator("#again")).to_be_hidden()
            expect(page.locator("#item")).to_be_focused()


def test_text_is_never_markup(browser, tmp_path):
    """Ids and texts are not parsed as HTML, and positions are right among surrogate pairs."""
    evil = "<img src=x onerror=alert(1)> \U0001f40e\U0001f40e one two three four five <b>six</b> seven eight nine"
    options = {"threshold": 0.3, "shingles": "word:2", "store_text": True}
    Index.build(tmp_path / "i", [evil], ["<b>id</b>"], **options).close()
    with served(tmp_path / "i") as address, opened(browser, address) as page:
        page.fill("#item", f"Ten: {evil}")
        page.locator("#results button.name").click()
        expect(page.locator("#right")).to_have_text(evil)
        assert page.locator("main b, main img").count() == 0
        assert [mark.text_content() for mark in page.locator("#right mark").all()] == [evil[1:]]


def test_nothing_of_a_hostile_corpus_is_executed(browser, tmp_path):
    """Markup, scripts, quotes and right-to-left text in documents and ids are shown as text."""
    shared = " ".join(f"word{at}" for at in range(30))
    options = {"threshold": 0.3, "shingles": "word:2", "store_text": True}
    texts, ids = [f"{evil} {shared}" for evil in EVIL], [f"{at} {evil}" for at, evil in enumerate(EVIL)]
    Index.build(tmp_path / "i", texts, ids, **options).close()
    with served(tmp_path / "i") as address, opened(browser, address) as page:
        page.fill("#item", f"{''.join(EVIL)} {shared}")
        expect(page.locator("#results .name")).to_have_count(len(EVIL))
        assert set(names(page)) == set(ids)
        for at in range(len(EVIL)):
            page.locator("#results button.name").nth(at).click()
            expect(page.locator("#right-title")).to_have_text(names(page)[at])
            assert page.locator("#right").text_content() in texts
        assert page.evaluate("window.harmed") is None
        assert page.locator("main iframe, main img, main a, main script, main svg[onload]").count() == 0


def test_a_token_is_asked_for(browser, tmp_path):
    token = tmp_path / "token"
    token.write_text("a-token-of-some-length\n")
    token.chmod(0o600)
    Index.build(tmp_path / "i", [BELL, RAIN], threshold=0.5).close()
    with served(tmp_path / "i", "--token-file", token, "--read-only") as address, opened(browser, address) as page:
        expect(page.get_by_label("This server requires a token.")).to_be_focused()
        page.keyboard.type("a-token-of-another-kind")
        page.keyboard.press("Enter")
        expect(page.locator("#error")).to_have_text("This token is wrong.")
        expect(page.locator("#main")).to_be_hidden()
        page.get_by_label("This server requires a token.").fill("a-token-of-some-length")
        page.get_by_role("button", name="Continue").click()
        page.fill("#item", BELL)
        expect(page.locator("#results li")).to_have_count(1)
        assert page.locator("#results button").count() == 0  # nothing to remove, no text to compare
        expect(page.locator("#add")).to_be_hidden()
        page.evaluate("sessionStorage.clear()")
        with before_the_answer(page):
            page.reload()
            page.keyboard.insert_text(BELL)
            page.keyboard.press("Control+Enter")
        expect(page.get_by_label("This server requires a token.")).to_be_focused()
        with before_the_answer(page):
            page.dispatch_event("#item", "keydown", {"key": "Enter", "ctrlKey": True})  # asks without the token
            page.keyboard.type("a-token-of-some-length")
            page.keyboard.press("Enter")
        expect(page.locator("#results li")).to_have_count(1)
        expect(page.locator("#item")).to_be_focused()


@pytest.mark.parametrize(
    ("measure", "threshold", "rows", "asked"),
    [
        ("angle", 20, np.array([[1.0, 0.0, 0.1], [0.0, 1.0, 0.0]]), "1, 0, 0"),
        ("hamming", 1, np.array([[0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]), "0110 0"),
        ("jaccard", 0.5, [["milk", "tea", "salt"], ["oil"]], "tea, salt; milk"),
    ],
)
def test_other_kinds(browser, tmp_path, measure, threshold, rows, asked):
    Index.build(tmp_path / "i", rows, ["right", "wrong"], measure=measure, threshold=threshold).close()
    with served(tmp_path / "i") as address, opened(browser, address) as page:
        page.fill("#item", asked)
        expect(page.locator("#results .name")).to_have_text("right")
        expect(page.locator("#chance")).to_have_text(re.compile(r"^An item (of similarity|at distance) \d"))


def test_it_fits_the_window(browser, news):
    """Nothing is cut off, and all text has a contrast of at least 4.5."""
    with opened(browser, news) as page:
        page.fill("#item", TWIN)
        page.locator("#results button.name").click()
        expect(page.locator("#right mark").first).to_be_visible()
        for width in shown_in_all_ways(page):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(LEAST_CONTRAST) >= 4.5
