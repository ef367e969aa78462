"""Compare all pairs of rows on a device: an interface, its plain NumPy form, and CUDA cards.

Lives here: `base`, the interface and the arithmetic that all devices share; `plain`, the interface in
NumPy, which the tests use; `cuda` with its kernels in `cuda_kernels`, loaded only when a card is
used; `opening`, which finds a device or says why there is none.
May import: `core` and NumPy; torch and Triton only where a card is opened or used. To add a kind of
device, derive a class from `base.Device` and add it to `opening`.
"""
