"""Check that packages import less than they would, and that nothing is lost by it."""

import importlib.metadata
import subprocess
import sys

import pytest

from lookalike.core import late_pandas
from lookalike.core.imports import refusing


def printed(script: str) -> list[str]:
    """Return the lines that a script prints in a new process."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_refused_module_can_be_imported_later() -> None:
    script = """
from lookalike.core.imports import refusing
with refusing("colorsys"):
    try:
        import colorsys
    except ImportError as error:
        print(error)
import colorsys
print(colorsys.__name__)
"""
    assert printed(script) == ["No module named 'colorsys'", "colorsys"]


def test_modules_are_refused_from_now_on() -> None:
    script = """
from lookalike.core.imports import refuse
refuse("colorsys", "pyarrow._s3fs")
import pyarrow.fs
for name in ("colorsys", "pyarrow._s3fs"):
    try:
        __import__(name)
    except ImportError as error:
        print(error)
print(hasattr(pyarrow.fs, "LocalFileSystem"))
"""
    assert printed(script) == ["No module named 'colorsys'", "No module named 'pyarrow._s3fs'", "True"]


def test_an_imported_module_cannot_be_refused() -> None:
    with refusing("subprocess"):
        import subprocess as same
    assert same is subprocess


LATE = """
import sys
from lookalike.core.late_pandas import import_pandas_late
import_pandas_late()
import pyarrow as pa
made = [pa.array([1, None]).to_pylist(), pa.scalar("x").as_py(), pa.table({"a": [1.5]}).to_pylist()]
"""


def test_arrays_do_not_import_pandas() -> None:
    assert printed(LATE + "print(made, 'pandas.core' in sys.modules)") == ["[[1, None], 'x', [{'a': 1.5}]] False"]


@pytest.mark.slow
def test_pandas_is_imported_where_it_is_needed() -> None:
    """As for nanoseconds; then objects of pandas and of pyarrow become each other as ever."""
    script = """
times = pa.array([1, None], pa.timestamp("ns")).to_pylist()
print(times, pa.array(times).type)
import pandas as pd
print(type(times[0]) is pd.Timestamp, pa.array(pd.Series([1, 2])).to_pylist(), pa.array(pd.Index(["x"])).to_pylist())
print(pa.array([pd.NaT, pd.NA], from_pandas=True).to_pylist(), pa.array(pd.Categorical(["y"])).type)
print(pa.Table.from_pandas(pd.DataFrame({"a": [1]})).to_pandas().a.tolist())
"""
    late = printed(LATE + script)
    assert late[0] == "[Timestamp('1970-01-01 00:00:00.000000001'), None] timestamp[us]"
    assert late == printed(LATE.replace("import_pandas_late()", "import pandas") + script)


def test_pandas_that_is_not_installed_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = late_pandas.LateFinder()
    assert finder.find_spec("pandas", None) is not None
    assert finder.find_spec("other", None) is None
    monkeypatch.setattr("lookalike.core.late_pandas.PathFinder.find_spec", lambda name: None)
    assert finder.find_spec("pandas", None) is None


def test_the_version_of_pandas_is_found_without_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = importlib.metadata.version("pandas")
    assert late_pandas.installed_version() == expected
    monkeypatch.setattr("importlib.metadata.version", lambda name: "never")
    assert late_pandas.installed_version() == expected
