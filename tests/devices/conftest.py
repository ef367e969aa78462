"""Collect the tests of CUDA cards only where torch is installed: `make test-gpu`."""

from lookalike.devices.opening import has_torch

collect_ignore = [] if has_torch() else ["test_cuda.py"]
