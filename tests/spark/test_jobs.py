"""Check Spark against one machine with the same tests, and both against brute force."""

import math
import random
import sys
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from itertools import combinations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

import lookalike as la
from lookalike.core.errors import DataError, TooManyPairs, UsageError
from lookalike.kernels.sketch import sketch_rows
from lookalike.spark import Dedup, tasks
from lookalike.spark.making import OfTexts
from lookalike.spark.parcels import Parcels
from tests.engines import COLLECTIONS, Here, There, as_items, baskets, documents, named

pytestmark = pytest.mark.spark

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not have this file


# --- both engines ---


@pytest.fixture(scope="module")
def ask_spark(spark):
    return asking(There(spark))


@pytest.fixture(scope="module")
def ask_here():
    return asking(Here())


@pytest.fixture(params=["one machine", "spark"])
def ask(request):
    return request.getfixturevalue("ask_here" if request.param == "one machine" else "ask_spark")


def asking(engine):
    """Return a function that asks an engine about a collection; each job runs only once, for all tests."""

    @cache
    def answer(job, name, **more):
        make, options = COLLECTIONS[name]
        return getattr(engine, job)(make(), **options, recall=RECALL, **more)

    return answer


RECALL = 0.9999


def sets_of(table, options):
    if "shingles" not in options:
        return [set(one) for one in table["text"].to_pylist()]
    shingles = la.Shingles.parse(options["shingles"])
    return [shingles.of(text) for text in table["text"].to_pylist()]


def jaccard(one, other):
    return len(one & other) / len(one | other)


# --- the same tests on both ---


@pytest.mark.parametrize("name", COLLECTIONS)
def test_pairs_are_those_of_brute_force(ask, name):
    (make, options), found = COLLECTIONS[name], ask("pairs", name)
    table = make()
    ids, sets = table["id"].to_pylist(), sets_of(table, options)
    true = {
        (ids[a], ids[b]): jaccard(sets[a], sets[b])
        for a, b in combinations(range(len(ids)), 2)
        if sets[a] and sets[b] and jaccard(sets[a], sets[b]) >= options["threshold"]
    }
    assert len(true) > 150
    assert all(true[pair] == value for pair, value in found.items())
    assert len(found) >= 0.995 * len(true)


def test_no_two_kept_are_similar(ask):
    dropped = {row["id"]: row for row in ask("dropped", "documents", keep="lowest-id")}
    sets = sets_of(documents(), COLLECTIONS["documents"][1])
    for row in dropped.values():
        assert row["kept"] not in dropped
        assert row["kept"] < row["id"]
        assert row["similarity"] == jaccard(sets[row["id"]], sets[row["kept"]]) >= 0.6
    kept = [at for at in range(len(sets)) if at not in dropped]
    assert not any(jaccard(sets[a], sets[b]) >= 0.6 for a, b in combinations(kept, 2) if sets[a] and sets[b])


def test_clusters_are_components_of_the_pairs(ask):
    label = {item: item for item in named()["id"].to_pylist()}
    pairs = ask("pairs", "names")
    for _ in range(30):
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    found = ask("clusters", "names")
    assert {row["id"]: row["cluster"] for row in found} == {item: label[item] for pair in pairs for item in pair}
    sizes = [sum(other["cluster"] == row["cluster"] for other in found) for row in found]
    assert [row["size"] for row in found] == sizes


@pytest.mark.parametrize("engine", ["one machine", "spark"])
def test_nothing_to_find(engine, request):
    engine = Here() if engine == "one machine" else request.getfixturevalue("there")
    some = pa.table({"id": [1, 2, 3], "text": ["one text alone", "and another, unlike it", ""]})
    none = pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())})
    assert engine.pairs(none) == engine.pairs(some) == {}
    assert engine.clusters(none) == engine.dropped(some) == []


# --- the same results ---


@pytest.mark.parametrize("name", COLLECTIONS)
def test_pairs_and_clusters_are_the_same(there, ask_spark, ask_here, name):
    make, options = COLLECTIONS[name]
    plan = la.find_pairs(as_items(make()), method="lsh", recall=RECALL, **options).plan
    assert la.spark.plan(there.frame(make()), recall=RECALL, **options) == plan
    pairs = ask_spark("pairs", name)
    assert pairs == ask_here("pairs", name)
    assert all(a < b for a, b in pairs)
    assert ask_spark("clusters", name) == ask_here("clusters", name)


