"""The command `lookalike vectors`: similar pairs of vectors, clusters, or nearest neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.options import INPUT, RUNNING, option
from lookalike.cli.outputs import check_outputs, write_result
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import bad_files_note, summarize
from lookalike.core.errors import UsageError, choice

if TYPE_CHECKING:
    from lookalike.items.bits import Bits
    from lookalike.items.vectors import Vectors
    from lookalike.results import Clusters, Dedup, Pairs

RESULTS = ("pairs", "clusters", "removed")
OLD_RESULTS = {"dropped": "removed"}


@dataclass(frozen=True)
class NearnessOptions:
    """When vectors are similar, and how surely similar ones are found."""

    measure: Annotated[
        str,
        option(
            "--measure",
            "-m",
            help="Measure: angle, cosine_similarity, euclidean, inner_product, or hamming (of bit codes).",
            offer=opt.measures_of("vectors"),
        ),
    ] = "angle"
    threshold: Annotated[
        str | None,
        opt.threshold_option(
            "Maximum distance (angles in degrees), or minimum cosine or inner product; required without --top."
        ),
    ] = None
    recall: opt.Recall = 0.99


@dataclass(frozen=True)
class VectorSearchOptions:
    """How to find similar vectors."""

    method: Annotated[
        str,
        option(
            help="Method: auto (the cheapest), lsh (hashing), exact (misses nothing) or brute (compares all pairs).",
            offer=("auto", "lsh", "exact", "brute"),
            panel=RUNNING,
        ),
    ] = "auto"
    probes: Annotated[
        int | None,
        option(
            metavar="N",
            help="Also look into N neighbouring buckets of each hash table; default: as many as save time.",
            panel=RUNNING,
        ),
    ] = None
    device: Annotated[
        str,
        option(
            help="Device: cpu, cuda (all pairs on an NVIDIA card; none is missed), or auto (a card if it saves time).",
            offer=("auto", "cpu", "cuda"),
            panel=RUNNING,
        ),
    ] = "auto"
    memory: Annotated[
        str | None,
        option(
            metavar="SIZE", help="Memory of a card to use, such as 8GB; default: most of what is free.", panel=RUNNING
        ),
    ] = None
    audit: Annotated[int, option(metavar="N", help="Measure the recall on a sample of N vectors; 0: no audit.")] = 0
    seed: opt.Seed = 1


@command(
    "lookalike vectors embeddings.npy -t 20 -o pairs.parquet",
    "lookalike vectors embeddings.parquet --measure cosine_similarity -t 0.9 --audit 1000 -o pairs.csv",
    "lookalike vectors embeddings.npy -k 10 -o neighbours.parquet",
    "lookalike vectors queries.npy --against base.npy -k 10 --measure euclidean",
    "lookalike vectors users.npy --against items.npy -k 10 --measure inner_product",
    "lookalike vectors codes.npy --measure hamming -t 3 --result clusters",
    "lookalike vectors embeddings.npy --measure cosine_similarity -t 0.9 --device cuda --result removed -o removed.csv",
    "lookalike vectors photos/ --measure hamming -t 6",
    "lookalike vectors texts.jsonl --embed embeddings:embed --measure cosine_similarity -t 0.9 -o pairs.csv",
)
def vectors(
    inputs: opt.Inputs,
    *,
    nearness: NearnessOptions,
    output: opt.OutputOptions,
    reading: opt.VectorOptions,
    search: VectorSearchOptions,
    running: opt.RunOptions,
    against: Annotated[
        str | None, option(metavar="BASE", help="Compare the vectors with those of BASE, not with each other.")
    ] = None,
    embed: Annotated[
        str | None,
        option(
            metavar="MODULE:FUNCTION",
            help="Read texts, and turn them into vectors with this function of lists of texts.",
            panel=INPUT,
        ),
    ] = None,
    text: Annotated[
        str | None,
        option(metavar="COLUMN", help="With --embed, the column that holds the text; default: inferred.", panel=INPUT),
    ] = None,
    k: Annotated[
        int | None,
        option("-k", "--top", metavar="K", help="List the K nearest neighbours of each vector; needs no --threshold."),
    ] = None,
    result: Annotated[
        str,
        option(
            help="Result to write: pairs, clusters, or removed (the vectors that deduplication removes).", offer=RESULTS
        ),
    ] = "pairs",
    max_pairs: opt.MaxPairs = 100_000_000,
) -> None:
    """List all similar pairs of vectors: embeddings, rows of numbers, bit codes or pictures."""
    sides = [inputs] if against is None else [inputs, [against]]
    named = [name for side in sides for name in side]
    check_outputs(output, named)
    run = TerminalRun(**vars(running))
    find = finder(result, against, k, max_pairs)
    items = [read_vectors(side, reading, nearness.measure, run, embed, text) for side in sides]
    found = find(*items, run=run, **opt.keywords(nearness, search))
    write_result(found, output, run)
    item = "code" if nearness.measure == "hamming" else "vector"
    summarize(found, run, item=item, inputs=named, report=output.report)


def finder(
    result: str, against: str | None, k: int | None, max_pairs: int
) -> "Callable[..., Pairs | Clusters | Dedup]":
    """Return the function that finds the result; raise an error for options it does not support."""
    from lookalike.find import dedup, find_clusters, find_matches, find_pairs

    result = choice("result", OLD_RESULTS.get(result, result), RESULTS)
    if k is not None and result != "pairs":
        raise UsageError(f"--top supports only --result pairs; got {result!r}.")
    if against is not None and result != "pairs":
        raise UsageError(f"--against supports only --result pairs; got {result!r}.")
    if against is not None:
        return partial(find_matches, k=k, max_pairs=max_pairs)
    if result == "pairs":
        return partial(find_pairs, k=k, max_pairs=max_pairs)
    return find_clusters if result == "clusters" else dedup


def read_vectors(
    inputs: list[str],
    reading: opt.VectorOptions,
    measure: str,
    run: TerminalRun,
    embed: str | None = None,
    text: str | None = None,
) -> "Vectors | Bits":
    """Return the vectors of the inputs, or codes for the measure hamming; of texts, what `embed` makes of them."""
    if embed is not None:
        return embed_texts(inputs, reading, measure, run, embed, text)
    if text is not None:
        raise UsageError("--text names a column of texts to embed; it needs --embed.")
    from lookalike.io.vectors import VectorSource
    from lookalike.measures import MEASURES
    from lookalike.measures.table import OF_VECTORS, OLD_NAMES, full_name

    measure = choice("measure", full_name(OLD_NAMES.get(measure, measure)), OF_VECTORS)
    bits, directions = measure == "hamming", MEASURES[measure].of_directions
    source = VectorSource(inputs, bits=bits, directions=directions, **vars(reading))
    for note in bad_files_note(source.bad_files):
        run.say(note)
    return source.read(run)


def embed_texts(
    inputs: list[str], reading: opt.VectorOptions, measure: str, run: TerminalRun, embed: str, text: str | None
) -> "Vectors":
    """Return the vectors that a function makes of the texts of the inputs."""
    from lookalike.io.documents import Source
    from lookalike.io.embedding import embedded, embedding_function

    if measure == "hamming":
        raise UsageError("--embed makes vectors, which --measure hamming does not compare; use angle or euclidean.")
    if reading.vector is not None:
        raise UsageError("--vector names a column of vectors; with --embed, name the column of texts with --text.")
    given = {name: value for name, value in vars(reading).items() if name != "vector"}
    source = Source(inputs, text=text, **given)
    for note in bad_files_note(source.bad_files):
        run.say(note)
    return embedded(source, embedding_function(embed), run)
