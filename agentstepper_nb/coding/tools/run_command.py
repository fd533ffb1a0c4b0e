"""The tool that runs a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from ..tool import Risk, StructTool, ToolContext, ToolPolicy, ToolResult
from .processes import Ended, run

# Words that mean something to a shell alone: who writes them expects one.
_OPERATOR = re.compile(r"\|\|?|&&?|;|\d?[<>]{1,2}(&\d)?|\d>&\d")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL: Final = "/bin/sh"


class RunCommandArgs(Struct):
    """Arguments of `run_command`."""

    command: Annotated[str, Meta(min_length=1, description="The command line.")]
    folder: Annotated[str, Meta(description="Where to run it, relative to the workspace.")] = "."
    timeout: Annotated[float, Meta(gt=0, description="Seconds that it may take.")] | None = None
    shell: Annotated[bool, Meta(description="Let a shell read the command line.")] = False


class RunCommand(StructTool[RunCommandArgs]):
    """Runs a command in the workspace.

    Args:
        shell: Whether the model may ask for a shell.
    """

    name = "run_command"
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = RunCommandArgs

    def __init__(self, *, shell: bool = False) -> None:
        self._shell = shell
        self.description = (
            "Run a program in the workspace, and get its exit code and output (both streams as one). It "
            "has no input, and what it leaves in the background is ended. "
        ) + (
            "With `shell` a shell reads the command line."
            if shell
            else "No shell reads the command line: there are quotes, but no pipes, `&&`, redirections, "
            "variables or globs."
        )

    async def run(self, args: RunCommandArgs, ctx: ToolContext) -> ToolResult:
        """Run it."""
        if args.shell and not self._shell:
            return ToolResult.failure(
                "A shell isn't allowed here. Run one program at a time, without `shell`."
            )
        words = [_SHELL, "-c", args.command] if args.shell else _words(args.command)
        if isinstance(words, str):
            return ToolResult.failure(words)
        if any("\0" in word for word in words):
            return ToolResult.failure("The command has a NUL character, which no program is given.")
        folder = ctx.workspace.resolve_path(args.folder)
        if folder is None or not folder.is_dir():
            return ToolResult.failure(f"There is no folder {args.folder!r} in the workspace.")
        seconds = min(args.timeout or ctx.command_timeout, ctx.command_timeout)
        try:
            ended = await run(words, folder, seconds, ctx.cancel)
        except FileNotFoundError:
            return ToolResult.failure(f"There is no program {words[0]!r}.")
        except PermissionError:
            return ToolResult.failure(f"{words[0]!r} may not be run: it isn't executable.")
        return _result(ended, seconds)


def _words(command: str) -> Sequence[str] | str:
    """The words of a command line; a text says what is wrong with it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"The command can't be read: {error}."
    if not words or not words[0]:
        return "The command is empty."
    if _ASSIGNMENT.match(words[0]):
        return f"No shell reads the command: for {words[0]!r} put `env` before it."
    # Quoted they are words like others, and so they stand in the command as they are here.
    plain = command.split()
    if found := next((word for word in words if _OPERATOR.fullmatch(word) and word in plain), None):
        return (
            f"No shell reads the command, so that {found!r} is a plain word. Run one program at a time; "
            f"if the word is meant, write it as {shlex.quote(found)}."
        )
    return words


def _result(ended: Ended, seconds: float) -> ToolResult:
    data: dict[str, Any] = {"exit_code": ended.exit_code, "output": ended.output}
    if ended.exit_code == 0:
        return ToolResult.success(data)
    if ended.timed_out:
        error = f"It took more than {seconds:g} seconds and was ended."
    elif ended.exit_code is None:
        error = "It was ended, for the call was cancelled."
    elif ended.exit_code < 0:
        error = f"It was ended by signal {-ended.exit_code}."
    else:
        error = f"It ended with exit code {ended.exit_code}."
    return ToolResult(ok=False, data=data, error=error)
