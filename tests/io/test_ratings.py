"""Check reading of users, items, ratings and times, with all kinds of faults, and of names."""

import gzip
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from lookalike.baskets import Ratings, find_similar, group_items, recommend_all
from lookalike.baskets.names import Names
from lookalike.core.errors import DataError, LookalikeError
from tests.basket_samples import FILMS, RATINGS, TABLE, rows_of, write


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.arrow", "a.jsonl", "a.csv.gz", "a.jsonl.zst"])
def test_files(tmp_path, name):
    ratings = Ratings.read(write(TABLE, tmp_path / name))
    assert rows_of(ratings) == rows_of(RATINGS) == sorted(FILMS, key=lambda row: (row[0], row[3]))
    assert repr(ratings) == "<11 ratings by 4 users of 5 items>"
    assert ratings.stats == {"repeated": 0, "skipped": 0}


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["userId", "movieId", "rating", "timestamp"], [0, 1, 2, 3]),
        (["Customer ID", "product_id", "Stars", "Date"], [0, 1, 2, 3]),
        (["score", "time", "member", "book"], [2, 3, 0, 1]),
        (["title", "item", "user", "x"], [2, 1, None, None]),  # the plainest name wins
        (["who", "what", "rating", "note"], [0, 1, 2, None]),
        (["x", "item", "y", "z"], [0, 1, None, None]),
        (["item", "x", "y", "rating"], [1, 0, 3, None]),
    ],
)
def test_columns_are_recognized_by_name(tmp_path, names, columns):
    cells = [["1", "2", "3", "4"], ["5", "6", "7", "8"]]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(",".join(row) for row in [names, *cells]) + "\n")
    expected = []
    for row in cells:
        ids, rest = [row[at] for at in columns[:2]], [float(row[at]) for at in columns[2:] if at is not None]
        expected.append((*ids, *rest))
    assert rows_of(Ratings.read(path)) == expected


def test_named_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user,item,rating,time,buyer,thing,points,day\nu,i,1,1,b,t,9,2024-02-01\n")
    named = {"user": "buyer", "item": "thing", "rating": "points", "time": "day"}
    day = datetime.fromisoformat("2024-02-01T00:00:00+00:00").timestamp()
    assert rows_of(Ratings.read(path, **named)) == [("b", "t", 9.0, day)]
    assert rows_of(Ratings.read(path, rating="-", time="-")) == [("u", "i")]
    assert rows_of(Ratings.read(path, time="-")) == [("u", "i", 1.0)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("196\t242\t3\t88125\n186\t302\t3.5\t89171\n", [("196", "242", 3, 88125), ("186", "302", 3.5, 89171)]),
        ("196\t242\n07\t302\n", [("196", "242"), ("07", "302")]),
        ("\ufeffann\t242\t3\n", [("ann", "242", 3)]),
        ("ann\tFargo\t3\t2024-05-01\tx\n", [("ann", "Fargo", 3, 1714521600)]),
    ],
)  # fmt: skip
def test_a_file_without_a_line_of_names(tmp_path, content, expected):
    path = tmp_path / "u.data"
    path.write_text(content)
    assert rows_of(Ratings.read(path, format="tsv")) == expected
    assert rows_of(Ratings.read([path, path], format="tsv")) == expected


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_ids_are_given_back_as_they_were(tmp_path, name):
    table = pa.table({"user": ["007", "7", "é x"], "item": ["1.0", "1", "01"]})
    ratings = Ratings.read(write(table, tmp_path / name))
    assert sorted(rows_of(ratings)) == sorted(zip(*table.to_pydict().values(), strict=True))
    numbers = pa.table({"user": [7, 8], "item": [-1, 2**40]})
    ratings = Ratings.read(write(numbers, tmp_path / name))
    kind = pa.string() if name == "a.csv" else pa.int64()
    assert ratings.user_ids.type == ratings.item_ids.type == kind


