"""Heads: short integer vectors whose products bound those of rows, for devices that multiply fast.

A device compares heads, and drops a pair only if its bound proves that the rows are not near. What
is left is compared in double precision and then verified like any candidate, so the result is that
of brute force. The proof, with x and z for rows as `spaces.VectorSpace` compares them:

Let B have orthonormal columns, y = B'x, and t the part of x outside their span, |t|**2 = |x|**2 -
|y|**2. Components of y are rounded to whole steps: y = s q + r with integers q. For the parts p, u and
w of z that correspond to q, r and t, and Y = B'z,

    x.z = y.Y + t.w,    y.Y = s**2 q.p + y.u + r.Y - r.u

The integer product q.p is exact. The rest is at most |y||u| + |r||Y| + |r||u| + |t||w| (Cauchy and
Schwarz), and 2ab <= c a**2 + b**2 / c for any c > 0. If no row is longer than M, |r||Y| is also at most
|r| M, which is less for the few rows with large components, which are cut off. With one c for all rows,

    x.z <= s**2 q.p + e(x) + e(z)
    e(x) = (c |y|**2 + |r|**2 + |t|**2) / 2 + min(|r|**2 / (2 c), |r| M)

A near pair has x.z >= b + h(x) + h(z), so the sum of the product and two allowances is at least 0:

    q.p + (e(x) - h(x) - b) / s**2 + (e(z) - h(z)) / s**2 >= 0

Allowances are rounded up. With d dimensions, B, y and the squares are off by fewer than 16 (d + 16)
roundings of 2**-53 relative to |x||z|, for which e(x) has (d + 16) 2**-48 |x|**2 more. For c near
|r| / |y| the bound is nearly as tight as that of Cauchy and Schwarz.

Few components hold most of what real vectors differ in: columns of B come from a sample of the rows.
Their random rotation within their span evens out the components, so that one step suits all.
"""

from dataclasses import dataclass, replace

import numpy as np

from lookalike.devices.base import ALWAYS, LEAST, MOST, WIDEST, Frame, in_steps, rounded
from lookalike.search.ordering import WORTH, main_axes, sample_skipped
from lookalike.search.spaces import BitSpace, Space, VectorSpace

WIDTHS = (64, 128, 256)  # of short heads
UNIT = 128  # wider heads have multiples of it
SAMPLE = 1024  # rows of each side that show how many pairs a bound lets through
FITTED = 2048  # rows to which heads are fitted
FEW = 16  # rows that are too few to find main directions
ROUNDED = 1024  # of these, rows that show which step is best
FAR = 4.0  # times a typical row's length, beyond which rows are left out of a sample
COARSER = (1, 2, 4, 8, 16)  # times the step that suits most rows: of inner products, the longest rows have the largest
CLIPS = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0)  # standard deviations up to which components are not cut off

# The cost of comparing one pair by heads of a width, in picoseconds on one H200, and of a candidate.
PAIR = {64: 0.18, 128: 0.23, 256: 0.45}
WIDER = 0.0023  # per component of a wider head
CANDIDATE = 3000.0


