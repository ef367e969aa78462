"""Locality-sensitive families: hash functions under which similar items collide with a known probability."""

from lookalike.families.minhash import MinHash

__all__ = ["MinHash"]
