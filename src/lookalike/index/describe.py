"""What a page shows of items sifted by an index."""

import numpy as np

from lookalike.index.batches import same_type
from lookalike.index.sifting import Sifted
from lookalike.report.describe import finding_of
from lookalike.report.finding import Finding, Values


@finding_of.register
def of_sifted(found: Sifted) -> Finding:
    """Show each removed item beside the item it is most similar to."""
    removed = np.flatnonzero(~found.keep)
    similar = same_type([found.like[row] for row in removed])
    places = np.arange(len(removed)) + len(found.ids)
    values = Values(removed, places, found.values[removed], found.kind, rising=found.kind == "similarity")
    facts = {"items read": len(found.ids), "items kept": len(found.ids) - len(removed), "items removed": len(removed)}
    return Finding(
        title=repr(found)[1:-1],
        ids=[same_type(found.ids), similar],
        facts={name: f"{count:,}" for name, count in facts.items()},
        values=values,
    )
