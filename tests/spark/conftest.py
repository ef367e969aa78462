"""Provide Spark as an engine."""

import pytest

from tests.engines import There


@pytest.fixture
def there(spark):
    return There(spark)
