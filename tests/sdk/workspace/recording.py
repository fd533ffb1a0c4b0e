"""A `git` on the search path that writes down how it is called, and calls the real one."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentstepper_nb.sdk.workspace import git_command

_PROGRAM = """\
#!{python} -I
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
for name in {unset!r}:
    os.environ.pop(name, None)
os.execv({git!r}, ["git", *sys.argv[1:]])
"""


@dataclass
class Call:
    """One call of git."""

    arguments: list[str]
    environment: dict[str, str]

    @property
    def command(self) -> str:
        """The command's name: the first argument that is no option."""
        return next(argument for argument in self.arguments if not argument.startswith("-"))

    @property
    def config(self) -> dict[str, str]:
        """The settings that travel as variables."""
        keys = range(int(self.environment.get("GIT_CONFIG_COUNT", "0")))
        variables = self.environment
        return {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in keys}


class RecordingGit:
    """Puts a recording git in the front of the search path.

    Args:
        folder: Where the program and its log lie.
        monkeypatch: Changes the search path.
        unset: Variables that this git doesn't know, as an older one.
    """

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, unset: tuple[str, ...] = ()
    ) -> None:
        real = shutil.which("git")
        assert real is not None
        self._log = folder / "calls"
        folder.mkdir()
        program = folder / "git"
        program.write_text(
            _PROGRAM.format(python=sys.executable, log=str(self._log), unset=unset, git=real)
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")
        git_command.find_git_version.cache_clear()

    def calls(self) -> list[Call]:
        """The calls so far."""
        if not self._log.exists():
            return []
        return [Call(*json.loads(line)) for line in self._log.read_text().splitlines()]
