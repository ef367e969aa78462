"""Spark gives what one machine gives: the same tests on both, and both against brute force."""

import csv
import importlib
import math
import random
import sys
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import combinations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import GUARD, spawn
from pyspark import cloudpickle
from test_beyond_memory import texts_of

import lookalike as la
from lookalike.entities.blocks import Column, find_candidates
from lookalike.entities.fields import canonical, normalise
from lookalike.errors import DataError, TooManyPairs, UsageError
from lookalike.kernels.buckets import ONE
from lookalike.kernels.sketch import sketch_rows
from lookalike.run import Run
from lookalike.spark import buckets, frames, graphs, tasks
from lookalike.spark.jobs import Dedup
from lookalike.spark.making import OfTexts
from lookalike.spark.parcels import Parcels

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors have not this file


# --- one interface for both engines ---


class Here:
    """One machine."""

    def pairs(self, table, **options):
        found = la.find_pairs(as_items(table), method="lsh", **options).to_arrow()
        return {(a, b): s for a, b, s in zip(*found.to_pydict().values(), strict=True)}

    def clusters(self, table, **options):
        return la.find_clusters(as_items(table), method="lsh", **options).to_arrow().to_pylist()

    def dropped(self, table, keep="first", **options):
        keep = keep if keep in ("first", "longest") else table[keep]
        return la.dedup(as_items(table), keep=keep, method="lsh", **options).to_arrow().to_pylist()


class There:
    """Spark."""

    def __init__(self, session):
        self.session = session

    def frame(self, table):
        return self.session.createDataFrame(table)

    def pairs(self, table, **options):
        found = la.spark.find_pairs(self.frame(table), **options).toArrow().to_pydict()
        return {(a, b): s for a, b, s in zip(*found.values(), strict=True)}

    def clusters(self, table, **options):
        return la.spark.clusters(self.frame(table), **options).orderBy("cluster", "id").toArrow().to_pylist()

    def dropped(self, table, keep="first", **options):
        found = la.spark.dedup(self.frame(table), keep=keep, **options)
        dropped = found.dropped.orderBy("id").toArrow().to_pylist()
        gone = {row["id"] for row in dropped}
        kept = found.kept.toArrow()
        assert kept.schema.names == table.schema.names
        assert sorted(kept["id"].to_pylist()) == sorted(set(table["id"].to_pylist()) - gone)
        return dropped


def as_items(table):
    """A table of texts as it is, and one of lists as sets."""
    if pa.types.is_string(table["text"].type):
        return table
    sets = la.Sets.of([set(one) for one in table["text"].to_pylist()])
    return la.Sets(sets.indptr, sets.elements, ids=table["id"].combine_chunks())


@pytest.fixture
def there(spark):
    return There(spark)


@pytest.fixture(params=["one machine", "spark"])
def engine(request):
    return Here() if request.param == "one machine" else There(request.getfixturevalue("spark"))


# --- collections ---


def documents():
    """Texts with copies, near copies, and two that have none."""
    texts = [*texts_of(1200), "", "  \n "]
    ranks = random.Random(3).choices([1, 2, 3, None], k=len(texts))
    return pa.table({"id": range(len(texts)), "text": texts, "rank": pa.array(ranks, pa.int64())})


def named():
    """Short lines in several scripts, with ids that are strings."""
    draw = random.Random(5)
    words = ["東京", "naïve", "Привет", "שלום", "of", "the", "and", "crème", "🙂", "data", "set"]
    lines = [" ".join(draw.choices(words, k=draw.randrange(3, 9))) for _ in range(400)]
    return pa.table({"id": [f"line {at:04}" for at in range(400)], "text": lines})


def baskets():
    """Lists of integers."""
    draw = random.Random(7)
    lists = [sorted(draw.sample(range(60), draw.randrange(1, 12))) for _ in range(300)]
    lists += [[*one[1:], draw.randrange(60)] for one in lists[:150]]
    return pa.table({"id": range(450), "text": [*lists]})


COLLECTIONS = {
    "documents": (documents, {"threshold": 0.6, "shingles": "word:2"}),
    "names": (named, {"threshold": 0.5, "shingles": "char:4"}),
    "baskets": (baskets, {"threshold": 0.6}),
}


