"""Keep a collection in a folder: add and remove items, and look up similar ones.

Every answer is verified on the items themselves, and the index knows the probability of finding an
item right at the threshold.

Lives here: `store` (the files), `tables` and `writing` (what is in them), made of `kept` (items) and
`postings` (hashes); `base` and `codings` (how each kind of item is kept and compared); `asking` and
`looking` (queries), `changing`, `building` (an index of many items), `sifting` (deduplication against
an index), `rewriting`, `exporting`.
May import: `find`, `search` and the packages below. To keep another kind of item, derive a `Coding`.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from secrets import randbits
from typing import Any

from lookalike import __version__
from lookalike.core.errors import LARGEST_SEED, UsageError, choice, fraction, parameter, remedy, whole
from lookalike.core.run import Run
from lookalike.core.workdir import FolderStorage
from lookalike.index.batches import check_all_named, numbered, rest_of
from lookalike.index.building import Builder, about_build, place_for
from lookalike.index.changing import Changing, ids_of
from lookalike.index.codings import shingle_settings
from lookalike.index.entries import salt_of
from lookalike.index.exporting import readable, rows_in, settings_in
from lookalike.index.records import Id
from lookalike.index.settings import LONGEST_CODE, read_settings
from lookalike.index.store import Store, check_new, has_store
from lookalike.index.tables import FORMAT
from lookalike.items.shingles import Shingles
from lookalike.measures import MEASURES
from lookalike.measures.table import BANDED, SHORT, TABLED, vector_measure
from lookalike.search.inputs import as_items, no_threshold
from lookalike.search.plan import MOST_HASHES, make_plan
from lookalike.search.vector_plan import parse_distance


class Index(Changing):
    """An index in a folder, of documents, sets, vectors or bit codes: whichever are added first.

    >>> from tempfile import mkdtemp
    >>> index = Index.create(Path(mkdtemp()) / "news.index", threshold=0.5, shingles="char:4")
    >>> index.add(["the cat sat on the mat", "something else"], ids=["cat", "other"])
    2
    >>> [(name, round(similarity, 2)) for name, similarity in index.query("the cat sat on the hat")]
    [('cat', 0.71)]
    >>> index.remove(["cat"]), index.query("the cat sat on the hat")
    (1, [])
    >>> index  # doctest: +ELLIPSIS
    <Index of 1 text, jaccard >= 0.5, in ...news.index>
    >>> index.close()
    """

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        threshold: float | str | Fraction | None = None,
        measure: str = "jaccard",
        recall: float = 0.99,
        shingles: Shingles | str = "char:9",
        expected: int = 1_000_000,
        store_text: bool = False,
        seed: int | None = None,
        notes: dict[str, Any] | None = None,
    ) -> "Index":
        """Create an index without items. The bands are chosen when the first items are added.

        Args:
            path: the folder of the index, which must not exist yet.
            threshold: the least similarity (default: 0.8), or the greatest distance, of the items that
                a query finds.
            measure: "jaccard" or "bag" for texts and sets; for vectors "angle", "cosine_similarity"
                or "euclidean"; for bits "hamming".
            recall: the probability of finding an item exactly at the threshold: below 1, except for
                "hamming".
            shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
            expected: about how many items the index will hold; the bands are chosen for this many.
            store_text: whether to keep the texts, compressed, rather than the hashes of their shingles:
                the index is smaller, and the texts can be read back.
            seed: the seed of the hash functions; by default a random one, stored in the index, so that
                nobody can craft similar items that the index does not find.
            notes: your own notes, anything that JSON can hold, kept in `settings["notes"]`.

        Returns:
            The new index, open for writing.

        >>> from tempfile import mkdtemp
        >>> with Index.create(Path(mkdtemp()) / "new.index", threshold=0.5, shingles="word:2") as index:
        ...     index.add(["one two three", "four five six"])
        2
        """
        path = Path(path)
        check_new(path)
        measure = banded_name(measure)
        threshold = MEASURES[measure].default if threshold is None else threshold
        if threshold is None:
            raise no_threshold(measure)
        recall = check_findable(measure, threshold, recall)
        parsed = shingles if isinstance(shingles, Shingles) else Shingles.parse(shingles)
        seed = whole("seed", secret_seed() if seed is None else seed, least=0, most=LARGEST_SEED)
        settings = {
            "format": FORMAT,
            "version": __version__,
            "wanted": {
                "measure": measure,
                "threshold": str(threshold),
                "recall": recall,
                "seed": seed,
            },
            "shingles": shingle_settings(dataclasses.replace(parsed, bag=measure == "bag_jaccard")),
            "expected": whole("expected", expected),
            "store_text": bool(store_text),
            "notes": notes or {},
            "coding": None,
        }
        return cls._empty(path, settings)

    @classmethod
    def _empty(cls, path: Path, settings: dict[str, Any]) -> "Index":
        """Create an index with these settings."""
        store = Store(path, create=True)
        with store.writing() as writer:
            writer.put_settings(settings)
            writer.put_salt(salt_of(settings["wanted"]["seed"]))
            writer.put_text_bytes(0)
        return cls(store, settings)

    @classmethod
    def build(
        cls,
        path: str | Path,
        items: Any,
        ids: Iterable[Id] | None = None,
        *,
        threshold: float | str | Fraction | None = None,
        measure: str = "jaccard",
        recall: float = 0.99,
        shingles: Shingles | str = "char:9",
        expected: int = 1_000_000,
        store_text: bool = False,
        seed: int | None = None,
        notes: dict[str, Any] | None = None,
        workdir: str | Path | None = None,
        run: Run | None = None,
    ) -> "Index":
        """Build an index of these items; it appears complete or not at all.

        This is faster than creating an index and adding the items, and the index is smaller.

        Args:
            path: the folder of the index, which must not exist yet.
            items: texts, sets, vectors or bits, as for `find_pairs`.
            ids: the ids of the items, strings or integers; by default their own, or numbers from 0.
            threshold: the least similarity (default: 0.8), or the greatest distance, of the items that
                a query finds.
            measure: "jaccard" or "bag" for texts and sets; for vectors "angle", "cosine_similarity"
                or "euclidean"; for bits "hamming".
            recall: the probability of finding an item exactly at the threshold: below 1, except for
                "hamming".
            shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
            expected: about how many items the index will hold; the bands are chosen for this many.
            store_text: whether to keep the texts, compressed, rather than the hashes of their shingles:
                the index is smaller, and the texts can be read back.
            seed: the seed of the hash functions; by default a random one, stored in the index, so that
                nobody can craft similar items that the index does not find.
            notes: your own notes, anything that JSON can hold, kept in `settings["notes"]`.
            workdir: a folder, on the same disk, where the index is built; after a crash, the same call
                with it resumes there. For documents that are read from files.
            run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

        Returns:
            The index, open for writing.

        >>> from tempfile import mkdtemp
        >>> with Index.build(Path(mkdtemp()) / "sets.index", [{1, 2, 3}, {7, 8}], threshold=0.5) as index:
        ...     index.query({1, 2, 3, 4})
        [(0, 0.75)]
        """
        path, run = Path(path), run or Run()
        settings: dict[str, Any] = {
            "threshold": threshold,
            "measure": measure,
            "recall": recall,
            "shingles": shingles,
            "expected": expected,
            "store_text": store_text,
            "seed": seed,
            "notes": notes,
        }
        about: dict[str, Any] = {}
        if workdir is not None:
            items = as_items(items, measure, run)
            about = about_build(items, ids, workdir, settings)
        with place_for(path, workdir, about) as (place, storage):
            index = cls.open(place) if has_store(place) else cls.create(place, **settings)
            try:
                index._build(items, ids_of(ids), storage, run)
            finally:
                index.close()
        return cls.open(path)

    def _build(self, items: Any, given: Iterator[Id] | None, storage: FolderStorage, run: Run) -> None:
        with run.stage("add") as tick:
            encoder = self._encoder()
            builder = Builder(self.store, encoder, storage, run)
            tick(builder.items)
            batches = rest_of(self._batches(items, given, run), builder.items)
            builder.add(run.map(encoder.encode, encoder.fitting(numbered(batches, builder.following))), tick)
            check_all_named(given, builder.items)
            builder.finish()

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> "Index":
        """Open an existing index."""
        store = Store(Path(path), read_only)
        try:
            return cls(store, read_settings(store))
        except BaseException:
            store.close()
            raise

    @classmethod
    def restore(cls, path: str | Path, source: str | Path, *, run: Run | None = None) -> "Index":
        """Make an index of the items that `export` wrote to a Parquet file; it gives the same answers.

        Args:
            path: the folder of the index, which must not exist yet.
            source: the Parquet file.
            run: a `lookalike.core.run.Run`: how many threads to use, and how to show progress.

        Returns:
            The index, open for writing.
        """
        path, source, run = Path(path), Path(source), run or Run()
        settings, text = settings_in(source)
        with place_for(path, None, {}) as (place, storage):
            index = cls._empty(place, settings)
            try:
                with run.stage("restore") as tick, readable(source):
                    encoder = index._encoder()
                    builder = Builder(index.store, encoder, storage, run)
                    builder.add(run.map(encoder.encode_column, rows_in(source)), tick)
                    builder.finish()
                    if text is not None:
                        with index.store.writing() as writer:
                            writer.put_text_bytes(text)
            finally:
                index.close()
        return cls.open(path)


def secret_seed() -> int:
    """Draw a seed that nobody can guess."""
    return randbits(64)


def banded_name(measure: str) -> str:
    """Return the full name of a measure that an index can have."""
    if measure in BANDED:
        return measure
    usual = choice("measure", vector_measure(measure), (*(MEASURES[name].usual for name in BANDED), *TABLED))
    return SHORT.get(usual, usual)


def check_findable(measure: str, threshold: float | str | Fraction, recall: float) -> float:
    """Return the recall; raise an error if an index cannot reach it at this threshold."""
    recall = fraction("recall", recall)
    if recall == 1 and measure != "hamming":
        raise UsageError(
            "recall must be below 1 for an index, except with measure 'hamming'; got 1. "
            f"To find every pair of a collection, use {remedy('find_pairs', '`lookalike pairs`')}."
        )
    if measure in TABLED:
        parse_distance(measure, threshold, LONGEST_CODE)
    elif make_plan(measure=measure, threshold=threshold, recall=recall).bands is None:
        raise UsageError(
            f"threshold must be higher for an index: {threshold} at recall {recall:g} needs more than {MOST_HASHES} "
            f"minhashes. Raise {parameter('threshold')}, or lower {parameter('recall')}."
        )
    return recall
