"""Check the whole pipeline against brute force: exact methods, and banding up to its recall."""

import random
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs, UsageError
from lookalike.core.run import Run
from lookalike.items.sides import Sides
from lookalike.search import fitting
from lookalike.search.identical import group_identical
from tests import reference as ref

THRESHOLDS = [0.5, 2 / 3, 0.8, 0.85, 0.9, 1.0]
MATES = ["the cat sat on the mat", "the cat sat on the mat.", "nothing like them", "the cat sat on a mat", ""]
ONE = Run(1)


@pytest.fixture(autouse=True, scope="module")
def _bands_where_there_is_a_choice():
    """Prefer bands: small collections would all be joined exactly, which tests/search checks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "INDEX", 1e12)
        yield


NO_MEASURE = (
    "measure must be one of jaccard, bag, containment, cosine, overlap, edit, levenshtein; got 'jacard'. "
    "Did you mean 'jaccard'?"
)


# --- collections, and brute force ---


def drawn_sets(rng, n):
    """Draw small sets: many are similar, many just at the threshold, some equal or empty."""
    pool = range(rng.choice([6, 11, 22]))
    sets = [set(rng.sample(pool, rng.randint(0, len(pool)))) for _ in range(n // 2)]
    while len(sets) < n:
        near = set(rng.choice(sets))
        sets.append(near ^ set(rng.sample(pool, rng.choice([0, 1, 1, 2]))))
    return sets


def drawn_pairs(rng, threshold, pairs):
    """Draw sets such that 2i and 2i + 1 are similar just at the threshold, a simple fraction."""
    near = Fraction(str(threshold)).limit_denominator(100)
    sets = []
    for _ in range(pairs):
        pool = rng.sample(range(30), near.denominator)
        cut = rng.randint(near.numerator, near.denominator)
        sets += [set(pool[:cut]), set(pool[: near.numerator] + pool[cut:])]
    return sets


def drawn_texts(rng, n):
    """Draw short texts and near-copies with all kinds of white space and case; some are empty."""
    letters = "ab" if rng.random() < 0.5 else "abcdefgh \u00e9\u4e00"
    texts = ["".join(rng.choices(letters, k=rng.choice([0, 1, 3, 8, 12, 20]))) for _ in range(n // 2)]
    while len(texts) < n:
        text = list(rng.choice(texts))
        for _ in range(rng.choice([0, 1, 1, 2])):
            text.insert(rng.randint(0, len(text)), rng.choice(letters + " \u3000"))
        texts.append("".join(text))
    return texts


def copies(bag):
    """Return a bag as the set of its copies; a set as it is."""
    return {(x, n) for x, count in Counter(bag).items() for n in range(count)}


def brute_force(sets, threshold, split=None):
    """Return {(i, j): similarity} of all similar pairs, in exact arithmetic on Python sets."""
    sets = [copies(one) for one in sets]
    pairs = ref.similar_pairs(sets, Fraction(str(threshold)), split)
    return {(i, j): float(ref.jaccard(sets[i], sets[j])) for i, j in pairs}


def positions(pairs):
    """Return a result as {(i, j): similarity}; check that pairs are in order and unique."""
    keys = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert keys == sorted(set(keys))
    return dict(zip(keys, pairs.similarity.tolist(), strict=True))


def near_copies(n, length=300):
    """Make texts that are the same except for a word at the end."""
    rng = random.Random(3)
    body = "".join(rng.choices("abcdefghij ", k=length))
    return [f"{body} {i:04d}" for i in range(n)]


def at_threshold(pairs):
    """Make sets such that 2i and 2i + 1 have similarity 4/5, and no others are similar at all."""
    sets = []
    for i in range(pairs):
        both = set(range(100 * i, 100 * i + 16))
        sets += [both | {100 * i + 50, 100 * i + 51}, both | {100 * i + 60, 100 * i + 61}]
    return sets


# --- exact ---


@pytest.mark.slow
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_exact_pairs_of_sets(threshold):
    just = 0
    for seed in range(50):
        rng = random.Random(seed)
        sets = drawn_sets(rng, 20) + drawn_pairs(rng, threshold, 3)
        expected = brute_force(sets, threshold)
        just += list(expected.values()).count(threshold)
        assert positions(la.find_pairs(sets, threshold=threshold, recall=1.0, run=ONE)) == expected
    assert just > 100


@pytest.mark.slow
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(
    "shingles", [la.Shingles(k=2), la.Shingles(k=2, bag=True), la.Shingles(k=1, unit="word")], ids=str
)
def test_exact_pairs_of_texts(threshold, shingles):
    found = 0
    for seed in range(20):
        texts = drawn_texts(random.Random(seed), 20)
        expected = brute_force([shingles.of(text) for text in texts], threshold)
        pairs = la.find_pairs(texts, threshold=threshold, recall=1.0, shingles=shingles, run=ONE)
        assert positions(pairs) == expected
        found += len(expected)
    assert found > 50


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_exact_pairs_of_bags(threshold):
    rng = random.Random(1)
    bags = [Counter(rng.choices("abcd", k=rng.randrange(9))) for _ in range(60)]
    pairs = la.find_pairs(bags, threshold=threshold, recall=1.0, run=ONE)
    assert positions(pairs) == brute_force(bags, threshold)


def test_exact_pairs_at_a_tiny_threshold():
    """One shared element is enough."""
    sets = [set(range(20 * i, 20 * i + 21)) for i in range(30)]
    pairs = la.find_pairs(sets, threshold=1e-12, recall=1.0, run=ONE)
    assert positions(pairs) == {(i, i + 1): 1 / 41 for i in range(29)}


@pytest.mark.slow
def test_exact_pairs_of_a_larger_collection():
    """More sets than one task probes, on two threads."""
    rng = random.Random(4)
    sets = [set(rng.sample(range(40), rng.choice([4, 5]))) for _ in range(900)]
    expected = brute_force(sets, 0.6)
    assert positions(la.find_pairs(sets, threshold=0.6, recall=1.0, run=Run(2))) == expected
    assert len(expected) > 100


def test_thresholds_as_strings_and_fractions():
    sets = drawn_sets(random.Random(2), 40)
    expected = brute_force(sets, Fraction(2, 3))
    for threshold in ("2/3", Fraction(2, 3), 2 / 3, 0.6666666666666666):
        assert positions(la.find_pairs(sets, threshold=threshold, recall=1.0, run=ONE)) == expected


# --- banding ---


@pytest.mark.slow
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_pairs_by_bands_are_true_and_have_their_similarity(threshold):
    for seed in range(12):
        rng = random.Random(seed)
        texts = drawn_texts(rng, 24)
        shingles = la.Shingles(k=2, bag=seed % 3 == 0)
        expected = brute_force([shingles.of(text) for text in texts], threshold)
        options = {"threshold": threshold, "recall": 0.9, "seed": seed, "run": ONE}
        found = positions(la.find_pairs(texts, shingles=shingles, **options))
        assert found.items() <= expected.items()
        sets = drawn_sets(rng, 24)
        assert positions(la.find_pairs(sets, **options)).items() <= brute_force(sets, threshold).items()


@pytest.mark.slow
@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
def test_pairs_by_bands_reach_the_recall_at_the_threshold(recall):
    """The hardest case: all pairs at the threshold; within four standard errors of the recall."""
    sets = la.Sets.of(at_threshold(100))
    expected = {(2 * i, 2 * i + 1) for i in range(100)}
    found = 0
    for seed in range(30):
        pairs = la.find_pairs(sets, threshold=0.8, recall=recall, seed=seed, run=ONE)
        assert positions(pairs).keys() <= expected
        assert pairs.plan.recall >= recall - 1e-12
        found += len(pairs)
    assert found / 3000 > recall - 4 * (recall * (1 - recall) / 3000) ** 0.5


def test_pairs_of_bags_by_bands_reach_the_recall_at_the_threshold():
    """Bags with many copies of one element: as sets these pairs have similarity 1/5, not 4/5."""
    words = [chr(0x4E00 + i) * 16 + chr(0x6000 + i) + chr(0x7000 + i) for i in range(200)]
    texts = [text for i in range(0, 200, 2) for text in (words[i], words[i][:16] + words[i + 1][16:])]
    shingles = la.Shingles(k=1, bag=True)
    found = [0, 0]
    for seed in range(10):
        options = {"threshold": 0.8, "recall": 0.95, "seed": seed, "run": ONE}
        found[0] += len(la.find_pairs(texts, shingles=shingles, **options))
        found[1] += len(la.find_pairs([Counter(text) for text in texts], **options))
    assert min(found) / 1000 > 0.95 - 4 * (0.95 * 0.05 / 1000) ** 0.5


def test_pairs_by_bands_are_found_more_surely_the_closer_they_are():
    texts = near_copies(60)
    pairs = la.find_pairs(texts, threshold=0.5, recall=0.9, run=ONE)
    assert positions(pairs) == brute_force([la.Shingles().of(text) for text in texts], 0.5)


def test_another_seed_finds_other_pairs():
    sets = at_threshold(200)
    first, again, other = (
        list(la.find_pairs(sets, threshold=0.8, recall=0.5, seed=seed, run=ONE)) for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("seed", [0, 2**53 + 1, 2**63, 2**64 - 1])
def test_seeds_of_any_size(seed):
    pairs = la.find_pairs(MATES, threshold=0.5, seed=seed, run=ONE)
    assert (0, 1) in positions(pairs)
    assert pairs.plan.settings()["seed"] == str(seed)


# --- identical and empty items ---


@pytest.mark.parametrize("recall", [0.99, 1.0])
def test_identical_items_make_all_their_pairs(recall):
    texts = ["some text", "other", "some text", "", "some text", "other", "", "some texts"]
    shingles = la.Shingles(k=3)
    pairs = la.find_pairs(texts, threshold=0.7, recall=recall, shingles=shingles, run=ONE)
    expected = brute_force([shingles.of(text) for text in texts], 0.7)
    assert {(0, 2), (0, 4), (2, 4), (1, 5), (0, 7), (2, 7), (4, 7)} == expected.keys()
    assert positions(pairs) == expected
    assert pairs.stats["identical"] == 3
    assert pairs.stats["empty"] == 2
    assert pairs.stats["items"] == 8
    assert pairs.stats["pairs"] == 7


def test_identical_means_equal_in_both_hashes():
    """Sorting by the high bits of the first hash alone can put others in one bucket."""
    contents = np.array([[64, 1], [64, 2], [64, 1], [65, 1], [9 << 40, 5], [64, 2]], np.uint64)
    groups = group_identical(contents, np.arange(6))
    assert groups.first.tolist()[:5] == [0, 1, 0, 3, 4]
    assert groups.first[5] in (1, 5)  # in the bucket of another group it can stay alone
    reverse = group_identical(contents, np.array([2, 1, 0]))
    assert reverse.first.tolist() == [2, 1, 2, -1, -1, -1]
    assert reverse.heads.tolist() == [1, 2]
    assert group_identical(contents, np.arange(6), Sides(1)).first.tolist()[:3] == [0, 1, 2]


@pytest.mark.parametrize("recall", [0.99, 1.0])
def test_texts_that_differ_with_the_same_shingles(recall):
    """Not identical, yet of similarity 1: white space is collapsed and shingles are a set."""
    texts = ["abababab", "ababab", " ababab ", "bababa", "abab ab"]
    pairs = la.find_pairs(texts, threshold=1.0, recall=recall, shingles="char:2", run=ONE)
    assert positions(pairs) == dict.fromkeys([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], 1.0)


@pytest.mark.parametrize("recall", [0.99, 1.0])
@pytest.mark.parametrize("empty", [["", " ", "\u3000\n", ""], [set(), frozenset()], [Counter(), Counter()]])
def test_empty_items_are_similar_to_nothing(empty, recall):
    options = {"threshold": 0.1, "recall": recall, "run": ONE}
    assert len(la.find_pairs(empty, **options)) == 0
    assert len(la.find_clusters(empty, **options)) == 0
    assert la.dedup(empty, **options).keep.all()
    assert len(la.find_matches(empty, empty, **options)) == 0
    assert la.find_pairs(empty, **options).stats["empty"] == len(empty)


@pytest.mark.parametrize("recall", [0.99, 1.0])
@pytest.mark.parametrize("items", [[], ["alone"], la.Sets.of([]), [{1, 2}], pa.array([], pa.string())])
def test_collections_of_none_or_one(items, recall):
    options = {"recall": recall, "audit": 5, "run": ONE}
    assert len(la.find_pairs(items, **options)) == 0
    assert len(la.find_clusters(items, **options)) == 0
    assert len(la.dedup(items, **options).kept) == len(items)
    assert len(la.find_matches(items, items, **options)) == len(items)


# --- matches ---


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_exact_matches(threshold):
    for seed in range(25):
        rng = random.Random(seed)
        sets = drawn_sets(rng, 24)
        split = rng.choice([0, 1, 8, 12, 23, 24])
        expected = {(i, j - split): s for (i, j), s in brute_force(sets, threshold, split).items()}
        left, right = la.Sets.of(sets[:split]), la.Sets.of(sets[split:])
        matches = la.find_matches(left, right, threshold=threshold, recall=1.0, run=ONE)
        assert positions_across(matches) == expected


def test_matches_by_bands():
    for seed in range(25):
        rng = random.Random(seed)
        texts = drawn_texts(rng, 24)
        split = rng.choice([0, 1, 8, 12, 23, 24])
        shingled = [la.Shingles(k=2).of(text) for text in texts]
        expected = {(i, j - split): s for (i, j), s in brute_force(shingled, 0.6, split).items()}
        options = {"threshold": 0.6, "shingles": "char:2", "run": ONE}
        found = positions_across(la.find_matches(texts[:split], texts[split:], **options))
        assert found.items() <= expected.items()
        assert len(found) >= 0.9 * len(expected)


def positions_across(matches):
    """As `positions`, for two collections, where the left position can be the larger."""
    keys = list(zip(matches.left.tolist(), matches.right.tolist(), strict=True))
    assert keys == sorted(set(keys))
    return dict(zip(keys, matches.similarity.tolist(), strict=True))


@pytest.mark.parametrize("recall", [0.99, 1.0])
@pytest.mark.parametrize("left", [[], [""], ["", "something quite different"], ["something quite different"]])
def test_matches_where_one_side_has_nothing_similar(left, recall):
    """Pairs within the other side are not matches, and the audit does not count them."""
    right = near_copies(4)
    for sides in ((left, right), (right, left)):
        matches = la.find_matches(*sides, threshold=0.5, recall=recall, audit=10, run=ONE)
        assert list(matches) == []
        assert matches.audit.true == 0


@pytest.mark.parametrize("sides", [([], [{1, 2}]), ([{1, 2}], []), ([], [Counter("ab")]), ((), [{1, 2}])])
def test_matches_of_sets_with_an_empty_list(sides):
    """An empty list can mean no texts or no sets."""
    matches = la.find_matches(*sides, run=ONE)
    assert list(matches) == []
    assert (len(matches.ids), len(matches.right_ids)) == (len(sides[0]), len(sides[1]))


def test_matches_of_sets_with_the_rows_of_a_matrix():
    matches = la.find_matches(np.array([[1, 2], [3, 4]]), [{1, 2}, {3}], threshold=0.5, recall=1.0, run=ONE)
    assert list(matches) == [(0, 0, 1.0), (1, 1, 0.5)]


def test_matches_have_the_ids_of_both_sides():
    left = pa.table({"id": ["p", "q"], "text": MATES[:2]})
    right = pa.table({"id": [10, 20, 30], "text": [MATES[2], MATES[0], MATES[3]]})
    matches = la.find_matches(left, right, threshold=0.9, recall=1.0, run=ONE)
    assert [(a, b) for a, b, _ in matches] == [("p", 20), ("q", 20)]
    assert matches.to_arrow().schema.names == ["left", "right", "similarity"]
    assert [s for *_, s in matches] == matches.similarity.tolist()
    with pytest.raises(DataError, match=r"^pairs between two collections have no clusters"):
        matches.clusters()


def test_matches_of_identical_items_on_both_sides():
    matches = la.find_matches(["same text"] * 3, ["same text", "other", "same text"], run=ONE)
    assert [(a, b) for a, b, _ in matches] == [(i, j) for i in range(3) for j in (0, 2)]


# --- clusters ---


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_exact_clusters_are_components(threshold):
    for seed in range(20):
        sets = drawn_sets(random.Random(seed), 20)
        expected = ref.components(len(sets), brute_force(sets, threshold))
        options = {"threshold": threshold, "recall": 1.0, "run": ONE}
        assert la.find_clusters(sets, **options).label.tolist() == expected
        assert la.find_pairs(sets, **options).clusters().label.tolist() == expected


@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_clusters_by_bands_are_those_of_the_pairs(threshold):
    """Buckets of up to 32 items are searched fully; the same seed gives the same buckets."""
    for seed in range(15):
        texts = drawn_texts(random.Random(seed), 24)
        options = {"threshold": threshold, "recall": 0.8, "shingles": "char:2", "seed": seed, "run": ONE}
        clusters = la.find_clusters(texts, **options)
        assert clusters.label.tolist() == la.find_pairs(texts, **options).clusters().label.tolist()
        assert clusters.stats["crowded"] == 0


def test_clusters_of_a_crowded_bucket_are_whole():
    """There are more near-copies than each is compared with; a chain joins them all."""
    texts = near_copies(300)
    assert la.find_clusters(texts, threshold=0.9, run=ONE).label.tolist() == [0] * 300


def test_clusters_as_lists_and_tables():
    table = pa.table({"id": list("abcdef"), "text": ["xyz", "one", "two", "one", "xyz", "one"]})
    clusters = la.find_clusters(table, threshold=1.0, run=ONE)
    assert len(clusters) == 2
    assert list(clusters) == [["a", "e"], ["b", "d", "f"]]
    assert clusters.to_arrow().to_pydict() == {
        "cluster": ["a", "a", "b", "b", "b"],
        "id": ["a", "e", "b", "d", "f"],
        "size": [2, 2, 3, 3, 3],
    }
    assert clusters.sizes.tolist() == [2, 3, 1, 3, 2, 3]


# --- dedup ---


def greedy(order, pairs):
    """Return the items kept when each is kept unless it is similar to one kept before."""
    kept = []
    for item in order:
        if not any((min(item, other), max(item, other)) in pairs for other in kept):
            kept.append(item)
    return sorted(kept)


def check_stars(result, sets, pairs, threshold):
    """Check that each dropped item is similar to its kept one, and no two kept ones are a pair."""
    kept = set(np.flatnonzero(result.keep).tolist())
    for item, centre in enumerate(result.centre.tolist()):
        assert centre in kept
        if item != centre:
            similarity = ref.jaccard(copies(sets[item]), copies(sets[centre]))
            assert similarity >= Fraction(str(threshold))
            assert result.similarity[item] == float(similarity)
    assert not [pair for pair in pairs if set(pair) <= kept]


@pytest.mark.slow
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("recall", [0.9, 1.0])
def test_dedup_keeps_the_first(threshold, recall):
    for seed in range(10):
        sets = drawn_sets(random.Random(seed), 24)
        options = {"threshold": threshold, "recall": recall, "seed": seed, "run": ONE}
        result = la.dedup(sets, **options)
        pairs = positions(la.find_pairs(sets, **options))
        check_stars(result, sets, pairs, threshold)
        if recall == 1:
            assert np.flatnonzero(result.keep).tolist() == greedy(range(24), pairs)


@pytest.mark.parametrize("recall", [0.9, 1.0])
def test_dedup_keeps_the_longest(recall):
    """The longest in bytes; of equally long ones, the first."""
    for seed in range(15):
        texts = drawn_texts(random.Random(seed), 24)
        options = {"threshold": 0.6, "recall": recall, "shingles": "char:2", "run": ONE}
        shingled = [la.Shingles(k=2).of(text) for text in texts]
        result = la.dedup(texts, keep="longest", **options)
        pairs = positions(la.find_pairs(texts, **options))
        check_stars(result, shingled, pairs, 0.6)
        if recall == 1:
            order = sorted(range(24), key=lambda i: -len(texts[i].encode()))
            assert np.flatnonzero(result.keep).tolist() == greedy(order, pairs)


@pytest.mark.parametrize("kind", [list, np.array, pa.array])
def test_dedup_keeps_the_greatest_value(kind):
    for seed in range(10):
        rng = random.Random(seed)
        sets = drawn_sets(rng, 24)
        values = [rng.randrange(10) for _ in sets]
        result = la.dedup(sets, keep=kind(values), threshold=0.6, recall=1.0, run=ONE)
        pairs = positions(la.find_pairs(sets, threshold=0.6, recall=1.0, run=ONE))
        check_stars(result, sets, pairs, 0.6)
        order = sorted(range(24), key=lambda i: -values[i])
        assert np.flatnonzero(result.keep).tolist() == greedy(order, pairs)


def test_dedup_keeps_an_item_without_a_value_last():
    result = la.dedup(["same", "same", "same"], keep=[None, 1.5, -1.0], run=ONE)
    assert result.keep.tolist() == [False, True, False]


def test_dedup_makes_no_chains():
    """0 is similar to 1 and 1 to 2, but not 2 to 0: it stays, though all are one cluster."""
    sets = [set(range(10)), set(range(2, 12)), set(range(4, 14))]
    options = {"threshold": 0.6, "recall": 1.0, "run": ONE}
    assert la.dedup(sets, **options).keep.tolist() == [True, False, True]
    assert la.dedup(sets, keep=[0, 1, 0], **options).keep.tolist() == [False, True, False]
    assert la.find_clusters(sets, **options).label.tolist() == [0, 0, 0]


def test_dedup_as_a_table():
    table = pa.table({"id": list("abcd"), "text": ["same text", "other", "same text", ""]})
    result = la.dedup(table, run=ONE)
    assert result.kept.to_pylist() == ["a", "b", "d"]
    assert result.to_arrow().to_pydict() == {"id": ["c"], "kept": ["a"], "similarity": [1.0]}
    assert (result.stats["kept"], result.stats["dropped"]) == (3, 1)


def test_dedup_of_a_crowded_bucket_keeps_one():
    result = la.dedup(near_copies(300), threshold=0.9, run=ONE)
    assert result.keep.tolist() == [True] + [False] * 299
    assert result.stats["crowded"] == 0


# --- threads and batches ---


def results(items, **options):
    """Return everything that all functions find."""
    pairs = la.find_pairs(items, **options)
    clusters = la.find_clusters(items, **options)
    dedup = la.dedup(items, keep="longest", **options)
    columns = clusters.label.tolist(), dedup.centre.tolist(), dedup.similarity.tolist()
    return pairs.plan.bands, list(pairs), columns, pairs.audit, clusters.audit, dedup.audit


def many_texts():
    """Make a few hundred texts of many lengths with near-copies among them."""
    rng = random.Random(6)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(1, 9))) for _ in range(300)]
    texts = [" ".join(rng.choices(words, k=rng.randint(0, 60))) for _ in range(300)]
    return texts + [text.replace(rng.choice(words), rng.choice(words)) for text in texts] + texts[:20]


@pytest.mark.parametrize("recall", [0.9, 1.0])
def test_results_do_not_depend_on_threads(recall):
    texts = many_texts()
    sets = la.Shingles(k=5).sets(texts)
    for items, options in ((texts, {"shingles": "char:5"}), (sets, {})):
        one, two = (
            results(items, threshold=0.7, recall=recall, audit=50, run=Run(threads), **options) for threads in (1, 2)
        )
        assert one == two
        assert len(one[1]) > 200


@pytest.mark.slow
@pytest.mark.parametrize("recall", [0.9, 1.0])
@pytest.mark.parametrize("batch_bytes", [1, 1000, 30_000])
def test_results_do_not_depend_on_batches(recall, batch_bytes):
    table = pa.table({"text": many_texts()})
    options = {"threshold": 0.7, "recall": recall, "shingles": "char:5", "audit": 50, "run": Run(2)}
    expected = results(la.Source([table]), **options)
    assert results(la.Source([table], batch_bytes=batch_bytes), **options) == expected


def test_results_do_not_depend_on_batches_of_files(tmp_path):
    """Nor does the plan, which uses the first thousand documents and an estimated number."""
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{text} {i}\n" for i, text in enumerate(many_texts() * 2)))
    plans, found = [], []
    for batch_bytes in (3000, 40_000, 2 << 20):
        source = la.Source([path], batch_bytes=batch_bytes)
        pairs = la.find_pairs(source, threshold=0.7, recall=0.8, run=Run(2))
        plans.append(replace(pairs.plan, reason=""))  # which says how long it takes
        found.append(list(pairs))
    assert plans[0] == plans[1] == plans[2]
    assert found[0] == found[1] == found[2] != []


# --- too many pairs ---


class Watched(Run):
    """A run that records its stages."""

    def __init__(self):
        super().__init__(1)
        self.stages = []

    @contextmanager
    def show(self, name, total):
        self.stages.append(name)
        yield lambda amount: None


def test_too_many_pairs_are_foreseen():
    """A sample of the candidates shows it before the pairs are verified."""
    run = Watched()
    with pytest.raises(TooManyPairs, match=r"^about 19,900 similar pairs, more than max_pairs = 100: "):
        la.find_pairs(near_copies(200), threshold=0.5, max_pairs=100, run=run)
    assert "verify" not in run.stages


def test_groups_are_suggested_only_for_documents():
    """Other items, and the pairs of two collections, have no command that groups them."""
    texts, options = near_copies(200), {"threshold": 0.5, "max_pairs": 100, "method": "lsh", "run": ONE}
    with pytest.raises(TooManyPairs) as error:
        la.find_pairs(texts, **options)
    said = ": choose a stricter threshold or raise max_pairs."
    assert str(error.value).endswith(f"{said} To find groups without listing pairs, use find_clusters or dedup.")
    for find, given in ((la.find_pairs, [la.Shingles().sets(texts)]), (la.find_matches, [texts, texts])):
        with pytest.raises(TooManyPairs) as error:
            find(*given, **options)
        assert str(error.value).endswith(said)


def test_too_many_candidates_that_are_not_similar_are_no_error():
    """A band has more candidates than pairs are allowed, but few of them are similar."""
    rng = random.Random(5)
    sets = [set(rng.sample(range(10), 5)) for _ in range(80)]
    expected = {pair for pair, s in brute_force(sets, 0.6).items() if s < 1}
    options = {"threshold": 0.6, "recall": 0.5, "run": ONE}
    pairs = la.find_pairs(sets, **options)
    assert pairs.stats["candidates"] > len(pairs) > len(expected) / 4
    assert len(la.find_pairs(sets, max_pairs=len(pairs), **options)) == len(pairs)
    with pytest.raises(TooManyPairs):
        la.find_pairs(sets, max_pairs=len(pairs) - 1, **options)


@pytest.mark.parametrize("recall", [0.99, 1.0])
@pytest.mark.parametrize("items", [["same text"] * 20, near_copies(20)], ids=["identical", "near"])
def test_pairs_are_counted_exactly(items, recall):
    options = {"threshold": 0.5, "recall": recall, "run": ONE}
    assert len(la.find_pairs(items, max_pairs=190, **options)) == 190
    with pytest.raises(TooManyPairs, match=r"^(about|at least) 190 similar pairs, more than max_pairs = 189: "):
        la.find_pairs(items, max_pairs=189, **options)
    assert len(la.find_matches(items, items, max_pairs=400, **options)) == 400
    with pytest.raises(TooManyPairs, match=r"^(about|at least) 400 similar pairs, more than max_pairs = 399: "):
        la.find_matches(items, items, max_pairs=399, **options)


# --- audit ---


@pytest.mark.slow
@pytest.mark.parametrize("recall", [0.99, 1.0])
def test_audit_of_all_items_is_the_true_recall(recall):
    texts = many_texts()[:400]
    shingled = [la.Shingles(k=5).of(text) for text in texts]
    options = {"threshold": 0.7, "recall": recall, "shingles": "char:5", "audit": 10_000, "run": ONE}
    pairs = la.find_pairs(texts, **options)
    expected = brute_force(shingled, 0.7)
    assert (pairs.audit.true, pairs.audit.found) == (len(expected), len(pairs))
    assert pairs.audit.sampled == sum(map(bool, shingled))
    if recall == 1:
        assert pairs.audit.recall == 1.0
        assert pairs.audit.interval[1] == pytest.approx(1.0)


def test_audit_of_a_poor_run_covers_its_recall():
    """With a low requested recall the run finds little, and the audit says so."""
    sets = at_threshold(400)
    pairs = la.find_pairs(sets, threshold=0.8, recall=0.3, audit=300, run=ONE)
    recall = len(pairs) / 400
    assert 0.1 < recall < 0.6
    low, high = pairs.audit.interval
    assert low <= recall <= high
    assert high - low < 0.2
    assert pairs.audit.sampled == 300


@pytest.mark.parametrize("recall", [0.5, 1.0])
def test_audit_of_matches(recall):
    sets = at_threshold(100)
    left, right = sets[::2], sets[1::2] + sets[1:20:2]  # some on the right twice
    matches = la.find_matches(left, right, threshold=0.8, recall=recall, audit=1000, run=ONE)
    assert (matches.audit.true, matches.audit.found) == (110, len(matches))


def test_audit_of_clusters_and_dedup():
    """A pair counts as found if it is in one cluster, or if one of its items is dropped."""
    sets = drawn_sets(random.Random(1), 60)
    expected = brute_force(sets, 0.7)
    for recall in (0.5, 1.0):
        options = {"threshold": 0.7, "recall": recall, "audit": 60, "run": ONE}
        clusters, dedup = la.find_clusters(sets, **options), la.dedup(sets, **options)
        together = sum(clusters.label[i] == clusters.label[j] for i, j in expected)
        resolved = sum(not (dedup.keep[i] and dedup.keep[j]) for i, j in expected)
        assert (clusters.audit.true, clusters.audit.found) == (len(expected), together)
        assert (dedup.audit.true, dedup.audit.found) == (len(expected), resolved)


# --- kinds of items ---


class Frame:
    """The interface that pandas, polars and others have in common."""

    def __init__(self, data):
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


TABLE = pa.table({"text": MATES})
KINDS = {
    "list": MATES,
    "tuple": tuple(MATES),
    "iterator": (text for text in MATES),
    "array": pa.array(MATES),
    "large array": pa.array(MATES, pa.large_string()),
    "slice": pa.array(["x", *MATES]).slice(1),
    "chunked array": pa.chunked_array([MATES[:2], MATES[2:]]),
    "table": TABLE,
    "two columns": pa.table({"number": range(5), "body": MATES}),
    "dictionary": pa.table({"text": pa.array(MATES).dictionary_encode()}),
    "batch": TABLE.to_batches()[0],
    "reader": TABLE.to_reader(),
    "frame": Frame(TABLE),
    "series": Frame(pa.chunked_array([MATES])),
    "source": la.Source([TABLE], batch_bytes=1),
    "numpy": np.array(MATES),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_texts(kind):
    pairs = la.find_pairs(KINDS[kind], threshold=0.5, recall=1.0, shingles="char:4", run=ONE)
    expected = brute_force([la.Shingles(k=4).of(text) for text in MATES], 0.5)
    assert positions(pairs) == expected
    assert [(a, b) for a, b, _ in pairs] == list(expected) == [(0, 1), (0, 3), (1, 3)]


def test_kinds_of_files(tmp_path):
    """Each is given by its path; a folder's documents are its files, with paths as ids."""
    (tmp_path / "folder").mkdir()
    for i, text in enumerate(MATES):
        (tmp_path / "folder" / f"{i}.txt").write_text(text)
    (tmp_path / "lines.txt").write_text("\n".join(MATES) + "\n")
    pa.parquet.write_table(TABLE, tmp_path / "a.parquet")
    pa.csv.write_csv(TABLE, tmp_path / "a.csv")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    options = {"threshold": 0.5, "recall": 1.0, "shingles": "char:4", "run": ONE}
    for name in ("lines.txt", "a.parquet", "a.csv", "a.arrow"):
        assert [(a, b) for a, b, _ in la.find_pairs(tmp_path / name, **options)] == [(0, 1), (0, 3), (1, 3)]
        assert len(la.find_pairs(str(tmp_path / name), **options)) == 3
    expected = [("0.txt", "1.txt"), ("0.txt", "3.txt"), ("1.txt", "3.txt")]
    assert [(a, b) for a, b, _ in la.find_pairs(tmp_path / "folder", **options)] == expected
    files = sorted((tmp_path / "folder").iterdir())
    assert [(Path(a).name, Path(b).name) for a, b, _ in la.find_pairs(files, **options)] == expected


