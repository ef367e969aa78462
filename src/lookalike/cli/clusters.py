"""The command `lookalike clusters`: clusters of similar documents."""

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command
from lookalike.cli.outputs import check_outputs, write_page
from lookalike.cli.workdir import sharing_in
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
    from lookalike.cli.rows import check_outputs_of, write_rows
    from lookalike.cli.shared_rows import encoded_rows
    from lookalike.find import find_clusters
    from lookalike.results.files import settings_of

    check_outputs(options.output, inputs, folder=True)
    run = start_run(options)
    with sharing_in(options, run, rows=True, columns=columns) as room:
        settings = search_settings(options, run)
        source = open_documents(inputs, options.reading, run, columns)
        outputs = check_outputs_of(source, options.output.out, inputs, MARKS)
        result = find_clusters(source, **vars(options.which), **settings, **room.keywords)
        about = settings_of(result, options.reading.pages.compared)
        shared = encoded_rows(room.shards, source, options.output, about, run, marks=result.marks)

        def write() -> None:
            with run.stage("write", len(result.ids)) as tick:
                write_rows(outputs, options.output, about, run, tick, marks=result.marks, shared=shared)
            write_page(result, options.output.report, run)

        room.finish(write)
    summarize_documents(result, run, [source], inputs, options)