def test_several_files_and_separators(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("user;item;rating\na;x;1\n")
    two.write_text("item;user;rating\ny;a;2\nx;b;3\n")
    assert rows_of(Ratings.read([one, two], separator=";")) == [("a", "x", 1), ("a", "y", 2), ("b", "x", 3)]
    assert rows_of(Ratings.read(tmp_path, separator=";")) == [("a", "x", 1), ("a", "y", 2), ("b", "x", 3)]
    ints = write(pa.table({"user": [1], "item": ["x"], "rating": [5.0]}), tmp_path / "3.parquet")
    assert set(rows_of(Ratings.read([one, ints], separator=";"))) == {("a", "x", 1), ("1", "x", 5)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "x", 1), ("b", "x", 5), ("a", "x", 4)], [("a", "x", 4), ("b", "x", 5)]),
        ([("a", "x", 1, 9), ("a", "x", 4, 3)], [("a", "x", 1, 9)]),
        ([("a", "x", 1, 9), ("a", "x", 4, 9)], [("a", "x", 4, 9)]),
        ([("a", "x"), ("a", "x"), ("a", "x")], [("a", "x")]),
    ],
)
def test_the_last_of_the_same_counts(rows, expected):
    ratings = Ratings.of(rows)
    assert rows_of(ratings) == expected
    assert ratings.stats["repeated"] == len(rows) - len(expected)


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (["2024-01-02", "2024-01-01"], [86400, 0]),
        (["2024-01-01 10:00:01", "2024-01-01T10:00:00"], [1, 0]),
        (["2024-01-01T10:00:01Z", "2024-01-01T11:00:00+01:00"], [1, 0]),
        ([date(2024, 1, 2), date(2024, 1, 1)], [86400, 0]),
        ([datetime(2024, 1, 1, 10, 0, 1), datetime(2024, 1, 1, 10)], [1, 0]),
        (["7.5", " 7 "], [0.5, 0]),
        ([2, 1], [1, 0]),
    ],
)
def test_times(times, seconds):
    ratings = Ratings.of([("a", "x", 1, times[0]), ("a", "y", 1, times[1])])
    assert ratings.item_ids.take(pa.array(ratings.items)).to_pylist() == ["y", "x"]
    assert (ratings.times - ratings.times[0]).tolist() == seconds[::-1]


def test_what_ratings_can_be_made_of(tmp_path):
    polars_like = type(
        "Frame", (), {"__arrow_c_stream__": lambda self, schema=None: TABLE.__arrow_c_stream__(schema)}
    )()
    dictionaries = TABLE.to_pylist()
    path = write(TABLE, tmp_path / "a.parquet")
    for one in (FILMS, [list(row) for row in FILMS], iter(FILMS), TABLE, polars_like, dictionaries, path, str(path)):
        assert rows_of(Ratings.of(one)) == rows_of(RATINGS)
    assert Ratings.of(RATINGS) is RATINGS
    floats = TABLE.set_column(2, "rating", TABLE["rating"].cast(pa.float32()))
    assert rows_of(Ratings.of(floats)) == rows_of(RATINGS)
    odd = pa.table({"user": ["a"], "item": ["x"], "rating": pa.array([3.7], pa.float32())})
    assert Ratings.of(odd).values.tolist() == [3.7]


@pytest.mark.parametrize(
    "empty", [[], pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())})]
)
def test_nothing(empty):
    ratings = Ratings.of(empty)
    assert len(ratings) == 0
    assert ratings.scale == (1, 1)
    assert len(find_similar(ratings)) == len(group_items(ratings)) == recommend_all(ratings).num_rows == 0
    assert len(ratings.by_groups(group_items(ratings))) == 0


def test_empty_files(tmp_path):
    for name in ("a.csv", "a.jsonl"):
        (tmp_path / name).write_text("")
        assert len(Ratings.read(tmp_path / name)) == 0
        assert rows_of(Ratings.read([tmp_path / name, TABLE])) == rows_of(RATINGS)


# --- bad rows ---

