"""A CUDA card, by torch and Triton: rows come through pinned memory, candidates go back.

torch multiplies and rounds to make heads; the kernels in `cuda_kernels` compare them.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
import triton

from lookalike.core.errors import DeviceError, LookalikeError, parameter
from lookalike.core.run import Run, slices
from lookalike.devices import cuda_kernels as kernels
from lookalike.devices.base import Device, Frame, Loaded, Rows, Side, padded, places, rounded
from lookalike.devices.opening import first_line

PART = 1 << 25  # bytes of rows, or of their heads, that are copied or made at a time
BUFFERS = 8  # for them, at most
BLOCK = 4096  # rows per block
TALL = WIDE = 128  # rows and columns of a tile
STEP = 64  # numbers of long heads that are multiplied at a time
CHECKED, CHECKED_STEP = 8, 128  # pairs compared in double precision per program, and components at a time
WIDE_HEAD = 256  # longer heads do not stay in shared memory
FOUND = 1 << 24  # rows of tiles with candidates that a batch can list
CANDIDATES = 1 << 26  # candidates that a batch can list
LEAST_FOUND, LEAST_CANDIDATES = BLOCK * BLOCK // WIDE, BLOCK * BLOCK  # those of one pair of blocks
LISTED = 8  # bytes of each
PIECE = 1 << 22  # candidates that are compared in double precision and copied at a time
WORKING = 1 << 29  # bytes for what is made of a part or a piece
SCARCE = 1 << 32  # bytes in all, below which lists are short
PRODUCT, PRODUCT_SECONDS = 8192, 1.4e-3  # size of a matrix product in bfloat16, and its time on an H200
SHARE = 0.9  # of the card's free memory to use


def open_cards(memory: int | None = None) -> list[Device]:
    """Return all cards that are like torch's current one, which comes first."""
    current = torch.cuda.current_device()
    capability = torch.cuda.get_device_capability()
    others = [card for card in range(torch.cuda.device_count()) if card != current]
    alike = [card for card in others if torch.cuda.get_device_capability(card) == capability]
    return [Cuda(memory, card) for card in (current, *alike)]


@contextmanager
def explaining(card: Any) -> Iterator[None]:
    """Work on a card; turn an error of it, of torch or of Triton into one line."""
    remedy = f"set {parameter('device')} to cpu"
    try:
        with torch.cuda.device(card):
            yield
    except LookalikeError:
        raise
    except torch.OutOfMemoryError as error:
        free, total = 0.0, torch.cuda.get_device_properties(card).total_memory / 1e9
        with suppress(Exception):  # a card so full that not even this works
            free, total = (size / 1e9 for size in torch.cuda.mem_get_info(card))
            torch.cuda.empty_cache()
        raise DeviceError(
            f"the card is out of memory: {free:.1f} of {total:.1f} GB are free, too little for these rows. "
            f"Free some, or {remedy}."
        ) from error
    except Exception as error:  # whatever they raise: no C compiler for Triton, too little shared memory, a reset
        raise DeviceError(f"the card failed: {first_line(error)}. To go on without it, {remedy}.") from error


