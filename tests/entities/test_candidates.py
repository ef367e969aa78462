"""Check which pairs of records are scored: against brute force, and never too many."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import TooManyPairs, UsageError
from lookalike.core.run import Run
from lookalike.entities import candidates
from lookalike.entities.candidates import (
    CandidatePairs,
    Stage,
    alike,
    even_cuts,
    find_candidates,
    record_sets,
    same_values,
    shared_keys,
    value_keys,
)
from lookalike.entities.fields import Column
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.hashing import EMPTY
from lookalike.search.tables import distinct

RUN = Run(2)
VALUES = [None, "a", "b", "ann lee", "anne lee", "bob ray", "12 elm street"]
KINDS = ("text", "name", "address", "phone", "category")


def column(values, name="name", kind="text"):
    texts = pa.array(values, pa.large_string())
    return Column(name, kind, texts, texts)


def decoded(numbers, records):
    return set(zip(*(side.tolist() for side in np.divmod(numbers, max(1, records))), strict=True))


def possible(records, sides):
    """Return all pairs within one table, or between two."""
    every = itertools.combinations(range(records), 2)
    return {(a, b) for a, b in every if sides.first is None or a < sides.first <= b}


def equal_pairs(values, sides):
    return {(a, b) for a, b in possible(len(values), sides) if values[a] is not None and values[a] == values[b]}


def too_frequent(values, sides, most):
    """Return {value: pairs} of values with more than `most` pairs per record."""
    found = {}
    for value in set(values) - {None}:
        rows = [row for row, other in enumerate(values) if other == value]
        pairs = sum(1 for a, b in itertools.combinations(rows, 2) if sides.first is None or a < sides.first <= b)
        if pairs > most * len(rows):
            found[value] = pairs
    return found


def jaccard(sets, a, b):
    one, other = (set(sets.elements[sets.indptr[row] : sets.indptr[row + 1]].tolist()) for row in (a, b))
    return len(one & other) / len(one | other) if one | other else 0.0


@st.composite
def tables(draw, fields=3, most=14, values=tuple(VALUES)):
    """Draw fields of a few records with few values, and where the second table begins."""
    records = draw(st.integers(0, most))
    number = draw(st.integers(1, fields))
    every = [draw(st.lists(st.sampled_from(values), min_size=records, max_size=records)) for _ in range(number)]
    sides = draw(st.builds(Sides, st.none() | st.integers(0, records)))
    return every, sides


# --- shared values ---


@given(tables(fields=1), st.sampled_from([0, 0.4, 1, 2, 30]))
def test_shared_keys(table, most):
    """Pairs of frequent keys are left out and counted; other pairs with a common key come once."""
    [values], sides = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MOST_PER_RECORD", most)
        rows, parts, keys, pairs = shared_keys(value_keys(column(values)), sides, RUN)
    frequent = too_frequent(values, sides, most)
    assert sorted(rows.tolist()) == [row for row, value in enumerate(values) if value in frequent]
    assert (keys, pairs) == (len(frequent), sum(frequent.values()))
    found = [pair for part in parts for pair in zip(*(np.divmod(part, max(1, len(values)))), strict=True)]
    expected = {pair for pair in equal_pairs(values, sides) if values[pair[0]] not in frequent}
    assert sorted(found) == sorted(expected)


@given(tables(fields=3, most=16, values=(None, "a", "b", "c")), st.sampled_from([0, 0.4, 1, 30]))
def test_same_values(table, most):
    """A frequent value counts together with another field, if the combination is not frequent."""
    every, sides = table
    records = len(every[0])
    keys = [value_keys(column(values)) for values in every]
    for at, values in enumerate(every):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(candidates, "MOST_PER_RECORD", most)
            parts, note = same_values(keys, at, sides, RUN)
        frequent = too_frequent(values, sides, most)
        expected = {pair for pair in equal_pairs(values, sides) if values[pair[0]] not in frequent}
        left_out = {}
        for number, other in enumerate(every):
            if number == at:
                continue
            both = [(a, b) if a in frequent and b is not None else None for a, b in zip(values, other, strict=True)]
            still = too_frequent(both, sides, most)
            left_out |= {(number, combination): pairs for combination, pairs in still.items()}
            expected |= {pair for pair in equal_pairs(both, sides) if both[pair[0]] not in still}
        assert set().union(*(decoded(part, records) for part in parts)) == expected
        numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", note)]
        assert numbers[:1] == ([len(frequent)] if frequent else [])
        assert numbers[1:] == ([len(left_out), sum(left_out.values())] if left_out else [])


def test_what_is_said_of_frequent_values():
    """100 live in Salem, 70 of them in one street, two in another, the rest each in their own."""
    towns = ["salem"] * 100
    streets = ["elm"] * 70 + ["oak"] * 2 + [f"street {n}" for n in range(28)]
    keys = [value_keys(column(values)) for values in (towns, streets)]
    parts, note = same_values(keys, 0, ALONE, RUN)
    assert note == "1 frequent value used only together with another field, 1 combination with 2,415 pairs left out"
    assert set().union(*(decoded(part, 100) for part in parts)) == {(70, 71)}


@pytest.mark.parametrize(("count", "there"), [(61, True), (62, False)])
def test_the_bound_of_frequent_values(count, there):
    """61 records have 30 pairs each; one more is too many."""
    parts, note = same_values([value_keys(column(["x"] * count))], 0, ALONE, RUN)
    assert sum(map(len, parts)) == (count * (count - 1) // 2 if there else 0)
    assert bool(note) == (not there)


def test_the_bound_of_frequent_values_of_two_tables():
    """60 x 60 pairs are 30 per record; a value of one table only makes no pairs."""
    for count, there in ((60, True), (61, False)):
        parts, note = same_values([value_keys(column(["x"] * (2 * count)))], 0, Sides(count), RUN)
        assert (sum(map(len, parts)), bool(note)) == ((count * count, False) if there else (0, True))
    parts, note = same_values([value_keys(column(["x"] * 500 + ["y"]))], 0, Sides(500), RUN)
    assert (sum(map(len, parts)), note) == (0, "")


def test_missing_values_never_match():
    keys = value_keys(column([None] * 5 + ["a"]))
    assert (keys[:5] == EMPTY).all()
    assert keys[5] != EMPTY
    parts, note = same_values([keys, value_keys(column(["x"] * 6))], 0, ALONE, RUN)
    assert (sum(map(len, parts)), note) == (0, "")


def test_a_frequent_value_with_another_that_is_missing_says_nothing():
    """All have the same town, and none has a phone."""
    keys = [value_keys(column(["salem"] * 200)), value_keys(column([None] * 200))]
    parts, _ = same_values(keys, 0, ALONE, RUN)
    assert sum(map(len, parts)) == 0


def test_the_order_of_two_fields_matters():
    """Two records with swapped values share nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MOST_PER_RECORD", 0)
        keys = [value_keys(column(["a", "b"])), value_keys(column(["b", "a"]))]
        assert all(sum(map(len, same_values(keys, at, ALONE, RUN)[0])) == 0 for at in range(2))


