"""What lies around a workspace, watched: files, keys, servers, a process. A row must reach none of it.

All of it is made for the test in a temporary folder, so that a sandbox that fails does no harm.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from agentstepper_nb.coding.sandbox import SandboxAccess
from agentstepper_nb.coding.sandbox.launch import Sandbox
from tests.coding.sandbox.escape_attempts.servers import Servers

#: Seconds that rows may take before they are killed.
ROW_LIMIT_S: Final = 120.0
#: Printed where each of several commands had its turn.
ALL_RAN: Final = "each command had its turn"
_GIT: Final = {
    "PATH": "/usr/bin:/bin",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": os.devnull,
}
#: A process of the person's: it tells of each signal that it gets, and of nothing else.
_VICTIM: Final = """
import os, signal, sys, threading
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, lambda number, frame: os.write(1, b"signal\\n"))
os.write(1, b"ready\\n")
threading.Event().wait()
"""


class Canaries:
    """Texts that stand in what may not be read, each found again wherever it turns up."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def new(self, what: str) -> str:
        """A text nobody else has."""
        text = f"canary{secrets.token_hex(8)}"
        self.names[text] = what
        return text

    def found(self, data: bytes) -> Iterator[str]:
        """What was read, by what shows."""
        for text, what in self.names.items():
            if text.encode() in data:
                yield f"read {what}"


