"""Check the error when PySpark is missing."""

import importlib
import sys

import pytest

from lookalike.core.errors import UsageError


def test_without_pyspark(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark" or name == "lookalike.spark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UsageError, match=r"PySpark, which is missing: pip install 'lookalike\[spark\]'"):
        importlib.import_module("lookalike.spark")
