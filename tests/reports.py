"""Read the pages of reports, and make results to report on."""

import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np

from lookalike.report.finding import Values

WORDS = "the cat sat on the mat while a dog ate all of the rat near that old brown hat".split()  # noqa: SIM905


class Reader(HTMLParser):
    """The contents of a page: its text without styles and scripts, its tags, its pairs' values."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.values, self.inside = Counter(), [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.inside.append(tag)
        if dict(attrs).get("class") == "pair":
            self.values.append(float(dict(attrs)["data-value"]))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"style", "script"} & set(self.inside):
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


def read(path):
    return Reader(path.read_text("utf-8"))


def documents(n, seed=1):
    """Make texts, each even one followed by a near-copy."""
    rng = np.random.default_rng(seed)
    texts = []
    for at in range(n // 2):
        words = [f"{word}{at}" for word in rng.permutation(WORDS).tolist()] + rng.choice(WORDS, 20).tolist()
        texts += [" ".join(words), " ".join(words[:-3] + ["changed"] * 3)]
    return texts


def values(some, **options):
    array = np.asarray(some)
    return Values(np.arange(len(array)), np.arange(len(array)) + 1, array, "Jaccard similarity", **options)


PEOPLE = [
    {"id": at, "name": name, "city": city, "born": born}
    for at, (name, city, born) in enumerate(
        [
            ("Ada Lovelace", "London", "1815-12-10"),
            ("Ada Lovlace", "London", "1815-12-10"),
            ("Grace Hopper", "New York", "1906-12-09"),
            ("Grace Hoper", "New York", "1906-12-09"),
            ("Alan Turing", "London", None),
            ("Emmy Noether", "Erlangen", "1882-03-23"),
        ]
    )
]

COMMON = ("-t", "0.5", "-s", "word:2")