# --- similar as a whole ---


@pytest.mark.slow
@given(tables(fields=3, most=10), st.sampled_from([0.3, 0.5, 0.8, 1.0]))
@settings(max_examples=60)
def test_alike(table, threshold):
    """No pair is less similar or found twice; equal ones are all found, few others are missed."""
    every, sides = table
    columns = [column(values, f"field {n}", KINDS[n]) for n, values in enumerate(every)]
    records = len(every[0])
    sets = record_sets(columns, slice(0, records))
    similar = {pair: jaccard(sets, *pair) for pair in possible(records, sides)}
    found = distinct(alike(columns, sides, threshold, 1, RUN)[0])
    pairs = decoded(found, records)
    assert len(found) == len(pairs)
    assert pairs <= {pair for pair in similar if similar[pair] >= threshold}
    assert pairs >= {pair for pair in similar if similar[pair] == 1}


@pytest.mark.slow
@pytest.mark.parametrize("sides", [ALONE, Sides(150)])
def test_most_that_are_alike_are_found(sides):
    draw = np.random.default_rng(3)
    words = [f"{a}{b}" for a in ("an", "bo", "cal", "do") for b in ("tor", "sen", "lee", "wick")]
    columns = [column([" ".join(draw.choice(words, 3)) for _ in range(300)], f"field {n}") for n in range(2)]
    sets = record_sets(columns, slice(0, 300))
    expected = {pair for pair in possible(300, sides) if jaccard(sets, *pair) >= 0.5}
    pairs = decoded(distinct(alike(columns, sides, 0.5, 1, RUN)[0]), 300)
    assert pairs <= expected
    assert len(pairs) >= 0.9 * len(expected) > 50


