"""Check spaces: `near` never loses a pair that `measured` says is near; and their other methods.

The data is chosen to break bounds: huge and tiny numbers, outliers, identical rows, clouds far from
the origin, and thresholds that are exactly the distance of a pair.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

import lookalike as la
from lookalike.core.errors import DataError
from lookalike.families import BitSampling, Hyperplanes, RandomLines
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from lookalike.measures import MEASURES
from lookalike.search import blocks, spaces
from lookalike.search.spaces import BitSpace, VectorSpace, space_of
from tests import reference as ref
from tests.vector_samples import SINGLE, found, oracle

FLOATS = [np.float32, np.float64]
FARTHEST = {"angle": 180.0, "cosine_similarity": -1.0, "euclidean": 1e300, "inner_product": -math.inf}
NEAREST = {"angle": 0.0, "cosine_similarity": 1.0, "euclidean": 0.0, "inner_product": math.inf}

DISTANCES = ("angle", "cosine_similarity", "euclidean")
KINDS = (*DISTANCES, "inner_product")


def all_pairs(n):
    return np.triu_indices(n, 1)


def blocks_of(n):
    """Return all pairs as one block, as two blocks and the pairs between them, and row by row."""
    third = n // 3
    return [
        np.array([[0, n, 0, n]]),
        np.array([[0, third, 0, third], [third, n, 0, third], [third, n, third, n]]),
        np.array([[at, at + 1, 0, at] for at in range(1, n)], np.int64).reshape(-1, 4),
    ]


def check_nothing_is_lost(space):
    """Check that `near` returns each pair within the threshold, whatever the blocks."""
    n = len(space)
    left, right = all_pairs(n)
    within = space.within(space.measured(left, right))
    expected = set((left * n + right)[within].tolist())
    order = np.random.default_rng(n).permutation(n)
    for rectangles in blocks_of(n):
        found = space.near(order, rectangles).tolist()
        assert len(found) == len(set(found))
        lost = expected - set(found)
        assert not lost, [divmod(number, n) for number in lost]
    return expected


def thresholds_of(measure, vectors, most=12):
    """Return thresholds for no pairs and all pairs, and the exact measures of some pairs."""
    left, right = all_pairs(len(vectors))
    values = VectorSpace(vectors, measure, NEAREST[measure]).measured(left, right)
    values = np.unique(values[np.isfinite(values)])
    chosen = values[np.linspace(0, len(values) - 1, min(most, len(values))).astype(int)] if len(values) else []
    return [NEAREST[measure], FARTHEST[measure], *map(float, chosen)]


def check_all_thresholds(measure, vectors):
    found = [check_nothing_is_lost(VectorSpace(vectors, measure, far)) for far in thresholds_of(measure, vectors)]
    assert len(found[1]) == len(vectors) * (len(vectors) - 1) // 2 or measure == "euclidean"


def with_cloud(shape, seed=0):
    """Draw normal rows, some of them close to others, opposite, or parallel."""
    rng = np.random.default_rng([*shape, seed])
    rows = rng.normal(size=shape)
    n = len(rows) // 4
    rows[n : 2 * n] = rows[:n] + 1e-3 * rng.normal(size=(n, shape[1]))
    rows[2 * n : 3 * n] = rows[:n] * rng.choice([-1.0, 2.0, 0.1, -3.0], (n, 1))
    return rows


def outlier(rows, size):
    rows = rows.copy()
    rows[1] *= size
    return rows


CLOUDS = {
    "plain": lambda rows: rows,
    "huge": lambda rows: rows * 1e37,
    "tiny": lambda rows: rows * 1e-37,
    "of all sizes": lambda rows: rows * 10.0 ** np.linspace(-36, 36, len(rows))[:, None],
    "with an outlier": lambda rows: outlier(rows, 1e6),
    "with a far outlier": lambda rows: outlier(rows, 1e30),
    "on the border of what is far out": lambda rows: (
        rows + 1e15 * np.where(np.arange(len(rows)) % 3, 0, np.linspace(0.3, 3, len(rows)))[:, None]
    ),
    "all alike": lambda rows: np.ones_like(rows) * rows[:1],
    "far from the origin": lambda rows: 1e6 + 1e-3 * rows,
    "very far from the origin": lambda rows: 1e12 + 1e-3 * rows,
    "mostly alike": lambda rows: np.where(np.arange(len(rows))[:, None] < 3, rows, rows[:1]),
    "in two places": lambda rows: rows * 1e-3 + np.where(np.arange(len(rows)) % 2, 1e4, -1e4)[:, None],
    "of whole numbers": lambda rows: np.round(rows * 3) + (np.abs(rows).max(axis=1, keepdims=True) < 0.2),
    "along a line": lambda rows: rows[:, :1] + np.zeros_like(rows),
    "in one dimension": lambda rows: np.where(np.arange(rows.shape[1]) == 0, rows, 0),
    "close together": lambda rows: 1 + rows * 1e-7,
}
EXTREMES = {  # beyond single precision
    "of 1e300": lambda rows: rows * 1e300,
    "of 1e-300": lambda rows: rows * 1e-300,
    "of 1e-320": lambda rows: rows * 1e-320 + 1e-321,
    "of both": lambda rows: rows * np.where(np.arange(len(rows)) % 2, 1e300, 1e-300)[:, None],
    "with one of 1e306 in tiny ones": lambda rows: outlier(rows * 1e-5, 1e306),
    "with one of 1e300": lambda rows: outlier(rows, 1e300),
    "with one of 1e-320": lambda rows: outlier(rows, 1e-320) + 1e-321,
    "of all sizes there are": lambda rows: rows * 10.0 ** np.linspace(-307, 307, len(rows))[:, None],
    "with components of all sizes": lambda rows: rows * 10.0 ** np.linspace(-300, 300, rows.shape[1]),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("measure", KINDS)
def test_no_pair_is_lost(measure, cloud, kind, form):
    for shape in ((12, 3), (60, 5), (44, 33)):
        rows = CLOUDS[cloud](with_cloud(shape)).astype(kind)
        check_all_thresholds(measure, Vectors.of(rows if form == "dense" else sparse.csr_array(rows)))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("cloud", EXTREMES)
@pytest.mark.parametrize("measure", KINDS)
def test_no_pair_is_lost_of_huge_and_tiny_rows(measure, cloud, form):
    for shape in ((12, 3), (60, 5)):
        rows = EXTREMES[cloud](with_cloud(shape))
        check_all_thresholds(measure, Vectors.of(rows if form == "dense" else sparse.csr_array(rows)))


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("measure", KINDS)
def test_no_pair_is_lost_at_the_end_of_what_numbers_there_are(measure, form):
    """Partial sums of such products can overflow, and later terms can bring them back."""
    most = 1.7e308
    rows = np.array(
        [[-0.3] * 5 + [0.3] * 5, [most] * 10, [0.3] * 5 + [-0.3] * 5, [1.0] * 10, [1e10] * 10, [5e-324] * 10]
    )
    check_all_thresholds(measure, Vectors.of(rows if form == "dense" else sparse.csr_array(rows)))
    line = np.array([[1.0], [2], [3], [1e10], [1e300], [-most]])
    check_all_thresholds(measure, Vectors.of(line if form == "dense" else sparse.csr_array(line)))


@pytest.mark.slow
@pytest.mark.parametrize("measure", KINDS)
@pytest.mark.parametrize("dimensions", [1, 2, 16, 300, 2000])
def test_no_pair_is_lost_at_its_own_distance(measure, dimensions):
    """The threshold is a measured distance, in few dimensions and in many."""
    rng = np.random.default_rng(dimensions)
    rows = np.concatenate((rng.normal(size=(25, dimensions)), rng.random((25, dimensions)) + 10)).astype(np.float32)
    check_all_thresholds(measure, Vectors.of(rows))
    check_all_thresholds(measure, Vectors.of(sparse.csr_array(rows)))


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data(), st.sampled_from(list(KINDS)), st.sampled_from(FLOATS), st.booleans())
def test_no_pair_is_lost_of_any_rows(data, measure, kind, spread):
    """Hypothesis draws the rows from all numbers of single precision."""
    shape = data.draw(st.tuples(st.integers(2, 7), st.integers(1, 4)))
    numbers = st.floats(-(2.0**126), 2.0**126, width=32)
    rows = data.draw(some.arrays(kind, shape, elements=st.one_of(numbers, st.sampled_from([0.0, 1.0, -1.0, 1e-3]))))
    if MEASURES[measure].of_directions:
        rows = rows[rows.any(axis=1)]
    vectors = Vectors.of(sparse.csr_array(rows) if spread else rows)
    far = data.draw(st.sampled_from(thresholds_of(measure, vectors)))
    check_nothing_is_lost(VectorSpace(vectors, measure, far))


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("measure", KINDS)
def test_few_more_pairs_are_let_through(measure, form):
    """Without outliers, none is farther than the threshold by more than a few thousandths."""
    rows = with_cloud((300, 20)).astype(np.float32)
    vectors = Vectors.of(rows if form == "dense" else sparse.csr_array(rows))
    left, right = all_pairs(len(rows))
    values = VectorSpace(vectors, measure, NEAREST[measure]).measured(left, right)
    for share in (0.02, 0.3, 0.7):
        far = float(np.quantile(values, share))
        space = VectorSpace(vectors, measure, far)
        found = space.measured(*np.divmod(space.near(np.arange(300), blocks_of(300)[0]), 300))
        slack = 0.005 * (abs(far) + (measure == "cosine_similarity"))
        assert (found >= far - slack if space.alike else found <= far + slack).all()
        assert len(found) == pytest.approx(space.within(values).sum(), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("measure", KINDS)
def test_dense_and_sparse_rows_are_one(measure, kind):
    """Their measures agree to the last bit; `near` differs only by rounding."""
    rng = np.random.default_rng(1)
    rows = with_cloud((50, 12)).astype(kind)
    rows[:, 1:][rng.random((50, 11)) < 0.5] = 0
    left, right = all_pairs(50)
    dense = VectorSpace(Vectors.of(rows), measure, 0.9)
    spread = VectorSpace(Vectors.of(sparse.csr_array(rows)), measure, 0.9)
    assert dense.measured(left, right).tolist() == spread.measured(left, right).tolist()
    apart = [space.between(left, right) for space in (dense, spread)]
    if measure == "inner_product":
        apart = [values / space.scale**2 for values, space in zip(apart, (dense, spread), strict=True)]
    assert np.allclose(*apart, atol=1e-5)
    near = [set(space.near(np.arange(50), blocks_of(50)[0]).tolist()) for space in (dense, spread)]
    sure = set((left * 50 + right)[dense.within(dense.measured(left, right))].tolist())
    assert sure <= near[1] <= near[0]


# --- one bound per item ---


@pytest.mark.parametrize("size", [30, 90])
@pytest.mark.parametrize("measure", KINDS)
def test_each_item_is_compared_up_to_its_own_bound(measure, size):
    """The bounds of the items in the first block apply."""
    rows = with_cloud((size, 4))
    half = size // 2
    space = VectorSpace(Vectors.of(rows), measure, FARTHEST[measure])
    left, right = (grid.ravel() for grid in np.indices((half, size - half)))
    values = space.measured(left, right + half).reshape(half, -1)
    far = np.full(size, NEAREST[measure])
    far[:half] = np.sort(values, axis=1)[:, -3 if space.alike else 2]  # the third nearest
    found = space.near(np.arange(size), np.array([[0, half, half, size]]), space.bound(far)).tolist()
    wanted = values >= far[:half, None] if space.alike else values <= far[:half, None]
    expected = (left * size + right + half)[wanted.ravel()].tolist()
    assert set(expected) <= set(found)
    assert len(found) < 1.1 * len(expected) + 3
    assert len(space.bound(far)) == len(space.bound(0.5)) == size


def test_each_code_is_compared_up_to_its_own_bound():
    rng = np.random.default_rng(3)
    codes = Bits.of(rng.integers(0, 2, (60, 20)))
    space = BitSpace(codes, 20)
    far = rng.integers(0, 9, 60)
    assert space.bound(far).tolist() == far.tolist()
    left, right = (grid.ravel() for grid in np.indices((30, 30)))
    expected = (left * 60 + right + 30)[space.measured(left, right + 30) <= far[left]]
    found = space.near(np.arange(60), np.array([[0, 30, 30, 60]]), space.bound(far))
    assert sorted(found.tolist()) == expected.tolist()


# --- approximate distances ---


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("cloud", ["plain", "huge", "tiny", "of whole numbers", "with an outlier", "in two places"])
@pytest.mark.parametrize("measure", DISTANCES)
def test_about_how_far_apart(measure, cloud, kind, form):
    """Distances agree with the measure to a few digits, in degrees instead of a cosine."""
    check_between(measure, CLOUDS[cloud](with_cloud((40, 6))).astype(kind), form)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("measure", DISTANCES)
@pytest.mark.parametrize("cloud", ["of 1e300", "of 1e-300"])
def test_about_how_far_apart_huge_and_tiny_rows_are(measure, cloud, form):
    """A plan is based on these distances, so they must be finite."""
    check_between(measure, EXTREMES[cloud](with_cloud((40, 6))), form)


@pytest.mark.parametrize("cloud", ["far from the origin", "close together"])
def test_about_how_far_apart_rows_far_from_the_origin_are(cloud):
    """Otherwise a plan would be based on noise."""
    check_between("euclidean", CLOUDS[cloud](with_cloud((40, 6))), "dense")


def check_between(measure, rows, form):
    vectors = Vectors.of(rows if form == "dense" else sparse.csr_array(rows))
    space = VectorSpace(vectors, measure, FARTHEST[measure])
    one, other = np.arange(0, 25), np.arange(20, 40)
    found = space.between(one, other)
    left, right = np.repeat(one, len(other)), np.tile(other, len(one))
    values = space.measured(left, right).reshape(len(one), len(other))
    if space.alike:
        values = np.degrees(np.arccos(np.clip(values, -1, 1)))
    size = np.median(values) if measure == "euclidean" else 1
    slack = 1e-2 if measure == "euclidean" else 1e-4
    assert np.isfinite(found).all()
    assert np.allclose(found, values, rtol=1e-3, atol=slack * size)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
def test_which_inner_products_are_larger(form, size):
    rows = with_cloud((40, 6))
    vectors = Vectors.of(rows * size if form == "dense" else sparse.csr_array(rows * size))
    space = VectorSpace(vectors, "inner_product", 1.0)
    found = space.between(np.arange(25), np.arange(20, 40)) / (space.scale * size) ** 2
    np.testing.assert_allclose(-found, rows[:25] @ rows[20:].T, atol=1e-9)


# --- blocks that are skipped ---


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_blocks_of_short_rows_are_skipped(monkeypatch, form):
    """Rows come with the longest first; only those that are long enough for a product are multiplied."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 8)) * rng.lognormal(0, 2, (400, 1))
    vectors = Vectors.of(rows if form == "dense" else sparse.csr_array(rows))
    compared = []
    for name in ("near_vectors", "near_sparse"):
        kernel = getattr(spaces, name)

        def counting(*given, kernel=kernel):
            compared.append(sum((b - a) * (d - c) for a, b, c, d in given[-2].tolist()))
            return kernel(*given)

        monkeypatch.setattr(spaces, name, counting)
    monkeypatch.setattr(blocks, "SIDE", 20)
    monkeypatch.setattr(blocks, "REACH", 20)
    space = VectorSpace(vectors, "inner_product", 1000.0)
    assert (np.diff(space.lengths[space.ordered(np.arange(400))]) <= 0).all()
    options = {"measure": "inner_product", "threshold": 1000, "run": SINGLE}
    pairs = la.find_pairs(vectors, **options)
    assert found(pairs) == oracle("inner_product", rows, 1000)
    assert len(pairs) > 300
    assert sum(compared) < 400 * 400 / 2 * 0.4
    compared.clear()
    matches = la.find_matches(vectors.values[:100], vectors.values[100:], **options)
    assert found(matches) == oracle("inner_product", rows, 1000, 100)
    assert sum(compared) < 100 * 300 * 0.4


