"""Locality-sensitive families: hash functions that collide on near items with known probability.

Lives here: one file per family; `draws` has their random numbers.
May import: `core`, `kernels`, `items`, `measures`. To add a family, derive it from `base.Family` in
a file of its own, state its collision probability, and export it here.
"""

from lookalike.families.base import Family
from lookalike.families.bits import BitSampling
from lookalike.families.fields import FieldEquality
from lookalike.families.hyperplanes import Hyperplanes
from lookalike.families.lines import RandomLines
from lookalike.families.minhash import MinHash
from lookalike.families.simhash import SimHash
from lookalike.families.squares import GridSquares
from lookalike.families.weighted import WeightedMinHash

__all__ = [
    "BitSampling",
    "Family",
    "FieldEquality",
    "GridSquares",
    "Hyperplanes",
    "MinHash",
    "RandomLines",
    "SimHash",
    "WeightedMinHash",
]
