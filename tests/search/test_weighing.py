"""Check weights and dropped elements against brute force, through the whole pipeline."""

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.storage import Storage
from lookalike.search.weighing import Wanted, count_each, learn
from tests import reference as ref
from tests.failing import fails
from tests.samples import small_sets, write

SINGLE = Run(1)
seeds = st.integers(0, 2**32).map(random.Random)


def idf(sets):
    """Return the weight of each element of a collection of sets."""
    some = [one for one in sets if one]
    counts = Counter(x for one in some for x in one)
    return {x: math.log(1 + len(some) / count) for x, count in counts.items()}


def weighted_jaccard(a, b, weights):
    return math.fsum(weights[x] for x in a & b) / math.fsum(weights[x] for x in a | b) if a | b else 0


def brute_force(sets, threshold, of=weighted_jaccard):
    """Return the similar pairs, and those so close to the threshold that rounding decides."""
    weights = idf(sets)
    values = {(i, j): of(sets[i], sets[j], weights) for i, j in combinations(range(len(sets)), 2)}
    close = {pair for pair, value in values.items() if abs(value - threshold) < 1e-12}
    return {pair: value for pair, value in values.items() if value >= threshold and value}, close


def found(pairs):
    return {(left, right): value for left, right, value in pairs}


def check(pairs, sets, threshold):
    expected, close = brute_force(sets, threshold)
    values = found(pairs)
    assert values.keys() ^ expected.keys() <= close
    assert all(value == pytest.approx(expected.get(pair, threshold), rel=1e-12) for pair, value in values.items())


# --- weights ---


@settings(max_examples=100, deadline=None)
@given(seeds, st.sampled_from([0.1, 0.3, 0.5, 0.8, 1]))
def test_pairs_of_weighted_sets(rng, threshold):
    sets = small_sets(rng, 16)
    check(la.find_pairs(sets, threshold=threshold, weights="idf", recall=1, run=SINGLE), sets, threshold)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_matches_of_weighted_sets(rng):
    """Both collections together say how often elements occur."""
    sets = small_sets(rng, 16)
    cut = rng.randrange(17)
    pairs = la.find_matches(sets[:cut], sets[cut:], threshold=0.4, weights="idf", recall=1, run=SINGLE)
    expected, close = brute_force(sets, 0.4)
    across = {(i, j - cut) for i, j in expected if i < cut <= j}
    assert found(pairs).keys() ^ across <= {(i, j - cut) for i, j in close}


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_groups_of_weighted_sets(rng):
    sets = small_sets(rng, 16)
    options = {"threshold": 0.4, "weights": "idf", "recall": 1, "run": SINGLE}
    pairs = la.find_pairs(sets, **options)
    values = found(pairs)
    assert la.find_clusters(sets, **options).label.tolist() == pairs.clusters().label.tolist()
    result = la.dedup(sets, **options)
    kept = np.flatnonzero(result.keep).tolist()
    assert not [pair for pair in combinations(kept, 2) if pair in values]
    for item, centre in enumerate(result.centre.tolist()):
        if centre != item:
            assert result.keep[centre]
            assert result.similarity[item] == values[tuple(sorted((item, centre)))]


