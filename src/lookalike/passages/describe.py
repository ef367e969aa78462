"""What a page shows of passages, and of what was cut out of texts."""

import numpy as np

from lookalike.core.wording import counted
from lookalike.passages.cutting import Cuts
from lookalike.passages.places import Places
from lookalike.passages.reading import Corpus
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


@finding_of.register
def of_cuts(found: Cuts) -> Finding:
    """Describe what was cut, each part beside an earlier copy of its first unit."""
    corpus, name = found.corpus, found.corpus.cutter.name
    unit = name if corpus.cutter.length == 1 else f"{corpus.cutter.length} {name}s in a row"
    kept = int(found.keep.sum())
    counts = {
        f"{name}s read": found.stats["units"],
        f"{name}s cut": int(found.length.sum()),
        "documents kept": kept,
        "documents dropped": len(found.keep) - kept,
    }
    earlier = f"; {corpus.earlier:,} documents of earlier runs count as occurring before" if corpus.earlier else ""
    return Finding(
        title=repr(found)[1:-1],
        ids=corpus.ids,
        item="document",
        made=found.stats.get("command", ""),
        facts=facts_of(found.stats, "document", counts),
        plan=[f"Asked for: every {unit} that occurred before, to cut it{earlier}."],
        recall=[
            f"The method is exact: every {unit} that is a copy too many is cut, and nothing else.",
            "Every cut was compared with the earlier copy: nothing is cut on the evidence of a hash alone.",
        ],
        values=Values(found.first.document, found.found.document, found.length, f"length in {name}s"),
        beside=lambda numbers: [_beside(found, number) for number in numbers.tolist()],
        seconds=found.stats.get("seconds", {}),
    )


def _beside(found: Passages | Cuts, number: int) -> Beside:
    """Return a passage and its first copy side by side, with some text around them."""
    row = np.array([number])
    left, right = (_around(found.corpus, places.take(row)) for places in (found.first, found.found))
    return texts(left, right, found.corpus.shingles)


def _around(corpus: Corpus, places: Places) -> str:
    """Return the text at a place, with what is before and after it."""
    document = int(places.document[0])
    content = corpus.look(np.array([document]))[0].encode()
    start, stop = max(0, int(places.start[0]) - AROUND), int(places.stop[0]) + AROUND
    return content[start:stop].decode(errors="ignore")
