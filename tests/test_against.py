"""Items similar to an earlier one are removed, whatever they are like among themselves."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import UsageError

SETS = st.lists(st.sets(st.integers(0, 6), min_size=1), max_size=12)


def jaccard(one, other):
    return len(one & other) / len(one | other)


def expected(new, old, threshold, order, copies=1):
    """Keep items in this order that are like none kept before, and `copies` like them; return those kept."""
    fresh = [at for at in order if all(jaccard(new[at], other) < threshold for other in old)]
    heads, members = [], {}
    for at in fresh:
        head = next((one for one in heads if jaccard(new[at], new[one]) >= threshold), None)
        if head is None:
            heads.append(at)
            members[at] = [at]
        elif len(members[head]) < copies:
            members[head].append(at)
    return sorted(at for some in members.values() for at in some)


@given(SETS, SETS, st.sampled_from([0.4, 0.6, 1.0]), st.data())
def test_kept_items_are_those_of_brute_force(new, old, threshold, data):
    values = data.draw(st.permutations(range(len(new))))
    order = sorted(range(len(new)), key=lambda at: -values[at])
    common = {"threshold": threshold, "method": "exact"}
    for keep, visit in (("first", range(len(new))), (values, order)):
        if not new and keep != "first":
            continue
        found = la.dedup(new, against=old, keep=keep, **common)
        assert found.kept.to_pylist() == expected(new, old, threshold, visit)
        for removed, kept, value, is_earlier in found:
            earlier = [jaccard(new[removed], other) for other in old]
            assert is_earlier == (max(earlier, default=0) >= threshold)
            if is_earlier:
                assert value == max(earlier) == earlier[kept]
            else:
                assert value == jaccard(new[removed], new[kept]) >= threshold


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_copies_are_kept_only_of_groups_that_are_new(copies):
    new = [{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {7, 8}, {7, 8}]
    found = la.dedup(new, against=[{7, 8}], copies=copies, method="exact")
    assert found.kept.to_pylist() == [0, 1, 2][:copies]


def test_marks_and_explanations_name_earlier_items():
    texts = ["the cat sat on the mat", "the cat sat on the hat", "a dog ran off home", "a dog ran off home!", "unlike"]
    earlier = pa.table({"id": ["e", "f"], "text": ["nothing of it", "the cat sat on the mat again"]})
    found = la.dedup(texts, against=earlier, threshold=0.5, shingles="char:4")
    assert found.kept.to_pylist() == [2, 4]
    assert [(removed, kept, old) for removed, kept, _, old in found] == [
        (0, "f", True),
        (1, "f", True),
        (3, "2", False),
    ]
    marks = found.marked().to_pylist()
    assert [row["duplicate_of"] for row in marks] == ["f", "f", None, "2", None]
    assert [row["cluster"] for row in marks] == ["f", "f", "2", "2", "4"]
    assert [row["copies"] for row in marks] == [3, 3, 2, 2, 1]
    assert [row["earlier"] for row in marks] == [True, True, False, False, False]
    assert "left only" in str(found.explain(0))
    assert "both" in str(found.explain(2))
    assert found.stats["kept"] == 2


def test_vectors():
    found = la.dedup([[1.0, 0.0], [0.0, 1.0]], against=[[0.0, 2.0]], measure="angle", threshold=5)
    assert (found.kept.to_pylist(), list(found)) == ([0], [(1, 0, 0.0, True)])


@pytest.mark.parametrize("name", ["drop_all", "audit", "within", "memory"])
def test_options_that_do_not_apply(name):
    given = {"drop_all": True, "audit": 5, "within": [1, 2], "memory": "1GB"}[name]
    with pytest.raises(UsageError, match=f"^{name} cannot be used with against"):
        la.dedup(["a text", "another"], against=["a text"], **{name: given})
