"""Measure `find_passages` beside other tools that find repeated passages, each in a process of its own.

    python bench/passages.py CORPUS.parquet [--length 50] [--megabytes 1000] [--peers PYTHON] [--markdown FILE]

Tools: lookalike; pydivsufsort, a suffix array with common prefixes of all bytes; datatrove's sentence
deduplication. The peers run with another Python, whose environment has pydivsufsort, datatrove and
pyarrow, on parts of the corpus: a suffix array with its tables takes 13 bytes of memory per byte of text.
CPU time (user and system) is shown beside the wall time, for machines that are busy.

Two more checks follow. Words of part of the corpus are numbered, and a suffix array over these numbers
shows which windows of words occur twice: are they the windows of the passages? And runs of just too few
and of enough words of some documents are planted in others: which are found?
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from shared import PEAK, Table, machine, measure, part_of, publish

SEPARATOR = "\x00"
OURS = """
import lookalike as la
print(la.find_passages({path!r}, length={length}))
"""
SUFFIXES = """
import numpy as np, pyarrow.parquet as pq
from pydivsufsort import divsufsort, kasai
texts = pq.read_table({path!r}, columns=["text"])["text"].to_pylist()
data = np.frombuffer(b"\\0".join(text.encode() for text in texts), np.uint8).copy()
del texts
suffixes = divsufsort(data)
common = kasai(data, suffixes)
print(int((common >= {bytes}).sum()), "suffixes with a common prefix of {bytes} bytes or more")
"""
SENTENCES = """
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import JsonlWriter
import os
folder, work = os.path.split({path!r})[0], {work!r}
config = SentDedupConfig(n_sentences=1, split_sentences=True, only_dedup_in_index=True)
name = os.path.basename({path!r})
read = lambda: ParquetReader(folder, glob_pattern=name)
steps = [
    [read(), SentenceDedupSignature(work + "/sigs", config=config, finder_workers=1)],
    [SentenceFindDedups(work + "/sigs", work + "/dups", config=config)],
    [read(), SentenceDedupFilter(work + "/dups", config=config), JsonlWriter(work + "/out")],
]
for number, step in enumerate(steps):
    LocalPipelineExecutor(step, tasks=1, workers=1, logging_dir=work + f"/logs{{number}}").run()
"""
# Which windows of numbered words occur twice, each word in four bytes with the first one first.
TWICE = """
import numpy as np
from pydivsufsort import divsufsort, kasai
data = np.fromfile({words!r}, np.uint8)
suffixes = divsufsort(data)
common = kasai(data, suffixes)  # of each suffix and the next one
at = np.flatnonzero(suffixes % 4 == 0)  # those that begin with a word
least = np.minimum.reduceat(common, at)[:-1] // 4 >= {length}
twice = np.zeros(len(data) // 4, np.bool_)
places = suffixes[at] // 4
twice[places[:-1][least]] = True
twice[places[1:][least]] = True
np.save({out!r}, twice)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, metavar="CORPUS.parquet", help="a file with columns `id` and `text`")
    parser.add_argument("--length", type=int, default=50, help="words of the shortest passage")
    parser.add_argument("--megabytes", type=int, default=1000, help="how much of the text to use")
    parser.add_argument("--peers", metavar="PYTHON", help="the Python of an environment with the other tools")
    parser.add_argument("--suffixes", type=int, default=300, help="megabytes for pydivsufsort")
    parser.add_argument("--sentences", type=int, default=20, help="megabytes for datatrove")
    parser.add_argument("--same", type=int, default=100, help="megabytes of which all windows are compared")
    parser.add_argument("--planted", type=int, default=300, help="runs to plant of each length")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        rows: Table = [["tool", "MB", "wall s", "CPU s", "MB per CPU s", "peak memory"]]
        tools = [("lookalike", sys.executable, OURS, given.megabytes)]
        if given.peers:
            tools += [
                ("lookalike", sys.executable, OURS, given.suffixes),
                ("pydivsufsort", given.peers, SUFFIXES, given.suffixes),
                ("datatrove, sentences", given.peers, SENTENCES, given.sentences),
            ]
        for name, python, script, megabytes in tools:
            path, size = part_of(given.corpus, megabytes, work)
            values = {"path": str(path), "length": given.length, "bytes": 6 * given.length, "work": folder}
            wall, cpu, peak = measure([python, "-c", script.format(**values) + PEAK])
            cells = f"{size / 1e6:,.0f}", f"{wall:.1f}", f"{cpu:.1f}", f"{size / 1e6 / cpu:.1f}", f"{peak / 1e9:.2f} GB"
            rows.append([name, *cells])
            print(*rows[-1], file=sys.stderr, flush=True)
        blocks: list[str | Table] = [machine("lookalike", "numpy", "numba", "pyarrow"), rows]
        if given.peers:
            blocks.append(compare(*part_of(given.corpus, given.same, work), given.length, given.peers, work))
        blocks.append(plant(part_of(given.corpus, given.same, work)[0], given.length, given.planted))
    publish(blocks, given.markdown)


