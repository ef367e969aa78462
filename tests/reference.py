"""Plain-Python twins of all kernels: definitions on Python integers, strings, sets and Fractions.

Nothing here is fast and no integer overflows, so each function can be checked by reading it.
"""

import cmath
import math
import re
from bisect import bisect_left
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, combinations, groupby, pairwise, product
from operator import mul
from statistics import NormalDist

from lookalike.kernels.characters import INDEX, KIND, PAGE, PAGES, SPACE, UNSTABLE

ALL = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
BASE = 0xD1342543DE82EF95
EMPTY = ALL


def mix(x):
    """Apply the finaliser of splitmix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
    return x ^ x >> 31


# --- texts ---


def traits(char):
    """Return what the frozen table says about a character."""
    return int(PAGES[INDEX[ord(char) // PAGE], ord(char) % PAGE])


def characters(text, space):
    """Return the characters of a text, with white space collapsed, kept or removed."""
    if space == "keep":
        return text
    chunks = "".join(" " if traits(c) & KIND == SPACE else c for c in text).split(" ")
    return (" " if space == "collapse" else "").join(chunk for chunk in chunks if chunk)


def words(text, punctuation=False):
    """Return the words: runs of letters and marks, or a lone letter or sign with its marks."""
    kinds = "".join("SWLAM"[traits(c) & KIND] for c in text)
    pattern = "L[LM]*|[AS]M*" if punctuation else "L[LM]*|AM*"
    return [text[found.start() : found.end()] for found in re.finditer(pattern, kinds)]


def hash_character(char):
    return mix((ord(char) + 1) * GOLDEN & ALL)


def hash_word(word):
    value = 0
    for char in word:
        value = (value ^ ord(char)) * BASE & ALL
    return mix(value)


def hash_window(units):
    """Return the sum of units[i] * BASE**(k - 1 - i), scrambled."""
    k = len(units)
    return mix(sum(unit * BASE ** (k - 1 - i) for i, unit in enumerate(units)) & ALL)


def windows(units, k):
    """Return all runs of k units; fewer than k units are one window, no units make none."""
    if len(units) <= k:
        return [units] if units else []
    return [units[i : i + k] for i in range(len(units) - k + 1)]


def hash_text(text, unit, k, space="collapse", keep=ALL, punctuation=False):
    """Return the shingle hashes of a text in order, including repeats."""
    if unit == "char":
        units = [hash_character(c) for c in characters(text, space)]
    else:
        units = [hash_word(w) for w in words(text, punctuation)]
        if len(units) < k:
            return hash_whole(text, keep)
    return [hash_window(window) & keep for window in windows(units, k)]


def hash_whole(text, keep=ALL):
    """Return the hash of a text as one shingle, or nothing for a blank text."""
    units = [hash_character(c) for c in characters(text, "collapse")]
    return [hash_window(units) & keep] if units else []


def spots(words, antecedents, skipped, k, distance):
    """Return each antecedent with k - 1 later words, every distance-th of those not skipped."""
    found = []
    for at, word in enumerate(words):
        chain = [other for other in words[at + 1 :] if other not in skipped][distance - 1 :: distance][: k - 1]
        if word in antecedents and len(chain) == k - 1:
            found.append([word, *chain])
    return found


def hash_spots(text, antecedents, skipped, k, distance, keep=ALL):
    """Return the hashes of `spots`."""
    found = spots(words(text), antecedents, skipped, k, distance)
    return [hash_window([hash_word(word) for word in spot]) & keep for spot in found]


def needs_normal_form(text):
    return any(traits(c) & UNSTABLE for c in text)


def hash_content(data):
    """Return two hashes of bytes: eight at a time, little-endian, then the rest, big-endian."""
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
    """Return a row as a sorted set; in a bag, each further copy of x becomes another element."""
    if not bag:
        return sorted(set(row))
    return sorted(mix(x + c * GOLDEN & ALL) if c else x for x, n in Counter(row).items() for c in range(n))


def hash_row(row):
    """Return two hashes of a row of elements, in their order."""
    one, two = len(row), ~len(row) & ALL
    for x in row:
        one, two = mix(one ^ x), mix((two + x) & ALL)
    return [one, two]


def jaccard(a, b):
    """Return the exact Jaccard similarity of two collections as sets; 0 if both are empty."""
    a, b = set(a), set(b)
    return Fraction(len(a & b), len(a | b)) if a or b else Fraction(0)


def similar_overlap(a, b, threshold):
    """Return how many elements two similar sets share, else -1; empty sets are never similar."""
    return len(set(a) & set(b)) if jaccard(a, b) >= threshold and set(a) & set(b) else -1


def shared_weight(a, b, threshold):
    """Return the weight that two similar sets, dicts from element to weight, share, else -1."""
    shared = sum((a[x] for x in sorted(a) if x in b), 0.0)
    whole = total_weight(a) + total_weight(b)
    p, q = threshold.as_integer_ratio()
    return shared if shared and shared * q >= p * (whole - shared) else -1


def total_weight(a):
    """Return the total weight of a set, added up in the order of its elements."""
    return sum((a[x] for x in sorted(a)), 0.0)


def race(weights, seed, bins):
    """Return when the first element arrives in each bin, by listing many arrivals of every element."""
    times = [math.inf] * bins
    for x, weight in weights.items():
        step, time = mix(x ^ seed), 0.0
        for _ in range(100 * bins):
            step = step + GOLDEN & ALL
            time -= math.log((mix(step) >> 11) * 2.0**-53 + 2.0**-54) / (bins * weight)
            place = (mix(step ^ BASE) >> 32) * bins >> 32
            times[place] = min(times[place], time)
    return times


def without_common(rows, limit):
    """Drop from lists what more than `limit` of them have, unless a list would have nothing left."""
    counts = Counter(x for row in rows for x in set(row))
    return [[x for x in row if counts[x] <= limit] or row for row in rows]


def similar_pairs(sets, threshold, split=None):
    """Return {(i, j): shared} of all similar pairs i < j; with a split, those across it."""
    pairs = [(i, j) for i, j in combinations(range(len(sets)), 2) if split is None or i < split <= j]
    found = {(i, j): similar_overlap(sets[i], sets[j], threshold) for i, j in pairs}
    return {pair: shared for pair, shared in found.items() if shared >= 0}


def is_similar(kind, a, b, shared, p, q):
    """Return whether sets of a and b elements are similar, by the definition of each kind."""
    if kind == "JACCARD":
        return shared > 0 and Fraction(shared, a + b - shared) >= Fraction(p, q)
    if kind == "CONTAINMENT":
        return shared > 0 and Fraction(shared, min(a, b)) >= Fraction(p, q)
    if kind == "COSINE":
        return shared > 0 and Fraction(shared * shared, a * b) >= Fraction(p, q) ** 2
    if kind == "OVERLAP":
        return shared >= p
    return shared > 0 and shared >= max(a, b) - p and abs(a - b) <= q


def joined(sets, kind, p, q, split=None):
    """Return {(i, j): shared} of similar pairs i < j of any kind; with a split, across it."""
    pairs = [(i, j) for i, j in combinations(range(len(sets)), 2) if split is None or i < split <= j]
    shared = {(i, j): len(set(sets[i]) & set(sets[j])) for i, j in pairs}
    return {(i, j): n for (i, j), n in shared.items() if is_similar(kind, len(sets[i]), len(sets[j]), n, p, q)}


def prefix(elements, ranks, probe, index):
    """Return the tokens of a set: [(element, place, kept)], of rank 1 or more, among the first `probe`."""
    ordered = sorted(elements, key=lambda x: (ranks[x], x))
    return [(x, at, at < index) for at, x in enumerate(ordered[:probe]) if ranks[x]]


def postings(tokens, same):
    """Return the postings of tokens [(element, owner, place, kept)], and the range that each looks up.

    Elements x and y share a list of postings if same(x) == same(y).
    """
    posted, ranges = [], [None] * len(tokens)
    lists = [same(element) for element, *_ in tokens]
    for _, group in groupby(sorted(range(len(tokens)), key=lambda t: (lists[t], t)), lists.__getitem__):
        begin = len(posted)
        for token in group:
            element, owner, place, kept = tokens[token]
            ranges[token] = (begin, len(posted))
            posted += [(element, owner, place)] if kept else []
    return posted, ranges


def integers(texts):
    """Return texts as integers that fit in 64 bits, all signed or all unsigned, or else None."""
    if not all(re.fullmatch("0|-?[1-9][0-9]*", text, re.ASCII) for text in texts):
        return None
    numbers = [int(text) for text in texts]
    fit = any(all(low <= x < low + 2**64 for x in numbers) for low in (-(2**63), 0))
    return numbers if fit else None


# --- sketches ---


def sketch(elements, seed, bins):
    """Return a Fast Similarity Sketch: in each round every element draws a bin and a fraction v.

    A bin keeps the least i + v, where i is the round. There are 2 * bins rounds; in the second half
    all elements draw bin i - bins.
    """
    out = [EMPTY] * bins
    for i in range(2 * bins):
        if EMPTY not in out:
            break  # later rounds draw greater values
        for x in elements:
            draw = mix(x ^ (seed + (i + 1) * GOLDEN & ALL))
            place = (draw >> 32) * bins >> 32 if i < bins else i - bins
            out[place] = min(out[place], i << 32 | draw & 2**32 - 1)
    return out


def band_keys(signature, bands, rows):
    """Return a hash of each band's values; EMPTY if one of them is EMPTY."""
    keys = []
    for band in range(bands):
        key = 0
        values = signature[band * rows : (band + 1) * rows]
        for value in values:
            key = (key ^ mix(value)) * BASE & ALL
        keys.append(EMPTY if EMPTY in values else mix(key))
    return keys


