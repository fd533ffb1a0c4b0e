"""One owner a folder: who comes second is told who came first."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentstepper_nb.errors import StoreError, StoreLockedError
from agentstepper_nb.store import folder_lock

HOLD = """\
import sys
from pathlib import Path
from agentstepper_nb.store import folder_lock
held = folder_lock.lock_folder(Path(sys.argv[1]), "another Core")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    with folder_lock.lock_folder(tmp_path / "data", "agentstepper serve"):
        with pytest.raises(StoreLockedError) as refused:
            folder_lock.lock_folder(tmp_path / "data", "another")
    words = f"agentstepper serve (pid {os.getpid()} on {socket.gethostname()}, since "
    assert refused.value.holder.startswith(words)
    assert str(tmp_path / "data") in str(refused.value)


def test_released_it_is_free_and_says_nothing(tmp_path: Path) -> None:
    held = folder_lock.lock_folder(tmp_path, "one")
    assert folder_lock.find_lock_holder(tmp_path) == folder_lock.LockHolder(
        os.getpid(), socket.gethostname(), "one", folder_lock.find_lock_holder(tmp_path).locked_at
    )
    held.release()
    held.release()
    assert folder_lock.find_lock_holder(tmp_path) is None
    assert (tmp_path / folder_lock.LOCK_FILE).read_bytes() == b""
    folder_lock.lock_folder(tmp_path, "two").release()


def test_looking_takes_nothing(tmp_path: Path) -> None:
    assert folder_lock.find_lock_holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_folder_and_file_are_their_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with folder_lock.lock_folder(folder, "one"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / folder_lock.LOCK_FILE).stat().st_mode) == 0o600


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    with holding(tmp_path) as process:
        found = folder_lock.find_lock_holder(tmp_path)
        assert found is not None
        assert (found.pid, found.program) == (process.pid, "another Core")
        with pytest.raises(StoreLockedError, match=f"another Core \\(pid {process.pid} "):
            folder_lock.lock_folder(tmp_path, "me")
        process.send_signal(signal.SIGKILL)
        process.wait()
        with folder_lock.lock_folder(tmp_path, "me"):
            now = folder_lock.find_lock_holder(tmp_path)
            assert now is not None
            assert now.program == "me"


def test_a_child_does_not_hold_it(tmp_path: Path) -> None:
    held = folder_lock.lock_folder(tmp_path, "parent")
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # never returns to pytest
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        assert (
            folder_lock.find_lock_holder(tmp_path) is not None
        )  # the child's forgetting let nothing go
        held.release()
        folder_lock.lock_folder(tmp_path, "again").release()
    finally:
        os.write(done[1], b"x")
        os.waitpid(child, 0)
        for each in (*ready, *done):
            os.close(each)


def test_a_program_that_is_started_does_not_inherit_it(tmp_path: Path) -> None:
    held = folder_lock.lock_folder(tmp_path, "parent")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        held.release()
        folder_lock.lock_folder(tmp_path, "again").release()
        child.kill()


def test_the_next_free_folder(tmp_path: Path) -> None:
    base = tmp_path / "data"
    first, one = folder_lock.lock_first_free_folder(base, "one")
    second, two = folder_lock.lock_first_free_folder(base, "two")
    third, three = folder_lock.lock_first_free_folder(base, "three")
    assert (first, second, third) == (base, base / "2", base / "3")
    two.release()
    again, four = folder_lock.lock_first_free_folder(base, "four")
    assert again == base / "2"
    for each in (one, three, four):
        each.release()


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff" * 100])
def test_a_damaged_file_names_nobody_and_still_locks(tmp_path: Path, said: bytes) -> None:
    with folder_lock.lock_folder(tmp_path, "one"):
        (tmp_path / folder_lock.LOCK_FILE).write_bytes(said)
        with pytest.raises(StoreLockedError, match="belong to another process, which is running"):
            folder_lock.lock_folder(tmp_path, "two")
    folder_lock.lock_folder(tmp_path, "three").release()


def test_a_holder_of_another_day_is_named_with_it() -> None:
    holder = folder_lock.LockHolder(
        pid=7, host="box", program="agentstepper serve", locked_at=1_000_000_000
    )
    assert str(holder).startswith("agentstepper serve (pid 7 on box, since 2001-09-0")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"Runs can't be stored in .*/file/data: Not a directory"):
        folder_lock.lock_folder(tmp_path / "file" / "data", "me")


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    with folder_lock.lock_folder(tmp_path, "Jupyter server in /x"):
        said = json.loads((tmp_path / folder_lock.LOCK_FILE).read_text())
    assert (said["pid"], said["what"]) == (os.getpid(), "Jupyter server in /x")