@pytest.mark.parametrize(
    "sets",
    [
        [{"a", "b"}, {"a", "b", "c"}, {"x"}],
        [frozenset({1, 2}), frozenset({1, 2, 3}), frozenset({-9})],
        [["a", "b", "b"], ["c", "b", "a"], ["x"]],
        [("a", "b"), ("a", "b", "c"), ("x",)],
        [np.array([1, 2]), np.array([1, 2, 3]), np.array([9])],
        la.Sets.of([{"a", "b"}, {"a", "b", "c"}, {"x"}]),
        la.Shingles(k=1).sets(["ab", "abc", "x"]),
        [Counter(a=1, b=1), Counter(a=1, b=1, c=1), Counter(x=1)],
    ],
    ids=["sets", "frozen sets", "lists", "tuples", "arrays", "Sets", "shingles", "bags"],
)
def test_kinds_of_sets(sets):
    pairs = la.find_pairs(sets, threshold="2/3", recall=1.0, run=ONE)
    assert positions(pairs) == {(0, 1): 2 / 3}


def test_ids_are_given_back_as_they_were():
    for ids in (["x", "y", "007", "", "\u00e9"], [7, 5, -3, 2**40, 0]):
        pairs = la.find_pairs(pa.table({"id": ids, "text": MATES}), threshold=0.9, recall=1.0, run=ONE)
        assert [(a, b) for a, b, _ in pairs] == [(ids[0], ids[1])]
        assert pairs.to_arrow().column("left").to_pylist() == [ids[0]]


