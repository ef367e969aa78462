"""Without torch, a driver or a card there is one clear line."""

import sys
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


def test_no_card(monkeypatch):
    installed(monkeypatch, "torch", "triton")
    card = SimpleNamespace(open_cards=None, why_not=lambda: "no NVIDIA driver was found")
    monkeypatch.setitem(sys.modules, "lookalike.devices.cuda", card)
    with pytest.raises(UsageError, match=r"^device 'cuda' cannot be used: no NVIDIA driver was found.$"):
        opening.open_cuda()
    assert opening.open_if_usable() == "device 'cuda' cannot be used: no NVIDIA driver was found"


def test_a_broken_torch_is_no_reason_to_stop(monkeypatch):
    installed(monkeypatch, "torch", "triton")
    monkeypatch.delitem(sys.modules, "lookalike.devices.cuda", raising=False)
    with refusing("torch"):
        assert opening.open_if_usable().startswith("the card cannot be opened: ")


def test_a_card_is_opened(monkeypatch):
    installed(monkeypatch, "torch", "triton")
    card = SimpleNamespace(open_cards=lambda memory: [("card", memory)], why_not=lambda: "")
    monkeypatch.setitem(sys.modules, "lookalike.devices.cuda", card)
    assert opening.open_cuda(5) == ("card", 5)
    assert opening.open_if_usable() == ("card", None)
    card.open_cards = lambda memory: [Plain(memory=memory), Plain(memory=memory)]
    assert (opening.open_cuda(5).name, opening.open_if_usable(7).memory) == ("2 x plain", 7)