@dataclass(frozen=True)
class Heads:
    """How rows of a space become heads and allowances, and what that is expected to save."""

    frame: Frame
    balance: float = 1.0  # the number c of the proof
    longest: float = np.inf  # the number M of the proof
    passing: float = 0.0  # the share of a sample's pairs that pass
    skipped: float = 0.0  # the share of a sample's pairs of blocks that hold no near pair
    cut: int = 0  # components of places to cut rows across, into blocks

    @property
    def kept(self) -> int:
        """The number of components of a head."""
        return self.frame.dimensions if self.frame.basis is None else self.frame.basis.shape[1]

    def cost(self, candidate: float = CANDIDATE) -> float:
        """Return the expected cost of a pair, in picoseconds on one H200, given that of a candidate."""
        return pair_cost(self.frame.width) + self.passing * candidate

    def allowances(self, squares: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return the allowances of rows from their squared lengths (see `Loaded`) and what is `taken` of them."""
        return self.allowed(self.slack(squares), least)

    def allowed(self, slack: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return the same from the slack of rows."""
        with np.errstate(over="ignore"):  # what is infinite becomes ALWAYS or LEAST
            return whole((slack - least) / self.frame.step**2)

    def slack(self, squares: np.ndarray) -> np.ndarray:
        """Return e of the proof; the heads of codes are exact, and their squared lengths are 0."""
        lengths, products, rest = squares
        guard = lengths * ((self.frame.dimensions + 16) * 2.0**-48)
        outside = np.maximum(lengths - products, 0)
        with np.errstate(invalid="ignore"):  # 0 times infinity
            cut_off = np.fmin(rest / (2 * self.balance), np.sqrt(rest) * self.longest)
        found: np.ndarray = (self.balance * products + rest + outside) / 2 + cut_off + guard
        return found


def whole(allowances: np.ndarray) -> np.ndarray:
    """Round allowances up to integers of 32 bits; one that is not known is ALWAYS."""
    known = np.where(np.isnan(allowances), ALWAYS, allowances)
    return np.clip(np.ceil(known), LEAST, ALWAYS).astype(np.int32)


def pair_cost(width: int) -> float:
    """Return the cost of comparing a pair by heads of this width."""
    return PAIR[width] if width in PAIR else WIDER * width


def full_width(dimensions: int) -> int:
    """Return the width of heads that hold all components, or as many as any head can."""
    fitting = [width for width in WIDTHS if dimensions <= width]
    return fitting[0] if fitting else min(WIDEST, -(-dimensions // UNIT) * UNIT)


def taken(space: Space, rows: np.ndarray, bounds: np.ndarray | None = None) -> np.ndarray:
    """Return what the product of near rows is at least, in two terms: h(x), and b + h(x) for rows with bounds.

    Codes differ in at least as many bits as the first of their bits do, which their heads hold.
    """
    least = np.zeros(len(rows))
    if isinstance(space, VectorSpace):
        least += space.halves[rows]
    if bounds is not None:
        least += bounds if isinstance(space, VectorSpace) else bits_of_heads(space) - 2.0 * bounds
    return least


def bits_of_heads(space: Space) -> int:
    """Return how many bits of codes their heads hold."""
    return min(space.dimensions, WIDEST)


def make_heads(
    space: Space,
    left: np.ndarray,
    right: np.ndarray,
    bounds: np.ndarray,
    candidate: float = CANDIDATE,
    block: int | None = None,
    ordering: float = 0.0,
) -> Heads:
    """Choose the heads with which the device is expected to take the least time.

    `bounds` are those of the left rows, in the units of the space; `candidate` is the cost of one.
    With a device's `block`, the frame has axes if skipping pairs of blocks saves more time than it takes
    to order the rows: `ordering`, in picoseconds per row.
    """
    if isinstance(space, BitSpace):
        return Heads(Frame(bits_of_heads(space), full_width(max(1, space.dimensions))))
    assert isinstance(space, VectorSpace)
    rng = np.random.default_rng(0)
    samples = [drawn(rng, len(rows), SAMPLE) for rows in (left, right)]
    ours, theirs = left[samples[0]], right[samples[1]]
    one, other = rows_of(space, ours), rows_of(space, theirs)
    # Heads fit some rows better than others: those must not be the rows that show how well they fit.
    others = np.unique(np.concatenate([rows[drawn(rng, len(rows), FITTED)] for rows in (left, right)]))
    fit = rows_of(space, rng.permutation(others)[:FITTED])
    longest = longest_row(space)
    least, halves = taken(space, ours, bounds[samples[0]]), taken(space, theirs)
    full = full_width(space.dimensions)
    best: Heads | None = None
    for width in [*(width for width in WIDTHS if width < full), full]:
        if best is not None and pair_cost(width) >= best.cost(candidate):
            break
        usual = fitted(space, fit, width, longest, rng)
        for times in (1,) if space.lengths is None else COARSER:
            some = replace(
                usual, frame=replace(usual.frame, step=times * usual.frame.step), balance=times * usual.balance
            )
            some = replace(some, passing=passing(some, one, other, least, halves, ours[:, None] != theirs))
            best = some if best is None or some.cost(candidate) < best.cost(candidate) else best
    assert best is not None
    if block is None or len(fit) < FEW or min(len(left), len(right)) <= 2 * block:
        return best
    compared = len(left) * len(right) * best.cost(candidate)  # twice as many of one collection, as are the rows
    worth = max(WORTH, ordering * (len(left) + len(right)) / compared)
    if worth >= 1:
        return best
    axes = main_axes(fit, rng)
    saved, cut = sample_skipped(one, other, least, halves, axes, [block / len(left), block / len(right)], worth)
    best = replace(best, skipped=saved, cut=cut)
    return best if saved < worth else replace(best, frame=replace(best.frame, axes=axes))


def drawn(rng: np.random.Generator, number: int, most: int) -> np.ndarray:
    """Return some of the first numbers, ascending."""
    return np.sort(rng.choice(number, most, replace=False)) if number > most else np.arange(number)


def longest_row(space: VectorSpace) -> float:
    """Return what no row exceeds in length, as the space compares them."""
    if space.measure != "euclidean":
        return 1 + 2.0**-20
    return float(np.sqrt(2 * space.halves.max(initial=0).astype(np.float64) / (1 - space.slack)) * (1 + 2.0**-20))


def rows_of(space: VectorSpace, rows: np.ndarray) -> np.ndarray:
    """Return rows as the space compares them, in double precision; those too far out are zero."""
    scales = space.scales[rows, None]
    with np.errstate(over="ignore", invalid="ignore"):
        moved = (space.values[rows].astype(np.float64) - space.centre) * scales
    return np.where(scales > 0, moved, 0)


def fitted(space: VectorSpace, sample: np.ndarray, width: int, longest: float, rng: np.random.Generator) -> Heads:
    """Return heads of a width that fit a sample of rows, except for those that are far out."""
    lengths = np.sqrt((sample * sample).sum(axis=1))
    inside = lengths <= FAR * np.median(lengths) if len(sample) else lengths > 0
    sample, lengths = sample[inside], lengths[inside]
    basis = basis_for(sample, min(width, space.dimensions), rng)
    products, lengths = sample[:ROUNDED] @ basis, lengths[:ROUNDED]
    squares = (products * products).sum(axis=1)
    spread = float(np.sqrt((products * products).mean())) if products.size else 0.0
    if not spread > 0:
        return Heads(Frame(space.dimensions, width, space.centre, basis), longest=longest)
    best: tuple[float, Heads] | None = None
    for clip in CLIPS:
        step = spread * clip / MOST
        _, rest = in_steps(products, step)
        usable = (squares > 0) & (rest > 0)
        balance = float(np.sqrt(np.median(rest[usable] / squares[usable]))) if usable.any() else 1.0
        some = Heads(Frame(space.dimensions, width, space.centre, basis, step), balance, longest)
        slack = float(some.slack(np.stack((lengths**2, squares, rest))).mean())
        best = (slack, some) if best is None or slack < best[0] else best
    assert best is not None
    return best[1]


def passing(
    heads: Heads, one: np.ndarray, other: np.ndarray, least: np.ndarray, halves: np.ndarray, pairs: np.ndarray
) -> float:
    """Return the share of some of the pairs of two samples that the bound of their heads lets through."""
    assert heads.frame.basis is not None
    ours, *squares = rounded(one, heads.frame.basis, heads.frame.step)
    theirs, *other_squares = rounded(other, heads.frame.basis, heads.frame.step)
    room = heads.allowances(np.array(squares), least)[:, None] + heads.allowances(np.array(other_squares), halves)
    near = (ours.astype(np.float32) @ theirs.astype(np.float32).T) + room >= 0
    return float(near[pairs].mean()) if pairs.any() else 0.0


def basis_for(sample: np.ndarray, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return orthonormal columns that span all dimensions, or the main directions of a sample."""
    dimensions = sample.shape[1]
    if columns >= dimensions:
        return evened(dimensions, rng)
    single = sample.astype(np.float32)
    found = rng.normal(size=(dimensions, columns)).astype(np.float32)
    found = single.T @ (single @ found)
    return np.asarray(np.linalg.qr(found.astype(np.float64))[0] @ evened(columns, rng))


def evened(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return an orthonormal matrix that spreads each component over all: a cosine transform of random signs."""
    if not size:
        return np.zeros((0, 0))
    places = np.arange(size)
    turns = (2 * places[:, None] + 1) * places % (4 * size)  # exact, unlike the cosine of a large angle
    matrix = np.cos(turns * (np.pi / (2 * size))) * np.sqrt(2 / size)
    matrix[:, :1] /= np.sqrt(2)
    return np.asarray(matrix * rng.choice([-1.0, 1.0], size)[:, None])
