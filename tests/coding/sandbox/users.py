"""Users for tests: who runs the tests, and where that is root an ordinary one, too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[3]
NOBODY: Final = 65534
# It must be able to start itself again: setpriv starts what the user may not.
_CHECK: Final = """
import agentstepper_nb.coding.sandbox.bubblewrap, os, sys
sys.exit(not os.access(sys.executable, os.X_OK))
"""
THIS, ORDINARY = "this user", "ordinary user"


class PythonUser:
    """Runs Python programs as a user.

    Args:
        name: `THIS` or `ORDINARY`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._words = [sys.executable] if name == THIS else ordinary_python()

    def own(self, folder: Path) -> None:
        """Give the user a folder with all in it."""
        if self.name == ORDINARY and os.getuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def python(self, *args: str, env: Mapping[str, str], **options: Any) -> Any:
        """Run Python with arguments; our package and the tests can be imported."""
        return subprocess.run(
            self.words(*args), cwd=ROOT, env=self.environment(env), text=True, **options
        )

    def words(self, *args: str) -> list[str]:
        """The command that runs Python with arguments, as this user."""
        return [*self._words, *args]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment for it."""
        packages = sysconfig.get_paths()["purelib"]
        return {**os.environ, "PYTHONPATH": f"{ROOT}:{packages}", **env}


@cache
def ordinary_python() -> list[str]:
    """A command that runs Python as an ordinary user; the test is skipped where there is none."""
    if os.getuid() != 0:
        return [sys.executable]
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is missing, by which root becomes an ordinary user")
    become = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{sysconfig.get_paths()['purelib']}"}
    for program in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        words = [*become, program]
        check = [*words, "-c", _CHECK]
        done = subprocess.run(check, cwd=ROOT, env=environment, capture_output=True)
        if done.returncode == 0:
            return words
    pytest.skip(f"an ordinary user may run no {version} with our packages on this machine")
