"""Find a device by name, or say in one line why it cannot be used."""

from importlib.util import find_spec

from lookalike.core.errors import LookalikeError, UsageError, missing_package
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


def open_if_usable() -> Device | str:
    """Return the CUDA card, or why there is none that can be used."""
    try:
        return open_cuda()
    except LookalikeError as error:
        return str(error).rstrip(".")
    except Exception as error:  # a broken installation of torch, or a card that another program has filled
        return f"the card cannot be opened: {next(iter(str(error).splitlines()), type(error).__name__)}"
