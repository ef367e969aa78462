"""Hypothesis draws the same examples on every run, and takes its time."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=100)
settings.load_profile("fixed")
