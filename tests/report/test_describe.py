"""Check the sentences that describe a result."""

import numpy as np
import pyarrow as pa

import lookalike as la
from lookalike.report.describe import brief, of_clusters, of_dedup, of_pairs
from lookalike.results import Clusters, Pairs
from tests.reports import documents, read

# --- items in a few words ---


def test_in_brief():
    assert brief(np.array([True, False])) == "10"
    assert brief(None) == ""
    assert len(brief("word " * 1000)) <= 200


# --- results in words ---


def test_pairs_in_words():
    found = la.find_pairs(documents(40), threshold=0.5, shingles="word:2", method="lsh", audit=40)
    finding = of_pairs(found)
    assert finding.title == f"{len(found)} pairs of 40 documents"
    asked, done = finding.plan
    assert asked == (
        "Asked for: pairs whose Jaccard similarity is at least 0.5, comparing shingles of 2 words, to be found with "
        "probability 0.99 or more."
    )
    assert done.startswith("Method: ")
    assert f"with probability {found.plan.recall:.4f}" in finding.recall[0]
    assert finding.recall[1].startswith("According to the curve, ")
    assert finding.recall[2].startswith("Measured: ")
    assert finding.advice == []
    assert finding.facts["documents read"] == "40"


def test_expected_misses_are_those_of_the_curve():
    """A pair found with probability p stands for 1 / p pairs."""
    plan = la.find_pairs(documents(8), threshold=0.5, shingles="word:2", method="lsh").plan
    some = np.array([0.5] * 1000)
    ids = pa.array(np.arange(2000))
    found = Pairs(np.arange(1000), np.arange(1000) + 1000, some, ids, plan=plan)
    chance = float(plan.probability(np.array([0.5]))[0])
    missed = 1000 / chance - 1000
    assert of_pairs(found).recall[1].startswith(f"According to the curve, {chance:.2%} of all similar pairs")
    assert 1 <= missed < 10
    assert f" found and about {round(missed)} pairs are missed." in of_pairs(found).recall[1]


def test_advice():
    plan = la.find_pairs(documents(8), threshold=0.5, shingles="word:2", method="lsh").plan
    ids = pa.array(np.arange(20))
    chain = Pairs(np.arange(19), np.arange(1, 20), np.full(19, 0.51), ids, plan=plan, stats={"items": 20, "empty": 5})
    audit, close, empty, loose = of_pairs(chain).advice
    assert audit == "To measure the recall, run it again with audit=20."
    assert close.startswith("100% of the pairs are within 0.05 of the threshold")
    assert empty.startswith("5 of them are empty")
    assert loose.startswith("In the largest cluster, of 20 items, only 10% of the pairs are similar")
    none = Pairs(np.zeros(0, int), np.zeros(0, int), np.zeros(0), ids, plan=plan)
    assert any(line.startswith("Nothing was found. A lower threshold") for line in of_pairs(none).advice)
    crowded = Clusters(np.arange(20), ids, plan=plan, stats={"crowded": 7})
    assert any(line.startswith("7 items had very many nearly similar") for line in of_clusters(crowded).recall)


def test_exact_methods_say_so():
    found = la.find_pairs(documents(20), threshold=0.5, shingles="word:2", recall=1.0)
    assert of_pairs(found).recall[0] == "The method is exact: it finds every pair within the threshold."
    assert of_pairs(found).advice == []


# --- regressions ---


def test_nearest_neighbours_are_not_described_as_all_pairs(run, inputs, out):
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(30, 4)), rng.normal(size=(300, 4))
    found = la.find_matches(one, other, k=3, measure="angle")
    finding = of_pairs(found)
    asked = "Asked for: the 3 nearest neighbours of each item by angle in degrees"
    assert finding.plan[0] == f"{asked}, comparing vectors of 4 dimensions."
    assert finding.values.cut is None
    assert finding.recall[0] == "The method is exact: it finds the nearest neighbours of each item."
    bounded = of_pairs(la.find_matches(one, other, k=2, measure="angle", threshold=60))
    wanted = "Asked for: the 2 nearest neighbours of each item whose angle in degrees is at most 60"
    assert bounded.plan[0].startswith(wanted)
    assert bounded.values.cut == 60
    banded = of_pairs(la.find_matches(one, other, k=2, measure="angle", threshold=60, method="lsh"))
    assert banded.values.probability is None
    assert not any("According to the curve" in line for line in banded.recall)
    np.save(inputs / "a.npy", one)
    np.save(inputs / "b.npy", other)
    made = out / "near.parquet"
    assert run("vectors", inputs / "a.npy", "--against", inputs / "b.npy", "--top", 3, "-o", made, "-q").code == 0
    assert run("report", made, "--items", inputs / "a.npy", "--items", inputs / "b.npy", "-o", out / "r.html").code == 0
    page = read(out / "r.html")
    assert asked in page.text
    assert "90 pairs among 30 and 300 vectors" in page.text
    texts = of_pairs(la.find_matches(documents(4), documents(8), k=1, threshold=0.5, shingles="word:2"))
    wanted = "Asked for: the 1 nearest neighbour of each item whose Jaccard similarity is at least 0.5"
    assert texts.plan[0].startswith(wanted)


def test_dedup_by_containment_has_the_removed_one_on_the_left():
    kept = la.dedup([set(range(10)), {1, 2, 3}], measure="containment", threshold=0.9)
    finding = of_dedup(kept)
    assert (finding.values.left.tolist(), finding.values.right.tolist()) == ([1], [0])


def test_ratings_by_sums_are_bounded_by_their_own_threshold():
    rows = [(user, film, stars) for user in "ab" for film, stars in (("Fargo", 5), ("Alien", 3))]
    found = la.baskets.find_similar(rows, ratings="stars", union="sum", threshold=0.4)
    finding = of_pairs(found)
    assert (finding.values.cut, finding.values.probability) == (0.4, None)
    assert finding.plan == ["Asked for: pairs whose similarity is at least 0.4."]
