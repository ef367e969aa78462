"""The command `lookalike label`: ask which pairs of records are matches, and keep the answers."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli.app import GivenOptions, command
from lookalike.cli.options import RunOptions, Seed, TableOptions, flag, keywords, option
from lookalike.cli.progress import TerminalRun
from lookalike.cli.resolve import BasisOptions, Fields, PairingOptions, check_fields
from lookalike.core.errors import UsageError, whole
from lookalike.core.wording import counted, visible

if TYPE_CHECKING:
    from socket import socket

    from rich.console import Console
    from rich.text import Text

    from lookalike.entities.labelling import LabelFile, ShownPart
    from lookalike.entities.resolution import Resolution

ANSWERS = {"y": "yes", "n": "no", "u": "unsure"}
KEYS = {
    "": "",
    "b": "back",
    "q": "quit",
    **{answer: answer for answer in (*ANSWERS.values(), "back", "quit")},
    **ANSWERS,
}
QUESTION = "the same? y = yes, n = no, u = unsure, b = back, q = quit: "
OTHER = "dim"  # the style of values that are not compared
STYLES = {"": "", "different": "bold red", "note": "dim italic"}  # of parts of a value


@command(
    "lookalike label a.csv b.csv -f name:customer -f phone:telephone --labels labels.csv",
    "lookalike label customers.csv -f name -f born --labels labels.csv --count 100",
    "lookalike label a.csv b.csv --labels labels.csv --page",
)
def label(
    left: Annotated[str, typer.Argument(metavar="A", help="Table of records.")],
    right: Annotated[str | None, typer.Argument(metavar="B", help="Second table; default: match within A.")] = None,
    *,
    labels: Annotated[
        str,
        option(metavar="FILE", help="CSV file of the answers; each is added at once, and a later run resumes there."),
    ],
    field: Fields = None,
    count: Annotated[int, option(metavar="N", help="Ask until FILE has this many answers.")] = 50,
    page: Annotated[
        bool,
        flag("--page", help="Ask on a web page, whose address on this machine is printed; needs the extra serve."),
    ] = False,
    port: Annotated[int, option(metavar="N", help="Port of the page; 0 picks a free one.")] = 0,
    basis: BasisOptions,
    candidates: PairingOptions,
    reading: TableOptions,
    seed: Seed = 1,
    running: RunOptions,
    given: GivenOptions,
) -> None:
    """Show the pairs that `resolve` is least sure of, and keep your answers to correct it."""
    from lookalike import entities
    from lookalike.entities.labelling import LabelFile, informative
    from lookalike.io.records import RecordSource

    check(labels, [left, right], whole("count", count), page)
    check_fields(field or [], basis.validate)
    if not page:
        given.refuse(["port"], "questions in the terminal; --page asks on a web page")
    run = TerminalRun(**vars(running))
    file = LabelFile(labels)
    sources = [RecordSource(one, **vars(reading)) for one in (left, right) if one is not None]
    with opened_page(port) if page else nullcontext() as listener:  # first, since the port can be in use
        found = entities.resolve(
            *(source.read(run) for source in sources),
            fields=field or None,
            labels=labels if Path(labels).exists() and Path(labels).stat().st_size else None,
            seed=seed,
            run=run,
            **keywords(basis, candidates),
        )
        run.say(found.lines()[0])
        every = found.every or found
        before = 0 if found.labels is None else len(found.labels.match)
        rows = informative(every, max(0, count - before), seed).tolist()

        def summarise() -> None:
            added = counted(len(file), "answer")
            run.say(f"labels: {added} added; {before + len(file):,} of {count:,} in {labels}")
            run.hint(f"next: lookalike resolve ... --labels {labels}")

        if listener is None:
            ask(every, rows, file, before)
        elif rows:
            from lookalike.serve.label_page import ask_on_page

            ask_on_page(every, rows, file, before, listener, say=print_always, last=summarise)
        summarise()


def opened_page(port: int) -> "socket":
    """Return a socket that listens on this port, on this machine only."""
    from lookalike.serve import listening
    from lookalike.serve.label_page import HOST

    return listening(HOST, whole("port", port, least=0, most=65535))


def print_always(line: str) -> None:
    """Print a line to standard error, even if --quiet: without the address, there is no page."""
    print(line, file=sys.stderr, flush=True)


def check(labels: str, inputs: list[str | None], count: int, page: bool) -> None:
    """Raise an error early for a file that cannot be written, or for tables from standard input."""
    from lookalike.io.inputs import check_apart
    from lookalike.io.remote import must_be_local
    from lookalike.io.write import check_place

    if not labels.endswith(".csv"):
        raise UsageError(f"the file of labels must end in .csv; got {labels!r}.")
    must_be_local(labels, "labels")
    check_place(labels)
    check_apart([labels], inputs)
    if "-" in inputs and not page:
        raise UsageError("tables must be files: standard input is for the answers.")


def ask(every: "Resolution", rows: list[int], file: "LabelFile", before: int) -> None:
    """Ask about pairs, one after another, until all are answered or the user quits.

    `before` is the number of answers of earlier sessions.
    """
    from lookalike.cli.terminal import Terminal
    from lookalike.entities.labelling import written_ids

    console, at = Terminal(stderr=True), 0
    while at < len(rows):
        show(console, every, rows[at], f"pair {before + at + 1:,} of {before + len(rows):,}")
        answer = read_answer(console)
        if answer == "quit":
            return
        if answer == "back":
            if at:
                file.undo()
                at -= 1
            continue
        file.add(*written_ids(every, rows[at]), answer)
        at += 1


def read_answer(console: "Console") -> str:
    """Return yes, no, unsure, back or quit, asking again for anything else; the end of the input quits."""
    while True:
        console.print(QUESTION, end="")
        line = sys.stdin.buffer.readline()
        if not line:
            console.print()
            return "quit"
        if not sys.stdin.buffer.isatty():  # the answer was not typed, so the line has not ended
            console.print()
        if answer := KEYS.get(line.decode(errors="replace").strip().lower()):
            return answer


# --- show a pair ---


def show(console: "Console", every: "Resolution", row: int, title: str) -> None:
    """Print two records side by side: the fields that are compared, then all other columns."""
    from rich.table import Table
    from rich.text import Text

    from lookalike.entities.labelling import in_parts, side_by_side, written_ids

    table = Table("", "left", "", "right", title=Text(title), title_justify="left")
    ids = [visible(id) for id in written_ids(every, row)]
    table.add_row(*(Text(value, OTHER) for value in ("id", ids[0], "", ids[1])))
    for one in side_by_side(every, row):
        if one.same is None:
            table.add_row(*(Text(visible(value or ""), OTHER) for value in (one.name, one.left, "", one.right)))
        else:
            sides = in_parts(one)
            table.add_row(Text(visible(one.name)), marked(sides[0]), Text("=" if one.same else "≠"), marked(sides[1]))
    console.print(table)


def marked(parts: "list[ShownPart]") -> "Text":
    """Return a value with its different words marked."""
    from rich.text import Text

    return Text.assemble(*((visible(part.text), STYLES[part.style]) for part in parts))