@pytest.fixture(params=COLLECTIONS)
def collection(request):
    make, options = COLLECTIONS[request.param]
    return make(), options


def sets_of(table, options):
    if "shingles" not in options:
        return [set(one) for one in table["text"].to_pylist()]
    shingles = la.Shingles.parse(options["shingles"])
    return [shingles.of(text) for text in table["text"].to_pylist()]


def jaccard(one, other):
    return len(one & other) / len(one | other)


# --- the same tests on both ---


def test_pairs_are_those_of_brute_force(engine, collection):
    table, options = collection
    found = engine.pairs(table, recall=0.999, **options)
    ids, sets = table["id"].to_pylist(), sets_of(table, options)
    true = {
        (ids[a], ids[b]): jaccard(sets[a], sets[b])
        for a, b in combinations(range(len(ids)), 2)
        if sets[a] and sets[b] and jaccard(sets[a], sets[b]) >= options["threshold"]
    }
    assert len(true) > 150
    assert all(true[pair] == value for pair, value in found.items())
    assert len(found) >= 0.995 * len(true)


def test_no_two_kept_are_similar(engine):
    table, options = documents(), COLLECTIONS["documents"][1]
    dropped = {row["id"]: row for row in engine.dropped(table, recall=0.9999, **options)}
    sets = sets_of(table, options)
    for row in dropped.values():
        assert row["kept"] not in dropped
        assert row["kept"] < row["id"]
        assert row["similarity"] == jaccard(sets[row["id"]], sets[row["kept"]]) >= 0.6
    kept = [at for at in range(len(sets)) if at not in dropped]
    assert not any(jaccard(sets[a], sets[b]) >= 0.6 for a, b in combinations(kept, 2) if sets[a] and sets[b])


def test_clusters_are_components_of_the_pairs(engine):
    table, options = COLLECTIONS["names"][0](), COLLECTIONS["names"][1]
    label = {item: item for item in table["id"].to_pylist()}
    pairs = engine.pairs(table, **options)
    for _ in range(30):
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    found = engine.clusters(table, **options)
    assert {row["id"]: row["cluster"] for row in found} == {item: label[item] for pair in pairs for item in pair}
    sizes = [sum(other["cluster"] == row["cluster"] for other in found) for row in found]
    assert [row["size"] for row in found] == sizes


def test_nothing_to_find(engine):
    some = pa.table({"id": [1, 2, 3], "text": ["one text alone", "and another, unlike it", ""]})
    none = pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())})
    assert engine.pairs(none) == engine.pairs(some) == {}
    assert engine.clusters(none) == engine.dropped(some) == []


# --- the same results ---


def test_pairs_and_clusters_are_the_same(there, collection):
    table, options = collection
    plan = la.find_pairs(as_items(table), method="lsh", **options).plan
    assert la.spark.plan(there.frame(table), **options) == plan
    pairs = there.pairs(table, **options)
    assert pairs == Here().pairs(table, **options)
    assert all(a < b for a, b in pairs)
    assert there.clusters(table, **options) == Here().clusters(table, **options)


@pytest.mark.parametrize("keep", ["first", "longest", "rank"])
def test_the_same_are_dropped_for_the_same(there, keep):
    table, options = documents(), COLLECTIONS["documents"][1]
    dropped = there.dropped(table, keep=keep, **options)
    assert dropped == Here().dropped(table, keep=keep, **options)
    assert len(dropped) > 300


@pytest.mark.parametrize(
    "options", [{"measure": "bag", "shingles": "char:3"}, {"sketch": "simhash"}, {"seed": 5, "recall": 0.8}]
)
def test_other_ways_to_compare(there, options):
    table = documents().slice(0, 400)
    options = {"threshold": 0.7, "shingles": "word:2", **options}
    found = there.pairs(table, **options)
    assert found == Here().pairs(table, **options)
    assert len(found) > 30


def crowd(count):
    """Texts of which each two differ in two words of forty."""
    draw = random.Random(1)
    base = draw.choices([f"w{at}" for at in range(300)], k=40)
    texts = []
    for at in range(count):
        words = list(base)
        words[draw.randrange(40)] = f"x{at}"
        texts.append(" ".join(words))
    return pa.table({"id": range(count), "text": texts})


