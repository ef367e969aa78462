"""Reports: what is chosen, what is said, and what stands side by side."""

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.entities.describe import of_resolution
from lookalike.items.bits import Bits
from lookalike.items.shingles import Shingles
from lookalike.report.beside import ENDS, MOST, beside, pieces, stretches
from lookalike.report.choosing import NEAR, SPREAD, choose, histogram, largest_groups, round_steps, size_bars
from lookalike.report.describe import brief, of_clusters, of_dedup, of_pairs
from lookalike.report.finding import Finding, Values
from lookalike.report.page import ROOM, render
from lookalike.results import Clusters, Pairs
from tests.commands import complaint, left_in

WORDS = "the cat sat on the mat while a dog ate all of the rat near that old brown hat".split()  # noqa: SIM905


class Reader(HTMLParser):
    """What a page holds: its text without styles and scripts, its tags, and the values of its pairs."""

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
    """Texts of which each even one has a near twin after it."""
    rng = np.random.default_rng(seed)
    texts = []
    for at in range(n // 2):
        words = [f"{word}{at}" for word in rng.permutation(WORDS).tolist()] + rng.choice(WORDS, 20).tolist()
        texts += [" ".join(words), " ".join(words[:-3] + ["changed"] * 3)]
    return texts


# --- side by side ---


def test_texts_with_what_they_share():
    left, right = "An old cat sat on the mat today.", "Yesterday an old cat sat on the mat."
    found = beside(left, right, Shingles.parse("word:3", lowercase=True))
    assert found.line == "1 passage in both, 69% of the right text"
    assert [(piece.text, piece.passages) for piece in found.left] == [
        ("An old cat sat on the mat", (0,)),
        (" today.", ()),
    ]
    assert [(piece.text, piece.passages) for piece in found.right] == [
        ("Yesterday ", ()),
        ("an old cat sat on the mat", (0,)),
        (".", ()),
    ]
    assert beside("abc", "xyz", Shingles()).line == "no passage is in both"
    assert beside("abc", "abc", None).line == "the two texts are the same"


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=6).map(
    lambda pairs: [(start, start + size, at) for at, (start, size) in enumerate(pairs)]
)


@given(spans)
def test_pieces_are_the_text(some):
    """All of it once, in order; and what is in a span is in a piece with a number."""
    length = max([60, *(end for _, end, _ in some)])
    text = "".join(chr(97 + at % 26) for at in range(length))
    shown = list(pieces(text, some))
    assert "".join(piece.text for piece in shown) == text
    at = 0
    for piece in shown:
        inside = [any(start <= place < end for start, end, _ in some) for place in range(at, at + len(piece.text))]
        assert all(inside) if piece.passages else not any(inside)
        at += len(piece.text)
    told = {number for _, _, numbers in stretches(length, some) for number in numbers}
    assert told <= {number for _, _, number in some}


def test_long_texts_are_cut():
    text = "".join(map(str, range(10_000)))
    shown = list(pieces(text, [(0, len(text), 7)]))
    assert [piece.note for piece in shown] == [False, True, False]
    assert (shown[0].text, shown[2].text) == (text[:ENDS], text[-ENDS:])
    assert shown[1].text == f"{len(text) - 2 * ENDS:,} shared characters"
    short = [(at, at + 50, at) for at in range(0, len(text) - 50, 100)]
    shown = list(pieces(text, short))
    assert sum(len(piece.text) for piece in shown if not piece.note) == MOST
    assert shown[-1].text == f"{len(text) - MOST:,} characters more"
    long = " ".join(documents(400))
    assert "of the first 20,000 characters" in beside(long, long + "!", Shingles()).line


def test_control_characters_are_shown_as_signs():
    assert [piece.text for piece in beside("a\0b\x1b\tc", "z", Shingles()).left] == ["a␀b␛\tc"]


def test_sets_and_bags():
    found = beside({"tea", "milk"}, {"milk", "oil"}, None)
    assert (found.both, found.left, found.right, found.counts) == (["milk"], ["tea"], ["oil"], (1, 1, 1))
    found = beside(Counter(a=3, b=1), Counter(a=1), None)
    assert (found.both, found.left, found.counts) == (["a"], ["a (×2)", "b"], (1, 3, 0))  # noqa: RUF001
    assert beside({10, 9, 2}, {9}, None).left == ["2", "10"]


def test_vectors_and_codes():
    found = beside(np.array([0.0, 2.0, -1.0]), np.array([0.0, 1.0, -1.0]), None)
    assert found.rows == [(1, "2", "1")]
    assert found.line == "3 components; lengths 2.236 and 1.414"
    assert found.left == "0,26.67 50,0 100,40"
    assert found.zero == pytest.approx(26.67, abs=0.01)
    long = beside(np.ones(1000), np.zeros(1000), None)
    assert len(long.left.split(" ")) == 250
    assert "of which one in 4 is drawn" in long.line
    found = beside(np.array([True, False, True]), np.array([True, True, True]), None)
    assert found.line == "1 of 3 bits differ"
    assert [(piece.text, bool(piece.passages)) for piece in found.left] == [("1", True), ("0", False), ("1", True)]


