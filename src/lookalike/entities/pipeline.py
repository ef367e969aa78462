"""Resolve records: read, check, normalise, find candidates, score, estimate, choose matches."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.errors import (
    LARGEST_SEED,
    UsageError,
    argument,
    fraction,
    parameter,
    positive,
    whole,
)
from lookalike.core.run import Run, slices
from lookalike.core.storage import FILLED, IN_MEMORY, Storage
from lookalike.core.wording import counted
from lookalike.entities.candidates import CandidatePairs, find_candidates
from lookalike.entities.fields import Column, Field, as_days, as_fields, as_numbers
from lookalike.entities.golden import rules_of
from lookalike.entities.kinds import make_column
from lookalike.entities.labels import ENOUGH, MatchLabels, read_labels, recalibrate, with_labelled
from lookalike.entities.learned import by_evidence
from lookalike.entities.mixture import LEAST_FIELDS
from lookalike.entities.models import ResolveModel
from lookalike.entities.probabilities import LIKELY, Probabilities, Witness, by_mixture, by_validation
from lookalike.entities.proposing import propose_fields
from lookalike.entities.reading import RecordTables, read
from lookalike.entities.recall import estimated_recall
from lookalike.entities.resolution import Resolution
from lookalike.entities.scores import FULL_POINTS, ScoredPairs, comparisons_of, score_pairs
from lookalike.search.storage import open_storage
from lookalike.theory.sorting import best_first

BYTES_PER_RECORD = 1000  # of memory, with all that can be in files: values, and the distinct ones compared


def resolve(
    left: Any,
    right: Any = None,
    *,
    fields: Sequence[Field | str] | None = None,
    id: str | None = None,
    validate: Field | str | None = None,
    max_lag: float | None = None,
    labels: Any = None,
    model: Any = None,
    precision: float | None = None,
    one_to_one: bool = False,
    golden_by: Mapping[str, str] | None = None,
    threshold: float = 0.6,
    nearest: int = 2,
    seed: int = 1,
    memory: str | int | None = None,
    workdir: str | Path | None = None,
    threads: int | None = None,
    run: Run | None = None,
) -> Resolution:
    """Find pairs of records, of two tables or of one, that belong to the same person or thing.

    Args:
        left: the records: a table, a data frame, a list of dictionaries or a path.
        right: the records of the second table; None to find pairs within the first.
        fields: the columns to compare: "name", or "address:street" if the second table calls it
            street; "born=date" sets the kind, "phone*2" the weight. Each can be a `Field`. By
            default, the columns that identify a record are proposed: `found.fields` names them.
        id: the id column, "key:number" if its name differs; by default `id`, else row numbers. As
            in fields, a backslash escapes a colon in a name.
        validate: a column of dates or numbers that is not compared, from which the share of true
            matches per score is estimated. Without it, pairs of two tables are compared with their
            rivals, by weights learned from other tables; within one table, a mixture is fitted.
        max_lag: keep only pairs where the value of `validate` in the second table is 0 to `max_lag`
            (days, for dates) after that in the first; within one table, where they differ by at
            most `max_lag`. Pairs with a missing value are kept.
        labels: pairs of which someone has said whether they are a match: a table or a path, with the
            columns left, right (ids) and match (yes, no or unsure). They correct the probabilities of
            all pairs, and a labelled pair gets its label. They must not have been chosen by their
            answer: known matches alone would make all others look more likely.
        model: what an earlier run learned, from `found.save_model(path)`: a path, or `found.model()`.
            Fields, settings and probabilities are those of the model, and nothing is learned anew; a
            parameter that differs from the model is an error.
        precision: the share of matches that must be true, as expected from their probabilities; by
            default a pair is a match if its probability is at least 0.5.
        one_to_one: whether each record can have only one match.
        golden_by: the rules by which `found.golden()` is to merge records, checked before they are
            compared; you can also choose them afterwards.
        threshold: records without a common value are scored if their shingles in all fields
            together have at least this Jaccard similarity; ignored between two tables with more
            than 100,000 records in all, unless `nearest` is 0.
        nearest: how many nearest records, in each field of names, addresses or texts and by all
            fields together, to score with each record as well; above 100,000 records only by all
            fields together, for records that were not found with another one in two ways.
        seed: the seed of all random choices; the same seed gives the same result.
        memory: about how much memory to use, such as "2GB": the candidate pairs, and the words and
            shingles of all records, are kept in files. The tables themselves stay in memory; a
            message says if they need more. The result is the same.
        workdir: the folder of these files, which are deleted at the end; by default, with `memory`, a
            temporary folder.
        threads: how many threads to use; by default one per core.
        run: a `lookalike.core.run.Run` to use in place of `threads`; a subclass can show progress.

    Returns:
        `Resolution`: iterate over (left id, right id, probability), best first.

    >>> shop = [{"name": "Ann Lee", "street": "9 Elm Street", "town": "Ansel"},
    ...         {"name": "Bill Smith", "street": "3 Oak Road", "town": "Ansel"}]
    >>> club = [{"name": "Smith, William", "address": "3 Oak Rd", "town": "Ansel"}]
    >>> found = resolve(shop, club, fields=["name=name", "street:address", "town"])
    >>> [(left, right, probability > 0.5) for left, right, probability in found]
    [(1, 0, True)]
    """
    given = None if fields is None else as_fields(fields)
    run = Run(threads) if run is None else run
    known = None if model is None else ResolveModel.load(model)
    tables = read(left, right, id, run)
    settings: dict[str, Any] = {
        "validate": validate, "max_lag": max_lag, "threshold": threshold, "nearest": nearest, "seed": seed
    }  # fmt: skip
    if known is not None:
        settings, given = settled(known, tables, settings, given, labels), known.fields
    compared = propose(tables, validate, run) if given is None else given
    asked = check(
        tables, compared, precision=precision, one_to_one=one_to_one, golden_by=golden_by, **settings,
    )  # fmt: skip
    labelled = None if labels is None else read_labels(labels, tables, run)
    with open_storage({}, memory, workdir) as storage:
        try:
            return compare(tables, asked, known, labelled, given is None, storage, run)
        finally:
            storage.remove()  # what is mapped stays readable


def compare(
    tables: RecordTables, asked: "ResolveSettings", known: ResolveModel | None, labelled: MatchLabels | None,
    proposed: bool, storage: Storage, run: Run,
) -> Resolution:  # fmt: skip
    """Find the candidates, score them, estimate their probabilities, and choose the matches."""
    columns = normalise_fields(tables, asked.fields, run, known)
    asked = replace(asked, fields=of_kinds(asked.fields, columns))
    needed = BYTES_PER_RECORD * len(columns[0].values)
    if storage.memory is not None and needed > storage.memory:
        run.say(f"note: these records need about {needed / 1e9:,.1f} GB of memory, which is more than the limit")
    candidates = find_candidates(
        columns, tables.sides, threshold=asked.threshold, nearest=asked.nearest, seed=asked.seed, run=run,
        storage=storage,
    )  # fmt: skip
    witness = None if asked.validate is None else read_witness(tables, asked.validate, asked.max_lag, run)
    left, right, found_by = possible_pairs(candidates, witness, run, storage)
    left_out = len(candidates.numbers) - len(left)
    if labelled is not None:
        left, right, found_by = with_labelled(labelled, left, right, found_by)
    weights = np.array([field.weight for field in asked.fields])
    with run.stage("score"):
        comparisons = comparisons_of(columns, run, None if known is None else known.rarities, storage)
    pairs = score_pairs(comparisons, weights, left, right, run, storage)
    if known is not None:
        found = known.estimate(columns, comparisons, pairs, tables.sides, run, storage)
    elif witness is not None:
        found = by_validation(witness, pairs, FULL_POINTS * weights.sum(), asked.seed)
    elif tables.sides.two:
        found = by_evidence(columns, comparisons, pairs, tables.sides, asked.seed, run, storage=storage)
    else:
        found = by_mixture(comparisons, pairs, tables.sides, asked.seed, run)
    if labelled is not None:
        share = pairs.score / (FULL_POINTS * weights.sum())
        found = recalibrate(found, labelled, pairs.left, pairs.right, share, found_by > 0)
    if found.guess and asked.precision is not None and len(pairs.score):
        raise UsageError(
            f"precision cannot be promised with fewer than {LEAST_FIELDS} informative fields; got {asked.precision:g}. "
            f"Name a column for {argument('validate')}, give {ENOUGH} {argument('labels')}, compare another field, "
            f"or leave out {argument('precision')}."
        )
    notes = remarks(columns, witness, left_out, found)
    names = [column.name for column in columns]
    recall = None if found.guess else estimated_recall(candidates.stages, found_by, found.values, names, pairs.points)
    stats = {
        "note": "; ".join(notes), "guess": found.guess, "proposed": proposed, "candidate_recall": recall,
        "seconds": run.seconds,
    }  # fmt: skip
    learned = replace(found, values=found.values[:0])  # since the result keeps it
    make = partial(ResolveModel.of, tables, asked.fields, asked.validate, vars(asked), columns, learned)
    make = make if known is None else partial(ResolveModel.load, known)
    return choose(tables, asked, columns, candidates, pairs, found, labelled, make, stats, run, storage)


# --- check ---


@dataclass(frozen=True)
class ResolveSettings:
    """The parameters, as checked by `check`."""

    fields: list[Field]
    validate: Field | None
    max_lag: float | None
    precision: float | None
    one_to_one: bool
    golden_by: Mapping[str, str] | None
    threshold: float
    nearest: int
    seed: int


def settled(
    known: ResolveModel, tables: RecordTables, given: Mapping[str, Any], fields: list[Field] | None, labels: Any
) -> dict[str, Any]:
    """Return the settings of a model; raise an error for other tables, or a parameter that differs from it."""
    known.check_tables(len(tables.tables))
    if labels is not None:
        raise UsageError(f"labels cannot correct a model: give {argument('labels')} to the run that saves the model.")
    defaults = {name: one.default for name, one in inspect.signature(resolve).parameters.items()}
    validate = given["validate"] if given["validate"] is None else as_fields([given["validate"]])[0]
    return known.settled({**given, "validate": validate}, defaults, fields)


def check(
    tables: RecordTables, fields: list[Field], *, validate: Field | str | None, max_lag: float | None,
    precision: float | None, one_to_one: bool, golden_by: Mapping[str, str] | None, threshold: float, nearest: int,
    seed: int,
) -> ResolveSettings:  # fmt: skip
    """Raise an error if a column is missing, the validation column is scored, or a value or a rule wrong."""
    witness = None if validate is None else as_fields([validate])[0]
    every = fields if witness is None else [*fields, witness]
    for field in every:
        tables.columns(field)
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"each field can be given only once; got {twice!r} twice.")
    if witness is not None and any((witness.left, witness.right) == (one.left, one.right) for one in fields):
        raise UsageError(f"validate must be a column that is not compared; {witness.left!r} is among the fields.")
    if max_lag is not None and witness is None:
        raise UsageError(
            f"{parameter('max_lag')} applies to the validation column: name it with {argument('validate')}."
        )
    if golden_by is not None:
        rules_of(tables.stack(every), golden_by, tables.id_columns[0])
    return ResolveSettings(
        fields,
        witness,
        None if max_lag is None else positive("max_lag", max_lag),
        None if precision is None else fraction("precision", precision),
        one_to_one,
        golden_by,
        fraction("threshold", threshold),
        whole("nearest", nearest, least=0),
        whole("seed", seed, least=0, most=LARGEST_SEED),
    )


# --- normalise ---


def propose(tables: RecordTables, validate: Field | str | None, run: Run) -> list[Field]:
    """Propose fields, without the id and the validation column."""
    witness = None if validate is None else as_fields([validate])[0]
    others = [[], []] if witness is None else [[witness.left], [witness.right]]
    skipped = [[name, *some] for name, some in zip(tables.id_columns, others, strict=False)]
    return propose_fields(tables.tables, skipped, run)


def of_kinds(fields: Sequence[Field], columns: Sequence[Column]) -> list[Field]:
    """Return the fields with the kinds that were given or inferred."""
    return [replace(field, kind=column.kind) for field, column in zip(fields, columns, strict=True)]


def normalise_fields(
    tables: RecordTables, fields: list[Field], run: Run, known: ResolveModel | None = None
) -> list[Column]:
    """Return the normalised columns of all fields, read as those of the known model if it is unclear how."""
    columns = []
    styles: Sequence[Sequence[bool | None]] = [(None, None)] * len(fields) if known is None else known.styles
    with run.stage("fields", len(fields)) as tick:
        for field, style in zip(fields, styles, strict=True):
            columns.append(make_column(field, tables.columns(field), run, style))
            tick(1)
    return columns


def read_witness(tables: RecordTables, field: Field, max_lag: float | None, run: Run) -> Witness:
    """Return the normalised validation column, which must hold dates or numbers."""
    column = make_column(field, tables.columns(field), run)
    if column.kind not in ("date", "number"):
        raise UsageError(f"validate must be a column of dates or numbers; {field.name!r} is of kind {column.kind!r}.")
    values = as_days(column.values) if column.kind == "date" else as_numbers(column.values)
    return Witness(column, values, tables.sides, max_lag)


def possible_pairs(
    candidates: CandidatePairs, witness: Witness | None, run: Run, storage: Storage = IN_MEMORY
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two records of each candidate pair with a possible lag, and which stages found it."""
    numbers, found_by, records = candidates.numbers, candidates.found_by, max(1, candidates.records)
    if witness is not None and witness.max_lag is not None:
        numbers, found_by = within_lag(candidates, witness, witness.max_lag, run, storage)

    def side(name: str, of: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
        return storage.filled(name, len(numbers), np.int64, lambda part: of(numbers[part], records), run)

    return side("left", np.floor_divide), side("right", np.remainder), found_by


def within_lag(
    candidates: CandidatePairs, witness: Witness, most: float, run: Run, storage: Storage
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the candidate pairs with a possible lag, and which stages found them."""

    def possible(part: slice) -> np.ndarray:
        lag = witness.differences(*np.divmod(candidates.numbers[part], max(1, candidates.records)))
        return np.asarray(np.isnan(lag) | ((lag >= 0) & (lag <= most)))

    chosen = storage.filled("possible", len(candidates.numbers), np.bool_, possible, run)
    count, at = int(np.count_nonzero(chosen)), 0
    numbers, found_by = (storage.empty(*one) for one in (("kept", count, np.int64), ("kept by", count, np.uint64)))
    for part in slices(len(chosen), FILLED):
        rows = part.start + np.flatnonzero(chosen[part])
        numbers[at : at + len(rows)] = candidates.numbers[rows]
        found_by[at : at + len(rows)] = candidates.found_by[rows]
        at += len(rows)
    return numbers, found_by


# --- choose ---


def remarks(columns: list[Column], witness: Witness | None, left_out: int, found: Probabilities) -> list[str]:
    """Return notes for the user: empty fields, unreadable values, pairs left out, doubts."""
    notes = []
    for one in columns if witness is None else [*columns, witness.column]:
        if len(one.values) and one.values.null_count - one.unread == len(one.values):
            notes.append(f"{one.name} is empty in all records and has no effect")
        if one.unread:
            notes.append(f"{counted(one.unread, 'value')} of {one.name} cannot be read as {one.kind}: set to missing")
    if left_out and witness is not None:
        notes.append(f"{counted(left_out, 'pair')} left out: lag not between 0 and {witness.max_lag:g}")
    few = f"with fewer than {LEAST_FIELDS} informative fields the probabilities are only a guess"
    return [*notes, *found.notes, *([f"{few}; {ENOUGH} labels turn them into estimates"] if found.guess else [])]


def choose(
    tables: RecordTables, asked: ResolveSettings, columns: list[Column], candidates: CandidatePairs, pairs: ScoredPairs,
    found: Probabilities, labels: MatchLabels | None, make_model: Callable[[], ResolveModel], stats: dict[str, Any],
    run: Run, storage: Storage = IN_MEMORY,
) -> Resolution:  # fmt: skip
    """Sort the pairs, best first, and keep those likely enough; if one to one, each record once."""
    order = best_first(found.values, pairs.score, run)  # pairs that are equal in both stay in the order of records
    split, cut_off = tables.sides.offset, least_probability(found.values, asked.precision)

    def ordered(name: str, values: np.ndarray, less: int = 0) -> np.ndarray:
        return storage.filled(f"best {name}", values.shape, values.dtype, lambda part: values[order[part]] - less, run)

    every = Resolution(
        left=ordered("left", pairs.left), right=ordered("right", pairs.right, split),
        score=ordered("score", pairs.score), points=ordered("points", pairs.points),
        probability=ordered("probability", found.values),
        tables=tables, fields=asked.fields, columns=columns, candidates=candidates, cut_off=cut_off,
        basis=found.basis, validated_by=asked.validate, validation=found.validation, mixture=found.mixture,
        labels=labels, make_model=make_model, golden_by=asked.golden_by or {}, stats=stats,
    )  # fmt: skip
    rows = np.flatnonzero(every.probability >= cut_off)
    if asked.one_to_one:
        rows = rows[each_record_once(every.left[rows], every.right[rows] + split, candidates.records)]
    some = {name: getattr(every, name)[rows] for name in ("left", "right", "score", "points", "probability")}
    return replace(every, **some, every=every)


def least_probability(probability: np.ndarray, precision: float | None) -> float:
    """Return the probability from which a share `precision` of pairs is expected to be true."""
    if precision is None:
        return LIKELY
    ordered = np.sort(probability)[::-1]
    last = np.append(ordered[1:], -1) < ordered  # pairs of one probability are all matches, or none is
    good = np.flatnonzero(last & (np.cumsum(ordered) / np.arange(1, len(ordered) + 1) >= precision))
    return float(ordered[good[-1]]) if len(good) else np.inf


def each_record_once(left: np.ndarray, right: np.ndarray, records: int) -> np.ndarray:
    """Return positions of pairs such that no record is in two; earlier pairs have priority."""
    used = np.zeros(records, bool)
    chosen = []
    for at, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        if not used[a] and not used[b]:
            used[a] = used[b] = True
            chosen.append(at)
    return np.array(chosen, np.int64)
