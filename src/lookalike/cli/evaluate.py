"""The command `lookalike evaluate`: how good a result is, given the truth."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli.app import command
from lookalike.cli.axis import say
from lookalike.cli.options import ExcelSafe, Quiet, TableOptions, option, threshold_option
from lookalike.cli.outputs import check_excel_safe
from lookalike.cli.plots import check_picture, picture
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from lookalike.results.evaluation import Evaluation

SHOWN = 12  # thresholds in the printed curve


@dataclass(frozen=True)
class EvaluationFiles:
    """Where to write the curve and the calibration."""

    table: Annotated[
        str | None, option(metavar="FILE", help="Write the curve: precision, recall and F1 by threshold.")
    ] = None
    calibration: Annotated[
        str | None,
        option(metavar="FILE", help="Write the actual share of true pairs for groups of stated probabilities."),
    ] = None
    plot: Annotated[
        str | None,
        option(metavar="FILE", help="Draw the curve and, for probabilities, the calibration: .png, .svg or .pdf."),
    ] = None
    excel_safe: ExcelSafe = False


@command(
    "lookalike evaluate matches.parquet --truth true-pairs.csv",
    "lookalike evaluate all.parquet --truth true-pairs.csv --threshold 0.9 --plot curve.svg --table curve.csv",
    "lookalike evaluate people.csv --truth known.csv --truth-columns record,person --truth-kind clusters",
)
def evaluate(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="File of pairs, matches, clusters or removed items.")],
    *,
    truth: Annotated[
        str,
        option(
            metavar="FILE", help="Table of the true pairs (columns left and right) or of the clusters (id and cluster)."
        ),
    ],
    truth_kind: Annotated[
        str | None, option(help="What TRUTH lists: pairs or clusters; default: inferred.", offer=("pairs", "clusters"))
    ] = None,
    truth_columns: Annotated[
        str | None,
        option(
            metavar="NAMES",
            help="Its two columns, such as A,B; default: left,right or id,cluster, else the first two.",
        ),
    ] = None,
    tables: Annotated[
        int | None,
        option(
            metavar="N",
            help="2: left and right ids belong to two tables; 1: to one, where the order within a pair does not "
            "matter; default: inferred.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        option(
            metavar="COLUMN", help="Column that ranks the pairs; default: probability, similarity or distance, if any."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        threshold_option("Count only the pairs of RESULT that are at least this good; the curve has all of them."),
    ] = None,
    files: EvaluationFiles,
    reading: TableOptions,
    quiet: Quiet = False,
) -> None:
    """Compare pairs, matches or clusters with the truth: precision, recall, F1, and stated numbers."""
    from lookalike.io.records import RecordSource
    from lookalike.report.evaluating import evaluate

    check_files(files, [result, truth])
    run = TerminalRun(None, quiet)
    columns = None if truth_columns is None else tuple(truth_columns.split(","))
    found = evaluate(
        result,
        RecordSource(truth, **vars(reading)).read(run),
        truth_kind=truth_kind,
        truth_columns=columns,
        tables=tables,
        by=by,
        threshold=threshold,
        run=run,
    )
    write(found, files)
    print_evaluation(found)


def check_files(files: EvaluationFiles, inputs: list[str]) -> None:
    """Raise an error early for an output that cannot be written."""
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import check_output

    outputs = [path for path in (files.table, files.calibration, files.plot) if path is not None]
    for path in outputs:
        if path != files.plot:
            check_output(path)
    if files.plot is not None:
        check_picture(Path(files.plot))
    check_excel_safe(files.excel_safe, files.table, files.calibration)
    check_apart(outputs, inputs)
    if len({Path(path).absolute() for path in outputs}) < len(outputs):
        raise UsageError("--table, --calibration and --plot must be different files.")


def write(found: "Evaluation", files: EvaluationFiles) -> None:
    """Write the curve and the calibration, as tables and as a picture."""
    from lookalike import __version__
    from lookalike.core.drawing import draw_calibration, draw_quality
    from lookalike.io.write import write_tables

    if found.values is None and (files.table or files.plot):
        option_name = "--table" if files.table else "--plot"
        raise UsageError(f"{option_name} needs pairs with a column of values; the result has none.")
    if found.probability is None and files.calibration:
        raise UsageError("--calibration needs pairs with probabilities; the result has none.")
    for path, made in ((files.table, found.curve), (files.calibration, found.calibration)):
        if path is not None:
            write_tables([made()], path, {"version": __version__}, files.excel_safe)
    if files.plot is not None:
        panels = 1 if found.probability is None else 2
        with picture(Path(files.plot), (1, panels), (6.0 * panels, 4.2)) as axes:
            if panels == 1:
                draw_quality(axes, found.curve(), found.by)
            else:
                draw_quality(axes[0], found.curve(), found.by)
                draw_calibration(axes[1], found.calibration())


def print_evaluation(found: "Evaluation") -> None:
    """Print the scores, the calibration, and the curve at some thresholds."""
    from lookalike.cli.terminal import Terminal

    console = Terminal()
    for line in found.lines():
        say(console, line)
    if found.probability is not None and len(found.probability):
        console.print(calibration_table(found))
    if found.values is not None and len(found.values) and found.truth:
        console.print(curve_table(found))


def calibration_table(found: "Evaluation") -> "Table":
    """Return the stated and the actual share of true pairs by stated probability."""
    table = new_table("probability", "pairs", "stated", "actual", "95% interval")
    for row in reversed(found.calibration().to_pylist()):
        group = f"{row['from']:g} to {row['to']:g}"
        interval = f"{row['low']:.4f} to {row['high']:.4f}"
        table.add_row(group, f"{row['pairs']:,}", f"{row['stated']:.4f}", f"{row['actual']:.4f}", interval)
    return table


def curve_table(found: "Evaluation") -> "Table":
    """Return precision, recall and F1 at some thresholds."""
    table = new_table(found.by, "pairs", "true", "precision", "recall", "F1")
    for row in found.curve(SHOWN).to_pylist():
        shares = (f"{row[name]:.4f}" for name in ("precision", "recall", "f1"))
        table.add_row(f"{row['threshold']:.6g}", f"{row['pairs']:,}", f"{row['true']:,}", *shares)
    return table


def new_table(*names: str) -> "Table":
    """Return a table with these columns of numbers, and an empty line above."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title="", title_justify="left")
    for name in names:
        table.add_column(name, justify="right")
    return table
