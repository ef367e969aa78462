"""Streaming deduplication: what is kept and dropped, what an index has of it, and that a failed run changes nothing."""

import csv
import ctypes
import functools
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike import measures
from lookalike.core.errors import DataError, UsageError
from lookalike.index import Index
from lookalike.io.documents import Source
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.vectors import Vectors
from tests.commands import complaint, left_in

WORDS = [f"w{number}" for number in range(300)]


def clear(number):
    """Texts that have no shingle of char:9 or word:1 in common."""
    return " ".join(f"{number}x{at}" for at in range(100, 110))


def texts_of(count, changes, seed=1):
    """Texts of twenty words; every other one is a text before it with so many words changed."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        words = draw.choice(texts).split() if number % 2 else draw.choices(WORDS, k=20)
        for at in draw.sample(range(20), changes if number % 2 else 0):
            words[at] = draw.choice(WORDS)
        texts.append(" ".join(words))
    return texts


def array(texts):
    return pa.array(texts, pa.large_string())


def words(text):
    return set(text.split())


def similarity(one, other):
    return measures.jaccard(words(one), words(other)) if one and other else 0.0


def by_hand(texts, seen, threshold, near=similarity):
    """Which texts a walk over them keeps."""
    seen, keep = list(seen), []
    for text in texts:
        keep.append(all(near(text, other) < threshold for other in seen))
        if keep[-1]:
            seen.append(text)
    return keep


def state(index):
    """All that an index holds, to the last byte."""
    with index.store.reading() as reader:
        tables = {name: list(reader.pairs(name)) for name in ("items", "texts", "ids", "contents", "buckets")}
        return tables, reader.settings(), len(reader), reader.next_id()


def state_in(path):
    with Index.open(path, read_only=True) as index:
        index.verify()
        return state(index)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "some.index"


def made(place, **options):
    return Index.create(place, **({"threshold": 0.6, "shingles": "word:1", "expected": 1000} | options))


# --- as by brute force ---


@pytest.mark.parametrize("update", [False, True])
def test_a_walk_by_hand_keeps_the_same(place, update):
    """All pairs are far from the threshold."""
    texts = texts_of(500, changes=1)
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
    """Each is as near to the item before it as it says, and that is kept or old; returns how many."""
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


@pytest.mark.parametrize(("changes", "threshold"), [(5, 0.6), (3, 0.7)])
def test_near_the_threshold_few_are_missed(place, changes, threshold):
    """What is dropped is so by its true similarity; of the others a few in a hundred may be missed."""
    texts = texts_of(500, changes=changes, seed=3)
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


def test_the_most_similar_is_told(place):
    """The best of the index, and only without one there the best of those kept before."""
    with made(place, threshold=0.5) as index:
        index.add(["a b c d e f g x", "a b c d e f y z"], ["near", "far"])
        sifted = index.sift(["a b c d e f g h", "1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 9"], ["p", "q", "r"])
        assert sifted.like == ["near", None, "q"]
        assert sifted.values.tolist() == [7 / 9, 0, 7 / 9]
        assert sifted.candidates >= 2
        assert sifted.crowded == 0


numbers = st.integers(0, 6)  # 0 is the empty text
lists = st.lists(st.lists(numbers, max_size=5), max_size=3)


@given(lists, st.lists(st.tuples(st.booleans(), lists), max_size=4))
@settings(max_examples=20)
def test_whatever_comes(tmp_path_factory, first, passes):
    """Texts that are the same or have nothing in common, in passes of some batches; ids are numbered on."""
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
                        seen |= {name: one} if keep and one else {}  # an empty one is kept, but not added
                    number += len(batch)
            if update:
                kept, following = seen, number
            else:
                assert state(index) == before
            assert index.verify() == len(kept) == len(index)
            assert {name: index.item(name) for name in index.ids()} == {name: texts[kept[name]] for name in kept}


def test_the_batch_size_does_not_matter(tmp_path):
    texts = texts_of(300, changes=1)
    found = []
    for size in (1, 700, 5000, 1 << 20):
        with made(tmp_path / str(size)) as index:
            sifted = index.sift(Source(pa.table({"text": texts}), batch_bytes=size), update=True)
            found.append((sifted.ids, sifted.keep.tolist(), sifted.like, sifted.values.tolist(), list(index.ids())))
            assert index.verify() == sum(found[-1][1])
    assert all(one == found[0] for one in found)
    assert found[0][1] == by_hand(texts, [], 0.6)


# --- what is in the index then ---


def test_without_update_nothing_changes(place, tmp_path, monkeypatch):
    """Not a byte, and no folder is left; duplicates within the items are dropped nevertheless."""
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
        with pytest.raises(DataError, match=r"was opened to be read only\.$"):
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
        with pytest.raises(error), index.sieve(update=update) as sieve:  # noqa: PT012
            assert sieve.sift(array([clear(100), clear(101)])).keep.all()
            assert sieve.sift(array([clear(100), clear(102)]), ["x", "y"]).keep.tolist() == [False, True]
            raise error
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
        with pytest.raises(DataError, match=r"^ids must name each item; there are fewer of them\.$"):
            index.sift([clear(2), clear(3)], ["a"], update=True)
        assert state(index) == before


def test_too_many_ids(place):
    with made(place) as index:
        with pytest.raises(DataError, match=r"^ids must name each item; there are more than the 1 items?\.$"):
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
    """But not added, or an index would have more of them with every run."""
    with made(place) as index:
        sifted = index.sift(["", "", " ", clear(1), ""], update=True)
        assert (sifted.keep.all(), sifted.empty) == (True, 4)
        assert index.sift([""], update=True).keep.all()
        assert index.verify() == 1


def test_identical_texts(place):
    """Of a thousand copies one is kept."""
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


def test_another_process_begins_the_index(place):
    """Its bands are not replaced by those that were chosen for items that were not added."""
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
    """Those that are dropped have numbers, too; none is given twice."""
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
    """Within one sieve: a number that is taken is not given to another item."""
    with made(place) as index:
        with index.sieve(update=True) as sieve:
            assert sieve.sift(array([clear(1)]), [0]).ids == [0]
            assert sieve.sift(array([clear(2)])).ids == [1]
        assert index.verify() == 2


def test_an_id_that_is_there_is_replaced(place):
    with made(place, store_text=True) as index:
        index.add([clear(1), clear(2)], ["a", 7])
        sifted = index.sift([clear(3), clear(2)], ["a", 7], update=True)
        assert sifted.keep.tolist() == [True, False]
        assert sifted.like == [None, 7]
        assert index.item("a") == clear(3)
        assert index.query(clear(1)) == []
        assert index.query(clear(3)) == [("a", 1.0)]
        assert index.verify() == 2
        assert index.sift([clear(5)], ["7"], update=True).keep.all()  # not the number
        assert index.verify() == 3


def test_an_id_that_is_there_with_and_without_update(tmp_path):
    """What is kept does not depend on whether it is added."""
    found = []
    for update in (False, True):
        with made(tmp_path / str(update)) as index:
            index.add([clear(1)], ["a"])
            found.append(index.sift([clear(2), clear(1)], ["a", "b"], update=update).keep.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("update", [False, True])
def test_an_id_twice_in_one_pass(place, update):
    """A text that was kept is not kept again: that, or an error as `add` has it."""
    with made(place) as index:
        try:
            sifted = index.sift([clear(1), clear(2), clear(1)], ["a", "a", "b"], update=update)
        except DataError as error:
            assert "'a'" in str(error)  # noqa: PT017
            assert len(index) == 0
        else:
            assert sifted.keep.tolist() == [True, True, False]


# --- other kinds of items ---


@pytest.mark.parametrize("update", [False, True])
def test_vectors(place, update):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(600, 20))
    rows[1::2] = rows[::2] + 0.03 * draw.normal(size=(300, 20))
    rows = rows[draw.permutation(600)]
    with Index.create(place, measure="cosine", threshold=15, expected=1000) as index:
        index.add(rows[:100])
        sifted = index.sift(rows[100:], update=update)
        near = measures.MEASURES["cosine"]
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
    """An exact method: nothing is missed."""
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


# --- the command ---


def lines_of(*numbers, first=0, **more):
    """Lines of JSON with such texts."""
    rows = [{"id": f"d{at}", "text": clear(number), **more} for at, number in enumerate(numbers, first)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def removed_in(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def seen(run, inputs, out):
    """An index of the texts 1 and 2, called a and b."""
    (inputs / "seen.jsonl").write_text(f'{{"id": "a", "text": "{clear(1)}"}}\n{{"id": "b", "text": "{clear(2)}"}}\n')
    made = run("index", "build", out / "seen", inputs / "seen.jsonl", "-t", "0.6", "-q")
    assert made.code == 0, made.err
    return out / "seen"


def test_lines_stay_as_they_stood(run, inputs, out, seen):
    """Also where JSON could be written otherwise; keys that are in some lines alone are no matter."""
    odd = [
        b'{ "text" :"caf\\u00e9 ' + clear(3).encode() + b'", "n": 1.50,"id":"x"}',
        b'{"id": "y", "text": "' + clear(1).encode() + b'"}',
        '{"text": "é'.encode() + clear(4).encode() + b'", "id": "z", "deep": {"b": [1,  2]}}',
        b'{"id": "w", "text": "' + clear(4).encode() + b'"}',
        b'{"id": "v", "text": ""}',
        b'{"id": "u", "text": ""}',
    ]
    (inputs / "a.jsonl").write_bytes(b"\n".join(odd))
    before = (seen / "data.mdb").read_bytes()
    done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.jsonl", "--removed", out / "r.csv")
    assert done.code == 0, done.err
    assert (out / "n.jsonl").read_bytes() == b"".join(odd[at] + b"\n" for at in (0, 2, 4, 5))
    assert removed_in(out / "r.csv")[0] == {"id": "y", "kept": "a", "similarity": "1"}
    assert [(row["id"], row["kept"]) for row in removed_in(out / "r.csv")] == [("y", "a"), ("w", "z")]
    assert (seen / "data.mdb").read_bytes() == before
    assert (
        "read: 6 documents (2 empty)\nfound: 2 documents to drop, each similar to one seen before, and 4 to keep"
        in done.err
    )
    assert "index: 2 items, as before\n" in done.err
    assert left_in(out) == {"seen", "n.jsonl", "r.csv"}


def test_day_by_day(run, inputs, out):
    """The index is made on the first day; what came on any day before is dropped."""
    days = [(1, 2, 1), (2, 3, 4, 3), (4, 5, 1)]
    kept = ["1 2", "3 4", "5"]
    for day, numbers in enumerate(days):
        (inputs / "a.jsonl").write_text(lines_of(*numbers, first=10 * day))
        to = ("-o", out / "n.jsonl", "--removed", out / "r.csv")
        done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *to, "-t", "0.7")
        assert done.code == 0, done.err
        texts = [json.loads(line)["text"] for line in (out / "n.jsonl").read_text().splitlines()]
        assert texts == [clear(int(number)) for number in kept[day].split()]
        items = sum(len(some.split()) for some in kept[: day + 1])
        assert f"index: {items} item{'s' * (items > 1)}\n" in done.err
    assert [(row["id"], row["kept"]) for row in removed_in(out / "r.csv")] == [("d20", "d12"), ("d22", "d0")]
    with Index.open(out / "seen") as index:
        assert list(index.ids()) == ["d0", "d1", "d11", "d12", "d21"]
        assert index.verify() == 5
        assert index.settings["wanted"]["threshold"] == "0.7"
    assert left_in(out) == {"seen", "n.jsonl", "r.csv"}


def test_numbers_on_the_second_day(run, inputs, out):
    for numbers in ((1, 2, 1), (2, 3)):
        (inputs / "a.jsonl").write_text("".join(json.dumps({"text": clear(n)}) + "\n" for n in numbers))
        to = ("-o", out / "n.jsonl", "--removed", out / "r.jsonl")
        assert run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *to).code == 0
    assert (out / "r.jsonl").read_text() == '{"id": 3, "kept": 1, "similarity": 1.0}\n'
    with Index.open(out / "seen") as index:
        assert list(index.ids()) == [0, 1, 4]
        assert index.verify() == 3


def test_lines_of_text_have_the_ids_of_the_index(run, inputs, out):
    """The ids that are written are those by which the index knows the documents."""
    for numbers in ((1, 2, 1), (2, 3)):
        (inputs / "a.txt").write_text("".join(clear(n) + "\n" for n in numbers))
        assert run("dedup", inputs / "a.txt", "--against", out / "seen", "--update", "-o", out / "n.csv").code == 0
    with Index.open(out / "seen") as index:
        [(name, _)] = index.query(clear(3))
    assert [int(row["id"]) for row in removed_in(out / "n.csv")] == [name]


def test_parquet_with_further_columns(run, inputs, out, seen):
    table = pa.table(
        {
            "n": pa.array([1, 2, 3, 4], pa.int16()),
            "text": [clear(1), clear(3), clear(3), clear(4)],
            "id": ["p", "q", "r", "s"],
            "deep": [[1], None, [2, 3], []],
        }
    )
    pq.write_table(table, inputs / "a.parquet")
    to = ("-o", out / "n.parquet", "--removed", out / "r.parquet")
    done = run("dedup", inputs / "a.parquet", "--against", seen, "--update", *to)
    assert done.code == 0, done.err
    got = pq.read_table(out / "n.parquet")
    assert got.to_pylist() == table.take(pa.array([1, 3])).to_pylist()
    assert got.schema.types == table.schema.types
    assert got.schema.metadata[b"lookalike.index"] == b"seen"
    dropped = pq.read_table(out / "r.parquet")
    assert dropped.schema.names == ["id", "kept", "similarity"]
    assert dropped.to_pylist() == [
        {"id": "p", "kept": "a", "similarity": 1.0},
        {"id": "r", "kept": "q", "similarity": 1.0},
    ]
    with Index.open(seen) as index:
        assert list(index.ids()) == ["a", "b", "q", "s"]


def test_csv_to_all_kinds(run, inputs, out, seen):
    (inputs / "a.csv").write_text(f"id,n,text\nx,1,{clear(1)}\ny,2,{clear(3)}\nz,3,{clear(3)}\n")
    for name in ("n.csv", "n.jsonl", "n.arrow"):
        done = run("dedup", inputs / "a.csv", "--against", seen, "-o", out / name)
        assert done.code == 0, done.err
    assert removed_in(out / "n.csv") == [{"id": "y", "n": "2", "text": clear(3)}]
    assert json.loads((out / "n.jsonl").read_text())["text"] == clear(3)
    with pa.ipc.open_file(out / "n.arrow") as file:
        assert file.read_all()["id"].to_pylist() == ["y"]


def test_nothing_is_left(run, inputs, out, seen):
    """The columns are there nevertheless, and so are those of a file of what was dropped if nothing was."""
    (inputs / "a.csv").write_text(f"id,text\nx,{clear(1)}\n")
    (inputs / "b.csv").write_text(f"id,text\nx,{clear(9)}\n")
    for name in "ab":
        to = ("-o", out / f"{name}.csv", "--removed", out / f"{name}-removed.csv")
        assert run("dedup", inputs / f"{name}.csv", "--against", seen, *to).code == 0
    assert (out / "a.csv").read_text() == '"id","text"\n'
    assert (out / "b-removed.csv").read_text() == '"id","kept","similarity"\n'


def test_several_inputs(run, inputs, out, seen):
    """In their order, with the columns of all."""
    (inputs / "one.jsonl").write_text(lines_of(3, 1, 4, n=1))
    (inputs / "two.csv").write_text(f"id,text,m\nx,{clear(4)},u\ny,{clear(5)},v\n")
    both = (inputs / "one.jsonl", inputs / "two.csv")
    to = ("-o", out / "n.parquet", "--removed", out / "r.csv")
    done = run("dedup", *both, "--against", seen, *to)
    assert done.code == 0, done.err
    assert pq.read_table(out / "n.parquet").to_pylist() == [
        {"id": "d0", "text": clear(3), "n": 1, "m": None},
        {"id": "d2", "text": clear(4), "n": 1, "m": None},
        {"id": "y", "text": clear(5), "n": None, "m": "v"},
    ]
    assert [(row["id"], row["kept"]) for row in removed_in(out / "r.csv")] == [("d1", "a"), ("x", "d2")]
    (inputs / "two.jsonl").write_text(lines_of(4, 6, first=7))
    assert run("dedup", both[0], inputs / "two.jsonl", "--against", seen, "-o", out / "n.jsonl").code == 0
    assert [json.loads(line)["id"] for line in (out / "n.jsonl").read_text().splitlines()] == ["d0", "d2", "d8"]


def test_standard_input_and_output(run, seen):
    done = run("dedup", "-", "--format", "jsonl", "--against", seen, "--update", stdin=lines_of(1, 3, 3, 4).encode())
    assert done.code == 0, done.err
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["d1", "d3"]
    again = run("dedup", "-", "--format", "jsonl", "--against", seen, stdin=lines_of(4, 5).encode())
    assert [json.loads(line)["id"] for line in again.out.splitlines()] == ["d1"]
    with Index.open(seen) as index:
        assert index.verify() == 4


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_numbers_and_strings_as_ids(run, inputs, out, suffix):
    """Of two columns each is of numbers, or of strings if there is one; also if it comes late."""
    (inputs / "old.jsonl").write_text(f'{{"id": 17, "text": "{clear(1)}"}}\n{{"id": -3, "text": "{clear(2)}"}}\n')
    assert run("index", "build", out / "seen", inputs / "old.jsonl", "-q").code == 0
    (inputs / "a.jsonl").write_text(lines_of(2, 5, 1, 5))
    removed = out / f"r.{suffix}"
    to = ("-o", out / "n.jsonl", "--removed", removed)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", *to)
    assert done.code == 0, done.err
    expected = [("d0", "-3"), ("d2", "17"), ("d3", "d1")]
    assert [(row["id"], row["kept"]) for row in rows_in(removed)] == expected
    (inputs / "b.jsonl").write_text(f'{{"id": 5, "text": "{clear(2)}"}}\n{{"id": 6, "text": "{clear(1)}"}}\n')
    assert run("dedup", inputs / "b.jsonl", "--against", out / "seen", *to).code == 0
    number = str if suffix == "csv" else int
    assert [(row["id"], row["kept"]) for row in rows_in(removed)] == [
        (number(5), number(-3)),
        (number(6), number(17)),
    ]


def rows_in(path):
    if path.suffix == ".csv":
        return removed_in(path)
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return pq.read_table(path).to_pylist()


def test_strings_after_many_numbers(run, inputs, out, monkeypatch):
    """The first batches drop documents for numbers, the last one for a string."""
    monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=200))
    with Index.create(out / "seen") as index:
        index.add([clear(number) for number in range(40)], [*range(39), "last"])
    (inputs / "a.jsonl").write_text("".join(json.dumps({"id": n, "text": clear(n)}) + "\n" for n in range(40)))
    to = ("-o", out / "n.jsonl", "--removed", out / "r.parquet")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", *to)
    assert done.code == 0, done.err
    table = pq.read_table(out / "r.parquet")
    assert table["id"].to_pylist() == list(range(40))
    assert table["kept"].to_pylist() == [*map(str, range(39)), "last"]


@pytest.mark.parametrize("update", [(), ("--update",)])
@pytest.mark.parametrize("name", ["n.jsonl", "n.parquet", "n.csv"])
def test_the_same_whatever_the_size_of_batches(run, inputs, out, monkeypatch, update, name):
    """Byte for byte, in all files; the ids in the index, too."""
    texts = texts_of(150, changes=1)
    (inputs / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    found = []
    for size in (900, 1 << 22):
        monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=size))
        place = out / str(size)
        place.mkdir()
        with made(place / "seen") as index:
            index.add(texts[:20:3])
        to = ("-o", place / name, "--removed", place / "r.csv")
        done = run("dedup", inputs / "a.jsonl", "--against", place / "seen", *to, *update)
        assert done.code == 0, done.err
        with Index.open(place / "seen") as index:
            found.append(((place / name).read_bytes(), (place / "r.csv").read_bytes(), list(index.ids())))
            index.verify()
    assert all(one == found[0] for one in found)
    assert len(rows_in(place / "r.csv")) > 50


# --- what goes wrong changes nothing ---

TOO_LONG = "n" * 245 + ".csv"  # a name with room for no other


def failing(inputs, out):
    """Runs that fail after documents have been taken, and what they say."""
    good, bad = lines_of(3, 4), lines_of(3) + '{"id": "bad", "text": null}\n' + lines_of(4, first=5)
    (inputs / "good.jsonl").write_text(good)
    (inputs / "bad.jsonl").write_text(bad)
    (inputs / "late.jsonl").write_text(bad)
    pq.write_table(pa.table({"text": [clear(3), clear(4)], "bytes": [b"fine", b"\xff"]}), inputs / "bytes.parquet")
    return {
        "a bad row": ((inputs / "bad.jsonl", "-o", out / "n.jsonl"), "row 2: text is null"),
        "a bad row in the second input": (
            (inputs / "good.jsonl", inputs / "late.jsonl", "-o", out / "n.jsonl"),
            "late.jsonl, row 2: text is null",
        ),
        "an output of columns": ((inputs / "bytes.parquet", "-o", out / "n.jsonl"), "n.jsonl: cannot be written: "),
        "an output": ((inputs / "good.jsonl", "-o", out / TOO_LONG), "cannot be written: File name too long"),
        "a second output": (
            (inputs / "good.jsonl", "-o", "-", "--removed", out / TOO_LONG),
            "cannot be written: File name too long",
        ),
        "no folder": ((inputs / "good.jsonl", "-o", out / "no" / "n.csv"), "there is no folder"),
        "no input": ((inputs / "none.jsonl", "-o", out / "n.csv"), "none.jsonl"),
    }


WAYS = [
    "a bad row",
    "a bad row in the second input",
    "an output of columns",
    "an output",
    "a second output",
    "no folder",
    "no input",
]


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_run_makes_no_index(run, inputs, out, monkeypatch, way):
    monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=1))
    args, why = failing(inputs, out)[way]
    done = run("dedup", *args, "--against", out / "seen", "--update")
    assert done.code in (1, 2)
    assert why in complaint(done)
    assert left_in(out) == set()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 1 << 22])
def test_a_failed_run_changes_no_index(run, inputs, out, seen, monkeypatch, way, size):
    monkeypatch.setattr("lookalike.cli.documents.Source", functools.partial(Source, batch_bytes=size))
    before = state_in(seen)
    args, why = failing(inputs, out)[way]
    done = run("dedup", *args, "--against", seen, "--update")
    assert done.code in (1, 2)
    assert why in complaint(done)
    assert state_in(seen) == before
    assert left_in(out) == {"seen"}
    done = run("dedup", inputs / "good.jsonl", "--against", seen, "--update")  # made again
    assert len(done.out.splitlines()) == 2
    with Index.open(seen) as index:
        assert index.verify() == 4


def test_bad_rows_are_skipped_and_counted(run, inputs, out, seen):
    bad = lines_of(3) + '{"id": "bad", "text": null}\nno json\n' + lines_of(1, 4, first=5)
    (inputs / "a.jsonl").write_text(bad)
    for name in ("n.jsonl", "n.csv"):
        done = run("dedup", inputs / "a.jsonl", "--against", seen, "--on-error", "skip", "-o", out / name)
        assert done.code == 0, done.err
        assert "read: 3 documents (2 skipped)\nfound: 1 document to drop, " in done.err
        assert " and 2 to keep; " in done.err
        assert [row["id"] for row in rows_in(out / name)] == ["d0", "d6"]


# --- options ---


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("-t", "0.7"), "--threshold of the index is 0.6; got 0.7."),
        (("-t", "2/3"), "--threshold of the index is 0.6; got 2/3."),
        (("-t", "60"), "threshold must be in (0, 1]; got '60'. Did you mean 0.6?"),
        (("-s", "word:3"), "--shingle of the index makes unit char; got word."),
        (("-s", "char:5"), "--shingle of the index makes k 9; got 5."),
        (("--lowercase",), "--lowercase of the index makes lowercase False; got True."),
        (("--space", "keep"), "--space of the index makes space collapse; got keep."),
        (("--form", "nfkc"), "--form of the index makes form nfc; got nfkc."),
        (("--recall", "0.9"), "--recall of the index is 0.99; got 0.9."),
        (("--seed", "2"), "--seed of the index is 1; got 2."),
        (("--measure", "containment"), "--measure of the index is jaccard; got containment."),
        (("--html",), "--html of the index is False; got True."),
        (("--article",), "--article of the index is False; got True."),
        (("--keep", "longest"), "--keep is not for --against, which takes documents one by one, as they come."),
        (("--keep", "first"), "--keep is not for --against, which takes documents one by one, as they come."),
        (("--method", "exact"), "--method is not for --against, which takes documents one by one, as they come."),
        (("--sketch", "simhash"), "--sketch is not for --against, which takes documents one by one, as they come."),
        (("--audit", "10"), "--audit is not for --against, which takes documents one by one, as they come."),
    ],
)
def test_options_that_contradict_the_index(run, inputs, out, seen, given, why):
    before = state_in(seen)
    (inputs / "a.jsonl").write_text(lines_of(3))
    done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.jsonl", "--update", *given)
    assert (done.code, complaint(done)) == (2, why)
    assert state_in(seen) == before
    assert left_in(out) == {"seen"}


@pytest.mark.parametrize(
    "given",
    [
        ("-t", "0.6"),
        ("-t", "3/5"),
        ("-t", "0.600"),
        ("-t", "6e-1"),
        ("-s", "char:9", "--recall", "0.990", "--seed", "1", "--measure", "jaccard"),
        ("--space", "collapse", "--form", "nfc"),
    ],
)
def test_options_as_those_of_the_index(run, inputs, seen, given):
    (inputs / "a.jsonl").write_text(lines_of(1, 3))
    done = run("dedup", inputs / "a.jsonl", "--against", seen, *given)
    assert done.code == 0, done.err
    assert done.out == lines_of(1, 3).splitlines(keepends=True)[1]


def test_the_options_of_the_index_are_taken(run, inputs, out):
    """Those that the first run was given, without giving them again."""
    (inputs / "a.jsonl").write_text('{"text": "The Cat Sat On The Mat"}\n')
    (inputs / "b.jsonl").write_text('{"text": "the cat sat on the HAT"}\n{"text": "a dog"}\n')
    options = ("-t", "0.5", "-s", "word:2", "--lowercase", "--recall", "0.999")
    assert run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *options).code == 0
    done = run("dedup", inputs / "b.jsonl", "--against", out / "seen", "--update", "--removed", out / "r.csv")
    assert done.out == '{"text": "a dog"}\n'
    assert float(removed_in(out / "r.csv")[0]["similarity"]) == pytest.approx(4 / 6)
    done = run("dedup", inputs / "b.jsonl", "--against", out / "seen", "-s", "word:3")
    assert (done.code, complaint(done)) == (2, "--shingle of the index makes k 2; got 3.")


def test_pages(run, inputs, out):
    """Compared by what a reader sees, and written as they are."""
    pages = [f"<html><body><p>{clear(1)}</p></body></html>", f"<body><div><b>{clear(1)}</b></div></body>"]
    (inputs / "a.jsonl").write_text(json.dumps({"id": "x", "html": pages[0]}) + "\n")
    (inputs / "b.jsonl").write_text(json.dumps({"id": "y", "html": pages[1]}) + "\n")
    first = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "--html", "-o", out / "n.csv")
    assert first.code == 0, first.err
    assert [row["html"] for row in removed_in(out / "n.csv")] == [pages[0]]
    for options in ((), ("--html",)):
        second = run("dedup", inputs / "b.jsonl", "--against", out / "seen", *options)
        assert (second.code, second.out) == (0, "")
    assert complaint(run("dedup", inputs / "b.jsonl", "--against", out / "seen", "--article")) == (
        "--article of the index is False; got True."
    )


def test_columns_by_name(run, inputs, out, seen):
    (inputs / "a.csv").write_text(f"key,story,text\nx,{clear(1)},u\ny,{clear(3)},u\n")
    columns = ("--text", "story", "--id", "key")
    to = ("-o", out / "n.csv", "--removed", out / "r.csv")
    assert run("dedup", inputs / "a.csv", "--against", seen, "--update", *columns, *to).code == 0
    assert removed_in(out / "n.csv") == [{"key": "y", "story": clear(3), "text": "u"}]
    assert removed_in(out / "r.csv")[0]["id"] == "x"
    with Index.open(seen) as index:
        assert list(index.ids()) == ["a", "b", "y"]


def test_update_needs_an_index_to_update(run, inputs, out):
    (inputs / "a.jsonl").write_text(lines_of(1))
    done = run("dedup", inputs / "a.jsonl", "--update", "-o", out / "n.jsonl")
    assert (done.code, complaint(done)) == (2, "--update is for an index: name it with --against.")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "none", "-o", out / "n.jsonl")
    assert (done.code, complaint(done)) == (
        1,
        f"{out / 'none'}: there is no index; `lookalike index build` makes one.",
    )
    (out / "empty").mkdir()
    assert run("dedup", inputs / "a.jsonl", "--against", out / "empty", "--update").code == 1
    done = run("dedup", inputs / "a.jsonl", "--against", out / "no" / "index", "--update")
    assert (done.code, complaint(done)) == (
        1,
        f"{out / 'no' / 'index'}: cannot be made, there is no folder {out / 'no'}.",
    )
    assert left_in(out) == {"empty"}
    assert left_in(out / "empty") == set()


def test_two_outputs_must_differ(run, inputs, out, seen):
    (inputs / "a.jsonl").write_text(lines_of(1))
    done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.csv", "--removed", out / "n.csv")
    assert done.code == 2
    assert "--out and --removed must be two files" in complaint(done)


@pytest.mark.parametrize("kind", ["vectors", "sets"])
def test_an_index_of_something_else(run, inputs, out, kind):
    if kind == "vectors":
        np.save(inputs / "v.npy", np.random.default_rng(1).normal(size=(20, 4)))
        made = run("index", "build", out / "seen", inputs / "v.npy", "--measure", "cosine", "-t", "15", "-q")
    else:
        (inputs / "s.txt").write_text("1 2 3\n4 5 6\n")
        made = run("index", "build", out / "seen", inputs / "s.txt", "--kind", "sets", "-q")
    assert made.code == 0, made.err
    (inputs / "a.jsonl").write_text(lines_of(1))
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen")
    assert (done.code, complaint(done)) == (2, f"dedup --against is for documents; the index holds {kind}.")


def test_an_index_of_vectors_made_in_python(run, inputs, out):
    rows = np.random.default_rng(1).normal(size=(20, 4))
    Index.build(out / "seen", rows, measure="cosine", threshold=15).close()
    (inputs / "a.jsonl").write_text(lines_of(1))
    before = state_in(out / "seen")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "-o", out / "n.jsonl")
    assert done.code in (1, 2)
    assert "the index holds vectors" in complaint(done)
    assert state_in(out / "seen") == before
    assert left_in(out) == {"seen"}


def test_an_index_made_in_python(run, inputs, out):
    with Index.create(out / "seen", threshold=0.5, shingles=la.Shingles.parse("word:2", lowercase=True)) as index:
        index.add(["The Cat Sat On The Mat"])
    (inputs / "a.txt").write_text("the cat sat on the hat\na dog\n")
    done = run("dedup", inputs / "a.txt", "--against", out / "seen", "--update", "-s", "word:2")
    assert done.code == 0, done.err
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == ["a dog"]


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        ("2", lines_of(1)),
        ("0", lines_of(1)),
        *((no, lines_of(1)) for no in ("abc", "3/0", "nan")),
        *((no, "") for no in ("2", "0")),
    ],
)
def test_a_threshold_that_is_none(run, inputs, out, threshold, text):
    (inputs / "a.jsonl").write_text(text)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "-t", threshold)
    assert done.code == 2
    assert complaint(done).startswith("threshold must be ")
    assert left_in(out) == set()


@pytest.mark.parametrize("text", [lines_of(1), ""], ids=["one", "none"])
def test_a_measure_that_no_index_has(run, inputs, out, text):
    (inputs / "a.jsonl").write_text(text)
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "--measure", "edit", "-t", "2")
    assert done.code == 2
    assert len(complaint(done)) > 10
    assert left_in(out) == set()


@pytest.mark.parametrize("name", ["bag", "bag_jaccard"])
def test_documents_as_bags(run, inputs, out, name):
    """The measure has two names, here as elsewhere."""
    (inputs / "a.jsonl").write_text('{"text": "a a a a"}\n{"text": "a"}\n{"text": "a a a a"}\n')
    options = ("--measure", name, "-s", "word:1")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", *options)
    assert done.code == 0, done.err
    assert done.out == '{"text": "a a a a"}\n{"text": "a"}\n'
    for other in ("bag", "bag_jaccard"):
        done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--measure", other)
        assert (done.code, done.out) == (0, "")


def test_a_number_too_large_for_an_id(run, inputs, out):
    """Of a document that is dropped: one line, or it is dropped as any other."""
    ids = pa.array([1, 1 << 63], pa.uint64())
    pq.write_table(pa.table({"id": ids, "text": [clear(1)] * 2}), inputs / "a.parquet")
    to = ("-o", out / "n.parquet", "--removed", out / "r.csv")
    done = run("dedup", inputs / "a.parquet", "--against", out / "seen", "--update", *to)
    if done.code:
        assert "id" in complaint(done)
        assert left_in(out) == set()
    else:
        assert removed_in(out / "r.csv")[0]["id"] == str(1 << 63)


def test_an_empty_input(run, inputs, out):
    (inputs / "a.jsonl").write_text("")
    done = run("dedup", inputs / "a.jsonl", "--against", out / "seen", "--update", "-o", out / "n.jsonl")
    assert done.code == 0, done.err
    assert (out / "n.jsonl").read_bytes() == b""
    (inputs / "b.jsonl").write_text(lines_of(1, 1))
    assert run("dedup", inputs / "b.jsonl", "--against", out / "seen", "--update").out == lines_of(1)
    with Index.open(out / "seen") as index:
        assert index.verify() == 1


# --- permissions ---


class Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class Capabilities(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def as_others():
    """Let permissions hold for root, too: without the capabilities to pass over them, in this thread."""
    if os.geteuid() != 0:
        yield
        return
    library = ctypes.CDLL(None)
    header, have = Header(0x20080522, 0), (Capabilities * 2)()
    if not sys.platform.startswith("linux") or library.capget(ctypes.byref(header), have) != 0:
        pytest.skip("root may write everywhere")
    before = have[0].effective
    have[0].effective = before & ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert library.capset(ctypes.byref(header), have) == 0
    try:
        yield
    finally:
        have[0].effective = before
        assert library.capset(ctypes.byref(header), have) == 0


@contextmanager
def read_only(folder):
    """A folder in which nothing can be written."""
    paths = [folder, *folder.iterdir()]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with as_others():
            assert not os.access(folder, os.W_OK, effective_ids=True)
            yield
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


def test_a_folder_that_is_read_only(run, inputs, out, seen):
    """Is enough without --update."""
    (inputs / "a.jsonl").write_text(lines_of(1, 3))
    with read_only(seen):
        done = run("dedup", inputs / "a.jsonl", "--against", seen, "-o", out / "n.jsonl")
    assert done.code == 0, done.err
    assert (out / "n.jsonl").read_text() == lines_of(1, 3).splitlines(keepends=True)[1]


def test_a_folder_that_is_read_only_is_not_updated(run, inputs, out, seen):
    (inputs / "a.jsonl").write_text(lines_of(1, 3))
    before = state_in(seen)
    with read_only(seen):
        done = run("dedup", inputs / "a.jsonl", "--against", seen, "--update", "-o", out / "n.jsonl")
    assert done.code == 1
    assert "denied" in complaint(done)
    assert state_in(seen) == before
    assert left_in(out) == {"seen"}


def test_an_output_folder_that_is_read_only(run, inputs, out, seen):
    (inputs / "a.jsonl").write_text(lines_of(3))
    before = state_in(seen)
    (out / "closed").mkdir()
    with read_only(out / "closed"):
        for place, index in (("n.jsonl", seen), ("n.jsonl", out / "new")):
            done = run("dedup", inputs / "a.jsonl", "--against", index, "--update", "-o", out / "closed" / place)
            assert done.code == 1
            assert "denied" in complaint(done)
    assert state_in(seen) == before
    assert left_in(out) == {"seen", "closed"}
