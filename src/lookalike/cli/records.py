"""`lookalike resolve`: read the tables, resolve them, write matches, and show what they rest on."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from lookalike import __version__
from lookalike.cli.job import check_page, write_page
from lookalike.cli.plots import check_picture, picture
from lookalike.cli.progress import TerminalRun, next_step, time_line
from lookalike.core.drawing import draw_shares
from lookalike.core.errors import UsageError, choice
from lookalike.entities.fields import FIELD_KINDS as KINDS
from lookalike.entities.fields import as_fields
from lookalike.entities.pipeline import resolve
from lookalike.entities.resolution import Resolution
from lookalike.entities.validation import Validation
from lookalike.io.inputs import check_apart
from lookalike.io.records import RecordSource
from lookalike.io.write import check_output, write_tables

MOST_ROWS = 20  # of the table of scores that are shown


def show_matches(left: str, right: str | None, given: dict[str, Any]) -> None:
    """One command, with the options it was given."""
    files = ("out", "clusters", "table", "plot", "report")
    outputs = [given[name] for name in files if given[name] not in (None, "-")]
    for path in (one for one in outputs if one not in (given["plot"], given["report"])):
        check_output(path)
    check_page(given["report"])
    check_apart(outputs, [left, right])
    if given["plot"] is not None:
        check_picture(Path(given["plot"]))
    if len({Path(path).absolute() for path in outputs}) < len(outputs):
        raise UsageError("--out, --clusters, --table, --plot and --report must be different files.")
    if given["clusters"] is not None and right is not None:
        raise UsageError("--clusters are of one table; got two.")
    if given["plot"] is not None and given["validate"] is None:
        raise UsageError("--plot shows the shares by score, which --validate tells.")
    for field in as_fields([*given["field"], *([given["validate"]] if given["validate"] else [])]):
        choice("kind", field.kind or "text", KINDS)  # before anything is read
    run = TerminalRun(given["threads"], given["quiet"])
    names = ("separator", "format", "encoding", "on_error")
    sources = [RecordSource(one, **{name: given[name] for name in names}) for one in (left, right) if one is not None]
    tables = [source.read(run) for source in sources]
    options = ("id", "validate", "max_lag", "precision", "one_to_one", "threshold", "nearest", "seed")
    found = resolve(*tables, fields=given["field"], run=run, **{name: given[name] for name in options})
    settings = {"version": __version__, "fields": ", ".join(given["field"]), "seed": str(given["seed"])}
    settings["cut_off"] = repr(float(found.cut_off))
    settings |= {"basis": found.basis, **({"note": found.stats["note"]} if found.stats.get("note") else {})}
    shown = found.every if given["all"] and found.every is not None else found
    with run.stage("write"):
        write_tables([shown.to_arrow()], given["out"], settings)
        if given["clusters"] is not None:
            write_tables([found.clusters().to_arrow()], given["clusters"], settings)
        if given["table"] is not None:
            write_tables([basis_table(found)], given["table"], settings)
        if given["plot"] is not None and found.validation is not None:
            with picture(Path(given["plot"])) as axes:
                draw_shares(axes, found.validation, found.cut_off)
    write_page(found, given["report"], run)
    skipped = sum(source.skipped for source in sources)
    if skipped:
        run.say(f"read: {skipped:,} bad rows skipped")
    for line in found.lines():
        run.say(line)
    if not given["quiet"] and found.validation is not None:
        Console(stderr=True).print(scores_table(found.validation))
    run.say(time_line(run.seconds))
    run.hint(next_step(given["report"]))


def basis_table(found: Resolution) -> Any:
    """What the probabilities rest on: shares by score, or the weights of the mixture."""
    if found.validation is not None:
        return found.validation.to_arrow()
    assert found.mixture is not None
    return found.mixture.weights([field.name for field in found.fields])


def scores_table(validation: Validation) -> Table:
    """The shares of true matches by score, the best first."""
    table = Table(title=f"true matches by score, told from {validation.name}", title_justify="left")
    for name in ("score", "pairs", "mean difference", "true matches", "95% interval"):
        table.add_column(name, justify="right")
    rows = validation.to_arrow().slice(0, MOST_ROWS).to_pylist()
    for row in rows:
        score = f"{row['score_from']:.5g} to {row['score_to']:.5g}"
        score = f"{row['score_to']:.5g}" if row["score_from"] == row["score_to"] else score
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        table.add_row(score, f"{row['pairs']:,}", f"{row['mean_difference']:.4g}", f"{row['matches']:.3f}", interval)
    table.caption = (
        f"pairs with a perfect score differ by {validation.perfect:.4g}, random ones by {validation.random:.4g}"
    )
    return table
