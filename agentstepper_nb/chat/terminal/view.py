"""Messages as lines of a terminal. What stands in them is made inert where it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final, Protocol

from ...protocol.chat import ChatAgentInfo, ChatSessionInfo, Message, MessageType, State

#: Characters of a call, a result or a title in a line.
MAX_LINE_CHARS: Final = 160
#: Lines of code and of output that are shown of one message; the view shows all.
_MAX_LINES: Final = 400

Line = tuple[str, str]  # a text and its style
_STATES: Final = {
    State.STATE_INIT: "new",
    State.STATE_RUNNING: "answers",
    State.STATE_STOP: "your turn",
}


def format_message(message: Message) -> Iterator[Line]:
    """A message of a built-in type.

    Args:
        message: As it is so far.
    """
    match message.type:
        case MessageType.CODE:
            yield from _code(message)
        case MessageType.CONSOLE:
            for line in _cut_lines(message.content):
                yield f"  {line}", "dim"
        case MessageType.IMAGE:
            yield _image(message), "cyan"
        case MessageType.FUNCTION:
            yield format_call(message), "cyan"
            yield from format_result(message)
        case MessageType.CONFIRMATION:
            yield from format_confirmation(message)
            yield from format_choice(message)
        case _:
            yield format_text(message), find_style(message)


def find_style(message: Message) -> str:
    """Return the style of a MESSAGE: of an error, of the system, or of an agent."""
    if message.format == "error":
        return "red"
    return {"system": "dim", "user": "bold"}.get(message.role, "")


def format_text(message: Message) -> str:
    """Return the text of a MESSAGE."""
    match message.role:
        case "user":
            return f"> {message.content}"
        case "system" if message.format != "error":
            return f"· {message.content}"
    return message.content


def format_code_head(message: Message) -> str:
    """The first line of some code."""
    what = message.language or "code"
    return f"┌─ {what} (result)" if message.format == "result" else f"┌─ {what}"


def format_call(message: Message) -> str:
    """A call, as far as it fits in a line."""
    arguments = message.arguments
    if isinstance(arguments, dict):
        shown = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
    else:
        shown = "" if arguments is None else _short(arguments)
    return to_short_line(f"→ {message.name}({shown})")


def format_result(message: Message) -> Iterator[Line]:
    """Format a call's result, cut to one line; nothing if there is no result yet."""
    if message.ok is None:
        return
    result = "" if message.result is None else _short(message.result)
    mark, style = ("✓", "green") if message.ok else ("✗", "red")
    yield to_short_line(f"  {mark} {result}".rstrip()), style


def format_confirmation(message: Message) -> Iterator[Line]:
    """Format a confirmation: the question and the choices."""
    yield f"? {message.content}", "yellow"
    for number, choice in enumerate(message.choices, 1):
        yield to_short_line(f"  {number}  {choice}"), "yellow"


def format_choice(message: Message) -> Iterator[Line]:
    """Format the choice of a confirmation; nothing if the confirmation waits."""
    if message.chosen is not None:
        yield to_short_line(f"  → {message.chosen}"), "dim"
    elif message.final:
        yield "  The question was withdrawn.", "dim"


def format_agent(agent: ChatAgentInfo, *, default: bool) -> str:
    """An agent, for lists."""
    mark = "*" if default else " "
    about = f"  {agent.description}" if agent.description else ""
    return to_short_line(f"{mark} {agent.name}  {agent.role}  {agent.type.value}{about}")


def format_agents(session: ChatSessionInfo) -> Iterator[str]:
    """The agents of a conversation."""
    for agent in session.agents:
        yield format_agent(agent, default=agent.name == session.default_agent)


def format_session(session: ChatSessionInfo, *, current: bool) -> str:
    """A conversation, for lists."""
    mark = "*" if current else " "
    count = "1 message" if session.messages == 1 else f"{session.messages} messages"
    return to_short_line(f"{mark} {session.id}  {session.title or 'without a title'}  ({count})")


def format_state(session: ChatSessionInfo) -> Iterator[str]:
    """Format the state of a conversation."""
    ending = f", the last turn: {session.ending.value}" if session.ending else ""
    yield f"{session.state.value}{ending}"
    if session.speaking:
        yield f"{session.speaking} has the turn."
    bound = f"{session.auto_turns} of {format_turn_count(session.auto_chat_max)} taken"
    yield f"AutoChat is {'on' if session.auto_chat else 'off'}: {bound}."
    yield f"{session.messages} messages, {session.messages_in_memory} in memory."


def format_debug_hint(session: ChatSessionInfo) -> Iterator[str]:
    """Format the hint how to open a conversation's run in the debugger."""
    if session.run_id is not None:
        yield f"The debugger shows this conversation as run {session.run_id}."
        yield f"In a terminal: agentstepper step --run {session.run_id}"
        yield "In a notebook: %agentstepper"
    elif session.no_debugger is not None:
        yield f"No debugger shows this conversation: {session.no_debugger}"
    else:
        yield (
            "The debugger shows this conversation after its first message, if a debugger is found."
        )


def format_halted(session: ChatSessionInfo) -> Iterator[str]:
    """Format the notice that a turn is halted in the debugger, with the way to continue."""
    yield "Halted in the debugger: step or continue there, or write /stop here."
    yield f"In a terminal: agentstepper step --run {session.run_id}"


def format_prompt(session: ChatSessionInfo, recipient: str | None) -> str:
    """Format the input prompt: the recipient, the recipient's role, and the session's state.

    Args:
        session: The session.
        recipient: The agent that the person chose for messages; None: the default agent.
    """
    name = recipient or session.default_agent
    roles = [agent.role for agent in session.agents if agent.name == name]
    who = f"{name} ({roles[0]})" if roles else name or "nobody"
    auto = ", auto" if session.auto_chat else ""
    return to_short_line(f"{who} · {_STATES[session.state]}{auto} > ").rstrip() + " "


