"""Check that other users cannot redirect files, and that what killed runs leave is removed."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lookalike.core import files
from lookalike.core.errors import DataError
from lookalike.core.files import OwnFolder, folder_beside, remove_leftovers, replacing_file
from lookalike.core.workdir import RUN, FolderStorage
from tests.commands import Commands, left_in


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, content: bytes = b"new") -> None:
    with replacing_file(path) as file:
        file.write(content)


def left_by_a_kill(code: str, path: Path) -> None:
    """Run code that begins to write `path`, and kill it there."""
    script = f"import sys\nfrom lookalike.core.files import *\n{code}\n    print(flush=True)\n    sys.stdin.read()"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)


# --- folders ---


def test_the_folder_of_a_run_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir(mode=0o755)
    (tmp_path / "w" / RUN).mkdir(mode=0o755)
    for workdir in (tmp_path / "w", tmp_path / "new"):
        with closing(FolderStorage(workdir, {}, 10**9)) as storage:
            storage.empty("some", 3, "u1")[:] = 7
        assert mode_of(workdir / RUN) == 0o700
        assert {mode_of(file) for file in (workdir / RUN).iterdir()} == {0o600}
    assert (mode_of(tmp_path / "w"), mode_of(tmp_path / "new")) == (0o755, 0o700)


def test_a_folder_that_another_user_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can hold links to files of the victim; nothing is written there."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "w" / RUN
    folder.mkdir(parents=True)
    (folder / "documents.contents").symlink_to(victim)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(DataError, match=r"cannot be used as the folder of a run: it belongs to another user\.$"):
        FolderStorage(tmp_path / "w", {}, 10**9)
    assert left_in(folder) == {"documents.contents"}
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["documents.contents", "in-use", "command", ".manifest.json", "some"])
def test_links_in_the_folder_of_a_run_are_not_followed(run: Commands, inputs: Path, out: Path, name: str) -> None:
    victim = inputs / "victim"
    victim.write_text("precious")
    (inputs / "a.jsonl").write_text('{"text": "one two three four"}\n')
    (out / "w" / RUN).mkdir(parents=True)
    (out / "w" / RUN / name).symlink_to(victim)
    run("dedup", inputs / "a.jsonl", "--workdir", out / "w", "-o", out / "c.jsonl")
    assert victim.read_text() == "precious"
    assert mode_of(victim) == 0o644


def test_a_link_in_place_of_the_folder_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / RUN).symlink_to(tmp_path / "victim")
    with pytest.raises(DataError, match="cannot be used as the folder of a run: "):
        FolderStorage(tmp_path / "w", {}, 10**9)
    assert left_in(tmp_path / "victim") == set()


def test_a_folder_that_is_swapped_meanwhile(tmp_path: Path) -> None:
    """Files still go to the folder that was opened, not to the one that took its name."""
    with closing(OwnFolder(tmp_path / "own")) as folder:
        (tmp_path / "own").rename(tmp_path / "away")
        (tmp_path / "own").mkdir()
        folder.write("a", b"secret")
        assert (tmp_path / "away" / "a").read_bytes() == b"secret"
        folder.clear(first="a")
    assert left_in(tmp_path / "own") == left_in(tmp_path / "away") == set()


def test_a_lock_on_a_removed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two runs could use one folder: the first removes its files when it ends."""
    lock = files.fcntl.flock

    def after_the_other_run(file: int, how: int) -> None:
        (tmp_path / "own" / "in-use").unlink()
        lock(file, how)

    with closing(OwnFolder(tmp_path / "own")) as folder:
        monkeypatch.setattr(files.fcntl, "flock", after_the_other_run)
        with pytest.raises(BlockingIOError):
            folder.hold("in-use")


# --- outputs ---


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444])
def test_an_output_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(mode)
    with replacing_file(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # also while it is written
    assert mode_of(path) == mode


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_output_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "out.csv")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "out.csv") == mode


