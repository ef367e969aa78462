"""Make up the products of two shops: models of one series, whose names differ in a number or a colour.

    python bench/record_products.py

resolves such shops, of which no weights were learned, and compares what is stated with the truth.
"""

import re
from typing import Any

import numpy as np
from record_sets import Record, Tables

CONSONANTS = ("b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v")
PARTS = (CONSONANTS, ("a", "e", "i", "o", "u", "ai", "ea", "oo"))
KINDS = (  # with a unit, its usual sizes and prices
    ("Digital Camera", "MP", (8, 24), (90, 900)),
    ("LCD TV", "inch", (19, 65), (200, 2500)),
    ("Laser Printer", "ppm", (12, 45), (80, 700)),
    ("Laptop", "GB", (2, 16), (300, 1800)),
    ("Headphones", "mm", (20, 50), (15, 250)),
    ("Refrigerator", "L", (150, 600), (250, 1900)),
    ("Washing Machine", "kg", (5, 12), (220, 1100)),
    ("Router", "Mbps", (100, 1900), (25, 260)),
    ("Speaker", "W", (10, 300), (30, 600)),
)
COLOURS = ("Black", "Silver", "White", "Red", "Blue")
FIELDS = ("name=text", "description=text", "price=number")
LEFT, RIGHT = 900, 1300  # products of each shop


def products(seed: int, both: int) -> Tables:
    """Return the products of two shops, `both` of which both shops sell."""
    rng = np.random.default_rng(seed)
    catalogue = models(rng, LEFT + RIGHT)
    order = rng.permutation(len(catalogue))
    chosen = order[:LEFT], np.append(order[:both], order[LEFT : LEFT + RIGHT - both])
    left = [first_shop(catalogue[one], rng) for one in chosen[0]]
    right = [second_shop(catalogue[one], rng) for one in chosen[1]]
    places = rng.permutation(LEFT), rng.permutation(RIGHT)
    truth = np.argsort(places[0])[:both] * RIGHT + np.argsort(places[1])[:both]
    return Tables([left[at] for at in places[0]], [right[at] for at in places[1]], np.unique(truth))


def models(rng: np.random.Generator, least: int) -> list[dict[str, Any]]:
    """Return `least` products or a few more, in series of one to six models, some in several colours."""

    def word() -> str:
        count = int(rng.integers(1, 4))
        return "".join(str(rng.choice(part)) for _ in range(count) for part in PARTS).title()

    brands, words = [word() for _ in range(22)], [word() for _ in range(400)]
    found: list[dict[str, Any]] = []
    while len(found) < least:
        kind, unit, sizes, prices = KINDS[int(rng.integers(len(KINDS)))]
        series = {"brand": str(rng.choice(brands)), "line": str(rng.choice(words)), "kind": kind, "unit": unit}
        text = " ".join(rng.choice(words, int(rng.integers(6, 13))))
        letters = "".join(map(chr, rng.integers(65, 91, int(rng.integers(1, 4))))) + str(rng.choice(["-", "", " "]))
        first, step = int(rng.integers(1, 90)) * 10 ** int(rng.integers(0, 3)), int(rng.choice([1, 5, 10, 20, 50]))
        size, price = int(rng.integers(*sizes)), float(np.exp(rng.uniform(*np.log(prices))))
        for model in range(int(rng.integers(1, 7))):
            many = int(rng.integers(1, 4)) if rng.random() < 0.35 else 0
            for colour in rng.choice(COLOURS, many, replace=False).tolist() or [""]:
                code = f"{letters}{first + model * step}{colour[:1] if rng.random() < 0.5 else ''}"
                more = {"code": code, "colour": colour, "size": size + model * (sizes[1] - sizes[0]) // 20}
                found.append({**series, **more, "text": text, "price": price * (1 + 0.12 * model)})
    return found


def first_shop(one: dict[str, Any], rng: np.random.Generator) -> Record:
    """Describe a product: Sony Alpha W-830 Digital Camera - Black."""
    spec = f"{one['size']} {one['unit']}"
    parts = [
        one["brand"], some(one["line"], 0.8, rng), some(one["code"], 0.95, rng), some(spec, 0.4, rng), one["kind"],
        some(one["colour"] and f"- {one['colour']}", 0.8, rng),
    ]  # fmt: skip
    return record(parts, one, spec, rng)


def second_shop(one: dict[str, Any], rng: np.random.Generator) -> Record:
    """Describe a product: Sony W830 Alpha 20MP (Black)."""
    spec, code = f"{one['size']}{one['unit']}", rewritten(one["code"], rng)
    parts = [
        some(one["brand"], 0.85, rng), some(code, 0.9, rng), some(one["line"], 0.5, rng), some(one["kind"], 0.7, rng),
        some(spec, 0.6, rng), some(one["colour"] and f"({one['colour']})", 0.7, rng),
    ]  # fmt: skip
    return record(parts, one, spec, rng)


def rewritten(code: str, rng: np.random.Generator) -> str:
    """Write the code of a model in another way, which its maker or another shop uses."""
    letters, digits, rest = re.fullmatch("([A-Z]+)[- ]?([0-9]+)(.*)", code).groups()
    way = rng.random()
    if way < 0.3:
        return f"{letters}{digits}{rest}"
    if way < 0.45:
        return f"{letters} {digits}{rest}"
    if way < 0.6:
        return f"{code}{rng.choice(['/B', 'EU', 'US', '-2', 'G1', 'TE'])}"
    return f"{digits}{rest}" if way < 0.68 else code


def some(text: str, share: float, rng: np.random.Generator) -> str:
    """Return a text with this probability, else none."""
    return text if rng.random() < share else ""


def record(parts: list[str], one: dict[str, Any], spec: str, rng: np.random.Generator) -> Record:
    """Return a record with some words of the description, and a price that is 6% off."""
    words = [word for word in one["text"].split() if rng.random() < 0.75]
    price = f"{one['price'] * float(np.exp(rng.normal(0, 0.06))):.2f}"
    return {
        "name": " ".join(part for part in parts if part) or one["kind"],
        "description": some(" ".join([*words, spec]), 0.6, rng) or None,
        "price": some(price, 0.75, rng) or None,
    }


def main() -> None:
    import lookalike as la

    print("in both shops | fields | matches | stated true | true | F1")
    for seed, both in ((12, 650), (13, 300), (14, 100)):
        tables = products(seed, both)
        for fields in (FIELDS[:1], FIELDS[::2], FIELDS):
            found = la.entities.resolve(tables.left, tables.right, fields=fields, id="-")
            true = np.isin(tables.numbers(found.left, found.right), tables.truth).sum()
            names = ", ".join(field.partition("=")[0] for field in fields)
            f1 = 2 * true / (len(found) + both)
            print(f"{both} | {names} | {len(found)} | {found.probability.sum():.0f} | {true} | {f1:.3f}")


if __name__ == "__main__":
    main()
