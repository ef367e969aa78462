"""Check clusters of records: against plain twins, on chains, and in one table and two."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.entities import resolve, two_companies
from lookalike.entities.grouping import LIMIT, MOST, STEPS, UNSCORED, bits
from tests import reference as ref
from tests.entities.shared import FIELDS, PEOPLE, clusters_of
from tests.kernel_samples import seeds

SHARES = (0.0, 0.001, 0.1, 0.3, 0.5, 0.6, 0.9, 0.9, 0.99, 1.0)


def drawn_pairs(rng, records, first):
    pairs = [(a, b) for a, b in combinations(range(records), 2) if first is None or a < first <= b]
    return [(a, b, rng.choice(SHARES)) for a, b in pairs if rng.random() < 0.7]


def worth(share, cut_off):
    """Return the bits of a pair, rounded as in the module."""
    zero = min(cut_off, 0.5)
    steps = [int(bits(np.array([one]))[0]) for one in (share, zero)]
    value = steps[0] - steps[1]
    return value if share >= cut_off else min(value, 0)


@pytest.mark.parametrize("cut_off", [0.3, 0.5, 0.9])
@given(seeds, st.integers(0, 9), st.sampled_from([None, 3]))
def test_groups_and_cuts(cut_off, rng, records, first):
    scored = drawn_pairs(rng, records, first)
    found = clusters_of(records, scored, first, cut_off)
    evidence = {(a, b): worth(share, cut_off) for a, b, share in scored}
    links = sorted((-share, a, b) for a, b, share in scored if share >= cut_off)
    unknown = int(UNSCORED * STEPS)
    label, joined = ref.join_supported(records, [(a, b) for _, a, b in links], evidence, unknown, MOST, first)
    assert found.label.tolist() == label

    weakest = {label[a]: -share for (share, a, _), join in zip(links, joined, strict=True) if join}  # the last one
    inside = [(-share, a, b) for share, a, b in links if label[a] == label[b]]
    for row in found.to_arrow().to_pylist():
        assert row["cluster"] == label[row["id"]]
        assert row["size"] == label.count(row["cluster"])
        assert row["weakest"] == weakest[row["cluster"]]
        assert row["probability"] == max(share for share, a, b in inside if row["id"] in (a, b))

    cuts = {(row["left"], row["right"]): row for row in found.cuts.to_pylist()}
    assert list(cuts) == [(a, b) for _, a, b in links if label[a] != label[b]]
    for (a, b), row in cuts.items():
        ends = {label[a], label[b]}
        between = [
            pair for pair in combinations(range(records), 2)
            if {label[pair[0]], label[pair[1]]} == ends and (first is None or pair[0] < first <= pair[1])
        ]  # fmt: skip
        compared = [pair for pair in between if pair in evidence]
        assert row["matches"] == sum((one, other) in between for _, one, other in links)
        assert row["others"] == len(compared) - row["matches"]
        assert row["not_compared"] == len(between) - len(compared)
        assert row["bits"] == sum(evidence.get(pair, unknown) for pair in between) / STEPS
        assert row["bits"] < 0, "these two clusters could be joined"


@given(seeds, st.integers(2, 9))
def test_the_order_of_pairs_does_not_matter(rng, records):
    scored = drawn_pairs(rng, records, None)
    found = clusters_of(records, scored)
    rng.shuffle(scored)
    again = clusters_of(records, scored)
    assert found.to_arrow().equals(again.to_arrow())
    assert found.cuts.equals(again.cuts)


def test_bits_are_limited_and_even_at_the_cut_off():
    assert bits(np.array([0.0, 1e-9, 0.5, 1.0])).tolist() == [-LIMIT * STEPS, -LIMIT * STEPS, 0, LIMIT * STEPS]
    assert bits(np.array([0.2]), 0.2).tolist() == [0]
    assert bits(np.array([0.5]), 0.9).tolist() == [0]
    assert bits(np.array([0.5]), np.inf).tolist() == [0]


def test_a_chain_falls_into_pieces():
    """A hundred records, each a likely match of the next one only."""
    chain = [(at, at + 1, 0.9) for at in range(99)] + [(at, at + 2, 0.05) for at in range(98)]
    found = clusters_of(100, chain)
    assert found.sizes.max() == 2
    assert len(found.cuts) == 99 - len(found)
    assert found.lines()[1] == (
        f"cut: {len(found.cuts)} matches contradicted by the other pairs between the same clusters"
    )


def test_a_damaged_copy_stays():
    """One strong match outweighs two pairs that are slightly unlikely."""
    found = clusters_of(4, [(0, 1, 0.99), (0, 2, 0.99), (1, 2, 0.99), (2, 3, 0.95), (0, 3, 0.3), (1, 3, 0.3)])
    assert list(found) == [[0, 1, 2, 3]]
    assert not len(found.cuts)
    assert found.weakest.tolist() == [0.95] * 4


def test_a_bridge_is_cut():
    triangles = [(a, b, 0.99) for trio in ((0, 1, 2), (3, 4, 5)) for a, b in combinations(trio, 2)]
    found = clusters_of(6, [*triangles, (2, 3, 0.9), (1, 4, 0.01)])
    assert list(found) == [[0, 1, 2], [3, 4, 5]]
    [cut] = found.cuts.to_pylist()
    assert (cut["left"], cut["right"], cut["matches"], cut["others"], cut["not_compared"]) == (2, 3, 1, 1, 7)


def test_equal_records_count_as_one():
    """A hundred copies, each compared with the first only, and one record like all of them."""
    star = [(0, at, 0.9) for at in range(1, 100)]
    found = clusters_of(101, [*star, (50, 100, 0.9)], equal={pair[:2] for pair in star})
    assert list(found) == [list(range(101))]
    assert clusters_of(101, [*star, (50, 100, 0.9)]).sizes.max() < 10
    found = clusters_of(101, [*star, (50, 100, 0.9), (51, 100, 0.01)], equal={pair[:2] for pair in star})
    assert list(found) == [list(range(101))], "what equal records say counts once, and the best of it"


def test_equal_records_of_two_tables():
    """Five copies in each table: of the pairs between the tables, only some were compared."""
    pairs = [(a, 5 + b, 0.9) for a in range(5) for b in range(5) if a == 0 or b == 0]
    found = clusters_of(12, [*pairs, (4, 11, 0.8)], first=5, equal={pair[:2] for pair in pairs})
    assert [[name for _, name in cluster] for cluster in found] == [[*range(10), 11]]
    assert found.same.tolist() == [0] * 5 + [5] * 5 + [10, 11]


def test_equal_records_that_are_no_match_stay_apart():
    """They say too little: a frequent name alone, for instance."""
    assert len(clusters_of(2, [(0, 1, 0.2)], equal={(0, 1)})) == 0


def test_large_groups_with_few_comparisons():
    """Forty copies with errors, each compared with eight others."""
    ring = [tuple(sorted((at, (at + step) % 40))) for at in range(40) for step in (1, 2, 3, 4)]
    found = clusters_of(40, [(*pair, 0.999) for pair in ring])
    assert len(found) == 1
    assert len(clusters_of(40, [(*pair, 0.75) for pair in ring])) > 1


def test_one_to_one_makes_pairs():
    made = two_companies(300, seed=5)
    both = pa.concat_tables([made.left, made.right.rename_columns(made.left.column_names)])
    found = resolve(both, fields=["name", "address", "phone"], one_to_one=True)
    assert set(found.clusters().sizes.tolist()) == {1, 2}
    assert len(found.clusters()) == len(found)


def test_all_scored_pairs_have_the_same_clusters():
    found = resolve(PEOPLE, fields=["name=name", "phone"])
    assert found.every.clusters().label.tolist() == found.clusters().label.tolist()


# --- two tables ---


def test_clusters_of_two_tables_with_the_same_ids():
    found = resolve(PEOPLE, PEOPLE.append_column("more", pa.array([1] * 5)), fields=["name=name*2", "phone"])
    clusters = found.clusters()
    rows = clusters.to_arrow().to_pylist()
    assert list(rows[0]) == ["cluster", "table", "id", "size", "probability", "weakest"]
    assert {("left", "a"), ("right", "a")} <= set(clusters[0])
    assert {row["table"] for row in rows} == {"left", "right"}
    assert len(clusters.label) == 10
    for row in rows:  # a cluster joins both tables, and is named by a record of the first
        members = [(other["table"], other["id"]) for other in rows if other["cluster"] == row["cluster"]]
        assert members[0] == ("left", row["cluster"])
        assert {table for table, _ in members} == {"left", "right"}
    assert repr(clusters) == f"<{len(clusters)} clusters among 10 records>"


def test_ids_of_two_types():
    left, right = ({"id": [ids], "name": ["ann lee"], "phone": ["212 555 0100"], "town": ["ansel"]} for ids in (7, "x"))
    found = resolve(left, right, fields=["name", "phone", "town"])
    label = found.clusters().ids.to_pylist()
    assert label == ["7", "x"]


@pytest.mark.slow
def test_two_companies_agree_with_their_matches():
    """If each record has at most one match, each match is a cluster."""
    made = two_companies(500, seed=4)
    found = resolve(made.left, made.right, fields=FIELDS, one_to_one=True)
    pairs = [tuple(one for _, one in cluster) for cluster in found.clusters()]
    assert sorted(pairs) == sorted((left, right) for left, right, _ in found)


# --- explanations ---


def test_explain_members():
    clusters = resolve(PEOPLE, fields=["name=name", "phone"]).clusters()
    assert [one["field"] for one in clusters.explain(0)] == ["name", "phone"]
    assert clusters.explain(0)[0]["left"] == "Ann Lee"
    assert clusters.holder.look(np.array([0, 4])) == ["Ann Lee | 212-555-0100", "Zoe Quist"]
    other = PEOPLE.rename_columns(["id", "who", "phone"]).slice(3)
    clusters = resolve(PEOPLE, other, fields=["name:who=name", "phone"]).clusters()
    assert clusters.holder.look(np.array([4, 5])) == ["Zoe Quist", "Robert Ray | (646) 555-0199"]


def test_two_members_that_were_not_compared():
    clusters = resolve(PEOPLE, fields=["name=name", "phone"]).clusters()
    with pytest.raises(DataError) as error:
        clusters.holder.explain(0, 0)
    assert "were not compared" in str(error.value)
