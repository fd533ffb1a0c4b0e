"""Finds the built JavaScript files."""

from __future__ import annotations

import json
from pathlib import Path

#: Written by the JavaScript build; in the wheel, not in git.
STATIC_FOLDER = Path(__file__).parent / "widgets" / "static"

NOT_BUILT_MESSAGE = (
    "The view's JavaScript isn't built, so the view can't be shown. In a checkout run "
    "`make js` (it needs Node.js and npm) and reload the page; otherwise install "
    "agentstepper_nb again."
)


class NotBuiltError(FileNotFoundError):
    """The built JavaScript is missing; the message says what to do."""

    def __init__(self, missing: str) -> None:
        super().__init__(f"{NOT_BUILT_MESSAGE} Missing: {missing}.")


def find_built_file(entry: str, folder: Path = STATIC_FOLDER) -> str:
    """Find the built file of an entry of the build's manifest.

    Args:
        entry: The entry.
        folder: The folder of the built files.

    Raises:
        NotBuiltError: There is no manifest, no such entry, or no such file.
    """
    manifest = folder / "manifest.json"
    try:
        name = json.loads(manifest.read_bytes())[entry]
    except (OSError, ValueError, KeyError, TypeError):
        raise NotBuiltError(f"{entry} of {manifest.name}") from None
    if not isinstance(name, str) or not (folder / name).is_file():
        raise NotBuiltError(str(name))
    return name
