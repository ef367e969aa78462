"""The command `lookalike tune`: bands and rows that reach a recall, and which to choose."""

from typing import TYPE_CHECKING, Annotated

from lookalike.cli.app import command
from lookalike.cli.axis import axis_of, say, shown
from lookalike.cli.options import FamilyName, option, threshold_option
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.theory.amplify import Bands


@command(
    "lookalike tune --threshold 0.8 --recall 0.99",
    "lookalike tune --threshold 20 --family hyperplanes",
)
def tune(
    *,
    threshold: Annotated[float, threshold_option("Similarity or distance of the pairs to find.")],
    recall: Annotated[float, option(help="Probability of finding a pair exactly at the threshold.")] = 0.99,
    hashes: Annotated[int, option(metavar="N", help="Maximum number of hash functions.")] = 512,
    family: FamilyName = "minhash",
) -> None:
    """Show the bands and rows that reach a recall at a threshold, and what they cost."""
    from rich.table import Table

    from lookalike.cli.terminal import Terminal
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
    console = Terminal()
    say(
        console,
        f"one {axis.functions[0]} agrees on a pair at {axis.measure} {threshold:g} with probability {chance:.3g}.\n"
        f"these bands and rows find such a pair with probability {recall:g} or more; the last column\n"
        f"is the probability for a pair at {far:g}:",
    )
    console.print(table)
    say(
        console,
        f"more rows give fewer false candidates but need more {names}. With at most {hashes:,},\n"
        f"the most selective choice is {counted(best.bands, 'band')} of {counted(best.rows, 'row')}: it finds "
        f"{best.recall:.2%} of the pairs at {threshold:g},\n"
        f"and a share of {shown(best.curve(axis.chance(far)))} of those at {far:g} become candidates too.",
    )
    if axis.family is None:
        say(console, "`pairs`, `dedup` and `clusters` sample the data and make the cheapest choice.")


def thinned(rows: "list[Bands]") -> "list[Bands | None]":
    """Return the rows; if there are many, only the first and last, with None between."""
    if len(rows) <= 20:
        return [*rows]
    return [*rows[:12], None, *rows[-6:]]