def compare(path: Path, size: int, length: int, python: str, work: Path) -> str:
    """Compare the windows of all passages with those that a suffix array of words has twice."""
    import numpy as np

    import lookalike as la

    found = la.find_passages(path, length=length)
    corpus = found.corpus
    hashes = np.concatenate([corpus.cutter.hashes(texts)[1] for texts in corpus.texts])
    _, words = np.unique(hashes, return_inverse=True)
    documents = np.repeat(np.arange(len(corpus)), corpus.counts)
    numbered = np.empty(len(words) + len(corpus), ">u4")  # after each document, a number of its own
    numbered[np.arange(len(words)) + documents] = words
    numbered[corpus.unit_starts[1:] + np.arange(len(corpus))] = words.max(initial=0) + 1 + np.arange(len(corpus))
    numbered.tofile(work / "words")
    values = {"words": str(work / "words"), "length": length, "out": str(work / "twice.npy")}
    measure([python, "-c", TWICE.format(**values) + PEAK])
    twice = np.load(work / "twice.npy")[np.arange(len(words)) + documents]

    listed = np.zeros(len(words), np.bool_)
    for places in (found.found, found.first):
        units = first_units(corpus, places)
        for start, number in zip(units.tolist(), (found.length - length + 1).tolist(), strict=True):
            listed[start : start + number] = True
    return (
        f"The same windows: of {len(words):,} words in {size / 1e6:,.0f} MB of text, {np.count_nonzero(twice):,} begin "
        f"a window of {length} words that occurs twice, by a suffix array of numbered words. "
        f"{np.count_nonzero(listed & twice):,} of these windows are in the {len(found):,} passages or their first "
        f"copies, and {np.count_nonzero(listed & ~twice):,} others."
    )


def first_units(corpus: object, places: object) -> "np.ndarray":  # type: ignore[name-defined]  # noqa: F821
    """Return the numbers of the words at which places begin, counted over all documents."""
    import numpy as np

    units = np.empty(len(places.document), np.int64)
    order = np.argsort(places.document, kind="stable")
    cuts = np.searchsorted(places.document[order], corpus.piece_starts)
    for at in np.flatnonzero(np.diff(cuts)).tolist():
        indptr, starts, _ = corpus.cutter.places(corpus.texts[at])
        for row in order[cuts[at] : cuts[at + 1]].tolist():
            document = places.document[row]
            inside = document - corpus.piece_starts[at]
            here = starts[indptr[inside] : indptr[inside + 1]]
            units[row] = corpus.unit_starts[document] + np.searchsorted(here, places.start[row])
    return units


def plant(path: Path, length: int, runs: int) -> Table:
    """Put runs of words into two documents each, with other words around them; return how many are found."""
    import pyarrow.parquet as pq

    import lookalike as la

    random_ = random.Random(1)
    texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
    words = {at: [word for word in text.split() if word.isascii() and word.isalpha()] for at, text in enumerate(texts)}
    long = [at for at, found in words.items() if len(found) > 10 * length]
    rows: Table = [["words planted", "runs", "found", "with exactly these words"]]
    for size in (length - 1, length, length + 1):
        changed, planted = list(texts), {}
        chosen = random_.sample(long, 2 * min(runs, len(long) // 2))
        for one, other in zip(chosen[::2], chosen[1::2], strict=True):
            start = random_.randrange(len(words[one]) - size + 1)
            run = " ".join(words[one][start : start + size])
            changed[one] += f" before{one} {run} after{one}"
            changed[other] += f"\nbefore{other}\n{run.upper()}\nafter{other}"
            planted[max(one, other)] = run.lower()
        texts_found = [(row[0], " ".join(row[8].lower().split())) for row in la.find_passages(changed, length=length)]
        hits = {at for at, text in texts_found if planted.get(at, SEPARATOR) in text}
        exact = sum(planted.get(at) == text for at, text in texts_found)
        rows.append([f"{size}", f"{len(planted):,}", f"{len(hits):,}", f"{exact:,}"])
    return rows


if __name__ == "__main__":
    main()
