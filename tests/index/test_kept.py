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
                assert [number for number, _ in reader.kept.since(some)] == [
                    one for one in sorted(there) if one >= some
                ]
                assert all(bytes(reader.kept.get(number)) == record for number, record in there.items())
    assert rounds > 3


@pytest.mark.slow
def test_scattered_changes_leave_no_gaps(tmp_path):
    """After two changes for each item the file is little larger than a compacted one, and nothing is lost."""
    texts = texts_of(6000)
    draw = random.Random(1)
    with Index.build(tmp_path / "some.index", texts[:3000], threshold=0.8, store_text=True, seed=1) as index:
        ids = list(range(3000))
        for start in range(3000, 6000, 50):
            gone = draw.sample(ids, 50)
            index.remove(gone)
            added = range(start, start + 50)
            index.add(texts[start : start + 50], added)
            ids = [*(set(ids) - set(gone)), *added]
        assert sorted(index.ids()) == sorted(ids)
        assert index.verify() == 3000
        sizes = index.info(buckets=False)
        items, kept_items = sizes["bytes of items"], index.store.byte_size()
        before = state(index)
        index.compact()
        assert state(index) == before
        assert items <= 1.2 * index.info(buckets=False)["bytes of items"]
        assert kept_items <= 1.6 * index.store.byte_size()  # of so small an index: gaps are those of two changes
