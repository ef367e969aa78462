"""Check reports of result files, including files that do not say how they were made."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import complaint, left_in
from tests.reports import COMMON, PEOPLE, documents, read

# --- the command line ---


def test_a_file_without_settings(run, corpus, out):
    assert run("pairs", corpus, *COMMON, "-o", out / "p.csv", "-q").code == 0
    assert run("report", out / "p.csv", "-o", out / "bare.html", "-q").code == 0
    page = read(out / "bare.html")
    assert "The items are not available: pass them to lookalike report with --items." in page.text
    assert page.tags["mark"] == 0
    done = run("report", out / "p.csv", "--items", corpus, "-s", "word:2", "-o", out / "full.html", "--title", "Mine")
    assert done.code == 0
    full = read(out / "full.html")
    assert full.values == page.values
    assert full.tags["mark"] == 2 * len(full.values)
    assert "Mine" in full.text


def test_errors_of_reports(run, corpus, inputs, out):
    assert complaint(run("pairs", corpus, "--report", "r.pdf")).startswith("a report must end in .html or .htm")
    assert "there is no folder" in complaint(run("pairs", corpus, "--report", out / "no" / "r.html"))
    (inputs / "odd.csv").write_text("a,b\n1,2\n")
    said = complaint(run("report", inputs / "odd.csv", "-o", out / "r.html"))
    assert said.startswith("odd.csv: must list pairs (left, right, similarity), ")
    assert said.endswith("; it has a, b.")
    (inputs / "text.csv").write_text("left,right,similarity\na,b,much\n")
    said = complaint(run("report", inputs / "text.csv", "-o", out / "r.html"))
    assert said == "text.csv: the column 'similarity' must hold a number in each row."
    (inputs / "strange.csv").write_text("left,right,similarity\nq,r,0.9\n")
    said = complaint(run("report", inputs / "strange.csv", "--items", corpus, "-o", out / "r.html"))
    assert said == "none of the ids of the result, such as 'q', is in the items; name their column with --id."
    said = complaint(run("report", inputs / "strange.csv", *["--items", corpus] * 3, "-o", out / "r.html"))
    assert said == (
        "--items can be given once, or twice for the two sides of a match; for several files of one collection "
        "give a folder or a quoted glob."
    )
    said = complaint(run("dedup", corpus, "--against", out / "i", "--report", out / "r.html", "-o", out / "x.jsonl"))
    assert said.startswith("--report cannot be used with --against")
    said = complaint(run("pairs", corpus, "--engine", "spark", "--report", out / "r.html", "-o", out / "p.parquet"))
    assert said == "--report is only for --engine local; show what Spark has written with `lookalike report`."
    assert left_in(out) == set()


# --- regressions ---


def test_a_file_of_a_match_is_not_of_one_collection(run, inputs, out):
    """Equal ids on the two sides are ids of different items."""
    for name in ("left", "right"):
        pq.write_table(pa.table({"id": range(20), "text": documents(20)}), inputs / f"{name}.parquet")
    both = [inputs / "left.parquet", inputs / "right.parquet"]
    assert run("match", *both, *COMMON, "-o", out / "m.parquet", "-q").code == 0
    assert run("match", *both, *COMMON, "-o", out / "m.csv", "-q").code == 0
    for made in ("m.parquet", "m.csv"):
        assert run("report", out / made, "-o", out / "r.html", "-q").code == 0
        page = read(out / "r.html")
        assert len(page.values) == 40
        assert "Clusters" not in page.text
    assert "40 pairs among 20 and 20 documents" in read_after(run, out, out / "m.parquet").text
    said = complaint(run("report", out / "m.parquet", "--items", both[0], "-o", out / "r.html"))
    assert said == "m.parquet: has pairs of two collections; give both, each with --items."


def read_after(run, out, made, *options):
    """Return the page of a result file."""
    done = run("report", made, *options, "-o", out / "page.html", "-q")
    assert done.code == 0, done.err
    return read(out / "page.html")


def test_a_file_of_dropped_items_is_of_stars(run, inputs, out):
    words = " ".join(f"word{at}" for at in range(40))
    texts = [f"{words} {at}" for at in range(15)]
    pq.write_table(pa.table({"id": range(15), "text": texts}), inputs / "many.parquet")
    options = ("-t", "0.7", "-s", "word:2", "-q")
    run("dedup", inputs / "many.parquet", *options, "-o", out / "c.parquet", "--removed", out / "r.parquet")
    page = read_after(run, out, out / "r.parquet", "--items", inputs / "many.parquet")
    assert "14 removed, each similar to one that is kept" in page.text
    assert "A group is a kept document and the documents removed as similar to it." in page.text
    assert "15 documents, kept: 0" in page.text
    assert "chain" not in page.text
    assert "of its pairs are similar" not in page.text


@pytest.mark.slow
def test_all_records_that_were_scored_are_not_matches(run, inputs, out):
    (inputs / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PEOPLE))
    made = out / "m.parquet"
    done = run("resolve", inputs / "p.jsonl", "-f", "name", "-f", "city", "--all", "-o", made)
    assert "too few informative fields to estimate how many are true" in done.err
    settings = pq.read_schema(made).metadata
    table = pq.read_table(made)
    matches = sum(value >= float(settings[b"lookalike.cut_off"]) for value in table["probability"].to_pylist())
    assert matches < len(table)
    page = read_after(run, out, made)
    assert f"{matches} match" in page.text
    assert "only a guess" in page.text


def test_clusters_of_other_names(run, inputs, out):
    (inputs / "c.csv").write_text("cluster,id\nA,1\nA,2\nB,3\nB,4\nC,5\n")
    assert "2 clusters, 4 items in all; the largest has 2." in read_after(run, out, inputs / "c.csv").text


def test_clusters_of_two_tables(run, inputs, out):
    """An id that is in both tables belongs to two items."""
    (inputs / "c.csv").write_text("cluster,table,id,size\n1,left,1,2\n1,right,1,2\n2,left,2,2\n2,right,3,2\n")
    assert "2 clusters, 4 items in all; the largest has 2." in read_after(run, out, inputs / "c.csv").text
    (inputs / "a.txt").write_text("zero\none of the left\ntwo\n")
    (inputs / "b.txt").write_text("zero\none of the right\ntwo\nthree\n")
    page = read_after(run, out, inputs / "c.csv", "--items", inputs / "a.txt", "--items", inputs / "b.txt")
    assert "one of the left" in page.text
    assert "one of the right" in page.text


def test_a_list_of_another_program_is_not_vouched_for(run, inputs, out):
    (inputs / "p.csv").write_text("left,right,similarity\na,b,0.99\n")
    page = read_after(run, out, inputs / "p.csv")
    assert "verified" not in page.text
    assert "The file does not say how it was made" in page.text


def test_odd_files(run, inputs, out):
    (inputs / "none.jsonl").write_text("")
    assert "0 pairs" in read_after(run, out, inputs / "none.jsonl").text
    (inputs / "whole.csv").write_text("left,right,similarity\na,b,5\nc,d,7\n")
    assert "5 1 7 1" in read_after(run, out, inputs / "whole.csv").text  # one bar per number
    (inputs / "far.csv").write_text("left,right,distance\na,b,inf\n")
    said = complaint(run("report", inputs / "far.csv", "-o", out / "r.html"))
    assert said == "far.csv: the column 'distance' must hold a number in each row."
    pq.write_table(pa.table({"left": [[1]], "right": [[2]], "similarity": [1.0]}), inputs / "lists.parquet")
    said = complaint(run("report", inputs / "lists.parquet", "-o", out / "r.html"))
    assert said == "lists.parquet: the columns left, right must hold an id in each row."
    strange = {"measure": "jaccard", "threshold": "x", "items": "word:5 strange=3", "seed": "1", "method": "lsh axb"}
    strange |= {"audit": "1 2", "read": "many"}
    settings = {f"lookalike.{name}": value for name, value in strange.items()}
    table = pa.table({"left": ["d0"], "right": ["d1"], "similarity": [0.9]}).replace_schema_metadata(settings)
    pq.write_table(table, inputs / "strange.parquet")
    done = run("report", inputs / "strange.parquet", "-o", out / "r.html", "-q")
    assert done.code == 0, done.err


def test_numbers_of_files_and_of_any_size(run, inputs, out):
    """Similarities that are all 1 are not treated as counts; tiny distances stay distinct."""
    pq.write_table(pa.table({"left": ["a"], "right": ["b"], "similarity": [1.0]}), inputs / "one.parquet")
    (inputs / "one.csv").write_text("left,right,similarity\na,b,1\n")
    for name in ("one.parquet", "one.csv"):
        assert "0.975 to 1 1" in read_after(run, out, inputs / name).text
    (inputs / "near.csv").write_text("left,right,distance\na,b,3.5e-14\nc,d,7e-15\n")
    page = read_after(run, out, inputs / "near.csv")
    assert page.values == [3.5e-14, 7e-15]
    assert "3.5e-14 a" in page.text


def test_settings_that_are_not_text(run, inputs, out):
    path = inputs / "pairs.parquet"
    table = pa.table({"left": [1], "right": [2], "similarity": [0.9]})
    pq.write_table(table.replace_schema_metadata({b"lookalike.\xd0": b"\xff", b"lookalike.version": b"\xfe"}), path)
    assert run("report", path, "-o", out / "page.html").code == 0
