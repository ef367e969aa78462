"""Measure vectors, and project them on random directions."""

import math

import numpy as np

from lookalike.kernels.hashing import kernel, summing_kernel

LANES = 32  # directions that compiled loops handle together


@kernel
def project(rows, directions):
    """Return the dot products of all rows with all directions (dimensions x directions).

    Each is summed in the order of the dimensions, so that it does not depend on the number of other
    vectors, as it would in a matrix product. Four rows and four dimensions at a time make the most
    of each number read; the inner loop over directions is vectorised.
    """
    items, dimensions = rows.shape
    count = directions.shape[1]
    if items < LANES or count % LANES <= LANES // 2:
        out = np.zeros((items, count))
        _add_projections(rows, directions, out)
        return out
    wide = np.zeros((dimensions, -(-count // LANES) * LANES))  # more directions, which fill registers, take less time
    wide[:, :count] = directions
    sums = np.zeros((items, wide.shape[1]))
    _add_projections(rows, wide, sums)
    return sums[:, :count].copy()


@kernel
def _add_projections(rows, directions, out):
    """Add all dot products to `out`."""
    items, dimensions = rows.shape
    for item in range(0, items - items % 4, 4):
        for i in range(0, dimensions - dimensions % 4, 4):
            _add_block(rows, item, i, directions, out)
    for item in range(items):
        sums = out[item]
        for i in range(dimensions - dimensions % 4 if item < items - items % 4 else 0, dimensions):
            x, along = rows[item, i], directions[i]
            for j in range(len(sums)):
                sums[j] += x * along[j]


@kernel
def _add_block(rows, item, i, directions, out):
    """Add the products of four rows in four dimensions to their sums, in order."""
    a0, a1, a2, a3 = rows[item, i], rows[item, i + 1], rows[item, i + 2], rows[item, i + 3]
    b0, b1, b2, b3 = rows[item + 1, i], rows[item + 1, i + 1], rows[item + 1, i + 2], rows[item + 1, i + 3]
    c0, c1, c2, c3 = rows[item + 2, i], rows[item + 2, i + 1], rows[item + 2, i + 2], rows[item + 2, i + 3]
    d0, d1, d2, d3 = rows[item + 3, i], rows[item + 3, i + 1], rows[item + 3, i + 2], rows[item + 3, i + 3]
    along0, along1, along2, along3 = directions[i], directions[i + 1], directions[i + 2], directions[i + 3]
    a, b, c, d = out[item], out[item + 1], out[item + 2], out[item + 3]
    for j in range(len(a)):
        p, q, r, s = along0[j], along1[j], along2[j], along3[j]
        a[j] = a[j] + a0 * p + a1 * q + a2 * r + a3 * s
        b[j] = b[j] + b0 * p + b1 * q + b2 * r + b3 * s
        c[j] = c[j] + c0 * p + c1 * q + c2 * r + c3 * s
        d[j] = d[j] + d0 * p + d1 * q + d2 * r + d3 * s


@summing_kernel
def square_lengths(rows, out):
    """Fill in the sum of the squares of each row, in double precision."""
    for item in range(len(rows)):
        total = 0.0
        for x in rows[item]:
            total += np.float64(x) * np.float64(x)
        out[item] = total


@kernel
def project_sparse(indptr, indices, data, directions):
    """Return the same for sparse rows in SciPy's CSR format."""
    count = directions.shape[1]
    out = np.zeros((len(indptr) - 1, count))
    for item in range(len(out)):
        sums = out[item]
        for at in range(indptr[item], indptr[item + 1]):
            x, along = data[at], directions[indices[at]]
            for j in range(count):
                sums[j] += x * along[j]
    return out


ANGLE, COSINE, DISTANCE, PRODUCT = range(4)  # degrees, the cosine of the angle, Euclidean distance, inner product
SMALLER = 2.0**-540  # scales rows whose products would overflow


@kernel
def measure(kind, x, y):
    """Measure two vectors in double precision; nan if one is not finite or has no direction.

    Nothing overflows: vectors and differences are scaled by a power of two that makes their
    greatest component about 1 (see `product` for another way). The angle of unit vectors u and v is
    2 atan2(|u - v|, |u + v|), which keeps the digits of small angles; the cosine comes from whichever
    of u - v, u.v and u + v keeps the most digits, so it is exactly 1 for u = v.
    """
    if kind == DISTANCE:
        return distance(x, y)
    if kind == PRODUCT:
        return product(x, y)
    a, b = to_size_one(x), to_size_one(y)
    if not (a > 0 and b > 0):
        return np.nan
    c, d = 1 / length(x, a), 1 / length(y, b)
    minus = plus = dot = 0.0
    for i in range(len(x)):
        u, v = x[i] * a * c, y[i] * b * d
        minus += (u - v) * (u - v)
        plus += (u + v) * (u + v)
        dot += u * v
    if kind == ANGLE:
        return 2 * math.atan2(math.sqrt(minus), math.sqrt(plus)) * (180 / math.pi)
    if dot > 0.5:
        return 1 - minus / 2
    return plus / 2 - 1 if dot < -0.5 else dot


@kernel
def distance(x, y):
    """Return the Euclidean distance; infinite beyond the largest float, nan if a component is."""
    most = 0.0
    for i in range(len(x)):
        apart = abs(np.float64(x[i]) - np.float64(y[i]))
        if not apart <= most:
            most = apart
        if math.isnan(apart):
            return np.nan
    if most == 0 or most == np.inf:
        return most
    scale = math.ldexp(1.0, math.frexp(most)[1] - 1)
    total = 0.0
    for i in range(len(x)):
        apart = (np.float64(x[i]) - np.float64(y[i])) / scale
        total += apart * apart
    return scale * math.sqrt(total)


@kernel
def product(x, y):
    """Return the inner product, summed in order; infinite beyond the largest float.

    If a product or a sum overflows, all are added up again on a scale on which none can.
    """
    total = scaled_product(x, y, 1.0)
    if math.isfinite(total):
        return total
    return scaled_product(x, y, SMALLER) / SMALLER / SMALLER


@kernel
def scaled_product(x, y, scale):
    """Return the inner product of vectors multiplied by `scale`, a float64."""
    total = 0.0
    for i in range(len(x)):
        total += (x[i] * scale) * (y[i] * scale)
    return total


@kernel
def to_size_one(x):
    """Return a power of two that scales the greatest component to about 1; nan if there is none."""
    most = 0.0
    for i in range(len(x)):
        size = abs(np.float64(x[i]))
        if not size < np.inf:
            return np.nan
        most = max(most, size)
    return math.ldexp(1.0, min(1000, -math.frexp(most)[1])) if most > 0 else np.nan


@kernel
def length(x, scale):
    """Return the length of a vector multiplied by `scale`, a float64."""
    total = 0.0
    for i in range(len(x)):
        part = x[i] * scale
        total += part * part
    return math.sqrt(total)


@kernel
def measure_rows(kind, values, left, right):
    """Apply `measure` to pairs of rows."""
    out = np.empty(len(left))
    for pair in range(len(left)):
        out[pair] = measure(kind, values[left[pair]], values[right[pair]])
    return out


@kernel
def measure_sparse(kind, indptr, indices, data, left, right):
    """Apply `measure` to pairs of sparse rows, using the components that either of them has."""
    out = np.empty(len(left))
    room = 0
    for row in range(len(indptr) - 1):
        room = max(room, indptr[row + 1] - indptr[row])
    x, y = np.empty(2 * room), np.empty(2 * room)
    for pair in range(len(left)):
        i, end = indptr[left[pair]], indptr[left[pair] + 1]
        j, stop = indptr[right[pair]], indptr[right[pair] + 1]
        n = 0
        while i < end or j < stop:
            here = indices[i] if i < end else indices[j]
            if j < stop and indices[j] < here:
                here = indices[j]
            x[n] = y[n] = 0
            if i < end and indices[i] == here:
                x[n] = data[i]
                i += 1
            if j < stop and indices[j] == here:
                y[n] = data[j]
                j += 1
            n += 1
        out[pair] = measure(kind, x[:n], y[:n])
    return out
