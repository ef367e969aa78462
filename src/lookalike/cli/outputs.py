"""Write results and their reports to files."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from lookalike.cli.log import command_line
from lookalike.cli.options import OutputOptions
from lookalike.cli.progress import TerminalRun
from lookalike.cli.stats import record_outputs
from lookalike.core.errors import UsageError
from lookalike.core.run import Run

if TYPE_CHECKING:
    import numpy as np

    from lookalike.io.documents import Source
    from lookalike.results import Clusters, Dedup, Pairs, Result


def check_outputs(output: OutputOptions, inputs: Iterable[str], *others: str | None, folder: bool = False) -> None:
    """Raise an error early for an output that cannot be written, or that is also an input.

    The `others` are further outputs of the command. With `folder`, the output can be a folder.
    """
    from lookalike.cli.folders import check_folder, check_outside, is_folder
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import check_output

    if folder and is_folder(output.out):
        check_folder(output.out)
        if output.report is not None:
            check_outside("--report", output.report, output.out)
    else:
        check_output(output.out)
        check_excel_safe(output.excel_safe, output.out, *others)
    check_page(output.report, output.out)
    check_apart([output.out, output.report], inputs)
    record_outputs(output.out, output.report, *others)


def check_excel_safe(excel_safe: bool, *outputs: str | None) -> None:
    """Raise an error for --excel-safe without an output that a spreadsheet opens."""
    from lookalike.io.write import is_separated

    if excel_safe and not any(is_separated(path) for path in outputs if path is not None):
        raise UsageError(f"--excel-safe is for .csv and .tsv outputs; got {outputs[0]!r}.")


def check_page(path: str | None, *others: str | None) -> None:
    """Raise an error early for a report that cannot be written, or that is another output."""
    if path is not None:
        from lookalike.io.inputs import same_place
        from lookalike.report import check_report

        check_report(path)
        if any(other is not None and same_place(other, path) for other in others):
            raise UsageError(f"--report and the other outputs must be different files; got {path!r} twice.")


def write_result(
    result: "Pairs | Clusters | Dedup", output: OutputOptions, run: TerminalRun, pages: str | None = None
) -> None:
    """Write the table of a result, with the settings that produced it, and its report if wanted."""
    from lookalike.io.write import write_tables
    from lookalike.results.files import settings_of, tables_of

    with run.stage("write"):
        write_tables(tables_of(result, run), output.out, settings_of(result, pages), output.excel_safe, run)
    write_page(result, output.report, run)


def write_page(result: "Result", path: str | None, run: TerminalRun) -> None:
    """Write the report of a result, unless the path is None."""
    if path is not None:
        with run.stage("report"):
            result.stats["command"] = command_line()
            result.report(path)


def copies_lines(source: "Source", out: str) -> bool:
    """Return whether the kept documents are copied as lines of JSON, exactly as in the inputs."""
    from lookalike.io.write import kind_of

    return source.is_jsonl() and kind_of(out) == ".jsonl"


def needs_strings(out: str) -> bool:
    """Return whether bytes must become strings because the output format cannot hold bytes."""
    from lookalike.io.write import kind_of

    return kind_of(out) not in (".parquet", ".arrow")


def writing_batches(
    batches: "Iterable[tuple[Any, np.ndarray]]", output: OutputOptions, settings: dict[str, str], lines: bool, run: Run
) -> AbstractContextManager[None]:
    """Write the kept rows of tables, or with `lines` the kept lines, of batches and their masks.

    The file appears when the context ends without an error.
    """
    from lookalike.io.write import writing_kept, writing_lines

    if lines:
        return writing_lines(batches, output.out, run)
    return writing_kept(batches, output.out, settings, output.excel_safe, run)
