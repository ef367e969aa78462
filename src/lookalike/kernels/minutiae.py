"""Compare fingerprints: describe the neighbourhoods of minutiae, align prints, pair minutiae.

Minutiae are rows of x, y and direction, directions in turns (1 is a full circle). The prints of a
collection follow one another; print p has the rows from starts[p] to starts[p + 1]. "Asking" is the
print that is looked up; a "meeting" is a pair of minutiae whose corners share a bucket.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

TURN = 2 * np.pi
LOW = np.uint64(0xFFFFFFFF)
SPREAD = 0x9E3779B1  # odd, so that different 32-bit numbers stay different
ASKED = 64  # the number of meetings to try as centre of a consensus


@kernel
def wrapped(turn):
    """Return the same turn between -1/2 and 1/2."""
    return turn - np.floor(turn + 0.5)


@kernel
def nearest_minutiae(points, first, last, centre, nearest, farthest, out):
    """Fill `out` with the nearest minutiae from `nearest` to `farthest` away; return how many."""
    found = 0
    distances = np.empty(len(out))
    for other in range(first, last):
        distance = np.hypot(points[other, 0] - points[centre, 0], points[other, 1] - points[centre, 1])
        if distance < nearest or distance > farthest or (found == len(out) and distance >= distances[found - 1]):
            continue
        at = min(found, len(out) - 1)
        while at > 0 and distances[at - 1] > distance:
            distances[at], out[at] = distances[at - 1], out[at - 1]
            at -= 1
        distances[at], out[at] = distance, other
        found = min(found + 1, len(out))
    return found


@kernel
def corners(points, starts, neighbours, nearest, farthest):
    """Return the corners, minutiae with two neighbours: (starts per print, features, minutiae).

    The features of a corner are distance, bearing and direction of each of the two neighbours, with
    angles relative to the minutia, so that shifting or turning the print does not change them.
    """
    features = np.empty((len(points) * (neighbours * (neighbours - 1) // 2), 6))
    minutiae = np.empty(len(features), np.int64)
    bounds = np.zeros(len(starts), np.int64)
    around = np.empty(neighbours, np.int64)
    seen = np.empty((neighbours, 3))
    made = 0
    for p in range(len(starts) - 1):
        for i in range(starts[p], starts[p + 1]):
            found = nearest_minutiae(points, starts[p], starts[p + 1], i, nearest, farthest, around)
            for n in range(found):
                dx, dy = points[around[n], 0] - points[i, 0], points[around[n], 1] - points[i, 1]
                seen[n, 0] = np.hypot(dx, dy)
                seen[n, 1] = wrapped(np.arctan2(dy, dx) / TURN - points[i, 2])
                seen[n, 2] = wrapped(points[around[n], 2] - points[i, 2])
            for one in range(found):
                for two in range(one):
                    a, b = (one, two) if seen[one, 1] < seen[two, 1] else (two, one)
                    features[made, :3], features[made, 3:] = seen[a], seen[b]
                    minutiae[made] = i
                    made += 1
        bounds[p + 1] = made
    return bounds, features[:made].copy(), minutiae[:made].copy()


@kernel
def corner_codes(features, offsets, width, parts):
    """Return the bucket of each corner in each table, a 32-bit number with evenly spread high bits.

    Distances are cut into pieces of `width` and angles into `parts` per turn, shifted by the
    table's own offsets, six numbers from 0 to 1.
    """
    codes = np.empty((len(offsets), len(features)), np.uint32)
    for t in range(len(offsets)):
        for c in range(len(features)):
            code = 0
            for f in range(6):
                if f == 0 or f == 3:
                    code = code * 64 + int(features[c, f] / width + offsets[t, f])
                else:
                    code = code * parts + int((features[c, f] + 0.5) * parts + offsets[t, f]) % parts
            codes[t, c] = (code * SPREAD) & 0xFFFFFFFF
    return codes


@kernel
def meetings(keys, first, last, asking, owners, minutiae, prints):
    """Return the minutiae that share a bucket, print by print: (starts, theirs, ours).

    In table t the corners numbered keys[t, first[t, c] : last[t, c]] % 2**32 share the bucket of a
    corner of minutia asking[t, c]. Corner n is of minutia m = minutiae[n] of print owners[m].
    """
    starts = np.zeros(prints + 1, np.int64)
    for t in range(len(keys)):
        for c in range(asking.shape[1]):
            for key in keys[t, first[t, c] : last[t, c]]:
                starts[owners[minutiae[key & LOW]] + 1] += 1
    for p in range(prints):
        starts[p + 1] += starts[p]
    theirs, ours = np.empty(starts[prints], np.int64), np.empty(starts[prints], np.int64)
    filled = starts[:-1].copy()
    for t in range(len(keys)):
        for c in range(asking.shape[1]):
            for key in keys[t, first[t, c] : last[t, c]]:
                minutia = minutiae[key & LOW]
                at = filled[owners[minutia]]
                theirs[at], ours[at] = minutia, asking[t, c]
                filled[owners[minutia]] += 1
    return starts, theirs, ours


@kernel
def consensus(points, asking, starts, theirs, ours, needed, slack, reach):
    """Return how the asking print best aligns with each print: (votes, places).

    A place is a turn and the x and y of the print's centre. Each meeting suggests one; two meetings
    agree if their turns differ by less than `slack` and their centres by less than `reach`. Prints
    that cannot reach `needed` votes get none.
    """
    prints = len(starts) - 1
    votes = np.zeros(prints, np.int64)
    places = np.zeros((prints, 3))
    most = 0
    for p in range(prints):
        most = max(most, starts[p + 1] - starts[p])
    said = np.empty((most, 3))
    mean_x, mean_y = asking[:, 0].mean(), asking[:, 1].mean()
    sectors = max(1, int(1 / slack))
    turned = np.empty(sectors, np.int64)
    for p in range(prints):
        count = starts[p + 1] - starts[p]
        if count < needed[p]:
            continue
        turned[:] = 0
        for m in range(count):
            here, there = asking[ours[starts[p] + m]], points[theirs[starts[p] + m]]
            turn = wrapped(there[2] - here[2])
            cos, sin = np.cos(turn * TURN), np.sin(turn * TURN)
            dx, dy = mean_x - here[0], mean_y - here[1]
            said[m, 0] = turn
            said[m, 1], said[m, 2] = there[0] + cos * dx - sin * dy, there[1] + sin * dx + cos * dy
            turned[min(sectors - 1, int((turn + 0.5) * sectors))] += 1
        likely = 0
        for s in range(sectors):  # turns that agree are in three neighbouring sectors
            likely = max(likely, turned[s] + turned[s - 1] + turned[s - 2])
        if likely >= needed[p]:
            votes[p] = agreed(said[:count], slack, reach, places[p])
    return votes, places


@kernel
def agreed(said, slack, reach, place):
    """Return the most meetings that agree with one of them, and write their mean to `place`.

    Of very many meetings only some are tried: if most agree, any of those will do.
    """
    best, chosen = 0, 0
    for i in range(0, len(said), max(1, len(said) // ASKED)):
        count = 0
        for j in range(len(said)):
            count += agree(said, i, j, slack, reach)
        if count > best:
            best, chosen = count, i
    place[0] = said[chosen, 0]
    for j in range(len(said)):
        if agree(said, chosen, j, slack, reach):
            place[0] += wrapped(said[j, 0] - said[chosen, 0]) / best
            place[1] += said[j, 1] / best
            place[2] += said[j, 2] / best
    return best


@kernel
def agree(said, i, j, slack, reach):
    """Return whether two meetings suggest about the same place."""
    dx, dy = said[i, 1] - said[j, 1], said[i, 2] - said[j, 2]
    return dx * dx + dy * dy < reach * reach and abs(wrapped(said[i, 0] - said[j, 0])) < slack


@kernel
def laid(asking, place, out):
    """Move the asking minutiae to a place: turn them and shift their centre there."""
    cos, sin = np.cos(place[0] * TURN), np.sin(place[0] * TURN)
    mean_x, mean_y = asking[:, 0].mean(), asking[:, 1].mean()
    for i in range(len(asking)):
        dx, dy = asking[i, 0] - mean_x, asking[i, 1] - mean_y
        out[i, 0], out[i, 1] = place[1] + cos * dx - sin * dy, place[2] + sin * dx + cos * dy
        out[i, 2] = asking[i, 2] + place[0]


@kernel
def partners(points, moved, reach, slack, out):
    """Pair moved minutiae with their mutual nearest `points` in reach, else -1; return how many."""
    nearest = np.full(len(points), np.inf)
    chosen = np.full(len(points), -1)
    best = np.full(len(moved), np.inf)
    out[:] = -1
    for i in range(len(moved)):
        for k in range(len(points)):
            dx, dy = points[k, 0] - moved[i, 0], points[k, 1] - moved[i, 1]
            distance = dx * dx + dy * dy
            if distance < reach * reach and abs(wrapped(points[k, 2] - moved[i, 2])) < slack:
                if distance < best[i]:
                    best[i], out[i] = distance, k
                if distance < nearest[k]:
                    nearest[k], chosen[k] = distance, i
    count = 0
    for i in range(len(moved)):
        if out[i] >= 0 and chosen[out[i]] != i:
            out[i] = -1
        count += out[i] >= 0
    return count


@kernel
def refit(points, asking, met, count, place):
    """Write to `place` the turn and centre that bring the partners closest, by least squares."""
    ax, ay, bx, by = 0.0, 0.0, 0.0, 0.0
    for i in range(len(asking)):
        if met[i] >= 0:
            ax += points[met[i], 0] / count
            ay += points[met[i], 1] / count
            bx += asking[i, 0] / count
            by += asking[i, 1] / count
    along, across = 0.0, 0.0
    for i in range(len(asking)):
        if met[i] >= 0:
            vx, vy = points[met[i], 0] - ax, points[met[i], 1] - ay
            ux, uy = asking[i, 0] - bx, asking[i, 1] - by
            along += ux * vx + uy * vy
            across += ux * vy - uy * vx
    turn = np.arctan2(across, along)
    cos, sin = np.cos(turn), np.sin(turn)
    dx, dy = asking[:, 0].mean() - bx, asking[:, 1].mean() - by
    place[0], place[1], place[2] = turn / TURN, ax + cos * dx - sin * dy, ay + sin * dx + cos * dy


@kernel
def within(points, others, reach):
    """Return how many points have one of the others within reach, so are where prints overlap."""
    count = 0
    for i in range(len(points)):
        for j in range(len(others)):
            dx, dy = points[i, 0] - others[j, 0], points[i, 1] - others[j, 1]
            if dx * dx + dy * dy < reach * reach:
                count += 1
                break
    return count


@kernel
def lay_upon(points, asking, place, reach, slack, rounds, met):
    """Align the asking print with another as well as possible; return how many minutiae meet.

    Also returns how many minutiae of each print overlap. Updates `place` and the partners, `met`.
    """
    moved = np.empty_like(asking)
    laid(asking, place, moved)
    count = partners(points, moved, reach, slack, met)
    for _ in range(rounds):
        if count < 3:
            break
        refit(points, asking, met, count, place)
        laid(asking, place, moved)
        count = partners(points, moved, reach, slack, met)
    return count, within(points, moved, 4 * reach), within(moved, points, 4 * reach)


@kernel
def lay_upon_each(points, starts, rows, asking, places, reach, slack, rounds):
    """Return for each print how many minutiae meet, and how many of each overlap: rows x 3."""
    counts = np.empty((len(rows), 3), np.int64)
    met = np.empty(len(asking), np.int64)
    for r in range(len(rows)):
        there = points[starts[rows[r]] : starts[rows[r] + 1]]
        counts[r, 0], counts[r, 1], counts[r, 2] = lay_upon(there, asking, places[r], reach, slack, rounds, met)
    return counts
