"""Measure how well each kind of shingle recognises an article on other pages, and parsing speed.

    python bench/news.py DATA

DATA is a folder of web pages with pairs.csv: page_a, page_b, variant, same_article. The figures in
results/ are for the 70 pages of raashi2120/Near-Duplicate-Web-Page-Detection: 10 originals from two
newspapers, six variants of each.

Pairs without a label: all variants of one original except full_content_swap have its article. A
page with swapped content has its own article, with one exception, found by reading the pages (see
MOVED).
"""

import argparse
import csv
import importlib.util
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from shared import Table, machine, publish

import lookalike as la
from lookalike.items.pages import article_text, decode_page, visible_text

SWAPPED = "full_content_swap"
MOVED = {"bbc_001_full_content_swap.html": "bbc_004"}  # its new article is that of another original
SHINGLES = {
    "char:9": la.Shingles.parse("char:9"),
    "word:5": la.Shingles.parse("word:5"),
    "stop:3": la.Shingles.parse("stop:3"),
    "stop:3 sparse": la.Shingles.parse("stop:3", skip_stops=True, distance=2),
    "stop:3 of a, an, the, is": la.Shingles.parse("stop:3", skip_stops=True, antecedents=["a", "an", "the", "is"]),
}
LENGTHS = (100, 200, 400)  # words to which articles are cut
NOTE = (
    "Margin: the lowest similarity of a true pair minus the highest of a false one; above 0, some threshold makes "
    "no mistake. The threshold 0.5 was chosen beforehand, since above it two pages share more than they do "
    "not; the best F1 is that of the best threshold for the row, which cannot be known without labels. Sparse: every "
    "second word after a stop word, skipping stop words. Articles are cut where `article_text` finds them; "
    "everything else on the page stays. Each time is the best of its runs, which alternate, with one thread; "
    "BeautifulSoup parses with lxml."
)
THRESHOLD = 0.5  # above it two pages share more than they do not
Similarities = dict[frozenset[str], float]


