"""Check the kernels of fingerprints against plain twins, and their collision probabilities."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.families.draws import uniforms
from lookalike.fingerprints.corners import FARTHEST, NEAREST, NEIGHBOURS, PARTS, WIDTH
from lookalike.kernels import minutiae as kernels
from tests import reference as ref
from tests.print_samples import KINDS, drawn, impression, many_turns, one_place, spread, swapped

seeds = st.integers(0, 2**32).map(random.Random)


def as_points(minutiae):
    return np.array(minutiae, np.float64).reshape(-1, 3)


def as_arrays(prints):
    """Return lists of minutiae as arrays (points, starts)."""
    starts = np.concatenate(([0], np.cumsum([len(one) for one in prints], dtype=np.int64)))
    return as_points([minutia for one in prints for minutia in one]), starts


def differ(one, other):
    """Return the greatest difference of two rows of features; a full turn counts as 100."""
    return max(
        abs(a - b) if at % 3 == 0 else 100 * abs(ref.wrapped(a - b))
        for at, (a, b) in enumerate(zip(one, other, strict=True))
    )


def same_corner(one, other):
    """Return whether features agree up to rounding, which can swap neighbours of equal bearing."""
    first, second = one[1], one[4]
    close = abs(ref.wrapped(first - second)) < 1e-9 or abs(abs(first - second) - 1) < 1e-9
    at_seam = min(abs(abs(first) - 0.5), abs(abs(second) - 0.5)) < 1e-9
    return differ(one, other) < 1e-6 or ((close or at_seam) and differ(one, swapped(other)) < 1e-6)


# --- corners ---


@given(st.floats(-1e6, 1e6))
def test_wrapped(turn):
    found = kernels.wrapped(turn)
    assert found == ref.wrapped(turn)
    assert -0.5 <= found <= 0.5
    assert (turn - found) == pytest.approx(round(turn - found), abs=1e-9)


@given(seeds, st.integers(0, 4), st.integers(1, 7))
def test_corners(rng, count, neighbours):
    prints = [drawn(rng) for _ in range(count)]
    points, starts = as_arrays(prints)
    bounds, features, minutiae = kernels.corners(points, starts, neighbours, NEAREST, FARTHEST)
    assert len(features) == len(minutiae) == bounds[-1]
    for one, start, (first, last) in zip(prints, starts[:-1], pairwise(bounds), strict=True):
        expected = ref.corners(one, neighbours, NEAREST, FARTHEST)
        assert (minutiae[first:last] - start).tolist() == [number for number, _ in expected]
        for got, (_, wanted) in zip(features[first:last].tolist(), expected, strict=True):
            assert same_corner(wanted, got)


def test_nearest_and_farthest_are_inclusive():
    """Neighbours can be exactly that near or far, and no nearer or farther."""
    for distance, corners in [(12, 1), (120, 1), (11.999, 0), (120.001, 0)]:
        points = as_points([(0, 0, 0), (distance, 0, 0), (0, 50, 0)])
        *_, minutiae = kernels.corners(points, np.array([0, 3]), 6, 12.0, 120.0)
        assert (minutiae == 0).sum() == corners


@pytest.mark.parametrize("minutiae", [[], [(0, 0, 0)], [(0, 0, 0), (20, 0, 0)], [(5, 5, 0.1 * i) for i in range(9)]])
def test_too_few_minutiae_have_no_corners(minutiae):
    points, starts = as_arrays([minutiae])
    bounds, features, numbers = kernels.corners(points, starts, 6, 12.0, 120.0)
    assert bounds.tolist() == [0, 0]
    assert features.shape == (0, 6)
    assert len(numbers) == 0
    assert kernels.corner_codes(features, np.zeros((4, 6)), WIDTH, PARTS).shape == (4, 0)


@given(seeds, st.floats(-3, 3), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_no_shift_or_turn_changes_corners(rng, turn, x, y):
    """Up to 1e-6 pixels, as coordinates of 1e5 are rounded to 1.5e-11."""
    minutiae = rng.choice([spread, many_turns])(rng, rng.choice((3, 8, 20, 40)))
    moved = ref.laid(minutiae, (turn, complex(x, y)))
    made = [kernels.corners(*as_arrays([one]), NEIGHBOURS, NEAREST, FARTHEST) for one in (minutiae, moved)]
    (_, features, numbers), (_, others, their_numbers) = made
    assert numbers.tolist() == their_numbers.tolist()
    assert all(map(same_corner, features.tolist(), others.tolist()))


# --- buckets ---

features = st.tuples(*[st.floats(0, 150), st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)] * 2)


@given(st.lists(features, max_size=8), st.integers(0, 2**32), st.integers(1, 5))
def test_corner_codes(rows, seed, tables):
    offsets = uniforms(seed, tables, 6)
    codes = kernels.corner_codes(np.array(rows).reshape(-1, 6), offsets, WIDTH, PARTS)
    assert codes.tolist() == [[ref.corner_code(row, offset, WIDTH, PARTS) for row in rows] for offset in offsets]


@given(st.lists(st.integers(0, 63), min_size=2, max_size=2), st.lists(st.integers(0, 13), min_size=4, max_size=4))
def test_corners_of_different_pieces_have_different_codes(distances, angles):
    """The pieces can be recovered from the code, so different buckets have different codes."""
    row = [0.0] * 6
    row[0], row[3] = ((distance + 0.5) * WIDTH for distance in distances)
    row[1], row[2], row[4], row[5] = ((angle + 0.5) / PARTS - 0.5 for angle in angles)
    code = int(kernels.corner_codes(np.array([row]), np.zeros((1, 6)), WIDTH, PARTS)[0, 0])
    code = code * pow(kernels.SPREAD, -1, 2**32) % 2**32
    pieces = []
    for base in (PARTS, PARTS, 64, PARTS, PARTS, 64):
        code, piece = divmod(code, base)
        pieces.append(piece)
    assert code == 0
    assert pieces[::-1] == [distances[0], *angles[:2], distances[1], *angles[2:]]


TABLES = 20_000
OFFSETS = uniforms(7, TABLES, 6)
ROW = (50.0, 0.1, -0.3, 77.0, 0.495, -0.5)  # two of the angles are right next to the seam of the circle


def shared(one, other):
    """Return the share of tables in which two corners share a bucket (standard error < 0.0036)."""
    codes = kernels.corner_codes(np.array([one, other]), OFFSETS, WIDTH, PARTS)
    return (codes[:, 0] == codes[:, 1]).mean()


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.9, 1, 1.7])
@pytest.mark.parametrize("number", range(6))
def test_collision_rate_for_one_feature(number, part, sign):
    """Corners that differ by d in a feature of width w share a bucket with probability 1 - d/w.

    Within four standard errors, at most 0.0142, even where the difference crosses the seam.
    """
    width = WIDTH if number % 3 == 0 else 1 / PARTS
    other = list(ROW)
    other[number] += sign * part * width
    if number % 3:
        other[number] = ref.wrapped(other[number])
    law = max(0, 1 - part)
    assert shared(ROW, other) == pytest.approx(law, abs=4 * math.sqrt(law * (1 - law) / TABLES) + 1e-4)


def test_collision_rate_for_all_features():
    """It is the product of the rates for each, within four standard errors."""
    parts = (0.1, -0.2, 0.15, -0.05, 0.1, 0.2)
    other = np.array(ROW) + np.array(parts) * ([WIDTH, 1 / PARTS, 1 / PARTS] * 2)
    other = [value if at % 3 == 0 else ref.wrapped(value) for at, value in enumerate(other.tolist())]
    law = math.prod(1 - abs(part) for part in parts)
    assert shared(ROW, other) == pytest.approx(law, abs=4 * math.sqrt(law * (1 - law) / TABLES))


def sorted_keys(corners, tables):
    """Return code * 2**32 + number for each corner (minutia, codes), sorted, table by table."""
    keys = [sorted(codes[table] << 32 | at for at, (_, codes) in enumerate(corners)) for table in range(tables)]
    return np.array(keys, np.uint64).reshape(tables, len(corners))


@given(seeds, st.integers(0, 4), st.integers(1, 4))
def test_meetings(rng, prints, tables):
    """For corners with few different codes, so that buckets are full, among them the greatest."""
    owners = sorted(rng.choices(range(prints), k=20)) if prints else []
    some = (0, 1, 2, 3, 2**31 - 1)
    held = [(minutia, rng.choices(some, k=tables)) for minutia in range(len(owners)) for _ in range(rng.randrange(3))]
    asked = [(rng.randrange(99), rng.choices((*some, 4), k=tables)) for _ in range(rng.choice((0, 1, 9)))]
    keys, asking = sorted_keys(held, tables), sorted_keys(asked, tables)
    first, last = (
        np.array([np.searchsorted(*each, side) for each in zip(keys >> 32, asking >> 32, strict=True)])
        for side in ("left", "right")
    )
    minutiae, numbers = (np.array([one[0] for one in side], np.int32) for side in (held, asked))
    who = numbers[(asking & 0xFFFFFFFF).astype(np.int64)].astype(np.int64)
    starts, theirs, ours = kernels.meetings(keys, first, last, who, np.array(owners, np.int32), minutiae, prints)
    found = [list(zip(theirs[i:j].tolist(), ours[i:j].tolist(), strict=True)) for i, j in pairwise(starts)]
    assert found == ref.meetings(held, asked, owners, prints)


# --- consensus about the alignment ---


def drawn_meetings(rng, points, asking, size):
    """Return random meetings: many between equal numbers, as for one finger, and others."""
    both = min(len(points), len(asking))
    return [
        (same := rng.randrange(both), same) if rng.random() < 0.6 else (rng.randrange(len(points)), rng.randrange(both))
        for _ in range(size * (both > 0))
    ]


@given(seeds, st.sampled_from([(0.04, 25.3), (0.1, 61.7), (0.34, 5.3), (0.01, 401.9)]))
def test_consensus(rng, within):
    """Votes equal those of the twin if they are enough, and are not enough otherwise."""
    slack, reach = within
    asking = drawn(rng, (1, 2, 7, 20))
    prints = [impression(rng, asking) or spread(rng, 2) for _ in range(rng.randrange(4))]
    points, starts = as_arrays(prints)
    found = [drawn_meetings(rng, one, asking, rng.choice((0, 1, 10, 63, 64, 65, 150))) for one in prints]
    bounds = np.concatenate(([0], np.cumsum([len(one) for one in found], dtype=np.int64)))
    first = zip(starts[:-1].tolist(), found, strict=True)
    theirs = np.array([start + there for start, one in first for there, _ in one], np.int64)
    ours = np.array([here for one in found for _, here in one], np.int64)
    needed = np.array([float(rng.choice((1, 2, 10, 40))) for _ in prints])
    votes, places = kernels.consensus(points, as_points(asking), bounds, theirs, ours, needed, slack, reach)
    centre = ref.centre_of(asking)
    for one, meetings, vote, place, least in zip(prints, found, votes, places, needed, strict=True):
        said = [ref.laid_by(one[there], asking[here], centre) for there, here in meetings]
        best, turn, where = ref.agreed(said, slack, reach) if said else (0, 0, 0)
        if best < least:
            assert vote < least
            continue
        assert vote == best
        assert ref.wrapped(place[0] - turn) == pytest.approx(0, abs=1e-9)
        assert complex(place[1], place[2]) == pytest.approx(where, rel=1e-9, abs=1e-6)


def test_agreement_goes_around_the_circle():
    """Turns of 0.49 and -0.49 differ by 0.02, and their mean is half a turn."""
    said, place = np.array([[0.49, 10.0, 20.0], [-0.49, 14.0, 20.0], [0.3, 10.0, 20.0]]), np.zeros(3)
    assert kernels.agreed(said, 0.04, 25.0, place) == 2
    assert abs(ref.wrapped(place[0] - 0.5)) < 1e-12
    assert place[1:].tolist() == [12, 20]


def test_agreement_excludes_slack_and_reach_themselves():
    one = [0.1, 0.0, 0.0]
    for other, count in [([0.1, 15.0, 20.0], 1), ([0.1, 14.9, 20.0], 2), ([0.36, 0, 0], 1), ([0.34, 0, 0], 2)]:
        assert kernels.agreed(np.array([one, other]), 0.25, 25.0, np.zeros(3)) == count


# --- minutiae that meet ---


def two_prints(rng, kinds=KINDS):
    """Return a print, another of the same or any finger, and about how the second aligns."""
    asking = drawn(rng, kinds=kinds)
    lies = (rng.uniform(-1, 1), complex(rng.uniform(-50, 50), rng.uniform(-50, 50)))
    if not asking or rng.random() < 0.3:
        return drawn(rng, kinds=kinds), asking, lies
    off = [(x + rng.gauss(0, 3), y + rng.gauss(0, 3), turn + rng.gauss(0, 0.01)) for x, y, turn in asking]
    points = [one for one in ref.laid(off, lies) if rng.random() < 0.9] + spread(rng, rng.randrange(3))
    rng.shuffle(points)
    return points, asking, (lies[0] + rng.gauss(0, 0.01), lies[1] + rng.gauss(0, 3))


@given(seeds)
def test_laid(rng):
    _, asking, lies = two_prints(rng)
    out = np.empty((len(asking), 3))
    kernels.laid(as_points(asking), np.array([lies[0], lies[1].real, lies[1].imag]), out)
    assert out == pytest.approx(as_points(ref.laid(asking, lies)), abs=1e-5)
    if asking:
        assert out[:, :2].mean(axis=0) == pytest.approx([lies[1].real, lies[1].imag], abs=1e-5)


@given(seeds, st.sampled_from([(15.0, 0.065), (40.0, 0.5), (17.0, 0.6)]))
def test_partners(rng, within):
    reach, slack = within
    points, moved = drawn(rng), drawn(rng)
    if rng.random() < 0.5:
        moved = [(x + rng.gauss(0, 5), y + rng.gauss(0, 5), turn) for x, y, turn in points]
        rng.shuffle(moved)
    out = np.full(len(moved), 99)
    count = kernels.partners(as_points(points), as_points(moved), reach, slack, out)
    assert out.tolist() == ref.partners(points, moved, reach, slack)
    met = out[out >= 0].tolist()
    assert count == len(met) == len(set(met))


@given(seeds)
def test_refit(rng):
    """The fit is as good as the twin's, and no place or turn near it is better.

    If the partners of one side are all in one place, any turn is as good.
    """
    points, asking, _ = two_prints(rng)
    met = [rng.choice((-1, number)) for number in rng.sample(range(len(points)), min(len(points), len(asking)))]
    met += [-1] * (len(asking) - len(met))
    count = sum(point >= 0 for point in met)
    if count < 3:
        return
    place = np.zeros(3)
    kernels.refit(as_points(points), as_points(asking), np.array(met), count, place)
    turn, where = ref.refit(points, asking, met)

    def apart(turn, where):
        moved = ref.laid(asking, (turn, where))
        return sum(ref.apart(points[point], one) for point, one in zip(met, moved, strict=True) if point >= 0)

    least = apart(place[0], complex(place[1], place[2]))
    assert least == pytest.approx(apart(turn, where), rel=1e-6, abs=1e-3)
    for beside in ((0.01, 0), (-0.01, 0), (0, 1), (0, -1), (0, 1j), (0, -1j), (0.5, 0)):
        assert least <= apart(turn + beside[0], where + beside[1]) * (1 + 1e-6) + 1e-3


def test_refit_finds_the_move():
    rng = random.Random(4)
    asking = spread(rng, 12)
    points = ref.laid(asking, (0.3, 70 - 20j))
    place = np.zeros(3)
    kernels.refit(as_points(points), as_points(asking), np.arange(12), 12, place)
    assert place == pytest.approx([0.3, 70, -20], abs=1e-9)


@given(seeds, st.sampled_from([1.0, 15.0, 60.0, 1e9]))
def test_within(rng, reach):
    points, others = drawn(rng), drawn(rng)
    assert kernels.within(as_points(points), as_points(others), reach) == ref.near_any(points, others, reach)


@given(seeds, st.integers(0, 3))
def test_lay_upon(rng, rounds):
    """On another print, itself and an empty one; minutiae all in one place have no best turn."""
    other, asking, lies = two_prints(rng, [kind for kind in KINDS if kind is not one_place or not rounds])
    points, starts = as_arrays([other, asking, []])
    places = np.array([[lies[0], lies[1].real, lies[1].imag]] * 3)
    counts = kernels.lay_upon_each(points, starts, np.arange(3), as_points(asking), places, 15.0, 0.065, rounds)
    for row, there in enumerate((other, asking, [])):
        met, theirs, ours, (turn, where) = ref.lay_upon(there, asking, lies, 15.0, 0.065, rounds)
        assert counts[row].tolist() == [sum(point >= 0 for point in met), theirs, ours]
        assert ref.wrapped(places[row, 0] - turn) == pytest.approx(0, abs=1e-6)
        assert complex(places[row, 1], places[row, 2]) == pytest.approx(where, rel=1e-9, abs=1e-3)


def test_a_print_meets_itself():
    rng = random.Random(2)
    minutiae = spread(rng, 30)
    lies = (0.2, 40 + 9j)
    points = as_points(ref.laid(minutiae, lies))
    place, met = np.array([0.21, 44.0, 5.0]), np.empty(30, np.int64)
    assert kernels.lay_upon(points, as_points(minutiae), place, 15.0, 0.065, 3, met) == (30, 30, 30)
    assert met.tolist() == list(range(30))
    assert place == pytest.approx([0.2, 40, 9], abs=1e-9)
