"""Check the command `lookalike baskets`."""

import json
from datetime import datetime, timedelta

import pyarrow.parquet as pq
import pytest

from lookalike.baskets import find_similar
from tests.basket_samples import RATINGS, TABLE, write
from tests.commands import Commands, complaint, left_in

# --- the command ---


@pytest.fixture
def ratings_csv(inputs):
    return write(TABLE, inputs / "ratings.csv")


@pytest.fixture
def titles(inputs):
    (inputs / "titles.csv").write_text("item,title\nVertigo,Vertigo (1958)\nHeat,Heat [1995]\nAlien,Alien (1979)\n")
    return inputs / "titles.csv"


def json_rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_pairs_of_users(run: Commands, ratings_csv):
    done = run("baskets", ratings_csv, "-t", 0.5)
    assert done.code == 0
    expected = find_similar(RATINGS, threshold=0.5).to_arrow().to_pylist()
    assert sorted(map(str, json_rows(done.out))) == sorted(map(str, expected))
    lines = done.err.splitlines()
    assert lines[0] == "ratings: 11 by 4 users of 5 items"
    assert any(line.startswith("plan: jaccard >= 0.5 of sets") for line in lines)
    assert any(line.startswith("found: 3 similar pairs, all verified") for line in lines)
    assert run("baskets", ratings_csv, "-t", 0.5, "--quiet").err == ""


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_pairs_of_items_with_names(run: Commands, ratings_csv, titles, out, suffix):
    path = out / f"pairs{suffix}"
    done = run(
        "baskets", ratings_csv, "--by", "item", "--ratings", "high", "--names", titles, "-o", path, "--recall", 1
    )
    assert (done.code, done.out) == (0, "")
    assert "liked: items rated 3.4 or more; ratings range from 1 to 5" in done.err
    assert "names: 2 items without a name, shown by id" in done.err
    if suffix == ".parquet":
        table = pq.read_table(path)
        assert table.schema.names == ["left", "right", "similarity", "left_name", "right_name"]
        assert {
            "left": "Vertigo",
            "right": "Fargo",
            "similarity": 1.0,
            "left_name": "Vertigo (1958)",
            "right_name": "Fargo",
        } in table.to_pylist()
        assert table.schema.metadata[b"lookalike.ratings"] == b"high"
    assert left_in(out) == {path.name}


def test_stars_by_sums(run: Commands, ratings_csv):
    done = run("baskets", ratings_csv, "--ratings", "stars", "--union", "sum", "-t", "1/3", "--audit", 4)
    assert "union: a threshold of 1/3 by sum equals 1/2 by max, shown in the plan" in done.err
    assert "plan: bag >= 0.5 of sets" in done.err
    assert "audit: 2 of 2 true pairs of 4 sampled items found: recall 1.0000" in done.err
    assert {row["similarity"] for row in json_rows(done.out)} == {8 / 24, 8 / 20}


def test_groups_of_the_command(run: Commands, inputs, ratings_csv, titles, out):
    done = run(
        "baskets", ratings_csv, "--groups", 0.6, "--groups-out", out / "groups.csv", "--names", titles,
        "-t", 0.5, "-o", out / "pairs.csv",
    )  # fmt: skip
    assert done.code == 0
    assert "groups: 2 groups of 4 items, each with similarity 0.6 or more to its centre; 1 item in no group" in done.err
    assert (out / "groups.csv").read_text().splitlines()[:3] == [
        '"group","id","name","similarity","size"',
        '"Vertigo","Vertigo","Vertigo (1958)",1,2',
        '"Vertigo","Fargo","Fargo",0.6666666666666666,2',
    ]
    assert '"ann","cy",1' in (out / "pairs.csv").read_text()


def test_groups_are_written_if_all_goes_well(run: Commands, ratings_csv, out):
    options = (
        "--groups",
        0.6,
        "--groups-out",
        out / "groups.csv",
        "-t",
        0.1,
        "--max-pairs",
        1,
        "-o",
        out / "pairs.csv",
    )
    done = run("baskets", ratings_csv, *options)
    assert done.code == 1
    assert left_in(out) == set()


def test_recommendations_of_the_command(run: Commands, ratings_csv, titles, out):
    done = run("baskets", ratings_csv, "--recommend", "ann", "--names", titles, "--half-life", 0)
    first = json_rows(done.out)[0]
    assert (first["item"], first["name"], first["score"]) == ("Heat", "Heat [1995]", 1.0)
    assert first["who"] == [{"user": "bob", "similarity": 0.5, "rating": 5.0}]
    assert first["why"] == ["Fargo", "Vertigo (1958)"]
    for words in (
        "recommended to ann",
        "Heat [1995]",
        "bob (0.50): 5",
        "found: 2 items liked by any of 3 similar users",
    ):
        assert words in done.err
    done = run("baskets", ratings_csv, "--recommend", "ann", "--top", 1, "-o", out / "a.csv", "--half-life", 0, "-q")
    assert done.err == ""
    assert (out / "a.csv").read_text().splitlines() == [
        '"item","score","who","why"',
        '"Heat",1,"bob (0.50 similar, gave 5)","Fargo; Vertigo"',
    ]
    for name in ("a.parquet", "a.arrow", "a.jsonl"):
        assert run("baskets", ratings_csv, "--recommend", "ann", "-o", out / name).code == 0


