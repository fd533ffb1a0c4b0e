"""What a command would run, told before it runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from . import shfmt
from .command_words import of_argv
from .dangers import look
from .judge import Judge
from .report import CommandReport


def judge_command(command: str | Sequence[str], *, shell: bool = False) -> CommandReport:
    """Report what a command would run. Nothing is run, and nothing is raised.

    Args:
        command: Its text, or its words.
        shell: Whether a shell reads it. Else `;`, `$(…)` and the like are words as any other.
    """
    judge = Judge(look)
    text = command if isinstance(command, str) else shlex.join(command)
    if len(text) > shfmt.TEXT_LIMIT:
        judge.unclear("", f"the command is longer than {shfmt.TEXT_LIMIT} characters")
    elif shell:
        judge.text(text)
    else:
        _judge_argv(command, judge)
    return judge.report()


def _judge_argv(command: str | Sequence[str], judge: Judge) -> None:
    try:
        argv = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        judge.unclear("", f"the command can't be parsed: {error}")
        return
    if argv:
        judge.call(of_argv(argv))
