"""The interface of a device in plain NumPy: what a card computes, readable and testable anywhere."""

from dataclasses import replace

import numpy as np

from lookalike.core.run import Run
from lookalike.devices.base import Device, Frame, Loaded, Rows, Side, padded, places, rounded


class Plain(Device):
    """A device that is this computer's own processor."""

    name = "plain"
    ordering = 0.0  # so that it orders few rows as well

    def __init__(self, block: int = 256, room: int | None = None, memory: int = 1 << 30):
        self.block, self.memory = block, memory
        self.room = max(block * block, room or 0)  # for candidates

    def load(self, rows: Rows, frame: Frame, run: Run) -> Loaded:
        heads = np.zeros((self.blocks(rows.number) * self.block, frame.width), np.int8)
        squares = np.zeros((3, rows.number))
        values = np.empty((rows.number, rows.columns), rows.dtype)
        rows.fill(values, slice(0, rows.number))
        if frame.basis is None:
            bits = np.unpackbits(values.view(np.uint8), axis=1, bitorder="little", count=frame.dimensions)
            heads[: rows.number, : frame.dimensions] = 2 * bits.astype(np.int8) - 1
            return Loaded(rows.number, heads, squares)
        assert rows.scales is not None
        assert frame.centre is not None
        moved = (values.astype(np.float64) - frame.centre) * rows.scales[:, None]
        made, *squares[:] = rounded(moved, frame.basis, frame.step)
        heads[: rows.number, : frame.basis.shape[1]] = np.nan_to_num(made)
        placed = None
        if frame.axes is not None:
            parts, left = places(moved, frame.axes, squares[0])
            placed = np.concatenate((parts, np.sqrt(np.maximum(left, 0))[:, None]), axis=1).astype(np.float32)
        return Loaded(rows.number, heads, squares, moved if rows.keep else None, places=placed)

    def arranged(self, loaded: Loaded, order: np.ndarray) -> Loaded:
        heads = np.zeros_like(loaded.heads)
        heads[: len(order)] = loaded.heads[order]
        return replace(loaded, heads=heads, order=order)

    def side(self, loaded: Loaded, allowances: np.ndarray, limits: np.ndarray | None) -> Side:
        return Side(loaded, padded(allowances, len(loaded.heads)), limits)

    def candidates(self, left: Side, right: Side, frame: Frame, tasks: np.ndarray, same: bool) -> np.ndarray | None:
        found = [np.empty((0, 2), np.int64)]
        total = 0
        for one, other in tasks.tolist():
            a, b = one * self.block, other * self.block
            ours, theirs = slice(a, a + self.block), slice(b, b + self.block)
            products = left.loaded.heads[ours].astype(np.int32) @ right.loaded.heads[theirs].T.astype(np.int32)
            near = products + left.allowances[ours, None] + right.allowances[theirs] >= 0
            pairs = np.argwhere(np.triu(near, 1) if same and one == other else near) + np.array([a, b])
            total += len(pairs)
            if total > self.room:
                return None
            found.append(self._near(left, right, pairs))
        return np.concatenate(found)

    def close(self) -> None:
        """Do nothing: it holds nothing but what it has returned."""

    def _near(self, left: Side, right: Side, pairs: np.ndarray) -> np.ndarray:
        """Return the pairs that are near in double precision, if there are values."""
        if left.loaded.order is not None:
            pairs = np.stack((left.loaded.order[pairs[:, 0]], right.loaded.order[pairs[:, 1]]), axis=1)
        ours, theirs = left.loaded.values, right.loaded.values
        if ours is None or theirs is None or left.limits is None or right.limits is None:
            return pairs
        one, other = pairs.T
        values = (ours[one] * theirs[other]).sum(axis=1) - right.limits[other]
        near: np.ndarray = pairs[~(values < left.limits[one])]
        return near
