"""The commands on curves: tables and plots of how likely a pair becomes a candidate."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from lookalike.amplify import And, Bands, Or, bands_for, choose_bands
from lookalike.errors import UsageError, fraction, whole
from lookalike.write import replacing


def print_curve(bands: int, rows: int) -> None:
    """The curve of bands and rows as a table with bars."""
    curve = And(whole("rows", rows)) >> Or(whole("bands", bands))
    table = Table("similarity", "candidate with probability", "", box=None, pad_edge=False)
    for tenth in range(1, 11):
        p = curve(tenth / 10)
        table.add_row(f"{tenth / 10:.1f}", f"{p:.4f}" if p >= 1e-4 or p == 0 else f"{p:.1e}", "█" * round(40 * p))
    console = Console(highlight=False)
    console.print(f"{bands} bands of {rows} rows, {curve.functions} minhashes")
    console.print(table)
    half, estimate = curve.threshold(), (1 / bands) ** (1 / rows)
    console.print(f"half of the pairs at similarity {half:.3f} become candidates ((1/b)^(1/r) = {estimate:.3f})")


def draw_curve(bands: int, rows: int, path: Path) -> None:
    """The same as a picture."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"plot must end in .png, .svg or .pdf; got {str(path)!r}.")
    curve = And(whole("rows", rows)) >> Or(whole("bands", bands))
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from matplotlib import pyplot

    s = np.linspace(0, 1, 501)
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    axes.plot(s, curve(s), color="#1f6feb", linewidth=2.2)
    middle = curve.threshold()
    axes.plot([middle, middle, 0], [0, 0.5, 0.5], color="#8b949e", linewidth=1, linestyle="--")
    axes.annotate(f"{middle:.3f}", (middle, 0.02), xytext=(6, 0), textcoords="offset points", color="#57606a")
    axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="Jaccard similarity", ylabel="probability of becoming a candidate")
    axes.set_title(f"{bands} bands of {rows} rows")
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(str(path)) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150)
    pyplot.close(figure)


def print_choices(threshold: float, recall: float, hashes: int) -> None:
    """For each number of rows the fewest bands that reach the recall."""
    best = choose_bands(fraction("threshold", threshold), hashes, fraction("recall", recall))
    table = Table("rows", "bands", "minhashes", f"recall at {threshold:g}", "at half of it", box=None, pad_edge=False)
    for rows in range(1, best.rows + 1):
        row: Bands = bands_for(threshold, rows, recall)
        low = row.curve(threshold / 2)
        table.add_row(str(rows), str(row.bands), str(row.hashes), f"{row.recall:.4f}", f"{low:.2g}")
    console = Console(highlight=False)
    console.print(f"bands and rows that find a pair of similarity {threshold:g} with probability {recall:g} or more")
    console.print(table)
    console.print(
        f"more rows let fewer false candidates through and cost more minhashes; of at most {hashes} minhashes\n"
        f"the most selective choice is {best.bands} bands of {best.rows} rows. `pairs`, `dedup` and `clusters`\n"
        "look at the data and take the choice that costs least.",
        soft_wrap=True,
    )
