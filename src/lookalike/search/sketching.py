"""Sketch items: what a search keeps of each one, besides its text."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.storage import Kinds
from lookalike.families import WeightedMinHash
from lookalike.items.sets import text_bounds
from lookalike.items.shingles import Rows, Shingles
from lookalike.kernels.draws import draw_rows
from lookalike.kernels.hashing import mix
from lookalike.kernels.sets import sort_rows
from lookalike.kernels.sketch import fold_bands
from lookalike.kernels.text import hash_contents
from lookalike.search.grouping import Grouping
from lookalike.search.identical import Contents
from lookalike.search.plan import Plan
from lookalike.search.weighing import PLAIN, Weighing

PIECE = 1 << 20  # bytes of text shingled and sketched at a time


class Columns(NamedTuple):
    """The columns of some items of a `Collection`, with their keys in one array, items x bands."""

    counts: np.ndarray
    lengths: np.ndarray
    contents: np.ndarray
    keys: np.ndarray
    sketched: np.ndarray  # whether the counts and keys are there, not those of an identical item


def pieces(texts: pa.LargeStringArray) -> list[pa.LargeStringArray]:
    """Cut texts into slices of about PIECE bytes, so that work stays in the processor's cache."""
    _, starts, _ = text_bounds(texts)
    first = np.flatnonzero(np.diff((starts - starts[:1]) // PIECE, prepend=-1))
    return [texts.slice(start, stop - start) for start, stop in pairwise([*first.tolist(), len(texts)])]


def sketch_texts(
    texts: pa.LargeStringArray,
    shingles: Shingles,
    plan: Plan,
    met: Contents | None = None,
    weighing: Weighing = PLAIN,
    grouping: Grouping | None = None,
    at: int = 0,
) -> tuple[Columns, Rows]:
    """Return the columns of prepared texts, and the shingles of those whose content is new.

    Only those are sketched. Only simhash, bags and weights need to sort out repeated shingles. `at` is
    the place of the first text among all items.
    """
    content, starts, stops = text_bounds(texts)
    contents = hash_contents(content, starts, stops)
    if grouping is not None:
        grouping.check(max(len(grouping.codes), at + len(texts)))
        contents ^= grouping.salts[at : at + len(texts), None]
    new = np.ones(len(texts), np.bool_) if met is None else met.add(contents)
    indptr, elements = rows = weighing.kept(shingles.hashes(texts, None if new.all() else np.flatnonzero(new)))
    if grouping is not None:
        grouping.scramble(at + np.flatnonzero(new), indptr, elements)
    if shingles.bag or plan.sketch == "simhash" or plan.weights is not None:
        indptr, elements = sort_rows(*rows, shingles.bag)
    made = band_keys(plan, indptr, elements, weighing.weights(elements))
    counts, keys = np.zeros(len(texts), np.int64), np.empty((len(texts), made.shape[1]), np.uint64)
    counts[new], keys[new] = np.diff(indptr), made
    return Columns(counts, stops - starts, contents, keys, new), rows


def band_keys(plan: Plan, indptr: np.ndarray, elements: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return one key per band for each row; no columns if the plan has no bands.

    `weights` are those of the elements, if the plan has any. Items that share a key are candidates;
    `plan.bands.curve` gives the probability of that.
    """
    if plan.bands is None:
        return np.empty((len(indptr) - 1, 0), np.uint64)
    bands, rows, _ = plan.bands
    functions = plan.functions(bands * rows)
    if isinstance(functions, WeightedMinHash):
        signatures = functions.sketch(indptr, elements, weights)
    else:
        signatures = functions.sketch(indptr, elements)
    keys: np.ndarray = fold_bands(signatures, bands, rows)
    return keys


def draw(plan: Plan, indptr: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return how many elements are drawn from each row, and those; None if the plan draws none."""
    if plan.draws is None:
        return None
    starts, drawn = draw_rows(indptr, elements, plan.draws.size, np.uint64(mix(np.uint64(plan.seed))))
    return np.diff(starts), drawn


def kinds_of(plan: Plan) -> Kinds:
    """Return the columns of a collection, and the types of their numbers."""
    bands = plan.bands.bands if plan.bands else 0
    whole, hashes = np.dtype(np.int64), np.dtype(np.uint64)
    columns = {"counts": whole, "lengths": whole, "contents": hashes, "sketched": np.dtype(np.bool_)}
    if plan.draws is not None:
        return {**columns, "drawn": whole, "draws": hashes}
    return {**columns, **{f"keys{band}": hashes for band in range(bands)}}


def joined_columns(made: list[Columns]) -> list[np.ndarray]:
    """Concatenate the columns of some pieces: the contents in one row, the keys band by band."""
    counts, lengths, contents, keys, sketched = (np.concatenate(arrays) for arrays in zip(*made, strict=True))
    return [counts, lengths, contents.ravel(), sketched, *np.ascontiguousarray(keys.T)]


def joined_draws(parts: list[tuple[np.ndarray, np.ndarray] | None]) -> list[np.ndarray]:
    """Concatenate the draws of some pieces, if there are any."""
    drawn = [part for part in parts if part is not None]
    return [np.concatenate(arrays) for arrays in zip(*drawn, strict=True)]