BAD = [
    ("user,item\na,x\n,y\n", "user is empty"),
    ("user,item\na,x\nb,\n", "item is empty"),
    ("user,item,rating\na,x,5\nb,y,good\n", "rating must be a number; got 'good'"),
    ("user,item,rating\na,x,5\nb,y,\n", "rating must be a number; got ''"),
    ("user,item,stars\na,x,5\nb,y,nan\n", "stars must be a number; got 'nan'"),
    ('user,item,stars\na,x,5\nb,y,"3,5"\n', "stars must be a number; got '3,5'"),
    ("user,item,rating\na,x,1\na,y,1e999\n", "rating must be a number; got '1e999'"),
    ("user,item,rating,time\na,x,5,3\nb,y,5,now\n", "time must be a number; got 'now'"),
    ("user,item,date\na,x,2024-01-01\nb,y,5\n", "date must be a date such as 2024-05-31; got '5'"),
    ("user,item,date\na,x,2024-01-01\nb,y,2024-13-01\n", "date must be a date such as 2024-05-31; got '2024-13-01'"),
    ("user,item\na,x\nb,y,z\n", "3 fields, not 2"),
    ("user,item,rating\na,x,5\nb\xff,y,z\n", "user is not valid UTF-8 (byte 1 is 0xff)"),
    ("user,item,rating\na,x,5\nb,y,\xff\n", "rating must be a number; got '\ufffd'"),
]  # fmt: skip
BAD_JSON = [
    ('{"user": "a", "item": "x"}\n{"user": null, "item": "y"}\n', "user is null"),
    ('{"user": "a", "item": "x"}\n{"item": "y"}\n', "user is null"),
    ('{"user": "a", "item": "x"}\n{"user": "", "item": "y"}\n', "user is empty"),
    ('{"user": "a", "item": "x"}\n\nnull\n', "not a JSON object but null"),
    ('{"user": "a", "item": "x"}\n[1]\n',
     "not a JSON object but a list (a file can be one whole array; jq -c '.[]' splits others)"),
    ('{"user": "a", "item": "x"}\n{"user": "b", \n', "not valid JSON at column 15 (Expecting property name"
     " enclosed in double quotes)"),
    ('{"user": "a", "item": "x"}\n{"user" "b"}\n', "not valid JSON at column 9 (Expecting ':' delimiter)"),
    ('{"user": "a", "item": "x"}\n{"user": 3, "item": "x"}\n', "user is an integer, not a string"),
    ('{"user": 1, "item": "x"}\n{"user": "b", "item": "x"}\n', "user is a string, not an integer"),
    ('{"user": 1, "item": 2, "stars": 3}\n{"user": 2, "item": 2, "stars": "x"}\n', "stars is 'x', not a number"),
    ('{"user": 1, "item": 2, "stars": 3}\n{"user": 2, "item": 2, "stars": null}\n', "stars must be a number; got None"),
    ('{"user": 1, "item": 2, "stars": 3}\n{"user": 2, "item": 2, "stars": true}\n', "stars is True, not a number"),
    ('{"user": 1, "item": 2, "stars": "3"}\n{"user": 2, "item": 2, "stars": "?"}\n', "stars must be a number; got '?'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "why"), [("a.csv", *one) for one in BAD] + [("a.jsonl", *one) for one in BAD_JSON]
)
def test_bad_rows(tmp_path, name, content, why):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1") if "\xff" in content else content.encode())
    with pytest.raises(DataError) as error:
        Ratings.read(path)
    assert str(error.value).startswith(f"{path}, row 1: {why}; ")
    assert str(error.value).endswith("; use Ratings.read(on_error='skip') to skip such rows.")
    ratings = Ratings.read(path, on_error="skip")
    assert ratings.stats["skipped"] == 1
    assert len(ratings) == content.count("\n") - (name == "a.csv") - 1 - content.count("\n\n")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"rating": [True]}, "rating must be a number; got True"),
        ({"rating": [date(2024, 1, 1)]}, "rating must be a number; got datetime.date(2024, 1, 1)"),
        ({"time": [time(10)]}, "time must be a date such as 2024-05-31; got datetime.time(10, 0)"),
        ({"time": [["x"]]}, "time must be a number; got ['x']"),
    ],
)
def test_columns_of_other_types(columns, why):
    with pytest.raises(DataError) as error:
        Ratings.of(pa.table({"user": ["a"], "item": ["x"], **columns}))
    assert str(error.value).startswith(f"the table, row 0: {why}; ")


def test_ids_of_other_types():
    days = pa.table({"user": [date(2024, 1, 1), date(2024, 1, 2)], "item": [1.5, 1.5]})
    assert list(find_similar(days)) == [(date(2024, 1, 1), date(2024, 1, 2), 1.0)]
    decimals = [(1, "x", Decimal("0.5")), (2, "x", Decimal("4"))]
    assert Ratings.of(decimals).values.tolist() == [0.5, 4]


def test_a_file_of_bad_lines_alone(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"user": "a", "item": "x"}\n[]\n')
    assert len(Ratings.read(path, on_error="skip", batch_bytes=20)) == 1


