"""Each kernel against its plain-Python twin, and fixed values so that the hash format cannot drift."""

import os
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st

from lookalike import kernels
from lookalike.candidates.banding import Buckets, all_pairs, low_bits, sort_keys
from lookalike.data import Sets, text_bounds
from lookalike.families import MinHash
from lookalike.kernels import buckets as bucket_kernels
from lookalike.kernels import joins, text
from lookalike.kernels.buckets import ONE
from lookalike.kernels.hashing import mix
from lookalike.kernels.sets import hash_rows, overlaps, sort_rows, sorted_hashes
from lookalike.kernels.sketch import count_agreements, fold_bands, sketch_rows
from lookalike.shingles import Shingles

SIZES = (0, 1, 2, 7, 8, 9, 24, 25, 26, 63, 64, 65, 300, 700)
EDGES = (0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, ref.ALL - 1, ref.ALL)
SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
# One to four bytes, separators, marks and joiners, scripts with and without spaces, the ends of the planes.
CHARACTERS = (
    "abcXYZ019_-.,'\0\x1c\x7f\u0080\u00ad\u00df\u00e9\u0130\u0301\u0308\u0327\u0416\u05d0\u05b0\u0639\u0651\u0915\u093f"
    "\u0e01\u0e31\u0e44\u0eab\u1100\u1161\u11a8\uac00\u1e9e\u200b\u200c\u200d\u203f\u2060\u3042\u30a2\u4e00\u9fff\ue000"
    "\ufb01\ufdfa\ufeff\ufffd\uffff\U00010400\U0001d400\U0001f600\U0001f3fd\U00020000\U0003fffd\U000e0100\U0010ffff"
)
THRESHOLDS = [Fraction(t) for t in ("1/2", "2/3", "4/5", "17/20", "9/10", "1", "1/10", "1/1000000007")]

# Values of format 1. mix(1) and the hash of the integer 0 are splitmix64's own published ones.
GOLDEN_TEXT = "The plane was ready for touch down, caf\u00e9 \u5317\u4eac!"
MIX = [0, 0x5692161D100B05E5, 13029008266876403067]
SHINGLES = {
    "char:9": (36, 916171120671323074),
    "word:2": (9, 16851594029228884899),
    "stop:3": (4, 15100821082857957394),
    "char:100": (1, 18248538796291770512),
}
SIGNATURE = [448590352, 2781326205, 112697744, 1078145801]
BAND_KEYS = [12741267917703617095, 18377969194731407569]
CONTENT = [3940058677981856351, 13038551630422080217]
STRINGS = [7548481514061301999, 17653579546828544110]
INTEGERS = [0xE220A8397B1DCDAF, 16490336266968443936, 3055647633038352039]

thresholds = st.sampled_from(THRESHOLDS)
splits = st.one_of(st.none(), st.integers(0, 13))  # where the second of two collections begins
seeds = st.integers(0, 2**32).map(random.Random)
numbers = st.one_of(st.integers(0, ref.ALL), st.sampled_from(EDGES))


def drawn_text(rng):
    """A text of a size at some boundary, or a short one."""
    n = rng.choice([*SIZES, *range(12)])
    return "".join(rng.choice(CHARACTERS if rng.random() < 0.8 else SPACES) for _ in range(n))


texts = st.one_of(
    st.lists(st.text(st.sampled_from(CHARACTERS + SPACES), max_size=40), max_size=5),
    seeds.map(lambda rng: [drawn_text(rng) for _ in range(rng.randrange(1, 4))]),
)


def drawn_rows(rng, rows, repeats=False):
    """Rows that share elements: each is drawn from a common pool with the numbers at the edges in it."""
    pool = [*EDGES, *(rng.getrandbits(64) for _ in range(rng.choice(SIZES)))]
    size = min(len(pool), rng.choice(SIZES))
    pick = rng.choices if repeats else rng.sample
    return [pick(pool, k=rng.randint(0, size)) for _ in range(rows)]