def test_explain():
    pairs = la.find_pairs(["abcd", "bcde"], threshold=0.2, recall=1.0, shingles="char:2", run=ONE)
    why = pairs.explain(0)
    assert (why.both, why.left_only, why.right_only) == (["bc", "cd"], ["ab"], ["de"])
    assert why.similarity == pairs.similarity[0] == 1 / 2


def test_explain_agrees_with_the_similarity():
    shingles = la.Shingles(k=2, bag=True, lowercase=True)
    texts = drawn_texts(random.Random(1), 30)
    pairs = la.find_pairs(texts, threshold=0.3, recall=1.0, shingles=shingles, run=ONE)
    assert [pairs.explain(i).similarity for i in range(len(pairs))] == pairs.similarity.tolist()
    matches = la.find_matches(texts[:15], texts[15:], threshold=0.3, recall=1.0, shingles=shingles, run=ONE)
    assert [matches.explain(i).similarity for i in range(len(matches))] == matches.similarity.tolist()


def test_explain_shows_the_bands():
    """By the signatures themselves: two texts meet in the bands in which all rows agree."""
    texts = drawn_texts(random.Random(2), 40)
    pairs = la.find_pairs(texts, threshold=0.3, shingles="char:2", method="lsh", seed=3)
    bands, rows, _ = pairs.plan.bands
    shingles = la.Shingles(k=2)
    signatures = la.families.MinHash(bands * rows, 3).signatures(shingles.sets(texts)).reshape(-1, bands, rows)
    assert len(pairs) > 2
    for at, (left, right, _) in enumerate(pairs):
        met = (signatures[left] == signatures[right]).all(axis=1)
        why = pairs.explain(at)
        assert why.bands == np.flatnonzero(met).tolist() != []
        assert str(why).endswith("shared bands: " + ", ".join(map(str, why.bands)))
    assert la.find_pairs(texts, threshold=0.3, method="exact").explain(0).bands is None


