"""Check which fields are proposed: for one table, and for two whose columns are named differently."""

import numpy as np
import pyarrow as pa
import pytest

from lookalike.core.errors import DataError
from lookalike.core.run import Run
from lookalike.entities import proposing, two_companies
from lookalike.entities.proposing import linked_records, propose_fields, runs_on

RUN = Run(2)
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def proposed(*tables, skip=("id",)):
    return [str(field) for field in propose_fields(tables, [skip] * len(tables), RUN)]


def invented(draw, rows, words=2):
    """Return texts of invented words, hardly any of which occurs twice."""
    return [" ".join("".join(draw.choice(LETTERS, 7)) for _ in range(words)) for _ in range(rows)]


def films(rows=400):
    """Return two tables of films; people are listed by the name, or by the surname first."""
    draw = np.random.default_rng(1)
    titles, stars, writers = (invented(draw, rows) for _ in range(3))
    turned = [[", ".join(reversed(name.split())) for name in names] for names in (stars, writers)]
    left = pa.table({"id": range(rows), "title": titles, "starring": stars, "writer": writers})
    year = draw.integers(1930, 2010, rows)
    right = pa.table({
        "id": range(rows),
        "year": year,
        "director name": turned[1],
        "actor name": turned[0],
        "film": [f"{title} ({n})" for title, n in zip(titles, year.tolist(), strict=True)],
    })  # fmt: skip
    return left, right.take(draw.permutation(rows))


# --- one table ---


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("name", ["Ann", "Bob", "Cy", "Dee"], True),
        ("town", ["Ansel", "Ansel", "Orr", None], True),
        ("constant", ["x", "x", "X", None], False),
        ("empty", [None, "", "n/a", "-"], False),
        ("number", [4, 1, 3, 2], False),
        ("invoice", ["R-0017", "R-0018", "R-0019", "R-0021"], False),
        ("price", [4, 1, 3, 2000], True),
        ("customer_id", ["q8", "x7", "k4", "m2 b"], False),
        ("tax id", ["q8", "x7", "k4", "q8"], True),  # it does not tell all records apart, so it may identify people
        ("tags", [["a"], ["b"], [], None], False),
        ("photo", [b"\xff1", b"\xff2", b"\xff3", b"\xff4"], False),
        ("wait", pa.nulls(4, pa.month_day_nano_interval()), False),
        ("", ["Ann", "Bob", "Cy", "Dee"], False),  # a field must have a name
        ("created", ["2020-01-01", "2020-01-02", "2021-03-04", "2021-03-05"], False),
        ("born", ["1970-01-01", "1980-01-02", "1991-03-04", "1991-03-05"], True),
    ],
)
def test_columns_of_one_table(name, values, expected):
    table = pa.table({"full name": ["Kim", "Lou", "Max", "Ned"], name: values})
    assert proposed(table) == ["full name", *([name] if expected else [])]


def test_columns_that_few_records_have():
    """One in a hundred says nothing about the others."""
    rare = ["a", "b", *[None] * 198]
    some = [*"abcd", *[None] * 196]
    assert proposed(pa.table({"rare": rare, "some": some})) == ["some"]


def test_columns_to_leave_out():
    table = pa.table({"key": ["a", "b"], "name": ["Ann", "Bob"], "age": [30, 45]})
    assert proposed(table, skip=["key", "age"]) == ["name"]
    twice = pa.table([["a", "b"], ["c", "d"], ["e", "f"]], names=["x", "x", "y"])
    assert proposed(twice) == ["y"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(["1", "2", "3"], True), (["10", "11", "15"], True), (["10", "11", "16"], False), (["1", "2", None], False)],
)
def test_running_numbers(texts, expected):
    """Up to half of the numbers can be missing."""
    assert runs_on(pa.array(texts, pa.large_string())) == expected


# --- two tables ---


def test_columns_of_other_names():
    """Neither the order of columns nor that of rows matters; the year has no counterpart."""
    left, right = films()
    assert proposed(left, right) == ["title:film", "starring:actor name", "writer:director name"]
    assert proposed(right, left) == ["director name:writer", "actor name:starring", "film:title"]


def test_columns_that_linked_records_do_not_have_together():
    """In a table of films and people, the years of films and the birthdays of people have words in common."""
    draw, rows, none = np.random.default_rng(1), 100, [None] * 100
    titles, people = invented(draw, rows), invented(draw, rows)
    years = draw.integers(1930, 1990, rows).astype(str).tolist()
    left = pa.table({"title": titles + none, "who": none + people, "year": years + none})
    birthdays = [f"{year}-03-04" for year in years]
    right = pa.table({"film": titles + none, "person": none + people, "birthday": none + birthdays})
    assert proposed(left, right) == ["title:film", "who:person"]


def test_a_year_is_not_compared_with_a_date():
    left, right = films()
    years = [film.rpartition("(")[2][:4] for film in right["film"].to_pylist()]
    known = dict(zip(right["film"].to_pylist(), years, strict=True))
    of_title = {film.rpartition(" (")[0]: year for film, year in known.items()}
    left = left.append_column("made", pa.array([of_title[title] for title in left["title"].to_pylist()]))
    right = right.drop_columns(["year"]).append_column("released", pa.array([f"{year}-03-04" for year in years]))
    assert proposed(left, right) == ["title:film", "starring:actor name", "writer:director name"]