# --- contents ---


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.sampled_from(FLOATS), st.integers(0, 3), st.booleans())
def test_contents_are_the_same_just_for_the_same_rows(seed, kind, dimensions, spread):
    rows = np.random.default_rng(seed).integers(0, 3, (20, dimensions)).astype(kind)
    vectors = Vectors.of(sparse.csr_array(rows) if spread else rows)
    contents = VectorSpace(vectors, "euclidean", 1.0).contents()
    assert contents.shape == (20, 2)
    same = [[one == other for other in rows.tolist()] for one in rows.tolist()]
    for hashes in (contents[:, :1], contents[:, 1:], contents):
        assert [[one == other for other in hashes.tolist()] for one in hashes.tolist()] == same


@pytest.mark.parametrize("spread", [False, True])
def test_no_contents_are_the_same_for_inner_products(spread):
    """Identical rows need not have a large one."""
    rows = np.ones((20, 3))
    contents = VectorSpace(Vectors.of(sparse.csr_array(rows) if spread else rows), "inner_product", 1.0).contents()
    assert [len(np.unique(column)) for column in contents.T] == [20, 20]


def test_contents_tell_places_and_small_differences_apart():
    """A component moved, one slightly larger, two swapped, and signs changed."""
    rows = np.array([[1.0, 0, 2], [0, 1, 2], [2, 0, 1], [1 + 2**-52, 0, 2], [1, 2, 0], [-1, 0, 2], [1, 0, -2]])
    for vectors in (Vectors.of(rows), Vectors.of(sparse.csr_array(rows))):
        contents = VectorSpace(vectors, "angle", 1.0).contents()
        assert len({tuple(row) for row in contents.tolist()}) == len(rows)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 64, 65]))