def test_explain_a_text_that_normalising_twice_would_change():
    """A small h with a line below has a composed form; a capital H has none."""
    shingles = la.Shingles(k=2, lowercase=True)
    pairs = la.find_pairs(["H\u0331ab", "H\u0331ac"], threshold=0.1, recall=1.0, shingles=shingles, run=ONE)
    assert pairs.explain(0).similarity == pairs.similarity[0]


# --- errors ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must be in (0, 1]; got 0."),
        ({"threshold": 80}, "threshold must be in (0, 1]; got 80. Did you mean 0.8?"),
        ({"threshold": float("nan")}, "threshold must be in (0, 1]; got nan."),
        ({"threshold": "x"}, "threshold must be a number in (0, 1]; got 'x'."),
        ({"recall": 0}, "recall must be in (0, 1]; got 0."),
        ({"recall": 99}, "recall must be in (0, 1]; got 99. Did you mean 0.99?"),
        ({"recall": -0.5}, "recall must be in (0, 1]; got -0.5."),
        (
            {"recall": 1, "method": "lsh"},
            "recall must be below 1 for method='lsh'; for recall 1 use method='exact'.",
        ),
        ({"method": "exakt"}, "method must be one of auto, lsh, exact; got 'exakt'. Did you mean 'exact'?"),
        ({"measure": "jacard"}, NO_MEASURE),
        ({"shingles": "char:0"}, "shingles must look like char:9, word:5 or stop:3; got 'char:0'."),
        (
            {"shingles": "words:5"},
            "shingles must look like char:9, word:5 or stop:3; got 'words:5'. Did you mean 'word:5'?",
        ),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1."),
        ({"seed": 1.5}, "seed must be an integer of at least 0; got 1.5."),
        ({"audit": -1}, "audit must be an integer of at least 0; got -1."),
        ({"threads": 0}, "threads must be an integer of at least 1; got 0."),
    ],
)
@pytest.mark.parametrize("function", [la.find_pairs, la.find_clusters, la.dedup])
def test_errors_of_options(function, options, message):
    with pytest.raises(UsageError) as error:
        function(MATES, **options)
    assert str(error.value) == message