def by_beautifulsoup(page: bytes) -> str:
    """Return all text except scripts and styles."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(page, "lxml")
    for element in soup(["script", "style", "noscript", "template", "head"]):
        element.decompose()
    return str(soup.get_text("\n", strip=True))


def by_trafilatura(page: bytes) -> str:
    from trafilatura import extract

    return extract(page) or ""


def by_justext(page: bytes) -> str:
    from justext import get_stoplist, justext

    return "\n".join(part.text for part in justext(page, get_stoplist("English")) if not part.is_boilerplate)


# The kinds of text to compare: name, package, function.
TEXTS: dict[str, tuple[str, Callable[[bytes], str]]] = {
    "markup": ("lookalike", decode_page),
    "visible text": ("lookalike", visible_text),
    "article": ("lookalike", article_text),
    "article by trafilatura": ("trafilatura", by_trafilatura),
    "article by jusText": ("justext", by_justext),
    "all text by BeautifulSoup": ("bs4", by_beautifulsoup),
}
SCORED = ("markup", "visible text", "article", "article by trafilatura", "article by jusText")
OURS = ("visible text", "article")


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder with the pages and pairs.csv")
    parser.add_argument("--repeat", type=int, default=3, help="number of runs; the best time counts")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    if not (given.data / "pairs.csv").is_file():
        parser.error(f"{given.data} has no pairs.csv")
    pages = {path.name: path.read_bytes() for path in sorted(given.data.glob("*.html"))}
    with (given.data / "pairs.csv").open() as file:
        labelled = list(csv.DictReader(file))
    truth = {frozenset(two): article_of(two[0]) == article_of(two[1]) for two in combinations(pages, 2)}
    labels = {frozenset((row["page_a"], row["page_b"])): row["same_article"] == "1" for row in labelled}
    assert all(truth[two] == same for two, same in labels.items()), "the names and the labels disagree"
    variants = {frozenset((row["page_a"], row["page_b"])): row["variant"] for row in labelled}
    times, texts = speeds(pages, given.repeat)
    scored = [name for name in SCORED if name in texts]
    found = {(name, kind): similarities(texts[name], SHINGLES[kind]) for name in scored for kind in SHINGLES}
    cut = {
        (f"visible text with {words} of article", kind): similarities(shorter, shingles)
        for words in LENGTHS
        for shorter in [{name: shorten(content, words) for name, content in pages.items()}]
        for kind, shingles in SHINGLES.items()
    }
    sizes = f"{len(pages)} pages, {sum(map(len, pages.values())) / 1e6:.1f} MB"
    publish(
        [
            machine("lookalike", "numpy", "numba", "pyarrow", "selectolax", "beautifulsoup4", "trafilatura", "justext"),
            f"{sizes}: {len(labels)} labelled pairs, {sum(labels.values())} of them of the same article",
            scores_table(found, labels),
            f"All {len(truth):,} pairs of pages, {sum(truth.values())} of them of the same article",
            scores_table(found, truth),
            "The same pairs, with each article cut to its first words",
            scores_table(cut, truth),
            "Mean similarity of the labelled pairs by variant",
            variants_table({names: values for names, values in found.items() if names[0] in OURS}, variants),
            f"Pages to text, one page at a time: {sizes}",
            times,
            NOTE,
        ],
        given.markdown,
    )


def article_of(name: str) -> str:
    """Return the article of a page, by its name: that of the original, or its own."""
    newspaper, number, variant = name.removesuffix(".html").split("_", 2)
    return MOVED.get(name) or (name if variant == SWAPPED else f"{newspaper}_{number}")


def shorten(page: bytes, words: int) -> str:
    """Return the visible text of a page with its article cut to the first words."""
    lines = {}
    for line in article_text(page).split("\n"):
        lines[line] = " ".join(line.split()[:words])
        words -= len(lines[line].split())
    return "\n".join(lines.get(line, line) for line in visible_text(page).split("\n"))


def similarities(texts: dict[str, str], shingles: la.Shingles) -> Similarities:
    """Return the Jaccard similarities of all pairs with at least 0.01."""
    pairs = la.find_pairs(list(texts.values()), threshold=0.01, recall=1.0, shingles=shingles)
    names = list(texts)
    return {frozenset((names[left], names[right])): similarity for left, right, similarity in pairs}


def scores_table(found: dict[tuple[str, str], Similarities], truth: dict[frozenset[str], bool]) -> Table:
    """Return the margin, the scores at the common threshold, and the best F1 with its threshold."""
    head = f"text, shingles|lowest true|highest false|margin|precision at {THRESHOLD}|recall|F1|best F1|at"
    table = [head.split("|")]
    for names, similarity in found.items():
        values = {two: similarity.get(two, 0.0) for two in truth}
        lowest = min(values[two] for two, same in truth.items() if same)
        highest = max(values[two] for two, same in truth.items() if not same)
        best = max((score(values, truth, threshold)[2], threshold) for threshold in {*values.values()} - {0.0})
        figures = [f"{lowest:.3f}", f"{highest:.3f}", f"{lowest - highest:+.3f}"]
        figures += [f"{value:.3f}" for value in (*score(values, truth, THRESHOLD), *best)]
        table.append([", ".join(names), *figures])
    return table


def score(
    values: dict[frozenset[str], float], truth: dict[frozenset[str], bool], threshold: float
) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the pairs at or above a threshold."""
    chosen = [truth[two] for two, value in values.items() if value >= threshold]
    right = sum(chosen)
    return right / max(1, len(chosen)), right / sum(truth.values()), 2 * right / (len(chosen) + sum(truth.values()))


def variants_table(found: dict[tuple[str, str], Similarities], variants: dict[frozenset[str], str]) -> Table:
    """Return the mean similarity for each kind of change."""
    names = list(dict.fromkeys(variants.values()))
    table = [["text, shingles", *(name.replace("_", " ") for name in names)]]
    for compared, similarity in found.items():
        groups = defaultdict(list)
        for two, variant in variants.items():
            groups[variant].append(similarity.get(two, 0.0))
        table.append([", ".join(compared), *(f"{sum(groups[one]) / len(groups[one]):.3f}" for one in names)])
    return table


def speeds(pages: dict[str, bytes], repeat: int) -> tuple[Table, dict[str, dict[str, str]]]:
    """Time each kind of text on all pages; return the table and the texts."""
    there = {name: make for name, (package, make) in TEXTS.items() if importlib.util.find_spec(package)}
    best = dict.fromkeys(there, float("inf"))
    texts: dict[str, dict[str, str]] = {}
    for _ in range(repeat):
        for name, make in there.items():
            start = time.perf_counter()
            texts[name] = {page: make(content) for page, content in pages.items()}
            best[name] = min(best[name], time.perf_counter() - start)
    table = [["text", "time per page", "MB/s of pages", "characters per page"]]
    for name, seconds in best.items():
        speed = sum(map(len, pages.values())) / seconds / 1e6
        characters = sum(map(len, texts[name].values())) // len(pages)
        table.append([name, f"{1000 * seconds / len(pages):.2f} ms", f"{speed:.1f}", f"{characters:,}"])
    return table, texts


if __name__ == "__main__":
    main()