def test_in_brief():
    assert brief(np.array([True, False])) == "10"
    assert brief(None) == ""
    assert len(brief("word " * 1000)) <= 200


# --- what is chosen ---


def values(some, **options):
    array = np.asarray(some)
    return Values(np.arange(len(array)), np.arange(len(array)) + 1, array, "Jaccard similarity", **options)


def test_histogram():
    found = histogram(values([0.7, 0.7, 0.71, 1.0], cut=0.7, probability=lambda x: x**2))
    assert sum(bar.pairs for bar in found.bars) == 4
    assert [(bar.low, bar.pairs) for bar in found.bars] == [(0.7, 3), (0.975, 1)]
    assert (found.low, found.high, found.log) == (0, 1, False)
    assert found.curve[0] == (0, 0)
    assert found.curve[-1] == (1, 1)
    assert found.ticks == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert found.at(0.25) == 25
    steep = histogram(values([0.1, 0.3, *[1.0] * 500]))
    assert steep.log
    assert [name for _, name in steep.heights] == ["1", "10", "100"]
    whole = histogram(values(np.array([0, 1, 1, 3]), rising=False, cut=3.0))
    assert [(bar.low + 0.5, bar.pairs) for bar in whole.bars] == [(0, 1), (1, 2), (3, 1)]
    far = histogram(values([2.0, 8.0], rising=False, cut=8.0))
    assert far.low == 0
    assert far.high == 10


@given(st.floats(-100, 100), st.floats(0.01, 100), st.integers(2, 9))
def test_round_steps(low, size, most):
    steps = round_steps(low, low + size, most)
    assert 1 <= len(steps) <= most + 1
    assert all(low - 1e-9 * size <= step <= low + size * (1 + 1e-9) for step in steps)


def test_pairs_near_the_threshold_and_of_all_values():
    rng = np.random.default_rng(2)
    some = np.concatenate((rng.uniform(0.8, 0.81, 5000), rng.uniform(0.81, 0.99, 300), np.ones(20_000)))
    found = values(rng.permutation(some), cut=0.8)
    chosen = choose(found)
    assert [one.near for one in chosen] == [True] * NEAR + [False] * SPREAD
    assert len({one.pair for one in chosen}) == NEAR + SPREAD
    near = found.values[[one.pair for one in chosen[:NEAR]]]
    assert (np.diff(near) >= 0).all()
    assert near.max() == np.sort(some)[NEAR - 1]
    spread = found.values[[one.pair for one in chosen[NEAR:]]]
    counts = np.histogram(spread, np.arange(0.8, 1.0001, 0.025))[0]
    assert counts.min() >= 9  # 8 bins, of each about as many
    assert choose(found) == chosen
    assert len(choose(values([0.9, 0.8], cut=0.8))) == 2
    assert [one.pair for one in choose(values([5.0, 1.0, 3.0], rising=False))] == [0, 2, 1]


def test_sizes_and_the_largest():
    sizes = np.array([2, 2, 3, 6, 10, 11, 101, 1000, 1001])
    assert [tuple(bar) for bar in size_bars(sizes)] == [
        (2, 2, 2, 4),
        (3, 3, 1, 3),
        (6, 10, 2, 16),
        (11, 20, 1, 11),
        (101, 1000, 2, 1101),
        (1001, 10000, 1, 1001),
    ]
    label = np.array([0, 0, 2, 3, 3, 3])
    pairs = Values(np.array([0, 3, 3]), np.array([1, 4, 5]), np.ones(3), "similarity")
    finding = Finding("t", [pa.array(list("abcdef"))], values=pairs, label=label)
    assert [(one.first, one.size, one.share) for one in largest_groups(finding)] == [(3, 3, 2 / 3), (0, 2, 1.0)]
    assert [one.members.tolist() for one in largest_groups(finding)] == [[3, 4, 5], [0, 1]]
    assert largest_groups(Finding("t", [])) == []


# --- what is said ---


def test_pairs_in_words():
    found = la.find_pairs(documents(40), threshold=0.5, shingles="word:2", method="lsh", audit=40)
    told = of_pairs(found)
    assert told.title == f"{len(found)} pairs of 40 documents"
    asked, done = told.plan
    assert asked == (
        "Asked for: pairs whose Jaccard similarity is at least 0.5, by shingles of 2 words, to be found with a "
        "probability of 0.99 or more."
    )
    assert done.startswith("Done: by ")
    assert f"with probability {found.plan.recall:.4f}" in told.recall[0]
    assert told.recall[1].startswith("Near and far together, going by the curve: ")
    assert told.recall[2].startswith("Measured: ")
    assert told.advice == []
    assert told.facts["documents read"] == "40"


