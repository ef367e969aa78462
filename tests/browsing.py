"""Open pages in a real browser, and check that they load nothing from elsewhere."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("quic", "background-networking", "component-update", "sync", "gpu")
LIMIT = 60_000  # milliseconds to wait; ample even on a busy machine
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in QUIET)]

# These would run if any of them were treated as markup; each sets a mark that the tests look for.
EVIL = [
    "<script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 2'>",
    '"><svg onload=window.harmed=3>',
    "'--></style></script><body onload='window.harmed=4'>",
    "</bdi></mark></details><iframe src='javascript:parent.harmed=5'></iframe>",
    "{{ 7 * 7 }}{% for x in () %}{% endfor %}<a href='javascript:window.harmed=6'>x</a>",
    "\u202eright to left\u202c \u2066isolated \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "&lt;b&gt;already escaped&lt;/b&gt; &amp;",
]


@contextmanager
def opened(browser, address: str, **options: object) -> Iterator:
    """Open the page at an address; it must load nothing from elsewhere and cause no errors."""
    with browser.new_context(**options) as context:
        page = context.new_page()
        page.set_default_timeout(LIMIT)
        asked, wrong = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(address)
        yield page
        site = address.partition("#")[0]
        assert all(url.startswith(site) for url in asked)
        assert [line for line in wrong if "Failed to load resource" not in line] == []  # 4xx are shown to the user


def shown_in_all_ways(page) -> Iterator[int]:
    """Show the page in wide and narrow windows, in light and dark colours, and yield each width."""
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(f"innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches")
            yield width


# The lowest contrast, as defined by WCAG, between a text on the page and its background.
LEAST_CONTRAST = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (color) => {
    const [r, g, b] = channels(color).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const behind = (one) => {
    while (one && channels(getComputedStyle(one).backgroundColor)[3] === 0) one = one.parentElement;
    return one ? getComputedStyle(one).backgroundColor : "rgb(255, 255, 255)";
  };
  const written = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const every = [...document.querySelectorAll("main *, header *")];
  const shown = every.filter((one) => one.checkVisibility() && written(one));
  const contrasts = shown.map((one) => light(getComputedStyle(one).color) / light(behind(one)));
  return Math.min(...contrasts.map((ratio) => Math.max(ratio, 1 / ratio)));
}"""
