"""What a page shows of passages."""

import numpy as np

from lookalike.core.wording import counted
from lookalike.passages.places import Places
from lookalike.passages.result import Passages
from lookalike.report.beside import Beside, texts
from lookalike.report.describe import facts_of, finding_of
from lookalike.report.finding import Finding, Values

AROUND = 1000  # bytes shown before and after a passage, at most


@finding_of.register
def of_passages(found: Passages) -> Finding:
    """Describe passages, each beside its first copy."""
    corpus, unit = found.corpus, found.unit
    least = counted(corpus.cutter.length, unit)
    return Finding(
        title=repr(found)[1:-1],
        ids=corpus.ids,
        item="document",
        made=found.stats.get("command", ""),
        facts=facts_of(found.stats, "document", {f"{unit}s read": found.stats["units"], "passages found": len(found)}),
        plan=[f"Asked for: all passages of {least} or more that occur twice or more, however they are laid out."],
        recall=[
            f"The method is exact: it finds every {least} in a row that are at two places.",
            "Every listed passage was compared with its first copy: none is listed on the evidence of a hash alone.",
        ],
        values=Values(
            found.first.document,
            found.found.document,
            found.length,
            f"length in {unit}s",
            cut=float(corpus.cutter.length),
            cut_name="shortest passage",
        ),
        beside=lambda numbers: [_beside(found, number) for number in numbers.tolist()],
        seconds=found.stats.get("seconds", {}),
    )


def _beside(found: Passages, number: int) -> Beside:
    """Return a passage and its first copy side by side, with some text around them."""
    left, right = (_around(found, places.take(np.array([number]))) for places in (found.first, found.found))
    return texts(left, right, found.corpus.shingles)


def _around(found: Passages, places: Places) -> str:
    """Return the text at a place, with what is before and after it."""
    document = int(places.document[0])
    content = found.corpus.look(np.array([document]))[0].encode()
    start, stop = max(0, int(places.start[0]) - AROUND), int(places.stop[0]) + AROUND
    return content[start:stop].decode(errors="ignore")