def test_shingles_of_different_fields_differ():
    swapped = record_sets([column(["ann lee", "bob ray"]), column(["bob ray", "ann lee"])], slice(0, 2))
    assert jaccard(swapped, 0, 1) == 0


def test_categories_do_not_count_as_alike():
    columns = [column(["red"] * 4, kind="category")]
    assert not len(distinct(alike(columns, ALONE, 0.5, 1, RUN)[0]))


def test_records_without_values_are_not_alike():
    columns = [column([None] * 4), column([None] * 4)]
    for sides in (ALONE, Sides(2)):
        assert not len(distinct(alike(columns, sides, 0.5, 1, RUN)[0]))


def test_a_typing_error_in_every_field():
    columns = [
        column(["jonathan smithson", "jonathan smithzon"]),
        column(["1200 west elm street", "1200 west elm xtreet"]),
    ]
    found = find_candidates(columns, ALONE, threshold=0.5, nearest=0, seed=1, run=RUN)
    assert [stage.pairs for stage in found.stages] == [0, 0, 1]


# --- all stages ---


@given(tables(fields=3, most=10), st.integers(0, 2))
@settings(max_examples=40)
def test_find_candidates(table, nearest):
    every, sides = table
    records = len(every[0])
    columns = [column(values, f"field {n}", KINDS[n]) for n, values in enumerate(every)]
    found = find_candidates(columns, sides, threshold=0.5, nearest=nearest, seed=1, run=RUN)
    assert (np.diff(found.numbers) > 0).all()
    pairs = decoded(found.numbers, records)
    assert pairs <= possible(records, sides)
    assert pairs >= set().union(*(equal_pairs(values, sides) for values in every))
    assert found.possible == len(possible(records, sides))
    assert found.reduction == pytest.approx(1 - len(pairs) / max(1, found.possible))
    assert sum(stage.new for stage in found.stages) == len(pairs)
    assert all(stage.new <= stage.pairs for stage in found.stages)


@pytest.mark.parametrize("threads", [1, 3])
def test_candidates_do_not_depend_on_threads(threads):
    draw = np.random.default_rng(5)
    names = [f"{a} {b}" for a, b in draw.choice(["ann", "bob", "lee", "ray", "smith", None], (300, 2))]
    columns = [column(names), column(draw.choice(["x", "y", "z"], 300).tolist())]
    found, again = (
        find_candidates(columns, Sides(150), threshold=0.5, nearest=2, seed=1, run=Run(some)) for some in (2, threads)
    )
    assert (found.numbers == again.numbers).all()
    assert found.stages == again.stages


@pytest.mark.parametrize(
    ("records", "sides"),
    [(0, ALONE), (0, Sides(0)), (1, ALONE), (1, Sides(0)), (1, Sides(1)), (4, Sides(0)), (4, Sides(4))],
)
def test_tables_that_can_have_no_pair(records, sides):
    columns = [column(["ann lee"] * records), column(["x"] * records, kind="category")]
    found = find_candidates(columns, sides, threshold=0.5, nearest=2, seed=1, run=RUN)
    assert (len(found.numbers), found.possible, found.reduction) == (0, 0, 1)
    assert found.numbers.dtype == np.int64


@pytest.mark.parametrize("sides", [ALONE, Sides(3)])
def test_all_missing(sides):
    columns = [column([None] * 6), column([None] * 6, kind="name"), column([None] * 6, kind="category")]
    found = find_candidates(columns, sides, threshold=0.5, nearest=2, seed=1, run=RUN)
    assert len(found.numbers) == 0
    assert not any(stage.left_out for stage in found.stages)


