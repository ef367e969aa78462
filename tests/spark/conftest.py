"""Provide Spark as an engine for the tests."""

import pytest

from tests.engines import There


@pytest.fixture
def there(spark):
    return There(spark)


@pytest.fixture(autouse=True)
def _on_executors(monkeypatch):
    """Leave no job to the driver, except in tests of that: all collections here are small."""
    from lookalike.spark import driver

    monkeypatch.setattr(driver, "LIMIT", 0)