def test_recall_over_one():
    with pytest.raises(UsageError, match=r"^recall must be in \(0, 1\]; got 1\.5\."):
        la.find_pairs(MATES, recall=1.5)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_errors_of_threads(threads):
    with pytest.raises(UsageError, match=r"^threads must be an integer of at least 1; got "):
        Run(threads)


@pytest.mark.parametrize("max_pairs", [0, -1, 2.5])
def test_errors_of_max_pairs(max_pairs):
    with pytest.raises(UsageError, match=r"^max_pairs must be an integer of at least 1; got "):
        la.find_pairs(MATES, max_pairs=max_pairs)


def test_seeds_that_are_too_large():
    with pytest.raises(UsageError, match=r"^seed must be "):
        la.find_pairs(MATES, seed=2**64)


@pytest.mark.parametrize("items", [5, None, {"a"}, b"bytes"])
def test_errors_of_items(items):
    with pytest.raises(UsageError) as error:
        la.find_pairs(items)
    assert str(error.value) == f"items must be texts, sets, vectors, a table or a path; got {type(items).__name__}."


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a", None], "texts must be strings; text 1 is null."),
        ([{"a"}, {1}], "the elements of sets must be all strings or all integers; got int, str."),
        ([{1.5}], "the elements of sets must be all strings or all integers; got float."),
        ([{2**64}], "integer elements must fit in 64 bits, signed or unsigned."),
        (pa.table({"id": [3, 3], "text": ["a", "b"]}), "ids must be unique; 3 occurs more than once. "),
        (pa.table({"id": ["x", "x"], "text": ["a", "b"]}), "ids must be unique; 'x' occurs more than once. "),
        ("/no/such/file", "/no/such/file: no such file or folder."),
    ],
)
def test_errors_of_data(items, message):
    with pytest.raises(DataError) as error:
        la.find_pairs(items)
    assert str(error.value).startswith(message)


