"""What a command is: dangerous, harmless, or only known when it runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from . import shfmt
from .dangers import KnownPrograms
from .judging import Judge
from .verdict import Verdict
from .words import of_argv


def judge_command(
    command: str | Sequence[str], *, shell: bool = False, root: Path | None = None
) -> Verdict:
    """Judge a command as `run_command` takes it. Nothing is run, and nothing is raised.

    Args:
        command: Its text, or its words.
        shell: Whether a shell reads it. Else `;`, `$(…)` and the like are words as any other.
        root: The workspace's folder, so that paths outside of it are told.
    """
    judge = Judge(KnownPrograms(), root)
    text = command if isinstance(command, str) else shlex.join(command)
    if len(text) > shfmt.TEXT_LIMIT:
        judge.unclear("", f"the command is longer than {shfmt.TEXT_LIMIT} characters")
    elif shell:
        judge.text(text)
    else:
        _judge_argv(command, judge)
    return judge.verdict()


def _judge_argv(command: str | Sequence[str], judge: Judge) -> None:
    try:
        argv = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        judge.unclear("", f"the command can't be parsed: {error}")
        return
    if argv:
        judge.call(of_argv(argv))
