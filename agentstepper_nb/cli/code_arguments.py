"""What `agentstepper code` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_settings import add_settings

if TYPE_CHECKING:
    from .arguments import Commands

_CODE: Final = """\
A coding agent for the repository in this folder. With a PROMPT it does that and ends; without one it
asks for prompts, or takes the one that comes through a pipe. Each step is in the debugger that is found
here, where it can be halted and edited; without a debugger it works as well.
"""
_CODE_EXITS: Final = """\
exit codes: 0 done, 1 failed, 2 called wrongly, 3 stopped at the limit of iterations, 130 cancelled or
stopped in the debugger; a conversation ends with 0
"""


def add_code(commands: Commands) -> None:
    """Describe `agentstepper code`."""
    parser = commands.add_parser(
        "code",
        help="let a model work on the repository in this folder",
        description=_CODE,
        epilog=_CODE_EXITS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", metavar="PROMPT", nargs="?", help="what it is to do")
    add("--provider", help="who serves the model (AGENTSTEPPER_PROVIDER, or openai)")
    add("--model", help="the model's name there (AGENTSTEPPER_MODEL)")
    add("--workspace", metavar="DIR", help="the repository, in place of this folder")
    add(
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="go on with a session: how its id begins; without one the last of this workspace",
    )
    add("--list", action="store_true", help="list the sessions that are kept, and end")
    add_settings(parser)
    add("--step", action="store_true", help="begin stepping in the debugger")
    add("--no-debugger", action="store_true", help="don't look for a debugger")
    add("--data", metavar="DIR", help="where sessions are kept (agentstepper/ in Jupyter's data)")
