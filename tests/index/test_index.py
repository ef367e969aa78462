"""Check the index as a whole: as a dictionary, and with several threads and processes."""

import subprocess
import sys
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike import measures
from lookalike.core.errors import AlreadyThere, DataError, UsageError
from lookalike.index import Index
from tests.commands import complaint
from tests.index_samples import texts_of

ids = st.integers(0, 9)
steps = st.lists(st.tuples(st.sampled_from(["add", "replace", "remove", "compact", "reopen"]), ids, ids), max_size=25)


def test_repeated_ids_in_different_batches(tmp_path, monkeypatch):
    """What was added a moment ago does not "already exist"."""
    monkeypatch.setattr("lookalike.index.building.BULK", 2)
    with pytest.raises(DataError, match=r"^ids must be unique; 'a' occurs more than once\.$"):
        Index.build(tmp_path / "new", texts_of(5), ["a", "b", "c", "a", "d"])
    with Index.create(tmp_path / "other") as index:
        with pytest.raises(DataError, match=r"^ids must be unique; 'a' occurs more than once\.$"):
            index.add(texts_of(5), ["a", "b", "c", "a", "d"], batch=2)
        with pytest.raises(DataError, match=r"^ids must be unique; 'a' occurs more than once\.$"):
            index.add(texts_of(5), ["a", "b", "c", "a", "d"], batch=2, replace=True)
        index.add(texts_of(2), ["a", "z"])
        with pytest.raises(DataError, match=r"^ids must be unique; 'b' occurs more than once\.$"):
            index.add(texts_of(5), ["b", "c", "a", "b", "d"], batch=2, replace=True)
        assert [*index.ids()] == ["a", "z"]
        with pytest.raises(AlreadyThere, match=r"^id 'a' already exists; use replace=True"):
            index.add(texts_of(3), ["b", "c", "a"], batch=2)


@given(steps)
@settings(max_examples=25, deadline=None)
def test_it_is_like_a_dictionary(tmp_path_factory, given):
    """Items are added, replaced and removed; texts repeat, so some items are identical."""
    place = tmp_path_factory.mktemp("index") / "one"
    index = Index.create(place, threshold=0.9, shingles="word:1", store_text=True)
    texts = texts_of(10)
    kept = {}
    for what, name, text in given:
        if what == "add" and name in kept:
            with pytest.raises(DataError, match=rf"^id {name} already exists; use replace=True to overwrite it"):
                index.add([texts[text]], [name])
        elif what in ("add", "replace"):
            assert index.add([texts[text]], [name], replace=what == "replace") == 1
            kept[name] = texts[text]
        elif what == "remove" and name not in kept:
            with pytest.raises(DataError, match=rf"^there is no item {name} in the index\.$"):
                index.remove([name])
        elif what == "remove":
            assert index.remove([name]) == 1
            del kept[name]
        elif what == "compact":
            index.compact()
        else:
            index.close()
            index = Index.open(place)
    assert len(index) == len(kept) == index.verify()
    assert {name: index.item(name) for name in index.ids()} == kept
    for text in texts:
        same = {name for name, value in index.query(text, k=None) if value == 1}
        assert same == {name for name, one in kept.items() if sorted(set(one.split())) == sorted(set(text.split()))}
    index.close()


# --- nothing is lost ---

READER = """
import sys
from lookalike.core.errors import DataError
from lookalike.index import Index
with Index.open(sys.argv[1], read_only=True) as index:
    print(len(index), flush=True)
    sys.stdin.readline()
    print(len(index), flush=True)
    try:
        index.add(["one more"])
    except DataError as error:
        print(error, flush=True)
    sys.stdin.readline()
    print(len(index), flush=True)
"""


