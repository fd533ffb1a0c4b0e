"""`SessionsWidget`: the background agents of a Core, and their conversations, under a cell."""

from __future__ import annotations

from typing import Final

import traitlets

from .. import discover
from ..protocol.runtime import AgentState
from ..runtime.client import Agents
from ..static_files import STATIC_FOLDER
from .debugger_widget import HEIGHT_PX, NOT_BUILT_MODULE
from .plain_text import to_one_line
from .relayed_widget import RelayedWidget

_BUNDLE = STATIC_FOLDER / "sessions.js"

#: Sessions in the plain text that replaces the view, and characters of each session's last message.
_MAX_LISTED_SESSIONS: Final = 20
_MAX_TEXT_CHARS: Final = 60


class SessionsWidget(RelayedWidget):
    """Shows a Core's background agents under a cell: watch, pause, guide, destroy, talk with them.

    `RelayedWidget` describes how the view reaches the Core.

    Args:
        conversation: The id of the conversation to show first.
        agents: A connection to the Core; None: the Core is discovered.
        height: The view's height in pixels.
    """

    _esm = _BUNDLE if _BUNDLE.is_file() else NOT_BUILT_MODULE

    conversation = traitlets.Unicode("").tag(sync=True)

    title = "AgentStepper: the background agents."

    def __init__(
        self,
        conversation: str | None = None,
        agents: Agents | None = None,
        height: int = HEIGHT_PX,
    ) -> None:
        find = discover.find_runtime_endpoint if agents is None else agents.find
        super().__init__(find, height, conversation=conversation or "")

    def list_lines(self, agents: Agents) -> list[str]:
        """List the newest sessions."""
        return _listed(agents.states(limit=_MAX_LISTED_SESSIONS))


def _listed(states: list[AgentState]) -> list[str]:
    """A line for each session."""
    if not states:
        return ['None yet: Agents.connect().create_agent("joker", "joke", {"subject": "cats"})']
    return [
        f"{state.status:<9} {state.agent_id} {state.session_id} #{state.iteration} "
        f"{_last_words(state)}".rstrip()
        for state in states
    ]


def _last_words(state: AgentState) -> str:
    """Return the error or the text of a session's last step."""
    text = state.last_error if state.status == "error" else None
    if text is None and isinstance(state.result, dict):
        text = state.result.get("text")
    return to_one_line(text, _MAX_TEXT_CHARS) if isinstance(text, str) else ""
