"""Check streaming deduplication: what is kept and removed, and what the index holds afterwards."""

import itertools
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike import measures
from lookalike.core.errors import DataError, UsageError
from lookalike.index import Index
from lookalike.io.documents import Source
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.vectors import Vectors
from tests.commands import left_in
from tests.index_samples import changed_texts_of, clear, made, state


def array(texts):
    return pa.array(texts, pa.large_string())


def words(text):
    return set(text.split())


def similarity(one, other):
    return measures.jaccard(words(one), words(other)) if one and other else 0.0


def by_hand(texts, seen, threshold, near=similarity):
    """Return which texts one pass over them keeps."""
    seen, keep = list(seen), []
    for text in texts:
        keep.append(all(near(text, other) < threshold for other in seen))
        if keep[-1]:
            seen.append(text)
    return keep


# --- against brute force ---


@pytest.mark.slow
@pytest.mark.parametrize("update", [False, True])
def test_a_walk_by_hand_keeps_the_same(place, update):
    """All pairs are far from the threshold."""
    texts = changed_texts_of(500, changes=1)
    old, new = texts[:200], texts[200:]
    with made(place) as index:
        index.add(old)
        sifted = index.sift(new, update=update)
        assert sifted.keep.tolist() == by_hand(new, old, 0.6)
        assert sifted.keep.sum() > 100
        assert (~sifted.keep).sum() > 100
        assert sifted.ids == list(range(200, 500))
        check_dropped(sifted, dict(enumerate(texts)), 200, 0.6)
        assert index.verify() == 200 + (sifted.keep.sum() if update else 0)


def check_dropped(sifted, texts, old, threshold, near=similarity, far=False):
    """Check that each removed item is as near as stated to a kept or old one; return the number."""
    kept = {name for name, keep in zip(sifted.ids, sifted.keep, strict=True) if keep}
    dropped = 0
    for name, keep, like, value in zip(sifted.ids, sifted.keep, sifted.like, sifted.values, strict=True):
        if keep:
            assert like is None
            continue
        assert like < name
        assert like < old or like in kept
        assert value == pytest.approx(near(texts[name], texts[like]), abs=1e-6)
        assert value <= threshold if far else value >= threshold
        dropped += 1
    return dropped


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "threshold"), [(5, 0.6), (3, 0.7)])
def test_near_the_threshold_few_are_missed(place, changes, threshold):
    """Items are removed by their true similarity; a few in a hundred may be missed."""
    texts = changed_texts_of(500, changes=changes, seed=3)
    with made(place, threshold=threshold) as index:
        index.add(texts[:100])
        sifted = index.sift(texts[100:], update=True)
        dropped = check_dropped(sifted, dict(enumerate(texts)), 100, threshold)
        seen, missed = texts[:100], 0
        for text, keep in zip(texts[100:], sifted.keep, strict=True):
            missed += keep and any(similarity(text, other) >= threshold for other in seen)
            seen += [text] if keep else []
        assert dropped > 50
        assert missed <= 0.03 * (dropped + missed)
        assert index.verify() == len(seen)


@pytest.mark.parametrize("threshold", [0.6, "3/5", "0.60"])
def test_right_at_the_threshold(place, threshold):
    """Three fifths is enough, four sevenths is not."""
    at = [f"{n}a {n}b {n}c {n}{end}" for n in range(200) for end in "de"]
    below = [f"{n}p {n}q {n}r {n}s {n}{ends}" for n in range(50) for ends in (f"t {n}u {n}v", "x")]
    with made(place, threshold=threshold) as index:
        sifted = index.sift(at + below)
        assert sifted.keep[:400:2].all()
        assert sifted.keep[400:].all()
        dropped = ~sifted.keep[1:400:2]
        assert dropped.sum() >= 0.95 * 200
        assert set(sifted.values[1:400:2][dropped]) == {0.6}


def test_another_threshold(place):
    texts = ["a b c d e f g h", "a b c d e f g i", "a b c d x y z u"]
    with made(place, threshold=0.2) as index:
        index.add(texts[:1])
        assert index.sift(texts[1:]).keep.tolist() == [False, False]
        assert index.sift(texts[1:], threshold=0.5).keep.tolist() == [False, True]
        assert index.sift(texts[1:], threshold=1).keep.tolist() == [True, True]
        with pytest.raises(UsageError, match=r"^threshold must "):
            index.sift(texts, threshold=1.5, update=True)
        assert index.verify() == 1


def test_the_most_similar_item_is_named(place):
    """The best match in the index; without one, the best of the items kept before."""
    with made(place, threshold=0.5) as index:
        index.add(["a b c d e f g x", "a b c d e f y z"], ["near", "far"])
        sifted = index.sift(["a b c d e f g h", "1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 9"], ["p", "q", "r"])
        assert sifted.like == ["near", None, "q"]
        assert sifted.values.tolist() == [7 / 9, 0, 7 / 9]
        assert sifted.stats["candidates"] >= 2
        assert sifted.stats["crowded"] == 0


