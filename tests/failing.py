"""Check that calls fail as they should."""

import pytest


def fails(error, message, call, *args, **options):
    """Check that the call raises just this error."""
    with pytest.raises(error) as raised:
        call(*args, **options)
    assert (type(raised.value), str(raised.value)) == (error, message)
