"""Check what an index finds, against brute force."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.index import Index
from lookalike.measures import jaccard
from tests.index_samples import changed_texts_of, texts_of


@cache
def shingled(text, shingles):
    return la.Shingles.parse(shingles).of(text)


def by_hand(texts, asked, shingles, threshold):
    """Return [(position, similarity)] of all similar texts, best first."""
    one = shingled(asked, shingles)
    values = [(jaccard(one, shingled(text, shingles)), at) for at, text in enumerate(texts)]
    return [(at, value) for value, at in sorted(values, key=lambda one: (-one[0], one[1])) if value >= threshold]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["build", "add"])
def test_documents_are_found_as_by_brute_force(place, way):
    """The recall is 0.99, most pairs are far above the threshold, and the seed is fixed."""
    texts = texts_of(600)
    options = {"threshold": 0.5, "shingles": "word:2", "expected": 1000}
    if way == "build":
        Index.build(place, texts, **options).close()
    else:
        with Index.create(place, **options) as index:
            assert index.add(texts[:250]) == 250
            assert index.add(texts[250:], batch=100) == 350
    with Index.open(place) as index:
        check_queries(index, texts)


def check_queries(index, texts):
    assert len(index) == 600
    found = expected = 0
    for asked in texts_of(90, seed=2) + texts[::7]:
        true = by_hand(texts, asked, "word:2", 0.5)
        got = index.query(asked, k=None)
        assert set(got) <= set(true)
        assert got == sorted(got, key=lambda one: -one[1])
        found, expected = found + len(got), expected + len(true)
    assert expected > 100
    assert found >= 0.98 * expected
    assert index.verify() == 600


def test_top_and_threshold(place):
    texts = ["a b c d e f", "a b c d e g", "a b c d x y", "a b c d e f"]
    with Index.build(place, texts, threshold=0.3, shingles="word:1") as index:
        assert index.query("a b c d e f", k=3) == [(0, 1.0), (3, 1.0), (1, 5 / 7)]
        assert index.query("a b c d e f", k=1) == [(0, 1.0)]
        assert index.query("a b c d e f", threshold=0.6, k=None) == [(0, 1.0), (3, 1.0), (1, 5 / 7)]
        assert index.query("", k=None) == []
        with pytest.raises(UsageError, match=r"^k must be "):
            index.query("a", k=0)


def test_batches_are_asked_as_single_items_are(place):
    texts = texts_of(200)
    with Index.build(place, pa.table({"id": [f"t{i}" for i in range(200)], "text": texts}), threshold=0.5) as index:
        pairs = index.query_batch(texts[:50], k=5)
        single = [(at, *one) for at in range(50) for one in index.query(texts[at], k=5)]
        assert list(pairs) == single


# --- nothing is lost ---


def test_a_lower_threshold_tells_its_recall(run, inputs, place):
    Index.build(place, texts_of(50), threshold=0.8, expected=10_000_000).close()
    (inputs / "a.txt").write_text(texts_of(1)[0] + "\n")
    low, high = (
        run("index", "query", place, inputs / "a.txt", "-t", t).err.split("threshold ")[1][:6] for t in ("0.3", "0.9")
    )
    assert float(low) < 0.9 < 0.99 < float(high)


def test_a_query_far_below_the_threshold_gets_a_note(run, inputs, place):
    """The note gives the figure of the index's curve; near the threshold there is none."""
    with Index.build(place, texts_of(50), threshold=0.8, expected=10_000_000) as index:
        recall = index.recall(0.3)
    (inputs / "a.txt").write_text(texts_of(1)[0] + "\n")
    note = (
        f"note: the index was built for a threshold of 0.8; it finds only {recall:.2%} of the matches at 0.3. "
        "To find more, build an index with --threshold 0.3"
    )
    assert note in run("index", "query", place, inputs / "a.txt", "-t", "0.3").err.splitlines()
    for near in (("-t", "0.8"), ("-t", "0.9"), ()):
        assert "note:" not in run("index", "query", place, inputs / "a.txt", *near).err


def test_the_stated_recall_of_the_nearest_is_kept(place):
    """At threshold 0: of the k most similar texts, at least the stated share is found."""
    texts = changed_texts_of(400, 4)
    with Index.build(place, texts, threshold=0.4, shingles="word:1", seed=1) as index:
        for k, threshold in ((1, None), (3, 0), (10, 0), (3, 0.5)):
            pairs = index.query_batch(texts, k=k, threshold=threshold)
            values = [[] for _ in texts]
            for row, value in zip(pairs.left.tolist(), pairs.similarity.tolist(), strict=True):
                values[row].append(value)
            share = []
            for text, got in zip(texts, values, strict=True):
                true = [value for _, value in by_hand(texts, text, "word:1", threshold or index.threshold)][:k]
                share.append(sum(one == other for one, other in zip(got, true, strict=False)) / len(true))
            assert pairs.stats["recall"] <= sum(share) / len(share) + 0.01
            assert k > 1 or pairs.stats["recall"] > 0.9


def test_the_stated_recall_of_the_nearest_vectors(place):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(300, 4))
    with Index.build(place, rows, measure="euclidean", threshold=1, seed=1) as index:
        near, far = (index.query_batch(rows, k=2, threshold=threshold).stats["recall"] for threshold in (0.5, 3))
        assert 0.3 < far < near <= 1
    with Index.create(place.with_name("none")) as empty:
        assert empty.query_batch(["a text"]).stats["recall"] == 1
