"""Connections of views over a Jupyter comm: one *link* is one connection to the Core.

=============== ===========================================================================
View to kernel  `{"link": id, "op": "open"}`, `{"link": id, "op": "text", "text": part,
                "more": true?}`, `{"link": id, "op": "close"}`
Kernel to view  `{"link": id, "op": "texts", "texts": [...]}`,
                `{"link": id, "op": "closed", "code": n, "reason": text}`
=============== ===========================================================================
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct, ValidationError

from .. import typed_json
from ..hub import Connection, PeerSession
from ..protocol.envelope import MAX_MESSAGE_BYTES

log = logging.getLogger("agentstepper_nb.kernel_core")

#: Links of one widget: pages that were reloaded or closed leave theirs behind without a word.
MAX_LINKS: Final = 8

# WebSocket's codes, which the view knows. After 1008 it doesn't try again.
_GOING_AWAY: Final = 1001
_BAD_TEXT: Final = 1007
_POLICY_VIOLATION: Final = 1008
_TOO_LARGE: Final = 1009


class LinkBatches(NamedTuple):
    """How the texts of a link are batched."""

    #: Seconds for which texts are collected: the server drops messages above 1,000 a second.
    delay_s: float = 0.015
    #: Characters that are sent at once, before that time is over. A text is never divided.
    max_chars: int = 1024 * 1024
    #: Bytes of a text that is received in parts.
    max_received_bytes: int = MAX_MESSAGE_BYTES


DEFAULT_LINK_BATCHES: Final = LinkBatches()

#: Sends the content of a custom message; may block, may raise.
SendContent = Callable[[dict[str, Any]], None]


class _Message(Struct, tag_field="op"):
    link: str


class _Open(_Message, tag="open"):
    pass


class _Text(_Message, tag="text"):
    text: str
    more: bool = False


class _Close(_Message, tag="close"):
    pass


class LinkTarget(Protocol):
    """The target of links, such as a Core or a chat."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of all connections.

        Raises:
            RuntimeError: The loop was stopped.
        """

    def connect_view(self, connection: Connection) -> PeerSession:
        """Open the session of a link. Called on the loop.

        Args:
            connection: Sends the Core's messages to the view.
        """

    def record_view_message(self) -> None:
        """Note that a view's message was received on this thread."""


