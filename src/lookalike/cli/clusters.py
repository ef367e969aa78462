"""The command `lookalike clusters`: clusters of similar documents."""

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command


@command("lookalike clusters news/ -t 0.6 -o clusters.csv")
def clusters(inputs: opt.Inputs, *, options: opt.CollectionOptions, given: GivenOptions) -> None:
    """Group documents connected by similar pairs into clusters, without listing the pairs."""
    from lookalike.cli.documents import search_documents, uses_spark
    from lookalike.find import find_clusters

    if uses_spark(options):
        from lookalike.cli.on_spark import clusters_on_spark

        clusters_on_spark(inputs, options, given)
    else:
        search_documents(find_clusters, inputs, options)
