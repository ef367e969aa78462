"""Check where machine code is cached, and that only our own is run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lookalike import kernels
from lookalike.kernels.hashing import mix


@pytest.mark.slow
def test_machine_code_is_cached_even_if_the_usual_folders_are_not_writable(tmp_path):
    """As for executors of a cluster: neither the package nor a home folder is writable."""
    package = tmp_path / "site" / "lookalike"
    shutil.copytree(Path(kernels.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "kernels" / "__pycache__").write_text("no folder")
    code = "from lookalike.kernels import when_compiling\nwhen_compiling(lambda: print('compiling'))\n"
    code += "import numpy as np\nfrom lookalike.kernels.hashing import mix\nprint(mix(np.uint64(1)))"
    settings = {"HOME": "/dev/null", "TMPDIR": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    environ = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    command = [sys.executable, "-B", "-c", code]
    first, again = (
        subprocess.run(command, env={**environ, **settings}, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert first == ["compiling", str(mix(np.uint64(1)))]
    assert again == [str(mix(np.uint64(1)))]
    [folder] = tmp_path.glob("lookalike-*")
    assert folder.stat().st_mode & 0o777 == 0o700


FULL = """
import resource, signal
import numpy as np
from lookalike.kernels.hashing import mix

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(mix(np.uint64(1)))
"""


@pytest.mark.slow
def test_machine_code_that_a_full_disk_has_no_space_for_is_run(tmp_path):
    environ = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FULL], env=environ, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{mix(np.uint64(1))}\n", "")
    assert not list(tmp_path.rglob("*.nbc"))


CALLEE = """
import numpy as np
from lookalike.kernels import when_compiling
from lookalike.kernels.hashing import kernel
from lookalike.kernels.text import hash_table

values = np.arange(1, 9, dtype=np.uint64)
size = len(hash_table(values))
"""
CALLER = """
@kernel
def slots(values):
    return len(hash_table(values))

when_compiling(lambda: print("compiling"))
print(slots(values) == size)
"""


@pytest.mark.slow
def test_kernels_from_disk_can_be_called_by_new_ones(tmp_path):
    """The caller is compiled from what its cached callee was linked from, and is cached itself."""
    script = tmp_path / "caller.py"
    said = []
    for text in (CALLEE, CALLEE + CALLER, CALLEE + CALLER):
        script.write_text(text)
        command = [sys.executable, "-B", str(script)]
        said.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert said == [[], ["compiling", "True"], ["True"]]


def test_machine_code_of_other_users_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "gettempdir", lambda: str(tmp_path))
    own = kernels._own_folder()
    assert own == kernels._own_folder() == tmp_path / f"lookalike-{os.getuid()}"
    own.chmod(0o777)
    assert kernels._own_folder() != own
    own.rmdir()
    own.symlink_to(tmp_path)
    assert kernels._own_folder() != own


def test_machine_code_dropped_by_another_process_at_the_same_time(tmp_path):
    (tmp_path / "kernel.py").touch()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "gone.nbc").symlink_to("nowhere")  # listed, but no longer there
    kernels._drop_stale_machine_code(tmp_path)
    stale = tmp_path / "__pycache__" / "kernel.nbi"
    stale.touch()
    os.utime(stale, (0, 0))
    kernels._drop_stale_machine_code(tmp_path)
    assert not stale.exists()
