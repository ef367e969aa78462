"""The command `lookalike demo`: similar pairs among the example documents."""

from pathlib import Path

import lookalike
from lookalike.cli.app import command
from lookalike.cli.options import Threads
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import summary
from lookalike.core.errors import DataError

THRESHOLD = 0.7


@command("lookalike demo")
def demo(*, threads: Threads = None) -> None:
    """Find similar pairs among the example documents that come with lookalike."""
    from rich.table import Table

    from lookalike.cli.terminal import Terminal
    from lookalike.find import find_pairs

    console = Terminal()
    run = TerminalRun(threads, quiet=False)
    console.print(f"\n[bold]lookalike pairs examples/documents --threshold {THRESHOLD} --audit 40[/bold]\n")
    found = find_pairs(example_documents(), threshold=THRESHOLD, audit=40, run=run)
    table = Table("similarity", "left", "right", box=None)
    for left, right, similarity in sorted(found, key=lambda pair: -pair[2]):
        table.add_row(f"{similarity:.2f}", str(left), str(right))
    console.print(table)
    console.print("\n[bold]clusters of these pairs[/bold]\n")
    for names in found.clusters():
        console.print("  " + ", ".join(names), soft_wrap=True)
    console.print()
    for line in summary(found, run):
        run.say(line)


def example_documents() -> Path:
    """Return the folder of example documents: in the installed package or beside the sources."""
    package = Path(lookalike.__file__).parent
    for folder in (package / "examples" / "documents", package.parents[1] / "examples" / "documents"):
        if folder.is_dir():
            return folder
    raise DataError("the example documents are missing; reinstall lookalike.")
