"""A workspace of root or of an ordinary user, with something outside of it, and runs of commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from agentstepper_nb.coding.sandbox import CommandLaunch, SandboxAccess
from agentstepper_nb.coding.sandbox.launch import Sandbox
from tests.coding.sandbox.sandboxes import run_in

User = Literal["root", "ordinary"]

#: Who is an ordinary user where the tests run as root.
NOBODY: Final = 65534
SECRET: Final = "canary-5b1e"

# Python has been loaded by root when it becomes an ordinary user, who may not read where Python lies.
_BECOME: Final = (
    "import os, sys; sys.path.append(sys.argv[1]); from launcher.main import main; "
    f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); main(int(sys.argv[2]))"
)


class UserWorkspace:
    """The folders of a test: `ws`, `home`, `tmp`, and `outside` with a secret.

    Args:
        folder: An empty one, which the user reaches.
        user: Whose they are, and who runs commands.
    """

    def __init__(self, folder: Path, user: User) -> None:
        self.folder = folder
        self.user = user
        self.workspace = folder / "ws"
        self.outside = folder / "outside"
        for name in ("ws", "ws/src", "home", "tmp", "outside"):
            (folder / name).mkdir()
        self.write("../outside/secret.txt", SECRET)
        self.own()

    def write(self, name: str, text: str) -> Path:
        """Write a file of the user's."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.own()
        return path

    def own(self) -> None:
        """Give all to the user."""
        if self._is_other:
            for root, folders, files in os.walk(self.folder):
                for name in (".", *folders, *files):
                    os.chown(os.path.join(root, name), NOBODY, NOBODY, follow_symlinks=False)

    def access(self, **changes: Any) -> SandboxAccess:
        """What a command may reach, with changes."""
        parts = {"workspace": self.workspace, "home": self.folder / "home"}
        return SandboxAccess(**parts, temporary_folder=self.folder / "tmp", **changes)

    def run(
        self, sandbox: Sandbox, *words: str, access: SandboxAccess | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the workspace."""
        if self._is_other:  # root's control groups are not this user's
            sandbox._limits._places = ()  # type: ignore[attr-defined]
        return run_in(sandbox, words, access or self.access(), self.argv)

    def argv(self, launch: CommandLaunch) -> Sequence[str]:
        """The words of a launch, as this user runs it."""
        if not self._is_other:
            return launch.argv
        assert launch.argv[3] == "-c", launch.argv
        return (*launch.argv[:4], _BECOME, *launch.argv[5:])

    @property
    def _is_other(self) -> bool:
        return self.user == "ordinary" and os.geteuid() == 0


@contextmanager
def make_user_workspace(user: User) -> Iterator[UserWorkspace]:
    """A place in a folder that an ordinary user reaches; pytest's own are closed to others."""
    if user == "root" and os.geteuid() != 0:
        pytest.skip("only root runs commands as root")
    folder = Path(tempfile.mkdtemp(dir="/var/tmp")).resolve()
    folder.chmod(0o755)
    try:
        yield UserWorkspace(folder, user)
    finally:
        shutil.rmtree(folder)