@pytest.mark.parametrize("keep", ["lowest-id", "longest", "rank"])
def test_the_same_are_dropped_for_the_same(ask_spark, ask_here, keep):
    """In whatever order the rows come: ties between lengths or ranks are many, and there too the id decides."""
    dropped = ask_spark("dropped", "documents", keep=keep)
    assert dropped == ask_here("dropped", "documents", keep=keep)
    assert len(dropped) > 300
    table, options = documents(), COLLECTIONS["documents"][1]
    for seed in (1, 2):
        mixed = table.take(pa.array(random.Random(seed).sample(range(len(table)), len(table))))
        found = Here().dropped(mixed, keep=keep, recall=RECALL, **options)
        assert sorted(row["id"] for row in found) == [row["id"] for row in dropped]


def test_spark_does_not_know_which_row_is_the_first(there):
    table = pa.table({"id": [1, 2], "text": ["one", "two"]})
    with pytest.raises(UsageError, match=r"^keep='first' needs the order of rows, .*; keep='lowest-id' keeps the same"):
        la.spark.dedup(there.frame(table), keep="first")


@pytest.mark.parametrize(
    "options", [{"measure": "bag", "shingles": "char:3"}, {"sketch": "simhash"}, {"seed": 5, "recall": 0.8}]
)
def test_other_ways_to_compare(there, options):
    table = documents().slice(0, 400)
    options = {"threshold": 0.7, "shingles": "word:2", **options}
    found = there.pairs(table, **options)
    assert found == Here().pairs(table, **options)
    assert len(found) > 30


RULES = ["rank:min,longest", [("name", "max"), ("rank", "min")], "flag,name:min", "price:max,longest:min"]


@pytest.mark.parametrize(("keep", "copies"), [*zip(RULES, (1, 3, 3, 1), strict=True)], ids=str)
def test_several_rules(there, keep, copies):
    """Columns of numbers, texts, prices as texts, and flags, with nulls; ids decide between equals."""
    draw, table = random.Random(6), documents().slice(0, 300)
    values = {"name": ["ant", "bee", "", None], "price": ["3", "20.5", "", None], "flag": [True, False, None]}
    for name, some in values.items():
        table = table.append_column(name, pa.array(draw.choices(some, k=300)))
    options = {"keep": keep, "copies": copies, **COLLECTIONS["documents"][1]}
    frame = there.frame(table)
    dropped = la.spark.dedup(frame, **options).dropped.orderBy("id").toArrow().to_pylist()
    path = table.select(["id", "text", "rank", *values])
    assert dropped == la.dedup(path, method="lsh", **options).to_arrow().to_pylist()
    assert len(dropped) > (50 if copies == 1 else 5)


@pytest.mark.parametrize("keep", ["score:max", "score:min"])
def test_copies_whose_value_is_not_a_number_come_before_those_without_one(there, keep):
    scores = pa.array([None, math.nan, 1.5, math.nan, None, 2.5])
    table = pa.table({"id": range(6), "text": ["the same text of some words"] * 6, "score": scores})
    dropped = la.spark.dedup(there.frame(table), keep=keep, copies=3).dropped.orderBy("id").toArrow().to_pylist()
    assert dropped == la.dedup(table, keep=keep, copies=3, method="lsh").to_arrow().to_pylist()
    assert [row["id"] for row in dropped] == [0, 3, 4]


@pytest.mark.parametrize("sizes", [["9d", "10d", "8d"], [" 9", " 10", " 8"]])
def test_texts_that_only_java_reads_as_numbers_are_compared_as_texts(there, sizes):
    table = pa.table({"id": range(3), "text": ["the same text of some words"] * 3, "size": sizes})
    dropped = la.spark.dedup(there.frame(table), keep="size").dropped.orderBy("id").toArrow().to_pylist()
    assert dropped == la.dedup(table, keep="size", method="lsh").to_arrow().to_pylist()


