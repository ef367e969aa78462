"""What a page shows of recommendations."""

import pyarrow as pa

from lookalike.baskets.recommending import Recommendation, Recommendations
from lookalike.core.wording import counted
from lookalike.report.describe import finding_of
from lookalike.report.finding import Finding


@finding_of.register
def of_recommendations(found: Recommendations) -> Finding:
    """Show each recommended item with who liked it and why."""
    return Finding(
        title=f"{counted(len(found), 'item')} recommended to {found.user}",
        ids=[pa.array([one.item for one in found.found], found.kinds[1])],
        facts={"similar users asked": f"{found.neighbours:,}", "items recommended": f"{len(found):,}"},
        plan=[_line(place, one) for place, one in enumerate(found.found, 1)],
    )


def _line(place: int, one: Recommendation) -> str:
    who = ", ".join(f"{other.user} (similarity {other.similarity:.2f})" for other in one.who)
    why = f"; in common: {', '.join(map(str, one.why))}" if one.why else ""
    return f"{place}. {one.item}, score {one.score:.2f}: liked by {who}{why}."
