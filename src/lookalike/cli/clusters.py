"""The command `lookalike clusters`: clusters of similar documents."""

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command
from lookalike.cli.outputs import check_outputs, write_page
from lookalike.cli.workdir import working_in
from lookalike.core.errors import UsageError

MARKS = ("cluster", "size")


@command(
    "lookalike clusters news/ -t 0.6 -o clusters.csv",
    "lookalike clusters corpus.parquet --rows -o marked.parquet",
)
def clusters(
    inputs: opt.Inputs,
    *,
    options: opt.CollectionOptions,
    rows: opt.MarkRows = False,
    columns: opt.Columns = None,
    given: GivenOptions,
) -> None:
    """Group documents connected by similar pairs into clusters, without listing the pairs."""
    from lookalike.cli.documents import search_documents, uses_spark
    from lookalike.find import find_clusters

    if uses_spark(options):
        from lookalike.cli.on_spark import clusters_on_spark

        clusters_on_spark(inputs, options, given)
    elif rows:
        mark_clusters(inputs, options, columns)
    elif columns is not None:
        raise UsageError("--columns is only for --rows.")
    else:
        search_documents(find_clusters, inputs, options)


def mark_clusters(inputs: list[str], options: opt.CollectionOptions, columns: str | None) -> None:
    """Write all rows of the inputs with the cluster of each."""
    from lookalike.cli.documents import open_documents, search_settings, start_run, summarize_documents
    from lookalike.cli.rows import check_written, write_rows
    from lookalike.find import find_clusters
    from lookalike.results.files import settings_of

    check_outputs(options.output, inputs)
    run = start_run(options)
    with working_in(options.work, options.output.out, run) as room:
        settings = search_settings(options, run)
        source = open_documents(inputs, options.reading, run, columns)
        check_written(source, options.output.out, MARKS)
        result = find_clusters(source, **settings, **room)
        about = settings_of(result, options.reading.pages.compared)
        with run.stage("write", len(result.ids)) as tick:
            write_rows(source, options.output, about, run, tick, marks=result.marks)
        write_page(result, options.output.report, run)
    summarize_documents(result, run, [source], inputs, options)
