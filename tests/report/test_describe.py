"""Check what is said of a result."""

import numpy as np
import pyarrow as pa

import lookalike as la
from lookalike.report.describe import brief, of_clusters, of_dedup, of_pairs
from lookalike.results import Clusters, Pairs
from tests.reports import documents, read

# --- side by side ---


def test_in_brief():
    assert brief(np.array([True, False])) == "10"
    assert brief(None) == ""
    assert len(brief("word " * 1000)) <= 200


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


def test_dedup_by_containment_has_the_dropped_one_on_the_left():
    kept = la.dedup([set(range(10)), {1, 2, 3}], measure="containment", threshold=0.9)
    told = of_dedup(kept)
    assert (told.values.left.tolist(), told.values.right.tolist()) == ([1], [0])


def test_ratings_by_sums_are_bounded_by_their_own_threshold():
    rows = [(user, film, stars) for user in "ab" for film, stars in (("Fargo", 5), ("Alien", 3))]
    found = la.baskets.find_similar(rows, ratings="stars", union="sum", threshold=0.4)
    told = of_pairs(found)
    assert (told.values.cut, told.values.probability) == (0.4, None)
    assert told.plan == ["Asked for: pairs whose similarity is at least 0.4."]
