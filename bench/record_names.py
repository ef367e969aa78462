"""Join two lists of made-up names of companies by that one column, and compare what is stated with the truth.

A name is one to three invented words and often a word such as "Systems" and a legal form. Invented
words and the others have weights of 1 / rank, so a few are in many names, and different companies
can have nearly the same name. SHARED of the names are in both lists. Those of the second list are
written differently: with a letter inserted, deleted or replaced, two words swapped, words
abbreviated, the legal form left out or another one, or a word added.
"""

from typing import Any

import numpy as np
from record_companies import is_among, load, measured
from record_scores import quality
from shared import Table

SHARED = 0.7  # of the names of each list
INVENTED = 400_000  # words
SYLLABLES = (
    "ba be bo da de di do fa fe ga go ka ke ko la le lo ma me mi mo na ne no pa po ra re ri ro sa se so ta te to va "
    "ve vi"
)
ENDINGS = ["", "n", "r", "s", "x", "l", "nd", "rk", "st"]
KINDS = (
    "systems group holdings services partners international solutions technologies capital energy foods logistics "
    "media motors pharma properties software textiles trading ventures works bank insurance steel paper press"
)
FORMS = ["inc", "ltd", "llc", "gmbh", "co", "corp", "sa", "plc"]
SHORT = {
    "systems": "sys", "international": "intl", "services": "svcs", "technologies": "tech", "holdings": "hldgs",
    "group": "grp", "properties": "props", "solutions": "sol", "insurance": "ins", "logistics": "log",
}  # fmt: skip
TYPO, SWAP, ABBREVIATE, FORM, EXTRA = 0.3, 0.1, 0.3, 0.4, 0.1  # the share of names in which it happens
PLACES = "north south east west global european american asia pacific uk"
Result = dict[str, Any]


def made_names(count: int, seed: int = 1) -> tuple[list[str], list[str], np.ndarray]:
    """Return two lists of `count` names, and the pairs of positions of the names that are in both."""
    draw = np.random.default_rng(seed)
    shared = round(SHARED * count)
    every = [*dict.fromkeys(name for name in _names(3 * count, draw))][: 2 * count - shared]
    draw.shuffle(every)
    size = (len(every) + shared) // 2
    left, right = every[:size], every[size - shared :]
    theirs = [_rewritten(name, draw) if at < shared else name for at, name in enumerate(right)]
    order = draw.permutation(len(theirs))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    truth = np.stack([np.arange(size - shared, size), place[:shared]])
    return left, [theirs[at] for at in order.tolist()], truth


def _names(count: int, draw: np.random.Generator) -> list[str]:
    words = _words(draw)
    counts = draw.choice([1, 2, 3], count, p=[0.4, 0.45, 0.15])
    chosen = [words[at] for at in _ranks(len(words), int(counts.sum()), draw).tolist()]
    known = KINDS.split()
    kinds = [known[at] for at in _ranks(len(known), count, draw).tolist()]
    forms = [FORMS[at] for at in _ranks(len(FORMS), count, draw).tolist()]
    with_kind, with_form = (draw.random(count) < 0.6).tolist(), (draw.random(count) < 0.7).tolist()
    names, at = [], 0
    for row, size in enumerate(counts.tolist()):
        parts = [*chosen[at : at + size], *kinds[row : row + with_kind[row]], *forms[row : row + with_form[row]]]
        names.append(" ".join(parts))
        at += size
    return names


def _words(draw: np.random.Generator) -> list[str]:
    syllables = np.array(SYLLABLES.split())
    syllables = syllables[draw.integers(0, len(syllables), (INVENTED, 4))]
    sizes, endings = draw.choice([2, 3, 4], INVENTED, p=[0.3, 0.5, 0.2]), draw.integers(0, len(ENDINGS), INVENTED)
    rows = zip(syllables.tolist(), sizes.tolist(), endings.tolist(), strict=True)
    return [*dict.fromkeys("".join(parts[:size]) + ENDINGS[ending] for parts, size, ending in rows)]


def _ranks(most: int, count: int, draw: np.random.Generator) -> np.ndarray:
    """Draw ranks below `most`; rank r has a weight of 1 / (r + 10)."""
    return np.asarray(np.exp(draw.random(count) * np.log((most + 10) / 10)) * 10 - 10).astype(np.int64)


def _rewritten(name: str, draw: np.random.Generator) -> str:
    """Return a name as another list might write it."""
    chances, words = draw.random(5), name.split()
    if chances[0] < ABBREVIATE:
        words = [SHORT.get(word, word) for word in words]
    if chances[1] < FORM:
        words = words[:-1] if words[-1] in FORMS and len(words) > 1 else [*words, FORMS[int(draw.integers(len(FORMS)))]]
    if chances[2] < SWAP and len(words) > 1:
        at = int(draw.integers(len(words) - 1))
        words[at : at + 2] = words[at + 1], words[at]
    if chances[3] < EXTRA:
        words.insert(int(draw.integers(len(words) + 1)), str(draw.choice(PLACES.split())))
    text = " ".join(words)
    if chances[4] < TYPO:
        at, letter = int(draw.integers(len(text))), chr(97 + int(draw.integers(26)))
        text = text[:at] + [letter, letter + text[at : at + 1], ""][int(draw.integers(3))] + text[at + 1 :]
    return text


def join_names(count: int, memory: str = "") -> Result:
    """Join the two lists, and compare what is stated with the truth."""
    import pyarrow as pa

    import lookalike as la

    left, right, pairs = made_names(count)
    tables = [pa.table({"name": names}) for names in (left, right)]
    width = len(right)
    truth = np.sort(pairs[0] * width + pairs[1])
    del left, right
    with measured() as used:
        found = la.entities.resolve(*tables, fields=["name=text"], memory=memory or None)
    compared = np.divmod(found.candidates.numbers, found.candidates.records)
    candidates = compared[0] * width + compared[1] - tables[0].num_rows
    matches = found.left * width + found.right
    return {
        **used,
        "stages": found.stats["seconds"],
        "records": [table.num_rows for table in tables],
        "truth": len(truth),
        "lines": found.lines(),
        "counts": [
            [name, f"{len(some):,}", *quality(is_among(some, truth), len(truth))]
            for name, some in (("candidates", candidates), ("matches", matches))
        ],
        "stated": float(found.probability.sum()),
        "true": int(np.count_nonzero(is_among(matches, truth))),
        "load": load(),
    }


def name_blocks(memory: str, result: Result) -> list[str | Table]:
    """Return the tables of a result of `join_names`."""
    one, other = result["records"]
    stages: Table = [["stage", "time"], *([name, f"{took:.2f} s"] for name, took in result["stages"].items())]
    stages.append(["all", f"{result['seconds']:.2f} s"])
    return [
        f"two lists of {one:,} and {other:,} made-up names, {result['truth']:,} of them in both; "
        f"{f'memory={memory!r}' if memory else 'in memory'}",
        stages,
        f"{result['cpu']:.1f} s of CPU time, load {result['load']}; memory: {result['peak']:,.0f} MB at the peak, "
        f"{result['rise']:,.0f} MB more than the tables and imports",
        "\n".join(f"    {line}" for line in result["lines"]),
        [["", "pairs", "precision", "recall", "F1"], *result["counts"]],
        f"Of the matches, {result['stated']:,.0f} are stated to be true; {result['true']:,} are.",
    ]
