"""Draw minutiae, whole fingers and impressions of them."""

import math
import struct

import numpy as np

from lookalike.fingerprints import Prints
from tests import reference as ref

SIZES = (0, 1, 2, 3, 7, 8, 20)


def spread(rng, n):
    return [(rng.uniform(0, 200), rng.uniform(0, 250), rng.random()) for _ in range(n)]


def one_place(rng, n):
    x, y, direction = spread(rng, 1)[0]
    return [(x, y, direction if rng.random() < 0.5 else rng.random()) for _ in range(n)]


def in_line(rng, n):
    """Draw minutiae on one line, with the same direction."""
    dx, dy = rng.choice([(15, 0), (0, 15), (10, 20), (-15, 15)])
    return [(i * dx, i * dy, 0.25) for i in rng.sample(range(2 * n), n)]


def lattice(rng, n):
    """Draw minutiae on a square lattice, with many equal distances and few directions."""
    return [(16 * rng.randrange(5), 16 * rng.randrange(5), rng.randrange(4) / 4) for _ in range(n)]


def far_away(rng, n):
    """Draw minutiae with large coordinates, which are rounded to 1.5e-8 pixels."""
    away = rng.choice([-1e6, 1e8])
    return [(x + away, away - y, direction) for x, y, direction in spread(rng, n)]


def many_turns(rng, n):
    """Draw minutiae with directions beyond a turn, and negative ones."""
    return [(x, y, direction + rng.randint(-5, 5)) for x, y, direction in spread(rng, n)]


def with_copies(rng, n):
    return [*(some := spread(rng, n - n // 2)), *rng.choices(some, k=n // 2)] if n else []


KINDS = (spread, one_place, in_line, lattice, far_away, many_turns, with_copies)


def drawn(rng, sizes=SIZES, kinds=KINDS):
    """Draw the minutiae of a print of any kind."""
    return rng.choice(kinds)(rng, rng.choice(sizes))


def impression(rng, minutiae):
    """Return the minutiae shifted, turned and a little off, some missing and some new."""
    kept = [one for one in minutiae if rng.random() < 0.9] + spread(rng, rng.randrange(3))
    lies = (rng.uniform(-1, 1), complex(rng.uniform(-50, 50), rng.uniform(-50, 50)))
    off = [(x + rng.gauss(0, 2), y + rng.gauss(0, 2), turn + rng.gauss(0, 0.01)) for x, y, turn in kept]
    return ref.laid(off, lies)


def in_degrees(prints, ids=None):
    """Return prints of lists of minutiae with directions in turns."""
    return Prints.of([[(x, y, 360 * turn) for x, y, turn in one] for one in prints], ids)


def swapped(features):
    return [*features[3:], *features[:3]]


def moved(minutiae, turn, shift):
    """Return minutiae turned about the origin by `turn` degrees, and shifted."""
    turned = np.array([[math.cos(a), math.sin(a)] for a in np.radians((turn, turn + 90))])
    return np.column_stack([minutiae[:, :2] @ turned + shift, minutiae[:, 2] + turn])


def finger(draw, size=None, apart=10.0):
    """Draw minutiae at least `apart` from each other, whose directions bend around a core."""
    size = int(draw.integers(30, 60)) if size is None else size
    places = np.zeros((0, 2))
    while len(places) < size:
        place = draw.uniform((0, 0), (300, 400))
        if (np.hypot(*(places - place).T) >= apart).all():
            places = np.vstack([places, place])
    x, y = (places - draw.uniform((100, 150), (200, 300))).T
    along = 90 + np.degrees(np.arctan2(y, x)) * draw.uniform(0.3, 1)
    return np.column_stack([places, along + draw.choice((0, 180), size) + draw.normal(0, 8, size)])


def iso_record(views, resolution=(197, 197), extended=b"", version=b" 20\0", magic=b"FMR\0", length=None):
    """Return an ISO 19794-2:2005 record; a view is a list of (x, y, angle in 256ths of a turn)."""
    body = b""
    for number, view in enumerate(views):
        body += bytes([1, number << 4, 80, len(view)])
        for at, (x, y, angle) in enumerate(view):
            body += struct.pack(">HHBB", at % 3 << 14 | x, 0xC000 | y, angle, at % 101)
        body += struct.pack(">H", len(extended)) + extended
    said = 24 + len(body) if length is None else length
    return magic + version + struct.pack(">IHHHHHBB", said, 0x1234, 300, 400, *resolution, len(views), 0) + body


def as_csv(table):
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return "".join(",".join(map(str, row)) + "\n" for row in [table.column_names, *rows])