def count_agreements(signatures, places):
    """Return how many pairs of signatures agree in 0, 1, ... K positions: from two places, and from one."""
    same = Counter(
        (place == other, sum(x == y != EMPTY for x, y in zip(a, b, strict=True)))
        for (a, place), (b, other) in combinations(zip(signatures, places, strict=True), 2)
    )
    return [[same[one, n] for n in range(len(signatures[0]) + 1)] for one in (False, True)]


# --- buckets ---


def members(keys, mask):
    """Return buckets of items with equal keys but for the mask's bits; EMPTY keys are skipped."""
    buckets = {}
    for item, key in enumerate(keys):
        if key | mask != EMPTY:
            buckets.setdefault(key & ~mask, []).append(item)
    return [bucket for _, bucket in sorted(buckets.items()) if len(bucket) > 1]


def sorted_part(keys, bits, part, mask):
    """Return the keys that begin with these bits, in order, with positions in the mask's bits."""
    return sorted(key & ~mask | at for at, key in enumerate(keys) if key >> (64 - bits) == part)


def masked_key(words, mask):
    """Return a hash of the bits of some words that the mask's words select."""
    key = 0
    for word, some in zip(words, mask, strict=True):
        key = mix((key ^ word & some) + GOLDEN & ALL)
    return key