numbers = st.integers(0, 6)  # 0 is the empty text
lists = st.lists(st.lists(numbers, max_size=5), max_size=3)


@given(lists, st.lists(st.tuples(st.booleans(), lists), max_size=4))
@settings(max_examples=20)
def test_whatever_comes(tmp_path_factory, first, passes):
    """Texts are identical or share nothing, in passes of some batches; numbers continue."""
    texts = ["", *map(clear, range(1, 7))]
    with Index.create(tmp_path_factory.mktemp("index") / "one", store_text=True) as index:
        for batch in first:
            index.add([texts[number] for number in batch])
        kept = dict(enumerate(itertools.chain(*first)))
        following = len(kept)
        for update, batches in passes:
            seen, number = dict(kept), following
            before = state(index)
            with index.sieve(update=update) as sieve:
                for batch in filter(None, batches):
                    sifted = sieve.sift(array([texts[one] for one in batch]))
                    assert sifted.ids == list(range(number, number + len(batch)))
                    for name, one, keep, like in zip(sifted.ids, batch, sifted.keep, sifted.like, strict=True):
                        assert keep == (one == 0 or one not in seen.values())
                        assert keep or like == min(old for old in seen if seen[old] == one)
                        seen |= {name: one} if keep and one else {}  # an empty text is kept, but not added
                    number += len(batch)
            if update:
                kept, following = seen, number
            else:
                assert state(index) == before
            assert index.verify() == len(kept) == len(index)
            assert {name: index.item(name) for name in index.ids()} == {name: texts[kept[name]] for name in kept}


@pytest.mark.slow
def test_the_batch_size_does_not_matter(tmp_path):
    texts = changed_texts_of(300, changes=1)
    found = []
    for size in (1, 700, 5000, 1 << 20):
        with made(tmp_path / str(size)) as index:
            sifted = index.sift(Source(pa.table({"text": texts}), batch_bytes=size), update=True)
            found.append((sifted.ids, sifted.keep.tolist(), sifted.like, sifted.values.tolist(), list(index.ids())))
            assert index.verify() == sum(found[-1][1])
    assert all(one == found[0] for one in found)
    assert found[0][1] == by_hand(texts, [], 0.6)


# --- the index afterwards ---


def test_without_update_nothing_changes(place, tmp_path, monkeypatch):
    """No byte changes and no folder is left, but duplicates among the items are removed."""
    with made(place) as index:
        index.add([clear(1), clear(2)])
    before = (place / "data.mdb").read_bytes()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for read_only in (False, True):
        with Index.open(place, read_only=read_only) as index:
            for _ in range(2):
                sifted = index.sift([clear(3), clear(1), clear(3), clear(4)])
                assert sifted.keep.tolist() == [True, False, False, True]
                assert sifted.like == [None, 0, 2, None]
            assert index.verify() == 2
        assert (place / "data.mdb").read_bytes() == before
    assert left_in(folder) == set()


def test_with_update_what_is_kept_is_added(place):
    with made(place, store_text=True) as index:
        index.add([clear(1)], ["one"])
        sifted = index.sift([clear(1), clear(2), clear(2), clear(3)], ["a", "b", "c", "d"], update=True)
        assert sifted.keep.tolist() == [False, True, False, True]
        assert sifted.like == ["one", None, "b", None]
        assert list(index.ids()) == ["one", "b", "d"]
        assert [index.item(name) for name in ("b", "d")] == [clear(2), clear(3)]
        assert index.query(clear(3)) == [("d", 1.0)]
        assert index.verify() == 3
    with Index.open(place) as index:
        again = index.sift([clear(3), clear(2), clear(1)], update=True)
        assert again.like == ["d", "b", "one"]
        assert index.verify() == 3


def test_a_read_only_index_is_not_updated(place):
    made(place).close()
    with Index.open(place, read_only=True) as index:
        with pytest.raises(DataError, match=r"was opened read-only\.$"):
            index.sift([clear(1)], update=True)
        assert index.sift([clear(1)] * 2).keep.tolist() == [True, False]
        assert len(index) == 0


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, DataError])
@pytest.mark.parametrize("there", [0, 1, 30])
def test_an_error_leaves_all_as_it_was(place, tmp_path, monkeypatch, update, error, there):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with made(place) as index:
        index.add([clear(number) for number in range(there)])
        before = state(index)
        with pytest.raises(error, match=r"^stop$"), index.sieve(update=update) as sieve:  # noqa: PT012
            assert sieve.sift(array([clear(100), clear(101)])).keep.all()
            assert sieve.sift(array([clear(100), clear(102)]), ["x", "y"]).keep.tolist() == [False, True]
            raise error("stop")
        assert state(index) == before
        assert index.verify() == there
        assert left_in(folder) == set()
        assert index.sift([clear(101)], update=True).ids == [there]
        assert index.verify() == there + 1
    with Index.open(place) as index:
        assert index.verify() == there + 1


