"""A machine in a folder: a person's home, a workspace, and what commands must not reach."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.coding.sandbox.users import User

SECRET: Final = "c0ffee-secret"


class Scene:
    """Folders that one user owns, and commands that run among them.

    Args:
        user: The user.
        sandbox: The sandbox's name.
    """

    def __init__(self, user: User, sandbox: str = "bubblewrap") -> None:
        self.user = user
        self.sandbox = sandbox
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
        """Run commands, one after the other; gives an exit code and an output of each."""
        self.user.own(self.root)
        given: dict[str, Any] = {
            "workspace": self.workspace,
            "home": self.session / "home",
            "temporary": self.session / "tmp",
            "hidden": [self.data],
            **access,
        }
        asked = {"sandbox": self.sandbox, "access": given, "commands": commands}
        done = self.user.python(
            *("-m", "tests.coding.sandbox.confined"),
            env={"HOME": str(self.home), **(env or {})},
            input=json.dumps(asked, default=str),
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    def output(self, command: str, **options: Any) -> str:
        """What a command prints, whatever its exit code."""
        [[_, output]] = self.run(command, **options)
        return str(output)

    def remove(self) -> None:
        """Remove the folders."""
        shutil.rmtree(self.root, ignore_errors=True)