def drawn_sets(rng, rows=8):
    """Small sorted sets that are often similar, some just at a threshold, some of them empty."""
    pool = [*EDGES[1:4], *(rng.getrandbits(64) for _ in range(8))]
    return [sorted(rng.sample(pool, rng.choice([0, 1, 4, 5, 8, 9, 10, 10, 11]))) for _ in range(rows)]


def drawn_buckets(rng, items, buckets):
    """Buckets of two items or more, each in ascending order."""
    return [sorted(rng.sample(range(items), rng.randint(2, items))) for _ in range(buckets)]


def as_rows(rows, dtype=np.uint64):
    """(indptr, values) of lists."""
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return indptr, np.array([x for row in rows for x in row], dtype=dtype)


def as_lists(indptr, values):
    return [values[i:j].tolist() for i, j in pairwise(indptr)]


def bounds(given):
    """The texts as kernels get them, in the middle of a larger Arrow array."""
    return text_bounds(pa.array(["\u4e00b\u0301 c", *given, "d"], pa.large_string()).slice(1, len(given)))


# --- hashes of texts ---


@given(st.lists(numbers, min_size=1, max_size=20))
def test_mix(values):
    assert [int(mix(np.uint64(x))) for x in values] == [ref.mix(x) for x in values]


@given(texts)
def test_decode(given):
    data, starts, stops = bounds(given)
    for start, stop, expected in zip(starts, stops, given, strict=True):
        found, at = "", start
        while at < stop:
            code, at = text.decode(data, at)
            found += chr(code)
        assert found == expected
        assert at == stop


@given(texts, st.integers(1, 12), st.sampled_from(["collapse", "keep", "remove"]))
def test_hashes_of_characters(given, k, space):
    white = ["collapse", "keep", "remove"].index(space)
    found = text.hash_texts(*bounds(given), text.CHAR, k, white, np.uint64(ref.ALL))
    assert as_lists(*found) == [ref.hash_text(one, "char", k, space) for one in given]


@given(texts, st.integers(1, 6), st.sampled_from([ref.ALL, 0xFFFFFFFF_00000000]))
def test_hashes_of_words(given, k, keep):
    found = text.hash_texts(*bounds(given), text.WORD, k, text.COLLAPSE, np.uint64(keep))
    assert as_lists(*found) == [ref.hash_text(one, "word", k, keep=keep) for one in given]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("k", [1, 2, 9, 64])
def test_hashes_of_texts_at_the_edges_of_k(size, k):
    given = ["\u00e9" * size, "ab " * size, "".join(chr(0x4E00 + i) for i in range(size))]
    everything = np.uint64(ref.ALL)
    for unit, name in ((text.CHAR, "char"), (text.WORD, "word")):
        found = text.hash_texts(*bounds(given), unit, k, text.COLLAPSE, everything)
        assert as_lists(*found) == [ref.hash_text(one, name, k) for one in given]


@given(st.lists(numbers, max_size=70), st.integers(1, 70))
def test_windows_wrap_at_64_bits(units, k):
    out = np.empty(len(units), np.uint64)
    n = text.windows(np.array(units, np.uint64), len(units), k, np.uint64(ref.ALL), out)
    assert out[:n].tolist() == [ref.hash_window(window) for window in ref.windows(units, k)]


few_words = st.sets(st.sampled_from(["a", "b", "x", "\u4e00", "\u00e9", "bc", "i"]))


@given(texts, few_words, few_words, st.integers(1, 4), st.integers(1, 3))
def test_hashes_of_spots(given, antecedents, skipped, k, distance):
    given = [*given, "A b Xa \u00c9 \u4e00\u4e00 bc", "x", "a b c a x \u4e00 i b a a bc b \u00e9 x i a b b a"]
    lists = [np.array(sorted(map(ref.hash_word, some)), dtype=np.uint64) for some in (antecedents, skipped)]
    found = text.hash_spots(*bounds(given), *lists, k, distance, np.uint64(ref.ALL))
    assert as_lists(*found) == [ref.hash_spots(one, antecedents, skipped, k, distance) for one in given]