def test_expected_misses_are_those_of_the_curve():
    """Each pair that is found stands for one over its probability."""
    plan = la.find_pairs(documents(8), threshold=0.5, shingles="word:2", method="lsh").plan
    some = np.array([0.5] * 1000)
    ids = pa.array(np.arange(2000))
    found = Pairs(np.arange(1000), np.arange(1000) + 1000, some, ids, plan=plan)
    chance = float(plan.probability(np.array([0.5]))[0])
    missed = 1000 / chance - 1000
    assert of_pairs(found).recall[1].startswith(f"Near and far together, going by the curve: {chance:.2%} of all pairs")
    assert 1 <= missed < 10
    assert f"about {round(missed)} pair" in of_pairs(found).recall[1]


def test_advice():
    plan = la.find_pairs(documents(8), threshold=0.5, shingles="word:2", method="lsh").plan
    ids = pa.array(np.arange(20))
    chain = Pairs(np.arange(19), np.arange(1, 20), np.full(19, 0.51), ids, plan=plan, stats={"items": 20, "empty": 5})
    audit, close, empty, loose = of_pairs(chain).advice
    assert "--audit 20 " in audit
    assert close.startswith("100% of the pairs are within 0.05 of the threshold")
    assert empty.startswith("There is nothing in 5 of them")
    assert loose.startswith("In the largest cluster, of 20, only 10% of the pairs are similar")
    none = Pairs(np.zeros(0, int), np.zeros(0, int), np.zeros(0), ids, plan=plan)
    assert any(line.startswith("Nothing was found. A lower threshold") for line in of_pairs(none).advice)
    crowded = Clusters(np.arange(20), ids, plan=plan, stats={"crowded": 7})
    assert any(line.startswith("7 were among very many") for line in of_clusters(crowded).recall)


def test_exact_methods_say_so():
    found = la.find_pairs(documents(20), threshold=0.5, shingles="word:2", recall=1.0)
    assert of_pairs(found).recall[0] == "The method is exact: every pair within the threshold is found."
    assert of_pairs(found).advice == []


@pytest.mark.parametrize(
    ("items", "options"),
    [
        (np.random.default_rng(1).normal(size=(300, 8)), {"measure": "cosine", "threshold": 15}),
        (np.random.default_rng(1).normal(size=(300, 8)), {"measure": "cosine_similarity", "threshold": 0.9}),
        (np.random.default_rng(1).normal(size=(300, 4)), {"measure": "euclidean", "threshold": 0.5}),
        (
            Bits.of(np.random.default_rng(1).integers(0, 2, (300, 24)).astype(bool)),
            {"measure": "hamming", "threshold": 3},
        ),
    ],
)
def test_curves_of_vectors(items, options):
    """What the plan says of a pair at the threshold is what its curve says there, and closer ones are surer."""
    plan = la.find_pairs(items, method="lsh", **options).plan
    at = float(plan.threshold)
    assert plan.has_curve
    assert plan.probability(np.array([at]))[0] == pytest.approx(plan.recall, abs=1e-9)
    closer = np.linspace(at, 1.0 if plan.kind == "similarity" else 0.0, 20)
    assert (np.diff(plan.probability(closer)) >= -1e-12).all()
    assert plan.probability(closer)[-1] == pytest.approx(1)


# --- pages ---


def test_a_page_of_every_result(tmp_path):
    texts = documents(60)
    found = la.find_pairs(texts, threshold=0.5, shingles="word:2")
    found.report(tmp_path / "pairs.html")
    page = read(tmp_path / "pairs.html")
    assert f"{len(found)} pairs of 60 documents" in page.text
    assert sorted(page.values) == pytest.approx(sorted(found.values.tolist()), abs=1e-4)
    assert page.tags["mark"] == 2 * len(found)  # of each pair one passage, on both sides
    la.find_clusters(texts, threshold=0.5, shingles="word:2").report(tmp_path / "clusters.html", "My clusters")
    page = read(tmp_path / "clusters.html")
    assert "My clusters 30 clusters among 60 documents." in page.text
    assert page.values == []
    kept = la.dedup(texts, threshold=0.5, shingles="word:2")
    kept.report(tmp_path / "dedup.html")
    page = read(tmp_path / "dedup.html")
    assert "30 of 60 documents kept, 30 dropped" in page.text
    assert len(page.values) == 30
    assert of_dedup(kept).label.tolist() == kept.centre.tolist()
    la.find_matches(texts[:30], texts[30:] + texts[:2], threshold=0.5, shingles="word:2").report(tmp_path / "m.html")
    page = read(tmp_path / "m.html")
    assert "4 pairs of 30 and 32 documents" in page.text
    assert page.tags["mark"] == 8