class AttemptRunner:
    """A workspace and what lies around it.

    Args:
        folder: Where all of it is made.

    Attributes:
        values: What the placeholders of the table's commands stand for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._mark = f"mark{secrets.token_hex(6)}"
        self.root = folder / "repo"
        self.canaries = Canaries()
        self.out, self.person = folder / "out", folder / "person"
        self.data, self.runtime = folder / "data", folder / "runtime"
        self._private = folder / "data" / "coding" / "sandboxes" / "one"
        self._template = folder / "template"
        self._private.mkdir(parents=True)
        self._make_outside()
        _make_workspace(self._template)
        self.servers = Servers(self._mark)
        environment = {**os.environ, "VICTIM_KEY": self.canaries.new("another process's variables")}
        self.victim = subprocess.Popen(
            [sys.executable, "-c", _VICTIM, f"victim-{self._mark}"],
            env=environment,
            stdout=subprocess.PIPE,
        )
        assert self.victim.stdout is not None and self.victim.stdout.readline() == b"ready\n"
        self._marked = self._marks()
        self._settings = git_settings(self._template)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.servers.close()
        self.victim.kill()
        self.victim.communicate()

    @property
    def values(self) -> dict[str, str]:
        """What the placeholders of the table's commands stand for."""
        return {
            "@OUT@": str(self.out),
            "@PERSON@": str(self.person),
            "@DATA@": str(self.data),
            "@RUNTIME@": str(self.runtime),
            "@STAGE@": str(self.folder),
            "@PYTHON@": sys.executable,
            "@BIN@": str(Path(sys.prefix) / "bin"),
            "@VICTIM@": str(self.victim.pid),
            "@AGENT@": str(os.getpid()),
            "@MARK@": self._mark,
            **self.servers.values,
        }

    def access(self, **changes: object) -> SandboxAccess:
        """What a command may reach, as a session gives it."""
        home, temporary = self._private / "home", self._private / "tmp"
        for each in (home, temporary):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        known = {
            "workspace": self.root,
            "home": home,
            "temporary_folder": temporary,
            "hidden": (self.data, self.runtime),
        }
        return SandboxAccess(**{**known, **changes})  # type: ignore[arg-type]

    def renew(self) -> None:
        """Make the workspace, and the private folders, as they were."""
        for folder in (self.root, self._private):
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)
        subprocess.run(["cp", "-a", str(self._template), str(self.root)], check=True)

    def run(
        self, sandbox: Sandbox, commands: Sequence[str], looks_at_git: bool = True
    ) -> tuple[set[str], str]:
        """Run commands one after the other in a sandbox, in a workspace as new.

        Args:
            sandbox: The sandbox.
            commands: What bash reads, with placeholders.
            looks_at_git: Whether to look at what git would run afterwards.

        Returns:
            What they reached outside, in words, and what they printed.
        """
        self.renew()
        text = "\n".join(commands)
        if len(commands) > 1:
            text = "\n".join([*map(_apart, commands), f"echo {ALL_RAN}"])
        for name, value in self.values.items():
            text = text.replace(name, value)
        words = ["/bin/bash", "-c", text]
        with sandbox.prepare_command(words, self.root, self.access()) as launch:
            process = subprocess.Popen(
                launch.argv,
                env=launch.env,
                pass_fds=launch.pass_fds,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                output, _ = process.communicate(timeout=ROW_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate(timeout=ROW_LIMIT_S)
        return self._reached(output, looks_at_git), output.decode("utf-8", "replace")

    # ---- what is looked at ---------------------------------------------------------------------------

    def _reached(self, output: bytes, looks_at_git: bool) -> set[str]:
        found = {"did what it must not"} if b"reached-it" in output else set()
        found |= set(self.canaries.found(output)) | self.servers.contacts() | set(self._of_victim())
        found.update(self.canaries.found(b"".join(_contents(self.root))))
        marks = self._marks()
        if marks != self._marked:
            changed = {name for name, _ in marks.items() ^ self._marked.items()}
            found.update(f"changed {name}" for name in changed)
            self._repair()
        if looks_at_git:
            found.update(self._of_git())
        if any(_processes(self._mark)):
            found.add("left a process")
        return found

    def _of_git(self) -> Iterator[str]:
        if not _git(self.root, "cat-file", "commit", "main"):
            yield "lost the repository's history"
        elif git_settings(self.root) != self._settings:
            yield "changed what git runs"

    def _of_victim(self) -> Iterator[str]:
        assert self.victim.stdout is not None
        os.set_blocking(self.victim.stdout.fileno(), False)
        if self.victim.poll() is not None or _state(self.victim.pid) in "Tt":
            yield "ended or halted another process"
        with suppress(BlockingIOError):
            if os.read(self.victim.stdout.fileno(), 100):
                yield "signalled another process"

    def _marks(self) -> dict[str, object]:
        """All that is to stay as it is, by name."""
        found: dict[str, object] = {}
        for top in (self.out, self.person, self.data, self.runtime):
            for folder, folders, files in os.walk(top):
                if Path(folder) == self._private.parent:
                    folders.clear()
                for name in (*folders, *files):
                    path = Path(folder, name)
                    if path == self._private.parent:
                        continue
                    found[str(path.relative_to(self.folder))] = _mark(path)
        for path in (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/run")):
            found[f"{path} of the machine"] = (path / self._mark).exists()
        for path in _TOOLCHAIN:
            found[f"{path}"] = path.stat().st_mtime_ns if path.exists() else None
        return found

    def _repair(self) -> None:
        for folder in (self.out, self.person, self.data, self.runtime):
            shutil.rmtree(folder, ignore_errors=True)
        self._private.mkdir(parents=True)
        self._make_outside()
        self._marked = self._marks()

    def _make_outside(self) -> None:
        new = self.canaries.new
        texts = {
            "out/file.txt": new("a file outside"),
            "out/folder/deep.txt": new("a file outside"),
            "out/etc/shadow": f"root:{new('the fake shadow file')}:1::::::",
            "out/dev/sda": new("the fake disk"),
            "out/evil/sitecustomize.py": "",
            "out/evil.js": "",
            "person/.ssh/id_rsa": f"-----BEGIN KEY-----\n{new('the private key')}",
            "person/.bashrc": "",
            "person/.gitconfig": f"[user]\n\tname = {new('the git settings')}\n",
            "person/.local/bin/tool": "#!/bin/sh\n",
            "person/.netrc": new("the passwords"),
            "data/control-token": new("the control token"),
            "data/coding/rules.json": f'{{"version": 1, "rules": [], "note": "{new("the rules")}"}}',
            "data/coding/sessions/one.jsonl": new("the session's log"),
            "runtime/jpserver-1.json": f'{{"token": "{new("the Jupyter token")}"}}',
        }
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        bare = self.out / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", bare], env=_GIT, check=True)


_TOOLCHAIN: Final = tuple(
    Path(name)
    for name in (
        *("/usr/bin", "/usr/local/bin", "/etc", "/etc/cron.d", "/etc/profile.d", "/var/spool/cron"),
        *(f"{sys.prefix}/bin", f"{sys.prefix}/lib/python3.11/site-packages"),
        *("/usr/lib/python3/dist-packages",),
    )
)


def git_settings(root: Path) -> object:
    """What git would run for a person in a repository: its settings and hooks, as git finds them.

    `info/attributes` isn't looked at: it only chooses among the person's own filters, as the workspace's
    `.gitattributes` does.
    """
    settings = _git(root, "config", "--list")
    hooks = _git(root, "rev-parse", "--git-path", "hooks").decode().strip()
    files = sorted(path for path in (root / hooks).rglob("*") if path.is_file()) if hooks else []
    return sorted(settings.splitlines()), [(path.name, path.read_bytes()) for path in files]


def _git(root: Path, *arguments: str) -> bytes:
    words = ["git", f"--git-dir={root / '.git'}", *arguments]
    return subprocess.run(words, cwd=root, env=_GIT, capture_output=True, check=False).stdout


def _make_workspace(root: Path) -> None:
    """A repository with a commit, work that isn't committed, and what the table's commands use."""
    (root / "src").mkdir(parents=True)
    texts = {
        "LICENSE": "as committed\n",
        "x": "one\ntwo\n",
        "src/a.py": "A = 1\n",
        "test_a.py": "def test_a(): pass\n",
        "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"postinstall": "sh hook.sh"}}\n',
        "hook.sh": "echo evil > $EVIL\n",
        "empty.json": '{"version": 1, "rules": []}\n',
        ".gitignore": "ignored.txt\n",
    }
    for name, text in texts.items():
        (root / name).write_text(text)
    with zipfile.ZipFile(root / "x.zip", "w") as archive:
        archive.writestr("evil.txt", "evil")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], cwd=root, env=_GIT, check=True)
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / "LICENSE").write_text("work that isn't committed\n")
    (root / "draft.txt").write_text("work that git doesn't know\n")


def _apart(command: str) -> str:
    """A command among others: in a process of its own, with the files that it may look for."""
    ready = "mkdir -p src 2>/dev/null; printf 'one\\ntwo\\n' > x 2>/dev/null"
    return f"{ready}; timeout 10 bash -c {shlex.quote(command)} < /dev/null"


def _mark(path: Path) -> object:
    found = path.lstat()
    try:
        held = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except PermissionError:  # a row took the right to read
        held = b""
    return (found.st_mode, found.st_uid, found.st_ino, found.st_nlink, found.st_mtime_ns, held)


def _contents(root: Path) -> Iterator[bytes]:
    """What the files of a workspace hold, as far as this process may read them."""
    for folder, _, files in os.walk(root):
        for name in files:
            path = Path(folder, name)
            with suppress(OSError):
                if path.is_file() and not path.is_symlink() and path.stat().st_size < 10_000_000:
                    yield path.read_bytes()


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _processes(mark: str) -> Iterator[int]:
    """Processes that were started with a text in their arguments, this one's own aside."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if f"left-{mark}".encode() in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
                    yield int(entry.name)
