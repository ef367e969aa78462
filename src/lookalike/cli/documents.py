"""The commands on documents, sets and vectors."""

from typing import TYPE_CHECKING

from lookalike.cli.app import on_documents
from lookalike.cli.options import (
    ON_ONE,
    ON_SETS,
    ON_TWO,
    ON_VECTORS,
    Against,
    AgainstIndex,
    Inputs,
    Keep,
    Left,
    MaxPairs,
    Removed,
    Result,
    Right,
    Top,
    Update,
)
from lookalike.core.errors import UsageError

if TYPE_CHECKING:
    from lookalike.cli.job import Job


@on_documents(
    "lookalike pairs corpus.parquet -t 0.8 -s word:5 -o pairs.parquet",
    "lookalike pairs 'essays/*.txt' -t 0.5 --audit 1000 -o pairs.csv",
    "zcat crawl.jsonl.gz | lookalike pairs - --text body -o pairs.jsonl",
    "lookalike pairs names.csv --measure edit -t 2 -o pairs.csv",
    "lookalike pairs pages/ --html -s stop:3 -t 0.5 -o pairs.csv",
    "lookalike pairs corpus.parquet --engine spark --master 'local[4]' -o pairs.parquet",
    options=ON_ONE,
)
def pairs(job: "Job", inputs: Inputs, max_pairs: MaxPairs = 100_000_000) -> None:
    """List all pairs of similar documents, each one verified."""
    if job.on_spark:
        from lookalike.cli.on_spark import pairs_on_spark

        pairs_on_spark(job, inputs, max_pairs)
    else:
        from lookalike.find import find_pairs

        job.finish(find_pairs(job.source(inputs), max_pairs=max_pairs, **job.options))


@on_documents(
    "lookalike match new.jsonl archive.parquet -t 0.8 -o matches.parquet",
    "lookalike match posts.csv news.csv --text body:article --id number:url -o matches.csv",
    options=ON_TWO,
)
def match(job: "Job", left: Left, right: Right, max_pairs: MaxPairs = 100_000_000) -> None:
    """List similar pairs of a document of LEFT and a document of RIGHT."""
    from lookalike.find import find_matches

    job.finish(find_matches(*job.two_sources(left, right), max_pairs=max_pairs, **job.options))


@on_documents(
    "lookalike sets baskets.txt -t 0.8 -o pairs.csv",
    "lookalike sets orders.parquet --rows order,product --measure containment -t 0.9",
    "lookalike sets orders.csv --rows order,product,quantity --measure bag",
    "lookalike sets baskets.txt -t 0.9 --filter prefix",
    options=ON_SETS,
)
def sets(job: "Job", inputs: Inputs, max_pairs: MaxPairs = 100_000_000) -> None:
    """List all pairs of similar sets: one set a line, or rows of a set and an element of it."""
    from lookalike.find import find_pairs

    job.finish(find_pairs(job.sets(inputs), max_pairs=max_pairs, **job.options))


@on_documents(
    "lookalike vectors embeddings.npy -t 20 -o pairs.parquet",
    "lookalike vectors embeddings.parquet --measure cosine_similarity -t 0.9 --audit 1000 -o pairs.csv",
    "lookalike vectors queries.npy --against base.npy --top 10 --measure euclidean",
    "lookalike vectors codes.npy --measure hamming -t 3 --result clusters",
    "lookalike vectors photos/ --measure hamming -t 6",
    options=ON_VECTORS,
)
def vectors(
    job: "Job",
    inputs: Inputs,
    against: Against = None,
    top: Top = None,
    result: Result = "pairs",
    max_pairs: MaxPairs = 100_000_000,
) -> None:
    """List all pairs of near vectors: embeddings, rows of numbers, bit codes, pictures."""
    job.vectors(inputs, against, top, result, max_pairs)


@on_documents(
    "lookalike dedup corpus.parquet -o clean.parquet --removed removed.parquet",
    "lookalike dedup crawl.jsonl.zst -t 0.7 -s word:5 --keep longest -o clean.jsonl",
    "lookalike dedup pages.parquet --article -s stop:3 --stop-words de -o clean.parquet",
    "lookalike dedup today.jsonl --against seen.index --update -o new.jsonl",
    "lookalike dedup huge.jsonl.zst --memory 2GB -o clean.jsonl",
    "lookalike dedup s3a://crawl/pages.parquet --engine spark -o s3a://crawl/clean.parquet",
    options=ON_ONE,
)
def dedup(
    job: "Job",
    inputs: Inputs,
    removed: Removed = None,
    keep: Keep = "first",
    against: AgainstIndex = None,
    update: Update = False,
) -> None:
    """Drop documents that are similar to one that is kept, and write the rest with all their columns."""
    job.check_removed(removed)
    if job.on_spark:
        from lookalike.cli.on_spark import dedup_on_spark

        dedup_on_spark(job, inputs, keep, removed)
    elif against is not None:
        from lookalike.cli.sifting import dedup_against

        dedup_against(job, inputs, against, update, removed)
    elif update:
        raise UsageError("--update is for an index: name it with --against.")
    else:
        job.dedup(inputs, keep, removed)


@on_documents("lookalike clusters news/ -t 0.6 -o clusters.csv", options=ON_ONE)
def clusters(job: "Job", inputs: Inputs) -> None:
    """Group documents that are connected by similar pairs, without listing the pairs."""
    if job.on_spark:
        from lookalike.cli.on_spark import clusters_on_spark

        clusters_on_spark(job, inputs)
    else:
        from lookalike.find import find_clusters

        job.finish(find_clusters(job.source(inputs), **job.options))