@given(st.lists(numbers.filter(bool), unique=True, max_size=300), st.lists(numbers.filter(bool), max_size=9))
def test_values_in_a_table(values, others):
    table = text.hash_table(np.array(values, np.uint64))
    assert [text.is_in(table, np.uint64(x)) for x in [*values, *others]] == [x in values for x in [*values, *others]]


@given(texts)
def test_needs_normal_form(given):
    assert text.needs_normal_form(*bounds(given)).tolist() == [ref.needs_normal_form(one) for one in given]


@given(texts)
def test_hashes_of_contents(given):
    assert text.hash_contents(*bounds(given)).tolist() == [ref.hash_content(one.encode()) for one in given]


def test_hashes_of_contents_tell_lengths_and_zeros_apart():
    given = ["\0" * n for n in range(40)] + ["\0" * n + "a" for n in range(40)]
    hashes = text.hash_contents(*bounds(given))
    assert hashes.tolist() == [ref.hash_content(one.encode()) for one in given]
    assert len(np.unique(hashes[:, 0])) == len(np.unique(hashes[:, 1])) == len(given)


# --- sets ---


@given(seeds, st.sampled_from(SIZES), st.sampled_from(["even", "low", "high", "equal"]))
def test_sorted_hashes_whatever_their_spread(rng, n, spread):
    """Evenly spread values are what makes the sort fast, not what makes it right."""
    make = {
        "even": lambda: rng.getrandbits(64),
        "low": lambda: rng.getrandbits(10),
        "high": lambda: ref.ALL - rng.getrandbits(10),
        "equal": lambda: rng.choice(EDGES),
    }[spread]
    values = [make() for _ in range(n)]
    assert sorted_hashes(np.array(values, np.uint64)).tolist() == sorted(values)


@given(seeds, st.booleans())
def test_sort_rows(rng, bag):
    rows = drawn_rows(rng, 5, repeats=True)
    found = sort_rows(*as_rows(rows), bag)
    assert as_lists(*found) == [ref.sort_row(row, bag) for row in rows]


def test_overlap_of_bags_is_the_sum_of_the_lesser_counts():
    rng = random.Random(1)
    rows = [[x for x in range(5) for _ in range(rng.randrange(6))] for _ in range(30)]
    hashed = [[ref.mix(x) for x in row] for row in rows]
    found = as_lists(*sort_rows(*as_rows(hashed), True))
    for a, set_a in zip(rows, found, strict=True):
        for b, set_b in zip(rows, found, strict=True):
            assert len(set(set_a) & set(set_b)) == sum(min(a.count(x), b.count(x)) for x in range(5))


@given(seeds)
def test_hash_rows(rng):
    rows = [sorted(row) for row in drawn_rows(rng, 4)]
    assert hash_rows(*as_rows(rows)).tolist() == [ref.hash_row(row) for row in rows]


@given(seeds, thresholds)
def test_overlaps(rng, threshold):
    rows = drawn_sets(rng) + [sorted(row) for row in drawn_rows(rng, 4)]
    left, right = np.divmod(np.arange(len(rows) ** 2), len(rows))
    found = overlaps(*as_rows(rows), left, right, *threshold.as_integer_ratio())
    assert found.tolist() == [ref.similar_overlap(a, b, threshold) for a in rows for b in rows]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_overlaps_on_both_sides_of_the_threshold(threshold):
    """All sizes of small sets and all overlaps of them, so that one element more or less decides."""
    rows, expected = [], []
    for a in range(13):
        for b in range(13):
            for shared in range(min(a, b) + 1):
                rows += [list(range(a)), [*range(shared), *range(100, 100 + b - shared)]]
                expected.append(ref.similar_overlap(*rows[-2:], threshold))
    evens = np.arange(0, len(rows), 2)
    assert overlaps(*as_rows(rows), evens, evens + 1, *threshold.as_integer_ratio()).tolist() == expected


