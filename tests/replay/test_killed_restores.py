"""Restores of files that are killed at any moment lose nothing."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.replay import put_back
from tests.helpers.sampling import select_sample
from tests.replay.workspace_trees import RecordedRun, exact, write_files
from tests.sdk.workspace.helpers import fingerprint

#: Restores a snapshot or puts it back. Each call that changes files writes a line; at the nth of them
#: the process kills itself, before the call or in the midst of what it writes.
_RESTORER = """
import os, signal, sys
from pathlib import Path
from agentstepper_nb.replay import put_back
from agentstepper_nb.replay.recordings import RecordedFiles
from agentstepper_nb.replay.restore import restore_in_place
from agentstepper_nb.replay.workspace import find_snapshot

what, folder, data, commit, fatal = sys.argv[1:]
data, calls, real_write = Path(data), 0, os.write

def watch(name):
    call = getattr(os, name)
    def watched(*args, **named):
        global calls
        calls += 1
        if calls == int(fatal):
            if name == "write":
                call(args[0], args[1][:2])
            os.kill(os.getpid(), signal.SIGKILL)
        done = call(*args, **named)
        real_write(1, b"\\n")
        return done
    setattr(os, name, watched)

for name in ("replace", "rename", "unlink", "symlink", "mkdir", "rmdir", "write", "chmod", "open"):
    watch(name)
real_write(1, b"\\n")
if what == "restore":
    files = RecordedFiles("run-1", "agent", folder, ((0, commit),))
    restore_in_place(find_snapshot(files, 1, data), data)
else:
    put_back(folder, data_dir=data)
real_write(1, b"done\\n")
"""


@dataclass
class KilledRestores:
    """Restores in processes that are killed.

    Args:
        folder: The workspace.
        data: Where snapshots are kept.
        commit: The snapshot that is restored.
    """

    folder: Path
    data: Path
    commit: str

    def start(self, what: str, fatal_call: int = 0) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _RESTORER, what, str(self.folder), str(self.data)]
        command += [self.commit, str(fatal_call)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def kill_at(self, what: str, call: int) -> bool:
        """Let a process kill itself at a call; whether it came so far."""
        with self.start(what, call) as process:
            process.communicate()
        assert process.returncode in (0, -signal.SIGKILL)
        return process.returncode != 0

    def kill_after(self, what: str, calls: int) -> bool:
        """Kill a process from outside, once so many calls were made; whether it hadn't ended."""
        with self.start(what) as process:
            assert process.stdout is not None
            for number, line in enumerate(process.stdout):
                if number == calls and line != "done\n":
                    process.send_signal(signal.SIGKILL)
                    break
            process.stdout.close()
            process.wait()
        return process.returncode == -signal.SIGKILL

    def put_back(self) -> None:
        """Put back what was restored, if it came so far."""
        while True:
            try:
                put_back(self.folder, data_dir=self.data)
            except WorkspaceError as error:
                # A child that the killed process had forked may have the lock until it begins git.
                if "Another process" in str(error):
                    continue
                assert "nothing to put back" in str(error)
            return


def change_much(folder: Path, files: int) -> None:
    """Change a folder in every way after its snapshot was made."""
    write_files(folder, "new", files)
    (folder / "gone.txt").unlink()
    (folder / "turned").unlink()
    (folder / "turned").mkdir()
    (folder / "turned/x").symlink_to("../main.py")
    (folder / "added.txt").write_text("added\n")
    (folder / "added.txt").chmod(0o600)


@pytest.fixture
def restores(folder: Path, data: Path, forked_programs: None) -> KilledRestores:
    """A folder whose files differ much from those of the snapshot."""
    write_files(folder, "old", 8)
    (folder / "gone.txt").write_text("gone\n")
    (folder / "turned").write_text("a file\n")
    run = RecordedRun(folder, data)
    run.workspace.close()
    change_much(folder, 6)
    return KilledRestores(folder, data, run.files().snapshots[0][1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", select_sample(range(12), 0, 1))
def test_a_kill_at_any_moment_loses_nothing(restores: KilledRestores, seed: int) -> None:
    chance, folder = random.Random(seed), restores.folder
    before, git = exact(folder), fingerprint(folder / ".git")
    kills = 0
    for _ in range(3):
        kills += restores.kill_after("restore", chance.randrange(120))
        for _ in range(chance.randrange(2)):
            kills += restores.kill_after("put back", chance.randrange(120))
        restores.put_back()
        assert exact(folder) == before
        assert fingerprint(folder / ".git") == git
    assert kills
    assert not list(folder.rglob(".agentstepper-*"))


@pytest.mark.soak
def test_a_kill_at_each_call_loses_nothing(restores: KilledRestores) -> None:
    before, call = exact(restores.folder), 1
    while restores.kill_at("restore", call):
        restores.put_back()
        assert exact(restores.folder) == before, call
        call += 1
    assert call > 60
    restored = exact(restores.folder)
    assert restored != before
    restores.put_back()
    assert exact(restores.folder) == before
    assert not list(restores.folder.rglob(".agentstepper-*"))


@pytest.mark.soak
def test_a_kill_at_each_call_of_putting_back_loses_nothing(restores: KilledRestores) -> None:
    before, call = exact(restores.folder), 1
    assert not restores.kill_at("restore", 0)
    while restores.kill_at("put back", call):
        call += 1  # the next one goes on with what this one left
    assert call > 20
    assert exact(restores.folder) == before
    assert not list(restores.folder.rglob(".agentstepper-*"))
