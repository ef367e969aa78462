"""Locality-sensitive families: hash functions under which near items collide with a known probability."""

from lookalike.families.base import Family
from lookalike.families.bits import BitSampling
from lookalike.families.fields import FieldEquality
from lookalike.families.hyperplanes import Hyperplanes
from lookalike.families.lines import RandomLines
from lookalike.families.minhash import MinHash
from lookalike.families.simhash import SimHash
from lookalike.families.squares import GridSquares

__all__ = ["BitSampling", "Family", "FieldEquality", "GridSquares", "Hyperplanes", "MinHash", "RandomLines", "SimHash"]
