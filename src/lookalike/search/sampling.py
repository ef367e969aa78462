"""Take the sample of texts that a plan is made from, and estimate what reading all of them takes."""

import time
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.process import crowding
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.io.formats import FORMATS
from lookalike.items.sets import text_bounds
from lookalike.items.shingles import Shingles
from lookalike.kernels.text import hash_contents
from lookalike.search.effort import Effort
from lookalike.search.fitting import SAMPLE

SAMPLE_BYTES, TIMED = 8 << 20, 1 << 19  # of texts to plan from, and to time
SHINGLE = {"char": 3.2, "word": 1.4}  # nanoseconds per byte on the machine of the costs in `fitting`
CONTENTS = 0.19  # the same to hash the contents of TIMED bytes, which the processor's cache holds
REST = 0.1  # seconds that one thread takes to load the kernels of later steps, to write, and to end


class Sample(NamedTuple):
    """Texts that plans are made from, and the place in the inputs that each is from, if there are several."""

    texts: list[pa.LargeStringArray]  # per source
    whole: pa.LargeStringArray
    places: np.ndarray | None


def take_sample(sources: list[Source], run: Run) -> Sample:
    """Return about SAMPLE texts from all over the inputs, of at most about SAMPLE_BYTES bytes."""
    found = [source.samples(run) for source in sources]
    spots = sum(map(len, found))
    one_place = spots <= len(sources)
    if one_place:
        found = [[texts.take(pa.array(sample_rows(texts))) for texts in some] for some in found]
    most, size = (max(1, each // max(1, spots // len(sources))) for each in (SAMPLE, SAMPLE_BYTES))
    cut = [[first_texts(texts, most, size) for texts in some] for some in found]
    none = pa.array([], pa.large_string())
    each = [pa.concat_arrays([none, *some]) for some in cut]
    sizes = [len(texts) for some in cut for texts in some]
    places = None if one_place else np.repeat(np.arange(len(sizes)), sizes)
    return Sample(each, pa.concat_arrays([none, *each]), places)


def sample_rows(texts: pa.LargeStringArray) -> np.ndarray:
    """Choose at most SAMPLE texts of about SAMPLE_BYTES bytes, at random but always the same."""
    rows = np.random.default_rng(0).permutation(len(texts))[:SAMPLE]
    _, starts, stops = text_bounds(texts, rows)
    return np.sort(rows[: 2 + np.searchsorted(np.cumsum(stops - starts), SAMPLE_BYTES)])


def first_texts(texts: pa.LargeStringArray, most: int, size: int) -> pa.LargeStringArray:
    """Return the first texts, at most `most`, of about `size` bytes; two even if they have more."""
    _, starts, stops = text_bounds(texts)
    return texts.slice(0, min(most, 2 + int(np.searchsorted(np.cumsum(stops - starts), size))))


def expected_effort(
    sources: list[Source], shingles: Shingles, sample: pa.LargeStringArray, size: float, run: Run
) -> Effort:
    """Estimate what it takes to read and shingle all texts, which have `size` bytes, on this machine.

    The speed of the machine is measured by hashing the contents of some of the sample, which takes as
    long for any texts; the first time loads the kernel. Other programs can slow it down further.
    """
    bounds = text_bounds(first_texts(sample, len(sample), TIMED))
    some = int((bounds[2] - bounds[1]).sum())
    taken = []
    for _ in range(4):
        start = time.thread_time()
        hash_contents(*bounds)
        taken.append(time.thread_time() - start)
    speed = min(taken) * 1e9 / some / CONTENTS if some > TIMED // 2 else 1.0
    read = max((FORMATS[part.format].cost for source in sources for part in source.parts), default=0.0)
    shingle = SHINGLE["char" if shingles.unit == "char" else "word"]
    slow, waited = min(max(speed, 0.2), 5.0) * crowding(), run.waited()
    rest = REST if waited else 0.0  # a command ends; another program goes on
    return Effort(read * size, shingle * size, run.threads, slow, waited, rest)
