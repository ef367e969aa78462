"""Encode the rows of the inputs in several processes, so that one of them can soon put the output together.

The bytes are those that one process writes. Where its groups of rows end depends on the sizes of all
rows before. So each piece of the inputs is read twice: first for the sizes of its rows, then to
encode the groups that begin in it, the last of which can end in the next piece.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.cli.options import OutputOptions
from lookalike.cli.outputs import copies_lines, needs_strings
from lookalike.cli.progress import TerminalRun
from lookalike.cli.rows import Encoded, Marks, RowBatch, changed_rows, placed
from lookalike.core.shards import Shards
from lookalike.core.shared import Gathered, SharedStorage
from lookalike.io.documents import Source
from lookalike.io.encode import Encoder, Group, encoder_of
from lookalike.io.write import GROUP, Weighed, codec_of, group_ends, layout_of_kept, regroup, weighed
from lookalike.search.sharing import pieces_of, starts_of


def encoded_rows(
    shards: Shards | None,
    source: Source,
    output: OutputOptions,
    about: dict[str, str],
    run: TerminalRun,
    keep: np.ndarray | None = None,
    marks: Marks | None = None,
) -> Encoded | None:
    """Encode the rows that `write_rows` writes; None if one process has to write them alone."""
    if shards is None:
        return None
    with run.stage("write", None if keep is None else len(keep)) as tick:
        storage = SharedStorage(shards)
        rows = _Rows(storage, source, output, run, keep, marks)
        weights, schemas = rows.weights()
        if len({*schemas}) != 1:  # no rows, or columns of text whose types differ between files
            return None
        layout = rows.layout
        schema = pa.ipc.read_schema(pa.py_buffer(b64decode(schemas[0])))
        encoder = encoder_of(layout.kind, schema, about, codec_of(output.out))
        names = rows.encoded(encoder, weights, tick)
    return lambda: encoder.join(encoder.load(group) for name in names for group in _groups(shards, name))


class _Rows:
    """The rows to write of each piece of the inputs."""

    def __init__(
        self,
        storage: SharedStorage,
        source: Source,
        output: OutputOptions,
        run: TerminalRun,
        keep: np.ndarray | None,
        marks: Marks | None,
    ) -> None:
        self.storage, self.run, self.keep, self.marks = storage, run, keep, marks
        self.lines, self.strings = copies_lines(source, output.out), needs_strings(output.out)
        self.layout = layout_of_kept(output.out, self.lines, output.excel_safe)
        self.pieces = pieces_of(source)
        self.starts = starts_of(storage, self.pieces)

    def batches(self, at: int) -> Iterator[RowBatch]:
        """Yield what is read of a piece."""
        piece = self.pieces[at]
        read: Any = piece.lines(self.run) if self.lines else piece.tables(self.strings, self.run)
        return (batch for batch in placed(read, int(self.starts[at])) if len(batch.rows))

    def weigh(self, batch: RowBatch) -> Weighed:
        """Return the rows of a batch to write."""
        return weighed(self.layout.prepare(changed_rows(self.keep, self.marks, batch)))

    def weights(self) -> tuple[list[np.ndarray], list[str]]:
        """Return the weights of the rows of each piece, and the columns of all batches."""

        def work(at: int, batch: RowBatch) -> tuple[np.ndarray, str]:
            table, weights = self.weigh(batch)
            return weights, b64encode(table.schema.serialize()).decode()

        def gather(at: int, made: list[tuple[np.ndarray, str]]) -> Gathered:
            weights = [np.empty(0, np.int64), *(one for one, _ in made)]
            return [weights], {"schemas": list(dict.fromkeys(schema for _, schema in made))}

        names = self.storage.in_pieces("weights", len(self.pieces), self.batches, work, gather, self.run)
        found = [self.storage.shards.arrays(name)[0] for name in names]
        return found, [one for name in names for one in self.storage.shards.facts(name)["schemas"]]

    def encoded(self, encoder: Encoder, weights: list[np.ndarray], tick: Callable[[float], None]) -> list[str]:
        """Encode all groups, each as a part of the piece in which it begins; return the names of the tasks."""
        before = np.cumsum([0, *map(len, weights)])
        ends = group_ends(np.concatenate(weights), self.layout.size)
        begins = np.concatenate(([0], ends))[: len(ends)]

        def groups(at: int) -> Iterator[tuple[int, Group]]:
            first, last = np.searchsorted(begins, before[at : at + 2]).tolist()
            if first == last:
                return
            rest = chain.from_iterable(map(self.batches, range(at, len(self.pieces))))
            with closing(self.run.map(self.weigh, rest)) as tables:  # type: ignore[type-var]
                own = _without(tables, int(begins[first] - before[at]))
                yield from enumerate(islice(regroup(own, GROUP, self.layout.size), last - first), first)

        def work(at: int, task: tuple[int, Group]) -> list[np.ndarray]:
            return [np.frombuffer(buffer, np.uint8) for buffer in encoder.save(encoder.one(*task))]

        def gather(at: int, made: list[list[np.ndarray]]) -> Gathered:
            buffers = [np.empty(0, np.uint8), *chain.from_iterable(made)]
            sizes = np.array([[len(buffer) for buffer in one] for one in made], np.int64)
            return [[sizes], buffers], {"documents": int(self.starts[at + 1] - self.starts[at])}

        return self.storage.in_pieces("encoded", len(self.pieces), groups, work, gather, self.run, tick)


def _without(tables: Iterator[Weighed], rows: int) -> Iterator[Weighed]:
    """Yield tables without the first rows of all."""
    for table, weights in tables:
        if rows < len(table):
            yield Weighed(table.slice(rows), weights[rows:])
        rows = max(0, rows - len(table))


def _groups(shards: Shards, name: str) -> Iterator[list[Any]]:
    """Yield the buffers of the encoded groups of a piece."""
    sizes, content = shards.arrays(name)
    start = 0
    for group in sizes.tolist():
        buffers = []
        for size in group:
            buffers.append(pa.py_buffer(content[start : start + size]))
            start += size
        yield buffers
