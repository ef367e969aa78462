"""Find a device by name, or say in one line why it cannot be used."""

from importlib.util import find_spec

from lookalike.core.errors import UsageError, missing_package
from lookalike.devices.base import Device

NAMES = ("auto", "cpu", "cuda")


def has_torch() -> bool:
    """Return whether torch is installed, without importing it."""
    return find_spec("torch") is not None and find_spec("triton") is not None


def open_cuda(memory: int | None = None) -> Device:
    """Return the CUDA card of this process; raise an error if torch, a driver or a card is missing."""
    for package in ("torch", "triton"):
        if find_spec(package) is None:
            raise missing_package("device 'cuda'", package, "'lookalike[gpu]'")
    from lookalike.devices.cuda import Cuda, why_not  # slow to import: it imports torch

    reason = why_not()
    if reason:
        raise UsageError(f"device 'cuda' cannot be used: {reason}.")
    return Cuda(memory)


def open_if_usable() -> Device | None:
    """Return the CUDA card if there is one that can be used, otherwise None."""
    if not has_torch():
        return None
    try:
        return open_cuda()
    except (UsageError, ImportError, OSError):  # a broken installation of torch as well
        return None
