"""The environment variables and the private home folder of the agent's commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from filelock import FileLock

from ...sdk.workspace.git_environment import find_git

# Names whose values commands don't get.
_SECRET: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|PRIVATE"
    r"|CONNECTION_?STRING|CONN_?STR|WEBHOOK|(?:^|_)(?:PASS|PAT|DSN|JWT)(?:_|$)|_PWD$"
)
# A URL with a password, or with a name so long that it is one.
_URL: Final = re.compile(r"://(?:[^/\s@:]*:[^/\s@]+|[^/\s@]{20,})@")
# What would lead commands to another repository, to a debugger, to a Jupyter server, to the services of
# the person's desktop, or to wait for a person.
_DROPPED: Final = (
    "AGENTSTEPPER_",
    "BUILDKIT_HOST",
    "CONTAINER_HOST",
    "DBUS_",
    "DISPLAY",
    "DOCKER_",
    "GIT_",
    "GNOME_KEYRING_",
    "GPG_AGENT_INFO",
    "JPY_",
    "JUPYTER",
    "SSH_",
    "WAYLAND_",
    "XDG_RUNTIME_DIR",
)
# Folders of caches and settings outside of the private home: their defaults are inside.
_HOME_VARIABLES: Final = frozenset(
    {
        "CARGO_HOME",
        "GOCACHE",
        "GOMODCACHE",
        "GOPATH",
        "NPM_CONFIG_CACHE",
        "NPM_CONFIG_USERCONFIG",
        "PIP_CACHE_DIR",
        "PIP_CONFIG_FILE",
        "POETRY_CACHE_DIR",
        "TEMP",
        "TMP",
        "UV_CACHE_DIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "YARN_CACHE_FOLDER",
    }
)
_FIXED_VARIABLES: Final = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
}


def make_environment(home: Path | None = None, temporary: Path | None = None) -> dict[str, str]:
    """The environment of a command: this process's without its secrets, for a program no person sees.

    Args:
        home: The command's private home folder, as the command sees it; None: HOME stays as it is.
        temporary: The command's temporary folder, likewise.
    """
    variables = {name: value for name, value in os.environ.items() if not _is_dropped(name, value)}
    if home is not None:
        variables = {
            name: value for name, value in variables.items() if name.upper() not in _HOME_VARIABLES
        }
        variables["HOME"] = str(home)
        # Python keeps its caches there: a folder of the workspace may be read-only.
        variables["PYTHONPYCACHEPREFIX"] = str(home / ".cache" / "python")
    if temporary is not None:
        variables["TMPDIR"] = str(temporary)
    return variables | _FIXED_VARIABLES


def _is_dropped(name: str, value: str) -> bool:
    return (
        name.startswith(_DROPPED)
        or _SECRET.search(name.upper()) is not None
        or _URL.search(value) is not None
    )


# What of the person's git settings commands get: who commits, and no program that git would run.
_IDENTITY: Final = r"^(user\.(name|email)|init\.defaultbranch|safe\.directory)$"
_GIT_TIMEOUT_S: Final = 10.0
_LOCK: Final = ".lock"
_LOCK_TIMEOUT_S: Final = 0.2


class PrivateHome:
    """Two folders for a session's commands, removed with the session.

    Opening one removes those of sessions that were killed: an open one holds a lock, which ends with its
    process. Blocking.

    Args:
        root: The folder of all private homes, for this user alone.
        id: The session's id.

    Attributes:
        home: The command's HOME; it has a copy of the git identity.
        temporary: The command's temporary folder.

    Raises:
        OSError: The folders can't be made, or the session has them open elsewhere.
    """

    def __init__(self, root: Path, id: str) -> None:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_stale_homes(root)
        self._folder = root / id
        self._lock = FileLock(root / f"{id}{_LOCK}", mode=0o600, thread_local=False)
        # Who removes what was left over has it for a moment.
        self._lock.acquire(timeout=_LOCK_TIMEOUT_S)
        self.home = self._folder / "home"
        self.temporary = self._folder / "tmp"
        try:
            _remove(self._folder)  # that of the same session, if it was killed just now
            for folder in (self._folder, self.home, self.temporary):
                folder.mkdir(mode=0o700)
            (self.home / ".gitconfig").write_text(_git_identity(), "utf-8", "surrogateescape")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the folders. Idempotent."""
        if self._lock.is_locked:
            _remove(self._folder)
            Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def remove_stale_homes(root: Path) -> None:
    """Remove the private homes of sessions whose processes were killed.

    Args:
        root: The folder of all private homes.
    """
    for path in root.glob(f"*{_LOCK}"):
        # Else its session lives, or it isn't ours.
        with suppress(OSError), FileLock(path, blocking=False):
            _remove(path.with_suffix(""))
            path.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    """Remove a folder and all in it, also where commands took the right to do so away."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _make_removable(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _make_removable(folder: Path) -> None:
    with suppress(OSError):
        folder.chmod(0o700)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                _make_removable(path)


def _git_identity() -> str:
    """A git configuration with the person's identity, as the person's own git has it."""
    git = find_git()
    if git is None:
        return ""
    words = [git, "config", "--includes", "-z", "--get-regexp", _IDENTITY]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            words, cwd="/", env=variables, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    listed = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return "".join(_setting(*each.partition("\n")[::2]) for each in listed if each)


def _setting(name: str, value: str) -> str:
    """One setting in the syntax of git's files."""
    section, _, key = name.partition(".")
    escaped = re.sub(r'(["\\])', r"\\\1", value).replace("\n", "\\n")
    return f'[{section}]\n\t{key} = "{escaped}"\n'
