"""The command `lookalike demo`: similar pairs among the example documents, or a copy of all examples."""

import shutil
from pathlib import Path
from typing import Annotated

import lookalike
from lookalike import cli
from lookalike.cli.app import command
from lookalike.cli.options import Threads, option
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import summary
from lookalike.core.errors import DataError

THRESHOLD = 0.7


@command("lookalike demo", "lookalike demo --copy examples")
def demo(
    *,
    copy: Annotated[
        str | None, option(metavar="FOLDER", help="Copy all examples to this new folder; do nothing else.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Find similar pairs among the example documents that come with lookalike."""
    if copy is not None:
        copy_examples(copy)
        return
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


def copy_examples(folder: str) -> None:
    """Copy the examples to a folder, which the commands of the guide read."""
    try:
        shutil.copytree(example_documents().parent, folder)
    except FileExistsError:
        raise DataError(f"{folder}: exists already; name a new folder.") from None
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror or error}.") from error
    cli.note(f"copied: {folder}; next: lookalike pairs {folder}/documents --threshold {THRESHOLD}")


def example_documents() -> Path:
    """Return the folder of example documents: in the installed package or beside the sources."""
    package = Path(lookalike.__file__).parent
    for folder in (package / "examples" / "documents", package.parents[1] / "examples" / "documents"):
        if folder.is_dir():
            return folder
    raise DataError("the example documents are missing; reinstall lookalike.")
