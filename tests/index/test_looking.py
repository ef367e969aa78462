"""Look up many items together, as one by one."""

import random

import numpy as np
import pytest

from lookalike.core.run import Run
from lookalike.index import Index, looking
from tests.index_samples import changed_texts_of, made


def alone(index, items, **options):
    """Return what is found of each item when it is looked up by itself."""
    return [
        (at, name, value) for at, item in enumerate(items) for name, value in index.query(item, **options)
    ]  # fmt: skip


def together(index, items, **options):
    """Return the same of items that are looked up together."""
    pairs = index.query_batch(items, **options).to_arrow()
    return list(zip(*(column.to_pylist() for column in pairs.columns), strict=True))


@pytest.mark.parametrize("store_text", [False, True])
@pytest.mark.parametrize("folded", [False, True])
def test_items_looked_up_together_find_what_each_finds_alone(place, monkeypatch, store_text, folded):
    """Copies, empty texts and removed items included, in blocks of any size, with any number of threads."""
    monkeypatch.setattr("lookalike.index.postings.MOST_RECENT", 0 if folded else 1000)
    texts = changed_texts_of(150, 3) + changed_texts_of(40, 0) + ["", ""]
    with made(place, store_text=store_text) as index:
        index.add(texts)
        index.remove(range(0, 150, 7))
        index.add(texts[:40], range(1000, 1040))
        asked = texts[::3] + changed_texts_of(20, 2, seed=2) + [""]
        for k in (1, 3, None):
            expected = alone(index, asked, k=k, threshold=0.7)
            assert len(expected) > 60
            assert together(index, asked, k=k, threshold=0.7) == expected
            for name, value in (("BLOCK", 500), ("TOGETHER", 7), ("FULL", 3)):
                with monkeypatch.context() as patch:
                    patch.setattr(looking, name, value)
                    assert together(index, asked, k=k, threshold=0.7, run=Run(3)) == expected


def test_vectors_looked_up_together(place):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(200, 10))
    rows[100:] = rows[:100] + 0.05 * draw.normal(size=(100, 10))
    with Index.build(place, rows, measure="angle", threshold=15) as index:
        found, expected = together(index, rows, k=2), alone(index, list(rows), k=2)
        assert [one[:2] for one in found] == [one[:2] for one in expected]
        assert [one[2] for one in found] == pytest.approx([one[2] for one in expected])
        assert len(found) > 300


def test_many_of_a_bucket_are_counted_as_alone(place, monkeypatch):
    """A bucket that is too full to be compared completely is reported, whichever way it was read."""
    monkeypatch.setattr(looking, "MOST", 20)
    monkeypatch.setattr(looking, "FULL", 10)
    texts = [f"a b c d e f g h i j {at}" for at in range(80)]
    random.Random(1).shuffle(texts)
    with made(place) as index:
        index.add(texts)
        each = [index.look(text) for text in texts]
        pairs = index.query_batch(texts)
        assert pairs.stats["crowded"] == sum(one.crowded for one in each) > 0
        assert pairs.stats["candidates"] == sum(one.candidates for one in each)
        assert pairs.stats["recall"] <= 1 - pairs.stats["crowded"] / len(texts)  # nothing is promised of these