def bucket_pairs(buckets, split=None):
    """Return the pairs that share a bucket; with a split, those across it."""
    pairs = {pair for bucket in buckets for pair in combinations(bucket, 2)}
    return {(i, j) for i, j in pairs if split is None or i < split <= j}


def buckets_of(buckets, n):
    """Return the buckets of each item."""
    return [[b for b, bucket in enumerate(buckets) if item in bucket] for item in range(n)]


def first_similar(item, shelves, patience, sets, threshold):
    """Return the first similar item or None, and the items met before `patience` ran out."""
    met = []
    for shelf in shelves:
        for other in shelf:
            if other not in met:
                met.append(other)
                if similar_overlap(sets[item], sets[other], threshold) >= 0:
                    return other, met
        if len(met) >= patience:
            break
    return None, met


def stars(order, buckets, room, patience, sets, threshold, step):
    """Keep each item unless it is similar to one kept before in its buckets.

    Return (centre, shared, crowded). A bucket remembers the first `room` kept items; `crowded`
    counts kept items for which a bucket was full or `patience` ended the search. Of every `step`
    items, each is compared first with those kept before all of them, then with those kept since.
    """
    kept = [[] for _ in buckets]
    centre, shared, crowded = {}, {}, 0
    before = set()
    for number, item in enumerate(order):
        if number % step == 0:
            before = {one for shelf in kept for one in shelf}
        shelves = [kept[b] for b, bucket in enumerate(buckets) if item in bucket]
        old = [[other for other in shelf if other in before] for shelf in shelves]
        new = [[other for other in shelf if other not in before] for shelf in shelves]
        other, met = first_similar(item, old, patience, sets, threshold)
        if other is None and len(met) < patience:
            other, more = first_similar(item, new, patience - len(met), sets, threshold)
            met += more
        centre[item] = item if other is None else other
        shared[item] = len(set(sets[item]) & set(sets[centre[item]]))
        if other is None:
            crowded += any(len(shelf) == room for shelf in shelves) or len(met) >= patience
            for shelf in shelves:
                shelf += [item] * (len(shelf) < room)
    return centre, shared, crowded


def components(n, pairs):
    """Return the least item of each item's connected component."""
    label = list(range(n))
    for a, b in pairs:
        low, high = sorted((label[a], label[b]))
        label = [low if x == high else x for x in label]
    return label


def join_supported(n, links, evidence, unknown, most, split=None, known=()):
    """Return (label, joined): join groups along links if the evidence between them is not negative.

    Items begin alone, or in `known` groups.

    `evidence` has a number for each pair (least item first) that was compared. The links are gone
    through again until none of them joins.
    """
    groups = [*known, *({item} for item in range(n) if not any(item in group for group in known))]
    joined = [False] * len(links)
    before = None
    while before != joined:
        before = list(joined)
        for at, link in enumerate(links):
            one, other = (next(group for group in groups if item in group) for item in link)
            pairs = [tuple(sorted(pair)) for pair in product(one, other)]
            counted = [(a, b) for a, b in pairs if split is None or a < split <= b]
            known = [evidence[pair] for pair in counted if pair in evidence]
            rest = min(len(counted) - len(known), most * min(len(one), len(other)))
            if one is not other and sum(known) + unknown * rest >= 0:
                joined[at] = True
                groups = [group for group in groups if group not in (one, other)] + [one | other]
    return [min(group) for item in range(n) for group in groups if item in group], joined


def similar_in_buckets(bands, reach, patience, sets, threshold, step):
    """Return the pairs that connect similar items, comparing each with the `reach` before it.

    The closest come first. Items are not compared that earlier bands connect, or the same part of
    `step` items; after `patience` dissimilar items in all bands the search for an item ends.
    """
    joined, unlike = [], Counter()
    for band in bands:
        label, found = components(len(sets), joined), []
        places = [(bucket, i) for bucket in band for i in range(len(bucket))]
        for start in range(0, len(places), step):
            near = []
            for bucket, i in places[start : start + step]:
                item = bucket[i]
                for other in reversed(bucket[max(0, i - reach) : i]):
                    if unlike[item] >= patience:
                        break
                    near += [(item, other)] * (label[item] == label[other])
                    own = components(len(sets), near)
                    if own[item] == own[other]:
                        continue
                    if similar_overlap(sets[item], sets[other], threshold) >= 0:
                        near.append((item, other))
                        found.append((item, other))
                    else:
                        unlike[item] += 1
        joined += found
    return joined