def test_ratings_of_json_may_turn_out_to_be_fractions(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"user": 1, "item": 2, "rating": 3, "time": 4}\n{"user": 1, "item": 3, "rating": 3.5, "time": 4.5}\n'
    )
    assert rows_of(Ratings.read(path)) == [(1, 2, 3.0, 4.0), (1, 3, 3.5, 4.5)]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("user,x\n", {}, None),
        ("user\na\n", {}, "{path}: no column for the item; it has user. Name it with item=."),
        ("a,b\n", {"user": "c"}, "{path}: no column 'c' for the user; it has a, b."),
        ("a,a,b\n", {"user": "a"}, "{path}: 2 columns 'a' for the user; it has a, a, b."),
        ("a,b\n", {"user": "a", "item": "a"}, "user, item, rating and time must be different columns; got a, a."),
        ("a,b\n", {"user": "-"}, "user must name a column; got '-'."),
        ("a,b\n", {"rating": ""}, "rating must name a column; got ''."),
        (
            "a,b\n",
            {"separator": ";;"},
            "separator must be '::' or one ASCII character, not a quote or line end; got ';;'.",
        ),
        (
            "a,b\n",
            {"format": "xls"},
            "format must be one of parquet, arrow, jsonl, csv, tsv, excel, database, warc; got 'xls'.",
        ),
        ("a,b\n", {"on_error": "stop"}, "on_error must be one of fail, skip; got 'stop'."),
    ],
)
def test_columns_that_are_not_there(tmp_path, content, options, message):
    path = tmp_path / "a.csv"
    path.write_text(content)
    if message is None:
        assert len(Ratings.read(path, **options)) == 0
        return
    with pytest.raises(LookalikeError) as error:
        Ratings.read(path, **options)
    assert str(error.value) == message.format(path=path)


def test_inputs_that_do_not_go_together(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("user,item,rating\na,x,1\n")
    two.write_text("user,item\na,x\n")
    with pytest.raises(DataError) as error:
        Ratings.read([one, two])
    message = f"either all inputs must have a rating, or none; {one} has one, {two} has none; rating='-' ignores it."
    assert str(error.value) == message
    assert len(Ratings.read([one, two], rating="-")) == 1
    nested = write(pa.table({"user": [["a"]], "item": ["x"]}), tmp_path / "3.parquet")
    with pytest.raises(DataError, match=r"column 'user' for the user holds list<.*>, which cannot be an id\.$"):
        Ratings.read(nested)
    (tmp_path / "u.data").write_text("1 2\n")
    with pytest.raises(DataError, match="cannot infer the format from the name; set format="):
        Ratings.read(tmp_path / "u.data")
    (tmp_path / "u.data").write_text("1\t2\n1\t3\n")  # tabs make it a table
    assert len(Ratings.read(tmp_path / "u.data")) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (7, "ratings must be rows, a table, a data frame or a path; got int."),
        ({"a": 1}, "ratings must be rows, a table, a data frame or a path; got dict."),
        ([("a",)], "row 0: ratings must be (user, item[, rating[, time]]), all of the same length; got ('a',)."),
        (
            [("a", "x"), "by"],
            "row 1: ratings must be (user, item[, rating[, time]]), all of the same length; got 'by'.",
        ),
        (["ax"], "row 0: ratings must be (user, item[, rating[, time]]), all of the same length; got 'ax'."),
    ],
)  # fmt: skip
def test_invalid_rows(rows, message):
    with pytest.raises(LookalikeError) as error:
        Ratings.of(rows)
    assert str(error.value) == message


def test_ids_of_several_types():
    with pytest.raises(DataError, match=r"^ratings must have columns of one type each"):
        Ratings.of([("a", "x"), (1, "x")])


# --- names ---

IDS = pa.array(["1", "2", "3"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("u.item", "1|Vertigo, The (1958)|x\n2|Misérables, Les|y\n".encode("latin-1")),
        ("a.csv", b"movieId,title\n1,\"Vertigo, The (1958)\"\n2,Mis\xc3\xa9rables; Les\n"),
        ("a.tsv", "\ufeff1\tVertigo, The (1958)\r\n\r\n2\tMisérables; Les\r\n1\tagain\r\n".encode()),
        ("a.txt.gz", gzip.compress("id;title\n1;Vertigo, The (1958)\n2;Misérables, Les\n".encode(), mtime=0)),
        ("a.jsonl", '{"id": 1, "n": "Vertigo, The (1958)"}\n{"id": 2, "n": "Misérables, Les"}\n'.encode()),
    ],
)  # fmt: skip
def test_names(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    names = Names(path, IDS)
    assert names.missing == 1
    assert [name[:9] for name in names.of_list(["1", "2", "3"])] == ["Vertigo, ", "Misérable", "3"]
    assert names.of_list([]) == []
    assert Names(path, pa.array([2, 1])).of(pa.array([2])).to_pylist()[0].startswith("Misérables")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"4,x\n5,y\n", "{path}: none of its ids is the id of an item; the first column must be the id."),
        (b"", "{path}: none of its ids is the id of an item; the first column must be the id."),
        (b"1,x\n2\n", "{path}, line 2: a name needs two cells, the id and the name; got '2'."),
        (None, "{path}: no such file."),
    ],
)
def test_invalid_names(tmp_path, content, message):
    path = tmp_path / "a.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as error:
        Names(path, IDS)
    assert str(error.value) == message.format(path=path)