def test_large_buckets_are_split_and_none_is_left_out(there, monkeypatch):
    table, options = crowd(300), {"threshold": 0.8, "shingles": "word:1"}
    expected = Here().pairs(table, **options)
    assert len(expected) > 40_000
    monkeypatch.setattr(frames, "units", _patched(buckets.units, MOST=50, BLOCK=20))
    assert there.pairs(table, **options) == expected


def test_of_very_many_alike_one_is_kept(there, monkeypatch):
    """Each is compared with few, in several tasks that do not know of each other; and those that are left, again."""
    table, options = crowd(300), {"threshold": 0.8, "shingles": "word:1"}
    numbers = {"MOST": 20, "FEW": 3}
    monkeypatch.setattr(there, "frame", lambda table: there.session.createDataFrame(table).repartition(3))
    for name in ("units", "dealt_keys", "dealt_rows"):
        monkeypatch.setattr(frames, name, _patched(getattr(buckets, name), **numbers))
    listed = []
    monkeypatch.setattr(frames, "similar", _counting(frames.similar, listed))
    assert [row["kept"] for row in there.dropped(table, **options)] == [0] * 299
    assert sum(listed) < 300 * 20
    clusters = there.clusters(table, **options)
    assert [(row["id"], row["cluster"]) for row in clusters] == [(at, 0) for at in range(300)]


def _counting(similar, listed):
    """The same, which notes how many pairs it is given."""

    def counting(candidates, *others):
        listed.append(candidates.count())
        return similar(candidates, *others)

    return counting


class _patched:
    """A task for which some numbers of its module are others, in whatever process it runs."""

    def __init__(self, task, **numbers):
        self.task, self.numbers = task, numbers

    def __call__(self, batches, **options):
        module = sys.modules[self.task.__module__]
        before = {name: getattr(module, name) for name in self.numbers}
        try:
            for name, number in self.numbers.items():
                setattr(module, name, number)
            yield from self.task(batches, **options)
        finally:
            for name, number in before.items():
                setattr(module, name, number)


GREATEST = {
    "integers": pa.array([-(2**63), -(2**63) + 1, None, 2**63 - 1, 0], pa.int64()),
    "floats": pa.array([1.5, math.nan, None, -math.inf, 0.0], pa.float64()),
    "decimals": pa.array([Decimal(f"12345678901234567.0{at}") for at in (1, 2)] + [None], pa.decimal128(20, 2)),
    "times": pa.array([datetime(2024, 3, 10, 2, 30), datetime(2024, 3, 10, 3, 15), None], pa.timestamp("us")),
}


@pytest.mark.parametrize("kind", GREATEST)
def test_the_greatest_of_a_column_is_kept(there, kind, tmp_path, monkeypatch):
    table, values = documents().slice(0, 200), GREATEST[kind]
    column = values.take(pa.array(random.Random(4).choices(range(len(values)), k=200)))
    table = table.set_column(2, "rank", column)
    pq.write_table(table, tmp_path / "some.parquet")
    monkeypatch.setattr(there, "frame", lambda _: there.session.read.parquet(str(tmp_path / "some.parquet")))
    there.session.conf.set("spark.sql.session.timeZone", "America/New_York")  # where one of the times never was
    try:
        options = COLLECTIONS["documents"][1]
        assert there.dropped(table, keep="rank", **options) == Here().dropped(table, keep="rank", **options)
    finally:
        there.session.conf.unset("spark.sql.session.timeZone")


def test_rounds_of_shuffles_give_what_one_task_gives(there, monkeypatch):
    table, options = documents(), COLLECTIONS["documents"][1]
    here = Here().clusters(table, **options), Here().dropped(table, **options)
    monkeypatch.setattr(graphs, "FINISH", 0)
    assert there.clusters(table, **options) == here[0]
    assert there.dropped(table, **options) == here[1]