def test_pages_of_other_items(tmp_path):
    """Edit distance, sets, bags, vectors, sparse ones, codes: what stands side by side is what was given."""
    from scipy.sparse import csr_array

    cases = {
        "edit": (["kitten", "sitten", "dog"], {"measure": "edit", "threshold": 2}, "itten"),
        "sets": ([{"milk", "tea", "oil"}, {"milk", "tea"}], {"threshold": 0.5}, "left only: 1 oil"),
        "bags": ([Counter(a=3), Counter(a=2)], {"measure": "bag", "threshold": 0.5}, "left only: 1 a"),
        "vectors": (np.array([[3.0, 4.0], [3.0, 5.0]]), {"measure": "cosine", "threshold": 20}, "components"),
        "sparse": (csr_array(np.array([[3.0, 0], [3.0, 1]])), {"measure": "cosine", "threshold": 20}, "components"),
        "codes": (Bits.of(["0110", "0111"]), {"measure": "hamming", "threshold": 1}, "1 of 4 bits differ"),
    }
    for name, (items, options, expected) in cases.items():
        found = la.find_pairs(items, **options)
        assert len(found) == 1
        found.report(tmp_path / f"{name}.html")
        page = read(tmp_path / f"{name}.html")
        assert expected in page.text, name
        assert page.values == pytest.approx([float(found.values[0])], abs=1e-4)


def test_baskets_show_what_was_bought(tmp_path):
    rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    found = la.baskets.find_similar(rows, threshold=0.5)
    assert (found.explain(0).both, found.explain(0).right_only) == (["Fargo", "Vertigo"], ["Alien"])
    found.report(tmp_path / "b.html")
    assert "in both: 2 Fargo Vertigo left only: 0 right only: 1 Alien" in read(tmp_path / "b.html").text


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


