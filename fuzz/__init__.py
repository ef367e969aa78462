"""Damage valid files and requests at random, and check that lookalike answers each one well.

Lives here: `mutate` (damages bytes and JSON), `samples` (valid files and the commands that read
them), `worker` (runs commands in a process of its own), `files` and `requests` (the two fuzzers),
and `failures` (saves what they find).
"""