def test_a_long_chain(there, monkeypatch):
    """Each text is like the next and unlike the one after it."""
    words = [f"w{at}" for at in range(80)]
    texts = [" ".join(words[at : at + 10]) for at in range(24)]
    table = pa.table({"id": range(24), "text": texts})
    options = {"threshold": 0.8, "shingles": "word:1", "recall": 0.9999}
    monkeypatch.setattr(graphs, "FINISH", 0)
    assert [(row["id"], row["cluster"]) for row in there.clusters(table, **options)] == [(at, 0) for at in range(24)]
    monkeypatch.setattr(graphs, "FINISH", 18)
    assert [row["id"] for row in there.dropped(table, **options)] == list(range(1, 24, 2))


def test_many_candidates_are_not_sent_to_all(there, monkeypatch):
    monkeypatch.setattr(frames, "BROADCAST", 0)
    table, options = named(), COLLECTIONS["names"][1]
    assert there.pairs(table, **options) == Here().pairs(table, **options)


# --- rows of a set and an element ---


def test_rows_of_sets_and_elements(there):
    table = baskets()
    sets, elements = [], []
    for name, basket in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True):
        sets += [name] * (len(basket) + 1)
        elements += [*basket, basket[0]]  # twice is once
    order = random.Random(2).sample(range(len(sets)), len(sets))
    rows = pa.table({"basket": [sets[at] for at in order], "product": [elements[at] for at in order]})
    plan = la.find_pairs(as_items(table), threshold=0.6, method="lsh").plan
    frame = there.frame(rows).repartition(5)
    assert la.spark.plan(frame, rows=("basket", "product"), threshold=0.6) == plan
    found = la.spark.find_pairs(frame, rows=("basket", "product"), plan=plan).toArrow().to_pydict()
    expected = Here().pairs(table, threshold=0.6)
    assert {(a, b): s for a, b, s in zip(*found.values(), strict=True)} == expected
    groups = la.spark.clusters(frame, rows=("basket", "product"), plan=plan).orderBy("cluster", "id").toArrow()
    assert groups.to_pylist() == Here().clusters(table, threshold=0.6)


# --- records ---


@pytest.mark.parametrize("split", [None, 120])
def test_candidates_of_records(there, split):
    draw = random.Random(9)
    first, last = ["Bill", "William", "Ann", "Eve", "Bob", "Zoë"], ["Smith", "Smyth", "Lee", "Ray", "O'Neil", "Day"]
    rows = []
    for _ in range(200):
        born = f"{draw.randrange(1, 29)}/{draw.randrange(1, 13)}/19{draw.randrange(50, 99)}"
        rows.append([f"{draw.choice(first)} {draw.choice(last)}", draw.choice(["f", "m", None]), born])
    for at in range(0, 200, 4):  # the same person again, with an error
        name, sex, born = rows[(at + 101) % 200]
        rows[at] = [name.replace("l", "1"), sex, born]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("name", "sex", "born"))})
    table = table.add_column(0, "id", pa.array(range(200)))
    kinds = {"name": "name", "sex": "category", "born": "date"}
    columns = []
    for name, kind in kinds.items():
        values = normalise(table[name], kind).values
        columns.append(Column(name, kind, values, canonical(values, kind)))
    here = find_candidates(columns, ONE if split is None else split, threshold=0.6, nearest=0, seed=1, run=Run())
    sides = [table] if split is None else [table.slice(0, split), table.slice(split)]
    fields = [f"{name}={kind}" for name, kind in kinds.items()]
    found = la.spark.resolve_candidates(*map(there.frame, sides), fields=fields).toArrow()
    pairs = set(zip(*found.to_pydict().values(), strict=True))
    assert pairs == {divmod(int(number), 200) for number in here.numbers}
    assert 100 < len(pairs) < 20_000


def test_kinds_of_fields_are_guessed_and_columns_renamed(there):
    left = pa.table({"key": ["a", "b"], "full name": ["Ann Lee", "Bob Ray"]})
    right = pa.table({"number": [7, 8], "who": ["bob ray", "Lee, Ann"]})
    found = la.spark.resolve_candidates(
        there.frame(left), there.frame(right), fields=["full name:who"], id="key:number"
    )
    assert sorted(zip(*found.toArrow().to_pydict().values(), strict=True)) == [("a", 8), ("b", 7)]


