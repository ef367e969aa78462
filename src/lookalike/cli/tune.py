"""`lookalike tune`: for each number of rows the fewest bands that reach a recall, and which of them to take and why."""

from typing import TYPE_CHECKING, Annotated

from lookalike.cli.app import command
from lookalike.cli.axis import axis_of, say, shown
from lookalike.cli.options import FamilyName, option
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.theory.amplify import Bands


@command(
    "lookalike tune --threshold 0.8 --recall 0.99",
    "lookalike tune --threshold 20 --family hyperplanes",
)
def tune(
    *,
    threshold: Annotated[float, option("--threshold", "-t", help="Similarity, or distance, to be found.")],
    recall: Annotated[float, option(help="How surely.")] = 0.99,
    hashes: Annotated[int, option(help="The most functions to use.")] = 512,
    family: FamilyName = "minhash",
) -> None:
    """Show the bands and rows that reach a recall at a threshold, and what each costs."""
    from rich.console import Console
    from rich.table import Table

    from lookalike.theory.amplify import choose_bands, fitting_bands

    axis = axis_of(family)
    best = choose_bands(threshold, hashes, recall, axis.family)
    chance = float(axis.chance(threshold))
    far = threshold / 2 if axis.family is None else min(2 * threshold or 1.0, axis.end)
    names = "".join(axis.functions) if axis.family is None else "functions"
    table = Table("rows", "bands", names, f"recall at {threshold:g}", f"at {far:g}", box=None, pad_edge=False)
    for row in thinned(list(fitting_bands(chance, recall, best.hashes))):
        if row is None:
            table.add_row("...")
            continue
        false = shown(row.curve(axis.chance(far)))
        table.add_row(str(row.rows), str(row.bands), str(row.hashes), f"{row.recall:.4f}", false)
    console = Console(highlight=False)
    say(
        console,
        f"one of the {names} agrees on a pair at {axis.measure} {threshold:g} with probability {chance:.3g}.\n"
        f"these bands and rows find such a pair with probability {recall:g} or more, and one at\n"
        f"{far:g} as often as the last column says:",
    )
    console.print(table)
    say(
        console,
        f"more rows let fewer false candidates through and cost more {names}. Of at most {hashes:,}\n"
        f"the most selective choice is {counted(best.bands, 'band')} of {counted(best.rows, 'row')}: it finds "
        f"{best.recall:.2%} of the pairs at {threshold:g},\n"
        f"and a share of {shown(best.curve(axis.chance(far)))} of those at {far:g} become candidates too.",
    )
    if axis.family is None:
        say(console, "`pairs`, `dedup` and `clusters` look at the data and take the choice that costs least.")


def thinned(rows: "list[Bands]") -> "list[Bands | None]":
    """Return at most about twenty of the rows, the first and the last among them; None where some are left out."""
    if len(rows) <= 20:
        return [*rows]
    return [*rows[:12], None, *rows[-6:]]
