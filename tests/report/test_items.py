"""Check pages of result files together with their items."""

import csv
import json
import re

import numpy as np
import pytest

from tests.reports import COMMON, PEOPLE, documents, read


@pytest.mark.slow
def test_pages_of_documents_and_of_their_files(run, corpus, out):
    """The page that a command writes and the one made later from its file show the same pairs."""
    cases = [("pairs", []), ("clusters", []), ("dedup", ["--removed", out / "removed.parquet"])]
    for command, more in cases:
        made = out / f"{command}.parquet"
        first, later = out / f"{command}.html", out / f"{command}-later.html"
        done = run(command, corpus, *COMMON, "-o", made, "--report", first, "--audit", 20, *more)
        assert done.code == 0, done.err
        result = more[-1] if more else made
        done = run("report", result, "--items", corpus, "-o", later)
        assert (done.code, done.err) == (0, f"wrote {later}; open it in a browser\n")
        one, two = read(first), read(later)
        assert one.values == two.values
        assert one.tags["mark"] == two.tags["mark"]
        assert "Measured: " in two.text
        asked = re.search(r"Asked for: .*? words", two.text)[0]
        assert asked in one.text


def test_pages_of_a_match(run, corpus, inputs, out):
    texts = documents(40)
    (inputs / "new.jsonl").write_text(
        "".join(json.dumps({"id": f"n{i}", "text": t}) + "\n" for i, t in enumerate(texts[:6]))
    )
    made = out / "m.parquet"
    assert run("match", inputs / "new.jsonl", corpus, *COMMON, "-o", made, "--report", out / "a.html", "-q").code == 0
    both = ("--items", inputs / "new.jsonl", "--items", corpus)
    assert run("report", made, *both, "-o", out / "b.html", "-q").code == 0
    one, two = read(out / "a.html"), read(out / "b.html")
    assert len(one.values) == 12
    assert one.values == two.values
    assert one.tags["mark"] == two.tags["mark"]


@pytest.mark.slow
def test_pages_of_sets_vectors_and_baskets(run, inputs, out):
    (inputs / "sets.txt").write_text("milk tea oil\nmilk tea\nsalt rice\n")
    (inputs / "rows.csv").write_text("basket,item,n\na,milk,3\na,tea,1\nb,milk,2\nb,tea,1\nc,oil,1\n")
    rng = np.random.default_rng(1)
    base = rng.normal(size=(50, 8))
    np.save(inputs / "v.npy", np.concatenate((base, base[:5] + 0.01)))
    np.save(inputs / "codes.npy", np.array([3, 7, 200], np.uint64))
    rows = [("ann", "Vertigo"), ("ann", "Fargo"), ("bob", "Fargo"), ("bob", "Vertigo"), ("bob", "Alien")]
    (inputs / "bought.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in rows))
    columns = ["--rows", "basket,item,n"]
    cases = [
        (["sets", inputs / "sets.txt", "-t", "0.5"], [], "left only: 1 oil"),
        (["sets", inputs / "rows.csv", *columns, "-m", "bag", "-t", "0.5"], columns, "left only: 1 milk"),
        (["vectors", inputs / "v.npy", "-t", "5"], [], "8 components"),
        (["vectors", inputs / "codes.npy", "-m", "hamming", "-t", "2"], [], "1 of 64 bits differ"),
        (["baskets", inputs / "bought.csv", "-t", "0.5"], [], "right only: 1 Alien"),
    ]
    for at, (command, more, expected) in enumerate(cases):
        made = out / f"{at}.parquet"
        done = run(*command, "-o", made, "--report", out / f"{at}.html")
        assert done.code == 0, done.err
        done = run("report", made, "--items", command[1], *more, "-o", out / f"{at}-later.html")
        assert done.code == 0, done.err
        one, two = read(out / f"{at}.html"), read(out / f"{at}-later.html")
        assert one.values == two.values
        assert expected in one.text, command
        assert expected in two.text, command


def test_pages_of_records(run, inputs, out):
    for name, part in (("a", PEOPLE[::2]), ("b", PEOPLE[1::2])):
        with (inputs / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "name", "city", "born"])
            writer.writeheader()
            writer.writerows(part)
    fields = ("-f", "name", "-f", "city", "-f", "born")
    made = out / "m.parquet"
    done = run("resolve", inputs / "a.csv", inputs / "b.csv", *fields, "--all", "-o", made, "--report", out / "a.html")
    assert done.code == 0, done.err
    both = ("--items", inputs / "a.csv", "--items", inputs / "b.csv")
    done = run("report", made, *both, "-o", out / "b.html")
    assert done.code == 0, done.err
    one, two = read(out / "a.html"), read(out / "b.html")
    assert one.values == two.values
    assert "Ada Lovelace Ada Lovlace" in two.text
    assert "cut-off" in two.text
