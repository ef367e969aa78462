"""Check collections in memory that belong to other libraries."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError

ROWS = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
ROWS[1] = ROWS[0] + 0.001
NAMES = list("abcdef")
TEXTS = ["the cat sat on the mat today", "the cat sat on the mat", "other"]


class Tensor:
    """An array as torch has it, with its gradient, in the memory of a GPU."""

    def __init__(self, rows, ready=()):
        self.rows, self.ready, self.dtype, self.shape = rows, set(ready), "torch.float32", rows.shape

    def __iter__(self):
        return (Tensor(row) for row in self.rows)

    def __len__(self):
        return len(self.rows)

    def detach(self):
        return Tensor(self.rows, self.ready | {"detached"})

    def cpu(self):
        return Tensor(self.rows, self.ready | {"here"})

    def __array__(self, dtype=None, copy=None):
        if self.ready != {"detached", "here"}:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.rows

    __dlpack__ = None


class BrainFloats(Tensor):
    """A tensor of a type that NumPy does not have."""

    def __init__(self, rows):
        super().__init__(rows)
        self.dtype = "torch.bfloat16"

    def detach(self):
        return self

    cpu = detach

    def float(self):
        return self.rows


class OnlyDlpack:
    """An array of a library that has nothing but DLPack."""

    def __init__(self, rows):
        self.rows = rows

    def __dlpack__(self, **options):
        return self.rows.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.rows.__dlpack_device__()


class OnlyArray:
    """An array of a library that NumPy can convert."""

    def __init__(self, rows):
        self.rows = rows

    def __array__(self, dtype=None, copy=None):
        return self.rows


class OnGpu:
    """An array that cannot leave its GPU."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion is not allowed.")


class Column:
    """A column as polars has it: an Arrow stream that is not a table."""

    def __init__(self, values):
        self.values = pa.chunked_array([values])

    def __arrow_c_stream__(self, requested_schema=None):
        return self.values.__arrow_c_stream__(requested_schema)


class Dataset:
    """A data set as Hugging Face has it."""

    features = ()

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return len(self.table)

    def with_format(self, name):
        assert name == "arrow"
        return self

    def __getitem__(self, rows):
        return self.table[rows]


VECTORS = {
    "a tensor": Tensor(ROWS),
    "a tensor of bfloat16": BrainFloats(ROWS),
    "a list of tensors": list(Tensor(ROWS)),
    "DLPack": OnlyDlpack(ROWS),
    "__array__": OnlyArray(ROWS),
    "a Series of arrays": pd.Series(list(ROWS)),
    "a Series of lists": pd.Series(ROWS.tolist()),
    "a column of lists": Column(pa.array(ROWS.tolist())),
    "a column of fixed lists": Column(pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 4)),
    "lists of lists": ROWS.tolist(),
    "a frame of numbers": pd.DataFrame(ROWS, columns=list("wxyz")),
    "a data set": Dataset(pa.table({"vector": ROWS.tolist()})),
}
NAMED = {
    "a dict of arrays": dict(zip(NAMES, ROWS, strict=True)),
    "a dict of lists": dict(zip(NAMES, ROWS.tolist(), strict=True)),
    "a Series with labels": pd.Series(list(ROWS), index=NAMES),
    "a frame with ids": pd.DataFrame({"id": NAMES, "vector": ROWS.tolist()}),
}


@pytest.mark.parametrize("given", VECTORS.values(), ids=VECTORS)
def test_vectors_of_other_libraries(given):
    assert [pair[:2] for pair in la.find_pairs(given, measure="angle", threshold=5)] == [(0, 1)]


@pytest.mark.parametrize("given", NAMED.values(), ids=NAMED)
def test_vectors_with_names(given):
    assert [pair[:2] for pair in la.find_pairs(given, measure="euclidean", threshold=0.1)] == [("a", "b")]


def test_codes_of_other_libraries():
    codes = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]], np.uint8)
    for given in (Tensor(codes), OnlyArray(codes), codes.tolist()):
        assert [pair[:2] for pair in la.find_pairs(given, measure="hamming", threshold=1)] == [(0, 1)]
    named = dict(zip("xyz", codes.tolist(), strict=True))
    assert [pair[:2] for pair in la.find_pairs(named, measure="hamming", threshold=1)] == [("x", "y")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pd.Series(TEXTS), (0, 1)),
        (pd.Series(TEXTS, index=["x", "y", "z"]), ("x", "y")),
        (pd.Series(TEXTS, index=[3, 2, 1]), (3, 2)),
        (Column(pa.array(TEXTS)), (0, 1)),
        (dict(zip("xyz", TEXTS, strict=True)), ("x", "y")),
        (Dataset(pa.table({"text": TEXTS})), (0, 1)),
        ({"a": {1, 2, 3}, "b": {1, 2, 3, 4}, "c": {9}}, ("a", "b")),
        ({"a": Counter("aab"), "b": Counter("aab"), "c": Counter("c")}, ("a", "b")),
        (Column(pa.array([["p", "q"], ["p", "q", "r"], ["s"]])), (0, 1)),
    ],
)
def test_texts_and_sets_of_other_libraries(given, expected):
    measure = "bag" if isinstance(given, dict) and isinstance(given.get("a"), Counter) else "jaccard"
    assert [pair[:2] for pair in la.find_pairs(given, threshold=0.5, measure=measure)] == [expected]


def test_ratings_and_records_of_other_libraries():
    rows = {"user": ["ann", "ann", "bob", "bob"], "item": ["V", "F", "V", "F"]}
    for given in (pd.DataFrame(rows), Dataset(pa.table(rows))):
        assert list(la.baskets.find_similar(given)) == [("ann", "bob", 1.0)]
    people = {"name": ["Ann Lee", "Anne Lee", "Bob Ray"], "phone": ["5550101", "5550101", "5550202"]}
    one, other = (la.entities.resolve(given, fields=["name", "phone"]) for given in (people, Dataset(pa.table(people))))
    assert one.to_arrow().equals(other.to_arrow())


def test_what_is_refused_says_what_to_pass():
    with pytest.raises(UsageError, match=r"DatasetDict with the splits train, test; pass one of them, such as data\["):
        la.find_pairs({"train": Dataset(pa.table({"text": TEXTS})), "test": Dataset(pa.table({"text": TEXTS}))})
    with pytest.raises(
        UsageError, match=r"^vectors need a measure: set measure= to one of angle, .*; the default, jaccard, compares "
    ):
        la.find_pairs(ROWS.tolist())
    with pytest.raises(DataError, match=r"^a OnGpu cannot be read as a NumPy array \(Implicit conv"):
        la.Vectors.of(OnGpu())
    with pytest.raises(DataError, match=r"^ids must be all of one type\.$"):
        la.find_pairs({"a": ROWS[0], 1: ROWS[1]}, measure="angle", threshold=5)


@pytest.mark.parametrize(
    "made",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda rows: pa.table(rows).to_reader(),
        lambda rows: pytest.importorskip("datasets").Dataset.from_dict(rows),
    ],
)
def test_a_source_of_a_table_of_any_library(made):
    rows = {"title": ["a", "b", "c"], "body": [TEXTS[0], None, TEXTS[0]], "key": ["x", "y", "z"]}
    source = la.Source(made(rows), text="body", id="key", on_error="skip")
    assert list(la.find_pairs(source)) == [("x", "z", 1.0)]
    assert source.skipped == 1
    both = la.Source([made(rows), pa.table(rows)], text="body", id="-", on_error="skip")
    assert la.dedup(both).kept.to_pylist() == [0]