def test_all_that_have_similar_ones_are_dropped(there):
    table, options = documents().slice(0, 400), COLLECTIONS["documents"][1]
    found = la.spark.dedup(there.frame(table), drop_all=True, **options)
    dropped = found.dropped.orderBy("id").toArrow().to_pylist()
    here = la.dedup(table, drop_all=True, method="lsh", **options)
    assert dropped == here.to_arrow().to_pylist()
    assert sorted(found.kept.toArrow()["id"].to_pylist()) == here.kept.to_pylist()
    with pytest.raises(UsageError, match="keep cannot be used with drop_all, which keeps none of similar items"):
        la.spark.dedup(there.frame(table), drop_all=True, keep="longest")
    with pytest.raises(UsageError, match="copies cannot be used with drop_all, which keeps none of similar items"):
        la.spark.dedup(there.frame(table), drop_all=True, copies=2)
    with pytest.raises(UsageError, match="keep must be rules or columns on Spark, not values; got list"):
        la.spark.dedup(there.frame(table), keep=[1, 2])


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
    there.session.conf.set("spark.sql.session.timeZone", "America/New_York")  # where one of the times does not exist
    try:
        options = COLLECTIONS["documents"][1]
        assert there.dropped(table, keep="rank", **options) == Here().dropped(table, keep="rank", **options)
    finally:
        there.session.conf.unset("spark.sql.session.timeZone")


# --- rows of a set and an element ---


def test_rows_of_sets_and_elements(there):
    table = baskets()
    sets, elements = [], []
    for name, basket in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True):
        sets += [name] * (len(basket) + 1)
        elements += [*basket, basket[0]]  # a repeated element counts once
    order = random.Random(2).sample(range(len(sets)), len(sets))
    rows = pa.table({"basket": [sets[at] for at in order], "product": [elements[at] for at in order]})
    plan = la.find_pairs(as_items(table), threshold=0.6, method="lsh").plan
    frame = there.frame(rows).repartition(5)
    assert la.spark.plan(frame, rows=("basket", "product"), threshold=0.6) == plan
    found = la.spark.find_pairs(frame, rows=("basket", "product"), plan=plan).toArrow().to_pydict()
    expected = Here().pairs(table, threshold=0.6)
    assert {(a, b): s for a, b, s in zip(*found.values(), strict=True)} == expected
    groups = la.spark.find_clusters(frame, rows=("basket", "product"), plan=plan).orderBy("cluster", "id").toArrow()
    assert groups.to_pylist() == Here().clusters(table, threshold=0.6)


# --- errors ---


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshhold": 0.5}, TypeError, r"find_pairs\(\) got an unexpected keyword argument 'threshhold'"),
        ({"text": "words"}, DataError, "no column 'words' for the text; it has id, text, rank, list"),
        ({"id": "words"}, DataError, "no column 'words' for the id"),
        ({"id": "list"}, DataError, "column 'list' for the id must hold strings or integers; it holds array<double>"),
        (
            {"text": "rank"},
            DataError,
            "column 'rank' must hold strings, or lists .* it holds bigint",
        ),
        ({"text": "list"}, DataError, "column 'list' must hold strings, or lists of strings or integers"),
        ({"rows": "id"}, UsageError, "rows must be two columns"),
        (
            {"rows": ("id", "text"), "text": "text"},
            UsageError,
            r"give either text and id \(one row per item\) or rows \(one row per element\), not both",
        ),
        (
            {"rows": ("id", "text"), "sketch": "simhash"},
            UsageError,
            "data with one element per row supports only measure 'jaccard' with sketch 'minhash'",
        ),
        ({"rows": ("id", "rank")}, DataError, "'id' or 'rank' is null in some rows"),
        ({"rows": ("id", "rank"), "shingles": "word:2"}, UsageError, "shingles are for texts"),
        ({"measure": "edit"}, UsageError, "measure must be 'jaccard' or 'bag' on Spark; got 'edit'"),
        ({"recall": 1}, UsageError, r"recall must be below 1 on Spark\.$"),
        (
            {"threshold": 0.005},
            UsageError,
            "threshold must be higher: 0.005 at recall 0.99 needs 919 minhashes, more than 512. Raise the threshold or",
        ),
        ({"threshold": 80}, UsageError, "threshold must be in"),
        ({"id": "rank"}, DataError, "column 'rank' for the id is empty in 1 row"),
        ({"max_pairs": 0}, UsageError, "max_pairs must be an integer of at least 1"),
        ({"max_pairs": 1}, TooManyPairs, "3 pairs of identical items, more than max_pairs = 1"),
    ],
)
def test_invalid_options(there, options, error, message):
    table = pa.table({"id": [1, 2, 3], "text": ["one text"] * 3, "rank": [1, None, 2], "list": [[0.5]] * 3})
    with pytest.raises(error, match=message):
        la.spark.find_pairs(there.frame(table), **options)


