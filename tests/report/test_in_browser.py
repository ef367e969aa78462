"""Check reports in a real browser, with and without a mouse, in all colour schemes and widths."""

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import expect

import lookalike as la
from tests.browsing import EVIL, LEAST_CONTRAST, LIMIT, opened, shown_in_all_ways

pytestmark = pytest.mark.browser

BELL = """The old bell of Tarrow rang again on Sunday, after forty years of silence. Two hundred people came up.
The smith who mended the clapper, Ada Brandt, is eighty-one and had heard it as a girl. She would not take any pay."""
TWIN = """TARROW - The old bell of Tarrow rang again on Sunday, after forty years of silence. Many people came up.
The smith who mended the clapper, Ada Brandt, is eighty-one and had heard it as a girl. The church paid her in wine."""
RAIN = "Rain is expected until the weekend, with some snow above nine hundred metres and a cold wind from the north."
WET = "Rain is expected until the weekend, with some snow above eight hundred metres and a cold wind from the north."
IDS = ["bell", "tarrow-bell", "rain", "wet"]


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """Return the page of four documents with two similar pairs."""
    path = tmp_path_factory.mktemp("report") / "news.html"
    table = pa.table({"id": IDS, "text": [BELL, TWIN, RAIN, WET]})
    la.find_pairs(table, threshold=0.4, shingles="word:3", audit=4).report(path, "Found today")
    return path.as_uri()


def test_a_pair_is_opened_and_its_passages_shown(browser, news):
    with opened(browser, news) as page:
        expect(page).to_have_title("Found today")
        expect(page.locator(".pair")).to_have_count(2)
        bells = page.locator(".pair", has_text="tarrow-bell")
        bells.locator("summary").click()  # closes it: the first few are open
        expect(bells.locator(".sides")).to_be_hidden()
        bells.locator("summary").click()
        left, right = bells.locator("[data-side=left]"), bells.locator("[data-side=right]")
        assert left.text_content() == BELL
        assert right.text_content() == TWIN
        shared = [mark.text_content() for mark in right.locator("mark").all()]
        assert shared[0].startswith("The old bell of Tarrow rang again on Sunday, after forty years of silence")
        assert all(" ".join(mark.split()) in " ".join(BELL.split()) for mark in shared)
        assert "Two hundred" not in "".join(mark.text_content() for mark in left.locator("mark").all())
        right.locator("mark").first.hover()
        expect(left.locator("mark.now")).to_have_text(shared[0])


def test_search_and_filters(browser, news):
    with opened(browser, news) as page:
        shown = page.locator(".pair:visible")
        expect(page.locator("#shown")).to_have_text("2 of 2 shown")
        page.fill("#words", "SNOW north")
        expect(shown).to_have_count(1)
        expect(page.locator("#shown")).to_have_text("1 of 2 shown")
        assert "wet" in shown.locator("summary").text_content()
        page.fill("#words", "tarrow-bell")
        expect(shown).to_have_count(1)
        page.fill("#words", "nowhere to be found")
        expect(shown).to_have_count(0)
        expect(page.locator("#none")).to_be_visible()
        page.fill("#words", "")
        values = sorted(float(pair.get_attribute("data-value")) for pair in page.locator(".pair").all())
        page.fill("#least", str((values[0] + values[1]) / 2))
        expect(shown).to_have_count(1)
        assert float(shown.get_attribute("data-value")) == values[1]
        page.fill("#least", "")
        page.fill("#most", str(values[0]))
        expect(shown).to_have_count(1)
        page.fill("#most", "")
        page.select_option("#which", "far")
        expect(shown).to_have_count(0)
        page.select_option("#which", "near")
        expect(shown).to_have_count(2)


def test_by_the_keyboard_alone(browser, news):
    """Move from the button to a pair, open it, and highlight a passage."""
    with opened(browser, news) as page:
        page.locator("#toggle").click()
        expect(page.locator("#toggle")).to_have_text("Open all")
        expect(page.locator(".pair[open]")).to_have_count(0)
        page.locator("#toggle").focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        page.keyboard.press("Enter")
        expect(page.locator(".pair[open]")).to_have_count(1)
        page.keyboard.press("Tab")
        while page.evaluate("document.activeElement.tagName") == "DIV":  # a text that scrolls
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "MARK"
        page.keyboard.press("Enter")
        assert page.locator(".pair[open] mark.now").count() >= 2


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """Return pages of documents, records, vectors, baskets, removed items and clusters."""
    folder = tmp_path_factory.mktemp("pages")
    texts = [f"{text} {at} and more of {at}" for at in range(6) for text in (BELL, TWIN, RAIN, WET)]
    la.find_pairs(texts, threshold=0.4, shingles="word:3", method="lsh").report(folder / "documents.html")
    la.dedup(texts, threshold=0.4, shingles="word:3").report(folder / "dropped.html")
    la.find_clusters(texts, threshold=0.4, shingles="word:3").report(folder / "clusters.html")
    names = ["Ada Lovelace", "Ada Lovlace", "Grace Hopper", "Grace Hoper", "Alan Turing", "a" * 200, "a" * 199 + "b"]
    people = pa.table({"name": names, "city": ["London", "London", "York", "York", None, "Rome", "Rome"]})
    la.entities.resolve(people, fields=["name", "city"]).report(folder / "records.html")
    base = np.random.default_rng(1).normal(size=(100, 64))
    near = np.concatenate((base, base[:40] + np.random.default_rng(2).normal(size=(40, 64)) * 0.1))
    la.find_pairs(near, measure="angle", threshold=12, method="lsh").report(folder / "vectors.html")
    bought = [(user, f"{item}{user // 2}") for user in range(20) for item in ("tea", "milk", f"oil {user}")]
    la.baskets.find_similar(bought, threshold=0.4).report(folder / "baskets.html")
    return folder


