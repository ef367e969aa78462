"""Decide whether a device compares all pairs: if the user asks, or if that takes the least time."""

from dataclasses import replace

import numpy as np

from lookalike.core.errors import DeviceError, UsageError, argument, byte_size, parameter
from lookalike.devices.base import Device
from lookalike.devices.opening import has_torch, open_cuda, open_if_usable
from lookalike.items.bits import Bits
from lookalike.items.sides import Sides
from lookalike.items.vectors import Vectors
from lookalike.search.effort import Effort
from lookalike.search.heads import full_width, pair_cost
from lookalike.search.settings import Settings
from lookalike.search.spaces import Space
from lookalike.search.vector_plan import VectorPlan, look_at

START = 5e9  # nanoseconds to import torch, start the card and compile kernels
LOADED = 0.1  # nanoseconds to bring a component to a card
LEAST_MEMORY = 1_000_000_000  # bytes of a card: enough for lists of candidates and some rows
LEAST = 10e9  # nanoseconds with all threads below which no card is looked for


def asked_device(settings: Settings, sides: list[Vectors | Bits]) -> Device | None:
    """Return the device that the user asks for, or None for the processor; raise an error if it cannot do the work."""
    if settings.device in ("auto", "cpu"):
        return None
    name = parameter("device") if isinstance(settings.device, str) else "device"
    if settings.method == "lsh" or settings.probes is not None:
        what = argument("method", "lsh") if settings.method == "lsh" else parameter("probes")
        raise UsageError(f"{name} 'cuda' compares all pairs, so it does not support {what}.")
    if any(isinstance(side, Vectors) and side.sparse for side in sides):
        raise UsageError(f"{name} 'cuda' compares dense vectors and bit codes; got a sparse matrix. Use 'cpu'.")
    if settings.device != "cuda":
        return settings.device  # type: ignore[return-value]
    with settings.run.stage("start the card"):
        return open_cuda(card_memory(settings))


def card_memory(settings: Settings) -> int | None:
    """Return how many bytes of a card's memory may be used, or None for most of what is free."""
    return None if settings.memory is None else byte_size("memory", settings.memory, LEAST_MEMORY, "8GB")


def worthwhile_device(
    settings: Settings, plan: VectorPlan, space: Space, rows: np.ndarray, sides: Sides, effort: Effort
) -> tuple[Device | None, str]:
    """Return a card if it takes less time than the plan on the processor, and why it is or is not used.

    torch is imported only if a card like that on which the costs were measured would save time.
    """
    dense = not (hasattr(space, "vectors") and space.vectors.sparse)
    if settings.device != "auto" or plan.method == "lsh" == settings.method or settings.probes is not None or not dense:
        return None, ""
    cost = plan.cost
    if not cost:
        work = look_at(space, rows, sides)
        cost = work.pairs * work.pair
    spread = effort.speed / effort.threads
    if cost * spread < LEAST or not has_torch():
        return None, ""
    left, right = sides.apart(rows)
    pairs = len(left) * len(right) / (1 if sides.two else 2)
    start = START + len(rows) * space.dimensions * LOADED
    compare = pairs * pair_cost(full_width(space.dimensions)) / 1000
    alone = effort._replace(threads=1, speed=1.0)  # a card depends on neither
    if start + compare >= cost * spread:
        return None, f"no card was looked for: the fastest would take {alone.seconds(start + compare)}"
    with settings.run.stage("start the card"):
        device = open_if_usable(card_memory(settings))
    if isinstance(device, str):
        return None, f"no card is used: {device}"
    try:
        ours = start + compare * device.slowness
    except DeviceError as error:  # when its speed is measured
        return None, f"no card is used: {str(error).rstrip('.')}"
    if ours >= cost * spread:
        return None, f"{device.name} is not used: it would take {alone.seconds(ours)}"
    ways = f"about {alone.seconds(ours)}; the processor would take {effort.seconds(cost)}"
    return device, f"chosen: {device.name}, {ways}"


def on_device(plan: VectorPlan, device: Device, bounded: bool, reason: str = "") -> VectorPlan:
    """Return the plan to compare all pairs on a device."""
    return replace(
        plan, method="brute", device=device.name, bands=None, width=0.0, parts=0, probes=0, wanted=1.0,
        bounded=bounded, reason=reason,
    )  # fmt: skip