def test_invalid_data(there):
    table = pa.table({"id": [1, 1, 3], "text": ["a", "a", None], "when": ["x", "y", "z"]})
    frame = there.frame(table)
    with pytest.raises(DataError, match="ids must be unique; the 3 rows have 2 different values in column 'id'"):
        la.spark.find_pairs(frame)
    with pytest.raises(DataError, match=r"item 3 has no text \(null\): drop such rows first, with dropna, or"):
        la.spark.dedup(frame.where("id = 3"))
    with pytest.raises(DataError, match="column 'list' must hold numbers, dates or texts to sort by; it holds array"):
        la.spark.dedup(frame.selectExpr("*", "array(1) AS list"), keep="list")
    with pytest.raises(UsageError, match="keep must be 'lowest-id' for rows"):
        la.spark.dedup(frame, rows=("id", "when"), keep="longest")
    with pytest.raises(DataError, match=r"which column is the text\? Name it with text=; there are id, when\.$"):
        la.spark.find_clusters(frame.select("id", "when"))
    with pytest.raises(DataError, match="needs a column of unique ids; name it with id=; the input has text, when"):
        la.spark.find_clusters(frame.select("text", "when"))
    texts = pa.table({"id": range(60), "text": [f"the same text but for the number {at}" for at in range(60)]})
    with pytest.raises(TooManyPairs, match="candidate pairs, counted per band, more than max_pairs = 9"):
        la.spark.find_pairs(there.frame(texts), threshold=0.5, max_pairs=9)


def test_a_plan_that_does_not_fit(there):
    texts = ["one text of some words", "another text of some words"]
    frame = there.frame(pa.table({"id": [1, 2], "text": texts}))
    plan = la.find_pairs(texts, shingles="word:2", method="lsh").plan
    with pytest.raises(UsageError, match="plan must be for char:9; it is for word:2"):
        la.spark.find_pairs(frame, plan=plan)
    with pytest.raises(UsageError, match="seed is already in the plan"):
        la.spark.find_pairs(frame, plan=plan, shingles="word:2", seed=3)
    exact = la.find_pairs(texts, shingles="word:2", method="exact").plan
    with pytest.raises(UsageError, match="plan must have bands, since Spark supports only method"):
        la.spark.find_pairs(frame, plan=exact, shingles="word:2")


def test_odd_names_of_columns(there):
    texts = ["some text of a few words", "some text of a few words", "quite another one"]
    table = pa.table({"the.id": [1, 2, 3], "a`text": texts, "id": [0, 0, 0]})
    found = la.spark.dedup(there.frame(table), id="the.id", text="a`text")
    assert isinstance(found, Dedup)
    assert found.kept.toArrow()["the.id"].to_pylist() == [1, 3]
    assert found.dropped.toArrow().to_pylist() == [{"id": 2, "kept": 1, "similarity": 1.0}]


def test_a_folder_for_checkpoints(there, tmp_path):
    """If a folder is set, the results of stages are written there and survive lost executors."""
    table, options = named(), COLLECTIONS["names"][1]
    there.session.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        assert there.clusters(table, **options) == Here().clusters(table, **options)
    finally:
        there.session.sparkContext.setCheckpointDir(None)
    assert any(path.is_file() for path in tmp_path.rglob("part-*"))


def test_kernels_are_compiled_once_for_all_executors(there):
    """Tasks reuse the machine code that earlier processes have cached."""
    texts = ["one text", "another text"]
    plan = la.find_pairs(texts, shingles="char:3", method="lsh").plan  # compiles the kernels that tasks need
    frame = there.frame(pa.table({"id": [1, 2], "content": texts}))
    parcels = Parcels(tasks.sketch_schema(pa.int64(), plan.bands.bands), 2)
    task = partial(cache_misses, making=OfTexts(plan, la.Shingles(k=3)), parcels=parcels)
    assert [row["misses"] for row in frame.coalesce(1).mapInArrow(task, "misses long").collect()] == [0]


def cache_misses(batches, making, parcels):
    """Sketch the batches, and count the kernels without cached machine code."""
    list(tasks.sketched(batches, making, None, (), parcels))
    yield pa.record_batch({"misses": [sum(sketch_rows.stats.cache_misses.values())]})


def test_parquet_files_in_parts(there, tmp_path):
    """The order and division of files make no difference."""
    table, options = documents(), COLLECTIONS["documents"][1]
    for at in range(4):
        pq.write_table(table.slice(at * 301, 301), tmp_path / f"{9 - at}.parquet", row_group_size=100)
    frame = there.session.read.parquet(str(tmp_path))
    found = la.spark.find_pairs(frame, **options).toArrow().to_pydict()
    assert {(a, b): s for a, b, s in zip(*found.values(), strict=True)} == Here().pairs(table, **options)
