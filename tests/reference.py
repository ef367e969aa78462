"""The plain-Python twin of every kernel: definitions on Python integers, strings, sets and Fractions.

Nothing here is fast and nothing wraps by itself, so each function can be checked by reading it.
"""

import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

from lookalike.kernels.characters import INDEX, KIND, PAGE, PAGES, SPACE, UNSTABLE

ALL = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
BASE = 0xD1342543DE82EF95
EMPTY = ALL


def mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
    return x ^ x >> 31


# --- texts ---


def traits(char):
    """What the frozen table says of a character."""
    return int(PAGES[INDEX[ord(char) // PAGE], ord(char) % PAGE])


def characters(text, space):
    """The characters of a text, its white space collapsed, kept or removed."""
    if space == "keep":
        return text
    chunks = "".join(" " if traits(c) & KIND == SPACE else c for c in text).split(" ")
    return (" " if space == "collapse" else "").join(chunk for chunk in chunks if chunk)


def words(text):
    """Letters with the letters and marks after them, or a lone letter with the marks after it."""
    kinds = "".join("SWLAM"[traits(c) & KIND] for c in text)
    return [text[found.start() : found.end()] for found in re.finditer("L[LM]*|AM*", kinds)]


def hash_character(char):
    return mix((ord(char) + 1) * GOLDEN & ALL)


def hash_word(word):
    value = 0
    for char in word:
        value = (value ^ ord(char)) * BASE & ALL
    return mix(value)


def hash_window(units):
    """The sum of units[i] * BASE**(k - 1 - i), scrambled."""
    k = len(units)
    return mix(sum(unit * BASE ** (k - 1 - i) for i, unit in enumerate(units)) & ALL)


def windows(units, k):
    """Every k consecutive units; fewer than k units are one window, none are none."""
    if len(units) <= k:
        return [units] if units else []
    return [units[i : i + k] for i in range(len(units) - k + 1)]


def hash_text(text, unit, k, space="collapse", keep=ALL):
    """The shingle hashes of a text in order, repeats included."""
    if unit == "char":
        units = [hash_character(c) for c in characters(text, space)]
    else:
        units = [hash_word(w) for w in words(text)]
    return [hash_window(window) & keep for window in windows(units, k)]


def hash_stops(text, stop_words, k, keep=ALL):
    """The hashes of each stop word with the k - 1 words after it, where they are there."""
    found = words(text)
    units = [hash_word(w) for w in found]
    return [hash_window(units[i : i + k]) & keep for i in range(len(units) - k + 1) if found[i] in stop_words]


def needs_normal_form(text):
    return any(traits(c) & UNSTABLE for c in text)


def hash_content(data):
    """Two hashes of bytes: eight at a time as little-endian numbers, the rest as one big-endian number."""
    one, two = len(data), ~len(data) & ALL
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        block = int.from_bytes(data[at : at + 8], "little")
        one = (one ^ block) * BASE & ALL
        one ^= one >> 29
        two = (two + block) * GOLDEN & ALL
        two ^= two >> 32
    tail = int.from_bytes(data[whole:], "big")
    return [mix((one ^ tail) * BASE & ALL), mix((two + tail) * GOLDEN & ALL)]


# --- sets ---


def sort_row(row, bag):
    """A row as a sorted set; in a bag the c-th further copy of x becomes an element of its own."""
    if not bag:
        return sorted(set(row))
    return sorted(mix(x + c * GOLDEN & ALL) if c else x for x, n in Counter(row).items() for c in range(n))


def hash_row(row):
    """Two hashes of a row of elements, in their order."""
    one, two = len(row), ~len(row) & ALL
    for x in row:
        one, two = mix(one ^ x), mix((two + x) & ALL)
    return [one, two]


def jaccard(a, b):
    """The exact Jaccard similarity of two collections taken as sets; 0 where both are empty."""
    a, b = set(a), set(b)
    return Fraction(len(a & b), len(a | b)) if a or b else Fraction(0)


def overlap(a, b, threshold):
    """How many elements two sets share if they are similar, else -1; empty sets are similar to nothing."""
    return len(set(a) & set(b)) if jaccard(a, b) >= threshold and set(a) & set(b) else -1


def similar_pairs(sets, threshold, split=None):
    """{(i, j): shared} of all similar pairs i < j; with a split those across it."""
    pairs = [(i, j) for i, j in combinations(range(len(sets)), 2) if split is None or i < split <= j]
    found = {(i, j): overlap(sets[i], sets[j], threshold) for i, j in pairs}
    return {pair: shared for pair, shared in found.items() if shared >= 0}


def prefix(row, ranks, shift, threshold):
    """The first n - ceil(n t) + 1 elements by rank and hash, without those of rank 0."""
    need = -(-len(row) * threshold.numerator // threshold.denominator)
    first = sorted(row, key=lambda x: (ranks[x >> shift], x))[: len(row) - need + 1 if row else 0]
    return [x for x in first if ranks[x >> shift]]


# --- sketches ---


def sketch(elements, seed, bins):
    """Fast Similarity Sketching: in each round every element draws a bin and a fraction v.

    A bin keeps the least i + v, i the round. There are 2 * bins rounds; in the second half all elements draw
    bin i - bins.
    """
    out = [EMPTY] * bins
    for i in range(2 * bins):
        if EMPTY not in out:
            break  # what later rounds draw is greater
        for x in elements:
            draw = mix(x ^ (seed + (i + 1) * GOLDEN & ALL))
            place = (draw >> 32) * bins >> 32 if i < bins else i - bins
            out[place] = min(out[place], i << 32 | draw & 2**32 - 1)
    return out


def band_keys(signature, bands, rows):
    """A hash of each band's values; EMPTY if one of them is."""
    keys = []
    for band in range(bands):
        key = 0
        values = signature[band * rows : (band + 1) * rows]
        for value in values:
            key = (key ^ mix(value)) * BASE & ALL
        keys.append(EMPTY if EMPTY in values else mix(key))
    return keys


def count_agreements(signatures):
    """How many pairs of signatures agree in 0, 1, ... K positions."""
    same = Counter(sum(x == y != EMPTY for x, y in zip(a, b, strict=True)) for a, b in combinations(signatures, 2))
    return [same[n] for n in range(len(signatures[0]) + 1)]


# --- buckets ---


def members(keys, mask):
    """The items that share a key with another but for the mask's bits, by key; those whose key is EMPTY do not."""
    buckets = {}
    for item, key in enumerate(keys):
        if key | mask != EMPTY:
            buckets.setdefault(key & ~mask, []).append(item)
    return [bucket for _, bucket in sorted(buckets.items()) if len(bucket) > 1]


def bucket_pairs(buckets, split=None):
    """The pairs that share a bucket; with a split those across it."""
    pairs = {pair for bucket in buckets for pair in combinations(bucket, 2)}
    return {(i, j) for i, j in pairs if split is None or i < split <= j}


def buckets_of(buckets, n):
    """The buckets of each item."""
    return [[b for b, bucket in enumerate(buckets) if item in bucket] for item in range(n)]


def first_similar(item, shelves, patience, sets, threshold):
    """(the first similar item or None, the items met); after `patience` items no further shelf is tried."""
    met = []
    for shelf in shelves:
        for other in shelf:
            if other not in met:
                met.append(other)
                if overlap(sets[item], sets[other], threshold) >= 0:
                    return other, met
        if len(met) >= patience:
            break
    return None, met


def stars(order, buckets, room, patience, sets, threshold):
    """Keep each item that is similar to none kept before in its buckets: (centre, shared, crowded).

    A bucket remembers the first `room` items kept; `crowded` counts the kept items for which a bucket had no
    room left or patience ended the search.
    """
    kept = [[] for _ in buckets]
    centre, shared, crowded = {}, {}, 0
    for item in order:
        shelves = [kept[b] for b, bucket in enumerate(buckets) if item in bucket]
        other, met = first_similar(item, shelves, patience, sets, threshold)
        centre[item] = item if other is None else other
        shared[item] = len(set(sets[item]) & set(sets[centre[item]]))
        if other is None:
            crowded += any(len(shelf) == room for shelf in shelves) or len(met) >= patience
            for shelf in shelves:
                shelf += [item] * (len(shelf) < room)
    return centre, shared, crowded


def components(n, pairs):
    """The least item of each item's connected component."""
    label = list(range(n))
    for a, b in pairs:
        low, high = sorted((label[a], label[b]))
        label = [low if x == high else x for x in label]
    return label


def join_buckets(buckets, reach, patience, sets, threshold):
    """Components by comparing each item with the `reach` before it in its buckets, least distant first.

    Items already joined are not compared; after `patience` unlike items an item looks no further.
    """
    joined, unlike = [], Counter()
    for bucket in buckets:
        for i, item in enumerate(bucket):
            for other in reversed(bucket[max(0, i - reach) : i]):
                label = components(len(sets), joined)
                if unlike[item] < patience and label[item] != label[other]:
                    if overlap(sets[item], sets[other], threshold) >= 0:
                        joined.append((item, other))
                    else:
                        unlike[item] += 1
    return components(len(sets), joined)