# --- what is refused ---


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshhold": 0.5}, UsageError, "option must be one of .* Did you mean 'threshold'"),
        ({"text": "words"}, DataError, "no column 'words' for the text; it has id, text, rank, list"),
        ({"id": "words"}, DataError, "no column 'words' for the id"),
        ({"id": "list"}, DataError, "column 'list' holds array<double>, which is no id"),
        (
            {"text": "rank"},
            DataError,
            "column 'rank' must hold strings, or lists .* it holds bigint",
        ),
        ({"text": "list"}, DataError, "column 'list' must hold strings, or lists of strings or integers"),
        ({"rows": "id"}, UsageError, "rows must be two columns"),
        ({"rows": ("id", "text"), "text": "text"}, UsageError, "text and id are for whole items"),
        ({"rows": ("id", "text"), "sketch": "simhash"}, UsageError, "by minhash, whose minima can be partial"),
        ({"rows": ("id", "rank")}, DataError, "'id' or 'rank' is null in some rows"),
        ({"rows": ("id", "rank"), "shingles": "word:2"}, UsageError, "shingles are for texts"),
        ({"measure": "edit"}, UsageError, "measure must be 'jaccard' or 'bag' on Spark; got 'edit'"),
        ({"recall": 1}, UsageError, "recall must be under 1"),
        ({"threshold": 80}, UsageError, "threshold must be in"),
        ({"id": "rank"}, DataError, "column 'rank' for the id has 1 row without one"),
        ({"max_pairs": 0}, UsageError, "max_pairs must be an integer of at least 1"),
        ({"max_pairs": 1}, TooManyPairs, "3 pairs of identical items, more than max_pairs = 1"),
    ],
)
def test_what_is_wrong_is_said(there, options, error, message):
    table = pa.table({"id": [1, 2, 3], "text": ["one text"] * 3, "rank": [1, None, 2], "list": [[0.5]] * 3})
    with pytest.raises(error, match=message):
        la.spark.find_pairs(there.frame(table), **options)


def test_more_that_is_wrong(there):
    table = pa.table({"id": [1, 1, 3], "text": ["a", "a", None], "when": ["x", "y", "z"]})
    frame = there.frame(table)
    with pytest.raises(DataError, match="ids must be unique; the 3 rows have 2 different values in column 'id'"):
        la.spark.find_pairs(frame)
    with pytest.raises(DataError, match="the item 3 is null: leave out such rows first, as by dropna"):
        la.spark.dedup(frame.where("id = 3"))
    with pytest.raises(DataError, match="column 'when' must hold numbers or dates, to keep the greatest of"):
        la.spark.dedup(frame, keep="when")
    with pytest.raises(UsageError, match="keep must be 'first' for rows"):
        la.spark.dedup(frame, rows=("id", "when"), keep="longest")
    with pytest.raises(DataError, match=r"which column is the text\? Name it with text; there are id, when"):
        la.spark.clusters(frame.select("id", "when"))
    texts = pa.table({"id": range(60), "text": [f"the same text but for the number {at}" for at in range(60)]})
    with pytest.raises(TooManyPairs, match="candidates, counted in each band, more than max_pairs = 9"):
        la.spark.find_pairs(there.frame(texts), threshold=0.5, max_pairs=9)


def test_a_plan_that_does_not_fit(there):
    texts = ["one text of some words", "another text of some words"]
    frame = there.frame(pa.table({"id": [1, 2], "text": texts}))
    plan = la.find_pairs(texts, shingles="word:2", method="lsh").plan
    with pytest.raises(UsageError, match="plan must be for char:9; it is for word:2"):
        la.spark.find_pairs(frame, plan=plan)
    with pytest.raises(UsageError, match="seed is in the plan already"):
        la.spark.find_pairs(frame, plan=plan, shingles="word:2", seed=3)
    exact = la.find_pairs(texts, shingles="word:2", method="exact").plan
    with pytest.raises(UsageError, match="plan must have bands"):
        la.spark.find_pairs(frame, plan=exact, shingles="word:2")


