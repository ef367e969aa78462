"""Texts become vectors by a function of the user, in batches and in order."""

import json
import sys

import numpy as np
import pytest

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.io import embedding
from lookalike.io.documents import Source
from lookalike.io.embedding import embedded, embedding_function
from tests.commands import Commands

CODE = """
import numpy as np

WORDS = ["cat", "dog", "car"]

def embed(texts):
    return np.array([[1e-3 + text.count(word) for word in WORDS] for text in texts])

def short(texts):
    return np.ones((len(texts) - 1, 3))

number = 5
"""
TEXTS = ["a cat and a dog", "the car", "a dog, a cat", "cars", "nothing"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "made_for_tests.py").write_text(CODE)
    (tmp_path / "broken_for_tests.py").write_text("import a_module_that_is_not_there")
    lines = [json.dumps({"id": f"t{at}", "text": text}) for at, text in enumerate(TEXTS)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("made_for_tests", None)


@pytest.mark.parametrize("size", [1, 2, 256])
def test_vectors_are_in_the_order_of_the_texts(folder, monkeypatch, size):
    monkeypatch.setattr(embedding, "TEXTS", size)
    embed = embedding_function("made_for_tests:embed")
    sizes = []
    found = embedded(Source("texts.jsonl"), lambda texts: sizes.append(len(texts)) or embed(texts), Run(2))
    np.testing.assert_array_equal(found.values, embed(TEXTS))
    assert found.ids.to_pylist() == ["t0", "t1", "t2", "t3", "t4"]
    assert max(sizes) <= size
    assert sum(sizes) == 5
    assert embedded(Source("texts.txt"), embed, Run(1)).ids is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("made_for_tests", "embed must be MODULE:FUNCTION, such as embeddings:embed; got 'made_for_tests'"),
        ("not_there_at_all:embed", "there is no module 'not_there_at_all' in this folder or among the packages"),
        ("made_for_tests:embedd", "has no function 'embedd'. Did you mean 'embed'"),
        ("made_for_tests:number", "has no function 'number'"),
    ],
)
def test_names_that_mean_no_function(folder, name, line):
    with pytest.raises(UsageError, match=line):
        embedding_function(name)


def test_a_module_that_cannot_be_imported_says_why(folder):
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        embedding_function("broken_for_tests:embed")


def test_wrong_matrices(folder, monkeypatch):
    source = Source("texts.jsonl")
    with pytest.raises(DataError, match="one row per text; got 4 rows for 5 texts"):
        embedded(source, embedding_function("made_for_tests:short"), Run(1))
    monkeypatch.setattr(embedding, "TEXTS", 3)
    with pytest.raises(DataError, match="rows of one length; got 2 after 3"):
        embedded(source, lambda texts: np.ones((len(texts), len(texts))), Run(1))
    with pytest.raises(DataError, match="component is nan or infinite"):
        embedded(source, lambda texts: np.full((len(texts), 2), np.nan), Run(1))


def test_texts_that_are_left_out_are_counted_and_the_others_keep_their_numbers(folder):
    (folder / "bad.jsonl").write_text('{"text": "a cat"}\n{"text": 5}\n{"text": "a dog"}\n{"text": "oddly long"}\n')

    def embed(texts):
        return [[float(len(text)), np.inf if "odd" in text else 1.0] for text in texts]

    found = embedded(Source("bad.jsonl", on_error="skip"), embed, Run(1))
    assert (found.ids.to_pylist(), found.skipped) == ([0, 2], 2)


def test_ids_of_several_types(folder):
    """One file has integers, another strings, a third none."""
    (folder / "numbered.jsonl").write_text('{"id": 7, "text": "a cat"}\n')
    found = embedded(
        Source(["numbered.jsonl", "texts.jsonl", "texts.txt"]), lambda texts: np.ones((len(texts), 2)), Run(1)
    )
    assert found.ids.to_pylist() == ["7", "t0", "t1", "t2", "t3", "t4", "6", "7", "8", "9", "10"]


class Tensor:
    """A row as a library such as torch returns it, on a card."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return np.array(self.values)


def test_lists_of_rows(folder):
    source = Source("texts.jsonl")
    found = embedded(source, lambda texts: [Tensor([1.0, len(text)]) for text in texts], Run(1))
    assert found.values.tolist() == [[1.0, len(text)] for text in TEXTS]
    with pytest.raises(DataError, match=r"^embed must return rows of numbers, all of one length.$"):
        embedded(source, lambda texts: [[1.0] * len(text) for text in texts], Run(1))


def test_the_command(folder, run: Commands):
    given = ("vectors", "texts.jsonl", "--embed", "made_for_tests:embed", "--threshold", "5", "-q")
    pairs = [json.loads(line) for line in run(*given).out.splitlines()]
    assert [(pair["left"], pair["right"]) for pair in pairs] == [("t0", "t2"), ("t1", "t3")]
    for more, line in (
        (("--measure", "hamming"), "--embed makes vectors, which --measure hamming does not compare"),
        (("--vector", "v"), "name the column of texts with --text"),
    ):
        assert line in run(*given, *more).err
    assert (
        "--text names a column of texts to embed; it needs --embed"
        in run("vectors", "texts.jsonl", "-t", "5", "--text", "text").err
    )