def test_contents_of_codes(seed, length):
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 2, (4, length))
    rows = few[rng.integers(0, 4, 12)]
    contents = BitSpace(Bits.of(rows), 0).contents().tolist()
    assert [[a == b for b in contents] for a in contents] == [[(a == b).all() for b in rows] for a in rows]


# --- codes ---


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 7, 64, 65, 200]), st.integers(0, 12))
def test_codes_that_are_near_are_let_through_and_no_others(seed, length, far):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (4, length))[rng.integers(0, 4, 20)] ^ (rng.random((20, length)) < 0.04)
    space = BitSpace(Bits.of(rows), min(far, length))
    left, right = all_pairs(20)
    apart = [ref.hamming(rows[i].tolist(), rows[j].tolist()) for i, j in zip(left, right, strict=True)]
    assert space.measured(left, right).tolist() == apart
    expected = (left * 20 + right)[np.array(apart) <= far].tolist()
    for rectangles in blocks_of(20):
        assert sorted(space.near(np.arange(20), rectangles).tolist()) == expected
    assert space.within(np.array(apart)).tolist() == [d <= min(far, length) for d in apart]
    grid = space.between(np.arange(20), np.arange(20))
    assert grid[left, right].tolist() == apart
    assert (grid == grid.T).all()


# --- families ---


