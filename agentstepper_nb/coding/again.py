"""A command that failed on the sandbox, to be run again with what it lacked."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from .tool import ToolResult
from .tools.run_command import SANDBOX, RunCommand

#: What the id of the second call has more than that of the first.
SUFFIX = "-again"
#: Characters of a command in a question.
_SHOWN = 80


class Again(Struct, frozen=True, kw_only=True):
    """The same command with more.

    Args:
        args: The arguments of the second call.
        added: What they have more than those of the first.
        question: What a person is asked.
        cause: Why the first failed, as the end of a sentence.
    """

    args: dict[str, Any]
    added: dict[str, Any]
    question: str
    cause: str


class _Told(Struct, frozen=True, kw_only=True):
    """What `run_command` says in the diagnostics of a failure on the sandbox."""

    cause: str
    again: dict[str, Any]
    question: str


def again(tool: str, args: Any, result: ToolResult) -> Again | None:
    """What a person may be asked after a call; None where nothing is to be asked.

    Args:
        tool: The tool's name.
        args: The call's arguments, as it was carried out.
        result: What it came to.
    """
    if tool != RunCommand.name or not isinstance(args, dict) or result.ok:
        return None
    try:
        told = msgspec.convert((result.diagnostics or {}).get(SANDBOX), _Told)
    except msgspec.ValidationError:
        return None
    added = dict(told.again)
    if "writable" in added:
        added["writable"] = [*args.get("writable", ()), *added["writable"]]
    command = " ".join(str(args.get("command", "")).split()).replace("`", "'")
    shown = command if len(command) <= _SHOWN else f"{command[: _SHOWN - 1]}…"
    return Again(
        args={**args, **added},
        added=added,
        question=f"`{shown}` failed: {told.question}",
        cause=told.cause,
    )
