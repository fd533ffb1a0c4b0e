"""What `agentstepper chat` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .arguments import number

if TYPE_CHECKING:
    from .arguments import Commands

_CHAT: Final = """\
A conversation with agents, in this terminal or through pipes: a line is a message. AGENT is an
installed connector (--list names them) or MODULE:ATTRIBUTE, a function or connector that is imported
from here. Several agents may share the conversation; messages are for the first until /to names another.
Each turn is in the debugger that is found here; without a debugger it works as well.
"""
_CHAT_EXITS: Final = """\
exit codes: 0 well, 1 it can't begin, or what came through a pipe ended in an error, 2 called wrongly,
130 interrupted
"""


def add_chat(commands: Commands) -> None:
    """Describe `agentstepper chat`."""
    parser = commands.add_parser(
        "chat",
        help="talk with agents",
        description=_CHAT,
        epilog=_CHAT_EXITS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("agents", metavar="AGENT", nargs="*", help="who answers")
    add("--workspace", metavar="DIR", help="the folder that is worked in, in place of this one")
    add("--provider", help="who serves the model (AGENTSTEPPER_PROVIDER, or openai)")
    add("--model", help="the model's name there (AGENTSTEPPER_MODEL)")
    add("--system", metavar="TEXT", help="what an endpoint's model is told first")
    add(
        "-o",
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="options",
        help="what else a connector takes; VALUE is JSON or a text",
    )
    add("--session", metavar="ID", help="go on with a conversation: how its id begins")
    add("--title", default="", help="what the conversation is called")
    add(
        "--auto",
        type=number(0, 1000),
        metavar="N",
        help="let it go on by itself, N turns at most",
    )
    add(
        "--allow",
        metavar="PATH",
        action="append",
        default=[],
        help="a further folder whose pictures and files may be shown",
    )
    add("--step", action="store_true", help="begin stepping in the debugger")
    add("--no-debugger", action="store_true", help="don't look for a debugger")
    add("--list", action="store_true", help="list connectors and conversations, and end")
    add(
        "--data-dir",
        metavar="DIR",
        help="where conversations are kept (agentstepper/ in Jupyter's data)",
    )
