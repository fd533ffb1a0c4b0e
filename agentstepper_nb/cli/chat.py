"""`agentstepper chat`: a conversation with agents, in a terminal or through pipes."""

from __future__ import annotations

import asyncio
import inspect
import signal
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

from ..chat.chat import Chat
from ..chat.connector import InterpreterABC
from ..chat.connectors.registry import (
    OPTION_VARIABLES,
    Factory,
    find_default_options,
    find_missing_options,
    list_connectors,
    make_connector,
)
from ..chat.terminal.commands import complete_line
from ..chat.terminal.repl import Repl
from ..chat.terminal.view import format_session
from ..discover import data_dir
from ..errors import AgentStepperError
from ..protocol.chat import AUTO_CHAT_MAX, ChatEvent
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE_ERROR
from .line_editor import PromptOptions
from .line_input import LinePrompter, run_dialogue
from .screen import Screen, ScreenPrompt, make_standard_screen
from .selectable_queue import SelectableQueue
from .terminal_text import escape_controls

_END_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class ChatUsageError(Exception):
    """The command was called wrongly; the message is for a person."""


class _Interrupt:
    """Ctrl+C, as an event of the dialogue."""


ChatTerminalEvent = ChatEvent | _Interrupt


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        The exit code.
    """
    try:
        if namespace.list:
            return _list(namespace)
        with _chat(namespace) as chat:
            return asyncio.run(_converse(namespace, chat))
    except ChatUsageError as error:
        return _fail(f"{error}", EXIT_USAGE_ERROR)
    except (AgentStepperError, ValueError) as error:
        return _fail(f"{error}", EXIT_FAILURE)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _chat(namespace: Namespace) -> Chat:
    workspace = _workspace(namespace)
    chat = Chat(
        *make_agents(namespace, workspace),
        title=namespace.title,
        workspace=workspace,
        allowed_paths=namespace.allow,
        auto_chat=bool(namespace.auto),
        auto_chat_max=AUTO_CHAT_MAX if namespace.auto is None else namespace.auto,
        debugger=not namespace.no_debugger,
        step=namespace.step,
        data_dir=namespace.data_dir,
    )
    if namespace.session is not None:
        try:
            chat.open(_session(chat, namespace.session))
        except BaseException:
            chat.close()
            raise
    return chat


def _session(chat: Chat, begin: str) -> str:
    """Find the id of the one conversation with this prefix."""
    found = [session.id for session in chat.sessions() if session.id.startswith(begin)]
    if len(found) != 1:
        what = "Several conversations begin" if found else "No conversation begins"
        raise ChatUsageError(
            f"{what} with {begin[:80]!r}: `agentstepper chat --list` lists the ids."
        )
    return found[0]


def _list(namespace: Namespace) -> int:
    for line in format_connectors():
        print(escape_controls(line))
    with Chat(debugger=False, data_dir=namespace.data_dir) as chat:
        stored = [session for session in chat.sessions() if session.id != chat.session_id]
    for session in stored:
        print(escape_controls(format_session(session, current=False)))
    return EXIT_OK


async def _converse(namespace: Namespace, chat: Chat) -> int:
    screen = make_standard_screen()
    inbox: SelectableQueue[ChatTerminalEvent] = SelectableQueue()
    repl = Repl(chat, screen, inbox.put, terminal=screen.terminal)
    prompts = PromptOptions(
        _data(namespace) / "chat.history", partial(complete_line, repl), _workspace(namespace)
    )
    lines = LinePrompter(screen, sys.stdin.fileno(), prompts)
    if lines.editor is not None:
        lines.editor.interrupt = lambda: inbox.put(_Interrupt())
    try:
        with _handle_interrupts(inbox) as pending_interrupts:
            await run_dialogue(lines, inbox, _ChatDialogue(screen, repl, pending_interrupts))
    finally:
        repl.close()
        inbox.close()
    return EXIT_FAILURE if repl.has_failed and not screen.terminal else EXIT_OK


class _ChatDialogue:
    """Handles lines and the conversation's events in turns; see `Dialogue`.

    Args:
        screen: The screen.
        repl: Shows the conversation.
        pending_interrupts: Not empty while a Ctrl+C isn't handled yet.
    """

    def __init__(self, screen: Screen, repl: Repl, pending_interrupts: list[bool]) -> None:
        self._screen = screen
        self._repl = repl
        self._pending_interrupts = pending_interrupts
        self._ended = False  # the input has

    @property
    def is_over(self) -> bool:
        return self._repl.is_over or self._ended

    @property
    def question(self) -> ScreenPrompt | None:
        if not self._repl.accepts_line:
            return None
        if self._screen.hide_prompt is None or not self._repl.is_awaiting_user:
            return ScreenPrompt(is_edited=False)
        return ScreenPrompt(self._screen.question, has_history=not self._repl.choices)

    def handle_line(self, line: str | None) -> None:
        if line is None:
            self._ended = True
        else:
            self._repl.handle_line(line)

    def handle(self, events: Iterable[ChatTerminalEvent]) -> None:
        for event in events:
            if isinstance(event, _Interrupt):
                self._pending_interrupts.clear()
                self._repl.handle_interrupt()
                if self._repl.is_over:
                    raise KeyboardInterrupt
            else:
                self._repl.show(event)
        self._repl.update_prompt()


@contextmanager
def _handle_interrupts(inbox: SelectableQueue[ChatTerminalEvent]) -> Iterator[list[bool]]:
    """A context in which Ctrl+C is an event; a second one before it is handled ends the process.

    A closed terminal ends the process, too: commands of agents must not outlive it.
    """
    pending_interrupts: list[bool] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if pending_interrupts:
            raise KeyboardInterrupt
        pending_interrupts.append(True)
        inbox.put(_Interrupt())

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in _END_SIGNALS}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    try:
        yield pending_interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _workspace(namespace: Namespace) -> Path:
    try:
        return Path(namespace.workspace or Path.cwd()).expanduser()
    except FileNotFoundError:
        raise ChatUsageError(
            "The current folder no longer exists: change to another folder, or name one "
            "by --workspace."
        ) from None


def _data(namespace: Namespace) -> Path:
    return Path(namespace.data_dir).expanduser() if namespace.data_dir else data_dir()


def _fail(message: str, code: int) -> int:
    print(f"agentstepper chat: {escape_controls(message)}", file=sys.stderr)
    return code


def format_connectors() -> Iterator[str]:
    """The installed connectors, a line each."""
    for name, made in sorted(list_connectors().items()):
        summary = getattr(made, "summary", "")
        yield f"{name}  {summary}".rstrip()


def make_agents(namespace: Namespace, workspace: Path) -> list[InterpreterABC]:
    """Make the agents that a command line names.

    Args:
        namespace: The parsed command line.
        workspace: The working directory.

    Raises:
        ChatUsageError: The line names no agent, or an invalid one.
    """
    if not namespace.agents:
        raise ChatUsageError(
            f"No agent is named. Name one: agentstepper chat {_names()} or MODULE:ATTRIBUTE."
        )
    said = {name: getattr(namespace, name) for name in ("provider", "model", "system")}
    options = {name: value for name, value in said.items() if value is not None}
    options.update(_option(option) for option in namespace.options)
    return [_agent(word, options, workspace) for word in namespace.agents]


def _agent(word: str, options: dict[str, Any], workspace: Path) -> InterpreterABC:
    if ":" in word:
        return make_connector(_import_agent(word))
    made = list_connectors().get(word)
    if made is None:
        raise ChatUsageError(
            f"There is no connector {word[:80]!r}: choose {_names()}, or MODULE:ATTRIBUTE."
        )
    known = _list_options(made)
    wrong = [name for name in options if name not in known]
    if wrong:
        raise ChatUsageError(
            f"The connector {word} has no option {wrong[0]!r}; its options are {', '.join(known)}."
        )
    meant = {**find_default_options(made), **options}
    if "workspace" in known:
        meant.setdefault("workspace", str(workspace))
    for lacks in find_missing_options(made, meant):
        raise ChatUsageError(
            f"The connector {word} needs the option {lacks!r}: add {_format_option(lacks)}."
        )
    return make_connector(word, **meant)


def _list_options(made: Factory) -> list[str]:
    """List a connector's options: its parameters, and the settings that it names."""
    parameters = inspect.signature(made).parameters.values()
    named = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    settings = getattr(made, "settings", None)
    return named if settings is None else [*dict.fromkeys((*named, *settings.__struct_fields__))]


def _format_option(name: str) -> str:
    """Format an option for a person."""
    if name in OPTION_VARIABLES:
        return f"--{name} NAME, or set {OPTION_VARIABLES[name]}"
    return f"--{name} …" if name == "system" else f"--option {name}=…"


def _import_agent(word: str) -> Any:
    """Import an object by `MODULE:NAME`, from this folder or an installed package."""
    module, _, attribute = word.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return reduce(getattr, attribute.split("."), import_module(module))
    except Exception as error:  # whatever their code does
        what = f"{type(error).__name__}: {error}"
        raise ChatUsageError(f"{word[:200]!r} can't be imported from here: {what}.") from None


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ChatUsageError(f"The option {text[:80]!r} has no value: write --option NAME=VALUE.")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return name, value


def _names() -> str:
    return ", ".join(sorted(list_connectors()))