def test_too_few_ids(place):
    with made(place) as index:
        index.add([clear(1)])
        before = state(index)
        with pytest.raises(DataError, match=r"^there must be as many ids as items; got fewer ids than items\.$"):
            index.sift([clear(2), clear(3)], ["a"], update=True)
        assert state(index) == before


def test_too_many_ids(place):
    with made(place) as index:
        with pytest.raises(DataError, match=r"^there must be as many ids as items; got more than 1 id for 1 item\.$"):
            index.sift([clear(1)], ["a", "b"], update=True)
        assert len(index) == 0


def test_items_of_another_kind(place):
    with made(place) as index:
        index.add([clear(1)])
        before = state(index)
        with pytest.raises(DataError, match=r"^the index holds texts; got sets\.$"):
            index.sift(Sets.of([{1, 2}]), update=True)
        assert state(index) == before


def test_nothing_to_sift(place):
    with made(place) as index:
        sifted = index.sift([], update=True)
        assert (sifted.ids, sifted.like, len(sifted.keep), len(sifted.values)) == ([], [], 0, 0)
        assert len(index) == 0
        assert index.sift([{1, 2}, {1, 2}], update=True).keep.tolist() == [True, False]


def test_empty_texts_are_kept(place):
    """They are not added, or an index would have more of them with every run."""
    with made(place) as index:
        sifted = index.sift(["", "", " ", clear(1), ""], update=True)
        assert (sifted.keep.all(), sifted.stats["empty"]) == (True, 4)
        assert index.sift([""], update=True).keep.all()
        assert index.verify() == 1


def test_identical_texts(place):
    """One of a thousand copies is kept."""
    with made(place) as index:
        sifted = index.sift([clear(1)] * 1000 + [clear(2)] * 1000, update=True)
        assert np.flatnonzero(sifted.keep).tolist() == [0, 1000]
        assert set(sifted.like) == {None, 0, 1000}
        assert index.verify() == 2


def test_without_update_an_index_may_still_be_of_any_kind(place):
    with made(place) as index:
        index.sift([clear(1)])
        assert index.add([{1, 2}]) == 1


WRITER = """
import sys
from lookalike.index import Index
with Index.open(sys.argv[1]) as index:
    index.add(sys.stdin.read().split("\\n"))
"""


@pytest.mark.slow
def test_another_process_begins_the_index(place):
    """Bands chosen for items that were not added do not replace its bands."""
    draw = random.Random(1)
    long = [" ".join(str(draw.randrange(10**6)) for _ in range(400)) for _ in range(20)]
    with made(place) as index:
        index.sift(["a b c d", "e f g h"])
        subprocess.run([sys.executable, "-c", WRITER, place], input="\n".join(long), text=True, check=True)
        try:
            assert not index.sift(long, update=True).keep.any()
        except DataError as error:
            assert "another process has begun the index; open it again." in str(error)  # noqa: PT017
    with Index.open(place) as index:
        assert index.verify() == 20


# --- ids ---


def test_items_without_ids_are_numbered_on(place):
    """Removed items get numbers too, and no number is given twice."""
    with made(place) as index:
        assert index.sift([clear(1), clear(1), clear(2)], update=True).ids == [0, 1, 2]
        assert list(index.ids()) == [0, 2]
    with Index.open(place) as index:
        assert index.sift([clear(1)], update=False).ids == [3]
        assert index.sift([clear(1)], update=True).ids == [3]
        assert index.sift([clear(3), clear(4)], update=True).ids == [4, 5]
        index.remove([5])
        assert index.sift([clear(5)], update=True).ids == [6]
        assert index.add([clear(6)]) == 1
        assert list(index.ids()) == [0, 2, 4, 6, 7]
        assert index.verify() == 5


def test_own_numbers_are_not_given_again(place):
    with made(place) as index:
        index.add([clear(1), clear(2), clear(3)], [5, -7, "9"])
        assert index.sift([clear(4), clear(5)], update=True).ids == [6, 7]
        assert index.sift([clear(6)], np.array([40]), update=True).ids == [40]
        assert index.sift([clear(7)], update=True).ids == [41]
        assert list(index.ids()) == [5, -7, "9", 6, 7, 40, 41]
        assert index.verify() == 7


def test_batches_with_and_without_ids(place):
    """Within one sieve, a number in use is not given to another item."""
    with made(place) as index:
        with index.sieve(update=True) as sieve:
            assert sieve.sift(array([clear(1)]), [0]).ids == [0]
            assert sieve.sift(array([clear(2)])).ids == [1]
        assert index.verify() == 2


