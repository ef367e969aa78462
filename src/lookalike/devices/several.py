"""Several devices as one: each holds all rows, and they share the pairs of blocks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lookalike.core.run import Run
from lookalike.devices.base import Device, Frame, Loaded, Rows, Side


@dataclass(frozen=True)
class LoadedOnSeveral(Loaded):
    """Rows on several devices; what is on the host is that of the first."""

    each: tuple[Loaded, ...] = ()


@dataclass(frozen=True)
class SideOnSeveral(Side):
    """Rows on several devices with what they need to be compared."""

    each: tuple[Side, ...] = ()


class Several(Device):
    """Devices with blocks of the same size; the least memory of one counts, since each holds all rows."""

    def __init__(self, devices: list[Device]):
        self.devices = devices
        self.turn = 0  # the device that gets the next pair of blocks
        self.block, self.ordering = devices[0].block, devices[0].ordering
        self.memory = min(device.memory for device in devices)
        names = [device.name for device in devices]
        self.name = f"{len(names)} x {names[0]}" if len(set(names)) == 1 else " + ".join(names)

    @property
    def slowness(self) -> float:  # type: ignore[override]
        """How many times as long as an H200 they take together: the slowest finishes last."""
        return max(device.slowness for device in self.devices) / len(self.devices)

    def load(self, rows: Rows, frame: Frame, run: Run) -> Loaded:
        return self._loaded([device.load(rows, frame, run) for device in self.devices])

    def arranged(self, loaded: Loaded, order: np.ndarray) -> Loaded:
        assert isinstance(loaded, LoadedOnSeveral)
        return self._loaded(self._each(lambda at: self.devices[at].arranged(loaded.each[at], order)))

    def _loaded(self, each: list[Loaded]) -> Loaded:
        return LoadedOnSeveral(**vars(each[0]), each=tuple(each))

    def side(self, loaded: Loaded, allowances: np.ndarray, limits: np.ndarray | None) -> Side:
        assert isinstance(loaded, LoadedOnSeveral)
        each = self._each(lambda at: self.devices[at].side(loaded.each[at], allowances, limits))
        return SideOnSeveral(**vars(replace(each[0], loaded=loaded)), each=tuple(each))

    def candidates(self, left: Side, right: Side, frame: Frame, tasks: np.ndarray, same: bool) -> np.ndarray | None:
        assert isinstance(left, SideOnSeveral)
        assert isinstance(right, SideOnSeveral)
        ours, theirs = left.each, right.each
        turn, self.turn = self.turn, (self.turn + len(tasks)) % len(self.devices)

        def work(at: int) -> np.ndarray | None:
            share = tasks[(at - turn) % len(self.devices) :: len(self.devices)]
            nothing = np.empty((0, 2), np.int64)
            return self.devices[at].candidates(ours[at], theirs[at], frame, share, same) if len(share) else nothing

        found = self._each(work)
        known = [some for some in found if some is not None]
        return np.concatenate(known) if len(known) == len(found) else None

    def _each(self, function: Callable[[int], Any]) -> list[Any]:
        """Return what a function gives for the number of each device, all at the same time."""
        with ThreadPoolExecutor(len(self.devices)) as pool:
            return list(pool.map(function, range(len(self.devices))))

    def close(self) -> None:
        for device in self.devices:
            device.close()