def test_two_kinds_of_collections_do_not_match():
    with pytest.raises(UsageError) as error:
        la.find_matches(["a"], [{"a"}])
    assert str(error.value) == "two collections must both be texts, both be sets, both be vectors or both be bits."


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("frist", "keep must be one of lowest-id, first, longest; got 'frist'. Did you mean 'first'?"),
        ([1, 2], "keep must have a value for each of the 5 items; got 2."),
    ],
)
def test_errors_of_keep(keep, message):
    with pytest.raises(la.LookalikeError) as error:
        la.dedup(MATES, keep=keep)
    assert str(error.value) == message


def test_values_to_keep_by_must_be_of_one_kind():
    both = r"that of keep\[0\] is int, that of keep\[2\] is str\.$"
    with pytest.raises(
        la.LookalikeError, match=rf"^keep must be .* one value per item; they must have one type: {both}"
    ):
        la.dedup(MATES, keep=[1, None, "x", 3, 4])
    with pytest.raises(la.LookalikeError, match=r"^keep must be .* per item; values of type dict cannot be sorted\.$"):
        la.dedup(MATES, keep=[{}] * 5)
    with pytest.raises(
        la.LookalikeError, match=r"^keep must be 'lowest-id', 'first', 'longest' or one value per item; got 5\.$"
    ):
        la.dedup(MATES, keep=5)


