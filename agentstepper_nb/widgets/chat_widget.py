"""`ChatWidget`: a chat with agents under a notebook cell."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from contextlib import suppress
from typing import Any, Final

import anywidget
import traitlets

from ..chat.chat import Agent, Chat
from ..chat.message_types import format_message_text
from ..errors import AgentStepperError
from ..hub import Connection, PeerSession
from ..hub.rpc_sessions import RpcPeerSession
from ..protocol.chat import SERVICE, Message
from ..static_files import STATIC_FOLDER
from . import kernel_core
from .comm_links import CommLinks
from .core_urls import find_core_url, find_page_url, is_own_core
from .debugger_widget import NOT_BUILT_MODULE
from .kernel_capabilities import handle_on_subshell_thread
from .plain_text import to_one_line

log = logging.getLogger("agentstepper_nb.chat")

_BUNDLE = STATIC_FOLDER / "chat.js"
#: Of a view, in pixels.
_HEIGHT_PX: Final = 520
#: WebSocket's code after which a view doesn't try again.
_POLICY_VIOLATION: Final = 1008

#: Messages that are listed where no front end shows the view, and characters of each.
_MAX_LISTED_MESSAGES: Final = 10
_MAX_MESSAGE_CHARS: Final = 100
#: Of a message, to make these of.
_MAX_LOOK_CHARS: Final = 1000

_NO_VIEW: Final = "The view needs a front end that shows widgets, as JupyterLab does."
_CLOSED: Final = (
    "This chat is closed. Run the cell that creates the chat again; stored conversations "
    "can be opened from the list."
)
_GONE: Final = "The view was closed."


class ChatWidget(anywidget.AnyWidget):
    """Shows a chat under a notebook cell: messages as they come, questions, AutoChat and Stop.

    ::

        ChatWidget(lambda message: f"You said: {message}")

    A list has the other conversations. The widget shows the conversation that the chat has when the
    widget is displayed. The messages are no part of the widget's state, which front ends save.
    Views can send messages while a cell runs.

    Args:
        agents: A `Chat`, or the agents, as `Chat` takes them.
        height: The view's height in pixels.

    Attributes:
        chat: The chat, also for later cells.

    Raises:
        ValueError: Both a `Chat` and another agent were given.
    """

    _esm = _BUNDLE if _BUNDLE.is_file() else NOT_BUILT_MODULE

    session = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(_HEIGHT_PX, min=240, max=1200).tag(sync=True)
    #: Whether the page's own server has the Core.
    direct = traitlets.Bool(False).tag(sync=True)
    #: The base URL of the server that shows the Core's runs; empty where none does.
    page = traitlets.Unicode("").tag(sync=True)
    #: The command that shows a run if no page does; `{run}` stands for the run's id.
    command = traitlets.Unicode("").tag(sync=True)

    _links: CommLinks | None = None  # until it is made: ipywidgets closes also what couldn't be

    def __init__(self, *agents: Agent | Chat, height: int = _HEIGHT_PX) -> None:
        self.chat = _chat(agents)
        self._links = CommLinks(_ChatLinkTarget(self.chat), self._send_content)
        # By its context ipykernel knows which cell a message comes from: on the chat's thread as well.
        self._context = contextvars.copy_context()
        super().__init__(session=self.chat.session_id, height=height, **_find_run_page())
        self.on_msg(self._received)

    def open(self) -> None:
        """Open the comm, and receive its messages even while the main thread is blocked."""
        super().open()
        handle_on_subshell_thread(self.comm)
        self.comm.on_close(lambda _: self._detach())

    def close(self) -> None:
        """Remove the view. The chat goes on."""
        self._detach()
        super().close()

    def __repr__(self) -> str:
        """The text that is shown where no front end shows the view: the last messages."""
        try:
            said = [_line(message) for message in self.chat.messages[-_MAX_LISTED_MESSAGES:]]
        except (RuntimeError, AgentStepperError):  # it was closed, or its conversation deleted
            said = []
        return "\n".join([repr(self.chat), *said, _NO_VIEW])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        with suppress(RuntimeError):  # it was closed
            self.session = self.chat.session_id
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # anywidget cuts it to 110 letters
        return bundle

    def _detach(self) -> None:
        if self._links is not None:
            self._links.close()

    def _received(self, _: object, content: object, buffers: object) -> None:
        self._find_core()
        if self._links is not None and self.chat.loop.is_running():
            self._links.receive(content)
        elif isinstance(content, dict) and isinstance(link := content.get("link"), str):
            self._send_content(
                {"link": link, "op": "closed", "code": _POLICY_VIOLATION, "reason": _CLOSED}
            )

    def _find_core(self) -> None:
        """Update the widget's link to runs: a Core may have started since, for example by `--kernel`."""
        for name, value in _find_run_page().items():
            setattr(self, name, value)  # only what has changed travels

    def _send_content(self, content: dict[str, Any]) -> None:
        self._context.run(self.send, content)


class _ChatLinkTarget:
    """The target of views' links: connects them to a chat, on the chat's event loop.

    Args:
        chat: The chat.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The chat's event loop."""
        return self._chat.loop

    def record_view_message(self) -> None:
        """Do nothing: only a kernel's Core counts the threads of view messages."""

    def connect_view(self, connection: Connection) -> PeerSession:
        """Connect a view to the chat. Call it on the loop.

        Args:
            connection: Sends the chat's messages to the view.
        """
        living = asyncio.create_task(_wait_for_close(connection))
        services = {SERVICE: self._chat.make_service()}

        def end() -> None:
            living.cancel()

        return RpcPeerSession(connection, services, log, _GONE, on_close=end)


async def _wait_for_close(connection: Connection) -> None:
    """Close a view's connection when the chat is closed, which cancels all tasks on its loop."""
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        connection.close(
            _POLICY_VIOLATION, _CLOSED
        )  # where the view is gone first, this does nothing
        raise


def _chat(agents: tuple[Agent | Chat, ...]) -> Chat:
    chats = [agent for agent in agents if isinstance(agent, Chat)]
    if not chats:
        return Chat(*(agent for agent in agents if not isinstance(agent, Chat)))
    if len(agents) > 1:
        raise ValueError(
            "ChatWidget got a Chat together with other agents. Pass either one Chat, or agents."
        )
    return chats[0]


def _find_run_page() -> dict[str, Any]:
    """The address of the page that shows runs, as the widget's traits."""
    url = find_core_url()
    return {"direct": is_own_core(url), "page": find_page_url(url), "command": _command()}


def _command() -> str:
    """The command that shows a run if no page of a server does."""
    if kernel_core.get_kernel_core() is not None:
        return "%agentstepper"  # in a cell: it shows the newest run
    return "agentstepper step --run {run}"


def _line(message: Message) -> str:
    """Format a message with its sender, as one line."""
    who = message.agent_name if message.role == "assistant" else message.role
    return to_one_line(
        f"{who}: {format_message_text(message)[:_MAX_LOOK_CHARS]}", _MAX_MESSAGE_CHARS
    )
