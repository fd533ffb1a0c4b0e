"""What Jupyter's own files say about our two extensions, read as Jupyter reads them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from jupyter_core.paths import jupyter_config_path, jupyter_path

_SERVER: Final = "agentstepper_nb.server_ext"
_LAB: Final = "agentstepper_nb"


def is_server_extension_enabled() -> bool | None:
    """Whether the configuration switches the server extension on; None where it doesn't name it."""
    from jupyter_server.extension.config import ExtensionConfigManager

    manager: Any = ExtensionConfigManager(read_config_path=jupyter_config_path())
    named = manager.get_jpserver_extensions()
    return bool(named[_SERVER]) if _SERVER in named else None


def read_labextension() -> tuple[str, str, tuple[str, ...]]:
    """The installed labextension: its version, what is missing of it, what of it is disabled."""
    for place in jupyter_path("labextensions"):
        home = Path(place) / _LAB
        if _is_file(home / "package.json"):
            about = _read(home / "package.json")
            version = str(about.get("version", "?"))
            return version, _missing(home, about), tuple(_disabled())
    return "", "", ()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # in a folder that this user may not enter
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _missing(home: Path, about: dict[str, Any]) -> str:
    try:
        load = str(about["jupyterlab"]["_build"]["load"])
    except (KeyError, TypeError):
        return "its entry in package.json"
    return "" if (home / load).is_file() else load


def _disabled() -> list[str]:
    """Of ours, what JupyterLab's page configuration switches off."""
    try:
        from jupyterlab_server.config import get_page_config
    except ImportError:
        return []
    homes = [os.environ.get("JUPYTERLAB_DIR", ""), *jupyter_path("lab")]
    try:
        home = next((home for home in homes if home and Path(home).is_dir()), None)
        page = get_page_config(jupyter_path("labextensions"), home and str(Path(home) / "settings"))
    except (OSError, ValueError, KeyError):  # a file is damaged, perhaps ours, or can't be read
        return []
    named = page.get("disabledExtensions", [])
    return sorted(name for name in named if name == _LAB or name.startswith(f"{_LAB}:"))
