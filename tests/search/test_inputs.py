"""Check which inputs are accepted as vectors and codes, and which are rejected."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from tests.vector_samples import THRESHOLDS, drawn, drawn_bits, found, oracle

FORMS = {
    "matrix": lambda rows: rows,
    "single precision": lambda rows: rows.astype(np.float32),
    "rows": lambda rows: rows.tolist(),
    "vectors": Vectors.of,
    "named vectors": lambda rows: Vectors.of(rows, ids=[f"v{i}" for i in range(len(rows))]),
    "sparse": sparse.csr_array,
    "sparse columns": sparse.csc_array,
    "sparse vectors": lambda rows: Vectors.of(sparse.coo_array(rows.astype(np.float32))),
}


# --- exact methods ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("measure", ["angle", "cosine_similarity", "euclidean", "inner_product"])
def test_vectors_in_any_form(measure, form):
    """Vectors in single precision are measured as such."""
    rows = drawn(3, 120)
    rows = rows.astype(np.float32) if form in ("single precision", "sparse vectors") else rows
    threshold = THRESHOLDS[measure]
    for method in ("exact", "brute", "auto"):
        pairs = la.find_pairs(FORMS[form](rows), measure=measure, threshold=threshold, method=method, recall=1.0)
        assert found(pairs) == oracle(measure, rows, threshold)
    names = [f"v{i}" for i in range(120)] if form == "named vectors" else list(range(120))
    assert [left for left, _, _ in pairs] == [names[i] for i in pairs.left]


@pytest.mark.parametrize(
    "form", [np.array, np.ndarray.tolist, Bits.of, lambda rows: ["".join(map(str, row)) for row in rows.tolist()]]
)
def test_codes_in_any_form(form):
    rows = drawn_bits(3, 100).astype(np.uint8)
    for method in ("exact", "brute", "auto"):
        pairs = la.find_pairs(form(rows), measure="hamming", threshold=3, method=method)
        assert found(pairs) == oracle("hamming", rows, 3)
        assert pairs.values.dtype.kind == "i"


# --- two collections ---


@pytest.mark.parametrize("measure", ["euclidean", "cosine_similarity", "hamming"])
def test_empty_lists_are_of_any_kind(measure):
    options = {"measure": measure, "threshold": 1}
    assert len(la.find_pairs([], **options)) == len(la.find_matches([], [], **options)) == 0
    assert la.dedup([], **options).keep.tolist() == []


# --- errors ---

PLANE = np.eye(3)
NO_MEASURE = (
    "vectors need a measure: set measure= to one of angle, cosine_similarity, euclidean, inner_product, hamming; "
    "the default, jaccard, compares texts and sets."
)
NO_TABLES = (
    "is not for inner_product: items can be more similar to others than to themselves, so no hash function makes "
    "similar ones collide. Use method='exact'."
)
WRONG = [
    ({}, NO_MEASURE),
    ({"measure": "jaccard", "threshold": 0.5}, NO_MEASURE),
    (
        {"measure": "edit", "threshold": 1},
        "measure must be one of angle, cosine_similarity, euclidean, inner_product, hamming for vectors; got 'edit'.",
    ),
    ({"measure": "angle"}, "measure 'angle' needs a threshold: set threshold= to the maximum angle, in degrees."),
    (
        {"measure": "cosine_similarity"},
        "measure 'cosine_similarity' needs a threshold: set threshold= to the minimum cosine.",
    ),
    ({"measure": "euclidean"}, "measure 'euclidean' needs a threshold: set threshold= to the maximum distance."),
    ({"measure": "dot"}, "measure 'inner_product' needs a threshold: set threshold= to the minimum inner product."),
    ({"measure": "inner_product", "threshold": 5, "method": "lsh"}, f"method='lsh' {NO_TABLES}"),
    ({"measure": "ip", "threshold": 5, "probes": 2}, f"probes {NO_TABLES}"),
    ({"measure": "angle", "threshold": 181}, "threshold must be in [0, 180]; got 181."),
    ({"measure": "angle", "threshold": -1}, "threshold must be in [0, 180]; got -1."),
    ({"measure": "angle", "threshold": math.nan}, "threshold must be a number; got nan."),
    ({"measure": "angle", "threshold": "x"}, "threshold must be a number; got 'x'."),
    ({"measure": "angle", "threshold": "1/0"}, "threshold must be a number; got '1/0'."),
    ({"measure": "euclidean", "threshold": -0.5}, "threshold must be in [0, infinity); got -0.5."),
    ({"measure": "euclidean", "threshold": math.inf}, "threshold must be a number; got inf."),
    ({"measure": "euclidean", "threshold": "nan"}, "threshold must be a number; got 'nan'."),
    (
        {"measure": "angle", "threshold": 5, "method": "flat"},
        "method must be one of auto, lsh, exact, brute; got 'flat'.",
    ),
    (
        {"measure": "angle", "threshold": 5, "method": "lsh", "recall": 1},
        "recall must be below 1 for method='lsh'; for recall 1 use method='exact'.",
    ),
    ({"measure": "angle", "threshold": 5, "recall": 0}, "recall must be in (0, 1]; got 0."),
    ({"measure": "angle", "threshold": 5, "recall": 95}, "recall must be in (0, 1]; got 95. Did you mean 0.95?"),
    (
        {"measure": "angle", "threshold": 5, "filter": "prefix"},
        "filter is for sets and texts, not for vectors or bits.",
    ),
    ({"measure": "angle", "threshold": 5, "order": [1]}, "order is for sets and texts, not for vectors or bits."),
    (
        {"measure": "angle", "threshold": 5, "shingles": "char:4"},
        "shingles is for sets and texts, not for vectors or bits.",
    ),
    ({"measure": "angle", "threshold": 5, "seed": -1}, "seed must be an integer of at least 0; got -1."),
    ({"measure": "angle", "threshold": 5, "audit": -1}, "audit must be an integer of at least 0; got -1."),
    (
        {"measure": "angle", "threshold": 180, "method": "lsh"},
        "threshold 180 is too loose for hashing: recall 0.99 needs more than 4,096 hash functions. "
        "Use method='brute', a lower recall or a stricter threshold.",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=str)
def test_what_cannot_be_asked_of_vectors(options, message):
    for rows in (PLANE, sparse.csr_array(PLANE)):
        with pytest.raises(UsageError) as raised:
            la.find_pairs(rows, **options)
        assert str(raised.value) == message


@pytest.mark.parametrize(
    ("items", "measure", "message"),
    [
        (
            Vectors.of(PLANE),
            "hamming",
            "measure must be angle, cosine_similarity, euclidean or inner_product for vectors; got 'hamming'.",
        ),
        (Bits.of([1, 2]), "angle", "measure must be hamming for bits; got 'angle'."),
        (Bits.of([1, 2]), "euclidean", "measure must be hamming for bits; got 'euclidean'."),
        (
            Vectors.of(PLANE),
            "jaccard",
            "measure must be one of angle, cosine_similarity, euclidean, inner_product, hamming; got 'jaccard'.",
        ),
        (
            Bits.of([1, 2]),
            "edit",
            "measure must be one of angle, cosine_similarity, euclidean, inner_product, hamming; got 'edit'.",
        ),
        (
            Vectors.of(PLANE),
            "cosin",
            "measure must be one of angle, cosine_similarity, euclidean, inner_product, hamming; got 'cosin'. "
            "Did you mean 'cosine_similarity'?",
        ),
    ],
)
def test_measures_of_other_kinds_of_items(items, measure, message):
    with pytest.raises(UsageError) as raised:
        la.find_pairs(items, measure=measure, threshold=1)
    assert str(raised.value) == message


def test_collections_that_do_not_go_together():
    options = {"measure": "angle", "threshold": 1}
    for left, right in [(Vectors.of(PLANE), Bits.of([1])), (Bits.of([1]), Vectors.of(PLANE))]:
        with pytest.raises(UsageError, match=r"^two collections must both be texts, both be sets, both be vectors or"):
            la.find_matches(left, right, **options)
    with pytest.raises(UsageError, match=r"^measure 'angle' compares vectors; got texts\.$"):
        la.find_matches(PLANE, ["a", "b"], **options)
    for options in ({"threshold": 1}, {"k": 1}):
        with pytest.raises(DataError, match=r"^vectors must have the same number of dimensions; got 3 and 4\.$"):
            la.find_matches(PLANE, np.eye(4), measure="angle", **options)
        with pytest.raises(DataError, match=r"^vectors must have the same number of dimensions; got 3 and 4\.$"):
            la.find_matches(PLANE, sparse.csr_array(np.eye(4)), measure="euclidean", **options)
        with pytest.raises(DataError, match=r"^codes must have the same number of bits; got 4 and 5\.$"):
            la.find_matches(["0000"], ["00000"], measure="hamming", **options)


@pytest.mark.parametrize(
    ("items", "place", "kind"),
    [
        ([1, 2, 3], 0, "int"),
        (["a text", None, 5], 2, "int"),
        (["a text", {"b"}], 1, "set"),
        ([{"a"}, "b"], 1, "str"),
        ([{"a"}, {"b"}, None], 2, "NoneType"),
        ([{"id": 1, "text": "a"}], 0, "dict"),
    ],
)
def test_items_must_be_of_one_kind(items, place, kind):
    """The error names the first odd item by its position."""
    with pytest.raises(DataError, match=rf"^items must be all texts, .*; the type of items\[{place}\] is {kind}\."):
        la.find_pairs(items)


def test_sets_of_several_types_are_one_kind():
    assert list(la.find_pairs([{0, 1}, range(2), (0, 1)])) == [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)]


def test_rows_that_are_not_vectors():
    for rows in ([[1.0, 2], [3.0]], np.array([[1.0, math.nan]]), np.array([[math.inf, 1.0]])):
        with pytest.raises(DataError, match=r"^row [01]: .*; use Vectors\.of\(on_error='skip'\)"):
            la.find_pairs(rows, measure="euclidean", threshold=1)
    with pytest.raises(DataError, match=r"^vectors must be a matrix"):
        la.find_pairs(np.ones(3), measure="euclidean", threshold=1)
    with pytest.raises(UsageError, match=r"^items must be a matrix, rows of numbers, a table or a path; got set\.$"):
        la.find_pairs({1, 2}, measure="euclidean", threshold=1)
    with pytest.raises(DataError, match=r"^vectors must be rows of numbers\.$"):
        la.find_pairs({1: 2}, measure="euclidean", threshold=1)


def test_tables_of_vectors():
    rows = drawn(4, 20)
    table = pa.table({"id": [f"n{i}" for i in range(20)], "vector": rows.tolist()})
    pairs = la.find_pairs(table, measure="euclidean", threshold=1.2)
    assert found(pairs) == oracle("euclidean", rows, 1.2)
    assert [left for left, _, _ in pairs] == [f"n{i}" for i in pairs.left]


class Frame:
    """A data frame, as far as Arrow is concerned."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, schema=None):
        return self.table.__arrow_c_stream__(schema)