def test_names_of_one_column(tmp_path):
    path = write(pa.table({"id": ["1"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="names need two columns, the id and the name; it has 1"):
        Names(path, IDS)
    (tmp_path / "a.csv.gz").write_bytes(b"no")
    with pytest.raises(DataError, match=r"a\.csv\.gz: cannot be read"):
        Names(tmp_path / "a.csv.gz", IDS)


def test_a_bad_first_date_is_skipped_alone(inputs):
    (inputs / "r.csv").write_text("user,item,date\na,x,\na,y,2024-01-01\nb,x,2024-01-02\n")
    ratings = Ratings.read(inputs / "r.csv", on_error="skip")
    assert (len(ratings), ratings.stats["skipped"]) == (2, 1)


def test_two_objects_in_a_line_are_a_fault(inputs):
    (inputs / "r.jsonl").write_text('{"user": 1, "item": 3} {"user": 2, "item": 4}\n{"user": 5, "item": 3}\n')
    ratings = Ratings.read(inputs / "r.jsonl", on_error="skip")
    assert (ratings.user_ids.to_pylist(), ratings.stats["skipped"]) == ([5], 1)


def test_what_arrow_does_not_take_is_skipped_alone(inputs):
    lines = [
        '{"user": 1, "item": 3}',
        '{"user": 99999999999999999999999, "item": 4}',
        '{"user": 5, "user": 6, "item": 3}',
    ]
    (inputs / "r.jsonl").write_text("\n".join(lines))
    ratings = Ratings.read(inputs / "r.jsonl", on_error="skip")
    assert (ratings.user_ids.to_pylist(), ratings.stats["skipped"]) == ([1], 2)


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_the_index_of_a_frame_is_passed_over(tmp_path, first):
    path = tmp_path / "a.csv"
    path.write_text(f"{first},who,what,rating\n0,u,i,1\n1,v,i,2\n")
    assert rows_of(Ratings.read(path)) == [("u", "i", 1.0), ("v", "i", 2.0)]


def test_no_good_row_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user,item,rating\nu,i,good\nv,i,bad\n")
    with pytest.raises(DataError, match=r"a\.csv: all 2 rows were left out, .* Row 0: rating must be a number; got 'g"):
        Ratings.read(path, on_error="skip")


MOVIELENS = b"1::10::3.5::978300760\n1::20::4::978300761\n2::10::5::978300762\n"


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_two_colons_between_cells(tmp_path, size):
    expected = [("1", "10", 3.5, 978300760), ("1", "20", 4, 978300761), ("2", "10", 5, 978300762)]
    for name, content, options in [
        ("ratings.dat", MOVIELENS, {}),
        ("ratings.dat.gz", gzip.compress(MOVIELENS), {}),
        ("ratings.csv", MOVIELENS, {"separator": "::"}),
        ("ratings.dat", b"UserID::MovieID::Rating::Timestamp\n" + MOVIELENS, {"format": "csv", "separator": "::"}),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        assert rows_of(Ratings.read(path, batch_bytes=size, **options)) == expected
    many = tmp_path / "many.dat"
    many.write_bytes(b"".join(b"%d::%d::3\n" % (n % 97, n) for n in range(50_000)))  # cut into many blocks
    assert len(Ratings.read(many)) == 50_000


def test_names_with_two_colons(tmp_path):
    path = tmp_path / "movies.dat"
    path.write_bytes("10::Léon: The Professional (1994)::Crime|Drama\n20::Toy Story\n".encode("latin-1"))
    assert Names(path, pa.array(["10", "20"])).of_list(["20", "10"]) == ["Toy Story", "Léon: The Professional (1994)"]


def test_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user;item;rating\na;x;3,5\nb;x;-0,25\nc;x;4\nd;x;1.5\n")
    assert [row[2] for row in rows_of(Ratings.read(path))] == [3.5, -0.25, 4, 1.5]
    path.write_text('user,item,rating\na,x,"3,5"\n')
    with pytest.raises(DataError, match="rating must be a number; got '3,5'"):
        Ratings.read(path)
