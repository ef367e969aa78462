"""Check the page of every result: what it says, and how large it is."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.entities.describe import of_resolution
from lookalike.items.bits import Bits
from lookalike.items.shingles import Shingles
from lookalike.report.beside import beside
from lookalike.report.choosing import NEAR, SPREAD
from lookalike.report.describe import of_dedup, of_pairs
from lookalike.report.finding import Finding, Values
from lookalike.report.page import ROOM, render
from lookalike.results import Pairs
from tests.commands import left_in
from tests.reports import PEOPLE, WORDS, Reader, documents, read

# --- pages ---


def test_a_page_of_every_result(tmp_path):
    texts = documents(60)
    found = la.find_pairs(texts, threshold=0.5, shingles="word:2")
    found.report(tmp_path / "pairs.html")
    page = read(tmp_path / "pairs.html")
    assert f"{len(found)} pairs of 60 documents" in page.text
    assert sorted(page.values) == pytest.approx(sorted(found.values.tolist()), abs=1e-4)
    assert page.tags["mark"] == 2 * len(found)  # one passage per pair, on both sides
    la.find_clusters(texts, threshold=0.5, shingles="word:2").report(tmp_path / "clusters.html", "My clusters")
    page = read(tmp_path / "clusters.html")
    assert "My clusters 30 clusters among 60 documents." in page.text
    assert page.values == []
    kept = la.dedup(texts, threshold=0.5, shingles="word:2")
    kept.report(tmp_path / "dedup.html")
    page = read(tmp_path / "dedup.html")
    assert "30 of 60 documents kept, 30 removed" in page.text
    assert len(page.values) == 30
    assert of_dedup(kept).label.tolist() == kept.centre.tolist()
    la.find_matches(texts[:30], texts[30:] + texts[:2], threshold=0.5, shingles="word:2").report(tmp_path / "m.html")
    page = read(tmp_path / "m.html")
    assert "4 pairs of 30 and 32 documents" in page.text
    assert page.tags["mark"] == 8


def test_pages_of_other_items(tmp_path):
    """Pages show texts by edit distance, sets, bags, vectors, sparse vectors and codes."""
    from scipy.sparse import csr_array

    cases = {
        "edit": (["kitten", "sitten", "dog"], {"measure": "edit", "threshold": 2}, "itten"),
        "sets": ([{"milk", "tea", "oil"}, {"milk", "tea"}], {"threshold": 0.5}, "left only: 1 oil"),
        "bags": ([Counter(a=3), Counter(a=2)], {"measure": "bag", "threshold": 0.5}, "left only: 1 a"),
        "vectors": (np.array([[3.0, 4.0], [3.0, 5.0]]), {"measure": "angle", "threshold": 20}, "components"),
        "sparse": (csr_array(np.array([[3.0, 0], [3.0, 1]])), {"measure": "angle", "threshold": 20}, "components"),
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


def test_records_field_by_field(tmp_path):
    found = la.entities.resolve(pa.Table.from_pylist(PEOPLE), fields=["name", "city", "born"])
    found.report(tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert f"{len(found)} matches of 6 records" in page.text
    assert len(page.values) == len(found.every)
    assert "Ada Lovelace Ada Lovlace" in page.text
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
    database.identify(prints.take(np.array([1])), k=1).report(tmp_path / "i.html")
    assert "1 pair of 1 and 3 prints" in read(tmp_path / "i.html").text
    found = beside(finger, other, None)
    assert all(0 <= place <= 100 for mark in [*found.left, *found.right] for place in mark)
    up, down = beside(np.array([[0, 0, 90.0], [0, 10, 0]]), np.zeros((0, 3)), None).left
    assert up.y > down.y  # y goes upwards
    assert up.to_y < up.y  # an angle of 90 degrees points upwards too
    why = database.pairs().explain(0)
    assert 30 <= len(why) <= 38
    assert all(np.hypot(*(np.array(met["left"][:2]) - met["right"][:2])) < 12 for met in why)


@pytest.mark.slow
def test_large_results_are_sampled(tmp_path):
    """A page of 100,000 pairs of long documents stays under 5 MB, and says what it shows."""
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
    assert "200 of 100,000 pairs: the 120 nearest to the least similar pair" in page.text


def test_pairs_that_would_make_the_page_too_large(monkeypatch):
    monkeypatch.setattr("lookalike.report.page.ROOM", 20_000)
    assert ROOM > 1_000_000
    found = la.find_pairs(documents(60), threshold=0.5, shingles="word:2")
    page = Reader(render(of_pairs(found)))
    assert len(page.values) == len(found)
    left_out = page.text.count("Left out, to keep this page small.")
    assert 0 < left_out < len(found)
    assert f"{left_out} of them are too long to show side by side here." in page.text


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


# --- regressions ---


def test_what_is_kept_leads_its_group(tmp_path):
    texts = [f"one two three four five six seven eight nine {'ten ' * at}" for at in range(17)]
    la.dedup(texts, threshold=0.3, shingles="word:2", keep="longest").report(tmp_path / "r.html")
    assert "documents, kept: 16 16 one two" in read(tmp_path / "r.html").text


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
