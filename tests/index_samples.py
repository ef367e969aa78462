"""Make texts to put into an index."""

import random

from lookalike.index import Index
from lookalike.index.tables import POSTINGS

WORDS = [f"w{number}" for number in range(300)]


def texts_of(count, seed=1):
    """Make texts of twenty words; every third is similar to the one before it."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        words = texts[-1].split() if number % 3 == 1 else draw.choices(WORDS, k=20)
        words[draw.randrange(20)] = draw.choice(WORDS)
        texts.append(" ".join(words))
    return texts


def clear(number):
    """Make a text that shares no shingle of char:9 or word:1 with another number's."""
    return " ".join(f"{number}x{at}" for at in range(100, 110))


def changed_texts_of(count, changes, seed=1):
    """Make texts of twenty words; every other one is an earlier one with `changes` changed."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        words = draw.choice(texts).split() if number % 2 else draw.choices(WORDS, k=20)
        for at in draw.sample(range(20), changes if number % 2 else 0):
            words[at] = draw.choice(WORDS)
        texts.append(" ".join(words))
    return texts


def state(index):
    """Return everything that an index holds, to the last byte."""
    with index.store.reading() as reader:
        items = [(item.number, item.content, item.id, bytes(item.payload)) for item in reader.items()]
        tables = {name: [some.tolist() for some in reader.slices(name)] for name in POSTINGS}
        return items, tables, reader.settings(), len(reader), reader.next_id()


def made(place, **options):
    return Index.create(place, **({"threshold": 0.6, "shingles": "word:1", "expected": 1000} | options))