@pytest.mark.parametrize("measure", ["angle", "euclidean"])
def test_data_frames_hold_vectors(measure):
    rows = np.random.default_rng(5).normal(size=(40, 3))
    expected = la.find_pairs(rows, measure=measure, threshold=0.5).to_arrow()
    columns = {f"x{at}": rows[:, at] for at in range(3)}
    for table in (pa.table(columns), pa.table({"vector": rows.tolist()})):
        assert la.find_pairs(Frame(table), measure=measure, threshold=0.5).to_arrow().equals(expected)
    named = la.find_pairs(
        Frame(pa.table({"id": [f"n{at}" for at in range(40)], **columns})), measure=measure, threshold=0.5
    )
    assert named.to_arrow()["left"].to_pylist() == [f"n{at}" for at in expected["left"].to_pylist()]
    assert la.find_pairs(list(rows), measure=measure, threshold=0.5).to_arrow().equals(expected)


def test_no_bits_of_a_sparse_matrix():
    with pytest.raises(DataError, match=r"^bits cannot be read from a sparse matrix"):
        la.find_pairs(sparse.csr_array(np.eye(3)), measure="hamming", threshold=1)


def test_shingles_that_would_have_no_effect():
    """Edits are counted by characters and sets are given, so only case and Unicode form can matter."""
    for shingles in ("word:3", la.Shingles(k=3, lowercase=True)):
        with pytest.raises(
            UsageError, match=r"^measure 'edit' compares texts character by character, .*; leave out shi"
        ):
            la.find_pairs(["one", "two"], measure="edit", threshold=1, shingles=shingles)
    with pytest.raises(UsageError, match=r"^sets are compared as they are, without shingles; leave out shingles\.$"):
        la.find_pairs([{"a"}, {"b"}], shingles="word:3")
    assert len(la.find_pairs(["One", "one"], measure="edit", threshold=0, shingles=la.Shingles(lowercase=True))) == 1
