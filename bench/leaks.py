"""Measure how test questions planted in a corpus are found: recall, false alarms, and time.

    python bench/leaks.py EVALS CORPUS [--megabytes N] [--plant N] [--datatrove N] [--train FILE] [--markdown FILE]

EVALS is a folder of JSON lines with a column `question`, such as GSM8K and MMLU; CORPUS a Parquet file with
a column `text`. Half of the different questions, chosen by a hash of the question, served to choose the
defaults of `decontaminate`; the other half is planted in the corpus, each in another document, in the
middle of its text, verbatim or changed in one of six ways. All questions are looked for, by a process of
its own that reads the corpus from a file. With --datatrove, its n-gram decontamination runs on the N first
documents that have a plant and as many others. With --train, the questions of this file are looked
through for those of the files whose names have `test` in place of `train`.
"""

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shared import PEAK, Table, machine, measure, part_of, publish

import lookalike as la
from lookalike.core.run import Run
from lookalike.leaks.items import RULE, read_tests

Change = Callable[[str, random.Random, list[str]], str]


def reworded(share: float) -> Change:
    """Return a change of this share of the words, at least one, to others."""

    def change(text: str, random_: random.Random, words: list[str]) -> str:
        parts = text.split(" ")
        for at in random_.sample(range(len(parts)), min(len(parts), max(1, round(share * len(parts))))):
            parts[at] = random_.choice(words)
        return " ".join(parts)

    return change


CHANGES: dict[str, Change] = {
    "verbatim": lambda text, random_, words: text,
    "lines wrapped anew": lambda text, random_, words: re.sub(
        r"\s+", lambda _: random_.choice([" ", " ", "\n   ", "  "]), text
    ),
    "other case": lambda text, random_, words: random_.choice([text.upper(), text.lower(), text.title()]),
    "other punctuation": lambda text, random_, words: re.sub(
        r"[^\w\s]", lambda mark: random_.choice(["", mark[0], " ", "-", '"']), text
    ),
    "1% of the words changed": reworded(0.01),
    "3% of the words changed": reworded(0.03),
    "10% of the words changed": reworded(0.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evals", type=Path, metavar="EVALS", help="a folder of JSON lines with questions")
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="a Parquet file with a column text")
    parser.add_argument("--megabytes", type=int, default=2000, metavar="N", help="how much of the text to use")
    parser.add_argument("--plant", type=int, default=7000, metavar="N", help="how many questions to plant")
    parser.add_argument("--datatrove", type=int, default=0, metavar="N", help="documents with a plant for datatrove")
    parser.add_argument("--train", type=Path, metavar="FILE", help="questions of EVALS to look through for others")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables to this file")
    given = parser.parse_args()
    files = read_tests(str(given.evals), None, None, Run())
    every = sorted({one for file in files for one in file.questions.to_pylist()})
    (items,) = read_tests(pa.table({"question": every}), None, None, Run())  # questions of the same words once
    questions = items.questions.to_pylist()
    with TemporaryDirectory() as folder:
        path, _ = part_of(given.corpus, given.megabytes, Path(folder))
        texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
        plants = plant(texts, [one for one in questions if crc32(one.encode()) % 2], given.plant)
        size = sum(len(text.encode()) for text in texts)
        found, cpu, peak = search(texts, questions, Path(folder))
    others = [at for at in found if at not in plants]
    there = sum(has_one(texts[at], found[at]) for at in others)
    blocks: list[str | Table] = [
        f"{len(texts):,} documents, {size / 1e6:,.0f} MB; {len(questions):,} different questions, "
        f"{len(plants):,} of them planted. {machine('lookalike', 'datatrove', 'numpy', 'numba')}",
        recalls(plants, found),
        precisions(texts, plants, found),
        f"lookalike: {len(others):,} of the {len(texts) - len(plants):,} other documents are leaks; {there:,} of them "
        "have a question word for word. "
        f"CPU time {cpu:.1f} s: {size / 1e6 / cpu:,.0f} MB/s, {1e6 * cpu / len(texts):,.0f} microseconds per document; "
        f"{peak / 1e9:.2f} GB of memory at the peak.",
    ]
    if given.datatrove:
        blocks += compare(texts, questions, plants, given.datatrove)
    if given.train:
        blocks.append(within(given.train))
    publish(blocks, given.markdown)


Plants = dict[int, tuple[str, str]]  # by document: the kind of change, and the question


def plant(texts: list[str], questions: list[str], most: int) -> Plants:
    """Put questions into texts, each into another one; return which and where."""
    random_ = random.Random(1)
    words = re.findall(r"\w+", " ".join(texts[:300]))
    chosen = random_.sample(questions, min(most, len(questions), len(texts)))
    plants = {}
    for at, question in zip(random_.sample(range(len(texts)), len(chosen)), chosen, strict=True):
        kind = list(CHANGES)[len(plants) % len(CHANGES)]
        text = texts[at]
        middle = text.find(" ", random_.randrange(len(text) + 1))
        middle = len(text) if middle < 0 else middle
        texts[at] = f"{text[:middle]} {CHANGES[kind](question, random_, words)} {text[middle:]}"
        plants[at] = kind, question
    return plants


SEARCH = """
import json, time
from pathlib import Path
import lookalike as la
la.decontaminate(["a text"], Path({tests!r}))  # loads the kernels
start = time.process_time()
found = la.decontaminate(Path({corpus!r}), Path({tests!r}), places=1_000_000)
pairs = [found.found[name].to_pylist() for name in ("document", "row")]
Path({out!r}).write_text(json.dumps([time.process_time() - start, *pairs]))
"""


def search(texts: list[str], questions: list[str], folder: Path) -> tuple[dict[int, set[str]], float, int]:
    """Return the questions found in each document, the CPU time, and the peak memory."""
    values = {name: str(folder / f"{name}.parquet") for name in ("corpus", "tests", "out")}
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), values["corpus"], row_group_size=2000)
    pq.write_table(pa.table({"question": questions}), values["tests"])
    _, _, peak = measure([sys.executable, "-c", SEARCH.format(**values) + PEAK])
    cpu, documents, rows = json.loads(Path(values["out"]).read_text())
    leaks: dict[int, set[str]] = {}
    for document, row in zip(documents, rows, strict=True):
        leaks.setdefault(document, set()).add(questions[row])
    return leaks, cpu, peak