def test_nothing_to_recommend(run: Commands, inputs, out):
    path = inputs / "a.csv"
    path.write_text("user,item\na,x\nb,y\n")
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        done = run("baskets", path, "--recommend", "a", "-o", out / name)
        assert done.code == 0
        assert "found: 0 items liked by any of 0 similar users" in done.err
    assert run("baskets", path, "--recommend-all").out == ""


def test_recommend_all_of_the_command(run: Commands, ratings_csv, titles):
    done = run("baskets", ratings_csv, "--recommend-all", "--top", 1, "--names", titles)
    rows = json_rows(done.out)
    assert [row["user"] for row in rows] == ["ann", "bob", "cy", "dee"]
    assert list(rows[0]) == ["user", "item", "name", "rank", "score"]
    assert "found: 4 items for 4 users" in done.err


def test_the_data_of_movielens(run: Commands, inputs):
    """No header, no suffix, tabs; titles in Latin-1, separated by bars."""
    start = datetime(1998, 1, 1)
    rows = [
        (user, item, 1 + (user * item) % 5, int((start + timedelta(days=user + item)).timestamp()))
        for user in range(1, 9)
        for item in range(1, 6)
        if (user + item) % 3
    ]
    (inputs / "u.data").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    (inputs / "u.item").write_bytes(
        "".join(f"{item}|Café {item}|01-Jan-1995||0\n" for item in range(1, 6)).encode("latin-1")
    )
    done = run("baskets", inputs / "u.data", "--format", "tsv", "--recommend", "3", "--names", inputs / "u.item")
    assert done.code == 0
    assert all(row["name"] == f"Café {row['item']}" for row in json_rows(done.out))
    assert len(json_rows(done.out)) > 0


def test_bad_rows_of_the_command(run: Commands, inputs):
    path = inputs / "a.csv"
    path.write_text("user,item,rating\na,x,5\na,x,4\nb,y,?\n,z,1\n")
    assert complaint(run("baskets", path)) == (
        f"{path}, row 2: rating must be a number; got '?'; use --on-error skip to skip such rows."
    )
    done = run("baskets", path, "--on-error", "skip")
    assert done.err.splitlines()[0] == "ratings: 1 by 1 user of 1 item (1 repeated, only the last counts; 2 skipped)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "film"], "--by must be one of user, item; got 'film'."),
        (["--ratings", "some"], "--ratings must be one of all, high, liked-hated, stars; got 'some'."),
        (["--union", "all"], "--union must be one of max, sum; got 'all'."),
        (["--recommend", "ann", "-k", "0"], "--top must be an integer of at least 1; got 0."),
        (["--threshold", "2"], "--threshold must be in (0, 1]; got '2'."),
        (["--groups", "x"], "--groups must be a number in (0, 1]; got 'x'."),
        (["--groups-out", "g.csv"], "--groups-out needs groups: give their threshold with --groups."),
        (["--groups", "0.5", "--groups-out", "-"], "--groups-out must be a file; standard output is for --out."),
        (
            ["--groups", "0.5", "--groups-out", "g.csv", "-o", "g.csv"],
            "--out and --groups-out must be different files.",
        ),
        (["--groups", "0.5", "--by", "item"], "--groups compares users by groups of items and needs --by user."),
        (["--recommend", "ann", "--by", "item"], "recommendations come from similar users and need --by user."),
        (["--recommend", "ann", "--recommend-all"], "give --recommend USER or --recommend-all, not both."),
        (["--names", "x.csv"], "--names gives names to items, but pairs of users show no items."),
    ],
)  # fmt: skip
def test_wrong_use_is_reported_before_anything_is_read(run: Commands, options, message):
    done = run("baskets", "nowhere.csv", *options)
    assert done.code == 2
    assert complaint(done) == message


def test_errors_of_the_command(run: Commands, ratings_csv, tmp_path):
    done = run("baskets", tmp_path / "no.csv")
    assert (done.code, complaint(done)) == (1, f"{tmp_path / 'no.csv'}: no such file or folder.")
    done = run("baskets", ratings_csv, "--recommend", "anne")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "lookalike: the user must be one of the 4 users in the data; got 'anne'. Did you mean 'ann'?"
    )
    done = run("baskets", ratings_csv, "--by", "item", "--names", tmp_path / "no.csv")
    assert done.err.splitlines()[-1] == f"lookalike: {tmp_path / 'no.csv'}: no such file."


def test_help(run: Commands):
    done = run("baskets", "--help")
    assert done.code == 0
    for words in ("--recommend", "--groups", "--ratings", "lookalike baskets ratings.csv"):
        assert words in done.out


# --- large and unusual data ---


def test_a_user_with_brackets(run, inputs):
    (inputs / "r.csv").write_text("user,item\n[/b],x\nann,x\nann,y\n")
    found = run("baskets", inputs / "r.csv", "--recommend", "[/b]")
    assert found.code == 0, found.err
    assert "recommended to [/b]" in found.err


@pytest.mark.parametrize("option", ["--half-life", "--neighbours", "--top"])
def test_options_of_recommendations_alone(run: Commands, ratings_csv, option):
    assert complaint(run("baskets", ratings_csv, option, 2)) == (
        f"{option} is for recommendations; add --recommend USER or --recommend-all."
    )
    assert run("baskets", ratings_csv, option, 2, "--recommend", "ann").code == 0
