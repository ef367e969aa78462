"""Describe a Resolution for a page: pairs of records field by field, matches and non-matches."""

from collections.abc import Mapping
from typing import Any

from lookalike.core.wording import counted
from lookalike.entities.resolution import ComparedRecords, Resolution
from lookalike.entities.values import fold
from lookalike.report.beside import FieldRow, Fields, visible
from lookalike.report.describe import finding_of
from lookalike.report.finding import Finding, Values
from lookalike.report.page import SNIPPET


@finding_of.register
def of_resolution(found: Resolution) -> Finding:
    """Describe matches of records, and the scored pairs that are not matches."""
    every = found.every or found
    ids = [found.ids] if found.right_ids is None else [found.ids, found.right_ids]
    split = len(found.ids) if len(ids) > 1 else 0
    records = " and ".join(f"{len(side):,}" for side in ids)
    cut, candidates = found.cut_off, found.candidates
    true, all_true = float(found.probability.sum()), float(every.probability.sum())
    trust = [] if found.guess else [f"{true:,.1f} of the matches are expected to be true, based on {found.basis}."]
    if all_true > 0 and not found.guess:
        trust.append(f"These are {true / all_true:.1%} of the true matches expected among all scored pairs.")
    compared = ", ".join(f"{one.name} ({column.kind})" for one, column in zip(found.fields, found.columns, strict=True))
    notes = [found.stats["note"] + "."] if found.stats.get("note") else []
    return Finding(
        title=f"{counted(len(found), 'match', 'es')} of {records} records",
        ids=ids,
        item="record",
        plan=[
            f"Asked for: records similar by {compared}.",
            f"Candidates: {'; '.join(map(str, candidates.stages))}.",
            f"A pair is a match if its probability is at least {cut:.4g}.",
        ],
        facts={
            "records": records,
            "pairs possible": f"{candidates.possible:,}",
            "pairs scored": f"{len(every):,}",
            "matches": f"{len(found):,}",
        },
        recall=[*trust, *notes],
        values=Values(
            every.left, every.right + split, every.probability, "probability of a match", cut=cut, cut_name="cut-off"
        ),
        beside=lambda numbers: [record_fields(every, pair) for pair in numbers.tolist()],
        label=None if found.right_ids is not None else found.clusters().label,
        made=found.stats.get("command", ""),
        look=lambda rows: [line[:SNIPPET] for line in ComparedRecords(found).look(rows)],
        seconds=found.stats.get("seconds", {}),
    )


def record_fields(found: Resolution, pair: int) -> Fields:
    """Return one pair of records, field by field."""
    rows = [
        FieldRow(
            visible(str(row["field"])),
            None if row["left"] is None else visible(row["left"]),
            None if row["right"] is None else visible(row["right"]),
            f"{row['points']:.0f}" + (f" (times {row['weight']:g})" if row["weight"] != 1 else ""),
            how_compared(row),
            row["points"] / 100,
        )
        for row in found.explain(pair)
    ]
    return Fields(rows, f"score {found.score[pair]:.4g}, probability of a match {found.probability[pair]:.4f}")


def how_compared(row: Mapping[str, Any]) -> str:
    """Return how two values were compared, and as what, if that is more than their words in lower case."""
    values = ((row[side], row[f"{side}_compared"]) for side in ("left", "right"))
    as_what = [repr(value) for read, value in values if value is not None and value not in (read.lower(), fold(read))]
    return f"{row['way']}; compared as {visible(' and '.join(as_what))}" if as_what else str(row["way"])
