"""A machine in a folder: a person's home, a workspace, and what commands must not reach."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final
from unittest import mock

from tests.coding.sandbox.confined import ran
from tests.coding.sandbox.users import ROOT, THIS, PythonUser

SECRET: Final = "c0ffee-secret"


class HomeFolders:
    """Folders that one user owns, and commands that run among them.

    Args:
        user: The user.
        sandbox: The sandbox's name.
    """

    def __init__(self, user: PythonUser, sandbox: str = "bubblewrap") -> None:
        self.user = user
        self.sandbox = sandbox
        self._kept: subprocess.Popen[str] | None = None  # the agent of another user
        self.root = Path(tempfile.mkdtemp(prefix="scene-")).resolve()
        self.home = self.root / "person"
        self.workspace = self.home / "project"
        self.outside = self.root / "outside"
        self.data = self.home / ".local" / "share" / "jupyter"
        self.session = self.data / "sandboxes" / "s"
        for folder in (self.workspace, self.outside, self.session / "home", self.session / "tmp"):
            folder.mkdir(parents=True)
        self.write("person/.ssh/id_rsa", SECRET)
        self.write("person/.local/share/jupyter/token", SECRET)
        self.write("outside/file", SECRET)
        self.write("person/project/notes", "notes")

    def write(self, path: str, text: str = "") -> Path:
        """Make a file, with the folders above it."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def run(self, *commands: str, env: dict[str, str] | None = None, **access: Any) -> list[Any]:
        """Run commands, one after the other; gives an exit code and an output of each.

        As another user, or with variables of the agent's own, the agent is a process of its own.
        """
        self.user.own(self.root)
        given: dict[str, Any] = {
            "workspace": self.workspace,
            "home": self.session / "home",
            "temporary_folder": self.session / "tmp",
            "hidden": [self.data],
            **access,
        }
        asked: dict[str, Any] = {"sandbox": self.sandbox, "access": given, "commands": commands}
        if self.user.name == THIS and env is None:
            with mock.patch.dict(os.environ, HOME=str(self.home)):
                return ran(asked)
        if env is not None:
            with self._agent(env) as agent:
                return _answer(agent, asked)
        if self._kept is None:
            self._kept = self._agent({})
        return _answer(self._kept, asked)

    def _agent(self, env: dict[str, str]) -> subprocess.Popen[str]:
        """Start a process that runs commands."""
        return subprocess.Popen(
            self.user.words("-m", "tests.coding.sandbox.confined"),
            cwd=ROOT,
            env=self.user.environment({"HOME": str(self.home), **env}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def output(self, command: str, **options: Any) -> str:
        """What a command prints, whatever its exit code."""
        [[_, output]] = self.run(command, **options)
        return str(output)

    def remove(self) -> None:
        """End the agent, and remove the folders."""
        if self._kept is not None:
            with self._kept as agent:
                agent.kill()
        shutil.rmtree(self.root, ignore_errors=True)


def _answer(agent: subprocess.Popen[str], asked: dict[str, Any]) -> list[Any]:
    assert agent.stdin is not None and agent.stdout is not None
    agent.stdin.write(json.dumps(asked, default=str) + "\n")
    agent.stdin.flush()
    answer = agent.stdout.readline()
    assert answer, "the agent failed; it says above why"
    return list(json.loads(answer))
