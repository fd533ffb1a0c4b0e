"""`agentstepper code`: the coding agent in a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Final

from ..coding.options import CodingOptions, make_options
from ..coding.orchestrator import TurnResult
from ..coding.session import CodingSession
from ..coding.session_list import CodingDataPaths, list_stored_sessions
from ..coding.session_log import SessionMode
from ..coding.session_sandbox import format_report
from ..discover import data_dir
from ..errors import AgentStepperError
from ..models.provider import MODEL_VARIABLE
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE_ERROR
from .agent_command_arguments import read_settings
from .code_approvals import TerminalApprover
from .code_conversation import CodeConversation, EventPrinter, make_prompt_options
from .code_view import CodeView, format_past_messages, format_session, format_turn_end
from .json_editor import edit_json
from .line_input import LinePrompter
from .screen import Screen, make_standard_screen
from .terminal_text import escape_controls

#: The exit code where a prompt was not done within its iterations.
EXIT_ITERATION_LIMIT: Final = 3
_PROVIDER_VARIABLE: Final = "AGENTSTEPPER_PROVIDER"
_PROVIDER: Final = "openai"
_CODES: Final = {
    "done": EXIT_OK,
    "max_iterations": EXIT_ITERATION_LIMIT,
    "cancelled": EXIT_INTERRUPTED,
    "error": EXIT_FAILURE,
}


class CodeUsageError(Exception):
    """The command was called wrongly; the message is for a person."""


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        The exit code.
    """
    folders = CodingDataPaths(_data(namespace))
    if namespace.list:
        for session in list_stored_sessions(folders):
            print(escape_controls(format_session(session)))
        return EXIT_OK
    try:
        prompt = _prompt(namespace)
        return asyncio.run(_converse(namespace, folders, prompt))
    except CodeUsageError as error:
        return _fail(f"{error}", EXIT_USAGE_ERROR)
    except AgentStepperError as error:
        return _fail(f"{error}", EXIT_FAILURE)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return EXIT_INTERRUPTED


def _prompt(namespace: Namespace) -> str | None:
    """Read the prompt; None if a person is asked for it."""
    if namespace.prompt is None and sys.stdin.isatty():
        return None
    prompt = _read_pipe() if namespace.prompt is None else str(namespace.prompt)
    if not prompt.strip():
        raise CodeUsageError(
            "There is no prompt. Say what to do: agentstepper code 'fix the failing test'."
        )
    return prompt.strip()


def _read_pipe() -> str:
    """Read the standard input to its end; bytes that are no text are replaced, as lines' are."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    return sys.stdin.read()


async def _converse(namespace: Namespace, folders: CodingDataPaths, prompt: str | None) -> int:
    screen = make_standard_screen()
    typed = None
    if sys.stdin.isatty():
        prompts = make_prompt_options(_data(namespace), _workspace(namespace))
        typed = LinePrompter(screen, sys.stdin.fileno(), prompts)
    approver = None if typed is None else TerminalApprover(screen, typed, edit_json)
    view = CodeView(screen, can_approve=approver is not None)
    reader = EventPrinter(view.show_event)
    options = CodingOptions(
        **make_options(read_settings(namespace)),
        approver=approver,
        listener=reader.show_event,
        debugger=not namespace.no_debugger,
        step=namespace.step,
    )
    async with await _open(namespace, folders, prompt, options) as session:
        _introduce(screen, session, namespace)
        talk = CodeConversation(screen, session, typed)
        with talk.cancel_on_interrupt(), reader.cancel_on_closed_output():
            if prompt is not None:
                return _show_result(screen, await talk.answer(prompt))
            if typed is not None:
                await talk.run(lambda result: _show_result(screen, result))
    return EXIT_OK


async def _open(
    namespace: Namespace, folders: CodingDataPaths, prompt: str | None, options: CodingOptions
) -> CodingSession:
    mode: SessionMode = "repl" if prompt is None else "run"
    workspace = _workspace(namespace)
    if namespace.resume is not None:
        stored = folders.find(namespace.resume) if namespace.resume else folders.latest(workspace)
        return await CodingSession.resume(
            stored.id,
            data_dir=_data(namespace),
            mode=mode,
            workspace=workspace if namespace.workspace else None,
            provider=namespace.provider,
            model=namespace.model,
            **options,
        )
    model = namespace.model or os.environ.get(MODEL_VARIABLE)
    if not model:
        raise CodeUsageError(f"No model is named: add --model NAME, or set {MODEL_VARIABLE}.")
    return await CodingSession.create(
        workspace=workspace,
        provider=namespace.provider or os.environ.get(_PROVIDER_VARIABLE) or _PROVIDER,
        model=model,
        data_dir=_data(namespace),
        mode=mode,
        **options,
    )


def _introduce(screen: Screen, session: CodingSession, namespace: Namespace) -> None:
    for text, style in format_past_messages(session.messages):
        screen.write_line(text, style)
    screen.write_line(f"Session {session.id}", "dim")
    for line in format_report(session.sandbox):
        screen.write_line(line, "yellow" if line == session.sandbox.warning else "dim")
    screen.write_line(f"Snapshots: git --git-dir={session.snapshots_dir} log --all -- FILE", "dim")
    if session.run_id is not None:
        screen.write_line(f"In the debugger: {session.run_name or session.run_id}", "dim")
    elif session.no_debugger is not None:
        screen.write_line(
            f"No debugger: {session.no_debugger}", "yellow" if namespace.step else "dim"
        )


def _show_result(screen: Screen, result: TurnResult) -> int:
    """Show how a prompt was answered. Returns the exit code."""
    style = {"done": "dim", "error": "red"}.get(result.reason, "yellow")
    screen.write_line(format_turn_end(result), style)
    if result.reason == "cancelled" and result.error:
        screen.write_line(result.error, "yellow")
    return _CODES[result.reason]


def _workspace(namespace: Namespace) -> Path:
    try:
        return Path(namespace.workspace or Path.cwd()).expanduser()
    except FileNotFoundError:
        raise CodeUsageError(
            "The current folder no longer exists: change to another folder, or name one "
            "by --workspace."
        ) from None


def _data(namespace: Namespace) -> Path:
    return Path(namespace.data).expanduser() if namespace.data else data_dir()


def _fail(message: str, code: int) -> int:
    print(f"agentstepper code: {escape_controls(message)}", file=sys.stderr)
    return code
