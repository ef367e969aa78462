"""Check the storage of large arrays, in memory and in files."""

import numpy as np
import pytest

from lookalike.core.run import Run
from lookalike.core.storage import IN_MEMORY
from lookalike.core.workdir import FolderStorage


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_fill_an_array(tmp_path, threads):
    with FolderStorage(tmp_path / "w", {}, 10**9) as files:
        for storage in (IN_MEMORY, files):
            numbers = storage.filled(
                "one", 10, np.int64, lambda part: np.arange(part.start, part.stop), Run(threads), 3
            )
            assert numbers.tolist() == list(range(10))
            table = storage.filled(
                "two", (5, 2), np.float32, lambda part: np.arange(0, 20, 2).reshape(5, 2)[part], Run(threads), 2
            )
            assert table.tolist() == [[0, 2], [4, 6], [8, 10], [12, 14], [16, 18]]
            assert storage.filled("none", 0, np.int64, lambda part: np.zeros(0), Run(threads)).tolist() == []
        files.remove()
