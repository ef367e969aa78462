"""Check which inputs are rejected, and by which name."""

import pytest

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.io.files import NO_TEXT
from lookalike.io.sets import SetSource
from tests.commands import complaint


@pytest.mark.parametrize("suffix", NO_TEXT)
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_files_that_cannot_be_text_are_refused_by_name(tmp_path, suffix, on_error):
    """They are rejected even if bad rows are skipped, and whatever they contain."""
    path = tmp_path / f"data{suffix.upper()}"
    path.write_bytes(b"Obj\x01 no null byte, and lines\nof what looks like text\n")
    for source in (la.Source, SetSource):
        with pytest.raises(DataError, match=rf"data{suffix.upper()}: is .*[^.]\.$"):
            source(path, on_error=on_error)
    assert la.Source(path, format="text", on_error=on_error).parts[0].format == "text"  # the user can insist


def test_the_command_says_what_to_do(run, inputs):
    (inputs / "a.avro").write_bytes(b"Obj\x01avro.codec\n")
    done = run("pairs", inputs / "a.avro", "--on-error", "skip")
    assert done.code == 1
    assert complaint(done).endswith("a.avro: is Avro, which is not supported; save it as Parquet or JSON lines.")


def test_a_picture_among_documents(tmp_path):
    """In a folder it is a bad document, which can be skipped; a folder of pictures is an error."""
    (tmp_path / "a.txt").write_text("some text")
    (tmp_path / "b.png").write_bytes(b"no null byte")
    with pytest.raises(DataError, match=r"b\.png: is a picture, not text; .*; use Source\(on_error='skip'\)"):
        list(la.Source(tmp_path).batches())
    source = la.Source(tmp_path, on_error="skip")
    assert [table["id"].to_pylist() for table in source.batches()] == [["a.txt"]]
    assert source.skipped == 1
    (tmp_path / "a.txt").unlink()
    with pytest.raises(DataError, match="the only row was left out, so nothing is left to compare"):
        list(la.Source(tmp_path, on_error="skip").batches())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (5, r"^inputs must be paths or tables; got int\.$"),
        (None, r"^inputs must be paths or tables; got NoneType\.$"),
        ([5], r"^an input must be a path or a table; got int\.$"),
    ],
)
def test_inputs_that_are_neither_paths_nor_tables(inputs, message):
    with pytest.raises(UsageError, match=message):
        la.Source(inputs)