# --- measures ---


def bag_jaccard(a, b, union="max"):
    """Return the smaller counts over the larger ones, or over both; 0 if both bags are empty."""
    a, b = Counter(a), Counter(b)
    every = {*a, *b}
    whole = sum(max(a[x], b[x]) if union == "max" else a[x] + b[x] for x in every)
    return Fraction(sum(min(a[x], b[x]) for x in every), whole) if whole else Fraction(0)


def containment(a, b):
    """Return the share of a's elements that b has; 0 if a is empty."""
    return Fraction(sum(x in set(b) for x in set(a)), len(set(a))) if a else Fraction(0)


def set_cosine(a, b):
    """Return the shared elements over the geometric mean of the sizes; 0 if one is empty."""
    return len(set(a) & set(b)) / math.sqrt(len(set(a)) * len(set(b))) if a and b else 0.0


def overlap(a, b):
    """Return how many elements two sets share."""
    return sum(x in set(b) for x in set(a))


def minkowski(x, y, r=2):
    """Return (sum |x_i - y_i|**r) ** (1/r) to 50 digits; for r infinite, the largest difference."""
    with localcontext(prec=50):
        apart = [abs(Decimal(a) - Decimal(b)) for a, b in zip(x, y, strict=True)]
        if r == math.inf:
            return max(apart, default=Decimal(0))
        return sum((d ** Decimal(r) for d in apart), Decimal(0)) ** (1 / Decimal(r))


def euclidean(x, y):
    return minkowski(x, y, 2)


def manhattan(x, y):
    return minkowski(x, y, 1)


def chebyshev(x, y):
    return minkowski(x, y, math.inf)


def square_of_angle(x, y):
    """Return (x.y)**2 / (x.x y.y), exactly, and the sign of x.y."""
    x, y = [Fraction(value) for value in x], [Fraction(value) for value in y]
    xx, xy, yy = (sum(map(mul, *sides)) for sides in ((x, x), (x, y), (y, y)))
    return xy * xy / (xx * yy), 1 if xy >= 0 else -1


def cosine_similarity(x, y):
    square, sign = square_of_angle(x, y)
    return sign * math.sqrt(square)


def angle(x, y):
    """Return the angle in degrees, from the squares of its sine and cosine."""
    square, sign = square_of_angle(x, y)
    return math.degrees(math.atan2(math.sqrt(1 - square), sign * math.sqrt(square)))


def inner_product(x, y):
    """Return the sum of the products in order; if one overflows, that of x and y on a scale of 2**-540 each."""
    total = sum((a * b for a, b in zip(x, y, strict=True)), 0.0)
    if math.isfinite(total):
        return total
    scale = 2.0**-540
    return sum(((a * scale) * (b * scale) for a, b in zip(x, y, strict=True)), 0.0) / scale / scale


def hamming(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


def edit(x, y, moves="indel"):
    """Return the fewest edits, by dynamic programming; with transpositions, by Lowrance and Wagner.

    cost[i, j] is the cost of turning the first i symbols of x into the first j of y. Symbols with
    others between them are swapped by first deleting those of x and then inserting those of y.
    """
    cost = {}
    row_of = {}  # the last row before this one with each symbol of x
    for i in range(len(x) + 1):
        column = 0  # the last column before this one with this row's symbol
        for j in range(len(y) + 1):
            ways = [] if i or j else [0]
            if i:
                ways.append(cost[i - 1, j] + 1)
            if j:
                ways.append(cost[i, j - 1] + 1)
            if i and j:
                same, row = x[i - 1] == y[j - 1], row_of.get(y[j - 1], 0)
                if same:
                    ways.append(cost[i - 1, j - 1])
                if moves != "indel":
                    ways.append(cost[i - 1, j - 1] + 1)
                if moves == "transpositions" and row and column:
                    ways.append(cost[row - 1, column - 1] + (i - row - 1) + 1 + (j - column - 1))
                if same:
                    column = j
            cost[i, j] = min(ways)
        if i:
            row_of[x[i - 1]] = i
    return cost[len(x), len(y)]


def levenshtein(x, y):
    """Return the fewest insertions, deletions and replacements."""
    return edit(x, y, "levenshtein")


def edited(x, letters, moves):
    """Yield every string that is one edit away."""
    n = len(x)
    yield from (x[:i] + x[i + 1 :] for i in range(n))
    yield from (x[:i] + letter + x[i:] for i in range(n + 1) for letter in letters)
    if moves != "indel":
        yield from (x[:i] + letter + x[i + 1 :] for i in range(n) for letter in letters)
    if moves == "transpositions":
        yield from (x[:i] + x[i + 1] + x[i] + x[i + 2 :] for i in range(n - 1))


def edits_from(x, letters, longest, moves):
    """Return {string: fewest edits} of all strings up to a length, by trying all edits."""
    found, last = {x: 0}, [x]
    while last:
        new = {other for string in last for other in edited(string, letters, moves) if len(other) <= longest}
        new -= found.keys()
        found |= dict.fromkeys(new, found[last[0]] + 1)
        last = list(new)
    return found


def lcs_length(x, y):
    """Return the length of a longest common subsequence, by dynamic programming over prefixes."""
    length = Counter()
    for i, a in enumerate(x, 1):
        for j, b in enumerate(y, 1):
            length[i, j] = length[i - 1, j - 1] + 1 if a == b else max(length[i - 1, j], length[i, j - 1])
    return length[len(x), len(y)]


# --- families ---


def draw_words(seed, rows, columns, stream=0):
    """Return rows of random words: number i of a stream is a hash of its start and i, from 1 on."""
    start = mix(seed + stream * GOLDEN & ALL)
    return [[mix(start + (row * columns + i) * GOLDEN & ALL) for i in range(1, columns + 1)] for row in range(rows)]


def draw_uniforms(seed, rows, columns, stream=0):
    """Return the high 53 bits of each word, as a number in (0, 1]."""
    return [[((word >> 11) + 1) / 2**53 for word in row] for row in draw_words(seed, rows, columns, stream)]


def draw_gaussians(seed, rows, columns):
    """Return Box-Muller numbers: the length from the first stream, the angle from the second."""
    sides = draw_uniforms(seed, rows, columns, 0), draw_uniforms(seed, rows, columns, 1)
    return [
        [math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v) for u, v in zip(*row, strict=True)]
        for row in zip(*sides, strict=True)
    ]


