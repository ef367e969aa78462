"""Find a device by name, or say in one line why it cannot be used."""

import re
import warnings
from importlib.util import find_spec
from typing import Any

from lookalike.core.errors import LookalikeError, UsageError, missing_package
from lookalike.devices.base import Device
from lookalike.devices.several import Several

NAMES = ("auto", "cpu", "cuda")
OLDEST = (8, 0)  # compute capability with fast products of 8-bit integers and `cp.async`
OLDEST_TRITON = (3, 2)
NUMBERED = re.compile(r"Error \d+: [^.]*")  # what a driver says, at the end of torch's message


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
    try:
        import torch
        import triton

        reason = why_not(torch, triton)
        if not reason:
            from lookalike.devices.cuda import open_cards

            cards = open_cards(memory)
            return cards[0] if len(cards) == 1 else Several(cards)
    except LookalikeError:
        raise
    except Exception as error:  # a broken installation of torch, or a card that another program has filled
        reason = first_line(error)
    raise UsageError(f"device 'cuda' cannot be used: {reason}.")


def open_if_usable(memory: int | None = None) -> Device | str:
    """Return the CUDA card, or why there is none that can be used."""
    try:
        return open_cuda(memory)
    except LookalikeError as error:
        return str(error).rstrip(".")


def why_not(torch: Any, triton: Any) -> str:
    """Return why these packages cannot use a card, or nothing."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA; install a build of torch for CUDA"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of what `no_card` says
        if not torch.cuda.is_available():
            return no_card(torch)
    name, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability()
    if capability < OLDEST:
        return f"{name} has compute capability {capability[0]}.{capability[1]}; {OLDEST[0]}.{OLDEST[1]} is needed"
    if tuple(map(int, triton.__version__.split(".")[:2])) < OLDEST_TRITON:
        return f"triton {triton.__version__} is too old; {OLDEST_TRITON[0]}.{OLDEST_TRITON[1]} is needed"
    return ""


def no_card(torch: Any) -> str:
    """Return why torch sees no card: it raises an error that says so if the driver is missing or does not suit it."""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        said = " ".join(str(error).split())
        if "too old" in said:
            return f"the NVIDIA driver is too old for torch {torch.__version__}; update it, or install an older torch"
        if "no nvidia driver" in said.lower():
            return "no NVIDIA driver was found; is there a card in this machine?"
        numbered = NUMBERED.search(said)
        return numbered[0].strip() if numbered else said.split(". ")[0].rstrip(".")
    return "torch sees no card; check nvidia-smi and CUDA_VISIBLE_DEVICES"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without its full stop, or the name of the error."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
