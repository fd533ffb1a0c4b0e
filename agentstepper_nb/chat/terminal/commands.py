"""The commands of the chat in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from ...errors import CommandError
from ...protocol.chat import MAX_AUTO_TURNS, ChatSessionInfo
from ...suggestions import did_you_mean
from ..chat import Chat
from . import view


class ChatTerminal(Protocol):
    """The interface of the terminal that commands act on; see `repl.Repl`."""

    chat: Chat
    screen: view.ChatScreen
    recipient: str | None
    is_over: bool

    def begin(self, title: str) -> None:
        """Begin another conversation."""

    def open(self, session: str) -> None:
        """Go on with another conversation."""


@dataclass(frozen=True)
class ChatCommand:
    """A command of the chat in a terminal.

    Args:
        usage: The command's syntax.
        description: The command's effect.
        run: Runs the command with the text after its name.
    """

    usage: str
    description: str
    run: Callable[[ChatTerminal, str], None]


def run_chat_command(terminal: ChatTerminal, line: str) -> None:
    """Do what a line says that begins with a slash.

    Args:
        terminal: The terminal.
        line: The line.

    Raises:
        AgentStepperError: It can't be done; the text says what to do.
    """
    name, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(name.casefold())
    if command is None:
        like = did_you_mean(name, COMMANDS)
        raise CommandError(
            "unknown_service", f"There is no command /{name[:40]}: /help lists the commands.{like}"
        )
    command.run(terminal, rest.strip())


def complete_line(terminal: ChatTerminal, before: str) -> Iterable[tuple[str, str]]:
    """Complete a line: iterate over completions, each with its text in the list.

    Args:
        terminal: The terminal.
        before: The beginning of the line.
    """
    match before.strip().casefold():
        case "":
            return [(f"/{name}", f"/{name}") for name in COMMANDS]
        case "/to":
            return [(agent.name, agent.name) for agent in terminal.chat.info.agents]
        case "/auto":
            return [("on", "on"), ("off", "off")]
        case "/open":
            kept = terminal.chat.sessions()
            return [(each.id, f"{each.id} {view.to_short_line(each.title)}") for each in kept]
    return []


def _auto(terminal: ChatTerminal, rest: str) -> None:
    if rest.isdecimal() and len(rest) <= len(str(MAX_AUTO_TURNS)):
        terminal.chat.auto_chat_max = int(rest)
        terminal.chat.auto_chat = True
    elif rest in ("on", "off"):
        terminal.chat.auto_chat = rest == "on"
    elif rest:
        raise CommandError(
            "unknown_service",
            "/auto needs a value: write /auto on, /auto off, or a number of turns such as /auto 3.",
        )
    info = terminal.chat.info
    terminal.screen.write_line(
        f"AutoChat continues by itself for at most {view.format_turn_count(info.auto_chat_max)}."
        if info.auto_chat
        else "AutoChat is off.",
        "dim",
    )


def _to(terminal: ChatTerminal, rest: str) -> None:
    names = [agent.name for agent in terminal.chat.info.agents]
    if rest and rest not in names:
        raise CommandError(
            "unknown_agent", f"There is no agent {rest[:80]!r} here: choose {', '.join(names)}."
        )
    terminal.recipient = rest or None


def _open(terminal: ChatTerminal, rest: str) -> None:
    found = [each.id for each in terminal.chat.sessions() if rest and each.id.startswith(rest)]
    if len(found) != 1:
        what = "Several conversations begin" if found else "No conversation begins"
        raise CommandError(
            "unknown_session", f"{what} with {rest[:80]!r}: /sessions lists the ids."
        )
    terminal.open(found[0])


def _sessions(terminal: ChatTerminal, rest: str) -> None:
    for session in terminal.chat.sessions():
        terminal.screen.write_line(
            view.format_session(session, current=session.id == terminal.chat.session_id)
        )


def _lines(of: Callable[[ChatSessionInfo], Iterable[str]]) -> Callable[[ChatTerminal, str], None]:
    """A command that writes what there is to say of the conversation."""

    def write(terminal: ChatTerminal, rest: str) -> None:
        for line in of(terminal.chat.info):
            terminal.screen.write_line(line)

    return write


def _new(terminal: ChatTerminal, rest: str) -> None:
    terminal.begin(rest)


def _quit(terminal: ChatTerminal, rest: str) -> None:
    terminal.is_over = True


def _help(terminal: ChatTerminal, rest: str) -> None:
    width = max(len(command.usage) for command in COMMANDS.values())
    for command in COMMANDS.values():
        terminal.screen.write_line(f"{command.usage:<{width}}  {command.description}")
    terminal.screen.write_line(
        "Any other line is sent to the agent. Ctrl+C stops the agent's turn, Ctrl+D exits."
    )


COMMANDS: Final = {
    "stop": ChatCommand(
        "/stop",
        "end the current turn",
        lambda terminal, _: terminal.chat.stop(wait=False),
    ),
    "auto": ChatCommand(
        "/auto on|off|N",
        "let the agents continue by themselves for at most N turns",
        _auto,
    ),
    "agents": ChatCommand(
        "/agents",
        "list the agents; * marks the one that receives messages",
        _lines(view.format_agents),
    ),
    "to": ChatCommand(
        "/to NAME", "send messages to NAME from now on; without NAME to the default agent", _to
    ),
    "new": ChatCommand("/new [TITLE]", "begin another conversation", _new),
    "open": ChatCommand("/open ID", "continue the conversation whose id begins with ID", _open),
    "sessions": ChatCommand("/sessions", "list the conversations", _sessions),
    "state": ChatCommand(
        "/state", "show the state of this conversation", _lines(view.format_state)
    ),
    "debug": ChatCommand(
        "/debug",
        "show how to open this conversation in the debugger",
        _lines(view.format_debug_hint),
    ),
    "help": ChatCommand("/help", "show this list", _help),
    "quit": ChatCommand("/quit", "end", _quit),
}