# --- a small index ---


@given(seeds, thresholds)
def test_probe(rng, threshold):
    sets = drawn_sets(rng, rows=rng.randrange(1, 25))
    sample = [one for one in drawn_sets(rng, rows=4) + sets[:3] if one] + [[7]]
    pairs = sorted((x, owner) for owner, one in enumerate(sample) for x in one)
    ordered = np.array([x for x, _ in pairs], np.uint64)
    owners = np.array([owner for _, owner in pairs])
    shift = np.uint64(64 - (2 * len(ordered)).bit_length())
    sizes = np.array([len(one) for one in sample])
    slots = joins.index_elements(ordered, shift)
    ratio = threshold.as_integer_ratio()
    row, owner, shared = joins.probe(*as_rows(sets), slots, shift, ordered, owners, sizes, *ratio)
    both = {(i, j): ref.similar_overlap(a, b, threshold) for i, a in enumerate(sets) for j, b in enumerate(sample)}
    expected = [(*pair, n) for pair, n in both.items() if n >= 0]
    assert sorted(zip(row.tolist(), owner.tolist(), shared.tolist(), strict=True)) == expected


# --- sketches ---


@given(seeds, st.sampled_from([1, 2, 3, 7, 64, 100]), numbers)
def test_sketch(rng, hashes, seed):
    rows = [row[: rng.choice([1, 8, 65, 300])] for row in drawn_rows(rng, 2, repeats=True)]
    found = sketch_rows(*as_rows(rows), np.uint64(seed), hashes)
    assert found.tolist() == [ref.sketch(row, seed, hashes) for row in rows]


@given(seeds, st.integers(1, 9), st.integers(1, 9))
def test_band_keys(rng, bands, rows):
    pool = [*EDGES, *(rng.getrandbits(64) for _ in range(20))]
    signatures = [rng.choices(pool, k=bands * rows + 2) for _ in range(4)]
    found = fold_bands(np.array(signatures, np.uint64), bands, rows)
    assert found.tolist() == [ref.band_keys(signature, bands, rows) for signature in signatures]


@given(seeds, st.sampled_from([1, 8, 65]), st.integers(1, 9))
def test_count_agreements(rng, hashes, items):
    signatures = [[rng.randrange(3) for _ in range(hashes)] for _ in range(items)]
    assert count_agreements(np.array(signatures, np.uint64)).tolist() == ref.count_agreements(signatures)


# --- buckets ---


