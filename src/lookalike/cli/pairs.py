"""The command `lookalike pairs`: all similar pairs of documents."""

from functools import partial
from typing import Annotated

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command


@command(
    "lookalike pairs corpus.parquet -t 0.8 -s word:5 -o pairs.parquet",
    "lookalike pairs 'essays/*.txt' -t 0.5 --audit 1000 -o pairs.csv",
    "zcat crawl.jsonl.gz | lookalike pairs - --text body -o pairs.jsonl",
    "lookalike pairs names.csv --measure edit -t 2 -o pairs.csv",
    "lookalike pairs pages/ --html -s stop:3 -t 0.5 -o pairs.csv",
    "lookalike pairs corpus.parquet --engine spark --master 'local[4]' -o pairs.parquet",
)
def pairs(
    inputs: opt.Inputs,
    *,
    options: opt.CollectionOptions,
    max_pairs: Annotated[
        int,
        opt.option(
            metavar="N",
            help="Fail if there are more pairs than this; on Spark the default is 10 billion.",
            panel=opt.RUNNING,
        ),
    ] = 100_000_000,
    given: GivenOptions,
) -> None:
    """List all similar pairs of documents, each one verified."""
    from lookalike.cli.documents import search_documents, uses_spark
    from lookalike.find import find_pairs

    if uses_spark(options):
        from lookalike.cli.on_spark import pairs_on_spark

        pairs_on_spark(inputs, options, given, max_pairs)
    else:
        search_documents(partial(find_pairs, max_pairs=max_pairs), inputs, options)