class CommLinks:
    """The links of one widget's views.

    All links use one event loop; `receive` and `close` may be called from any thread.

    Args:
        core: The target of the links.
        send_content: Sends to all views of the widget. Called on that loop.
        batches: How texts are batched.
    """

    def __init__(
        self,
        core: LinkTarget,
        send_content: SendContent,
        batches: LinkBatches = DEFAULT_LINK_BATCHES,
    ) -> None:
        self._core = core
        self._batches = batches
        self._send_content = send_content
        self._links: dict[str, _Link] = {}  # oldest first

    def receive(self, content: object) -> None:
        """Handle a custom message of a view. An invalid message is answered with an error, or logged.

        Args:
            content: The message, which isn't trusted.
        """
        self._core.record_view_message()
        try:
            message = typed_json.convert(content, _Open | _Text | _Close)
        except ValidationError as error:
            self._later(self._refuse, content, str(error))
        else:
            self._later(self._handle_message, message)

    def close(self) -> None:
        """End all sessions: the widget is closed."""
        self._later(self._close)

    def _later(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            self._core.loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            log.debug("a view sent a message to a Core that was stopped")

    # ---- on the loop --------------------------------------------------------------------------------

    def _handle_message(self, message: _Open | _Text | _Close) -> None:
        link = self._links.get(message.link)
        match message:
            case _Open():
                self._open(message.link)
            case _Close():
                if link is not None:
                    self._drop(link)
            case _Text() if link is not None:
                link.receive_part(message)
            case _:
                self._send_closed(
                    message.link, _GOING_AWAY, "This link isn't open. Open the link first."
                )

    def _open(self, id: str) -> None:
        before = self._links.get(id)
        if before is not None:  # the view begins anew
            self._drop(before)
        if len(self._links) == MAX_LINKS:
            oldest = next(iter(self._links.values()))
            oldest.close(
                _POLICY_VIOLATION,
                "This output is shown in too many places. Run its cell again to see the "
                "output here.",
            )
        self._links[id] = link = _Link(id, self._core.loop, self._send, self._drop, self._batches)
        link.begin(self._core.connect_view(link))

    def _drop(self, link: _Link) -> None:
        if self._links.get(link.id) is link:
            del self._links[link.id]
        link.end()

    def _close(self) -> None:
        for link in list(self._links.values()):
            self._drop(link)

    def _refuse(self, content: object, why: str) -> None:
        """Answer a view whose message is invalid: a newer version's, or not this package's view."""
        log.warning("a view's message was refused: %s", why)
        id = content.get("link") if isinstance(content, dict) else None
        if not isinstance(id, str):
            return
        reason = (
            f"The kernel's agentstepper_nb can't read the view's message: {why}. Reload the page."
        )
        link = self._links.get(id)
        if link is not None:
            link.close(_POLICY_VIOLATION, reason)
        else:
            self._send_closed(id, _POLICY_VIOLATION, reason)

    def _send_closed(self, id: str, code: int, reason: str) -> None:
        self._send({"link": id, "op": "closed", "code": code, "reason": reason})

    def _send(self, content: dict[str, Any]) -> None:
        try:
            self._send_content(content)
        except Exception:  # the kernel's channels: gone when it ends
            log.warning("a message could not be sent to a view", exc_info=True)


class _Link:
    """One link, which is a connection for the hub.

    Args:
        id: The view's id of the link.
        loop: The Core's event loop.
        send_content: Sends the content of a custom message.
        drop: Called after this side has closed the link.
        batches: How texts are batched.
    """

    def __init__(
        self,
        id: str,
        loop: asyncio.AbstractEventLoop,
        send_content: SendContent,
        drop: Callable[[_Link], None],
        batches: LinkBatches,
    ) -> None:
        self._batches = batches
        self.id = id
        self._loop = loop
        self._send_content = send_content
        self._drop = drop
        self._session: PeerSession | None = None
        self._parts: list[str] = []  # of a text whose end hasn't come
        self._received_bytes = 0  # bytes of these
        self._texts: list[str] = []  # to be sent
        self._waiting_chars = 0  # characters of these
        self._timer: asyncio.TimerHandle | None = None
        self._has_ended = False

    def begin(self, session: PeerSession) -> None:
        """Set the session that receives the link's texts."""
        self._session = session

    def end(self) -> None:
        """End the session. Nothing is sent any more."""
        self._has_ended = True
        self._cancel_timer()
        self._texts.clear()
        self._parts.clear()
        if self._session is not None:
            self._session.on_closed()

    # ---- from the view ------------------------------------------------------------------------------

    def receive_part(self, message: _Text) -> None:
        """Handle a text, or a part of one."""
        self._parts.append(message.text)
        self._received_bytes += len(message.text.encode(errors="surrogatepass"))
        max_bytes = self._batches.max_received_bytes
        if self._received_bytes > max_bytes:
            limit = f"{max_bytes // 1024 // 1024} MiB"
            self.close(_TOO_LARGE, f"A message was larger than the Core accepts ({limit}).")
        elif not message.more:
            text, self._parts, self._received_bytes = "".join(self._parts), [], 0
            self._receive(text)

    def _receive(self, text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half a character, which a WebSocket would not have taken either.
            self.close(_BAD_TEXT, "A message wasn't valid Unicode.")
            return
        if self._session is not None:
            self._session.receive(text)

    # ---- to the view: hub.Connection ----------------------------------------------------------------

    def send(self, text: str) -> None:
        """Send a text soon, in one batch with those that follow."""
        if self._has_ended:
            return
        self._texts.append(text)
        self._waiting_chars += len(text)
        if self._waiting_chars >= self._batches.max_chars:
            self._flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._batches.delay_s, self._flush)

    def close(self, code: int, reason: str) -> None:
        """Send the waiting texts and the reason, and end the link."""
        if self._has_ended:
            return
        self._flush()
        self._send_content({"link": self.id, "op": "closed", "code": code, "reason": reason})
        self._drop(self)

    def _flush(self) -> None:
        self._cancel_timer()
        texts, self._texts, self._waiting_chars = self._texts, [], 0
        if texts:
            self._send_content({"link": self.id, "op": "texts", "texts": texts})

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
