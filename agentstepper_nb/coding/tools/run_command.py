"""The tool that runs a command, and the same command with what it lacked in the sandbox."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from ... import typed_json
from ...errors import PolicyRulesError, SandboxError
from ..sandbox import SandboxAccess
from ..sandbox.failures import find_sandbox_failure
from ..tool import Risk, StructTool, ToolContext, ToolPolicy, ToolResult
from .command_process import CommandResult, prepare_command, run_process

if TYPE_CHECKING:
    from ..session_sandbox import SessionSandbox


# Words that mean something to a shell alone: who writes them expects one.
_OPERATOR = re.compile(r"\|\|?|&&?|;|\d?[<>]{1,2}(&\d)?|\d>&\d")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
#: The shells that read commands: the first that is there.
_SHELLS: Final = ("/bin/bash", "/bin/sh")
#: Folders that one call may ask to change.
_MAX_FOLDERS: Final = 20
#: The key of a result's diagnostics that tells of a failure on the sandbox.
SANDBOX_DIAGNOSTICS_KEY: Final = "sandbox"

_DESCRIPTION: Final = (
    "Run a command in the workspace, and get its exit code and output (both streams as one). It has no "
    "input, and what it leaves in the background is ended. "
)
_SHELL: Final = "A shell reads it: pipes, `&&`, redirections and globs work. "
_NO_SHELL: Final = (
    "No shell reads it: there are quotes, but no pipes, `&&`, redirections, variables or globs. "
)
_SANDBOX: Final = (
    "The system prompt says what holds it. If the task needs the network and commands have none, say "
    "`network: true`; to change a folder outside of the workspace, name it in `writable`. A person is "
    "asked for both, so ask for no more than the task needs."
)

FolderPath = Annotated[str, Meta(min_length=1, max_length=4096)]


class RunCommandArgs(Struct):
    """Arguments of `run_command`."""

    command: Annotated[str, Meta(min_length=1, description="The command line.")]
    folder: Annotated[str, Meta(description="Where to run it, relative to the workspace.")] = "."
    timeout: Annotated[float, Meta(gt=0, description="Seconds that it may take.")] | None = None
    network: Annotated[bool, Meta(description="Whether it needs the network.")] = False
    writable: Annotated[
        tuple[FolderPath, ...],
        Meta(
            max_length=_MAX_FOLDERS,
            description="Folders outside of the workspace that it must change: absolute paths.",
        ),
    ] = ()


class RunCommand(StructTool[RunCommandArgs]):
    """Runs a command in the workspace, held by the session's sandbox.

    Args:
        shell: Whether a shell reads the command line; else it is a program and its arguments.

    Attributes:
        has_shell: Whether a shell reads it.
    """

    name = "run_command"
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = RunCommandArgs

    def __init__(self, *, shell: bool = True) -> None:
        self.has_shell = shell
        self.description = _DESCRIPTION + (_SHELL if shell else _NO_SHELL) + _SANDBOX

    async def run(self, args: RunCommandArgs, ctx: ToolContext) -> ToolResult:
        """Run it."""
        session_sandbox = ctx.session_sandbox
        if session_sandbox is None:
            return ToolResult.failure("This session runs no commands: it has no sandbox for them.")
        words = _shell_words(args.command) if self.has_shell else _words(args.command)
        if isinstance(words, str):
            return ToolResult.failure(words)
        if any("\0" in word for word in words):
            return ToolResult.failure("The command has a NUL character, which no program is given.")
        folder = ctx.workspace.resolve_path(args.folder)
        if folder is None or not folder.is_dir():
            return ToolResult.failure(f"There is no folder {args.folder!r} in the workspace.")
        writable = _folders(args.writable)
        if isinstance(writable, str):
            return ToolResult.failure(writable)
        return await self._run_confined(args, words, folder, writable, ctx, session_sandbox)

    async def _run_confined(
        self,
        args: RunCommandArgs,
        words: Sequence[str],
        folder: Path,
        writable: Sequence[Path],
        ctx: ToolContext,
        session_sandbox: SessionSandbox,
    ) -> ToolResult:
        timeout_s = min(args.timeout or ctx.command_timeout_s, ctx.command_timeout_s)
        try:
            access = await asyncio.to_thread(
                session_sandbox.access, network=args.network, writable=writable
            )
            async with prepare_command(session_sandbox.sandbox, words, folder, access) as launch:
                command_result = await run_process(launch, folder, timeout_s, ctx.cancellation)
        except (SandboxError, PolicyRulesError) as error:
            return ToolResult.failure(str(error))
        except FileNotFoundError:
            return ToolResult.failure(f"There is no program {words[0]!r}.")
        except PermissionError:
            return ToolResult.failure(f"{words[0]!r} may not be run: it isn't executable.")
        result = _result(command_result, timeout_s)
        if result.ok or not command_result.exit_code:
            return result
        return await asyncio.to_thread(
            _explain_failure, result, command_result.output, folder, access, session_sandbox
        )


def _shell_words(command: str) -> Sequence[str]:
    return (next(filter(os.path.exists, _SHELLS), _SHELLS[-1]), "-c", command)


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


def _folders(names: Sequence[str]) -> Sequence[Path] | str:
    """The folders to be changed, as they were judged and seen; a text says what is wrong with one."""
    found = []
    for name in names:
        path = Path(name)
        try:
            is_plain = (
                path.is_absolute() and path.resolve() == path and str(path) == name.rstrip("/")
            )
            is_folder = path.is_dir()
        except (OSError, ValueError, RuntimeError) as error:
            return f"`writable`: {name!r} can't be used: {error}."
        if not is_plain:
            return f"`writable`: {name!r} is not an absolute path without links and `..`."
        if not is_folder:
            return f"`writable`: there is no folder {name!r}. Name the folder above it."
        found.append(path)
    return found


def _result(command_result: CommandResult, timeout_s: float) -> ToolResult:
    data: dict[str, Any] = {"exit_code": command_result.exit_code, "output": command_result.output}
    if command_result.exit_code == 0:
        return ToolResult.success(data)
    if command_result.timed_out:
        error = f"It took more than {timeout_s:g} seconds and was ended."
    elif command_result.exit_code is None:
        error = "It was ended, for the call was cancelled."
    elif command_result.exit_code < 0:
        error = f"It was ended by signal {-command_result.exit_code}."
    else:
        error = f"It ended with exit code {command_result.exit_code}."
    return ToolResult(ok=False, data=data, error=error)


def _explain_failure(
    result: ToolResult,
    output: str,
    folder: Path,
    access: SandboxAccess,
    session_sandbox: SessionSandbox,
) -> ToolResult:
    """A failure, with what the sandbox has to do with it."""
    found = find_sandbox_failure(output, folder, access, session_sandbox.sandbox.name)
    if found is None:
        return result
    diagnostics_data = {"cause": found.cause, "advice": found.advice}
    again = (
        {"again": found.retry_args, "question": found.retry_question} if found.retry_args else {}
    )
    return ToolResult(
        ok=False,
        data=result.data,
        error=f"{result.error} {found.cause[:1].upper()}{found.cause[1:]}. {found.advice}",
        diagnostics={SANDBOX_DIAGNOSTICS_KEY: {**diagnostics_data, **again}},
    )


#: What the id of the second call has more than that of the first.
RETRY_CALL_ID_SUFFIX = "-again"
#: Characters of a command in a question.
_MAX_SHOWN_CHARS = 80


class CommandRetry(Struct, frozen=True, kw_only=True):
    """A retry of a command with more access.

    Args:
        args: The arguments of the second call.
        added_args: The arguments that the first call didn't have.
        retry_question: The question to a person.
        cause: The reason of the first call's failure, as the end of a sentence.
    """

    args: dict[str, Any]
    added_args: dict[str, Any]
    retry_question: str
    cause: str


class _SandboxDiagnostics(Struct, frozen=True, kw_only=True):
    """What `run_command` says in the diagnostics of a failure on the sandbox."""

    cause: str
    again: dict[str, Any]
    question: str


def find_retry(tool: str, args: Any, result: ToolResult) -> CommandRetry | None:
    """Find the retry to offer to a person after a failed call; None: there is none.

    Args:
        tool: The tool's name.
        args: The arguments of the executed call.
        result: The call's result.
    """
    if tool != RunCommand.name or not isinstance(args, dict) or result.ok:
        return None
    try:
        diagnostics_data = typed_json.convert(
            (result.diagnostics or {}).get(SANDBOX_DIAGNOSTICS_KEY), _SandboxDiagnostics
        )
    except msgspec.ValidationError:
        return None
    added_args = dict(diagnostics_data.again)
    if "writable" in added_args:
        added_args["writable"] = [*args.get("writable", ()), *added_args["writable"]]
    command = " ".join(str(args.get("command", "")).split()).replace("`", "'")
    shown = command if len(command) <= _MAX_SHOWN_CHARS else f"{command[: _MAX_SHOWN_CHARS - 1]}…"
    return CommandRetry(
        args={**args, **added_args},
        added_args=added_args,
        retry_question=f"`{shown}` failed: {diagnostics_data.question}",
        cause=diagnostics_data.cause,
    )