def drawn_keys(rng, items, bands):
    """Keys of which many are equal, and some are equal but for the lowest bits."""
    few = [*EDGES, *(rng.getrandbits(64) for _ in range(max(2, items // 3)))]
    return [[rng.choice(few) ^ (rng.random() < 0.2) for _ in range(bands)] for _ in range(items)]


@given(seeds, st.sampled_from(SIZES))
def test_members(rng, items):
    keys = [key for (key,) in drawn_keys(rng, items, 1)]
    ordered, mask = sort_keys(np.array(keys, np.uint64))
    found = bucket_kernels.members(ordered, mask)
    assert as_lists(*found) == ref.members(keys, int(mask))


@given(seeds, st.sampled_from([0, 1, 2, 9, 40]), st.sampled_from([1, 2, 5, 10_000]), splits)
def test_new_pairs(rng, items, room, split):
    """Band by band and a few pairs at a time: each pair once, in the first band where it shares a bucket."""
    bands = 4
    keys = drawn_keys(rng, items, bands)
    mask = low_bits(items)
    across = ONE if split is None else split
    array = np.array(keys, np.uint64).reshape(items, bands)
    seen = set()
    for band in range(bands):
        expected_buckets = ref.members([row[band] for row in keys], int(mask))
        indptr, inside = bucket_kernels.members(*sort_keys(np.ascontiguousarray(array[:, band])))
        assert as_lists(indptr, inside) == expected_buckets
        expected = ref.bucket_pairs(expected_buckets, split)
        buckets = Buckets([(indptr, inside)], array, mask, np.arange(len(array)))
        assert buckets.count(0) == len(ref.bucket_pairs(expected_buckets))
        found = []
        state, left, right = np.zeros(3, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        while state[0] < len(indptr) - 1:
            n = bucket_kernels.new_pairs(indptr, inside, array, band, mask, across, state, left, right)
            found += zip(left[:n].tolist(), right[:n].tolist(), strict=True)
        assert sorted(found) == sorted(expected - seen)
        seen |= expected


@given(seeds, st.integers(2, 9), st.integers(0, 5))
def test_all_pairs(rng, items, buckets):
    """`all_pairs` lists a pair once for each bucket that has it; the buckets here are disjoint."""
    shuffled = rng.sample(range(items), items)
    drawn = [sorted(shuffled[i : i + 3]) for i in range(0, items, 3)][:buckets]
    expected = ref.bucket_pairs(drawn)
    left, right = all_pairs(*as_rows(drawn, np.int64), len(expected))
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == sorted(expected)


@given(seeds, st.integers(2, 70), st.integers(0, 6))
def test_buckets_of(rng, items, buckets):
    drawn = drawn_buckets(rng, items, buckets)
    indptr, members = as_rows(drawn, np.int64)
    found = np.empty(len(members), np.int64)
    assert as_lists(bucket_kernels.buckets_of(indptr, members, items, found), found) == ref.buckets_of(drawn, items)


@given(seeds, thresholds, st.sampled_from([1, 2, 100]), st.sampled_from([1, 3, 100]))
def test_stars(rng, threshold, room, patience):
    sets = drawn_sets(rng, rows=12)
    drawn = drawn_buckets(rng, 12, rng.randrange(5))
    order = rng.sample(range(12), 12)
    rooms = np.concatenate(([0], np.cumsum([min(len(bucket), room) for bucket in drawn], dtype=np.int64)))
    state = (rooms, np.empty(rooms[-1], np.int64), np.zeros(len(drawn), np.int64), np.full(12, -1))
    centre, shared = np.arange(12), np.array([len(one) for one in sets])
    indptr, members = as_rows(drawn, np.int64)
    found = np.empty(len(members), np.int64)
    crowded = bucket_kernels.stars(
        np.array(order), bucket_kernels.buckets_of(indptr, members, 12, found), found, *state, patience,
        *as_rows(sets), *threshold.as_integer_ratio(), centre, shared,
    )  # fmt: skip
    expected = ref.stars(order, drawn, room, patience, sets, threshold)
    assert (dict(enumerate(centre.tolist())), dict(enumerate(shared.tolist()))) == expected[:2]
    assert crowded == expected[2]


@given(seeds, st.sampled_from([0, 1, 30, 200]))
def test_join_pairs(rng, n):
    items = max(1, n // 2 + 5)
    left, right = ([rng.randrange(items) for _ in range(n)] for _ in range(2))
    parent = np.arange(items)
    bucket_kernels.join_pairs(np.array(left, np.int64), np.array(right, np.int64), parent)
    assert bucket_kernels.roots(parent).tolist() == ref.components(items, zip(left, right, strict=True))


@given(seeds, thresholds, st.sampled_from([1, 2, 100]), st.sampled_from([1, 3, 1000]))
def test_join_buckets(rng, threshold, reach, patience):
    sets = drawn_sets(rng, rows=10)
    drawn = drawn_buckets(rng, 10, rng.randrange(5))
    parent, cut = np.arange(10), np.zeros(10, np.bool_)
    rules = (reach, patience, np.zeros(10, np.int64), cut, *as_rows(sets), *threshold.as_integer_ratio())
    bucket_kernels.join_buckets(*as_rows(drawn, np.int64), *rules, parent)
    found = bucket_kernels.roots(parent).tolist()
    assert found == ref.join_buckets(drawn, reach, patience, sets, threshold)
    if reach == 100 and patience == 1000:
        pairs = ref.bucket_pairs(drawn) & ref.similar_pairs(sets, threshold).keys()
        assert found == ref.components(10, pairs)
        assert not cut.any()


def test_sample_of_a_band_is_even():
    """Every pair of the band is drawn about equally often, whatever the size of its bucket."""
    drawn = [[0, 1], [2, 3, 4], [5, 6, 7, 8, 9]]
    buckets = Buckets([as_rows(drawn, np.int64)], np.empty((10, 0), np.uint64), np.uint64(0), np.arange(10))
    left, right = buckets.sample(0, 14_000, np.random.default_rng(1))
    pairs, counts = np.unique(np.sort(np.column_stack((left, right))), axis=0, return_counts=True)
    assert {tuple(pair) for pair in pairs.tolist()} == ref.bucket_pairs(drawn)
    assert abs(counts - 1000).max() < 4 * 1000**0.5


# --- format 1 ---


def test_format_1_mix():
    assert [int(mix(np.uint64(x))) for x in (0, 1, ref.ALL)] == MIX


@pytest.mark.parametrize("spec", ["char:9", "word:2", "stop:3", "char:100"])
def test_format_1_shingles(spec):
    """Shingle hashes as files of format 1 have them: a change here needs a new format number."""
    _, hashes = Shingles.parse(spec).hashes(pa.array([GOLDEN_TEXT], pa.large_string()))
    assert (len(hashes), int(hashes[0])) == SHINGLES[spec]


def test_format_1_signature_and_band_key():
    sets = Shingles.parse("word:2").sets([GOLDEN_TEXT])
    signatures = MinHash(hashes=4, seed=1).signatures(sets)
    assert signatures.tolist() == [SIGNATURE]
    assert fold_bands(signatures, 2, 2).tolist() == [BAND_KEYS]


def test_format_1_contents():
    assert text.hash_contents(*bounds([GOLDEN_TEXT])).tolist() == [CONTENT]


def test_format_1_elements_of_sets():
    assert Sets.of([["a"], ["\u00e9clair"], []]).elements.tolist() == STRINGS
    assert Sets.of([[0], [-1], [2**63 - 1]]).elements.tolist() == INTEGERS


# --- where machine code is kept ---


def test_machine_code_has_a_place_where_nothing_else_can_be_written(tmp_path):
    """As for executors of a cluster: neither the package nor a home folder can be written to."""
    package = tmp_path / "site" / "lookalike"
    shutil.copytree(Path(kernels.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "kernels" / "__pycache__").write_text("no folder")
    code = "from lookalike.kernels import when_compiling\nwhen_compiling(lambda: print('compiling'))\n"
    code += "import numpy as np\nfrom lookalike.kernels.hashing import mix\nprint(mix(np.uint64(1)))"
    settings = {"HOME": "/dev/null", "TMPDIR": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    environ = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    command = [sys.executable, "-B", "-c", code]
    first, again = (
        subprocess.run(command, env={**environ, **settings}, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert first == ["compiling", str(mix(np.uint64(1)))]
    assert again == [str(mix(np.uint64(1)))]
    [folder] = tmp_path.glob("lookalike-*")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_machine_code_of_others_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "gettempdir", lambda: str(tmp_path))
    own = kernels._own_folder()
    assert own == kernels._own_folder() == tmp_path / f"lookalike-{os.getuid()}"
    own.chmod(0o777)
    assert kernels._own_folder() != own
    own.rmdir()
    own.symlink_to(tmp_path)
    assert kernels._own_folder() != own


def test_machine_code_that_another_process_drops_at_the_same_time(tmp_path):
    (tmp_path / "kernel.py").touch()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "gone.nbc").symlink_to("nowhere")  # listed, but no longer there
    kernels._drop_stale_machine_code(tmp_path)
    stale = tmp_path / "__pycache__" / "kernel.nbi"
    stale.touch()
    os.utime(stale, (0, 0))
    kernels._drop_stale_machine_code(tmp_path)
    assert not stale.exists()
