"""What the model is told before a person says anything."""

from __future__ import annotations

from typing import Final

from .workspace import Workspace

#: A file of the workspace that tells agents what they should know about it.
NOTES: Final = "AGENTS.md"
#: Characters of it that the model is given.
_NOTES_LIMIT: Final = 16_000

_ROLE: Final = """\
You are a careful programmer who works on a small repository with the tools you are given.
- Look before you change: read what you edit, and run the tests before and after where there are any.
- Change as little as the task needs, in the style of the code around it.
- All paths are relative to the repository's root. Nothing outside it can be touched.
- A tool that fails tells you why. What a person denied stays denied: find another way, or ask.
- When you are done, say in a few sentences what you changed and how you know that it works. If it \
doesn't, say so.\
"""


def system_prompt(workspace: Workspace) -> str:
    """The system prompt for a workspace, with the notes for agents that lie in it.

    The same files give the same prompt: it has no date and no path.

    Args:
        workspace: Where the agent works.
    """
    notes = _notes(workspace)
    return f"{_ROLE}\n\nFrom the repository's {NOTES}:\n\n{notes}" if notes else _ROLE


def _notes(workspace: Workspace) -> str:
    try:
        return workspace.read_text(NOTES)[:_NOTES_LIMIT].strip()
    except (OSError, UnicodeError):  # most repositories have none
        return ""