def test_records_field_by_field(tmp_path):
    found = la.entities.resolve(pa.Table.from_pylist(PEOPLE), fields=["name", "city", "born"])
    found.report(tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert f"{len(found)} matches of 6 records" in page.text
    assert len(page.values) == len(found.every)
    assert "ada lovelace ada lovlace" in page.text
    assert of_resolution(found).label.tolist() == found.clusters().label.tolist()
    assert page.tags["table"] >= len(found.every)


def test_fingerprints_are_drawn(tmp_path):
    rng = np.random.default_rng(1)
    finger = np.column_stack((rng.uniform(0, 300, (40, 2)), rng.uniform(0, 360, 40)))
    other = np.column_stack((rng.uniform(0, 300, (40, 2)), rng.uniform(0, 360, 40)))
    prints = la.fingerprints.Prints.of([finger, finger[:38] + np.array([5, 3, 0]), other], ids=["one", "two", "three"])
    database = la.fingerprints.Database(la.fingerprints.Prints.of([])).enroll(prints)
    database.pairs().report(tmp_path / "p.html")
    page = read(tmp_path / "p.html")
    assert "1 pair of 3 prints" in page.text
    assert "Asked for: pairs whose similarity is at least 0.35." in page.text
    assert "40 and 38 minutiae" in page.text
    assert page.tags["circle"] == 78
    database.identify(prints.take(np.array([1])), top=1).report(tmp_path / "i.html")
    assert "1 pair of 1 and 3 prints" in read(tmp_path / "i.html").text
    found = beside(finger, other, None)
    assert all(0 <= place <= 100 for mark in [*found.left, *found.right] for place in mark)
    up, down = beside(np.array([[0, 0, 90.0], [0, 10, 0]]), np.zeros((0, 3)), None).left
    assert up.y > down.y  # y goes upwards
    assert up.to_y < up.y  # and so does a right angle
    with pytest.raises(UsageError, match="a report draws them"):
        database.pairs().explain(0)


def test_large_results_are_sampled(tmp_path):
    """A hundred thousand pairs of long documents full of markup: under 5 MB, and the page says what it shows."""
    rng = np.random.default_rng(1)
    text = " ".join(f"<b>{word}&" for word in rng.choice(WORDS, 4000))

    class Long:
        shingles = Shingles.parse("word:3")

        def look(self, rows):
            return [f"{row} {text[row % 100 :]}" for row in rows.tolist()]

        def explain(self, left, right):
            raise NotImplementedError

    n = 100_000
    ids = pa.array([f"document number {at} & its <name>" for at in range(n + 1)])
    values = rng.uniform(0.8, 1, n)
    Pairs(np.arange(n), np.arange(1, n + 1), values, ids, holder=Long()).report(tmp_path / "large.html")
    size = (tmp_path / "large.html").stat().st_size
    assert size < 5_000_000
    page = read(tmp_path / "large.html")
    assert len(page.values) == NEAR + SPREAD
    assert "200 of 100,000 pairs: the 120 nearest to the least alike of them" in page.text


def test_pairs_that_would_make_the_page_too_large(monkeypatch):
    monkeypatch.setattr("lookalike.report.page.ROOM", 20_000)
    assert ROOM > 1_000_000
    found = la.find_pairs(documents(60), threshold=0.5, shingles="word:2")
    page = Reader(render(of_pairs(found)))
    assert len(page.values) == len(found)
    left_out = page.text.count("Left out, to keep this page small.")
    assert 0 < left_out < len(found)
    assert f"{left_out} of them are too long to be shown side by side here." in page.text


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    found = la.find_pairs(documents(8), threshold=0.5, shingles="word:2")
    with pytest.raises(UsageError, match=r"^a report must end in \.html or \.htm; got 'report\.pdf'\.$"):
        found.report("report.pdf")
    with pytest.raises(DataError, match="there is no folder"):
        found.report(tmp_path / "none" / "r.html")
    monkey = Finding("title", [pa.array(["a", "b"])], values=Values(np.array([0]), np.array([1]), np.ones(1), "x"),
                     beside=lambda numbers: 1 / 0)  # fmt: skip
    from lookalike.report import write_report

    with pytest.raises(ZeroDivisionError):
        write_report(monkey, tmp_path / "r.html")
    assert left_in(tmp_path) == set()


def test_nothing_found(tmp_path):
    la.find_pairs(["one thing", "quite another"]).report(tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert "0 pairs of 2 documents" in page.text
    assert "Nothing was found." in page.text
    la.find_pairs([]).report(tmp_path / "r.html")
    assert "0 pairs of 0 documents" in read(tmp_path / "r.html").text


# --- the command line ---


@pytest.fixture
def corpus(inputs):
    table = pa.table({"id": [f"d{at}" for at in range(40)], "text": documents(40)})
    pq.write_table(table, inputs / "corpus.parquet")
    return inputs / "corpus.parquet"


COMMON = ("-t", "0.5", "-s", "word:2")


def test_pages_of_documents_and_of_their_files(run, corpus, out):
    """The page that a command writes and the one made of its file later show the same pairs."""
    cases = [("pairs", []), ("clusters", []), ("dedup", ["--removed", out / "removed.parquet"])]
    for command, more in cases:
        made = out / f"{command}.parquet"
        first, later = out / f"{command}.html", out / f"{command}-later.html"
        done = run(command, corpus, *COMMON, "-o", made, "--report", first, "--audit", 20, *more)
        assert done.code == 0, done.err
        result = more[-1] if more else made
        done = run("report", result, "--items", corpus, "-o", later)
        assert (done.code, done.err) == (0, f"wrote {later}, a page to be opened in a browser\n")
        one, two = read(first), read(later)
        assert one.values == two.values
        assert one.tags["mark"] == two.tags["mark"]
        assert "Measured: " in two.text
        asked = re.search(r"Asked for: .*? words", two.text)[0]
        assert asked in one.text


def test_a_file_that_does_not_tell(run, corpus, out):
    assert run("pairs", corpus, *COMMON, "-o", out / "p.csv", "-q").code == 0
    assert run("report", out / "p.csv", "-o", out / "bare.html", "-q").code == 0
    page = read(out / "bare.html")
    assert "The items are not at hand: lookalike report takes them with --items." in page.text
    assert page.tags["mark"] == 0
    done = run("report", out / "p.csv", "--items", corpus, "-s", "word:2", "-o", out / "full.html", "--title", "Mine")
    assert done.code == 0
    full = read(out / "full.html")
    assert full.values == page.values
    assert full.tags["mark"] == 2 * len(full.values)
    assert "Mine" in full.text


def test_pages_of_a_match(run, corpus, inputs, out):
    texts = documents(40)
    (inputs / "new.jsonl").write_text(
        "".join(json.dumps({"id": f"n{i}", "text": t}) + "\n" for i, t in enumerate(texts[:6]))
    )
    made = out / "m.parquet"
    assert run("match", inputs / "new.jsonl", corpus, *COMMON, "-o", made, "--report", out / "a.html", "-q").code == 0
    both = ("--items", inputs / "new.jsonl", "--items", corpus)
    assert run("report", made, *both, "-o", out / "b.html", "-q").code == 0
    one, two = read(out / "a.html"), read(out / "b.html")
    assert len(one.values) == 12
    assert one.values == two.values
    assert one.tags["mark"] == two.tags["mark"]


def test_pages_of_sets_vectors_and_baskets(run, inputs, out):
    (inputs / "sets.txt").write_text("milk tea oil\nmilk tea\nsalt rice\n")
    (inputs / "rows.csv").write_text("basket,item,n\na,milk,3\na,tea,1\nb,milk,2\nb,tea,1\nc,oil,1\n")
    rng = np.random.default_rng(1)
    base = rng.normal(size=(50, 8))
    np.save(inputs / "v.npy", np.concatenate((base, base[:5] + 0.01)))
    np.save(inputs / "codes.npy", np.array([3, 7, 200], np.uint64))
    rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    (inputs / "bought.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in rows))
    columns = ["--rows", "basket,item,n"]
    cases = [
        (["sets", inputs / "sets.txt", "-t", "0.5"], [], "left only: 1 oil"),
        (["sets", inputs / "rows.csv", *columns, "-m", "bag", "-t", "0.5"], columns, "left only: 1 milk"),
        (["vectors", inputs / "v.npy", "-t", "5"], [], "8 components"),
        (["vectors", inputs / "codes.npy", "-m", "hamming", "-t", "2"], [], "1 of 64 bits differ"),
        (["baskets", inputs / "bought.csv", "-t", "0.5"], [], "right only: 1 Alien"),
    ]
    for at, (command, more, expected) in enumerate(cases):
        made = out / f"{at}.parquet"
        done = run(*command, "-o", made, "--report", out / f"{at}.html")
        assert done.code == 0, done.err
        done = run("report", made, "--items", command[1], *more, "-o", out / f"{at}-later.html")
        assert done.code == 0, done.err
        one, two = read(out / f"{at}.html"), read(out / f"{at}-later.html")
        assert one.values == two.values
        assert expected in one.text, command
        assert expected in two.text, command


def test_pages_of_records(run, inputs, out):
    for name, part in (("a", PEOPLE[::2]), ("b", PEOPLE[1::2])):
        with (inputs / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "name", "city", "born"])
            writer.writeheader()
            writer.writerows(part)
    fields = ("-f", "name", "-f", "city", "-f", "born")
    made = out / "m.parquet"
    done = run("resolve", inputs / "a.csv", inputs / "b.csv", *fields, "--all", "-o", made, "--report", out / "a.html")
    assert done.code == 0, done.err
    both = ("--items", inputs / "a.csv", "--items", inputs / "b.csv")
    done = run("report", made, *both, "-o", out / "b.html")
    assert done.code == 0, done.err
    one, two = read(out / "a.html"), read(out / "b.html")
    assert one.values == two.values
    assert "Ada Lovelace Ada Lovlace" in two.text
    assert "cut-off" in two.text


def test_errors_of_reports(run, corpus, inputs, out):
    assert complaint(run("pairs", corpus, "--report", "r.pdf")).startswith("a report must end in .html or .htm")
    assert "there is no folder" in complaint(run("pairs", corpus, "--report", out / "no" / "r.html"))
    (inputs / "odd.csv").write_text("a,b\n1,2\n")
    said = complaint(run("report", inputs / "odd.csv", "-o", out / "r.html"))
    assert said.startswith("odd.csv: has the columns a, b; a report is of pairs (left, right, similarity)")
    (inputs / "text.csv").write_text("left,right,similarity\na,b,much\n")
    said = complaint(run("report", inputs / "text.csv", "-o", out / "r.html"))
    assert said == "text.csv: the column 'similarity' must hold a number in each row."
    (inputs / "strange.csv").write_text("left,right,similarity\nq,r,0.9\n")
    said = complaint(run("report", inputs / "strange.csv", "--items", corpus, "-o", out / "r.html"))
    assert said == "none of the ids of the result, such as 'q', is in the items; --id names their column."
    said = complaint(run("report", inputs / "strange.csv", *["--items", corpus] * 3, "-o", out / "r.html"))
    assert said == "--items is given once, or twice for the two sides of a match."
    said = complaint(run("dedup", corpus, "--against", out / "i", "--report", out / "r.html", "-o", out / "x.jsonl"))
    assert said.startswith("--report is not for --against")
    said = complaint(run("pairs", corpus, "--engine", "spark", "--report", out / "r.html", "-o", out / "p.parquet"))
    assert said == "--report is for --engine local; lookalike report shows what Spark has written."
    assert left_in(out) == set()


# --- shingles read back ---


@given(
    st.sampled_from(["char", "word"]),
    st.integers(1, 30),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["collapse", "keep", "remove"]),
    st.sampled_from(["nfc", "nfkc", "none"]),
    st.sampled_from([32, 64]),
)
def test_shingles_are_read_back(unit, k, bag, lowercase, space, form, bits):
    one = Shingles(k, unit, bag=bag, lowercase=lowercase, space=space, form=form, bits=bits)
    assert Shingles.told(str(one)) == one


def test_stop_words_are_read_back():
    for options in ({}, {"stop_words": "de"}, {"stop_words": "de,fr", "distance": 2, "skip_stops": True}):
        one = Shingles.parse("stop:3", **options)
        assert Shingles.told(str(one)) == one
    assert Shingles.told(str(Shingles.parse("stop:3", stop_words=["a", "the"]))) is None


# --- what was told wrongly once ---


def test_the_nearest_are_not_told_as_all_within_a_threshold(run, inputs, out):
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(30, 4)), rng.normal(size=(300, 4))
    found = la.find_matches(one, other, k=3, measure="cosine")
    told = of_pairs(found)
    assert told.plan[0] == "Asked for: the 3 most alike of each by angle in degrees, by vectors of 4 dimensions."
    assert told.values.cut is None
    assert told.recall[0] == "The method is exact: the most alike of each are found."
    bounded = of_pairs(la.find_matches(one, other, k=2, measure="cosine", threshold=60))
    assert bounded.plan[0].startswith("Asked for: the 2 most alike of each whose angle in degrees is at most 60")
    assert bounded.values.cut == 60
    banded = of_pairs(la.find_matches(one, other, k=2, measure="cosine", threshold=60, method="lsh"))
    assert banded.values.probability is None
    assert not any("going by the curve" in line for line in banded.recall)
    np.save(inputs / "a.npy", one)
    np.save(inputs / "b.npy", other)
    made = out / "near.parquet"
    assert run("vectors", inputs / "a.npy", "--against", inputs / "b.npy", "--top", 3, "-o", made, "-q").code == 0
    assert run("report", made, "--items", inputs / "a.npy", "--items", inputs / "b.npy", "-o", out / "r.html").code == 0
    page = read(out / "r.html")
    assert "Asked for: the 3 most alike of each by angle in degrees" in page.text
    assert "90 pairs among 30 and 300 vectors" in page.text
    texts = of_pairs(la.find_matches(documents(4), documents(8), k=1, threshold=0.5, shingles="word:2"))
    assert texts.plan[0].startswith("Asked for: the 1 most alike of each whose Jaccard similarity is at least 0.5")