# --- crowded buckets, and early errors ---


def test_clusters_say_when_a_crowd_was_not_searched(monkeypatch):
    """Many sets with a common core are almost similar; with a short reach, some are left out."""
    rng = np.random.default_rng(1)
    core = [f"core{i}" for i in range(60)]
    sets = [{*core, *(f"own{i}-{j}" for j in range(20))} for i in range(150)]
    sets += [{*list(one)[: rng.integers(77, 80)], f"new{i}"} for i, one in enumerate(map(sorted, sets[:40]))]
    monkeypatch.setattr("lookalike.search.cluster.reach", lambda items: 2)
    assert la.find_clusters(sets, threshold=0.8, run=ONE).stats["crowded"] > 0
    monkeypatch.undo()
    assert la.find_clusters(sets, threshold=0.8, run=ONE).stats["crowded"] == 0


def test_a_sample_of_long_texts_is_kept_short():
    """The plan looks at a few megabytes, however long the texts are."""
    from lookalike.search.sampling import SAMPLE_BYTES, sample_rows

    texts = pa.array(["x" * 1_000_000] * 50, pa.large_string())
    assert len(sample_rows(texts)) <= SAMPLE_BYTES // 1_000_000 + 3
    assert len(sample_rows(texts.slice(0, 1))) == 1


