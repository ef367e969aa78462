"""The list of free pages of LMDB says which pages a file can lack."""

import random

import lmdb
import pytest

from lookalike.index.pages import METAS, is_complete


@pytest.mark.parametrize("seed", range(8))
def test_pages_that_a_file_can_lack(tmp_path, seed):
    """Those that LMDB has not written, and those at the end without which all entries are there."""
    draw = random.Random(seed)
    path, cut = tmp_path / "data.mdb", tmp_path / "cut"
    short = 0
    for _ in range(20):
        with lmdb.open(str(tmp_path), map_size=1 << 30) as env:
            with env.begin(write=True) as txn:
                for number in draw.sample(range(3000), draw.choice([3, 100, 1000])):
                    txn.put(b"%d" % number, bytes([number % 255 + 1]) * draw.choice([10, 100, 10_000]))
                for number in draw.sample(range(3000), draw.choice([0, 1000, 2900])):
                    txn.delete(b"%d" % number)
                txn.put(b"one", b"at least")
                txn.put(b"none", bytes(50_000))
                txn.delete(b"none")
            with env.begin() as txn:
                entries = list(txn.cursor())
            content, size = path.read_bytes(), env.stat()["psize"]
            assert is_complete(env, str(path))
            short += len(content) < size * (env.info()["last_pgno"] + 1)
            cut.write_bytes(content[: METAS * size])
            assert not is_complete(env, str(cut))
            cut.write_bytes(content[: draw.randrange(len(content) // 2, len(content))])
            if not is_complete(env, str(cut)):
                continue
        cut.write_bytes(cut.read_bytes().ljust(len(content), b"\0"))
        with lmdb.open(str(cut), map_size=1 << 30, subdir=False) as env, env.begin() as txn:
            assert list(txn.cursor()) == entries
    assert short