def test_an_id_that_is_there_is_replaced(place):
    with made(place, store_text=True) as index:
        index.add([clear(1), clear(2)], ["a", 7])
        assert index.sift([clear(3), clear(2)], ["a", 7], update=True).keep.all()  # not similar to themselves
        assert index.item("a") == clear(3)
        assert index.query(clear(1)) == []
        assert index.query(clear(3)) == [("a", 1.0)]
        assert index.verify() == 2
        assert index.sift([clear(5)], ["7"], update=True).keep.all()  # not the number
        assert index.verify() == 3


def test_an_id_that_is_there_with_and_without_update(tmp_path):
    """Which items are kept does not depend on `update`."""
    found = []
    for update in (False, True):
        with made(tmp_path / str(update)) as index:
            index.add([clear(1)], ["a"])
            found.append(index.sift([clear(2), clear(1)], ["a", "b"], update=update).keep.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("update", [False, True])
def test_an_id_twice_in_one_pass(place, update):
    """A kept text is not kept again, or there is an error as in `add`."""
    with made(place) as index:
        try:
            sifted = index.sift([clear(1), clear(2), clear(1)], ["a", "a", "b"], update=update)
        except DataError as error:
            assert "'a'" in str(error)  # noqa: PT017
            assert len(index) == 0
        else:
            assert sifted.keep.tolist() == [True, True, False]


# --- other kinds of items ---


@pytest.mark.slow
@pytest.mark.parametrize("update", [False, True])
def test_vectors(place, update):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(600, 20))
    rows[1::2] = rows[::2] + 0.03 * draw.normal(size=(300, 20))
    rows = rows[draw.permutation(600)]
    with Index.create(place, measure="angle", threshold=15, expected=1000) as index:
        index.add(rows[:100])
        sifted = index.sift(rows[100:], update=update)
        near = measures.MEASURES["angle"]
        dropped = check_dropped(sifted, rows, 100, 15, near, far=True)
        expected = by_hand(rows[100:], rows[:100], -15, lambda x, y: -np.degrees(np.arccos(min(1, cosine(x, y)))))
        assert dropped > 200
        assert np.mean(sifted.keep == expected) >= 0.99
        assert index.verify() == 100 + (sifted.keep.sum() if update else 0)
        before = state(index)
        with pytest.raises(DataError, match=r"^vectors must have 20 dimensions"):
            index.sift(Vectors.of(rows[:, :5]), update=True)
        assert state(index) == before


def cosine(x, y):
    return x @ y / np.sqrt((x @ x) * (y @ y))


def test_bits(place):
    """The method is exact: nothing is missed."""
    draw = np.random.default_rng(2)
    codes = draw.integers(0, 1 << 62, 300).astype(np.uint64)
    codes[100:] = draw.choice(codes[:100], 200) ^ (np.uint64(1) << draw.integers(0, 62, 200).astype(np.uint64))
    codes[200:] ^= np.uint64(1) << draw.integers(0, 62, 100).astype(np.uint64)
    codes = codes[draw.permutation(300)]

    def apart(x, y):
        return (int(x) ^ int(y)).bit_count()

    with Index.create(place, measure="hamming", threshold=2) as index:
        index.add(codes[:50])
        sifted = index.sift(Bits.of(codes[50:]), update=True)
        assert sifted.keep.tolist() == by_hand(codes[50:], codes[:50], -2, lambda x, y: -apart(x, y))
        assert check_dropped(sifted, codes, 50, 2, apart, far=True) > 50
        assert index.verify() == 50 + sifted.keep.sum()


def test_sets(place):
    with Index.create(place, threshold=0.5) as index:
        index.add([{1, 2, 3, 4}], ["a"])
        sifted = index.sift([{1, 2, 3, 5}, {7, 8}, {8, 7}, set()], ["b", "c", "d", "e"], update=True)
        assert sifted.keep.tolist() == [False, True, False, True]
        assert sifted.like == ["a", None, "c", None]
        assert sifted.values.tolist() == [0.6, 0, 1, 0]
        assert index.verify() == 2
        named = replace(Sets.of([{7, 8}, {9}]), ids=pa.array(["x", "y"]))
        assert index.sift(named, update=True).ids == ["x", "y"]
        assert list(index.ids()) == ["a", "c", "y"]


@pytest.mark.parametrize("items", [[Counter("aaaa"), Counter("a"), Counter("aaaa")], ["a a a a", "a", "a a a a"]])
def test_bags(place, items):
    with Index.create(place, measure="bag_jaccard", threshold=0.8, shingles="word:1") as index:
        assert index.sift(items, update=True).keep.tolist() == [True, True, False]
        assert index.verify() == 2
