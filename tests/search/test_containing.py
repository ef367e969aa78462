"""Check which sets are found to be contained in others: all by an exact search, as many as stated by draws."""

import random
from fractions import Fraction
from itertools import permutations
from math import ceil, comb, sqrt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import TooManyPairs, UsageError
from lookalike.core.run import Run
from lookalike.search import containing
from tests.samples import sentence

SINGLE = Run(1)
seeds = st.integers(0, 2**32).map(random.Random)
thresholds = st.sampled_from(["0.5", "2/3", "0.8", "0.9", "1"])


def sets_within(rng, count, most):
    """Draw sets, and supersets and parts of them, of very different sizes; some are equal, some empty."""
    pool = range(rng.choice([4, 20, 300]))
    sets = [set(rng.choices(pool, k=rng.choice([0, 1, 5, rng.randrange(most)]))) for _ in range(count)]
    for one in sets[: count // 2]:
        part = rng.sample(sorted(one), ceil(len(one) * rng.random()))
        sets.append({*part, *(rng.randrange(1000) for _ in range(rng.choice([0, 1, 50])))})
    return sets


def brute_force(left, right, threshold):
    shares = {(i, j): Fraction(len(a & b), len(a)) for i, a in enumerate(left) if a for j, b in enumerate(right)}
    return {pair: float(share) for pair, share in shares.items() if share >= Fraction(threshold)}


def found(pairs):
    return {(left, right): value for left, right, value in pairs}


# --- exact ---


@settings(max_examples=120)
@given(seeds, thresholds, st.sampled_from([1, 3]))
def test_the_exact_search_is_brute_force(rng, threshold, threads):
    sets = sets_within(rng, rng.randrange(1, 20), 120)
    options = {"measure": "containment", "threshold": threshold, "recall": 1.0, "threads": threads}
    expected = {(i, j): share for (i, j), share in brute_force(sets, sets, threshold).items() if i != j}
    assert found(la.find_pairs(sets, **options)) == expected
    split = rng.randrange(len(sets) + 1)
    matches = la.find_matches(sets[:split], sets[split:], **options)
    assert found(matches) == brute_force(sets[:split], sets[split:], threshold)
    assert la.find_clusters(sets, **options).label.tolist() == la.find_pairs(sets, **options).clusters().label.tolist()


@settings(max_examples=60)
@given(seeds, thresholds, st.sampled_from(["length", "suffix"]))
def test_the_filters_of_the_textbook_find_the_same(rng, threshold, stage):
    sets = sets_within(rng, 15, 60)
    options = {"measure": "containment", "threshold": threshold, "run": SINGLE}
    plain, filtered = la.find_pairs(sets, method="exact", **options), la.find_pairs(sets, filter=stage, **options)
    assert found(plain) == found(filtered)


@settings(max_examples=60)
@given(seeds, thresholds, st.sampled_from(["exact", "lsh"]))
def test_removed_sets_are_contained_in_longer_ones_that_are_kept(rng, threshold, method):
    sets = sets_within(rng, 15, 100)
    options = {"measure": "containment", "threshold": threshold, "method": method, "run": SINGLE}
    result = la.dedup(sets, keep="longest", **options)
    shares = brute_force(sets, sets, threshold)
    for item, centre in enumerate(result.centre.tolist()):
        if item != centre:
            assert result.keep[centre]
            assert len(sets[centre]) >= len(sets[item])
            assert result.similarity[item] == shares[item, centre]
    pairs = found(la.find_pairs(sets, **options))
    order = sorted(range(len(sets)), key=lambda i: (-len(sets[i]), i))
    kept = [i for i in order if result.keep[i]]
    assert not [(j, i) for at, i in enumerate(kept) for j in kept[at + 1 :] if (j, i) in pairs]


# --- draws ---


@settings(max_examples=60)
@given(seeds, thresholds)
def test_whatever_is_found_by_draws_is_contained(rng, threshold):
    sets = sets_within(rng, 15, 200)
    pairs = la.find_pairs(sets, measure="containment", threshold=threshold, method="lsh", run=SINGLE)
    assert pairs.plan.draws is not None
    expected = brute_force(sets, sets, threshold)
    assert found(pairs).items() <= expected.items()
    small = [pair for pair in expected if pair[0] != pair[1] and len(sets[pair[0]]) < pairs.plan.draws.size]
    assert found(pairs).keys() >= {*small}  # a small set is drawn as a whole


def planted(rng, threshold, count, most):
    """Return sets, and for each one a much larger set that has just enough of its elements."""
    inner, outer = [], []
    for _ in range(count):
        own = [rng.getrandbits(60) for _ in range(rng.choice([40, 100, 700]))]
        others = [rng.getrandbits(60) for _ in range(rng.choice([0, 500, most]))]
        inner.append(set(own))
        outer.append({*own[: ceil(Fraction(threshold) * len(own))], *others})
    return inner, outer


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("threshold", "recall"), [("0.5", 0.9), ("0.7", 0.99), ("0.9", 0.8), ("0.8", 0.95)])
def test_pairs_at_the_threshold_are_found_as_often_as_the_law_says(threshold, recall, seed):
    """The law is hypergeometric. Four and a half standard deviations are exceeded once in 150,000 trials."""
    inner, outer = planted(random.Random(seed), threshold, 600, 5000)
    options = {"measure": "containment", "threshold": threshold, "recall": recall, "method": "lsh", "seed": seed}
    pairs = la.find_matches(inner, outer, **options)
    size, need, stated = pairs.plan.draws
    assert {(left, right) for left, right, _ in pairs} <= {(i, i) for i in range(600)}
    chances = []
    for one in inner:
        shared = ceil(Fraction(threshold) * len(one))
        ways = sum(comb(shared, n) * comb(len(one) - shared, size - n) for n in range(need, size + 1))
        chances.append(1.0 if len(one) < size else float(Fraction(ways, comb(len(one), size))))
    assert min(chances) >= stated >= recall
    assert abs(len(pairs) - sum(chances)) <= 4.5 * sqrt(sum(p * (1 - p) for p in chances))


