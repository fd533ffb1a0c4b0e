"""The scenes of the sandbox's tests: users, folders that they own, and commands that run among these."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal
from unittest import mock

import pytest

from agentstepper_nb.coding.sandbox import CommandLaunch, ResourceLimits, SandboxAccess
from agentstepper_nb.coding.sandbox.bubblewrap import Bubblewrap, find_bubblewrap_programs
from agentstepper_nb.coding.sandbox.landlock import Landlock
from agentstepper_nb.coding.sandbox.launch import Sandbox, Unconfined
from agentstepper_nb.coding.sandbox.launcher import kernel

ROOT: Final = Path(__file__).parents[3]
#: Who is an ordinary user where the tests run as root.
NOBODY: Final = 65534
#: Stands in files that no command may read.
SECRET: Final = "c0ffee-secret"

# ---- users -----------------------------------------------------------------------------------------

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


# ---- sandboxes --------------------------------------------------------------------------------------


def make_sandbox(name: str, limits: ResourceLimits | None = None) -> Sandbox:
    """A sandbox by its name; a test is skipped where this machine can't have it."""
    if name == "bubblewrap" and not find_bubblewrap_programs():
        pytest.skip("bubblewrap isn't installed")
    if name == "landlock" and not kernel.find_landlock_abi():
        pytest.skip("this kernel has no Landlock")
    match name:
        case "bubblewrap":
            return Bubblewrap(find_bubblewrap_programs()[0], limits or ResourceLimits())
        case "landlock":
            return Landlock(limits)
        case _:
            return Unconfined(limits)


def access_to(workspace: Path, **changes: Any) -> SandboxAccess:
    """Access to a workspace, with home and temporary folder beside it."""
    home, temporary = workspace.parent / "home", workspace.parent / "tmp"
    for each in (home, temporary):
        each.mkdir(exist_ok=True, mode=0o700)
    return SandboxAccess(workspace=workspace, home=home, temporary_folder=temporary, **changes)


def run_in(
    sandbox: Sandbox,
    words: Sequence[str],
    access: SandboxAccess,
    argv: Callable[[CommandLaunch], Sequence[str]] = lambda launch: launch.argv,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a sandbox, in the workspace; gives how it ended and what it printed."""
    with sandbox.prepare_command(words, access.workspace, access) as launch:
        return subprocess.run(
            argv(launch),
            cwd=access.workspace,
            env=launch.env,
            pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )


def read_access(given: dict[str, Any]) -> SandboxAccess:
    """Access, from JSON."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, list):
            made[name] = tuple(map(Path, value))
        else:
            made[name] = Path(value) if isinstance(value, str) else value
    return SandboxAccess(**made)


def run_commands(asked: dict[str, Any]) -> list[Any]:
    """Run the commands of a line that `confined` reads; gives an exit code and an output of each."""
    sandbox = make_sandbox(asked["sandbox"])
    allowed = read_access(asked["access"])
    ended = (run_in(sandbox, ["/bin/sh", "-c", text], allowed) for text in asked["commands"])
    return [[done.returncode, done.stdout] for done in ended]


#: Stands behind what each of several commands printed, with its exit code.
_ENDED: Final = "command-ended"


def join_commands(commands: Sequence[str]) -> str:
    """One command of a shell that runs others one after the other, whatever becomes of them."""
    return "\n".join(f"( {each}\n)\necho {_ENDED} $?" for each in commands)


def split_output(output: str) -> list[list[Any]]:
    """The exit code and the output of each of `join_commands`."""
    parts = re.split(rf"{_ENDED} (\d+)\n", output)
    assert parts.pop() == "", output
    return [[int(code), text] for text, code in zip(parts[::2], parts[1::2], strict=True)]


# ---- a workspace, whose user the launcher becomes ----------------------------------------------------


User = Literal["root", "ordinary"]

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
        return access_to(self.workspace, **changes)

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


# ---- a person's home, whose user has an agent of its own ---------------------------------------------


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

    def run(
        self,
        *commands: str,
        env: dict[str, str] | None = None,
        shell: Mapping[str, str] | None = None,
        **access: Any,
    ) -> list[Any]:
        """Run commands, one after the other; gives an exit code and an output of each.

        As another user, or with variables of the agent's own, the agent is a process of its own.

        Args:
            commands: The commands.
            env: Variables that the agent is started with.
            shell: Variables that an agent of this user sets itself.
            access: Changes of what a command may reach.
        """
        if self.user.name != THIS and shell is not None:
            env = {**shell}
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
            with mock.patch.dict(os.environ, {"HOME": str(self.home), **(shell or {})}):
                return run_commands(asked)
        if env is not None:
            with self._agent(env) as agent:
                return _answer(agent, asked)
        if self._kept is None:
            self._kept = self._agent({})
        return _answer(self._kept, asked)

    def run_together(self, *commands: str) -> list[list[Any]]:
        """Run commands in one sandbox; gives an exit code and an output of each."""
        return split_output(self.output(join_commands(commands)))

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