def test_a_file_of_a_match_is_not_of_one_collection(run, inputs, out):
    """Ids that are the same on both sides are of different items."""
    for name in ("left", "right"):
        pq.write_table(pa.table({"id": range(20), "text": documents(20)}), inputs / f"{name}.parquet")
    both = [inputs / "left.parquet", inputs / "right.parquet"]
    assert run("match", *both, *COMMON, "-o", out / "m.parquet", "-q").code == 0
    assert run("match", *both, *COMMON, "-o", out / "m.csv", "-q").code == 0
    for made in ("m.parquet", "m.csv"):
        assert run("report", out / made, "-o", out / "r.html", "-q").code == 0
        page = read(out / "r.html")
        assert len(page.values) == 40
        assert "Clusters" not in page.text
    assert "40 pairs among 20 and 20 documents" in read_after(run, out, out / "m.parquet").text
    said = complaint(run("report", out / "m.parquet", "--items", both[0], "-o", out / "r.html"))
    assert said == "m.parquet: has pairs of two collections; name both, each with --items."


def read_after(run, out, made, *options):
    """The page of a result file."""
    done = run("report", made, *options, "-o", out / "page.html", "-q")
    assert done.code == 0, done.err
    return read(out / "page.html")


def test_a_file_of_dropped_items_is_of_stars(run, inputs, out):
    words = " ".join(f"word{at}" for at in range(40))
    texts = [f"{words} {at}" for at in range(15)]
    pq.write_table(pa.table({"id": range(15), "text": texts}), inputs / "many.parquet")
    options = ("-t", "0.7", "-s", "word:2", "-q")
    run("dedup", inputs / "many.parquet", *options, "-o", out / "c.parquet", "--removed", out / "r.parquet")
    page = read_after(run, out, out / "r.parquet", "--items", inputs / "many.parquet")
    assert "14 dropped, each similar to one that is kept" in page.text
    assert "A group is a kept document with all that are dropped for it." in page.text
    assert "15 documents, kept: 0" in page.text
    assert "chain" not in page.text
    assert "of its pairs are similar" not in page.text