def test_another_seed_draws_other_elements():
    inner, outer = planted(random.Random(5), "0.5", 400, 500)
    options = {"measure": "containment", "threshold": 0.5, "recall": 0.8, "method": "lsh"}
    once, again, other = (la.find_matches(inner, outer, seed=seed, **options).left for seed in (1, 1, 2))
    assert once.tolist() == again.tolist() != other.tolist()


def test_the_result_does_not_depend_on_threads_or_posted_elements(monkeypatch):
    rng = random.Random(3)
    sets = [one for _ in range(6) for one in sets_within(rng, 30, 400)]
    options = {"measure": "containment", "threshold": 0.6, "method": "lsh", "recall": 0.7}
    once = la.find_pairs(sets, threads=1, **options)
    assert len(once) > 500
    assert once.to_arrow().equals(la.find_pairs(sets, threads=3, **options).to_arrow())
    monkeypatch.setattr(containing, "element_ranks", lambda *_: (np.ones(2, np.uint8), np.uint64(63)))
    assert once.to_arrow().equals(la.find_pairs(sets, **options).to_arrow())


# --- texts ---


@pytest.fixture
def corpus(tmp_path):
    """A file of long texts, parts of them, and parts with other words."""
    rng = random.Random(4)
    texts = [sentence(seed, rng.choice([30, 200, 3000])) for seed in range(120)]
    for text in texts[:80]:
        words = text.split()
        start = rng.randrange(len(words) // 2)
        words = words[start : start + rng.choice([12, 40, 1000])]
        texts.append(" ".join([*words, *sentence(rng.randrange(10**6), rng.choice([0, 3])).split()]))
    path = tmp_path / "corpus.parquet"
    pq.write_table(pa.table({"id": [f"d{at}" for at in range(len(texts))], "text": texts}), path, row_group_size=50)
    return path


OPTIONS = {"measure": "containment", "threshold": 0.6, "shingles": "word:3", "method": "lsh"}


def test_texts_in_files_give_the_same_result(corpus, tmp_path, monkeypatch):
    here = la.find_pairs(corpus, **OPTIONS)
    assert len(here) >= 80
    assert here.to_arrow().equals(la.find_pairs(corpus, memory="100MB", **OPTIONS).to_arrow())
    monkeypatch.setattr(containing, "DRAWN", 10**5)  # so that each index holds a few sets only
    again = la.find_pairs(corpus, memory="100MB", workdir=tmp_path / "w", **OPTIONS)
    assert here.to_arrow().equals(again.to_arrow())
    kept = la.dedup(corpus, keep="longest", memory="100MB", **OPTIONS)
    assert kept.to_arrow().equals(la.dedup(corpus, keep="longest", **OPTIONS).to_arrow())
    assert kept.stats["dropped"] >= 70
    clusters = la.find_clusters(corpus, memory="100MB", **OPTIONS)
    assert clusters.label.tolist() == here.clusters().label.tolist()


@pytest.fixture
def halves(corpus, tmp_path):
    """The long texts, and the parts of them, in files of their own; ids of one are numbers."""
    table = pq.read_table(corpus)
    parts = table.slice(100, 100).set_column(0, "id", pa.array(range(100)))
    pq.write_table(parts, tmp_path / "parts.parquet", row_group_size=30)
    pq.write_table(table.slice(0, 120), tmp_path / "whole.parquet", row_group_size=50)
    return tmp_path / "parts.parquet", tmp_path / "whole.parquet"


@pytest.mark.parametrize("way", [OPTIONS, OPTIONS | {"measure": "jaccard", "threshold": 0.1}, OPTIONS | {"k": 1}])
def test_two_collections_in_files_give_the_same_result(halves, tmp_path, monkeypatch, way):
    here = la.find_matches(*halves, **way, threads=1)
    assert len(here) >= 20
    for memory in (here.to_arrow(), la.find_matches(*halves, memory="100MB", **way, threads=2).to_arrow()):
        assert memory.equals(here.to_arrow())
    monkeypatch.setattr(containing, "DRAWN", 10**5)  # so that each index holds a few sets only
    again = la.find_matches(*halves, memory="100MB", workdir=tmp_path / "w", **way)
    assert again.to_arrow().equals(here.to_arrow())
    other = la.find_matches(*halves[::-1], memory="100MB", **way)
    assert other.to_arrow().equals(la.find_matches(*halves[::-1], **way).to_arrow())


def test_two_collections_in_files_can_be_explained_and_audited(halves):
    found = la.find_matches(*halves, memory="100MB", audit=20, **OPTIONS)
    assert found.audit.true > 0
    assert found.audit.recall > 0.9
    why, here = found.explain(0), la.find_matches(*halves, **OPTIONS).explain(0)
    assert set(why.both) == set(here.both)
    assert set(why.left_only) == set(here.left_only)


def test_an_interrupted_run_resumes(corpus, tmp_path, monkeypatch):
    here = la.find_pairs(corpus, **OPTIONS)
    work = {"memory": "100MB", "workdir": tmp_path / "w"}
    real, met = containing.look_up, []

    def interrupted(*given):
        met.append(1)
        if len(met) > 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(containing, "look_up", interrupted)
    with pytest.raises(KeyboardInterrupt):
        la.find_pairs(corpus, **work, **OPTIONS)
    monkeypatch.setattr(containing, "look_up", real)
    said = []
    run = Run(1)
    run.say = said.append
    assert here.to_arrow().equals(la.find_pairs(corpus, run=run, **work, **OPTIONS).to_arrow())
    assert "resuming: 200 documents already read" in said


def test_texts_find_what_their_sets_find(corpus):
    texts = pq.read_table(corpus)["text"].to_pylist()
    sets = [la.Shingles.parse("word:3").of(text) for text in texts]
    for recall in (0.9, 1.0):
        options = {"measure": "containment", "threshold": 0.6, "recall": recall}
        own = la.find_pairs(texts, shingles="word:3", **options)
        assert found(own).keys() <= brute_force(sets, sets, "0.6").keys()
        matched = la.find_matches(texts[:100], texts[100:], shingles="word:3", **options)
        if recall == 1:
            both = brute_force(sets[:100], sets[100:], "0.6")
            assert found(matched) == both
            assert len(own) == len(brute_force(sets, sets, "0.6")) - len(texts)


def test_an_audit_measures_the_recall(corpus):
    exact = la.find_pairs(corpus, **OPTIONS | {"method": "exact"})
    pairs = la.find_pairs(corpus, audit=200, **OPTIONS | {"recall": 0.7})
    assert (pairs.audit.true, pairs.audit.found) == (len(exact), len(pairs))
    clusters = la.find_clusters(corpus, audit=50, **OPTIONS)
    assert 0 < clusters.audit.found <= clusters.audit.true
    texts = pq.read_table(corpus)["text"].to_pylist()
    matched = la.find_matches(texts[80:], texts[:80], audit=500, **OPTIONS)
    assert (matched.audit.sampled, matched.audit.found) == (120, len(matched))


# --- plans and errors ---


def test_what_a_plan_says():
    sets = [set(range(at, at + 100)) for at in range(9)]
    plan = la.find_pairs(sets, measure="containment", threshold=0.8, method="lsh").plan
    assert plan.lines() == [
        "plan: containment >= 0.8 of sets, by 32 elements drawn from each, 20 of which the other must have",
        "      finds a pair at the threshold with probability 0.9939, closer pairs more often",
    ]
    assert plan.settings()["method"] == "lsh 20/32"
    exact = la.find_pairs(sets, measure="containment", threshold=0.8, recall=1.0).plan
    assert exact.lines() == [
        "plan: containment >= 0.8 of sets, exact: index of the rarest elements, every pair is found"
    ]


def test_what_is_not_supported():
    sets = [{1, 2}, {1, 2, 3}]
    with pytest.raises(UsageError, match=r"^audit is not supported for dedup by containment, since "):
        la.dedup(sets, measure="containment", audit=2)
    with pytest.raises(
        UsageError, match=r"^threshold must be higher for method='lsh': at 0.01 and recall 0.99, 512 el"
    ):
        la.find_pairs(sets, measure="containment", threshold=0.01, method="lsh")
    with pytest.raises(UsageError, match=r"^recall must be below 1 for method='lsh'; for recall 1 use "):
        la.find_pairs(sets, measure="containment", recall=1.0, method="lsh")
    assert la.find_pairs(sets, measure="containment", threshold=0.01).plan.exact


def test_too_many_pairs():
    sets = [set(range(at, at + 50)) for at in range(40)]
    for method in ("exact", "lsh"):
        options = {"measure": "containment", "threshold": 0.5, "method": method, "run": SINGLE}
        with pytest.raises(TooManyPairs, match="similar pairs, more than max_pairs = 9"):
            la.find_pairs(sets, max_pairs=9, **options)


def test_too_many_pairs_to_verify(monkeypatch):
    monkeypatch.setattr(containing, "MOST_MET", 9)
    sets = [set(range(at, at + 50)) for at in range(40)]
    with pytest.raises(TooManyPairs, match=r" pairs to verify, more than 9: choose a stricter threshold, or remove "):
        la.find_pairs(sets, measure="containment", threshold=0.5, method="lsh", run=SINGLE)


def test_directions_of_pairs():
    sets = [set(range(10)), set(range(9)), set(range(100))]
    pairs = la.find_pairs(sets, measure="containment", threshold=0.9, run=SINGLE)
    assert found(pairs) == {(0, 1): 0.9, (0, 2): 1.0, (1, 0): 1.0, (1, 2): 1.0}
    assert sorted(found(pairs)) == sorted(p for p in permutations(range(3), 2) if p[0] != 2)
