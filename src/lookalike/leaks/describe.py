"""Describe leaks for a page: each passage beside the test item it is from."""

import numpy as np
import pyarrow as pa

from lookalike.core.wording import counted
from lookalike.leaks.items import RULE
from lookalike.leaks.result import Leaks
from lookalike.report.beside import Texts, texts
from lookalike.report.describe import finding_of
from lookalike.report.finding import Finding, Values


@finding_of.register
def of_leaks(found: Leaks) -> Finding:
    """Describe the leaks, with the documents that have one as one side and the test items as the other."""
    documents, left = np.unique(found.found["document"].to_numpy(), return_index=True)
    position = np.searchsorted(documents, found.found["document"].to_numpy())
    rows = found.found["row"].to_numpy()
    ids = found.ids.take(pa.array(left))
    leaked = counted(int(np.count_nonzero(found.counts.places)), "test item")
    leaking = int(np.count_nonzero(~found.keep))

    def show(numbers: np.ndarray) -> list[Texts]:
        questions = found.questions(rows[numbers])
        return [
            texts(found.found["text"][at].as_py(), q, RULE) for at, q in zip(numbers.tolist(), questions, strict=True)
        ]

    return Finding(
        title=f"{leaked} in {counted(leaking, 'document')}",
        ids=[ids, found.item_ids],
        item="document",
        made=found.stats.get("command", ""),
        plan=[f"Asked for: documents that contain {limits_in_words(found.stats)}."],
        facts={
            "documents read": f"{len(found.keep):,}",
            "documents with a test item": f"{leaking:,}",
            "places": _places(found),
            **{
                f"items of {file['file']} found": f"{file['leaked']:,} of {file['items']:,}"
                for file in found.files.to_pylist()
            },
        },
        recall=["Every place where an item meets these limits is found and counted: nothing is sampled."],
        values=Values(position, rows + len(ids), found.found["containment"].to_numpy(), "share of the item found"),
        beside=show,
        seconds=found.stats.get("seconds", {}),
    )


def _places(found: Leaks) -> str:
    """Return how many places were found, and how many of them the page lists."""
    places = int(found.counts.places.sum())
    listed = f", {len(found):,} of them listed: the first {found.stats['places']:,} of each item"
    return f"{places:,}{listed if len(found) < places else ''}"


def limits_in_words(stats: dict[str, object]) -> str:
    """Return what counts as a leak.

    >>> limits_in_words({"threshold": 0.5, "least": 5, "longest": None})
    'at least 0.5, and at least 5, of the three-word shingles of a test item, or all of an item that has fewer'
    """
    run = "" if stats["longest"] is None else f"{stats['longest']} of its words in a row, "
    share = f"at least {stats['threshold']:g}, and at least {stats['least']}, of the three-word shingles of a test item"
    return f"{share}, {run}or all of an item that has fewer"