def test_what_is_kept_leads_its_group(tmp_path):
    texts = [f"one two three four five six seven eight nine {'ten ' * at}" for at in range(17)]
    la.dedup(texts, threshold=0.3, shingles="word:2", keep="longest").report(tmp_path / "r.html")
    assert "documents, kept: 16 16 one two" in read(tmp_path / "r.html").text


def test_how_dense_clusters_are():
    """Of three sets two pairs are similar; by containment some of them both ways."""
    found = la.find_pairs([{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 6, 7, 8, 9}], measure="containment", threshold=0.6)
    assert [round(group.share, 3) for group in largest_groups(of_pairs(found))] == [0.667]
    people = [{"name": name} for name in ("Ada Lovelace", "Ada M Lovelace", "Ada Mary Lovelace", "Alan Turing")]
    matches = la.entities.resolve(pa.Table.from_pylist(people), fields=["name"])
    for group in largest_groups(of_resolution(matches)):
        inside = sum(set(pair) <= set(group.members.tolist()) for pair in zip(matches.left, matches.right, strict=True))
        assert group.share == pytest.approx(2 * inside / (group.size * (group.size - 1)))


def test_sets_as_arrays_and_lists_with_repeats(tmp_path):
    found = la.find_pairs([np.array([1, 2]), np.array([1, 2, 3])], threshold=0.5)
    found.report(tmp_path / "r.html")
    assert "in both: 2 1 2 left only: 0 right only: 1 3" in read(tmp_path / "r.html").text
    found = la.find_pairs([[1, 1, 1, 2], [1, 2, 3]], threshold=0.5)
    assert found.explain(0).similarity == found.similarity[0]


def test_a_table_without_records(tmp_path):
    table = pa.Table.from_pylist(PEOPLE)
    la.entities.resolve(table.slice(0, 0), table, fields=["name", "city"]).report(tmp_path / "r.html")
    assert "0 matches of 0 and 6 records" in read(tmp_path / "r.html").text


def test_dedup_by_containment_has_the_dropped_one_on_the_left():
    kept = la.dedup([set(range(10)), {1, 2, 3}], measure="containment", threshold=0.9)
    told = of_dedup(kept)
    assert (told.values.left.tolist(), told.values.right.tolist()) == ([1], [0])