@pytest.mark.parametrize("name", ["documents", "records", "vectors", "baskets", "dropped", "clusters"])
def test_it_fits_the_window(browser, every, name):
    """Nothing is cut off, and all text has a contrast of at least 4.5."""
    with opened(browser, (every / f"{name}.html").as_uri()) as page:
        if page.locator("#toggle").count():
            page.locator("#toggle").click()
        for section in page.locator("section > details").all():
            section.evaluate("one => one.open = true")
        for width in shown_in_all_ways(page):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(LEAST_CONTRAST) >= 4.5


def test_it_can_be_read_without_scripts(browser, news):
    with opened(browser, news, java_script_enabled=False) as page:
        expect(page.locator("#tools")).to_be_hidden()
        expect(page.locator(".pair")).to_have_count(2)
        page.locator(".pair summary").first.click()
        assert page.locator("mark").count() >= 4


def test_it_can_be_printed(browser, every):
    with opened(browser, (every / "documents.html").as_uri()) as page:
        page.emulate_media(media="print")
        expect(page.locator("#tools")).to_be_hidden()
        expect(page.locator("nav")).to_be_hidden()
        assert page.pdf()[:5] == b"%PDF-"


def hostile():
    """Return ids and documents that would do harm if they were interpreted as markup."""
    shared = " ".join(f"word{at}" for at in range(40))
    texts = [f"{evil} {shared} {at % 2}" for at, evil in enumerate(EVIL * 2)]
    ids = [f"{evil} {at}" for at, evil in enumerate(EVIL * 2)]
    return ids, texts


# Adds a picture and scripts, and returns which rules of the policy stopped them.
TRY_HARM = """() => new Promise((resolve) => {
  const stopped = new Set();
  document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
    if (stopped.add(effectiveDirective).size === 3) resolve([...stopped].sort());
  });
  document.body.insertAdjacentHTML("beforeend", '<img src=x onerror="window.harmed = 9">');
  document.head.append(Object.assign(document.createElement("script"), { text: "window.harmed = 10" }));
})"""


def harmless(page):
    """Check that nothing ran or became markup, and that the policy would have stopped it."""
    assert page.evaluate("window.harmed") is None
    assert page.locator("iframe, img, main a, main script, main style").count() == 0
    assert page.locator("svg[onload], [onerror]").count() == 0
    stopped = page.evaluate(TRY_HARM)
    assert stopped == ["img-src", "script-src-attr", "script-src-elem"]
    assert page.evaluate("window.harmed") is None


def without_policy_errors(browser, path):
    """Open the page in its own context, where the errors that `harmless` logs are ignored."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    page.goto(path.as_uri())
    return context, page


def test_documents_and_ids_are_never_markup(browser, tmp_path):
    ids, texts = hostile()
    found = la.find_pairs(pa.table({"id": ids, "text": texts}), threshold=0.6, shingles="word:3")
    assert len(found) > 20
    found.report(tmp_path / "r.html", title=EVIL[0])
    with opened(browser, (tmp_path / "r.html").as_uri()) as page:
        expect(page).to_have_title(EVIL[0])
        page.locator("#toggle").click()
        shown = set(page.locator(".text").all_text_contents())
        assert shown == set(texts)
        names = {name.text_content() for name in page.locator(".pair .id").all()}
        assert names == set(ids)
    context, page = without_policy_errors(browser, tmp_path / "r.html")
    with context:
        harmless(page)


def test_columns_and_records_are_never_markup(browser, tmp_path):
    ids, texts = hostile()
    name = "<img src=x onerror='window.harmed = 7'>"
    people = pa.table({"key": ids, name: texts, "<b>city</b>": [f"<i>{at // 2}</i>" for at in range(len(ids))]})
    fields = [la.entities.Field(one, one, one, "text") for one in (name, "<b>city</b>")]
    found = la.entities.resolve(people, fields=fields, id="key")
    found.report(tmp_path / "r.html")
    with opened(browser, (tmp_path / "r.html").as_uri()) as page:
        expect(page.locator(".fields th[scope=row]").first).to_have_text(name)
    context, page = without_policy_errors(browser, tmp_path / "r.html")
    with context:
        harmless(page)


def test_elements_are_never_markup(browser, tmp_path):
    la.find_pairs([set(EVIL), {*EVIL, "more"}], threshold=0.5).report(tmp_path / "r.html")
    with opened(browser, (tmp_path / "r.html").as_uri()) as page:
        assert set(page.locator(".part:first-child li").all_text_contents()) == set(EVIL)
    context, page = without_policy_errors(browser, tmp_path / "r.html")
    with context:
        harmless(page)