def test_a_group_that_cannot_be_kept_gets_no_access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(0o664)
    real = os.stat

    def of_another_group(path: object, **options: object) -> os.stat_result:
        return os.stat_result((*real(path, **options)[:5], 12345, *real(path, **options)[6:]))  # type: ignore

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "stat", of_another_group)
    monkeypatch.setattr(os, "fchown", refused)
    write(path)
    monkeypatch.undo()
    assert mode_of(path) == 0o604


def test_an_output_that_is_a_link(tmp_path: Path) -> None:
    """The link stays, and the file it leads to is replaced, with its permissions."""
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "data.csv", tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert (target.read_bytes(), mode_of(target)) == (b"new", 0o600)
    target.unlink()
    write(link, b"again")
    assert target.read_bytes() == b"again"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of other users")
def test_a_link_that_another_user_left_in_a_shared_folder(tmp_path: Path) -> None:
    """It is not followed; one's own link is."""
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("precious")
    (shared / "out.csv").symlink_to(victim)
    os.chown(shared / "out.csv", 12345, 12345, follow_symlinks=False)
    with pytest.raises(PermissionError):
        write(shared / "out.csv")
    assert victim.read_text() == "precious"
    os.chown(shared / "out.csv", 0, 0, follow_symlinks=False)
    write(shared / "out.csv")
    assert victim.read_text() == "new"


def test_names_in_progress_cannot_be_guessed_or_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link under the next name is an error, not a way to another file."""
    parts = set()
    for _ in range(2):
        with replacing_file(tmp_path / "out.csv"):
            parts |= left_in(tmp_path) - {"out.csv"}
    assert len(parts) == 2
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".out.csv.00000000.part").symlink_to(victim)
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "00" * size)
    with pytest.raises(FileExistsError):
        write(tmp_path / "out.csv")
    assert victim.read_text() == "precious"


# --- leftovers ---


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    left_by_a_kill("with replacing_file(sys.argv[1]):", path)
    assert len(left_in(tmp_path)) == 1
    (tmp_path / ".out.csv.letters.part").write_text("not ours")
    write(path)
    assert left_in(tmp_path) == {"out.csv", ".out.csv.letters.part"}


@pytest.mark.parametrize("filled", [False, True])
def test_folders_that_a_killed_writer_left_are_removed(tmp_path: Path, filled: bool) -> None:
    path = tmp_path / "some.index"
    fill = "new.mkdir(); (new / 'data.mdb').touch(); " if filled else ""
    left_by_a_kill(f"with folder_beside(Path(sys.argv[1])) as new:\n    {fill}", path)
    (tmp_path / ".some.index.0123abcd.part").mkdir()  # killed before there was a lock
    assert len(left_in(tmp_path)) == 2
    remove_leftovers(path)
    assert left_in(tmp_path) == set()


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with replacing_file(path) as file, folder_beside(path) as new:
        new.mkdir()
        remove_leftovers(path)
        write(path, b"another process was faster")
        assert len(left_in(tmp_path)) == 3
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert left_in(tmp_path) == {"out"}


def test_leftovers_of_other_users_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".out.csv.0123abcd.part").write_text("theirs")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_leftovers(tmp_path / "out.csv")
    assert left_in(tmp_path) == {".out.csv.0123abcd.part"}


def test_a_new_file_that_was_taken_for_a_leftover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process removes it before it is locked: the file is created again."""
    lock, taken = files.fcntl.flock, []

    def late(file: object, how: int) -> None:
        if not taken:
            taken.append([path.unlink() for path in tmp_path.rglob("*") if path.is_file()])
        lock(file, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == b"new"
    taken.clear()
    with folder_beside(tmp_path / "index") as new:
        new.mkdir()
        assert (new.parent / files.LOCK).exists()
    assert len(taken) == 1


def test_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files can be written; leftovers stay, since they could be in use."""

    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    (tmp_path / ".out.csv.0123abcd.part").write_text("left")
    monkeypatch.setattr(files.fcntl, "flock", unsupported)
    write(tmp_path / "out.csv")
    assert left_in(tmp_path) == {"out.csv", ".out.csv.0123abcd.part"}
