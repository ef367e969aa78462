"""Check that neither how members travel nor how groups are cut changes what is found."""

import random
from functools import partial

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.spark import frames, groups, members
from tests.engines import COLLECTIONS, Here, documents, named

pytestmark = pytest.mark.spark


def test_many_members_are_not_sent_to_all(there, monkeypatch):
    monkeypatch.setattr(frames, "BROADCAST", 0)
    table, options = named(), COLLECTIONS["names"][1]
    assert there.pairs(table, **options) == Here().pairs(table, **options)


def variants(count):
    """Return texts of forty words, any two of which differ in two words."""
    draw = random.Random(1)
    base = draw.choices([f"w{at}" for at in range(300)], k=40)
    texts = []
    for at in range(count):
        words = list(base)
        words[draw.randrange(40)] = f"x{at}"
        texts.append(" ".join(words))
    return pa.table({"id": range(count), "text": texts})


def test_groups_that_are_cut(there, monkeypatch):
    """All pairs, the same clusters, and the same items kept, each dropped one for a similar kept one."""
    monkeypatch.setattr(groups, "LIMIT", 4000)
    monkeypatch.setattr(groups, "LEAST", 1000)
    table, options = documents().slice(0, 500), COLLECTIONS["documents"][1]
    pairs = Here().pairs(table, **options)
    assert there.pairs(table, **options) == pairs
    assert there.clusters(table, **options) == Here().clusters(table, **options)
    dropped = there.dropped(table, keep="longest", **options)
    assert [row["id"] for row in dropped] == [row["id"] for row in Here().dropped(table, keep="longest", **options)]
    gone = {row["id"] for row in dropped}
    for row in dropped:
        assert row["kept"] not in gone
        assert pairs[tuple(sorted((row["id"], row["kept"])))] == row["similarity"]


def test_of_very_many_alike_one_is_kept(there, monkeypatch):
    """The first block keeps one, and the others lose all to it in the same round."""
    monkeypatch.setattr(groups, "LIMIT", 20_000)
    compared = []
    compare = members.Members.compare

    def counting(self, placed, how, **options):
        compared.append(placed.count())
        return compare(self, placed, how, **options)

    monkeypatch.setattr(members.Members, "compare", counting)
    table, options = variants(300), {"threshold": 0.8, "shingles": "word:1"}
    assert [row["kept"] for row in there.dropped(table, **options)] == [0] * 299
    assert len(compared) == 3
    assert sum(compared) < 2 * 300


def noted(batches, path):
    """Pass batches on, and note that they were read."""
    with path.open("a") as file:
        file.write(".")
    yield from batches


def test_rounds_do_not_read_the_data_frame_again(there, monkeypatch, tmp_path):
    """A group that is cut takes rounds if its first items are not similar to the others."""
    table, rounds, found = variants(60), [], []
    cut = members.Members.blocks
    monkeypatch.setattr(members.Members, "blocks", lambda self, left: rounds.append(1) or cut(self, left))
    for limit in (24_000, 18_000):
        monkeypatch.setattr(groups, "LIMIT", limit)
        rounds.clear()
        task = partial(noted, path=tmp_path / str(limit))
        frame = there.frame(table).coalesce(1).mapInArrow(task, "id long, text string")
        assert la.spark.dedup(frame, threshold=0.95, shingles="word:1").dropped.count() == 0
        found.append((len(rounds), len((tmp_path / str(limit)).read_text())))
    (few, reads), (more, again) = found
    assert 1 < few < more
    assert reads == again


def test_very_many_identical_items(there):
    """Most of them never travel to where the first is, but all are dropped for it."""
    texts = ["the same page of some words"] * 400 + ["the same page of some words too"] * 3 + ["another page"]
    draw = random.Random(2)
    draw.shuffle(texts)
    table = pa.table({"id": range(len(texts)), "text": texts, "score": draw.choices([1.5, 2.5, None], k=len(texts))})
    options = {"threshold": 0.6, "shingles": "word:2"}
    dropped = there.dropped(table, keep="score", **options)
    assert dropped == Here().dropped(table, keep="score", **options)
    assert len(dropped) == 402
    assert there.clusters(table, **options) == Here().clusters(table, **options)
    assert there.pairs(table, **options) == Here().pairs(table, **options)