def test_one_field_is_missing_throughout():
    """The other field still counts."""
    columns = [column(["ann lee", "bob ray", "ann lee"], kind="name"), column([None] * 3, kind="address")]
    found = find_candidates(columns, ALONE, threshold=0.5, nearest=2, seed=1, run=RUN)
    assert (0, 2) in decoded(found.numbers, 3)


# --- not too many ---


def random_words(count, length, seed):
    letters = np.random.default_rng(seed).integers(ord("a"), ord("z") + 1, (count, length)).astype(np.uint8)
    return letters.view(f"S{length}")[:, 0].astype(str).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("count", "sides"), [(100_000, ALONE), (60_000, Sides(30_000))])
def test_a_town_of_very_many(count, sides):
    """Pairs come from the names: 1,000 of them occur twice."""
    names = random_words(count, 14, seed=1)
    names[-1000:] = names[:1000]
    found = find_candidates(
        [column(["salem"] * count, "town"), column(names, "name", "name")],
        sides, threshold=0.5, nearest=2, seed=1, run=RUN,
    )  # fmt: skip
    twins = {(n, count - 1000 + n) for n in range(1000)}
    assert decoded(found.numbers, count) >= twins
    assert len(found.numbers) < 7 * count
    note = "1 frequent value used only together with another field"
    assert found.stages[0] == Stage("same town", 1000, 1000, note, "town")
    names = [
        "same town",
        "same name",
        "similarity >= 0.5",
        "2 nearest by town",
        "2 nearest by name",
        "2 nearest as a whole",
    ]
    assert [stage.name for stage in found.stages] == names


@pytest.mark.slow
def test_a_long_value_that_all_have_does_not_make_all_alike():
    """1,500 records with one address make 1.1 million pairs; 60 per record are plenty."""
    count = 1_500
    names = random_words(count, 5, seed=2)
    columns = [column(["1200 north california avenue san francisco"] * count, "address", "address")]
    columns.append(column(names, "name", "name"))
    found = find_candidates(columns, ALONE, threshold=0.5, nearest=2, seed=1, run=RUN)
    assert len(found.numbers) <= 60 * count


@pytest.mark.slow
def test_one_value_alone_that_all_have():
    """Nothing distinguishes the records, and there is no other field to combine it with."""
    count = 1_500
    found = find_candidates([column(["salem"] * count)], ALONE, threshold=0.5, nearest=2, seed=1, run=RUN)
    assert len(found.numbers) <= 60 * count


@pytest.mark.parametrize("sides", [ALONE, Sides(4)])
def test_large_tables_are_searched_as_a_whole_only_for_records_found_once_or_never(sides, monkeypatch):
    """Between two of them, records similar as a whole are not joined: the nearest are among them."""
    monkeypatch.setattr(candidates, "LARGE", 7)
    names = ["ann lee", "bob ray", "cal tor", "dot kim", "ann lee", "bob rai", "cal tor", "zoe q"]
    streets = ["1 elm", "2 oak lane", "3 ash", "4 fir", "1 elm", "2 oak lana", "33 ash", "9 yew"]
    columns = [column(names, "name", "name"), column(streets, "street", "address")]
    found = find_candidates(columns, sides, threshold=0.5, nearest=1, seed=1, run=RUN)
    similar = [] if sides.two else ["similarity >= 0.5"]
    assert [stage.name for stage in found.stages] == ["same name", "same street", *similar, "1 nearest as a whole"]
    assert found.stages[-1].left_out == "only for records not yet found in two ways"
    pairs = decoded(found.numbers, 8)
    assert {(0, 4), (1, 5), (2, 6)} <= pairs
    before = replace(found, found_by=found.found_by & np.uint64(2 ** (len(found.stages) - 1) - 1))
    assert not before.unsettled()[[0, 4]].any()
    settled = {record for pair in pairs if found_in(before, pair) >= 2 for record in pair}
    assert before.unsettled().tolist() == [record not in settled for record in range(8)]


def found_in(found, pair):
    """Count the stages that found a pair."""
    bits = found.found_by[found.numbers == pair[0] * found.records + pair[1]]
    return bin(int(bits[0])).count("1")