def test_families_of_spaces():
    rows = with_cloud((10, 4))
    for measure, kind in (("angle", Hyperplanes), ("cosine_similarity", Hyperplanes), ("euclidean", RandomLines)):
        for matrix in (rows, sparse.csr_array(rows)):
            space = VectorSpace(Vectors.of(matrix), measure, 0.5)
            family = space.family(12, 3, 2.0)
            assert (type(family), family.hashes, family.seed) == (kind, 12, 3)
            chosen = np.array([7, 2])
            expected = rows[chosen] - space.centre  # the origin, except for distances
            assert family.signatures(space.take(chosen)).tolist() == family.signatures(expected).tolist()
    codes = Bits.of(np.random.default_rng(0).integers(0, 2, (10, 70)))
    space = BitSpace(codes, 3)
    family = space.family(200, 3, 0.0)
    assert (type(family), family.hashes, family.dimensions) == (BitSampling, 200, 70)
    assert (
        family.signatures(space.take(np.array([1]))).tolist() == family.signatures(codes.take(np.array([1]))).tolist()
    )


def test_the_threshold_as_a_family_has_it():
    rows = Vectors.of(np.eye(3))
    assert VectorSpace(rows, "angle", 30.0).distance == 30
    assert VectorSpace(rows, "euclidean", 30.0).distance == 30
    for far, degrees in ((0.5, 60), (1.0, 0), (-1.0, 180), (0.0, 90)):
        assert math.isclose(VectorSpace(rows, "cosine_similarity", far).distance, degrees)
    assert BitSpace(Bits.of([1, 2]), 3).distance == 3


