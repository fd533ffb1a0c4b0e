"""The agents that run on their own, and their conversations, in a notebook."""

from __future__ import annotations

import contextvars
from typing import Any, Final

import anywidget
import traitlets

from .. import discover
from ..errors import AgentStepperError
from ..protocol.runtime import AgentState
from ..runtime.client import Agents
from ..static_files import STATIC_FOLDER
from .comm_links import CommLinks
from .core_relay import CoreRelay
from .core_urls import find_page_url, is_own_core
from .debugger_widget import NOT_BUILT_MODULE
from .kernel_capabilities import handle_on_subshell_thread
from .plain_text import to_one_line

_BUNDLE = STATIC_FOLDER / "sessions.js"
#: Of a view, in pixels.
_HEIGHT_PX: Final = 520

#: Sessions that are listed where no front end shows the view, and letters of what each said last.
_MAX_LISTED_SESSIONS: Final = 20
_MAX_TEXT_CHARS: Final = 60
#: Seconds that the list waits for the Core.
_CLOSE_TIMEOUT_S: Final = 3.0

_TITLE: Final = "AgentStepper: the background agents."
_NO_VIEW: Final = "The view needs a front end that shows widgets, as JupyterLab does."


class SessionsWidget(anywidget.AnyWidget):
    """The agents that run on their own: watched, paused, guided, destroyed, and talked with.

    Where this kernel's Jupyter server has the Core, the browser talks to it, past the kernel; else the
    kernel relays. What agents say travels as messages: none of it is the widget's state, which front
    ends save.

    Args:
        conversation: The id of a conversation to begin with.
        agents: A connection to the Core that is meant; without it the one that is found.
        height: Of the view, in pixels.
    """

    _esm = _BUNDLE if _BUNDLE.is_file() else NOT_BUILT_MODULE

    conversation = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(_HEIGHT_PX, min=240, max=1200).tag(sync=True)
    #: Whether the page's own server has the Core.
    direct = traitlets.Bool(False).tag(sync=True)
    #: The base URL of the server that shows the Core's runs; empty where none does.
    page = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        conversation: str | None = None,
        agents: Agents | None = None,
        height: int = _HEIGHT_PX,
    ) -> None:
        self._find = discover.find_runtime_endpoint if agents is None else agents.find
        self._relay = CoreRelay(self._find)
        self._links = CommLinks(self._relay, self._send_content)
        # By its context ipykernel knows which cell a message comes from: on the relay's thread as well.
        self._context = contextvars.copy_context()
        url = self._url()
        super().__init__(
            conversation=conversation or "",
            height=height,
            direct=is_own_core(url),
            page=find_page_url(url),
        )
        self.on_msg(self._received)

    def open(self) -> None:
        """Open the comm, and be heard on it while the main thread is blocked."""
        super().open()
        handle_on_subshell_thread(self.comm)
        self.comm.on_close(lambda _: self._relay.close())

    def close(self) -> None:
        """Take the view away. The agents go on."""
        self._relay.close()
        super().close()

    def __repr__(self) -> str:
        """What stands where no front end shows the view: the newest sessions."""
        try:
            found = self._find()
            with Agents.connect(found.url, found.token, timeout_s=_CLOSE_TIMEOUT_S) as agents:
                lines = _listed(agents.states(limit=_MAX_LISTED_SESSIONS))
        except AgentStepperError as error:
            lines = [str(error)]
        return "\n".join([_TITLE, *lines, _NO_VIEW])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # anywidget cuts it to 110 letters
        return bundle

    def _url(self) -> str:
        try:
            return self._find().url
        except AgentStepperError:  # it is looked for again, and the view says what is wrong then
            return ""

    def _received(self, _: object, content: object, buffers: object) -> None:
        self._links.receive(content)

    def _send_content(self, content: dict[str, Any]) -> None:
        self._context.run(self.send, content)


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
    """What its last step said."""
    text = state.last_error if state.status == "error" else None
    if text is None and isinstance(state.result, dict):
        text = state.result.get("text")
    return to_one_line(text, _MAX_TEXT_CHARS) if isinstance(text, str) else ""
