"""Check the search for test items against a plain twin, and on texts with planted items."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.items.sets import text_bounds
from lookalike.items.shingles import split_words
from lookalike.items.units import units_of
from lookalike.kernels.leaks import find_answers, find_items
from lookalike.leaks import searching
from lookalike.leaks.items import COMMON, SPARE, TINY, WIDTH, WORDS
from lookalike.leaks.searching import ANSWER, REACH
from tests.samples import write

WORD = st.sampled_from("abcd")
ITEMS = st.lists(st.lists(WORD, min_size=TINY, max_size=14).map(" ".join), min_size=1, max_size=14)
DOCUMENTS = st.lists(st.lists(WORD, max_size=60).map(" ".join), max_size=6)
QUESTION = "How many legs do twelve cats and seven parrots have in total, if none of them was hurt?"


def shingles(words):
    return [tuple(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)]


def longest_run(some, whole):
    """Return the longest run of consecutive shingles of `whole` in `some`."""
    runs = [0] * (len(whole) + 1)
    best = 0
    for shingle in some:
        runs = [0] + [runs[at] + 1 if whole[at] == shingle else 0 for at in range(len(whole))]
        best = max(best, *runs)
    return best


def leaks(document, item, common, threshold, least, longest):
    """Return whether the definition of a leak is met anywhere in a document, one stretch at a time."""
    here, wanted = shingles(document.split()), shingles(item.split())
    different = set(wanted)
    width = WIDTH * len(wanted) + SPARE
    telling = different - common
    whole = len(different) < least
    run = len(wanted) if longest is None else min(len(wanted), max(1, longest - WORDS + 1))
    if longest_run(here, wanted) >= run:
        return True
    for start in range(len(here)):
        found = different & set(here[start : start + width])
        enough = len(found) >= max(least, math.ceil(threshold * len(different)))
        if enough and len(found & telling) >= math.ceil(threshold * len(telling)) and not whole:
            return True
    return False


@given(
    DOCUMENTS,
    ITEMS,
    st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]),
    st.integers(1, 6),
    st.none() | st.integers(1, 9),
    st.integers(1, 2),
)
def test_exactly_the_leaks_are_found(documents, items, threshold, least, longest, threads):
    with patch.object(searching, "own_places", everywhere):
        found = la.decontaminate(documents, items, threshold=threshold, least=least, longest=longest, threads=threads)
    having = Counter(shingle for item in set(items) for shingle in set(shingles(item.split())))
    common = {shingle for shingle, count in having.items() if count > COMMON}
    expected = {
        (at, row)
        for at, document in enumerate(documents)
        for row, item in enumerate(items)
        if items.index(item) == row  # equal ones are one item
        if leaks(document, item, common, threshold, least, longest)
    }
    rows = found.to_arrow().to_pylist()
    assert {(row["document"], row["item"]) for row in rows} == expected
    assert found.keep.tolist() == [at not in {document for document, _ in expected} for at in range(len(documents))]
    for row in rows:
        document, wanted = documents[row["document"]], shingles(items[row["item"]].split())
        assert row["text"] == document[row["start"] : row["stop"]]
        words = row["text"].split()
        assert set(shingles(words)) & set(wanted)
        assert shingles(words)[0] in wanted
        assert shingles(words)[-1] in wanted
        assert row["containment"] <= len(set(shingles(words)) & set(wanted)) / len(set(wanted)) + 1e-12


def everywhere(*given):
    """Return, like `own_places`, that all items are there themselves."""
    return np.ones(len(given[-1]), np.bool_)


def own(row, other, words, items):
    """Return how many shingles an item has that another lacks, and how many are at the places of both."""
    mine, others = (set(shingles(items[one[1]].split())) for one in (row, other))
    stretch = set(shingles(words[min(row[2], other[2]) : max(row[3], other[3])]))
    return (len(mine - others), len((mine - others) & stretch)) if mine & others else (0, 0)


@st.composite
def alike(draw):
    """Draw items that share a part, and documents of parts of them."""
    parts = draw(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=9), min_size=2, max_size=4))
    some = st.lists(st.sampled_from(parts), min_size=1, max_size=3).map(lambda chosen: " ".join(map(" ".join, chosen)))
    items = draw(st.lists(some.filter(lambda item: len(item.split()) >= TINY), min_size=2, max_size=5, unique=True))
    return draw(st.lists(st.lists(some, max_size=3).map(" ".join), min_size=1, max_size=4)), items


@given(alike(), st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3)]), st.integers(1, 5), st.booleans())
def test_items_that_others_at_the_place_explain_are_left_out(drawn, threshold, least, runs):
    documents, items = drawn
    limits = {"threshold": threshold, "least": least, "longest": 6 if runs else None}
    with patch.object(searching, "own_places", everywhere):
        every = la.decontaminate(documents, items, **limits)
    texts = pa.array(documents, pa.large_string())
    raw = find_items(*text_bounds(texts), *every.search.lookup.arguments).tolist()
    expected = []
    for at, document in enumerate(documents):
        words, rows = document.split(), sorted((row for row in raw if row[0] == at), key=lambda row: row[2])
        gone = set()
        for a, b in combinations(range(len(rows)), 2):
            one, other = rows[a], rows[b]
            if a in gone or b in gone or other[2] >= one[3]:
                continue
            counts = own(one, other, words, items), own(other, one, words, items)
            there = [seen >= threshold * count for count, seen in counts]
            if min(counts[0][0], counts[1][0]) < least or there[0] == there[1]:
                continue
            loser = b if there[0] else a
            run = every.search.lookup.arguments[4][2][rows[loser][1]]
            gone |= {loser} if rows[loser][5] < run else set()
        expected += [(at, row[1]) for number, row in enumerate(rows) if number not in gone]
    found = la.decontaminate(documents, items, **limits)
    assert Counter((row["document"], row["item"]) for row in found.to_arrow().to_pylist()) == Counter(expected)
    assert found.keep.tolist() == every.keep.tolist()


TREATY = (
    "The treaty of the two kings ended a war of thirty years and gave the river and its towns to the younger of them, "
    "who had promised to build no walls."
)


def test_of_two_questions_about_one_text_only_the_one_that_is_there_is_found():
    one = f"{TREATY} Which of these reasons made the older king sign it in spite of his victory?"
    other = f"{TREATY} What did the people of the towns on the river think about their new ruler?"
    reworded = one.replace("older", "elder")

    def items_in(text, **options):
        return la.decontaminate([text], [one, other, reworded], **options).to_arrow()["item"].to_pylist()

    assert items_in(f"So: {other} End.") == [1]
    assert items_in(f"So: {one} End.") == [0, 2]  # the same question in other words
    assert sorted(items_in(TREATY)) == [0, 1, 2]  # nobody can tell
    assert sorted(items_in(f"So: {other} End.", longest=13)) == [0, 1, 2]


def test_items_of_other_files_are_found_as_if_alone(tmp_path: Path):
    """One file can have the questions of another one with other names and numbers."""
    one, other = (
        f"{TREATY} {rest}" for rest in ("Why did the king of the south sign it?", "Who asked for the walls and why?")
    )
    for number, files in enumerate(([[one, other]], [[one], [other]], [[one, other], [other]])):
        paths = [
            write(tmp_path / f"{number}-{at}.jsonl", [{"question": question} for question in questions])
            for at, questions in enumerate(files)
        ]
        found = la.decontaminate([f"{one} And so on."], paths)
        assert found.files["leaked"].to_pylist() == ([1] if len(files) == 1 else [1, 1] if number == 1 else [2, 1])


@given(DOCUMENTS, ITEMS)
def test_places_of_an_item_do_not_overlap(documents, items):
    rows = (
        la.decontaminate(documents, items, least=1)
        .to_arrow()
        .sort_by([("document", "ascending"), ("item", "ascending"), ("start", "ascending")])
    )
    for one, other in pairwise(rows.to_pylist()):
        if (one["document"], one["item"]) == (other["document"], other["item"]):
            assert one["stop"] <= other["start"]


@pytest.mark.parametrize(
    "changed",
    [
        QUESTION,
        QUESTION.upper(),
        QUESTION.replace(" ", "\n   "),
        QUESTION.replace(",", " -").replace("?", ""),
        QUESTION.replace("parrots", "big parrots"),
        QUESTION.replace("twelve", "a dozen").replace("hurt", "harmed"),
        "\ufb01rst: " + QUESTION,  # a ligature before it, which is two letters in normal form
    ],
)
def test_changed_items_are_found_in_the_middle_of_a_paragraph(changed):
    text = f"Once more with feeling: {changed} And then they went home, all of them, to sleep."
    found = la.decontaminate(["nothing here", text], [QUESTION, "What else was there to be asked about cats?"])
    assert found.keep.tolist() == [True, False]
    (row,) = found.to_arrow().to_pylist()
    assert (row["document"], row["item"]) == (1, 0)
    assert split_words(row["text"].lower())[:3] == ["how", "many", "legs"]
    assert text.startswith(row["text"], text.index(changed[-80:]) - max(0, len(changed) - 80)) or "rst" in changed


def test_unrelated_text_with_some_of_the_words_is_not_a_leak():
    text = "How many legs do they have? In total, seven parrots have none, and if twelve cats of them had wings."
    assert la.decontaminate([text], [QUESTION]).keep.all()


def test_shingles_of_many_items_do_not_count():
    """Nobody can tell from the frame of a form which of its fillings was copied."""
    frame = "In which of these two stories does the person do what is clearly wrong by usual standards? {}"
    things = ("tea", "sugar", "bread", "wine", "salt", "milk", "oil", "ink", "wool", "coal", "rice", "soap")
    fillings = [f"I took {thing} from {thing}town and gave {thing} to nobody" for thing in things]
    items = [frame.format(filling) for filling in fillings]
    found = la.decontaminate([items[3], frame.format("")], items)
    assert found.to_arrow()["item"].to_pylist() == [3]
    assert found.keep.tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "kept"), [("-4 + (-3) =", False), ("4 and 3", True), ("what: - 4 + ( -3 )  = ?", False)]
)
def test_tiny_items_are_compared_with_punctuation(text, kept):
    assert la.decontaminate([text], ["-4 + (-3) ="]).keep.tolist() == [kept]


@pytest.mark.parametrize(
    ("item", "text"), [("cat", "concatenate"), ("to be", "to bend"), ("it is a cat", "it is a category")]
)
def test_short_items_are_found_at_the_bounds_of_words_only(item, text):
    found = la.decontaminate([text, f"so {item}, then", f"({item})"], [item])
    assert found.keep.tolist() == [True, False, False]
    assert found.to_arrow()["text"].to_pylist() == [item, item]


def test_a_run_of_words_can_be_enough():
    text = "it was twelve cats and seven parrots have in total that we saw"
    assert la.decontaminate([text], [QUESTION]).keep.all()
    found = la.decontaminate([text], [QUESTION], longest=8)
    assert found.to_arrow()["longest"].to_pylist() == [8]
    assert la.decontaminate([text], [QUESTION], longest=9).keep.all()


def test_answers_that_follow():
    texts = [
        f"{QUESTION} {rest}" for rest in ("A: 62 legs.", "A: 620 legs.", f"{'x ' * 51}62 legs", f"{'x ' * 50}62 legs")
    ]
    tests = pa.table({"question": [QUESTION], "answer": ["62 legs"]})
    found = la.decontaminate(texts, tests, answer="answer")
    assert found.to_arrow()["answered"].to_pylist() == [True, False, False, True]
    assert cut_out(found, texts[0]) == texts[0][:-1]
    assert cut_out(found, texts[1]) == QUESTION[:-1]


def cut_out(found, text):
    """Return the only part that is to be cut from a text."""
    (((start, stop),),) = found.search.cuts(pa.array([text], pa.large_string()))
    return text[start:stop]


def test_a_long_answer_is_found_by_its_beginning():
    answer = " ".join(f"word{at}" for at in range(40))
    tests = pa.table({"question": [QUESTION], "answer": [answer]})
    for length, follows in ((40, True), (25, True), (19, False)):
        text = f"{QUESTION} {' '.join(answer.split()[:length])} and on"
        found = la.decontaminate([text], tests, answer="answer")
        assert found.to_arrow()["answered"].to_pylist() == [follows]
        assert cut_out(found, text) == (text[: -len(" and on")] if follows else QUESTION[:-1])


CHOICES = {
    "question": [QUESTION] * 3 + ["Why is there air in here, and not a void?"] * 2,
    "answer": ["60", "62", "62 legs", "it is", "nobody knows"],
}


@pytest.mark.parametrize("right", [[False, True, True, False, False], ["false", "True", "yes", "0", ""]])
def test_rows_with_the_same_question_are_one_item(right):
    tests = pa.table(CHOICES | {"is_correct": right})
    texts = [f"{QUESTION.upper()} {rest}." for rest in ("60", "62 legs", "none")]
    found = la.decontaminate([*texts, CHOICES["question"][4] + " It is."], tests, answer="answer")
    rows = found.to_arrow().to_pylist()
    assert [(row["document"], row["item"], row["answered"]) for row in rows] == [
        (0, 0, False),
        (1, 0, True),
        (2, 0, False),
        (3, 3, False),
    ]
    assert found.files.to_pylist() == [
        {"file": "the table", "rows": 5, "items": 2, "leaked": 2, "places": 4, "documents": 4}
    ]
    assert cut_out(found, texts[1]) == texts[1][:-1]  # the longest of the answers


def test_all_answers_count_without_a_column_that_marks_them():
    found = la.decontaminate([f"{QUESTION} {n}" for n in (60, 61, 62)], pa.table(CHOICES), answer="answer")
    assert found.to_arrow()["answered"].to_pylist() == [True, False, True]


def test_marks_of_answers_that_say_neither_yes_nor_no():
    with pytest.raises(DataError, match=r"'is_correct' must say of each answer true or false; got 'maybe'"):
        la.decontaminate([QUESTION], pa.table(CHOICES | {"is_correct": ["maybe"] * 5}), answer="answer")


def answer_end(words, place, wanted):
    """Return the word after an answer that begins at most REACH words after a place, or -1."""
    least = min(len(wanted), ANSWER)
    for at in range(place, min(place + REACH, len(words)) + 1):
        same = 0
        while same < len(wanted) and at + same < len(words) and words[at + same] == wanted[same]:
            same += 1
        if wanted and same >= least:
            return at, at + same
    return None


@given(
    st.lists(st.integers(0, 2), max_size=80),
    st.lists(st.lists(st.integers(0, 2), max_size=24), max_size=3),
    st.integers(0, 80),
)
def test_answers_are_those_of_the_plain_search(words, answers, place):
    place = min(place, len(words))
    starts = 3 * np.arange(len(words))
    bounds = np.cumsum([0, *map(len, answers)])
    flat = np.array([word for answer in answers for word in answer], np.uint64)
    ends = find_answers(
        np.array([0, len(words)]), np.array(words, np.uint64), starts, starts + 2, np.array([0]), np.array([3 * place]),
        np.array([0]), np.array([0, len(answers)]), bounds, flat, REACH, ANSWER,
    )  # fmt: skip
    found = [end for end in (answer_end(words, place, answer) for answer in answers) if end]
    first = min((start for start, _ in found), default=None)
    expected = max((stop for start, stop in found if start == first), default=None)
    assert ends.tolist() == [-1 if expected is None else 3 * (expected - 1) + 2]


def test_a_document_is_cut_into_words_once_however_many_places_it_has(monkeypatch):
    """Count how much text is cut into words: a document per leak would make the time quadratic."""
    sizes = []

    def counted(texts, *given, **more):
        sizes.append(sum(map(len, texts.to_pylist())))
        return units_of(texts, *given, **more)

    monkeypatch.setattr(searching, "units_of", counted)
    tests = pa.table({"question": [QUESTION, "Inflation"], "answer": ["62 legs", "2%"]})
    for copies in (1, 300):
        text = f"{QUESTION} 62 legs. Inflation was " * copies
        sizes.clear()
        found = la.decontaminate([text, "nothing"], tests, answer="answer")
        assert found.counts.places.tolist() == [copies, copies]
        assert sum(sizes) == 2 * len(text)  # with marks and without


def test_identical_items_of_one_file_are_one_and_of_two_files_two(tmp_path: Path):
    tests = [QUESTION, QUESTION.upper(), "Something else that is longer than that?"]
    found = la.decontaminate([QUESTION], tests)
    assert found.to_arrow()["item"].to_pylist() == [0]
    assert found.items["documents"].to_pylist() == [1]
    paths = [write(tmp_path / f"{n}.jsonl", [{"question": one} for one in tests]) for n in (1, 2)]
    found = la.decontaminate([QUESTION], paths)
    assert found.to_arrow().select(["file", "item"]).to_pylist() == [{"file": str(path), "item": 0} for path in paths]


def test_one_item_in_many_documents():
    found = la.decontaminate([QUESTION] * 3000, [QUESTION, "Why?"])
    assert len(found) == 3000
    assert not found.keep.any()
    assert found.items["documents"].to_pylist() == [3000]


def test_many_copies_in_one_document():
    found = la.decontaminate([f"{QUESTION} " * 2000], [QUESTION])
    assert len(found) == 2000
    assert (found.to_arrow()["containment"].to_numpy() == 1).all()


@pytest.mark.parametrize("text", ["a" * 3_000_000, "a " * 300_000, "", " \n\t ", "\u05d0\u05d1 \u05d2\r\n\u05d3\rx"])
def test_monotonous_and_odd_documents(text):
    found = la.decontaminate([text], [QUESTION, "a a a a a a a a", "\u05d0\u05d1 \u05d2 \u05d3"])
    assert found.keep.tolist() == [not text.startswith(("a ", "\u05d0"))]


def test_scripts_without_spaces():
    item = "\u5982\u679c\u4f60\u6709\u5341\u4e8c\u53ea\u732b\u548c\u4e03\u53ea\u9e66\u9e49"
    found = la.decontaminate([f"\u95ee\uff1a{item}\uff1f\u7b54", item[:5]], [item])
    assert found.to_arrow()["text"].to_pylist() == [item]


def test_results_do_not_depend_on_batches_or_threads(tmp_path: Path):
    texts = [f"text {at} {QUESTION if at % 7 == 0 else 'and nothing else'} {at}" for at in range(500)]
    path = write(tmp_path / "corpus.jsonl", [{"id": f"d{at}", "text": text} for at, text in enumerate(texts)])
    expected = la.decontaminate(texts, [QUESTION], threads=1)
    for size, threads in ((100, 1), (3000, 2), (1 << 20, 3)):
        found = la.decontaminate(la.Source(path, batch_bytes=size), [QUESTION], threads=threads)
        assert (found.keep == expected.keep).all()
        assert found.to_arrow().drop(["document"]) == expected.to_arrow().drop(["document"])
        assert found.to_arrow()["document"].to_pylist() == [f"d{at}" for at in range(0, 500, 7)]


def test_files_of_tests_are_counted_one_by_one(tmp_path: Path):
    one = write(tmp_path / "one.jsonl", [{"question": QUESTION, "id": "q1"}, {"question": "Why so?", "id": "q2"}])
    two = write(tmp_path / "two.csv", [{"problem": "no such problem as this one"}, {"problem": QUESTION}])
    found = la.decontaminate([QUESTION, "why so ?"], [one, two])
    assert found.files.to_pylist() == [
        {"file": str(one), "rows": 2, "items": 2, "leaked": 2, "places": 2, "documents": 2},
        {"file": str(two), "rows": 2, "items": 2, "leaked": 1, "places": 1, "documents": 1},
    ]
    assert found.to_arrow().select(["file", "item"]).to_pylist() == [
        {"file": str(one), "item": "q1"},
        {"file": str(two), "item": "1"},
        {"file": str(one), "item": "q2"},
    ]


def test_an_empty_corpus():
    found = la.decontaminate([], [QUESTION])
    assert (len(found), len(found.keep), found.items.num_rows) == (0, 0, 0)
    assert "answered" not in found.to_arrow().column_names


@pytest.mark.parametrize("tests", [[], ["", "  "], ["?!"], pa.table({"question": pa.array([], pa.string())})])
def test_tests_without_items_are_refused(tests):
    with pytest.raises(DataError, match="at least one"):
        la.decontaminate(["a text"], tests)


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"threshold": 0}, UsageError, "threshold must be in"),
        ({"threshold": 50}, UsageError, "Did you mean 0.5"),
        ({"least": 0}, UsageError, "least must be"),
        ({"longest": 0}, UsageError, "longest must be"),
        ({"places": 0}, UsageError, "places must be"),
        ({"question": "task"}, DataError, "no column 'task'"),
        ({"answer": "solution"}, DataError, "no column 'solution' for the answers"),
    ],
)
def test_wrong_parameters(options, error, why):
    with pytest.raises(error, match=why):
        la.decontaminate(["a text"], pa.table({"question": [QUESTION]}), **options)


def test_tests_without_a_usual_column_name_the_parameter_for_it():
    with pytest.raises(DataError, match=r"which column has the questions\? Name it with question=; it has one, other"):
        la.decontaminate(["a text"], pa.table({"one": ["a b c"], "other": ["d"]}))


@pytest.mark.parametrize(("corpus", "tests"), [(np.eye(3), ["a b"]), (["a b"], [{1, 2}]), ([{1, 2}], ["a b"])])
def test_what_is_not_text(corpus, tests):
    with pytest.raises((UsageError, DataError)):
        la.decontaminate(corpus, tests)