def format_turn_count(count: int) -> str:
    """A number of turns."""
    return "1 turn" if count == 1 else f"{count} turns"


def format_choice_prompt(message: Message) -> str:
    """Format the input prompt of a choice."""
    count = len(message.choices)
    return "Choose 1: " if count == 1 else f"Choose 1-{count}: "


def to_short_line(text: str) -> str:
    """A text as one line that isn't too long."""
    text = text[: MAX_LINE_CHARS + 1].replace("\r", " ").replace("\n", " ")
    return text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…"


def _code(message: Message) -> Iterator[Line]:
    yield format_code_head(message), "cyan"
    if message.path is not None:
        yield to_short_line(f"│ in the file {message.path}"), ""
    else:
        for line in _cut_lines(message.content):
            yield f"│ {line}", ""
    yield "└─", "cyan"


def _cut_lines(text: str) -> Iterator[str]:
    found = text.rstrip("\n").split("\n")
    yield from found[:_MAX_LINES]
    if len(found) > _MAX_LINES:
        yield f"… {len(found) - _MAX_LINES} more lines"


def _image(message: Message) -> str:
    parts = []
    if message.path is not None:
        parts.append(PurePath(message.path).name)
    if message.data is not None:
        parts.append(_size(len(message.data)))
    if message.media_type is not None:
        parts.append(message.media_type)
    about = f": {message.content}" if message.content else ""
    return to_short_line(f"[image {', '.join(parts)}{about}]")


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.0f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MB"


def _short(value: Any) -> str:
    if isinstance(value, str):
        text = value[: 2 * MAX_LINE_CHARS]
        return (
            text if text.isprintable() and " " not in text else json.dumps(text, ensure_ascii=False)
        )
    return json.dumps(value, ensure_ascii=False, default=str)[: 2 * MAX_LINE_CHARS]


#: The message types that are printed part by part; other types are printed as a whole.
_GROWING = (MessageType.MESSAGE, MessageType.CODE, MessageType.CONSOLE)


class ChatScreen(Protocol):
    """A terminal, or a pipe. What is written is of anyone: it makes it inert, and nothing else does."""

    def write_line(self, text: str = "", style: str = "") -> None:
        """Write a text's lines.

        Args:
            text: The text.
            style: bold, dim, red, green, yellow, cyan, or nothing.
        """

    def write_fragment(self, piece: str) -> None:
        """Write some more of a text, which goes on where the piece before ended."""

    def end_line(self) -> None:
        """The text that flows is over."""

    def show_prompt(self, prompt: str) -> None:
        """Write a prompt, where a person types below."""

    def end_prompt(self) -> None:
        """The person pressed Enter: the cursor stands at the start of a line."""


class MessageWriter:
    """Writes messages of built-in types. One at a time grows on the screen: others wait for their end.

    Args:
        screen: Where.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._open_message: Message | None = None
        self._written = ""  # of the content of that one
        self._line = ""  # of these, the last line as far as it is held back
        self._head: str | None = None  # the call or question whose head was written last

    def write(self, message: Message) -> None:
        """A message is there, or is another now.

        Args:
            message: Whole, as it is so far.
        """
        growing = self._open_message
        if growing is not None and growing.id == message.id:
            self._go_on(message)
        elif message.type in (MessageType.FUNCTION, MessageType.CONFIRMATION):
            self._say_twice(message)
        elif message.final:
            for text, style in format_message(message):
                self._screen.write_line(text, style)
            self._head = None
        elif growing is None and message.type in _GROWING and find_style(message) == "":
            self._begin(message)

    def append(self, id: str, text: str) -> None:
        """There is more of a message's content.

        Args:
            id: The message.
            text: What is added.
        """
        if self._open_message is not None and self._open_message.id == id:
            self._write(text)

    def end(self) -> None:
        """End the message that is being printed."""
        self._finish_line()
        if self._open_message is not None and self._open_message.type == MessageType.CODE:
            self._screen.write_line("└─", "cyan")
        self._screen.end_line()
        self._open_message, self._written = None, ""

    def _begin(self, message: Message) -> None:
        self._open_message, self._head = message, None
        if message.type == MessageType.CODE:
            self._screen.write_line(format_code_head(message), "cyan")
        self._write(message.content)

    def _go_on(self, message: Message) -> None:
        if message.content.startswith(self._written):
            self._write(message.content[len(self._written) :])
            if message.final:
                self.end()
        elif message.final:
            self.end()
            self._screen.write_line("The message was edited, and now reads:", "yellow")
            self.write(message)

    def _write(self, text: str) -> None:
        assert self._open_message is not None
        self._written += text
        if self._open_message.type == MessageType.MESSAGE:
            self._screen.write_fragment(text)
            return
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._say_line(line)

    def _finish_line(self) -> None:
        line, self._line = self._line, ""
        if line:
            self._say_line(line)

    def _say_line(self, line: str) -> None:
        assert self._open_message is not None
        if self._open_message.type == MessageType.CODE:
            self._screen.write_line(f"│ {line}")
        else:
            self._screen.write_line(f"  {line}", "dim")

    def _say_twice(self, message: Message) -> None:
        """A call or a question, and at its end what came of it: below it, or with it once more."""
        is_call = message.type == MessageType.FUNCTION
        if self._head != message.id:
            head = [(format_call(message), "cyan")] if is_call else format_confirmation(message)
            for text, style in head:
                self._screen.write_line(text, style)
            self._head = message.id
        for text, style in format_result(message) if is_call else format_choice(message):
            self._screen.write_line(text, style)
        if message.final:
            self._head = None