class Cuda(Device):
    """A CUDA card, by default torch's current one."""

    block = BLOCK

    def __init__(self, memory: int | None = None, card: int | None = None):
        self.card = torch.device("cuda", torch.cuda.current_device() if card is None else card)
        self.name = torch.cuda.get_device_name(self.card)
        free, _ = torch.cuda.mem_get_info(self.card)
        most = int(SHARE * free) if memory is None else min(memory, int(SHARE * free))
        self.found_room, self.room = FOUND, CANDIDATES
        if most < SCARCE:
            self.found_room, self.room = LEAST_FOUND, LEAST_CANDIDATES
        self.memory = max(0, most - LISTED * (self.found_room + self.room) - WORKING)  # for rows
        self.loading = _loading(self.card)
        self._lists: tuple[Any, Any, Any] | None = None

    @cached_property
    def slowness(self) -> float:  # type: ignore[override]
        """How many times as long as an H200 the card takes for a product of matrices."""
        with explaining(self.card):
            matrix = torch.randn((PRODUCT, PRODUCT), dtype=torch.bfloat16, device=self.card)
            seconds = []
            for _ in range(3):
                torch.cuda.synchronize(self.card)
                start = time.perf_counter()
                matrix @ matrix
                torch.cuda.synchronize(self.card)
                seconds.append(time.perf_counter() - start)
            return max(1.0, min(seconds) / PRODUCT_SECONDS)

    def load(self, rows: Rows, frame: Frame, run: Run) -> Loaded:
        card = self.card
        step = max(1, PART // max(frame.width, rows.columns * np.dtype(rows.dtype).itemsize))
        parts = slices(rows.number, step)
        buffers: SimpleQueue[Any] = SimpleQueue()
        kind = torch.from_numpy(np.empty(0, _torch_type(rows.dtype))).dtype
        with explaining(self.card):
            for _ in range(min(len(parts), run.threads + 1, BUFFERS)):
                buffers.put(torch.empty((step, rows.columns), dtype=kind, pin_memory=True))
        with explaining(self.card), torch.cuda.stream(self.loading):
            heads = torch.zeros((self.blocks(rows.number) * BLOCK, frame.width), dtype=torch.int8, device=card)
            squares = torch.zeros((3, rows.number), dtype=torch.float64, device=card)
            values: Any = None
            scales: Any = None
            centre: Any = None
            basis: Any = None
            placed: Any = None
            axes: Any = None
            if frame.basis is not None:
                if rows.keep:
                    values = torch.empty((rows.number, rows.columns), dtype=kind, device=card)
                scales = self._put(rows.scales, np.float64)
                centre, basis = self._put(frame.centre, np.float64), self._put(frame.basis, np.float64)
            if frame.axes is not None:
                axes = self._put(frame.axes, np.float64)
                placed = torch.empty((rows.number, axes.shape[1] + 1), dtype=torch.float32, device=card)
            given = None if rows.tensor is None else torch.from_dlpack(rows.tensor)
            self.loading.wait_stream(torch.cuda.default_stream(card))  # which may be writing the tensor

        def add(pinned: Any, part: slice) -> Any:
            """Add a part's work to the stream; what it makes meanwhile is freed for the next part. Return its end."""
            with explaining(card), torch.cuda.stream(self.loading):
                some = pinned if given is None else given[part if rows.positions is None else rows.positions[part]]
                some = some.to(card, non_blocking=True)
                if values is not None:
                    values[part] = some
                if basis is None:
                    heads[part, : frame.dimensions] = _bits(some, frame.dimensions)
                else:
                    moved = (some.to(torch.float64) - centre) * scales[part, None]
                    made, *squared = rounded(moved, basis, frame.step)
                    heads[part, : made.shape[1]] = made.nan_to_num()
                    for row, some_squares in zip(squares, squared, strict=True):
                        row[part] = some_squares
                    if axes is not None:
                        along, left = places(moved, axes, squared[0])
                        placed[part, :-1], placed[part, -1] = along, left.clamp(min=0).sqrt()
                end = torch.cuda.Event()
                end.record()
                return end

        def work(part: slice) -> None:
            buffer = buffers.get()
            try:
                pinned = buffer[: part.stop - part.start]
                if given is None:
                    rows.fill(pinned.numpy().view(rows.dtype), part)
                end = adding.submit(add, pinned, part).result()
                with explaining(card):
                    end.synchronize()
            finally:  # after an error as well: other threads wait for it
                buffers.put(buffer)

        with ThreadPoolExecutor(1) as adding:  # one thread: torch keeps memory for the products of each
            run.each(work, parts)
        with explaining(self.card):
            self.loading.synchronize()
            where = None if placed is None else placed.cpu().numpy()
            return Loaded(rows.number, heads, squares.cpu().numpy(), values, scales, centre, where)

    def arranged(self, loaded: Loaded, order: np.ndarray) -> Loaded:
        with explaining(self.card), torch.cuda.stream(self.loading):
            given = self._put(order, np.int64)
            heads = torch.zeros_like(loaded.heads)
            torch.index_select(loaded.heads, 0, given, out=heads[: len(given)])
            self.loading.synchronize()
            return replace(loaded, heads=heads, order=given)

    def _put(self, array: Any, dtype: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(array, dtype)).to(self.card)

    def side(self, loaded: Loaded, allowances: np.ndarray, limits: np.ndarray | None) -> Side:
        with explaining(self.card), torch.cuda.stream(self.loading):  # others may be compared meanwhile
            kept = None if limits is None else self._put(limits, np.float64)
            made = Side(loaded, self._put(padded(allowances, len(loaded.heads)), np.int32), kept)
            self.loading.synchronize()
            return made

    def candidates(self, left: Side, right: Side, frame: Frame, tasks: np.ndarray, same: bool) -> np.ndarray | None:
        with explaining(self.card):
            listed = self._sift(left, right, frame, self._put(tasks, np.int32), same)
            number = None if listed is None else self._expand(left, right, frame, listed, same)
            if number is None:
                return None
            pairs = self._buffers()[1][:number]
            known = [side.limits is not None and side.loaded.values is not None for side in (left, right)]
            found = [np.empty((0, 2), np.int32)]
            for some in pairs.split(PIECE) if number else ():
                if left.loaded.order is not None:
                    columns = left.loaded.order[some[:, 0].long()], right.loaded.order[some[:, 1].long()]
                    some = torch.stack(columns, dim=1).to(torch.int32)
                near = some[self._near(left, right, frame, some)] if all(known) else some
                found.append(near.cpu().numpy())
            return np.concatenate(found)

    def _buffers(self) -> tuple[Any, Any, Any]:
        """Return the lists of rows and pairs found, and their numbers."""
        if self._lists is None:
            found = torch.empty((self.found_room, 2), dtype=torch.int32, device=self.card)
            pairs = torch.empty((self.room, 2), dtype=torch.int32, device=self.card)
            self._lists = found, pairs, torch.zeros(1, dtype=torch.int64, device=self.card)
        return self._lists

    def _sift(self, left: Side, right: Side, frame: Frame, tasks: Any, same: bool) -> int | None:
        """List rows of tiles with candidates, and return their number, or None if there are too many."""
        found, _, count = self._buffers()
        count.zero_()
        arrays = (left.loaded.heads, right.loaded.heads, left.allowances, right.allowances, tasks, found, count)
        rest = (self.found_room, frame.width, same, BLOCK, TALL, WIDE)
        strips = len(tasks) * (BLOCK // TALL)
        if frame.width <= WIDE_HEAD:
            stages = 3 if frame.width < WIDE_HEAD else 2
            kernels.launch(kernels.sift, strips, *arrays, *rest, num_warps=4, num_stages=stages)
        else:
            programs = strips * (BLOCK // WIDE)
            kernels.launch(kernels.sift_deep, programs, *arrays, *rest, STEP, num_warps=4, num_stages=4)
        number = int(count.item())
        return number if number <= self.found_room else None

    def _expand(self, left: Side, right: Side, frame: Frame, listed: int, same: bool) -> int | None:
        """List candidates, and return their number, or None if there are too many."""
        found, pairs, count = self._buffers()
        count.zero_()
        arrays = (left.loaded.heads, right.loaded.heads, left.allowances, right.allowances, found, pairs, count)
        kernels.launch(kernels.expand, listed, *arrays, self.room, frame.width, same, WIDE, STEP, num_warps=4)
        number = int(count.item())
        return number if number <= self.room else None

    def _near(self, left: Side, right: Side, frame: Frame, pairs: Any) -> Any:
        """Return which pairs are near in double precision."""
        near = torch.empty(len(pairs), dtype=torch.bool, device=self.card)
        one, other = left.loaded, right.loaded
        arrays = (one.values, other.values, one.scales, other.scales, left.limits, right.limits, one.centre, pairs)
        rest = (near.view(torch.int8), len(pairs), frame.dimensions, CHECKED, CHECKED_STEP)
        kernels.launch(kernels.recheck, triton.cdiv(len(pairs), CHECKED), *arrays, *rest, num_warps=4)
        return near

    def close(self) -> None:
        self._lists = None
        with suppress(Exception):  # a card that has failed; that error has been raised before
            torch.cuda.empty_cache()


@cache
def _loading(card: Any) -> Any:
    """Return the card's one stream for loading: torch keeps memory for the products of each stream."""
    return torch.cuda.Stream(card)


def _torch_type(dtype: Any) -> Any:
    """Return the type of the same size that torch has."""
    return np.int64 if np.dtype(dtype) == np.uint64 else np.dtype(dtype)


def _bits(words: Any, number: int) -> Any:
    """Return 1 for each set bit of rows of words, and -1 for others: the first of each row, in order."""
    places = torch.arange(8, device=words.device, dtype=torch.uint8)
    bits = (words.view(torch.uint8)[:, : -(-number // 8), None] >> places) & 1
    return (2 * bits.flatten(1)[:, :number].to(torch.int8)) - 1
