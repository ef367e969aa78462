"""Without torch, a driver or a card there is one clear line."""

import sys
import warnings
from types import SimpleNamespace

import pytest

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.core.imports import refusing
from lookalike.devices import opening
from lookalike.devices.plain import Plain
from tests.vector_samples import drawn


def installed(monkeypatch, *packages):
    monkeypatch.setattr(opening, "find_spec", lambda name: name if name in packages else None)


@pytest.mark.parametrize(("packages", "missing"), [((), "torch"), (("torch",), "triton")])
def test_missing_packages(monkeypatch, packages, missing):
    installed(monkeypatch, *packages)
    line = f"^device 'cuda' needs {missing}, which is not installed: pip install 'lookalike\\[gpu\\]'.$"
    with pytest.raises(UsageError, match=line):
        la.find_pairs(drawn(1, 50), measure="angle", threshold=9, device="cuda")
    assert opening.open_if_usable().startswith(f"device 'cuda' needs {missing}")


def packages(cuda="12.8", error=None, found=False, capability=(9, 0), triton="3.9.0"):
    """Return what stands for torch and Triton; torch warns of an error before it raises it, as the real one does."""

    def init():
        if error is not None:
            raise RuntimeError(error)

    def is_available():
        if error is not None:
            warnings.warn(f"CUDA initialization: {error}", UserWarning, stacklevel=2)
        return found

    cards = SimpleNamespace(
        init=init,
        is_available=is_available,
        get_device_name=lambda: "a card",
        get_device_capability=lambda: capability,
    )
    torch = SimpleNamespace(__version__="2.13.0", version=SimpleNamespace(cuda=cuda), cuda=cards)
    return torch, SimpleNamespace(__version__=triton)


OLD = (
    "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver by "
    "downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx"
)
NONE = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
UNSUITED = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() "
    "that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination"
)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"cuda": None}, "torch 2.13.0 is built without CUDA; install a build of torch for CUDA"),
        ({"error": OLD}, "the NVIDIA driver is too old for torch 2.13.0; update it, or install an older torch"),
        ({"error": NONE}, "no NVIDIA driver was found; is there a card in this machine?"),
        ({"error": UNSUITED}, "Error 803: system has unsupported display driver / cuda driver combination"),
        ({"error": "CUDA driver initialization failed, you might not have a CUDA gpu."},
         "CUDA driver initialization failed, you might not have a CUDA gpu"),
        ({}, "torch sees no card; check nvidia-smi and CUDA_VISIBLE_DEVICES"),
        ({"found": True, "capability": (7, 5)}, "a card has compute capability 7.5; 8.0 is needed"),
        ({"found": True, "triton": "3.1.0"}, "triton 3.1.0 is too old; 3.2 is needed"),
        ({"found": True, "triton": "3.2.0+git"}, ""),
    ],
)  # fmt: skip
def test_why_no_card_can_be_used(given, line):
    assert opening.why_not(*packages(**given)) == line


@pytest.fixture
def usable(monkeypatch):
    """Pretend that torch sees a card; return what stands for the module that opens it."""
    installed(monkeypatch, "torch", "triton")
    for name, package in zip(("torch", "triton"), packages(found=True), strict=True):
        monkeypatch.setitem(sys.modules, name, package)
    module = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "lookalike.devices.cuda", module)
    return module


def test_no_card(monkeypatch):
    installed(monkeypatch, "torch", "triton")
    for name, package in zip(("torch", "triton"), packages(error=NONE), strict=True):
        monkeypatch.setitem(sys.modules, name, package)
    line = "device 'cuda' cannot be used: no NVIDIA driver was found; is there a card in this machine?"
    with pytest.raises(UsageError) as raised:
        opening.open_cuda()
    assert str(raised.value) == f"{line}."
    assert opening.open_if_usable() == line


def test_a_broken_torch_is_no_reason_to_stop(monkeypatch):
    installed(monkeypatch, "torch", "triton")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with refusing("torch"):
        assert opening.open_if_usable() == "device 'cuda' cannot be used: No module named 'torch'"


def test_a_card_that_another_program_has_filled_is_one_line(usable):
    def full(memory):
        raise RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported.")

    usable.open_cards = full
    with pytest.raises(UsageError, match=r"^device 'cuda' cannot be used: CUDA error: out of memory.$"):
        opening.open_cuda()
    assert opening.open_if_usable() == "device 'cuda' cannot be used: CUDA error: out of memory"


def test_a_card_is_opened(usable):
    usable.open_cards = lambda memory: [("card", memory)]
    assert opening.open_cuda(5) == ("card", 5)
    assert opening.open_if_usable() == ("card", None)
    usable.open_cards = lambda memory: [Plain(memory=memory), Plain(memory=memory)]
    assert (opening.open_cuda(5).name, opening.open_if_usable(7).memory) == ("2 x plain", 7)
