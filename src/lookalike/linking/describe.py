"""What a page shows of linked records."""

from lookalike.index.batches import same_type
from lookalike.linking.linked import LinkedRecords
from lookalike.report.describe import finding_of
from lookalike.report.finding import Finding


@finding_of.register
def of_linked(found: LinkedRecords) -> Finding:
    """Show how many records were linked, and which clusters became one."""
    facts = {"records": len(found), "records of known clusters": sum(found.known)}
    return Finding(
        title=repr(found)[1:-1],
        ids=[same_type(found.ids)],
        facts={name: f"{count:,}" for name, count in facts.items()},
        advice=found.lines()[1:],
    )
