"""Records of items in full pages: removed ones are swept away, stride by stride."""

import random

import pytest

from lookalike.index import Index, kept
from tests.index_samples import made, state, texts_of


@pytest.mark.parametrize("seed", range(3))
def test_records_stay_in_order_through_many_rounds(place, monkeypatch, seed):
    """The table agrees with a dictionary, however it is changed and swept."""
    monkeypatch.setattr(kept, "STRIDE", 5)
    monkeypatch.setattr(kept, "LEAST_REMOVED", 2)
    monkeypatch.setattr(kept, "STRIDE_BYTES", 60)
    draw = random.Random(seed)
    there, first = {}, 0
    with made(place) as index:
        for step in range(300):
            with index.store.writing() as writer:
                table = writer.kept
                if step % 3:
                    table.put(first, bytes([step % 251]) * draw.randrange(30))
                    there[first] = bytes(table.get(first))
                    first += 1
                else:
                    new = {first + at: bytes([at, step % 251]) for at in range(draw.randrange(8))}
                    table.extend(new.items())
                    there |= new
                    first += len(new)
                for number in draw.sample(sorted(there), min(len(there) // 3, draw.randrange(4))):
                    table.remove(number)
                    del there[number]
                table.tidy(len(there), draw.randrange(3))
                rounds = table.round
            with index.store.reading() as reader:
                assert [(number, bytes(record)) for number, record in reader.kept.since()] == sorted(there.items())
                some = draw.randrange(first + 2)
                later = [number for number, _ in reader.kept.since(some)]
                assert later == [number for number in sorted(there) if number >= some]
                assert all(bytes(reader.kept.get(number)) == record for number, record in there.items())
    assert rounds > 3


@pytest.mark.slow
def test_scattered_changes_leave_no_gaps(place):
    """The items stay in full pages, the pages of old ones are used again, and nothing is lost.

    The index is small beside a change, so gaps of that size remain.
    """
    texts = texts_of(4500)
    draw = random.Random(1)
    with Index.build(place, texts[:1500], threshold=0.8, store_text=True, seed=1) as index:
        ids = list(range(1500))
        for start in range(1500, 4500, 100):
            gone = set(draw.sample(ids, 100))
            index.remove(gone)
            added = range(start, start + 100)
            index.add(texts[start : start + 100], added)
            ids = [*(name for name in ids if name not in gone), *added]
        assert list(index.ids()) == ids
        assert index.verify() == 1500
        before, sizes = state(index), index.info(buckets=False)
        index.compact()
        assert state(index) == before
        compacted = index.info(buckets=False)
        assert sizes["bytes of items"] <= 1.3 * compacted["bytes of items"]
        assert sizes["bytes"] - compacted["bytes"] < 1_000_000
