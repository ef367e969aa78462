"""Check how results look in a notebook, and what their plots show."""

import random
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core import display
from lookalike.core.drawing import BLUE
from lookalike.core.errors import UsageError

matplotlib.use("Agg")
WILD = '<script>alert(1)</script> "quoted" & \u202eright to left'


class Page(HTMLParser):
    """The tags and the text of some HTML; each opened tag must be closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def texts_of(count, seed=1):
    draw = random.Random(seed)
    words = [f"w{at}" for at in range(300)]
    made = []
    for at in range(count):
        line = made[-1].split() if at % 2 else draw.choices(words, k=20)
        line[draw.randrange(20)] = draw.choice(words)
        made.append(" ".join(line))
    return made


@pytest.fixture(scope="module")
def pairs():
    return la.find_pairs(texts_of(60), threshold=0.5, shingles="word:2", method="lsh")


def test_pairs_are_a_table(pairs):
    page = Page(pairs._repr_html_())
    assert page.tags.count("tr") == 11
    assert f"{len(pairs)} pairs of 60 items" in page.text
    assert f"and {len(pairs) - 10} more" in page.text
    left, right, similarity = next(iter(pairs))
    assert f"{left}{right}{similarity:.4g}" in page.text


def test_clusters_are_a_table(pairs):
    clusters = pairs.clusters()
    page = Page(clusters._repr_html_())
    assert page.tags.count("tr") == 11
    assert f"{len(clusters)} clusters among 60 items" in page.text
    assert Page(la.find_clusters(["one", "another"])._repr_html_()).tags.count("tr") == 1
    assert Page(la.find_clusters([])._repr_html_()).tags.count("tr") == 1


def test_markup_in_data_is_escaped():
    table = pa.table({"id": [WILD, f"{WILD} too"], "text": ["the same text", "the same text"]})
    for result in (la.find_pairs(table), la.find_clusters(table)):
        page = Page(result._repr_html_())
        assert not {"script", "img"} & set(page.tags)
        assert "<script>alert(1)</script>" in page.text


def test_long_values_are_cut():
    assert display.shown("x" * 100) == "x" * 79 + "…"
    assert [display.shown(value) for value in (0.123456, 12345, None)] == ["0.1235", "12,345", "None"]


def points_of(svg):
    """Return the points of a picture's blue line from left to right, scaled from 0 to 1."""
    root = ElementTree.fromstring(svg)
    line = next(one for one in root.iter() if f"stroke: {BLUE}" in one.attrib.get("style", ""))
    places = np.array(re.findall(r"[ML] (\S+) (\S+)", line.attrib["d"]), float)
    return (places - places[0]) / (places[-1] - places[0])


def test_drawn_curves_match_their_formula():
    curve = la.And(5) >> la.Or(20)
    x, y = points_of(curve._repr_html_()).T
    assert len(x) > 30  # matplotlib leaves out points that cannot be seen
    assert np.abs(y - curve(x)).max() < 1e-2
    assert "And(5) &gt;&gt; Or(20)" in curve._repr_html_()


def test_plans_show_their_lines_and_their_curve(pairs):
    shown = pairs.plan._repr_html_()
    assert "jaccard &gt;= 0.5 of word:2" in shown
    svg = shown.partition("<svg")[2]
    x, y = points_of("<svg" + svg).T
    assert np.abs(y - pairs.plan.probability(x)).max() < 1e-2
    exact = la.find_pairs(["one text", "one text"], method="exact").plan
    assert exact.probability(np.array([0.79, 0.8, 1])).tolist() == [0, 1, 1]
    edits = la.find_pairs(["one text", "one text"], measure="edit", threshold=1).plan
    assert "<svg" not in edits._repr_html_()
    with pytest.raises(UsageError, match="a plan for 'edit' has no curve"):
        edits.plot()
    vectors = la.find_pairs(np.eye(3), threshold=20, measure="angle").plan
    assert "<svg" not in vectors._repr_html_()


def test_the_probability_of_a_plan_is_that_of_its_bands(pairs):
    recall = pairs.plan.bands.recall
    found = pairs.plan.probability(np.array([0, 0.5, 1]))
    assert found.tolist() == pytest.approx([0, recall, 1])
    signs = la.find_pairs(texts_of(10), threshold=0.7, sketch="simhash", method="lsh").plan
    assert signs.probability(np.array([0.7, 1])).tolist() == pytest.approx([signs.recall, 1])


def test_plots(pairs):
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert pairs.plot(axes) is axes
    assert sum(bar.get_height() for bar in axes.patches) == len(pairs)
    sizes = pairs.clusters().plot()
    assert sizes.get_ylabel() == "clusters"
    assert pairs.plan.plot().get_xlabel() == "Jaccard similarity"
    assert (la.And(2) >> la.Or(3)).plot().get_title() == "And(2) >> Or(3)"
    near = la.find_pairs(np.eye(3), threshold=90, measure="angle").plot()
    assert near.get_xlabel() == "distance"
    la.find_clusters([]).plot()
    pyplot.close("all")