def form_texts(count=120, seed=1):
    """Return texts of which four each are alike, all with the same end."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(300)]
    texts = []
    for _ in range(count // 4):
        start = rng.choices(words, k=40)
        for _ in range(4):
            again = start.copy()
            for _ in range(rng.randrange(8)):
                again[rng.randrange(40)] = rng.choice(words)
            texts.append(" ".join([*again, "yours", "sincerely", "the", "usual", "company"]))
    return texts


TEXTS, WORDS = form_texts(), la.Shingles.parse("word:2")
OPTIONS = {"threshold": 0.5, "shingles": "word:2"}


def test_bands_find_weighted_pairs():
    """At this recall they miss none of these, and an audit agrees."""
    sets = [WORDS.of(text) for text in TEXTS]
    pairs = la.find_pairs(TEXTS, weights="idf", method="lsh", recall=0.9999, audit=50, **OPTIONS)
    check(pairs, sets, 0.5)
    assert pairs.audit.true > 40
    assert pairs.audit.found == pairs.audit.true
    exact = la.find_pairs(TEXTS, weights="idf", method="exact", **OPTIONS)
    assert exact.to_arrow().equals(pairs.to_arrow())


def test_recall_of_weighted_bands():
    """Pairs right above the threshold are found as often as promised, within four standard errors."""
    rng = random.Random(5)
    sets, pool = [], [rng.getrandbits(62) for _ in range(40_000)]
    for number in range(1500):
        some = pool[20 * number : 20 * number + 20]
        sets += [{*some[:14]}, {*some[4:14], *some[16:]}]  # 10 of 18 elements, all in one or two sets
    weights = idf(sets)
    near = weighted_jaccard(sets[0], sets[1], weights)
    assert near == pytest.approx(weighted_jaccard(sets[-2], sets[-1], weights))
    pairs = la.find_pairs(
        sets,
        threshold=Fraction(near).limit_denominator(10**6) - Fraction(1, 10**5),
        weights="idf",
        method="lsh",
        recall=0.8,
    )
    share, promised = len(pairs) / 1500, pairs.plan.recall
    assert abs(share - promised) < 4 * (promised * (1 - promised) / 1500) ** 0.5


@pytest.mark.parametrize("find", [la.find_pairs, la.find_clusters, la.dedup])
@pytest.mark.parametrize("way", [{"weights": "idf"}, {"drop_common": "20%"}, {"weights": "idf", "drop_common": 0.2}])
def test_threads_and_memory_make_no_difference(find, way, tmp_path):
    path = write(tmp_path / "a.jsonl", [{"id": f"{at:03}", "text": text} for at, text in enumerate(TEXTS)])
    expected = find(path, **way, **OPTIONS, method="lsh", threads=1).to_arrow()
    assert len(expected) > 20
    assert find(path, **way, **OPTIONS, method="lsh", threads=4).to_arrow().equals(expected)
    assert find(path, **way, **OPTIONS, memory="100MB", threads=2).to_arrow().equals(expected)


def test_a_plan_says_what_is_compared():
    plan = la.find_pairs(TEXTS, weights="idf", drop_common=0.2, method="exact", **OPTIONS).plan
    assert plan.lines() == [
        "plan: jaccard >= 0.5 of word:2 in at most 20% of the items weighted by idf, exact: prefix index of the "
        "heaviest elements, every pair is found"
    ]
    assert plan.settings()["weights"] == "idf"
    assert plan.settings()["drop_common"] == "1/5"


def test_explanations_are_weighted():
    pairs = la.find_pairs(TEXTS, weights="idf", drop_common="20%", method="exact", **OPTIONS)
    sets = [WORDS.of(text) for text in TEXTS]
    weights = idf(sets)
    for row in (0, len(pairs) - 1):
        why = pairs.explain(row)
        assert why.similarity == pytest.approx(pairs.similarity[row])
        assert "usual company" not in {*why.both, *why.left_only}
        assert [one["weight"] for one in why] == pytest.approx([weights[one["element"]] for one in why])
    plain = la.find_pairs(sets, threshold=0.5, drop_common="20%", method="exact")
    assert plain.explain(0).similarity == plain.similarity[0]


# --- dropping common elements ---


@settings(max_examples=60, deadline=None)
@given(
    seeds, st.sampled_from(["jaccard", "containment", "cosine", "overlap"]), st.sampled_from([0.1, 0.3, "1/2", "70%"])
)
def test_common_elements_are_dropped(rng, measure, share):
    """The result is that of sets without them; a set of common elements alone keeps them."""
    sets = small_sets(rng, 16)
    part = Fraction(share[:-1]) / 100 if str(share).endswith("%") else Fraction(str(share))
    rare = ref.without_common(sets, int(part * sum(map(bool, sets))))
    options = {"measure": measure, "threshold": 2 if measure == "overlap" else 0.5, "method": "exact", "run": SINGLE}
    expected = la.find_pairs([set(one) for one in rare], **options)
    assert found(la.find_pairs(sets, drop_common=share, **options)) == found(expected)


@pytest.mark.parametrize("measure", ["jaccard", "bag"])
def test_common_shingles_are_dropped(measure):
    of = la.Shingles(2, "word", bag=measure == "bag")
    bags = [of.of(text) for text in TEXTS]
    rare = ref.without_common([list(bag.elements() if measure == "bag" else bag) for bag in bags], 12)
    expected = la.find_pairs(
        [Counter(one) if measure == "bag" else set(one) for one in rare], measure=measure, threshold=0.5, method="exact"
    )
    assert len(expected) > 50
    for method in ("exact", "lsh"):
        pairs = la.find_pairs(TEXTS, measure=measure, drop_common="10%", method=method, recall=0.9999, **OPTIONS)
        assert found(pairs) == found(expected)


def test_texts_of_common_shingles_alone_are_compared_by_them():
    """Blank forms remain copies of each other."""
    blank = "dear sir or madam we hope that this letter finds you well"
    texts = [f"{blank} {number} {number + 1} {number + 2} x y z" for number in range(0, 400, 10)] + [
        blank,
        blank.upper(),
    ]
    pairs = la.find_pairs(texts, drop_common="50%", shingles=la.Shingles(3, "word", lowercase=True))
    assert [pair[:2] for pair in pairs] == [(40, 41)]


def form_letters(count, copies):
    """Return letters of 300 words that all have and 12 of their own, and then copies with one word changed."""
    rng = random.Random(7)
    form = [f"word{number}" for number in range(300)]
    made = []
    for _ in range(count - copies):
        made.append([x for at in range(0, 300, 25) for x in [*form[at : at + 25], f"name{rng.randrange(900)}"]])
    for words in rng.sample(made, copies):
        at = rng.randrange(len(words))
        made.append([*words[:at], f"misread{at}", *words[at + 1 :]])
    return [" ".join(words) for words in made], [False] * (count - copies) + [True] * copies


def test_form_letters_are_kept_apart():
    """They differ in 12 of 312 words; those removed are exactly the copies."""
    texts, copied = form_letters(400, 30)
    assert la.dedup(texts, shingles="word:1").keep.sum() < 10
    for way in ({"weights": "idf"}, {"drop_common": "3%"}):
        result = la.dedup(texts, shingles="word:1", recall=0.9999, **way)
        assert (~result.keep).tolist() == copied


def test_what_is_reported():
    lines = []

    class Listening(Run):
        def say(self, line):
            lines.append(line)

    assert la.find_pairs(TEXTS, drop_common="50%", run=Listening(1), **OPTIONS).stats["common"] == 4
    assert "dropped: 4 shingles in more than 50% of the 120 documents with shingles" in lines
    lines.clear()
    la.find_pairs([{1, 2}, {1, 3}, {1}], threshold=0.5, drop_common=0.4, run=Listening(1))
    assert lines[:2] == [
        "dropped: 1 element in more than 40% of the 3 sets with elements",
        "note: that is more than 1: copies in larger groups have no element left in common; raise drop_common",
    ]


# --- counting ---


def test_counts_are_exact(monkeypatch):
    """Few counters, merged often, count no element too often."""
    monkeypatch.setattr("lookalike.search.weighing.FRESH", 10)
    rng = np.random.default_rng(2)
    rows = [np.unique(rng.integers(0, 60, 8)).astype(np.uint64) * np.uint64(2**57) for _ in range(90)]
    counts = Counter(x for row in rows for x in row.tolist())

    def hashes(row):
        return np.array([0, len(row)]), row

    weighing = learn(Wanted(Fraction(1, 10), idf=True), lambda: rows, hashes, 10, Run(3), Storage())
    known = dict(zip(weighing.elements.tolist(), weighing.counts.tolist(), strict=True))
    assert known == {x: count for x, count in counts.items() if count > 1}
    assert (weighing.items, weighing.limit) == (90, 9)
    assert weighing.common == sum(count > 9 for count in counts.values())


def test_counts_that_do_not_fit(monkeypatch):
    monkeypatch.setattr("lookalike.search.weighing.FRESH", 10)
    parts = [np.arange(part, part + 50, dtype=np.uint64) for part in range(0, 500, 50)]
    with pytest.raises(DataError, match=r"^memory must hold the counts of shared shingles; \d+ of them need 0\.0 GB\."):
        count_each(parts, ONE_THREAD, 6400)


# --- errors ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "tf"}, "weights must be idf; got 'tf'."),
        ({"weights": "idf", "measure": "cosine"}, "weights is for the measure jaccard; got measure='cosine'."),
        ({"weights": "idf", "sketch": "simhash"}, "weights has a sketch of its own; leave out sketch."),
        ({"weights": "idf", "filter": "prefix"}, "weights has an exact join of its own; leave out filter and order."),
        (
            {"drop_common": 5},
            "drop_common must be a share above 0 and below 1, such as 1% or 0.01; got 5. Did you mean 5%?",
        ),
        ({"drop_common": "x"}, "drop_common must be a share above 0 and below 1, such as 1% or 0.01; got 'x'."),
        ({"drop_common": True}, "drop_common must be a share above 0 and below 1, such as 1% or 0.01; got True."),
        (
            {"drop_common": 0.5, "measure": "edit", "threshold": 2},
            "drop_common is for shingles and elements of sets; edit has none.",
        ),
    ],
)
def test_errors(options, message):
    fails(UsageError, message, la.find_pairs, ["a text", "another"], **options)


@pytest.mark.parametrize("where", [["--against", "seen.index", "--update"], ["--unit", "line"]])
@pytest.mark.parametrize("way", [["--weights", "idf"], ["--drop-common", "1%"]])
def test_commands_that_see_documents_one_by_one(where, way, run, tmp_path):
    path = write(tmp_path / "a.jsonl", [{"id": 1, "text": "a text"}])
    outcome = run("dedup", path, *where, *way, "-o", tmp_path / "out.jsonl")
    assert outcome.code == 2
    assert f"{way[0]} cannot be used with {where[0]}" in outcome.err


def test_errors_for_other_items():
    bags = [Counter("aab"), Counter("ab")]
    message = "drop_common is for texts and sets, not for bags that are given as such."
    fails(UsageError, message, la.find_pairs, bags, measure="bag", drop_common=0.5)
    for name, value in (("weights", "idf"), ("drop_common", 0.5)):
        message = f"{name} is for sets and texts, not for vectors or bits."
        fails(UsageError, message, la.find_pairs, np.eye(3), measure="angle", threshold=5, **{name: value})
