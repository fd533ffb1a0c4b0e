"""Editing a JSON text: in the person's editor, or as a line."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path


class EditorError(Exception):
    """The editor could not be used, in words for a person."""


def edit_json(text: str) -> str:
    """Let a person edit a text in `$VISUAL`, `$EDITOR` or vi.

    Args:
        text: The text to edit.

    Returns:
        The saved text.

    Raises:
        EditorError: The editor could not be started, or failed, or left no text that can be read.
    """
    with tempfile.TemporaryDirectory(prefix="agentstepper-") as folder:
        path = Path(folder) / "message.json"  # the folder is its owner's alone
        path.write_text(text + "\n", encoding="utf-8")
        _open(path)
        try:
            return path.read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise EditorError(
                f"The text that the editor saved can't be read: {error}. Save it as UTF-8, under the "
                "name that the file has."
            ) from None


def _open(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise EditorError(
            f"The editor {command} can't be started: {error}. Set EDITOR to another."
        ) from None
    if code:
        raise EditorError(f"The editor {command} ended with exit code {code}.")