def test_odd_names_of_columns(there):
    texts = ["some text of a few words", "some text of a few words", "quite another one"]
    table = pa.table({"the.id": [1, 2, 3], "a`text": texts, "id": [0, 0, 0]})
    found = la.spark.dedup(there.frame(table), id="the.id", text="a`text")
    assert isinstance(found, Dedup)
    assert found.kept.toArrow()["the.id"].to_pylist() == [1, 3]
    assert found.dropped.toArrow().to_pylist() == [{"id": 2, "kept": 1, "similarity": 1.0}]


def test_a_folder_for_checkpoints(there, tmp_path):
    """Where one is named, what is known after a stage is written there, and survives the loss of an executor."""
    table, options = named(), COLLECTIONS["names"][1]
    there.session.sparkContext.setCheckpointDir(str(tmp_path))  # for the rest of the session
    assert there.clusters(table, **options) == Here().clusters(table, **options)
    assert any(path.is_file() for path in tmp_path.rglob("part-*"))


def test_kernels_are_compiled_once_for_all_executors(there):
    """Tasks find the machine code that an earlier process has left, and leave theirs for later ones."""
    texts = ["one text", "another text"]
    plan = la.find_pairs(texts, shingles="char:3", method="lsh").plan  # which compiles what tasks need
    frame = there.frame(pa.table({"id": [1, 2], "content": texts}))
    schema = pa.schema(dict.fromkeys(("item", "content0", "content1"), pa.int64()) | {"keys": pa.list_(pa.int64())})
    task = partial(cache_misses, making=OfTexts(plan, la.Shingles(k=3)), parcels=Parcels(schema, 2))
    assert [row["misses"] for row in frame.coalesce(1).mapInArrow(task, "misses long").collect()] == [0]


def cache_misses(batches, making, parcels):
    """Sketch the batches, and tell for how many kernels there was no machine code."""
    list(tasks.sketched(batches, making, False, False, parcels))
    yield pa.record_batch({"misses": [sum(sketch_rows.stats.cache_misses.values())]})


def test_parquet_files_in_parts(there, tmp_path):
    """The order of files, and where they are cut, makes no difference."""
    table, options = documents(), COLLECTIONS["documents"][1]
    for at in range(4):
        pq.write_table(table.slice(at * 301, 301), tmp_path / f"{9 - at}.parquet", row_group_size=100)
    frame = there.session.read.parquet(str(tmp_path))
    found = la.spark.find_pairs(frame, **options).toArrow().to_pydict()
    assert {(a, b): s for a, b, s in zip(*found.values(), strict=True)} == Here().pairs(table, **options)


# --- the command line ---


@pytest.fixture
def files(inputs):
    """The same documents as files of three kinds."""
    table = documents().select(["id", "text"])
    pq.write_table(table, inputs / "some.parquet")
    table.to_pandas().to_json(inputs / "some.jsonl", orient="records", lines=True)
    table.to_pandas().to_csv(inputs / "some.csv", index=False)
    return inputs


SPARK = ("--engine", "spark", "--master", "local[2]", "-t", "0.6", "-s", "word:2")


def test_pairs_by_command(there, run, files, out):
    ended = run("pairs", files / "some.parquet", *SPARK, "-o", out / "pairs.parquet")
    assert ended.code == 0
    lines = ended.err.splitlines()
    assert lines[0].startswith("plan: jaccard >= 0.6 of word:2, by ")
    found = pq.read_table(out / "pairs.parquet").to_pydict()
    expected = Here().pairs(documents(), **COLLECTIONS["documents"][1])
    assert {(a, b): s for a, b, s in zip(*found.values(), strict=True)} == expected
    assert lines[-2] == f"found: {len(expected):,} pairs, all verified"
    assert "read and sketch" in lines[-1]


def test_dedup_by_command(there, run, files, out):
    kept, removed = out / "clean.jsonl", out / "removed.csv"
    ended = run("dedup", files / "some.jsonl", *SPARK, "-o", kept, "--removed", removed, "--keep", "longest")
    assert ended.code == 0
    dropped = Here().dropped(documents(), keep="longest", **COLLECTIONS["documents"][1])
    rows = [row | {"id": int(row["id"]), "kept": int(row["kept"])} for row in csv_rows(removed)]
    assert sorted((row["id"], row["kept"]) for row in rows) == [(row["id"], row["kept"]) for row in dropped]
    rest = 1202 - len(dropped)
    assert sum(map(len, la.Source(kept).batches())) == rest
    assert f"found: {len(dropped):,} documents to drop, each similar to one of the {rest:,} kept" in ended.err
    assert run("dedup", kept, "-t", "0.6", "-s", "word:2", "-o", out / "again.jsonl").code == 0


