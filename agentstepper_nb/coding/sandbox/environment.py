"""What commands of the agent find in their environment."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

# Names whose values commands don't get.
_SECRET: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|PRIVATE"
    r"|(?:^|_)(?:PASS|PAT|DSN|JWT)(?:_|$)|_PWD$"
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
_ELSEWHERE: Final = frozenset(
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
_SET: Final = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
}


def environment(home: Path | None = None, temporary: Path | None = None) -> dict[str, str]:
    """The environment of a command: this process's without its secrets, for a program no person sees.

    Args:
        home: The command's private home folder, as the command sees it; None: HOME stays as it is.
        temporary: The command's temporary folder, likewise.
    """
    kept = {name: value for name, value in os.environ.items() if not _is_dropped(name, value)}
    if home is not None:
        kept = {name: value for name, value in kept.items() if name.upper() not in _ELSEWHERE}
        kept["HOME"] = str(home)
        # Python keeps its caches there: a folder of the workspace may be read-only.
        kept["PYTHONPYCACHEPREFIX"] = str(home / ".cache" / "python")
    if temporary is not None:
        kept["TMPDIR"] = str(temporary)
    return kept | _SET


def _is_dropped(name: str, value: str) -> bool:
    return (
        name.startswith(_DROPPED)
        or _SECRET.search(name.upper()) is not None
        or _URL.search(value) is not None
    )
