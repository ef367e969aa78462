"""The kernels, grids and tables of fingerprints against their plain-Python twins, and the laws that they follow."""

import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.families.draws import uniforms
from lookalike.fingerprints import (
    CornerTables,
    Prints,
    SquareIndex,
    expected_rates,
    grid_sets,
    local_grids,
    made_up_prints,
    two_impressions,
)
from lookalike.fingerprints.corners import FARTHEST, NEAREST, NEIGHBOURS, PARTS, SHIFTED, TURNED, WIDTH
from lookalike.kernels import minutiae as kernels
from tests import reference as ref

SIZES = (0, 1, 2, 3, 7, 8, 20)
seeds = st.integers(0, 2**32).map(random.Random)
draws = st.integers(0, 2**32).map(np.random.default_rng)


def spread(rng, n):
    return [(rng.uniform(0, 200), rng.uniform(0, 250), rng.random()) for _ in range(n)]


def one_place(rng, n):
    x, y, direction = spread(rng, 1)[0]
    return [(x, y, direction if rng.random() < 0.5 else rng.random()) for _ in range(n)]


def in_line(rng, n):
    """On one line, with the same direction."""
    dx, dy = rng.choice([(15, 0), (0, 15), (10, 20), (-15, 15)])
    return [(i * dx, i * dy, 0.25) for i in rng.sample(range(2 * n), n)]


def lattice(rng, n):
    """At the nodes of a square lattice, so that many distances are the same, with few directions."""
    return [(16 * rng.randrange(5), 16 * rng.randrange(5), rng.randrange(4) / 4) for _ in range(n)]


def far_away(rng, n):
    """With great coordinates, which are rounded to 1.5e-8 pixels."""
    away = rng.choice([-1e6, 1e8])
    return [(x + away, away - y, direction) for x, y, direction in spread(rng, n)]


def many_turns(rng, n):
    """With directions beyond a turn, and negative ones."""
    return [(x, y, direction + rng.randint(-5, 5)) for x, y, direction in spread(rng, n)]


