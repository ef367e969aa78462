"""Triton kernels of `devices.cuda`; importing this module imports Triton.

A product of two short vectors of 8-bit integers is exact in 32 bits, so the kernels that multiply
heads have no rounding to account for. See `devices.base` for what heads and allowances are.
"""

from typing import Any

import triton
import triton.language as tl


@triton.jit
def sift(
    left,
    right,
    left_allowances,
    right_allowances,
    tasks,
    found,
    count,
    room,
    width: tl.constexpr,
    same: tl.constexpr,
    block: tl.constexpr,
    tall: tl.constexpr,
    wide: tl.constexpr,
):
    """List (row, first column) of each row of a tile that has a candidate.

    A program multiplies `tall` rows of one block by all tiles of `wide` rows of another. A batch can
    find more rows than 32 bits can count, so the count has 64.
    """
    strips: tl.constexpr = block // tall
    program = tl.program_id(0)
    task = program // strips
    strip = program % strips
    one = tl.load(tasks + 2 * task)
    other = tl.load(tasks + 2 * task + 1)
    rows = one * block + strip * tall + tl.arange(0, tall)
    dims = tl.arange(0, width)
    x = tl.load(left + rows.to(tl.int64)[:, None] * width + dims[None, :])
    own = tl.load(left_allowances + rows)
    ones = tl.full([tall], 1, tl.int64)
    first = 0
    if same:  # noqa: SIM102 - known when the kernel is compiled
        if one == other:
            first = strip * tall // wide * wide
    for start in range(first, block, wide):
        columns = other * block + start + tl.arange(0, wide)
        y = tl.load(right + columns.to(tl.int64)[None, :] * width + dims[:, None])
        theirs = tl.load(right_allowances + columns)
        best = tl.max(tl.dot(x, y, out_dtype=tl.int32) + theirs[None, :], axis=1) + own
        at = tl.atomic_add(count + tl.zeros([tall], tl.int32), ones, mask=best >= 0, sem="relaxed")
        kept = (best >= 0) & (at < room)
        tl.store(found + 2 * at, rows, mask=kept)
        tl.store(found + 2 * at + 1, other * block + start, mask=kept)


@triton.jit
def sift_deep(
    left,
    right,
    left_allowances,
    right_allowances,
    tasks,
    found,
    count,
    room,
    width,
    same: tl.constexpr,
    block: tl.constexpr,
    tall: tl.constexpr,
    wide: tl.constexpr,
    step: tl.constexpr,
):
    """Do the same for long heads, `step` numbers of each at a time; a program multiplies two tiles."""
    strips: tl.constexpr = block // tall
    tiles: tl.constexpr = block // wide
    group: tl.constexpr = 8
    program = tl.program_id(0)
    task = program // (strips * tiles)
    within = program % (strips * tiles)
    band = within // (group * tiles)
    strip = band * group + within % group
    tile = within % (group * tiles) // group
    one = tl.load(tasks + 2 * task)
    other = tl.load(tasks + 2 * task + 1)
    if same:  # noqa: SIM102 - known when the kernel is compiled
        if (one == other) & (tile * wide + wide <= strip * tall):
            return
    rows = one * block + strip * tall + tl.arange(0, tall)
    columns = other * block + tile * wide + tl.arange(0, wide)
    dims = tl.arange(0, step)
    xs = left + rows.to(tl.int64)[:, None] * width + dims[None, :]
    ys = right + columns.to(tl.int64)[None, :] * width + dims[:, None]
    product = tl.zeros([tall, wide], tl.int32)
    for _ in range(0, width, step):
        product = tl.dot(tl.load(xs), tl.load(ys), product, out_dtype=tl.int32)
        xs += step
        ys += step
    own = tl.load(left_allowances + rows)
    ones = tl.full([tall], 1, tl.int64)
    theirs = tl.load(right_allowances + columns)
    best = tl.max(product + theirs[None, :], axis=1) + own
    at = tl.atomic_add(count + tl.zeros([tall], tl.int32), ones, mask=best >= 0, sem="relaxed")
    kept = (best >= 0) & (at < room)
    tl.store(found + 2 * at, rows, mask=kept)
    tl.store(found + 2 * at + 1, other * block + tile * wide, mask=kept)


@triton.jit
def expand(
    left,
    right,
    left_allowances,
    right_allowances,
    found,
    pairs,
    count,
    room,
    width,
    same: tl.constexpr,
    wide: tl.constexpr,
    step: tl.constexpr,
):
    """List the candidates of each row that `sift` found; of one collection, each pair once."""
    program = tl.program_id(0).to(tl.int64)
    row = tl.load(found + 2 * program)
    columns = tl.load(found + 2 * program + 1) + tl.arange(0, wide)
    dims = tl.arange(0, step)
    xs = left + row.to(tl.int64) * width + dims
    ys = right + columns.to(tl.int64)[:, None] * width + dims[None, :]
    product = tl.zeros([wide], tl.int32)
    for _ in range(0, width, step):
        product += tl.sum(tl.load(ys).to(tl.int32) * tl.load(xs).to(tl.int32)[None, :], axis=1)
        xs += step
        ys += step
    near = product + tl.load(right_allowances + columns) + tl.load(left_allowances + row) >= 0
    if same:
        near = near & (columns > row)
    hits = near.to(tl.int32)
    number = tl.sum(hits, axis=0)
    if number > 0:
        base = tl.atomic_add(count, number.to(tl.int64), sem="relaxed")
        at = base + tl.cumsum(hits, axis=0) - hits
        kept = near & (at < room)
        tl.store(pairs + 2 * at, row + tl.zeros([wide], tl.int32), mask=kept)
        tl.store(pairs + 2 * at + 1, columns, mask=kept)


@triton.jit(do_not_specialize=["number"])
def recheck(
    left,
    right,
    left_scales,
    right_scales,
    left_least,
    right_halves,
    centre,
    pairs,
    near,
    number,
    dimensions,
    many: tl.constexpr,
    step: tl.constexpr,
):
    """Set whether x.y - halves[y] >= least[x], in double precision, for each listed pair.

    Rows are scaled before they are multiplied, so that no product overflows.
    """
    at = tl.program_id(0).to(tl.int64) * many + tl.arange(0, many)
    inside = at < number
    one = tl.load(pairs + 2 * at, mask=inside, other=0).to(tl.int64)
    other = tl.load(pairs + 2 * at + 1, mask=inside, other=0).to(tl.int64)
    a = tl.load(left_scales + one, mask=inside, other=0)[:, None]
    b = tl.load(right_scales + other, mask=inside, other=0)[:, None]
    total = tl.zeros([many], tl.float64)
    for start in range(0, dimensions, step):
        dims = start + tl.arange(0, step)
        there = (dims < dimensions)[None, :] & inside[:, None]
        middle = tl.load(centre + dims, mask=dims < dimensions, other=0)[None, :]
        x = tl.load(left + one[:, None] * dimensions + dims[None, :], mask=there, other=0).to(tl.float64)
        y = tl.load(right + other[:, None] * dimensions + dims[None, :], mask=there, other=0).to(tl.float64)
        total += tl.sum(tl.where(there, (x - middle) * a * ((y - middle) * b), 0), axis=1)
    value = total - tl.load(right_halves + other, mask=inside, other=0)
    beyond = value < tl.load(left_least + one, mask=inside, other=0)  # a nan is not
    tl.store(near + at, beyond == 0, mask=inside)


def launch(kernel: Any, programs: int, *arguments: Any, **options: Any) -> None:
    """Start a kernel with this many programs."""
    if programs:
        kernel[(programs,)](*arguments, **options)