@pytest.mark.slow
def test_a_reader_in_another_process(place):
    """It sees added items, also after the tables were compacted beside it, and cannot write."""
    texts = texts_of(20)
    with Index.build(place, texts[:10], threshold=0.8) as index:
        command = [sys.executable, "-c", READER, str(place)]
        reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "10\n"
        index.add(texts[10:])
        print(file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "20\n"
        assert reader.stdout.readline() == f"{place}: was opened read-only.\n"
        index.compact()
        index.remove([0])
        print(file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "19\n"
        assert reader.wait() == 0
        reader.stdin.close()
        reader.stdout.close()
        with pytest.raises(DataError, match=r"is already open in this process; all threads can share one Index\.$"):
            Index.open(place)
        assert index.verify() == 19


ADDER = """
import sys
from lookalike.index import Index
with Index.open(sys.argv[1]) as index:
    index.add(sys.stdin.read().split("\\n"))
"""


@pytest.mark.slow
def test_another_process_begins_the_index(place):
    """All processes use the bands that it chose."""
    texts = texts_of(30)
    with Index.create(place, threshold=0.8) as index:
        assert index.query(texts[0]) == []
        done = subprocess.run([sys.executable, "-c", ADDER, str(place)], input="\n".join(texts[:20]), text=True)
        assert done.returncode == 0
        assert index.query(texts[0], k=1) == [(0, 1.0)]
        assert index.add(texts[20:]) == 10
        assert index.verify() == 30


def test_a_failed_build_leaves_nothing(place, tmp_path):
    with pytest.raises(DataError, match=r"^ids must be unique; 'a' occurs more than once\.$"):
        Index.build(place, ["one", "two"], ["a", "a"])
    assert list(tmp_path.iterdir()) == []


def test_threads_that_add_lose_nothing(place):
    """Items without ids are numbered within each write."""
    with Index.create(place) as index:
        threads = [
            Thread(target=index.add, args=([f"text {number} of thread {at}" for number in range(20)],))
            for at in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(index.ids()) == list(range(120))
        assert index.verify() == 120


def test_all_is_added_or_nothing(place, tmp_path):
    with Index.build(place, ["a text", "another"], ["a", "b"]) as index:
        with pytest.raises(AlreadyThere, match=r"^id 'a' already exists; "):
            index.add((f"text {number}" for number in range(50)), [*range(49), "a"], batch=10)
        assert list(index.ids()) == ["a", "b"]
        assert index.verify() == 2


def test_the_largest_id_does_not_end_the_numbering(place):
    with Index.create(place, threshold=0.5, shingles="word:1") as index:
        index.add(["a b c d"], [(1 << 63) - 1])
        index.add(["e f g h", "i j k l"])
        assert [name for name, _ in index.query("e f g h")] == [0]
        index.add(["m n o p"], [7])
        index.add(["q r s t"])
        assert [name for name, _ in index.query("q r s t")] == [8]


@pytest.mark.parametrize(("measure", "asks"), [("angle", "the maximum angle"), ("hamming", "the ")])
def test_distances_have_no_default_threshold(place, measure, asks):
    with pytest.raises(UsageError, match=rf"^measure '{measure}' needs a threshold: set threshold= to {asks}"):
        Index.create(place, measure=measure)
    with Index.create(place) as index:
        assert index.threshold == 0.8


# --- the seed ---


def changes_of(words):
    """Return the text with each single word changed in one letter."""
    return [" ".join([*words[:at], f"{words[at]}x", *words[at + 1 :]]) for at in range(len(words))]


def text_that_shares_no_bucket(index, text, most):
    """Change words until the bands of the index that still match are as few as possible."""
    coding = index._known()
    own = coding.encode(pa.array([text], pa.large_string())).keys[0]
    words = text.split()
    for _ in range(most):
        tried = changes_of(words)
        keys = coding.encode(pa.array(tried, pa.large_string())).keys
        words = tried[int(np.argmin((keys == own).sum(axis=1)))].split()
    return " ".join(words)


@pytest.mark.slow
def test_texts_crafted_for_a_known_seed_are_found_with_other_seeds(tmp_path):
    """Whoever knows the hash functions can make a similar text that is never found."""
    text = " ".join(f"word{number}" for number in range(300))
    options = {"threshold": 0.8, "shingles": "word:1", "expected": 1000}
    with Index.create(tmp_path / "known", seed=1, **options) as index:
        index.add([text])
        crafted = text_that_shares_no_bucket(index, text, 25)
        assert similarity(text, crafted) > 0.8
        assert index.query(crafted) == []
    found = 0
    for seed in range(2, 42):
        with Index.create(tmp_path / str(seed), seed=seed, **options) as index:
            index.add([text])
            found += len(index.query(crafted))
    assert found == 40  # each is missed with a probability below 0.01


def similarity(one, other):
    return measures.jaccard(set(one.split()), set(other.split()))


def test_the_seed_of_a_new_index_is_secret(tmp_path):
    """It is drawn anew for each index, and stored in it."""
    code = (
        "import sys; from lookalike.index import Index\n"
        "for at in '12':\n"
        "    with Index.create(sys.argv[1] + at) as index: print(index.settings['wanted']['seed'])\n"
        "    with Index.open(sys.argv[1] + at) as index: print(index.settings['wanted']['seed'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "i"], capture_output=True, text=True, check=True)
    first, again, second, _ = map(int, done.stdout.split())
    assert first == again != second
    assert max(first, second) > 1 << 40


def test_the_seed_can_be_given(run, inputs, out):
    (inputs / "a.txt").write_text("one text\n")
    for options, seed in (((), 1), (("--seed", "7"), 7)):  # tests draw 1
        assert run("index", "build", out / f"{seed}", inputs / "a.txt", *options).code == 0
        assert run("dedup", inputs / "a.txt", "--against", out / f"{seed}-seen", "--update", *options).code == 0
        for name in (f"{seed}", f"{seed}-seen"):
            with Index.open(out / name) as index:
                assert index.settings["wanted"]["seed"] == seed


@pytest.mark.parametrize("measure", ["jaccard", "bag", "euclidean"])
def test_recall_1_is_for_codes_only(place, measure):
    with pytest.raises(
        UsageError, match=r"^recall must be below 1 for an index, .* 'hamming'; got 1\. .* use find_pairs"
    ):
        Index.create(place, measure=measure, threshold=0.5, recall=1)
    assert not place.exists()
    with Index.build(place, ["0101", "0111"], measure="hamming", threshold=1, recall=1) as index:
        assert index.recall() == 1


def test_recall_1_on_the_command_line(run, inputs, place):
    (inputs / "a.txt").write_text("a text\n")
    assert complaint(run("index", "build", place, inputs / "a.txt", "--recall", "1")) == (
        "--recall must be below 1 for an index, except with measure 'hamming'; got 1. "
        "To find every pair of a collection, use `lookalike pairs`."
    )
    assert not place.exists()


def test_a_threshold_that_needs_too_many_minhashes(place):
    with pytest.raises(
        UsageError, match=r"^threshold must be higher for an index: 0\.001 at recall 0\.99 needs more than"
    ):
        Index.create(place, threshold=0.001)
    assert not place.exists()


def test_measures_go_by_their_usual_names(place):
    for measure in ("edit", "inner_product"):
        allowed = "jaccard, bag, angle, cosine_similarity, euclidean, hamming"
        with pytest.raises(UsageError, match=rf"^measure must be one of {allowed}; got '{measure}'\.$"):
            Index.create(place, measure=measure)
    with Index.build(place, ["a b c"], measure="bag") as index:
        assert index.info()["measure"] == "bag"


def test_an_index_shows_what_it_is(place):
    with Index.create(place, threshold=0.5, measure="bag") as index:
        assert repr(index) == f"<Index of 0 texts, bag >= 0.5, in {place}>"
        index.add([["a"], ["a", "b"]])
        assert repr(index) == f"<Index of 2 sets, bag >= 0.5, in {place}>"
    assert repr(index) == f"<closed Index: bag >= 0.5, in {place}>"
    with Index.build(place.with_name("codes"), ["0101"], measure="hamming", threshold=1) as index:
        assert repr(index) == f"<Index of 1 bit code, hamming <= 1, in {place.with_name('codes')}>"


def test_ids_must_be_a_list(place):
    """A single string is not read letter by letter."""
    with Index.build(place, ["a text"]) as index:
        for call in (index.remove, lambda ids: index.add(["x"], ids), lambda ids: index.sift(["x"], ids)):
            for ids in ("abc", 5):
                with pytest.raises(UsageError, match=rf"^ids must be a list of ids; got {ids!r}\.$"):
                    call(ids)
        assert list(index.ids()) == [0]


def test_a_closed_index_says_so(place):
    index = Index.build(place, ["a text"])
    index.close()
    with pytest.raises(DataError, match=r"some\.index: this index is closed; open it again with Index\.open\.$"):
        index.query("a text")
