"""`agentstepper step`: steps agents from a terminal, or through a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from ..discover import CoreEndpoint, CoreInfo, data_dir, find_running_core, find_view_endpoint
from ..errors import DiscoveryError
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK
from .core_connection import ConnectionEvent, CoreConnection
from .json_editor import edit_json
from .line_editor import PromptOptions
from .line_input import LinePrompter, run_dialogue
from .screen import ScreenPrompt, make_standard_screen
from .selectable_queue import SelectableQueue
from .step_commands import StepCommands
from .step_session import StepSession

#: The default URL of `agentstepper serve` for UIs.
DEFAULT_URL: Final = "ws://127.0.0.1:4567"
_END_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
#: As in JupyterLab: continue, step over, into and out.
_KEYS: Final = {"f9": "c", "f10": "n", "f11": "s", "f23": "r"}  # F23: Shift+F11
#: The first words of lines that aren't saved in the history: approvals and denials are typed anew.
_UNREMEMBERED: Final = ("a", "approve", "deny")


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        The exit code.
    """
    try:
        return asyncio.run(_step(find_core_to_step(namespace), namespace.run))
    except DiscoveryError as error:
        print(f"agentstepper step: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except (KeyboardInterrupt, asyncio.CancelledError):
        return EXIT_INTERRUPTED


async def _step(core: CoreEndpoint, wanted: str | None) -> int:
    inbox: SelectableQueue[ConnectionEvent] = SelectableQueue()
    link = CoreConnection(core, inbox.put)
    screen = make_standard_screen()
    session = StepSession(screen, link.send, wanted, lambda: lines.discard_input())
    keys = StepCommands(session, edit_json if sys.stdin.isatty() else None)
    prompts = PromptOptions(
        data_dir() / "step.history",
        keys.find_completions,
        is_saved_in_history=_is_remembered,
        key_bindings=_KEYS,
    )
    lines = LinePrompter(screen, sys.stdin.fileno(), prompts)
    task = asyncio.current_task()
    if lines.editor is not None and task is not None:
        lines.editor.interrupt = partial(_cancel, task)
        for number in _END_SIGNALS:  # the terminal must not stay as an editor has it
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    link.start()
    try:
        await run_dialogue(lines, inbox, _StepDialogue(session, keys))
    except BrokenPipeError:  # whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        link.close()
        inbox.close()
    return EXIT_FAILURE if session.has_failed else EXIT_OK


def _cancel(task: asyncio.Task[object]) -> None:
    task.cancel()


def _is_remembered(line: str) -> bool:
    word, _, _ = line.strip().partition(" ")
    return word.lower() not in _UNREMEMBERED


class _StepDialogue:
    """Handles lines and the Core's events in turns; see `Dialogue`. A line waits for the connection, and
    for the answer to the line before.

    Args:
        session: The session with the Core.
        keys: Executes the lines.
    """

    def __init__(self, session: StepSession, keys: StepCommands) -> None:
        self._session = session
        self._keys = keys

    @property
    def is_over(self) -> bool:
        return self._session.is_over

    @property
    def question(self) -> ScreenPrompt | None:
        if not self._session.has_connected or self._session.is_waiting:
            return None
        if self._session.screen.hide_prompt is None:
            return ScreenPrompt()  # prompts stand among the lines
        return self._keys.question

    def handle_line(self, line: str | None) -> None:
        if line is None:
            self._session.is_over = True
        else:
            self._keys.execute_line(line)

    def handle(self, events: Iterable[ConnectionEvent]) -> None:
        for event in events:
            self._session.handle(event)


def find_core_to_step(namespace: Namespace) -> CoreEndpoint:
    """Find the Core: the one that `--url` names, else the one that agents here would discover.

    Args:
        namespace: The parsed command line.

    Raises:
        DiscoveryError: Several Cores run, and none is named.
    """
    if namespace.url:
        return find_view_endpoint(namespace.url, namespace.token)
    core = find_running_core()
    if core is not None and core.ui_url:
        return find_view_endpoint(core.ui_url, namespace.token)
    if core is not None and core.base_url:
        url = core.url.removesuffix("agent") + "ui"
        return CoreEndpoint(url, namespace.token or _login_token(core))
    return find_view_endpoint(DEFAULT_URL, namespace.token)


def _login_token(core: CoreInfo) -> str | None:
    """Read a Jupyter server's login token from its runtime file, which belongs to this user."""
    file = Path(jupyter_runtime_dir()) / f"jpserver-{core.pid}.json"
    try:
        token = json.loads(file.read_text()).get("token")
    except (OSError, ValueError, AttributeError):
        return None
    return token if isinstance(token, str) and token else None