def with_copies(rng, n):
    return [*(some := spread(rng, n - n // 2)), *rng.choices(some, k=n // 2)] if n else []


KINDS = (spread, one_place, in_line, lattice, far_away, many_turns, with_copies)


def drawn(rng, sizes=SIZES, kinds=KINDS):
    """The minutiae of a print of any kind."""
    return rng.choice(kinds)(rng, rng.choice(sizes))


def drawn_prints(rng, count):
    """Prints that share minutiae, so that they have corners in common."""
    first = drawn(rng)
    prints = [first]
    for _ in range(count - 1):
        prints.append(drawn(rng) if rng.random() < 0.4 else impression(rng, first))
    return prints


def impression(rng, minutiae):
    """The minutiae shifted, turned and a little off, some of them missing and some new."""
    kept = [one for one in minutiae if rng.random() < 0.9] + spread(rng, rng.randrange(3))
    lies = (rng.uniform(-1, 1), complex(rng.uniform(-50, 50), rng.uniform(-50, 50)))
    off = [(x + rng.gauss(0, 2), y + rng.gauss(0, 2), turn + rng.gauss(0, 0.01)) for x, y, turn in kept]
    return ref.laid(off, lies)


def as_points(minutiae):
    return np.array(minutiae, np.float64).reshape(-1, 3)


def as_kernel_takes(prints):
    """(points, starts) of lists of minutiae."""
    starts = np.concatenate(([0], np.cumsum([len(one) for one in prints], dtype=np.int64)))
    return as_points([minutia for one in prints for minutia in one]), starts


def in_degrees(prints, ids=None):
    """Prints of lists of minutiae with directions in turns."""
    return Prints.of([[(x, y, 360 * turn) for x, y, turn in one] for one in prints], ids)


def differ(one, other):
    """By how much two rows of features differ, angles on a circle and in pixels at 100 pixels' distance."""
    return max(
        abs(a - b) if at % 3 == 0 else 100 * abs(ref.wrapped(a - b))
        for at, (a, b) in enumerate(zip(one, other, strict=True))
    )


def swapped(features):
    return [*features[3:], *features[:3]]


def same_corner(one, other):
    """Whether features are the same but for rounding, which may also swap neighbours with about the same bearing."""
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
    points, starts = as_kernel_takes(prints)
    bounds, features, minutiae = kernels.corners(points, starts, neighbours, NEAREST, FARTHEST)
    assert len(features) == len(minutiae) == bounds[-1]
    for one, start, (first, last) in zip(prints, starts[:-1], pairwise(bounds), strict=True):
        expected = ref.corners(one, neighbours, NEAREST, FARTHEST)
        assert (minutiae[first:last] - start).tolist() == [number for number, _ in expected]
        for got, (_, wanted) in zip(features[first:last].tolist(), expected, strict=True):
            assert same_corner(wanted, got)


def test_nearest_and_farthest_are_within():
    """Neighbours may be just as near and just as far away as that, and no nearer or farther."""
    for distance, corners in [(12, 1), (120, 1), (11.999, 0), (120.001, 0)]:
        points = as_points([(0, 0, 0), (distance, 0, 0), (0, 50, 0)])
        *_, minutiae = kernels.corners(points, np.array([0, 3]), 6, 12.0, 120.0)
        assert (minutiae == 0).sum() == corners


@pytest.mark.parametrize("minutiae", [[], [(0, 0, 0)], [(0, 0, 0), (20, 0, 0)], [(5, 5, 0.1 * i) for i in range(9)]])
def test_too_few_minutiae_have_no_corners(minutiae):
    points, starts = as_kernel_takes([minutiae])
    bounds, features, numbers = kernels.corners(points, starts, 6, 12.0, 120.0)
    assert bounds.tolist() == [0, 0]
    assert features.shape == (0, 6)
    assert len(numbers) == 0
    assert kernels.corner_codes(features, np.zeros((4, 6)), WIDTH, PARTS).shape == (4, 0)


@given(seeds, st.floats(-3, 3), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_no_shift_or_turn_changes_corners(rng, turn, x, y):
    """To 1e-6 pixels: coordinates of 1e5 are rounded to 1.5e-11."""
    minutiae = rng.choice([spread, many_turns])(rng, rng.choice((3, 8, 20, 40)))
    moved = ref.laid(minutiae, (turn, complex(x, y)))
    made = [kernels.corners(*as_kernel_takes([one]), NEIGHBOURS, NEAREST, FARTHEST) for one in (minutiae, moved)]
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
    """The pieces can be told from the code, so that no two buckets are one."""
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
ROW = (50.0, 0.1, -0.3, 77.0, 0.495, -0.5)  # two of the angles right beside the seam of the circle


def shared(one, other):
    """The share of tables where two corners are in one bucket; its standard error is below 0.0036."""
    codes = kernels.corner_codes(np.array([one, other]), OFFSETS, WIDTH, PARTS)
    return (codes[:, 0] == codes[:, 1]).mean()


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.9, 1, 1.7])
@pytest.mark.parametrize("number", range(6))
def test_law_of_one_number(number, part, sign):
    """Corners that differ by d in a number that is cut at width w share a bucket with probability 1 - d/w.

    Within 4 standard errors of so many tables, at most 0.0142; also where the difference goes over the seam.
    """
    width = WIDTH if number % 3 == 0 else 1 / PARTS
    other = list(ROW)
    other[number] += sign * part * width
    if number % 3:
        other[number] = ref.wrapped(other[number])
    law = max(0, 1 - part)
    assert shared(ROW, other) == pytest.approx(law, abs=4 * math.sqrt(law * (1 - law) / TABLES) + 1e-4)


def test_law_of_all_numbers():
    """The product of those of each; within 4 standard errors."""
    parts = (0.1, -0.2, 0.15, -0.05, 0.1, 0.2)
    other = np.array(ROW) + np.array(parts) * ([WIDTH, 1 / PARTS, 1 / PARTS] * 2)
    other = [value if at % 3 == 0 else ref.wrapped(value) for at, value in enumerate(other.tolist())]
    law = math.prod(1 - abs(part) for part in parts)
    assert shared(ROW, other) == pytest.approx(law, abs=4 * math.sqrt(law * (1 - law) / TABLES))


def sorted_keys(corners, tables):
    """Of [(minutia, codes)], table by table: code * 2**32 + number of the corner, in order."""
    keys = [sorted(codes[table] << 32 | at for at, (_, codes) in enumerate(corners)) for table in range(tables)]
    return np.array(keys, np.uint64).reshape(tables, len(corners))


@given(seeds, st.integers(0, 4), st.integers(1, 4))
def test_meetings(rng, prints, tables):
    """Of corners with codes from few, so that buckets are full, and some with the greatest code."""
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


# --- how most say that a print lies ---


def drawn_meetings(rng, points, asking, size):
    """Meetings of minutiae: many of the same number, as of prints of one finger, and others."""
    both = min(len(points), len(asking))
    return [
        (same := rng.randrange(both), same) if rng.random() < 0.6 else (rng.randrange(len(points)), rng.randrange(both))
        for _ in range(size * (both > 0))
    ]


@given(seeds, st.sampled_from([(0.04, 25.3), (0.1, 61.7), (0.34, 5.3), (0.01, 401.9)]))
def test_consensus(rng, within):
    """Votes are those of the twin wherever there are as many as needed, and less than needed elsewhere."""
    slack, reach = within
    asking = drawn(rng, (1, 2, 7, 20))
    prints = [impression(rng, asking) or spread(rng, 2) for _ in range(rng.randrange(4))]
    points, starts = as_kernel_takes(prints)
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
    """Turns of 0.49 and -0.49 are 0.02 apart, and their mean is half a turn."""
    said, place = np.array([[0.49, 10.0, 20.0], [-0.49, 14.0, 20.0], [0.3, 10.0, 20.0]]), np.zeros(3)
    assert kernels.agreed(said, 0.04, 25.0, place) == 2
    assert abs(ref.wrapped(place[0] - 0.5)) < 1e-12
    assert place[1:].tolist() == [12, 20]


def test_agreement_is_less_than_slack_and_reach():
    one = [0.1, 0.0, 0.0]
    for other, count in [([0.1, 15.0, 20.0], 1), ([0.1, 14.9, 20.0], 2), ([0.36, 0, 0], 1), ([0.34, 0, 0], 2)]:
        assert kernels.agreed(np.array([one, other]), 0.25, 25.0, np.zeros(3)) == count


@given(seeds, st.sampled_from([0.0, 0.006, 0.1]))
def test_votes(rng, least):
    """All from corners to votes, against twins that compare every two corners."""
    prints = drawn_prints(rng, rng.randrange(1, 4))
    asking = impression(rng, prints[0]) if rng.random() < 0.8 else drawn(rng)
    enrolled, query = in_degrees(prints), in_degrees([asking])
    tables = CornerTables(enrolled, tables=2)
    votes, places = tables.vote(query, least)
    prints, asking = [one.tolist() for one in np.split(enrolled.points, enrolled.starts[1:-1])], query.points.tolist()
    mine = ref.corners(asking, NEIGHBOURS, NEAREST, FARTHEST)
    asked = [(number, _codes(one, tables)) for number, one in mine]
    asked += [(number, _codes(swapped(one), tables)) for number, one in mine]
    for at, one in enumerate(prints):
        corners = ref.corners(one, NEIGHBOURS, NEAREST, FARTHEST)
        needed = max(1, math.ceil(least * 2 * math.sqrt(len(corners) * len(mine))))
        held = [(number, _codes(features, tables)) for number, features in corners]
        (found,) = ref.meetings(held, asked, [0] * len(one), 1)
        said = [ref.laid_by(one[there], asking[here], ref.centre_of(asking)) for there, here in found]
        best, turn, where = ref.agreed(said, TURNED, SHIFTED) if said else (0, 0, 0)
        assert votes[at] == (best if best >= needed else 0)
        if votes[at]:
            assert ref.wrapped(places[at, 0] - turn) == pytest.approx(0, abs=1e-9)
            assert complex(places[at, 1], places[at, 2]) == pytest.approx(where, rel=1e-9, abs=1e-6)


def _codes(features, tables):
    return [ref.corner_code(features, offsets, WIDTH, PARTS) for offsets in tables.offsets]


# --- minutiae that meet ---


def two_prints(rng, kinds=KINDS):
    """A print, another that is of the same finger or of any, and about how the second lies on the first."""
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
    """As close as by the twin, and no place or turn beside it brings the partners closer together.

    Where the partners of one side are all at one place, any turn does.
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
    """On another print, on itself and on none; where all are at one place there is no turn to improve."""
    other, asking, lies = two_prints(rng, [kind for kind in KINDS if kind is not one_place or not rounds])
    points, starts = as_kernel_takes([other, asking, []])
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


# --- grids ---


def as_degrees(draw, size):
    return draw.uniform((-50, -80, -720), (250, 300, 720), (size, 3))


@given(draws, st.sampled_from([(20.0, 5.0, 16, 20), (40.0, 0.0, 3, 2), (15.0, 7.0, 5, 9), (500.0, 100.0, 1, 1)]))
def test_grid_sets(draw, options):
    square, margin, columns, rows = options
    prints = Prints.of([as_degrees(draw, size) for size in draw.choice((0, 1, 2, 5, 30), 3)])
    grids = grid_sets(prints, square=square, margin=margin, columns=columns, rows=rows)
    assert grids.shape == (3, columns * rows)
    for number in range(3):
        cells = {(int(cell) // rows, int(cell) % rows) for cell in np.flatnonzero(grids[number])}
        assert cells == ref.grid_cells(prints[number].tolist(), square, margin, columns, rows)


@given(draws, st.sampled_from([(20.0, 4.0, 100.0, 4), (30.0, 0.0, 70.0, 1), (25.0, 12.0, 90.0, 7)]))
def test_local_grids(draw, options):
    square, margin, radius, directions = options
    prints = Prints.of([as_degrees(draw, size) for size in draw.choice((0, 1, 2, 9), 3)])
    grids = local_grids(prints, square=square, margin=margin, radius=radius, directions=directions)
    side = 2 * math.ceil(radius / square)
    assert grids.shape == (len(prints.minutiae), side * side * directions)
    expected = [
        ref.local_cells(one.tolist(), number, square, margin, radius, directions)
        for one in prints
        for number in range(len(one))
    ]
    found = [set(zip(*np.nonzero(grid.reshape(side, side, directions)), strict=True)) for grid in grids]
    assert found == expected


def upright(places):
    """A print of these places that a grid leaves as they are: upright, and centred by a copy turned half around."""
    places = np.array(places, float)
    both = np.vstack([places, -places])
    return Prints.of([np.column_stack([both, np.full(len(both), 90.0)])])


@pytest.mark.parametrize(
    ("place", "cells"),
    [
        ((10, 10), {(2, 2)}),  # right in the middle of a square
        ((16, 10), {(2, 2), (3, 2)}),  # within the margin of the next
        ((16, 16), {(2, 2), (2, 3), (3, 2), (3, 3)}),
        ((14, 14), {(2, 2)}),
        ((24, 10), {(2, 2), (3, 2)}),
        ((38, 38), {(3, 3)}),  # the margin goes beyond the grid
        ((43, 10), {(3, 2)}),  # beyond the grid, but within the margin
        ((46, 10), set()),
        ((10, 1000), set()),
    ],
)
def test_margin_and_border_of_a_grid(place, cells):
    """Four by four squares of 20 pixels, the middle of the print at the node in the middle; margins are 5 pixels."""
    found = grid_sets(upright([place]), columns=4, rows=4)[0].reshape(4, 4)
    opposite = {(3 - column, 3 - row) for column, row in cells}
    assert set(zip(*np.nonzero(found), strict=True)) == cells | opposite


def test_a_wide_margin_marks_the_square_itself():
    """A margin of 12 pixels to each side of a place in the middle of a square of 20 reaches three squares a side."""
    found = grid_sets(upright([(70, 70)]), columns=10, rows=10, margin=12.0)[0].reshape(10, 10)
    assert found[7:10, 7:10].all()
    assert found.sum() == 18


def test_grids_of_great_coordinates():
    """What lies beyond the grid is left out, however far away it is."""
    assert not grid_sets(Prints.of([[(1e30, 0, 90), (-1e30, 0, 90)]])).any()


@given(seeds, st.floats(-1 / 6, 1 / 6), st.floats(-1e4, 1e4))
@settings(max_examples=40)
def test_grids_of_turned_and_shifted_prints(rng, turn, shift):
    """Local grids are the same, and grids over the whole print where it is not turned upside down.

    Both are compared where no minutia is within 2e-5 pixels of where a square begins.
    """
    minutiae = [(x, y, rng.gauss(0.25, 0.03)) for x, y, _ in spread(rng, 20)]
    one, other = in_degrees([minutiae]), in_degrees([ref.laid(minutiae, (turn, complex(shift, -shift / 3)))])
    for grids, margin in ((grid_sets, 5.0), (local_grids, 4.0)):
        about = [grids(one, margin=margin + beside) for beside in (0, -2e-5, 2e-5)]
        steady = (about[0] == about[1]).all() and (about[0] == about[2]).all()
        assert not steady or (about[0] == grids(other)).all()


def test_counts_may_be_floats_that_are_whole():
    """As everywhere else, 4.0 is 4."""
    prints = Prints.of([[(1, 2, 3)]])
    assert grid_sets(prints, columns=4.0, rows=4.0).shape == (1, 16)
    assert local_grids(prints, directions=2.0).shape == (1, 200)
    grids = np.ones((2, 9), bool)
    assert SquareIndex(grids, functions=8.0, groups=2.0).look_up(grids[0]).tolist() == [0, 1]


GRIDS = np.ones((2, 9), bool)
WRONG = {
    "square": lambda: grid_sets(Prints.of([]), square=0),
    "columns": lambda: grid_sets(Prints.of([]), columns=0),
    "radius": lambda: local_grids(Prints.of([]), radius=-1),
    "directions": lambda: local_grids(Prints.of([]), directions=0),
    "tables": lambda: CornerTables(Prints.of([]), tables=0),
    "squares": lambda: SquareIndex(GRIDS, squares=10),
    "groups": lambda: SquareIndex(GRIDS, groups=0),
    "seed": lambda: SquareIndex(GRIDS, seed=-1),
    "cells asked": lambda: SquareIndex(GRIDS).look_up(np.ones(8, bool)),
    "functions": lambda: expected_rates(functions=0),
    "repeat": lambda: expected_rates(repeat=1.1),
    "density": lambda: expected_rates(density=0),
    "density and repeat": lambda: two_impressions(5, density=0.9, repeat=0.5),
    "prints": lambda: two_impressions(-1),
    "cells": lambda: two_impressions(5, cells=0),
    "fingers": lambda: made_up_prints(-1),
    "impressions": lambda: made_up_prints(1, 0),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters(name):
    with pytest.raises(LookalikeError) as error:
        WRONG[name]()
    assert "\n" not in str(error.value)


# --- squares ---


@given(draws, st.integers(1, 3), st.integers(1, 3), st.sampled_from([0, 1, 7, 8, 9, 30]))
def test_look_up(draw, squares, groups, size):
    grids = draw.random((size, 12)) < draw.choice((0.2, 0.5, 0.9))
    index = SquareIndex(grids, squares=squares, functions=6, groups=groups, seed=int(draw.integers(99)))
    asking = draw.random(12) < 0.6
    held = [set(np.flatnonzero(grid).tolist()) for grid in grids]
    functions = index.chosen.tolist()
    assert np.shape(functions) == (groups, 6, squares)
    found = index.look_up(asking).tolist()
    assert found == sorted(ref.look_up(held, functions, set(np.flatnonzero(asking).tolist())))


def test_look_up_of_extremes():
    grids = np.array([np.zeros(20), np.ones(20)], bool)
    index = SquareIndex(grids, functions=5, groups=2)
    assert index.look_up(grids[0]).tolist() == []
    assert index.look_up(grids[1]).tolist() == [1]


def test_expected_rates():
    """Example 3.22: 0.985 and 0.063, then 0.970 and 0.004."""
    assert expected_rates() == pytest.approx((0.985, 0.063), abs=0.0005)
    assert expected_rates(groups=2) == pytest.approx((0.970, 0.004), abs=0.0005)
    assert expected_rates(functions=1) == pytest.approx((0.004096, 0.000064))
    one = [1 - (1 - p) ** 100 for p in (0.16**2, 0.04**2)]
    assert expected_rates(2, 100, 3) == pytest.approx([p**3 for p in one])
    assert expected_rates(1, 1, density=0.5, repeat=1) == pytest.approx((0.5, 0.25))


@pytest.mark.parametrize(("density", "repeat"), [(0.2, 0.8), (0.5, 0.5), (0.9, 0.95), (0.2, 1), (1, 1), (0.05, 0.01)])
def test_two_impressions(density, repeat):
    """The densities of both and the share of the first in the second, within 4 standard errors of so many cells."""
    one, two = two_impressions(300, cells=500, density=density, repeat=repeat, seed=5)
    assert one.shape == two.shape == (300, 500)

    def error(share, of):
        return 4 * math.sqrt(share * (1 - share) / of) + 1e-12

    assert one.mean() == pytest.approx(density, abs=error(density, one.size))
    assert two.mean() == pytest.approx(density, abs=error(density, one.size))
    assert two[one].mean() == pytest.approx(repeat, abs=error(repeat, one.sum()))
    again = two_impressions(300, cells=500, density=density, repeat=repeat, seed=5)
    assert (again[0] == one).all()
    assert (again[1] == two).all()


def bounds_of_rates(functions, share):
    """Between what the share of pairs lies that share a bucket, if both have a minutia in a square so often.

    Functions may have squares in common. That is why more pairs share none of their buckets than if these were
    independent (Harris), but no more than exp(-m + d), where m is the mean number of buckets shared and d the sum of
    the chances to share two that have squares in common (Janson).
    """
    held = np.zeros((len(functions), 1 + functions.max()))
    np.put_along_axis(held, functions, 1, axis=1)
    common = np.triu(held @ held.T, 1)[np.triu_indices(len(functions), 1)].astype(int)
    size = functions.shape[1]
    both = sum(count * share ** (2 * size - squares) for squares, count in Counter(common.tolist()).items() if squares)
    mean = len(functions) * share**size
    return 1 - math.exp(-mean + both), 1 - (1 - share**size) ** len(functions)


def test_rates_of_a_simulation():
    """Of 5,000 fingers: measured 0.980 found and 0.065 of the others looked at, where 0.985 and 0.063 are expected.

    All prints share the functions, so that the mean itself depends on them: it lies between the bounds above, 0.975
    and 0.985, 0.0629 and 0.0634. Around that the pairs of one finger are independent; of the other pairs those of one
    query are not, nor those of one enrolled print, so that the errors of both means count. All within 4 of them.
    """
    fingers = 5000
    one, two = two_impressions(fingers)
    index = SquareIndex(one, seed=2)
    looks = np.zeros((fingers, fingers), np.bool_)
    for number in range(fingers):
        looks[number, index.look_up(two[number])] = True
    own = looks.diagonal().copy()
    np.fill_diagonal(looks, False)
    low, high = bounds_of_rates(index.chosen[0], 0.2 * 0.8)
    error = 4 * math.sqrt(low * (1 - low) / fingers)
    assert low - error < own.mean() < high + error
    assert high == pytest.approx(expected_rates()[0])
    low, high = bounds_of_rates(index.chosen[0], 0.2 * 0.2)
    errors = [looks.mean(axis=axis).std() / math.sqrt(fingers) for axis in (0, 1)]
    assert low - 4 * math.hypot(*errors) < looks.mean() < high + 4 * math.hypot(*errors)
    assert high == pytest.approx(expected_rates()[1])
    assert max(errors) < 0.0004


def test_rates_of_two_groups():
    """The groups share squares, too: found as often as by each if independent, looked at more often (Harris).

    No more than the sum over all pairs of a function of each group, 0.0053 where 0.0040 is expected.
    """
    fingers = 2500
    one, two = two_impressions(fingers, seed=3)
    index = SquareIndex(one, groups=2, seed=4)
    looks = np.zeros((fingers, fingers), np.bool_)
    for number in range(fingers):
        looks[number, index.look_up(two[number])] = True
    own = looks.diagonal().copy()
    np.fill_diagonal(looks, False)
    same, other = ([bounds_of_rates(group, share) for group in index.chosen] for share in (0.16, 0.04))
    low, high = math.prod(each[0] for each in same), min(each[1] for each in same)
    assert low - 4 * math.sqrt(low * (1 - low) / fingers) < own.mean() < high
    held = np.zeros((2, 1024, 1000))
    for group, functions in zip(held, index.chosen, strict=True):
        np.put_along_axis(group, functions, 1, axis=1)
    common = Counter((held[0] @ held[1].T).astype(int).ravel().tolist())
    low, high = math.prod(each[0] for each in other), sum(n * 0.04 ** (6 - squares) for squares, n in common.items())
    error = 4 * math.hypot(*(looks.mean(axis=axis).std() / math.sqrt(fingers) for axis in (0, 1)))
    assert low - error < looks.mean() < high + error
    assert (low, high) == pytest.approx((expected_rates(groups=2)[1], 0.0053), abs=0.0002)


@pytest.mark.parametrize("seed", [1, 2])
def test_made_up_grids_do_not_depend_on_the_functions(seed):
    """Print n is in bucket n no more often than in others: a share 0.2**3 of 1,000, 0.008, within 4 standard errors."""
    one, _ = two_impressions(1000, seed=seed)
    index = SquareIndex(one, seed=seed)
    inside = one[np.arange(1000)[:, None], index.chosen[0][:1000]].all(axis=1)
    assert inside.mean() == pytest.approx(0.008, abs=4 * math.sqrt(0.008 / 1000))
