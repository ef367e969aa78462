"""Fingerprints: enroll prints, identify others among them, and find prints of the same finger.

Lives here: `prints` (minutiae in arrays), `print_files` (templates and tables), `grids`, `squares`
and `corners` (choose which prints are compared), `database`, and `made_up` (synthetic prints).
May import: `search` and the packages below. To add a way to choose candidates, extend `Database`.
"""

from lookalike.fingerprints.corners import CornerTables
from lookalike.fingerprints.database import Comparison, Database, compare
from lookalike.fingerprints.grids import grid_sets, local_grids
from lookalike.fingerprints.made_up import made_up_prints
from lookalike.fingerprints.print_files import read_prints
from lookalike.fingerprints.prints import Prints
from lookalike.fingerprints.squares import SquareIndex, expected_rates, two_impressions

__all__ = [
    "Comparison", "CornerTables", "Database", "Prints", "SquareIndex", "compare", "expected_rates", "grid_sets",
    "local_grids", "made_up_prints", "read_prints", "two_impressions",
]  # fmt: skip