def csv_rows(folder):
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            yield from csv.DictReader(file)


def test_clusters_by_command(there, run, files, out):
    assert run("clusters", files / "some.csv", *SPARK, "--on-error", "skip", "-o", out / "groups.parquet").code == 0
    found = pq.read_table(out / "groups.parquet").to_pylist()
    expected = Here().clusters(documents(), **COLLECTIONS["documents"][1])
    groups, wanted = ({}, {})
    for rows, into in ((found, groups), (expected, wanted)):
        for row in rows:
            into.setdefault(int(row["cluster"]), set()).add(int(row["id"]))
    assert {frozenset(group) for group in groups.values()} == {frozenset(group) for group in wanted.values()}


def test_cells_of_csv_are_what_they_are(there, run, inputs, out):
    """Spaces at their ends, empty ones, and columns in another order in another file."""
    (inputs / "a.csv").write_text('id,text\n1,"  some words of a text "\n12,""\n20,"quite other words, "",here"\n')
    (inputs / "b.csv").write_text('text,id\n"quite other words, "",here",21\n')
    ended = run("dedup", inputs / "a.csv", inputs / "b.csv", "--engine", "spark", "-o", out / "clean.csv")
    assert ended.code == 0
    rows = {row["id"]: row["text"] for row in csv_rows(out / "clean.csv")}
    assert rows == {"1": "  some words of a text ", "12": "", "20": 'quite other words, ",here'}


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["-o", "pairs.txt"], 2, "output must be a folder that ends in .parquet, .jsonl, .csv for --engine spark"),
        ([], 2, "output must be a folder"),
        (["-o", "there.parquet"], 1, "there.parquet: is there already, and Spark writes a new folder"),
        (["-o", "new.parquet", "--memory", "2GB"], 2, "--memory is not for --engine spark"),
        (["-o", "new.parquet", "--audit", "9"], 2, "--audit is not for --engine spark"),
        (["-o", "new.parquet", "--id", "-"], 2, "--id must name a column for --engine spark"),
        (["-o", "new.parquet", "--format", "arrow"], 2, "format must be one of parquet, jsonl, csv, tsv; got 'arrow'"),
        (["-o", "new.parquet", "other.jsonl"], 2, "must be of one format for --engine spark; got jsonl, parquet"),
        (["-o", "new.parquet", "--text", "words"], 1, "no column 'words' for the text"),
        (["-o", "new.parquet", "missing.parquet"], 1, "Spark: [PATH_NOT_FOUND]"),
    ],
)
def test_commands_that_are_wrong(there, run, files, monkeypatch, args, code, message):
    monkeypatch.chdir(files)
    (files / "there.parquet").mkdir()
    ended = run("pairs", files / "some.parquet", "--engine", "spark", *args)
    assert ended.code == code
    assert message in ended.err
    assert not (files / "new.parquet").exists()


def test_engines_that_there_are(run, files):
    assert (
        "engine must be one of local, spark; got 'sprak'. Did you mean 'spark'?"
        in run("pairs", files / "some.parquet", "--engine", "sprak").err
    )
    assert "--master is for --engine spark" in run("pairs", files / "some.parquet", "--master", "local").err


def test_spark_that_does_not_start(files, out, monkeypatch):
    """Without Java there is one line that says so."""
    monkeypatch.setenv("JAVA_HOME", str(files))
    process = spawn("pairs", files / "some.parquet", *SPARK, "-o", out / "pairs.parquet")
    _, said = process.communicate(timeout=GUARD)
    assert process.returncode == 2
    assert said.decode().startswith("lookalike: Spark does not start (it needs Java 17 or later): ")
    assert len(said.decode().splitlines()) == 1


def test_without_pyspark(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark" or name == "lookalike.spark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UsageError, match=r"PySpark, which is missing: pip install 'lookalike\[spark\]'"):
        importlib.import_module("lookalike.spark")
