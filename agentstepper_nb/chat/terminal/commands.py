"""The commands of the chat in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...errors import CommandError
from ...protocol.chat import MOST_AUTO
from ...suggestions import did_you_mean
from . import view

if TYPE_CHECKING:
    from .repl import Repl


@dataclass(frozen=True)
class Command:
    """One of them.

    Args:
        usage: How it is written.
        about: What it does.
        run: Does it, given what stands behind its name.
    """

    usage: str
    about: str
    run: Callable[[Repl, str], None]


def carry_out(repl: Repl, line: str) -> None:
    """Do what a line says that begins with a slash.

    Args:
        repl: The terminal.
        line: The line.

    Raises:
        AgentStepperError: It can't be done; the text says what to do.
    """
    name, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(name.casefold())
    if command is None:
        like = did_you_mean(name, COMMANDS)
        raise CommandError(
            "unknown_service", f"There is no /{name[:40]}: /help lists what there is.{like}"
        )
    command.run(repl, rest.strip())


def _stop(repl: Repl, rest: str) -> None:
    repl.chat.stop(wait=False)


def _auto(repl: Repl, rest: str) -> None:
    if rest.isdecimal() and len(rest) <= len(str(MOST_AUTO)):
        repl.chat.auto_chat_max = int(rest)
        repl.chat.auto_chat = True
    elif rest in ("on", "off"):
        repl.chat.auto_chat = rest == "on"
    elif rest:
        raise CommandError(
            "unknown_service", "Say /auto on, /auto off, or how many turns: /auto 3."
        )
    info = repl.chat.info
    repl.screen.say(
        f"AutoChat goes on by itself, at most {view.turns(info.auto_chat_max)}."
        if info.auto_chat
        else "AutoChat is off.",
        "dim",
    )


def _agents(repl: Repl, rest: str) -> None:
    info = repl.chat.info
    for agent in info.agents:
        repl.screen.say(view.agent_line(agent, default=agent.name == info.default_agent))


def _to(repl: Repl, rest: str) -> None:
    names = [agent.name for agent in repl.chat.info.agents]
    if rest and rest not in names:
        raise CommandError(
            "unknown_agent", f"There is no {rest[:80]!r} here, only {', '.join(names)}."
        )
    repl.to = rest or None


def _new(repl: Repl, rest: str) -> None:
    repl.begin(rest)


def _open(repl: Repl, rest: str) -> None:
    found = [each.id for each in repl.chat.sessions() if rest and each.id.startswith(rest)]
    if len(found) != 1:
        what = "Several conversations begin" if found else "No conversation begins"
        raise CommandError("unknown_session", f"{what} with {rest[:80]!r}: /sessions lists them.")
    repl.open(found[0])


def _sessions(repl: Repl, rest: str) -> None:
    for session in repl.chat.sessions():
        repl.screen.say(view.session_line(session, current=session.id == repl.chat.session_id))


def _state(repl: Repl, rest: str) -> None:
    for line in view.state_lines(repl.chat.info):
        repl.screen.say(line)


def _debug(repl: Repl, rest: str) -> None:
    for line in view.debug_lines(repl.chat.info):
        repl.screen.say(line)


def _quit(repl: Repl, rest: str) -> None:
    repl.over = True


def _help(repl: Repl, rest: str) -> None:
    width = max(len(command.usage) for command in COMMANDS.values())
    for command in COMMANDS.values():
        repl.screen.say(f"{command.usage:<{width}}  {command.about}")
    repl.screen.say("Anything else is said to the agent. Ctrl+C stops its turn, Ctrl+D ends.")


COMMANDS: Final = {
    "stop": Command("/stop", "end the turn that is under way", _stop),
    "auto": Command("/auto on|off|N", "let it go on by itself, N turns at most", _auto),
    "agents": Command("/agents", "who is here; * is whom messages are for", _agents),
    "to": Command("/to NAME", "whom messages are for from now on; without NAME the default", _to),
    "new": Command("/new [TITLE]", "begin another conversation", _new),
    "open": Command("/open ID", "go on with a conversation; how its id begins is enough", _open),
    "sessions": Command("/sessions", "the conversations that there are", _sessions),
    "state": Command("/state", "how this conversation is", _state),
    "debug": Command("/debug", "how to open it in the debugger", _debug),
    "help": Command("/help", "this list", _help),
    "quit": Command("/quit", "end", _quit),
}