def test_all_records_that_were_scored_are_not_matches(run, inputs, out):
    (inputs / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PEOPLE))
    made = out / "m.parquet"
    done = run("resolve", inputs / "p.jsonl", "-f", "name", "-f", "city", "--all", "-o", made)
    assert "how many are true cannot be told from so few fields" in done.err
    settings = pq.read_schema(made).metadata
    table = pq.read_table(made)
    matches = sum(value >= float(settings[b"lookalike.cut_off"]) for value in table["probability"].to_pylist())
    assert matches < len(table)
    page = read_after(run, out, made)
    assert f"{matches} match" in page.text
    assert "no more than a guess" in page.text


def test_clusters_of_other_names(run, inputs, out):
    (inputs / "c.csv").write_text("cluster,id\nA,1\nA,2\nB,3\nB,4\nC,5\n")
    assert "2 clusters, 4 items in all; the largest has 2." in read_after(run, out, inputs / "c.csv").text


def test_a_list_of_another_program_is_not_vouched_for(run, inputs, out):
    (inputs / "p.csv").write_text("left,right,similarity\na,b,0.99\n")
    page = read_after(run, out, inputs / "p.csv")
    assert "verified" not in page.text
    assert "The file does not tell how it was made" in page.text


def test_odd_files(run, inputs, out):
    (inputs / "none.jsonl").write_text("")
    assert "0 pairs" in read_after(run, out, inputs / "none.jsonl").text
    (inputs / "whole.csv").write_text("left,right,similarity\na,b,5\nc,d,7\n")
    assert "5 1 7 1" in read_after(run, out, inputs / "whole.csv").text  # a bar a number
    (inputs / "far.csv").write_text("left,right,distance\na,b,inf\n")
    said = complaint(run("report", inputs / "far.csv", "-o", out / "r.html"))
    assert said == "far.csv: the column 'distance' must hold a number in each row."
    pq.write_table(pa.table({"left": [[1]], "right": [[2]], "similarity": [1.0]}), inputs / "lists.parquet")
    said = complaint(run("report", inputs / "lists.parquet", "-o", out / "r.html"))
    assert said == "lists.parquet: the columns left, right must hold an id in each row."
    strange = {"measure": "jaccard", "threshold": "x", "items": "word:5 strange=3", "seed": "1", "method": "lsh axb"}
    strange |= {"audit": "1 2", "read": "many"}
    told = {f"lookalike.{name}": value for name, value in strange.items()}
    table = pa.table({"left": ["d0"], "right": ["d1"], "similarity": [0.9]}).replace_schema_metadata(told)
    pq.write_table(table, inputs / "strange.parquet")
    done = run("report", inputs / "strange.parquet", "-o", out / "r.html", "-q")
    assert done.code == 0, done.err


def test_bars_of_any_scale():
    tiny = histogram(values(np.random.default_rng(1).uniform(0, 3e-14, 200), rising=False, cut=3e-14))
    assert sum(bar.pairs for bar in tiny.bars) == 200
    below = histogram(values(np.array([-0.1234567890123456, 0.5])))
    assert sum(bar.pairs for bar in below.bars) == 2
    assert [name for _, name in histogram(values([0.5, 0.5, 0.9])).heights] == ["1", "2"]
    assert histogram(values(np.array([0, 1, 3]), rising=False, cut=3.0)).ticks == [0, 1, 2, 3, 4]


def test_ratings_by_sums_are_bounded_by_their_own_threshold():
    rows = [(user, film, stars) for user in "ab" for film, stars in (("Fargo", 5), ("Alien", 3))]
    found = la.baskets.find_similar(rows, ratings="stars", union="sum", threshold=0.4)
    told = of_pairs(found)
    assert (told.values.cut, told.values.probability) == (0.4, None)
    assert told.plan == ["Asked for: pairs whose similarity is at least 0.4."]


def test_large_sets_and_vectors_are_shown_in_part():
    """A few of very many, without putting all of them in order or writing all of them out."""
    one, other = set(range(400_000)), set(range(5, 400_005))
    assert len(beside(one, other, None).both) == 60
    assert brief(one).startswith("0, 1, 2")
    wide = np.zeros(300_000)
    assert len(beside(wide, wide + 1, None).left.split()) <= 256


def test_numbers_of_files_and_of_any_size(run, inputs, out):
    """Shares that are all 1 are no whole numbers; very small distances are told apart."""
    pq.write_table(pa.table({"left": ["a"], "right": ["b"], "similarity": [1.0]}), inputs / "one.parquet")
    (inputs / "one.csv").write_text("left,right,similarity\na,b,1\n")
    for name in ("one.parquet", "one.csv"):
        assert "0.975 to 1 1" in read_after(run, out, inputs / name).text
    (inputs / "near.csv").write_text("left,right,distance\na,b,3.5e-14\nc,d,7e-15\n")
    page = read_after(run, out, inputs / "near.csv")
    assert page.values == [3.5e-14, 7e-15]
    assert "3.5e-14 a" in page.text
