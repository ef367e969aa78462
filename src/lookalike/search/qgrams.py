"""Find all pairs of strings within some edits: q-grams select candidates, edit distances decide.

The q-grams of a string are the bag of its substrings of q characters: length - q + 1 of them, or
none if it is shorter. An insertion, deletion or replacement removes at most q of them, a swap of
neighbours q + 1 (but none if q = 1: the bag of characters stays the same). So if k edits turn x
into y, at most p = k q grams of x are not in y, or k (q + 1) with swaps, and as many of y are not
in x. If x and y have a and b grams, they share at least max(a, b) - p, and a and b differ by at
most k (Gravano et al., "Approximate string joins in a database (almost) for free", 2001). An index
of prefixes finds the pairs that share this many, if that is at least one.

How a pair within k edits is found depends on m, the length of the longer string. The other has at
least m - k characters. Each pair is found in one way only:

    m >= p + Q + SHARED - 1  by Q-grams: the longer string has p + SHARED, so the two share SHARED.
    m > k, but shorter       by 1-grams: now p = k, so the two share m - k characters in any order.
    m <= k                   all strings of at most k characters are compared with each other.

The empty string has no grams; but if it is one of the two, then m is their distance, so m <= k. The
last way wastes nothing: m replacements and deletions turn one such string into the other, so all
pairs match, and many do even if a replacement counts as two edits.

Candidates are verified, so sharing enough grams by chance, or by a hash collision, does no harm.
The cost is that of a join (see `joins`) with p + 1 lookups per string, and m**2 / 64 steps per
candidate, or m**2 with swaps. If k is small beside the lengths, candidates are few; if not, they
are nearly all pairs of similar length.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.items.shingles import Shingles
from lookalike.items.sides import Sides
from lookalike.kernels.bounds import GRAMS
from lookalike.measures.rows import counter
from lookalike.search.joins import Found, exact_pairs
from lookalike.theory.banding import CHUNK, too_many

# Among 30,000 names or words, with one to three edits, 3-grams leave fewer candidates than 2-grams,
# but where one or two shared ones suffice, single characters leave fewer still. Using both takes
# 25% to 90% of the time of 2-grams.
Q = 3
SHARED = 3
NO_LIMIT = 1 << 62  # on candidates
Chunks = Iterator[tuple[np.ndarray, np.ndarray]]  # left, right


def edit_pairs(texts: Sequence[str], edits: int, moves: str, sides: Sides, limit: int, run: Run) -> Found:
    """Return all pairs of strings at most `edits` apart: (left, right, distance, pairs compared).

    Positions are left < right; with two collections, only pairs across them count. `moves` says
    which edits are allowed. Pairs are compared by their grams; those that share enough of them, or
    are very short, by their edit distance. More than `limit` pairs are an error.
    """
    from rapidfuzz import process  # slow to import

    found = [(np.zeros(0, np.int64),) * 3]
    total, compared = 0, 0
    for chunks, pairs, seen in candidates(texts, edits, moves, sides, run):
        compared += seen
        with run.stage("edit distances", pairs) as tick:
            for left, right in chunks:
                one, two = ([texts[i] for i in side.tolist()] for side in (left, right))
                distance = process.cpdist(
                    one, two, scorer=counter(moves), score_cutoff=edits, dtype=np.int64, workers=run.threads
                )
                near = distance <= edits
                found.append((left[near], right[near], distance[near]))
                total += len(found[-1][0])
                if total > limit:
                    raise too_many(total, limit)
                tick(len(left))
    left, right, distance = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, distance, compared


def candidates(
    texts: Sequence[str], edits: int, moves: str, sides: Sides, run: Run
) -> Iterator[tuple[Chunks, int, int]]:
    """Yield candidate pairs, way by way, none twice: (chunks, number of pairs, pairs compared)."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    done = int(lengths.max(initial=0)) + 1  # all pairs with a string at least this long have been found
    for q, lost, shared in ((Q, edits * (Q + 1 if moves == "transpositions" else Q), SHARED), (1, edits, 1)):
        least = lost + q + shared - 1  # characters of the longer string
        if least < done:
            rows = np.flatnonzero((lengths >= least - edits) & (lengths < done))
            left, right, compared = share_grams(texts, rows, q, lost, edits, sides, run)
            long = np.maximum(lengths[left], lengths[right]) >= least
            yield listed(left[long], right[long]), int(long.sum()), compared
            done = least
    yield all_pairs(np.flatnonzero(lengths < done), sides)


def listed(left: np.ndarray, right: np.ndarray) -> Chunks:
    """Yield pairs in chunks."""
    return ((left[part], right[part]) for part in slices(len(left), CHUNK))


def share_grams(
    texts: Sequence[str], rows: np.ndarray, q: int, lost: int, edits: int, sides: Sides, run: Run
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the pairs that share at least one q-gram, and all but `lost` of the longer one's."""
    shingles = Shingles(k=q, unit="char", bag=True, space="keep", form="none")
    sets = shingles.sets(texts[i] for i in rows.tolist())
    left, right, _, compared = exact_pairs(sets, GRAMS, lost, edits, sides.among(rows), NO_LIMIT, run)
    return rows[left], rows[right], compared


def all_pairs(rows: np.ndarray, sides: Sides) -> tuple[Chunks, int, int]:
    """Return all pairs of the rows, or those across two collections: (chunks, pairs, pairs)."""
    one, two = sides.apart(rows)
    pairs = len(one) * len(two) if sides.two else len(rows) * (len(rows) - 1) // 2

    def chunks() -> Chunks:
        for part in slices(len(one), max(1, CHUNK // max(1, len(two)))):
            left, right = (side.ravel() for side in np.meshgrid(one[part], two, indexing="ij"))
            yield left[left < right], right[left < right]

    return chunks(), pairs, pairs
