"""Provide Spark as an engine for the tests."""

import pytest

from tests.engines import There


@pytest.fixture
def there(spark):
    return There(spark)