def draw_units(seed, rows, columns):
    """Return Gaussian vectors divided by their lengths."""
    return [[x / math.hypot(*row) for x in row] for row in draw_gaussians(seed, rows, columns)]


def draw_signs(seed, rows, columns):
    """Return the highest bit of each word: 1 is +1, 0 is -1."""
    return [[1.0 if word >> 63 else -1.0 for word in row] for row in draw_words(seed, rows, columns)]


def draw_samples(seed, rows, size, of):
    """Return the positions of the least words of each row, the least first."""
    return [sorted(range(of), key=row.__getitem__)[:size] for row in draw_words(seed, rows, of)]


def dot(x, y):
    """Return the dot product, added up in order."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += a * b
    return total


def project(rows, directions):
    """Return the dot product of each row with each direction."""
    return [[dot(row, direction) for direction in directions] for row in rows]


def hyperplane_signature(row, normals):
    """Return on which side of each hyperplane a vector lies; 1 on the hyperplane itself."""
    return [int(dot(row, normal) >= 0) for normal in normals]


def line_signature(row, lines, offsets, width):
    """Return the segment of each line that a point falls into."""
    return [math.floor((dot(row, line) + offset) / width) for line, offset in zip(lines, offsets, strict=True)]


def bit_signature(row, positions):
    """Return the symbols at some positions, characters as their code points."""
    return [ord(row[at]) if isinstance(row[at], str) else row[at] for at in positions]


def square_signature(cells, functions):
    """Return 0 for each function whose squares are all among the cells, else EMPTY."""
    return [0 if set(function) <= set(cells) else EMPTY for function in functions]


def field_signature(values):
    """Return a hash of each value as a text; EMPTY for None, nan and the empty text."""
    missing = [value is None or value != value or value == "" for value in values]
    return [EMPTY if gone else hash_content(str(x).encode())[0] for x, gone in zip(values, missing, strict=True)]


def agreement(a, b):
    """Return on which functions two signatures agree."""
    return [x == y != EMPTY for x, y in zip(a, b, strict=True)]


def cascade_agrees(steps, agreed):
    """Return whether a cascade of ("And" or "Or", count) agrees; the last is on equal parts."""
    if not steps:
        (single,) = agreed
        return single
    *inner, (kind, count) = steps
    size = len(agreed) // count
    parts = [cascade_agrees(inner, agreed[part * size : (part + 1) * size]) for part in range(count)]
    return all(parts) if kind == "And" else any(parts)


# --- simhash ---


def normal_part(part):
    """Return the mean of one of 256 equal parts of the normal distribution, in thousandths."""
    normal = NormalDist()
    ends = [normal.inv_cdf(edge / 256) if 0 < edge < 256 else math.inf for edge in (part, part + 1)]
    below, above = (math.exp(-end * end / 2) / math.sqrt(2 * math.pi) for end in ends)
    return round(256_000 * (below - above))


NORMAL_PARTS = [normal_part(part) for part in range(256)]


def normal_number(x, seed, function):
    """Return a function's number for an element, by byte function % 8 of hash function // 8."""
    draw = mix(x ^ (seed + (function // 8 + 1) * GOLDEN & ALL))
    return NORMAL_PARTS[draw >> 8 * (function % 8) & 255]


def simhash(elements, seed, hashes, weights=None):
    """Return whether each function's numbers of the elements, weighted, add up to zero or more.

    All signs are 0 if there are no elements or no weights.
    """
    pairs = [(x, w) for x, w in zip(elements, weights or [1] * len(elements), strict=True) if w]
    sums = [sum(w * normal_number(x, seed, function) for x, w in pairs) for function in range(hashes)]
    return [int(bool(pairs) and total >= 0) for total in sums]


def pack_signs(signs):
    """Return signs as 64-bit integers, the first sign in the lowest bit."""
    words = [signs[start : start + 64] for start in range(0, len(signs), 64)]
    return [sum(sign << i for i, sign in enumerate(word)) for word in words]


def sign_agreement(shared, left, right, numbers):
    """Return the probability that sums of random numbers have the same sign for two sets.

    `shared` elements are in both sets, `left` and `right` in one; `numbers` are equally likely, and
    zero counts as positive.
    """
    both, one, two = (sum_distribution(count, numbers) for count in (shared, left, right))
    high = at_least(one, [-total for total in both]), at_least(two, [-total for total in both])
    return sum(p * (a * b + (1 - a) * (1 - b)) for p, a, b in zip(both.values(), *high, strict=True))


def sum_distribution(count, numbers):
    """Return {sum: probability} of `count` numbers drawn with replacement; the least sum first."""
    found, copies = {0: 1.0}, Counter(numbers)
    for _ in range(count):
        longer = Counter()
        for total, p in found.items():
            for number, n in copies.items():
                longer[total + number] += p * n / len(numbers)
        found = longer
    return dict(sorted(found.items()))


def at_least(distribution, bounds):
    """Return the probability of a number of at least each of the bounds."""
    totals, below = list(distribution), [0.0, *accumulate(distribution.values())]
    return [1 - below[bisect_left(totals, bound)] for bound in bounds]


# --- near vectors ---


def pairs_in(order, rectangles):
    """Yield the pairs in blocks, the item of the rows first; a block with itself counts once."""
    for a0, a1, b0, b1 in rectangles:
        yield from ((order[i], order[j]) for i in range(a0, a1) for j in range(i + 1 if a0 == b0 else b0, b1))


def near_products(rows, halves, order, rectangles, bounds):
    """Return the sorted numbers of pairs with x.y - halves[x] - halves[y] >= bounds[x]."""
    near = [
        (min(x, y), max(x, y))
        for x, y in pairs_in(order, rectangles)
        if sum(map(mul, rows[x], rows[y])) - halves[x] - halves[y] >= bounds[x]
    ]
    return sorted(left * len(rows) + right for left, right in near)


def near_codes(codes, order, rectangles, bounds):
    """Return the sorted numbers of pairs of integers that differ in at most bounds[x] bits."""
    near = [
        (min(x, y), max(x, y)) for x, y in pairs_in(order, rectangles) if (codes[x] ^ codes[y]).bit_count() <= bounds[x]
    ]
    return sorted(left * len(codes) + right for left, right in near)


def first_k(values, k, farthest):
    """Return [(position, value)] of the k least values up to `farthest`, ties in their order."""
    return sorted(((at, v) for at, v in enumerate(values) if v <= farthest), key=lambda one: (one[1], one[0]))[:k]


# --- fingerprints ---
# Minutiae are (x, y, direction in turns); a placement is (turn, place of the centre as x + iy).


def wrapped(turn):
    """Return the same turn between -1/2 and 1/2."""
    return turn - math.floor(turn + 0.5)


def rotation(turn):
    return cmath.rect(1, turn * math.tau)


def place_of(minutia):
    return complex(minutia[0], minutia[1])


def centre_of(minutiae):
    return sum(map(place_of, minutiae)) / len(minutiae)


def seen_from(minutia, other):
    """Return distance, bearing and direction of another minutia as seen from one."""
    way = place_of(other) - place_of(minutia)
    bearing = math.atan2(way.imag, way.real) / math.tau - minutia[2]
    return math.hypot(way.real, way.imag), wrapped(bearing), wrapped(other[2] - minutia[2])


def corners(minutiae, neighbours, nearest, farthest):
    """Return [(number of a minutia, two of its nearest as seen from it)], lesser bearing first."""
    found = []
    for number, minutia in enumerate(minutiae):
        seen = [seen_from(minutia, other) for other in minutiae]
        around = sorted((one for one in seen if nearest <= one[0] <= farthest), key=lambda one: one[0])[:neighbours]
        for one in range(len(around)):
            for two in range(one):
                first, second = sorted((around[two], around[one]), key=lambda one: one[1])
                found.append((number, [*first, *second]))
    return found


def corner_code(features, offsets, width, parts):
    """Return a code of six numbers: distances in pieces of `width`, angles in `parts` of a turn.

    Each starts from an offset. An odd factor spreads the code over 32 bits.
    """
    code = 0
    for at, (value, offset) in enumerate(zip(features, offsets, strict=True)):
        if at % 3 == 0:
            code = code * 64 + math.floor(value / width + offset)
        else:
            code = code * parts + math.floor((value + 0.5) * parts + offset) % parts
    return code * 0x9E3779B1 % 2**32


def meetings(held, asked, owners, prints):
    """Return for each print [(its minutia, the query's)] of corners with the same code.

    They are in order of table and code. `held` and `asked` are [(minutia, one code per table)],
    `owners` the prints of the minutiae.
    """
    found = [[] for _ in range(prints)]
    for table in range(len(asked[0][1]) if asked else 0):
        for ours, codes in sorted(asked, key=lambda one: one[1][table]):
            for theirs, others in held:
                if others[table] == codes[table]:
                    found[owners[theirs]].append((theirs, ours))
    return found


def laid_by(there, here, centre):
    """Return how a print lies if its minutia `here` is the minutia `there` of another."""
    turn = wrapped(there[2] - here[2])
    return turn, place_of(there) + rotation(turn) * (centre - place_of(here))


def agree(one, other, slack, reach):
    return abs(one[1] - other[1]) < reach and abs(wrapped(one[0] - other[0])) < slack


def agreed(said, slack, reach, asked=64):
    """Return how many agree with the best of about `asked`, and their mean turn and place."""
    best = []
    for one in said[:: max(1, len(said) // asked)]:
        some = [other for other in said if agree(one, other, slack, reach)]
        if len(some) > len(best):
            best, chosen = some, one
    turn = chosen[0] + sum(wrapped(other[0] - chosen[0]) for other in best) / len(best)
    return len(best), turn, sum(other[1] for other in best) / len(best)


def laid(asking, lies):
    """Return the minutiae of the query as they lie after it is placed."""
    turn, place = lies
    centre = centre_of(asking) if asking else 0
    places = [place + rotation(turn) * (place_of(minutia) - centre) for minutia in asking]
    return [(at.real, at.imag, minutia[2] + turn) for at, minutia in zip(places, asking, strict=True)]


def apart(one, other):
    """Return the squared distance of two minutiae."""
    dx, dy = other[0] - one[0], other[1] - one[1]
    return dx * dx + dy * dy


def partners(points, moved, reach, slack):
    """Return the number of the point that each moved minutia meets, or -1.

    The two are each other's nearest, the first one of several.
    """

    def nearest(one, others):
        close = [
            (apart(one, other), number)
            for number, other in enumerate(others)
            if apart(one, other) < reach * reach and abs(wrapped(other[2] - one[2])) < slack
        ]
        return min(close)[1] if close else -1

    ours, theirs = [nearest(one, points) for one in moved], [nearest(one, moved) for one in points]
    return [point if point >= 0 and theirs[point] == number else -1 for number, point in enumerate(ours)]


def refit(points, asking, met):
    """Return the (turn, place) with the least sum of squared distances of partners."""
    pairs = [(place_of(points[point]), place_of(one)) for point, one in zip(met, asking, strict=True) if point >= 0]
    there, here = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    turn = cmath.phase(sum((b - here).conjugate() * (a - there) for a, b in pairs)) / math.tau
    return turn, there + rotation(turn) * (centre_of(asking) - here)


def near_any(points, others, reach):
    """Return how many points have one of the others within reach."""
    return sum(any(apart(one, other) < reach * reach for other in others) for one in points)


def lay_upon(points, asking, lies, reach, slack, rounds):
    """Return the partners, how many minutiae of each are in the overlap, and the placement."""
    met = partners(points, laid(asking, lies), reach, slack)
    for _ in range(rounds):
        if sum(point >= 0 for point in met) < 3:
            break
        lies = refit(points, asking, met)
        met = partners(points, laid(asking, lies), reach, slack)
    moved = laid(asking, lies)
    return met, near_any(points, moved, 4 * reach), near_any(moved, points, 4 * reach), lies


def covered(place, shape, margin, around=False):
    """Return the grid cells within the margin of a place; `around`: the last axis is circular."""
    sides = []
    for axis, (at, size) in enumerate(zip(place, shape, strict=True)):
        turns = (-size, 0, size) if around and axis == len(shape) - 1 else (0,)
        sides.append([i for i in range(size) if any(i - margin <= at + turn < i + 1 + margin for turn in turns)])
    return set(product(*sides))


def grid_cells(minutiae, square, margin, columns, rows):
    """Return the cells of a grid over a centred, upright print that hold a minutia, in degrees."""
    if not minutiae:
        return set()
    centre = centre_of(minutiae)
    lines = cmath.phase(sum(rotation(2 * angle / 360) for *_, angle in minutiae)) / math.tau / 2
    tilt = lines % 0.5 - 0.25
    places = [rotation(-tilt) * (place_of(minutia) - centre) / square for minutia in minutiae]
    shifted = [(at.real + columns / 2, at.imag + rows / 2) for at in places]
    return {cell for place in shifted for cell in covered(place, (columns, rows), margin / square)}


def local_cells(minutiae, number, square, margin, radius, directions):
    """Return the cells of a grid around a minutia, turned to its direction, that hold another."""
    half = math.ceil(radius / square)
    x, y, angle = minutiae[number]
    found = set()
    for other, minutia in enumerate(minutiae):
        way = place_of(minutia) - complex(x, y)
        if other != number and abs(way) < radius:
            way *= rotation(-angle / 360) / square
            place = (way.real + half, way.imag + half, (minutia[2] - angle) % 360 / 360 * directions)
            found |= covered(place, (2 * half, 2 * half, directions), margin / square, around=True)
    return found


def look_up(grids, groups, asking):
    """Return the prints that share a bucket with the query in every group of functions."""
    shared = []
    for functions in groups:
        mine = [function for function in functions if set(function) <= asking]
        shared.append({at for at, grid in enumerate(grids) for function in mine if set(function) <= grid})
    return set.intersection(*shared)


# --- nearest rows by rarity-weighted elements ---


def cosine_of_elements(one, other, weights):
    """Return the cosine of two sets of elements, each of which has a weight."""
    common = sum(weights[element] ** 2 for element in {*one} & {*other})
    squares = [sum(weights[element] ** 2 for element in row) for row in (one, other)]
    return common / math.sqrt(squares[0] * squares[1]) if common else 0.0


def nearest_by_elements(rows, weights, query, targets, k, alone):
    """Return the k nearest of the target rows with their cosines, padded with (-1, 0)."""
    others = [row for row in targets if not (alone and row == query)]
    near = sorted(
        ((row, cosine_of_elements(rows[query], rows[row], weights)) for row in others), key=lambda one: -one[1]
    )
    return ([one for one in near if one[1] > 0] + [(-1, 0.0)] * k)[:k]


def rows_of_elements(rows, chosen, count):
    """Return for each element the chosen rows that have it."""
    return [[row for row in chosen if element in rows[row]] for element in range(count)]


def number_distinct(hashes):
    """Return the number of each hash by first occurrence, the distinct ones, and how often each occurs."""
    known = list(dict.fromkeys(hashes))
    return [known.index(one) for one in hashes], known, [hashes.count(one) for one in known]


def rank_rows(rows, ranks, weights):
    """Return the sorted ranks of each row's elements, and the root of the sum of their squared weights."""
    ranked = [sorted(ranks[one] for one in row) for row in rows]
    return ranked, [math.sqrt(sum(weights[rank] ** 2 for rank in row)) for row in ranked]


def spread_to_records(record, texts, near, k, alone):
    """Return the first k other records whose text is the record's own (if alone), or one of those near."""
    wanted = [texts[record], *near] if alone else near
    return [other for text in wanted for other in range(len(texts)) if texts[other] == text and other != record][:k]


# --- overlaps of rows of weighted elements ---


def overlaps(one, other, weights):
    """Return the sum of the common weights, and the largest common, only in one, only in the other."""
    common, only_one, only_other = {*one} & {*other}, {*one} - {*other}, {*other} - {*one}
    largest = [max((weights[element] for element in some), default=0.0) for some in (common, only_one, only_other)]
    return [sum(weights[element] for element in common), *(max(0.0, weight) for weight in largest)]


def count_apart(pairs, count):
    """Count for each element the pairs in which both rows have it, and in which only one has."""
    both = [sum(element in one and element in other for one, other in pairs) for element in range(count)]
    return both, [sum((element in one) != (element in other) for one, other in pairs) for element in range(count)]


def two_best(rows, values, count):
    """Return the two best values of each row, -inf where there are none."""
    ordered = [sorted((v for r, v in zip(rows, values, strict=True) if r == row), reverse=True) for row in range(count)]
    return [[*some, -math.inf, -math.inf][:2] for some in ordered]


# --- compact forms ---


def bits(values):
    """Return the bytes of (value, width) pairs, the lowest bits first."""
    whole, at = 0, 0
    for value, width in values:
        whole |= value << at
        at += width
    return whole.to_bytes(-(-at // 8), "little")


def block(entries):
    """Return the block of sorted entries: widths, count and first key, then differences of keys, and numbers."""
    keys, numbers = [one >> 32 for one in entries], [one & 0xFFFFFFFF for one in entries]
    steps = [0, *(b - a for a, b in pairwise(keys))]
    widths = max(step.bit_length() for step in steps), max(number.bit_length() for number in numbers)
    pairs = [
        (value, width) for entry in zip(steps, numbers, strict=True) for value, width in zip(entry, widths, strict=True)
    ]
    return bytes(widths) + len(entries).to_bytes(2, "little") + keys[0].to_bytes(4, "little") + bits(pairs)


def hash_name(name, salt):
    """Return the hash of some bytes: eight at a time, scrambled with those before."""
    state = salt ^ len(name)
    whole = len(name) // 8 * 8
    for at in range(0, whole, 8):
        state = mix(state ^ int.from_bytes(name[at : at + 8], "big"))
    return mix((mix(state ^ int.from_bytes(name[whole:], "big")) + salt) & ALL)


def differences(row):
    """Return a sorted row as its length and the Rice codes of the differences."""
    length, left = b"", len(row)
    while left > 127:
        length, left = length + bytes([128 | left & 127]), left >> 7
    width = 64 - max(len(row).bit_length() - 1, 0)
    steps = [b - a for a, b in pairwise([0, *row])]
    codes = [
        one
        for step in steps
        for one in (((1 << (step >> width)) - 1, (step >> width) + 1), (step % (1 << width), width))
    ]
    return length + bytes([left]) + bits(codes)


def phrases_of(text, phrases):
    """Return a text as numbers of phrases, the longest at each place, and as bytes without one."""
    numbers, at = [], 0
    while at < len(text):
        there = [phrase for phrase in phrases if text.startswith(phrase, at)]
        best = max(there, key=len, default=text[at : at + 1])
        numbers.append(phrases.index(best) if there else best)
        at += len(best)
    return numbers


def phrase_codes(numbers):
    """Return the bytes of numbers of phrases, below 191 in one byte; other bytes follow a 255."""
    codes = b""
    for number in numbers:
        if isinstance(number, bytes):
            codes += b"\xff" + number
        else:
            codes += bytes([number] if number < 191 else [191 + (number - 191 >> 8), number - 191 & 255])
    return codes
