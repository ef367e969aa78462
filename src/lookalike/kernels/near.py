"""Find near pairs in blocks of items: compute all products of two blocks and keep the near ones.

Blocks come as `rectangles` (a0, a1, b0, b1): the items order[a0:a1], each with the items
order[b0:b1]; if a0 = b0 each pair is met once. The pairs found are numbers left * items + right
with left < right. They can lie a little beyond the bound: dense vectors are compared in single
precision, with a margin for rounding.
"""

import numpy as np

from lookalike.kernels.hashing import fused_kernel, kernel, summing_kernel

ROWS = 4  # rows of a block that are multiplied at a time
STEP = 4  # dimensions that are multiplied at a time
TILE = 512  # columns that are multiplied at a time: their sums stay in the first-level cache
LANES = 16  # numbers in a vector register
SMALL = 40  # blocks of at most this many items are compared row by row, which needs less preparation


@fused_kernel
def near_vectors(values, centre, scales, halves, order, rectangles, bounds):
    """Return the pairs of dense rows with x.y - halves[x] - halves[y] >= bounds[x].

    Here x stands for (values[x] - centre) * scales[x]. With halves of 0 the bound is on the cosine
    of rows scaled to length 1; with halves of |x|**2 / 2 it is on minus half the squared distance.
    """
    items, dimensions = values.shape
    width = -(-dimensions // STEP) * STEP
    tile = max(64, min(TILE, (1 << 17) // max(1, width) // LANES * LANES))
    longest = 0
    for r in range(len(rectangles)):
        longest = max(longest, rectangles[r, 1] - rectangles[r, 0])
    block = np.zeros((max(longest, 2 * SMALL) + ROWS, -(-dimensions // LANES) * LANES), np.float32)
    others = np.zeros((LANES, width), np.float32)
    columns = np.zeros((width, tile), np.float32)
    starts = np.zeros(tile, np.float32)
    sums = np.empty((ROWS, tile), np.float32)
    out = np.empty(1024, np.int64)
    n = 0
    for r in range(len(rectangles)):
        a0, a1, b0, b1 = rectangles[r]
        _gather(values, centre, scales, order, a0, a1, block)
        if a1 - a0 <= SMALL and b1 - b0 <= SMALL:
            base = 0
            if a0 != b0:
                base = a1 - a0
                _gather(values, centre, scales, order, b0, b1, block[base:])
            for i in range(a0, a1):
                item = order[i]
                least = bounds[item] + halves[item]
                for j in range(i + 1 if a0 == b0 else b0, b1, ROWS):
                    near = _four(block, i - a0, base + j - b0)
                    for k in range(min(ROWS, b1 - j)):
                        other = order[j + k]
                        if near[k] - halves[other] >= least:
                            if n == len(out):
                                out = _longer(out, n + 1)
                            out[n] = min(item, other) * items + max(item, other)
                            n += 1
            continue
        for c0 in range(b0, b1, tile):
            c1 = min(c0 + tile, b1)
            for j in range(c0, c1, LANES):
                _gather(values, centre, scales, order, j, min(j + LANES, c1), others)
                for k in range(LANES):
                    starts[j - c0 + k] = -halves[order[j + k]] if j + k < c1 else 0
                for d in range(dimensions):
                    line = columns[d][j - c0 : j - c0 + LANES]
                    for k in range(LANES):
                        line[k] = others[k, d]
            for i in range(a0, a1 if a0 != b0 else min(a1, c1), ROWS):
                first = max(0, i - c0) // LANES * LANES if a0 == b0 else 0
                last = -((c0 - c1) // LANES) * LANES
                _products(block, i - a0, columns, first, last, starts, sums)
                for k in range(min(ROWS, a1 - i)):
                    item = order[i + k]
                    least = bounds[item] + halves[item]
                    first = max(0, i + k + 1 - c0) if a0 == b0 else 0
                    line = sums[k][first : c1 - c0]
                    hits = 0
                    for j in range(len(line)):
                        hits += line[j] >= least
                    if hits == 0:
                        continue
                    if n + hits > len(out):
                        out = _longer(out, n + hits)
                    for j in range(len(line)):
                        if line[j] >= least:
                            other = order[c0 + first + j]
                            out[n] = min(item, other) * items + max(item, other)
                            n += 1
    return out[:n].copy()


@summing_kernel
def _four(block, i, j):
    """Return the products of one row with the four from j on, summed in any order."""
    a, b, c, d, e = block[i], block[j], block[j + 1], block[j + 2], block[j + 3]
    p = q = r = s = np.float32(0)
    for at in range(len(a)):
        x = a[at]
        p += x * b[at]
        q += x * c[at]
        r += x * d[at]
        s += x * e[at]
    return p, q, r, s


@fused_kernel
def _gather(values, centre, scales, order, start, stop, block):
    """Copy rows to a block, centred and scaled."""
    for i in range(start, stop):
        item = order[i]
        row, line, scale = values[item], block[i - start], scales[item]
        for d in range(len(row)):
            line[d] = (row[d] - centre[d]) * scale


@fused_kernel
def _products(block, i, columns, first, last, starts, sums):
    """Set sums = starts + block[i : i + ROWS] @ columns, for the columns from `first` to `last`."""
    s0, s1, s2, s3 = sums[0][first:last], sums[1][first:last], sums[2][first:last], sums[3][first:last]
    start = starts[first:last]
    for j in range(len(start)):
        s0[j] = start[j]
        s1[j] = start[j]
        s2[j] = start[j]
        s3[j] = start[j]
    for d in range(0, len(columns), STEP):
        c0, c1 = columns[d][first:last], columns[d + 1][first:last]
        c2, c3 = columns[d + 2][first:last], columns[d + 3][first:last]
        a0, a1, a2, a3 = block[i, d], block[i, d + 1], block[i, d + 2], block[i, d + 3]
        b0, b1, b2, b3 = block[i + 1, d], block[i + 1, d + 1], block[i + 1, d + 2], block[i + 1, d + 3]
        e0, e1, e2, e3 = block[i + 2, d], block[i + 2, d + 1], block[i + 2, d + 2], block[i + 2, d + 3]
        f0, f1, f2, f3 = block[i + 3, d], block[i + 3, d + 1], block[i + 3, d + 2], block[i + 3, d + 3]
        for j in range(len(start)):
            p, q, r, s = c0[j], c1[j], c2[j], c3[j]
            s0[j] += a0 * p + a1 * q + a2 * r + a3 * s
            s1[j] += b0 * p + b1 * q + b2 * r + b3 * s
            s2[j] += e0 * p + e1 * q + e2 * r + e3 * s
            s3[j] += f0 * p + f1 * q + f2 * r + f3 * s


@kernel
def near_sparse(indptr, indices, data, dimensions, scales, halves, order, rectangles, bounds):
    """Do the same for sparse rows (CSR) in double precision, spreading out one row at a time."""
    items = len(indptr) - 1
    spread = np.zeros(dimensions)
    out = np.empty(1024, np.int64)
    n = 0
    for r in range(len(rectangles)):
        a0, a1, b0, b1 = rectangles[r]
        for i in range(a0, a1):
            item = order[i]
            for at in range(indptr[item], indptr[item + 1]):
                spread[indices[at]] = data[at] * scales[item]
            least = bounds[item] + halves[item]
            for j in range(max(b0, i + 1) if a0 == b0 else b0, b1):
                other = order[j]
                product = 0.0
                for at in range(indptr[other], indptr[other + 1]):
                    product += spread[indices[at]] * (data[at] * scales[other])
                if product - halves[other] >= least:
                    if n == len(out):
                        out = _longer(out, n + 1)
                    out[n] = min(item, other) * items + max(item, other)
                    n += 1
            for at in range(indptr[item], indptr[item + 1]):
                spread[indices[at]] = 0
    return out[:n].copy()


@kernel
def near_bits(words, order, rectangles, bounds):
    """Return the pairs of codes that differ in at most bounds[x] bits; here the bound is exact."""
    items, width = words.shape
    columns = np.empty((width, TILE), np.uint64)
    differing = np.empty(TILE, np.int64)
    out = np.empty(1024, np.int64)
    n = 0
    for r in range(len(rectangles)):
        a0, a1, b0, b1 = rectangles[r]
        for c0 in range(b0, b1, TILE):
            c1 = min(c0 + TILE, b1)
            for j in range(c0, c1):
                for w in range(width):
                    columns[w, j - c0] = words[order[j], w]
            for i in range(a0, a1 if a0 != b0 else min(a1, c1)):
                item = order[i]
                first = max(0, i + 1 - c0) if a0 == b0 else 0
                apart = differing[first : c1 - c0]
                hits = count_within(words[item], columns, first, apart, bounds[item])
                if hits == 0:
                    continue
                if n + hits > len(out):
                    out = _longer(out, n + hits)
                for j in range(len(apart)):
                    if apart[j] <= bounds[item]:
                        other = order[c0 + first + j]
                        out[n] = min(item, other) * items + max(item, other)
                        n += 1
    return out[:n].copy()


@kernel
def count_within(code, columns, first, apart, most):
    """Fill `apart` with the number of bits that differ, and return how many are at most `most`."""
    column = columns[0][first : first + len(apart)]
    hits = 0
    for j in range(len(apart)):
        bits = ones(code[0] ^ column[j])
        apart[j] = bits
        hits += bits <= most
    for w in range(1, len(code)):
        column = columns[w][first : first + len(apart)]
        hits = 0
        for j in range(len(apart)):
            apart[j] += ones(code[w] ^ column[j])
            hits += apart[j] <= most
    return hits


@kernel
def ones(x):
    """Return how many bits of a word are set; compilers turn this pattern into one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def bits_apart(words, left, right):
    """Return how many bits differ in each pair of codes."""
    out = np.zeros(len(left), np.int64)
    for pair in range(len(left)):
        for w in range(words.shape[1]):
            out[pair] += ones(words[left[pair], w] ^ words[right[pair], w])
    return out


@kernel
def _longer(out, need):
    more = np.empty(max(need, 2 * len(out)), np.int64)
    more[: len(out)] = out
    return more
