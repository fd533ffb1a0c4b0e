"""What the model is told before a person says anything."""

from __future__ import annotations

from typing import Final

from ..protocol.coding import SandboxReport
from .sandbox import SandboxMode
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


_READ_ONLY: Final = (
    "- This session is read-only: nothing in the repository can be changed. "
    "Say what you would change."
)
_SANDBOX: Final = (
    "- Commands run in a sandbox: they see the repository and the system's programs, and have a home "
    "and a temporary folder (`$TMPDIR`) of their own. Other folders and other processes are absent."
)
_LANDLOCK: Final = (
    "- For commands `.git` is read-only, and they make no new names in the repository's top folder. "
    "Make files there with `write_file` first, and commit with `git_commit`."
)
_GIT: Final = "- For commands the hooks and the settings in `.git` are read-only."
_NO_SANDBOX: Final = (
    "- Nothing holds what commands do: touch nothing outside of the repository, and no other "
    "processes."
)
_NO_NETWORK: Final = "- Commands have no network unless a person grants it."


def system_prompt(workspace: Workspace, report: SandboxReport | None = None) -> str:
    """The system prompt for a workspace, with the notes for agents that lie in it.

    The same files and the same sandbox give the same prompt: it has no date and no path.

    Args:
        workspace: Where the agent works.
        report: What holds the session's commands; None: it has none.
    """
    role = _ROLE if report is None else "\n".join([_ROLE, *_limits(report)])
    notes = _notes(workspace)
    return f"{role}\n\nFrom the repository's {NOTES}:\n\n{notes}" if notes else role


def _limits(report: SandboxReport) -> list[str]:
    """What the model is told of its sandbox."""
    lines = [_READ_ONLY] if report.mode == SandboxMode.READ_ONLY else []
    if report.name == "none":
        return [*lines, _NO_SANDBOX]
    lines += [_SANDBOX, _LANDLOCK if report.name == "landlock" else _GIT]
    return lines if report.network else [*lines, _NO_NETWORK]


def _notes(workspace: Workspace) -> str:
    try:
        return workspace.read_text(NOTES)[:_NOTES_LIMIT].strip()
    except (OSError, UnicodeError):  # most repositories have none
        return ""