def within(train: Path) -> str:
    """Say how many questions of one file have one of another file in them, and how much of it."""
    tests = train.with_name(train.name.replace("train", "test"))
    corpus, _ = (read_tests([one], None, None, Run())[0] for one in (train, tests))
    found = la.decontaminate(corpus.questions, tests)
    shares = np.sort(found.found["containment"].to_numpy())
    whole = np.count_nonzero(shares == 1)
    return (
        f"{train.name} looked through for {tests.name}: {len(found):,} leaks in {np.count_nonzero(~found.keep):,} of "
        f"{len(found.keep):,} questions; {whole:,} of them have all shingles of the other, and the median share is "
        f"{np.median(shares) if len(shares) else 0:.2f}."
    )


def precisions(texts: list[str], plants: Plants, found: dict[int, set[str]]) -> Table:
    """Return how many of the questions found in documents with a plant are right, by the kind of change.

    Right are the planted question and others that the document has word for word. Related to the planted
    one are questions that share at least half of their shingles with it, as other fillings of a form.
    """
    rows = [["planted", "questions found", "planted", "there word for word", "related", "other", "precision"]]
    kinds: dict[str, list[int]] = {kind: [0] * 4 for kind in CHANGES}
    for at, (kind, question) in plants.items():
        own, counts = RULE.of(question), kinds[kind]
        for one in found.get(at, ()):
            related = len(own & RULE.of(one)) >= 0.5 * len(RULE.of(one))
            where = 0 if one == question else 1 if has_one(texts[at], [one]) else 2 if related else 3
            counts[where] += 1
    for kind, counts in [*kinds.items(), ("all", [sum(column) for column in zip(*kinds.values(), strict=True)])]:
        total = sum(counts)
        share = f"{(counts[0] + counts[1]) / max(1, total):.3f}"
        rows.append([kind, f"{total:,}", *(f"{count:,}" for count in counts), share])
    return rows


def has_one(text: str, questions: Iterable[str]) -> bool:
    """Return whether a text has one of some questions word for word, apart from case and punctuation."""
    words = plain(text)
    return any(plain(question) in words for question in questions)


def plain(text: str) -> str:
    """Return the words of a text in lower case, with a blank before and after each."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "


def recalls(plants: Plants, found: dict[int, set[str]]) -> Table:
    """Return how many of the planted questions were found, by the kind of change and the length."""
    lengths = ((1, 10), (10, 20), (20, 1 << 30))
    rows = [["planted", "found", "1 to 9 words", "10 to 19 words", "20 words or more"]]
    for kind in [*CHANGES, "all"]:
        some = {at: question for at, (how, question) in plants.items() if kind in (how, "all")}
        cells = []
        for low, high in ((1, 1 << 30), *lengths):
            those = {at: question for at, question in some.items() if low <= len(question.split()) < high}
            hits = sum(question in found.get(at, ()) for at, question in those.items())
            cells.append(f"{hits / max(1, len(those)):.3f} of {len(those):,}")
        rows.append([kind, *cells])
    return rows


def compare(texts: list[str], questions: list[str], plants: Plants, most: int) -> list[str | Table]:
    """Return the same figures for datatrove, whose n-grams of 12 words are looked up in all questions."""
    from datatrove.data import Document
    from datatrove.pipeline.decont.n_grams import NGramsDecontFilter
    from datatrove.utils.text import ngrams, simplify_text

    peer = NGramsDecontFilter("/nonexistent")
    size = peer.config.n_grams

    def grams(text: str) -> set[int]:
        tokens = peer.tokenizer.word_tokenize(simplify_text(text, peer.config.norm_config))
        return {peer.hash_func(" ".join(gram)) for gram in ngrams(tokens, size)}

    peer._index_hashes = dict.fromkeys(set().union(*map(grams, questions)), "questions")
    with_plant = sorted(plants)[:most]
    others = [at for at in range(len(texts)) if at not in plants][:most]
    start = time.process_time()
    flagged = {at for at in [*with_plant, *others] if peer.filter(Document(texts[at], str(at))) is not True}
    cpu = time.process_time() - start
    some = {at: plants[at] for at in with_plant}
    found = {at: {plants[at][1]} for at in flagged if at in plants}
    return [
        f"datatrove, n-grams of {size} words, on {len(with_plant):,} documents with a plant; it finds a plant "
        f"if it removes the document. Of {len(others):,} other documents, {len(flagged & set(others)):,} are removed. "
        f"CPU time {1e6 * cpu / (len(with_plant) + len(others)):,.0f} microseconds per document.",
        recalls(some, found),
    ]


if __name__ == "__main__":
    main()