def test_the_two_companies():
    made = two_companies(500)
    assert proposed(made.left, made.right) == ["name:customer", "address:street", "phone:telephone"]


def test_a_column_of_the_same_name_that_says_nothing():
    left, right = films()
    draw = np.random.default_rng(2)
    both = [table.append_column("batch", pa.array(invented(draw, len(table), 1))) for table in (left, right)]
    assert proposed(*both) == ["title:film", "starring:actor name", "writer:director name"]


@pytest.mark.parametrize("names", [("since", "joined"), ("since", "since")])
@pytest.mark.parametrize("people", [14, 300])
def test_days_on_which_records_were_made(names, people):
    """They are weeks apart, so they share the year and often the month; a date of birth is the same, but for errors."""
    made, draw = two_companies(people), np.random.default_rng(1)
    days = np.datetime64("2015-01-01") + draw.integers(0, 3000, people)
    born = np.datetime64("1950-01-01") + draw.integers(0, 20_000, people)
    wrong = born + (draw.random(people) < 0.2)
    left = made.left.select(["name", "phone"]).append_column(names[0], pa.array(days.astype(str)))
    right = left.set_column(2, names[1], pa.array((days + draw.integers(0, 40, people)).astype(str)))
    left, right = (
        table.append_column(name, pa.array(some.astype(str)))
        for table, name, some in ((left, "born", born), (right, "birthday", wrong))
    )
    assert proposed(left, right) == ["name", "phone", "born:birthday"]


def test_ids_that_are_not_shared():
    """An id of each table is left out; one that both have is the best field of all."""
    left, right = films()
    codes = invented(np.random.default_rng(3), 800, 1)
    own = [
        table.append_column("film_id", pa.array(some))
        for table, some in zip((left, right), (codes[:400], codes[400:]), strict=True)
    ]
    assert "film_id" not in proposed(*own)
    shared = dict(zip(left["title"].to_pylist(), codes, strict=False))
    theirs = [shared[film.rpartition(" (")[0]] for film in right["film"].to_pylist()]
    assert "film_id" in proposed(
        left.append_column("film_id", pa.array(codes[:400])), right.append_column("film_id", pa.array(theirs))
    )


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"fullName": ["Ann Lee", "Bob Ray"]}, {"full_name": ["Zoe Quist", "Al Poe"]}, ["fullName:full_name"]),
        ({"mobile": ["212 5", "646 3"], "x": ["a", "b"]}, {"tel": ["718 2", "917 4"], "y": ["c", "d"]}, ["mobile:tel"]),
        ({"mobile": ["a b", "c d"], "tel": ["e f", "g"]}, {"phone": ["g e", "f"]}, ["tel:phone"]),
        ({"x": ["Ann Lee", "Bob Ray"]}, {"y": ["Lee, Ann", "Ray, Bob"]}, ["x:y"]),
    ],
)
def test_tables_too_small_to_link_records(left, right, expected):
    """Names decide, and where they say nothing, words in common."""
    assert proposed(pa.table(left), pa.table(right)) == expected


def test_linked_records():
    """They are the same films, apart from a few by chance; a sample of the first table is enough."""
    left, right = films()
    texts = [proposing.identifying(table, ["id"], RUN) for table in (left, right)]
    a, b = linked_records(*texts)
    titles, others = left["title"].to_pylist(), right["film"].to_pylist()
    assert len(a) == 400
    assert all(others[y].startswith(titles[x]) for x, y in zip(a.tolist(), b.tolist(), strict=True))


def test_only_a_sample_is_looked_up(monkeypatch):
    monkeypatch.setattr(proposing, "SAMPLE", 50)
    left, right = films()
    texts = [proposing.identifying(table, ["id"], RUN) for table in (left, right)]
    assert len(linked_records(*texts)[0]) == 50
    assert proposed(left, right) == ["title:film", "starring:actor name", "writer:director name"]


def test_proposals_do_not_depend_on_threads():
    made = two_companies(300, seed=5)
    one, three = (propose_fields([made.left, made.right], [["id"]] * 2, Run(threads)) for threads in (1, 3))
    assert one == three


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([{"a": ["x", "x"]}], "no column can tell records apart: name those to compare with fields=."),
        ([{"a": []}], "no column can tell records apart: name those to compare with fields=."),
        (
            [{"a": ["x", "y"]}, {"b": ["v", "w"]}],
            "no columns of the two tables correspond: name those to compare with fields=.",
        ),
        (
            [{"a": ["x", "y"]}, {"a": [None, ""]}],
            "no columns of the two tables correspond: name those to compare with fields=.",
        ),
    ],
)
def test_nothing_to_propose(tables, message):
    with pytest.raises(DataError) as error:
        proposed(*map(pa.table, tables))
    assert str(error.value) == message