# --- two collections ---


def test_two_collections_are_one_space():
    """It has the wider of the two types, and is sparse if either is."""
    rows = with_cloud((8, 3))
    for one, other, kind, spread in [
        (rows.astype(np.float32), rows, np.float64, False),
        (rows.astype(np.float32), rows.astype(np.float32), np.float32, False),
        (sparse.csr_array(rows), rows.astype(np.float32), np.float64, True),
        (rows, sparse.csr_array(rows.astype(np.float32)), np.float64, True),
    ]:
        space = space_of([Vectors.of(one), Vectors.of(other)], "euclidean", 1.0)
        assert isinstance(space, VectorSpace)
        assert (len(space), space.vectors.values.dtype, space.vectors.sparse) == (16, kind, spread)
        pairs = np.arange(8), np.arange(8, 16)
        assert (space.measured(*pairs) < 1e-6).all()


def test_two_collections_of_different_lengths():
    with pytest.raises(DataError, match=r"^vectors must have the same number of dimensions; got 3 and 4\.$"):
        space_of([Vectors.of(np.eye(3)), Vectors.of(np.eye(4))], "angle", 1.0)
    with pytest.raises(DataError, match=r"^codes must have the same number of bits; got 3 and 4\.$"):
        space_of([Bits.of(["101"]), Bits.of(["1011"])], "hamming", 1)
    assert len(space_of([Bits.of(["101"]), Bits.of(["111", "000"])], "hamming", 1)) == 3


# --- empty spaces ---


@pytest.mark.parametrize("measure", KINDS)
@pytest.mark.parametrize("items", [0, 1])
def test_spaces_of_none_or_one(measure, items):
    for rows in (np.ones((items, 3)), sparse.csr_array(np.ones((items, 3)))):
        space = VectorSpace(Vectors.of(rows), measure, 0.5)
        assert len(space) == items
        assert space.contents().shape == (items, 2)
        assert space.near(np.arange(items), np.array([[0, items, 0, items]])).tolist() == []
        assert space.between(np.arange(items), np.arange(items)).shape == (items, items)


def test_rows_of_no_dimensions_are_all_the_same():
    space = VectorSpace(Vectors.of(np.zeros((3, 0))), "euclidean", 0.0)
    assert check_nothing_is_lost(space) == {1, 2, 5}
    assert len(np.unique(space.contents(), axis=0)) == 1