def test_which_stages_found_a_pair():
    found = CandidatePairs(10, ALONE).plus("one", [np.array([12, 3])]).plus("two", [np.array([3, 4])])
    assert dict(zip(found.numbers.tolist(), found.found_by.tolist(), strict=True)) == {3: 3, 4: 2, 12: 1}
    for _ in range(70):
        found = found.plus("more", [np.array([12])])
    assert int(found.found_by[2]) == 2**64 - 1 - 2  # stages from the 64th on share a bit


def test_too_many_candidates_are_an_error():
    found = CandidatePairs(10_000, ALONE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "MOST_PAIRS", 3)
        with pytest.raises(TooManyPairs) as error:
            found.plus("same name", [np.arange(1, 5)])
    assert str(error.value) == (
        "4 candidate pairs, more than 3: leave out fields in which many records have the same value, raise threshold, "
        "or lower nearest."
    )


def test_a_threshold_too_low_for_bands():
    """No method can be given, so none is advised."""
    with pytest.raises(UsageError) as error:
        find_candidates([column(["ann", "bob"])], ALONE, threshold=0.005, nearest=2, seed=1, run=RUN)
    assert str(error.value) == (
        "threshold must be higher: 0.005 at recall 0.95 needs 598 minhashes, more than 512. Raise the threshold."
    )


def test_stages_in_words():
    assert str(Stage("same name", 1200, 7)) == "same name: 1,200 pairs, 7 of them new"
    assert str(Stage("same town", 1, 1, "left out")) == "same town: 1 pair, which is new; left out"
    assert str(Stage("same town", 1, 0)) == "same town: 1 pair, not new"
    assert str(Stage("same town", 0, 0)) == "same town: 0 pairs"
    assert CandidatePairs(2, ALONE).plus("one", [np.array([1])]).lines()[0] == "candidates: 1 pair of 1, none ruled out"
    assert CandidatePairs(2, ALONE).lines() == ["candidates: 0 pairs of 1, 100.0000% ruled out"]
    assert CandidatePairs(1, ALONE).lines() == ["candidates: 0 pairs of 0"]
    found = CandidatePairs(10, ALONE).plus("one", [np.array([12, 3]), np.array([3])]).plus("two", [np.array([3, 4])])
    assert found.numbers.tolist() == [3, 4, 12]
    assert [(stage.pairs, stage.new) for stage in found.stages] == [(2, 2), (2, 1)]


def test_parts_do_not_matter(monkeypatch):
    """Neither those of records nor those of pairs change candidates or their order."""
    draw = np.random.default_rng(1)
    columns = [column([" ".join(draw.choice(["ann", "bob", "lee", "ray"], 3)) for _ in range(90)]) for _ in range(2)]
    options = {"threshold": 0.5, "nearest": 1, "seed": 1}
    whole = find_candidates(columns, Sides(40), **options, run=Run(1))
    monkeypatch.setattr(candidates, "PAIRS_PER_TASK", 5)
    monkeypatch.setattr(candidates, "PAIRS_PER_RANGE", 50)
    monkeypatch.setattr(candidates, "RECORDS_PER_TASK", 7)
    parts = find_candidates(columns, Sides(40), **options, run=Run(3))
    assert parts.numbers.tolist() == whole.numbers.tolist()
    assert parts.found_by.tolist() == whole.found_by.tolist()
    assert parts.stages == whole.stages
    assert parts.unsettled().tolist() == whole.unsettled().tolist()


@given(st.lists(st.lists(st.integers(0, 99), max_size=60).map(sorted), max_size=4), st.integers(1, 200))
def test_even_cuts(lists, step):
    """Cuts ascend, and between two of them there are at most a few more numbers than wanted."""
    arrays = [np.array(some, np.int64) for some in lists]
    cuts = even_cuts(arrays, step)
    assert (np.diff(cuts) > 0).all()
    every = [number for some in lists for number in some]
    bounds = [-1, *cuts.tolist(), 100]
    for low, high in itertools.pairwise(bounds):
        inside = sum(low < number < high for number in every)
        assert inside <= 2 * step + len(lists) * max(1, step // candidates.DRAWN)
