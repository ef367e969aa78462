"""Find a device by name, or say in one line why it cannot be used."""

from importlib.util import find_spec

from lookalike.core.errors import LookalikeError, UsageError, missing_package
from lookalike.devices.base import Device
from lookalike.devices.several import Several

NAMES = ("auto", "cpu", "cuda")


def has_torch() -> bool:
    """Return whether torch is installed, without importing it."""
    return find_spec("torch") is not None and find_spec("triton") is not None


def open_cuda(memory: int | None = None) -> Device:
    """Return the CUDA cards that this process sees; raise an error if torch, a driver or a card is missing.

    At most `memory` bytes of each card are used, if given.
    """
    for package in ("torch", "triton"):
        if find_spec(package) is None:
            raise missing_package("device 'cuda'", package, "'lookalike[gpu]'")
    from lookalike.devices.cuda import open_cards, why_not  # slow to import: it imports torch

    reason = why_not()
    if reason:
        raise UsageError(f"device 'cuda' cannot be used: {reason}.")
    cards = open_cards(memory)
    return cards[0] if len(cards) == 1 else Several(cards)


def open_if_usable(memory: int | None = None) -> Device | str:
    """Return the CUDA card, or why there is none that can be used."""
    try:
        return open_cuda(memory)
    except LookalikeError as error:
        return str(error).rstrip(".")
    except Exception as error:  # a broken installation of torch, or a card that another program has filled
        return f"the card cannot be opened: {next(iter(str(error).splitlines()), type(error).__name__)}"