@pytest.mark.parametrize("options", [{"max_pairs": 0}, {"shingles": "word:0"}, {"k": 0}])
def test_bad_parameters_raise_before_anything_is_read(options):
    class Untouched:
        def __iter__(self):
            raise AssertionError("it was read")

    with pytest.raises(UsageError):
        la.find_pairs(Untouched(), **options)


def test_very_low_thresholds_take_the_exact_method():
    assert la.find_pairs(MATES, threshold=0.001, run=ONE).plan.method == "exact"
    with pytest.raises(UsageError, match=r"^threshold must be higher for method='lsh': 0.001 at recall 0.99 needs "):
        la.find_pairs(MATES, threshold=0.001, method="lsh")


def test_low_thresholds_where_no_method_can_be_given(tmp_path):
    """With files for large data, the advice is not to use another method."""
    path = tmp_path / "mates.txt"
    path.write_text("some text\nsome other text\n")
    with pytest.raises(UsageError) as error:
        la.find_pairs(path, threshold=0.005, memory="1GB", run=ONE)
    assert str(error.value) == (
        "threshold must be higher: 0.005 at recall 0.99 needs 919 minhashes, more than 512. "
        "Raise the threshold or lower the recall."
    )


def test_exact_pairs_stop_at_the_limit():
    with pytest.raises(la.LookalikeError, match=r"more than max_pairs = 10: "):
        la.find_pairs(near_copies(40), threshold=0.3, recall=1.0, max_pairs=10, run=ONE)


def test_unsigned_elements():
    pairs = la.find_pairs([{2**64 - 1, 2**63}, {2**63, 2**64 - 1}, {5}], threshold=0.9, run=ONE)
    assert positions(pairs) == {(0, 1): 1.0}


def test_a_set_of_texts_has_no_order():
    with pytest.raises(UsageError, match="got set"):
        la.find_pairs({"a", "b"})


def test_which_of_similar_items_is_kept_does_not_depend_on_the_order_of_the_input():
    """The lowest id is kept, also among items of the same length or value, unless the first is wanted."""
    table = pa.table({"id": ["b", "c", "a", "\u00e9", "Z"], "text": ["one and the same text"] * 5})
    for keep in ("lowest-id", "longest", [1, 1, 1, 1, 1]):
        assert la.dedup(table, keep=keep).kept.to_pylist() == ["Z"]
    assert la.dedup(table).kept.to_pylist() == ["Z"]
    assert la.dedup(table, keep="first").kept.to_pylist() == ["b"]
    assert la.dedup(table.set_column(0, "id", pa.array([10, 9, -3, 2, 100]))).kept.to_pylist() == [-3]
    assert la.dedup(table["text"].to_pylist()).kept.to_pylist() == [0]
